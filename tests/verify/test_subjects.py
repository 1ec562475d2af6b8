"""Promises that count subjects, and what breaks them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from handmade import Release, detail, failed, handmade

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.verify import Verification, content, verify_file

# Each patient is a person; two of one class can be made one by giving them one number.
PEOPLE = "ALTER TABLE patients ADD COLUMN person INTEGER"
ALONE = "UPDATE patients SET person = CAST(replace(\"name\", 'patient ', '') AS INTEGER)"
SAME = "UPDATE patients SET person = {} WHERE person = {}"


def by_subject(*changes: str) -> Release:
    return handmade().sql(PEOPLE, ALONE, *changes).promise(subject="person")


def linked(*changes: str) -> Release:
    """The pseudonym of each person is released, a letter before the number."""
    release = by_subject(*changes).sql(
        "ALTER TABLE patients ADD COLUMN pid VARCHAR", "UPDATE patients SET pid = 'p' || person"
    )
    release.sql(
        """CREATE OR REPLACE TABLE ward AS
        SELECT '[' || age // 10 * 10 || ', ' || age // 10 * 10 + 10 || ')' AS age,
          CAST(age // 10 * 10 AS INTEGER) AS age_lower,
          CAST(age // 10 * 10 + 9 AS INTEGER) AS age_upper,
          left(zip, 3) || '**' AS zip, sex, dx, pid
        FROM patients WHERE age < 70 ORDER BY ALL"""
    )
    columns = (*release.declared.columns, Column("pid", "VARCHAR"))
    return release.promise(columns=columns, pseudonyms=("pid",))


def found_of(verification: Verification) -> dict[str, Any]:
    return {p.model: p.found for p in verification.promises}


def class_of(release: Release, person: int) -> list[int]:
    """The persons of the source in one person's class."""
    rows = release.con.execute(
        """SELECT person FROM patients
        WHERE (age // 10, left(zip, 3), sex) =
          (SELECT (age // 10, left(zip, 3), sex) FROM patients WHERE person = ?)
        ORDER BY ALL""",
        [person],
    )
    return [person for (person,) in rows.fetchall()]


@pytest.mark.full
def test_as_many_people_as_records() -> None:
    release = by_subject()
    found = release.verify()
    assert found.verified
    assert found_of(found)["k_anonymity"] == 5
    assert found_of(found)["suppression_limit"] == {"subjects": 1, "share": 1 / 21}


@pytest.mark.full
def test_two_records_of_one_person_in_a_class() -> None:
    one, other, *_ = class_of(by_subject(), 0)
    found = by_subject(SAME.format(one, other)).verify()
    assert failed(found) == {"k_anonymity"}
    assert found_of(found)["k_anonymity"] == 4


@pytest.mark.full
def test_records_of_one_person_in_two_classes() -> None:
    elsewhere = next(p for p in range(20) if p not in class_of(by_subject(), 0))
    assert by_subject(SAME.format(0, elsewhere)).verify().verified


@pytest.mark.full
def test_a_class_without_one_of_its_records() -> None:
    release = by_subject().replace("SELECT * FROM ward WHERE rowid NOT IN (0)")
    found = release.promise(
        suppression_limit=0.5, models=(type(release.declared.models[0])(model="k_anonymity", k=2),)
    ).verify()
    # whose record is missing is not known, so neither is who is left
    assert failed(found) == {"k_anonymity"}
    assert "without some of their records" in found.promises[0].found


@pytest.mark.parametrize(("limit", "holds"), [(0.05, True), (0.04, False)])
def test_a_person_is_suppressed_with_any_record(limit: float, holds: bool) -> None:
    release = by_subject(SAME.format(0, 20)).promise(suppression_limit=limit)
    found = release.verify()
    assert found_of(found)["suppression_limit"] == {"subjects": 1, "share": 1 / 20}
    assert failed(found) == (set() if holds else {"suppression_limit"})


def test_linked_records_need_others_with_the_same_classes() -> None:
    assert linked().verify().verified
    elsewhere = next(p for p in range(20) if p not in class_of(by_subject(), 0))
    found = linked(SAME.format(0, elsewhere)).verify()
    assert failed(found) == {"linked_classes"}
    assert found_of(found)["linked_classes"] == 1


def test_linked_records_may_lose_single_people() -> None:
    lost = next(p for p in range(20) if len(class_of(by_subject(), p)) == 5)
    release = linked().replace(f"SELECT * FROM ward WHERE pid <> 'p{lost}'")
    release.promise(suppression_limit=0.5)
    found = release.verify()
    assert failed(found) == {"k_anonymity", "linked_classes"}
    assert found_of(found)["k_anonymity"] == 4
    release.promise(models=(type(release.declared.models[0])(model="k_anonymity", k=4),))
    assert release.verify().verified


def test_a_pseudonym_of_nobody() -> None:
    release = linked().replace("SELECT * REPLACE ('p99' AS pid) FROM ward")
    assert {"k_anonymity", "linked_classes", "truthfulness"} <= failed(release.verify())


def test_without_the_source_records_are_all_there_is() -> None:
    release = by_subject()
    found = release.verify(source=False)
    assert found.promises[0].declared == {"k": 5, "of": "records"}


@pytest.mark.full
@pytest.mark.parametrize(
    ("policy", "smallest"), [("own_category", 1), ("wildcard", 5), ("exclude", 0)]
)
def test_a_missing_value_counts_as_declared(policy: str, smallest: int) -> None:
    release = handmade().promise(null_policy=policy)
    release.sql(
        """CREATE OR REPLACE TABLE ward AS FROM (
          FROM ward UNION ALL SELECT * REPLACE (NULL AS sex) FROM (FROM ward LIMIT 1)
        ) ORDER BY ALL"""
    )
    assert release.verify().promises[0].found == smallest


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", [".duckdb", ".parquet", ".csv"])
def test_a_file_must_hold_the_rows_that_were_verified(tmp_path: Path, kind: str) -> None:
    release = by_subject()
    path = tmp_path / f"ward{kind}"
    release.write(path)
    with Session.over(release.con, None, read_only=False) as session:
        expected = content(session, session.relation("ward"), release.declared.columns)
    assert expected is not None
    beside = "ward_dictionary" if kind == ".duckdb" else path.with_name(f"ward_dictionary{kind}")
    assert verify_file(path, release.declared, dictionary=beside, same_as=expected).verified
    other = replace(expected, digest="0" * 64)
    found = verify_file(path, release.declared, dictionary=beside, same_as=other)
    assert failed(found) == {"content"}
    assert "other values" in detail(found, "content")
    fewer = replace(expected, rows=19)
    found = verify_file(path, release.declared, dictionary=beside, same_as=fewer)
    assert "other rows" in detail(found, "content")


def test_equal_rows_do_not_cancel() -> None:
    release = handmade()
    with Session.over(release.con, None, read_only=False) as session:
        once = content(session, session.relation("ward"), release.declared.columns)
        release.replace("SELECT * FROM ward UNION ALL SELECT * FROM ward UNION ALL FROM ward")
        thrice = content(session, session.relation("ward"), release.declared.columns)
        missing = content(session, Relation("ward"), (Column("none", "VARCHAR"),))
    assert once is not None
    assert thrice is not None
    assert (thrice.rows, thrice.digest == once.digest) == (3 * once.rows, False)
    assert missing is None
