"""What analysts and their tools ask, of five releases: how much is answered, and is it true?

    python tests/benchmarks/analysts.py [--only RELEASE]… [--ask NAME]… [--json]

`analysts_sql/written.sql` has 96 queries as people write them, `analysts_sql/generated.sql` 21 as
BI tools do. Each is asked of each release, and of the source without the records that the release
suppressed: bounds hold for the others. The truth must lie within the bounds of each cell; what has
no bounds must be the truth itself, unless the release says that it has no bounds to give. Of an
approximate aggregate the truth is what it approximates.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from textwrap import shorten
from typing import Any

import duckdb
from analysts_judge import NEAR, Claim, Table, Verdict, judge, unlimited
from analysts_releases import SQL, WAYS, Release, releases
from shown import show

import dbdeid

KINDS = ("written", "generated")
HINT = 100  # characters of a hint that are printed; JSON has them all
_REFUSED = "the query cannot be answered from the release: "
_QUESTION = re.compile(
    r"^-- (?P<name>\w+): (?P<form>[^\n]+)\n-- keys:(?P<keys>[^\n]*)\n"
    r"(?:-- within: (?P<within>[^\n]+)\n)?(?P<text>[^;]+);$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Question:
    """A query as the files have it.

    Attributes:
        kind: `written` by people, or `generated` by tools.
        form: what of SQL it needs.
        keys: the columns by which its rows are told apart.
        within: how far an equal number may be, relative to it.
    """

    kind: str
    name: str
    form: str
    keys: tuple[str, ...]
    within: float
    text: str


@dataclass(frozen=True)
class Asked:
    """A question that was asked of a release.

    Attributes:
        outcome: `answered`, `refused` by an error of dbdeid, or `crashed` by any other.
        generalized: whether it names a column that is not released as it was.
        seconds: of the answer or the refusal, the opening of the database included.
        on_source: seconds of the same query on an open source.
        reason: of a refusal, or the text of a crash.
        bounded: how many columns of the answer have bounds.
    """

    question: Question
    outcome: str
    generalized: bool
    seconds: float
    on_source: float
    reason: str = ""
    hint: str = ""
    bounded: int = 0
    verdict: Verdict = field(default_factory=Verdict)

    def to_dict(self) -> dict[str, Any]:
        """What `--json` shows of it."""
        return {
            "kind": self.question.kind,
            "name": self.question.name,
            "form": self.question.form,
            "outcome": self.outcome,
            "generalized": self.generalized,
            "seconds": self.seconds,
            "seconds_source": self.on_source,
            "reason": self.reason,
            "hint": self.hint,
            "columns_with_bounds": self.bounded,
            "cells": dict(self.verdict.cells),
            "lost": self.verdict.lost,
            "invented": self.verdict.invented,
            "misnamed": self.verdict.misnamed,
            "beyond": self.verdict.beyond,
            "faults": self.verdict.faults,
        }


def questions(names: Sequence[str] = ()) -> list[Question]:
    """The questions of both files, or those that are named."""
    found = []
    for kind in KINDS:
        text = (SQL / f"{kind}.sql").read_text(encoding="utf-8")
        for match in _QUESTION.finditer(text):
            keys = tuple(key.strip() for key in match["keys"].split(",") if key.strip())
            within = float(match["within"] or NEAR)
            found.append(
                Question(kind, match["name"], match["form"], keys, within, match["text"].strip())
            )
    counts = Counter(question.name for question in found)
    assert max(counts.values()) == 1, counts.most_common(1)
    return [question for question in found if not names or question.name in names]


def ask(release: Release, asked: Iterable[Question]) -> Iterator[Asked]:
    """Ask a release and its truth, one question after another."""
    with duckdb.connect(release.truth, read_only=True) as source:
        for question in asked:
            start = time.perf_counter()
            truth = rows(source, exactly(question.text))
            on_source = time.perf_counter() - start
            yield asked_of(release, source, question, truth, on_source)


def asked_of(
    release: Release,
    source: duckdb.DuckDBPyConnection,
    question: Question,
    truth: Table,
    on_source: float,
) -> Asked:
    """One question of a release, judged."""
    generalized = release.names_generalized(question.text)
    start = time.perf_counter()
    try:
        found = dbdeid.query(release.spec, question.text)
    except Exception as error:
        seconds = time.perf_counter() - start
        if isinstance(error, dbdeid.DbdeidError):
            reason, hint = error.message.removeprefix(_REFUSED), error.hint
            return Asked(question, "refused", generalized, seconds, on_source, reason, hint)
        reason = f"{type(error).__name__}: {error}"
        return Asked(question, "crashed", generalized, seconds, on_source, reason)
    seconds = time.perf_counter() - start
    unbounded = any(note.startswith("no bounds:") for note in found.notes)
    claim = Claim(
        keys=question.keys,
        truthful=not unbounded,
        all_rows=release.way.truthful and not generalized,
        within=question.within,
    )
    answer = Table(found.columns, found.rows)
    more = None
    if not claim.all_rows and (text := unlimited(question.text)):
        more = rows(source, text)
    return Asked(
        question,
        "answered",
        generalized,
        seconds,
        on_source,
        bounded=(len(found.columns) - len(truth.columns)) // 2,
        verdict=judge(answer, truth, more, claim),
    )


def exactly(text: str) -> str:
    """A question with what its approximate aggregates mean: bounds are of that, not of a guess."""
    text = re.sub(r"APPROX_COUNT_DISTINCT\(", "COUNT(DISTINCT ", text)
    return text.replace("APPROX_QUANTILE(", "QUANTILE_CONT(")


def rows(connection: duckdb.DuckDBPyConnection, text: str) -> Table:
    """What a database answers; DuckDB's errors are mistakes of the questions, and end the run."""
    cursor = connection.execute(text)
    columns = tuple(str(column[0]) for column in cursor.description or ())
    return Table(columns, cursor.fetchall())


# -- what is printed ----------------------------------------------------------------------------


def share(found: Sequence[Asked]) -> str:
    """How many of them were answered."""
    return f"{sum(one.outcome == 'answered' for one in found)} of {len(found)}"


def total(found: Iterable[Asked]) -> Counter[str]:
    """The cells of all answers, and the rows that one side lacks."""
    counts: Counter[str] = Counter()
    for one in found:
        counts.update(one.verdict.cells)
        for name in ("judged", "wrong", "beyond", "lost", "invented", "misnamed"):
            counts[name] += getattr(one.verdict, name)
    return counts


def milliseconds(found: Iterable[float]) -> str:
    """The median."""
    times = list(found)
    return f"{1000 * median(times):.0f}" if times else "–"


def answers_shown(found: dict[Release, list[Asked]]) -> None:
    """How much is answered, and how long it takes."""
    rows = []
    for release, asked in found.items():
        answered = [one for one in asked if one.outcome == "answered"]
        rows.append(
            {
                "release": release.name,
                "written": share([one for one in asked if one.question.kind == "written"]),
                "generated": share([one for one in asked if one.question.kind == "generated"]),
                "on columns as they were": share([one for one in asked if not one.generalized]),
                "on generalized ones": share([one for one in asked if one.generalized]),
                "without bounds": sum(one.bounded == 0 for one in answered),
                "crashed": sum(one.outcome == "crashed" for one in asked),
                "suppressed": release.suppressed,
                "ms, answer": milliseconds(one.seconds for one in answered),
                "ms, refusal": milliseconds(o.seconds for o in asked if o.outcome == "refused"),
                "ms, source": milliseconds(one.on_source for one in asked),
            }
        )
    show("Answered", rows)


def cells_shown(found: dict[Release, list[Asked]]) -> None:
    """What is true of the answers."""
    rows = []
    for release, asked in found.items():
        counts = total(asked)
        errors = [error for one in asked for error in one.verdict.errors]
        widths = [width for one in asked for width in one.verdict.widths]
        rows.append(
            {
                "release": release.name,
                "cells judged": counts["judged"],
                "out of bounds": counts["out"],
                "not the truth": counts["unequal"],
                "equal": counts["equal"],
                "tight bounds": counts["tight"],
                "within bounds": counts["within"],
                "a bound unknown": counts["open"],
                "no claim": counts["free"],
                "NULL in the source": counts["absent"],
                "rows lost": counts["lost"],
                "rows invented": counts["invented"],
                "columns misnamed": counts["misnamed"],
                "expected beyond bounds": counts["beyond"],
                "median error": f"{median(errors):.3f}" if errors else "–",
                "median width": f"{median(widths):.3f}" if widths else "–",
            }
        )
    show("Cells", rows)


def faults_shown(found: dict[Release, list[Asked]]) -> None:
    """Answers that are wrong, and questions that crashed."""
    print("\n### Wrong answers and crashes\n")
    told = False
    for release, asked in found.items():
        for one in asked:
            for fault in one.verdict.faults:
                print(f"- {release.name}, {one.question.name}: {fault}")
            if one.outcome == "crashed":
                print(f"- {release.name}, {one.question.name} crashed: {one.reason}")
            told |= bool(one.verdict.faults) or one.outcome == "crashed"
    if not told:
        print("none")


def refusals(found: dict[Release, list[Asked]]) -> list[dict[str, Any]]:
    """Reasons by how many questions have them: with hints, forms and names."""
    grouped: dict[str, list[tuple[str, Asked]]] = defaultdict(list)
    for release, asked in found.items():
        for one in asked:
            if one.outcome == "refused":
                reason = re.sub(r"(?<=WITH )\w+", "…", one.reason)  # what a query calls its parts
                grouped[reason].append((release.name, one))
    reasons = [
        {
            "reason": reason,
            "hints": list(dict.fromkeys(one.hint for _, one in those)),
            "releases": list(dict.fromkeys(name for name, _ in those)),
            "questions": {one.question.name: one.question.form for _, one in those},
            "refused": len(those),
        }
        for reason, those in grouped.items()
    ]
    return sorted(reasons, key=lambda one: (-one["refused"], one["reason"]))


def refusals_shown(found: dict[Release, list[Asked]]) -> None:
    """Each reason, and the questions it is of."""
    print("\n### Refused\n")
    for one in refusals(found):
        print(f"- {one['refused']} × {one['reason']} ({', '.join(one['releases'])})")
        for name, form in one["questions"].items():
            print(f"    {form}: {name}")
        for hint in one["hints"]:
            print(f"    Hint: {shorten(hint, HINT, placeholder=' …')}")


def shown_as_json(found: dict[Release, list[Asked]]) -> None:
    """All of it, for programs."""
    told = {
        "releases": [
            {
                "release": release.name,
                "method": release.way.method,
                "records": release.records,
                "suppressed": release.suppressed,
                "answered": {
                    kind: sum(o.outcome == "answered" for o in asked if o.question.kind == kind)
                    for kind in KINDS
                },
                "cells": dict(total(asked)),
                "questions": [one.to_dict() for one in asked],
            }
            for release, asked in found.items()
        ],
        "refusals": refusals(found),
    }
    print(json.dumps(told, indent=2))


def main() -> None:
    """Release, ask, judge and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", action="append", help="a release, if not all", choices=[*WAYS])
    parser.add_argument("--ask", action="append", default=[], help="a question, if not all")
    parser.add_argument("--json", action="store_true", help="print JSON in place of tables")
    arguments = parser.parse_args()
    asked = questions(arguments.ask)
    with TemporaryDirectory() as folder:
        made = releases(Path(folder), arguments.only or [*WAYS])
        found = {release: list(ask(release, asked)) for release in made}
    if arguments.json:
        shown_as_json(found)
        return
    for part in (answers_shown, cells_shown, faults_shown, refusals_shown):
        part(found)


if __name__ == "__main__":
    main()
