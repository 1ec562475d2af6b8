"""Privacy models over sensitive values as the search takes them: conditions on counted classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from dbdeid.errors import Unsatisfiable
from dbdeid.lattice.rule import Portions
from dbdeid.lattice.sensitive_counts import Entries
from dbdeid.privacy import LDiversity, SensitiveModel
from dbdeid.privacy.common.histogram import CLOSE, Histogram, Whole
from dbdeid.privacy.common.sensitive import Target

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Sensitive:
    """A sensitive attribute, counted in the whole source, and the models that are about it.

    Attributes:
        columns: the columns that make it up.
        models: all of them must hold.
        whole: its values in the source.
    """

    columns: Target
    models: tuple[SensitiveModel, ...]
    whole: Whole

    def __call__(self, sizes: Ints, entries: Entries) -> tuple[Mask, Mask]:
        """Which classes hold all models, and which have what is necessary as they merge."""
        seen = Histogram(sizes, entries.of_class, entries.value, entries.count, self.whole)
        holds, possible = (np.ones(len(sizes), np.bool_) for _ in range(2))
        for model in self.models:
            possible &= model.necessary(seen)
            holds &= model.satisfied(seen)
        return holds & possible, possible

    def most(self, sizes: Ints, entries: Entries) -> Ints:
        """The most subjects of each class, who have one value each, that finer classes can keep."""
        seen = Histogram(sizes, entries.of_class, entries.value, entries.count, self.whole)
        found = sizes.astype(np.float64)
        for model in self.models:
            found = np.minimum(found, model.most(seen))
        return np.asarray(np.floor(found * (1 + CLOSE) + CLOSE), np.int64)

    @property
    def enough(self) -> int | None:
        """The number of distinct values that it takes, and that is enough; None: it takes more."""
        if self.whole.missing is not None:
            return None
        kinds = [m.l for m in self.models if isinstance(m, LDiversity) and m.kind == "distinct"]
        return ceil(max(kinds, default=0)) if len(kinds) == len(self.models) else None

    def portions(self, size: int) -> list[Portions]:
        """How classes of at least so many subjects may be made up to hold all models."""
        all_, none = np.full(len(self.whole.counts), self.whole.people), 0 * self.whole.counts
        found = [Portions(size, 1, all_, none)]
        for model in self.models:
            found = [
                Portions(
                    own.size,
                    max(one.different, own.different),
                    np.minimum(one.most, all_ if own.most is None else own.most),
                    np.maximum(one.least, none if own.least is None else own.least),
                )
                for one in found
                for own in model.portions(one.size, self.whole)
            ]
        return found

    def alone(self) -> Iterator[Sensitive]:
        """The same attribute under each model alone."""
        for model in self.models:
            yield Sensitive(self.columns, (model,), self.whole)

    def impossible(self) -> Iterator[Unsatisfiable]:
        """Why no class of the source can hold a model."""
        values = int(self.whole.known.sum())
        for model in self.models:
            if isinstance(model, LDiversity) and values < model.l:
                least = model.declared["l"]
                yield Unsatisfiable(
                    f"no release is {least}-diverse: {' and '.join(self.columns)} has {values} "
                    f"{'value' if values == 1 else 'values'}, fewer than l = {least}",
                    hint=f"l can be at most {values}; a column with one value needs no model, but "
                    "`accept: homogeneity`",
                )

    @property
    def reached(self) -> str:
        """What the source as one class reaches, where that is not all that the models ask."""
        values = np.arange(len(self.whole.counts))
        people = np.array([self.whole.people])
        one = Histogram(people, 0 * values, values, self.whole.counts, self.whole)
        texts = [text for model in self.models if (text := model.reached(one))]
        return f"the source as one class reaches {', '.join(texts)}" if texts else ""

    @property
    def named(self) -> str:
        """The attribute and its models for a message."""
        models = ", ".join(f"{m.model} ({_shown(m)})" for m in self.models)
        return f"{' and '.join(self.columns)}: {models}"


def _shown(model: SensitiveModel) -> str:
    hidden = ("column", "joint", "values")  # values are told by nobody but the owner's own spec
    given = {key: value for key, value in model.declared.items() if key not in hidden}
    return ", ".join(f"{key} {value}" for key, value in given.items())
