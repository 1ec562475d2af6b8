"""What who learns from a release guesses of the people in it, measured by who has the source."""

from __future__ import annotations

from typing import Any

import numpy as np

from dbdeid.data.classes import values_relation
from dbdeid.data.records import Ints
from dbdeid.engine.expressions import (
    Expr,
    aliased,
    cast,
    coalesce,
    column,
    count_rows,
    function,
    literal,
    same_value,
    select,
)
from dbdeid.engine.session import Session, Step
from dbdeid.methods.attacks.inference import Classes, Inferred, People, inferred
from dbdeid.methods.common.outcome import Values, Written
from dbdeid.prepare.prepare import Prepared
from dbdeid.rerelease.equivalence_classes import of_classes, placed

METRIC = "inference"
MOST = 8_000_000  # pairs of a value of a quasi-identifier and a sensitive one that are learned
_PLACED, _LABELLED = "deid_inferred_people", "deid_inferred_classes"


def metrics_of(prepared: Prepared, written: Written, session: Session) -> dict[str, float]:
    """The figures of each sensitive column, as metrics; none where records cannot be placed.

    A column of too many values is left out.
    """
    sensitive = [c.name for c in prepared.bound.columns if c.spec.role == "sensitive"]
    found: dict[str, float] = {}
    for name, one in attacked(prepared, written, session, sensitive).items():
        own = f"{METRIC}.{name}"
        found |= {
            own: one.lift,
            f"{own}.right": one.right,
            f"{own}.by_class": one.by_class,
            f"{own}.by_all": one.by_all,
            f"{own}.surest_1": one.surest[0],
            f"{own}.surest_5": one.surest[1],
        }
    lifts = [found[f"{METRIC}.{name}"] for name in sensitive if f"{METRIC}.{name}" in found]
    return {METRIC: max(lifts), **found} if lifts else {}


def attacked(
    prepared: Prepared, written: Written, session: Session, sensitive: list[str]
) -> dict[str, Inferred]:
    """The attack on each of some sensitive columns; see `methods.attacks.inference`."""
    qis, shown = prepared.quasi_identifiers, written.outcome.shown
    if prepared.bound.free:
        return {}  # what is learned goes by the levels of hierarchies
    rows = placed(prepared, written, session) if sensitive and qis and any(shown) else None
    if rows is None:
        return {}
    names = [q.name for q in qis]
    told = {f"s{i}": name for i, name in enumerate(sensitive)}
    exact = [
        aliased(cast(column(q.name, "source"), q.column.type), f"x{i}") for i, q in enumerate(qis)
    ]
    values = [aliased(_text(name, "source"), own) for own, name in told.items()]
    people = select(
        "class",
        *(aliased(column("code", f"v{i}"), f"q{i}") for i in range(len(qis))),
        *told,
    ).from_(rows.select(*exact, *values).subquery("rows"))
    for i in range(len(qis)):
        same = same_value(column(f"x{i}", "rows"), column("value", f"v{i}"))
        people = people.join(values_relation(i).aliased(f"v{i}"), on=same)
    session.run(Step(_PLACED, people))
    labels = [aliased(cast(column(n, "released"), "VARCHAR"), f"l{i}") for i, n in enumerate(names)]
    held = [aliased(_text(name, "released"), own) for own, name in told.items()]
    session.run(Step(_LABELLED, of_classes(written, names).select(*labels, *held)))
    levels, codes = _labels(prepared, written, session)
    groups = [
        np.stack([q.coding.groups(v) for v in range(q.height + 1)]).astype(np.int64) for q in qis
    ]
    found: dict[str, Inferred] = {}
    for own, name in told.items():
        classes, members = _counted(session, own, len(qis), levels, codes)
        if classes.values * max(own.shape[1] for own in groups) <= MOST:
            one = inferred(groups, classes, members)
            found |= {name: one} if one else {}
    for table in (_PLACED, _LABELLED):
        session.drop_temp(table)
    return found


def _text(name: str, table: str) -> Expr:
    """A value as JSON text, which NULL has, too."""
    text = cast(column(name, table), "VARCHAR")
    json = cast(function("to_json", text), "VARCHAR")
    return coalesce(json, literal("null"))


def _labels(prepared: Prepared, written: Written, session: Session) -> tuple[Ints, Ints]:
    """The level and a code of what each class reads. Shape: classes, quasi-identifiers."""
    qis = prepared.quasi_identifiers
    query = select("class", *(f"l{i}" for i in range(len(qis)))).distinct()
    rows = session.rows(query.from_(session.temp(_LABELLED).table))
    number = max((row[0] for row in rows), default=-1) + 1
    levels, codes = (np.zeros((number, len(qis)), np.int64) for _ in range(2))
    for i, (q, shown) in enumerate(zip(qis, written.outcome.shown, strict=True)):
        means = _meanings(q.coding, shown)
        for of_class, *labels in rows:
            levels[of_class, i], codes[of_class, i] = means[labels[i]]
    return levels, codes


def _meanings(coding: Any, shown: Values) -> dict[str | None, tuple[int, int]]:
    """The level and a code of each label."""
    found: dict[str | None, tuple[int, int]] = {}
    for level in sorted({value.level for value in shown.values()}):
        for code, label in enumerate(coding.labels(level)):
            own = shown.get(label)
            if own is None or own.level != level:
                label = f"{label}@{level}"  # as it reads where levels mix
            if label in shown:
                found.setdefault(label, (level, code))
    return found


def _counted(
    session: Session, own: str, number: int, levels: Ints, codes: Ints
) -> tuple[Classes, People]:
    """The classes by one sensitive column, and the people."""
    count = aliased(count_rows(), "records")
    query = select("class", own, count).group_by("class", own).order_by("class", own)
    held = session.arrays(query.from_(session.temp(_LABELLED).table))
    keys = ["class", *(f"q{i}" for i in range(number)), own]
    query = select(*keys, count.copy()).group_by(*keys).order_by(*keys)
    there = session.arrays(query.from_(session.temp(_PLACED).table))
    texts = np.concatenate([held[own].astype(str), there[own].astype(str)])
    values, code = np.unique(texts, return_inverse=True)
    code = code.ravel().astype(np.int64)

    def whole(found: dict[str, Any], name: str) -> Ints:
        return np.asarray(found[name], np.int64)

    classes = Classes(
        levels,
        codes,
        whole(held, "class"),
        code[: len(held[own])],
        whole(held, "records"),
        len(values),
    )
    exact = np.stack([whole(there, f"q{i}") for i in range(number)], axis=1)
    people = People(exact, whole(there, "class"), code[len(held[own]) :], whole(there, "records"))
    return classes, people
