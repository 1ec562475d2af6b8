"""What the command line says of a frontier: points to look at, and what to write next."""

from __future__ import annotations

from frontiers import ONE_POINT, SAMPLE, WITHOUT_CHOICE, WITHOUT_SAFE_HARBOR, document

from dbdeid.cli.text.frontier import frontier
from dbdeid.spec.yaml_text import load


def test_tells_the_points_the_rule_and_the_choice() -> None:
    assert frontier(document()).splitlines() == [
        "visits: nothing was released; 26 policies on the frontier",
        "  point  risk      loss    KL     classes",
        "  9      0.007836  0.5395  2.237  25       least loss at risk ≤ 0.01",
        "  14     0.03262   0.3090  1.281  40       chosen",
        "  15     0.04339   0.2689  1.115  43       least loss at risk ≤ 0.05",
        "  17     0.07676   0.1950  0.809  49       least loss at risk ≤ 0.1; "
        "least loss that dominates Safe Harbor",
        "  18     0.1021    0.1615  0.670  52       knee",
        "  20     0.1806    0.1019  0.423  58       least loss at risk ≤ 0.2",
        "  Safe Harbor  risk 0.0837, loss 0.3900, KL 1.620 nats; 5 points dominate it",
        "               ZIP areas 369 and 692 are pooled with a neighbour instead of 000",
        "  area         0.0846 under the frontier (smaller is better)",
        "  search       greedy: 15,011 policies evaluated, 15,100 of a budget of 15,100 spent",
        "  records      32,561, among 6,400,000 people of people.parquet",
        "  chosen       point 14, which dbdeid run releases:",
        "               age 0, 1 to 3, …, 19 (11 intervals); sex Female, Male; "
        "zip 37010 to 37012, 37020, 37021 to 37130",
        "  note: the frontier is of the search, not of all policies",
        "  page: visits_frontier.html (internal)",
    ]


def test_what_to_write_next_can_be_pasted_into_a_spec() -> None:
    lines = frontier(document(**WITHOUT_CHOICE, **SAMPLE, page=None, warnings=[])).splitlines()
    assert "  records      32,561, which are the population themselves" in lines
    assert lines[-4] == "To release one, choose it under `method` in the spec, such as"
    read = [load(line.strip(), "spec")[0]["choose"] for line in lines[-3:]]
    assert read == [{"point": 18}, {"max_risk": 0.2}, {"dominates": "safe_harbor"}]


def test_a_choice_that_nothing_satisfies_is_said() -> None:
    told = frontier(document(chosen=None, **WITHOUT_SAFE_HARBOR))
    assert "  chosen       none: no point does what `choose` asks for" in told
    assert "Safe Harbor" not in told


def test_a_frontier_of_one_point_is_told() -> None:
    alone = {key: value for key, value in ONE_POINT.items() if key != "points"}
    told = frontier(document(points=1, **alone))
    assert told.startswith("visits: nothing was released; 1 policy on the frontier\n")
    assert "1      0.0008  1.0000  4.146  1" in told
    assert "choose: {point: 1}" in told
    none = frontier(document(dominating_safe_harbor=0))
    assert "no point dominates it" in none
    assert "1 point dominates it" in frontier(document(dominating_safe_harbor=1))
