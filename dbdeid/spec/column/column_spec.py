"""What a specification declares of one column: its role, and what belongs to it."""

from __future__ import annotations

import re
import unicodedata
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from dbdeid.data.problem import problem
from dbdeid.spec.column.hierarchy_spec import HierarchySpec, Part, no_nul, plain, short_hierarchy

FROM_POPULATION: Literal["from_population"] = "from_population"

Role = Literal[
    "identifier",
    "drop",
    "quasi_identifier",
    "sensitive",
    "insensitive",
    "synthesize",
    "undecided",
]
Acceptance = Literal["homogeneity", "looks_like_identifier"]
# What a draft of earlier versions wrote where the owner's reason belongs, and what people put into
# a place that they mean to fill later.
_DRAFTED = re.compile(
    r"\s*(not looked at yet|your own words|give the column a"
    r"|\W*(todo|to do|tbd|fixme|xxx+|none|null|reason|n/?a)\W*$)",
    re.IGNORECASE,
)


def _domain(value: Any) -> Any:
    if value is None or value == FROM_POPULATION:
        return value
    if not isinstance(value, list | tuple) or not value:
        raise problem("expects a list of values, or from_population")
    return tuple(plain(str(v) if isinstance(v, date) else v) for v in value)


def _accepted(value: Any) -> Any:
    if value in ([], ()):
        raise problem("is an empty list", "say what is accepted, or leave the key out")
    words = (value,) if isinstance(value, str) else value
    if isinstance(words, list | tuple) and "rows" in words:
        raise problem(
            "accept: rows is about the whole release, not about a column",
            "write `accept: rows` at the top level, beside `columns`",
        )
    return words


def given_reason(reason: str | None) -> bool:
    """Whether a reason is one: words of the owner, not of a draft."""
    if reason is None or _DRAFTED.match(reason):
        return False
    return any(c.isalpha() and "FILLER" not in unicodedata.name(c, "") for c in reason)


def names_in(key: str) -> tuple[str, ...]:
    """The columns that a key of `columns` names, which may list several between commas.

    >>> names_in("ward, admitted")
    ('ward', 'admitted')
    """
    return tuple(part.strip() for part in key.split(","))


class ColumnSpec(Part):
    """The role of one column and what belongs to it."""

    role: Role
    hierarchy: Annotated[HierarchySpec | None, BeforeValidator(short_hierarchy)] = None
    type: Literal["categorical"] | None = None
    weight: Annotated[float, Field(ge=1e-9, le=1e9, allow_inf_nan=False)] = 1.0
    min_level: Annotated[int, Field(ge=0)] = 0
    max_level: Annotated[int, Field(ge=0)] | None = None
    domain: Annotated[
        tuple[str, ...] | Literal["from_population"] | None, BeforeValidator(_domain)
    ] = None
    order: Annotated[tuple[str, ...], Field(strict=False, min_length=1)] | None = None
    pseudonym: bool = False
    reason: Annotated[str, AfterValidator(no_nul)] | None = None
    accept: Annotated[tuple[Acceptance, ...], Field(strict=False), BeforeValidator(_accepted)] = ()
    pool: Annotated[int, Field(ge=1)] | None = None
    values: Literal["normalized", "as_written"] = "normalized"

    @property
    def released(self) -> bool:
        """Whether the column leaves, as it is, generalized or as a pseudonym."""
        return self.role not in ("identifier", "drop", "undecided") or self.pseudonym

    @property
    def free(self) -> bool:
        """Whether its intervals, or sets of values, are chosen by the blocks of records."""
        return self.hierarchy is not None and self.hierarchy.free is not None

    @property
    def unexplained(self) -> bool:
        """Whether the place of its reason is there and empty: a question to the owner."""
        return "reason" in self.model_fields_set and not given_reason(self.reason)

    @field_validator("order", mode="before")
    @classmethod
    def _order_texts(cls, value: Any) -> Any:
        return [plain(v) for v in value] if isinstance(value, list | tuple) else value

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"role": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _consistent(self) -> ColumnSpec:
        if self.role == "quasi_identifier":
            self._check_quasi_identifier()
        else:
            used = [k for k in _QI_KEYS if k in self.model_fields_set]
            kind = self.hierarchy.kind if self.hierarchy is not None else ""
            if self.role == "sensitive" and "hierarchy" in used and kind not in ("labels", "free"):
                used.remove("hierarchy")
            if self.role == "synthesize":
                used = [k for k in used if k not in ("type", "weight")]
            if used:
                raise problem(
                    f"{', '.join(used)} only go with role quasi_identifier",
                    "drop the key, or change the role",
                )
        if self.pool is not None and self.role != "synthesize":
            raise problem("pool only goes with role synthesize", "drop it, or change the role")
        if "values" in self.model_fields_set and self.role != "sensitive":
            raise problem(
                "values only goes with role sensitive", "drop the key, or change the role"
            )
        self._check_accepted()
        if self.pseudonym and self.role != "identifier":
            raise problem("pseudonym: true only goes with role identifier")
        return self

    def _check_accepted(self) -> None:
        if "homogeneity" in self.accept and self.role != "sensitive":
            raise problem("accept: homogeneity only goes with role sensitive")
        if "looks_like_identifier" in self.accept:
            if not self.released:
                raise problem("accept: looks_like_identifier only goes with a column that leaves")
            if "reason" not in self.model_fields_set:
                raise problem(
                    "accept: looks_like_identifier needs a reason",
                    "say in `reason: …` why the column identifies nobody",
                )

    def _check_quasi_identifier(self) -> None:
        if self.max_level is not None and self.max_level < self.min_level:
            raise problem("max_level is below min_level")
        if (
            self.domain is not None
            and self.hierarchy is not None
            and self.hierarchy.kind not in ("prefix", "suppress", "shelf", "free")
        ):
            raise problem(
                "domain goes with prefix, suppress, shelf and free; others declare theirs"
            )
        if self.free and (self.min_level or self.max_level is not None):
            raise problem(
                "min_level and max_level do not go with hierarchy: free, which has no levels",
                "drop them, or give a hierarchy with levels, such as {intervals: [5, 10]}",
            )


_QI_KEYS = ("hierarchy", "type", "weight", "min_level", "max_level", "domain", "order")
