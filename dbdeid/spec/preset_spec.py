"""Presets: rules of the law that a specification may declare to keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from dbdeid.data.problem import problem
from dbdeid.errors import did_you_mean
from dbdeid.spec.hierarchy_spec import Part, Text

PRESETS = ("safe_harbor",)
# The methods that release each value at a level of its hierarchy, which the rules are about.
METHODS = ("full_domain", "local_recoding", "counterfeit")
# What a specification says that leaves it to the preset.
DEFAULTS: Mapping[str, object] = {
    "columns": {},
    "privacy": [{"model": "k_anonymity", "k": 1}],
    "method": "full_domain",
}


class Preset(Part):
    """HIPAA Safe Harbor, 45 CFR 164.514(b)(2): what it objects to is withheld or generalized.

    Attributes:
        name: of the preset.
        accept: columns that it objects to and that are released as declared, each with the reason.
        found: what each column that falls under the rule holds, by its name; it is found out
            whenever a specification is read, whatever stands there, and so are the next two.
        doubts: columns that it lets through and that may fall under the rule, each with the reason.
        first_years: of columns of dates that reach further back, the first year that may be told.
    """

    name: Literal["safe_harbor"]
    accept: dict[str, Text] = Field(default_factory=dict)
    found: dict[str, Text] = Field(default_factory=dict)
    doubts: dict[str, Text] = Field(default_factory=dict)
    first_years: dict[str, int] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        if isinstance(value, str):
            if value not in PRESETS:
                raise problem(f"unknown preset {value!r}", did_you_mean(value, PRESETS))
            return {"name": value}
        return value

    def accepts(self, column: str) -> bool:
        """Whether a column is released as declared."""
        return column.lower() in {name.lower() for name in self.accept}
