"""Records of a release as the catalog keeps them: the Adult sample, k = 5, 5 % suppression."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from dbdeid.record.border import from_json
from dbdeid.report import manifest as manifests
from dbdeid.report import page
from dbdeid.report.content import audience as audiences
from dbdeid.report.content.audience import Audience

_COLUMNS = (
    ("sex", 0, 1, ["Female", "Male"], 0.0446),
    ("age", 3, 4, ["0-39", "40-79", ">=80"], 0.5317),
    ("marital-status", 0, 2, ["Divorced", "Married", "Never-married"], 0.0446),
    ("native-country", 1, 2, ["Africa", "Asia", "Europe", None], 0.28),
    ("occupation", 2, 2, ["*"], 1.0),
)
_SIZES = ((5, 60), (6, 44), (9, 20), (13, 24), (22, 25), (70, 18), (240, 9), (900, 4), (4196, 1))


def _quasi(
    name: str, level: int, height: int, labels: list[str | None], loss: float
) -> dict[str, Any]:
    return {
        "name": name,
        "role": "quasi_identifier",
        "type": "BIGINT" if name == "age" else "VARCHAR",
        "released_type": "VARCHAR",
        "level": level,
        "height": height,
        "loss": loss,
        "labels": labels,
        "weight": 1.0,
        "hierarchy": f"/home/owner/hierarchies/{name}.csv, {height + 1} levels",
        "declared_domain": True,
    }


_PAGES: dict[str, str] = {}


def render(record: dict[str, Any], audience: Audience = "internal") -> str:
    """The page of a record, drawn once for equal records."""
    key = repr((audience, record))
    if key not in _PAGES:
        _PAGES[key] = rendered(record, audience)
    return _PAGES[key]


def rendered(record: dict[str, Any], audience: Audience = "internal") -> str:
    """The page of a record, drawn anew."""
    return page.render(from_json(record), audience)


def public(record: dict[str, Any]) -> dict[str, Any]:
    """What the public is told of a record."""
    shown = audiences.public(from_json(record)).to_dict()
    return {key: value for key, value in shown.items() if value is not None}


def manifest(record: dict[str, Any], audience: Audience) -> str:
    """The manifest of a record."""
    return manifests.manifest(from_json(record), audience)


def minimal() -> dict[str, Any]:
    """Only the keys that every record has."""
    return {
        "release": "adult_public",
        "method": "full_domain",
        "version": "0.2.0",
        "created": "2026-02-03T10:15:42Z",
        "source": "/home/owner/adult.parquet",
        "source_rows": 30162,
        "source_subjects": None,
        "released_rows": 28816,
        "suppressed_rows": 1346,
        "classes": 397,
        "smallest_class": 5,
        "verified": True,
        "warnings": ["4,113 of 30,162 records are unique over all released columns"],
    }


def full() -> dict[str, Any]:
    """A record with every section."""
    columns: list[dict[str, Any]] = [
        {"name": "name", "role": "identifier", "type": "VARCHAR", "released_type": None},
        *(_quasi(*column) for column in _COLUMNS),
        {
            "name": "hours",
            "role": "insensitive",
            "type": "INTEGER",
            "released_type": "INTEGER",
            "reason": "working hours are not known to outsiders",
        },
        {
            "name": "diagnosis",
            "role": "sensitive",
            "type": "VARCHAR",
            "released_type": "VARCHAR",
            "accept": "homogeneity",
            "reason": "seen by the board",
        },
    ]
    return {
        **minimal(),
        "columns": columns,
        "privacy": [{"model": "k_anonymity", "k": 5}],
        "null_policy": "own_category",
        "accept": "rows",
        "method_parameters": {
            "suppression_limit": 0.05,
            "suppressed": "drop",
            "search": "optimal",
            "objective": "loss",
            "time_limit": None,
            "population": "/home/owner/census.parquet",
            "seed": 918273645,
        },
        "transformation": {name: level for name, level, *_ in _COLUMNS},
        "loss": 0.269634663,
        "metrics": {
            "loss": 0.269634663,
            "discernibility": 85123456,
            "average_class_size": 75.7839,
            "precision": 0.6812,
            "height": 6,
            "nonuniform_entropy": 0.4789,
            "ambiguity": 4612571.283,
            "kl_divergence": 4.4859,
            "mutual_information.diagnosis": 0.7312,
            "attacker_gain.diagnosis": 0.2946,
            "class_entropy_change.diagnosis": 1.1379,
        },
        "column_loss": {name: loss for name, _, _, _, loss in _COLUMNS},
        "search": {
            "lattice_size": 12960,
            "checked": 157,
            "proven_optimal": True,
            "lower_bound": 0.269634663,
        },
        "verification": {
            "verified": True,
            "promises": [
                {"model": "k_anonymity", "declared": {"k": 5}, "found": 5, "holds": True},
                {"model": "suppression", "declared": 1508, "found": 1346, "holds": True},
            ],
            "hygiene": [
                {"check": "no_enum", "holds": True, "detail": ""},
                {"check": "objects", "holds": True, "detail": "/home/owner/adult_public.duckdb"},
                {"check": "sorted", "holds": True, "detail": "sha256 5d41402abc4b2a76b9719d911017"},
            ],
        },
        "risk": {
            "before": {
                "records": 30162,
                "classes": 19502,
                "k": 1,
                "highest_risk": 1.0,
                "average_risk": 0.6466,
                "unique_records": 15321,
                "records_at_risk": 25871,
            },
            "after": {
                "records": 28816,
                "classes": 397,
                "k": 5,
                "highest_risk": 0.2,
                "average_risk": 0.01378,
                "unique_records": 0,
                "records_at_risk": 0,
            },
        },
        "histogram": [
            {"class_size": size, "classes": classes, "records": size * classes}
            for size, classes in _SIZES
        ],
        "queries": {
            "mean_relative_error": 0.6137,
            "within_bounds": 0.8819,
            "queries": [
                {
                    "name": "sales_by_age",
                    "sql": "SELECT age, count(*) AS n FROM adult GROUP BY age",
                    "groups": 71,
                    "lost": 3,
                    "invented": 21,
                    "relative_error": 0.4123,
                    "mean_group_error": 0.6345,
                    "within_bounds": 0.8819,
                    "aggregates": [
                        {"name": "n", "kind": "count", "relative_error": 0.7246}
                        | {"within_bounds": 1.0},
                        {"name": "<most>", "kind": "max", "relative_error": None}
                        | {"within_bounds": 0.7638},
                    ],
                    "refused": None,
                    "seconds_source": 0.0021,
                    "seconds_release": 0.0114,
                },
                {"name": "young", "sql": "SELECT 1", "relative_error": 1.35},
                {"name": "ranks", "sql": "SELECT rank() OVER ()", "refused": "window functions"},
            ],
        },
        "models": recipients(),
        "seconds": {"search": 0.0712, "total": 1.2345},
        "exports": ["/home/owner/adult_public.parquet", "/home/owner/adult_public.duckdb"],
        "spec_text": "release: adult_public\nseed: 918273645\n",
        "content": {
            "made": "SHA-256 of all rows",
            "columns": [{"name": "age", "type": "VARCHAR"}],
            "release": {"rows": 27, "sha256": "0c2d" * 16},
            "dictionary": {"rows": 9, "sha256": "9a71" * 16},
        },
    }


def recipients() -> dict[str, Any]:
    """The recipient's models of a release: one with a fit on it, and one without."""
    rows = [
        ("age", (0.0133, 0.0097, 0.17), (0.0023, 0.0091, 0.8), (False, False, False, False)),
        (
            "sex: <female>",
            (-0.589, 0.1757, 0.0008),
            (0.71, 0.18, 0.0001),
            (False, True, True, False),
        ),
        ("race: other", (0.35, 0.2, 0.08), None, (True, False, True, True)),
    ]

    def estimate(values: Any) -> Any:
        if values is None:
            return None
        value, error, p = values
        ends = {"lower": value - 1.96 * error, "upper": value + 1.96 * error}
        return {"estimate": value, "error": error, "p": p, **ends}

    changes = ("changed_significance", "changed_direction", "outside", "near")
    coefficients = [
        {"name": name, "original": estimate(a), "released": estimate(b)}
        | dict(zip(changes, told, strict=True))
        for name, a, b, told in rows
    ]
    summary = {
        "coefficients": 3,
        "significant": 1,
        "unfitted": 1,
        "near": 1,
        "changed_significance": 1 / 3,
        "changed_near": 1 / 3,
        "changed_direction": 1.0,
        "outside": 2 / 3,
        "outside_significant": 1.0,
        "rmsz": 5.2851,
        "error_ratio": 0.9813,
    }
    terms = [
        {"text": "age", "entered": "expected", "told": False, "reference": None},
        {"text": "sex", "entered": "value", "told": True, "reference": "male"},
    ]
    cox = {
        "kind": "cox",
        "response": "months",
        "event": "status = 2",
        "where": None,
        "terms": terms,
        "source": {"used": 213, "missing": 14},
        "release": {"used": 204.5, "missing": 0},
        "coefficients": coefficients,
        "summary": summary,
        "reason": None,
    }
    gone = [{**c, "released": None} for c in coefficients]
    linear = {
        **cox,
        "kind": "linear",
        "event": None,
        "where": "status = 2",
        "release": None,
        "coefficients": gone,
        "reason": "the response has one value",
        "summary": {**summary, "rmsz": None, "error_ratio": None, "changed_direction": None},
    }
    return {"models": [cox, linear], "overall": summary}


def failing() -> dict[str, Any]:
    """A release that broke its promise."""
    record = deepcopy(full())
    record["verified"] = False
    assert record["verification"]
    record["verification"]["verified"] = False
    record["verification"]["promises"].append(
        {"model": "l_diversity", "declared": {"l": 3}, "found": 1, "holds": False}
    )
    record["verification"]["hygiene"].append(
        {"check": "comments", "holds": False, "detail": "the table has a comment"}
    )
    record["histogram"].insert(0, {"class_size": 1, "classes": 3, "records": 3})
    return record


def leaves(value: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Every plain value of a record by its path; places in lists are written as *."""
    if isinstance(value, dict):
        pairs = [(key, item) for key, item in value.items()]
    elif isinstance(value, list):
        pairs = [("*", item) for item in value]
    else:
        return {path: value}
    found: dict[tuple[str, ...], Any] = {}
    for key, item in pairs:
        found |= leaves(item, (*path, key))
    return found


def with_texts(value: Any, change: Any, path: tuple[str, ...] = ()) -> Any:
    """A copy of a record with every text (and dictionary key of a column) changed."""
    if isinstance(value, dict):
        return {key: with_texts(item, change, (*path, key)) for key, item in value.items()}
    if isinstance(value, list):
        return [with_texts(item, change, (*path, "*")) for item in value]
    return change(path, value) if isinstance(value, str) else value


def padded(**parameters: Any) -> dict[str, Any]:
    """The record of a release with counterfeit records, with parameters of the method."""
    given = {
        "h": 0.3,
        "max_counterfeits": 0.1,
        "objective": "counterfeits",
        "catalog": "pool",
        "recoding": "full_domain",
        "strict": False,
    } | parameters
    record: dict[str, Any] = {
        **full(),
        "method": "counterfeit",
        "method_parameters": given,
        "released_rows": 31057,
        "suppressed_rows": 0,
        "counterfeit_rows": 895,
        "loss": 0.27504,
        "padding": {
            "k": 5,
            "size": 6,
            "counterfeits": 895,
            "limit": 3016,
            "h": given["h"] or 0.29087,
            "degree": 0.28014,
            "catalog": given["catalog"],
            "groups": 1,
            "candidates": 303,
            "risk": 0.212,
            "sensitive": "diagnosis",
            "strict": given["strict"],
        },
    }
    found: list[tuple[str, Any, Any]] = [
        ("k_anonymity", {"k": 5}, 5),
        ("h_ceiling", {"h": given["h"] or 0.29087}, 0.28014),
        ("counterfeits", {"source_rows": 30162, "at_most": 3016}, {"counterfeits": 895}),
        ("flagged_records", {"malformed": 0}, {"malformed": 9876}),
    ]
    if given["catalog"] != "none":
        found.append(("prosecutor_risk", {"at_most": 0.22}, 0.2117))
    keys = ("model", "declared", "found")
    promises = [dict(zip(keys, promise, strict=True)) | {"holds": True} for promise in found]
    record["verification"] = {**record["verification"], "promises": promises}
    if given["recoding"] == "borrow":
        record["transformation"] = {}
        for column in record["columns"]:
            column["level"] = None
    return record


def moved() -> dict[str, Any]:
    """The record of a release whose outliers were moved."""
    return {
        **full(),
        "method": "relocation",
        "method_parameters": {"limit": 0.05},
        "released_rows": 30162,
        "suppressed_rows": 0,
        "relocated_rows": 1458,
    }
