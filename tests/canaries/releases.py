"""Every way of making a release, run on every dataset; a later method is one more entry here."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest.mock import patch

import tiers

import dbdeid
from canaries.datasets import DATABASE, DATASETS, SPEC, Dataset
from canaries.planting import LINKED, SUPPRESSED, Canary
from dbdeid.commands.report import write_report


@dataclass(frozen=True)
class Method:
    """One way of making a release.

    Attributes:
        name: of the test.
        method: keys of the spec's `method`, over those of the dataset.
        output: keys of the spec's `output`, over those of the dataset.
        more: other keys of the spec, over those of the dataset; None takes one away.
        columns: other roles.
        known: apply the dataset's own transformation instead of a search.
        target: write a target file; else the release stays in the owner's database.
        shows: which cells this method may show.
        fixed: which cells it does not show, and yet depends on.
        datasets: on which it is tried.
    """

    name: str
    method: Mapping[str, Any] = field(default_factory=dict)
    output: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, Any] = field(default_factory=dict)
    known: bool = False
    target: bool = True
    shows: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    datasets: tuple[str, ...] = tuple(DATASETS)

    def spec(self, dataset: Dataset) -> dict[str, Any]:
        """The dataset's spec with this method."""
        spec = dataset.spec()
        spec["method"] |= self.method
        spec["output"] |= self.output
        spec["columns"] |= self.columns
        spec = {key: value for key, value in (spec | self.more).items() if value is not None}
        if self.known:
            spec["method"]["transformation"] = dict(dataset.transformation)
        if not self.target:
            del spec["target"]
        if not tiers.full and self.name != "full_domain":
            # files of every kind, and what is measured of labels, are those of full_domain's
            spec["output"]["export"] = spec["output"]["export"][:1]
            if not self.name.startswith(("condensation", "policy")):
                spec["evaluate"] = {"metrics": []}
        return spec


KEY = "5a5ef3c0f09b4cd18ba27aa8d7b11de5d3c7f90b8fe1a1f1a7f3b0e5c2d48f93"
_KEY = Canary(
    "$DBDEID_PSEUDONYM_KEY", "key", (("text", KEY.encode()), ("bytes", bytes.fromhex(KEY)))
)

FLAT = ["public.parquet", "public.csv"]

METHODS = (
    Method("full_domain"),
    Method(
        "full_domain-sql-engine",
        {"engine": "sql"},
        {"export": FLAT},
        target=False,
        datasets=("adult", "every_type"),
    ),
    Method(
        "full_domain-known-bounds",
        output={"bounds": True, "export": FLAT},
        known=True,
        target=False,
        datasets=("every_type",),
    ),
    # Suppressed records stay, with every quasi-identifier *; their other cells are released.
    Method(
        "full_domain-keep",
        {"suppressed": "keep"},
        {"bounds": True, "export": FLAT},
        shows=(SUPPRESSED,),
        datasets=("adult", "every_type"),
    ),
    # What stays depends on sensitive values too.
    *(
        Method(
            f"full_domain-{name}",
            {"suppression_limit": 0.3, "suppressed": suppressed},
            {"export": FLAT},
            more={
                "privacy": [
                    {"model": "k_anonymity", "k": 5},
                    {"model": "l_diversity", "column": "income", "l": 2},
                    {"model": "t_closeness", "column": "income", "t": 0.6},
                    {"model": "max_risk", "attacker": "marketer", "threshold": 0.2},
                ],
            },
            columns={"income": "sensitive"},
            target=suppressed == "drop",
            shows=shows,
            datasets=("adult",),
        )
        for name, suppressed, shows in (
            ("models", "drop", ()),
            ("models-keep", "keep", (SUPPRESSED,)),
        )
    ),
    Method(
        "full_domain-models-of-subjects",
        {"suppression_limit": 0.5},
        {"export": FLAT},
        more={
            "subject": "patient_nbr",
            "accept": None,
            "privacy": [
                {"model": "k_anonymity", "k": 5},
                {"model": "alpha_k", "column": "diag_1", "k": 5, "alpha": 0.6},
            ],
        },
        columns={"diag_1": "sensitive"},
        target=False,
        datasets=("diabetes",),
    ),
    # People instead of records.
    Method(
        "full_domain-subjects",
        output={"export": FLAT},
        more={"subject": "patient_nbr", "accept": None},
        target=False,
        datasets=("diabetes",),
    ),
    Method(
        "full_domain-pseudonyms",
        {"suppression_limit": 0.5},
        {"export": FLAT},
        more={"subject": "patient_nbr", "accept": None},
        columns={"patient_nbr": {"role": "identifier", "pseudonym": True}},
        fixed=(LINKED,),
        datasets=("diabetes",),
    ),
    # Nobody is suppressed: those who stand alone are padded instead, with the values of their class
    # at the least level that is allowed.
    *(
        Method(
            f"counterfeit-{recoding}",
            output={"export": FLAT},
            more={
                "method": {"name": "counterfeit", "h": 0.8, "recoding": recoding},
                "seed": 2**90,
            },
            columns={
                "hours_per_week": "drop",
                "account": {
                    "role": "quasi_identifier",
                    "hierarchy": {"intervals": [10**12, 10**13]},
                    "min_level": 1,
                },
                "postcode": {
                    "role": "quasi_identifier",
                    "hierarchy": {"prefix": [3, 1]},
                    "min_level": 1,
                },
            },
            target=recoding == "borrow",
            shows=(SUPPRESSED,),
            datasets=("adult",),
        )
        for recoding in ("full_domain", "borrow")
    ),
    # Nobody is suppressed: the planted records are generalized as far as their class needs.
    *(
        Method(
            f"local_recoding-{algorithm}",
            output={"export": FLAT},
            more={"method": {"name": "local_recoding", "algorithm": algorithm}, "seed": 2**90},
            columns={
                "hours_per_week": "drop",
                "account": {
                    "role": "quasi_identifier",
                    "hierarchy": {"intervals": [10**12, 10**13]},
                    "min_level": 1,
                },
                "postcode": {
                    "role": "quasi_identifier",
                    "hierarchy": {"prefix": [3, 1]},
                    "min_level": 1,
                },
            },
            target=algorithm == "dealing",
            shows=(SUPPRESSED,),
            datasets=("adult",),
        )
        for algorithm in ("dealing", "paper", "mondrian")
    ),
    # Nobody is suppressed; what a policy does not merge is released as it is, so none of the
    # planted numbers is a quasi-identifier.
    Method(
        "policy",
        output={"bounds": True, "export": FLAT},
        more={
            "method": {
                "name": "policy",
                "search": "random_chain",
                "budget": 2000,
                "safe_harbor": {"age": "age"},
                "choose": {"max_risk": 0.5},
            },
            "seed": 2**90,
        },
        columns={
            "hours_per_week": "drop",
            "account": "drop",
            "postcode": "drop",
            "age": {"role": "quasi_identifier", "domain": [10, 130]},
            "education": {"role": "quasi_identifier", "hierarchy": "education.csv"},
            "sex": {"role": "quasi_identifier", "order": ["Female", "Male"]},
        },
        shows=(SUPPRESSED,),
        datasets=("adult",),
    ),
    # Nobody is suppressed; categories are those of the source, and numbers are drawn between them.
    *(
        Method(
            f"condensation-{variant}",
            output={"export": FLAT},
            more={
                "privacy": [{"model": "cluster_size", "k": 50}],
                "method": {
                    "name": "condensation",
                    "variant": variant,
                    "strata": ["sex"],
                    "response": "account",
                },
                "seed": 2**90,
            },
            columns={
                "postcode": "drop",
                **{
                    name: {"role": "synthesize", "reason": "made up"}
                    for name in ("age", "education", "sex", "note", "income")
                },
                "account": {
                    "role": "synthesize",
                    "reason": "made up",
                    "accept": "looks_like_identifier",
                },
                "hours_per_week": "synthesize",
            },
            target=variant == "recipient",
            shows=(SUPPRESSED,),
            datasets=("adult",),
        )
        for variant in ("recipient", "improved", "original", "microhybrid")
    ),
    *(
        Method(
            f"full_domain-{policy}",
            output={"export": FLAT},
            more={"null_policy": policy},
            target=False,
            datasets=("support2",),
        )
        for policy in ("wildcard", "exclude")
    ),
)


@dataclass(frozen=True)
class Release:
    """One run in a folder of its own.

    Attributes:
        dataset: the source.
        method: how it was made.
        folder: where everything is.
        result: what `run` gave back.
        canaries: what must not leave under this method.
    """

    dataset: Dataset
    method: Method
    folder: Path
    result: dbdeid.RunResult
    canaries: Sequence[Canary]

    @property
    def spec(self) -> Path:
        """The spec."""
        return self.folder / SPEC

    @cached_property
    def report(self) -> Path:
        """The public report, of what verifies now: pseudonyms are then made again."""
        with patch.dict("os.environ", {"DBDEID_PSEUDONYM_KEY": KEY}):
            return write_report(self.spec, "public")

    @cached_property
    def public(self) -> dict[str, Path]:
        """What may leave, by name: all files that the run made, but for the private book."""
        before = {DATABASE, SPEC, *self.dataset.files}
        made = [path for path in self.folder.iterdir() if path.name not in before]
        kept = [p for p in made if not p.name.endswith((".private.duckdb", ".html", ".json"))]
        pages = (self.report, self.report.with_suffix(".json"))
        return {path.name: path for path in (*sorted(kept), *pages)}


def release(dataset: str, method: Method, seed: int, folder: Path, shared: Path) -> Release:
    """Make a source in a folder, and run its release."""
    source = DATASETS[dataset](seed, shared, method.shows + method.fixed)
    spec = source.write(folder, method.spec(source))
    result = dbdeid.run(spec)
    hidden = (_KEY, *(c for c in source.canaries if c.why not in method.shows))
    return Release(source, method, folder, result, hidden)


def published_bytes(path: Path) -> bytes:
    """The bytes of a published file; of a report without the day on which it was made."""
    data = path.read_bytes()
    if path.suffix != ".html":
        return data
    day = rb"\d{4}-\d\d-\d\d"
    data = re.sub(rb'<time datetime="' + day + rb'">' + day + rb"</time>", b"<time/>", data)
    return re.sub(rb", " + day + rb", dbdeid ", b", dbdeid ", data)


def as_json(result: dbdeid.RunResult) -> bytes:
    """A result as the command line prints it."""
    return json.dumps(result.to_dict(), ensure_ascii=False, default=str).encode()
