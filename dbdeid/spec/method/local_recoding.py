"""Method local_recoding: each block of records is generalized by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from dbdeid.data.problem import problem
from dbdeid.privacy import LDiversity, TCloseness, population_of
from dbdeid.spec.column.column_spec import ColumnSpec
from dbdeid.spec.method.base import Declared, MethodPart
from dbdeid.spec.method.capabilities import Capabilities, Refused, Unheld
from dbdeid.utility.common.metric import Family


class LocalRecoding(MethodPart):
    """Local recoding of blocks by entropy and mutual information (Yoo et al. 2012), and beyond.

    Defaults that depend on the algorithm are None: objective balanced for dealing and mondrian,
    block_entropy for paper and conditional_entropy, node_entropy for others; diversity_weight 1.
    """

    family: ClassVar[Family] = "local"
    can: ClassVar[Capabilities] = Capabilities(
        subjects=True,
        leveled=True,
        mixes=True,
        compared=True,
        deals=True,
        unheld=(
            Unheld(
                lambda model: population_of(model) is not None,
                Refused(
                    "method local_recoding does not hold {model} over a population: who fits a "
                    "class is counted for one transformation of all records",
                    "use method: full_domain, or models of the release itself",
                ),
            ),
        ),
        searched=Refused(
            "suppresses nothing: there is no such search to show",
            "run it; it tells what it checked, and, where nothing is feasible, what would be",
        ),
    )

    name: Literal["local_recoding"]
    algorithm: Literal[
        "dealing", "paper", "conditional_entropy", "diversity_first", "closeness", "mondrian"
    ] = "dealing"
    diversity_weight: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    objective: Literal["balanced", "loss", "node_entropy", "block_entropy", "literal"] | None = None
    mondrian: Literal["strict", "relaxed"] | None = None
    tail: Literal["append", "eligible"] | None = None
    engine: Literal["numpy", "sql"] = "numpy"
    minimality: Literal["measured", "safe"] = "measured"

    @model_validator(mode="after")
    def _of_algorithm(self) -> LocalRecoding:
        algorithm = self.algorithm
        if self.diversity_weight is not None and algorithm in ("dealing", "mondrian"):
            raise problem(
                f"diversity_weight does not go with algorithm {algorithm}, which mixes sensitive "
                "values as far as the declared models ask",
                "declare l_diversity, or use algorithm: paper",
            )
        if self.diversity_weight and algorithm == "conditional_entropy":
            raise problem(
                "conditional_entropy looks at no sensitive value: it is paper with "
                "diversity_weight: 0",
                "use algorithm: paper",
            )
        if self.objective == "literal" and algorithm != "paper":
            raise problem("objective: literal is the paper's own", "use algorithm: paper")
        clustered = algorithm not in ("dealing", "mondrian")
        if self.objective in ("balanced", "loss") and clustered:
            raise problem(
                f"objective: {self.objective} does not go with algorithm {algorithm}, which counts "
                "in bits",
                "use objective: node_entropy or block_entropy",
            )
        if self.mondrian is not None and algorithm != "mondrian":
            raise problem("mondrian: … goes with algorithm: mondrian", "drop it")
        if self.tail is not None and algorithm != "dealing":
            raise problem("tail goes with algorithm: dealing", "drop it")
        if self.minimality == "safe" and (
            algorithm != "dealing" or self.tail is not None or self.engine == "sql"
        ):
            raise problem(
                "minimality: safe makes blocks in a way of its own: dealt by quasi-identifiers "
                "alone, in memory",
                "drop algorithm, tail and engine",
            )
        if self.engine == "sql" and algorithm != "dealing":
            raise problem("engine: sql goes with algorithm: dealing", "use engine: numpy")
        if self.engine == "sql" and self.tail == "eligible":
            raise problem(
                "tail: eligible judges each block by those before it, which engine: sql does not",
                "use engine: numpy, or tail: append",
            )
        return self

    def _check_free(self) -> None:
        """Refuse what does not go with blocks that choose their intervals and sets themselves."""
        if self.algorithm not in ("dealing", "mondrian"):
            raise problem(
                f"hierarchy: free does not go with algorithm {self.algorithm}, which counts in "
                "bits of a hierarchy",
                "use algorithm: dealing or mondrian, or give hierarchies",
            )
        if self.objective not in (None, "loss"):
            raise problem(
                f"hierarchy: free does not go with objective: {self.objective}: intervals and sets "
                "that blocks choose are judged by their loss",
                "use objective: loss, or leave it out",
            )
        for key, value in (("tail", "eligible"), ("engine", "sql"), ("minimality", "safe")):
            if getattr(self, key) == value:
                raise problem(
                    f"hierarchy: free does not go with {key}: {value}, which goes by the levels of "
                    "hierarchies",
                    f"leave {key} out, or give hierarchies",
                )

    @property
    def procedure(self) -> str:
        """The method with its algorithm."""
        return f"{self.name}, {self.algorithm}"

    @property
    def loss(self) -> Literal["balanced", "loss", "node_entropy", "block_entropy", "literal"]:
        """The objective, declared or that of the algorithm."""
        if self.objective is not None:
            return self.objective
        if self.algorithm in ("paper", "conditional_entropy"):
            return "block_entropy"
        return "balanced" if self.algorithm in ("dealing", "mondrian") else "node_entropy"

    @property
    def weight(self) -> float:
        """The weight of diversity relative to loss."""
        if self.algorithm in ("dealing", "mondrian", "conditional_entropy"):
            return 0.0
        return 1.0 if self.diversity_weight is None else self.diversity_weight

    def column_mistakes(self, column: ColumnSpec) -> Iterator[tuple[str, str]]:
        """Blocks may choose their intervals and sets of values themselves."""
        if not column.free:
            yield from super().column_mistakes(column)

    def check(self, spec: Declared) -> None:
        """Refuse what does not go with blocks that are recoded one by one."""
        if any(c.free for c in spec.columns.values()):
            self._check_free()
        if spec.linked:
            raise problem(
                "method local_recoding does not go with a released pseudonym, which tells a whole "
                "set of classes: no k subjects share one where each block is recoded on its own",
                "leave the pseudonym out, or use method: full_domain",
            )
        self.check_models(spec.privacy)
        if self.engine == "sql" and spec.subject is not None:
            raise problem(
                "engine: sql deals records one by one, and those of a subject stay together",
                "use engine: numpy",
            )
        if self.minimality == "safe" and spec.subject is not None:
            raise problem(
                "minimality: safe deals records one by one, and those of a subject stay together",
                "make one row of each subject, or leave minimality out",
            )
        needed = {"diversity_first": LDiversity, "closeness": TCloseness}.get(self.algorithm)
        if needed is not None and not any(isinstance(m, needed) for m in spec.privacy):
            name = "l_diversity" if needed is LDiversity else "t_closeness"
            raise problem(
                f"algorithm {self.algorithm} makes blocks by {name}, and none is declared",
                f"declare `{{model: {name}, …}}` in `privacy`, or use algorithm: dealing",
            )
