"""Functions that make long texts of short ones."""

from __future__ import annotations

from sqlglot import exp

from dbdeid.query.parse.expressions import refused

# Letters that a function may make of what it is given. The engine's limit of memory does not hold
# for texts of one function: of a text as long as that, each record has one at the same time.
_LONGEST = 1_000


def refuse_long(found: exp.Expr) -> None:
    """Refuse functions of a query that make long texts of short ones, as REPEAT does.

    Raises:
        DataError: one makes more than 1,000 letters, or REPEAT makes of one that many.
    """
    times = 1
    for node in found.find_all(exp.Repeat, exp.Pad, exp.Space):
        of = "times" if isinstance(node, exp.Repeat) else "expression"
        length = node.this if isinstance(node, exp.Space) else node.args[of]
        known = isinstance(length, exp.Literal) and length.is_int
        made = int(length.name) if known else _LONGEST + 1
        times *= made if isinstance(node, exp.Repeat) and made > 1 else 1
        if max(made, times) > _LONGEST:
            what = "LPAD or RPAD" if isinstance(node, exp.Pad) else node.sql_name()
            raise refused(
                f"{what} of more than {_LONGEST:,} letters, or of a length that is no number",
                f"write a length up to {_LONGEST:,}",
            )
