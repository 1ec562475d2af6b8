"""Does a release keep its word? Everything is recomputed in SQL from the written table."""

from __future__ import annotations

from dbdeid.verify.content import Content, compared, content, contents
from dbdeid.verify.declared import Check, Declared, Promise, Unique, Verification
from dbdeid.verify.given import verify_given
from dbdeid.verify.proven import Proven, proven
from dbdeid.verify.rebuilt import rebuilt
from dbdeid.verify.release import (
    verify_bare,
    verify_file,
    verify_table,
    verify_views,
)
from dbdeid.verify.twin import Twin
from dbdeid.verify.unique import unique

__all__ = [
    "Check",
    "Content",
    "Declared",
    "Promise",
    "Proven",
    "Twin",
    "Unique",
    "Verification",
    "compared",
    "content",
    "contents",
    "proven",
    "rebuilt",
    "unique",
    "verify_bare",
    "verify_file",
    "verify_given",
    "verify_table",
    "verify_views",
]
