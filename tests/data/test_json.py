"""What values become where JSON is written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dbdeid.data.json import Json, plain


class Colour(Enum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Inner:
    parts: tuple[int, ...]
    day: date


@dataclass(frozen=True, slots=True)
class Outer:
    second: Inner
    first: Mapping[str, Inner]
    hidden: object = field(default=None, metadata={"json": False})


DAY = date(2024, 2, 29)
SEVEN = {"parts": [7], "day": "2024-02-29"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (3, 3),
        (0.1, 0.1),
        ("é", "é"),
        ((1, (2, 3)), [1, [2, 3]]),
        ({1: Path("a/b")}, {"1": "a/b"}),
        (Decimal("1.50"), "1.50"),
        (datetime(2024, 2, 29, 1, 2, 3, tzinfo=UTC), "2024-02-29 01:02:03+00:00"),
        (Colour.RED, "red"),
        (np.float64(0.1), 0.1),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (Inner((7,), DAY), SEVEN),
        (
            Outer(Inner((), DAY), {"a": Inner((7,), DAY)}, hidden=1),
            {"second": {"parts": [], "day": "2024-02-29"}, "first": {"a": SEVEN}},
        ),
        ([Inner((7,), DAY)], [SEVEN]),
    ],
    ids=str,
)
def test_values_become_those_of_json(value: object, expected: Json) -> None:
    found = plain(value)
    assert found == expected
    assert _types(found) == _types(expected)
    assert json.loads(json.dumps(found)) == found


def _types(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _types(item) for key, item in value.items()}
    return [_types(item) for item in value] if isinstance(value, list) else type(value)


def test_fields_keep_their_order() -> None:
    assert list(plain(Outer(Inner((), DAY), {}))) == ["second", "first"]


def test_an_infinite_number_stays_what_it_is() -> None:
    assert plain({"loss": float("inf")}) == {"loss": float("inf")}
