"""What a click on the page of levels means: another hierarchy, merged groups, allowed levels."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dbdeid.data.shelf import NAMES
from dbdeid.errors import DataError
from dbdeid.spec.file import SpecFile
from dbdeid.ui.sheet.decisions import Data, entry_of, set_entry

MOST_LISTED = 500  # values that are written into a specification
LONGEST = 200  # characters of a label
_NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,9})?")


def allow(data: Data, name: str, level: int, which: str) -> None:
    """Say from which level on a column may leave, or up to which.

    Raises:
        DataError: there is nothing of the kind.
    """
    entry = dict(entry_of(data, name))
    if which not in ("from", "to", "only", "any"):
        raise DataError("there is no such choice", hint="from, to, only or any level")
    if which in ("from", "only"):
        entry["min_level"] = level
    if which in ("to", "only"):
        entry["max_level"] = level
    if which == "any" or entry.get("min_level") == 0:
        entry.pop("min_level", None)
    if which == "any":
        entry.pop("max_level", None)
    if which == "from" and entry.get("max_level", level) < level:
        entry["max_level"] = level
    if which == "to" and entry.get("min_level", level) > level:
        entry["min_level"] = level
    set_entry(data, name, entry)


def replace(data: Data, name: str, hierarchy: object) -> None:
    """Give a column another hierarchy, and take away what went with the one before."""
    kept = {
        key: value
        for key, value in entry_of(data, name).items()
        if key not in ("hierarchy", "min_level", "max_level", "domain", "order")
    }
    before = entry_of(data, name)
    made: dict[str, Any] = {}
    for key, value in kept.items():
        made[key] = value
        if key == "role":
            made["hierarchy"] = hierarchy
    kinds = ("prefix", "suppress", "shelf")
    kind = hierarchy if isinstance(hierarchy, str) else next(iter(hierarchy))  # type: ignore[call-overload]
    if "domain" in before and kind in kinds:
        made["domain"] = before["domain"]
    set_entry(data, name, made)


def told(kind: str, text: str, lower: str, upper: str, files: Sequence[str]) -> object:
    """A hierarchy from the fields of a form.

    Raises:
        DataError: they say none.
    """
    words = [word for word in re.split(r"[,;\s]+", text.strip()) if word]
    if kind == "suppress":
        return "suppress"
    if kind == "intervals":
        made: dict[str, object] = {"intervals": [_number(word) for word in words]}
        limits = {"lower": lower.strip(), "upper": upper.strip()}
        made |= {key: _number(word) for key, word in limits.items() if word}
        return _some(made, made["intervals"], "widths that are multiples, as in 5, 10, 20")
    if kind == "prefix":
        lengths = [int(word) for word in words if word.isascii() and word.isdigit()]
        return _some({"prefix": lengths}, lengths, "lengths that shrink, as in 3, 1")
    if kind == "dates":
        return _some({"dates": words}, words, "units that grow, as in month, year")
    if kind == "shelf" and text in NAMES:
        return {"shelf": text}
    if kind == "file" and text in files:
        return text
    raise DataError("this is no hierarchy", hint="choose one of the list")


def _some(made: object, given: object, hint: str) -> object:
    if not given:
        raise DataError("this hierarchy has no level", hint=hint)
    return made


def _number(word: str) -> int | float:
    if not _NUMBER.fullmatch(word):
        raise DataError("this is no number", hint="widths as in 5, 10, 20")
    return float(word) if "." in word else int(word)


def files_beside(file: SpecFile) -> list[str]:
    """The hierarchy files that may be chosen: those beside the specification and in its project."""
    found = []
    for place in (file.folder, file.folder / "hierarchies"):
        if place.is_dir():
            some = sorted(p for p in place.glob("*.csv") if p.is_file() and not p.is_symlink())
            found += [p.relative_to(file.folder).as_posix() for p in some]
    if file.project is not None and (shared := file.project.place("hierarchies")).is_dir():
        found += [p.name for p in sorted(shared.glob("*.csv")) if p.is_file()]
    source = file.spec.source
    own = Path(source).name if isinstance(source, str) else ""
    return [name for name in dict.fromkeys(found) if name != own][:200]


def merge(
    data: Data, name: str, level: int, labels: Sequence[str], into: str, values: Sequence[str]
) -> None:
    """Put labels of a level into one group on the next.

    Args:
        data: of the specification; changed in place.
        name: of the column.
        level: that the labels are of; 0: values.
        labels: at least one.
        into: the label of the group.
        values: all values of the column, which are listed where the hierarchy is not of groups.

    Raises:
        DataError: the labels are not on this level, or the values are too many to be listed.
    """
    into = " ".join(into.split())
    if not into or len(into) > LONGEST or into == "*":
        raise DataError("a group needs a name", hint="one that says what is in it")
    groups = _groups(data, name, values)
    if not 0 <= level <= len(groups):
        raise DataError("there is no such level", hint="look at the page again")
    known = _labels(groups, level) or list(values)
    if not labels or not set(labels) <= set(known):
        raise DataError("choose labels of this level", hint="tick those that belong together")
    if level == len(groups):
        groups.append({label: [label] for label in known})
    above = groups[level]
    first = next(label for label, members in above.items() if labels[0] in members)
    chosen = {*labels, *above.get(into, ())}
    made: dict[str, list[str]] = {}
    for label, members in above.items():
        left = [member for member in members if member not in chosen]
        if len(left) < len(members):
            made.setdefault(into, [label for label in known if label in chosen])
        if left:
            made[label] = left
    groups[level] = made
    if level + 1 < len(groups):
        _reparent(groups, level + 1, first)
    entry = dict(entry_of(data, name))
    entry.pop("domain", None)
    entry["hierarchy"] = {"groups": groups}
    set_entry(data, name, entry)


def _labels(groups: Sequence[Mapping[str, Sequence[str]]], level: int) -> list[str]:
    """The labels of a level: of level 0 the values."""
    if level:
        return [*groups[level - 1]]
    return [value for members in groups[0].values() for value in members] if groups else []


def _reparent(groups: list[dict[str, list[str]]], level: int, first: str) -> None:
    """Have all levels from one on map exactly the labels that the level below has: a new label
    goes where the one went that its first member was of."""
    home = next(label for label, members in groups[level].items() if first in members)
    for higher in range(level, len(groups)):
        below = groups[higher - 1]
        made = {
            label: [member for member in members if member in below]
            for label, members in groups[higher].items()
        }
        placed = {member for members in made.values() for member in members}
        if higher == level:
            made[home] += [label for label in below if label not in placed]
        groups[higher] = {label: members for label, members in made.items() if members}


def _groups(
    data: Mapping[str, Any], name: str, values: Sequence[str]
) -> list[dict[str, list[str]]]:
    hierarchy = entry_of(data, name).get("hierarchy")
    if isinstance(hierarchy, Mapping) and isinstance(hierarchy.get("groups"), list):
        return [
            {str(label): [str(m) for m in members] for label, members in mapping.items()}
            for mapping in hierarchy["groups"]
        ]
    if len(values) > MOST_LISTED:
        raise DataError(
            f"{len(values):,} values are too many to be listed in a spec",
            hint="write a hierarchy file, and choose it here",
        )
    return []
