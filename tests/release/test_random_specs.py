"""Some of the random specifications of `tests/benchmarks/fuzz.py`, which runs thousands."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import fuzz
import fuzzed
import recomputed
from recomputed import Table

# Cases that once failed: values drawn as in the paper that broke a model (20104), degrees of large
# numbers in doubles (122, 20282), information loss of large numbers (20340), and decimals at the
# end of their type (705).
ONCE = (122, 705, 20104, 20282, 20340)
FIRST = 3000


@pytest.mark.full
@pytest.mark.parametrize("number", ONCE)
def test_a_case_that_once_failed(number: int) -> None:
    found = fuzz.outcome(number)
    assert found["outcome"] not in fuzz.FOUND, found["text"]


@pytest.mark.full
def test_random_specifications_keep_what_they_say_or_are_refused_with_a_reason() -> None:
    found = [fuzz.outcome(number) for number in range(FIRST, FIRST + 14)]
    assert [f for f in found if f["outcome"] in fuzz.FOUND] == []
    kept = [f for f in found if f["outcome"] in ("verified", "found out")]
    assert len(kept) > len(found) / 2
    assert {f["method"] for f in kept} >= {"full_domain", "local_recoding", "counterfeit"}


def smaller(table: Table) -> Table:
    """One record of the smallest class is left."""
    sizes = Counter(row[0] for row in table.rows)
    rare = min(sizes, key=lambda label: sizes[label])
    lone = next(row for row in table.rows if row[0] == rare)
    return Table(table.names, [lone, *(row for row in table.rows if row[0] != rare)])


def relabelled(table: Table) -> Table:
    """All records read the label of the first."""
    label = table.rows[0][0]
    return Table(table.names, [(label, *row[1:]) for row in table.rows])


WRONG = {
    "a smaller class": ("k: the smallest class has 1", smaller),
    "labels of others": ("truthful", relabelled),
    "a record twice": ("truthful", lambda t: Table(t.names, [*t.rows, t.rows[0]])),
    "another value": (
        "truthful",
        lambda t: Table(t.names, [(*t.rows[0][:-1], "nobody's"), *t.rows[1:]]),
    ),
    "a column more": ("columns", lambda t: Table([*t.names, "raw"], [(*r, 1) for r in t.rows])),
}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> tuple[fuzzed.Case, dict[str, Table]]:
    """A release of one quasi-identifier with two intervals, and its tables."""
    folder = tmp_path_factory.mktemp("judged")
    values = [(f"{20 + 30 * (i % 2)}", 20 + 30 * (i % 2)) for i in range(20)]
    illness = [("'flu'", "flu"), ("'none'", "none")] * 10
    sensitive = {"role": "sensitive", "accept": "homogeneity"}
    age = {"role": "quasi_identifier", "hierarchy": {"intervals": [10]}, "min_level": 1}
    columns = [
        fuzzed.Column("age", "plain", values, age),
        fuzzed.Column("illness", "word", illness, sensitive),
    ]
    spec = {
        "release": "public",
        "database": "owner.duckdb",
        "source": "visits",
        "columns": {c.name: c.spec for c in columns},
        "privacy": [{"model": "k_anonymity", "k": 3}],
        "method": {"name": "full_domain"},
        "output": {"export": ["out.parquet"]},
    }
    case = fuzzed.Case(0, "full_domain", spec, columns, {}, fuzzed._table(columns))
    assert fuzz.run(case, folder) == ("verified", "")
    return case, recomputed.tables(folder / "out.parquet", "public")


@pytest.mark.full
@pytest.mark.parametrize(("told", "change"), WRONG.values(), ids=list(WRONG))
def test_the_judge_finds_what_is_wrong(
    told: str,
    change: Callable[[Table], Table],
    judged: tuple[fuzzed.Case, dict[str, Table]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case, tables = judged
    wrong = tables | {"": change(tables[""])}
    monkeypatch.setattr(recomputed, "tables", lambda file, release: wrong)
    assert any(told in found for found in recomputed.judge(case, Path(), {}))
