"""Releases with counterfeit records from spec to files: what is written, by whom it can be read."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest
import tiers
import zoo
from specs import PEOPLE, owned, unmeasured

import dbdeid
from dbdeid import errors
from dbdeid.cli.text.release.releases import remembered as listed
from dbdeid.cli.text.release.verdict import released
from dbdeid.commands.verify_evaluate_export import export_release
from dbdeid.commands.verify_evaluate_export import verify as verify_release
from dbdeid.engine.session import Settings
from dbdeid.record.border import record_of
from dbdeid.release.result import RunResult
from dbdeid.release.run import run as run_release
from dbdeid.report.page import render
from dbdeid.workspace.remembered_runs import remembered

ROWS = 200
K = 3
PADDED = {"name": "counterfeit", "h": 0.5, "max_counterfeits": 0.5}
TABLES = ["people_public", "people_public_catalog", "people_public_dictionary"]
VIEWS = ["people_public_truthful", "people_public_weighted"]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    zoo.fill(owned)
    return tmp_path


def spec(method: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    found = unmeasured(
        database="owner.duckdb",
        method=PADDED | (method or {}),
        privacy=[{"model": "k_anonymity", "k": K}],
        seed=7,
    )
    return found | more


def everything() -> tuple[dict[str, Any], RunResult]:
    """A release of all that tests of files, models, columns and pages look at, and its spec."""
    owned()
    people_with(illness="['asthma', 'flu', 'none'][1 + i % 3]", ward="['a', 'b', 'c'][1 + i % 3]")
    made = spec(
        {"h": 0.2},
        target="out.duckdb",
        output={
            "bounds": True,
            "export": ["out.parquet", "out.csv", *(["again.duckdb"] if tiers.full else [])],
        },
        privacy=[
            {"model": "k_anonymity", "k": K},
            {"model": "l_diversity", "column": "illness", "l": 2},
            {"model": "t_closeness", "column": "illness", "t": 0.6},
        ],
        evaluate={"metrics": ["counterfeit_suspicion"]},
    )
    made["columns"]["ward"] = {"role": "insensitive", "reason": "everyone sees it"}
    return made, dbdeid.run(made)


def blind() -> RunResult:
    """A release without a catalog."""
    owned()
    return dbdeid.run(spec({"catalog": "none", "h": 0.15}))


@contextmanager
def attached(file: str) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{file}' AS given (READ_ONLY)")
        con.execute("USE given")
        yield con


def objects(con: duckdb.DuckDBPyConnection, schema: str = "main") -> dict[str, str]:
    query = "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = ?"
    return {
        name: kind for name, kind in con.execute(query, [schema]).fetchall() if name != "people"
    }


def of(con: duckdb.DuckDBPyConnection, query: str) -> Any:
    return con.execute(query).fetchall()


def keeps_its_word(con: duckdb.DuckDBPyConnection, rows: int = ROWS, k: int = K) -> None:
    """What any reader can count: classes of k, as many real records as the source has."""
    sizes = of(con, "SELECT class_id, count(*) FROM people_public GROUP BY class_id ORDER BY 1")
    assert [number for number, _ in sizes] == list(range(1, len(sizes) + 1))
    assert min(size for _, size in sizes) >= k
    added = of(con, "SELECT coalesce(sum(counterfeits), 0) FROM people_public_catalog")[0][0]
    assert added > 0
    assert sum(size for _, size in sizes) - added == rows
    assert of(con, "SELECT sum(weight) FROM people_public_weighted")[0][0] == pytest.approx(rows)
    assert of(con, "SELECT count(*) FROM people_public_truthful") == [(rows,)]


# -- files ----------------------------------------------------------------------------------------


@pytest.mark.full
def test_every_file_holds_the_same_release_and_can_be_verified() -> None:
    made, result = zoo.fill(everything)
    assert result.verified
    assert result.padding is not None
    assert result.padding["risk"] <= 1.10 / K
    assert result.released_rows == ROWS + result.counterfeit_rows
    assert verify_release(made).verified
    export_release(made, Path("later.duckdb"))
    export_release(made, Path("later.parquet"))
    found = []
    for file in ("out.duckdb", *made["output"]["export"][2:], "later.duckdb"):
        with attached(file) as con:
            keeps_its_word(con)
            assert objects(con) == dict.fromkeys(TABLES, "BASE TABLE") | dict.fromkeys(
                VIEWS, "VIEW"
            )
            assert "counterfeits" not in {
                name for (name,) in of(con, "FROM (SHOW ALL TABLES) SELECT name")
            }
            found.append((of(con, "FROM people_public"), of(con, "FROM people_public_catalog")))
    assert all(one == found[0] for one in found)
    with duckdb.connect() as con:
        for file in ("out", "later"):
            assert of(con, f"FROM '{file}.parquet'") == found[0][0]
            assert of(con, f"FROM '{file}_catalog.parquet'") == found[0][1]
        assert len(of(con, "FROM 'out_catalog.csv'")) == len(found[0][1])


def test_what_is_counterfeit_is_known_to_the_owner_alone() -> None:
    _, result = zoo.fill(everything)
    with duckdb.connect("out.private.duckdb", read_only=True) as con:
        flagged = of(con, "SELECT record, counterfeits FROM deid.counterfeits")
    assert sum(count for _, count in flagged) == result.counterfeit_rows
    with attached("out.duckdb") as con:
        names = [row[0] for row in of(con, "DESCRIBE people_public")]
        texts = ", ".join(f'CAST("{name}" AS VARCHAR)' for name in names)
        there = Counter(tuple(row) for row in of(con, f"SELECT {texts} FROM people_public"))
    assert there >= Counter({tuple(record): count for record, count in flagged})
    for file in ("out.duckdb", "out.parquet", "out_catalog.parquet"):
        assert b"flagged" not in Path(file).read_bytes()


# -- tampering ------------------------------------------------------------------------------------

TAMPERED = {
    "a value of the release": "UPDATE main.people_public SET illness = 'plague' WHERE class_id = 1",
    "a record less": "DELETE FROM main.people_public WHERE class_id = 1",
    "a class renumbered": "UPDATE main.people_public SET class_id = 99999 WHERE class_id = 1",
    "one more in the catalog": "UPDATE main.people_public_catalog "
    "SET counterfeits = counterfeits + 1",
    "a row of the catalog gone": "DELETE FROM main.people_public_catalog "
    "WHERE sensitive_value = 'flu'",
    "a value nobody has": "UPDATE main.people_public_catalog SET sensitive_value = 'x' "
    "WHERE sensitive_value = 'flu'",
    "a class that does not exist": "UPDATE main.people_public_catalog "
    "SET class_ids = list_append(class_ids, 99999)",
    "weights that know better": "CREATE OR REPLACE VIEW main.people_public_weighted AS "
    "SELECT *, CAST(1 AS DOUBLE) AS weight FROM main.people_public",
    "all records as if true": "CREATE OR REPLACE VIEW main.people_public_truthful AS "
    "FROM main.people_public",
    "a view gone": "DROP VIEW main.people_public_weighted",
    "a flag less": "DELETE FROM deid.counterfeits WHERE record = "
    "(SELECT min(record) FROM deid.counterfeits)",
    "all flags elsewhere": "UPDATE deid.counterfeits SET record = list_append(record[:-2], 'none')",
}


@pytest.mark.full
def test_a_release_that_was_tampered_with_fails() -> None:
    made = spec()
    zoo.run(made)
    shutil.copy("owner.duckdb", "untouched.duckdb")
    for name, change in tiers.some([*TAMPERED.items()], 10):
        with duckdb.connect("owner.duckdb") as con:
            con.execute(change)
        assert not verify_release(made).verified, name
        shutil.copy("untouched.duckdb", "owner.duckdb")
    assert verify_release(made).verified


@pytest.mark.full
def test_the_command_line_says_by_its_code_that_a_release_fails() -> None:
    from typer.testing import CliRunner

    from dbdeid.cli.app import app

    Path("spec.json").write_text(json.dumps(spec(target="out.duckdb")))
    run, runner = ["run", "spec.json", "-q"], CliRunner()
    assert runner.invoke(app, run).exit_code == 0
    assert runner.invoke(app, ["verify", "spec.json", "-q"]).exit_code == 0
    with duckdb.connect("out.private.duckdb") as con:
        con.execute(TAMPERED["a flag less"])
    assert runner.invoke(app, ["verify", "spec.json", "-q"]).exit_code == 4


# -- draws ----------------------------------------------------------------------------------------


def written(made: dict[str, Any], threads: int | None = None) -> tuple[bytes, bytes]:
    """The bytes of a release and of its catalog."""
    run_release(made | {"output": {"export": ["out.parquet"]}}, settings=Settings(threads=threads))
    return Path("out.parquet").read_bytes(), Path("out_catalog.parquet").read_bytes()


def flags(book: str = "owner.duckdb") -> list[Any]:
    with duckdb.connect(book, read_only=True) as con:
        return of(con, "SELECT record, counterfeits FROM deid.counterfeits ORDER BY ALL")


@pytest.mark.full
@pytest.mark.parametrize("recoding", ["full_domain", "borrow"])
def test_all_draws_come_from_the_seed(recoding: str) -> None:
    """Neither threads nor the order of the source change a byte; another seed does."""
    made = spec({"recoding": recoding, "h": 0.3})
    first, flagged = written(made, threads=1), flags()
    assert flagged
    assert not tiers.full or written(made, threads=4) == first
    with duckdb.connect("owner.duckdb") as con:
        con.execute("CREATE OR REPLACE TABLE people AS FROM people ORDER BY hash(name), age")
    assert written(made, threads=4) == first
    assert flags() == flagged

    def drawn(seed: int) -> list[Any]:
        written(made | {"seed": seed})
        return flags()

    # few records may fall alike by chance
    assert any(drawn(seed) != flagged for seed in (8, 9, 10))


def test_a_run_and_a_list_say_what_k_means() -> None:
    _, result = zoo.fill(everything)
    assert "class by class" not in what_k_means(result, "out.duckdb")


@pytest.mark.full
@pytest.mark.parametrize("recoding", ["full_domain", "borrow"])
@pytest.mark.parametrize("catalog", ["pool", "none"])
def test_a_run_and_a_list_say_it_of_every_catalog(recoding: str, catalog: str) -> None:
    result = dbdeid.run(spec({"recoding": recoding, "catalog": catalog, "h": 0.3}))
    told = what_k_means(result, "owner.duckdb")
    assert ("class by class" in told) == (recoding == "borrow")


def what_k_means(result: RunResult, file: str) -> str:
    """What a run says, which a list of the same file says, too."""
    told = released(result)
    assert f"{ROWS} of {ROWS} records released, 0 suppressed" in told
    assert f"{result.counterfeit_rows} of at most 100; no record is generalized beyond" in told
    assert result.padding is not None
    meaning = f"k = {K} counting counterfeits; prosecutor risk {result.padding['told'] * K:.2f}/{K}"
    assert meaning in told
    assert meaning in listed(remembered(Path(file)))
    return told


def test_what_who_learns_from_it_finds_is_the_risk_that_is_told() -> None:
    made, result = zoo.fill(everything)
    assert result.padding is not None
    padding, learned = result.padding, result.padding["learned"]
    assert learned["counterfeits"] == result.counterfeit_rows
    assert padding["told"] == max(padding["risk"], learned["success"], learned["surest"])
    assert result.metrics["counterfeit_suspicion"] == learned["auc"]
    assert result.metrics["counterfeit_suspicion.success.surest"] == learned["surest"]
    warned = any("who learns from the release" in text for text in result.warnings)
    assert warned == (padding["told"] > padding["risk"])
    assert not tiers.full or dbdeid.run(made).padding == padding
    without = zoo.fill(blind).padding
    assert without is not None
    found = without["learned"]
    assert found["counterfeits"] == without["counterfeits"] > 0
    assert without["told"] == max(without["risk"], found["success"], found["surest"])


def test_a_run_and_a_list_say_that_moved_records_are_untruthful() -> None:
    made = spec()
    made["method"] = {"name": "relocation", "limit": 0.3}
    result = dbdeid.run(made)
    assert result.relocated_rows > 0
    assert f"UNTRUTHFUL    {result.relocated_rows} records" in released(result)
    assert "untruthful" in listed(remembered(Path("owner.duckdb")))


@pytest.mark.full
def test_without_a_seed_only_the_book_knows_the_draws() -> None:
    # values that go with any age: there is something to draw
    people_with(illness="['asthma', 'flu'][(1 + hash(i) % 2)::INTEGER]")
    made = spec(target="out.duckdb")
    del made["seed"]
    found = []
    for _ in range(2):
        written(made)
        found.append(flags("out.private.duckdb"))
        for file in Path().glob("out*"):
            file.unlink()
    assert found[0] != found[1]


DRAWN_FOR = [
    {"model": "l_diversity", "l": 3},
    {"model": "delta_disclosure", "delta": 1.5},
]


@pytest.mark.full
@pytest.mark.parametrize("model", DRAWN_FOR, ids=["l", "delta"])
def test_values_drawn_as_in_the_paper_hold_the_declared_models(model: dict[str, Any]) -> None:
    models = [{"model": "k_anonymity", "k": K}, model | {"column": "illness"}]
    result = dbdeid.run(spec({"catalog": "paper"}, privacy=models, seed=0))
    assert result.verified
    assert result.counterfeit_rows > 0


def test_no_draw_of_the_paper_may_hold_them_and_then_says_so() -> None:
    with duckdb.connect("owner.duckdb") as con:  # two records in each class lack two values
        con.execute(
            "CREATE OR REPLACE TABLE people AS SELECT 'p' || i AS name, i // 2 AS age, "
            "'10000' AS zip, 'f' AS sex, chr(97 + (i % 8)::INTEGER) AS illness "
            "FROM range(64) AS r(i)"
        )
    models = [
        {"model": "k_anonymity", "k": 4},
        {"model": "l_diversity", "column": "illness", "l": 4},
    ]
    low = {"h": 0.01, "max_counterfeits": 1.0}
    with pytest.raises(dbdeid.Unsatisfiable, match="takes them as they are drawn") as told:
        dbdeid.run(spec({"catalog": "paper", **low}, privacy=models))
    assert "use `catalog: pool`" in told.value.hint


LARGE = {
    "past doubles": ("HUGEINT", "1152921504606846976 + 10 * (rowid % 12)"),
    "below zero": ("HUGEINT", "-1152921504606846976 - 10 * (rowid % 12)"),
    "decimals": ("DECIMAL(38, 2)", "999999999999999999999999999999999999 - 10 * (rowid % 12)"),
}


@pytest.mark.full
@pytest.mark.parametrize("recoding", ["full_domain", "borrow"])
@pytest.mark.parametrize(("kind", "value"), LARGE.values(), ids=list(LARGE))
def test_intervals_of_numbers_past_doubles_lose_what_their_widths_are(
    kind: str, value: str, recoding: str
) -> None:
    with duckdb.connect("owner.duckdb") as con:
        con.execute(
            "CREATE OR REPLACE TABLE people AS "
            f"SELECT * REPLACE (CAST({value} AS {kind}) AS age) FROM people"
        )
    result = dbdeid.run(spec({"h": 0.6, "recoding": recoding}, output={"export": ["o.parquet"]}))
    assert result.verified
    assert result.padding is not None
    assert 0 < result.padding["degree"] <= 0.6


# -- columns --------------------------------------------------------------------------------------

ILLNESS = {
    "with NULLs": "CASE WHEN i % 4 = 0 THEN NULL ELSE ['asthma', 'flu'][1 + i % 2] END",
    "one value": "'flu'",
    "fractions": "CAST(i % 3 AS DOUBLE) / 2",
    "dates": "CAST(DATE '2020-01-01' + to_months(CAST(i % 3 AS INTEGER)) AS DATE)",
    "truths": "i % 2 = 0",
    "texts like others": "['NULL', '', '*'][1 + i % 3]",
}


def people_with(**columns: str) -> None:
    others = ", ".join(f'{text} AS "{name}"' for name, text in columns.items())
    with duckdb.connect("owner.duckdb") as con:
        con.execute(f"CREATE OR REPLACE TABLE people AS {PEOPLE_QUERY.format(others)}")


PEOPLE_QUERY = """
SELECT
  'person ' || i AS name,
  20 + (i * 7) % 60 AS age,
  (10000 + (i * 37) % 400)::VARCHAR AS zip,
  CASE WHEN i % 11 = 0 THEN NULL WHEN i % 2 = 0 THEN 'f' ELSE 'm' END AS sex,
  {}
FROM range(200) AS r(i)
"""


@pytest.mark.full
@pytest.mark.parametrize("values", ILLNESS.values(), ids=ILLNESS)
def test_any_sensitive_column_can_be_drawn(values: str) -> None:
    people_with(illness=values)
    away = {"target": "out.duckdb", "output": {"export": ["out.csv"]}} if tiers.full else {}
    made = spec(**away)
    assert dbdeid.run(made).verified
    assert verify_release(made).verified
    with duckdb.connect("owner.duckdb", read_only=True) as owner:
        known = set(of(owner, "SELECT DISTINCT illness FROM people"))
        texts = set(of(owner, "SELECT DISTINCT illness::VARCHAR FROM people"))
    with attached("out.duckdb" if away else "owner.duckdb") as con:
        keeps_its_word(con)
        assert set(of(con, "SELECT DISTINCT illness FROM people_public")) == known
        assert set(of(con, "SELECT sensitive_value FROM people_public_catalog")) <= texts


@pytest.mark.full
def test_without_a_sensitive_column_all_records_count_alike() -> None:
    made = spec()
    made["columns"]["illness"] = "drop"
    assert dbdeid.run(made).verified
    assert verify_release(made).verified
    with attached("owner.duckdb") as con:
        keeps_its_word(con)
        assert set(of(con, "SELECT sensitive_value FROM people_public_catalog")) == {(None,)}


def test_other_columns_are_copied_from_one_record_with_the_drawn_value() -> None:
    zoo.fill(everything)
    with attached("out.duckdb") as con:
        names = [row[0] for row in of(con, "DESCRIBE people_public")]
        assert {"class_id", "age_lower", "age_upper", "ward"} <= set(names)
        assert set(of(con, "SELECT illness, ward FROM people_public")) == {
            ("asthma", "a"),
            ("flu", "b"),
            ("none", "c"),
        }
        odd = "SELECT count(*) FROM people_public WHERE age_lower > age_upper OR age_lower IS NULL"
        assert of(con, odd) == [(0,)]


@pytest.mark.full
def test_borrowed_classes_show_bounds_and_what_is_unchanged_in_the_types_of_the_source() -> None:
    made = spec({"recoding": "borrow", "h": 0.3}, output={"bounds": True})
    assert dbdeid.run(made).verified
    assert verify_release(made).verified
    with attached("owner.duckdb") as con:
        types = {name: kind for name, kind, *_ in of(con, "DESCRIBE people_public")}
        assert (types["age"], types["age_lower"], types["age_upper"]) == (
            "VARCHAR",
            "BIGINT",
            "BIGINT",
        )
    with duckdb.connect("owner.duckdb") as con:
        con.execute(
            "CREATE OR REPLACE TABLE people AS SELECT * REPLACE (20 + age % 5 AS age) FROM people"
        )
    made["columns"]["zip"] = "drop"
    assert dbdeid.run(made | {"output": {}}).verified
    with attached("owner.duckdb") as con:
        types = {name: kind for name, kind, *_ in of(con, "DESCRIBE people_public")}
        assert types["age"] == "BIGINT"


# `o` is a value, and on the next level a group that holds it
MIXED = {"groups": [{"o": ["o", "a"], "b": ["b", "c"]}]}


@pytest.mark.full
@pytest.mark.parametrize("recoding", ["full_domain", "borrow"])
@pytest.mark.parametrize("level", [0, 1])
def test_a_label_may_name_other_values_on_another_level(recoding: str, level: int) -> None:
    people_with(illness="['asthma', 'flu'][1 + i % 2]", blood="['o', 'a', 'b', 'c'][1 + i % 4]")
    made = spec({"recoding": recoding})
    made["columns"] |= {
        "zip": "drop",
        "blood": {
            "role": "quasi_identifier",
            "type": "categorical",
            "hierarchy": MIXED,
            "min_level": level,
        },
    }
    assert dbdeid.run(made).verified
    assert verify_release(made).verified


def test_borrowing_refuses_a_label_that_reads_like_another_with_its_level() -> None:
    people_with(illness="['asthma', 'flu'][1 + i % 2]", blood="['o', 'a', 'o@1', 'c'][1 + i % 4]")
    made = spec({"recoding": "borrow"})
    groups = {"groups": [{"o": ["o", "a"], "b": ["o@1", "c"]}]}
    blood = {"role": "quasi_identifier", "type": "categorical", "hierarchy": groups}
    made["columns"] |= {"zip": "drop", "blood": blood}
    with pytest.raises(dbdeid.HierarchyError, match="'blood': level 1 has") as error:
        dbdeid.run(made)
    assert error.value.exit_code == 2


ALIASES = (
    "k0",
    "code",
    "part",
    "grp",
    "records",
    "key",
    "value",
    "counterfeits",
    "s",
    "o0",
    "slot",
)


@pytest.mark.full
@pytest.mark.parametrize("shift", [0, 3, 6, 9])
def test_columns_may_be_named_like_anything_on_the_way(shift: int) -> None:
    first, second, sensitive, other = (ALIASES * 2)[shift : shift + 4]
    numbers = ["20 + (i * 7) % 60", "10 * (i % 5)", "['x', 'y', 'z'][1 + i % 3]", "i % 2"]
    people_with(**dict(zip((first, second, sensitive, other), numbers, strict=True)))
    made = spec()
    made["columns"] = {
        **dict.fromkeys(("name", "age", "zip", "sex"), "drop"),
        first: {"role": "quasi_identifier", "hierarchy": {"intervals": [5, 10, 20]}},
        second: {"role": "quasi_identifier", "hierarchy": {"intervals": [20]}},
        sensitive: {"role": "sensitive", "accept": "homogeneity"},
        other: {"role": "insensitive", "reason": "everyone sees it"},
    }
    made["method"] = PADDED | {"h": 0.2}
    assert dbdeid.run(made).verified
    assert verify_release(made).verified


@pytest.mark.full
def test_numbers_that_no_class_had_to_generalize_can_be_borrowed() -> None:
    """What is shown as it is in every class keeps its type."""
    people_with(illness="['asthma', 'flu'][1 + (hash(i) % 2)::INTEGER]")
    with duckdb.connect("owner.duckdb") as con:
        con.execute("UPDATE people SET age = 20 + 40 * (age % 2)")
    made = spec({"recoding": "borrow", "h": 0.3})
    assert dbdeid.run(made).verified
    assert verify_release(made).verified
    with attached("owner.duckdb") as con:
        types = dict(row[:2] for row in of(con, "DESCRIBE people_public"))
        assert types["age"] == "BIGINT"
        assert of(con, "SELECT DISTINCT age FROM people_public ORDER BY age") == [(20,), (60,)]


# -- again ----------------------------------------------------------------------------------------


def test_without_a_seed_a_release_is_drawn_once() -> None:
    """Two releases with different draws would tell what is real: it is in both."""
    people_with(illness="['asthma', 'flu'][(1 + hash(i) % 2)::INTEGER]")
    made = spec()
    made.pop("seed", None)

    def drawn() -> list[Any]:
        with attached("owner.duckdb") as con:
            return [of(con, f"FROM {table}") for table in TABLES]

    first = dbdeid.run(made)
    before = drawn()
    assert first.counterfeit_rows
    if tiers.full:
        assert dbdeid.run(made).verified
        assert drawn() == before
    again = dbdeid.run(made | {"evaluate": {"metrics": ["loss"]}})
    assert drawn() == before
    assert any("made before" in warning for warning in again.warnings)
    assert dbdeid.run(made | {"seed": 2**80}).verified
    assert drawn() != before


# -- models and limits ----------------------------------------------------------------------------


def test_declared_models_hold_on_the_padded_table() -> None:
    made, result = zoo.fill(everything)
    assert result.verified
    assert [p["model"] for p in result.promises] == [m["model"] for m in made["privacy"]]
    with attached("out.duckdb") as con:
        values = "SELECT count(DISTINCT illness) FROM people_public GROUP BY class_id"
        assert min(of(con, values)) >= (2,)


@pytest.mark.full
def test_what_is_said_to_be_feasible_is() -> None:
    """The smallest h and the smallest budget of the hint each make a release, and less do not."""
    tight = {"h": 0.15, "max_counterfeits": 0.02}
    with pytest.raises(dbdeid.Unsatisfiable) as error:
        dbdeid.run(spec(tight))
    assert error.value.exit_code == 3
    least = re.search(r"smallest feasible h with this budget is ([0-9.]+\d)", str(error.value))
    share = re.search(r" are \d+: max_counterfeits: ([0-9.]+\d)", str(error.value))
    assert least
    assert share
    h, budget = float(least[1]), float(share[1])
    assert dbdeid.run(spec(tight | {"h": h})).verified
    with pytest.raises(dbdeid.Unsatisfiable):
        dbdeid.run(spec(tight | {"h": h - 0.001}))
    assert dbdeid.run(spec(tight | {"max_counterfeits": budget})).verified
    with pytest.raises(dbdeid.Unsatisfiable):
        dbdeid.run(spec(tight | {"max_counterfeits": budget - 0.002}))


def test_an_automatic_ceiling_is_the_lowest_that_the_budget_allows() -> None:
    enough = {"h": "auto", "max_counterfeits": 0.1}
    found = dbdeid.run(spec(enough)).padding
    assert found is not None
    assert found["degree"] == found["h"]
    assert not tiers.full or dbdeid.run(spec(enough | {"h": found["h"]})).verified
    with pytest.raises(dbdeid.Unsatisfiable):
        dbdeid.run(spec(enough | {"h": found["h"] - 1e-6}))


def test_a_budget_that_nothing_could_need_is_not_advised() -> None:
    """Under this ceiling every record would need another one, and more."""
    with pytest.raises(dbdeid.Unsatisfiable) as error:
        dbdeid.run(spec({"h": 0.1, "max_counterfeits": 0.1}))
    assert "the smallest feasible h" in str(error.value)
    assert "max_counterfeits: 1" not in str(error.value)


def test_borrowing_under_a_ceiling_that_no_class_reaches_is_unsatisfiable() -> None:
    made = spec({"h": 0.05, "recoding": "borrow"})
    made["columns"]["sex"] = {
        "role": "quasi_identifier",
        "hierarchy": "suppress",
        "min_level": 1,
    }
    with pytest.raises(dbdeid.Unsatisfiable, match="the smallest feasible h"):
        dbdeid.run(made)


# -- the owner's database -------------------------------------------------------------------------


@pytest.mark.full
def test_a_release_in_the_owners_database_is_replaced_with_all_beside_it() -> None:
    everything = dict.fromkeys(TABLES, "BASE TABLE") | dict.fromkeys(VIEWS, "VIEW")
    bare = {name: kind for name, kind in everything.items() if name in (TABLES[0], TABLES[2])}
    with duckdb.connect("owner.duckdb") as con:
        con.execute("CREATE VIEW people_public_mine AS SELECT 7 AS a")
    mine = {"people_public_mine": "VIEW"}
    cases: list[tuple[dict[str, Any], dict[str, str]]] = [
        ({}, everything),
        ({"catalog": "paper"}, everything),
        ({"catalog": "none"}, bare),
        ({"recoding": "borrow", "h": 0.3}, everything),
        ({"name": "full_domain"}, bare),
        ({"name": "relocation", "limit": 0.3}, bare),
    ]
    for method, there in tiers.some(cases, 4):
        made = spec(method, evaluate={"metrics": ["loss"]})
        if "name" in method:
            made["method"] = method
        assert dbdeid.run(made).verified
        with duckdb.connect("owner.duckdb", read_only=True) as con:
            assert objects(con) == there | mine
            if there == everything:
                keeps_its_word(con)
        assert not tiers.full or verify_release(made).verified
        assert not tiers.full or dbdeid.evaluate(made)["metrics"]["loss"] >= 0
    assert len(remembered(Path("owner.duckdb"))) == len(tiers.some(cases, 4))


@pytest.mark.parametrize("name", [*TABLES[1:], *VIEWS])
def test_what_somebody_else_has_made_is_refused_and_untouched(name: str) -> None:
    with duckdb.connect("owner.duckdb") as con:
        con.execute(f"CREATE TABLE {name} AS SELECT 7 AS a")
    with pytest.raises(dbdeid.DataError, match="not written by dbdeid"):
        dbdeid.run(spec())
    with duckdb.connect("owner.duckdb") as con:
        assert of(con, f"FROM {name}") == [(7,)]


@pytest.mark.full
def test_views_in_the_owners_database_follow_their_file() -> None:
    zoo.run(spec())
    export_release(spec(), Path("given away.duckdb"))
    shutil.copy("owner.duckdb", "renamed.duckdb")
    for file in ("owner.duckdb", "renamed.duckdb", "given away.duckdb"):
        with duckdb.connect(file, read_only=True) as con:
            keeps_its_word(con)
        with attached(file) as con:
            keeps_its_word(con)
            con.execute("USE memory")
            weights = of(con, "SELECT sum(weight) FROM given.people_public_weighted")
            assert weights[0][0] == pytest.approx(ROWS)


@pytest.mark.full
def test_a_connection_of_the_callers_own() -> None:
    with duckdb.connect() as con:
        con.execute(PEOPLE)
        made = spec()
        del made["database"]
        assert dbdeid.run(made, con).verified
        assert dbdeid.verify(made, con).verified
        keeps_its_word(con)


@pytest.mark.parametrize("catalog", ["pool", "none"])
def test_the_public_page_tells_the_number_of_real_records_only_where_a_catalog_does(
    catalog: str,
) -> None:
    if catalog == "pool":
        zoo.fill(everything)
    else:
        zoo.fill(blind)
    file = Path("out.duckdb" if catalog == "pool" else "owner.duckdb")
    record = record_of(remembered(file)[0].entry)
    page = re.sub(r"(?s)<style>.*?</style>|<svg.*?</svg>", "", render(record, "public"))
    figures = set(re.findall(r"(?<![\w.#])\d+(?![\w.])", page))
    assert str(record.released_rows) in figures
    private = {str(ROWS), str(record.counterfeit_rows)}
    assert (private <= figures) if catalog == "pool" else not private & figures


# -- real data ------------------------------------------------------------------------------------

ADULT = ("age", "sex", "race", "marital-status", "education", "native-country", "workclass")


def adult(data: Path, **method: Any) -> dict[str, Any]:
    columns: dict[str, Any] = {
        name.replace("-", "_"): {
            "role": "quasi_identifier",
            "hierarchy": str(data / f"hierarchies/adult/adult_hierarchy_{name}.csv"),
        }
        for name in ADULT
    }
    return {
        "release": "people_public",
        "target": "out.duckdb",
        "source": str(data / "adult_arx.parquet"),
        "columns": {
            **columns,
            "occupation": {"role": "sensitive", "accept": "homogeneity"},
            "salary_class": "drop",
        },
        "privacy": [{"model": "k_anonymity", "k": 5}],
        "method": {"name": "counterfeit", "h": 0.3, **method},
        "seed": 7,
    }


@pytest.mark.full
def test_adult_needs_895_counterfeit_records(shared: Path) -> None:
    made = adult(shared / "data", objective="counterfeits")
    result = dbdeid.run(made)
    assert result.counterfeit_rows == 895
    assert "".join(str(result.transformation[n.replace("-", "_")]) for n in ADULT) == "4000211"
    assert result.loss <= 0.30
    assert result.padding is not None
    assert result.padding["risk"] <= 1.10 / 5
    assert verify_release(made).verified
    with attached("out.duckdb") as con:
        keeps_its_word(con, 30162, 5)
    export_release(made, Path("later.duckdb"))
    with attached("later.duckdb") as con:
        keeps_its_word(con, 30162, 5)


# -- what cannot be -------------------------------------------------------------------------------

# Of 40 men none is pregnant, and a few women are: too few to tell that no man can be.
FEW_PREGNANT = "CASE WHEN sex = 'f' AND i % 13 = 2 THEN 'pregnancy' ELSE 'other' END"
IMPOSSIBLE = [{"sex": "m", "illness": ["pregnancy", "childbirth"]}]


def few_pregnant(**method: Any) -> dict[str, Any]:
    people_with(illness="'other'")
    with duckdb.connect("owner.duckdb") as con:
        con.execute("CREATE TABLE more AS SELECT *, row_number() OVER () AS i FROM people LIMIT 90")
        con.execute(
            "CREATE OR REPLACE TABLE people AS SELECT * EXCLUDE (i) REPLACE "
            f"({FEW_PREGNANT} AS illness) FROM more"
        )
        con.execute("DROP TABLE more")
    return spec({"max_counterfeits": 0.9, "objective": "loss"} | method)


def pregnant_men(made: dict[str, Any]) -> int:
    assert dbdeid.run(made).verified
    with attached("owner.duckdb") as con:
        query = "SELECT count(*) FROM people_public WHERE sex = 'm' AND illness = 'pregnancy'"
        return int(of(con, query)[0][0])


def test_a_declared_combination_is_in_no_counterfeit_record() -> None:
    made = few_pregnant() | {"seed": 22}
    assert pregnant_men(made)
    declared = made | {"method": made["method"] | {"impossible": IMPOSSIBLE}}
    assert pregnant_men(declared) == 0
    report = verify_release(declared)
    assert report.verified
    found = {p.model: p.found for p in report.promises}
    assert found["impossible_combinations"] == {
        "counterfeits": 0,
        "more_than_in_the_source": 0,
    }


@pytest.mark.parametrize(
    ("combination", "warned"),
    [
        (
            {"sex": "m", "illness": ["pregnancy", "childbirth"]},
            ["of 2 values not in illness: number 2"],
        ),
        ({"sex": "male", "illness": "pregnancy"}, ["of 1 values not in sex: number 1"]),
        ({"age": [20, 21, 999], "illness": "other"}, ["of 3 values not in age: number 3"]),
        ({"age": "[20, 30)", "ward": ["a", "9"]}, ["of 2 values not in ward: number 2"]),
        ({"sex": "f", "illness": "other", "ward": ["a", "b"]}, []),
    ],
)
def test_a_declared_value_that_its_column_never_has_is_warned_of(
    combination: dict[str, Any], warned: list[str]
) -> None:
    people_with(illness="['pregnancy', 'other'][1 + i % 2]", ward="['a', 'b'][1 + i % 2]")
    made = spec({"impossible": [combination]})
    made["columns"]["ward"] = {"role": "insensitive", "reason": "everyone sees it"}
    told = [w for w in dbdeid.check(made)["warnings"] if w.startswith("impossible")]
    assert len(told) == len(warned)
    for text, part in zip(told, warned, strict=True):
        assert text.startswith("impossible, combination 1: ")
        assert part in text
        assert "childbirth" not in text


@pytest.mark.full
def test_where_no_class_can_have_a_value_nothing_is_released() -> None:
    ages = list(range(20, 80))
    every = [{"age": ages, "illness": ["pregnancy", "other"]}]
    with pytest.raises(errors.Unsatisfiable, match="no placement") as raised:
        dbdeid.run(few_pregnant(impossible=every))
    assert "impossible" in (raised.value.hint or "")
    with attached("owner.duckdb") as con:
        assert not of(con, "SELECT 1 FROM duckdb_tables() WHERE table_name = 'people_public'")


# -- the least loss -------------------------------------------------------------------------------


def least_loss(**method: Any) -> dict[str, Any]:
    return spec({"objective": "loss", "h": "auto", "max_counterfeits": 0.1} | method)


def suppressing() -> float:
    """The least loss with a twentieth of the records suppressed, each of which loses all."""
    made = least_loss() | {"method": {"name": "full_domain", "suppression_limit": 0.05}}
    return dbdeid.run(made | {"release": "suppressed"}).loss


def test_the_least_loss_is_under_no_ceiling_that_nobody_declared() -> None:
    found = dbdeid.run(least_loss())
    assert found.padding is not None
    assert found.padding["h"] == found.padding["degree"]
    highest = dbdeid.run(least_loss(h=1.0))
    assert highest.transformation == found.transformation
    lowest = dbdeid.run(least_loss(objective="counterfeits"))
    assert lowest.padding is not None
    assert lowest.padding["h"] <= found.padding["h"]
    assert found.loss <= lowest.loss


@pytest.mark.parametrize("budget", [0.001, 0.5])
def test_a_run_and_a_check_say_where_suppression_loses_less(budget: float) -> None:
    made = least_loss(max_counterfeits=budget)
    found, loss = dbdeid.run(made), suppressing()
    told = [w for w in found.warnings if w.startswith("suppression loses less here")]
    advised = [a for a in dbdeid.check(made)["advice"] if a.startswith("suppression loses less")]
    assert bool(told) == bool(advised) == (loss < found.loss) == (budget < 0.01)
    for text in told:
        assert f"loses {loss:.3f} of the detail with " in text
        assert f"this release {found.loss:.3f} with {found.counterfeit_rows} records added" in text
    for text in advised:
        bound = re.search(r"this method ([0-9.]+) or more with at most 0 records added", text)
        assert bound
        assert loss < float(bound[1]) <= found.loss + 5e-4


def test_nobody_who_wants_something_else_is_told_so() -> None:
    made = least_loss(max_counterfeits=0.001, objective="counterfeits")
    warned = [*dbdeid.run(made).warnings, *dbdeid.check(made)["advice"]]
    assert not [text for text in warned if "suppression loses less" in text]
