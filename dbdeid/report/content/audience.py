"""What the public may see of a record: a new record, built from named parts only.

Nothing is passed through because it was not thought of: each part below is either contained in
the release itself, declared by its owner, or rounded. The exact number of source or suppressed
records can be computed from an exact loss, discernibility or average class size, so these are
left out or taken over the released records alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from pathlib import PurePath
from typing import Any

from dbdeid.report.content.model_terms import model_called
from dbdeid.report.content.padding import CATALOGUED

FEW = 100
LOSS_STEP = 0.05

_RELEASED = (
    "release",
    "method",
    "recoding",
    "version",
    "released_rows",
    "classes",
    "smallest_class",
)
_DECLARED = ("verified", "null_policy", "accept", "histogram")
_RISK = ("records", "classes", "k", "highest_risk", "average_risk", "unique_records")
_COLUMN = (
    *("name", "role", "pseudonym", "type", "released_type", "level", "height"),
    *("labels", "reason", "accept", "values"),
)
_PARAMETERS = (
    *("suppression_limit", "suppressed", "limit", "truthful"),
    *("h", "max_counterfeits", "catalog", "recoding", "strict"),
)
# The tables whose content is told by its digest.
_PUBLISHED = ("release", "dictionary", "catalog")
# Of counterfeit records: what was declared, and what the published catalog and its release tell.
_PADDING = ("k", "catalog", "sensitive", "strict")
_TOLD_BY_CATALOG = ("counterfeits", "size", "candidates", "groups", "risk")
_METRICS = ("height",)
# Found in a release and its catalog, without the source.
_FOUND_IN_CATALOG = (
    *("catalog", "lemma_1", "candidates", "prosecutor_risk", "possible_counterfeits"),
)


def public(record: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a record that may be published; `warnings` and `source` come out empty.

    Loss is taken over the released records alone and rounded to the nearest 0.05, because the
    range of a column without a declared domain can be computed from an exact one; that of such a
    column alone is left out. Of a release with counterfeit records loss is left out, for it is
    taken over the real ones, and how many they are is told only where a catalog tells.
    """
    shown = {key: record[key] for key in (*_RELEASED, *_DECLARED) if key in record}
    shown |= {
        "created": str(record["created"])[:10],
        "source": "",
        "source_rows": None,
        "source_subjects": None if record["source_subjects"] is None else 0,
        "suppressed_rows": None,
        "warnings": [],
        "privacy": [_model(model) for model in record.get("privacy") or ()],
        "columns": [_only(column, _COLUMN) for column in record.get("columns") or ()],
        "metrics": _only(record.get("metrics") or {}, _METRICS),
        "loss": _released_loss(record, record.get("loss")),
        "exports": [PurePath(name).name for name in record.get("exports") or ()],
    }
    if shown["source_subjects"] is not None:
        shown |= _without_subjects(record)
    if left := record.get("remains"):
        shown["remains"] = _remains(left)
    if (parameters := record.get("method_parameters")) is not None:
        shown["method_parameters"] = _only(parameters, _PARAMETERS)
    if synthetic := record.get("synthetic"):
        # how many clusters there are, and what was found of them, tells of the source
        shown |= {"synthetic": _only(synthetic, ("k", "counts")), "classes": None}
        shown["smallest_class"] = synthetic["k"]
    if isinstance(content := record.get("content"), Mapping):  # once it was a list, and forgeable
        shown["content"] = _content(content)
    if padding := record.get("padding"):
        shown["padding"] = _padding(padding, record)
    losses, declared = record.get("column_loss") or {}, _declared_domains(record)
    shown["column_loss"] = {
        name: _released_loss(record, losses[name]) for name in losses if name in declared
    }
    models = {model["model"] for model in record.get("privacy") or ()}
    if checked := record.get("verification"):
        shown["verification"] = {
            "verified": checked["verified"],
            "promises": [
                _promise(promise, models, found=shown["source_subjects"] is None)
                | _of_padding(promise, record)
                for promise in checked["promises"]
                if promise["model"] != "policy"  # of a risk that the public is not told
            ],
            "hygiene": [{**_only(c, ("check", "holds")), "detail": ""} for c in checked["hygiene"]],
        }
    after = (record.get("risk") or {}).get("after")
    if after and shown["source_subjects"] is None:
        shown["risk"] = {"after": _only(after, (*_RISK, "records_at_risk"))}
    return shown


def _content(content: Mapping[str, Any]) -> dict[str, Any]:
    """Digests of what is published, which tell no more than that does; of nothing else."""
    tables = {name: content[name] for name in _PUBLISHED if name in content}
    columns = [_only(c, ("name", "type")) for c in content.get("columns") or ()]
    return {
        **_only(content, ("made",)),
        **({"columns": columns} if columns else {}),
        **{name: _only(table, ("rows", "sha256")) for name, table in tables.items()},
    }


def _remains(left: Mapping[str, Any]) -> dict[str, Any]:
    """What anyone can count in the release, which does not tell whose its records are."""

    def singled(found: Mapping[str, Any] | None) -> dict[str, Any] | None:
        return None if found is None else {"records": found["records"], "people": None}

    return {
        **_only(left, ("records", "quasi_identifiers", "columns", "bounds", "pseudonyms")),
        "covered": singled(left.get("covered")),
        "people": None,
        "subject": None,
        "as_they_are": [
            {**_only(c, ("column", "role")), "alone": singled(c["alone"])}
            for c in left["as_they_are"]
        ],
        "together": singled(left["together"]),
        "everything": singled(left["everything"]),
        "certain": [{**_only(c, ("column", "records")), "people": None} for c in left["certain"]],
    }


def _declared_domains(record: Mapping[str, Any]) -> set[str]:
    """Columns whose loss does not tell how many values the original has, or how far they reach."""
    columns = record.get("columns") or ()
    return {column["name"] for column in columns if column.get("declared_domain")}


def _padding(padding: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """What the release itself tells of counterfeit records, and what was declared of them."""
    shown = {"risk": None} | _only(padding, _PADDING)
    if padding["catalog"] in CATALOGUED:
        shown |= _only(padding, _TOLD_BY_CATALOG)
        if (told := padding.get("told")) is not None:
            # what the owner measured by knowing which are counterfeit, no finer than it must be
            shown["told"] = max(padding["risk"], min(1.0, ceil(told * 20) / 20))
    if _degrees_are_known(record):
        shown["degree"] = padding["degree"]
    return shown


def _degrees_are_known(record: Mapping[str, Any]) -> bool:
    """Whether anyone can compute how far a record is generalized: all domains are declared."""
    columns = record.get("columns") or ()
    names = {c["name"] for c in columns if c.get("role") == "quasi_identifier"}
    return bool(names) and names <= _declared_domains(record)


def _of_padding(promise: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """What may be shown of a promise about counterfeit records besides that it holds.

    A ceiling that was found, not declared, tells of the source.
    """
    padding, name = record.get("padding"), promise["model"]
    if not padding:
        return {}
    if name in _FOUND_IN_CATALOG and padding["catalog"] in CATALOGUED:
        return _only(promise, ("declared", "found"))
    if name == "h_ceiling":
        declared = (record.get("method_parameters") or {}).get("h")
        known = {"found": promise["found"]} if _degrees_are_known(record) else {}
        return known | ({} if declared is None else {"declared": {"h": declared}})
    return {}


def _without_subjects(record: Mapping[str, Any]) -> dict[str, Any]:
    """What stands for counts of subjects, which the release does not tell: what was declared."""
    models = record.get("privacy") or ()
    sizes = [m["k"] for m in models if "k" in m and m.get("model") != "k_map"]  # k people around
    return {"smallest_class": max(sizes, default=None), "histogram": []}


def about(suppressed: int, limit: float | None) -> str:
    """A number of suppressed records in two significant digits, fewer than 100 not told apart.

    >>> about(1346, 0.05), about(7, 0.05), about(0, 0.0)
    ('about 1,300', 'fewer than 100', 'none')
    """
    if suppressed == 0 and limit == 0:
        return "none"
    if suppressed < FEW:
        return f"fewer than {FEW}"
    unit = 10 ** (len(str(suppressed)) - 2)
    return f"about {round(suppressed / unit) * unit:,}"


def _released_loss(record: Mapping[str, Any], loss: float | None) -> float | None:
    """Loss without the removed records (each counts 1), rounded; None where it is unknown."""
    if loss is None:
        return None
    released, source = int(record["released_rows"]), int(record["source_rows"])
    removed = source - released
    if released <= 0 or removed < 0:
        return None
    kept = (loss * source - removed) / released
    return round(max(kept, 0.0) / LOSS_STEP) * LOSS_STEP


def _promise(promise: Mapping[str, Any], models: set[str], *, found: bool) -> dict[str, Any]:
    """A promise; what was found only where anyone can find it in the release."""
    shown = {"declared": None, "found": None} | _only(promise, ("model", "holds"))
    if promise["model"] in models and isinstance(promise["declared"], Mapping):
        shown["declared"] = _model(promise["declared"])
        found = found and "values" not in promise["declared"]  # would tell which they are
    kind = model_called(promise["model"])
    if found and kind is not None and kind.found_in_release:
        shown["found"] = promise["found"]
    return shown


def _model(declared: Mapping[str, Any]) -> dict[str, Any]:
    """A model; of the values that it is about only how many, for it promises nothing of others."""
    kind = model_called(declared.get("model"))
    shown = _only(declared, ("model", *(kind.public if kind else ())))
    if listed := declared.get("values"):
        shown["values"] = f"{len(listed)} not named here"
    return shown


def _only(values: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: values[key] for key in keys if key in values}
