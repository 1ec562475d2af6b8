"""The page of columns: values, role and reason of each, and the open decisions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdeid.data.figures import count, share
from dbdeid.profiling.kinds import IDENTIFYING
from dbdeid.profiling.suggest.roles import per_cent
from dbdeid.spec.column.column_spec import given_reason, names_in
from dbdeid.ui.sheet.decisions import ROLES, entry_of, protected_by
from dbdeid.ui.sheet.desk import Sheet

WORDS: Mapping[str, tuple[str, str]] = {
    "identifier": ("Identifier", "never released"),
    "drop": ("Drop", "not released"),
    "quasi_identifier": ("Quasi-identifier", "others may know it; released in coarser levels"),
    "sensitive": ("Sensitive", "nobody may learn it about a person"),
    "insensitive": ("Insensitive", "released unchanged"),
}
_EOL = re.compile(r"\s#\s?(.*)$")


@dataclass(frozen=True, slots=True)
class Bar:
    """One value that many records share, and the share of the records."""

    value: str
    share: float
    told: str


@dataclass(frozen=True, slots=True)
class Row:
    """One column.

    Attributes:
        number: its place, by which the page calls it.
        name: as the source spells it.
        type: in the source; empty until it was looked at.
        role: that it has.
        found: what is known of it, as a sentence.
        proposed: the role that a draft would give it, where that is another one.
        figures: of its values, a clause each.
        bars: the values that many share; none of a column that leads to a person.
        costs: what each role would cost, for one that is undecided.
        reason: the owner's words.
        asks: what is open: a role, a reason, a protection.
        models: what protects it, where it is sensitive.
        accepted: a class may share one value.
    """

    number: int
    name: str
    type: str
    role: str
    found: str
    proposed: str | None
    figures: tuple[str, ...]
    bars: tuple[Bar, ...]
    costs: tuple[tuple[str, str], ...]
    reason: str
    asks: tuple[str, ...]
    models: tuple[str, ...]
    accepted: bool

    @property
    def open(self) -> bool:
        """Whether a run would refuse it as it is."""
        return bool(self.asks)


def names_of(sheet: Sheet, looked: Mapping[str, Any] | None) -> list[str]:
    """The names of all columns: as the source has them, once that was looked at."""
    if looked is not None:
        return [one["name"] for one in looked["columns"]]
    if sheet.file is not None:
        return [n for key in sheet.file.spec.columns for n in names_in(key)]
    return [n for key in sheet.columns for n in names_in(str(key))]


def rows(sheet: Sheet, looked: Mapping[str, Any] | None) -> list[Row]:
    """All columns, those that are still open first."""
    known = {one["name"]: one for one in looked["columns"]} if looked else {}
    now = looked["unique"] if looked else None
    made = [
        _row(number, name, sheet, known.get(name), now)
        for number, name in enumerate(names_of(sheet, looked))
    ]
    return sorted(made, key=lambda row: (not row.open, row.role != "undecided"))


def _entry(sheet: Sheet, name: str) -> Mapping[str, Any]:
    """What the text says of a column, or what it takes from a preset or from comments."""
    entry = entry_of(sheet.data or {}, name)
    if entry or sheet.file is None:
        return entry
    for key, found in sheet.file.spec.columns.items():
        if name in (key, *names_in(key)):
            return {"role": found.role}
    return {}


def _row(
    number: int, name: str, sheet: Sheet, found: Mapping[str, Any] | None, now: float | None
) -> Row:
    entry = _entry(sheet, name)
    role = str(entry.get("role") or "undecided")
    data = sheet.data or {}
    models = tuple(map(_model, protected_by(data, name)))
    accept = entry.get("accept")
    accepted = "homogeneity" in (accept if isinstance(accept, list) else [accept])
    reason = entry.get("reason")
    asks = []
    if role == "undecided":
        asks.append("role")
    if "reason" in entry and not given_reason(reason if isinstance(reason, str) else None):
        asks.append("reason")
    if role == "sensitive" and not models and not accepted:
        asks.append("protection")
    return Row(
        number,
        name,
        found["type"] if found else "",
        role,
        _clause(found["why"]) if found else _comment(sheet, name),
        found["proposed"] if found and found["proposed"] not in (role, "undecided") else None,
        tuple(_figures(found)) if found else (),
        tuple(_bars(found, role)) if found else (),
        tuple(_costs(found, now)) if found and role == "undecided" else (),
        reason if isinstance(reason, str) else "",
        tuple(asks),
        models,
        accepted,
    )


def _clause(text: str) -> str:
    return text[:1].upper() + text[1:]


def _model(model: Mapping[str, Any]) -> str:
    rest = ", ".join(f"{k} {v}" for k, v in model.items() if k not in ("model", "column"))
    name = str(model.get("model")).replace("_", "-")
    return f"{name} ({rest})" if rest else name


def _comment(sheet: Sheet, name: str) -> str:
    """What a draft wrote beside a column, until the column itself was looked at."""
    line = sheet.file.lines.get(("columns", name)) if sheet.file else None
    lines = sheet.text.splitlines()
    match = _EOL.search(lines[line - 1]) if line and line <= len(lines) else None
    return _clause(match[1]) if match else ""


def _figures(found: Mapping[str, Any]) -> Iterator[str]:
    distinct, records, known = found["distinct"], found["records"], found["known"]
    yield f"{count(distinct)} value{'s' * (distinct != 1)}"
    if known < records:
        yield f"{share(1 - known / records)} missing"
    if found["alone"]:
        yield f"singles out {per_cent(found['alone'])} of the records"


def _bars(found: Mapping[str, Any], role: str) -> Iterator[Bar]:
    """The most frequent values: none where a value may name somebody."""
    if role == "identifier" or found["kind"] in IDENTIFYING or found["proposed"] == "identifier":
        return
    for value, n in found["often"][:4]:
        part = n / found["records"]
        yield Bar(value, part, share(part))


def _costs(found: Mapping[str, Any], now: float | None) -> Iterator[tuple[str, str]]:
    if found["unique"] is not None and now is not None:
        told = f"{per_cent(found['unique'])} of the records are unique ({per_cent(now)} without it)"
        yield "quasi-identifier", told
    if found["most"] is not None:
        yield "sensitive", f"its most frequent value has {per_cent(found['most'])} of the records"
        yield "insensitive", f"it singles out {per_cent(found['alone'])} of the records by itself"


def proposals(looked: Mapping[str, Any] | None, role: str) -> dict[str, Mapping[str, Any]]:
    """Of each column what a draft would write of it in a role, where it knows."""
    made = {}
    for one in (looked or {}).get("columns", ()):
        if one["proposed"] == role:
            made[one["name"]] = one["entry"]
        elif role == "quasi_identifier" and one["generalized"]:
            made[one["name"]] = one["generalized"]
    return made


def agreed(looked: Mapping[str, Any] | None, names: Sequence[str]) -> dict[str, list[str]]:
    """Of some columns the role that a draft would give them, where it knows one."""
    found: dict[str, list[str]] = {role: [] for role in ROLES}
    for one in (looked or {}).get("columns", ()):
        if one["name"] in names and one["proposed"] in found:
            found[one["proposed"]].append(one["name"])
    return found


def _whose(shown: Sequence[Row], looked: Mapping[str, Any] | None, subject: object) -> list[Row]:
    """The columns that may say whose each record is: the likely ones, then identifiers."""
    likely = [name for name, _ in looked["subjects"]] if looked else []
    named = [subject] if isinstance(subject, str) else []
    order = {name: place for place, name in enumerate([*named, *likely])}
    some = (r for r in shown if r.name in order or r.role == "identifier")
    return sorted(some, key=lambda row: (order.get(row.name, len(order)), row.number))


def view(sheet: Sheet, looked: Mapping[str, Any] | None) -> dict[str, Any]:
    """All that the page shows."""
    shown = rows(sheet, looked)
    data = sheet.data or {}
    counted = {role: sum(row.role == role for row in shown) for role in (*ROLES, "undecided")}
    return {
        "rows": shown,
        "open": [row for row in shown if row.open],
        "counted": counted,
        "words": WORDS,
        "whose": _whose(shown, looked, data.get("subject")),
        "subject": data.get("subject"),
        "asks_subject": "subject" in data and data.get("subject") in ("", None),
        "rows_accepted": data.get("accept") == "rows",
        "looked": looked is not None,
        "unique": share(looked["unique"]) if looked and looked["unique"] is not None else None,
    }
