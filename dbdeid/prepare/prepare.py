"""Preparing: the source staged in temporary tables, every quasi-identifier coded."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dbdeid.bind.bound import Bound, BoundColumn, bounds_of
from dbdeid.bind.privacy_models import staged
from dbdeid.data import classes
from dbdeid.data.coding import Coding
from dbdeid.data.hierarchy import Hierarchy, as_rows, top_level
from dbdeid.data.source_files import reading_source
from dbdeid.engine.expressions import (
    Expr,
    aliased,
    coalesce,
    column,
    count_of,
    count_rows,
    each_once,
    identifier,
    literal,
    null_if,
    select,
    sum_of,
)
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Step, Steps
from dbdeid.engine.sqltext import sql
from dbdeid.errors import DataError, Mistake, SpecError
from dbdeid.lattice.rule import Rule
from dbdeid.prepare import domains, populations, pseudonyms, spellings
from dbdeid.prepare.hierarchies import coding_of
from dbdeid.prepare.population_rule import Population
from dbdeid.prepare.problem import Parameters
from dbdeid.prepare.quasi_identifier import QuasiIdentifier
from dbdeid.prepare.sensitive import Attribute, attributes
from dbdeid.prepare.sensitive_conditions import Sensitive
from dbdeid.privacy.common.counting import Counting
from dbdeid.privacy.risk import risk
from dbdeid.verify.base.declaration import PolicyRisk

HIERARCHIES = "deid_hierarchies_used"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A bound spec with its data staged and coded.

    Attributes:
        bound: the bound spec; its source has pseudonyms where they are released.
        quasi_identifiers: ready for search, in order of the source.
        sensitive: the sensitive attributes that a model is about.
        populations: what the release is compared with.
        parameters: what must hold; the options of the method are its own to read.
        rows: records of the source.
        subjects: people behind them; as many as records where none are declared.
        weighed: where a policy was chosen, its risk.
        fingerprints: of what the release is made of, by name; empty where none is made.
    """

    bound: Bound
    quasi_identifiers: tuple[QuasiIdentifier, ...]
    sensitive: tuple[Attribute, ...]
    populations: tuple[populations.CodedPopulation, ...]
    parameters: Parameters[object]
    rows: int
    subjects: int
    weighed: PolicyRisk | None = None
    fingerprints: Mapping[str, str] = field(default_factory=dict)

    @property
    def released(self) -> tuple[Column, ...]:
        """The released columns as they are staged."""
        return tuple(Column(s.column.name, s.released_type) for s in self.bound.staged)

    @property
    def counting(self) -> Counting:
        """How the classes of the staged tables count."""
        return Counting(self.bound.spec.null_policy, self.parameters.subject)


def prepare(bound: Bound, session: Session) -> Prepared:
    """Stage and code the source.

    Raises:
        HierarchyError: a hierarchy is broken or does not cover its column.
        DataError: the source is empty, or a record has no subject.
        SpecError: the given transformation does not fit the hierarchies, a column cannot be
            released as pseudonyms, or a population does not fit the quasi-identifiers.
    """
    bound = replace(bound, source=pseudonyms.replaced(bound, session))
    compared = populations.population_tables(bound, session)
    with reading_source():
        collated = list(_collated(bound, session))
        if collated:
            raise SpecError(collated, source=bound.file.label)
        bound = domains.with_domains(bound, session, compared)
        require_subjects(bound, session)
        session.run(source_step(bound))
    rows = _count_rows(bound, session)
    if bound.spec.method.can.values == "drawn":
        return Prepared(bound, (), (), (), shared(bound), rows, rows)
    quasi_identifiers = tuple(
        _quasi_identifier(bound, session, i, c) for i, c in enumerate(bound.quasi_identifiers)
    )
    codes = {q.name: len(q.coding.leaf) for q in quasi_identifiers}
    for step in coding_steps(bound, spellings.spellings_of(bound, session), codes):
        session.run(step)
    session.drop_temp(classes.SOURCE.name)
    subjects = _subjects(session) if bound.subject else rows
    sensitive = attributes(bound, session, subjects)
    coded = populations.coded_populations(bound, session, compared, quasi_identifiers)
    parameters = shared(bound, [a.sensitive for a in sensitive], judging(coded))
    return Prepared(bound, quasi_identifiers, sensitive, coded, parameters, rows, subjects)


def judging(coded: Sequence[populations.CodedPopulation]) -> list[Population]:
    """The populations that a model looks at; there may be one that only a method does."""
    return [c.population for c in coded if c.population.models]


def _collated(bound: Bound, session: Session) -> Iterator[Mistake]:
    """Columns whose equal values differ in their text: readers would find smaller classes."""
    texts = [c.name for c in bound.columns if c.column.family == "text"]
    if not texts or bound.file.source_kind in ("file", "rows"):
        return  # these have no collations
    picked = [aliased(column(name, "source"), f"c{i}") for i, name in enumerate(texts)]
    rows = select(*picked).from_(bound.source.subquery("source")).limit(0)
    probe = session.run(Step("deid_probe", rows))
    created = session.created(probe)
    session.drop_temp(probe.name)
    for number in re.findall(r"\bc(\d+) VARCHAR COLLATE\b", created):
        name = texts[int(number)]
        yield bound.file.mistake(
            f"column {name!r} compares text by a collation",
            "columns",
            name,
            hint=f"take `decode(encode({sql(identifier(name))}))` in `source: {{sql: …}}`",
        )


def require_subjects(bound: Bound, session: Steps) -> None:
    """Require that each record has a subject, where one is declared.

    Raises:
        DataError: some have none.
    """
    if bound.subject is None:
        return
    known = column(bound.subject.name, "source")
    counts = select(count_rows(), count_of(known))
    rows, known_rows = session.row(counts.from_(bound.source.subquery("source")))
    if known_rows < rows:
        raise DataError(
            f"the subject {bound.subject.name!r} is NULL in {rows - known_rows} of {rows} rows: "
            "whose records they are is not known",
            hint="leave these rows out, or number them, in `source: {sql: …}` or a view",
        )


def source_step(bound: Bound) -> Step:
    """The step that stages the source."""
    if bound.counts is None:
        return classes.source_step(bound.source, bound.staged, subject_of(bound))
    rows = select("*").from_(bound.counts.table.table)
    return classes.source_step(rows, bound.staged, subject_of(bound), bound.counts.weight)


def _count_rows(bound: Bound, session: Session) -> int:
    """The records of the source."""
    number: Expr = count_rows()
    if bound.counts is not None:
        number = coalesce(sum_of(column(bound.counts.weight)), literal(0))
    rows = session.row(select(number).from_(classes.SOURCE.table))[0]
    if rows == 0:
        raise DataError("the source has no rows", hint="there is nothing to release")
    return int(rows)


def _subjects(session: Session) -> int:
    number = each_once(column("subject"))
    return int(session.row(select(count_of(number)).from_(classes.TUPLES.table))[0])


def subject_of(bound: Bound) -> classes.Subject | None:
    """The subject and where its number is staged."""
    return classes.subject_of(bound.subject, bound.staged) if bound.subject else None


def coding_steps(
    bound: Bound, spelled: Mapping[str, Relation], codes: Mapping[str, int] | None = None
) -> tuple[Step, ...]:
    """The steps from values to distinct coded tuples and the sensitive values behind them.

    Args:
        bound: the bound spec.
        spelled: what the values mean in columns that spell them in several ways.
        codes: as `classes.coded_steps` takes them.
    """
    names, subject = [c.name for c in bound.quasi_identifiers], subject_of(bound)
    weight = bound.counts.weight if bound.counts else None
    released = [c.name for c in bound.released]
    nullable = [c.name for c in bound.released if spellings.nullable(bound, c.name)]
    sensitive: list[Step] = []
    for i, target in enumerate(staged(bound)):
        sensitive.append(classes.sensitive_step(i, target, subject, spelled, nullable))
        sensitive.append(classes.tuple_values_step(i, target, names, subject, weight))
    return (
        *classes.coded_steps(released, names, subject, weight, codes),
        classes.tuples_step(names, subject, weight),
        *sensitive,
    )


def risk_before(prepared: Prepared, session: Session) -> risk.Risk:
    """The risk of the source as it is, from its codes."""
    names, counting = [q.name for q in prepared.quasi_identifiers], prepared.counting
    table, of = classes.CODED, None
    known = {q.name: q.coding.null for q in prepared.quasi_identifiers}
    if counting.subject is None and counting.null_policy != "wildcard":
        # their tuples are counted already
        table, of = classes.TUPLES, "records"
        names = [f"q{i}" for i in range(len(names))]
        known = dict(zip(names, known.values(), strict=True))
    if counting.null_policy != "own_category":
        cells: list[Expr] = [
            aliased(null_if(column(name), literal(null)), name) for name, null in known.items()
        ]
        if prepared.parameters.subject is not None:
            cells.append(column(prepared.parameters.subject))
        if of is not None:
            cells.append(column(of))
        table = session.run(Step("deid_risk_before", select(*cells).from_(table.table)))
    return risk.measure(session, table, names, prepared.parameters.k, counting, of)


def _quasi_identifier(
    bound: Bound, session: Session, number: int, column: BoundColumn
) -> QuasiIdentifier:
    session.run(classes.values_step(number, column.name))
    values = classes.values_of(session, number)
    return _with_coding(bound, column, coding_of(bound, session, column, values))


def _with_coding(bound: Bound, column: BoundColumn, coding: Coding) -> QuasiIdentifier:
    return QuasiIdentifier(
        Column(column.name, column.released_type or "VARCHAR"),
        coding,
        column.spec.weight,
        column.spec.min_level,
        column.spec.max_level,
        bound.spec.output.bounds and bounds_of(column),
    )


def uncoded(bound: Bound) -> tuple[QuasiIdentifier, ...]:
    """The quasi-identifiers before any data is read, to show the steps that would run."""
    blank = Hierarchy("", "", (), (top_level(0),), declared=False)
    coding = Coding(blank, np.zeros(0, np.int64))
    return tuple(_with_coding(bound, c, coding) for c in bound.quasi_identifiers)


def shared(
    bound: Bound, sensitive: Sequence[Sensitive] = (), compared: Sequence[Population] = ()
) -> Parameters[None]:
    """What must hold by the spec, before its method has said how."""
    spec, subject = bound.spec, subject_of(bound)
    return Parameters(
        rule=Rule(
            spec.smallest_class,
            spec.null_policy,
            spec.linked,
            tuple(sensitive),
            spec.method.keeps_suppressed,
            tuple(compared),
        ),
        models=bound.models,
        subject=subject.staged if subject else None,
        options=None,
        weight=bound.counts.weight if bound.counts else None,
    )


def key_of(bound: Bound) -> str:
    """The secret of all draws: of the seed, and of this release alone; fresh without a seed."""
    if bound.spec.seed is None:
        return secrets.token_hex(32)
    seeded = f"dbdeid draws of {bound.spec.release} by {bound.spec.seed}"
    return hashlib.sha256(seeded.encode()).hexdigest()


def upload_hierarchies(prepared: Prepared, session: Session) -> Relation:
    """The hierarchies in long form, as `deid.hierarchies` keeps them.

    The quasi-identifiers have the values of the populations too.
    """
    named = {q.name: q.coding for q in prepared.quasi_identifiers}
    named |= {a.sensitive.columns[0]: a.coding for a in prepared.sensitive if a.coding}
    parts = {}
    for i, (name, coding) in enumerate(named.items()):
        rows = as_rows(coding.hierarchy, with_null=coding.null is not None)
        if i < len(prepared.quasi_identifiers):
            others = [population.codings[i] for population in prepared.populations]
            rows = populations.with_others(rows, others)
        parts[name] = rows
    return uploaded(session, parts, prepared.bound.spec.release)


def uploaded(
    session: Session, hierarchies: Mapping[str, dict[str, NDArray[np.object_]]], release: str
) -> Relation:
    """Hierarchies in long form, by the name of their column, as one temporary table."""
    parts = [
        {**rows, "hierarchy": np.full(len(rows["level"]), name, np.object_)}
        for name, rows in hierarchies.items()
    ]
    columns = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    return session.upload(HIERARCHIES, _typed(columns, release))


def _typed(columns: dict[str, NDArray[np.object_]], release: str) -> dict[str, object]:
    from dbdeid.engine import arrow

    kinds: dict[str, type[np.generic]] = {"level": np.int32, "loss": np.float64}
    typed: dict[str, object] = {"release": [release] * len(columns["level"])}
    for name in ("hierarchy", "level", "value", "label", "loss", "lower", "upper"):
        cells = columns[name].tolist()
        typed[name] = arrow.numbers(cells, kinds[name]) if name in kinds else cells
    return typed
