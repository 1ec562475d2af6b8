"""The bench of drafts: nothing leaves undecided, and what is decided is decided rightly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import duckdb
import pytest
import tiers
from sqlglot import exp

from dbdeid.bind.any_table import opened
from dbdeid.engine.session import Step
from dbdeid.profiling.detect import detect
from dbdeid.profiling.possible_identifiers import identifiers, look
from drafts.judge import UNDECIDED, Judged, count, judge, shown
from drafts.tables import REAL, ROLES, WITHHELD, Review, reviews, write
from drafts.words import CONCEPTS, LANGUAGES, TEXTS

Source = Callable[[str], Path]
REVIEWS = reviews()
# In the default tier: the registries, which all languages have, one table that is known to be asked
# about too much, and some others.
DRAFTED = {
    name: review
    for number, (name, review) in enumerate(REVIEWS.items())
    if tiers.full or review.kind == "registry" or name == "diabetes" or number % 16 == 0
}
# What is asked under silent headers is told from the values, whatever the language.
SILENT = {
    name: DRAFTED[name] for name in DRAFTED if name in (*tiers.some([*DRAFTED], 3), "diabetes")
}
SPOKEN = tuple(words.language for words in LANGUAGES)
RIGHT = 0.97  # of what is decided
DECIDED = 0.5  # of the columns of registries, and more where headers are English
DECIDED_ENGLISH = 0.6
NEARLY = 0.9  # of the rows have a value that one subject alone has: the column determines it


@pytest.fixture(scope="module")
def source(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Source:
    """The file of each table, in a folder of its own, once it is asked for."""

    @cache
    def made(name: str) -> Path:
        return write(REVIEWS[name], shared, tmp_path_factory.mktemp(name))

    return made


@pytest.fixture(scope="module")
def judged(source: Source) -> tuple[Judged, ...]:
    """Each table drafted and run once."""
    return tuple(judge(review, source(name)) for name, review in DRAFTED.items())


def test_the_bench_is_wide_enough() -> None:
    assert len(REVIEWS) >= 25
    assert len({review.source for review in REVIEWS.values()}) >= 8
    assert {review.language for review in REVIEWS.values()} == set(SPOKEN)
    real = {name for name, review in REVIEWS.items() if review.kind == "real"}
    assert real == set(REAL)
    assert len(real) >= 14


@pytest.mark.sampled(11)
@pytest.mark.parametrize("review", REVIEWS.values(), ids=REVIEWS)
def test_reviews_are_about_their_tables(review: Review, source: Source) -> None:
    with duckdb.connect() as con:
        rows = con.execute(f"DESCRIBE SELECT * FROM '{source(review.table)}'").fetchall()
    assert [row[0] for row in rows] == list(review.columns)
    assert review.subject <= set(review.columns)
    for column in review.columns.values():
        assert column.roles
        assert column.roles <= (WITHHELD if column.direct else ROLES)
    if review.kind in ("registry", "short"):
        assert tuple(column.concept for column in review.columns.values()) == CONCEPTS


@pytest.mark.sampled(11)
@pytest.mark.parametrize("review", REVIEWS.values(), ids=REVIEWS)
def test_reviews_mark_what_determines_the_subject(review: Review, source: Source) -> None:
    """A reviewer may not overlook a number: the data say which columns are as good as one."""
    subject = min(review.subject, default=None)
    whose = exp.column(subject, quoted=True) if subject else exp.column("row")
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE reviewed AS SELECT *, row_number() OVER () AS row "
            f"FROM '{source(review.table)}'"
        )
        for name, column in review.columns.items():
            value = exp.column(name, quoted=True)
            alone = (
                exp.select(exp.func("count", exp.Star()).as_("n"))
                .from_("reviewed")
                .where(value.is_(exp.null()).not_())
                .group_by(value)
                .having(exp.Count(this=exp.Distinct(expressions=[whose])).eq(1))
            )
            query = exp.select("coalesce(sum(n), 0) / (SELECT count(*) FROM reviewed)").from_(
                alone.subquery("alone")
            )
            [(share,)] = con.execute(query.sql("duckdb")).fetchall()
            assert (share >= NEARLY) == column.determines_subject, f"{name}: {share:.1%} alone"


def test_no_person_leaves_by_an_unedited_draft(judged: tuple[Judged, ...]) -> None:
    assert [str(column) for of in judged for column in of.leaving] == []


def test_what_is_decided_is_right(judged: tuple[Judged, ...]) -> None:
    counted = count(column for of in judged for column in of.columns)
    assert counted.share_right >= RIGHT, shown(judged)


def test_direct_identifiers_are_decided_rightly_or_not_at_all(judged: tuple[Judged, ...]) -> None:
    direct = [c for of in judged for c in of.columns if c.reviewed.direct]
    assert [str(column) for column in direct if column.wrong] == []


@pytest.mark.sampled(4)
@pytest.mark.parametrize("language", SPOKEN)
def test_enough_is_decided(judged: tuple[Judged, ...], language: str) -> None:
    counted = count(
        column
        for of in judged
        if of.review.language == language and of.review.kind in ("registry", "short")
        for column in of.columns
    )
    assert counted.share_decided >= (DECIDED_ENGLISH if language == "English" else DECIDED)


@pytest.mark.sampled(15)
@pytest.mark.parametrize("concept", CONCEPTS)
def test_a_column_has_the_same_role_in_each_language(
    judged: tuple[Judged, ...], concept: str
) -> None:
    """Of the registries with headers written out. Only the role of a text may stay open."""
    roles = {
        of.review.language: column.role
        for of in judged
        if of.review.kind == "registry"
        for column in of.columns
        if column.reviewed.concept == concept
    }
    assert set(roles) == set(SPOKEN)
    decided = set(roles.values()) - {UNDECIDED}
    assert len(decided) <= 1, roles
    assert concept in TEXTS or UNDECIDED not in roles.values(), roles


def test_no_subject_is_set_that_is_not_one(judged: tuple[Judged, ...]) -> None:
    """Two numbers of a person may both be its subject; an amount, a name or a mail may not."""
    wrong = {of.review.table: of.subject for of in judged if of.wrong_subject}
    assert wrong == {}


@pytest.fixture(scope="module")
def silent(source: Source) -> Mapping[str, bool]:
    """Whether a run asks about each column, were all headers c01 and so on, by table and column."""
    asked = {}
    for name, review in SILENT.items():
        path = source(name).with_name("silent.parquet")
        headers = ", ".join(f'"{c}" AS c{n:02}' for n, c in enumerate(review.columns, 1))
        with duckdb.connect() as con:
            con.execute(f"COPY (SELECT {headers} FROM '{source(name)}') TO '{path}'")
        with opened(path, None) as found_table:
            session, query = found_table.session, found_table.opened.query
            table = session.run(Step("deid_draft", query))
            found = detect(session, table)
            seen = look(session, table, found)
            said = identifiers(session, table, found, seen)
        for one, column in zip(found, review.columns, strict=True):
            asked[f"{name}.{column}"] = one.name in said
    return asked


def of_words(file: Path, name: str) -> bool:
    """Whether most values of a column have a word."""
    with duckdb.connect() as con:
        query = (
            f"""SELECT avg(regexp_matches("{name}"::VARCHAR, '[\\p{{L}}]{{3,}}')::INTEGER) > 0.5"""
        )
        return bool(con.execute(f"{query} FROM '{file}'").fetchall()[0][0])


def test_no_name_street_or_remark_leaves_under_a_silent_header(
    silent: Mapping[str, bool], source: Source
) -> None:
    left = [
        f"{name}.{column}"
        for name, review in SILENT.items()
        for column, reviewed in review.columns.items()
        if reviewed.direct and not silent[f"{name}.{column}"] and of_words(source(name), column)
    ]
    assert left == []


def test_a_silent_header_alone_is_no_reason_to_ask(silent: Mapping[str, bool]) -> None:
    """Of what a reviewer would let out; seventy specialties that nobody has listed are asked of."""
    nuisance = [
        f"{name}.{column}"
        for name, review in SILENT.items()
        for column, reviewed in review.columns.items()
        if reviewed.roles & {"sensitive", "insensitive"}
        and not reviewed.direct
        and silent[f"{name}.{column}"]
    ]
    assert nuisance == ["diabetes.medical_specialty"]
