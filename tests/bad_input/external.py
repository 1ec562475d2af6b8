"""Releases made elsewhere: tables that are not there or not theirs, dictionaries that are none."""

from __future__ import annotations

from typing import Any

from bad_input.place import GONE
from bad_input.runner import Case

QI = "quasi_identifier"
MADE = """
CREATE TABLE anon AS SELECT age // 20 AS age, left(zip, 1) || '****' AS zip, sex, illness, wage FROM people;
CREATE TABLE words AS SELECT DISTINCT 'age' AS "column", age::VARCHAR AS released_value,
  1 AS level, (20 * age)::VARCHAR AS lower, (20 * age + 19)::VARCHAR AS upper FROM anon;
"""
BASE: dict[str, Any] = {
    "target": GONE,
    "columns/age": {"role": QI},
    "columns/zip": {"role": QI, "hierarchy": {"prefix": [1]}},
    "columns/sex": {"role": QI, "hierarchy": "suppress"},
    "method": {"name": "external", "table": "anon", "dictionary": "words"},
}


def _case(
    name: str,
    place: str,
    hint: str,
    more: Any = None,
    *,
    sql: str = "",
    words: tuple[str, ...] = ("verify", "spec.yml"),
    **keys: Any,
) -> Case:
    return Case(
        name=f"made elsewhere: {name}",
        words=words,
        # changes reach into parts of it
        spec=BASE | {"method": dict(BASE["method"])} | (more or {}),
        sql=MADE + sql,
        place=place,
        hint=hint,
        **keys,
    )


def _method(name: str, place: str, hint: str, sql: str = "", **keys: Any) -> Case:
    method = {key: value for key, value in (BASE["method"] | keys).items() if value is not GONE}
    return _case(name, place, hint, {"method": method}, sql=sql)


TABLES = (
    _method("no table", "method.table: the key 'table' is missing", "table: adult_anon", table=GONE),
    _method("a table that is not there", "method.table: no table or view 'anno'", "mean 'anon'", table="anno"),
    _method("a dictionary that is not there", "method.dictionary: no table or view 'word'", "mean 'words'",
            dictionary="word"),
    _method("a file that is not there", "anon.parquet: no such file", "check the path", table="anon.parquet"),
    _method("a view", "method.table: 'shown' is a view", "CREATE TABLE", "CREATE VIEW shown AS FROM anon",
            table="shown"),
    _method("a dictionary that is a view", "method.dictionary: 'shown' is a view", "CREATE TABLE",
            "CREATE VIEW shown AS FROM words", dictionary="shown"),
    _method("a list of tables", "method.table: expects text", "as in `table:", table=["anon"]),
    _method("an unknown parameter", "method.tabel: unknown key 'tabel'", "did you mean 'table'", table=GONE,
            tabel="anon"),
    _case("a file that is no Parquet", "cannot be read as Parquet", "whole Parquet file",
          {"method/table": "anon.parquet"}, files={"anon.parquet": b"KANARI"}),
    _case("a file that is no UTF-8", "anon.csv: cannot be read as CSV", "whole CSV file",
          {"method/table": "anon.csv"}, files={"anon.csv": b"age,zip\n\xff\xfe\x00,\x80\n" * 9}),
    _case("a database that is not there", "gone.duckdb: no such database file", "check `database`",
          {"database": "gone.duckdb"}),
)  # fmt: skip

DICTIONARIES = (
    _method("a dictionary without values", "method.dictionary: has no column 'released_value'",
            "a dictionary has the columns", "ALTER TABLE words RENAME released_value TO label"),
    _method("a dictionary with a misspelt column", "has a column 'lowr'", "a dictionary has the columns",
            "ALTER TABLE words RENAME lower TO lowr"),
    _method("a dictionary of another column", "entries of what is no quasi-identifier: 'illness'",
            "leave its entries out", "UPDATE words SET \"column\" = 'illness' WHERE rowid = 0"),
    _method("a dictionary of nothing", "entries of what is no quasi-identifier: NULL", "leave its entries out",
            "UPDATE words SET \"column\" = NULL WHERE rowid = 0"),
    _method("levels below 0", "has 1 levels that are none", "whole numbers from 0",
            "UPDATE words SET level = -1 WHERE rowid = 0"),
    _method("levels in words", "has 3 levels that are none", "whole numbers from 0",
            "ALTER TABLE words ALTER level TYPE VARCHAR; UPDATE words SET level = 'KANARI'"),
    _method("leaves that are no lists", "has 3 leaves that are no lists", "VARCHAR[]",
            "ALTER TABLE words ADD COLUMN leaves VARCHAR; UPDATE words SET leaves = 'KANARI 1, 2'"),
)  # fmt: skip

COLUMNS = (
    _case("a released column that is not there", "columns.wage: the released table has no column 'wage'",
          "drop", sql="ALTER TABLE anon DROP wage"),
    _case("a column without a role", "columns: columns of the released table have no role: 'batch'",
          "add `batch: insensitive`", sql="ALTER TABLE anon ADD COLUMN batch INTEGER"),
    _case("a column of the source without a role", "column 'wage' (BIGINT) of the source has no role",
          "`\"wage\": drop`", {"columns/wage": GONE}, sql="ALTER TABLE anon DROP wage"),
    _case("types of no column", "method.types.agee: there is no column 'agee'", "did you mean 'age'",
          {"method/types": {"agee": "INTEGER"}}),
    _case("types that are not those of the original", "the original has 'age' as BIGINT, and not as DATE",
          "the original tells", {"method/types": {"age": "DATE"}}),
    _case("types that are none", "method.types.age: expects a type of numbers", "as in INTEGER",
          {"method/types": {"age": "KLINGON"}}),
    _case("text that does not tell its type", "does not tell which type its values have",
          "add `types: {age: INTEGER}`", {"source": "gone"},
          sql="ALTER TABLE anon ALTER age TYPE VARCHAR"),
    _case("labels of text", "columns.zip: labels of intervals need numbers", "give a CSV file",
          {"columns/zip": {"role": QI, "hierarchy": {"labels": "intervals"}}}),
    _case("labels of what is not generalized", "columns.illness: hierarchy only go with role",
          "change the role", {"columns/illness": {"role": "sensitive", "hierarchy": {"labels": "intervals"}}}),
    _case("labels of another kind", "columns.age.hierarchy.labels: expects 'intervals'", "intervals",
          {"columns/age": {"role": QI, "hierarchy": {"labels": "ranges"}}}),
    _case("limits of two kinds", "lower and upper must be both numbers or both dates", "as in",
          {"columns/age": {"role": QI,
                           "hierarchy": {"labels": "intervals", "lower": 0, "upper": "2020-01-01"}}}),
    _case("levels", "columns.age: method external chooses no levels: max_level", "drop them",
          {"columns/age": {"role": QI, "max_level": 1}}),
    _case("an order", "columns.sex: order goes with method policy", "list the values",
          {"columns/sex": {"role": QI, "order": ["f", "m"]}}),
    _case("a hierarchy file that is not there", "hierarchy of column 'sex'", "relative to the spec",
          {"columns/sex": {"role": QI, "hierarchy": "sex.csv"}}),
)  # fmt: skip

REFUSED = (
    _case("a target", "method external releases nothing, and target", "drop them", {"target": "out.duckdb"}),
    _case("an output", "method external releases nothing, and output", "drop them", {"output": {"bounds": True}}),
    _case("a seed", "method external releases nothing, and seed", "drop them", {"seed": 7}),
    _case("a population", "does not judge k_map over a population", "leave the model out",
          {"privacy": [{"model": "k_map", "population": "people", "k": 2}]}),
    _case("clusters", "cluster_size is what synthetic records promise", "declare k_anonymity",
          {"privacy": [{"model": "cluster_size", "k": 2}]}),
    _case("a subject that the table does not tell", "the released table tells whose record it is by a pseudonym",
          "leave `subject` out", {"subject": "name"}),
    _case("a diversity of people", "does not judge l_diversity where subjects count", "leave `subject`",
          {"subject": "name", "columns/name": {"role": "identifier", "pseudonym": True},
           "privacy": [{"model": "l_diversity", "column": "illness", "l": 2}]}),
    _case("drawn columns", "role synthesize goes with method condensation", "another role",
          {"columns/wage": "synthesize"}),
    _case("a metric of how it was made", "metric 'loss' is about how a release was made", "discernibility",
          {"evaluate": {"metrics": ["loss"]}}),
    _case("labels for another method", "columns.age: labels say how a release made elsewhere reads",
          "give a CSV path", {"columns/age": {"role": QI, "hierarchy": {"labels": "intervals"}},
                              "method": "full_domain"}),
    *(
        _case(f"dbdeid {words[0]}", "release 'people_public' was made elsewhere (table 'anon')", hint,
              words=(words[0], "spec.yml", *words[1:]))
        for *words, hint in (
            ("run", "verify, evaluate, query or report"),
            ("search", "verify, evaluate, query or report"),
            ("frontier", "verify, evaluate, query or report"),
            ("export", "out.csv", "give away that table"),
            ("check", "--explain", "-vv logs"),
        )
    ),
    _case("dbdeid evaluate without the original", "the source 'gone' is not at hand", "name the original",
          {"source": "gone"}, words=("evaluate", "spec.yml")),
    _case("dbdeid query of a value without a meaning", "it uses age", "release again",
          sql="DELETE FROM words WHERE rowid = 0",
          words=("query", "spec.yml", "SELECT count(*) FROM people WHERE age < 30")),
    _case("dbdeid report in place of the database", "belongs to this spec", "-o",
          words=("report", "spec.yml", "-o", "owner.duckdb")),
)  # fmt: skip

BROKEN = (
    Case(name="made elsewhere: what verifies", words=("verify", "spec.yml"), code=0, spec=BASE, sql=MADE,
         says=("verified: every promise holds",)),
    _case("values without a meaning", "verification failed: meanings", "do not give this away", code=4,
          sql="DELETE FROM words WHERE rowid = 0"),
    _case("a class of one", "k_anonymity", "do not give this away", code=4,
          sql="INSERT INTO anon SELECT 3, 'KANARI', sex, illness, wage FROM people LIMIT 1"),
    _case("an identifier that is released", "verification failed: columns", "do not give this away", code=4,
          sql="ALTER TABLE anon ADD COLUMN name VARCHAR; UPDATE anon SET name = 'KANARI'"),
    _case("records of somebody else", "truthfulness", "do not give this away", code=4,
          sql="UPDATE anon SET illness = 'KANARI none'"),
)  # fmt: skip

CASES = (*TABLES, *DICTIONARIES, *COLUMNS, *REFUSED, *BROKEN)
