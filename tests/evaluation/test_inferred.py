"""What a release teaches, measured by a run, against what anybody makes of its published rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import duckdb
import pytest

import dbdeid
from dbdeid.evaluation import inference
from dbdeid.report.content.audience import public
from dbdeid.report.content.remains import sentences

# Illness goes with age; some ages are rare.
VISITS = """
CREATE TABLE visits AS SELECT
  i AS number,
  (i * i % 23)::INTEGER AS age,
  CASE WHEN i % 31 > 0 THEN ['f', 'm'][1 + i % 2] END AS sex,
  CASE
    WHEN i % 7 = 0 THEN NULL
    ELSE ['flu', 'gout', 'asthma'][1 + (i * i % 23 // 3 + (i % 5 = 0)::INT) % 3]
  END AS illness
FROM range(300) AS r(i)
"""


def visits(con: duckdb.DuckDBPyConnection, method: Any, **more: Any) -> Any:
    con.execute(VISITS)
    spec = {
        "release": "visits_public",
        "source": "visits",
        "seed": 3,
        "columns": {
            "number": "identifier",
            "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [5, 10, 20]}},
            "sex": {"role": "quasi_identifier", "hierarchy": "suppress"},
            "illness": {"role": "sensitive", "accept": "homogeneity"},
        },
        "privacy": [{"model": "k_anonymity", "k": 4}],
        "method": method,
        "evaluate": {"metrics": ["loss", "inference"]},
        **more,
    }
    return dbdeid.run(spec, con)


METHODS = [
    {"name": "full_domain", "suppression_limit": 0.1},
    {"name": "full_domain", "suppression_limit": 0.1, "suppressed": "keep"},
    {"name": "local_recoding"},
    {"name": "local_recoding", "algorithm": "mondrian"},
]


@pytest.mark.full
@pytest.mark.parametrize("method", METHODS)
def test_the_baselines_are_those_of_the_published_rows(method: dict[str, Any]) -> None:
    with duckdb.connect() as con:
        metrics = visits(con, method).metrics
        rows = con.execute("SELECT age::VARCHAR, sex, illness FROM visits_public").fetchall()
    classes: dict[Any, Counter[str | None]] = defaultdict(Counter)
    for age, sex, illness in rows:
        classes[age, sex][illness] += 1
    modes = sum(counts.most_common(1)[0][1] for counts in classes.values())
    whole = Counter(illness for *_, illness in rows)
    assert metrics["inference.illness.by_class"] == pytest.approx(modes / len(rows))
    assert metrics["inference.illness.by_all"] == whole.most_common(1)[0][1] / len(rows)
    lift = metrics["inference.illness.right"] - metrics["inference.illness.by_class"]
    assert metrics["inference"] == metrics["inference.illness"] == pytest.approx(lift)
    if method == METHODS[0]:
        assert lift == 0  # all that are in a class read alike on each level


def test_each_figure_is_the_attacks(monkeypatch: pytest.MonkeyPatch) -> None:
    attacked = inference.attacked

    def other(*given: Any) -> dict[str, Any]:
        return {name: replace(one, surest=(0.5, 0.25)) for name, one in attacked(*given).items()}

    monkeypatch.setattr(inference, "attacked", other)
    with duckdb.connect() as con:
        metrics = visits(con, "local_recoding").metrics
    assert metrics["inference.illness.surest_1"] == 0.5
    assert metrics["inference.illness.surest_5"] == 0.25


def test_a_run_says_what_its_release_teaches_where_that_was_asked() -> None:
    with duckdb.connect() as con:
        found = visits(con, "local_recoding")
    assert found.metrics["inference"] > 0
    told = "which values go with which quasi-identifiers guesses illness of"
    assert told in " ".join(sentences(found.record).not_promised)
    assert told not in " ".join(sentences(public(found.record), "public").not_promised)


@pytest.mark.full
def test_it_is_measured_only_where_it_is_asked_for() -> None:
    with duckdb.connect() as con:
        metrics = visits(con, "local_recoding", evaluate={}).metrics
    assert not [name for name in metrics if name.startswith("inference")]
    assert "downcoding" in metrics
