"""Reading specs: every mistake at once with place and line, and never another exception."""

from __future__ import annotations

import copy
import json
import re
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML
from tiers import examples

from dbdeid.bind.read import read
from dbdeid.errors import SpecError
from dbdeid.spec.yaml_text import LARGEST

VALID: dict[str, Any] = {
    "release": "r",
    "database": "d.duckdb",
    "target": "t.duckdb",
    "source": {"sql": "SELECT 1 AS a", "name": "s"},
    "null_policy": "own_category",
    "columns": {
        "age": {
            "role": "quasi_identifier",
            "hierarchy": {"intervals": [5, 10], "origin": 0, "lower": 10, "upper": 60},
            "weight": 2.0,
            "min_level": 1,
            "max_level": 2,
        },
        "day": {"role": "quasi_identifier", "hierarchy": {"dates": ["month", "year"]}},
        "zip": {"role": "quasi_identifier", "hierarchy": {"prefix": [3, 1]}, "domain": ["1", "2"]},
        "kind": {
            "role": "quasi_identifier",
            "type": "categorical",
            "hierarchy": {"groups": [{"urgent": ["1", "2"], "planned": ["3"]}]},
        },
        "region": {"role": "quasi_identifier", "hierarchy": {"table": "dim.region"}},
        "sex": {"role": "quasi_identifier", "hierarchy": "suppress"},
        "job": {"role": "quasi_identifier", "hierarchy": "job.csv"},
        "name": "identifier",
        "dx": {"role": "sensitive", "accept": "homogeneity", "hierarchy": "icd.csv"},
        "pay": {"role": "insensitive", "reason": "public"},
    },
    "privacy": [{"model": "k_anonymity", "k": 5}],
    "method": {
        "name": "full_domain",
        "suppression_limit": 0.05,
        "search": "optimal",
        "time_limit": 60,
        "engine": "numpy",
        "objective": "loss",
        "transformation": {"age": 2},
        "suppressed": "drop",
    },
    "evaluate": {"metrics": ["loss"], "queries": "q/*.sql"},
    "output": {"as": "table", "bounds": True, "export": ["r.parquet"]},
    "seed": 7,
    "accept": "rows",
}


def changed(*place: Any, to: Any) -> dict[str, Any]:
    spec = copy.deepcopy(VALID)
    at = spec
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = to
    return spec


def places(node: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of a tree."""
    inner = (
        node.items()
        if isinstance(node, dict)
        else enumerate(node)
        if isinstance(node, list)
        else ()
    )
    return [*([at] if at else []), *(p for key, value in inner for p in places(value, (*at, key)))]


def mistakes(source: Any) -> dict[str, str]:
    with pytest.raises(SpecError) as refused:
        read(source)
    return {m.place: m.message for m in refused.value.mistakes}


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["suppress", "loss", "full_domain", 10**30, Fraction(1, 3), date.min, b"x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3) | st.integers() | st.none(), inner, max_size=3)
        | st.tuples(inner)
    ),
    max_leaves=5,
)


@settings(deadline=None, max_examples=examples(150))
@given(place=st.sampled_from(places(VALID)), junk=JUNK)
@example(place=("privacy", 0, "model"), junk=[1])
@example(place=("evaluate", "metrics"), junk=3)
@example(place=("columns",), junk={(1, 2): "drop"})
def test_anything_anywhere_is_a_spec_or_a_spec_error(place: tuple[Any, ...], junk: Any) -> None:
    try:
        read(changed(*place, to=junk))
    except SpecError as error:
        str(error)


@settings(deadline=None)
@given(st.text(max_size=60).map(lambda text: text + "\n"))
def test_any_text_is_a_spec_or_a_spec_error(text: str) -> None:
    with pytest.raises(SpecError):
        read(text)


@pytest.mark.full
def test_yaml_json_and_dict_say_the_same(tmp_path: Path) -> None:
    path = tmp_path / "r.yml"
    with path.open("w") as file:
        YAML().dump(VALID, file)
    expected = read(VALID).spec
    assert read(path).spec == expected
    assert read(path.read_text()).spec == expected
    for indent in (None, 2, "\t"):
        assert read(json.dumps(VALID, indent=indent)).spec == expected
    assert read(json.dumps(changed("source", to="\U0001f600"))).spec.source == "\U0001f600"
    assert read(json.loads(read(VALID).text)).spec == expected


def test_all_mistakes_at_once_with_place_line_and_hint() -> None:
    text = """\
release: 1 r
source: t
nul_policy: own_category
columns:
  age: {role: quasi_identifer, hierarchy: suppress}
  str: {role: quasi_identifier, hierarchy: {intervals: [5, 7], wide: 1}}
  zip:
    role: quasi_identifier
    hierarchy:
      prefix: [1, 3]
privacy:
  - {model: k_anonymity, k: 2.5}
  - {model: k_anonymty, k: 2}
method: {name: full_domain, suppresion_limit: 0.1}
output: {export: [./a.xls]}
target: x.db
"""
    with pytest.raises(SpecError) as refused:
        read(text)
    found = {m.place: (m.line, m.hint) for m in refused.value.mistakes}
    assert {place: line for place, (line, _) in found.items()} == {
        "release": 1,
        "nul_policy": 3,
        "columns.age.role": 5,
        "columns.str.hierarchy.intervals": 6,
        "columns.str.hierarchy.wide": 6,
        "columns.zip.hierarchy.prefix": 10,
        "privacy[0].k": 12,
        "privacy[1]": 13,
        "method.suppresion_limit": 14,
        "output.export": 15,
        "target": 16,
    }
    assert "'null_policy'" in found["nul_policy"][1]
    assert "'quasi_identifier'" in found["columns.age.role"][1]
    assert "'suppression_limit'" in found["method.suppresion_limit"][1]
    assert "'k_anonymity'" in found["privacy[1]"][1]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("method", "suppression_limit"), True),
        (("method", "suppression_limit"), "0.05"),
        (("method", "suppression_limit"), float("nan")),
        (("method", "suppression_limit"), 1.01),
        (("columns", "age", "weight"), True),
        (("columns", "age", "weight"), 0),
        (("columns", "age", "min_level"), True),
        (("columns", "age", "max_level"), 0),
        (("columns", "age", "hierarchy", "intervals"), [0]),
        (("columns", "age", "hierarchy", "intervals"), [Fraction(1, 3)]),
        (("columns", "age", "hierarchy", "intervals"), [5, 5]),
        (("columns", "age", "hierarchy", "lower"), 60),
        (("columns", "age", "hierarchy", "lower"), date(2019, 1, 1)),
        (("columns", "day", "hierarchy", "dates"), ["week", "year"]),
        (("columns", "day", "hierarchy", "dates"), ["year", "month"]),
        (("columns", "day", "hierarchy", "origin"), 3),
        (("columns", "sex", "hierarchy"), {"suppress": True, "prefix": [1]}),
        (("columns", "sex", "hierarchy"), {}),
        (("columns", "pay", "weight"), 2.0),
        (("columns", "pay", "accept"), "homogeneity"),
        (("privacy", 0, "k"), 0),
        (("privacy", 0, "k"), "5"),
        (("privacy",), []),
        (("seed",), -1),
        (("release",), "r; DROP TABLE x"),
        (("release",), "r" * 64),
        (("release",), "deid"),
        (("source",), "a\0b"),
        (("output", "export"), ["a.csv", "a.csv"]),
        (("output", "as"), "view"),
        (("columns",), {"a": "drop"}),
        (("evaluate", "models"), [{"kind": "linear", "response": "pay", "covariates": []}]),
        (("evaluate", "models"), [{"kind": "linear", "covariates": ["age"]}]),
        (("evaluate", "models"), [{"kind": "probit", "response": "pay", "covariates": ["age"]}]),
        (("evaluate", "models"), ["pay ~ age"]),
    ],
)
def test_values_that_are_refused(place: Any, value: Any) -> None:
    assert all(where.startswith(str(place[0])) for where in mistakes(changed(*place, to=value)))


HEAD = "release: r\nsource: t\nprivacy: [{model: k_anonymity, k: 2}]\nmethod: full_domain\n"
QI = "{role: quasi_identifier, hierarchy: suppress}"


def domain(text: str) -> Any:
    column = f"{{role: quasi_identifier, hierarchy: suppress, domain: {text}}}"
    return read(f"{HEAD}columns: {{a: {column}}}\n").spec.columns["a"].domain


def test_yaml_1_2_keeps_words_and_times_as_text() -> None:
    assert domain("[NO, Yes, on, off, y, 12:30, 00501, 501, '1e3', 2019-1-1x]") == (
        *("NO", "Yes", "on", "off", "y", "12:30", "00501", "501", "1e3", "2019-1-1x"),
    )
    assert mistakes(f"%YAML 1.1\n---\n{HEAD}") == {"": "a spec is YAML 1.2"}
    columns = read(f"{HEAD}columns:\n  on: drop\n  true: drop\n  5: drop\n  a: &q {{role: "
                   "quasi_identifier, hierarchy: suppress}\n  b: *q\n").spec.columns  # fmt: skip
    assert list(columns) == ["on", "true", "5", "a", "b"]
    assert columns["a"] == columns["b"]


@pytest.mark.parametrize("k", ["five", '"5"', "5.0"])
def test_a_wrong_member_does_not_make_its_list_empty(k: str) -> None:
    told = mistakes(f"{HEAD.replace('k: 2', f'k: {k}')}columns: {{a: {QI}}}\n")
    assert told == {"privacy[0].k": "expects a whole number"}


def test_a_misspelt_key_is_not_missing_as_well() -> None:
    text = f"{HEAD.replace('privacy', 'privcy')}columns: {{a: {QI}}}\n"
    assert mistakes(text) == {"privcy": "unknown key 'privcy'"}
    assert "privacy" in mistakes(text.replace("privcy", "zzz"))


def hints(text: str) -> str:
    with pytest.raises(SpecError) as refused:
        read(text)
    return " ".join(m.hint for m in refused.value.mistakes)


@pytest.mark.parametrize(
    ("limit", "hint"),
    [
        ("5%", "write 0.05"),
        ("2.5 %", "write 0.025"),
        ("'0,05'", "write 0.05"),
        ("0,05", "a comma separates keys: write a number with a point, as in 0.05"),
        ("'1'", "write 1, without quotes"),
        ("few", "as in `suppression_limit: 0.05`"),
    ],
)
def test_numbers_that_people_write_otherwise(limit: str, hint: str) -> None:
    method = f"{{name: full_domain, suppression_limit: {limit}}}"
    text = f"{HEAD.replace('full_domain', method)}columns: {{a: {QI}}}\n"
    assert hints(text) == hint


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a:\n\tb: 1\n", "tabs are not allowed"),
        ("a:\n  b: 1\n\tc: 1\n", "tabs are not allowed"),
        ("a:\n  b: 1\n   c: 1\n", "check the indentation"),
        ("a:\n  b: 1\n c: 1\n", "check the indentation"),
        ("a: b: c\n", "check the indentation.*quote text"),
        ("a: {b: 1\n", "a brace or bracket is not closed"),
        ("a: [b\nc: 1\n", "a brace or bracket is not closed; look at line 1"),
        ("a: {b: 1}}\n", "too many"),
        ("a: 1\nb: 'c\nd: 1\n", "a quote is not closed; look at line 2"),
        ("a: 'it's'\n", "double quotes"),
        ("a: 1\nb 2\n", "a colon and a blank"),
        ("a: @b\n", "put the text in quotes"),
        ('a: "C:\\x"\n', "a backslash"),
    ],
)
def test_yaml_mistakes_are_explained(text: str, hint: str) -> None:
    assert re.search(hint, hints(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\n", "a spec is a mapping"),
        ("- a\n- b\n", "a spec is a mapping"),
        ("a: 1\n---\nb: 2\n", "another document"),
        ("a:\n\tb: 1\n", "not valid YAML"),
        ("a: \x07\n", "not valid YAML"),
        ("a: " + "9" * 5000 + "\n", "not valid YAML"),
        ("a: " + "[" * 3000 + "]" * 3000 + "\n", "nested too deeply"),
        ('{"a": ' + "[" * 300 + "]" * 300 + "}", "not valid YAML|nested too deeply"),
        ("a: 1\nb: 2\na: 3\n", "line 3: the key 'a' is repeated"),
        ('{"a": 1, "a": 2}', "the key 'a' is repeated"),
        ("x" * (LARGEST + 1) + ": 1\n", "longer than"),
        ("a: &a [*a]\n", "'release' is missing|nested too deeply"),
        ("a: !!python/object:os.system {b: 1}\n", "unknown key 'a'"),
        ("a: !!set {b, c}\nd: !!omap [e: 1]\nf: !!binary aGk=\n", "unknown key 'f'"),
        ("x: &x {a: 1}\nb:\n  <<: *x\n", "unknown key 'b'"),
        ("? [a, b]\n: 1\n~: 2\n", "unknown key 'null'"),
    ],
)
def test_texts_that_are_no_spec(text: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        read(text)


def test_unfolding_anchors_are_stopped() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    with pytest.raises(SpecError, match="unfolds into too much"):
        read("\n".join(lines))


def test_dicts_that_contain_themselves_or_go_deep() -> None:
    circle: dict[str, Any] = {}
    circle["a"] = circle
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    for value in (circle, deep):
        with pytest.raises(SpecError, match="nested too deeply"):
            read(changed("source", to=value))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    latin = tmp_path / "latin.yml"
    latin.write_bytes("release: é".encode("latin-1"))
    for path in (tmp_path, tmp_path / "none.yml", latin, "a\0b", "x" * 5000):
        with pytest.raises(SpecError, match="cannot be read"):
            read(path)


def test_a_misspelt_word_is_no_path() -> None:
    with pytest.raises(SpecError) as refused:
        read(changed("columns", "sex", "hierarchy", to="supress"))
    (mistake,) = refused.value.mistakes
    assert mistake.place == "columns.sex.hierarchy"
    assert "did you mean 'suppress'" in mistake.hint


def test_a_model_of_the_recipient_tells_what_is_wrong_at_its_place() -> None:
    models = [
        {"kind": "coxx", "duration": "pay", "event": "sex = 'f'", "covariates": ["age"]},
        {"duration": "pay", "event": "sex = 'f'", "covariates": ["age"]},
        {"kind": "cox", "duration": "pay", "evnt": "sex = 'f'", "covariates": []},
    ]
    found = mistakes(changed("evaluate", "models", to=models))
    assert set(found) == {
        "evaluate.models[0].kind",
        "evaluate.models[1].kind",
        "evaluate.models[2].evnt",
        "evaluate.models[2].covariates",
    }
    assert found["evaluate.models[0].kind"] == "unknown kind of model"
    assert found["evaluate.models[1].kind"] == "the key 'kind' is missing"


def test_a_mapping_in_place_of_text_is_not_to_be_put_in_quotes() -> None:
    with pytest.raises(SpecError) as refused:
        read({"release": "a", "source": "t", "evaluate": {"queries": {"a": "SELECT 1"}}})
    (mistake,) = (one for one in refused.value.mistakes if "queries" in str(one))
    assert "expects text" in str(mistake)
    assert "as in `queries:" in str(mistake)
    assert "quotes" not in str(mistake)
