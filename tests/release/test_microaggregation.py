"""Quasi-identifiers released as the means of groups, from spec to files."""

from __future__ import annotations

import json
import logging
import random
from collections import Counter, defaultdict
from datetime import date, datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any

import duckdb
import pytest
import tiers
import zoo
from typer.testing import CliRunner

import dbdeid
from dbdeid.cli.app import app
from dbdeid.commands.explain import steps
from dbdeid.commands.verify_evaluate_export import evaluate as evaluate_release
from dbdeid.commands.verify_evaluate_export import verify as verify_release
from dbdeid.record.border import from_json
from dbdeid.report.page import render

NAMES = ("age", "fee", "born", "seen", "sex", "smoker")
K = 4
METRICS = ("discernibility", "average_class_size", "information_loss")  # which cost little
Row = tuple[Any, ...]


def people(seed: int = 0, number: int = 90) -> list[Row]:
    """Records with NULLs in every quasi-identifier, and a number of their own at the end."""
    draw = random.Random(seed)
    rows = []
    for i in range(number):
        row: list[Any] = [
            draw.randint(18, 90),
            round(draw.uniform(1, 9), 2),
            date(1950, 1, 1) + timedelta(draw.randint(0, 20_000)),
            datetime(2020, 1, 1) + timedelta(seconds=draw.randint(0, 10**7)),
            draw.choice("fmx"),
            draw.random() < 0.3,
        ]
        rows.append((*(None if draw.random() < 0.1 else v for v in row), i))
    return rows


def stored(path: Path, rows: list[Row]) -> None:
    with duckdb.connect(str(path)) as con:
        con.execute(
            "CREATE OR REPLACE TABLE people (age SMALLINT, fee DECIMAL(9, 2), born DATE, "
            "seen TIMESTAMP, sex VARCHAR, smoker BOOLEAN, n INTEGER)"
        )
        con.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?, ?)", rows)


def owned() -> None:
    stored(Path("owner.duckdb"), people())


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    zoo.fill(owned)
    return tmp_path


def spec(algorithm: str = "mdav", **more: Any) -> dict[str, Any]:
    return {
        "release": "means",
        "database": "owner.duckdb",
        "source": "people",
        "columns": {
            **dict.fromkeys(NAMES, "quasi_identifier"),
            "n": {"role": "insensitive", "reason": "a number of the test's"},
        },
        "privacy": [{"model": "k_anonymity", "k": K}],
        "evaluate": {"metrics": [*METRICS]},
        "method": {"name": "microaggregation", "algorithm": algorithm},
        "seed": 1,
    } | more


every_algorithm = pytest.mark.parametrize("algorithm", ["mdav", "tfrp", "mst"])


def classes(rows: list[Row]) -> dict[Row, list[int]]:
    """The records behind each combination of released quasi-identifiers."""
    found: dict[Row, list[int]] = defaultdict(list)
    for *shown, n in rows:
        found[tuple(shown)].append(n)
    return found


def as_mean(values: list[Any]) -> Any:
    known = [v for v in values if v is not None]
    if not known:
        return None
    if isinstance(known[0], datetime):
        start = datetime(1970, 1, 1)
        return start + timedelta(seconds=round(fmean((v - start).total_seconds() for v in known)))
    if isinstance(known[0], date):
        start = date(1970, 1, 1)
        return start + timedelta(round(fmean((v - start).days for v in known)))
    return pytest.approx(fmean(map(float, known)))


def moded(values: list[Any]) -> Any:
    counted = Counter(values)
    return min(counted, key=lambda v: (-counted[v], v is None, v if v is not None else 0))


@pytest.mark.full
@every_algorithm
def test_each_record_reads_the_means_of_its_group(algorithm: str) -> None:
    result = zoo.run(spec(algorithm))
    with duckdb.connect("owner.duckdb", read_only=True) as con:
        rows = con.execute("FROM means").fetchall()
        types = dict(
            con.execute("SELECT column_name, column_type FROM (DESCRIBE means)").fetchall()
        )
    assert types == {
        **{"age": "DOUBLE", "fee": "DOUBLE", "born": "DATE", "seen": "TIMESTAMP"},
        **{"sex": "VARCHAR", "smoker": "BOOLEAN", "n": "INTEGER"},
    }
    source = {row[-1]: row for row in people()}
    found = classes(rows)
    for shown, members in found.items():
        of_class = list(zip(*(source[n][:-1] for n in members), strict=True))
        for mask, values in zip(shown[:4], of_class[:4], strict=True):
            assert mask == as_mean(list(values))
        for mask, values in zip(shown[4:], of_class[4:], strict=True):
            assert mask == moded(list(values))
    sizes = [len(members) for members in found.values()]
    assert (result.smallest_class, result.classes) == (min(sizes), len(sizes))
    assert min(sizes) >= K
    assert sorted(n for members in found.values() for n in members) == sorted(source)
    assert result.verified
    assert result.loss is None
    assert result.metrics["discernibility"] == sum(size**2 for size in sizes)
    assert result.metrics["information_loss"] == pytest.approx(lost(found, source), rel=1e-4)


def lost(found: dict[Row, list[int]], source: dict[int, Row]) -> float:
    """SSE / SST of the numbers, days and moments, in percent, column by column."""

    def number(value: Any) -> float:
        if isinstance(value, datetime):
            return (value - datetime(2000, 1, 1)).total_seconds()
        return float(value.toordinal()) if isinstance(value, date) else float(value)

    shares = []
    for i in range(4):
        pairs = [
            (number(source[n][i]), number(shown[i]))
            for shown, members in found.items()
            for n in members
            if source[n][i] is not None
        ]
        mean = fmean(value for value, _ in pairs)
        within = sum((value - shown) ** 2 for value, shown in pairs)
        shares.append(within / sum((value - mean) ** 2 for value, _ in pairs))
    return 100 * fmean(shares)


@pytest.mark.full
@every_algorithm
def test_the_order_of_the_source_changes_nothing(algorithm: str, place: Path) -> None:
    # equal quasi-identifiers many times over: which of them are in which group is drawn
    rows = [(20 + i % 3, 1, None, None, "f", True, i) for i in range(50)]
    files: list[Any] = []
    orders = (rows, random.Random(2).sample(rows, len(rows)), rows[::-1])
    for order in orders[: 3 if tiers.full else 2]:
        stored(place / "owner.duckdb", order)
        more = spec(algorithm, output={"export": ["out.csv"]} if tiers.full else {})
        dbdeid.run(more)
        if tiers.full:
            files.append((place / "out.csv").read_bytes())
        else:  # the rows that a file would be written from, in their order
            with duckdb.connect("owner.duckdb", read_only=True) as con:
                files.append(con.execute("FROM means").fetchall())
    assert all(found == files[0] for found in files)


@pytest.mark.full
def test_equal_records_keep_their_values() -> None:
    rows = ", ".join(f"({0.1 * (i % 3)}, {i})" for i in range(24))
    more = spec(
        source={"sql": f"SELECT * FROM (VALUES {rows}) r(x, n)", "name": "r"},
        columns={"x": "quasi_identifier", "n": {"role": "insensitive", "reason": "a test"}},
    )
    result = dbdeid.run(more)
    assert sorted(set(result.to_df().x)) == [0.0, 0.1, 0.2]
    assert result.metrics["information_loss"] == 0.0
    assert result.smallest_class == 8


def test_the_source_may_be_verified_against_later(place: Path) -> None:
    more = spec(output={"export": ["out.csv", *(["out.parquet"] if tiers.full else [])]})
    dbdeid.run(more)
    assert verify_release(more).verified
    assert evaluate_release(more)["metrics"]["average_class_size"] >= K
    stored(place / "owner.duckdb", [*people()[1:], (99, 9, None, None, "f", True, 0)])
    found = verify_release(more)
    assert found.source_changed is not None
    assert found.source_changed.not_compared == ("means",)


@pytest.mark.full
def test_only_the_metrics_that_are_asked_for_are_told() -> None:
    found = dbdeid.run(spec(evaluate={"metrics": ["moments"]})).metrics
    assert {name.partition(".")[0] for name in found} == {"moments"}
    # means of groups with missing numbers stand in their places
    assert 0 < found["moments.age.sum"] < 0.2


def test_no_dictionary_and_no_originals_are_kept(place: Path) -> None:
    zoo.run(spec(target="out.duckdb"))
    with duckdb.connect("out.duckdb", read_only=True) as con:
        assert con.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("means",)]
    with duckdb.connect("out.private.duckdb", read_only=True) as con:
        assert con.execute("SELECT count(*) FROM deid.hierarchies").fetchone() == (0,)


@pytest.mark.full
def test_queries_are_answered_from_the_means(place: Path) -> None:
    (place / "q.sql").write_text("SELECT sex, count(*) FROM people WHERE age > 40 GROUP BY sex")
    result = dbdeid.run(spec(evaluate={"queries": "q.sql"}))
    assert result.verified
    asked = evaluate_release(spec(evaluate={"queries": "q.sql"}))["queries"]["queries"][0]
    assert asked["refused"] is None
    assert 0 <= asked["relative_error"] < 1


@pytest.mark.sampled(2)
@every_algorithm
def test_reports_tell_of_the_groups(algorithm: str) -> None:
    zoo.run(spec(algorithm))
    with duckdb.connect("owner.duckdb", read_only=True) as con:
        kept = con.execute("SELECT record FROM deid.releases").fetchall()[0][0]
    record = json.loads(kept)
    page = render(from_json(record))
    assert "the means of groups" in page
    assert f"{record['masked']['groups']} by {algorithm}" in page
    assert record["masked"]["smallest"] >= K
    public = render(from_json(record), audience="public")
    assert f"by {algorithm}, whose means" not in public
    assert "SSE / SST" in page
    assert "SSE / SST" not in public  # it tells how far the originals lie from the means


@pytest.mark.full
def test_the_steps_that_are_explained_are_those_of_a_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shown = steps(spec(seed=918273645))
    with caplog.at_level(logging.DEBUG, logger="dbdeid"):
        dbdeid.run(spec())
    made = [r for r in caplog.messages if r.startswith("CREATE OR REPLACE TEMPORARY TABLE")]
    for step in shown:
        if not step.name.startswith("verify_"):
            assert any(f'"{step.name}"' in statement for statement in made), step.name
    assert {"deid_recoded", "deid_staged", "deid_crosswalk"} <= {step.name for step in shown}
    assert "918273645" not in "".join(step.text() for step in shown)


# -- bad input -----------------------------------------------------------------------------------


def told(**more: Any) -> tuple[int, str]:
    Path("means.yml").write_text(json.dumps(spec(**more)))
    result = CliRunner().invoke(app, ["run", "means.yml"])
    return result.exit_code, " ".join(result.output.split())


@pytest.mark.full
@every_algorithm
def test_a_run_by_command_line_is_verified(algorithm: str) -> None:
    code, output = told(algorithm=algorithm)
    assert code == 0, output
    assert f"by {algorithm}, of" in output
    assert "promises verified" in output
    assert CliRunner().invoke(app, ["verify", "means.yml"]).exit_code == 0
    assert CliRunner().invoke(app, ["check", "means.yml"]).exit_code == 0
    assert "deid_masks" in CliRunner().invoke(app, ["run", "--explain", "means.yml"]).output


def test_more_than_all_records_cannot_be_alike() -> None:
    code, output = told(privacy=[{"model": "k_anonymity", "k": 91}])
    assert code == 3
    assert "k can be at most 90" in output


@pytest.mark.full
def test_all_records_may_be_one_group() -> None:
    result = dbdeid.run(spec(privacy=[{"model": "k_anonymity", "k": 90}]))
    assert (result.classes, result.smallest_class) == (1, 90)
    assert result.metrics["information_loss"] == pytest.approx(100, rel=1e-9)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("'nan'::DOUBLE", "1 values that are not finite"),
        ("'infinity'::DOUBLE", "1 values that are not finite"),
        ("'infinity'::DATE", "1 values that are not finite"),
        ("9007199254740993::BIGINT", "numbers of 2^53 and more"),
        ("1e101::DOUBLE", "numbers beyond 1e+100"),
    ],
    ids=["nan", "infinity", "endless", "large", "larger"],
)
def test_values_without_a_mean_are_refused(value: str, message: str) -> None:
    source = {"sql": f"SELECT {value} AS x UNION ALL SELECT NULL FROM range(20)", "name": "r"}
    code, output = told(source=source, columns={"x": "quasi_identifier"})
    assert code == 2
    assert message in output
    assert CliRunner().invoke(app, ["check", "means.yml"]).exit_code == 2


TOGETHER = [
    ("DECIMAL(38, 10)", "'9999999999999999999999999999.' || (i % 9)"),
    ("DECIMAL(38, 0)", "10000000000000000000000000 + i % 9"),
    ("TIMESTAMP", "TIMESTAMP '0001-01-01 00:00:00' + to_microseconds(i % 9)"),
]


@pytest.mark.parametrize(("kind", "value"), TOGETHER, ids=["fractions", "whole", "moments"])
def test_values_that_doubles_cannot_tell_apart_are_refused(kind: str, value: str) -> None:
    source = {"sql": f"SELECT ({value})::{kind} AS x FROM range(20) r(i)", "name": "r"}
    code, output = told(source=source, columns={"x": "quasi_identifier"})
    assert code == 2
    assert "values that doubles cannot tell from others" in output
    assert "subtract from all of them what they have in common" in output


@pytest.mark.full
@every_algorithm
@pytest.mark.parametrize("start", [1e15, -4e15, 2.0**51])
def test_large_numbers_lose_what_small_ones_do(algorithm: str, start: float) -> None:
    lost = []
    for first in (0.0, start):
        given = spec(algorithm, evaluate={"metrics": ["information_loss"]})
        given["source"] = {
            "sql": f"SELECT {first!r}::DOUBLE + 2 * (i * i % 41) AS x, i AS n FROM range(60) r(i)",
            "name": "r",
        }
        given["columns"] = {"x": "quasi_identifier", "n": given["columns"]["n"]}
        result = dbdeid.run(given | {"target": f"{len(lost)}.duckdb", "release": f"r{len(lost)}"})
        assert result.verified
        lost.append(result.metrics["information_loss"])
    assert lost[1] == pytest.approx(lost[0], rel=0.02)  # their means have half a unit


def test_names_of_everybody_are_refused() -> None:
    source = {"sql": "SELECT 'n' || i AS x FROM range(1001) r(i)", "name": "r"}
    code, output = told(source=source, columns={"x": "quasi_identifier"})
    assert code == 2
    assert "1,001 categories" in output
    assert "n1000" not in output


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"columns": {"age": {"role": "quasi_identifier", "hierarchy": "suppress"}}}, "hierarchy"),
        ({"columns": {"age": {"role": "quasi_identifier", "max_level": 1}}}, "no levels"),
        ({"privacy": [{"model": "k_map", "k": 2, "population": "p"}]}, "k_anonymity only"),
        ({"subject": "n"}, "cannot count subjects"),
        ({"null_policy": "wildcard"}, "own_category only"),
        ({"output": {"as": "view"}}, "view"),
        ({"output": {"bounds": True}}, "no bounds"),
        ({"evaluate": {"metrics": ["precision"]}}, "means have none"),
        ({"method": {"name": "microaggregation", "algorithm": "vmdav"}}, "algorithm"),
    ],
    ids=lambda found: found if isinstance(found, str) else "",
)
def test_what_means_do_not_go_with_is_refused(more: dict[str, Any], message: str) -> None:
    code, output = told(**more)
    assert code == 2
    assert message in output
