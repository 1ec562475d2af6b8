"""What models that compare a release with a population have in common: which one."""

from __future__ import annotations

from dbdeid.data.json import JsonObject
from dbdeid.privacy.common.promise import Promise


class OfPopulation(Promise):
    """A model over the people of a population who fit a class.

    Attributes:
        population: a table or file with columns named like the quasi-identifiers, and on demand
            a whole number `people`; without it each row is one person.
    """

    population: str

    @property
    def declared(self) -> JsonObject:
        """The promised parameters, as they are shown."""
        shown = self.model_dump(exclude_defaults=True, exclude_none=True)
        return {key: value for key, value in shown.items() if key != "model"}
