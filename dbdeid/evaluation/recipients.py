"""The recipient's models on the original and on a release, and what changed between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dbdeid.analyses.design_matrices import Levels, of_source
from dbdeid.analyses.value_meanings import Untold
from dbdeid.bind.bound import Bound, BoundAnalysis
from dbdeid.engine.failure import EngineError
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.errors import Mistake, SpecError
from dbdeid.evaluation.released_designs import Released
from dbdeid.publish.tables import Public
from dbdeid.utility.model_fit import (
    Comparison,
    Fit,
    ModelComparison,
    Records,
    Unfitted,
    compare,
    fit,
    fit_original,
)
from dbdeid.verify import Declared


@dataclass(frozen=True, slots=True)
class Original:
    """A model as the original has it.

    Attributes:
        analysis: the model.
        levels: the categories of its variables, frozen.
        fit: its coefficients.
        records: those that it uses.
    """

    analysis: BoundAnalysis
    levels: Levels
    fit: Fit
    records: Records


def originals(bound: Bound, session: Session) -> tuple[Original, ...]:
    """Fit the declared models on the source.

    Raises:
        SpecError: some cannot be fitted; each is named, with the reason.
    """
    found, mistakes = [], []
    for analysis in bound.analyses:
        try:
            design, records, levels = of_source(session, analysis, bound.source)
            found.append(Original(analysis, levels, fit_original(design), records))
        except Unfitted as error:
            mistakes.append(_mistake(bound, analysis, error.message, error.hint))
        except EngineError as error:
            hint = "try_cast gives NULL where a value does not fit"
            what = f"cannot be computed on every record ({error.message})"
            mistakes.append(_mistake(bound, analysis, what, hint))
    if mistakes:
        raise SpecError(mistakes, source=bound.file.label)
    return tuple(found)


def _mistake(bound: Bound, analysis: BoundAnalysis, message: str, hint: str) -> Mistake:
    place = ("evaluate", "models", analysis.number)
    return bound.file.mistake(f"the {analysis.kind} model: {message}", *place, hint=hint)


def compared(
    bound: Bound,
    session: Session,
    models: Sequence[Original],
    public: Public,
    hierarchies: Relation | None,
    declared: Declared,
) -> Comparison | None:
    """Fit the declared models on a release, and hold them against the originals.

    Args:
        bound: the spec.
        session: where the release is.
        models: as the source has them.
        public: the release.
        hierarchies: private, what labels stand for; None where values stand for themselves.
        declared: what it promises.

    Returns:
        None where no models are declared; a model that has no fit on the release says why.
    """
    if not models:
        return None
    sensitive = declared.padding.sensitive if declared.padding else None
    released = Released(bound, session, public, hierarchies, sensitive)
    return Comparison(tuple(_compared(released, model) for model in models))


def _compared(released: Released, model: Original) -> ModelComparison:
    analysis = model.analysis
    after, records, reason = None, None, None
    try:
        design, records = released.design(analysis, model.levels)
        after = fit(design)
    except (Unfitted, Untold) as error:
        reason = error.message
    except EngineError as error:
        reason = f"cannot be computed on every record ({error.message})"
    coefficients = compare(model.fit, after)
    event, where = analysis.event, analysis.where
    return ModelComparison(
        kind=analysis.kind,
        response=analysis.response.text,
        event=event.text if event else None,
        where=where.text if where else None,
        terms=released.terms(analysis, model.levels),
        source=model.records,
        release=records,
        coefficients=coefficients,
        reason=reason,
    )
