"""What a method can do, as it declares it: who has to know asks for that, not for its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from dbdeid.privacy import Model
from dbdeid.privacy.common.counting import NullPolicy

# What a released value of a quasi-identifier is: one of its hierarchy, the mean of a group, drawn
# from a distribution, or whatever a release made elsewhere has.
Values = Literal["generalized", "means", "drawn", "foreign"]


@dataclass(frozen=True, slots=True)
class Refused:
    """Why something does not go with a method, and what to do instead."""

    why: str
    hint: str


@dataclass(frozen=True, slots=True)
class Unheld:
    """Privacy models that a method does not hold.

    Attributes:
        of: whether a model is one of them.
        refused: why; `{model}` stands for its name.
    """

    of: Callable[[Model], bool]
    refused: Refused


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a method can do, and what its releases are.

    Attributes:
        values: what its released values are.
        truthful: whether every released record is one of the source, perhaps generalized.
        subjects: whether classes may count subjects, not records.
        null_policies: how NULL may count.
        views: whether a release can be previewed as a view.
        unheld: the privacy models that it does not hold.
        mean_risk: whether it judges the mean chance of a marketer in a population.
        boundless: why its values have no bounds; nothing where they have.
        leveled: whether all records are released, each value at a level of its hierarchy, which is
            what presets are about.
        ordered: whether it merges neighbours of ordered domains, and takes no hierarchies.
        frontier: whether a release is chosen by its risk from a frontier of many.
        counterfeits: whether it adds records that are nobody's, with values drawn as they are
            written.
        mixes: whether it looks at sensitive values that no model is about.
        costs: whether what columns and models cost is found by searching again without them.
        moves: whether records get the quasi-identifiers of others, where others suppress them.
        compared: whether it holds what full-domain and local recoding both hold, so that the two
            can be compared.
        rules: whether it releases equal values alike, so that a rule for each value says it all.
        deals: whether records that are alike are dealt to blocks, so that what each block takes of
            them says it all.
        reuse: why the levels of a run cannot be applied to other records; None where they can.
        searched: why there is no search for a transformation to show; None where there is.
        grid: why such searches are not compared by what they suppress; None where they can be.
    """

    values: Values = "generalized"
    truthful: bool = True
    subjects: bool = False
    null_policies: tuple[NullPolicy, ...] = ("own_category",)
    views: bool = False
    unheld: tuple[Unheld, ...] = ()
    mean_risk: bool = False
    boundless: str = ""
    leveled: bool = False
    ordered: bool = False
    frontier: bool = False
    counterfeits: bool = False
    mixes: bool = False
    costs: bool = False
    moves: bool = False
    compared: bool = False
    rules: bool = False
    deals: bool = False
    reuse: Refused | None = Refused("it has no levels", "run it without --reuse")
    searched: Refused | None = Refused(
        "chooses no levels: there is no such search to show", "run it"
    )
    grid: Refused | None = None

    @property
    def role(self) -> Literal["quasi_identifier", "synthesize"]:
        """The role of the columns that it changes."""
        return "synthesize" if self.values == "drawn" else "quasi_identifier"


def other_than_k_anonymity(model: Model) -> bool:
    """Whether a model asks for more than classes of a size."""
    return model.model != "k_anonymity"
