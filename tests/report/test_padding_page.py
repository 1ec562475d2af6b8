"""What a page says of records that are not true, and what of it the public may know."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from records import full, moved, padded, public, render

from dbdeid.methods.counterfeit.draws import ALLOWED_RISK
from dbdeid.report.content import padding


def text(record: Any, audience: Any) -> str:
    """The words of a page, without its charts."""
    page = re.sub(r"(?s)<style>.*?</style>|<svg.*?</svg>", "", render(record, audience))
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)))


@pytest.mark.full
@pytest.mark.parametrize("audience", ["internal", "public"])
@pytest.mark.parametrize("catalog", ["pool", "paper"])
def test_a_page_says_what_k_means_and_how_to_use_the_catalog(audience: Any, catalog: str) -> None:
    page = text(padded(catalog=catalog), audience)
    assert page.count("k = 5 counting counterfeits; prosecutor risk 1.06/5") >= 2
    for words in (
        *("895 of 31,057 (2.9%); 30,162 are real", "at most 10% of the records of the source"),
        *("6 records; 303 of 397 classes may have been", "0.3; the greatest degree", "0.2801"),
        *("adult_public_catalog", "FROM adult_public_weighted", "adult_public_truthful"),
        *("Counterfeit records count.", "Counterfeit records count here as members"),
        "none: this method takes no record out",
    ):
        assert words in page
    assert ("who knows it can tell many counterfeit records for certain" in page) == (
        catalog == "paper"
    )
    assert ("warning" in page) == (catalog == "paper")


def test_the_public_page_holds_what_release_and_catalog_tell() -> None:
    page = text(padded(), "public")
    for secret in (
        "3,016",
        "3016",
        "0.275",
        "9,876",
        "918273645",
        "30,162 records of",
        "adult.parquet",
    ):
        assert secret not in page
    internal = text(padded(), "internal")
    for figure in ("3,016", "0.275", "9,876"):
        assert figure in internal
    assert "at most = 0.22 0.2117" in page
    assert "h = 0.3 0.2801" in page


@pytest.mark.full
def test_without_a_catalog_the_public_cannot_tell_how_many_are_real() -> None:
    page = text(padded(catalog="none"), "public")
    for secret in ("895", "30,162", "30162", "3,016", "303", "1.06", "0.212", "2.9%", "6 records"):
        assert secret not in page
    assert "31,057 records, an untold number of them counterfeit" in page
    assert "k = 5 counting counterfeits; prosecutor risk at most 1.10/5" in page
    assert "_weighted" not in page
    assert "895 of 31,057" in text(padded(catalog="none"), "internal")
    shown = public(padded(catalog="none"))["padding"]
    assert set(shown) == {"k", "catalog", "sensitive", "strict", "risk", "degree"}
    assert shown["risk"] is None


def test_strict_is_told_where_the_risk_is_not() -> None:
    page = text(padded(catalog="none", strict=True), "public")
    assert "prosecutor risk at most 1.00/5" in page


def test_a_ceiling_that_was_found_is_not_told_the_public() -> None:
    """How far records are generalized anyone can compute, where all domains are declared."""
    page = text(padded(h=None), "public")
    assert "auto: the lowest that the budget allows" in page
    assert "0.2909" not in page
    assert "0.2801" in page
    assert "0.2909" in text(padded(h=None), "internal")
    hidden = padded(h=None)
    hidden["columns"][1]["declared_domain"] = False
    assert "0.2801" not in text(hidden, "public")
    assert "0.2801" in text(hidden, "internal")


@pytest.mark.full
def test_a_key_of_the_padding_that_nobody_thought_of_is_not_shown() -> None:
    record = padded()
    record["padding"]["seed"] = record["method_parameters"]["key"] = "canary"
    assert "canary" not in str(public(record))
    assert "canary" not in render(record, "public")


@pytest.mark.parametrize("audience", ["internal", "public"])
def test_levels_that_differ_between_classes_are_said_to(audience: Any) -> None:
    page = text(padded(recoding="borrow"), audience)
    assert page.count("class by class") >= len(full()["transformation"])
    assert "class by class of" not in page
    assert "borrow: levels differ class by class" in page


def test_moved_records_are_untruthful_at_the_top() -> None:
    for audience, words in (
        ("internal", "1,458 records have"),
        ("public", "Up to 5% of the records have"),
    ):
        page = text(moved(), audience)
        assert "untruthful" in page
        assert page.index("untruthful") < page.index("Promised")
        assert words in page
        assert "suppressed: none" in text(moved(), "public")
    assert "1,458" not in text(moved(), "public")


@pytest.mark.full
def test_other_releases_say_nothing_of_it() -> None:
    for audience in ("internal", "public"):
        page = text(full(), audience)
        assert "ounterfeit" not in page.replace("Lee, Kim & Chung", "").replace(
            "a counterfeit one", ""
        )
        assert "untruthful" not in page


def test_the_bound_is_that_of_the_method() -> None:
    assert padding.ALLOWED_RISK == ALLOWED_RISK
