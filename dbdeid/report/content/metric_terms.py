"""The words of the metrics: title, definition, range and direction."""

from __future__ import annotations

from dbdeid.utility.common.metric import Words


def metric_words(name: str) -> Words:
    """The words of a metric, with the column that it is of."""
    from dbdeid.utility.catalog import CATALOG  # of formulas, which load numpy

    kind, _, column = name.partition(".")
    words = next((metric.words for metric in CATALOG if metric.name == kind), None)
    if words is None:
        return Words(name, "no definition on record", "–", "–")
    return words._replace(title=f"{words.title} ({column})") if column else words
