"""The metrics of a release that are measured on the written table and the source.

Each has a function from what is known of a release to its figures: under the name of the metric the
figure of the whole, and after a dot those of its columns and parts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from dbdeid.data.classes import SOURCE
from dbdeid.engine.relation import MEASURED
from dbdeid.evaluation import counterfeit_suspicion, inference
from dbdeid.evaluation.evidence import Evidence, RunEvidence
from dbdeid.methods.condensation.details import synthetic_of
from dbdeid.spec.metric_spec import metrics_of
from dbdeid.utility.ambiguity import ambiguity
from dbdeid.utility.block_entropy import block_entropy
from dbdeid.utility.fidelity import moments
from dbdeid.utility.fidelity.cluster_moments import cluster_moments
from dbdeid.utility.fidelity.conditional_privacy import conditional_privacy
from dbdeid.utility.fidelity.exact_hits import exact_hits
from dbdeid.utility.information_loss import information_loss
from dbdeid.utility.kl_divergence import kl_divergence
from dbdeid.utility.node_entropy import node_entropy
from dbdeid.utility.nonuniform_entropy import nonuniform_entropy, nonuniform_entropy_of_crosswalk
from dbdeid.utility.reconstruction_error import reconstruction_error

Figures: TypeAlias = Mapping[str, float]


def measured(of: RunEvidence, asked: Collection[str]) -> dict[str, float]:
    """The requested metrics by name; those of columns as `<name>.<columns>`.

    Those that compare a release with its source column by column are measured by `fidelity`.
    """
    found: dict[str, float] = {}
    for name in metrics_of(of.prepared.bound.spec.method.family):
        if name in asked and name in MEASURES:
            found |= MEASURES[name](of)
    return found


def _discernibility(of: Evidence) -> Figures:
    return {} if of.class_sizes is None else {"discernibility": of.class_sizes.discernibility}


def _average_class_size(of: Evidence) -> Figures:
    average = of.class_sizes.average if of.class_sizes else None
    return {} if average is None else {"average_class_size": average}


def _ambiguity(of: Evidence) -> Figures:
    classes = of.sized
    return {"ambiguity": ambiguity(of.session, classes, of.rows)} if classes else {}


def _reconstruction_error(of: Evidence) -> Figures:
    if of.sizes is None:
        return {}
    table, weight = of.answering
    plain = weight is None and of.flagged is None
    error = reconstruction_error(
        of.session,
        of.classes if plain else table,
        of.sizes,
        of.released.names,
        of.rows,
        sensitive=len(of.sensitive),
        weight=weight,
        flagged=of.flagged,
    )
    return {
        "reconstruction_error": error.whole,
        "reconstruction_error.quasi_identifiers": error.quasi_identifiers,
    }


def _mutual_information(of: Evidence) -> Figures:
    return {f"mutual_information.{name}": bits.release for name, bits in of.told.items()}


def _attacker_gain(of: Evidence) -> Figures:
    return {f"attacker_gain.{name}": bits.gain for name, bits in of.told.items()}


def _class_entropy_change(of: Evidence) -> Figures:
    return {f"class_entropy_change.{name}": bits.lost for name, bits in of.told.items()}


def _moments(of: Evidence) -> Figures:
    """How far the numbers of the release are from those of the source; nothing without any."""
    source = of.numbers()
    if source is None:
        return {}
    columns = moments.numeric(source, of.released)
    errors = moments.moments(of.session, source, of.released, columns)
    of.session.drop_temp(source.name)
    return moments.flat(errors)


def _loss(of: RunEvidence) -> Figures:
    return {"loss": of.loss}


def _kl_divergence(of: RunEvidence) -> Figures:
    # where levels differ, classes overlap, and several of them tell of one tuple
    if of.crosswalk is not None:
        return {}
    return {"kl_divergence": kl_divergence(of.session, of.tuples, of.sized, of.rows)}


def _nonuniform_entropy(of: RunEvidence) -> Figures:
    if of.prepared.bound.free:
        return {}
    if of.crosswalk is None:
        lost = nonuniform_entropy(of.session, of.codes, of.classes, of.labels, of.weights)
    else:
        lost = nonuniform_entropy_of_crosswalk(of.session, of.crosswalk, of.meanings, of.weights)
    return {"nonuniform_entropy": lost}


def _block_entropy(of: RunEvidence) -> Figures:
    return {"block_entropy": block_entropy(of.session, of.classes, of.members, of.weights)}


def _node_entropy(of: RunEvidence) -> Figures:
    if (
        of.prepared.bound.free
    ):  # what each of very many intervals stands for is not listed value by value
        return {}
    return {"node_entropy": node_entropy(of.session, of.codes, of.classes, of.meanings, of.weights)}


def _minimality(of: RunEvidence) -> Figures:
    """How many people's values are read rightly, and of how many a value is claimed."""
    known = [reading for reading in of.written.outcome.readings if reading.why is None]
    found = {"minimality": float(max(r.right for r in known))} if known else {}
    for reading in known:
        name = f"minimality.{'+'.join(reading.columns)}"
        found |= {name: float(reading.right), f"{name}.claimed": float(reading.claimed)}
    return found


def _downcoding(of: RunEvidence) -> Figures:
    """Which share of the generalized cells is taken back, and of which it is tried."""
    found = of.written.outcome.downcoded
    if found is None:
        return {}
    tried = found.attempted / found.cells if found.cells else 0.0
    return {"downcoding": found.share, "downcoding.attempted": tried}


def _inference(of: RunEvidence) -> Figures:
    return inference.metrics_of(of.prepared, of.written, of.session)


def _counterfeit_suspicion(of: RunEvidence) -> Figures:
    return counterfeit_suspicion.metrics_of(of.suspected)


def _information_loss(of: RunEvidence) -> Figures:
    assert of.crosswalk is not None
    numbers = [c for c in of.released.columns if c.name in of.names and c.family in MEASURED]
    lost = information_loss(of.session, of.crosswalk, numbers)
    return {} if lost is None else {"information_loss": lost}


def _conditional_privacy(of: RunEvidence) -> Figures:
    assert of.written.clusters is not None
    privacy = conditional_privacy(of.session, of.written.clusters, of.released.columns)
    shares = [of_column.relative for of_column in privacy.values()]
    found = {"conditional_privacy": sum(shares) / len(shares)}
    for name, of_column in privacy.items():
        found[f"conditional_privacy.{name}"] = of_column.relative
        found[f"conditional_privacy.{name}.absolute"] = of_column.absolute
    return found


def _cluster_moments(of: RunEvidence) -> Figures:
    assert of.written.clusters is not None
    found = cluster_moments(of.session, of.written.clusters, of.released.columns)
    if found is None:
        return {}
    return {
        "cluster_moments.means": found.means,
        "cluster_moments.covariances": found.covariances,
    }


def _exact_hits(of: RunEvidence) -> Figures:
    source = of.session.temp(SOURCE.name)
    hits = exact_hits(of.session, source, of.released, of.released.names)
    return {"exact_hits": hits.share, "exact_hits.unique": hits.share_of_unique}


def _membership(of: RunEvidence) -> Figures:
    synthetic = synthetic_of(of.written.outcome)
    if synthetic is None or synthetic.trial is None or synthetic.shadows is None:
        return {}
    trial, shadows = synthetic.trial, synthetic.shadows
    return {
        "membership": max(trial.auc, shadows.everyone.auc),
        "membership.distance": trial.auc,
        "membership.true_positives": shadows.everyone.true_positives,
        "membership.outliers": shadows.outliers.auc,
        "membership.outliers.true_positives": shadows.outliers.true_positives,
    }


def _people_at_risk(of: RunEvidence) -> Figures:
    synthetic = synthetic_of(of.written.outcome)
    if synthetic is None or synthetic.trial is None or synthetic.shadows is None:
        return {}
    shadows = synthetic.shadows
    return {
        "people_at_risk": shadows.people_at_risk,
        "people_at_risk.outliers": shadows.outliers_at_risk,
    }


# Metrics of a table and its source, whoever made the table.
OF_TABLES: dict[str, Callable[[Evidence], Figures]] = {
    "discernibility": _discernibility,
    "average_class_size": _average_class_size,
    "ambiguity": _ambiguity,
    "reconstruction_error": _reconstruction_error,
    "mutual_information": _mutual_information,
    "attacker_gain": _attacker_gain,
    "class_entropy_change": _class_entropy_change,
    "moments": _moments,
}
# Those of a run, which knows how its release was made, as well.
MEASURES: dict[str, Callable[[RunEvidence], Figures]] = {
    **OF_TABLES,
    "loss": _loss,
    "nonuniform_entropy": _nonuniform_entropy,
    "kl_divergence": _kl_divergence,
    "block_entropy": _block_entropy,
    "node_entropy": _node_entropy,
    "minimality": _minimality,
    "downcoding": _downcoding,
    "inference": _inference,
    "information_loss": _information_loss,
    "conditional_privacy": _conditional_privacy,
    "exact_hits": _exact_hits,
    "membership": _membership,
    "people_at_risk": _people_at_risk,
    "counterfeit_suspicion": _counterfeit_suspicion,
    "cluster_moments": _cluster_moments,
}
