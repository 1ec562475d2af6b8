"""The metrics of a release that are measured on the written table and the source.

The search knows its own objective before anything is written; here all are found again, in the
database and from other numbers.
"""

from __future__ import annotations

from collections.abc import Collection
from math import prod
from typing import Any

import numpy as np
from sqlglot import exp

from dbdeid.data.classes import CODED, TUPLES
from dbdeid.data.hierarchy import TOP
from dbdeid.engine.relation import Relation, column
from dbdeid.engine.session import Session
from dbdeid.methods.full_domain import Plan, QuasiIdentifier
from dbdeid.release.prepare import Prepared
from dbdeid.release.spec import OF_SENSITIVE
from dbdeid.utility.ambiguity import ambiguity
from dbdeid.utility.kl_divergence import kl_divergence
from dbdeid.utility.mutual_information import told
from dbdeid.utility.nonuniform_entropy import nonuniform_entropy
from dbdeid.utility.sizes import sized_classes

LABELLED = ("nonuniform_entropy", "ambiguity", "kl_divergence")


def measured(
    prepared: Prepared, plan: Plan, released: Relation, session: Session, asked: Collection[str]
) -> dict[str, float]:
    """The metrics that are asked for, by name; those of a sensitive column as `<name>.<column>`."""
    found: dict[str, float] = {}
    if not set(LABELLED).isdisjoint(asked):
        found |= _of_labels(prepared, plan, released, session, asked)
    if not set(OF_SENSITIVE).isdisjoint(asked):
        found |= _of_sensitive(prepared, released, session)
    return {name: value for name, value in found.items() if name.partition(".")[0] in asked}


def _of_labels(
    prepared: Prepared, plan: Plan, released: Relation, session: Session, asked: Collection[str]
) -> dict[str, float]:
    values, sizes = _upload(prepared, plan, session)
    domain = prod(float(_domain(q)) for q in prepared.quasi_identifiers)
    classes = sized_classes(released, sizes, domain)
    found = {}
    if "nonuniform_entropy" in asked:
        weights = {q.name: q.weight for q in prepared.quasi_identifiers}
        found["nonuniform_entropy"] = nonuniform_entropy(session, CODED, released, values, weights)
    if "ambiguity" in asked:
        found["ambiguity"] = ambiguity(session, classes, prepared.rows)
    if "kl_divergence" in asked:
        tuples = _tuples(prepared, [*values])
        found["kl_divergence"] = kl_divergence(session, tuples, classes, prepared.rows)
    return found


def _of_sensitive(prepared: Prepared, released: Relation, session: Session) -> dict[str, float]:
    names = [q.name for q in prepared.quasi_identifiers]
    found: dict[str, float] = {}
    for c in prepared.bound.columns:
        if c.spec.role == "sensitive":
            bits = told(session, CODED, released, names, c.name)
            values = (bits.release, bits.gain, bits.lost)
            found |= {f"{m}.{c.name}": v for m, v in zip(OF_SENSITIVE, values, strict=True)}
    return found


def _tuples(prepared: Prepared, names: list[str]) -> exp.Select:
    """The records of each distinct tuple, whoever they belong to."""
    if prepared.parameters.subject is None:
        return exp.select("records").from_(TUPLES.table)
    keys = [column(name, "coded") for name in names]
    counted = exp.alias_(exp.Count(this=exp.Star()), "records")
    rows = exp.alias_(CODED.table, "coded", table=True)
    return exp.select(counted).from_(rows).group_by(*keys)


def _upload(
    prepared: Prepared, plan: Plan, session: Session
) -> tuple[dict[str, exp.Select], dict[str, exp.Select]]:
    """For each quasi-identifier the label of each of its codes, and the size of each label."""
    codes: dict[str, list[Any]] = {"number": [], "code": [], "label": []}
    sized: dict[str, list[Any]] = {"number": [], "label": [], "size": []}
    for i, (q, level) in enumerate(zip(prepared.quasi_identifiers, plan.node, strict=True)):
        labels = [cell.label for cell in q.coding.cells(level)]
        codes["number"] += [i] * len(labels)
        codes["code"] += range(len(labels))
        codes["label"] += labels
        sizes = dict(zip(labels, q.coding.sizes(level).tolist(), strict=True))
        sizes[TOP] = _domain(q)  # suppressed records that are kept
        sized["number"] += [i] * len(sizes)
        sized["label"] += sizes
        sized["size"] += sizes.values()
    kinds = {"number": np.int64, "code": np.int64, "size": np.float64}
    found = []
    for name, table in (("deid_measured_labels", codes), ("deid_measured_sizes", sized)):
        typed = {c: np.array(v, kinds[c]) if c in kinds else v for c, v in table.items()}
        uploaded = session.upload(name, typed)
        own = exp.select(*(c for c in table if c != "number")).from_(uploaded.table)
        names = [q.name for q in prepared.quasi_identifiers]
        found.append({n: own.where(exp.column("number").eq(i)) for i, n in enumerate(names)})
    return found[0], found[1]


def _domain(q: QuasiIdentifier) -> int:
    return int(q.coding.sizes(q.height).max(initial=1))
