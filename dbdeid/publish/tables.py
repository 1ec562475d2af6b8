"""The published parts of a release: its table, the tables beside it, and recipients' views."""

from __future__ import annotations

from dataclasses import dataclass

from dbdeid.data.weights import WEIGHT, truthful, weighted
from dbdeid.engine.expressions import Query
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Step
from dbdeid.spec.names import catalog_name, dictionary_name
from dbdeid.verify import Declared

WEIGHTED = "deid_weighted"


@dataclass(frozen=True, slots=True)
class Public:
    """The tables of a release, staged or written.

    Attributes:
        released: the release.
        dictionary: what its values stand for; None where they stand for themselves.
        catalog: how many records of which value are counterfeit, where that is published.
    """

    released: Relation
    dictionary: Relation | None
    catalog: Relation | None = None

    @property
    def beside(self) -> tuple[Relation, ...]:
        """The tables beside the release, in the order of their files."""
        return tuple(table for table in (self.dictionary, self.catalog) if table is not None)

    @property
    def tables(self) -> tuple[Relation, Relation | None, Relation | None]:
        """The release, its dictionary and its catalog."""
        return self.released, self.dictionary, self.catalog

    def named(self, release: str) -> dict[str, Relation]:
        """Each table by the name that it is published under."""
        found = {release: self.released}
        if self.dictionary is not None:
            found[dictionary_name(release)] = self.dictionary
        return found | ({catalog_name(release): self.catalog} if self.catalog else {})

    def answering(
        self, session: Session, sensitive: str | None, *, staged: bool = True
    ) -> tuple[Relation, str | None]:
        """What queries are answered from, and its column of weights if records have one.

        Args:
            session: where the tables are.
            sensitive: the column whose values the catalog counts.
            staged: whether the weights are staged; otherwise the published view is used.
        """
        if self.catalog is None:
            return self.released, None
        if not staged:
            beside = weighted_name(self.released.name)
            return Relation(beside, (), self.released.schema, self.released.catalog), WEIGHT
        rows = session.run(Step(WEIGHTED, weighted(self.released, self.catalog, sensitive)))
        return rows, WEIGHT


def weighted_name(release: str) -> str:
    """The name of the view of a release with the weights of its records."""
    return f"{release}_weighted"


def views(declared: Declared) -> dict[str, Query]:
    """The views beside a release with a catalog, by name; they name the tables beside them."""
    padding = declared.padding
    if padding is None or padding.catalog == "none":
        return {}
    release = Relation(declared.release)
    catalog = Relation(catalog_name(declared.release))
    columns = [c.name for c in declared.columns]
    return {
        weighted_name(declared.release): weighted(release, catalog, padding.sensitive),
        f"{declared.release}_truthful": truthful(release, catalog, padding.sensitive, columns),
    }
