"""The methods as one thing: what a specification names, what makes it, and what it is called."""

from __future__ import annotations

import pytest

from dbdeid.methods.registry import METHODS as MADE
from dbdeid.report.content.terms import METHODS as WORDS
from dbdeid.report.content.terms import TAKES_NONE_OUT
from dbdeid.spec.method.base import MethodPart
from dbdeid.spec.method_spec import METHODS, capabilities_of


def test_every_method_of_a_specification_is_made_here_or_elsewhere() -> None:
    elsewhere = {name for name, method in METHODS.items() if method.can.values == "foreign"}
    assert elsewhere == {"external"}
    assert {*MADE} == {*METHODS} - elsewhere


def test_every_method_has_words() -> None:
    assert {*WORDS} == {*METHODS}


def test_the_report_knows_which_methods_take_no_record_out() -> None:
    # of counterfeit and moved records a page tells anyway, and of other programs it knows nothing
    told = {name for name, method in METHODS.items() if method.can.counterfeits or method.can.moves}
    whole = {
        name for name, method in METHODS.items() if "suppression_limit" not in method.model_fields
    }
    assert {*TAKES_NONE_OUT} == whole - told - {"external"}


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_capabilities_agree_with_each_other(method: type[MethodPart]) -> None:
    can, family = method.can, method.family
    kind = {"synthetic": "drawn", "masked": "means", "external": "foreign"}
    assert can.values == kind.get(family, "generalized")
    assert can.counterfeits == (family == "padded")
    assert bool(can.boundless) == (can.values in ("means", "drawn"))
    if can.frontier or can.moves or can.compared or can.costs:
        assert can.values == "generalized"
    if can.grid is not None:  # there is a search that could be compared
        assert can.searched is None
    if can.reuse is None:
        assert can.rules


def test_a_method_that_is_not_known_is_taken_for_one_that_generalizes() -> None:
    assert capabilities_of("condensation").values == "drawn"
    assert capabilities_of("of a later version") == capabilities_of("")
    assert capabilities_of("").values == "generalized"
