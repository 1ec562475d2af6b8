"""The answer to a client's statement: rows, that it is done, or why it is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dbdeid.query.clients.copying import Copied
from dbdeid.query.clients.statements import Query, Sent
from dbdeid.serve.types import Type


class Refused(Exception):
    """A statement that is not carried out, and the reason for the client.

    Attributes:
        code: its SQLSTATE.
        message: what is wrong.
        hint: what to do about it.
        position: of the sign in what was sent that it is about, from 1; 0 where it is about none.
    """

    def __init__(self, code: str, message: str, hint: str = "", position: int = 0) -> None:
        self.code, self.message, self.hint, self.position = code, message, hint, position
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of an answer."""

    name: str
    type: Type
    modifier: int = -1


@dataclass(frozen=True, slots=True)
class Answered:
    """What a statement gives.

    Attributes:
        tag: what has been done, as PostgreSQL says it; to that of rows, their number is added.
        columns: None where it gives no rows.
        rows: the values.
        notices: what a reader should know.
        settings: the settings that it has changed, of which the client is to be told.
        copied: how the rows are written where they are copied out.
    """

    tag: str
    columns: tuple[Column, ...] | None = None
    rows: Sequence[tuple[Any, ...]] = ()
    notices: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    copied: Copied | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that has been read.

    Attributes:
        sent: as it was sent.
        query: its tree, if it is a query.
    """

    sent: Sent
    query: Query | None

    @property
    def gives_rows(self) -> bool:
        """Whether its answer has columns that can be described."""
        return self.query is not None or self.sent.word(0) in ("SHOW", "EXPLAIN", "FETCH")
