"""Numbers and groups that may not be there: what was once claimed of them does not hold."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbdeid
from dbdeid.errors import DataError

SPEC: dict[str, Any] = {
    "release": "people",
    "source": "src",
    "columns": {
        "age": {
            "role": "quasi_identifier",
            "hierarchy": {"intervals": [10], "lower": 0, "upper": 20},
        },
        "beds": {"role": "insensitive", "reason": "a number of a test"},
        "cost": {"role": "insensitive", "reason": "a number of a test"},
        "diag": {"role": "insensitive", "reason": "a word of a test"},
    },
    "privacy": [{"model": "k_anonymity", "k": 2}],
    "method": {"name": "full_domain", "transformation": {"age": 1}},
}
ROWS = "(3, 1, 5, 'flu'), (4, 2, 7, 'flu'), (7, 3, 9, 'flu'), (9, 4, NULL, 'flu')"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The database of some rows and of their release, made once."""

    @cache
    def make(rows: str, **limit: float) -> Path:
        path = tmp_path_factory.mktemp("made") / "people.duckdb"
        with duckdb.connect(str(path)) as con:
            con.execute(f"CREATE TABLE src AS FROM (VALUES {rows}) AS t(age, beds, cost, diag)")
        dbdeid.run(SPEC | {"method": SPEC["method"] | limit}, database=path)
        return path

    return make


@pytest.fixture
def ask(tmp_path: Path, made: Callable[..., Path]) -> Any:
    """Asks the release of some rows, and gives the first row of the answer."""
    path = tmp_path / "people.duckdb"
    limit: dict[str, float] = {}

    def asked(text: str, rows: str = ROWS, **more: Any) -> tuple[Any, ...]:
        limit.update(more.pop("method", {}))
        spec = SPEC | {"method": SPEC["method"] | limit}
        if not path.exists():
            shutil.copy(made(rows, **limit), path)
        found = dbdeid.query(spec, text, database=path, **more)
        return tuple(found.rows[0])

    return asked


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("number", "sign"),
    [
        ("SELECT STDDEV(beds) FROM src WHERE beds = 4 AND age < 10", ">"),  # of one record
        ("SELECT VAR_SAMP(beds) - 100 FROM src WHERE beds = 4 OR age < 3", ">"),  # or of one
        ("SELECT CORR(age, beds) FROM src", ">"),  # NaN where all ages are equal
        ("SELECT SUM(cost) / COUNT(*) - 100 FROM src WHERE beds = 4 OR age < 3", ">"),  # all NULL
    ],
)
def test_a_number_that_may_be_none_compares_with_no_record_for_certain(
    ask: Any, number: str, sign: str
) -> None:
    assert ask(f"SELECT COUNT(*) AS n FROM src WHERE beds {sign} ({number})")[1] == 0


def test_a_number_beyond_its_type_is_refused_in_words(ask: Any) -> None:
    for text in ("MAX(age * 900000000)", "SUM(age * 900000000) FILTER (WHERE age > 2)"):
        with pytest.raises(DataError, match="a number is beyond its type"):
            ask(f"SELECT {text} AS x FROM src")
    assert ask("SELECT 900000000 * MAX(age) AS x FROM src")[2] > 2**31


@pytest.mark.full
def test_a_variance_that_may_be_of_one_record_is_noted(ask: Any, tmp_path: Path) -> None:
    text = "SELECT STDDEV(beds) AS s, STDDEV_POP(beds) AS p FROM src WHERE {}"
    ask("SELECT COUNT(*) FROM src")
    told = {
        where: dbdeid.query(SPEC, text.format(where), database=tmp_path / "people.duckdb").notes
        for where in ("age < 5", "age < 10", "beds = 4 AND age < 10")
    }
    noted = [where for where, notes in told.items() if any("may be NULL" in n for n in notes)]
    assert noted == ["age < 5"]
    assert any(note.startswith("s may be NULL") for note in told["age < 5"])


def test_nothing_is_certain_to_be_below_what_may_be_no_number(ask: Any) -> None:
    text = "SELECT COUNT(*) AS n FROM src WHERE beds < (SELECT CORR(age, beds) FROM src)"
    assert ask(text)[2] == 4


def test_a_mean_with_zeros_is_none_where_all_is_null(ask: Any) -> None:
    below = (
        "SELECT beds, SUM(cost) / COUNT(*) AS v, COUNT(*) FILTER (WHERE age < 5) AS c FROM src "
        "GROUP BY beds"
    )
    assert ask(f"SELECT COUNT(v) AS n FROM ({below}) AS g")[1] <= 3


@pytest.mark.full
def test_a_number_of_all_is_not_known_where_some_were_suppressed(ask: Any) -> None:
    rows = ", ".join(f"({age}, {3 + age // 3}, 0, 'flu')" for age in range(1, 7))
    text = (
        "SELECT COUNT(*) AS n FROM src WHERE beds > (SELECT AVG(beds) - 2 FROM src WHERE age < 19)"
    )
    rows += ", (15, 900, 0, 'flu')"
    assert ask(text, rows, method={"suppression_limit": 0.2})[1] > 0
    with pytest.raises(DataError, match="subquery"):
        ask(text, spread_suppressed=True)


def test_a_key_that_only_an_alias_names_is_no_condition(ask: Any) -> None:
    joined = "(SELECT beds % 2 AS beds FROM src GROUP BY beds) AS t ON src.beds = t.beds"
    with pytest.raises(DataError, match="JOIN"):
        ask(f"SELECT COUNT(*) AS n FROM src JOIN {joined} WHERE age < 5")


def test_a_star_shows_what_is_joined(ask: Any) -> None:
    groups = "(SELECT diag, SUM(age) AS s FROM src GROUP BY diag) AS g"
    joined = "(SELECT diag AS k FROM src GROUP BY diag) AS t ON g.diag = t.k"
    with pytest.raises(DataError):
        ask(f"SELECT * FROM {groups} JOIN {joined}")


@pytest.mark.parametrize(
    "text",
    [
        "FROM (PIVOT src ON diag IN ('flu', NULL) USING COUNT(*) GROUP BY beds)",
        "FROM (PIVOT src ON beds % 2 IN (0, 1) USING SUM(age) GROUP BY diag)",
    ],
)
def test_columns_of_a_pivot_that_would_be_others_are_refused(ask: Any, text: str) -> None:
    with pytest.raises(DataError, match="PIVOT ON"):
        ask(f"SELECT * {text}")


@pytest.mark.parametrize("after", ['REPLACE ("1" * 2 AS "1")', "EXCLUDE (diag)"])
def test_what_a_star_leaves_out_or_changes_is_refused(ask: Any, after: str) -> None:
    with pytest.raises(DataError, match="after \\* of PIVOT"):
        ask(f"SELECT * {after} FROM (PIVOT src ON beds IN (1, 2) USING SUM(age) GROUP BY diag)")


@pytest.mark.full
def test_columns_of_a_pivot_stand_as_their_names_sort(ask: Any, tmp_path: Path) -> None:
    rows = "(1, -1, 1, 'a'), (2, -5, 1, 'a'), (3, -2, 1, 'a'), (4, -1, 1, 'a')"
    ask("SELECT COUNT(*) AS n FROM src", rows)
    text = "SELECT * FROM (PIVOT src ON beds USING SUM(age) GROUP BY diag)"
    found = dbdeid.query(SPEC, text, database=tmp_path / "people.duckdb")
    shown = [name for name in found.columns if not name.endswith(("_lower", "_upper"))]
    assert shown == ["diag", "-1", "-2", "-5"]


def test_groups_are_not_compared_with_a_number_between_bounds(ask: Any) -> None:
    groups = "WITH g AS (SELECT diag, COUNT(*) AS v FROM src WHERE age < 5 GROUP BY diag) "
    with pytest.raises(DataError, match="comparison of groups"):
        ask(groups + "SELECT COUNT(*) AS n FROM g WHERE v > (SELECT AVG(v) FROM g)")


@pytest.mark.full
def test_equals_come_by_their_keys_with_bounds_and_without(ask: Any, tmp_path: Path) -> None:
    rows = ", ".join(f"({n}, 1, {n % 2}, '{d}')" for n, d in enumerate("cabbca"))
    ask("SELECT COUNT(*) AS n FROM src", rows)
    path = tmp_path / "people.duckdb"
    text = "SELECT cost, diag, MODE(beds) AS v{} FROM src GROUP BY 1, 2 ORDER BY v LIMIT 3"
    exact = dbdeid.query(SPEC, text.format(""), database=path)
    bounded = dbdeid.query(
        SPEC, text.format(", COUNT(*) FILTER (WHERE age < 5) AS z"), database=path
    )
    assert [row[:2] for row in exact.rows] == [row[:2] for row in bounded.rows]


@pytest.mark.full
def test_a_total_of_groups_over_a_part_is_no_mean(ask: Any) -> None:
    text = "SELECT SUM(COUNT(*)) OVER () / COUNT(*) AS n FROM src GROUP BY beds % 2 ORDER BY 1"
    assert ask(text)[0] == 2


@pytest.mark.full
@pytest.mark.parametrize(
    "total", ["SUM({x})", "NULLIF(SUM({x}), 0)", "(SUM({x}))", "(SELECT SUM({x}) FROM src)"]
)
def test_a_part_of_numbers_below_zero_may_be_more_than_all(ask: Any, total: str) -> None:
    numbers = "(beds * 5 - 9)"  # -4, 1, 6 and 11
    part = f"SUM({numbers}) FILTER (WHERE age < 5 OR beds = 4)"
    _, lower, upper = ask(f"SELECT {part} / {total.format(x=numbers)} AS share FROM src")
    assert lower <= 7 / 14
    assert upper >= 18 / 14


@pytest.mark.full
def test_a_part_that_is_rounded_may_be_more_than_all(ask: Any) -> None:
    rows = "(3, 1, 1, 'a'), (4, 1, 2, 'a')"
    part = "CAST(SUM(beds * 0.6) FILTER (WHERE cost < 9) AS DECIMAL(9, 0))"
    text = f"SELECT {part} / SUM(beds * 0.6) AS share FROM src WHERE cost = 1 OR age < 5"
    assert ask(text, rows)[2] >= 1 / 0.6  # where one record alone counts


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "ranked",
    [
        "VARIANCE(beds)",  # NULL of one record
        "SUM(cost) / COUNT(*)",  # where all are NULL
        "NULLIF(COUNT(*) FILTER (WHERE beds = 2 OR diag = 'b'), 0)",
        "SUM(beds) / NULLIF(COUNT(*) FILTER (WHERE beds = 2 OR diag = 'b'), 0)",
        "NULLIF(SUM(beds), 1)",
    ],
)
def test_no_group_is_for_certain_before_others_by_what_may_be_null(ask: Any, ranked: str) -> None:
    rows = "(7, 1, NULL, 'a'), (7, 2, 1, 'a'), (4, 1, 10, 'b'), (3, 90, 10, 'b')"
    text = (
        f"SELECT diag, RANK() OVER (ORDER BY {ranked}) AS place FROM src "
        "WHERE beds <> 2 OR age < 5 GROUP BY diag ORDER BY diag"
    )
    assert ask(f"{text} DESC", rows)[2] == 1  # b, where a has no number and is the last
    assert ask(text, rows)[3] == 2


@pytest.mark.full
@pytest.mark.parametrize("by", [3, 7])
def test_what_rounding_leaves_is_no_variance(ask: Any, by: int) -> None:
    number = f"CASE WHEN age < 5 THEN beds / {by} ELSE 3 / {by} END"  # may be alike in all records
    assert ask(f"SELECT STDDEV({number}) AS s FROM src WHERE beds < 4")[1] == 0


@pytest.mark.parametrize("neighbour", ["LAG", "LEAD"])
def test_what_is_expected_of_another_group_is_between_its_bounds(
    ask: Any, tmp_path: Path, neighbour: str
) -> None:
    number = "NULLIF(COUNT(*) FILTER (WHERE age < 1), 0)"  # .1 is expected, and it is 1 or none
    text = f"SELECT beds, {neighbour}({number}) OVER (ORDER BY beds) AS v FROM src GROUP BY beds"
    ask("SELECT COUNT(*) AS n FROM src")
    found = dbdeid.query(SPEC, text, database=tmp_path / "people.duckdb")
    numbers = [tuple(row[1:]) for row in found.rows if None not in row]
    assert numbers
    assert all(lower <= value <= upper for value, lower, upper in numbers)


@pytest.mark.full
@pytest.mark.parametrize(
    ("number", "answer"),
    [
        ("SUM(CASE WHEN age > 9 THEN 1 ELSE 0 END)", (2, 2, 2)),
        ("AVG(CASE WHEN age < 10 THEN beds ELSE 0 END)", (0.75, 0.75, 0.75)),
        ("100.0 * COUNT(*) FILTER (WHERE age > 9) / COUNT(*)", (50, 50, 50)),
        ("SUM(CASE WHEN age < 5 THEN 1 ELSE 0 END)", (1, 0, 2)),
    ],
)
def test_a_value_without_an_end_counts_where_its_end_does_not_matter(
    ask: Any, number: str, answer: tuple[float, ...]
) -> None:
    rows = "(3, 1, 5, 'a'), (4, 2, 5, 'a'), (25, 3, 5, 'a'), (31, 4, 5, 'a')"  # 25 and 31: >= 20
    assert ask(f"SELECT {number} AS n FROM src", rows) == answer
    with pytest.raises(DataError, match="open end"):
        ask("SELECT SUM(CASE WHEN age > 40 THEN 1 ELSE 0 END) AS n FROM src")


@pytest.mark.parametrize(
    "window",
    [
        "LAG(SUM(beds)) OVER (ORDER BY diag)",
        "LEAD(COUNT(*)) OVER (ORDER BY diag)",
        "SUM(SUM(beds)) OVER (ORDER BY diag ROWS UNBOUNDED PRECEDING)",
    ],
)
def test_which_of_equal_groups_is_before_another_is_not_known(ask: Any, window: str) -> None:
    text = f"SELECT diag, beds % 2 AS odd, {window} AS w FROM src GROUP BY diag, odd ORDER BY 2"
    assert ask(text)[3:] == (None, None)
    known = window.replace("BY diag", "BY diag, beds % 2").replace("LEAD", "LAG")
    value, lower, upper = ask(text.replace(window, known).replace("BY 2", "BY 2 DESC"))[2:]
    assert value == lower == upper is not None


def test_equal_groups_are_summed_up_together_unless_rows_are_asked_for(ask: Any) -> None:
    text = "SELECT diag, beds % 2 AS odd, SUM(SUM(beds)) OVER (ORDER BY diag) AS w FROM src"
    assert ask(f"{text} GROUP BY diag, odd ORDER BY 2")[2:] == (10, 10, 10)


@pytest.mark.full
@pytest.mark.parametrize(
    "text",
    [
        "SELECT beds, COUNT(*) AS n FROM src GROUP BY ROLLUP (beds) HAVING SUM(age) > 9",
        "SELECT beds, MAX(age) AS n FROM src GROUP BY ROLLUP (beds) ORDER BY n DESC LIMIT 2",
        "SELECT 1 AS part, beds, SUM(cost) AS n FROM src WHERE age < 5 GROUP BY beds UNION ALL "
        "SELECT 2, beds, SUM(cost) FROM src GROUP BY beds HAVING SUM(age) > 5",
        "SELECT 1 AS part, COUNT(*) FILTER (WHERE age < 5) AS n FROM src UNION ALL "
        "SELECT 2, COUNT(*) FROM src ORDER BY n LIMIT 1",
    ],
)
def test_which_rows_of_a_listing_are_shown_is_noted(ask: Any, tmp_path: Path, text: str) -> None:
    ask("SELECT COUNT(*) FROM src")
    found = dbdeid.query(SPEC, text, database=tmp_path / "people.duckdb")
    assert any("others may belong" in n or "may have some" in n for n in found.notes)


def test_which_rows_of_a_certain_listing_are_shown_is_not_noted(ask: Any, tmp_path: Path) -> None:
    ask("SELECT COUNT(*) FROM src")
    text = (
        "SELECT diag, COUNT(*) AS n, AVG(age) AS a FROM src GROUP BY ROLLUP (diag) "
        "HAVING COUNT(*) > 1 ORDER BY n{} LIMIT 1"
    )
    path = tmp_path / "people.duckdb"
    certain = dbdeid.query(SPEC, text.format(", diag"), database=path)
    assert len(certain.rows) == 1
    assert not any("belong" in note for note in certain.notes)
    equal = dbdeid.query(SPEC, text.format(""), database=path)  # the group is all there is
    assert any("beyond the last one are as good" in note for note in equal.notes)


def test_groups_of_records_that_may_not_count_are_noted(ask: Any, tmp_path: Path) -> None:
    ask("SELECT COUNT(*) FROM src")
    told = {
        where: dbdeid.query(
            SPEC, f"SELECT DISTINCT beds FROM src {where}", database=tmp_path / "people.duckdb"
        ).notes
        for where in ("", "WHERE age < 5", "WHERE cost > 5")
    }
    assert [w for w, notes in told.items() if any("may be of" in n for n in notes)] == [
        "WHERE age < 5"
    ]


def test_equals_that_offset_leaves_out_are_noted(ask: Any, tmp_path: Path) -> None:
    ask("SELECT COUNT(*) FROM src")
    text = "SELECT beds, COUNT(*) FILTER (WHERE age < 20) AS n FROM src GROUP BY beds ORDER BY {}"
    told = {
        order: dbdeid.query(
            SPEC, f"{text.format(order)} LIMIT 5 OFFSET 1", database=tmp_path / "people.duckdb"
        ).notes
        for order in ("n", "beds DESC")
    }
    assert any("OFFSET leaves out" in note for note in told["n"])
    assert not any("OFFSET" in note for note in told["beds DESC"])


# Three records of each, all with a sum of 0.6 but for what rounding makes of it in an order.
TENTHS = {"a": (1, 2, 3), "b": (3, 2, 1), "c": (2, 2, 2), "d": (6, 0, 0), "e": (7, -2, 1)}
ROWS_OF_TENTHS = ", ".join(
    f"({place}, {place}, CAST(0.1 * {tenths} AS DOUBLE), '{diag}')"
    for diag, numbers in TENTHS.items()
    for place, tenths in enumerate(numbers)
)


@pytest.mark.full
@pytest.mark.parametrize("ranked", ["SUM(cost)", "AVG(cost)", "2 * SUM(cost)"])
def test_what_rounding_sets_apart_is_of_any_rank(ask: Any, ranked: str) -> None:
    ranks = f"RANK() OVER (ORDER BY {ranked}) AS place, ROW_NUMBER() OVER (ORDER BY {ranked}) AS n"
    text = f"SELECT diag, {ranks}, COUNT(*) FILTER (WHERE age < 5) AS c FROM src GROUP BY diag"
    for order in ("place", "place DESC"):
        row = ask(f"{text} ORDER BY {order} LIMIT 1", ROWS_OF_TENTHS)
        assert (row[2:4], row[5:7]) == ((1, 5), (1, 5))


@pytest.mark.full
def test_ranks_of_equal_whole_numbers_are_known(ask: Any) -> None:
    rank = "RANK() OVER (ORDER BY SUM(beds)) AS place"
    text = f"SELECT diag, {rank}, COUNT(*) FILTER (WHERE age < 5) AS c FROM src GROUP BY diag"
    assert ask(text, ROWS_OF_TENTHS)[1:4] == (1, 1, 1)


@pytest.mark.parametrize("sign", [">", "<", "="])
def test_a_number_is_not_compared_with_what_rounding_leaves(ask: Any, sign: str) -> None:
    """0.2 is above the mean of these records in one order of them, and not in another."""
    text = (
        f"SELECT COUNT(*) AS n FROM src WHERE age < 20 AND cost {sign} (SELECT AVG(cost) FROM src)"
    )
    value, lower, upper = ask(text, ROWS_OF_TENTHS)
    assert upper - lower == 5  # those of 0.2
    assert lower <= value <= upper


@pytest.mark.full
def test_a_mean_of_whole_numbers_is_compared_exactly(ask: Any) -> None:
    text = "SELECT COUNT(*) AS n FROM src WHERE age < 20 AND beds >= (SELECT AVG(beds) FROM src)"
    assert ask(text, ROWS_OF_TENTHS) == (10, 10, 10)


@pytest.mark.full
@pytest.mark.parametrize(
    "condition",
    ["AVG(CASE WHEN age < 5 THEN 1 END) >= 1", "VARIANCE(2) FILTER (WHERE age < 5) = 0"],
)
def test_a_condition_on_what_may_be_null_is_noted(ask: Any, tmp_path: Path, condition: str) -> None:
    ask("SELECT COUNT(*) FROM src")
    text = f"SELECT diag, SUM(beds) AS s FROM src GROUP BY diag HAVING {condition}"
    found = dbdeid.query(SPEC, text, database=tmp_path / "people.duckdb")
    assert any("others may belong" in note for note in found.notes)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("SELECT DISTINCT beds FROM src WHERE beds < (SELECT AVG(age) FROM src)", "may be of"),
        (
            "SELECT beds, COUNT(*) AS n FROM src WHERE beds < (SELECT AVG(age) FROM src) "
            "GROUP BY beds HAVING COUNT(*) > 0",
            "others may belong",
        ),
        (
            "SELECT beds, COUNT(*) AS n FROM src WHERE beds = (SELECT MAX(age) FROM src) "
            "GROUP BY beds HAVING COUNT(*) < 9",
            "may have some",
        ),
    ],
)
def test_groups_on_the_side_of_a_number_between_bounds_are_noted(
    ask: Any, tmp_path: Path, text: str, note: str
) -> None:
    ask("SELECT COUNT(*) FROM src")
    found = dbdeid.query(SPEC, text, database=tmp_path / "people.duckdb")
    assert any(note in told for told in found.notes)
