"""The words that select releases."""

from __future__ import annotations

from itertools import product

import pytest
from folders import write
from hypothesis import given
from hypothesis import strategies as st

from dbdeid.errors import DataError
from dbdeid.project.releases import Release, load
from dbdeid.project.selection import Selector
from dbdeid.spec.project_file import read_project

# a → b → d, a → c → d, e
UPSTREAM = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"], "e": []}
TAGS = {"a": ["raw"], "b": ["weekly", "raw"], "e": ["weekly"]}
LAST = {"a": "success", "b": "failed", "c": "interrupted", "d": "skipped"}
CHANGED = {"c", "e"}


@pytest.fixture(scope="module")
def selector(tmp_path_factory: pytest.TempPathFactory) -> Selector:
    folder = tmp_path_factory.mktemp("project")
    (folder / "dbdeid.yml").write_text("target: '{release}.duckdb'")
    for name, upstream in UPSTREAM.items():
        where = f"hospital/{name}" if name in "bc" else name
        write(folder, where, depends_on=upstream, tags=TAGS.get(name, []))
    releases = load(read_project(folder / "dbdeid.yml"))

    def modified(release: Release) -> bool:
        return release.name in CHANGED

    return Selector(releases, folder, modified, lambda: LAST)


def meant(selector: Selector, select: str = "", exclude: str = "") -> str:
    words = [select] if select else []
    return "".join(r.name for r in selector.select(words, [exclude] if exclude else []))


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("", "aebcd"),
        ("a", "a"),
        ("A", "a"),
        ("a e", "ae"),
        ("e a e", "ae"),
        ("a+", "abcd"),
        ("+d", "abcd"),
        ("+b", "ab"),
        ("+b+", "abd"),
        ("+e+", "e"),
        ("[ab]", "ab"),
        ("*", "aebcd"),
        ("?+", "aebcd"),
        ("tag:weekly", "eb"),
        ("tag:weekly+", "ebd"),
        ("+tag:weekly", "aeb"),
        ("tag:weekly,tag:raw", "b"),
        ("tag:weekly,tag:raw a", "ab"),
        ("tag:raw+,+b", "ab"),
        ("state:modified", "ec"),
        ("state:modified+", "ecd"),
        ("result:failed", "bcd"),
        ("result:success", "a"),
        ("result:failed,state:modified", "c"),
        ("releases/a.yml", "a"),
        ("path:releases/hospital", "bc"),
        ("releases/hospital/", "bc"),
        ("releases/hospital+", "bcd"),
        ("releases", None),
        ("path:releases", "aebcd"),
    ],
)
def test_words_mean_what_they_mean_in_dbt(
    selector: Selector, words: str, names: str | None
) -> None:
    if names is None:
        with pytest.raises(DataError, match="no release 'releases'"):
            meant(selector, words)
    else:
        assert meant(selector, words) == names


def test_paths_are_also_seen_from_here(selector: Selector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(selector.folder / "releases" / "hospital")
    assert meant(selector, "b.yml") == "b"
    assert meant(selector, "../a.yml") == "a"


def test_words_may_come_apart_or_together(selector: Selector) -> None:
    apart = selector.select(["a", "e"], ["e", "b"])
    assert apart == selector.select(["a e"], ["e b"])
    assert [release.name for release in apart] == ["a"]


WORDS = [
    "".join(parts)
    for parts in product(("", "+"), (*"abcde", "tag:weekly", "state:modified"), ("", "+"))
]


@given(st.sets(st.sampled_from(WORDS)), st.sets(st.sampled_from(WORDS)))
def test_union_less_what_is_excluded(
    selector: Selector, select: set[str], exclude: set[str]
) -> None:
    each = {word: set(meant(selector, word)) for word in select | exclude}
    wanted = set().union(*(each[w] for w in select)) if select else set("abcde")
    wanted = wanted.difference(*(each[w] for w in exclude))
    found = meant(selector, " ".join(select), " ".join(exclude))
    assert set(found) == wanted
    assert found == "".join(name for name in "aebcd" if name in wanted)


@pytest.mark.parametrize(
    ("word", "says", "hint"),
    [
        ("f", "no release 'f'", "Known: a, b, c, d, e"),
        ("z*", "no release 'z*'", "Known"),
        ("tag:weekl", "the tag 'weekl'", "did you mean 'weekly'?"),
        ("tags:weekly", "unknown selection 'tags:weekly'", "did you mean 'tag'?"),
        ("state:new", "unknown state 'new'", "state:modified"),
        ("result:fail", "unknown result 'fail'", "did you mean 'failed'?"),
        ("releases/f.yml", "lies at 'releases/f.yml'", "releases/a.yml"),
        ("path:nowhere", "lies at 'nowhere'", "Known"),
        ("+", "'+' selects nothing", "+visits_public"),
        ("a,", "'a,' selects nothing", "tag:weekly+"),
        ("  ", "says nothing", "tag:weekly+"),
    ],
)
def test_what_means_nothing_is_told(selector: Selector, word: str, says: str, hint: str) -> None:
    with pytest.raises(DataError) as raised:
        selector.select([word])
    assert says in raised.value.message
    assert hint in raised.value.hint
