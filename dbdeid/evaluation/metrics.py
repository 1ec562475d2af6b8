"""The metrics of a release that are measured on the written table and the source.

The search knows its own objective before anything is written; here all are found again, in the
database and from other numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod
from typing import Any

import numpy as np

from dbdeid.data.classes import CODED, SOURCE, TUPLES, source_step
from dbdeid.engine.expressions import (
    Expr,
    Select,
    aliased,
    cast,
    column,
    count_rows,
    select,
    sum_of,
)
from dbdeid.engine.relation import MEASURED, NUMBERS, Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.methods.attacks.downcoding import Downcoded
from dbdeid.methods.attacks.minimality import Reading
from dbdeid.methods.common.outcome import Outcome, Written, domain_of
from dbdeid.prepare.prepare import Prepared
from dbdeid.publish.tables import Public
from dbdeid.spec.metric_spec import OF_SENSITIVE
from dbdeid.utility.ambiguity import ambiguity
from dbdeid.utility.block_entropy import block_entropy
from dbdeid.utility.fidelity import moments
from dbdeid.utility.fidelity.cluster_moments import cluster_moments
from dbdeid.utility.fidelity.conditional_privacy import conditional_privacy
from dbdeid.utility.fidelity.exact_hits import exact_hits
from dbdeid.utility.information_loss import information_loss
from dbdeid.utility.kl_divergence import kl_divergence
from dbdeid.utility.members import Crosswalk, members_of_transformation
from dbdeid.utility.mutual_information import told
from dbdeid.utility.node_entropy import node_entropy
from dbdeid.utility.nonuniform_entropy import nonuniform_entropy, nonuniform_entropy_of_crosswalk
from dbdeid.utility.reconstruction_error import reconstruction_error
from dbdeid.utility.sizes import sized_classes
from dbdeid.verify.base.declaration import CLASS_ID

LABELLED = ("ambiguity", "kl_divergence", "reconstruction_error")
ENTROPIES = ("nonuniform_entropy", "block_entropy", "node_entropy")


def measured(
    prepared: Prepared, written: Written, session: Session, asked: Collection[str]
) -> dict[str, float]:
    """The metrics that are asked for, by name; those of columns as `<name>.<columns>`."""
    found: dict[str, float] = {}
    if written.outcome.padded is not None:
        return _of_padded(prepared, written, session, asked)
    if not set(LABELLED).isdisjoint(asked):
        found |= _of_labels(prepared, written, session, asked)
    if not set(ENTROPIES).isdisjoint(asked):
        found |= _of_entropy(prepared, written, session, asked)
    if written.crosswalk is not None:
        names = [q.name for q in prepared.quasi_identifiers]
        texts = [cast(column(name), "VARCHAR") for name in names]
        found |= _of_classes(written.released, texts, session)
    if not set(OF_SENSITIVE).isdisjoint(asked):
        found |= _of_sensitive(prepared, written.released, session)
    if "minimality" in asked:
        found |= _minimality(written.outcome.readings)
    if "downcoding" in asked:
        found |= _downcoding(written.outcome.downcoded)
    if "moments" in asked:
        found |= _moments(prepared, written.released, session)
    return {name: value for name, value in found.items() if name.partition(".")[0] in asked}


def of_masked(
    prepared: Prepared, written: Written, session: Session, asked: Collection[str]
) -> dict[str, float]:
    """The metrics of a release whose quasi-identifiers are means; moments only where asked for."""
    assert written.crosswalk is not None
    names = [q.name for q in prepared.quasi_identifiers]
    found = _of_classes(written.released, [column(name) for name in names], session)
    numbers = [c for c in written.released.columns if c.name in names and c.family in MEASURED]
    crosswalk = Crosswalk(written.crosswalk, tuple(names), written.released.names)
    if "moments" in asked:
        found |= _moments(prepared, written.released, session)
    lost = information_loss(session, crosswalk, numbers)
    return found if lost is None else found | {"information_loss": lost}


def of_synthetic(
    prepared: Prepared, written: Written, session: Session, asked: Collection[str]
) -> dict[str, float]:
    """The metrics of synthetic records that are asked for."""
    assert written.clusters is not None
    assert written.outcome.synthetic is not None
    released = written.released
    found: dict[str, float] = {}
    if "moments" in asked:
        found |= _moments(prepared, released, session)
    if "conditional_privacy" in asked:
        privacy = conditional_privacy(session, written.clusters, released.columns)
        shares = [of_column.relative for of_column in privacy.values()]
        found["conditional_privacy"] = sum(shares) / len(shares)
        for name, of_column in privacy.items():
            found[f"conditional_privacy.{name}"] = of_column.relative
            found[f"conditional_privacy.{name}.absolute"] = of_column.absolute
    if "cluster_moments" in asked:
        of_clusters = cluster_moments(session, written.clusters, released.columns)
        if of_clusters is not None:
            found["cluster_moments.means"] = of_clusters.means
            found["cluster_moments.covariances"] = of_clusters.covariances
    if "exact_hits" in asked:
        hits = exact_hits(session, session.temp(SOURCE.name), released, released.names)
        found["exact_hits"] = hits.share
        found["exact_hits.unique"] = hits.share_of_unique
    trial, shadows = written.outcome.synthetic.trial, written.outcome.synthetic.shadows
    if trial is not None and shadows is not None:
        membership = {
            "membership": max(trial.auc, shadows.everyone.auc),
            "membership.distance": trial.auc,
            "membership.true_positives": shadows.everyone.true_positives,
            "membership.outliers": shadows.outliers.auc,
            "membership.outliers.true_positives": shadows.outliers.true_positives,
        }
        found |= membership if "membership" in asked else {}
        if "people_at_risk" in asked:
            found["people_at_risk"] = shadows.people_at_risk
            found["people_at_risk.outliers"] = shadows.outliers_at_risk
    return found


def _moments(prepared: Prepared, released: Relation, session: Session) -> dict[str, float]:
    """How far the numbers of the release are from those of the source; nothing without any."""
    numbers = [
        staged
        for staged in prepared.bound.staged
        if Column(staged.column.name, staged.released_type).family in NUMBERS
    ]
    if not numbers:
        return {}
    # where quasi-identifiers were coded, the staged source is gone
    query = source_step(prepared.bound.source, numbers, None).query
    source = session.run(Step("deid_measured_source", query))
    columns = moments.numeric(source, released)
    errors = moments.moments(session, source, released, columns)
    session.drop_temp(source.name)
    return moments.flat(errors)


def _of_labels(
    prepared: Prepared, written: Written, session: Session, asked: Collection[str]
) -> dict[str, float]:
    released = written.released
    values, sizes = _upload(prepared, written.outcome, session)
    domain = prod(float(domain_of(q.coding)) for q in prepared.quasi_identifiers)
    classes = sized_classes(released, sizes, domain)
    found = {}
    if "ambiguity" in asked:
        found["ambiguity"] = ambiguity(session, classes, prepared.rows)
    # where levels differ, classes overlap, and several of them tell of one tuple
    if "kl_divergence" in asked and written.crosswalk is None:
        tuples = _tuples(prepared, [*values])
        found["kl_divergence"] = kl_divergence(session, tuples, classes, prepared.rows)
    if "reconstruction_error" in asked:
        error = reconstruction_error(
            session, released, sizes, [*sizes], prepared.rows, sensitive=len(_sensitive(prepared))
        )
        found["reconstruction_error"] = error.whole
        found["reconstruction_error.quasi_identifiers"] = error.quasi_identifiers
    return found


def _of_entropy(
    prepared: Prepared, written: Written, session: Session, asked: Collection[str]
) -> dict[str, float]:
    """What is lost in bits; of a release whose levels differ, by its crosswalk."""
    released, weights = written.released, {q.name: q.weight for q in prepared.quasi_identifiers}
    means = _meanings(prepared, written.outcome, session)
    values, _ = _upload(prepared, written.outcome, session)
    members, crosswalk = members_of_transformation(TUPLES, values), None
    if written.crosswalk is not None:
        crosswalk = Crosswalk(written.crosswalk, tuple(values), released.names)
        members = crosswalk.members
    found = {}
    if "nonuniform_entropy" in asked and crosswalk is None:
        found["nonuniform_entropy"] = nonuniform_entropy(session, CODED, released, values, weights)
    elif "nonuniform_entropy" in asked and crosswalk is not None:
        bits = nonuniform_entropy_of_crosswalk(session, crosswalk, means, weights)
        found["nonuniform_entropy"] = bits
    if "block_entropy" in asked:
        found["block_entropy"] = block_entropy(session, released, members, weights)
    if "node_entropy" in asked:
        found["node_entropy"] = node_entropy(session, CODED, released, means, weights)
    return found


def _of_padded(
    prepared: Prepared, written: Written, session: Session, asked: Collection[str]
) -> dict[str, float]:
    """The metrics of a release with counterfeit records; a class is as large as it is released."""
    found: dict[str, float] = {}
    padded = written.outcome.padded
    assert padded is not None
    if "reconstruction_error" in asked:
        public = Public(written.released, written.dictionary, written.catalog)
        rows, weight = public.answering(session, padded.sensitive)
        _, sizes = _upload(prepared, written.outcome, session)
        error = reconstruction_error(
            session,
            rows,
            sizes,
            written.released.names,
            prepared.rows,
            sensitive=len(_sensitive(prepared)),
            weight=weight,
            flagged=written.flagged,
        )
        found["reconstruction_error"] = error.whole
        found["reconstruction_error.quasi_identifiers"] = error.quasi_identifiers
    of_sizes = _of_classes(written.released, [column(CLASS_ID)], session)
    return found | {name: value for name, value in of_sizes.items() if name in asked}


def _of_classes(released: Relation, keys: Sequence[Expr], session: Session) -> dict[str, float]:
    """What depends on the sizes of the classes alone, where no record is removed."""
    sizes_of = select(aliased(count_rows(), "records"))
    classes = sizes_of.from_(released.table).group_by(*keys).subquery("classes")
    square = column("records") * column("records")
    totals = select(count_rows(), sum_of(column("records")), sum_of(square))
    number, records, squares = session.row(totals.from_(classes))
    return {
        "discernibility": float(squares),
        "average_class_size": float(records / number),
    }


def _of_sensitive(prepared: Prepared, released: Relation, session: Session) -> dict[str, float]:
    names = [q.name for q in prepared.quasi_identifiers]
    found: dict[str, float] = {}
    for column_name in _sensitive(prepared):
        bits = told(session, CODED, released, names, column_name)
        values = (bits.release, bits.gain, bits.lost)
        found |= {f"{m}.{column_name}": v for m, v in zip(OF_SENSITIVE, values, strict=True)}
    return found


def _minimality(readings: Sequence[Reading]) -> dict[str, float]:
    """How many people's values are read rightly, and of how many a value is claimed."""
    measured = [reading for reading in readings if reading.why is None]
    found = {"minimality": float(max(r.right for r in measured))} if measured else {}
    for reading in measured:
        name = f"minimality.{'+'.join(reading.columns)}"
        found |= {name: float(reading.right), f"{name}.claimed": float(reading.claimed)}
    return found


def _downcoding(found: Downcoded | None) -> dict[str, float]:
    """Which share of the generalized cells is taken back, and of which it is tried."""
    if found is None:
        return {}
    tried = found.attempted / found.cells if found.cells else 0.0
    return {"downcoding": found.share, "downcoding.attempted": tried}


def _sensitive(prepared: Prepared) -> list[str]:
    return [c.name for c in prepared.bound.columns if c.spec.role == "sensitive"]


def _tuples(prepared: Prepared, names: list[str]) -> Select:
    """The records of each distinct tuple, whoever they belong to."""
    if prepared.parameters.subject is None:
        return select("records").from_(TUPLES.table)
    keys = [column(name, "coded") for name in names]
    counted = aliased(count_rows(), "records")
    rows = CODED.aliased("coded")
    return select(counted).from_(rows).group_by(*keys)


def _upload(
    prepared: Prepared, outcome: Outcome, session: Session
) -> tuple[dict[str, Select], dict[str, Select]]:
    """For each quasi-identifier the label of each of its codes, and the size of each label.

    Codes have one label each only where a transformation is of all records.
    """
    codes: dict[str, list[Any]] = {"number": [], "code": [], "label": []}
    sized: dict[str, list[Any]] = {"number": [], "label": [], "size": []}
    for i, (q, shown) in enumerate(zip(prepared.quasi_identifiers, outcome.shown, strict=True)):
        if outcome.node is not None:
            labels = q.coding.labels(outcome.node[i])
            codes["number"] += [i] * len(labels)
            codes["code"] += range(len(labels))
            codes["label"] += labels
        sized["number"] += [i] * len(shown)
        sized["label"] += shown
        sized["size"] += [value.size for value in shown.values()]
    kinds = {"number": np.int64, "code": np.int64, "size": np.float64}
    found = []
    for name, table in (("deid_measured_labels", codes), ("deid_measured_sizes", sized)):
        typed = {c: np.array(v, kinds[c]) if c in kinds else v for c, v in table.items()}
        uploaded = session.upload(name, typed)
        own = select(*(c for c in table if c != "number")).from_(uploaded.table)
        names = [q.name for q in prepared.quasi_identifiers]
        found.append({n: own.where(column("number").eq(i)) for i, n in enumerate(names)})
    return found[0], found[1]


def _meanings(prepared: Prepared, outcome: Outcome, session: Session) -> dict[str, Select]:
    """For each quasi-identifier the `code` and `value` of all that its labels stand for."""
    means: dict[str, list[Any]] = {"number": [], "label": [], "code": [], "value": []}
    for i, (q, shown) in enumerate(zip(prepared.quasi_identifiers, outcome.shown, strict=True)):
        values = q.coding.labels(0)
        for level in sorted({value.level for value in shown.values()}):
            for code, label in enumerate(q.coding.labels(level)):
                found = shown.get(label)
                if found is None or found.level != level:
                    label = f"{label}@{level}"  # as it reads where levels mix
                if label in shown:
                    means["number"].append(i)
                    means["label"].append(label)
                    means["code"].append(code)
                    means["value"].append(values[code])
    kinds = {"number": np.int64, "code": np.int64}
    typed = {c: np.array(v, kinds[c]) if c in kinds else v for c, v in means.items()}
    uploaded = session.upload("deid_measured_means", typed)
    own = select("label", "code", "value").from_(uploaded.table)
    names = [q.name for q in prepared.quasi_identifiers]
    return {n: own.where(column("number").eq(i)) for i, n in enumerate(names)}
