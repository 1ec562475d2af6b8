"""Records that are not true: counterfeit ones that were added, and ones that were moved."""

from __future__ import annotations

from dataclasses import dataclass

from dbdeid.data.json import Json
from dbdeid.record.making import Padding
from dbdeid.record.public_record import PublicPadding, Shown
from dbdeid.record.release_record import ReleaseRecord

# The method's own bound of the prosecutor risk of a record, in shares of 1/k.
ALLOWED_RISK = 1.10
# The catalogs that are published, and so say how many records are counterfeit.
CATALOGUED = ("pool", "paper")


@dataclass(frozen=True, slots=True)
class Counterfeits:
    """What a page says of counterfeit records; what the audience may not know is None.

    Attributes:
        counted: what k means, and the prosecutor risk.
        catalog: pool, paper or none.
        sensitive: the column whose values the catalog counts.
        strict: whether the risk may not exceed 1/k at all.
        counterfeits: how many there are.
        size: what smaller classes were filled up to.
        candidates: classes that may have been.
        groups: of the catalog.
        limit: the most that may be.
        degree: the greatest of a record.
        h: the ceiling of the degree.
        declared_h: the same as declared; None: the lowest that the budget allows.
        budget: the most that may be, as a share of the source.
        real: how many records are.
        published: whether the catalog is.
        weighing: how a recipient counts and averages with it.
    """

    counted: str
    catalog: str
    sensitive: str | None
    strict: bool
    counterfeits: int | None
    size: int | None
    candidates: int | None
    groups: int | None
    limit: int | None
    degree: float | None
    h: float | None
    declared_h: Json
    budget: Json
    real: int | None
    published: bool
    weighing: str | None


@dataclass(frozen=True, slots=True)
class Moved:
    """What a page says of records with quasi-identifiers of others.

    Attributes:
        limit: the most that may be, as a share.
        rows: how many there are; None for the public.
    """

    limit: Json
    rows: int | None


def counted(padding: Padding | PublicPadding) -> str:
    """What k means where counterfeit records count, with the risk or, unknown, what it may be.

    >>> counted(Padding(k=5, catalog="pool", risk=0.212))
    'k = 5 counting counterfeits; prosecutor risk 1.06/5'
    >>> counted(Padding(k=5, catalog="none"))
    'k = 5 counting counterfeits; prosecutor risk at most 1.10/5'
    """
    k, risk = padding.k, padding.told or padding.risk
    if risk is None:
        shown = f"at most {1.0 if padding.strict else ALLOWED_RISK:.2f}"
    else:
        shown = f"{risk * k:.2f}"
    return f"k = {k} counting counterfeits; prosecutor risk {shown}/{k}"


def padding_of(record: Shown) -> Counterfeits | None:
    """What a page says of counterfeit records; None where there are none."""
    padding = record.padding
    if padding is None:
        return None
    declared, added = record.method_parameters or {}, padding.counterfeits
    published = padding.catalog in CATALOGUED
    private = padding if isinstance(padding, Padding) else None
    return Counterfeits(
        counted=counted(padding),
        catalog=padding.catalog,
        sensitive=padding.sensitive,
        strict=padding.strict,
        counterfeits=added,
        size=padding.size,
        candidates=padding.candidates,
        groups=padding.groups,
        limit=private.limit if private else None,
        degree=padding.degree,
        h=private.h if private else None,
        declared_h=declared.get("h"),
        budget=declared.get("max_counterfeits"),
        real=None if added is None else record.released_rows - added,
        published=published,
        weighing=_weighing(record.release) if published else None,
    )


def moved_of(record: Shown) -> Moved | None:
    """What a page says of records with quasi-identifiers of others; None where there are none."""
    if record.method != "relocation":
        return None
    limit = (record.method_parameters or {}).get("limit")
    rows = record.relocated_rows if isinstance(record, ReleaseRecord) else None
    return Moved(limit, rows)


def _weighing(release: str) -> str:
    """How a recipient counts and averages."""
    return (
        f"SELECT sum(weight) AS records\nFROM {release}_weighted\nWHERE …;\n\n"
        f"SELECT sum(weight * x) / sum(weight) AS mean_of_x\nFROM {release}_weighted\nWHERE …;"
    )
