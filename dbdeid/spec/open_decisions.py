"""What a specification still asks its owner: a run makes no release before all of it is answered.

A draft decides only what it knows. A column that it does not know has role undecided, a reason
that only the owner can give is empty, and so is the subject where several columns may be it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dbdeid.errors import Mistake, SpecError
from dbdeid.spec.column.column_spec import given_reason, names_in
from dbdeid.spec.file import SpecFile

ROLES = "identifier, drop, quasi_identifier, sensitive or insensitive"


@dataclass(frozen=True, slots=True)
class Open:
    """The questions that a specification leaves open.

    Attributes:
        undecided: names of the columns without a decision, as the spec lists them.
        unexplained: names of the columns whose reason is empty, or a draft's.
        accepted: names that a preset accepts without a reason.
        subject: whether the subject is asked for.
    """

    undecided: tuple[str, ...]
    unexplained: tuple[str, ...]
    accepted: tuple[str, ...]
    subject: bool

    def __bool__(self) -> bool:
        return bool(self.undecided or self.unexplained or self.accepted or self.subject)


def open_questions(file: SpecFile) -> Open:
    """List the questions that a specification leaves open."""
    columns, preset = file.spec.columns, file.spec.preset
    accepted = preset.accept if preset is not None else {}
    return Open(
        tuple(n for key, c in columns.items() if c.role == "undecided" for n in names_in(key)),
        tuple(key for key, c in columns.items() if c.unexplained and c.role != "undecided"),
        tuple(name for name, reason in accepted.items() if not given_reason(reason)),
        file.spec.asks_subject,
    )


def require_decided(file: SpecFile) -> None:
    """Refuse a specification with an open question.

    Raises:
        SpecError: columns are undecided, reasons are empty, or the subject is; all at once.
    """
    mistakes = list(open_mistakes(file))
    if mistakes:
        raise SpecError(mistakes, source=file.label)


def open_mistakes(file: SpecFile) -> Iterator[Mistake]:
    """The open questions as a run would refuse them, undecided columns in one."""
    found = open_questions(file)
    some = found.undecided
    if some:
        count = f"{len(some)} columns are" if len(some) > 1 else "1 column is"
        yield file.mistake(
            f"{count} undecided: {', '.join(some)}",
            "columns",
            hint=f"give each a role: {ROLES}; `dbdeid check {file.label}` says what each costs",
        )
    if found.subject:
        yield file.mistake(
            "whose record a record is, is not decided",
            "subject",
            hint="name the column that tells one person from another; if nobody has two records, "
            "take the key away",
        )
    for name in found.unexplained:
        yield file.mistake(
            f"the reason of {name!r} is empty: only you can give it",
            "columns",
            name,
            "reason",
            hint="say why nobody outside can use this column against a person, or give it "
            "another role",
        )
    for name in found.accepted:
        yield file.mistake(
            f"the reason to accept {name!r} is empty: only you can give it",
            "preset",
            "accept",
            name,
            hint="say why it may be released as declared, or take the line away",
        )
