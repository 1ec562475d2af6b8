"""Policies in words: what is kept apart, what is one, what changes."""

from __future__ import annotations

import doctest
import random

import pytest
from frontiers import SMALL, TENNESSEE, chain, document, labels

from dbdeid.report.content import policies
from dbdeid.report.content.policies import briefly, changes, hunks, in_words, pieces, single_values

AGES = SMALL["age"]


def test_its_examples_are_true() -> None:
    assert doctest.testmod(policies).failed == 0


def test_a_long_run_of_single_values_is_one_piece_and_a_short_one_is_not() -> None:
    run = [str(i) for i in range(policies.RUN)]
    assert pieces([*run, "8 to 9"], run) == ["each value from 0 to 7", "8 to 9"]
    assert pieces([*run[:-1], "7 to 9"], run) == [*run[:-1], "7 to 9"]
    assert pieces(run, ()) == run  # what is not known to be single is not put together


def test_a_brief_text_keeps_the_first_and_the_last_and_cuts_long_labels() -> None:
    assert briefly(list("abcd")) == "a, b, c, d"
    assert briefly(list("abcde")) == "a, b, …, e"
    assert briefly(["x" * 500]).startswith("xxx")
    assert len(briefly(["x" * 500])) < 60


def test_single_values_are_those_of_a_policy_that_keeps_all_apart() -> None:
    found = document()
    assert single_values(found)["age"] == frozenset(AGES)
    merged = [{**p, "policy": {**p["policy"], "age": ["*"]}} for p in found["points"]]
    assert single_values({**found, "points": merged})["age"] == frozenset()


def test_a_policy_in_words() -> None:
    policy = {"age": labels(AGES, [0, 5, 10, 15]), "zip": ["*"]}
    assert in_words(policy, {}) == "age 0 to 4, 5 to 9, 10 to 14, 15 to 19; zip all values as one"


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ([0, 5], [0], "age: 0 to 4, 5 to 19 merged into all values as one"),
        ([0, 5, 9], [0, 5], "age: 5 to 8, 9 to 19 merged into 5 to 19"),
        ([0, 5], [0, 5, 7, 9], "age: 5 to 19 split into 5 to 6, 7 to 8, 9 to 19"),
        ([0, 5, 9], [0, 6, 9], "age: 0 to 4, 5 to 8 cut anew into 0 to 5, 6 to 8"),
    ],
    ids=["all", "merged", "split", "anew"],
)
def test_what_changes_is_told_where_it_changes(
    before: list[int], after: list[int], told: str
) -> None:
    one, other = ({"age": labels(AGES, starts)} for starts in (before, after))
    assert changes(one, other, {}) == [told]
    assert changes(one, one, {}) == []


def test_hunks_turn_one_sequence_into_the_other() -> None:
    rng = random.Random(3)
    found = [p["zip"] for _ in range(2) for p in chain(TENNESSEE, rng)[::40]]
    for before, after in zip(found, rng.sample(found, len(found)), strict=True):
        made: list[str] = []
        at = 0
        for hunk in hunks(before, after):
            assert list(hunk.gone) == before[hunk.at : hunk.at + len(hunk.gone)]
            made += [*before[at : hunk.at], *hunk.come]
            at = hunk.at + len(hunk.gone)
        assert [*made, *before[at:]] == after


def test_texts_that_stand_for_two_things_are_all_told_anew() -> None:
    found = list(hunks(["a", "b", "c"], ["b", "a"]))
    assert [(h.at, list(h.gone), list(h.come)) for h in found] == [(0, ["a", "b", "c"], ["b", "a"])]
