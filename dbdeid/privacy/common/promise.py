"""What every privacy model says of itself: its words, and what may be published of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from pydantic import BaseModel, ConfigDict


class Words(NamedTuple):
    """What a model is called, and what it promises, in plain words."""

    name: str
    promise: str


class Promise(BaseModel, ABC):
    """A declared privacy model.

    Attributes:
        words: its name, and what it promises.
        public: those of its parameters that the public may be told, in the order they are shown.
        found_in_release: whether what is found of it follows from the released table alone, as
            nothing does that compares with the source; the public may then be told that, too.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    words: ClassVar[Words]
    public: ClassVar[tuple[str, ...]]
    found_in_release: ClassVar[bool] = False

    @staticmethod
    @abstractmethod
    def said(declared: Mapping[str, Any], on: str) -> str:
        """The promise in one clause.

        Args:
            declared: the parameters; those that are left out have their defaults.
            on: how many quasi-identifiers there are, in words.
        """

    @staticmethod
    def vacuous(declared: Mapping[str, Any]) -> bool:
        """Whether any table keeps the promise, whatever is released.

        Args:
            declared: the parameters; those that are left out have their defaults.
        """
        return False
