"""Which rows of the coded source stay under a transformation, as SQL on the staged tables.

Class sizes are counted by a window over the groups of the labels. Where a rule says more than a
size can, what stays is listed first: the subjects whose linked rows stay, or the tuples that stay
where a NULL matches everything or sensitive values count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray
from sqlglot import exp

from dbdeid.data.classes import CODED, labels_relation
from dbdeid.engine.relation import Relation, column
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.lattice.rule import Rule

KEPT = Relation("deid_kept", schema="main", catalog="temp")


@dataclass(frozen=True, slots=True)
class KeptRows:
    """The rule of a release on the columns of its staged tables.

    Attributes:
        rule: what a class needs to stay.
        names: the quasi-identifiers in `deid_coded`.
        subject: the number of each record's subject there; None: each record is one.
        valued: sensitive values decide too.
    """

    rule: Rule
    names: tuple[str, ...]
    subject: str | None
    valued: bool

    @property
    def listed(self) -> bool:
        """Whether what stays stands in `deid_kept`."""
        return self.rule.linked or self.uploaded

    @property
    def uploaded(self) -> bool:
        """Whether the database cannot find out by itself what stays."""
        return self.valued or self.rule.null_policy == "wildcard"

    def stage(self, session: Session, kept: dict[str, NDArray[Any]] | None) -> None:
        """Fill `deid_kept`; the labels are staged already.

        Args:
            session: where the source is coded.
            kept: where it is uploaded, the columns of `deid_kept`: `subject` of those whose linked
                rows stay; or q0, q1, … of the tuples of codes that stay, with `subject` if any.
        """
        if self.uploaded:
            assert kept is not None
            session.upload(KEPT.name, dict(kept))
        elif self.rule.linked:
            session.run(self.linked_step())

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
        query = step(
            "methods/common/linked_subjects", {"members": members}, values={"k": self.rule.k}
        )
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
        pairs = [] if self.rule.linked else [(name, f"q{i}") for i, name in enumerate(self.names)]
        if self.subject is not None:
            pairs.append((self.subject, "subject"))
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
