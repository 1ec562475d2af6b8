"""Gal, Tucker, Gangopadhyay & Chen (J Biomed Inform, 2014): a recipient's models, privacy.

The paper's registries are private: SUPPORT2 is real, two registries are simulated. Seconds are in
`gal2014_runtime`. Table 1 of the paper, two versions of one small table, is a test of its
own (`tests/papers/test_gal2014_table1.py`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from dbdeid.commands.verify_evaluate_export import evaluate
from dbdeid.papers.common.charts import Look, bars, lines
from dbdeid.papers.common.outcome import Asked, Beside, Outcome, Picture, Table
from dbdeid.papers.gal2014_ways import (
    ATTACKED,
    COUNTED_FROM,
    DRAWN,
    WAYS,
    attacked,
    conditional_privacy,
    many,
)
from dbdeid.papers.recipient_tables import (
    AGED,
    COARSE,
    REGISTRY_RACE,
    STATUS,
    TIMED,
    TIMES,
    changes,
    declared,
    frame,
    summed,
    table,
    tables,
    undeclared,
)
from dbdeid.release.run import run

SIZES = (10, 20, 50, 100, 200, 500)
K = 100
MEASURES = {
    "outside": "% of coefficients outside the original 95 % interval",
    "rmsz": "rmsz",
    "significance": "% of coefficients that changed significance",
    "not near": "% of coefficients that changed significance and were not near its limit",
    "direction": "% of significant coefficients that changed direction",
    "unfitted": "% of coefficients that cannot be fitted",
    "errors": "standard errors, as a multiple of the original ones",
}
COLOURS = dict(
    zip(
        (*ATTACKED, "TFRP", "MDAV", "MST", "bootstrap", "improved, z"),
        (
            "#ff9da6",
            "#e45756",
            "#f58518",
            "#4c78a8",
            "#54a24b",
            "#9d755d",
            "#b279a2",
            "#72b7b2",
            "#bab0ac",
            "#eeca3b",
        ),
        strict=True,
    )
)
PRIVATE = "the paper's registries are private; orders can be compared, single figures cannot"
Found = dict[str, Any]


def _data(asked: Asked) -> str:
    real = "SUPPORT2 and " if "SUPPORT2" in tables(asked.data) else ""
    return f"{real}two simulated registries of cancer, K = {K}"


def _notes(asked: Asked) -> list[str]:
    if "SUPPORT2" in tables(asked.data):
        return []
    return ["without SUPPORT2, the real table: --data takes your copy of it"]


def _look(**given: Any) -> Look:
    return Look("table", order=[*COLOURS], colours=[*COLOURS.values()], **given)


# -- models --------------------------------------------------------------------------------


def models(asked: Asked) -> Outcome:
    """The recipient's models, and models that nobody told of, on what each method makes."""
    rows: list[Found] = []
    seeds = asked.of(20, 2)
    for name in tables(asked.data):
        source = table(asked.data, name)
        for way in WAYS:
            kept: dict[tuple[str, str], list[Any]] = {}
            for made in many(source, way, K, seeds):
                for told, own in (("declared", declared), ("undeclared", undeclared)):
                    for one in own(source):
                        more = changes(source, one, made.values)
                        kept.setdefault((told, one.name), []).extend(more)
            rows += [
                {"table": name, "method": way, "told": told, "model": model, **summed(coefficients)}
                for (told, model), coefficients in kept.items()
            ]
    found = [*_told(rows, "declared"), *_told(rows, "undeclared")]
    of = [row for row in rows if row["told"] == "declared"]
    drawn = [row | {"% outside the interval": row["outside"]} for row in of]
    look = Look("table", "model", [*COLOURS], [*COLOURS.values()], size=(220, 130))
    chart = bars(drawn, "% outside the interval", "method", "method", look)
    words = "coefficients outside the original interval, by method, model and table"
    figures = {"models": rows}
    picture = Picture("gal2014_models", words, chart)
    return Outcome(_data(asked), _orders(of), found, [picture], _notes(asked), figures)


def _orders(rows: Sequence[Found]) -> list[Beside]:
    """The orders of methods that the paper found, and those found here."""

    def mean(way: str, name: str) -> float:
        own = [r["outside"] for r in rows if (r["method"], r["table"]) == (way, name)]
        return float(np.mean(own))

    names = list(dict.fromkeys(row["table"] for row in rows))

    def each(way: str) -> str:
        return " / ".join(f"{mean(way, name):.0f} %" for name in names)

    return [
        Beside(
            "coefficients outside the interval: condensation, improved",
            "fewer of the improved one (of private data)",
            f"{each('original')}; {each('improved, rank')}",
            f"times are ranked: z-scored, a few long times rule the clusters; {PRIVATE}",
        ),
        Beside(
            "the same of TFRP",
            "more than of the improved one (of private data)",
            each("TFRP"),
            f"categories are replaced by their most frequent value; {PRIVATE}",
        ),
        Beside(
            "the same of R-microhybrid",
            "compared with (of private data)",
            each("microhybrid"),
            f"groups of MDAV, and normal draws with their means and covariances; {PRIVATE}",
        ),
    ]


def _told(rows: Sequence[Found], told: str) -> list[Table]:
    own = [row for row in rows if row["told"] == told]
    models = list(dict.fromkeys(row["model"] for row in own))
    names = list(dict.fromkeys(row["table"] for row in own))
    at = {(row["table"], row["method"], row["model"]): row for row in own}
    return [
        Table(
            f"{title}: {' / '.join(models)}",
            [
                {"": way}
                | {
                    name: " / ".join(_figure(at[name, way, m][measure], measure) for m in models)
                    for name in names
                }
                for way in dict.fromkeys(row["method"] for row in own)
            ],
        )
        for measure, title in MEASURES.items()
    ]


def _figure(value: float | None, measure: str) -> str:
    if value is None:
        return "–"
    return f"{value:.2f}" if measure in ("rmsz", "errors") else f"{value:.1f}"


# -- full-domain generalization --------------------------------------------------------------


def commercial(asked: Asked) -> Outcome:
    """Full-domain generalization, in the place of the commercial tool of the paper."""
    rows = []
    for name in asked.of(tables(asked.data), ["colon"]):
        records = frame(asked.data, name)
        for search in ("optimal", "datafly"):
            for timed_too in (False, True):
                what = f"{search}, {'time too' if timed_too else 'covariates'}"
                rows += [
                    {"table": name, "method": what, "told": "declared", **row}
                    for row in generalized(records, search, timed_too)
                ]
    kept = {(row["table"], row["method"]): row["levels"] for row in rows}
    levels = [{"": t, "method": m, "levels": chosen} for (t, m), chosen in kept.items()]
    outside = [row["outside"] for row in rows]
    line = Beside(
        "coefficients outside the interval",
        "not at hand (of private data)",
        f"{min(outside):.0f} to {max(outside):.0f} %",
        f"the tool is not named; here it is full_domain with hierarchies of ours; {PRIVATE}",
    )
    found = [*_told(rows, "declared"), Table("levels", levels)]
    return Outcome(_data(asked), [line], found, notes=_notes(asked), figures={"models": rows})


def generalized(records: pd.DataFrame, search: str, timed: bool) -> list[Found]:
    """A release of full_domain, and what the product finds of the models on it."""
    spec = _spec(records, search, timed)
    with TemporaryDirectory() as folder:
        records.to_parquet(f"{folder}/records.parquet")
        file = Path(folder) / "generalized.json"
        file.write_text(json.dumps(spec), encoding="utf-8")
        released = run(file)
        told: Any = evaluate(file).to_dict()["models"]
    levels: Any = released.to_dict()["transformation"]
    chosen = ", ".join(f"{name} {level}" for name, level in levels.items())
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
                "levels": chosen,
            }
        )
    return rows


def _spec(records: pd.DataFrame, search: str, timed: bool) -> Found:
    """Covariates are generalized, or the time too; vital status is left as it is."""
    names = list(records.columns)
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
    late = f"{time_} > {float(records.loc[records[STATUS] == 0, time_].median())}"
    dead = f"{STATUS} = 0"
    return {
        "release": "generalized",
        "source": "records.parquet",
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


# -- privacy -------------------------------------------------------------------------------


def privacy(asked: Asked) -> Outcome:
    """Conditional privacy and a membership attack, K = 10, 50 and 100."""
    rows: list[Found] = []
    for name in asked.of(tables(asked.data), ["colon"]):
        source = table(asked.data, name)
        for k in asked.of((10, 50, K), (K,)):
            for way in ("TFRP", "MDAV", "MST", *ATTACKED):
                told = [
                    conditional_privacy(source, made)
                    for made in many(source, way, k, asked.of(5, 1))
                ]
                raw, share = np.mean(told, axis=0)
                row: Found = {"table": name, "k": k, "method": way}
                row |= {"raw": float(raw), "share": float(share)}
                if way in ATTACKED:
                    row |= attacked(source, way, k, asked.of(10, 1))
                rows.append(row)
            if k < COUNTED_FROM:  # what the product leaves out
                own = attacked(source, "recipient", k, asked.of(10, 1), counts=True)
                rows.append({"table": name, "k": k, "method": "recipient, counts", **own})
    shown = [
        Table(
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
        for name in dict.fromkeys(row["table"] for row in rows)
    ]
    at = {(r["table"], r["method"]): r for r in rows if r["k"] == K and "share" in r}
    names = list(dict.fromkeys(row["table"] for row in rows))

    def each(way: str) -> str:
        return " / ".join(f"{at[name, way]['share']:.2f}" for name in names)

    line = Beside(
        "conditional privacy, K = 100: condensation; improved; recipient",
        "not at hand (of private data)",
        f"{each('original')}; {each('improved, rank')}; {each('recipient')} of what was there",
        f"as a share: in units, the column with the largest rules the mean; {PRIVATE}",
    )
    return Outcome(_data(asked), [line], shown, (), _notes(asked), {"privacy": rows})


# -- cluster sizes -------------------------------------------------------------------------


def sizes(asked: Asked) -> Outcome:
    """What the models and the conditional privacy become with the size of clusters."""
    rows: list[Found] = []
    names = asked.of(tables(asked.data), ["colon"])
    for name in names:
        source = table(asked.data, name)
        for k in asked.of(SIZES, SIZES[2:4]):
            for way in DRAWN:
                kept: list[Any] = []
                told = []
                for made in many(source, way, k, asked.of(5, 1)):
                    for one in declared(source):
                        kept += changes(source, one, made.values)
                    told.append(conditional_privacy(source, made)[1])
                share = float(np.mean(told))
                rows.append({"table": name, "k": k, "method": way, "share": share, **summed(kept)})
    shown = [
        Table(
            f"{measure} by K: {' / '.join(names)}",
            [
                {"": way}
                | {
                    f"K = {k}": " / ".join(
                        f"{row[measure]:.2f}"
                        for row in rows
                        if (row["method"], row["k"]) == (way, k)
                    )
                    for k in asked.of(SIZES, SIZES[2:4])
                }
                for way in DRAWN
            ],
        )
        for measure in ("outside", "rmsz", "share")
    ]
    pictures = []
    for measure, title in (("outside", "% outside the interval"), ("share", "relative privacy")):
        drawn = [
            {"table": r["table"], "method": r["method"], "K": r["k"]} | {title: r[measure]}
            for r in rows
        ]
        look = _look(log_x=True, ticks=sorted({row["k"] for row in rows}), size=(260, 240))
        chart = lines(drawn, "K", title, "method", look)
        pictures.append(Picture(f"gal2014_{measure}", f"{title} against K", chart))
    return Outcome(_data(asked), [], shown, pictures, _notes(asked), {"sizes": rows})
