"""What who learns from a release with counterfeit records finds: which are, and who is who."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dbdeid.data.weights import WEIGHT, weighted
from dbdeid.engine.expressions import (
    aliased,
    ascending,
    cast,
    coalesce,
    column,
    count_rows,
    dense_rank,
    list_of,
    literal,
    max_of,
    null,
    over,
    select,
)
from dbdeid.engine.session import Session
from dbdeid.methods.attacks.counterfeit_suspicion import Rows, Suspected, suspected
from dbdeid.methods.common.outcome import Written
from dbdeid.methods.counterfeit.details import Padded, padded_of
from dbdeid.prepare.prepare import Prepared
from dbdeid.verify.base.declaration import CLASS_ID

# The names of its figures among the metrics, and the attributes that hold them.
METRIC = "counterfeit_suspicion"
_PARTS = {"among_most": "among_most", "success": "success", "surest": "success.surest"}


def attacked(prepared: Prepared, written: Written, session: Session) -> Suspected | None:
    """Measure an attack on a release, scored with the knowledge of which records are counterfeit.

    Without a catalog the attacker is taken to know how many records are counterfeit, and begins
    with as much suspicion of each record of a class that may be padded. None where nothing is.
    """
    padded = padded_of(written.outcome)
    if padded is None or written.flagged is None:
        return None
    if not padded.counterfeits:
        return None
    names = [q.name for q in prepared.quasi_identifiers]
    rows = _rows(padded, written, session, names)
    return suspected(rows, padded.k, fitted=padded.catalog != "paper")


def _rows(padded: Padded, written: Written, session: Session, known: list[str]) -> Rows:
    """The distinct rows of the release, as codes, with what the owner knows of them."""
    released, flagged, catalog = written.released, written.flagged, written.catalog
    assert flagged is not None
    told = [padded.sensitive] if padded.sensitive else []
    told += [n for n in released.names if n not in (CLASS_ID, *known, *told)]
    if catalog is None:
        alike = aliased(null(), WEIGHT)
        weights = select("*", alike).from_(released.table).subquery("weighted")
    else:
        weights = weighted(released, catalog, padded.sensitive).subquery("weighted")
    texts = {name: cast(column(name, "weighted"), "VARCHAR") for name in released.names}
    record = list_of(*texts.values())
    counted = select(
        aliased(null() if catalog is None else column(CLASS_ID, "weighted"), "class"),
        *(aliased(texts[name], f"c{i}") for i, name in enumerate([*known, *told])),
        aliased(record, "record"),
        aliased(max_of(column(WEIGHT, "weighted")), "genuine"),
        aliased(count_rows(), "records"),
    ).from_(weights)
    counted = counted.group_by(*(column(n, "weighted") for n in released.names))
    ranks = [
        aliased(
            over(dense_rank(), order=[ascending(column(f"c{i}", "counted"), nulls_first=True)]),
            f"c{i}",
        )
        for i in range(len(known) + len(told))
    ]
    same = column("record", "counted").eq(column("record", "flagged"))
    false = coalesce(column("counterfeits", "flagged"), literal(0))
    query = (
        select(
            column("class", "counted"),
            column("records", "counted"),
            aliased(cast(column("genuine", "counted"), "DOUBLE"), "genuine"),
            aliased(false, "false"),
            *ranks,
        )
        .from_(counted.subquery("counted"))
        .join(flagged.aliased("flagged"), on=same, join_type="left")
        .order_by(column("record", "counted"))
    )
    found = session.arrays(query)
    codes = [np.asarray(found[f"c{i}"], np.int64) - 1 for i in range(len(ranks))]
    records = np.asarray(found["records"], np.int64)
    empty = np.zeros((len(records), 0), np.int64)
    of_people = np.column_stack([empty, *codes[: len(known)]])
    if catalog is None:
        classes = np.unique(of_people, axis=0, return_inverse=True)[1].reshape(-1)
    else:
        classes = np.asarray(found["class"], np.int64)
    sizes = np.bincount(classes, records)
    # who knows the method knows that only classes of the padded size are padded
    padding = sizes[classes] == padded.size
    if catalog is None:
        suspicious = max(int(records[padding].sum()), 1)
        found["genuine"] = np.full(len(records), 1 - padded.counterfeits / suspicious)
    genuine = np.where(padding, np.asarray(found["genuine"], np.float64), 1.0)
    return Rows(
        classes=classes,
        known=of_people,
        told=np.column_stack([empty, *codes[len(known) :]]),
        records=records,
        counterfeits=np.asarray(found["false"], np.int64),
        genuine=genuine,
    )


def metrics_of(found: Suspected | None) -> dict[str, float]:
    """The figures as metrics."""
    if found is None:
        return {}
    parts = {f"{METRIC}.{name}": getattr(found, own) for own, name in _PARTS.items()}
    return {METRIC: found.auc, **parts}


def bound(padded: Padded, found: Suspected | None) -> float:
    """The prosecutor risk to report: the method's own, or the measured one where that is larger."""
    risk = padded.risk
    return risk if found is None else max(risk, found.success, found.surest, found.left)


def words(padded: Padded, found: Suspected | None) -> Iterator[str]:
    """Warn that learning from the release finds more than the method's own risk."""
    if found is None:
        return
    if found.impossible:
        below = "1 class then has" if found.below == 1 else f"{found.below} classes then have"
        yield (
            f"{found.impossible} of {found.counterfeits} counterfeit records have values that "
            f"exclude each other, as the release itself or most of the data shows: {below} fewer "
            f"than k = {padded.k} records, and a person there is found with a chance of up to "
            f"{max(found.left, padded.risk):.3f}. Use `catalog: pool` or `none`, or declare the "
            "combinations as `impossible`"
        )
    if max(found.success, found.surest) <= padded.risk:
        return
    alone = "method" if padded.catalog == "none" else "catalog"
    yield (
        "someone who learns from the release which values go with which quasi-identifiers suspects "
        f"the right records (AUC {found.auc:.3f}; of the 5% most suspicious {found.among_most:.0%} "
        f"are counterfeit) and finds the people of classes that may be padded with a chance of "
        f"{found.success:.3f}, of the surest twentieth of classes {found.surest:.3f}, where the "
        f"{alone} alone gives {padded.risk:.3f}: that is the prosecutor risk that is told. Coarser "
        "values that fit every class, quasi-identifiers that tell less of them, fewer counterfeit "
        "records (`recoding: borrow`) or suppression in their place lower it"
    )
