"""Who answers for a release, and on what terms it is given away: published on its page."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, model_validator

from dbdeid.data.problem import problem
from dbdeid.spec.column.hierarchy_spec import Part, Text

_LONGEST = 200
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(\.[\w-]+)+")
_PAGE = re.compile(r"https?://[^\s@<>\"'/?#]+\.[^\s@<>\"'/?#]+[^\s@<>\"']*")


def _line(value: str) -> str:
    if not value.isprintable() or len(value) > _LONGEST:
        raise problem(
            f"not one line of at most {_LONGEST} printable characters",
            "it stands on the public page",
        )
    return value


def _contact(value: str) -> str:
    if not (_MAIL.fullmatch(value) or _PAGE.fullmatch(value)):
        raise problem(
            "neither a mail address nor the address of a page",
            "as in data@hospital.example, or https://hospital.example/data",
        )
    return value


Line = Annotated[Text, AfterValidator(_line)]


class Publisher(Part):
    """What the public page says of its owner, in the owner's words.

    Attributes:
        name: who publishes the release.
        licence: on what terms, as in `CC BY 4.0`.
        contact: a mail address, or that of a page.
    """

    name: Line | None = None
    licence: Line | None = None
    contact: Annotated[Line, AfterValidator(_contact)] | None = None

    @model_validator(mode="after")
    def _something(self) -> Publisher:
        if not (self.name or self.licence or self.contact):
            raise problem("publisher says nothing", "give name, licence or contact, or drop it")
        return self
