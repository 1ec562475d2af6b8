"""(k, k^m)-anonymity of lists of items: by hand, by brute force, and as classes merge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import brute
import duckdb
import numpy as np
import pytest
from brute import Counts, model
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from tiers import examples

from dbdeid.engine.duckdb.session import Session
from dbdeid.errors import DataError
from dbdeid.privacy import km_anonymity
from dbdeid.privacy.common.histogram import Histogram, Whole
from dbdeid.privacy.common.shares import Shares, class_values

Class = dict[str | None, int]  # records with each text


def of(k: int, m: int, separator: str = ";") -> Any:
    return model("km_anonymity", column="codes", k=k, m=m, separator=separator)


def seen(classes: list[Class]) -> Histogram:
    """Classes as a search counts them."""
    texts = sorted({v for c in classes for v in c}, key=lambda v: (v is None, v))
    entries = [
        (i, place, c[v]) for i, c in enumerate(classes) for place, v in enumerate(texts) if v in c
    ]
    of_class, value, count = (np.array(x, np.int64) for x in zip(*entries, strict=True))
    known = np.array([sum(c.get(v, 0) for c in classes) for v in texts])
    whole = Whole(known, int(known.sum()), tuple(texts))
    return Histogram(np.array([sum(c.values()) for c in classes]), of_class, value, count, whole)


def measured(session: Session, asked: Any, classes: list[Class]) -> int | None:
    """What the written table is found to keep."""
    session.execute("CREATE OR REPLACE TABLE members (class INTEGER, s0 VARCHAR)")
    for number, each in enumerate(classes):
        for value, count in each.items():
            session.cursor.executemany(
                "INSERT INTO members VALUES (?, ?)", [(number, value)] * count
            )
    held = class_values(session.relation("members"), ["s0"], by_subject=False)
    return session.row(asked.measure(Shares(held)))[0]


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with duckdb.connect() as con, Session.over(con, None, read_only=False) as opened:
        yield opened


def test_two_items_single_out_where_one_does_not(session: Session) -> None:
    three = [{"asthma;flu": 1, "asthma;gout": 1, "flu;gout": 1}]
    assert of(2, 1).satisfied(seen(three)).all()
    assert not of(2, 2).satisfied(seen(three)).any()
    assert [measured(session, of(2, m), three) for m in (1, 2, 3)] == [2, 1, 1]
    twice = [{text: 2 * count for text, count in three[0].items()}]
    assert of(2, 2).satisfied(seen(twice)).all()
    assert measured(session, of(2, 2), twice) == 2


def test_who_has_more_items_has_those_of_others_too(session: Session) -> None:
    one: list[Class] = [{"a": 1, "a;b": 2, "a;b;c": 2}]
    for m in (1, 2, 3):
        assert of(2, m).satisfied(seen(one)).all()
        assert measured(session, of(2, m), one) == 2
    assert of(5, 1).reached(seen(one)).startswith("k = 2 ")


def test_what_is_an_item_and_what_is_none(session: Session) -> None:
    """Blanks around it are not part of it, repeating it adds nothing, and its case counts."""
    alike: Class = {"a; b": 1, " b ;a;; b": 1, None: 1, "": 1, " ; ": 1}
    assert measured(session, of(2, 2), [alike]) == 2
    assert of(2, 2).satisfied(seen([alike])).all()
    spelled: Class = {"flu": 1, "FLU": 1}
    assert measured(session, of(2, 1), [spelled]) == 1
    assert not of(2, 1).satisfied(seen([spelled])).any()
    # another separator: one item that nobody shares
    assert not of(2, 1, "|").satisfied(seen([alike])).any()
    assert measured(session, of(2, 1, "|"), [alike]) == 1
    assert km_anonymity.items_of("x, y,x", ",") == ("x", "y")


def test_a_class_that_fails_may_hold_when_it_meets_another() -> None:
    parts: list[Class] = [{"a": 2, "b": 1}, {"a": 2, "b": 1}, {"a": 2, "c": 1}]
    merged: Class = {"a": 4, "b": 2}
    found = seen([*parts, merged])
    assert of(2, 1).satisfied(found).tolist() == [False, False, False, True]
    assert of(2, 1).necessary(found).all()
    assert of(2, 1).most(found).tolist() == [2, 2, 2, 6]
    # one left out makes what it shared rare
    chain: Class = {"a;b": 2, "a": 1, "b;c": 1, "c;d": 1}
    assert of(3, 1).most(seen([chain])).tolist() == [0]
    assert of(2, 1).most(seen([chain])).tolist() == [3]


def test_what_stands_in_the_way_is_told() -> None:
    one = seen([{"a": 5, "a;b": 1, None: 3}])
    assert of(2, 1).reached(one) == (
        "k = 1 with m = 1; 1 records have items that fewer than k = 2 share"
    )
    assert of(6, 1).reached(seen([{"a": 5}])) == "k = 5 with m = 1"


def test_too_many_combinations_are_refused_before_they_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    many = seen([{";".join(f"i{n}" for n in range(60)): 3}])
    with pytest.raises(DataError, match="m = 6: 56,049,057 combinations"):
        of(2, 6).satisfied(many)
    assert of(2, 1).satisfied(many).all()


@pytest.mark.parametrize(
    "bad", [{"m": 0}, {"m": 10}, {"k": 0}, {"separator": ""}, {"separator": " "}, {"m": 1.5}]
)
def test_parameters_out_of_reach(bad: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        model("km_anonymity", **{"column": "codes", "k": 2, "m": 2} | bad)


def test_columns_together_have_no_items() -> None:
    with pytest.raises(ValidationError, match="joint: true has no items"):
        model("km_anonymity", column=["a", "b"], joint=True, k=2, m=2)


def test_an_empty_table_gives_nothing_away(session: Session) -> None:
    assert measured(session, of(2, 2), []) is None
    assert of(2, 2).holds(None)


texts = st.none() | st.lists(st.sampled_from([*"vwxyz", ""]), max_size=5).map(";".join)
classes = st.dictionaries(texts, st.integers(1, 3), min_size=1, max_size=6)


@given(st.lists(classes, min_size=1, max_size=3), st.integers(1, 4), st.integers(1, 5))
@settings(max_examples=examples(60), deadline=None)
def test_search_and_verifier_find_what_the_definition_gives(
    session: Session, drawn: list[Class], m: int, k: int
) -> None:
    shared = [brute.sharing(Counts(sum(c.values()), dict(c)), m) for c in drawn]
    assert of(k, m).satisfied(seen(drawn)).tolist() == [n >= k for n in shared]
    assert measured(session, of(k, m), drawn) == min(shared)


@given(st.lists(classes, min_size=1, max_size=4), st.integers(1, 3), st.integers(1, 4))
@settings(max_examples=examples(150), deadline=None)
def test_what_is_necessary_and_what_holds_stays_as_classes_merge(
    drawn: list[Class], m: int, k: int
) -> None:
    asked = of(k, m)
    merged: Counter[str | None] = Counter()
    for each in drawn:
        merged.update(each)
    found = seen([*drawn, dict(merged)])
    holds, necessary = asked.satisfied(found), asked.necessary(found)
    assert not (holds & ~necessary).any()
    assert necessary[-1] or not necessary[:-1].any()
    assert holds[-1] or not holds[:-1].all()
    # what the parts keep the whole can keep
    kept = found.sizes[:-1][holds[:-1]].sum()
    assert asked.most(found)[-1] >= kept
