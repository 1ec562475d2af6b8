"""Method counterfeit: small classes are filled with records that are nobody's."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from dbdeid.data.problem import problem
from dbdeid.privacy import EmAnonymity, KAnonymity, KmAnonymity, OfSensitive
from dbdeid.spec.method.base import Declared, MethodPart, Share
from dbdeid.spec.method.capabilities import Capabilities, Refused, Unheld
from dbdeid.utility.common.metric import Family


def _ceiling(value: Any) -> Any:
    if value == "auto":
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise problem("expects a number above 0 and up to 1, or auto", "as in `h: 0.3`")
    return float(value)


def _combination(value: Any) -> Any:
    if not isinstance(value, dict) or len(value) < 2:
        raise problem(
            "expects values of at least two columns",
            "as in `impossible: [{sex: M, diagnosis: [pregnancy, childbirth]}]`",
        )
    listed = {name: own if isinstance(own, list) else [own] for name, own in value.items()}
    if not all(listed.values()):
        raise _no_values()
    return {name: tuple(map(_text, own)) for name, own in listed.items()}


def _no_values() -> ValueError:
    return problem("expects values as they stand in the column", "quote texts and dates")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int | float) or value == "":
        raise _no_values()
    return str(value)


# Values of columns that cannot stand in one record.
Combination = Annotated[dict[str, tuple[str, ...]], BeforeValidator(_combination)]


class Counterfeit(MethodPart):
    """Counterfeit records under an h-ceiling, with a catalog of them (Lee et al. 2017).

    `h` is None for `auto`: the smallest with a transformation within the budget.
    """

    family: ClassVar[Family] = "padded"
    can: ClassVar[Capabilities] = Capabilities(
        truthful=False,
        leveled=True,
        counterfeits=True,
        mixes=True,
        unheld=(
            Unheld(
                lambda model: not isinstance(model, KAnonymity | OfSensitive),
                Refused(
                    "method counterfeit does not hold {model}: nobody in a population is like a "
                    "counterfeit record",
                    "declare k_anonymity and models of the sensitive column",
                ),
            ),
            Unheld(
                lambda model: isinstance(model, EmAnonymity),
                Refused(
                    "method counterfeit does not hold em_anonymity: it draws each value by itself, "
                    "and looks at no distances",
                    "use method: full_domain or local_recoding, or declare alpha_k",
                ),
            ),
            Unheld(
                lambda model: isinstance(model, KmAnonymity),
                Refused(
                    "method counterfeit does not hold km_anonymity: it draws each list of items by "
                    "itself, and does not ask who shares them",
                    "use method: full_domain or local_recoding",
                ),
            ),
        ),
        searched=Refused(
            "suppresses nothing: there is no such search to show",
            "run it; it tells what it checked, and, where nothing is feasible, what would be",
        ),
    )

    name: Literal["counterfeit"]
    h: Annotated[float | None, BeforeValidator(_ceiling)] = None
    max_counterfeits: Share = 0.10
    objective: Literal["reconstruction_error", "counterfeits", "loss"] = "reconstruction_error"
    catalog: Literal["pool", "paper", "none"] = "pool"
    recoding: Literal["full_domain", "borrow"] = "full_domain"
    strict: bool = False
    impossible: Annotated[tuple[Combination, ...], Field(strict=False)] = ()

    @model_validator(mode="after")
    def _promised(self) -> Counterfeit:
        if self.strict and self.catalog == "paper":
            raise problem(
                "strict bounds the prosecutor risk, which the paper's catalog does not",
                "use catalog: pool",
            )
        if self.impossible and self.catalog == "paper":
            raise problem(
                "impossible: the paper's catalog draws values without asking what they stand with",
                "use catalog: pool",
            )
        if self.recoding == "borrow" and self.catalog == "paper":
            raise problem("the paper's catalog groups classes of one transformation", "use pool")
        return self

    @property
    def procedure(self) -> str:
        """The method with its recoding."""
        return f"{self.name}, {self.recoding}"

    @property
    def catalogued(self) -> bool:
        """Whether a catalog of counterfeit records is published."""
        return self.catalog != "none"

    def check(self, spec: Declared) -> None:
        """Refuse what does not go with counterfeit records."""
        if len([c for c in spec.columns.values() if c.role == "sensitive"]) > 1:
            raise problem(
                "method counterfeit takes one sensitive column: its catalog tells how many records "
                "of a value are counterfeit, and values of two columns would tell more",
                "make the others quasi_identifier or drop them",
            )
        self.check_models(spec.privacy)
        self._check_impossible(spec)
        names = ("class_id", "weight")
        taken = [n for n, c in spec.columns.items() if c.released and n.lower() in names]
        if taken:
            raise problem(
                f"column {taken[0]!r} has the name of a column that method counterfeit adds",
                "rename it in `source: {sql: …}`",
            )

    def _check_impossible(self, spec: Declared) -> None:
        """Refuse combinations that no counterfeit record could have."""
        released = {name: column for name, column in spec.columns.items() if column.released}
        for combination in self.impossible:
            unknown = [name for name in combination if name not in released]
            if unknown:
                raise problem(
                    f"impossible: no released column is called {unknown[0]!r}",
                    "name columns as `columns` does",
                )
            if all(released[name].role == "quasi_identifier" for name in combination):
                raise problem(
                    "impossible: a counterfeit record has the quasi-identifiers of real ones",
                    "name the sensitive or another released column as well",
                )
