"""The kinds of columns, and which of them lead to a person directly."""

from __future__ import annotations

from typing import Literal, get_args

Kind = Literal[
    "person_name",
    "mail",
    "phone",
    "record_number",
    "address",
    "place",
    "url",
    "ip",
    "ssn",
    "biometric",
    "image",
    "date",
    "timestamp",
    "year",
    "zip",
    "postcode",
    "icd9",
    "icd10",
    "age",
    "country",
    "code",
    "number",
    "text",
    "free_text",
    "unique",
    "other",
]
KINDS: tuple[Kind, ...] = get_args(Kind)

# Kinds that name a person or lead to one directly, and are never released.
IDENTIFYING: frozenset[Kind] = frozenset(
    (
        *("person_name", "mail", "phone", "record_number", "address", "url", "ip", "ssn"),
        *("biometric", "image", "unique"),
    )
)
