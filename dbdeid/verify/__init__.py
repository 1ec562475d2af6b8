"""Does a release keep its word? Everything is recomputed in SQL from the written table."""

from __future__ import annotations

from dbdeid.verify.base.declaration import Check, Declared, Promise, Unique, Verification
from dbdeid.verify.base.unique_records import unique
from dbdeid.verify.files.content import Content, compared, content, contents
from dbdeid.verify.files.content_proof import ContentProof, content_proof
from dbdeid.verify.files.twin import Staged, Twin
from dbdeid.verify.hierarchies.dictionary_rebuild import rebuilt
from dbdeid.verify.received_file import verify_given
from dbdeid.verify.release import (
    verify_bare,
    verify_file,
    verify_table,
    verify_views,
)
from dbdeid.verify.stored_tables import rows_digest, verify_stored

__all__ = [
    "Check",
    "Content",
    "ContentProof",
    "Declared",
    "Promise",
    "Staged",
    "Twin",
    "Unique",
    "Verification",
    "compared",
    "content",
    "content_proof",
    "contents",
    "rebuilt",
    "rows_digest",
    "unique",
    "verify_bare",
    "verify_file",
    "verify_given",
    "verify_stored",
    "verify_table",
    "verify_views",
]
