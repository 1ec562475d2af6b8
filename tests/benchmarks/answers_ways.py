"""Releases of one source by every method, to be asked the same questions: see `answers.py`."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import dbdeid
from dbdeid.bind.read import read
from dbdeid.commands.verify_evaluate_export import existing
from dbdeid.evaluation.evaluate import evaluate_workload
from dbdeid.papers import hospital
from dbdeid.utility.query_error import Workload

SHARED = Path(__file__).resolve().parents[3] / "shared"
SEED, K = 2017, 10

# What becomes of quasi-identifiers, which decides how they are declared.
Kind = Literal["generalized", "masked", "synthetic"]


@dataclass(frozen=True)
class Way:
    """A way to make a release: its method, what that does, and the least size of a class."""

    method: dict[str, Any]
    kind: Kind = "generalized"
    k: int = K

    def columns(self, declared: dict[str, Any]) -> dict[str, Any]:
        """Columns that are declared with hierarchies, as this method wants them."""
        found = {}
        for name, role in declared.items():
            if not isinstance(role, dict) or self.kind == "generalized":
                found[name] = role
            elif self.kind == "synthetic":
                found[name] = {"role": "synthesize", "reason": "the values are of a public list"}
            else:
                found[name] = {key: own for key, own in role.items() if key != "hierarchy"}
        return found

    def spec(self, what: dict[str, Any]) -> dict[str, Any]:
        """A specification, of a source and columns that are declared with hierarchies."""
        model = "cluster_size" if self.kind == "synthetic" else "k_anonymity"
        return what | {
            "release": "released",
            "columns": self.columns(what["columns"]),
            "privacy": [{"model": model, "k": self.k}],
            "method": self.method,
            "seed": SEED,
        }


SUPPRESSED = "5 % suppressed"
WAYS = {
    "full domain": Way({"name": "full_domain"}),
    SUPPRESSED: Way({"name": "full_domain", "suppression_limit": 0.05}),
    "counterfeit, pool": Way({"name": "counterfeit", "h": 0.2}),
    "counterfeit, borrow": Way({"name": "counterfeit", "h": 0.2, "recoding": "borrow"}),
    "dealing": Way({"name": "local_recoding"}),
    "mondrian": Way({"name": "local_recoding", "algorithm": "mondrian"}),
    "policy": Way({"name": "policy", "choose": {"max_risk": 1.0}}),
    "condensation": Way({"name": "condensation"}, "synthetic", 100),
    "microaggregation": Way({"name": "microaggregation", "algorithm": "tfrp"}, "masked"),
    "relocation": Way({"name": "relocation", "limit": 0.05}),
}

COLUMNS = ("age", "sex", "race", "marital_status", "education", "native_country", "workclass")


def encounters(folder: Path) -> dict[str, Any]:
    """Source and columns of the hospital encounters, whose hierarchies go into a folder."""
    file = SHARED / "data/ehr/diabetes130.parquet"
    folder.mkdir()
    return {
        "source": {"sql": hospital.ENCOUNTERS.format(file=file), "name": "encounters"},
        "columns": hospital.columns(hospital.hierarchies(folder)),
        "accept": "rows",
    }


def adult() -> dict[str, Any]:
    """Source and columns of Adult, 30,162 records."""
    hierarchies = f"{SHARED}/data/hierarchies/adult/adult_hierarchy_"
    keys = {
        name: {
            "role": "quasi_identifier",
            "hierarchy": f"{hierarchies}{name.replace('_', '-')}.csv",
        }
        for name in COLUMNS
    }
    occupation = {"role": "sensitive", "accept": "homogeneity"}
    return {
        "source": f"{SHARED}/data/adult_arx.parquet",
        "columns": {**keys, "occupation": occupation, "salary_class": "drop"},
    }


@dataclass(frozen=True)
class Release:
    """A release that was made: its spec, and the CPU seconds that it took."""

    path: Path
    seconds: float

    def asking(self, queries: str) -> None:
        """Give the spec a workload, a pattern of files."""
        spec = json.loads(self.path.read_text(encoding="utf-8"))
        spec["evaluate"] = {"queries": queries}
        self.path.write_text(json.dumps(spec), encoding="utf-8")

    def workload(self) -> Workload:
        """The workload of the spec, asked of source and release; none may be refused."""
        with existing(read(self.path)) as found:
            bound = found.bound()
            declared = found.declared(bound)
            asked = evaluate_workload(bound, found.work.session, found.public, declared)
        assert asked is not None
        refused = [f"{query.name}: {query.refused}" for query in asked.queries if query.refused]
        assert not refused, refused[:3]
        return asked


def releases(
    what: dict[str, Any], folder: Path, ways: Iterable[str]
) -> Iterator[tuple[str, Release]]:
    """A release of each way that is named, one after another; says which has none."""
    for name in ways:
        way = WAYS[name]
        own = folder / name.replace(" ", "_").replace("%", "percent")
        own.mkdir()
        path = own / "spec.yml"
        metrics: dict[str, Any] = {"evaluate": {"metrics": []}}
        spec = way.spec(what) | {"target": "released.duckdb"} | metrics
        path.write_text(json.dumps(spec), encoding="utf-8")
        start = time.process_time()
        try:
            dbdeid.run(path)
        except dbdeid.DbdeidError as error:
            print(f"{name}: {error}")
            continue
        yield name, Release(path, time.process_time() - start)
