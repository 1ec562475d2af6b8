"""Checking transformations inside the database: every check is one query over coded tuples.

The same numbers as the checker on arrays, for a cross-check and for data that stay where they are.
"""

from __future__ import annotations

from sqlglot import exp

from dbdeid.data.classes import TUPLES
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.search.checker import Check
from dbdeid.search.lattice import Lattice, Node


class SqlChecker:
    """Checks k-anonymity with class suppression on the staged tuples.

    Args:
        session: where the tuples are staged.
        lattice: the coded quasi-identifiers, in the order of the columns q0, q1, ….
        k: records that a class must have to be kept.
    """

    def __init__(self, session: Session, lattice: Lattice, k: int) -> None:
        self._session = session
        self._lattice = lattice
        self._k = exp.convert(k)
        self._levels = [self._stage(i) for i in range(len(lattice.attributes))]

    def _stage(self, number: int) -> Relation:
        attribute = self._lattice.attributes[number]
        share = self._lattice.shares[number]
        columns: dict[str, object] = {"code": range(attribute.cardinality)}
        for level, (groups, loss) in enumerate(zip(attribute.groups, attribute.loss, strict=True)):
            columns[f"g{level}"] = groups
            columns[f"loss{level}"] = loss * share
        return self._session.upload(f"deid_levels_{number}", columns)

    def check(self, node: Node) -> Check:
        """Count the classes under a node."""
        row = self._session.row(self.query(node))
        suppressed, classes, all_classes, smallest, kept, squares, loss = row
        return Check(
            node=node,
            suppressed=int(suppressed),
            classes=int(classes),
            all_classes=int(all_classes),
            smallest=int(smallest),
            squares_kept=int(kept),
            squares_all=int(squares),
            suppressed_loss=float(loss),
        )

    def query(self, node: Node) -> exp.Select:
        """The query of one check."""
        classes = exp.select(_alias(exp.Sum(this=exp.column("records", "t")), "size"))
        classes = classes.from_(exp.alias_(TUPLES.table, "t", table=True))
        losses: list[exp.Expr] = []
        for i, level in enumerate(node):
            same = exp.column(f"q{i}", "t").eq(exp.column("code", f"a{i}"))
            classes = classes.join(exp.alias_(self._levels[i].table, f"a{i}", table=True), on=same)
            classes = classes.group_by(exp.column(f"g{level}", f"a{i}"))
            losses.append(exp.column(f"loss{level}", f"a{i}"))
        cell_loss: exp.Expr = losses[0]
        for loss in losses[1:]:
            cell_loss = exp.Add(this=cell_loss, expression=loss)
        weighted = exp.Mul(this=exp.column("records", "t"), expression=exp.paren(cell_loss))
        classes = classes.select(_alias(exp.Sum(this=weighted), "loss"))
        return self._summary(classes)

    def _summary(self, classes: exp.Select) -> exp.Select:
        size, k = exp.column("size"), self._k
        square = exp.Sum(this=exp.Mul(this=size.copy(), expression=size.copy()))
        counted = exp.Count(this=exp.Star())
        return exp.select(
            _or_zero(_where(exp.Sum(this=size.copy()), size < k)),
            _where(counted, size >= k),
            counted.copy(),
            _or_zero(_where(exp.Min(this=size.copy()), size >= k)),
            _or_zero(_where(square, size >= k)),
            _or_zero(square.copy()),
            _or_zero(_where(exp.Sum(this=exp.column("loss")), size < k)),
        ).from_(classes.subquery("classes"))


def _alias(value: exp.Expr, name: str) -> exp.Expr:
    return exp.alias_(value, name)


def _where(aggregate: exp.Expr, condition: exp.Expr) -> exp.Expr:
    return exp.Filter(this=aggregate.copy(), expression=exp.Where(this=condition))


def _or_zero(value: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=value, expressions=[exp.Literal.number(0)])
