"""The page of levels: of each quasi-identifier what its values become, and what that costs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dbdeid.data.figures import count, number, share
from dbdeid.data.shelf import NAMES
from dbdeid.engine.relation import Column
from dbdeid.engine.session import Settings
from dbdeid.errors import DbdeidError
from dbdeid.spec.column.column_spec import ColumnSpec
from dbdeid.spec.file import SpecFile
from dbdeid.ui.sheet.desk import Sheet
from dbdeid.ui.sheet.hierarchy_edits import MOST_LISTED, files_beside
from dbdeid.ui.sheet.levels import Levels, levels_of
from dbdeid.ui.views.columns_page import names_of

SHOWN = 24  # labels of a level
MOST_LADDERS = 200  # that are remembered
KINDS: Mapping[str, str] = {
    "intervals": "intervals: widths",
    "prefix": "prefixes: lengths",
    "dates": "dates: units",
    "shelf": "from the shelf",
    "file": "from a file",
    "suppress": "the value or nothing",
}


@dataclass(slots=True)
class Ladders:
    """The levels that were computed, by what they depend on."""

    known: dict[tuple[str, str, int], Levels | str] = field(default_factory=dict)

    def of(
        self,
        file: SpecFile,
        found: Mapping[str, Any],
        spec: ColumnSpec,
        counted: Sequence[Any],
        k: int,
        settings: Settings,
    ) -> Levels | str:
        """The levels of a column, or why there are none to be shown."""
        entry = json.dumps(spec.model_dump(mode="json"), sort_keys=True, default=str)
        stamp = _stamp(file, spec)
        key = (found["name"], f"{entry}{stamp}", k)
        if key not in self.known:
            if len(self.known) >= MOST_LADDERS:
                self.known.clear()
            column = Column(found["name"], found["stored"])
            pairs = [(str(value), int(n)) for value, n in counted]
            try:
                self.known[key] = levels_of(file, column, spec, pairs, k, settings)
            except DbdeidError as error:
                self.known[key] = str(error)
        return self.known[key]


def _stamp(file: SpecFile, spec: ColumnSpec) -> str:
    """The time and size of a hierarchy file, to notice that it has changed."""
    if spec.hierarchy is None or spec.hierarchy.path is None:
        return ""
    for folder in file.folders("hierarchies"):
        place = folder / spec.hierarchy.path
        if place.is_file():
            found = place.stat()
            return f"{found.st_mtime_ns}:{found.st_size}"
    return "missing"


@dataclass(frozen=True, slots=True)
class LevelView:
    """One level as it is shown."""

    number: int
    groups: str
    smallest: str
    few: str
    loss: str
    labels: tuple[tuple[str, str, float], ...]
    more: str
    allowed: bool


@dataclass(frozen=True, slots=True)
class Section:
    """One quasi-identifier.

    Attributes:
        column: its number on the page of columns.
        name: its name.
        kind: of its hierarchy, in words.
        why: there is nothing to show; empty where there is.
        levels: from the finest.
        least: the finest level that may leave.
        most: the coarsest; None: any.
        chosen: the level of the last run; None where there was none.
        fields: of the form for another hierarchy.
        mergeable: whether groups can be written into the specification.
    """

    column: int
    name: str
    kind: str
    why: str
    levels: tuple[LevelView, ...]
    least: int
    most: int | None
    chosen: int | None
    fields: Mapping[str, str]
    mergeable: bool


def view(
    sheet: Sheet,
    looked: Mapping[str, Any] | None,
    ladders: Ladders,
    chosen: Mapping[str, int],
    settings: Settings,
) -> dict[str, Any]:
    """All that the page shows."""
    sections: list[Section] = []
    if sheet.file is not None and looked is not None:
        sections = list(_sections(sheet, sheet.file, looked, ladders, chosen, settings))
    return {
        "sections": sections,
        "looked": looked is not None,
        "broken": sheet.file is None,
        "kinds": KINDS,
        "shelf": NAMES,
        "files": files_beside(sheet.file) if sheet.file is not None else [],
    }


def _sections(
    sheet: Sheet,
    file: SpecFile,
    looked: Mapping[str, Any],
    ladders: Ladders,
    chosen: Mapping[str, int],
    settings: Settings,
) -> list[Section]:
    by_name = {one["name"]: one for one in looked["columns"]}
    k = file.spec.smallest_class
    leveled = file.spec.method.can.values == "generalized" and file.spec.method.can.leveled
    made = []
    for place, name in enumerate(names_of(sheet, looked)):
        spec = spec_of(file, name)
        if spec is None or spec.role != "quasi_identifier":
            continue
        counted = looked["values"].get(name)
        ladder: Levels | str
        if not leveled or spec.hierarchy is None:
            ladder = f"method {file.spec.method.name} chooses no levels"
        elif spec.free:
            ladder = "its blocks choose intervals and sets themselves"
        elif counted is None:
            ladder = "its values are not shown: they lead to persons, or are too many"
        else:
            ladder = ladders.of(file, by_name[name], spec, counted, k, settings)
        made.append(_section(place, name, spec, ladder, chosen.get(name)))
    return made


def spec_of(file: SpecFile, name: str) -> ColumnSpec | None:
    """What a specification says of a column."""
    for key, spec in file.spec.columns.items():
        if name in (key, *(part.strip() for part in key.split(","))):
            return spec
    return None


def _section(
    place: int, name: str, spec: ColumnSpec, ladder: Levels | str, chosen: int | None
) -> Section:
    why = ladder if isinstance(ladder, str) else ""
    levels: tuple[LevelView, ...] = ()
    if isinstance(ladder, Levels):
        most = ladder.height if spec.max_level is None else spec.max_level
        levels = tuple(
            LevelView(
                one.number,
                count(one.groups),
                count(one.smallest),
                share(one.few / ladder.records if ladder.records else 0.0),
                number(round(one.loss, 3)),
                tuple(
                    (label, count(n), n / max(ladder.records, 1)) for label, n in one.labels[:SHOWN]
                ),
                _more(one.labels[SHOWN:]),
                spec.min_level <= one.number <= most,
            )
            for one in ladder.levels
        )
    return Section(
        place,
        name,
        ladder.kind if isinstance(ladder, Levels) else "",
        why,
        levels,
        spec.min_level,
        spec.max_level,
        chosen,
        _fields(spec),
        isinstance(ladder, Levels) and _mergeable(ladder, spec),
    )


def _mergeable(ladder: Levels, spec: ColumnSpec) -> bool:
    """Whether its groups may be written into the specification: values of files stay there, and
    many values would fill pages."""
    kind = spec.hierarchy.kind if spec.hierarchy is not None else "path"
    return kind == "groups" or (kind != "path" and len(ladder.values) <= MOST_LISTED)


def _more(rest: Sequence[tuple[str, int]]) -> str:
    if not rest:
        return ""
    records = sum(n for _, n in rest)
    return f"and {count(len(rest))} more, of {count(records)} records"


def _fields(spec: ColumnSpec) -> Mapping[str, str]:
    """What the form for another hierarchy has in it: the one there is."""
    hierarchy = spec.hierarchy
    if hierarchy is None:
        return {"kind": "suppress", "text": "", "lower": "", "upper": ""}
    lists = {"intervals": hierarchy.intervals, "prefix": hierarchy.prefix, "dates": hierarchy.dates}
    text = next((", ".join(_plain(v) for v in some) for some in lists.values() if some), "")
    kind = {"path": "file"}.get(hierarchy.kind, hierarchy.kind)
    ends = {key: getattr(hierarchy, key) for key in ("lower", "upper")}
    shown = {key: "" if end is None else _plain(end) for key, end in ends.items()}
    named = hierarchy.path or hierarchy.shelf or text
    return {"kind": kind if kind in KINDS else "suppress", "text": named, **shown}


def _plain(value: object) -> str:
    if isinstance(value, str | int) or not hasattr(value, "numerator"):
        return str(value)
    return f"{float(value):g}"  # type: ignore[arg-type]
