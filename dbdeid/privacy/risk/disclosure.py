"""What a table reveals of a sensitive column: the parameters it reaches of each diversity model.

Distinct, entropy and recursive l: Machanavajjhala et al. 2007. t: Li, Li & Venkatasubramanian 2007.
α: Wong et al. 2006. β: Cao & Karras 2012. δ: Brickell & Shmatikov 2008.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dbdeid.data.json import JsonObject, plain
from dbdeid.engine.expressions import (
    Expr,
    Query,
    aliased,
    all_of,
    cast,
    column,
    count_distinct,
    count_rows,
    literal,
    min_of,
    not_null,
    over,
    row_number,
    same_value,
    select,
    sum_of,
)
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.privacy.common.counting import ROWS, Counting, classes

TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Block:
    """Classes of one kind, and the records in them."""

    classes: int
    records: int


@dataclass(frozen=True, slots=True)
class Disclosure:
    """What an attacker learns of a sensitive value who knows which class a person is in.

    With n members of a class - records, or distinct subjects - of whom c have a value: p = c/n, and
    q the same share in the whole table, of all records, also those that have no class. A NULL is a
    value. Numbers are None where the table has no class.

    Attributes:
        sensitive: the column.
        distinct_l: fewest values that a class has; 1 where one value is that of all members, 0
            where no member is known.
        entropy_l: least exp(H) over the classes, H the entropy of the c.
        recursive_c: greatest r_1/(r_l + … + r_m), counts descending and l the `distinct_l`: the
            table is recursively (c, l)-diverse for every c above it; None is infinite: nobody is
            known in a class.
        t: greatest distance of a class's shares c/Σc from those of the table; 1 for a class of
            nobody known.
        t_distance: `ordered` (values a step apart, NULL last) or `equal` (all equally far apart).
        alpha: greatest p: the confidence with which a value is told.
        basic_beta: greatest (p - q)/q.
        enhanced_beta: the least β of the enhanced model, (p - q)/q ≤ min(β, -ln q); None where
            no β will do since a class exceeds some -ln q.
        enhanced_beta_bound: min(basic β, -ln of the least q), which pycanon calls enhanced β.
        delta_disclosure: greatest |log2(p/q)| over all values of the table; None is infinite: a
            class lacks a value.
        delta_present: the same over the values that each class has. pycanon gives it in nats:
            times ln 2.
        classes_lacking_a_value: classes without some value of the table.
        homogeneous: classes of distinct l 1 or 0: membership tells the value.
        background: classes of distinct l 2: knowing one value that it is not does.
        diverse: the others.
    """

    sensitive: str
    distinct_l: int | None
    entropy_l: float | None
    recursive_c: float | None
    t: float | None
    t_distance: Literal["ordered", "equal"]
    alpha: float | None
    basic_beta: float | None
    enhanced_beta: float | None
    enhanced_beta_bound: float | None
    delta_disclosure: float | None
    delta_present: float | None
    classes_lacking_a_value: int
    homogeneous: Block
    background: Block
    diverse: Block

    def to_dict(self) -> JsonObject:
        """The disclosure as JSON shows it, under the name of the column."""
        found = plain(self)
        del found["sensitive"]
        return found


def measure(
    session: Session,
    table: Relation,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    counting: Counting = ROWS,
    *,
    ordered: bool = False,
) -> Disclosure:
    """Measure what a table reveals of a sensitive column.

    Args:
        session: where the table is; the steps leave temporary tables in it.
        table: the records.
        quasi_identifiers: what the attacker knows.
        sensitive: the column that is not to be learned.
        counting: what a class counts; not with wildcards, whose classes overlap.
        ordered: whether the distance of t follows the order of the values.
    """
    if counting.null_policy == "wildcard":
        raise ValueError("classes that overlap have no shares")
    members = Counting("own_category", counting.subject)
    found = classes(table, [sensitive], members)
    values = session.run(
        Step("deid_sensitive_values", step("privacy/risk/sensitive_values", {"found": found}))
    )
    number, total, least = session.row(
        select(
            count_rows(), cast(sum_of(column("people")), "BIGINT"), min_of(column("people"))
        ).from_(values.table)
    )
    people = total if counting.subject is None else _subjects(session, table, counting.subject)
    numbered = session.run(
        Step("deid_sensitive_classes", _numbered(table, quasi_identifiers, counting))
    )
    together = classes(table, [*quasi_identifiers, sensitive], members)
    shares = session.run(
        Step("deid_sensitive_shares", _shares(numbered, together, values, len(quasi_identifiers)))
    )
    tables = {"classes": numbered, "shares": shares, "values": values}
    told = session.run(
        Step(
            "deid_sensitive_told",
            step(
                "privacy/risk/class_disclosure", tables, values={"people": people, "values": number}
            ),
        )
    )
    tables["told"] = told
    (t,) = session.row(_distance(shares, told, values, ordered=ordered))
    return _disclosure(
        sensitive,
        session.row(step("privacy/risk/disclosure", tables)),
        t,
        "ordered" if ordered else "equal",
        least / people if people else None,
    )


# -- parts ---------------------------------------------------------------------------------


def _numbered(table: Relation, quasi_identifiers: Sequence[str], counting: Counting) -> Query:
    """The classes of the table, numbered; combinations that are no class are left out."""
    number = over(row_number())
    found = classes(table, quasi_identifiers, counting).subquery("found")
    known = not_null(column("class_size"))
    return select(aliased(number, "class"), "*").from_(found).where(known)


def _shares(numbered: Relation, together: Query, values: Relation, keys: int) -> Query:
    """How many members of each class have each value."""
    same = all_of(
        *(
            same_value(column(f"qi_{i}", "held"), column(f"qi_{i}", "numbered"))
            for i in range(keys)
        ),
        column("class_size", "held") > literal(0),
    )
    value = same_value(column(f"qi_{keys}", "held"), column("value", "known"))
    return (
        select(
            column("class", "numbered"),
            column("class_size", "numbered"),
            aliased(column("class_size", "held"), "holders"),
            column("position", "known"),
            column("people", "known"),
        )
        .from_(numbered.aliased("numbered"))
        .join(together.subquery("held"), on=same)
        .join(values.aliased("known"), on=value)
    )


def _distance(shares: Relation, told: Relation, values: Relation, *, ordered: bool) -> Expr:
    """The query of the greatest distance, as it is of a model."""
    whole = select(aliased(column("position"), "place"), aliased(column("people"), "known")).from_(
        values.table
    )
    all_ = select(
        aliased(sum_of(column("people")), "total"), aliased(count_rows(), "domain")
    ).from_(values.table)
    compared = (
        select(
            column("class", "shares"),
            aliased(column("holders", "shares"), "count"),
            aliased(column("total", "told"), "pairs"),
            aliased(column("position", "shares"), "place"),
            aliased(column("people", "shares"), "known"),
            column("total", "whole"),
            column("domain", "whole"),
        )
        .from_(shares.aliased("shares"))
        .join(
            told.aliased("told"),
            on=column("class", "told").eq(column("class", "shares")),
        )
        .join(all_.subquery("whole"), join_type="cross")
    )
    if ordered:
        return step("privacy/t_ordered", {"shares": compared, "whole": whole})
    return step("privacy/t_equal", {"shares": compared})


def _subjects(session: Session, table: Relation, subject: str) -> int:
    people = count_distinct(column(subject))
    return int(session.row(select(people).from_(table.table))[0])


def _disclosure(
    sensitive: str,
    row: tuple[Any, ...],
    t: float | None,
    distance: Literal["ordered", "equal"],
    rarest: float | None,
) -> Disclosure:
    distinct, entropy, recursive, alpha, gain, beyond, shift, lacking, *blocks = row
    bound = None if gain is None or rarest is None else min(gain, math.log(1 / rarest))
    return Disclosure(
        sensitive,
        distinct,
        entropy,
        recursive if distinct else None,
        1.0 if distinct == 0 else t,
        distance,
        alpha,
        gain,
        gain if gain is not None and beyond <= TOLERANCE else None,
        bound,
        None if lacking else shift,
        shift,
        lacking,
        *(Block(*blocks[i : i + 2]) for i in (0, 2, 4)),
    )
