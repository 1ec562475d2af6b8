"""Warn, before all else, that a release is of little use."""

from __future__ import annotations

from collections.abc import Sequence


def first(useless: Sequence[str], text: str) -> str:
    """A finished run in words, what makes it useless before all else."""
    return "\n".join([*(f"USELESS: {sentence}" for sentence in useless), text])
