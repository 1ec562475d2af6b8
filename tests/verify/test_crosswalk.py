"""Local recoding without counterfeits: its records are proven from the owner's crosswalk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from handmade import detail, failed
from recoded import CROSSWALK, DECLARED, KNOWN, RECODED, RELEASED, Recoded, recoded

from dbdeid.engine.relation import Column
from dbdeid.privacy import KAnonymity
from dbdeid.verify import Verification

TRUE = {"source_rows": 14, "missing_records": 0, "unmapped_records": 0, "invented_records": 0}


def found(verification: Verification, model: str) -> Any:
    return next(p.found for p in verification.promises if p.model == model)


def test_the_release_itself_is_verified() -> None:
    verification = recoded().verify()
    assert verification.verified, verification.failures
    assert [p.model for p in verification.promises] == [
        "k_anonymity",
        "l_diversity",
        "suppression_limit",
        "transformation",
        "truthfulness",
    ]
    assert found(verification, "truthfulness") == TRUE
    assert found(verification, "transformation") == {"age": [0, 3], "sex": [0, 1]}


def test_a_table_without_rows_is_at_no_level_above_the_values() -> None:
    empty = recoded().sql("DELETE FROM ward", "DELETE FROM ward_dictionary")
    assert found(empty.verify(source=False), "transformation") == {"age": [0, 0], "sex": [0, 0]}


@pytest.mark.full
@pytest.mark.parametrize("suffix", [".duckdb", ".parquet", ".csv"])
def test_its_files_are_verified(tmp_path: Path, suffix: str) -> None:
    verification = recoded().publish(tmp_path / f"ward{suffix}")
    assert verification.verified, verification.failures
    assert "truthfulness" not in {p.model for p in verification.promises}


def test_without_the_crosswalk_nothing_is_proven() -> None:
    verification = recoded().verify(crosswalk=False)
    assert failed(verification) == {"truthfulness"}
    reason = "not measurable without the list of recodings"
    assert found(verification, "truthfulness") == reason


# -- the crosswalk lies --------------------------------------------------------------------------

SAME = "CREATE OR REPLACE TABLE crosswalk AS SELECT * REPLACE ({}) FROM crosswalk"

# How a crosswalk is changed, and what is then found, apart from what is true.
LIES = {
    "a row less": (
        "DELETE FROM crosswalk WHERE source[1] = '21'",
        {"missing_records": 1, "invented_records": 1},
    ),
    "a row twice": (
        "INSERT INTO crosswalk FROM crosswalk WHERE source[1] = '21'",
        {"missing_records": 1, "invented_records": 1},
    ),
    "one more of a kind": (
        "UPDATE crosswalk SET records = 3 WHERE records = 2",
        {"missing_records": 1, "invented_records": 1},
    ),
    "all forgotten": (
        "DELETE FROM crosswalk",
        {"missing_records": 14, "invented_records": 14},
    ),
    "two of one diagnosis exchanged": (
        SAME.format(
            """CASE source[1] WHEN '21' THEN ['35', 'm'] WHEN '35' THEN ['21', 'f'] ELSE source END
            AS source"""
        ),
        {"unmapped_records": 2},
    ),
    "two of other diagnoses exchanged": (
        SAME.format(
            """CASE source[1] WHEN '31' THEN ['35', 'm'] WHEN '35' THEN ['31', 'm'] ELSE source END
            AS source"""
        ),
        {"missing_records": 2, "invented_records": 2},
    ),
    "a source that is not": (
        SAME.format("CASE source[1] WHEN '21' THEN ['24', 'f'] ELSE source END AS source"),
        {"missing_records": 1, "invented_records": 1},
    ),
    "a release that is not": (
        SAME.format(
            """CASE source[1] WHEN '21' THEN ['a@2', '20', '29', '*', 'gout'] ELSE record END
            AS record"""
        ),
        {"missing_records": 1, "invented_records": 1},
    ),
    "other bounds": (
        SAME.format(
            "CASE source[1] WHEN '21' THEN ['a@1', '20', '25', 'f', 'gout'] ELSE record END"
            " AS record"
        ),
        {"missing_records": 1, "invented_records": 1},
    ),
    "a value for a NULL": (
        SAME.format("[coalesce(c, '') FOR c IN source] AS source"),
        {"missing_records": 2, "unmapped_records": 2, "invented_records": 2},
    ),
}


@pytest.mark.full
@pytest.mark.parametrize("name", LIES)
def test_a_crosswalk_that_lies(name: str) -> None:
    lie, told = LIES[name]
    verification = recoded().sql(lie).verify()
    assert failed(verification) == {"truthfulness"}
    assert found(verification, "truthfulness") == TRUE | told


@pytest.mark.full
def test_a_crosswalk_may_tell_a_pair_in_parts() -> None:
    release = recoded().sql(
        "UPDATE crosswalk SET records = 1 WHERE records = 2",
        "INSERT INTO crosswalk FROM crosswalk WHERE source[1] = '39'",
    )
    assert release.verify().verified


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "change",
    [
        # with one more here and one less there both margins would be right
        "INSERT INTO crosswalk SELECT source, record, unnest([1, -1]) FROM crosswalk "
        "WHERE source[1] = '21'",
        "UPDATE crosswalk SET records = NULL WHERE source[1] = '21'",
        "UPDATE crosswalk SET records = 0 WHERE source[1] = '21'",
        "UPDATE crosswalk SET source = list_append(source, 'x') WHERE source[1] = '21'",
        "UPDATE crosswalk SET record = record[:4] WHERE source[1] = '21'",
        "UPDATE crosswalk SET source = NULL WHERE source[1] = '21'",
    ],
    ids=["minus", "null", "zero", "long source", "short record", "null source"],
)
def test_a_malformed_row(change: str) -> None:
    verification = recoded().sql(change).verify()
    assert failed(verification) == {"truthfulness"}
    assert found(verification, "truthfulness") == "not measurable: 1 malformed recodings"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "change",
    [
        SAME.format("array_to_string(source, ',') AS source"),
        SAME.format("records::DOUBLE AS records"),
        "ALTER TABLE crosswalk RENAME record TO rec",
    ],
    ids=["text", "double", "renamed"],
)
def test_another_shape(change: str) -> None:
    verification = recoded().sql(change).verify()
    reason = "not measurable: the list of recodings has another shape"
    assert found(verification, "truthfulness") == reason


# -- the release is not the source, and the crosswalk is told to agree ---------------------------


def agreeing(release: Recoded, change: str) -> Recoded:
    """What is released of each record changed, and release and crosswalk made from it."""
    release.sql(change, "DROP TABLE ward", "DROP TABLE crosswalk", RELEASED, CROSSWALK)
    return release


# What is released otherwise, and what does not hold then.
UNTRUE = {
    "a record invented": (
        "INSERT INTO recoded FROM recoded WHERE age = '21'",
        {"truthfulness", "suppression_limit"},
        {"invented_records": 1},
    ),
    "a record dropped": (
        "DELETE FROM recoded WHERE age = '22'",
        {"truthfulness", "suppression_limit"},
        {"missing_records": 1, "invented_records": 0},
    ),
    "a record twice for another": (
        "UPDATE recoded SET age = '20', dx = 'flu' WHERE age = '21'",
        {"truthfulness", "l_diversity"},
        {"missing_records": 1, "invented_records": 1},
    ),
    "no ancestor": (
        """UPDATE recoded SET shown = 'a@2', lower = 20, upper = 29, shown_sex = '*'
        WHERE age = '39' AND who = 'Lea'""",
        {"truthfulness"},
        {"unmapped_records": 1},
    ),
    "a level that has the label and not the value": (
        "UPDATE recoded SET shown = 'a@1', upper = 24, shown_sex = 'f' WHERE age = '28'",
        {"truthfulness", "k_anonymity", "l_diversity"},
        {"unmapped_records": 1},
    ),
    "a value for NULL": (
        "UPDATE recoded SET shown_sex = 'f' WHERE shown = '25+'",
        {"truthfulness", "dictionary"},
        {"unmapped_records": 2},
    ),
    "NULL for a value": (
        "UPDATE recoded SET shown_sex = NULL WHERE shown = '30'",
        {"truthfulness"},
        {"unmapped_records": 2},
    ),
    "diagnoses exchanged between classes": (
        """UPDATE recoded SET dx = CASE dx WHEN 'flu' THEN 'gout' ELSE 'flu' END
        WHERE (shown, dx) IN (('b', 'flu'), ('a@1', 'gout'))""",
        {"truthfulness", "l_diversity"},
        {"missing_records": 2, "invented_records": 2},
    ),
    "a diagnosis changed": (
        "UPDATE recoded SET dx = 'cold' WHERE age = '22'",
        {"truthfulness"},
        {"missing_records": 1, "invented_records": 1},
    ),
}


@pytest.mark.full
@pytest.mark.parametrize("name", UNTRUE)
def test_a_release_that_is_not_the_source(name: str) -> None:
    change, wrong, told = UNTRUE[name]
    verification = agreeing(recoded(), change).verify()
    assert failed(verification) == wrong
    assert found(verification, "truthfulness") == TRUE | told


def test_only_the_crosswalk_tells_who_is_who() -> None:
    # 22 is released as 21, and 21 as 22: no one can tell, and no one is harmed
    change = """UPDATE recoded SET age = CASE age WHEN '20' THEN '22' ELSE '20' END
    WHERE shown = 'a@1' AND age IN ('20', '22')"""
    assert agreeing(recoded(), change).verify().verified


@pytest.mark.full
def test_the_source_has_changed_since() -> None:
    release = recoded().sql("UPDATE patients SET age = 24 WHERE age = 22")
    verification = release.verify()
    assert failed(verification) == {"truthfulness"}
    told = {"missing_records": 1, "invented_records": 1}
    assert found(verification, "truthfulness") == TRUE | told


@pytest.mark.full
def test_the_source_has_grown_since() -> None:
    verification = recoded().sql("INSERT INTO patients VALUES (24, 'f', 'flu', 'Nell')").verify()
    assert failed(verification) == {"truthfulness"}
    told = {"source_rows": 15, "missing_records": 1}
    assert found(verification, "truthfulness") == TRUE | told


@pytest.mark.full
def test_a_value_that_the_hierarchy_lacks() -> None:
    release = recoded().sql("DELETE FROM hierarchies WHERE value = '22'")
    assert found(release.verify(), "truthfulness") == TRUE | {"unmapped_records": 1}


# -- levels, models and hygiene ------------------------------------------------------------------


def test_a_label_without_its_level() -> None:
    release = agreeing(recoded(), "UPDATE recoded SET shown = 'a' WHERE shown = 'a@2'")
    release.replace(
        """SELECT * REPLACE (CASE released_value WHEN 'a@2' THEN 'a' ELSE released_value END
        AS released_value) FROM ward_dictionary""",
        table="ward_dictionary",
    )
    assert failed(release.verify()) == {"dictionary", "truthfulness"}


def test_labels_whose_levels_are_exchanged() -> None:
    # the release alone cannot know: `a@1` reads as the wider one
    release = recoded().replace(
        """SELECT * REPLACE (CASE level WHEN 1 THEN 2 ELSE 1 END AS level)
        FROM ward_dictionary WHERE released_value LIKE 'a@%'
        UNION ALL FROM ward_dictionary WHERE released_value NOT LIKE 'a@%'
        OR released_value IS NULL""",
        table="ward_dictionary",
    )
    verification = release.verify()
    assert failed(verification) == {"dictionary", "truthfulness"}
    assert found(verification, "truthfulness")["unmapped_records"] == 5


@pytest.mark.full
def test_a_leaf_that_reads_like_a_group_with_its_level() -> None:
    # `a@2` of the dictionary is the group; a patient of that very age is not in it
    release = recoded().sql(
        """INSERT INTO hierarchies SELECT * REPLACE ('a@2' AS value,
        CASE level WHEN 0 THEN 'a@2' ELSE label END AS label) FROM hierarchies
        WHERE hierarchy = 'age' AND value = '39'"""
    )
    assert release.verify().verified
    release.sql(
        "ALTER TABLE patients ALTER COLUMN age TYPE VARCHAR",
        "UPDATE patients SET age = 'a@2' WHERE age = '23'",
        "UPDATE crosswalk SET source = ['a@2', 'f'] WHERE source[1] = '23'",
    )
    verification = release.verify()
    assert failed(verification) == {"truthfulness"}
    assert found(verification, "truthfulness") == TRUE | {"unmapped_records": 1}


# How a dictionary is changed, and what does not hold then, with and without the source.
DICTIONARIES = {
    "a lower level": ("level = 1", {"dictionary", "truthfulness"}, set()),
    "the top": ("level = 3", {"dictionary", "truthfulness"}, {"dictionary"}),
    "no level": (
        "level = 4",
        {"dictionary", "truthfulness", "transformation"},
        {"dictionary", "transformation"},
    ),
    "other bounds": ("lower = '31'", {"dictionary", "bounds"}, {"bounds"}),
    "another value": (
        "released_value = 'c'",
        {"dictionary", "truthfulness", "transformation", "bounds"},
        {"dictionary", "transformation", "bounds"},
    ),
    "leaves that are not declared": ("leaves = ['31']", {"dictionary"}, {"dictionary"}),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", DICTIONARIES)
def test_a_dictionary_that_lies(name: str) -> None:
    change, with_source, without = DICTIONARIES[name]
    release = recoded().sql(f"UPDATE ward_dictionary SET {change} WHERE released_value = 'b'")
    release.replace("FROM ward_dictionary", table="ward_dictionary")
    assert failed(release.verify()) == with_source
    assert failed(release.verify(source=False)) == without


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("limits", "number"),
    [({"age": (1, 3)}, 1), ({"age": (0, 1)}, 3), ({"age": (0, 3), "sex": (0, 1)}, 0)],
)
def test_values_at_levels_that_are_not_allowed(
    limits: dict[str, tuple[int, int]], number: int
) -> None:
    release = recoded().promise(limits=limits)
    for source in (True, False):
        verification = release.verify(source=source)  # type: ignore[call-arg]
        assert failed(verification) == ({"transformation"} if number else set())
        if number:
            text = f"{number} of 6 values stand at no allowed level"
            assert found(verification, "transformation")["age"] == text


@pytest.mark.full
@pytest.mark.parametrize("column", ["age_upper", "age_lower"])
def test_a_bounds_cell_off_by_one(column: str) -> None:
    release = recoded().replace(
        f"SELECT * REPLACE (CASE age WHEN 'b' THEN {column} + 1 ELSE {column} END AS {column})"
        " FROM ward"
    )
    verification = release.verify()
    assert failed(verification) == {"bounds", "truthfulness"}
    assert failed(release.verify(source=False)) == {"bounds"}


@pytest.mark.full
def test_a_class_below_k() -> None:
    verification = recoded().promise(models=(KAnonymity(model="k_anonymity", k=3),)).verify()
    assert failed(verification) == {"k_anonymity"}


@pytest.mark.full
def test_one_class_in_which_l_is_broken() -> None:
    release = recoded().sql(
        *(f"UPDATE {t} SET dx = 'flu' WHERE age = 35" for t in ("known", "patients")),
        "DROP TABLE recoded",
        RECODED,
    )
    verification = agreeing(release, "SELECT 1").verify()
    assert failed(verification) == {"l_diversity"}
    assert found(verification, "l_diversity") == 1


@pytest.mark.full
def test_unsorted_rows() -> None:
    release = recoded().sql("CREATE OR REPLACE TABLE ward AS FROM ward ORDER BY dx, age DESC")
    assert failed(release.verify()) == {"order"}


@pytest.mark.full
def test_an_enumeration() -> None:
    release = recoded().replace(
        "SELECT * REPLACE (CAST(dx AS ENUM ('flu', 'gout', 'secret')) AS dx) FROM ward"
    )
    verification = release.verify()
    assert failed(verification) == {"types"}
    assert detail(verification, "types") == "'dx' is ENUM"


@pytest.mark.full
def test_a_column_is_missing() -> None:
    verification = recoded().replace("SELECT * EXCLUDE (age_upper) FROM ward").verify()
    assert failed(verification) == {"columns"}


def test_names_of_columns_mean_nothing() -> None:
    names = {"age": "source", "sex": "p0", "dx": "t0", "age_lower": "source_lower"}
    names["age_upper"] = "source_upper"
    release = recoded()
    for table in ("ward", "patients"):
        for old, new in names.items():
            if table == "ward" or "_" not in old:
                release.sql(f"ALTER TABLE {table} RENAME {old} TO {new}")
    for table, name in (("ward_dictionary", '"column"'), ("hierarchies", "hierarchy")):
        for old in ("age", "sex"):
            release.sql(f"UPDATE {table} SET {name} = '{names[old]}' WHERE {name} = '{old}'")
    release.replace("FROM ward_dictionary", table="ward_dictionary")
    release.promise(
        columns=tuple(Column(names[c.name], c.type) for c in DECLARED.columns),
        quasi_identifiers=("source", "p0"),
        bounds=("source_lower", "source_upper"),
        models=DECLARED.models[:1],
        tops={"source": 3, "p0": 1},
    )
    verification = release.verify()
    assert verification.verified, verification.failures


# -- subjects ------------------------------------------------------------------------------------


def test_people_are_counted() -> None:
    verification = recoded().of_people().verify()
    assert verification.verified, verification.failures
    assert found(verification, "k_anonymity") == 2
    assert next(p.declared for p in verification.promises)["of"] == "subjects"


def test_a_class_of_two_records_of_one_person() -> None:
    release = recoded(KNOWN.replace("'Emil'", "'Dora'")).of_people()
    verification = release.verify()
    assert failed(verification) == {"k_anonymity", "l_diversity"} & failed(verification)
    assert "k_anonymity" in failed(verification)
    assert found(verification, "k_anonymity") == 1
    release.promise(subject=None)
    assert release.verify().verified


def test_a_crosswalk_that_lies_about_people() -> None:
    # 28 was Dora's too; Emil's number is that of Hanna in another class
    release = recoded(KNOWN.replace("'Emil'", "'Dora'")).of_people()
    release.sql("UPDATE crosswalk SET subject = subject + 1 WHERE source[1] = '28'")
    verification = release.verify()
    assert "truthfulness" in failed(verification)
    assert found(verification, "truthfulness")["missing_records"] == 1


def test_people_without_their_numbers() -> None:
    release = recoded().promise(subject="who")
    assert isinstance(release, Recoded)
    verification = release.verify()
    reason = "not measurable: the list of recodings has another shape"
    assert found(verification, "truthfulness") == reason
    assert not verification.verified


def test_people_without_the_source() -> None:
    verification = recoded().of_people().verify(source=False)
    assert verification.verified
    assert next(p.declared for p in verification.promises)["of"] == "records"
