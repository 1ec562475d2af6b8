"""Does a release keep its word? Everything is recomputed in SQL from the written table."""

from __future__ import annotations

from dbdeid.verify.content import Content, content
from dbdeid.verify.declared import Check, Declared, Promise, Verification
from dbdeid.verify.proven import Proven, proven
from dbdeid.verify.release import (
    stored_content,
    verify_bare,
    verify_file,
    verify_table,
    verify_views,
)

__all__ = [
    "Check",
    "Content",
    "Declared",
    "Promise",
    "Proven",
    "Verification",
    "content",
    "proven",
    "stored_content",
    "verify_bare",
    "verify_file",
    "verify_table",
    "verify_views",
]
