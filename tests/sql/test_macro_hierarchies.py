"""Hierarchies in the database: loading, generalizing, ancestors and loss."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tiers import some

from dbdeid.engine.duckdb import macros

Con = duckdb.DuckDBPyConnection


def rows(con: Con, query: str) -> list[tuple[Any, ...]]:
    return con.execute(query).fetchall()


def value(con: Con, expression: str) -> Any:
    ((found,),) = rows(con, f"SELECT {expression}")
    return found


# -- loading -----------------------------------------------------------------------------------


def load(con: Con, tmp_path: Path, text: str, more: str = "") -> list[tuple[Any, ...]]:
    file = tmp_path / "h.csv"
    file.write_bytes(text.encode())
    return rows(
        con,
        f"SELECT value, list(label ORDER BY level), list(round(loss, 3) ORDER BY level) "
        f"FROM deid.read_hierarchy('{file}', 'x'{more}) GROUP BY value ORDER BY value NULLS LAST",
    )


@pytest.mark.parametrize("mark", [";", ",", "\t"])
def test_a_file_becomes_one_row_a_leaf_and_level(con: Con, tmp_path: Path, mark: str) -> None:
    text = "1;low;*\n2;low;*\n3;high;*\n".replace(";", mark)
    expected = [
        ("1", ["1", "low", "*"], [0, 0.5, 1]),
        ("2", ["2", "low", "*"], [0, 0.5, 1]),
        ("3", ["3", "high", "*"], [0, 0, 1]),
        (None, [None, None, "*"], [0, 0, 1]),
    ]
    assert load(con, tmp_path, text) == expected
    assert load(con, tmp_path, text.replace("\n", "\r\n")) == expected
    assert load(con, tmp_path, "\ufeff" + text) == expected
    assert load(con, tmp_path, text + "\n\n") == expected


def test_a_top_is_added_or_renamed(con: Con, tmp_path: Path) -> None:
    assert load(con, tmp_path, "1;low\n2;high\n")[0][1] == ["1", "low", "*"]
    assert load(con, tmp_path, "1;all\n2;all\n")[0][1] == ["1", "*"]
    assert load(con, tmp_path, "1\n2\n")[0][1] == ["1", "*"]
    assert load(con, tmp_path, "1\n")[0][1:] == (["1", "*"], [0, 1])


def test_quotes_delimiters_and_empty_text_are_kept(con: Con, tmp_path: Path) -> None:
    text = 'a,"x, ""y""; z",*\n"",,*\n#b,\'q\',*\n'
    found = load(con, tmp_path, text)
    assert [row[:2] for row in found] == [
        ("", ["", "", "*"]),
        ("#b", ["#b", "'q'", "*"]),
        ("a", ["a", 'x, "y"; z', "*"]),
        (None, [None, None, "*"]),
    ]
    labels = load(con, tmp_path, "1;[0, 5);[0, 10)\n6;[5, 10);[0, 10)\n")[0][1]
    assert labels == ["1", "[0, 5)", "*"]
    assert load(con, tmp_path, "1;a,b\n2;c,d\n", ", delim := ','")[0][0] == "1;a"


def test_a_compressed_file_and_a_release(con: Con, tmp_path: Path) -> None:
    file = tmp_path / "h.csv.gz"
    file.write_bytes(gzip.compress(b"1;*\n2;*\n"))
    found = rows(con, f"FROM deid.read_hierarchy('{file}', 'x', release := 'r') ORDER BY ALL")
    assert found[0] == ("r", "x", 0, "1", "1", 0, None, None)
    described = rows(con, f"DESCRIBE FROM deid.read_hierarchy('{file}', 'x')")
    assert [r[:2] for r in described] == [
        r[:2] for r in rows(con, "DESCRIBE FROM deid.hierarchies")
    ]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no rows for x"),
        ("\n\n", "no rows for x"),
        ("1;a;*\n2;*\n", "ragged rows for x, with 2 to 3 columns"),
        ("1;a\n1;a\n2;b\n", "1 repeated leaves for x"),
        ("1;a;A;*\n2;a;B;*\n", "1 labels with two parents for x"),
    ],
)
def test_a_broken_file_is_an_error(con: Con, tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(duckdb.Error, match=message):
        load(con, tmp_path, text)
    with pytest.raises(duckdb.Error, match=message):
        rows(con, f"SELECT count(*) FROM deid.read_hierarchy('{tmp_path}/h.csv', 'x')")


def test_all_reference_files_load(con: Con, shared: Path) -> None:
    for folder in ("adult", "ihis_int", "atus_int", "ss13acs"):
        for file in sorted((shared / "data/hierarchies" / folder).iterdir()):
            name = str(file).replace("'", "''")
            tops = rows(
                con,
                f"SELECT DISTINCT label FROM deid.read_hierarchy('{name}', 'x') "
                "WHERE loss = 1 QUALIFY level = max(level) OVER ()",
            )
            assert tops == [("*",)]


# -- generalizing ------------------------------------------------------------------------------

TREE = """INSERT INTO deid.hierarchies
  SELECT release, 'age', level, value, label, loss, NULL, NULL
  FROM (VALUES ('20', '20', '[20, 30)', '*'), ('25', '25', '[20, 30)', '*'),
    ('30', '30', '[30, 40)', '*')) AS v(value, l0, l1, l2),
  LATERAL (VALUES (0, l0, 0.0), (1, l1, CASE l1 WHEN '[30, 40)' THEN 0.0 ELSE 0.5 END),
    (2, l2, 1.0)) AS l(level, label, loss),
  (SELECT unnest({releases}) AS release)"""


def plant(con: Con) -> None:
    con.execute(TREE.format(releases="['']"))
    con.execute("CREATE TABLE t AS SELECT unnest([20, 25, 30, NULL]) AS age")


@pytest.fixture
def tree(con: Con) -> Con:
    plant(con)
    return con


@pytest.fixture(scope="module")
def standing() -> Any:
    """The same for all tests that only read it."""
    with duckdb.connect() as connection:
        macros.install(connection)
        plant(connection)
        yield connection


def test_values_become_labels(standing: Con) -> None:
    query = "SELECT * REPLACE (deid.generalize(age, 'age', {}) AS age) FROM t"
    assert rows(standing, query.format(0)) == [("20",), ("25",), ("30",), (None,)]
    assert rows(standing, query.format(1)) == [("[20, 30)",), ("[20, 30)",), ("[30, 40)",), (None,)]
    assert rows(standing, query.format(2)) == [("*",)] * 4
    assert value(standing, "deid.generalize('20', '.age', 1)") == "[20, 30)"
    assert value(standing, "deid.generalize(20, 'age', '1')") == "[20, 30)"


def test_level_and_hierarchy_may_come_from_columns(standing: Con) -> None:
    query = """SELECT deid.generalize(age, name, level) FROM (VALUES (20, 'age', 1), (30, 'age', 0),
      (NULL, 'age', 2), (NULL, 'age', 1)) AS v(age, name, level)"""
    assert rows(standing, query) == [("[20, 30)",), ("30",), ("*",), (None,)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("99, 'age', 1", "hierarchy age has no label at level 1 for a value of the column"),
        ("20.0, 'age', 1", "hierarchy age has no label at level 1"),
        ("20, 'zip', 1", "no hierarchy zip with a level 1"),
        ("NULL, 'zip', 1", "no hierarchy zip with a level 1"),
        ("20, NULL, 1", "no hierarchy"),
        ("20, 'AGE', 1", "no hierarchy AGE with a level 1"),
        ("20, 'a%', 1", "no hierarchy"),
        ("20, 'r.age', 1", "no hierarchy r.age"),
        ("20, 'age', 3", "no hierarchy age with a level 3"),
        ("NULL, 'age', 3", "no hierarchy age with a level 3"),
        ("20, 'age', -1", "with a level -1"),
        ("20, 'age', 1.0", "with a level 1.0"),
        ("20, 'age', NULL", "with a level NULL"),
    ],
)
def test_what_is_unknown_is_an_error(standing: Con, call: str, message: str) -> None:
    with pytest.raises(duckdb.Error, match=message) as error:
        value(standing, f"deid.generalize({call})")
    assert "99" not in str(error.value)


def test_an_unmapped_value_in_a_table_is_an_error_that_does_not_quote_it(tree: Con) -> None:
    tree.execute("INSERT INTO t VALUES (4711)")
    for query in (
        "SELECT deid.generalize(age, 'age', 1) FROM t",
        "CREATE TABLE r AS SELECT * REPLACE (deid.generalize(age, 'age', 2) AS age) FROM t",
    ):
        with pytest.raises(duckdb.Error, match="has no label at level") as error:
            rows(tree, query)
        assert "4711" not in str(error.value)


def test_releases_that_differ_are_told_apart(tree: Con) -> None:
    tree.execute(TREE.format(releases="['a', 'b']"))
    assert value(tree, "deid.generalize(20, 'age', 1)") == "[20, 30)"  # all agree
    tree.execute("UPDATE deid.hierarchies SET label = 'young' WHERE release = 'b' AND level = 1")
    tree.execute("DELETE FROM deid.hierarchies WHERE release = 'b' AND level = 2")
    with pytest.raises(duckdb.Error, match=r"ambiguous at level 1.*use release\.hierarchy"):
        value(tree, "deid.generalize(20, 'age', 1)")
    with pytest.raises(duckdb.Error, match=r"ambiguous at level 1.*use release\.hierarchy"):
        value(tree, "deid.generalize(NULL, 'age', 1)")  # the top of one release, not of the others
    assert value(tree, "deid.generalize(20, 'b.age', 1)") == "young"
    assert value(tree, "deid.generalize(20, 'a.age', 1)") == "[20, 30)"
    assert value(tree, "deid.generalize(NULL, 'b.age', 1)") == "*"
    with pytest.raises(duckdb.Error, match="ambiguous, releases differ"):
        value(tree, "deid.lca('age', [20, 25])")
    assert value(tree, "deid.lca('a.age', [20, 25])") == "[20, 30)"


@pytest.mark.parametrize(
    ("leaves", "expected"),
    [
        ("[20, 25]", "[20, 30)"),
        ("[20, 30]", "*"),
        ("[20]", "20"),
        ("[20, 20]", "20"),
        ("[20, NULL]", "*"),
        ("[NULL]", None),
        ("[]", None),
        ("NULL", None),
    ],
)
def test_lowest_common_ancestors(standing: Con, leaves: str, expected: str | None) -> None:
    assert value(standing, f"deid.lca('age', {leaves})") == expected


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("deid.lca('age', [20, 99])", "lacks one of the values"),
        ("deid.lca('age', [99, NULL])", "lacks one of the values"),
        ("deid.lca('zip', [20])", "no hierarchy zip"),
        ("deid.lca('zip', [])", "no hierarchy zip"),
        ("deid.lca(NULL, [20])", "no hierarchy"),
        ("deid.lca('age', '20')", "leaves must be a list of values, such as"),
        ("deid.lca('age', 20)", "leaves must be a list of values, such as"),
        ("deid.label_loss('age', '99')", "has no such label"),
        ("deid.label_loss('age', '[20, 30)@2')", "has no such label"),
        ("deid.label_loss('zip', '20')", "no hierarchy zip"),
        ("deid.label_loss('zip', NULL)", "no hierarchy zip"),
    ],
)
def test_unknown_leaves_and_labels_are_errors(standing: Con, call: str, message: str) -> None:
    with pytest.raises(duckdb.Error, match=message) as error:
        value(standing, call)
    assert "99" not in str(error.value)


def test_the_loss_of_labels(standing: Con) -> None:
    labels = "['20', '[20, 30)', '[20, 30)@1', '[30, 40)', '*', NULL]"
    found = rows(standing, f"SELECT deid.label_loss('age', l) FROM (SELECT unnest({labels}) AS l)")
    assert found == [(0,), (0.5,), (0.5,), (0,), (1,), (0,)]


def test_a_label_with_two_meanings_needs_its_level(con: Con) -> None:
    con.execute(
        """INSERT INTO deid.hierarchies SELECT '', 'code', level, value, label, loss, '', ''
        FROM (VALUES ('1', 0, '1', 0), ('1', 1, '2', 0.5), ('2', 0, '2', 0), ('2', 1, '2', 0.5),
          ('3', 0, '3', 0), ('3', 1, '3', 0)) AS v(value, level, label, loss)"""
    )
    with pytest.raises(duckdb.Error, match="several meanings"):
        value(con, "deid.label_loss('code', '2')")
    assert value(con, "deid.label_loss('code', '2@1')") == 0.5
    con.execute("CREATE TABLE r AS SELECT unnest(['2', '2', '3']) AS code")
    with pytest.raises(duckdb.Error, match="different things on different levels"):
        rows(con, "FROM deid.loss('r', ['code'])")
    assert value(con, "loss FROM deid.loss('r', ['code'], levels := MAP {'code': 1})") == 1 / 3
    assert value(con, "loss FROM deid.loss('r', ['code'], levels := MAP {'code': 0})") == 0
    con.execute("CREATE TABLE mixed AS SELECT unnest(['2@1', '2@0', '3']) AS code")
    assert value(con, "loss FROM deid.loss('mixed', ['code'])") == 0.5 / 3


# -- loss of a release ---------------------------------------------------------------------------


def test_the_loss_of_a_release(tree: Con) -> None:
    tree.execute("CREATE TABLE r AS SELECT unnest(['[20, 30)', '*', NULL]) AS age, 'x' AS other")
    assert rows(tree, "FROM deid.loss('r', ['age'])") == [(0.5, 3, {"age": 0.5})]
    assert rows(tree, "FROM deid.loss('r', ['AGE'], source_rows := 4)") == [
        ((0.5 + 1 + 0 + 1) / 4, 3, {"age": 0.625})
    ]
    assert rows(tree, "FROM deid.loss('r', ['age'], '', source_rows := 3)")[0][0] == 0.5
    with pytest.raises(duckdb.Error, match="source_rows is less than the records"):
        rows(tree, "FROM deid.loss('r', ['age'], source_rows := 2)")
    with pytest.raises(duckdb.Error, match="age has a value that is no label"):
        rows(tree, "FROM deid.loss('r', ['age'], release := 'nope')")
    with pytest.raises(duckdb.Error, match="other has a value that is no label"):
        rows(tree, "FROM deid.loss('r', ['age', 'other'])")
    tree.execute(TREE.format(releases="['a']"))
    assert rows(tree, "FROM deid.loss('r', ['age'], release := 'a')")[0][0] == 0.5


def names(transformation: dict[str, int]) -> str:
    return "[" + ", ".join(f"'{name}'" for name in transformation) + "]"


def test_a_release_from_sql_alone_has_the_loss_that_arx_reports(adult: Con, shared: Path) -> None:
    cases = [
        case
        for case in json.loads((shared / "oracle/full_domain.json").read_text())
        if case["dataset"] == "adult.csv" and case["model"] == "k" and case.get("optimum")
    ]
    assert len(cases) > 10
    for case in some(cases[::4][:5], 3):
        qis = [name.replace("-", "_") for name in case["qis"]]
        chosen = dict(zip(qis, case["optimum"], strict=True))
        replaced = ", ".join(
            f"deid.generalize({name}, '{name}', {level}) AS {name}"
            for name, level in chosen.items()
        )
        adult.execute(f"CREATE OR REPLACE TEMP TABLE g AS SELECT * REPLACE ({replaced}) FROM adult")
        adult.execute(
            f"CREATE OR REPLACE TEMP TABLE r AS FROM deid.suppress('g', {names(chosen)}, "
            f"k := {case['k']}) ORDER BY ALL"
        )
        ((loss, kept, _),) = rows(
            adult, f"FROM deid.loss('r', {names(chosen)}, source_rows := {case['rows']})"
        )
        assert loss == pytest.approx(case["loss"], abs=1e-12)
        assert case["rows"] - kept == case["suppressed"]
        ((classes, smallest),) = rows(
            adult, f"SELECT classes, k FROM deid.risk('r', {names(chosen)})"
        )
        assert classes == case["classes"]
        assert smallest >= case["k"]
        assert value(adult, f"deid.check('r', {names(chosen)}, {case['k']})") is True


@pytest.mark.full
def test_discernibility_and_class_size_of_nodes_are_those_of_arx(adult: Con, shared: Path) -> None:
    found = json.loads((shared / "oracle/arx_adult_k5_nodes.json").read_text())
    queries = {
        "createDiscernabilityMetric(false)": "FROM deid.discernibility('g', {}, k := 5)",
        "createDiscernabilityMetric(true)": "FROM deid.discernibility('g', {})",
        # ARX counts all suppressed records as one class
        "createAECSMetric()": "SELECT sum(records) / (sum(classes) FILTER (class_size >= 5) + "
        "CASE WHEN min(class_size) < 5 THEN 1 ELSE 0 END) FROM deid.histogram('g', {})",
    }
    for metric, query in queries.items():
        matching = [one for one in found if one["metric"] == metric and one["match"]]
        assert len(matching) == 20
        for one in matching[1::7]:
            qis = [name.replace("-", "_") for name in one["qis"]]
            chosen = dict(zip(qis, one["node"], strict=True))
            labels = ", ".join(
                f"deid.generalize({name}, '{name}', {level}) AS {name}"
                for name, level in chosen.items()
            )
            adult.execute(f"CREATE OR REPLACE TEMP TABLE g AS SELECT {labels} FROM adult")
            ((value,),) = rows(adult, query.format(names(chosen)))
            assert value == pytest.approx(one["expected"], rel=1e-12)


# -- names that could be captured ----------------------------------------------------------------

HOSTILE = [
    "value",
    "hierarchy",
    "level",
    "label",
    "loss",
    "release",
    "lower",
    "upper",
    "asked",
    "__q",
    "step",
    "known",
    "name",
    "at_level",
    "leaf",
    "one",
    "two",
    "h",
    "top",
    "always_top",
    "ever_top",
    "first_label",
    "last_label",
    "found",
    "known_step",
    "leaves",
    "has_null",
    "tree",
    "is_known",
    "is_ambiguous",
    "labels",
    "least",
    "most",
    "spelled",
]


@pytest.fixture(scope="module")
def loaded() -> Any:
    with duckdb.connect() as connection:
        macros.install(connection)
        connection.execute(TREE.format(releases="['']"))
        yield connection


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", HOSTILE)
def test_columns_and_tables_of_the_caller_are_not_captured(loaded: Con, name: str) -> None:
    others = ", ".join(f"'30' AS \"{other}\"" for other in HOSTILE if other != name)
    for alias in ("x", name):
        query = f"""SELECT deid.generalize("{name}", 'age', 1),
          deid.generalize("{alias}"."{name}", 'age', length("{alias}"."{name}") - 1),
          deid.lca('age', ["{name}", "{alias}"."{name}"]),
          deid.lca('age', ['20', "{alias}"."{name}"]),
          deid.label_loss('age', '[' || "{name}" || ', 30)')
          FROM (SELECT '20' AS "{name}", {others}) AS "{alias}" """
        assert loaded.execute(query).fetchall() == [("[20, 30)", "[20, 30)", "20", "20", 0.5)]


# -- query error ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def answers() -> Any:
    with duckdb.connect() as con:
        macros.install(con)
        con.execute(
            "CREATE TABLE t AS FROM (VALUES ('a', 10), ('b', 20), (NULL, 5), ('l', 5)) v(g, n)"
        )
        con.execute(
            """CREATE TABLE e AS FROM (VALUES ('a', 11.5, 0), ('b', 20, 0), (NULL, 5, 1),
            ('z', 5, 5)) v(g, n, n_lower)"""
        )
        con.execute("CREATE TABLE bad AS SELECT g, n, 'many' AS n_upper FROM t")
        con.execute("CREATE TABLE unknown AS SELECT g, CAST('NaN' AS DOUBLE) AS n FROM t")
        con.execute("CREATE TABLE endless AS SELECT g, CAST('-inf' AS DOUBLE) AS n FROM t")
        yield con


def test_query_errors(answers: Con) -> None:
    found = rows(answers, "FROM deid.query_error('t', 'e')")
    assert found == [(4, 1, 1, 11.5 / 40, (0.15 + 1) / 4, 40, 41.5, 1)]
    assert rows(answers, "FROM deid.query_error('t', 't')") == [(4, 0, 0, 0, 0, 40, 40, None)]
    call = "deid.query_error('e', 't', value := 'N', keys := ['G', 'g'])"
    ((groups, lost, invented, error, *_),) = rows(answers, f"FROM {call}")
    assert (groups, lost, invented, error) == (4, 1, 1, 11.5 / 41.5)
    single = "WITH o AS (SELECT 5 AS n), p AS (SELECT 4 AS N) FROM deid.query_error('o', 'p')"
    assert rows(answers, single) == [(1, 0, 0, 0.2, 0.2, 5, 4, None)]
    empty = "WITH o AS (SELECT 5 AS n WHERE false), p AS (FROM o) FROM deid.query_error('o', 'p')"
    assert rows(answers, empty) == [(0, 0, 0, 0, None, 0, 0, None)]
    zero = "WITH o AS (SELECT 0 AS n), p AS (SELECT 3 AS n) FROM deid.query_error('o', 'p')"
    assert rows(answers, zero) == [(1, 0, 0, 3, None, 0, 3, None)]


def test_query_errors_tell_the_share_within_bounds(answers: Con) -> None:
    def within(bounds: str, more: str = "") -> object:
        answers.execute(f"CREATE OR REPLACE TABLE b AS SELECT g, 1 AS n, {bounds} FROM t")
        ((found,),) = rows(answers, f"SELECT within_bounds FROM deid.query_error('t', 'b'{more})")
        return found

    assert within("n AS N_LOWER, n AS n_upper") == 1
    assert within("CASE g WHEN 'b' THEN 21 WHEN 'a' THEN 1 END AS n_lower") == 1 / 2
    assert within("NULL AS n_lower, 9 AS n_upper") == 1 / 2
    assert within("n - 1 AS n_lower, n * (1 - 5e-10) AS n_upper") == 1
    assert within("n - 1 AS n_lower, n * (1 - 2e-9) AS n_upper") == 0
    assert within("NULL AS n_lower, NULL AS n_upper") is None
    # groups of one side only, and those without a true value, are not counted
    only = "WITH o AS (FROM (VALUES ('a', 1), ('b', NULL), ('l', 3)) v(g, n))"
    ask = f"{only} SELECT within_bounds FROM deid.query_error('o', 'e')"
    assert rows(answers, ask) == [(1,)]
    # a column that names groups is no bound
    answers.execute("CREATE TABLE k AS SELECT 7 AS n_lower, 5 AS n")
    keyed = "SELECT within_bounds FROM deid.query_error('k', 'k')"
    assert rows(answers, keyed) == [(None,)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("'e', 't'", "estimate lacks one of the columns"),
        ("'t', 'e', value := 'g'", "g or a bound of it is not a number"),
        ("'t', 'bad'", "n or a bound of it is not a number"),
        ("'t', 'e', value := 'nope'", "lacks one of the columns"),
        ("'t', 'e', keys := ['nope']", "lacks one of the columns"),
        ("'t', 'e', keys := 'g'", "keys must be a list of column names, or NULL"),
        ("'t', 'e', keys := [NULL]", "keys must be a list of column names, or NULL"),
        ("NULL, 'e'", "truth must be the name of a table or view"),
        ("'t', NULL", "estimate must be the name of a table or view"),
        ("'t', 'unknown'", "n or a bound of it is not a number, or it is infinite"),
        ("'endless', 't'", "n or a bound of it is not a number, or it is infinite"),
        ("'t', 'e', keys := []", "several rows have the same keys"),
        ("'t', 'nope'", "does not exist"),
    ],
)
def test_answers_that_do_not_fit_are_errors(answers: Con, call: str, message: str) -> None:
    with pytest.raises(duckdb.Error, match=message):
        rows(answers, f"FROM deid.query_error({call})")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["value", "keys", "truth", "__true", "__names", "__key", "key"])
def test_hostile_names_of_answers(con: Con, name: str) -> None:
    con.execute(f'CREATE TABLE "{name}" AS SELECT unnest([1, 2]) AS g, unnest([4, 6]) AS "{name}"')
    con.execute(f'CREATE TABLE e AS SELECT unnest([1, 2]) AS g, unnest([5, 6]) AS "{name}"')
    assert rows(con, f"SELECT relative_error FROM deid.query_error('{name}', 'e')") == [(0.1,)]
    keyed = f"deid.query_error('{name}', 'e', value := 'g', keys := ['{name}'])"
    assert rows(con, f"SELECT lost, invented FROM {keyed}") == [(1, 1)]
