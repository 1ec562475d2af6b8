"""What a click means in the words of a specification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dbdeid.errors import DataError
from dbdeid.spec.column.column_spec import names_in
from dbdeid.spec.column.hierarchy_spec import HierarchySpec, short_hierarchy
from dbdeid.spec.method_spec import METHODS
from dbdeid.ui.sheet.text_edits import in_order

Data = dict[str, Any]
ROLES = ("identifier", "drop", "quasi_identifier", "sensitive", "insensitive")
_KEPT = ("reason",)
LONGEST = 2_000  # characters of a reason


def entry_of(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The entry of a column, written out; empty where the text has none."""
    columns = data.get("columns")
    key = key_of(data, name)
    found = columns[key] if isinstance(columns, Mapping) and key is not None else {}
    return (
        {"role": found} if isinstance(found, str) else found if isinstance(found, Mapping) else {}
    )


def key_of(data: Mapping[str, Any], name: str) -> str | None:
    """The key under which a column stands: its name, or several between commas."""
    columns = data.get("columns")
    if not isinstance(columns, Mapping):
        return None
    if name in columns:
        return name
    alike = (key for key in columns if name in names_in(str(key)))
    return next((str(key) for key in alike), None)


def give_role(
    data: Data, names: Sequence[str], role: str, proposed: Mapping[str, Mapping[str, Any]]
) -> None:
    """Give columns a role, with what a draft would write beside it.

    Args:
        data: of the specification; changed in place.
        names: of the columns.
        role: one of `ROLES`.
        proposed: of some columns what a draft would write of them in this role.

    Raises:
        DataError: there is no such role, or the columns do not stand in the text.
    """
    if role not in ROLES:
        raise DataError("there is no such role", hint=", ".join(ROLES))
    for name in names:
        before = entry_of(data, name)
        kept = {key: before[key] for key in _KEPT if before.get(key)}  # an empty one only asks
        if before.get("role") == role:
            continue
        entry: Mapping[str, Any] = {"role": role, **kept}
        if name in proposed:
            entry = {**proposed[name], **kept}
        elif role == "quasi_identifier":
            entry = {"role": role, "hierarchy": "suppress", **kept}
        set_entry(data, name, entry)
        if role != "sensitive":
            _unprotect(data, name)


def give_reason(data: Data, names: Sequence[str], reason: str) -> None:
    """Say in the owner's words why columns may leave as they are declared."""
    told = " ".join(reason.split())
    if not told or len(told) > LONGEST:
        raise DataError("a reason is a sentence", hint="say why nobody outside can know it")
    for name in names:
        entry = entry_of(data, name)
        if not entry:
            raise DataError("this column has no role yet", hint="give it one first")
        set_entry(data, name, {**entry, "reason": told})


def protect(data: Data, names: Sequence[str], least: int) -> None:
    """Have each class hold several values of sensitive columns."""
    for name in names:
        entry = {k: v for k, v in entry_of(data, name).items() if k not in ("accept", "reason")}
        _unprotect(data, name)
        set_entry(data, name, entry)
        model = {"model": "l_diversity", "column": name, "kind": "distinct", "l": least}
        data["privacy"] = [*models_of(data), model]


def accept_homogeneity(data: Data, names: Sequence[str], reason: str) -> None:
    """Say that the records of a class may share one value of sensitive columns."""
    for name in names:
        _unprotect(data, name)
        set_entry(data, name, {**entry_of(data, name), "accept": "homogeneity"})
    give_reason(data, names, reason)


def protected_by(data: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The models that are about a sensitive column."""
    return [model for model in models_of(data) if _about(model, name)]


def name_subject(data: Data, name: str) -> None:
    """Set the column that says whose each record is; an empty name: each is another person's."""
    if not name:
        data.pop("subject", None)
        return
    if entry_of(data, name).get("role") not in ("identifier", "drop"):
        set_entry(data, name, {"role": "identifier"})
        _unprotect(data, name)
    data.pop("accept", None)
    if "subject" in data:
        data["subject"] = name
    else:
        made = in_order(
            data, ("release", "database", "attach", "target", "source"), "subject", name
        )
        data.clear()
        data.update(made)


def count_rows(data: Data) -> None:
    """Say that each record is another person's, or that k may count records all the same."""
    data.pop("subject", None)
    data["accept"] = "rows"


def promise(data: Data, k: int, limit: float) -> None:
    """Set how many share their quasi-identifiers at least, and how many records may be left out.

    Raises:
        DataError: the specification promises something else.
    """
    models = models_of(data)
    place = next((i for i, m in enumerate(models) if m.get("model") == "k_anonymity"), None)
    if place is None:
        raise DataError("this spec promises no k", hint="edit `privacy` in the file")
    models[place] = {**models[place], "k": k}
    data["privacy"] = models
    method = data.get("method")
    if isinstance(method, str):
        method = {"name": method}
    if not isinstance(method, Mapping):
        raise DataError("this spec has no method", hint="edit `method` in the file")
    if "suppression_limit" in method or limit:
        data["method"] = {**method, "suppression_limit": int(limit) if limit == 0 else limit}


def choose_method(
    data: Data, name: str, proposed: Mapping[str, Mapping[str, Any]] | None = None
) -> None:
    """Have the release made by another method, with what it knows of the options there are.

    Quasi-identifiers get what the method takes: a hierarchy, an ordered domain, or neither.

    Args:
        data: of the specification; changed in place.
        name: of the method.
        proposed: of some columns what a draft would write of them as quasi-identifiers.

    Raises:
        DataError: there is no such method, or columns have nothing that it could take.
    """
    known = METHODS.get(name)
    if known is None or name == "external":
        raise DataError("there is no such method", hint=", ".join(METHODS))
    before = data.get("method")
    before = {"name": before} if isinstance(before, str) else before
    kept = before if isinstance(before, Mapping) else {}
    keys = {field.alias or key for key, field in known.model_fields.items()}
    same = ("suppression_limit", "time_limit")
    data["method"] = {"name": name, **{k: kept[k] for k in same if k in kept and k in keys}}
    without = []
    for column in _quasi_identifiers(data):
        entry = dict(entry_of(data, column))
        if known.can.ordered:
            entry = _ordered(entry)
        elif known.can.values == "means":
            entry = {k: v for k, v in entry.items() if k not in _OF_LEVELS}
        elif known.can.values == "generalized" and "hierarchy" not in entry:
            left = {k: v for k, v in entry.items() if k not in _OF_LEVELS}
            entry = {**(proposed or {}).get(column, {"hierarchy": "suppress"}), **left}
        if not entry:
            without.append(column)
        elif entry != entry_of(data, column):
            set_entry(data, column, entry)
    if without:
        raise DataError(
            f"method {name} merges neighbouring values, and {', '.join(without)} "
            f"{'has' if len(without) == 1 else 'have'} no order that is declared",
            hint="on Levels, give numbers intervals from a lowest to a highest value, and texts "
            "groups; or drop the column",
        )


def choose_policy(data: Data, choice: Mapping[str, Any]) -> None:
    """Say which policy of the frontier is released.

    Raises:
        DataError: the method chooses no policies.
    """
    method = data.get("method")
    method = {"name": method} if isinstance(method, str) else method
    if not isinstance(method, Mapping) or method.get("name") != "policy":
        raise DataError("only method policy has a frontier", hint="choose it first")
    data["method"] = {**method, "choose": dict(choice)}


_OF_LEVELS = ("hierarchy", "domain", "order", "min_level", "max_level")


def _quasi_identifiers(data: Mapping[str, Any]) -> list[str]:
    columns = data.get("columns")
    names = (
        [n for key in columns for n in names_in(str(key))] if isinstance(columns, Mapping) else []
    )
    return [name for name in names if entry_of(data, name).get("role") == "quasi_identifier"]


def _ordered(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The same column with an ordered domain in place of its hierarchy; empty where none is known.

    A domain is what the specification declares, never what the records happen to hold.
    """
    given = entry.get("hierarchy")
    if given is None:
        return dict(entry)
    left = {key: value for key, value in entry.items() if key not in _OF_LEVELS}
    try:
        hierarchy = short_hierarchy(given)
        found = HierarchySpec.model_validate(hierarchy)
    except ValueError:
        return {}
    if found.kind in ("path", "table", "groups"):
        return {**left, "hierarchy": given}
    if isinstance(found.lower, Fraction) and isinstance(found.upper, Fraction):
        ends = [end for end in (found.lower, found.upper) if end.denominator == 1]
        return {**left, "domain": [int(end) for end in ends]} if len(ends) == 2 else {}
    if isinstance(domain := entry.get("domain"), list):
        coded = len(domain) == 2 or all(any(c.isdigit() for c in str(v)) for v in domain)
        return {**left, "domain" if coded else "order": domain}
    return {}


def models_of(data: Mapping[str, Any]) -> list[Any]:
    """The models that a text declares, whatever is in them."""
    models = data.get("privacy")
    return list(models) if isinstance(models, list) else []


def _about(model: Any, name: str) -> bool:
    if not isinstance(model, Mapping):
        return False
    about = model.get("column")
    return about == name or (isinstance(about, list) and name in about)


def _unprotect(data: Data, name: str) -> None:
    """Take the models of a column away, unless nothing would be promised without them."""
    models = models_of(data)
    left = [m for m in models if not (isinstance(m, Mapping) and m.get("column") == name)]
    if left and len(left) < len(models):
        data["privacy"] = left


def set_entry(data: Data, name: str, entry: Mapping[str, Any]) -> None:
    """Put an entry in place of a column's.

    Raises:
        DataError: the columns do not stand in the text.
    """
    columns = data.get("columns")
    if columns is None:
        columns = {}
    if not isinstance(columns, Mapping):
        raise DataError(
            "the columns of this spec stand elsewhere", hint="change them there: docs/roles.md"
        )
    key = key_of(data, name)
    made = dict(columns)
    if key is not None and key != name:  # it leaves the others that it stood with
        made = {}
        for one, value in columns.items():
            others = [n for n in names_in(str(one)) if n != name]
            made[", ".join(others) if one == key else one] = value
    short = isinstance(made.get(name), str) and [*entry] == ["role"]
    made[name] = entry["role"] if short else dict(entry)
    data["columns"] = made
