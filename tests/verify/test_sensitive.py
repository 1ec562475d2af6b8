"""Models over sensitive attributes as promises of a written table, and what breaks them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from handmade import Release, failed, handmade

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column
from dbdeid.privacy import MODELS
from dbdeid.verify import Promise, Verification, content, verify_file

# dx is flu, gout or NULL in turn, so that each class of five has all three.
HIERARCHY = """
INSERT INTO hierarchies
SELECT 'ward', 'dx', l, dx,
  CASE l WHEN 0 THEN dx WHEN 1 THEN CASE dx WHEN 'flu' THEN 'airway' ELSE 'joint' END ELSE '*' END,
  0, NULL, NULL
FROM (VALUES ('flu'), ('gout')) AS v(dx), range(3) AS r(l)
"""


def model(name: str, **parameters: Any) -> Any:
    return MODELS[name](model=name, **{"column": "dx", **parameters})


# Each with what is found in the release in order, of 20 of 21 records.
KEPT = [
    (model("l_diversity", l=3.0), 3),
    (model("l_diversity", l=2.8, kind="entropy"), 2.871745887492587),
    (model("l_diversity", l=2.0, kind="recursive", c=0.7), {"l": 2, "c": 2 / 3}),
    (model("t_closeness", t=0.15), 2 / 15),
    (model("t_closeness", t=0.1, distance="ordered"), 0.1),
    (model("t_closeness", t=0.15, distance="hierarchical"), 2 / 15),
    (model("alpha_k", k=5, alpha=0.4), {"k": 5, "alpha": 0.4}),
    (model("alpha_k", k=5, alpha=0.4, values=["gout"]), {"k": 5, "alpha": 0.4}),
    (model("basic_beta", beta=0.2), 0.2),
    (model("enhanced_beta", beta=0.2), 0.2),
    (model("delta_disclosure", delta=0.8), 0.7369655941662062),
    (MODELS["max_risk"](model="max_risk", attacker="prosecutor", threshold=0.2), 0.2),
    (MODELS["max_risk"](model="max_risk", attacker="marketer", threshold=0.2), 0.2),
]
ALL = tuple(asked for asked, _ in KEPT)
OF_VALUES = tuple(asked for asked in ALL if asked.model != "max_risk")
RELATIVE = tuple(asked for asked in OF_VALUES if asked.relative)

# The most common diagnosis of each class given to all: nothing is left to tell it by.
HOMOGENEOUS = """SELECT * REPLACE (mode(dx) OVER (PARTITION BY age, zip, sex) AS dx) FROM ward"""


def of(*models: Any) -> Release:
    return handmade().sql(HIERARCHY).promise(models=models)


def judged(found: Verification, asked: Sequence[Any]) -> list[Promise]:
    """The promises of the models, which come first."""
    assert [p.model for p in found.promises[: len(asked)]] == [m.model for m in asked]
    return list(found.promises[: len(asked)])


def test_what_the_release_keeps() -> None:
    found = of(*ALL).verify()
    assert found.verified, found.failures
    for promise, (asked, expected) in zip(judged(found, ALL), KEPT, strict=True):
        assert promise.found == pytest.approx(expected), asked
        assert promise.declared == asked.declared
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("where", "names"),
    [
        (
            "dx = 'flu' OR sex = 'f'",
            {"t_closeness", "l_diversity", "basic_beta", "enhanced_beta", "delta_disclosure"},
        ),
        ("sex = 'f' OR dx IS NOT NULL", {"delta_disclosure", "alpha_k", "max_risk"}),
    ],
)
def test_classes_without_some_of_their_records(where: str, names: set[str]) -> None:
    release = of(*ALL).promise(suppression_limit=0.5)
    found = release.replace(f"SELECT * FROM ward WHERE {where}").verify()
    assert not any(p.holds for p in judged(found, ALL) if p.model in names)


@pytest.mark.full
def test_sensitive_values_made_alike() -> None:
    found = of(*OF_VALUES).replace(HOMOGENEOUS).verify()
    assert not any(p.holds for p in judged(found, OF_VALUES))
    assert failed(found) == {*(m.model for m in OF_VALUES), "truthfulness"}


def test_another_distribution_of_the_source() -> None:
    """Records that are suppressed count for what a class is compared with."""
    release = of(*ALL).promise(suppression_limit=1.0, source_rows=121)
    more = "SELECT * REPLACE ('gout' AS dx) FROM patients, range(100) WHERE age > 70"
    release.sql(f"INSERT INTO patients SELECT * EXCLUDE (range) FROM ({more})")
    found = release.verify()
    for promise, asked in zip(judged(found, ALL), ALL, strict=True):
        assert promise.holds == (asked not in RELATIVE), asked
    assert failed(found) == {m.model for m in RELATIVE}


def test_a_value_that_the_source_does_not_have() -> None:
    release = of(*RELATIVE)
    release.replace("SELECT * REPLACE (CASE rowid WHEN 0 THEN 'cold' ELSE dx END AS dx) FROM ward")
    found = release.verify()
    for promise in judged(found, RELATIVE):
        assert promise.found == "values that the source does not have"
        assert not promise.holds


def test_what_a_missing_column_leaves_unmeasured() -> None:
    found = of(*ALL).replace("SELECT * EXCLUDE (dx, zip) FROM ward").verify()
    for promise in judged(found, ALL):
        lacking = "'zip'" if promise.model == "max_risk" else "'zip', 'dx'"
        assert promise.found == f"not measurable without {lacking}"
        assert not promise.holds


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("DELETE FROM hierarchies WHERE hierarchy = 'dx'", "2 values"),
        ("DELETE FROM hierarchies WHERE value = 'flu' AND level = 1", "1 values"),
        ("UPDATE hierarchies SET label = 'x' WHERE value = 'flu' AND level = 2", "1 values"),
        ("INSERT INTO hierarchies FROM hierarchies WHERE value = 'flu'", "1 values"),
        (
            """INSERT INTO hierarchies SELECT release, hierarchy, level + 2, value,
            CASE level WHEN 2 THEN 'all' ELSE value END, 0, NULL, NULL
            FROM hierarchies WHERE hierarchy = 'dx' AND level > 0""",
            "2 values",
        ),
    ],
)
def test_a_hierarchy_with_gaps(change: str, words: str) -> None:
    release = of(model("t_closeness", t=0.9, distance="hierarchical"))
    release.sql("UPDATE patients SET dx = 'gout' WHERE dx IS NULL")
    release.sql("CREATE TABLE kept AS FROM hierarchies", change)
    release.replace("SELECT * REPLACE (coalesce(dx, 'gout') AS dx) FROM ward")
    found = release.verify()
    assert failed(found) == {"t_closeness"}
    assert found.promises[0].found.startswith(words)
    assert "flu" not in str(found.to_dict())


def test_columns_are_judged_each_on_its_own_or_together() -> None:
    of_two = {"column": ("dx", "sex"), "l": 2.0}
    release = of(model("l_diversity", **of_two), model("l_diversity", **of_two, joint=True))
    found = release.verify()
    assert failed(found) == {"l_diversity"}
    assert [(p.declared["column"], p.found) for p in found.promises[:3]] == [
        ("dx", 3),
        ("sex", 1),
        (["dx", "sex"], 3),
    ]


@pytest.mark.full
def test_columns_are_found_whatever_their_case() -> None:
    release = of(model("t_closeness", column="DX", t=0.15, distance="hierarchical"))
    assert release.verify().verified


def test_excluded_records_have_no_class() -> None:
    asked = (model("l_diversity", l=1.0), model("t_closeness", t=1.0))
    release = of(*asked).promise(null_policy="exclude", suppression_limit=1.0)
    assert release.verify().verified
    release.replace(
        "SELECT * REPLACE (CASE WHEN rowid < 3 THEN NULL ELSE sex END AS sex) FROM ward"
    )
    found = release.verify(source=False)
    assert {"l_diversity"} <= failed(found)
    assert found.promises[0].found == "3 records without a class"


def test_wildcards_count_no_sensitive_values() -> None:
    found = of(model("l_diversity", l=1.0)).promise(null_policy="wildcard").verify()
    assert failed(found) == {"l_diversity"}


def test_an_empty_release_gives_nothing_away() -> None:
    release = of(*ALL).promise(suppression_limit=1.0)
    release.sql(
        "CREATE OR REPLACE TABLE ward AS FROM ward LIMIT 0",
        "CREATE OR REPLACE TABLE ward_dictionary AS FROM ward_dictionary LIMIT 0",
    )
    found = release.verify()
    assert found.verified, found.failures


# -- what is left without the source ----------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", [".duckdb", ".parquet", ".csv"])
def test_a_file_is_held_to_what_it_can_tell(tmp_path: Path, kind: str) -> None:
    release = of(*ALL)
    found = release.publish(tmp_path / f"ward{kind}")
    assert found.verified, found.failures
    models = [p.model for p in found.promises if p.model in MODELS]
    assert models == ["l_diversity"] * 3 + ["alpha_k"] * 2 + ["max_risk"] * 2
    release.replace(HOMOGENEOUS)
    again = release.publish(tmp_path / f"again{kind}")
    assert failed(again) == {"l_diversity", "alpha_k"}


def test_records_tell_little_of_how_subjects_share_their_values() -> None:
    """One person of many records: by records her diagnosis would be all there is."""
    release = by_subject(model("alpha_k", k=2, alpha=0.5), model("l_diversity", l=2.0))
    more = "INSERT INTO patients SELECT * EXCLUDE (range) FROM patients, range(40) WHERE person = 3"
    release.sql(more).rewrite().promise(source_rows=61)
    assert release.verify().verified
    found = release.verify(source=False)
    assert [p.model for p in found.promises if p.model in MODELS] == ["l_diversity"]
    assert found.verified


# -- subjects ---------------------------------------------------------------------------------


class People(Release):
    """A release whose subjects are counted, written anew from its source."""

    def rewrite(self, where: str = "age < 70") -> People:
        columns = ", ".join(
            c.name for c in self.declared.columns if c.name in self.declared.pseudonyms
        )
        self.sql(
            f"""CREATE OR REPLACE TABLE ward AS
            SELECT '[' || age // 10 * 10 || ', ' || age // 10 * 10 + 10 || ')' AS age,
              CAST(age // 10 * 10 AS INTEGER) AS age_lower,
              CAST(age // 10 * 10 + 9 AS INTEGER) AS age_upper,
              left(zip, 3) || '**' AS zip, sex, dx{", " + columns if columns else ""}
            FROM patients WHERE {where} ORDER BY ALL"""
        )
        return self


def by_subject(*models: Any) -> People:
    ward = handmade().sql(
        HIERARCHY,
        "ALTER TABLE patients ADD COLUMN person INTEGER",
        "UPDATE patients SET person = CAST(replace(\"name\", 'patient ', '') AS INTEGER)",
    )
    people = People(ward.con, ward.declared)
    people.promise(models=models, subject="person")
    return people


def linked(*models: Any) -> People:
    people = by_subject(*models).sql(
        "ALTER TABLE patients ADD COLUMN pid VARCHAR", "UPDATE patients SET pid = 'p' || person"
    )
    people.promise(columns=(*people.declared.columns, Column("pid", "VARCHAR")))
    people.promise(pseudonyms=("pid",))
    return people.rewrite()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", [by_subject, linked])
def test_of_one_record_each_subjects_are_records(kind: Any) -> None:
    found = kind(*ALL).verify()
    assert found.verified, found.failures
    for promise, (asked, expected) in zip(judged(found, ALL), KEPT, strict=True):
        assert promise.found == pytest.approx(expected), asked
        assert promise.declared == {**asked.declared, "of": "subjects"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", [by_subject, linked])
def test_one_person_of_two_values(kind: Any) -> None:
    """Persons 0, 4, 8, 12 and 16 share a class; the records of 4 become those of 0."""
    two = "UPDATE patients SET person = 0 WHERE person = 4"
    release = kind(model("l_diversity", l=3.0), model("alpha_k", k=4, alpha=0.5)).sql(two)
    if kind is linked:
        release.sql("UPDATE patients SET pid = 'p' || person").rewrite()
    found = release.verify()
    assert found.verified, found.failures
    both = next(p.found for p in found.promises if p.model == "alpha_k")
    assert both == {"k": 4, "alpha": 0.5}


@pytest.mark.full
def test_a_value_that_all_people_of_a_class_have() -> None:
    """Everyone of a class has a second record with the flu, and other records besides."""
    asked = (model("l_diversity", l=2.0), model("alpha_k", k=2, alpha=0.9))
    release = by_subject(*asked)
    again = "SELECT * REPLACE ('flu' AS dx) FROM patients WHERE person % 4 = 0 AND person < 20"
    release.sql(f"INSERT INTO patients {again}").rewrite().promise(source_rows=26)
    found = release.verify()
    assert failed(found) == {"l_diversity", "alpha_k"}
    assert [p.found for p in found.promises[:2]] == [1, {"k": 5, "alpha": 1.0}]


@pytest.mark.full
def test_a_class_of_the_source_that_is_written_in_part() -> None:
    release = by_subject(model("t_closeness", t=0.5)).promise(suppression_limit=0.9)
    release.replace("SELECT * FROM ward WHERE rowid > 0")
    found = release.verify()
    assert failed(found) == {"t_closeness"}
    assert "without some of their records" in found.promises[0].found


def test_linked_records_are_judged_among_those_with_the_same_classes() -> None:
    """Two of five also have a record elsewhere, and both of these two have the flu."""
    release = linked(model("l_diversity", l=2.0))
    assert release.verify().verified
    class_ = [
        p
        for (p,) in release.con.execute(
            """SELECT person FROM patients WHERE (age // 10, sex) =
        (SELECT (age // 10, sex) FROM patients WHERE person = 0) ORDER BY ALL"""
        ).fetchall()
    ]
    pair = class_[:2]
    release.sql(
        f"UPDATE patients SET dx = 'flu' WHERE person IN {tuple(pair)}",
        f"""INSERT INTO patients SELECT * REPLACE (
        (SELECT age FROM patients WHERE person = 1) AS age,
        (SELECT zip FROM patients WHERE person = 1) AS zip,
        (SELECT sex FROM patients WHERE person = 1) AS sex,
        CASE person WHEN {pair[0]} THEN 'gout' ELSE dx END AS dx)
        FROM patients WHERE person IN {tuple(pair)}""",
    ).rewrite().promise(source_rows=23)
    found = release.verify()
    assert failed(found) == {"l_diversity"}
    assert found.promises[0].found == 1


STARS = """
CREATE OR REPLACE TABLE ward AS
SELECT * REPLACE (
  CASE WHEN {0} THEN '*' ELSE age END AS age,
  CASE WHEN {0} THEN NULL ELSE age_lower END AS age_lower,
  CASE WHEN {0} THEN NULL ELSE age_upper END AS age_upper,
  CASE WHEN {0} THEN '*' ELSE zip END AS zip,
  CASE WHEN {0} THEN '*' ELSE sex END AS sex)
FROM ward ORDER BY ALL
"""
STARRED = """
CREATE OR REPLACE TABLE ward_dictionary AS
SELECT * FROM (
  FROM ward_dictionary UNION ALL
  SELECT unnest(['age', 'sex', 'zip']), '*', unnest([2, 1, 2]), NULL, NULL, NULL) AS d
WHERE ("column", released_value) IN (SELECT ('age', age) FROM ward
  UNION ALL SELECT ('sex', sex) FROM ward UNION ALL SELECT ('zip', zip) FROM ward)
ORDER BY ALL
"""


@pytest.mark.full
@pytest.mark.parametrize("subject", [False, True])
@pytest.mark.parametrize(("dx", "holds"), [("dx", True), ("'flu'", False)])
def test_the_kept_suppressed_are_a_class_of_their_own(subject: bool, dx: str, holds: bool) -> None:
    lost = "age = '[70, 80)' OR (age = '[20, 30)' AND sex = 'f')"
    release = by_subject(model("l_diversity", l=2.0), model("t_closeness", t=0.4))
    release.promise(keeps_suppressed=True, suppression_limit=0.5)
    if not subject:
        release.promise(subject=None)
    release.sql(
        f"""UPDATE patients SET dx = {dx} WHERE age >= 70 OR (age < 30 AND sex = 'f')"""
    ).rewrite("true").sql(STARS.format(f"({lost})"), STARRED)
    found = release.verify()
    assert failed(found) == (set() if holds else {"l_diversity", "t_closeness"}), found.failures
    if not holds:
        assert found.promises[0].found == 1


@pytest.mark.full
def test_the_source_may_be_another_type() -> None:
    """What was an ENUM is written as text, and compared as it is written."""
    release = of(model("t_closeness", t=0.15), model("delta_disclosure", delta=0.8))
    release.sql("ALTER TABLE patients ALTER COLUMN dx TYPE ENUM ('gout', 'unused', 'flu')")
    assert release.verify().verified


def test_names_of_the_release_meet_no_name_of_a_query() -> None:
    release = of(
        model("l_diversity", column="class", l=3.0), model("t_closeness", column="class", t=0.15)
    )
    release.sql(
        "ALTER TABLE patients RENAME COLUMN dx TO class",
        "ALTER TABLE ward RENAME COLUMN dx TO class",
    )
    columns = (*release.declared.columns[:-1], Column("class", "VARCHAR"))
    found = release.promise(columns=columns, as_written=("class",)).verify()
    assert found.verified, found.failures


def test_a_file_must_be_what_was_verified(tmp_path: Path) -> None:
    release = of(model("t_closeness", t=0.15))
    path = tmp_path / "ward.parquet"
    release.write(path)
    with Session.over(release.con, None, read_only=False) as session:
        expected = content(session, session.relation("ward"), release.declared.columns)
    assert expected is not None
    release.replace(HOMOGENEOUS).write(path)
    beside = tmp_path / "ward_dictionary.parquet"
    found = verify_file(path, release.declared, dictionary=beside, same_as=expected)
    assert failed(found) == {"content"}
