"""Which rows of the coded source stay under a transformation, as SQL on the staged tables.

Class sizes are counted by a window over the groups of the labels. Where a rule says more than a
size can, what stays is listed first: the subjects whose linked rows stay, or the classes that stay
where a NULL matches everything, sensitive values count, or a row stands for several records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from dbdeid.data.classes import CODED, labels_relation
from dbdeid.engine.expressions import (
    Expr,
    Select,
    aliased,
    all_of,
    ascending,
    column,
    count_of,
    dense_rank,
    each_once,
    every_column,
    literal,
    not_,
    not_null,
    over,
    select,
)
from dbdeid.engine.relation import Relation
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
        weighed: a row stands for several records, which no window counts.
    """

    rule: Rule
    names: tuple[str, ...]
    subject: str | None
    valued: bool
    weighed: bool = False

    @property
    def listed(self) -> bool:
        """Whether what stays stands in `deid_kept`."""
        return self.rule.linked or self.uploaded

    @property
    def uploaded(self) -> bool:
        """Whether the database cannot find out by itself what stays."""
        return self.valued or self.weighed or self.rule.null_policy == "wildcard"

    def stage(self, session: Session, kept: dict[str, NDArray[Any]] | None) -> None:
        """Fill `deid_kept`; the labels are staged already.

        Args:
            session: where the source is coded.
            kept: where it is uploaded, the columns of `deid_kept`: `subject` of those whose linked
                rows stay; or g0, g1, … of the classes that stay, as the labels group codes.
        """
        if self.uploaded:
            assert kept is not None
            session.upload(KEPT.name, dict(kept))
        elif self.rule.linked:
            session.run(self.linked_step())

    def linked_step(self) -> Step:
        """The subjects who stay when a pseudonym links their rows."""
        assert self.subject is not None
        groups = [ascending(group) for group in self._groups()]
        class_ = over(dense_rank(), order=groups)
        members = select(
            aliased(class_, "class"),
            aliased(column(self.subject, "coded"), "subject"),
            aliased(not_(self._present()), "blank"),
        ).from_(CODED.aliased("coded"))
        for i in range(len(self.names)):
            members = self.join_labels(members, i)
        query = step(
            "methods/common/linked_subjects", {"members": members}, values={"k": self.rule.k}
        )
        return Step(KEPT.name, query)

    def join_labels(self, query: Select, number: int) -> Select:
        """Join the labels of one quasi-identifier as `l0`, `l1`, …."""
        alias = f"l{number}"
        table = labels_relation(number).aliased(alias)
        same = column(self.names[number], "coded").eq(column("code", alias))
        return query.join(table, on=same)

    def join(self, query: Select) -> Select:
        """Join what stays to the coded source and its labels."""
        if not self.listed:
            return query
        if self.rule.linked:
            assert self.subject is not None
            same: Expr = column(self.subject, "coded").eq(column("subject", "kept"))
        else:
            groups = enumerate(self._groups())
            same = all_of(*(group.eq(column(f"g{i}", "kept")) for i, group in groups))
        table = KEPT.aliased("kept")
        return query.join(table, on=same, join_type="left")

    def only(self, query: Select) -> Select:
        """The query without the rows that do not stay."""
        return query.where(self.condition) if self.listed else query.qualify(self.condition)

    @property
    def condition(self) -> Expr:
        """Whether a row stays."""
        if self.listed:
            key = "subject" if self.rule.linked else "g0"
            return not_null(column(key, "kept"))
        counted: Expr = every_column()
        if self.subject is not None:
            counted = each_once(column(self.subject, "coded"))
        size = over(count_of(counted), by=self._groups())
        enough = size >= literal(self.rule.k)
        return enough if self.rule.null_policy != "exclude" else all_of(enough, self._present())

    def _groups(self) -> list[Expr]:
        return [column("grp", f"l{i}") for i in range(len(self.names))]

    def _present(self) -> Expr:
        """Whether no NULL excludes a row; at the top it is `*`."""
        if self.rule.null_policy != "exclude":
            return literal(True)
        labels = (column("label", f"l{i}") for i in range(len(self.names)))
        return all_of(*(not_null(label) for label in labels))
