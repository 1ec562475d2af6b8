"""Declared models fitted again on synthetic records, and how far they are from the source's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dbdeid.data.records import Bools, Floats, Ints
from dbdeid.methods.condensation.fit import Fit, cox, linear, logistic
from dbdeid.methods.condensation.statistics import Model, cells_of

# Of the coefficients of a model that synthetic records do not tell, in standard errors.
_LOST = 10.0


class Refitted:
    """The recipient's models on the source, to hold those of synthetic records against.

    Args:
        models: that the recipient declared.
    """

    def __init__(self, models: Sequence[Model]) -> None:
        self._models = [(model, found) for model in models if (found := _of_source(model))]

    def rmsz(self, places: Ints) -> float:
        """How far the coefficients are off, in standard errors of the source's (root mean square).

        That is the `rmsz` that a run tells (Gal et al. 2014, section 4, and beyond), of all models
        together; 0 where no model can be fitted to the source.

        Args:
            places: (attributes, n) from which synthetic record each takes its value.
        """
        away = [self._away(model, fit, places) for model, fit in self._models]
        return float(np.sqrt(np.mean(np.concatenate(away) ** 2))) if away else 0.0

    def _away(self, model: Model, source: Fit, places: Ints) -> Floats:
        told = np.flatnonzero(source.errors > 0)
        told = told[told >= _first(model)]
        found = _of_synthetic(model, places)
        if found is None or found.rank < source.rank:
            return np.full(len(told), _LOST)
        away: Floats = (found.coefficients - source.coefficients)[told] / source.errors[told]
        return away


def _of_source(model: Model) -> Fit | None:
    cells = [cell.source for cell in cells_of(model)]
    return _fitted(model, cells, model.rows[0])


def _of_synthetic(model: Model, places: Ints) -> Fit | None:
    cells = [cell.synthetic[places[cell.attribute]] for cell in cells_of(model)]
    return _fitted(model, cells, model.rows[1])


def _fitted(model: Model, cells: Sequence[Floats], rows: Bools) -> Fit | None:
    """The fit on records without missing values; None where the likelihood has no maximum."""
    known = rows.copy()
    for values in cells:
        known &= np.isfinite(values)
    if not known.any():
        return None
    response, *others = (values[known] for values in cells)
    event = others.pop(0) if model.event else np.ones(len(response))
    design = np.column_stack([np.ones((len(response), _first(model))), *others])
    if model.kind == "cox":
        found, _ = cox(design, response, event > 0)
    else:
        found = (linear if model.kind == "linear" else logistic)(design, response)
    return found if found.converged else None


def _first(model: Model) -> int:
    """The place of the first coefficient that counts: nobody asks for that of the ones."""
    return 0 if model.kind == "cox" else 1
