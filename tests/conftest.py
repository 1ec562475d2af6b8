"""Fixtures shared by all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference datasets and oracle values that lies beside the checkout."""
    if not SHARED.is_dir():
        pytest.skip("reference data not found beside the checkout: ../shared")
    return SHARED
