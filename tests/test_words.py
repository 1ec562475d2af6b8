"""What people read: of a workload every refusal and its reason, of a verification every promise."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import Any

from dbdeid.cli.text.queries import drawn, workload
from dbdeid.cli.text.release.models import compared
from dbdeid.cli.text.release.verdict import checked, verified
from dbdeid.cli.text.search import best_so_far, found, levels, proven
from dbdeid.commands.queries.workload import Drawing, Written
from dbdeid.utility.query_error import AggregateError, QueryError, Workload
from dbdeid.verify import Promise, Verification
from dbdeid.workspace.progress import BestSoFar, Placed, Progress
from dbdeid.workspace.progress_line import following


def query(name: str, **given: Any) -> QueryError:
    return QueryError(name, "SELECT 1", **given)


COUNT = AggregateError("n", "count", relative_error=0.25)
ANSWERED = query("ages", groups=3, lost=1, invented=0, aggregates=(COUNT,))
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


def test_every_aggregate_is_told_and_how_many_true_values_are_within_bounds() -> None:
    first = AggregateError("first", "min", equal=0, within_bounds=1)
    total = AggregateError("total", "sum", relative_error=0.5, within_bounds=0.75)
    several = query("stays", groups=8, lost=0, invented=2, aggregates=(first, total))
    assert workload(Workload((ANSWERED, several)).to_dict()).splitlines() == [
        "  query    groups  relative error  within bounds  lost  invented",
        "  ages     3       25.00%                         1     0",
        "  stays    8       50.00%          87.50%         0     2",
        "    first                          100.00%",
        "    total          50.00%          75.00%",
        "  mean relative error 37.50%, 87.50% of the true values within their bounds",
    ]


def test_a_workload_without_or_with_nothing_but_refusals() -> None:
    assert workload(Workload((ANSWERED,)).to_dict()).endswith("mean relative error 25.00%")
    assert "  no query was answered\n" in workload(Workload((REFUSED,)).to_dict())
    dates = query("days", groups=1, aggregates=(AggregateError("first", "min"),))
    assert workload(Workload((dates,)).to_dict()).endswith("  no relative errors")


def test_what_is_empty_is_none() -> None:
    wanted = {"columns": {}, "accepted": []}
    text = verified(Verification((Promise("safe_harbor", wanted, "kept", True),), ()))
    assert "declared columns none, accepted none; found kept" in text


def test_a_drawn_workload_is_told_with_what_it_leaves_out() -> None:
    drawing = Drawing(queries=1200, dimensions=2, selectivity=0.05, seed=7)
    left_out = {"zip": "its domain is not declared (prefixes of 3)"}
    made = Written(Path("asked"), drawing, ("age", "sex"), left_out, (0.04, 0.0625))
    assert drawn(made).splitlines() == [
        "asked: 1,200 queries",
        "  columns      age, sex; 2 for each query",
        "  selectivity  4.00% to 6.25% of records spread evenly, where 5.00% is asked for",
        "  left out     zip: its domain is not declared (prefixes of 3)",
        "  private      the queries hold values of the columns",
        "  next         evaluate: {queries: asked/*.sql} in the spec, then dbdeid "
        "evaluate; dbdeid run has it in the report too",
    ]


def test_every_promise_of_a_model_is_told() -> None:
    dx, sex = ({"column": name, "l": 2} for name in ("dx", "sex"))
    table = [Promise("l_diversity", dx, 3, True), Promise("l_diversity", sex, 2, True)]
    files = [Promise(f"{p.model} (a.csv)", p.declared, p.found, True) for p in table]
    assert verified(Verification((*table, *files), ())).splitlines() == [
        "promises verified: every promise holds in the table, a.csv",
        "  l_diversity         declared column dx, l 2; found 3",
        "  l_diversity         declared column sex, l 2; found 2",
    ]


def test_what_breaks_a_promise_by_little_is_told_to_the_last_digit() -> None:
    broken = Promise("t_closeness", {"column": "dx", "t": 0.3}, 0.300012345, False)
    (_, line) = verified(Verification((broken,), ())).splitlines()
    assert line == "  FAIL  t_closeness: declared column dx, t 0.3; found 0.300012345"


def test_a_line_follows_a_search_with_what_is_proven() -> None:
    assert following("prepare", None) == "prepare"
    assert following("search", Placed(1200, 30162)) == (
        "search: 1,200 of 30,162 records have a class"
    )
    assert following("search", Progress(3, 6912, inf, 0.1)) == (
        "search: 3 checked, 6,912 open, nothing found yet"
    )
    assert following("search", Progress(1234, 50, 0.25, 0.2)) == (
        "search: 1,234 checked, 50 open, best so far 0.25, proven at least 0.2 (gap 20.0%)"
    )
    assert following("search", Progress(3, 6, inf, 0.1, seconds=75.9)) == (
        "search: 3 checked in 1 min 15 s, 6 open, nothing found yet"
    )
    assert following("search", Progress(1, 0, 0.0, 0.0)).endswith("(gap 0.0%)")


def test_what_is_proven_is_never_told_better_than_it_is() -> None:
    search = {"proven_optimal": False}
    assert proven({**search, "gap": 0.0301}, "loss").endswith("at most 3.1% below the loss found")
    assert proven({**search, "gap": 1e-9}, "loss") == (
        "not proven optimal; the optimum is at most 0.1% below the loss found"
    )
    assert proven({**search, "gap": 0.99, "lower_bound": 0.00289}, "loss") == (
        "not proven optimal; the proven bound is still far (loss at least 0.00289)"
    )
    assert proven({**search, "gap": 1.0}, "loss") == "not proven optimal"
    assert proven({**search, "gap": None}, "loss") == "not proven optimal"
    assert proven({"proven_optimal": True, "gap": 0.0}, "loss") == "proven optimal"


def test_what_an_interrupt_tells_can_be_pasted_into_a_spec() -> None:
    from dbdeid.spec.yaml_text import load

    odd = {"age": 2, "zip code": 0, "null": 1, 'say "no": #1': 3, "42": 4, "größe": 5}
    read, _ = load(f"transformation: {levels(odd)}", "spec")
    assert read == {"transformation": odd}
    told = best_so_far(BestSoFar({"age": 2}, "loss", 0.28117, 0.0339, 1234))
    assert told.startswith(
        "Interrupted after 1,234 checks. Best so far: loss 0.2812, not proven optimal; the optimum "
        "is at most 3.4% below the loss found. "
    )
    assert told.endswith("\n  transformation: {age: 2}")


def test_a_neighbour_that_a_search_did_not_get_to_is_named() -> None:
    search = {
        "name": "igreedy",
        "checked": 9,
        "lattice_size": 60,
        "proven_optimal": False,
        "gap": 0.5,
        "out_of_time": False,
        "lower_bound": 0.125,
        "interrupted": False,
    }
    neighbour = {"column": "age", "feasible": True, "accepted": True, "suppressed_rows": 3}
    document = {
        "release": "visits",
        "transformation": {"age": 2},
        "objective": "loss",
        "score": 0.25,
        "suppressed_rows": 1,
        "source_rows": 100,
        "source_subjects": 100,
        "by_subject": False,
        "classes": 7,
        "smallest_class": 5,
        "search": search,
        "neighbours": [
            {**neighbour, "level": 1, "score": 0.2},
            {**neighbour, "level": 3, "score": 0.3, "accepted": False},
        ],
        "warnings": ["x"],
        "page": None,
    }
    lines = found(document).splitlines()
    assert "  loss           0.2500" in lines
    assert "  suppressed     1 (1.0%) of 100 records" in lines
    assert "  classes        7, the smallest of 5 records" in lines
    assert (
        "  search         9 of 60 transformations checked by igreedy, not proven optimal; "
        in found(document)
    )
    assert lines[-3:] == [
        "  age     2 -> 1  3 (3.0%)            0.2000  better: the search did not get to it",
        "  age     2 -> 3  3 (3.0%)            0.3000  not allowed",
        "  note: x",
    ]
    neighbours = [{**n, "suppressed_subjects": 2} for n in document["neighbours"]]  # type: ignore[attr-defined]
    people = {"by_subject": True, "source_subjects": 50, "suppressed_subjects": 1}
    lines = found({**document, **people, "neighbours": neighbours}).splitlines()
    assert "  suppressed     1 (2.0%) of 50 subjects" in lines
    assert "  classes        7, the smallest of 5 subjects" in lines
    assert lines[7] == "  column  level   subjects suppressed  loss"


def test_models_are_told_with_what_changed_and_why_one_has_no_fit() -> None:
    summary = {
        "coefficients": 4,
        "near": 1,
        "changed_significance": 0.25,
        "changed_near": 0.25,
        "changed_direction": None,
        "outside": 0.5,
        "rmsz": 0.618,
        "error_ratio": 1.04,
    }
    age = {"text": "age", "entered": "expected"}
    cox = {
        "kind": "cox",
        "response": "months",
        "event": None,
        "where": None,
        "terms": [age, {"text": "sex", "entered": "value"}],
        "reason": None,
        "summary": summary,
    }
    gone = {**summary, "rmsz": None, "error_ratio": None}
    lost = {
        "kind": "linear",
        "event": None,
        "where": "died",
        "terms": [],
        "reason": "it varies not",
    }
    models = [cox, {**cox, **lost, "summary": gone}]
    assert compared(models, {**summary, "coefficients": 8}).splitlines() == [
        "  model                        coefficients  significance changed  direction changed  "
        "outside 95 %  rmsz  errors",
        "  cox of months                4             25.0%                                    "
        "50.0%         0.62  1.04",
        "  linear of months where died  4             25.0%                                    "
        "50.0%",
        "  all                          8             25.0%                                    "
        "50.0%         0.62  1.04",
        "  cox of months: by expected values: age",
        "  linear of months where died: no fit on the release: it varies not",
        "  1 of 8 coefficients are near the limit of significance; 25.0% of all are near and "
        "changed",
    ]


def test_a_release_made_elsewhere_is_told_by_what_explains_its_values() -> None:
    column = {"name": "age", "role": "quasi_identifier", "type": "INTEGER", "values": 7}
    column |= {"explained_by": "its dictionary", "without_meaning": 2, "not_listed": 1}
    name = {"name": "name", "role": "identifier", "type": "VARCHAR", "values": None}
    name |= dict.fromkeys(("explained_by", "without_meaning", "not_listed"))
    found = {
        "release": "anon",
        "method": "external",
        "source_rows": 1200,
        "released_rows": 1100,
        "risk": {"k": 3, "unique_records": 0, "records_at_risk": 9, "null_policy": "exclude"},
        "columns": [name, column],
        "warnings": ["mind this"],
    }
    assert checked(found).splitlines() == [
        "anon, made elsewhere: the spec fits its table (1,100 of 1,200 records)",
        "  as it is: k = 3, 0 unique records, 9 at risk (NULL: exclude)",
        "  column  role              type     values",
        "  name    identifier        VARCHAR",
        "  age     quasi_identifier  INTEGER  7 values, explained by its dictionary; "
        "2 without one meaning; 1 stand for what is not listed",
        "  note: mind this",
    ]
    assert "(1,100 records)" in checked(found | {"source_rows": None})
