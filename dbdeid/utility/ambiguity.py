"""Ambiguity of a written table (Goldberger & Tassa 2010).

The mean over all records of the number of tuples of the domain that a record may stand for: the
product of the sizes of its labels. The size of a label is the number of values of the domain below
it; where no domain is declared, of the values that occur in the source. That is so for intervals
and dates too: their widths would count values that nobody has, and, where values crowd together,
fewer than there are. NULL is one more value. A suppressed record may be any tuple. ARX reports the
sum.

With 2 sexes and 4 ages, (f, [20, 40)) for the ages 20 and 30 is ambiguous between 2 tuples, (*, 20)
as well, (*, *) between 8; of four such records, the last suppressed, (2 + 2 + 8 + 8) / 4 = 5.
"""

from __future__ import annotations

from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.utility.sizes import ClassSizes


def ambiguity(session: Session, classes: ClassSizes, source_rows: int) -> float:
    """The mean number of tuples, from 1 to those of the domain.

    Args:
        session: where the written table is.
        classes: its classes.
        source_rows: records of the source, suppressed ones included.
    """
    values = {"rows": source_rows, "domain": classes.domain}
    return float(
        session.row(step("utility/ambiguity", {"classes": classes.query}, values=values))[0]
    )
