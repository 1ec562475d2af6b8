"""Counterfeit records drawn for the staged classes, and placed where they do not stand out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dbdeid.engine.expressions import aliased, coalesce, column, count_rows, literal, select
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.lattice.lattice import Node
from dbdeid.lattice.sensitive_counts import Entries
from dbdeid.methods.common.generalized import upload_labels
from dbdeid.methods.common.outcome import Values
from dbdeid.methods.common.secret import upload_secret
from dbdeid.methods.counterfeit import padded_rows, paper_catalog, worlds
from dbdeid.methods.counterfeit.covers import covers, shares
from dbdeid.methods.counterfeit.fitting import chances, values_of
from dbdeid.methods.counterfeit.knowledge import Knowledge, knowledge
from dbdeid.methods.counterfeit.options import padding_of
from dbdeid.methods.counterfeit.padded_rows import (
    CATALOG_GROUPS,
    DEFICITS,
    MEMBERS,
    PLACED,
    SLOTS,
    Names,
)
from dbdeid.methods.counterfeit.placement import SAME, Places, place
from dbdeid.prepare.problem import Parameters
from dbdeid.prepare.sensitive_conditions import Sensitive

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# The prosecutor risk of a record, in shares of 1/k, that whoever knows the method may reach.
ALLOWED_RISK = 1.10
# Draws that are tried: one may exceed the bound of the risk, and the next not.
DRAWS = 16


@dataclass(frozen=True, slots=True)
class Drawn:
    """What was drawn and placed.

    Attributes:
        groups: groups of the catalog.
        candidates: classes that could be padded, for all that the release shows.
        counterfeits: records to be made.
        risk: the greatest prosecutor risk of a class, for whoever knows the method.
    """

    groups: int
    candidates: int
    counterfeits: int
    risk: float


def allowed_risk(k: int, *, strict: bool) -> float:
    """The greatest prosecutor risk of a record that is accepted."""
    return (1.0 if strict else ALLOWED_RISK) / k


def stage_node(session: Session, names: Names, parameters: Parameters[object], node: Node) -> None:
    """Stage the records under one transformation; all classes of one size belong together."""
    upload_labels(session, names.quasi_identifiers, node)
    session.run(padded_rows.real_step(names, node, parameters.rule))
    padded_rows.upload_groups(session, np.array([0]), np.array([0]))


def draw(
    session: Session,
    names: Names,
    parameters: Parameters[object],
    size: int,
    shown: Sequence[Values],
) -> Drawn | None:
    """Draw the counterfeit records of the staged classes, and stage them and the catalog's groups.

    Args:
        session: where the classes are staged.
        names: of the released columns.
        parameters: what must hold.
        size: that smaller classes are padded to.
        shown: of each quasi-identifier, what its released values stand for.

    Returns:
        None where they cannot stand anywhere within the bounds of the risk and the models, some
        class can have none that is possible, or the other columns that they copy tell too much.
    """
    padding = padding_of(parameters)
    uniform = padding.catalog == "paper"
    for step in padded_rows.member_steps(names, parameters.k, size):
        session.run(step)
    session.run(padded_rows.donors_step(names, uniform=uniform))
    known = None
    for number in range(DRAWS):
        key = f"{padding.key} {number}"
        upload_secret(session, key)
        for step in padded_rows.drawing_steps(uniform=uniform):
            session.run(step)
        classes = _Classes.of(session)
        if known is None and not uniform:
            held = classes.real_class, classes.real_code, classes.real_count
            known = knowledge(session, names, classes.group < 0, held, shown, padding.impossible)
        found = _draw(session, names, parameters, key, classes, known)
        if found is not None:
            return found
    return None


def _draw(
    session: Session,
    names: Names,
    parameters: Parameters[object],
    key: str,
    classes: _Classes,
    known: Knowledge | None,
) -> Drawn | None:
    """One draw, which is all that the key decides."""
    padding = padding_of(parameters)
    generator = np.random.default_rng([*key.encode()])
    if known is None:
        found = paper_catalog.groups(*classes.tables)
        if found is None or not classes.hold(parameters.sensitive):
            return None
        risk = paper_catalog.risk(*classes.tables, found, classes.group)
        code = classes.place_code
        many = np.bincount(classes.real_code, classes.real_count)[code]
        copied = (generator.random(len(code)) * many).astype(np.int64)
        _make(session, names, classes, code, found, copied)
        groups = len(np.unique(found[found >= 0]))
        return Drawn(groups, int((classes.group >= 0).sum()), len(classes.place_class), risk)
    candidates = np.flatnonzero(classes.group >= 0)
    bound = allowed_risk(parameters.k, strict=padding.strict)
    fitted = _fitted(classes, known, generator)
    if fitted is None:
        return None
    classes, fixed = fitted
    places = classes.places(candidates, known, fixed)
    placed = place(places, bound, parameters.sensitive, generator)
    if placed is None:
        return None
    donors = known.donors(classes.place_class, placed.code, generator)
    if donors is None:
        return None
    made, told = _make(session, names, classes, placed.code, classes.group, donors[0])
    clean = classes.records[classes.group < 0]
    risk = max(placed.risk, float(1 / clean.min()) if len(clean) else 0.0)
    risk = max(risk, _together(places, placed.code, parameters.k))
    if names.others:
        risk = max(risk, session.row(padded_rows.risk_query(names, made, told))[0])
        drawn = classes.place_class, placed.code
        risk = max(risk, known.risk(classes.group >= 0, drawn, donors[1]))
    if risk > bound + SAME:
        return None
    groups = len(np.unique(classes.group[candidates]))
    return Drawn(groups, len(candidates), len(classes.place_class), risk)


def _together(places: Places, code: Ints, k: int) -> float:
    """The prosecutor risk of a small pool to who goes through all ways that its catalog allows."""
    shape = (len(places.group), places.codes)
    if shape[0] * shape[1] > worlds.STEPS:
        return 0.0
    real, drawn = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    np.add.at(real, (places.real_class, places.real_code), places.real_count)
    np.add.at(drawn, (places.place_class, code), 1)
    certain = np.where(places.share >= 1, real, 0)
    return worlds.prosecutor_risk(real + drawn, drawn.sum(axis=0), k, certain) or 0.0


def _fitted(
    classes: _Classes, known: Knowledge, generator: np.random.Generator
) -> tuple[_Classes, Bools] | None:
    """The classes with values that go with them drawn for their places, and which of them stay.

    Those with a scarce pair stay. None where some class can have no value.
    """
    number, codes = len(classes.group), known.impossible.shape[1]
    real = np.zeros((number, codes), np.int64)
    np.add.at(real, (classes.real_class, classes.real_code), classes.real_count)
    pool = classes.group >= 0
    totals = real[pool].sum(axis=0)
    missing = np.bincount(classes.place_class, minlength=number)
    allowed = ~known.impossible & (totals > 0) & pool[:, None]
    class_, code = covers(
        known.labels, known.scarce, allowed, np.where(pool[:, None], real, 0), missing, generator
    )
    missing = missing - np.bincount(class_, minlength=number)
    lacking = np.flatnonzero(missing)
    share = real.sum(axis=0) / max(real.sum(), 1)
    likely = chances(known.labels[~pool], real[~pool].astype(float), known.labels[lacking], share)
    likely[~allowed[lacking]] = 0
    plain = np.where(known.scarce_in(lacking), 0, likely)
    likely = np.where(plain.any(axis=1, keepdims=True), plain, likely)
    values = values_of(likely, missing[lacking], totals, generator)
    if values is None:
        return None
    place_class = np.concatenate([class_, np.repeat(lacking, missing[lacking])])
    place_code = np.concatenate([code, *values])
    fixed = known.scarce_in(place_class)[np.arange(len(place_class)), place_code]
    return replace(classes, place_class=place_class, place_code=place_code), fixed


@dataclass(frozen=True, slots=True)
class _Classes:
    """The staged classes from 0 on: their group and size, real values, and places to be filled."""

    group: Ints
    records: Ints
    real_class: Ints
    real_code: Ints
    real_count: Ints
    place_class: Ints
    place_code: Ints

    @classmethod
    def of(cls, session: Session) -> _Classes:
        group = aliased(coalesce(column("grp"), literal(-1)), "grp")
        classes = select(group, "records").from_(DEFICITS.table).order_by("class_id")
        records = aliased(count_rows(), "records")
        held = select("class_id", "code", records).from_(MEMBERS.table)
        held = held.group_by("class_id", "code").order_by("class_id", "code")
        slots = select("class_id", "code").from_(SLOTS.table).order_by("place")
        found = [
            np.asarray(values, np.int64) - (name == "class_id")
            for query in (classes, held, slots)
            for name, values in session.arrays(query).items()
        ]
        return cls(*found)

    @property
    def tables(self) -> tuple[Ints, Ints]:
        """How many records of each value a class has, and how many it gets."""
        codes = np.concatenate([self.real_code, self.place_code])
        shape = (len(self.group), int(codes.max(initial=0)) + 1)
        real, drawn = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        np.add.at(real, (self.real_class, self.real_code), self.real_count)
        np.add.at(drawn, (self.place_class, self.place_code), 1)
        return real, drawn

    def hold(self, conditions: Sequence[Sensitive]) -> bool:
        """Whether every padded class satisfies the conditions with its values as they stand now.

        What is not padded was looked at when the transformation was chosen.
        """
        real, drawn = self.tables
        held = (real + drawn)[drawn.any(axis=1)]
        class_, value = (place.astype(np.int64) for place in np.nonzero(held))
        entries = Entries(class_, value, held[class_, value])
        sizes = held.sum(axis=1)
        return all(
            condition(sizes, entries)[0].all() for condition in conditions if condition.models
        )

    def places(self, candidates: Ints, known: Knowledge, fixed: Bools) -> Places:
        """Those that could be padded alone."""
        number = np.full(len(self.group), -1)
        number[candidates] = np.arange(len(candidates))
        pooled = number[self.real_class] >= 0
        shape = (len(candidates), known.impossible.shape[1])
        real, made = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        own = number[self.real_class[pooled]]
        np.add.at(real, (own, self.real_code[pooled]), self.real_count[pooled])
        np.add.at(made, (number[self.place_class[fixed]], self.place_code[fixed]), 1)
        return Places(
            self.group[candidates],
            own,
            self.real_code[pooled],
            self.real_count[pooled],
            number[self.place_class],
            self.place_code,
            shape[1],
            known.impossible[candidates] | known.scarce_in(candidates),
            shares(known.labels[candidates], known.scarce, known.certain[candidates], real, made),
            fixed,
        )


def _make(
    session: Session, names: Names, classes: _Classes, code: Ints, group: Ints, donors: Ints
) -> tuple[Relation, Relation]:
    """Stage the counterfeit records with these values, and the classes that the catalog lists."""
    class_ = classes.place_class + 1
    places = {"place": np.arange(1, len(class_) + 1), "class_id": class_, "code": code}
    session.upload(PLACED.name, places | {"donor": donors})
    told = np.flatnonzero(group >= 0)
    groups = session.upload(CATALOG_GROUPS.name, {"class_id": told + 1, "grp": group[told]})
    return session.run(padded_rows.counterfeits_step(names)), groups
