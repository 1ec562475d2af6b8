"""Read a release with counterfeit records: weigh its rows, or keep only what is true of them.

A release by counterfeit records comes with a catalog: of the records of a group of classes with a
sensitive value, so many are counterfeit. Where C of n records are, each is real with probability
1 - C/n, its weight. The other reading of Lee, Kim & Chung 2017 (their Table 9) keeps what is
certain, and of the other records only that so many with the value are real.

Both are plain SQL on the two tables, so that they can be views of a published file. Sensitive
values are compared as text, and NULL is a value.
"""

from __future__ import annotations

from collections.abc import Sequence

from dbdeid.engine.expressions import Query
from dbdeid.engine.reading import with_null
from dbdeid.engine.relation import Relation
from dbdeid.engine.sqltext import step

WEIGHT = "weight"
_NO_COLUMN = ""  # no column of a table is called so


def weighted(release: Relation, catalog: Relation, sensitive: str | None) -> Query:
    """The columns of a release and `weight`: the probability, in [0, 1], that a record is real.

    Args:
        release: with a column `class_id` and none that is called `weight`.
        catalog: its `class_ids`, `sensitive_value` and `counterfeits`; groups share no class.
        sensitive: the sensitive column; None where there is none, and one value, NULL, stands for
            all of them.
    """
    return _rendered("data/weighted", release, catalog, sensitive, {})


def truthful(
    release: Relation, catalog: Relation, sensitive: str | None, columns: Sequence[str]
) -> Query:
    """As many rows as there are real records: the certain ones, of others the sensitive value.

    Args:
        release: with a column `class_id`.
        catalog: its `class_ids`, `sensitive_value` and `counterfeits`; groups share no class.
        sensitive: the sensitive column; None where there is none.
        columns: those of the release, `class_id` among them.
    """
    told = [] if sensitive is None else [sensitive]
    return _rendered(
        "data/truthful", release, catalog, sensitive, {"columns": columns, "told": told}
    )


def earlier(
    release: Relation, catalog: Relation, sensitive: str | None, columns: Sequence[str]
) -> tuple[Query, Query]:
    """Both as versions up to 0.2 published them: the same rows, computed more slowly.

    They list every pair of a class and a value of its group on the way.
    """
    told = [] if sensitive is None else [sensitive]
    return (
        _rendered("data/earlier/weighted", release, catalog, sensitive, {}),
        _rendered(
            "data/earlier/truthful", release, catalog, sensitive, {"columns": columns, "told": told}
        ),
    )


def _rendered(
    name: str,
    release: Relation,
    catalog: Relation,
    sensitive: str | None,
    columns: dict[str, Sequence[str]],
) -> Query:
    tree = step(
        name,
        {"release": release, "catalog": catalog},
        {**columns, "sensitive": [_NO_COLUMN if sensitive is None else sensitive]},
    )
    return with_null(tree, _NO_COLUMN)
