"""Mutants of a release with counterfeit records: each breaks a promise, which must be named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from counterfeited import FLAGGED, RELEASED, Padded, counterfeited
from handmade import detail, failed

from dbdeid.data.weights import earlier
from dbdeid.engine.relation import Relation
from dbdeid.engine.sqltext import sql
from dbdeid.privacy import LDiversity, TCloseness
from dbdeid.verify import Verification, verify_bare

SUFFIXES = [".duckdb", ".parquet", ".csv"]


def found(verification: Verification, model: str) -> Any:
    return next(p.found for p in verification.promises if p.model == model)


def recatalogued(release: Padded, query: str) -> Padded:
    release.replace(f"FROM ({query})", table="ward_catalog")
    return release


def test_the_release_itself_is_verified() -> None:
    verification = counterfeited().verify()
    assert verification.verified
    assert [p.model for p in verification.promises] == [
        "k_anonymity",
        "transformation",
        "counterfeits",
        "h_ceiling",
        "catalog",
        "lemma_1",
        "candidates",
        "prosecutor_risk",
        "possible_counterfeits",
        "truthfulness",
        "flagged_records",
        "possible_values",
        "catalog_of_flagged",
        "lemma_1_of_flagged",
        "padding",
    ]
    assert found(verification, "h_ceiling") == pytest.approx((9 / 39 + 0) / 2)
    assert found(verification, "prosecutor_risk") == pytest.approx(1 / 3)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_files_of_the_release_are_verified(tmp_path: Path, suffix: str) -> None:
    verification = counterfeited(macros=True).publish(tmp_path / f"ward{suffix}")
    assert verification.verified, verification.failures


# -- P1, P2, class ids -------------------------------------------------------------------------


@pytest.mark.full
def test_a_counterfeit_taken_out_again() -> None:
    release = counterfeited().ranked(
        "SELECT * EXCLUDE (class_id) FROM ward "
        "WHERE NOT (age = '30-39' AND sex = 'm' AND dx IS NULL)"
    )
    verification = release.verify(source=False, flagged=False)
    assert {"k_anonymity", "counterfeits"} <= failed(verification)


@pytest.mark.full
def test_weights_of_the_columns_count_in_the_degree() -> None:
    release = counterfeited().padding(h=0.2, weights={"age": 9.0, "sex": 1.0})
    verification = release.verify()
    assert failed(verification) == {"h_ceiling"}
    assert found(verification, "h_ceiling") == pytest.approx(0.9 * 9 / 39)


def test_too_many_counterfeits_and_a_class_generalized_beyond_h() -> None:
    release = counterfeited().padding(h=0.11, limit=2)
    release.sql("UPDATE hierarchies SET loss = 0")  # the degree comes from leaves
    assert failed(release.verify()) == {"h_ceiling", "counterfeits"}


INTERVALS = """
CREATE OR REPLACE TABLE hierarchies AS
SELECT * REPLACE (
  CASE WHEN hierarchy = 'age' AND level = 1 THEN {} ELSE loss END AS loss,
  CASE WHEN hierarchy = 'age' AND level = 2 THEN NULL ELSE lower END AS lower,
  CASE WHEN hierarchy = 'age' AND level = 2 THEN NULL ELSE upper END AS upper
)
FROM hierarchies
"""


@pytest.mark.full
def test_the_range_of_intervals_is_the_narrowest_that_a_loss_tells() -> None:
    # ages of 0 to 90: nine of ninety, except that one decade tells another range
    release = counterfeited().promise(domains=("sex",))
    release.sql(INTERVALS.format("CASE lower WHEN '30' THEN 0.3 ELSE 0.1 END"))
    assert found(release.verify(), "h_ceiling") == pytest.approx(0.15)
    release = counterfeited().promise(domains=("sex",)).sql(INTERVALS.format("0.1"))
    assert found(release.verify(), "h_ceiling") == pytest.approx(0.05)


@pytest.mark.full
def test_an_open_interval_loses_everything() -> None:
    release = counterfeited().promise(domains=("sex",)).sql(INTERVALS.format("0.1"))
    release.sql("UPDATE hierarchies SET lower = NULL WHERE label = '50-59'")
    release.sql("UPDATE ward_dictionary SET lower = NULL WHERE released_value = '50-59'")
    assert found(release.verify(), "h_ceiling") == pytest.approx(0.5)


@pytest.mark.full
def test_class_ids_that_are_no_rank() -> None:
    release = counterfeited().replace("SELECT * REPLACE (class_id + 1 AS class_id) FROM ward")
    verification = release.verify(source=False, flagged=False)
    assert "class_ids" in failed(verification)
    assert detail(verification, "class_ids").startswith("9 classes")


@pytest.mark.full
def test_one_record_with_the_number_of_another_class() -> None:
    release = counterfeited().replace(
        "SELECT * REPLACE (CASE rowid WHEN 6 THEN 3 ELSE class_id END AS class_id) FROM ward"
    )
    verification = release.verify(source=False, flagged=False)
    assert detail(verification, "class_ids").startswith("1 classes")


# -- P3: the catalog ---------------------------------------------------------------------------


def test_no_catalog() -> None:
    verification = counterfeited().verify(catalog=False)
    assert {"catalog", "lemma_1", "candidates", "truthfulness"} <= failed(verification)


@pytest.mark.full
@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("SELECT * REPLACE (list_reverse(class_ids) AS class_ids) FROM ward_catalog", "malformed"),
        ("SELECT * REPLACE ([2, 2] || class_ids[2:] AS class_ids) FROM ward_catalog", "malformed"),
        ("SELECT * REPLACE (0::BIGINT AS counterfeits) FROM ward_catalog", "malformed"),
        ("SELECT * REPLACE (NULL::BIGINT AS counterfeits) FROM ward_catalog", "malformed"),
        ("FROM ward_catalog UNION ALL FROM ward_catalog", "repeated"),
        ("SELECT * REPLACE (class_ids || [10] AS class_ids) FROM ward_catalog", "unknown_classes"),
        (
            "SELECT * REPLACE (CASE WHEN sensitive_value = 'flu' THEN class_ids[2:] "
            "ELSE class_ids END AS class_ids) FROM ward_catalog",
            "overlapping",
        ),
        ("SELECT * REPLACE (8::BIGINT AS counterfeits) FROM ward_catalog", "excessive"),
        ("SELECT * REPLACE ('ague' AS sensitive_value) FROM ward_catalog LIMIT 1", "excessive"),
    ],
)
def test_a_catalog_that_cannot_be_true(query: str, kind: str) -> None:
    release = recatalogued(counterfeited(), query)
    verification = release.verify(source=False, flagged=False)
    assert "catalog" in failed(verification)
    assert found(verification, "catalog")[kind]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "query",
    [
        "SELECT *, 'secret' AS note FROM ward_catalog",
        "SELECT * REPLACE (class_ids::INTEGER[] AS class_ids) FROM ward_catalog",
        "SELECT * EXCLUDE (counterfeits) FROM ward_catalog",
        "SELECT * REPLACE (sensitive_value::ENUM ('flu', 'gout') AS sensitive_value) "
        "FROM ward_catalog",
    ],
)
def test_a_catalog_of_another_shape(query: str) -> None:
    release = recatalogued(counterfeited(), query)
    verification = release.verify(source=False, flagged=False)
    assert {"catalog", "prosecutor_risk"} <= failed(verification)
    assert "secret" not in str(verification.to_dict())


@pytest.mark.full
def test_an_unsorted_or_commented_catalog() -> None:
    release = counterfeited()
    release.sql("CREATE OR REPLACE TABLE ward_catalog AS FROM ward_catalog ORDER BY ALL DESC")
    assert failed(release.verify()) == {"order"}
    release = counterfeited().sql("COMMENT ON TABLE ward_catalog IS 'by Ann'")
    assert failed(release.verify()) == {"comments"}


@pytest.mark.full
def test_a_default_in_the_catalog() -> None:
    release = counterfeited()
    release.sql("ALTER TABLE ward_catalog ALTER counterfeits SET DEFAULT 7")
    assert failed(release.verify()) == {"definition"}


def test_a_catalog_where_none_is_declared() -> None:
    release = counterfeited().padding(catalog="none")
    assert "catalog" in failed(release.verify(flagged=False, source=False))


def test_a_release_without_a_catalog_is_held_to_the_rest() -> None:
    verification = counterfeited().padding(catalog="none").verify(catalog=False)
    assert verification.verified
    assert {p.model for p in verification.promises} == {
        "k_anonymity",
        "transformation",
        "counterfeits",
        "h_ceiling",
        "truthfulness",
        "flagged_records",
        "possible_values",
        "padding",
    }


def test_fewer_in_the_catalog_than_were_added() -> None:
    release = recatalogued(counterfeited(), "FROM ward_catalog LIMIT 2")
    verification = release.verify(source=False, flagged=False)
    assert failed(verification) == {"counterfeits", "prosecutor_risk"}  # strict: one value is surer


# -- P4 to P7 ----------------------------------------------------------------------------------


def of_one_class(release: Padded, classes: str, *, counterfeits: int = 1) -> Padded:
    """The catalog with a group of these classes, and so many counterfeits with flu in it."""
    return recatalogued(
        release,
        f"SELECT CAST({classes} AS BIGINT[]) AS class_ids, 'flu' AS sensitive_value,"
        f" CAST({counterfeits} AS BIGINT) AS counterfeits",
    )


@pytest.mark.full
def test_a_group_that_betrays_its_counterfeit() -> None:
    verification = of_one_class(counterfeited(), "[8]").verify(source=False, flagged=False)
    assert {"lemma_1", "candidates", "prosecutor_risk"} <= failed(verification)


@pytest.mark.full
def test_a_group_with_classes_that_are_known_to_be_clean() -> None:
    # class 9 has five records: lemma 1 holds beside it, and who knows the method is not misled
    release = of_one_class(counterfeited(), "[8, 9]")
    verification = release.verify(source=False, flagged=False)
    assert "lemma_1" not in failed(verification)
    assert {"candidates", "prosecutor_risk"} <= failed(verification)
    assert found(verification, "candidates") == {
        "certain": 1,
        "exhausted": 1,
        "known_clean": 1,
    }


@pytest.mark.full
def test_a_clean_class_in_a_group_of_candidates() -> None:
    # nothing becomes certain, but the weights of its records are not what is known of them
    release = recatalogued(
        counterfeited(), "SELECT * REPLACE (class_ids || [9] AS class_ids) FROM ward_catalog"
    )
    verification = release.verify()
    assert failed(verification) == {"candidates"}
    assert found(verification, "candidates")["known_clean"] == 1


def test_groups_of_the_paper_are_measured_and_do_not_promise() -> None:
    release = of_one_class(counterfeited(), "[8, 9]").padding(catalog="paper")
    verification = release.verify(source=False, flagged=False)
    assert failed(verification) == {"counterfeits"}
    assert found(verification, "candidates")["certain"] == 1
    declared = {p.model: p.declared for p in verification.promises}
    assert declared["candidates"] == declared["prosecutor_risk"] == {"promised": False}


def test_lemma_1_is_promised_by_the_paper_too() -> None:
    release = of_one_class(counterfeited(), "[8]").padding(catalog="paper")
    assert "lemma_1" in failed(release.verify(source=False, flagged=False))


@pytest.mark.full
def test_all_records_with_a_value_are_counterfeit() -> None:
    release = of_one_class(counterfeited(), "[2, 3, 5, 6, 7, 8]", counterfeits=6)
    assert found(release.verify(source=False, flagged=False), "candidates")["exhausted"] == 1


@pytest.mark.full
def test_a_value_that_becomes_sure() -> None:
    # of seven records with flu three are counterfeit: the others of a class are likelier real
    # (with one counterfeit they are not, see below)
    release = counterfeited().padding(strict=False)
    release = of_one_class(release, "[2, 3, 4, 5, 6, 7, 8]", counterfeits=3)
    verification = release.verify(source=False, flagged=False)
    assert found(verification, "prosecutor_risk") == pytest.approx(1 / (2 + 4 / 7))
    assert "prosecutor_risk" in failed(verification)


@pytest.mark.full
@pytest.mark.parametrize(("strict", "holds"), [(True, False), (False, True)])
def test_the_bound_of_the_risk(strict: bool, holds: bool) -> None:
    release = of_one_class(counterfeited().padding(strict=strict), "[2, 3, 4, 5, 6, 7, 8]")
    verification = release.verify(source=False, flagged=False)
    assert found(verification, "prosecutor_risk") == pytest.approx(1 / (2 + 6 / 7))
    assert ("prosecutor_risk" not in failed(verification)) == holds


@pytest.mark.full
def test_more_counterfeits_than_the_candidates_can_hold() -> None:
    release = recatalogued(
        counterfeited(),
        "SELECT CAST([8] AS BIGINT[]) AS class_ids, "
        "unnest(['flu', 'gout', NULL]) AS sensitive_value, 1::BIGINT AS counterfeits",
    )
    verification = release.verify(source=False, flagged=False)
    assert "possible_counterfeits" in failed(verification)


@pytest.mark.full
def test_a_larger_size_than_k_changes_who_can_be_padded() -> None:
    # only class 1 has four records: none of the group could have been padded
    verification = counterfeited().padding(size=4).verify(source=False, flagged=False)
    assert found(verification, "candidates")["exhausted"] == 3


# -- the owner's side --------------------------------------------------------------------------


def test_no_list_of_counterfeits() -> None:
    assert failed(counterfeited().verify(flagged=False)) == {"truthfulness"}


def test_a_real_record_changed() -> None:
    # as many diagnoses of each kind stay: only the wing of one record is another
    release = counterfeited().replace(
        "SELECT * REPLACE (CASE WHEN class_id = 9 AND dx IS NULL THEN 'east' ELSE wing END "
        "AS wing) FROM ward"
    )
    verification = release.verify()
    assert failed(verification) == {"truthfulness"}
    assert found(verification, "truthfulness")["invented_records"] == 1


@pytest.mark.full
def test_a_real_record_missing_and_an_invented_one_in_its_place() -> None:
    release = counterfeited().sql("INSERT INTO patients VALUES (58, 'm', 'east', 'flu')")
    release.promise(source_rows=28).padding(limit=9)
    assert "truthfulness" in failed(release.verify())


@pytest.mark.full
def test_a_flag_of_a_record_that_is_not_released() -> None:
    release = counterfeited().sql(
        "UPDATE flagged SET record = ['8', '50-59', 'f', 'west', 'flu'] WHERE record[5] = 'flu'"
    )
    assert failed(release.verify()) == {"truthfulness", "flagged_records"}


def test_a_real_record_flagged_instead() -> None:
    release = counterfeited().sql(
        "UPDATE flagged SET record = ['8', '50-59', 'f', 'north', NULL] WHERE record[5] = 'flu'"
    )
    verification = release.verify()
    assert failed(verification) == {"truthfulness", "catalog_of_flagged"}
    assert found(verification, "truthfulness")["invented_records"] == 1


@pytest.mark.full
def test_a_flag_too_many() -> None:
    release = counterfeited().sql(
        "INSERT INTO flagged VALUES (['9', '50-59', 'm', 'north', NULL], 1)"
    )
    verification = release.verify()
    assert failed(verification) == {
        "truthfulness",
        "flagged_records",
        "catalog_of_flagged",
        "padding",
    }
    assert found(verification, "catalog_of_flagged")["classes_outside_groups"] == 1


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", ["NULL", "0", "-1"])
def test_flags_without_a_number(number: str) -> None:
    release = counterfeited().sql(f"UPDATE flagged SET counterfeits = {number}")
    assert "flagged_records" in failed(release.verify())


def test_flags_of_another_shape() -> None:
    release = counterfeited().sql("ALTER TABLE flagged RENAME counterfeits TO many")
    assert failed(release.verify()) == {"truthfulness"}


@pytest.mark.full
def test_a_catalog_that_counts_other_values() -> None:
    release = recatalogued(
        counterfeited(),
        "SELECT * REPLACE (CASE sensitive_value WHEN 'flu' THEN 2 ELSE counterfeits END::BIGINT "
        "AS counterfeits) FROM ward_catalog WHERE sensitive_value IS NOT NULL",
    ).padding(strict=False)
    verification = release.verify()
    assert failed(verification) == {"catalog_of_flagged", "prosecutor_risk"}
    assert found(verification, "catalog_of_flagged")["miscounted"] == 2


def test_a_padded_class_in_no_group() -> None:
    release = recatalogued(
        counterfeited(), "SELECT * REPLACE (class_ids[:6] AS class_ids) FROM ward_catalog"
    ).padding(strict=False)
    verification = release.verify()
    assert failed(verification) == {"catalog_of_flagged"}
    assert found(verification, "catalog_of_flagged") == {
        "miscounted": 2,
        "classes_outside_groups": 1,
        "levels_never_padded": 0,
    }


def test_values_that_no_real_record_has_together() -> None:
    # as many women with east as with west, and men with west only: of these so many that by chance
    # more than six would have the east
    release = counterfeited().sql(
        "CREATE OR REPLACE TABLE patients AS "
        "SELECT p.* FROM (SELECT * FROM patients WHERE sex = 'f' OR wing = 'west') AS p, range(8)",
        "CREATE OR REPLACE TABLE counterfeits AS "
        "VALUES ('20-29', 'm', 'east', 'flu'), ('20-29', 'f', 'east', 'flu')",
        "ALTER TABLE counterfeits RENAME col0 TO age",
        "ALTER TABLE counterfeits RENAME col1 TO sex",
        "ALTER TABLE counterfeits RENAME col2 TO wing",
        "ALTER TABLE counterfeits RENAME col3 TO dx",
        "DROP TABLE ward",
        "DROP TABLE flagged",
        RELEASED,
        FLAGGED,
    )
    verification = release.verify()
    assert "possible_values" in failed(verification)
    assert found(verification, "possible_values") == {"impossible": 1}
    assert "possible_values" not in failed(release.padding(catalog="paper").verify())


# A counterfeit record of the release, a woman in her fifties with the flu, and no patient.
FIFTIES = tuple(str(age) for age in range(50, 60))
DECLARED_IMPOSSIBLE = ({"age": FIFTIES, "sex": ("f",), "dx": ("flu",)},)


def test_a_counterfeit_record_of_a_declared_combination() -> None:
    verification = counterfeited().padding(impossible=DECLARED_IMPOSSIBLE).verify()
    assert failed(verification) == {"impossible_combinations"}
    assert found(verification, "impossible_combinations") == {
        "counterfeits": 1,
        "more_than_in_the_source": 1,
    }


def test_a_combination_by_its_released_value_and_without_the_source() -> None:
    label = ({"age": ("50-59",), "sex": ("f",), "dx": ("flu", "gout")},)
    verification = counterfeited().padding(impossible=label).verify(source=False)
    assert found(verification, "impossible_combinations") == {
        "counterfeits": 2,
        "more_than_in_the_source": 0,
    }


def test_a_counterfeit_record_of_a_combination_that_is_not_listed_as_counterfeit() -> None:
    release = counterfeited().padding(impossible=DECLARED_IMPOSSIBLE)
    release.sql("DELETE FROM flagged WHERE record[5] = 'flu'")
    assert found(release.verify(), "impossible_combinations") == {
        "counterfeits": 0,
        "more_than_in_the_source": 1,
    }


@pytest.mark.parametrize(
    "combination",
    [
        # patients have it, and no counterfeit record
        {"age": tuple(str(age) for age in range(20, 30)), "dx": ("flu",)},
        {"sex": ("m",), "wing": ("east",)},
        # the decade holds ages that are not declared
        {"age": FIFTIES[1:], "sex": ("f",), "dx": ("flu",)},
    ],
)
def test_combinations_that_no_counterfeit_record_has(
    combination: dict[str, tuple[str, ...]],
) -> None:
    verification = counterfeited().padding(impossible=(combination,)).verify()
    assert verification.verified
    assert found(verification, "impossible_combinations") == {
        "counterfeits": 0,
        "more_than_in_the_source": 0,
    }


@pytest.mark.full
def test_lemma_1_of_the_flags() -> None:
    # a group of the paper: flu in class 8 is counterfeit, and no other class of the group has any
    release = of_one_class(counterfeited(), "[8]").padding(catalog="paper")
    assert "lemma_1_of_flagged" in failed(release.verify())
    release = of_one_class(counterfeited(), "[8, 9]").padding(catalog="paper")
    assert "lemma_1_of_flagged" not in failed(release.verify())


@pytest.mark.full
def test_a_large_class_padded() -> None:
    release = (
        counterfeited()
        .padding(limit=4)
        .sql(
            "INSERT INTO counterfeits VALUES ('50-59', 'm', 'east', 'flu')",
            "DROP TABLE ward; DROP TABLE ward_catalog; DROP TABLE flagged",
        )
    )
    from counterfeited import CATALOG, FLAGGED, RELEASED

    release.sql(RELEASED, CATALOG, FLAGGED)
    verification = release.verify()
    assert found(verification, "padding") == {"classes_unlike": 1}


@pytest.mark.full
def test_a_class_of_counterfeits_alone() -> None:
    release = counterfeited().sql("DELETE FROM patients WHERE age = 50")
    release.sql(
        "INSERT INTO flagged VALUES (['8', '50-59', 'f', 'north', NULL], 1)",
    ).promise(source_rows=26)
    verification = release.padding(limit=9).verify()
    assert "padding" in failed(verification)
    assert "truthfulness" not in failed(verification)


@pytest.mark.full
def test_unlike_sizes_of_padded_classes() -> None:
    release = counterfeited().padding(k=2)  # the class of two real records was padded nevertheless
    assert "padding" in failed(release.promise(models=()).verify())


# -- models over sensitive columns ---------------------------------------------------------------


@pytest.mark.full
def test_sensitive_models_are_measured_with_the_counterfeits() -> None:
    models = (
        LDiversity(model="l_diversity", column="dx", kind="distinct", l=3),
        TCloseness(model="t_closeness", column="dx", t=0.13),
    )
    release = counterfeited().promise(
        models=(*counterfeited().declared.models, *models),
        as_written=("dx",),  # what is expected by hand takes NULL for a value
    )
    verification = release.verify()
    assert verification.verified, verification.failures
    assert found(verification, "l_diversity") == 3
    # 20-29, f: two of four with flu, beside 10 of 27
    assert found(verification, "t_closeness") == pytest.approx(0.5 - 10 / 27)


def test_a_counterfeit_value_that_the_source_does_not_have() -> None:
    models = (TCloseness(model="t_closeness", column="dx", t=0.5),)
    release = counterfeited().promise(models=models)
    release.replace(
        "SELECT * REPLACE (CASE dx WHEN 'gout' THEN 'ague' ELSE dx END AS dx) FROM ward"
    )
    assert "t_closeness" in failed(release.verify())


# -- nothing sensitive ---------------------------------------------------------------------------


def without_sensitive() -> Padded:
    """The release with a catalog that counts records alone."""
    release = counterfeited().padding(sensitive=None)
    return recatalogued(
        release,
        "SELECT class_ids, NULL::VARCHAR AS sensitive_value,"
        " sum(counterfeits)::BIGINT AS counterfeits FROM ward_catalog GROUP BY ALL",
    )


def test_a_catalog_of_records_alone(tmp_path: Path) -> None:
    verification = without_sensitive().verify()
    assert verification.verified, verification.failures
    assert found(verification, "prosecutor_risk") == pytest.approx(1 / 3)
    verification = without_sensitive().publish(tmp_path / "ward.duckdb")
    assert verification.verified, verification.failures


# -- what a file may hold ------------------------------------------------------------------------


def test_a_file_without_a_view_and_with_a_comment_on_the_other(tmp_path: Path) -> None:
    comment = "COMMENT ON VIEW ward_weighted IS 'by Ann'"
    path = tmp_path / "ward.duckdb"
    verification = counterfeited().publish(path, "DROP VIEW ward_truthful", comment)
    assert failed(verification) == {"views", "comments", "storage"}  # it is still among the bytes
    assert detail(verification, "views") == "not as shipped: 'ward_truthful'"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "statement",
    [
        "CREATE OR REPLACE VIEW ward_weighted AS SELECT *, 1::DOUBLE AS weight FROM ward",
        "CREATE OR REPLACE VIEW ward_weighted AS SELECT *, (1)::DOUBLE AS weight, 'secret' AS x "
        "FROM ward",
        "CREATE OR REPLACE TABLE ward_kept AS FROM ward_weighted; DROP VIEW ward_weighted;"
        "ALTER TABLE ward_kept RENAME TO ward_weighted",
    ],
)
def test_a_view_with_another_text(tmp_path: Path, statement: str) -> None:
    verification = counterfeited().publish(tmp_path / "ward.duckdb", statement)
    assert "views" in failed(verification)
    assert "secret" not in str(verification.to_dict())


@pytest.mark.full
def test_a_third_view(tmp_path: Path) -> None:
    path = tmp_path / "ward.duckdb"
    verification = counterfeited().publish(path, "CREATE VIEW all_of_it AS FROM ward_catalog")
    assert failed(verification) == {"objects", "storage"}  # with the catalog of before


@pytest.mark.sampled(2)
def test_views_of_an_earlier_version_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = counterfeited()
    padding, names = release.declared.padding, [c.name for c in release.declared.columns]
    assert padding is not None
    both = earlier(Relation("ward"), Relation("ward_catalog"), padding.sensitive, names)
    texts = dict(zip(release.views(), map(sql, both), strict=True))
    assert texts != release.views()
    monkeypatch.setattr(Padded, "views", lambda _: texts)
    assert release.publish(tmp_path / "ward.duckdb").verified


@pytest.mark.parametrize("view", ["ward_weighted", "ward_truthful"])
def test_a_shipped_text_that_gives_other_rows(
    tmp_path: Path, view: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the shipped statements were wrong: the rows are recomputed by themselves."""
    from dbdeid.data import weights
    from dbdeid.verify.padding import views

    release = counterfeited()
    shown = {
        "ward_weighted": "SELECT *, CAST(0.5 AS DOUBLE) AS weight FROM ward",
        "ward_truthful": "SELECT * FROM ward",
    }
    texts = release.views() | {view: shown[view]}

    def wrong(name: str) -> Any:
        import sqlglot

        return lambda *_: sqlglot.parse_one(texts[name], dialect="duckdb")

    assert views.weighted is weights.weighted
    monkeypatch.setattr(views, "weighted", wrong("ward_weighted"))
    monkeypatch.setattr(views, "truthful", wrong("ward_truthful"))
    monkeypatch.setattr(Padded, "views", lambda _: texts)
    verification = release.publish(tmp_path / "ward.duckdb")
    assert failed(verification) == {"views"}
    assert view in detail(verification, "views")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_with_a_betraying_catalog(tmp_path: Path, suffix: str) -> None:
    verification = of_one_class(counterfeited(), "[8]").publish(tmp_path / f"ward{suffix}")
    assert {"lemma_1", "candidates", "prosecutor_risk"} <= failed(verification)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_with_another_catalog_than_was_verified(tmp_path: Path, suffix: str) -> None:
    from dbdeid.engine.duckdb.session import Session
    from dbdeid.verify import contents, verify_file

    release = counterfeited().padding(strict=False)
    with Session.over(release.con, None, read_only=False) as session:
        tables = Relation("ward"), Relation("ward_catalog")
        verified = contents(session, release.declared, tables[0], None, tables[1])
    swapped = (
        "SELECT * REPLACE (CASE sensitive_value WHEN 'flu' THEN 2 ELSE 1 END::BIGINT "
        "AS counterfeits) FROM ward_catalog WHERE sensitive_value IS NOT NULL"
    )
    found_ = {}
    for name, query in (("same", "FROM ward_catalog"), ("other", swapped)):
        recatalogued(release, query)
        (tmp_path / name).mkdir()
        path = tmp_path / name / f"ward{suffix}"
        release.write(path)
        beside = ["ward_dictionary", "ward_catalog"]
        if suffix != ".duckdb":
            beside = [str(path.with_name(f"{table}{suffix}")) for table in beside]
        found_[name] = verify_file(
            path,
            release.declared,
            dictionary=beside[0],
            catalog=beside[1],
            same_as=verified,
        )
    assert found_["same"].verified
    assert "catalog_content" in failed(found_["other"])


def test_a_file_by_itself_may_have_catalog_and_views(tmp_path: Path) -> None:
    path = tmp_path / "ward.duckdb"
    counterfeited(macros=True).write(path)
    assert verify_bare(path, ("age", "sex"), 3).verified
    without_sensitive().write(path.with_name("other.duckdb"))
    assert verify_bare(path.with_name("other.duckdb"), ("age", "sex"), 3).verified


@pytest.mark.full
def test_a_foreign_view_in_a_file_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "ward.duckdb"
    text = "CREATE OR REPLACE VIEW ward_weighted AS SELECT *, 1 AS weight FROM ward"
    counterfeited().write(path, text)
    assert failed(verify_bare(path, ("age", "sex"), 3)) == {"objects", "storage"}
