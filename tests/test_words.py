"""What people read: of a workload every refusal and its reason, of a verification every promise."""

from __future__ import annotations

from typing import Any

from dbdeid.utility.query_error import QueryError, Workload
from dbdeid.verify import Promise, Verification
from dbdeid.words import verified, workload


def query(name: str, **given: Any) -> QueryError:
    return QueryError(name, "SELECT 1", **given)


ANSWERED = query("ages", groups=3, lost=1, invented=0, relative_error=0.25)
REFUSED = query("sums", refused="it cannot be answered: SUM\n  Hint: supported: COUNT(*)")


def test_a_refused_query_is_told_in_full_under_the_table() -> None:
    assert workload(Workload((ANSWERED, REFUSED)).to_dict()).splitlines() == [
        "  query  groups  relative error  lost  invented",
        "  ages   3       25.00%          1     0",
        "  sums           refused",
        "  mean relative error 25.00% over the 1 of 2 queries that were answered",
        "  sums: it cannot be answered: SUM",
        "    Hint: supported: COUNT(*)",
    ]


def test_a_workload_without_or_with_nothing_but_refusals() -> None:
    assert workload(Workload((ANSWERED,)).to_dict()).endswith("mean relative error 25.00%")
    assert "  no query was answered\n" in workload(Workload((REFUSED,)).to_dict())


def test_every_promise_of_a_model_is_told() -> None:
    dx, sex = ({"column": name, "l": 2} for name in ("dx", "sex"))
    table = [Promise("l_diversity", dx, 3, True), Promise("l_diversity", sex, 2, True)]
    files = [Promise(f"{p.model} (a.csv)", p.declared, p.found, True) for p in table]
    assert verified(Verification((*table, *files), ())).splitlines() == [
        "verified: every promise holds in the table, a.csv",
        "  l_diversity         declared column dx, l 2; found 3",
        "  l_diversity         declared column sex, l 2; found 2",
    ]


def test_what_breaks_a_promise_by_little_is_told_to_the_last_digit() -> None:
    broken = Promise("t_closeness", {"column": "dx", "t": 0.3}, 0.300012345, False)
    (_, line) = verified(Verification((broken,), ())).splitlines()
    assert line == "  FAIL  t_closeness: declared column dx, t 0.3; found 0.300012345"
