"""The experiments of Gal, Tucker et al. 2014 on one real and two simulated tables, and beyond.

    python tests/benchmarks/gal2014.py [--results FILE] [--pictures DIR] [--seeds N] [part …]

`models` (with `undeclared` and `commercial`), `sizes`, `privacy` and `runtime` measure, print, and
keep what they found in a JSON file; `figures` draws it, `wanted` holds it against what the method
is to do. Seconds are of a processor, with one thread.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from gal2014_pictures import PHASES, bars, curves, phases, swept
from gal2014_ways import (
    COUNTED_FROM,
    DRAWN,
    WAYS,
    attacked,
    conditional_privacy,
    many,
    recipe_of,
)
from shown import save, show
from survival import (
    AGED,
    COARSE,
    REGISTRY_RACE,
    SHARED,
    STATUS,
    TABLES,
    TIMED,
    TIMES,
    Table,
    calibrated,
    changes,
    declared,
    simulated,
    summed,
    table,
    undeclared,
    widened,
)
from threadpoolctl import threadpool_limits

import dbdeid
from dbdeid.methods.condensation import clusters
from dbdeid.methods.condensation.clusters import condense
from dbdeid.methods.condensation.encoding import encode

PICTURES = Path(__file__).resolve().parents[2] / "docs/pictures/gal2014"
SIZES = (10, 20, 50, 100, 200, 500)
K = 100
RECORDS = (10_000, 20_000, 50_000, 100_000, 200_000, 430_000)
COLUMNS = (2, 3, 5, 7, 9, 11, 13)

Found = dict[str, Any]


# -- models --------------------------------------------------------------------------------


def models(asked: argparse.Namespace, found: Found) -> None:
    """The recipient's models, and models that nobody told of, on what each method makes."""
    rows = []
    for name in TABLES:
        source = table(name)
        for way in WAYS:
            kept: dict[tuple[str, str], list[Any]] = {}
            for made in many(source, way, K, asked.seeds):
                for told, own in (("declared", declared), ("undeclared", undeclared)):
                    for one in own(source):
                        more = changes(source, one, made.values)
                        kept.setdefault((told, one.name), []).extend(more)
            rows += [
                {"table": name, "method": way, "told": told, "model": model, **summed(coefficients)}
                for (told, model), coefficients in kept.items()
            ]
            print(f"{name}, {way}", file=sys.stderr)
    found["models"] = rows
    _tell(rows, "declared")
    _tell(rows, "undeclared")


MEASURES = {
    "outside": "% of coefficients outside the original 95 % interval",
    "rmsz": "rmsz",
    "significance": "% of coefficients that changed significance",
    "not near": "% of coefficients that changed significance and were not near its limit",
    "direction": "% of significant coefficients that changed direction",
    "unfitted": "% of coefficients that cannot be fitted",
    "errors": "standard errors, as a multiple of the original ones",
}


def _tell(rows: Sequence[Found], told: str) -> None:
    names = list(dict.fromkeys(row["model"] for row in rows if row["told"] == told))
    ways = dict.fromkeys(row["method"] for row in rows if row["told"] == told)
    for measure, title in MEASURES.items():
        shown = []
        for way in ways:
            line = {"": way}
            for name in TABLES:
                own = {
                    row["model"]: row[measure]
                    for row in rows
                    if (row["table"], row["method"], row["told"]) == (name, way, told)
                }
                line[name] = " / ".join(_figure(own.get(m), measure) for m in names)
            shown.append(line)
        show(f"{title}: {' / '.join(names)}", shown)


def _figure(value: float | None, measure: str) -> str:
    if value is None:
        return "–"
    return f"{value:.2f}" if measure in ("rmsz", "errors") else f"{value:.1f}"


# -- full-domain generalization --------------------------------------------------------------


def commercial(asked: argparse.Namespace, found: Found) -> None:
    """Full-domain generalization through the product, in the place of the paper's tool."""
    rows = []
    for name, file in TABLES.items():
        path = SHARED / f"data/survival/recipient_{file}.parquet"
        for search in ("optimal", "datafly"):
            for timed in (False, True):
                what = f"{search}, {'time too' if timed else 'covariates'}"
                rows += [
                    {"table": name, "method": what, "told": "declared", **row}
                    for row in generalized(path, search, timed)
                ]
    found["commercial"] = rows
    _tell(rows, "declared")
    kept = {(row["table"], row["method"]): row["levels"] for row in rows}
    show("levels", [{"": t, "method": m, "levels": levels} for (t, m), levels in kept.items()])


def generalized(path: Path, search: str, timed: bool) -> list[Found]:
    """A release of full_domain, and what the product finds of the models on it."""
    names = list(pd.read_parquet(path).columns)
    time_ = next(name for name in names if name in TIMES)
    age = next(name for name in names if "Age" in name)
    known = [name for name in names if name not in (STATUS, time_, age)]
    columns: Found = {STATUS: {"role": "insensitive", "reason": "the outcome of the models"}}
    for name in known:
        coarse: Any = COARSE.get(name)
        if name == "Race" and "Stage" in names:
            coarse = REGISTRY_RACE
        hierarchy: Any = {"groups": coarse} if coarse else "suppress"
        columns[name] = {"role": "quasi_identifier", "hierarchy": hierarchy}
    columns[age] = {"role": "quasi_identifier", "hierarchy": AGED}
    columns[time_] = {"role": "insensitive", "reason": "the outcome of the models"}
    if timed:
        columns[time_] = {"role": "quasi_identifier", "hierarchy": TIMED[time_]}
    frame = pd.read_parquet(path)
    late = f"{time_} > {float(frame.loc[frame[STATUS] == 0, time_].median())}"
    dead = f"{STATUS} = 0"
    spec = {
        "release": "generalized",
        "source": str(path),
        "target": "generalized.duckdb",
        "columns": columns,
        "privacy": [{"model": "k_anonymity", "k": K}],
        "method": {"name": "full_domain", "search": search, "suppression_limit": 0.05},
        "evaluate": {
            "models": [
                {"kind": "linear", "response": time_, "covariates": known, "where": dead},
                {"kind": "logistic", "response": late, "covariates": known, "where": dead},
                {"kind": "cox", "duration": time_, "event": dead, "covariates": [age, *known]},
            ]
        },
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "generalized.json"
        file.write_text(json.dumps(spec))
        released = dbdeid.run(file)
        told = dbdeid.evaluate(file)["models"]
    rows = []
    for model, compared in zip(("OLS", "logistic", "Cox"), told, strict=True):
        own = compared["summary"]
        rows.append(
            {
                "model": model,
                "significance": 100 * own["changed_significance"],
                "not near": 100 * (own["changed_significance"] - own["changed_near"]),
                "direction": 100 * (own["changed_direction"] or 0.0),
                "outside": 100 * own["outside"],
                "rmsz": own["rmsz"],
                "errors": own["error_ratio"],
                "unfitted": 100 * own["unfitted"] / own["coefficients"],
                "levels": _levels(released),
            }
        )
    return rows


def _levels(released: Any) -> str:
    chosen = released.to_dict()["transformation"]
    return ", ".join(f"{name} {level}" for name, level in chosen.items())


# -- privacy -------------------------------------------------------------------------------


def privacy(asked: argparse.Namespace, found: Found) -> None:
    """Conditional privacy and a membership attack, K = 10, 50 and 100."""
    rows = []
    for name in TABLES:
        source = table(name)
        for k in (10, 50, K):
            for way in ("TFRP", "MDAV", *DRAWN):
                told = [conditional_privacy(source, made) for made in many(source, way, k, 5)]
                raw, share = np.mean(told, axis=0)
                row: Found = {"table": name, "k": k, "method": way, "raw": raw, "share": share}
                if way in DRAWN:
                    row |= attacked(source, way, k, asked.seeds // 2)
                rows.append(row)
            if k < COUNTED_FROM:
                # what the product leaves out
                own = attacked(source, "recipient", k, asked.seeds // 2, counts=True)
                rows.append({"table": name, "k": k, "method": "recipient, counts", **own})
            print(f"{name}, K = {k}", file=sys.stderr)
    found["privacy"] = rows
    for name in TABLES:
        show(
            f"conditional privacy and membership, {name}",
            [
                {
                    "K": row["k"],
                    "": row["method"],
                    "Π": f"{row['raw']:.1f}" if "raw" in row else "–",
                    "Π relative": f"{row['share']:.3f}" if "share" in row else "–",
                    "AUC": f"{row['auc']:.3f}" if "auc" in row else "–",
                    "equal, members": f"{row['members']:.2f} %" if "auc" in row else "–",
                    "equal, others": f"{row['others']:.2f} %" if "auc" in row else "–",
                }
                for row in rows
                if row["table"] == name
            ],
        )


# -- cluster sizes -------------------------------------------------------------------------


def sizes(asked: argparse.Namespace, found: Found) -> None:
    """What the models and the conditional privacy become with the size of clusters."""
    rows = []
    for name in TABLES:
        source = table(name)
        for k in SIZES:
            for way in DRAWN:
                kept, told = [], []
                for made in many(source, way, k, 5):
                    for one in declared(source):
                        kept += changes(source, one, made.values)
                    told.append(conditional_privacy(source, made)[1])
                share = float(np.mean(told))
                rows.append({"table": name, "k": k, "method": way, "share": share, **summed(kept)})
            print(f"{name}, K = {k}", file=sys.stderr)
    found["sizes"] = rows
    for measure in ("outside", "rmsz", "share"):
        show(
            f"{measure} by K: {' / '.join(TABLES)}",
            [
                {"": way}
                | {
                    f"K = {k}": " / ".join(
                        f"{row[measure]:.2f}"
                        for row in rows
                        if (row["method"], row["k"]) == (way, k)
                    )
                    for k in SIZES
                }
                for way in DRAWN
            ],
        )


# -- runtime -------------------------------------------------------------------------------


def timed(source: Table, way: str, k: int) -> Found:
    """CPU seconds of each phase, the least of two runs; of large tables one."""
    runs = [_timed(source, way, k, seed) for seed in range(2 if source.number <= 20_000 else 1)]
    return min(runs, key=lambda row: row["all"])


def _timed(source: Table, way: str, k: int, seed: int) -> Found:
    strata, rng = way != "original", np.random.default_rng(seed)
    recipe = recipe_of("recipient" if way == "calibrated" else way, k)
    records = source.records(strata)
    wall, start = time.perf_counter(), time.process_time()
    made = condense(records, recipe, rng)
    phases = dict(made.seconds)
    whole = time.process_time() - start
    if way == "calibrated":
        start = time.process_time()
        calibrated(source, source.released(made, strata), made.clusters, rng)
        phases["calibration"] = time.process_time() - start
        whole += phases["calibration"]
    return {"method": way, **phases, "all": whole, "wall": time.perf_counter() - wall}


def lloyd(source: Table, k: int) -> float:
    """CPU seconds of scikit-learn's k-means, as it comes, on the standardized columns."""
    from sklearn.cluster import KMeans

    records = source.records(strata=False)
    points = encode(records, np.arange(records.number)).points
    start = time.process_time()
    KMeans(len(points) // k, n_init=1, random_state=0).fit(points)
    return time.process_time() - start


def runtime(asked: argparse.Namespace, found: Found) -> None:
    """Seconds by records, cluster size and columns; beside k-means."""
    clusters.perf_counter = time.process_time  # type: ignore[attr-defined]
    rows = []
    with threadpool_limits(1):
        timed(simulated(10_000), "improved, rank", K)  # imports are not counted
        for n in RECORDS:
            source = simulated(n)
            for way in DRAWN:
                if way in ("recipient", "calibrated") or n <= 100_000:
                    rows.append({"sweep": "records", "at": n, "k": K, **timed(source, way, K)})
            if n in (50_000, 100_000):
                row = {"method": "k-means", "all": lloyd(source, K)}
                rows.append({"sweep": "records", "at": n, "k": K, **row})
            print(f"{n} records", file=sys.stderr)
        for k in SIZES:
            for way in DRAWN:
                row = timed(simulated(20_000), way, k)
                rows.append({"sweep": "cluster size", "at": k, "k": k, **row})
        for m in COLUMNS:
            source = widened(simulated(20_000), m, np.random.default_rng(0))
            for way in ("original", "improved, rank", "recipient"):
                rows.append({"sweep": "columns", "at": m, "k": K, **timed(source, way, K)})
    found["runtime"] = rows
    for sweep in ("records", "cluster size", "columns"):
        shown = [
            {
                sweep: row["at"],
                "": row["method"],
                **{p: f"{row[p]:.2f}" if p in row else "–" for p in PHASES},
                "all": f"{row['all']:.2f}",
            }
            for row in rows
            if row["sweep"] == sweep
        ]
        show(f"CPU seconds by {sweep}", shown)


# -- what was wanted -----------------------------------------------------------------------


def wanted(asked: argparse.Namespace, found: Found) -> None:
    """What the method is to do, and what it does."""
    show("wanted and found", [*_utility(found["models"]), *_private(found), *_quick(found)])


def _line(what: str, limit: float, told: Sequence[tuple[str, float]], least: bool = False) -> Found:
    worst = (min if least else max)(told, key=lambda one: one[1])
    kept = worst[1] >= limit if least else worst[1] <= limit
    sign = "≥" if least else "≤"
    return {
        "": what,
        "wanted": f"{sign} {limit:g}",
        "found": f"{worst[1]:.3g} ({worst[0]})",
        "met": "yes" if kept else "**no**",
    }


def _utility(rows: Sequence[Found]) -> Iterable[Found]:
    def each(way: str, measure: str, told: str = "declared") -> list[tuple[str, float]]:
        return [
            (f"{row['table']}, {row['model']}", row[measure])
            for row in rows
            if (row["method"], row["told"]) == (way, told)
        ]

    def whole(way: str, name: str) -> float:
        own = [value for at, value in each(way, "outside") if at.startswith(name)]
        return float(np.mean(own))

    def ratio(way: str, other: str) -> list[tuple[str, float]]:
        return [(name, whole(way, name) / whole(other, name)) for name in TABLES]

    flips = each("calibrated", "significance")
    support = [one for one in flips if one[0].startswith("SUPPORT2")]
    others = [one for one in flips if not one[0].startswith("SUPPORT2")]
    yield _line("recipient: % outside", 3, each("recipient", "outside"))
    yield _line("recipient: rmsz", 0.8, each("recipient", "rmsz"))
    yield _line("calibrated: % outside", 1, each("calibrated", "outside"))
    yield _line("calibrated: rmsz", 0.25, each("calibrated", "rmsz"))
    yield _line("calibrated: % changed direction", 0, each("calibrated", "direction"))
    yield _line("calibrated: % changed significance, SUPPORT2", 2, support)
    yield _line("calibrated: % changed significance, registries", 10, others)
    yield _line("recipient / improved, outside", 0.25, ratio("recipient", "improved, rank"))
    yield _line("recipient / original, outside", 0.2, ratio("recipient", "original"))
    yield _line("improved / original, outside", 0.55, ratio("improved, rank", "original"))
    tfrp_, improved = dict(each("TFRP", "outside")), dict(each("improved, rank", "outside"))
    less = [(at, tfrp_[at] - improved[at]) for at in tfrp_ if at.endswith("Cox")]
    yield _line("TFRP − improved, Cox, % outside", 0, less, least=True)
    for way in ("recipient", "calibrated"):
        yield _line(f"{way}: undeclared, % outside", 10, each(way, "outside", "undeclared"))


def _private(found: Found) -> Iterable[Found]:
    at = {
        (row["table"], row["method"]): row
        for row in found["privacy"]
        if row["k"] == K and "share" in row
    }
    for way in ("recipient", "calibrated"):
        pairs = [(name, at[name, way], at[name, "improved, rank"]) for name in TABLES]
        shares = [(name, own["share"] / other["share"]) for name, own, other in pairs]
        more = [(name, own["auc"] - other["auc"]) for name, own, other in pairs]
        yield _line(f"{way} / improved, Π relative", 0.9, shares, least=True)
        yield _line(f"{way}: AUC", 0.55, [(name, own["auc"]) for name, own, _ in pairs])
        yield _line(f"{way} − improved, AUC", 0.02, more)


def _quick(found: Found) -> Iterable[Found]:
    rows = found["runtime"]
    at = {(row["sweep"], row["at"], row["method"]): row for row in rows}

    def ratio(way: str, n: int) -> list[tuple[str, float]]:
        own, other = (at["records", n, one]["all"] for one in (way, "k-means"))
        return [(f"{own:.2f} s of {other:.2f} s", own / other)]

    yield _line("recipient / k-means, 50,000", 0.5, ratio("recipient", 50_000))
    yield _line("recipient / k-means, 100,000", 0.25, ratio("recipient", 100_000))
    yield _line("improved / k-means, 50,000", 1.5, ratio("improved, rank", 50_000))
    for way in ("recipient", "calibrated"):
        one = at["records", 430_000, way]
        told = [(f"{one['wall']:.1f} s of wall", one["all"])]
        yield _line(f"{way}: CPU seconds of 430,000", 15, told)


# -- pictures ------------------------------------------------------------------------------


def figures(asked: argparse.Namespace, found: Found) -> None:
    """Pictures of all that was measured."""
    rows = [row for row in found["models"] if row["told"] == "declared"]
    folder = asked.pictures
    save(bars(rows), folder / "gal2014_models.svg")
    save(curves(found["sizes"], "outside", "% outside the interval"), folder / "gal2014_sizes.svg")
    save(
        curves(found["sizes"], "share", "conditional privacy, relative"),
        folder / "gal2014_privacy.svg",
    )
    save(phases(found["runtime"]), folder / "gal2014_phases.svg")
    save(swept(found["runtime"]), folder / "gal2014_runtime.svg")


PARTS = {
    one.__name__: one for one in (models, commercial, sizes, privacy, runtime, figures, wanted)
}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS))
    parser.add_argument("--results", type=Path, default=PICTURES / "gal2014.json")
    parser.add_argument("--pictures", type=Path, default=PICTURES, help="folder")
    parser.add_argument("--seeds", type=int, default=20)
    arguments = parser.parse_args()
    results: Found = {}
    if arguments.results.exists():
        results = json.loads(arguments.results.read_text())
    for part in arguments.parts or PARTS:
        PARTS[part](arguments, results)
        arguments.results.parent.mkdir(parents=True, exist_ok=True)
        arguments.results.write_text(json.dumps(results) + "\n")
    print(f"\n{time.process_time():.0f} CPU seconds")
