"""Releases of synthetic records: what is true is found true, and every lie is caught."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from condensed import Condensed, condensed, promise
from handmade import failed

from dbdeid.verify import verify_file
from dbdeid.verify.base.declaration import Chance


@pytest.fixture
def release() -> Condensed:
    return condensed()


def test_an_honest_release_holds_all_that_it_promises(release: Condensed) -> None:
    found = release.verify()
    assert failed(found) == set()
    assert [p.model for p in found.promises] == [
        *("synthetic_records", "cluster_size", "clusters", "strata", "category_counts"),
        *("responses", "missing_values", "values", "copies", "copies_in_trial"),
    ]
    assert promise(found, "cluster_size").found == 10


def test_without_the_source_nothing_is_said_of_clusters(release: Condensed) -> None:
    found = release.verify(source=False)
    assert found.verified
    assert [p.model for p in found.promises] == ["synthetic_records"]


def test_without_the_table_of_clusters_it_is_not_verified(release: Condensed) -> None:
    found = release.verify(clusters=False)
    assert failed(found) == {"cluster_size"}
    assert promise(found, "cluster_size").found.startswith("not measurable")


# What is done to release, source or clusters, and which promises it breaks.
LIES = {
    "a cluster split below k": (
        ["UPDATE clusters SET cluster = 9 WHERE cluster = 3 AND record[1] > '55'"],
        {"cluster_size", "category_counts", "responses"},
    ),
    "two records moved to another cluster on one side": (
        ["UPDATE clusters SET cluster = 1 WHERE side = 'source' AND cluster = 0 AND rowid < 2"],
        {"cluster_size", "clusters", "category_counts", "responses", "missing_values"},
    ),
    "an original record that no cluster has": (
        ["DELETE FROM clusters WHERE side = 'source' AND cluster = 2 AND record[1] = '44'"],
        {"cluster_size", "clusters", "category_counts", "responses", "missing_values"},
    ),
    "a record of a cluster that the source does not have": (
        [
            "UPDATE clusters SET record = list_concat(['31'], record[2:]) "
            "WHERE side = 'source' AND cluster = 3 AND record[1] = '45'"
        ],
        {"clusters"},
    ),
    "a released record that no cluster has": (
        ["UPDATE ward SET age = 35 WHERE age = 36 AND NOT died"],
        {"clusters"},
    ),
    "a released record less": (
        ["DELETE FROM ward WHERE rowid = 0"],
        {"synthetic_records", "clusters"},
    ),
    "a released record twice": (
        ["INSERT INTO ward FROM ward LIMIT 1"],
        {"synthetic_records", "clusters"},
    ),
    "another source": (["UPDATE patients SET age = age + 1 WHERE patient = 4"], {"clusters"}),
    "a source that grew": (["INSERT INTO patients FROM patients LIMIT 1"], {"clusters"}),
    "malformed clusters": (
        ["UPDATE clusters SET records = NULL WHERE rowid = 0"],
        {"cluster_size"},
    ),
    "clusters of a third side": (
        ["UPDATE clusters SET side = 'both' WHERE rowid = 0"],
        {"cluster_size"},
    ),
    "records without a cluster": (
        ["UPDATE clusters SET cluster = NULL WHERE rowid = 0"],
        {"cluster_size"},
    ),
    "rows of another length": (
        ["UPDATE clusters SET record = record[2:] WHERE rowid = 0"],
        {"cluster_size"},
    ),
    "clusters of another shape": (["ALTER TABLE clusters DROP COLUMN side"], {"cluster_size"}),
}

# What is drawn otherwise, told alike in release and clusters, and which promises it breaks.
REDRAWN = {
    "a record of another stratum": (
        "UPDATE drawn SET died = false WHERE rowid = 0",
        {"strata", "category_counts"},
    ),
    "two clusters of two strata swap a record": (
        "UPDATE drawn SET died = NOT died WHERE cluster IN (0, 2) AND age IN (33, 35)",
        {"strata", "category_counts"},
    ),
    "a category too often": (
        "UPDATE drawn SET sex = 'f' WHERE rowid = (SELECT min(rowid) FROM drawn WHERE sex = 'm')",
        {"category_counts"},
    ),
    "a category missing": (
        "UPDATE drawn SET sex = NULL WHERE rowid = (SELECT min(rowid) FROM drawn WHERE sex = 'm')",
        {"category_counts"},
    ),
    "two clusters swap a category": (
        "UPDATE drawn SET sex = CASE cluster WHEN 0 THEN 'f' ELSE 'm' END WHERE rowid IN ("
        "SELECT min(rowid) FROM drawn WHERE cluster = 0 AND sex = 'm' "
        "UNION ALL SELECT min(rowid) FROM drawn WHERE cluster = 1 AND sex = 'f')",
        {"category_counts"},
    ),
    "a rare category that was to be pooled": (
        "UPDATE drawn SET ward = 'east' WHERE rowid = ("
        "SELECT min(rowid) FROM drawn WHERE ward = 'other')",
        {"category_counts", "values"},
    ),
    "a category of nobody": (
        "UPDATE drawn SET sex = 'x' WHERE rowid = (SELECT min(rowid) FROM drawn WHERE sex = 'm')",
        {"category_counts", "values"},
    ),
    "another response": (
        "UPDATE drawn SET admitted = DATE '2020-01-08' WHERE rowid = 5",
        {"responses"},
    ),
    "a number missing": (
        "UPDATE drawn SET age = NULL WHERE rowid = (SELECT min(rowid) FROM drawn WHERE age = 36)",
        {"missing_values"},
    ),
    "a number made up for one that is missing": (
        "UPDATE drawn SET age = 36 WHERE rowid = (SELECT min(rowid) FROM drawn WHERE age IS NULL)",
        {"missing_values"},
    ),
    "a number beyond the source's": (
        "UPDATE drawn SET age = 61 WHERE rowid = (SELECT min(rowid) FROM drawn WHERE age = 36)",
        {"values"},
    ),
    "a date before the source's": (
        "UPDATE drawn SET admitted = DATE '2019-12-31' WHERE rowid = 3",
        {"responses", "values"},
    ),
    "no number at all": ("UPDATE drawn SET side = 'nan' WHERE rowid = 3", {"values"}),
    "all rows copied": (
        "CREATE OR REPLACE TABLE drawn AS SELECT patient // 10 AS cluster, age, sex, "
        "CASE WHEN ward IN ('north', 'south') OR ward IS NULL THEN ward ELSE 'other' END AS ward, "
        "admitted, died, side FROM patients",
        {"copies"},
    ),
}


@pytest.mark.sampled(9)
@pytest.mark.parametrize("lie", LIES)
def test_every_lie_about_clusters_is_caught(release: Condensed, lie: str) -> None:
    statements, broken = LIES[lie]
    found = release.sql(*statements).replace("FROM ward")  # type: ignore[attr-defined]
    assert failed(found.verify()) == broken


@pytest.mark.sampled(9)
@pytest.mark.parametrize("lie", REDRAWN)
def test_every_other_draw_is_caught(release: Condensed, lie: str) -> None:
    statement, broken = REDRAWN[lie]
    assert failed(release.redrawn(statement).verify()) == broken


def test_only_what_a_variant_keeps_is_asked_of_it(release: Condensed) -> None:
    release.synthesized(exact=False, counts=False, nulls=False)
    release.redrawn(
        "UPDATE drawn SET sex = 'f', age = 40, admitted = DATE '2020-01-08' WHERE cluster = 1"
    )
    assert release.verify().verified


def test_strata_that_were_joined_may_share_a_cluster(release: Condensed) -> None:
    release.sql("UPDATE patients SET died = patient < 25").redrawn(
        "UPDATE drawn SET died = false",
        "UPDATE drawn SET died = true WHERE cluster < 2 OR (cluster = 2 AND rowid % 2 = 0)",
    )
    assert "strata" in failed(release.verify())
    assert release.synthesized(merged=True).verify().verified
    release.redrawn("UPDATE drawn SET died = true WHERE cluster = 3 AND age = 36")
    assert "strata" in failed(release.verify())


def test_ties_of_pooled_categories_go_to_the_first_in_order(release: Condensed) -> None:
    # ten each of three: the first two in their order stay
    release.sql(
        "UPDATE patients SET ward = CASE patient % 4 WHEN 0 THEN 'c' WHEN 1 THEN 'a' "
        "WHEN 2 THEN 'b' END"
    ).redrawn(
        "CREATE OR REPLACE TABLE drawn AS SELECT patient // 10 AS cluster, age, sex, "
        "CASE ward WHEN 'c' THEN 'other' ELSE ward END AS ward, admitted, died, side FROM patients"
    )
    release.synthesized(chance=None)
    assert release.verify().verified
    release.redrawn(
        "UPDATE drawn SET ward = CASE ward WHEN 'other' THEN 'b' WHEN 'b' THEN 'other' "
        "ELSE ward END"
    )
    assert failed(release.verify()) == {"category_counts"}


def test_nothing_is_promised_of_copies_without_a_trial(release: Condensed) -> None:
    names = [p.model for p in release.synthesized(chance=None).verify().promises]
    assert not {"copies", "copies_in_trial"} & set(names)


def test_members_that_come_back_in_the_trial_are_caught(release: Condensed) -> None:
    chance = Chance(others=4000, hit_others=20, members=4000, hit_members=1200)
    assert failed(release.synthesized(chance=chance).verify()) == {"copies_in_trial"}


def test_rows_that_are_not_unique_do_not_count_as_copies(release: Condensed) -> None:
    alike = "age = 40, sex = 'm', ward = 'north', side = 0, admitted = DATE '2020-01-01'"
    release.sql(f"UPDATE patients SET {alike}").redrawn(f"UPDATE drawn SET {alike}")
    found = release.verify()
    assert found.verified
    assert promise(found, "copies").found == {"unique_rows": 0, "reproduced": 0}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("ending", [".duckdb", ".parquet", ".csv"])
def test_a_file_is_verified_without_its_clusters(
    release: Condensed, tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"ward{ending}"
    if ending == ".duckdb":
        release.sql(
            f"ATTACH '{path}' AS published (STORAGE_VERSION 'v1.2.0')",
            "CREATE TABLE published.ward AS FROM ward ORDER BY ALL",
            "DETACH published",
        )
    else:
        form = "FORMAT parquet" if ending == ".parquet" else "FORMAT csv"
        release.sql(f"COPY ward TO '{path}' ({form})")
    found = verify_file(path, release.declared, dictionary=None)
    assert failed(found) <= {"objects", "parquet", "storage"}, found.failures
    assert promise(found, "synthetic_records").holds


def test_names_of_columns_meet_none_of_the_verifiers(release: Condensed) -> None:
    names = dict(
        zip(("age", "sex", "ward", "admitted"), ("cluster", "side_", "c0", "records"), strict=True)
    )
    for (old, new), table in product(names.items(), ("patients", "ward")):
        release.sql(f"ALTER TABLE {table} RENAME {old} TO {new}")
    columns = tuple(replace(c, name=names.get(c.name, c.name)) for c in release.declared.columns)
    release.promise(columns=columns).synthesized(  # type: ignore[attr-defined]
        response="records", categories=("side_", "c0", "died"), pooled={"c0": 2}
    )
    assert release.verify().verified
