"""The questions of Lee, Kim & Chung 2017, and random ranges, asked of releases of every method.

    python tests/benchmarks/answers.py [questions] [ranges] [large] [figures] [--only RELEASE]…

`questions`, `ranges` and `large` measure, print tables and keep what they found in
`docs/pictures/answers/answers.json`; `figures` draws the pictures of what the file holds.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from math import isclose
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from typing import Any

from answers_pictures import counts, curves, stays
from answers_ways import SHARED, SUPPRESSED, WAYS, Release, adult, encounters, releases
from shown import save, show

import dbdeid
from dbdeid.commands.queries.workload import Drawing, write
from dbdeid.papers import hospital
from dbdeid.utility.query_error import QueryError

PICTURES = Path(__file__).resolve().parents[2] / "docs/pictures/answers"
FIGURES = PICTURES / "answers.json"
TIMES = 3
SPREAD = f"{SUPPRESSED}, spread"
READINGS = [r for way in WAYS for r in ((way, SPREAD) if way == SUPPRESSED else (way,))]

Group = dict[str, Any]


# -- Q1 to Q4 -----------------------------------------------------------------------------------


def questions(ways: Sequence[str]) -> list[Group]:
    """Q1 to Q4 of each release of the encounters: what is told, and what is true."""
    asked = hospital.queries()
    found = []
    with TemporaryDirectory() as named:
        folder = Path(named)
        (folder / "queries").mkdir()
        for question, text in asked.items():
            (folder / "queries" / f"{question}.sql").write_text(text, encoding="utf-8")
        what = encounters(folder / "hierarchies")
        true = hospital.truth(SHARED / "data/ehr/diabetes130.parquet")
        for name, release in releases(what, folder, ways):
            release.asking("../queries/*.sql")
            errors = [release.workload() for _ in range(TIMES)]
            spread = name == SUPPRESSED
            for i, (question, text) in enumerate(asked.items()):
                own = [workload.queries[i] for workload in errors]
                plain = answered(release, text, true[question], spread=False)
                agrees(plain, own[0])
                found.append(told(name, question, plain, own))
                if spread:
                    plain = answered(release, text, true[question], spread=True)
                    found.append(told(SPREAD, question, plain, own))
            print(f"{name}: {release.seconds:.1f} CPU s", flush=True)
    return found


def answered(
    release: Release, text: str, true: dict[tuple[str, str], float], *, spread: bool
) -> list[Group]:
    """The groups of source and release, with the truth, the expected value and its bounds."""
    result = dbdeid.query(release.path, text, spread_suppressed=spread)
    told_of = {(age, sex): values for age, sex, *values in result.rows}
    groups = []
    for group in sorted({*true, *told_of}):
        value, lower, upper = (
            None if own is None else float(own) for own in told_of.get(group, (None,) * 3)
        )
        groups.append(
            dict(zip(("age", "sex"), group, strict=True))
            | {"truth": true.get(group), "value": value, "lower": lower, "upper": upper}
        )
    return groups


def told(way: str, question: str, groups: list[Group], timed: list[QueryError]) -> Group:
    """One question of one release: errors, bounds, seconds and the groups."""
    return {
        "way": way,
        "question": question,
        **figures_of(question, groups),
        "seconds_source": min(one.seconds_source or 0.0 for one in timed),
        "seconds_release": min(one.seconds_release or 0.0 for one in timed),
        "groups": groups,
    }


def figures_of(question: str, groups: list[Group]) -> Group:
    """The errors and bounds of an answer.

    Of counts a group that one side lacks is 0; mean stays are compared where both sides have one,
    and the relative error counts each group once.
    """
    both = [one for one in groups if None not in (one["truth"], one["value"])]
    compared = groups if question in hospital.COUNTED else both
    off = {id(one): abs((one["value"] or 0) - (one["truth"] or 0)) for one in compared}
    true = [one for one in compared if one["truth"]]
    bounded = [one for one in both if None not in (one["lower"], one["upper"])]
    within = [one["lower"] - 1e-9 <= one["truth"] <= one["upper"] + 1e-9 for one in bounded]
    widths = [(one["upper"] - one["lower"]) / one["truth"] for one in bounded]
    return {
        "relative_error": sum(off.values()) / sum(one["truth"] for one in true),
        "mean_group_error": mean(off[id(one)] / one["truth"] for one in true),
        "within": mean(within) if within else None,
        "width": mean(widths) if widths else None,
        "lost": sum(one["value"] is None for one in groups),
        "invented": sum(one["truth"] is None for one in groups),
    }


def agrees(groups: list[Group], evaluated: QueryError) -> None:
    """Stop unless `dbdeid evaluate` finds the same errors."""
    own = figures_of(evaluated.name, groups)
    assert (own["lost"], own["invented"]) == (evaluated.lost, evaluated.invented), own
    for name in ("relative_error", "mean_group_error"):
        theirs = getattr(evaluated, name)
        assert isclose(own[name], theirs, rel_tol=1e-6, abs_tol=1e-9), (name, own[name], theirs)


def questions_shown(found: list[Group]) -> None:
    """A table of each question."""
    for question, meaning in hospital.QUESTIONS.items():
        rows = [
            {
                "release": one["way"],
                "Σ\\|e − t\\|/Σt": short(one["relative_error"]),
                "mean \\|e − t\\|/t": short(one["mean_group_error"]),
                "truth within bounds": short(one["within"]),
                "width / truth": short(one["width"]),
                "lost": one["lost"],
                "invented": one["invented"],
                "ms, source": f"{1000 * one['seconds_source']:.0f}",
                "ms, release": f"{1000 * one['seconds_release']:.0f}",
            }
            for one in found
            if one["question"] == question
        ]
        show(f"{question}: {meaning}", rows)


def short(value: float | None) -> str:
    """A figure to three decimals, or to as many digits as matter."""
    if value is None:
        return "–"
    return f"{value:.3f}" if value < 10 else f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"


# -- random ranges ------------------------------------------------------------------------------

SELECTIVITY, DIMENSIONS = 0.05, 2
WORKLOADS = [(n, SELECTIVITY) for n in (1, 2, 3, 4)] + [(DIMENSIONS, s) for s in (0.01, 0.02, 0.1)]


def ranges(ways: Sequence[str]) -> list[Group]:
    """Workloads of 100 random range queries of each release of Adult."""
    found = []
    with TemporaryDirectory() as named:
        folder = Path(named)
        for name, release in releases(adult(), folder, ways):
            for i, (dimensions, selectivity) in enumerate(WORKLOADS):
                drawn = folder / f"ranges{i}"
                if not drawn.exists():
                    write(release.path, drawn, Drawing(100, dimensions, selectivity))
                release.asking(f"../{drawn.name}/*.sql")
                found.append(
                    {"way": name, "dimensions": dimensions, "selectivity": selectivity}
                    | asked(release)
                )
            print(f"{name}: {release.seconds:.1f} CPU s", flush=True)
    return found


def asked(release: Release) -> Group:
    """A workload: its errors, bounds and wall seconds, all that is done for it included."""
    start = time.perf_counter()
    queries = release.workload().queries
    seconds = time.perf_counter() - start
    # a count of no group compares one number, so that its error is |e − t| / max(t, 1)
    errors = [query.relative_error or 0.0 for query in queries]
    inside = [query.within_bounds for query in queries if query.within_bounds is not None]
    return {
        "mean": mean(errors),
        "median": median(errors),
        "within": mean(inside) if inside else None,
        "seconds": seconds,
        "on_source": sum(query.seconds_source or 0.0 for query in queries),
        "on_release": sum(query.seconds_release or 0.0 for query in queries),
    }


def ranges_shown(found: list[Group]) -> None:
    """Median errors against dimensions and selectivity, bounds and seconds."""
    rows = []
    for way in WAYS:
        if all(one["way"] != way for one in found):
            continue
        own = {(one["dimensions"], one["selectivity"]): one for one in found if one["way"] == way}
        row = {"release": way}
        row |= {f"{d} d, {100 * s:g} %": short(own[d, s]["median"]) for d, s in WORKLOADS}
        inside = [one["within"] for one in own.values() if one["within"] is not None]
        row["within bounds"] = short(mean(inside)) if inside else "–"
        times = [one["seconds"] for one in own.values()]
        row["s of 100 queries"] = f"{min(times):.1f} to {max(times):.1f}"
        rows.append(row)
    show("Adult: median of |e − t|/t, dimensions and selectivity", rows)


def large(_: Sequence[str]) -> list[Group]:
    """A workload on 1.2 million rows."""
    folder = f"{SHARED}/data/hierarchies/ihis_int/ihis_int_hierarchy_"
    names = json.loads((SHARED / "data/synth/ihis_like.json").read_text())["qis"]
    keys = {
        name: {"role": "quasi_identifier", "hierarchy": f"{folder}{name}.csv"} for name in names
    }
    spec = {
        "release": "released",
        "source": f"{SHARED}/data/synth/ihis_like.parquet",
        "target": "released.duckdb",
        "columns": keys,
        "privacy": [{"model": "k_anonymity", "k": 10}],
        "method": {"name": "full_domain", "suppression_limit": 0.05},
        "seed": 1,
    }
    found = []
    with TemporaryDirectory() as named:
        path = Path(named) / "spec.yml"
        path.write_text(json.dumps(spec | {"evaluate": {"metrics": []}}), encoding="utf-8")
        start = time.process_time()
        dbdeid.run(path)
        release = Release(path, time.process_time() - start)
        for dimensions in (1, 2, 3, 4):
            write(path, Path(named) / f"ranges{dimensions}", Drawing(100, dimensions, SELECTIVITY))
            release.asking(f"ranges{dimensions}/*.sql")
            once = [asked(release) for _ in range(2)]
            found.append(
                {"way": SUPPRESSED, "dimensions": dimensions}
                | min(once, key=lambda one: one["seconds"])
            )
    return found


def large_shown(found: list[Group]) -> None:
    """Errors and seconds."""
    rows = [
        {
            "dimensions": one["dimensions"],
            "median error": short(one["median"]),
            "within bounds": short(one["within"]),
            "s, source": f"{one['on_source']:.1f}",
            "s, release": f"{one['on_release']:.1f}",
            "s, all": f"{one['seconds']:.1f}",
        }
        for one in found
    ]
    show("1.2 million rows: 100 queries, selectivity 5 %", rows)


# -- all ----------------------------------------------------------------------------------------

PARTS = {
    "questions": (questions, questions_shown),
    "ranges": (ranges, ranges_shown),
    "large": (large, large_shown),
}


def figures(held: dict[str, list[Group]]) -> None:
    """Draw what was found."""
    if "questions" in held:
        save(counts(held["questions"]), PICTURES / "answers_counts.svg")
        save(stays(held["questions"]), PICTURES / "answers_stays.svg")
    if "ranges" in held:
        save(curves(held["ranges"], DIMENSIONS, SELECTIVITY), PICTURES / "answers_ranges.svg")


def kept() -> dict[str, list[Group]]:
    """What the file holds."""
    return json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}


def keep(part: str, found: list[Group]) -> None:
    """Keep what was found, in place of what is kept of the same releases."""
    held = kept()
    again = {one["way"] for one in found}
    rows = [one for one in held.get(part, []) if one["way"] not in again] + found
    order = {way: i for i, way in enumerate(READINGS)}
    held[part] = sorted(rows, key=lambda one: order[one["way"]])
    FIGURES.parent.mkdir(parents=True, exist_ok=True)
    FIGURES.write_text(json.dumps(held) + "\n", encoding="utf-8")


def main() -> None:
    """Measure, keep and draw what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", default=[*PARTS, "figures"])
    parser.add_argument("--only", action="append", help="a release, if not all", choices=[*WAYS])
    arguments = parser.parse_args()
    for part in arguments.parts:
        if part == "figures":
            figures(kept())
            continue
        measure, tell = PARTS[part]
        keep(part, measure(arguments.only or [*WAYS]))
        tell(kept()[part])


if __name__ == "__main__":
    main()
