"""Nothing of the original in what leaves: no canary, and no byte that another original changes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbdeid
from canaries.conftest import SEEDS, Tally
from canaries.datasets import adult
from canaries.planting import IDENTIFIER, SUPPRESSED
from canaries.releases import FLAT, METHODS, Method, Release, as_json, published_bytes
from canaries.scanner import opened
from dbdeid.commands.handout import hand_out
from dbdeid.commands.verify_evaluate_export import export_release

# In the default tier: what other tests here look at, and releases of pseudonyms and counterfeits.
OFTEN = {
    ("full_domain", "every_type"),
    ("full_domain-pseudonyms", "diabetes"),
    ("counterfeit-full_domain", "adult"),
    ("local_recoding-dealing", "adult"),
    ("policy", "adult"),
    ("condensation-recipient", "adult"),
}
TWICE = {("full_domain", "every_type")}


def every(
    cases: Iterable[tuple[str, str]], often: Collection[tuple[str, str]]
) -> pytest.MarkDecorator:
    """A test of methods and datasets: of few of them in the default tier."""
    return pytest.mark.parametrize(
        ("method", "dataset"),
        [pytest.param(*c, marks=[] if c in often else pytest.mark.full) for c in cases],
    )


Released = Callable[[str, str, int], Release]


@every([(m.name, dataset) for m in METHODS for dataset in m.datasets], OFTEN)
def test_no_canary_leaves(
    dataset: str,
    method: str,
    released: Released,
    scan: Callable,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG")
    made = released(dataset, method, SEEDS[0])
    assert made.result.verified
    # the planted records, at least; where records are padded or drawn, nobody is suppressed
    whole = made.result.recoding == "local" or made.result.padding is not None
    whole |= made.result.policy is not None or made.result.synthetic is not None
    assert made.result.suppressed_rows >= 12 or whole
    scanner = scan(made.canaries)
    leaks = scanner.search_all(part for path in made.public.values() for part in opened(path))
    leaks += scanner.search("result", as_json(made.result))
    leaks += scanner.search("log", "\n".join(r.getMessage() for r in caplog.records).encode())
    assert leaks == []


@every(
    # what is padded shows the cells of the planted records, which are not those of another original
    [
        (m.name, d)
        for m in METHODS
        if not m.name.startswith(("condensation", "counterfeit", "local_recoding", "policy"))
        for d in m.datasets
    ],
    TWICE,
)
def test_another_original_of_the_same_release_changes_no_byte(
    dataset: str, method: str, released: Released, tally: Tally
) -> None:
    one, other = (released(dataset, method, seed) for seed in SEEDS)
    assert one.result.transformation == other.result.transformation
    differ = not one.method.shows
    assert (one.result.suppressed_rows != other.result.suppressed_rows) == differ
    assert one.public.keys() == other.public.keys()
    for name in one.public:
        assert published_bytes(one.public[name]) == published_bytes(other.public[name]), name
        tally.identical += 1


@pytest.mark.full
@pytest.mark.parametrize(
    ("dataset", "method"),
    [("every_type", "full_domain"), ("every_type", "full_domain-known-bounds")],
)
def test_a_folder_to_give_away_holds_what_is_listed_and_nothing_of_the_original(
    dataset: str, method: str, released: Released, scan: Callable, tmp_path: Path
) -> None:
    made = released(dataset, method, SEEDS[0])
    given = hand_out(made.spec, tmp_path / "given")
    files = sorted(path for path in given.folder.rglob("*"))
    assert [path.name for path in files] == [file.name for file in given.files]
    assert [hashlib.sha256(path.read_bytes()).hexdigest() for path in files] == [
        file.sha256 for file in given.files
    ]
    assert [path.stat().st_size for path in files] == [file.size for file in given.files]
    assert not any(".private." in path.name for path in files)
    scanner = scan(made.canaries)
    assert scanner.search_all(part for path in files for part in opened(path)) == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dataset", ["every_type", "diabetes"])
def test_the_private_book_holds_no_identifier_and_no_sensitive_cell(
    dataset: str, released: Released, scan: Callable
) -> None:
    made = released(dataset, METHODS[0].name, SEEDS[0])
    private = made.folder / "public.private.duckdb"
    withheld = [c for c in made.dataset.canaries if c.why in (IDENTIFIER, SUPPRESSED)]
    shown = (part for part in opened(private) if not part[0].startswith("bytes"))
    assert scan(withheld).search_all(shown) == []
    # It does hold values of quasi-identifiers, so it must not leave.
    rows = [part for part in opened(private) if part[0].startswith("rows,")]
    assert scan(made.dataset.canaries).search_all(rows) != []
    assert private.stat().st_mode & 0o077 == 0


def test_the_private_book_names_nobody_of_a_locally_recoded_release(
    released: Released, scan: Callable
) -> None:
    made = released("adult", "local_recoding-dealing", SEEDS[0])
    private = made.folder / "public.private.duckdb"
    withheld = [c for c in made.dataset.canaries if c.why == IDENTIFIER]
    shown = (part for part in opened(private) if not part[0].startswith("bytes"))
    assert scan(withheld).search_all(shown) == []


def test_the_private_frontier_names_nobody_and_leaves_with_nothing(
    released: Released, scan: Callable
) -> None:
    made = released("adult", "policy", SEEDS[0])
    private = made.folder / "public.private.duckdb"
    withheld = [
        c for c in made.dataset.canaries if c.column in ("name", "ssn", "account", "postcode")
    ]
    shown = (part for part in opened(private) if not part[0].startswith("bytes"))
    assert scan(withheld).search_all(shown) == []
    with duckdb.connect(str(private), read_only=True) as con:
        ((policy,),) = con.execute(
            "SELECT policy FROM released_frontier WHERE point = 2"
        ).fetchall()
    assert policy.startswith("age: ")
    for path in made.public.values():
        for name, part in opened(path):
            assert b"released_frontier" not in part, name
            assert b"released_evaluations" not in part, name


def test_clusters_stay_in_the_private_book(released: Released, scan: Callable) -> None:
    made = released("adult", "condensation-recipient", SEEDS[0])
    private = made.folder / "public.private.duckdb"
    withheld = [c for c in made.dataset.canaries if c.column in ("name", "ssn", "postcode")]
    shown = (part for part in opened(private) if not part[0].startswith("bytes"))
    assert scan(withheld).search_all(shown) == []
    with duckdb.connect(str(private), read_only=True) as con:
        (records,) = con.execute("SELECT sum(records) FROM deid.clusters").fetchall()[0]
    assert records == 2 * made.result.source_rows
    columns = ["age", "education", "sex", "account", "note", "income", "hours_per_week"]
    with duckdb.connect(str(made.folder / "public.duckdb"), read_only=True) as con:
        tables = con.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        rows = con.sql("FROM released")
        assert rows.columns == columns
        # in the order of their values: none is left that could be that of the clusters
        assert rows.fetchall() == con.sql("FROM released ORDER BY ALL NULLS LAST").fetchall()
    assert tables == [("released",)]
    for path in made.public.values():
        for name, part in opened(path):
            assert b"cluster_id" not in part, name
            assert b"deid_clusters" not in part, name


def test_the_owners_log_of_queries_quotes_no_cell(released: Released, scan: Callable) -> None:
    made = released("every_type", METHODS[0].name, SEEDS[0])
    with duckdb.connect(str(made.folder / "owner.duckdb")) as con:
        con.execute("CALL enable_logging(level = 'debug')")
        dbdeid.verify(made.spec, con)
        con.execute("CALL disable_logging()")
        logged = con.execute("FROM duckdb_logs").fetchall()
    assert logged
    assert scan(made.dataset.canaries).search("duckdb_logs", repr(logged).encode()) == []


def test_an_export_made_later_is_the_same(released: Released, tmp_path: Path) -> None:
    made = released("every_type", METHODS[0].name, SEEDS[1])
    for ending in ("parquet", "csv", "json.gz", "xlsx", "duckdb"):
        later = tmp_path / f"later.{ending}"
        export_release(made.spec, later)
        name = "export.duckdb" if ending == "duckdb" else f"public.{ending}"
        assert later.read_bytes() == made.public[name].read_bytes()


# Of a manifest what tells of the loss: of all columns, and of those with a declared domain.
LOSSES = ("loss", "column_loss")


@pytest.mark.full
def test_fewer_values_in_a_class_change_nothing_but_the_rounded_loss(
    tmp_path: Path, shared: Path
) -> None:
    """The loss of a column without a declared domain counts its values: the one figure that may."""
    method = Method("known", output={"export": FLAT}, known=True, target=False)
    many = adult(SEEDS[0], shared)
    first: dict[Any, Any] = {}
    rows = [
        row
        | {"account": first.setdefault(("account", row["account"] // 10**12), row["account"])}
        | {"postcode": first.setdefault(("postcode", row["postcode"][:3]), row["postcode"])}
        for row in many.rows
    ]
    pages, files = [], []
    manifests: list[dict[str, Any]] = []
    for name, source in (("many", many), ("few", replace(many, rows=rows))):
        spec = source.write(tmp_path / name, method.spec(source))
        made = Release(source, method, tmp_path / name, dbdeid.run(spec), ())
        pages.append(published_bytes(made.report))
        others = [p for p in made.public.values() if p.suffix not in (".html", ".json")]
        files.append([p.read_bytes() for p in others])
        told = json.loads(made.public[f"{made.report.stem}.json"].read_text(encoding="utf-8"))
        told["sentences"]["use"] = re.sub(r"loss about [.\d]+", "", told["sentences"]["use"])
        del told["content"]["files"][made.report.name]  # which shows the loss
        manifests.append({key: part for key, part in told.items() if key not in LOSSES})
    assert files[0] == files[1]
    assert pages[0] != pages[1]
    assert _without_loss(pages[0]) == _without_loss(pages[1])
    assert manifests[0] == manifests[1]


def _without_loss(page: bytes) -> bytes:
    for part in (
        rb"loss about [.\d]+",
        rb"<div><dt>Information loss</dt>.*?</div>",
        rb'<figure id="loss-by-column">.*?</figure>',
        rb'<section id="loss">.*?</section>',
    ):
        page, count = re.subn(part, b"", page, flags=re.DOTALL)
        assert count
    return page
