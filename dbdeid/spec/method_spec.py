"""The methods of a specification: how a release is made; each stands in `spec/method/`."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, get_args

from pydantic import BeforeValidator, Field

from dbdeid.spec.method.base import MethodPart
from dbdeid.spec.method.capabilities import Capabilities
from dbdeid.spec.method.condensation import Condensation
from dbdeid.spec.method.counterfeit import Counterfeit
from dbdeid.spec.method.external import External
from dbdeid.spec.method.full_domain import FullDomain, Objective
from dbdeid.spec.method.local_recoding import LocalRecoding
from dbdeid.spec.method.microaggregation import Microaggregation
from dbdeid.spec.method.policy import Policy
from dbdeid.spec.method.relocation import Relocation
from dbdeid.utility.common.metric import Family

__all__ = ["METHODS", "Capabilities", "Family", "Method", "MethodPart", "Objective"]


def _known_method(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


Known: TypeAlias = (
    FullDomain
    | LocalRecoding
    | Counterfeit
    | Policy
    | Condensation
    | Microaggregation
    | Relocation
    | External
)
Method: TypeAlias = Annotated[Known, Field(discriminator="name"), BeforeValidator(_known_method)]
# By name.
METHODS: dict[str, type[MethodPart]] = {
    get_args(method.model_fields["name"].annotation)[0]: method for method in get_args(Known)
}


def capabilities_of(name: str) -> Capabilities:
    """Return the capabilities of a method; an unknown one can only generalize."""
    return METHODS[name].can if name in METHODS else Capabilities()
