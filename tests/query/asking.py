"""Asking a release in tests: the rewritten query, and its rows with or without their bounds."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from dbdeid.engine.duckdb.session import Session
from dbdeid.query.parse.answerable import Answerable
from dbdeid.query.parse.reading import parse
from dbdeid.query.rewrite.rewrite import estimate

Rows = list[tuple[Any, ...]]


def rewrite(text: str, target: Answerable) -> exp.Select:
    """The query on the release, whether or not it can be answered."""
    return estimate(parse(text, target), target)


def bounded(session: Session, text: str, target: Answerable) -> Rows:
    """The answer: keys, and for each aggregate its expected value and bounds."""
    return session.rows(rewrite(text, target))


def rows(session: Session, text: str, target: Answerable) -> Rows:
    """The answer without its bounds."""
    query = rewrite(text, target)
    names = query.named_selects
    kept = [i for i, name in enumerate(names) if not name.endswith(("_lower", "_upper"))]
    return [tuple(row[i] for i in kept) for row in session.rows(query)]
