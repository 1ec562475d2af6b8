"""What each privacy model says of itself, for those who read a record of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dbdeid.data.json import JsonObject
    from dbdeid.privacy import Model
    from dbdeid.record.public_record import Shown


def model_called(name: object) -> type[Model] | None:
    """A model by its name in specifications and records; None of any other promise."""
    from dbdeid.privacy import MODELS  # which load numpy

    return MODELS.get(str(name))


def by_class(record: Shown) -> bool:
    """Whether a declared model asks how many share a class of the release.

    Models over a population do not: under them a class may hold one person. Of a record that tells
    no models nothing else is known.
    """
    return record.privacy is None or any(map(_of_class, record.privacy))


def _of_class(model: JsonObject) -> bool:
    name = model.get("model")
    if name in ("k_anonymity", "alpha_k", "cluster_size"):
        k = model.get("k", 1)
        return isinstance(k, int) and k > 1
    if name == "max_risk":
        return model.get("attacker") != "journalist" and not model.get("population")
    return name == "l_diversity"
