"""The results of check, search, frontier, evaluate and verify, as JSON and notebooks show them.

Dicts, but for an evaluation and a verification, which have attributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from dbdeid.data.json import JsonObject
from dbdeid.prepare.fingerprints import SourceChange
from dbdeid.utility.model_fit import Comparison, ModelComparison, Summary
from dbdeid.utility.query_error import Workload
from dbdeid.verify import Verification
from dbdeid.workspace.standing import Unpublishable

if TYPE_CHECKING:
    import altair as alt


class Findings(dict[str, Any]):
    """What a command found, as its `--json` prints it: whoever calls it looks up what they want."""


class Checked(Findings):
    """What a check found; the keys are those of `dbdeid check --json`."""

    def _repr_html_(self) -> str:
        from dbdeid.report.notebook import check_html

        return check_html(self)


@dataclass(frozen=True, eq=False)
class Evaluated(Mapping[str, Any]):
    """The utility of a release. Its items are those of `dbdeid evaluate --json`.

    Attributes:
        recoding: global, or local where levels differ between classes; unknown of a release made
            elsewhere.
        metrics: utility metrics by name.
        queries: the workload on source and release; None without one.
        models: each on source and release; none where none are declared.
        models_overall: what changed over all of them; None without any.
        not_measured: metrics that were asked for, and that the tables of a release made elsewhere
            do not tell; None of others.
        unpublishable: why nobody else is to have the release; None where nothing says so.
    """

    recoding: str
    metrics: Mapping[str, float]
    queries: Workload | None = None
    models: tuple[ModelComparison, ...] = ()
    models_overall: Summary | None = None
    not_measured: tuple[str, ...] | None = None
    unpublishable: Unpublishable | None = None

    @classmethod
    def of(
        cls,
        recoding: str,
        metrics: Mapping[str, float],
        queries: Workload | None,
        models: Comparison | None,
        *,
        not_measured: Sequence[str] | None = None,
        unpublishable: Unpublishable | None = None,
    ) -> Self:
        """What was found, of the models together."""
        return cls(
            recoding,
            dict(metrics),
            queries,
            models.models if models else (),
            models.overall if models else None,
            None if not_measured is None else tuple(not_measured),
            unpublishable,
        )

    def to_dict(self) -> JsonObject:
        """The evaluation as JSON shows it."""
        compared = Comparison(self.models).to_dict()
        found: JsonObject = {"recoding": self.recoding, "metrics": dict(self.metrics)}
        if self.not_measured is not None:
            found["not_measured"] = list(self.not_measured)
        return {
            **found,
            "queries": self.queries.to_dict() if self.queries else None,
            "models": compared["models"],
            "models_overall": compared["overall"] if self.models else None,
            "unpublishable": self.unpublishable.to_dict() if self.unpublishable else None,
        }

    def __getitem__(self, key: str) -> Any:
        return self.to_dict()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_dict())

    def __len__(self) -> int:
        return len(self.to_dict())

    def _repr_html_(self) -> str:
        from dbdeid.report.notebook import evaluation_html

        return evaluation_html(self)


@dataclass(frozen=True, slots=True)
class Verified(Verification):
    """What a verification found.

    Attributes:
        promises: each with its `model`, what was `declared` and `found`, and whether it `holds`.
        hygiene: each with the name of the `check`, whether it `holds`, and a `detail`.
        verified: whether all of them hold.
        failures: a line for each that does not.
        source_changed: how the source differs from what the release was made of; the promises are
            then verified of the release alone. None where it was compared with its source.
        unpublishable: why nobody else is to have the release, as of a trial, or a withdrawn run,
            whatever it keeps; None where nothing says so.
    """

    source_changed: SourceChange | None = None
    unpublishable: Unpublishable | None = None

    def to_dict(self) -> JsonObject:
        """The verification as JSON shows it."""
        changed = self.source_changed.to_dict() if self.source_changed else None
        why = self.unpublishable.to_dict() if self.unpublishable else None
        return {
            **Verification.to_dict(self),
            "source_changed": changed,
            "unpublishable": why,
        }

    def _repr_html_(self) -> str:
        from dbdeid.report.notebook import verification_html

        return verification_html(self.to_dict())


class Searched(Findings):
    """What a search found; the keys are those of `dbdeid search --json`."""

    def charts(self) -> dict[str, alt.TopLevelMixin]:
        """Altair charts by name: of one search `neighbours`, the score one level from what it
        found; of several demands `cost`, the score of each. A single point gives none."""
        from dbdeid.report.charts.notebook_charts import search_charts

        return search_charts(self)

    def _repr_html_(self) -> str:
        from dbdeid.report.notebook import search_html

        return search_html(self)


class Frontier(Findings):
    """A risk-utility frontier; the keys are those of `dbdeid frontier --json`."""

    def charts(self) -> dict[str, alt.TopLevelMixin]:
        """Altair charts by name: the frontier on a `log` and on a `linear` scale of the risk."""
        from dbdeid.report.charts.notebook_charts import frontier_charts

        return frontier_charts(self)

    def _repr_html_(self) -> str:
        from dbdeid.report.notebook import frontier_html

        return frontier_html(self)
