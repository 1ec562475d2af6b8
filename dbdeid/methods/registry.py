"""The methods by name, the one place that lists their classes; `spec.method_spec` lists keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from dbdeid.bind.bound import Bound
from dbdeid.engine.session import Session
from dbdeid.methods.common.method import Method
from dbdeid.methods.condensation.condensation import CondensationMethod
from dbdeid.methods.counterfeit.counterfeit import CounterfeitMethod
from dbdeid.methods.full_domain.full_domain import FullDomainMethod
from dbdeid.methods.full_domain.relocation import RelocationMethod
from dbdeid.methods.local_recoding.local_recoding import LocalRecodingMethod
from dbdeid.methods.microaggregation.microaggregation import MicroaggregationMethod
from dbdeid.methods.policy.policy import PolicyMethod
from dbdeid.prepare.prepare import Prepared, prepare

METHODS: Mapping[str, Method[Any]] = MappingProxyType(
    {
        "full_domain": FullDomainMethod(),
        "counterfeit": CounterfeitMethod(),
        "local_recoding": LocalRecodingMethod(),
        "policy": PolicyMethod(),
        "condensation": CondensationMethod(),
        "microaggregation": MicroaggregationMethod(),
        "relocation": RelocationMethod(),
    }
)


def method_of(bound: Bound) -> Method[Any]:
    """The method of a spec."""
    return METHODS[bound.spec.method.name]


def ready(bound: Bound, session: Session) -> Prepared:
    """The source of a bound spec, staged, coded and ready for its method.

    Raises:
        HierarchyError, DataError, SpecError: as `prepare` does, and where the options of the
            method do not fit the quasi-identifiers.
    """
    prepared = prepare(bound, session)
    shared = prepared.parameters.under(None)
    method = method_of(prepared.bound)
    options = method.parameters(prepared.bound, shared, prepared.quasi_identifiers)
    return replace(prepared, parameters=options)
