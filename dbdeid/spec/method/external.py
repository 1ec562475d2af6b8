"""Method external: the release was made elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BeforeValidator, Field

from dbdeid.data.problem import problem
from dbdeid.engine.relation import MEASURED, Column
from dbdeid.privacy import OfSensitive, population_of
from dbdeid.privacy.common.counting import NullPolicy
from dbdeid.spec.column.column_spec import FROM_POPULATION, ColumnSpec
from dbdeid.spec.column.hierarchy_spec import Text
from dbdeid.spec.method.base import Declared, MethodPart
from dbdeid.spec.method.capabilities import Capabilities, Refused, Unheld
from dbdeid.utility.common.metric import Family


def _plain_type(value: Any) -> Any:
    families = (*MEASURED, "boolean", "text")
    if not isinstance(value, str) or Column("", value.strip().upper()).family not in families:
        raise problem(
            "expects a type of numbers, dates, moments, truth values or text",
            "as in INTEGER, DECIMAL(8,2), DOUBLE, DATE, TIMESTAMP, BOOLEAN or VARCHAR",
        )
    return value.strip().upper()


class External(MethodPart):
    """A release that was made elsewhere: it is verified, queried and evaluated as it is.

    Attributes:
        table: the released table, in the database or a file.
        dictionary: what its values stand for, in the database or a file.
        types: of columns of the original, where it is not at hand.
        truthful: whether every record is one of the original, perhaps generalized; not so where
            records are synthetic, masked or moved.
    """

    family: ClassVar[Family] = "external"
    can: ClassVar[Capabilities] = Capabilities(
        values="foreign",
        subjects=True,
        null_policies=get_args(NullPolicy),
        views=True,
        unheld=(
            Unheld(
                lambda model: population_of(model) is not None,
                Refused(
                    "method external does not judge {model} over a population: which of its people "
                    "fit a released class is known where dbdeid generalized it",
                    "leave the model out",
                ),
            ),
        ),
    )

    name: Literal["external"]
    table: Text
    dictionary: Text | None = None
    types: dict[str, Annotated[str, BeforeValidator(_plain_type)]] = Field(default_factory=dict)
    truthful: bool = True

    @property
    def foreign_table(self) -> str | None:
        """The released table."""
        return self.table

    def check(self, spec: Declared) -> None:
        """Refuse what says how to make a release, and what cannot be judged of a made one."""
        given = [key for key in ("target", "output", "seed") if key in spec.model_fields_set]
        if given:
            raise problem(
                f"method external releases nothing, and {', '.join(given)} say how",
                "drop them; the released table is `table` of the method",
            )
        if spec.subject is not None:
            _check_subject(spec, spec.subject)
        self.check_models(spec.privacy)

    def column_mistakes(self, column: ColumnSpec) -> Iterator[tuple[str, str]]:
        """List settings of a quasi-identifier that do not apply, as nothing is generalized."""
        if column.order is not None or column.domain == FROM_POPULATION:
            key = "domain: from_population" if column.order is None else "order"
            yield f"{key} goes with method policy", "list the values: `domain: [a, b, c]`"
        if column.free:
            yield (
                "hierarchy: free says how blocks are made, and this release was made elsewhere",
                "say how its labels read: {labels: intervals}, or name a dictionary",
            )
        given = [
            key for key in ("weight", "min_level", "max_level") if key in column.model_fields_set
        ]
        if given:
            yield f"method external chooses no levels: {', '.join(given)} say nothing", "drop them"


def external(method: MethodPart) -> External:
    """A method that is known to be this one."""
    assert isinstance(method, External)
    return method


def _check_subject(spec: Declared, subject: str) -> None:
    told = any(c.pseudonym and n.lower() == subject.lower() for n, c in spec.columns.items())
    if not told:
        raise problem(
            f"the released table tells whose record it is by a pseudonym, and {subject!r} is none",
            f"declare `{subject}: {{role: identifier, pseudonym: true}}` where the table has "
            "it; else leave `subject` out: classes then count records",
        )
    for model in spec.privacy:
        if isinstance(model, OfSensitive):
            raise problem(
                f"method external does not judge {model.model} where subjects count",
                "leave `subject` and the pseudonym out, or the model",
            )
