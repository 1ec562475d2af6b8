"""The figures at the top of a report: those of the declared models, and what they are worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from dbdeid.data.figures import count, part, share
from dbdeid.data.json import Json, JsonObject
from dbdeid.record.findings import Promise, RiskChange
from dbdeid.record.public_record import PublicPromise, Shown
from dbdeid.record.release_record import ReleaseRecord
from dbdeid.report.content.audience import Audience, roughly
from dbdeid.report.content.model_terms import by_class
from dbdeid.report.content.padding import padding_of


class Card(NamedTuple):
    """One figure: what it is, the figure, and what it means."""

    title: str
    text: str
    note: str


def cards(record: Shown, audience: Audience) -> list[Card]:
    """The cards of a record, as far as the audience may know it."""
    return [
        *_protection(record, audience),
        *_unique(record),
        *_worth(record, audience),
    ]


def _protection(record: Shown, audience: Audience) -> Iterator[Card]:
    internal, synthetic = audience == "internal", record.synthetic
    released = count(record.released_rows)
    if synthetic:
        least = "" if internal else "at least "
        note = "real records behind each synthetic one"
        yield Card("Smallest cluster", f"{least}{count(record.smallest_class)}", note)
        clusters = f" from {count(record.classes)} clusters" if internal else ""
        yield Card("Released", released, f"synthetic records{clusters}")
        return
    yield from _of_models(record)
    by_subject = record.by_subject
    padding = padding_of(record)
    counting = ", counting counterfeits" if padding else ""
    promised = by_class(record)
    least = "at least " if by_subject and not internal else ""
    who = "subjects" if by_subject else "records"
    yield Card(
        "Smallest class" if promised else "Smallest class, not promised",
        f"{least}{count(record.smallest_class)}",
        f"{who} share every quasi-identifier{counting}",
    )
    yield Card("Released", released, f"records in {count(record.classes)} classes")
    if record.risk is not None and record.risk.after is not None:
        before = record.risk.before if isinstance(record.risk, RiskChange) else None
        was = f"; {share(before.highest_risk)} before" if before is not None else ""
        yield Card(
            "Highest risk" if promised else "Highest risk in the table, not promised",
            share(record.risk.after.highest_risk),
            (
                "of re-identifying a record by its quasi-identifiers"
                if promised
                else "if a person is known to be in it"
            )
            + f"{counting}{was}",
        )
    if padding:
        note = "for whoever knows how counterfeit records are made"
        yield Card("Prosecutor risk", padding.counted.split("risk ")[-1], note)


def _of_models(record: Shown) -> Iterator[Card]:
    """Figures of the models over a population, and of chances of re-identification."""
    promises: Sequence[Promise | PublicPromise] = ()
    if record.verification is not None:
        promises = record.verification.promises
    for model in record.privacy or ():
        known = [p.found for p in promises if p.model == model["model"] and _same(p, model)]
        found = next((value for value in known if value is not None), None)
        if model["model"] == "k_map":
            people = found if isinstance(found, int) and not isinstance(found, bool) else None
            k = _number(model.get("k"))
            text = count(people) if people is not None else f"at least {count(k)}"
            yield Card("Smallest population class", text, "people fit each class of the release")
            text = share(1 / people) if people else f"at most {share(1 / (k or 1))}"
            yield Card("Highest journalist risk", text, "of finding someone of the population")
        elif model["model"] == "delta_presence":
            ends = model
            if isinstance(found, Mapping) and found.get("max") is not None:
                ends = {**found}
            least, most = _number(ends.get("min", 0.0)), _number(ends.get("max"))
            note = "of the people who fit a class are in it, at least and at most"
            yield Card("Presence", f"{share(least)} to {share(most)}", note)
        elif model["model"] == "max_risk":
            text = share(found) if isinstance(found, int | float) else ""
            limit = f"at most {share(_number(model.get('threshold')))}"
            note = f"{limit} declared" if text else "declared"
            yield Card(f"Risk by {model.get('attacker')}", text or limit, note)


def _number(value: Json) -> float | None:
    return value if isinstance(value, int | float) else None


def _same(promise: Promise | PublicPromise, model: JsonObject) -> bool:
    """Whether a promise is of this declaration of the model."""
    declared = promise.declared
    if not isinstance(declared, Mapping):
        return False
    return all(declared.get(key) == value for key, value in model.items() if key != "model")


def _unique(record: Shown) -> Iterator[Card]:
    left = record.remains
    if left is not None:
        people = left.everything.people
        singled, whole = left.everything.records, left.records
        if people is not None:
            singled, whole = people, left.people or 0
        who = "people" if people is not None else "records"
        yield Card(
            "Unique over all columns",
            part(singled, whole),
            f"of the {'synthetic ' if record.synthetic else ''}{who}, by all "
            f"{left.columns} released columns: not promised",
        )


def _worth(record: Shown, audience: Audience) -> Iterator[Card]:
    internal, loss = audience == "internal", record.loss
    if loss is not None:
        text = f"{loss:.3f}" if internal else roughly(loss)
        yield Card("Information loss", text, "from 0, unchanged, to 1, nothing left")
    workload = record.queries if internal and isinstance(record, ReleaseRecord) else None
    if workload is not None and workload.mean_relative_error is not None:
        asked = workload.queries
        answered = sum(query.relative_error is not None for query in asked)
        note = f"mean over {answered} of {len(asked)} {'query' if len(asked) == 1 else 'queries'}"
        yield Card("Query error", share(workload.mean_relative_error), note)
