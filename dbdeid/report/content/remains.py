"""What remains, in three sentences: what a release promises, what it does not, what it is good for.

They are made from the record of a release alone, and stand first wherever a person reads of it. A
sentence is a few clauses: terminals give each a line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from dbdeid.data.figures import number, part, share
from dbdeid.record.findings import AsItIs, Certain, Promise, Reading, Remains, Singled
from dbdeid.record.public_record import (
    PublicAsItIs,
    PublicCertain,
    PublicPromise,
    PublicRemains,
    Shown,
)
from dbdeid.record.release_record import ReleaseRecord
from dbdeid.report.content.audience import Audience, roughly
from dbdeid.report.content.model_terms import model_called
from dbdeid.report.content.padding import counted

Clauses = tuple[str, ...]
Left: TypeAlias = Remains | PublicRemains
# Columns that leave as they are, of which more are not all named.
NAMED = 6


@dataclass(frozen=True, slots=True)
class Sentences:
    """The three sentences, each in clauses."""

    promised: Clauses
    not_promised: Clauses
    use: Clauses

    def to_dict(self) -> dict[str, str]:
        """Each as one text."""
        parts = {
            "promised": self.promised,
            "not_promised": self.not_promised,
            "use": self.use,
        }
        return {name: "; ".join(clauses) for name, clauses in parts.items()}


def sentences(
    record: Shown, audience: Audience = "internal", suppressed: str | None = None
) -> Sentences:
    """The three sentences of a release.

    Args:
        record: of the release, or what `audience.public` lets through of it; of an older run it
            has no `remains`, and the sentence says that it was not counted.
        audience: who reads it.
        suppressed: how many records were, as far as the public may know.
    """
    return Sentences(
        tuple(_promised(record, audience)),
        tuple(_not_promised(record, audience)),
        tuple(_use(record, audience, suppressed)),
    )


def verdict(record: Shown) -> str:
    """Whether the promises were verified: never whether a release is safe."""
    return "promises verified" if record.verified else "promises not verified"


def unique(record: Shown) -> str | None:
    """Who is unique over all released columns; None where it was not counted."""
    left = record.remains
    if left is None:
        return None
    singled, whole, who = _of(left, left.everything)
    kind = "synthetic records" if record.synthetic else who
    apart = f", {listed(left.pseudonyms)} apart" if left.pseudonyms else ""
    are = "is" if singled == 1 else "are"
    return f"{_part(singled, whole, kind)} {are} unique over {_all(left)}{_ends(left)}{apart}"


def briefly(record: Shown) -> str | None:
    """The same as a share, to stand beside a verdict."""
    return (
        None if record.remains is None else alone(record.remains, synthetic=bool(record.synthetic))
    )


def alone(left: Left, *, synthetic: bool) -> str:
    """Who is unique over all released columns, as a share."""
    singled, whole, who = _of(left, left.everything)
    kind = "synthetic records" if synthetic else who
    return f"{part(singled, whole)} of the {kind} unique over {_all(left)}"


# -- promised ---------------------------------------------------------------------------------


def _promised(record: Shown, audience: Audience) -> Iterator[str]:
    on = _on(record)
    found = [(p, said) for p in _promises(record) if (said := _saying(p.model))]
    for promise, said in found:
        declared = promise.declared if isinstance(promise.declared, Mapping) else {}
        if declared.get("promised") is False:
            continue
        words = said(declared, on)
        if promise.model == "k_anonymity" and record.padding is not None:
            words = f"{counted(record.padding)}, on {on}"
        kind = model_called(promise.model)
        if kind is not None and kind.vacuous(declared):
            words += ", which protects nobody"
        yield f"{words}: {_held(promise, audience)}"
    if not found:
        yield "nothing: no privacy model is declared"
    elif not record.synthetic:
        yield _counting(record)


def _saying(name: str) -> Callable[[Mapping[str, Any], str], str] | None:
    """The function that puts a promise into a clause; None for one that is not mentioned."""
    kind = model_called(name)
    return kind.said if kind else _BESIDES.get(name)


def _promises(record: Shown) -> Sequence[Promise | PublicPromise]:
    """Each declared model with what became of it; of a preview nothing is known."""
    if record.verification is not None:
        return record.verification.promises
    models = record.privacy or ()
    return [Promise(model=str(m.get("model")), declared=m, holds=None) for m in models]


def _held(promise: Promise | PublicPromise, audience: Audience) -> str:
    if promise.holds is None:
        return "asked for, and not verified"
    if promise.holds:
        return "holds"
    found = promise.found
    if isinstance(found, int | float) and audience == "internal":
        return f"FAILS, {number(found)} found"
    return "FAILS"


def _counting(record: Shown) -> str:
    if not record.by_subject:
        return "each record counts as one person"
    subject = record.remains.subject if record.remains is not None else None
    whose = f" ({subject} says whose they are)" if subject else ""
    return f"people are counted, not records{whose}"


def _on(record: Shown) -> str:
    roles = [c.role for c in record.columns]
    return _columns(roles.count("quasi_identifier"))


def _all(left: Left) -> str:
    columns = left.columns
    return "the one column released" if columns == 1 else f"all {columns} columns released"


def _ends(left: Left) -> str:
    """How many of the columns are no columns of the source."""
    return f", {left.bounds} of which hold bounds of intervals" if left.bounds else ""


def _columns(many: int) -> str:
    return f"{many} column{'' if many == 1 else 's'}"


def _policy(declared: Mapping[str, Any], on: str) -> str:
    return f"the risk is {share(declared.get('risk'))} of that without generalization, on {on}"


# What is promised beside the models, from what was declared and the quasi-identifiers in words.
_BESIDES: dict[str, Callable[[Mapping[str, Any], str], str]] = {
    "policy": _policy,
    "safe_harbor": lambda d, on: (
        "Safe Harbor's list, in columns that tell by name or value what they are"
    ),
    "copies": lambda d, on: (
        "copies of real rows stay within a limit set from a trial, which is more than chance"
    ),
}


# -- not promised -----------------------------------------------------------------------------


def _not_promised(record: Shown, audience: Audience) -> Iterator[str]:
    left = record.remains
    if record.synthetic:
        yield from _of_synthetic(record, audience)
    if record.method == "relocation":
        yield "records have the quasi-identifiers of others: what they say of a person may be false"
    if left is None:
        yield "who is singled out by all released columns was not counted"
        return
    if left.as_they_are:
        yield _as_they_are(left)
    elif not record.synthetic:
        yield "no column leaves besides the quasi-identifiers"
    covered = left.covered
    if covered is not None and left.columns > left.quasi_identifiers:  # else the next says the same
        yield from _covered(left, covered)
    told = unique(record)
    if told:
        yield told
    for certain in left.certain:
        yield from _certain(record, left, certain, audience)
    if audience == "internal" and isinstance(record, ReleaseRecord):
        yield from (_reading(reading) for reading in record.readings if reading.why is None)
        yield from _downcoded(record)
        yield from _inferred(record)
    if record.padding is not None:
        yield "counterfeit records count in these numbers, and a class may hold fewer real people"
    if left.pseudonyms:
        links = "links" if len(left.pseudonyms) == 1 else "link"
        yield f"{listed(left.pseudonyms)} {links} the records of each person"


def _of_synthetic(record: Shown, audience: Audience) -> Iterator[str]:
    yield "no formal guarantee: the records are nobody's, and drawn from clusters of real ones"
    copies = next((p for p in _promises(record) if p.model == "copies"), None)
    found = copies.found if copies else None
    told = found if isinstance(found, Mapping) and audience == "internal" else {}
    copied, rows = told.get("reproduced"), told.get("unique_rows")
    if isinstance(copied, int) and isinstance(rows, int):
        yield f"{_part(copied, rows, 'unique real records')} are copied exactly"
    else:
        yield "a synthetic record may equal a real one"


def _as_they_are(left: Left) -> str:
    """The columns, the one that singles out most, and what all of them do."""
    columns = left.as_they_are
    single = len(columns) == 1
    leave = "leaves as it is" if single else "leave as they are"
    text = f"{_some([c.column for c in columns])} {leave}"
    assert left.together is not None
    together, whole, who = _of(left, left.together)
    if not together:
        return f"{text}, and {'singles' if single else 'together single'} out no {_ONE[who]}"
    of_all = _part(together, whole, who)
    if single:
        return f"{text}, and singles out {of_all}"
    known = [(_of(left, c.alone)[0], c.column) for c in columns if c.alone is not None]
    alone, worst = max(known, key=lambda one: one[0])
    of_one = f"{worst} alone singles out {_part(alone, whole, who)}"
    if not alone:
        of_one = f"none alone singles out a {_ONE[who]}"
    return f"{text}: {of_one}, together they single out {of_all}{_uncounted(columns)}"


def _covered(left: Left, covered: Singled) -> Iterator[str]:
    """Who is in no class with others, which some models allow."""
    singled, whole, who = _of(left, covered)
    others = "nobody" if who == "people" else "no other"
    if singled:
        many = left.quasi_identifiers
        by = "quasi-identifier" if many == 1 else f"{many} quasi-identifiers"
        verb = "shares" if singled == 1 else "share"
        yield f"{_part(singled, whole, who)} {verb} the {by} with {others}"


def _uncounted(columns: Sequence[AsItIs | PublicAsItIs]) -> str:
    names = [c.column for c in columns if c.alone is None]
    return f" (not counted alone, for there are many: {listed(names)})" if names else ""


def _certain(
    record: Shown,
    left: Left,
    certain: Certain | PublicCertain,
    audience: Audience,
) -> Iterator[str]:
    """Whose value of a sensitive column is certain, and who accepted that."""
    name = certain.column
    column = next((c for c in record.columns if c.name == name), None)
    accepted = column is not None and "homogeneity" in (column.accept or ())
    many, whole, who = _of(left, certain)
    if not many:
        if accepted:
            yield (
                f"no {_ONE[who]}'s {listed([name])} follows from the quasi-identifiers, though no "
                "model promises that"
            )
        return
    why = "the models allow it"
    if accepted:
        why = "accepted in the specification" if audience == "internal" else "accepted by its owner"
        why += f' because "{column.reason}"' if column is not None and column.reason else ""
    covered = left.quasi_identifiers
    knows = "the quasi-identifier" if covered == 1 else f"the {covered} quasi-identifiers"
    nulls = ", missing values among them" if record.null_policy == "wildcard" else ""
    yield (
        f"for {many:,} {_ONE[who] if many == 1 else who}, {part(many, whole)}, anyone who knows "
        f"{knows}{nulls} learns {name} for certain: {why}"
    )


def _reading(reading: Reading) -> str:
    """What follows of a sensitive attribute from how the release was made."""
    name = " with ".join(listed([column]) for column in reading.columns)
    if reading.sound:
        return f"the shape of blocks reveals no {name}, not even to someone who knows the method"
    who = "someone who knows the algorithm and everybody's quasi-identifiers"
    if not reading.claimed:
        return f"{who} infers {name} of nobody (minimality attack)"
    return (
        f"{who} infers {name} of {reading.claimed:,} people, of {reading.right:,} rightly, "
        "whatever their classes show (minimality attack)"
    )


def _downcoded(record: ReleaseRecord) -> Iterator[str]:
    """Which generalized values are taken back in part, where that was to be measured."""
    found = record.downcoded
    if found is not None and found.right and "downcoding" in record.metrics:
        right, cells = found.right, found.cells
        yield (
            "someone who knows the method, the hierarchies and which values occur narrows "
            f"{right:,} of {cells:,} generalized values ({part(right, cells)}) by a level for "
            "certain (downcoding); a larger k leaves fewer"
        )


def _inferred(record: ReleaseRecord) -> Iterator[str]:
    """Of which sensitive columns the release teaches more than its classes."""
    metrics = record.metrics
    for name, right in metrics.items():
        own = name.removesuffix(".right")
        if own == name or not own.startswith("inference.") or not (metrics[own] or 0) > 0:
            continue
        column = listed([own.removeprefix("inference.")])
        yield (
            "someone who learns from the release which values go with which quasi-identifiers "
            f"guesses {column} of {share(right)} of the people in it rightly, and of "
            f"{share(metrics[f'{own}.by_class'])} from their classes alone"
        )


_ONE = {"records": "record", "people": "person"}


def _of(left: Left, singled: Singled | Certain | PublicCertain) -> tuple[int, int, str]:
    """How many, of how many, and of what: people, where they count and may be shown."""
    if singled.people is not None and left.people is not None:
        return singled.people, left.people, "people"
    return singled.records, left.records, "records"


def _part(some: int, whole: int, who: str) -> str:
    return f"{some:,} of {whole:,} {who} ({part(some, whole)})"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence, without what cannot be printed."""
    # a name with a line break in it would write sentences of its own
    return ", ".join("".join(c if c.isprintable() else "�" for c in name) for name in names)


def _some(names: Sequence[str]) -> str:
    if len(names) <= NAMED:
        return listed(names)
    return f"{listed(names[: NAMED - 1])} and {len(names) - NAMED + 1} more columns"


# -- use --------------------------------------------------------------------------------------


def _use(record: Shown, audience: Audience, suppressed: str | None) -> Iterator[str]:
    internal = audience == "internal"
    loss, metrics = record.loss, record.metrics
    if loss is not None:
        yield f"loss {loss:.4f} (0 none, 1 all)" if internal else f"loss {roughly(loss)}"
    elif "information_loss" in metrics:
        yield f"{number(metrics['information_loss'])} % of the numbers' variance is lost"
    taken, rows = None, None
    if internal and isinstance(record, ReleaseRecord):
        yield _query_error(record)
        taken, rows = record.suppressed_rows, record.source_rows
    if record.synthetic:
        return
    if suppressed is not None:
        yield f"suppressed records: {suppressed}"
    elif taken:
        yield f"{_part(taken, rows, 'records') if rows else taken} suppressed"
    elif taken == 0:
        yield "no record suppressed"


def _query_error(record: ReleaseRecord) -> str:
    """The mean error of a workload, over how many of how many questions."""
    workload = record.queries
    if workload is None or not workload.queries:
        return "query error not measured, for the spec names no questions (evaluate: queries)"
    asked = workload.queries
    refused = sum(bool(q.refused) for q in asked)
    known = sum(q.relative_error is not None for q in asked)
    mean = workload.mean_relative_error
    many = f"{known} of {len(asked)} questions" if len(asked) > 1 else "one question"
    text = f"mean query error {share(mean)} over {many}"
    if mean is None:
        some = "the one question" if len(asked) == 1 else f"{len(asked)} questions"
        text = f"no query error is known for {some}"
    return text + (f", {refused} not answered" if refused else "")
