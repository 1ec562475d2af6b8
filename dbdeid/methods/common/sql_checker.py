"""Checking transformations inside the database: every check is one query over coded tuples.

The same numbers as the checker on arrays, for a cross-check and for data that stay where they are.
"""

from __future__ import annotations

from dbdeid.data.classes import TUPLES
from dbdeid.engine.expressions import (
    Expr,
    Query,
    Select,
    aliased,
    all_of,
    any_of,
    ascending,
    cast,
    coalesce,
    column,
    count_rows,
    dense_rank,
    filtered,
    literal,
    min_of,
    not_,
    null,
    over,
    paren,
    plus,
    select,
    sum_of,
    true_for_any,
)
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.lattice.check import Check, Lost
from dbdeid.lattice.lattice import Lattice, Node
from dbdeid.lattice.rule import Rule
from dbdeid.methods.common import sql_units


class SqlChecker:
    """Checks k-anonymity with suppression on the staged tuples.

    Args:
        session: where the tuples are staged.
        lattice: the coded quasi-identifiers, in the order of the columns q0, q1, ….
        rule: what a class needs to be kept; wildcards need the checker on arrays.
        by_subject: the tuples have a column `subject`, and distinct subjects count.

    Raises:
        ValueError: the rule lets NULL match everything, or compares with a population.
    """

    def __init__(self, session: Session, lattice: Lattice, rule: Rule, *, by_subject: bool) -> None:
        if rule.null_policy == "wildcard":
            raise ValueError("wildcards are not counted in SQL")
        if rule.populations:
            raise ValueError("populations are not counted in SQL")
        self._session = session
        self._lattice = lattice
        self._rule = rule
        self._by_subject = by_subject
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
        query = self.query(node)
        if self._rule.conditions:
            rows = self._session.run(Step("deid_class_rows", query))
            return sql_units.check(
                self._session, self._rule, node, rows, by_subject=self._by_subject
            )
        if self._by_subject:
            name = (
                "methods/common/check_linked"
                if self._rule.linked
                else "methods/common/check_subjects"
            )
            rows = self._session.run(Step("deid_class_rows", query))
            query = step(name, {"rows": rows}, values={"k": self._rule.k})
        *counts, loss, chance = self._session.row(query)
        suppressed, subjects, classes, all_classes, smallest, kept, squares = map(int, counts)
        return Check(
            node=node,
            suppressed=suppressed,
            suppressed_subjects=subjects,
            classes=classes,
            all_classes=all_classes,
            smallest=smallest,
            squares_kept=kept,
            squares_all=squares,
            suppressed_loss=float(loss),
            chance=float(chance),
            rest_holds=not self._rule.rest or subjects == 0 or subjects >= self._rule.k,
            below=Lost(suppressed, subjects, float(loss)),
        )

    def query(self, node: Node) -> Query:
        """The query of one check; with subjects or values, that of the rows it is made on."""
        groups = [column(f"g{level}", f"a{i}") for i, level in enumerate(node)]
        grouped = self._joined(node).group_by(*groups)
        records = sum_of(column("records", "t"))
        grouped = grouped.select(_alias(self._loss(node), "loss"))
        grouped = grouped.select(_alias(self._blank(node), "blank"))
        order = [ascending(group.copy()) for group in groups]
        number = _alias(over(dense_rank(), order=order), "class")
        if self._rule.conditions:
            subject = column("subject", "t") if self._by_subject else null()
            return self._joined(node).select(
                _alias(column("rowid", "t"), "tuple"),
                number,
                _alias(cast(subject, "BIGINT"), "subject"),
                "t.records",
                _alias(self._tuple_loss(node), "loss"),
                _alias(self._tuple_blank(node), "blank"),
            )
        if not self._by_subject:
            return self._summary(grouped.select(_alias(records, "size")))
        return grouped.group_by("t.subject").select(number, "t.subject", _alias(records, "records"))

    def _joined(self, node: Node) -> Select:
        rows = select().from_(TUPLES.aliased("t"))
        for i in range(len(node)):
            same = column(f"q{i}", "t").eq(column("code", f"a{i}"))
            rows = rows.join(self._levels[i].aliased(f"a{i}"), on=same)
        return rows

    def _loss(self, node: Node) -> Expr:
        return sum_of(self._tuple_loss(node))

    def _tuple_loss(self, node: Node) -> Expr:
        cell_loss, *others = (column(f"loss{level}", f"a{i}") for i, level in enumerate(node))
        total: Expr = cell_loss
        for loss in others:
            total = plus(total, loss)
        return column("records", "t") * paren(total)

    def _blank(self, node: Node) -> Expr:
        """Whether a class has a NULL that excludes it."""
        return true_for_any(self._tuple_blank(node))

    def _tuple_blank(self, node: Node) -> Expr:
        blanks = [
            column(f"q{i}", "t").eq(attribute.null)
            for i, (attribute, level) in enumerate(zip(self._lattice.attributes, node, strict=True))
            if attribute.null is not None and level < attribute.height
        ]
        if self._rule.null_policy != "exclude" or not blanks:
            return literal(False)
        return paren(any_of(*blanks))

    def _summary(self, classes: Select) -> Select:
        size = column("size")
        kept = all_of(size >= literal(self._rule.k), not_(column("blank")))
        lost = not_(kept)
        square = sum_of(size.copy() * size.copy())
        suppressed = _or_zero(_where(sum_of(size.copy()), lost))
        counted = count_rows()
        return select(
            _alias(cast(suppressed, "BIGINT"), "suppressed"),
            # every record is a subject
            _alias(cast(suppressed.copy(), "BIGINT"), "suppressed_subjects"),
            _where(counted, kept),
            counted.copy(),
            _or_zero(_where(min_of(size.copy()), kept)),
            _or_zero(_where(square, kept)),
            _or_zero(square.copy()),
            _or_zero(_where(sum_of(column("loss")), lost)),
            _where(counted.copy(), kept),  # a class of n records, each with a chance of 1/n
        ).from_(classes.subquery("classes"))


def _alias(value: Expr, name: str) -> Expr:
    return aliased(value, name)


def _where(aggregate: Expr, condition: Expr) -> Expr:
    return filtered(aggregate.copy(), condition.copy())


def _or_zero(value: Expr) -> Expr:
    return coalesce(value, literal(0))
