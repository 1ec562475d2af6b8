"""Which rows of the coded source stay under a transformation, as SQL on the staged tables.

Class sizes are counted by a window over the groups of the labels. Two rules say more than a size
can: the subjects who stay with linked rows are listed first, and so are the tuples that stay where
a NULL matches everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray
from sqlglot import exp

from dbdeid.data.classes import CODED, labels_relation
from dbdeid.engine.relation import Relation, column
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.search.suppression import Rule

KEPT = Relation("deid_kept", schema="main", catalog="temp")


@dataclass(frozen=True, slots=True)
class KeptRows:
    """The rule of a release on the columns of its staged tables.

    Attributes:
        rule: what a class needs to stay.
        names: the quasi-identifiers in `deid_coded`.
        subject: the number of each record's subject there; None: each record is one.
    """

    rule: Rule
    names: tuple[str, ...]
    subject: str | None

    @property
    def listed(self) -> bool:
        """Whether what stays stands in `deid_kept`."""
        return self.rule.linked or self.rule.null_policy == "wildcard"

    def stage(self, session: Session, tuples: Sequence[NDArray[Any]] | None) -> None:
        """Fill `deid_kept`; the labels are staged already.

        Args:
            session: where the source is coded.
            tuples: the codes of the tuples that stay, one array per quasi-identifier; needed
                where NULL matches everything.
        """
        if self.rule.linked:
            session.run(self.linked_step())
        elif self.listed:
            assert tuples is not None
            session.upload(KEPT.name, {f"q{i}": codes for i, codes in enumerate(tuples)})

    def linked_step(self) -> Step:
        """The subjects who stay when a pseudonym links their rows."""
        assert self.subject is not None
        groups = [exp.Ordered(this=group) for group in self._groups()]
        class_ = exp.Window(this=exp.DenseRank(), order=exp.Order(expressions=groups))
        members = exp.select(
            exp.alias_(class_, "class"),
            exp.alias_(column(self.subject, "coded"), "subject"),
            exp.alias_(exp.not_(self._present()), "blank"),
        ).from_(exp.alias_(CODED.table, "coded", table=True))
        for i in range(len(self.names)):
            members = self.join_labels(members, i)
        query = step("linked_subjects", {"members": members}, values={"k": self.rule.k})
        return Step(KEPT.name, query)

    def join_labels(self, query: exp.Select, number: int) -> exp.Select:
        """Join the labels of one quasi-identifier as `l0`, `l1`, …."""
        alias = f"l{number}"
        table = exp.alias_(labels_relation(number).table, alias, table=True)
        same = column(self.names[number], "coded").eq(exp.column("code", alias))
        return query.join(table, on=same)

    def join(self, query: exp.Select) -> exp.Select:
        """Join what stays to the coded source and its labels."""
        if not self.listed:
            return query
        if self.rule.linked:
            assert self.subject is not None
            pairs = [(self.subject, "subject")]
        else:
            pairs = [(name, f"q{i}") for i, name in enumerate(self.names)]
        same = exp.and_(*(column(a, "coded").eq(exp.column(b, "kept")) for a, b in pairs))
        table = exp.alias_(KEPT.table, "kept", table=True)
        return query.join(table, on=same, join_type="left")

    def only(self, query: exp.Select) -> exp.Select:
        """The query without the rows that do not stay."""
        return query.where(self.condition) if self.listed else query.qualify(self.condition)

    @property
    def condition(self) -> exp.Expr:
        """Whether a row stays."""
        if self.listed:
            key = "subject" if self.rule.linked else "q0"
            return exp.not_(exp.column(key, "kept").is_(exp.null()))
        counted: exp.Expr = exp.Star()
        if self.subject is not None:
            counted = exp.Distinct(expressions=[column(self.subject, "coded")])
        size = exp.Window(this=exp.Count(this=counted), partition_by=self._groups())
        enough = exp.GTE(this=size, expression=exp.convert(self.rule.k))
        return enough if self.rule.null_policy != "exclude" else exp.and_(enough, self._present())

    def _groups(self) -> list[exp.Expr]:
        return [exp.column("grp", f"l{i}") for i in range(len(self.names))]

    def _present(self) -> exp.Expr:
        """Whether no NULL excludes a row; at the top it is `*`."""
        if self.rule.null_policy != "exclude":
            return exp.true()
        labels = (exp.column("label", f"l{i}") for i in range(len(self.names)))
        return exp.and_(*(exp.not_(label.is_(exp.null())) for label in labels))
