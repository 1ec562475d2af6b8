"""Columns whose values repeat, and so may number people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dbdeid.bind.bound import Bound
from dbdeid.engine.expressions import column, count_of, count_rows, each_once, select
from dbdeid.engine.session import Steps
from dbdeid.profiling import column_names


def repeating(bound: Bound, session: Steps) -> Iterator[tuple[str, str]]:
    """Identifiers that several rows share, and how often; none where the spec has decided that.

    A dropped column is one by its name. Where every row has a number of a person, that tells whose
    it is, and names are shared by chance.
    """
    if bound.spec.accept == "rows" or bound.subject is not None:
        return
    some = [name for name in bound.names("drop") if names_persons(name)]
    some = [c.name for c in bound.columns if c.name in {*bound.names("identifier"), *some}]
    if not some:
        return
    rows, counts = counted_values(bound, session, some)
    numbered = any(column_names.tells_persons(n) and counts[n][0] == rows for n in some)
    for name, (known, distinct) in counts.items():
        if distinct < known and not (numbered and column_names.says("person_name", name)):
            yield name, f"{known - distinct} of {known} values"


def counted_values(
    bound: Bound, session: Steps, some: Sequence[str]
) -> tuple[int, dict[str, tuple[int, int]]]:
    """Rows of the source, and of each column its values and its different ones."""
    query = select(count_rows()).from_(bound.source.subquery("source"))
    for name in some:
        value = column(name, "source")
        different = each_once(value.copy())
        query = query.select(count_of(value), count_of(different))
    rows, *found = session.row(query)
    pairs = zip(found[::2], found[1::2], strict=True)
    return int(rows), dict(zip(some, pairs, strict=True))


def names_persons(name: str) -> bool:
    """Whether a column's name says that it has names, addresses or numbers of persons."""
    kinds = ("person_name", "mail")
    return column_names.of_person(name) or any(column_names.says(k, name) for k in kinds)
