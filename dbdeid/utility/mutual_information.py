"""What the classes of a written table reveal of a sensitive column, in bits.

Mutual information I(class; S) = H(S) - H(S | class) over all records of the source; NULL is a
value, and what was removed is one class. Three numbers follow:

- `mutual_information`: I of the release, the use of the quasi-identifiers for explaining S;
- `class_entropy_change`: H(S | class) of the release less that of the source, the information for
  classifying S that was lost (Fung, Wang & Yu 2005, 2007). As H(S) is the same, it is the
  I of the source less the I of the release;
- `attacker_gain`: I of the release / H(S), the private form: the share of what there is to know of
  S that someone who knows a person's class learns on average. 0 where S has one value.

Four records with the values f, f, m, m of S have H(S) = 1 bit. In the classes {f, f, m} and {m}
H(S | class) = 3/4 · 0.918 = 0.689, so that I = 0.311 bits and an attacker gains 31 %. Where the
source tells them all apart, 0.689 bits for classifying are lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dbdeid.engine.expressions import Query
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session
from dbdeid.engine.sqltext import step
from dbdeid.utility.common.counted import Rows, each
from dbdeid.utility.common.metric import Metric, Words

MUTUAL_INFORMATION = Metric(
    "mutual_information",
    Words(
        "Mutual information",
        "Bits that the quasi-identifiers of the release tell of the sensitive column, on average "
        "over all records: its use for explaining that column. The removed records are one class.",
        "0 to the entropy of the column",
        "higher for use, lower for privacy",
    ),
    families=("generalized", "local", "external"),
    sensitive="each",
)
ATTACKER_GAIN = Metric(
    "attacker_gain",
    Words(
        "Attacker's gain",
        "Mutual information as a share of the entropy of the sensitive column: how much of what "
        "there is to know someone learns on average who knows the class of a person.",
        "0 (nothing) to 1 (everything)",
        "lower",
    ),
    families=("generalized", "local", "external"),
    sensitive="each",
)
CLASS_ENTROPY_CHANGE = Metric(
    "class_entropy_change",
    Words(
        "Class entropy change",
        "Bits by which the sensitive column is less certain given the class of the release than "
        "given the original quasi-identifiers: information for classifying that was lost. Fung, "
        "Wang & Yu 2007.",
        "0 (nothing lost) to the entropy of the column",
        "lower",
    ),
    families=("generalized", "local", "external"),
    sensitive="each",
)


DIGITS = 12


@dataclass(frozen=True, slots=True)
class MutualInformation:
    """What classes reveal of a sensitive column.

    Attributes:
        entropy: bits of the column, H(S).
        source: bits that the classes of the source tell of it.
        release: bits that those of the release do.
    """

    entropy: float
    source: float
    release: float

    @property
    def lost(self) -> float:
        """Bits for classifying that were lost; rounded, so that nothing lost is 0.

        Where rows that the source does not tell apart are kept in part, as those of linked
        subjects, it can be below 0: that they were kept tells of the column too. So it can where
        levels differ between classes, and rows of one tuple are in several.
        """
        return round(self.source - self.release, DIGITS) + 0.0

    @property
    def gain(self) -> float:
        """The share of the column's entropy that the release reveals, in [0, 1]."""
        return min(self.release / self.entropy, 1.0) if self.entropy else 0.0


def mutual_information(
    session: Session,
    source: Relation,
    released: Rows,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    *,
    tuples: Query | None = None,
    classes: Query | None = None,
) -> MutualInformation:
    """What the quasi-identifiers reveal of a sensitive column, in the source and in the release.

    Args:
        session: where the tables are.
        source: all records; quasi-identifiers may be coded, the sensitive column is as released.
        released: the written table.
        quasi_identifiers: the columns that form classes.
        sensitive: the column.
        tuples: the source as it was counted: `qi_0`, which tells its classes apart, `value`, and
            the `records` of both. Without it they are counted here.
        classes: the same of the release.
    """
    keys = [f"qi_{i}" for i in range(len(quasi_identifiers))]
    before, after = (
        each(rows, [*quasi_identifiers, sensitive], [*keys, "value"]) for rows in (source, released)
    )
    held = each(source, [sensitive], ["value"])
    of_source = (before, keys, held) if tuples is None else (tuples, keys[:1], tuples)
    of_release = (after, keys, held) if classes is None else (classes, keys[:1], held)
    found = [
        session.row(
            step("utility/mutual_information", {"released": rows, "source": whole}, {"qi": own})
        )
        for rows, own, whole in (of_source, of_release)
    ]
    (in_source, entropy), (in_release, _) = found
    return MutualInformation(float(entropy), float(in_source), float(in_release))
