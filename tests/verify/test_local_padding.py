"""Counterfeit records beside local recoding: levels differ between classes, labels between levels.

Ages 20 to 39: `a` is 20-24 on level 1 and 20-29 on level 2, and so is released with its level.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from attack import attack, with_a_surplus_inside
from counterfeited import DECLARED, Padded
from handmade import failed

from dbdeid.privacy import KAnonymity
from dbdeid.verify import Verification
from dbdeid.verify.base.declaration import Padding

HIERARCHIES = """
CREATE TABLE hierarchies AS
SELECT 'ward' AS release, 'age' AS hierarchy, CAST(l AS INTEGER) AS level,
  CAST(a AS VARCHAR) AS value,
  CASE l
    WHEN 0 THEN CAST(a AS VARCHAR)
    WHEN 1 THEN CASE a // 5 WHEN 4 THEN 'a' ELSE a // 5 * 5 || '+' END
    WHEN 2 THEN CASE a // 10 WHEN 2 THEN 'a' ELSE 'b' END
    ELSE '*'
  END AS label,
  0.0::DOUBLE AS loss, CAST(NULL AS VARCHAR) AS lower, CAST(NULL AS VARCHAR) AS upper
FROM range(20, 40) AS ages(a), range(4) AS r(l)
UNION ALL
SELECT 'ward', 'sex', CAST(l AS INTEGER), v, CASE l WHEN 0 THEN v ELSE '*' END, 0, NULL, NULL
FROM (VALUES ('f'), ('m')) AS sexes(v), range(2) AS r(l)
"""

# Each patient with the age that is released; one record more is counterfeit.
PATIENTS = """
CREATE TABLE known AS
FROM (
  VALUES
    (20, 'a@1', 'f', 'flu'), (21, 'a@1', 'f', 'gout'), (22, 'a@1', 'f', 'flu'),
    (20, 'a@1', 'm', 'flu'), (24, 'a@1', 'm', 'gout'),
    (23, 'a@2', 'f', 'flu'), (28, 'a@2', 'f', 'flu'),
    (27, 'a@2', 'm', 'flu'),
    (30, 'b', 'f', 'flu'), (39, 'b', 'f', 'gout'),
    (31, 'b', 'm', 'flu'), (35, 'b', 'm', 'gout')
) AS r(age, shown, sex, dx);
CREATE TABLE patients AS SELECT CAST(age AS INTEGER) AS age, sex, dx FROM known;
"""

RELEASED = """
CREATE TABLE ward AS
SELECT dense_rank() OVER (ORDER BY age, sex) AS class_id, *
FROM (
  SELECT shown AS age, sex, dx FROM known UNION ALL SELECT 'a@2', 'm', 'gout'
)
ORDER BY ALL
"""

DICTIONARY = """
CREATE TABLE ward_dictionary AS
SELECT "column", released_value, CAST(level AS INTEGER) AS level, CAST(NULL AS VARCHAR) AS lower,
  CAST(NULL AS VARCHAR) AS upper, leaves
FROM (
  VALUES ('age', 'a@1', 1, [CAST(x AS VARCHAR) FOR x IN range(20, 25)]),
    ('age', 'a@2', 2, [CAST(x AS VARCHAR) FOR x IN range(20, 30)]),
    ('age', 'b', 2, [CAST(x AS VARCHAR) FOR x IN range(30, 40)]),
    ('sex', 'f', 0, ['f']), ('sex', 'm', 0, ['m'])
) AS r("column", released_value, level, leaves)
ORDER BY ALL
"""

# Classes 4, 5 and 6 are of one signature and size; class 3 has class 1 inside, which has a surplus.
CATALOG = """
CREATE TABLE ward_catalog AS
SELECT CAST({} AS BIGINT[]) AS class_ids, CAST(NULL AS VARCHAR) AS sensitive_value,
  CAST(1 AS BIGINT) AS counterfeits
"""

FLAGGED = """
CREATE TABLE flagged AS
SELECT ['4', 'a@2', 'm', 'gout'] AS record, CAST(1 AS BIGINT) AS counterfeits
"""


def local(classes: str = "[4, 5, 6]") -> Padded:
    release = Padded(duckdb.connect(), DECLARED)
    release.promise(
        columns=tuple(c for c in DECLARED.columns if c.name != "wing"),
        models=(KAnonymity(model="k_anonymity", k=2),),
        transformation={},
        tops={"age": 3, "sex": 1},
        source_rows=12,
        local=True,
        padding=Padding(
            k=2,
            size=2,
            h=0.25,
            limit=1,
            catalog="pool",
            sensitive=None,
            strict=True,
            weights={},
        ),
    )
    release.sql(HIERARCHIES, PATIENTS, RELEASED, DICTIONARY, CATALOG.format(classes), FLAGGED)
    return release


def found(verification: Verification, model: str) -> Any:
    return next(p.found for p in verification.promises if p.model == model)


def test_the_release_itself_is_verified() -> None:
    verification = local().verify()
    assert verification.verified, verification.failures
    assert found(verification, "h_ceiling") == pytest.approx(9 / 19 / 2)
    assert found(verification, "transformation") == {"age": [1, 2], "sex": [0, 0]}
    assert found(verification, "prosecutor_risk") == pytest.approx(1 / 2)


@pytest.mark.full
@pytest.mark.parametrize("suffix", [".duckdb", ".parquet", ".csv"])
def test_the_files_of_the_release_are_verified(tmp_path: Path, suffix: str) -> None:
    verification = local().publish(tmp_path / f"ward{suffix}")
    assert verification.verified, verification.failures


@pytest.mark.full
def test_h_holds_for_the_most_general_class() -> None:
    assert failed(local().padding(h=0.2).verify()) == {"h_ceiling"}


@pytest.mark.full
@pytest.mark.parametrize("source", [True, False])
def test_a_group_with_the_class_that_would_have_borrowed(source: bool) -> None:
    # in class 3 nobody would have been added: class 1 inside it has a record to spare
    verification = local("[3, 4]").verify(source=source)
    assert failed(verification) == {"candidates"}
    assert found(verification, "candidates")["certain"] == 1


@pytest.mark.full
def test_a_group_with_levels_at_which_nobody_was_padded() -> None:
    # nobody was padded at the levels of class 2, which leaves the others alone
    verification = local("[2, 4, 5, 6]").verify()
    assert failed(verification) == {"catalog_of_flagged"}
    assert found(verification, "catalog_of_flagged")["levels_never_padded"] == 1


@pytest.mark.full
def test_a_group_with_one_that_would_have_borrowed_among_others() -> None:
    verification = local("[3, 4, 5, 6]").verify()
    assert failed(verification) == {"candidates"}
    assert found(verification, "candidates")["known_clean"] == 1


@pytest.mark.full
def test_a_label_without_its_level() -> None:
    release = local().ranked(
        "SELECT CASE age WHEN 'a@2' THEN 'a' ELSE age END AS age, sex, dx FROM ward"
    )
    release.sql("UPDATE ward_dictionary SET released_value = 'a' WHERE released_value = 'a@2'")
    assert {"dictionary", "h_ceiling", "truthfulness"} <= failed(release.verify())


@pytest.mark.full
def test_a_value_at_a_level_that_it_does_not_have() -> None:
    release = local().sql("UPDATE ward_dictionary SET level = 1 WHERE released_value = 'b'")
    assert "dictionary" in failed(release.verify())


def test_a_value_that_the_dictionary_lacks() -> None:
    release = local().sql("DELETE FROM ward_dictionary WHERE released_value = 'b'")
    assert {"dictionary", "transformation"} <= failed(release.verify())


@pytest.mark.full
def test_a_record_of_no_ancestor() -> None:
    release = local().sql("UPDATE patients SET age = 29 WHERE age = 30")
    verification = release.verify()
    assert failed(verification) == {"truthfulness"}
    assert found(verification, "truthfulness") == {
        "source_rows": 12,
        "missing_records": 1,
        "invented_records": 1,
    }


def test_records_that_each_have_an_ancestor_but_not_all_at_once() -> None:
    # each released record has somebody of its own, but of the women only two are 20 to 24 now and
    # three records say so
    release = local().sql("UPDATE patients SET age = 29 WHERE age IN (21, 22) AND sex = 'f'")
    verification = release.verify()
    assert failed(verification) == {"truthfulness"}


def test_a_record_may_stand_behind_any_of_its_ancestors() -> None:
    # 23 and 20 change places: no one can tell, and nobody is lost
    release = local().sql("UPDATE patients SET age = 22 WHERE age = 23")
    assert release.verify().verified


@pytest.mark.full
def test_the_other_columns_belong_to_the_record() -> None:
    release = local().sql("UPDATE patients SET dx = 'gout' WHERE age = 30")
    assert failed(release.verify()) == {"truthfulness"}


def test_a_record_twice_and_another_missing() -> None:
    release = local().sql(
        "UPDATE patients SET age = 39, dx = 'gout' WHERE age = 30",
    )
    verification = release.verify()
    assert found(verification, "truthfulness")["missing_records"] == 1


@pytest.mark.full
def test_a_matching_with_numbers() -> None:
    # 200 equal patients stand behind two classes
    release = local()
    release.sql(
        "INSERT INTO patients SELECT 25, 'f', 'flu' FROM range(200)",
        "INSERT INTO ward SELECT 3, 'a@2', 'f', 'flu' FROM range(200)",
        "CREATE OR REPLACE TABLE ward AS FROM ward ORDER BY ALL",
    )
    release.promise(source_rows=212)
    assert release.verify().verified
    release.sql("UPDATE patients SET age = 35 WHERE age = 25")
    assert found(release.verify(), "truthfulness")["missing_records"] == 200


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("classes", "certain"), [("[4, 5, 6]", 0), ("[3, 4, 5, 6]", 0), ("[3, 4]", 1)]
)
def test_verifier_and_attack_agree(classes: str, certain: int) -> None:
    release = local(classes)
    ages = {"a@1": range(20, 25), "a@2": range(20, 30), "b": range(30, 40)}
    leaves = {
        "age": {label: frozenset(map(str, known)) for label, known in ages.items()},
        "sex": {"f": frozenset("f"), "m": frozenset("m")},
    }
    table, catalog = (release.con.sql(f"FROM {name}").df() for name in ("ward", "ward_catalog"))
    clean = with_a_surplus_inside(table, leaves, 2, 2)
    assert clean == {3}
    attacked = attack(table, catalog, ["age", "sex"], None, 2, clean)
    verification = release.verify()
    assert attacked.certain == certain == found(verification, "candidates")["certain"]
    assert attacked.risk == pytest.approx(found(verification, "prosecutor_risk"))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("more", "clean"), [(0, 0), (1, 1)])
def test_a_class_that_may_be_padded_itself_has_no_known_surplus(more: int, clean: int) -> None:
    # padded to three beside k = 2: class 1 lies in class 3 and has three records, or four
    release = local("[3]").padding(size=3)
    release.sql(
        "INSERT INTO ward VALUES (3, 'a@2', 'f', 'flu')",
        f"INSERT INTO ward SELECT 1, 'a@1', 'f', 'flu' FROM range({more})",
        "CREATE OR REPLACE TABLE ward AS FROM ward ORDER BY ALL",
    )
    verification = release.verify(source=False)
    assert found(verification, "candidates")["known_clean"] == clean
