"""What is told of a search and of a frontier: dicts, as JSON shows them, that notebooks draw."""

from __future__ import annotations

from typing import Any


class Searched(dict[str, Any]):
    """What a search found; the keys are those of `dbdeid search --json`."""

    def charts(self) -> dict[str, Any]:
        """Altair charts by name: `cost`, the score of each demand, where several were tried."""
        from dbdeid.report.notebook import search_charts

        return search_charts(self)

    def _repr_html_(self) -> str:
        from dbdeid.report.notebook import search_html

        return search_html(self)


class Frontier(dict[str, Any]):
    """A risk-utility frontier; the keys are those of `dbdeid frontier --json`."""

    def charts(self) -> dict[str, Any]:
        """Altair charts by name: the frontier on a `log` and on a `linear` scale of the risk."""
        from dbdeid.report.notebook import frontier_drawn

        return frontier_drawn(self)

    def _repr_html_(self) -> str:
        from dbdeid.report.notebook import frontier_html

        return frontier_html(self)
