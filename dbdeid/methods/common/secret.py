"""The secret that random order and draws hang on; it never leaves the database."""

from __future__ import annotations

from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session

SECRET = Relation("deid_secret", schema="main", catalog="temp")


def upload_secret(session: Session, key: str) -> Relation:
    """Upload the key of all draws as a table: the text of a statement would reveal it."""
    return session.upload(SECRET.name, {"key": [key]})
