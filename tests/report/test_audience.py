"""What the public page may show: only what the release tells, or its owner declared."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from records import full, leaves, manifest, public, render, with_texts

from dbdeid.report.content.audience import about

DECLARED = {
    ("release",),
    ("null_policy",),
    ("accept",),
    *(("columns", "*", key) for key in ("name", "role", "type", "released_type")),
    *(("columns", "*", key) for key in ("labels", "reason", "accept")),
    ("columns", "*", "labels", "*"),
    ("privacy", "*", "model"),
    ("method_parameters", "suppressed"),
    ("verification", "promises", "*", "model"),
    ("verification", "hygiene", "*", "check"),
    ("version",),
    ("method",),
    ("exports", "*"),
    # of rows that are published
    *(("content", table, "sha256") for table in ("release", "dictionary")),
    *(("publisher", key) for key in ("name", "licence", "contact")),
}


def test_only_texts_that_are_public_by_nature_are_shown() -> None:
    planted: dict[str, tuple[str, ...]] = {}

    def plant(path: tuple[str, ...], text: str) -> str:
        if path[-1] in ("created", "role"):
            return text
        word = f"canary{len(planted):03d}x"
        planted[word] = path
        return word

    page = render(with_texts(dict(full()), plant), "public")
    shown = {planted[word] for word in re.findall(r"canary\d{3}x", page)}
    assert shown <= DECLARED
    assert {("release",), ("columns", "*", "name"), ("columns", "*", "labels", "*")} <= shown


def test_digests_are_told_of_published_tables_only() -> None:
    told = public(full())["content"]
    assert told == full()["content"]
    record: dict[str, Any] = {**full(), "content": dict(told)}
    record["content"] |= {"source": {"rows": 9, "sha256": "5e" * 32}}
    record["content"]["release"] = {**told["release"], "key": "canary"}
    record["content"]["columns"] = [{**c, "source": "canary"} for c in told["columns"]]
    assert public(record)["content"] == told


def test_a_sum_of_hashes_of_an_earlier_version_is_not_told() -> None:
    record: Any = {**full(), "content": [27, "9224570870114540512666703"]}
    assert "content" not in public(record)
    for audience in ("internal", "public"):
        assert "9224570870114540512666703" not in manifest(record, audience)


@pytest.mark.full
def test_a_key_nobody_thought_of_is_not_shown() -> None:
    record: dict[str, Any] = {**full(), "notes": "canary", "hashes": {"source": "canary"}}
    for part in ("search", "method_parameters"):
        record[part]["new"] = "canary"
    record["columns"][1]["new"] = "canary"
    record["privacy"][0]["population"] = "canary"
    record["risk"]["after"]["new"] = "canary"
    assert "canary" not in render(record, "public")
    assert "canary" not in str(public(record))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "secret",
    [
        "30,162", "30162", "1,346", "1346", "1,508", "19,502", "15,321", "25,871", "64.7%",
        "4,113", "85,123,456", "75.78", "0.6812", "0.2696", "0.270", "0.5317", "0.532", "0.045",
        "918273645", "/home", "5d41402", "12,960", "157", "41.2%", "61.4%", "135%", "sales_by_age",
        "10:15", "adult.parquet", "0.4789", "4,612,571", "4.486", "0.7312", "0.2946", "1.138",
    ],
)  # fmt: skip
def test_planted_figures_are_internal(secret: str) -> None:
    assert secret not in render(full(), "public")


def test_what_classes_tell_of_a_sensitive_column_is_internal() -> None:
    shown = public(full())
    assert set(shown["metrics"]) == {"height"}
    page = render(full(), "public")
    for words in ("Mutual information", "Attacker", "Class entropy change", "KL divergence"):
        assert words in render(full())
        assert words not in page


def test_what_was_declared_of_each_model_is_told_to_the_public() -> None:
    record = full()
    declared = {model["model"]: model for model in record["privacy"]}
    promises = [p for p in record["verification"]["promises"] if p["model"] in declared]
    assert promises
    told = public(record)["verification"]["promises"]
    for promise in promises:
        (shown,) = (p for p in told if p["model"] == promise["model"])
        assert shown["declared"] == promise["declared"]
    page = render(record, "public")
    assert f"k = {declared['k_anonymity']['k']} on" in page
    assert "None" not in page


def test_a_model_of_some_values_is_not_taken_for_one_of_all() -> None:
    """Neither are they named, nor can they be told by the share that was found of them."""
    record: dict[str, Any] = full()
    declared = {"k": 5, "alpha": 0.25, "column": "dx", "values": ["canary", None]}
    record["privacy"].append({"model": "alpha_k", **declared})
    found = {"k": 7, "alpha": 0.21875}
    promise = {"model": "alpha_k", "declared": declared, "found": found, "holds": True}
    record["verification"]["promises"].append(promise)
    page = render(record, "public")
    assert page.count("values = 2 not named here") == 4
    assert "canary" not in page
    assert "0.2188" not in page
    assert "canary" in render(record, "internal")
    promise["declared"] = {"k": 5, "alpha": 0.25, "column": "dx"}
    assert "0.2188" in render(record, "public")


def test_the_internal_page_shows_them() -> None:
    page = render(full())
    for figure in (
        *("0.4789", "4,612,571", "4.486", "0.7312", "0.2946", "1.138"),
        *("30,162", "1,346", "19,502", "64.7%", "0.532", "157", "41.2%", "918273645"),
    ):
        assert figure in page


def test_the_number_of_suppressed_records_cannot_be_told_from_the_page() -> None:
    """All records with the same release and 1,250 to 1,349 suppressed give one page."""
    generalized = {"age": 14_321.5, "sex": 0.0, "occupation": 28_816.0}
    pages = set()
    for suppressed in (1_251, 1_300, 1_346, 1_349):
        record = full()
        source = record["released_rows"] + suppressed
        losses = {name: (lost + suppressed) / source for name, lost in generalized.items()}
        record["suppressed_rows"], record["source_rows"] = suppressed, source
        record["column_loss"] = losses
        record["loss"] = sum(losses.values()) / len(losses)
        assert record["metrics"]
        record["metrics"] |= {"loss": record["loss"], "average_class_size": source / 398}
        pages.add(render(record, "public"))
    assert len(pages) == 1
    assert "suppressed: about 1,300" in re.sub(r"\s+", " ", pages.pop())


@pytest.mark.full
def test_loss_of_the_released_records_alone() -> None:
    record = full()
    record["source_rows"], record["released_rows"], record["suppressed_rows"] = 1000, 900, 100
    record["column_loss"] = {"sex": 0.1, "age": (450 + 100) / 1000, "occupation": 1.0}
    assert public(record)["column_loss"] == pytest.approx({"sex": 0, "age": 0.5, "occupation": 1})
    record["released_rows"] = 1000
    assert public(record)["column_loss"] == pytest.approx(
        {"sex": 0.1, "age": 0.55, "occupation": 1}
    )
    record["released_rows"] = 0
    assert set(public(record)["column_loss"].values()) == {None}
    render(record, "public")


def test_loss_of_a_column_whose_range_the_data_tell_is_left_out() -> None:
    record = full()
    (age,) = (c for c in record["columns"] if c["name"] == "age")
    age["declared_domain"] = False
    assert set(public(record)["column_loss"]) == set(record["column_loss"]) - {"age"}


def test_rounding_hides_every_number_among_others() -> None:
    texts = Counter(about(count, 0.05) for count in range(20_000))
    assert min(texts.values()) >= 5
    assert texts["fewer than 100"] == 100
    assert (about(0, 0.0), about(0, None), about(99_500, 0.05)) == (
        "none",
        "fewer than 100",
        "about 100,000",
    )


def test_what_the_release_itself_tells_stays() -> None:
    seen = leaves(public(full()))
    assert seen[("released_rows",)] == 28816
    assert seen[("smallest_class",)] == 5
    assert seen[("risk", "after", "highest_risk")] == 0.2
    assert ("risk", "before", "highest_risk") not in seen


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ({"model": "k_anonymity", "k": 5}, {"k": 5}),
        ({"model": "cluster_size", "k": 20}, {"k": 20}),
        (
            {"model": "alpha_k", "k": 3, "column": "hours", "alpha": 0.5, "values": ["flu"]},
            {"k": 3, "column": "hours", "alpha": 0.5, "values": "1 not named here"},
        ),
        ({"model": "k_map", "k": 5, "population": "/home/owner/people"}, {"k": 5}),
        ({"model": "of_a_later_version", "k": 5}, {}),
    ],
)
def test_of_a_promise_the_public_is_told_what_was_declared(
    model: dict[str, Any], told: dict[str, Any]
) -> None:
    record = {**full(), "privacy": [model]}
    given = {key: value for key, value in model.items() if key != "model"}
    promise = {"model": model["model"], "declared": given, "found": None, "holds": True}
    record["verification"] = {**record["verification"], "promises": [promise]}
    shown = public(record)
    assert shown["verification"]["promises"][0]["declared"] == told
    assert shown["privacy"] == [{"model": model["model"], **told}]
    if model["model"] in ("k_anonymity", "cluster_size"):
        assert "None" not in manifest(record, "public")
