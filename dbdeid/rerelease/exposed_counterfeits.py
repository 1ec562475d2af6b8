"""Counterfeit records that two releases of a source expose together, and how many.

Real records are in both. Whoever has both counts, of each group of rows that may be the same
people's, how many there are in either: where one has more, the rest is counterfeit. Rows may be the
same people's where what is not a quasi-identifier is equal, and what the quasi-identifiers read
goes with each other on the higher of their two levels. Docs: docs/rerelease.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dbdeid.data.classes import TUPLES
from dbdeid.engine.expressions import (
    Expr,
    Query,
    Select,
    aliased,
    cast,
    column,
    count_rows,
    function,
    list_of,
    literal,
    over,
    row_number,
    same_value,
    select,
    sum_of,
    union_all,
)
from dbdeid.engine.relation import Relation, free_name
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
    """Count what a full-domain release with counterfeit records exposes beside an earlier one.

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
    if node is None or any(q.bounds for q in qis):
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
        tables: dict[str, Relation | Query] = {
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


def _groups(written: Written, names: Sequence[str], others: Sequence[str]) -> Select:
    """Groups of rows: `number`, `joint`, the groups on the higher levels, `others`, `records`, and
    how many of these are `genuine`."""
    texts = [cast(column(name), "VARCHAR") for name in others]

    def rows(table: Relation, real: int) -> Select:
        labels = [aliased(cast(column(n), "VARCHAR"), f"l{i}") for i, n in enumerate(names)]
        listed = aliased(list_of(*(t.copy() for t in texts)), "others")
        return select(*labels, listed, aliased(literal(real), "genuine")).from_(table.table)

    both = union_all(rows(written.released, 0), rows(written.real, 1))
    joint = _joint(len(names))
    real = sum_of(column("genuine", "rows"))
    query = select(
        aliased(joint, "joint"),
        column("others", "rows"),
        # each real one stands in both
        aliased(count_rows() - real, "records"),
        aliased(real, "genuine"),
    ).from_(both.subquery("rows"))
    for i in range(len(names)):
        labels = select("now", "joint").distinct().from_(_place(i).table)
        same = same_value(column("now", f"p{i}"), column(f"l{i}", "rows"))
        query = query.join(labels.subquery(f"p{i}"), on=same)
    grouped = query.group_by(joint.copy(), column("others", "rows")).subquery("groups")
    number = over(row_number())
    return select("*", aliased(number, "number")).from_(grouped)


def _joint(number: int) -> Expr:
    return list_of(*(column("joint", f"p{i}") for i in range(number)))


def _labels(number: int) -> Select:
    """The labels that the source has on the levels of the earlier release: `b0`, …, `joint`."""
    picked = [aliased(column("before", f"p{i}"), f"b{i}") for i in range(number)]
    picked.append(aliased(_joint(number), "joint"))
    query = select(*picked).distinct().from_(TUPLES.aliased("tuples"))
    for i in range(number):
        same = column("code", f"p{i}").eq(column(f"q{i}", "tuples"))
        query = query.join(_place(i).aliased(f"p{i}"), on=same)
    return query


def _tried(
    written: Written,
    groups: Relation,
    before: Relation,
    names: Sequence[str],
    others: Sequence[str],
) -> Select:
    """Each row that the earlier release may have of a group: `number` of the group, its digest."""
    released = [c.name for c in written.released.columns if c.name != CLASS_ID]
    number = free_name("number", released)
    texts = []
    for name in released:
        own: Expr
        if name in names:
            own = column(f"b{names.index(name)}", "before")
        else:
            place = literal(others.index(name) + 1)
            listed = [column("others", "now"), place]
            own = function("list_extract", *listed)
        texts.append(aliased(own, name))
    rows = (
        select(aliased(column("number", "now"), number), *texts)
        .from_(groups.aliased("now"))
        .join(
            before.aliased("before"),
            on=column("joint", "now").eq(column("joint", "before")),
        )
    )
    return select(
        aliased(column(number, "rows"), "number"),
        aliased(digest_of(released, "rows"), "row"),
    ).from_(rows.subquery("rows"))
