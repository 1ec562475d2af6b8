"""Limits as the fractions that they stand for."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dbdeid.privacy.common.histogram import meant


@pytest.mark.parametrize("number", [3, 7, 49, 1000, 999_983, 1_000_000])
def test_a_share_of_up_to_a_million_is_that_fraction(number: int) -> None:
    assert meant(1 / number) == Fraction(1, number)
    assert meant((number - 1) / number) == Fraction(number - 1, number)


# The last two are, as floating-point numbers, fractions of less than ten million, too.
@pytest.mark.parametrize(
    "text", ["0.3", "2.5", "0.29", "0.1234567", "0.9989999999", "0.5556666667"]
)
def test_a_limit_of_few_decimals_is_what_is_written(text: str) -> None:
    assert meant(float(text)) == Fraction(text)
