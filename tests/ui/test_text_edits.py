"""Edits of a specification's text: it says what was wanted, and no comment or quote is lost."""

from __future__ import annotations

import copy
import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.errors import SpecError
from dbdeid.spec.yaml_text import load
from dbdeid.ui.sheet.text_edits import comments, rewritten, written

SPEC = """\
# a draft, read by the board
release: visits_public   # the name
database: hospital.duckdb
source: visits
columns:
  # who they are
  patient: {role: identifier}
  age:
    role: quasi_identifier   # known to neighbours
    hierarchy:
      groups:
      # by decade
      - {young: ["1", "2"], old: ["3"]}   # first level
      - "all": [young, old]
    min_level: 1
  zip: {role: quasi_identifier, hierarchy: {prefix: [3, 1]}}  # five digits
  "ward, floor": drop
  'odd # name': {role: undecided}
  note:
    role: insensitive
    reason: >-
      nobody outside
      # is no comment
      can know it

privacy:
- {model: k_anonymity, k: 5}   # as agreed
# a second promise
- model: l_diversity
  column: diagnosis   # the secret
  l: 2

method: {name: full_domain, suppression_limit: 0.05}
# the end
"""


def changed(path: tuple[object, ...], value: object, text: str = SPEC) -> str:
    """The text with one value put at a place, or taken away where it is `...`."""
    data = copy.deepcopy(load(text, "spec")[0])
    at = data
    for key in path[:-1]:
        at = at[key]
    if value is ...:
        del at[path[-1]]
    elif isinstance(at, list) and path[-1] == len(at):
        at.append(value)
    else:
        at[path[-1]] = value
    made = rewritten(text, data)
    assert load(made, "spec")[0] == data
    assert comments(made) == comments(text)
    return made


def lines(text: str, other: str) -> tuple[list[str], list[str]]:
    """The lines that only one of two texts has."""
    a, b = Counter(text.splitlines()), Counter(other.splitlines())
    return sorted((a - b).elements()), sorted((b - a).elements())


@pytest.mark.parametrize(
    ("path", "value", "gone", "new"),
    [
        (
            ("columns", "patient", "role"),
            "drop",
            "  patient: {role: identifier}",
            "  patient: {role: drop}",
        ),
        (
            ("columns", "zip"),
            {"role": "sensitive"},
            "  zip: {role: quasi_identifier, hierarchy: {prefix: [3, 1]}}  # five digits",
            "  zip: {role: sensitive}  # five digits",
        ),
        (
            ("columns", "zip", "min_level"),
            1,
            "  zip: {role: quasi_identifier, hierarchy: {prefix: [3, 1]}}  # five digits",
            "  zip: {role: quasi_identifier, hierarchy: {prefix: [3, 1]}, min_level: 1}"
            "  # five digits",
        ),
        (
            ("columns", "ward, floor"),
            "identifier",
            '  "ward, floor": drop',
            '  "ward, floor": identifier',
        ),
        (
            ("columns", "odd # name", "role"),
            "drop",
            "  'odd # name': {role: undecided}",
            "  'odd # name': {role: drop}",
        ),
        (("columns", "age", "min_level"), 2, "    min_level: 1", "    min_level: 2"),
        (
            ("privacy", 0, "k"),
            10,
            "- {model: k_anonymity, k: 5}   # as agreed",
            "- {model: k_anonymity, k: 10}   # as agreed",
        ),
        (("privacy", 1, "l"), 3, "  l: 2", "  l: 3"),
        (
            ("method", "suppression_limit"),
            0.1,
            "method: {name: full_domain, suppression_limit: 0.05}",
            "method: {name: full_domain, suppression_limit: 0.1}",
        ),
    ],
)
def test_one_value_changes_one_line(
    path: tuple[object, ...], value: object, gone: str, new: str
) -> None:
    assert lines(SPEC, changed(path, value)) == ([gone], [new])


def test_what_is_new_stands_where_a_person_would_write_it() -> None:
    assert lines(SPEC, changed(("seed",), 7)) == ([], ["seed: 7"])
    added = {"model": "t_closeness", "column": "diagnosis", "t": 0.2}
    expected = "- {model: t_closeness, column: diagnosis, t: 0.2}"
    assert lines(SPEC, changed(("privacy", 2), added)) == ([], [expected])
    deeper = changed(("columns", "age", "reason"), 'told by: the "board"')
    assert lines(SPEC, deeper) == ([], ['    reason: "told by: the \\"board\\""'])


def test_comments_of_what_goes_stay_above() -> None:
    gone, new = lines(SPEC, changed(("columns", "age", "hierarchy"), ...))
    assert new == ["    # by decade", "    # first level"]
    assert '      - "all": [young, old]' in gone
    text = changed(("privacy", 1), ...)
    assert "l_diversity" not in text
    assert "# the secret" in text
    assert text.index("# a second promise") < text.index("# the secret") < text.index("method:")
    text = changed(("columns", "note"), {"role": "drop"})
    assert "# is no comment" not in text  # it was a part of the reason


def test_all_of_a_kind_may_go() -> None:
    text = SPEC
    for name in ("patient", "age", "zip", "ward, floor", "odd # name", "note"):
        text = changed(("columns", name), ..., text)
    assert load(text, "spec")[0]["columns"] == {}
    assert "{a: {role: drop}}" in changed(("columns", "a"), {"role": "drop"}, text)


def test_anchors_and_merges() -> None:
    text = (
        "base: &base {role: quasi_identifier, min_level: 1}  # shared\n"
        "columns:\n  a: *base\n  b:\n    <<: *base   # like a\n    hierarchy: suppress\n"
    )
    assert "  a: {role: drop}" in changed(("columns", "a"), {"role": "drop"}, text)
    made = changed(("columns", "b", "hierarchy"), "b.csv", text)
    assert "    hierarchy: b.csv" in made
    data = load(text, "spec")[0]
    data["base"]["min_level"] = 2  # a and b would change with it
    with pytest.raises(SpecError, match="edit the file by hand"):
        rewritten(text, data)


def test_json_stays_json() -> None:
    text = '{"release": "a",\n "columns": {"x": {"role": "drop"}}}\n'
    made = changed(("columns", "x"), {"role": "quasi_identifier", "hierarchy": "suppress"}, text)
    assert json.loads(made)["columns"]["x"]["hierarchy"] == "suppress"


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
scalars = st.one_of(
    texts,
    st.sampled_from(
        ["yes", "0x1", "1e3", "# no", "a: b", "- x", "*a", "&b", "!c", "null", "~", "é"]
    ),
    st.integers(-(10**6), 10**6),
    st.floats(0, 1, allow_nan=False).map(lambda x: round(x, 6)),
    st.booleans(),
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(texts.filter(bool), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(deadline=None, max_examples=examples(120))
@given(values)
def test_any_value_is_read_as_it_was_meant(value: object) -> None:
    found, _ = load(f"a: {written(value)}  # c\nb: 1\n", "spec")
    assert found == {"a": value, "b": 1}
    assert json.dumps(found["a"]) == json.dumps(value)


@st.composite
def edits(draw: st.DrawFn, data: object) -> object:
    """Other data: somewhere in it a value changes, comes or goes."""
    made = copy.deepcopy(data)
    at = made
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        inner = [key for key in keys if isinstance(at[key], dict | list) and at[key]]
        if inner and draw(st.integers(0, 3)):
            at = at[draw(st.sampled_from(inner))]
            continue
        what = draw(st.sampled_from(["set", "set", "add", "remove"]))
        if what == "remove" and len(keys) > 1:
            del at[draw(st.sampled_from(keys))]
        elif what == "add" or not keys:
            value = draw(values)
            if isinstance(at, dict):
                at[draw(texts.filter(lambda key: key and key != "<<"))] = value
            else:
                at.insert(draw(st.integers(0, len(at))), value)
        else:
            at[draw(st.sampled_from(keys))] = draw(values)
        return made


@settings(deadline=None, max_examples=examples(30))
@given(st.data())
def test_comments_survive_edits_anywhere(draw: st.DataObject) -> None:
    text, kept = SPEC, comments(SPEC)
    for _ in range(5):
        data = draw.draw(edits(load(text, "spec")[0]))
        text = rewritten(text, data)  # which reads it again, and refuses what it does not mean
        assert comments(text) == kept
