"""Synthetic records, from spec to files."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
import tiers
import zoo
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import dbdeid
from dbdeid.cli.app import app
from dbdeid.cli.text.release.verdict import released
from dbdeid.commands.verify_evaluate_export import evaluate as evaluate_release
from dbdeid.commands.verify_evaluate_export import verify as verify_release
from dbdeid.errors import DataError, SpecError, Unsatisfiable

K = 20
N = 240
# Names that SQL, the steps of a run or its private tables know.
TRIALS = f"""
CREATE OR REPLACE TABLE trials AS SELECT
  (i * 7919 % 149)::SMALLINT AS months,
  i % 3 = 0 AS died,
  (20 + i * 31 % 60)::UTINYINT AS "age",
  ['a', 'b', NULL, 'c', 'a', 'a'][1 + i * 17 % 6] AS "cluster",
  ['low', 'mid', 'high'][1 + i * 5 % 7 % 3]::ENUM('low', 'mid', 'high') AS "select",
  (i * 13 % 101 / 2)::DECIMAL(6, 1) AS "fee, in €",
  (i * 29 % 97) / 10::DOUBLE AS "q""uoted",
  (i * 41 % 89 / 10)::FLOAT AS "PLACE",
  DATE '2001-01-01' + (i * 37 % 400)::INTEGER AS record,
  TIMESTAMP '2010-05-01' + to_minutes((i * 53 % 9000)::BIGINT) AS "x y",
  CASE WHEN i % 4 > 0 THEN (i * 11 % 50)::BIGINT END AS deid_place,
  NULL::INTEGER AS nothing, 'same' AS one, 7::HUGEINT AS seven
FROM range({N}) AS r(i)
"""
NAMES = (
    *("months", "died", "age", "cluster", "select", "fee, in €", 'q"uoted', "PLACE", "record"),
    *("x y", "deid_place", "nothing", "one", "seven"),
)
FEW = ("months", "died", "age", "cluster", "select")
GRIDS = {'q"uoted': 0.1, "PLACE": 0.1, "fee, in €": 0.1}

AWAY = {"target": "out.duckdb"}  # a file that another process writes: where files are looked at


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    zoo.fill(stored, TRIALS)
    return tmp_path


def stored(sql: str) -> None:
    with duckdb.connect("owner.duckdb") as con:
        con.execute(sql)


def spec(*, columns: Any = None, more: Any = None, **method: Any) -> dict[str, Any]:
    """A release of few columns, to be quick."""
    return {
        "release": "drawn",
        "database": "owner.duckdb",
        "source": "trials",
        "columns": dict.fromkeys(NAMES, "drop") | dict.fromkeys(columns or FEW, "synthesize"),
        "privacy": [{"model": "cluster_size", "k": K}],
        "method": {"name": "condensation", **method},
        "evaluate": {"metrics": []},
        "seed": 1,
    } | (more or {})


def rows_of(path: str, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(path, read_only=True) as con:
        return con.execute(query).fetchall()


def cells(path: str, table: str) -> dict[str, list[Any]]:
    """The columns of a table."""
    with duckdb.connect(path, read_only=True) as con:
        found = con.execute(f"FROM {table}")
        names = [d[0] for d in found.description or ()]
        return dict(zip(names, map(list, zip(*found.fetchall(), strict=True)), strict=True))


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


VARIANTS: dict[str, dict[str, Any]] = {
    "improved": {"variant": "improved", "strata": ["died"], "response": "months"},
    "plain": {},
    "original": {"variant": "original", "response": "months", "time": "exact"},
    "microhybrid": {"variant": "microhybrid", "response": "months", "time": "exact"},
    "exact": {"time": "exact", "strata": ["DIED"], "response": "months", "time_scale": "z"},
    "moments": {"exact_moments": True, "response": "record", "response_weight": 0.9},
    "two strata": {"strata": ["died", "cluster"], "small_strata": "merge", "k": 30},
    "all strata": {"strata": ["select", "one", "nothing"]},
}


@pytest.mark.full
@pytest.mark.parametrize("method", VARIANTS.values(), ids=list(VARIANTS))
def test_every_type_keeps_its_type_range_and_steps(method: dict[str, Any]) -> None:
    result = dbdeid.run(spec(columns=NAMES, more=AWAY, **method))
    assert result.verified
    assert (result.released_rows, result.loss) == (N, None)
    assert result.smallest_class is not None
    assert result.smallest_class >= K
    described = "SELECT column_name, column_type FROM (DESCRIBE {})"
    before = dict(rows_of("owner.duckdb", described.format("trials")))
    after = dict(rows_of("out.duckdb", described.format("drawn")))
    assert after == {**before, "select": "VARCHAR"}
    source, drawn = cells("owner.duckdb", "trials"), cells("out.duckdb", "drawn")
    assert list(drawn) == list(NAMES)
    for name, values in drawn.items():
        known = [v for v in values if v is not None]
        own = [v for v in source[name] if v is not None]
        assert len(values) == N
        assert not known or min(own) <= min(known)
        assert not known or max(known) <= max(own)
        if isinstance(own[0] if own else "", (str, bool)):
            assert set(known) <= set(own)
        if name in GRIDS:
            parts = [float(v) / GRIDS[name] for v in known]
            assert all(abs(part - round(part)) < 1e-5 for part in parts), name
    assert all(moment.second == 0 for moment in drawn["x y"])
    assert verify_release(spec(columns=NAMES, more=AWAY, **method)).verified
    strata = method.get("strata", [])
    for name in strata if method.get("small_strata") is None else ():
        column = next(n for n in NAMES if n.lower() == name.lower())
        assert Counter(drawn[column]) == Counter(source[column])
    if method.get("time") == "exact" and method.get("variant") not in ("original", "microhybrid"):
        assert Counter(drawn["months"]) == Counter(source["months"])


def test_clusters_are_private_and_hold_source_and_release() -> None:
    dbdeid.run(spec(more={**AWAY, "output": {"export": ["out.parquet", "out.csv"]}}))
    tables = "SELECT table_name FROM information_schema.tables"
    assert rows_of("out.duckdb", tables) == [("drawn",)]
    found = rows_of(
        "out.private.duckdb",
        "SELECT cluster, side, sum(records), min(len(record)), count(DISTINCT release) "
        "FROM deid.clusters GROUP BY 1, 2 ORDER BY 1, 2",
    )
    assert {row[3] for row in found} == {len(FEW)}
    sizes = {side: [row[2] for row in found if row[1] == side] for side in ("source", "released")}
    assert sizes["source"] == sizes["released"]
    assert min(sizes["source"]) >= K
    assert sum(sizes["source"]) == N
    told = [name for name in Path().iterdir() if name.suffix in (".csv", ".parquet")]
    assert sorted(path.name for path in told) == ["out.csv", "out.parquet"]


@pytest.mark.full
def test_the_next_run_replaces_the_clusters() -> None:
    dbdeid.run(spec(more=AWAY))
    dbdeid.run(spec(more={**AWAY, "privacy": [{"model": "cluster_size", "k": 120}]}))
    kept = rows_of("out.private.duckdb", "SELECT DISTINCT cluster FROM deid.clusters")
    assert len(kept) == 2


# The bytes of a file; in the default tier the rows that it would be written from, in their order.
EXPORTED: dict[str, Any] = {"output": {"export": ["out.csv"]}} if tiers.full else {}


def written(made: dict[str, Any]) -> Any:
    dbdeid.run(made)
    return Path("out.csv").read_bytes() if tiers.full else rows_of("owner.duckdb", "FROM drawn")


@pytest.mark.full
def test_the_same_seed_gives_the_same_bytes_whatever_the_order() -> None:
    files = []
    for order in ("rowid", "rowid DESC", "hash(rowid)")[: 3 if tiers.full else 2]:
        stored(f"CREATE OR REPLACE TABLE trials AS FROM trials ORDER BY {order}")
        files.append(written(spec(more=EXPORTED, strata=["died"], response="months")))
    assert all(found == files[0] for found in files)
    assert written(spec(more={"seed": 2, **EXPORTED}, strata=["died"])) != files[0]


def test_without_a_seed_the_next_run_draws_the_same() -> None:
    made = spec(more=EXPORTED)
    del made["seed"]
    first = written(made)
    assert written(made) == first
    stored("DROP SCHEMA deid CASCADE; DROP TABLE drawn")  # nothing remembers it
    Path("out.csv").unlink(missing_ok=True)
    assert written(made) != first


@pytest.mark.full
def test_a_release_is_verified_against_its_source_later() -> None:
    dbdeid.run(spec(strata=["died"]))
    assert verify_release(spec(strata=["died"])).verified
    stored("UPDATE trials SET age = age + 1 WHERE rowid = 4")
    found = verify_release(spec(strata=["died"]))
    assert found.verified  # of what it promises by itself; the source of then is gone
    assert found.source_changed is not None
    assert "clusters" in found.source_changed.not_compared


@pytest.mark.full
@pytest.mark.parametrize(
    ("change", "broken"),
    [
        ("UPDATE drawn SET age = 250 WHERE age = (SELECT max(age) FROM drawn)", "values"),
        ("DELETE FROM drawn WHERE rowid = 3", "clusters"),
        ("UPDATE drawn SET died = NOT died WHERE rowid = 3", "clusters"),
    ],
    ids=["a value", "a row", "a cell"],
)
def test_a_release_that_was_tampered_with_is_not_verified(change: str, broken: str) -> None:
    zoo.run(spec())
    with duckdb.connect("owner.duckdb") as con:
        con.execute(change)
    found = verify_release(spec())
    assert not found.verified
    assert broken in {p.model for p in found.promises if not p.holds}


@pytest.mark.full
def test_inside_the_owners_database_and_in_memory() -> None:
    made = spec()
    dbdeid.run(made)
    tables = {row[0] for row in rows_of("owner.duckdb", "SELECT table_name FROM duckdb_tables()")}
    assert {"drawn", "clusters", "trials"} <= tables
    assert "drawn_dictionary" not in tables
    inside = rows_of("owner.duckdb", "FROM drawn")
    with duckdb.connect() as con:
        con.execute(TRIALS)
        del made["database"]
        passing = dbdeid.run(made, con)
        assert passing.verified
        assert con.execute("FROM drawn").fetchall() == inside


def test_what_is_told_of_a_run_names_no_record() -> None:
    Path("s.json").write_text(json.dumps(spec(strata=["died"], response="months")))
    result = dbdeid.run("s.json")
    told = json.loads(json.dumps(result.to_dict()))
    assert told["synthetic"].keys() == {
        *("k", "clusters", "smallest", "largest", "strata", "response", "exact", "counts"),
        *("calibrated", "gap", "merged", "trial", "shadows", "worse"),
    } | (told["synthetic"].keys() & {"nulls", "categories"})
    assert told["synthetic"]["strata"] == ["died"]
    assert told["classes"] == told["synthetic"]["clusters"]
    assert told["loss"] is None
    assert any("no formal guarantee" in warning for warning in told["warnings"])
    shown = released(result)
    assert "formal guarantee" in " ".join(shown.split())
    assert CliRunner().invoke(app, ["check", "s.json"]).exit_code == 0
    steps = CliRunner().invoke(app, ["run", "--explain", "s.json"]).stdout
    assert "deid_synthetic" in steps
    shared = ["report", "s.json", "--audience", "public", "-o", "public.html"]
    assert CliRunner().invoke(app, shared).exit_code == 0
    page = Path("public.html").read_text()
    assert "formal guarantee" in page
    assert "deid.clusters" not in page
    assert "copies of real rows stay within a limit set from a trial" in page
    for text in (
        page,
        shown,
        json.dumps(told),
    ):  # the limit is wider than chance: docs/condensation.md
        assert "than chance explains" not in text


@pytest.mark.full
def test_searches_are_refused_and_sql_runs_it() -> None:
    Path("s.json").write_text(json.dumps(spec(more=AWAY)))
    for command in ("search", "frontier"):
        refused = CliRunner().invoke(app, [command, "s.json"])
        assert refused.exit_code == 2, command
        assert "method" in refused.output
    made = CliRunner().invoke(
        app, ["sql", "owner.duckdb", "-c", "SELECT deid_run('s.json') AS made"]
    )
    assert made.exit_code == 0, made.output
    assert len(rows_of("out.duckdb", "FROM drawn")) == N


@pytest.mark.full
def test_queries_and_models_are_answered_from_synthetic_records() -> None:
    Path("q.sql").write_text("SELECT died, count(*) FROM trials WHERE age > 40 GROUP BY died")
    models = [
        {"kind": "cox", "duration": "months", "event": "died", "covariates": ["age", '"select"']},
        {"kind": "linear", "response": "age", "covariates": ["cluster", "months"]},
    ]
    made = spec(more={"evaluate": {"queries": "q.sql", "models": models}})
    result = dbdeid.run(made)
    assert result.verified
    told = evaluate_release(made)
    (query,) = told["queries"]["queries"]
    assert query["refused"] is None
    assert query["relative_error"] < 0.5
    (entry,) = rows_of("owner.duckdb", "SELECT record FROM deid.releases")
    record = json.loads(entry[0])
    assert record["synthetic"]["strata"] == ["died"]
    assert record["synthetic"]["response"] == "months"
    assert record["synthetic"]["calibrated"] > 0
    assert {model["reason"] for model in record["models"]["models"]} == {None}


def test_steps_of_numbers_are_kept_exactly() -> None:
    """Tiny numbers, fractions of seconds and floats are not rounded to coarser steps."""
    stored(
        "CREATE OR REPLACE TABLE trials AS SELECT 1e-9 * (1 + i) AS tiny, "
        "make_timestamp(1700000000000001 + i * 7) AS moment, "
        "1000000000.123 + i / 8 AS large, (i % 40 / 10)::FLOAT AS tenths FROM range(60) r(i)"
    )
    names = ("tiny", "moment", "large", "tenths")
    made = spec(more={"columns": dict.fromkeys(names, "synthesize")})
    assert dbdeid.run(made).verified
    drawn = cells("owner.duckdb", "drawn")
    assert 0.9e-9 < min(drawn["tiny"]) < max(drawn["tiny"]) < 61e-9
    assert len(set(drawn["moment"])) > 20
    assert len({moment.microsecond for moment in drawn["moment"]}) > 20
    shown = rows_of("owner.duckdb", "SELECT DISTINCT tenths::VARCHAR FROM drawn")
    assert max(len(text) for (text,) in shown) == 3


@pytest.mark.full
def test_nan_is_missing() -> None:
    nan = "CASE WHEN i % 4 = 0 THEN 'nan'::DOUBLE ELSE i % 9 END"
    stored(f"CREATE OR REPLACE TABLE trials AS SELECT i // 2 AS a, {nan} AS x FROM range(80) r(i)")
    made = spec(more={"columns": {"a, x": "synthesize"}})
    assert dbdeid.run(made).verified
    assert Counter(x is None for x in cells("owner.duckdb", "drawn")["x"]) == {False: 60, True: 20}
    assert verify_release(made).verified


def test_records_that_come_back_are_not_published() -> None:
    stored("CREATE OR REPLACE TABLE trials AS SELECT i AS code, i % 2 AS a FROM range(120) r(i)")
    code = {"role": "synthesize", "type": "categorical", "reason": "made up"}
    columns = {"code": code, "a": "synthesize"}
    made = spec(more={**AWAY, "columns": columns}, strata=["code"], small_strata="merge")
    with pytest.raises(Unsatisfiable, match="more rows of the source than their limit allows"):
        dbdeid.run(made)
    assert not Path("out.duckdb").exists()


def test_values_of_single_people_are_asked_about() -> None:
    names = "CASE WHEN i < 9 THEN 'rare' WHEN i % 2 = 0 THEN 'one' ELSE 'two' END"
    far = "CASE WHEN i = 0 THEN 9000 ELSE i % 17 END"
    stored(
        f"CREATE OR REPLACE TABLE trials AS SELECT i AS id, {names} AS kind, {far} AS far "
        "FROM range(240) r(i)"
    )
    with pytest.raises(SpecError) as refused:
        dbdeid.run(spec(more={"columns": {"id, kind, far": "synthesize"}}))
    told = str(refused.value)
    assert "'kind' has 1 categories of fewer than 11 records" in told
    assert "`pool: 1` keeps the most frequent, and calls the rest other" in told
    assert "'id' has another whole number in each record" in told
    columns = {"id": "drop", "kind": {"role": "synthesize", "pool": 2}, "far": "synthesize"}
    with pytest.raises(SpecError, match="'kind' has 1 categories of fewer than 11 records"):
        dbdeid.run(spec(more={"columns": columns}))  # other would be those nine
    columns["kind"] = {"role": "synthesize", "pool": 1}
    warnings = dbdeid.run(spec(more={"columns": columns})).warnings
    assert any(text.startswith("far: 1 of its values lie far from all others") for text in warnings)


@pytest.mark.parametrize("other", ["3", "NULL"])
def test_a_number_that_few_have_is_asked_about_where_it_is_a_category(other: str) -> None:
    number = f"CASE WHEN i % 100 = 77 THEN 987654 ELSE {other} END"
    flag = "CASE WHEN i % 100 = 77 THEN 1 ELSE 0 END"
    stored(
        f"CREATE OR REPLACE TABLE trials AS SELECT i % 45 AS age, {number} AS account, {flag} AS "
        "died FROM range(240) r(i)"
    )
    columns = dict.fromkeys(("age", "account", "died"), "synthesize")
    told = "'account' has at most two whole numbers, .*and one of them in 2 records alone"
    with pytest.raises(SpecError, match=told):
        dbdeid.run(spec(more={"columns": columns}))
    columns["account"] = "drop"
    assert dbdeid.run(spec(more={"columns": columns})).verified


def test_text_of_any_type_is_asked_about() -> None:
    stored("CREATE OR REPLACE TABLE trials AS SELECT uuid() AS id, i % 9 AS a FROM range(60) r(i)")
    with pytest.raises(SpecError, match=r"(?s)'id' has 60 categories of fewer than 11.*drop the"):
        dbdeid.run(spec(more={"columns": {"id, a": "synthesize"}}))


@pytest.mark.full
def test_clusters_that_tell_too_much_are_warned_of() -> None:
    warnings = dbdeid.run(spec(k=2, more={"privacy": [{"model": "cluster_size", "k": 2}]})).warnings
    assert any("can tell too well who was in the data (AUC" in text for text in warnings)


def test_refusals_leave_the_last_release_as_it_is() -> None:
    zoo.run(spec())
    shutil.copy("owner.duckdb", "before.duckdb")
    with pytest.raises(DataError, match="fewer than k = 20 records"):
        dbdeid.run(spec(strata=["age"]))
    with pytest.raises(Unsatisfiable, match="more than the 240 records"):
        dbdeid.run(spec(k=241))
    with pytest.raises(SpecError, match="is no number"):
        dbdeid.run(spec(response="select"))
    assert rows_of("owner.duckdb", "FROM drawn") == rows_of("before.duckdb", "FROM drawn")
    assert verify_release(spec()).verified


def test_an_interrupt_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    zoo.run(spec())
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    for step in ("plan", "write"):
        with monkeypatch.context() as patched:

            def interrupted(*_: object, **__: object) -> None:
                raise KeyboardInterrupt

            patched.setattr(f"dbdeid.methods.condensation.condensation.{step}", interrupted)
            with pytest.raises(KeyboardInterrupt):
                dbdeid.run(spec(k=40))
        assert {path.name: path.read_bytes() for path in Path().iterdir()} == before
    assert verify_release(spec()).verified


# -- any small table -------------------------------------------------------------------------

KINDS: dict[str, st.SearchStrategy[Any]] = {
    "BIGINT": st.integers(-(2**40), 2**40) | st.integers(0, 3),
    "DOUBLE": st.floats(allow_infinity=False, width=32) | st.sampled_from([0.0, -0.0, 0.1, 1e-300]),
    "FLOAT": st.floats(-100, 100, width=32),
    "DECIMAL(9,3)": st.integers(-(10**5), 10**5).map(lambda n: n / 1000),
    "VARCHAR": st.sampled_from(["", "a", "other", "NULL", 'x"y', "ä"]),
    "BOOLEAN": st.booleans(),
    "DATE": st.dates(),
    "TIMESTAMP": st.datetimes(),
}  # fmt: skip


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[tuple[Any, ...]], int, dict[str, Any]]:
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=4))
    row = st.tuples(*(st.none() | KINDS[kind] for kind in kinds))
    rows = draw(st.lists(row, min_size=2, max_size=30))
    method = draw(
        st.fixed_dictionaries(
            {"variant": st.sampled_from(["recipient", "improved", "original", "microhybrid"])},
            optional={
                "exact_moments": st.booleans(),
                "time": st.sampled_from(["exact", "stratified"]),
                "time_scale": st.sampled_from(["rank", "z"]),
                "small_strata": st.just("merge"),
                "strata": st.lists(
                    st.sampled_from([f"c{i}" for i in range(len(kinds))]), max_size=2
                ),
                "response": st.sampled_from([f"c{i}" for i in range(len(kinds))]),
            },
        )
    )
    return kinds, rows, draw(st.integers(2, len(rows))), method


@pytest.mark.full
@settings(
    deadline=None,
    max_examples=tiers.examples(15),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(tables())
def test_any_small_table_is_refused_or_released_whole(
    found: tuple[list[str], list[tuple[Any, ...]], int, dict[str, Any]],
) -> None:
    kinds, rows, k, method = found
    with duckdb.connect() as con:
        columns = ", ".join(f"c{i} {kind}" for i, kind in enumerate(kinds))
        con.execute(f"CREATE TABLE trials ({columns})")
        con.executemany(f"INSERT INTO trials VALUES ({', '.join('?' * len(kinds))})", rows)
        made = spec(
            more={
                "columns": {f"c{i}": "synthesize" for i in range(len(kinds))},
                "privacy": [{"model": "cluster_size", "k": k}],
            },
            **method,
        )
        del made["database"]
        try:
            result = dbdeid.run(made, con)
        except (SpecError, DataError, Unsatisfiable):
            return
        assert result.verified
        assert con.execute("SELECT count(*) FROM drawn").fetchone() == (len(rows),)
