"""Counterfeit records that two releases of a source expose together, and how many.

Real records are in both. Whoever has both counts, of each group of rows that may be the same
people's, how many there are in either: where one has more, the rest is counterfeit. Rows may be the
same people's where what is not a quasi-identifier is equal, and what the quasi-identifiers read
goes with each other on the higher of their two levels. Docs: docs/rerelease.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from dbdeid.data.classes import TUPLES
from dbdeid.engine.relation import Relation, cast, column, free_name, identifier
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.lattice.lattice import Node
from dbdeid.methods.common.outcome import Written
from dbdeid.prepare.prepare import Prepared
from dbdeid.rerelease.equivalence_classes import digest_of
from dbdeid.verify.base.declaration import CLASS_ID

NOW, BEFORE = "deid_exposed_now", "deid_exposed_before"
MOST = 20_000_000  # pairs of a group of rows and a label of the earlier release that are tried


@dataclass(frozen=True, slots=True)
class Exposed:
    """Counterfeit records that two releases expose.

    Attributes:
        now: those of this release that are more than the earlier one has of their group.
        counterfeits: of this release.
        before: those of the earlier one that are more than this one has.
    """

    now: int
    counterfeits: int
    before: int


def exposed(
    prepared: Prepared,
    written: Written,
    session: Session,
    earlier: Relation,
    levels: Node,
    before: int,
) -> Exposed | None:
    """Count what a full-domain release with counterfeit records tells beside an earlier one.

    Of the earlier release the book keeps digests of rows. They are found again by the labels that
    the source has on its levels.

    Args:
        prepared: what the release was made of.
        written: the release, still staged.
        session: where it is.
        earlier: `row`, `records` of the earlier release.
        levels: of the earlier release, of each quasi-identifier.
        before: counterfeit records of the earlier release.

    Returns:
        None where the levels of this one differ between classes, bounds are released, there are
        too many rows to try, or the two do not have the same real records.
    """
    node, qis = written.outcome.node, prepared.quasi_identifiers
    if node is None or len(levels) != len(qis) or any(q.bounds for q in qis):
        return None
    if any(not 0 <= level <= q.height for q, level in zip(qis, levels, strict=True)):
        return None
    names = [q.name for q in qis]
    others = [c.name for c in written.released.columns if c.name not in (CLASS_ID, *names)]
    _upload(prepared, session, node, levels)
    groups = session.run(Step(NOW, _groups(written, names, others)))
    labels = session.run(Step(BEFORE, _labels(len(qis))))
    found = None
    pairs = step("rerelease/exposed_pairs", {"now": groups, "before": labels})
    if int(session.row(pairs)[0]) <= MOST:
        tried = _tried(written, groups, labels, names, others)
        tables: dict[str, Relation | exp.Query] = {
            "now": groups,
            "tried": tried,
            "earlier": earlier,
        }
        now, counterfeits, more, missing = session.row(
            step("rerelease/exposed_beside", tables, values={"counterfeits": before})
        )
        found = None if missing else Exposed(now, counterfeits, more)
    for name in (NOW, BEFORE, *(_place(i).name for i in range(len(qis)))):
        session.drop_temp(name)
    return found


def _place(number: int) -> Relation:
    return Relation(f"deid_exposed_{number}", schema="main", catalog="temp")


def _upload(prepared: Prepared, session: Session, node: Node, levels: Node) -> None:
    """Of each code of each quasi-identifier both labels, and its group on the higher level."""
    for i, (q, now, then) in enumerate(zip(prepared.quasi_identifiers, node, levels, strict=True)):
        groups = q.coding.groups(max(now, then))
        session.upload(
            _place(i).name,
            {
                "code": range(len(groups)),
                "now": q.coding.labels(now),
                "before": q.coding.labels(then),
                "joint": groups,
            },
        )


def _groups(written: Written, names: Sequence[str], others: Sequence[str]) -> exp.Select:
    """Groups of rows: `number`, `joint`, the groups on the higher levels, `others`, `records`, and
    how many of these are `genuine`."""
    texts = [cast(column(name), "VARCHAR") for name in others]

    def rows(table: Relation, real: int) -> exp.Select:
        labels = [exp.alias_(cast(column(n), "VARCHAR"), f"l{i}") for i, n in enumerate(names)]
        listed = exp.alias_(exp.Array(expressions=[t.copy() for t in texts]), "others")
        return exp.select(*labels, listed, exp.alias_(exp.convert(real), "genuine")).from_(
            table.table
        )

    both = exp.union(rows(written.released, 0), rows(written.real, 1), distinct=False)
    joint = _joint(len(names))
    real = exp.Sum(this=exp.column("genuine", "rows"))
    query = exp.select(
        exp.alias_(joint, "joint"),
        exp.column("others", "rows"),
        # each real one stands in both
        exp.alias_(exp.Count(this=exp.Star()) - real, "records"),
        exp.alias_(real.copy(), "genuine"),
    ).from_(both.subquery("rows"))
    for i in range(len(names)):
        labels = exp.select("now", "joint").distinct().from_(_place(i).table)
        same = exp.NullSafeEQ(
            this=exp.column("now", f"p{i}"), expression=exp.column(f"l{i}", "rows")
        )
        query = query.join(labels.subquery(f"p{i}"), on=same)
    grouped = query.group_by(joint.copy(), exp.column("others", "rows")).subquery("groups")
    number = exp.Window(this=exp.RowNumber())
    return exp.select("*", exp.alias_(number, "number")).from_(grouped)


def _joint(number: int) -> exp.Expr:
    return exp.Array(expressions=[exp.column("joint", f"p{i}") for i in range(number)])


def _labels(number: int) -> exp.Select:
    """The labels that the source has on the levels of the earlier release: `b0`, …, `joint`."""
    picked = [exp.alias_(exp.column("before", f"p{i}"), f"b{i}") for i in range(number)]
    picked.append(exp.alias_(_joint(number), "joint"))
    query = exp.select(*picked).distinct().from_(exp.alias_(TUPLES.table, "tuples", table=True))
    for i in range(number):
        same = exp.column("code", f"p{i}").eq(exp.column(f"q{i}", "tuples"))
        query = query.join(exp.alias_(_place(i).table, f"p{i}", table=True), on=same)
    return query


def _tried(
    written: Written,
    groups: Relation,
    before: Relation,
    names: Sequence[str],
    others: Sequence[str],
) -> exp.Select:
    """Each row that the earlier release may have of a group: `number` of the group, its digest."""
    released = [c.name for c in written.released.columns if c.name != CLASS_ID]
    number = free_name("number", released)
    texts = []
    for name in released:
        own: exp.Expr
        if name in names:
            own = exp.column(f"b{names.index(name)}", "before")
        else:
            place = exp.convert(others.index(name) + 1)
            listed = [exp.column("others", "now"), place]
            own = exp.Anonymous(this="list_extract", expressions=listed)
        texts.append(exp.alias_(own, identifier(name)))
    rows = (
        exp.select(exp.alias_(exp.column("number", "now"), identifier(number)), *texts)
        .from_(exp.alias_(groups.table, "now", table=True))
        .join(
            exp.alias_(before.table, "before", table=True),
            on=exp.column("joint", "now").eq(exp.column("joint", "before")),
        )
    )
    return exp.select(
        exp.alias_(column(number, "rows"), "number"),
        exp.alias_(digest_of(released, "rows"), "row"),
    ).from_(rows.subquery("rows"))
