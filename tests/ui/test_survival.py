"""Comments survive any clicks on specs of every method, and hostile names script nothing."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import tiers
from pages import Browser

from dbdeid.errors import DbdeidError, SpecError
from dbdeid.spec.method_spec import METHODS
from dbdeid.spec.yaml_text import load
from dbdeid.ui.background.jobs import Job
from dbdeid.ui.rooms import Room
from dbdeid.ui.sheet import decisions, hierarchy_edits
from dbdeid.ui.sheet.desk import Desk
from dbdeid.ui.sheet.text_edits import comments

COLUMNS = """\
columns:   # the board has seen them
  # who it is
  id: {role: identifier}   # never leaves
  age:   # in years
    role: quasi_identifier
    # by decades, as the census does
    hierarchy: {intervals: [10, 20]}   # they nest
    min_level: 1   # agreed
  "ward, floor": {role: drop}   # of no use
  zip:
    role: quasi_identifier
    hierarchy:   # of the post
      groups:
      # the first level
      - north: ["1", "2"]   # two valleys
        south: ["3"]
      - all: [north, south]
  disease:
    role: sensitive   # the secret
    accept: homogeneity
    reason: >-
      one ward treats
      # one disease
  weight: insensitive   # a measurement
  note: {role: undecided}   # to be asked
"""
# How each method begins; what it takes of the columns does not matter to an edit of the text.
OF_METHODS = {
    "full_domain": "{name: full_domain, suppression_limit: 0.05}   # proven",
    "local_recoding": "\n  name: local_recoding   # block by block\n  diversity_weight: 0.5",
    "counterfeit": "\n  # of Lee et al.\n  name: counterfeit\n  h: 0.3   # no more\n",
    "policy": "{name: policy,   # from a frontier\n  choose: {max_risk: 0.05}   # as HIPAA\n  }",
    "condensation": "{name: condensation, synthesis: pca}   # drawn",
    "microaggregation": "microaggregation   # means",
    "relocation": "\n  name: relocation   # moved\n  # no more than\n  suppression_limit: 0.02",
    "external": "{name: external, table: theirs, dictionary: words}   # made elsewhere",
}


def text_of(method: str) -> str:
    return (
        f"# for the registry\nrelease: r   # its name\nsource: t.csv\n\n{COLUMNS}\n"
        "# what is promised\nprivacy:\n- {model: k_anonymity, k: 5}   # as the law says\n"
        "- model: l_diversity   # beside it\n  column: disease\n  l: 2\n"
        f"method: {OF_METHODS[method]}\n# the end\n"
    )


NAMES = ("id", "age", "ward", "floor", "zip", "disease", "weight", "note")


def clicks(draw: random.Random) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Any clicks, one after another."""
    values = ["1", "2", "3"]
    while True:
        name, some = draw.choice(NAMES), draw.sample(NAMES, 3)
        level, into = draw.randint(0, 2), f"g{draw.randint(0, 9)}"
        role = draw.choice(decisions.ROLES)
        hierarchy = draw.choice(["suppress", "a.csv", {"prefix": [3, 1]}, {"intervals": [5, 10]}])
        which = draw.choice(["from", "to", "only", "any"])
        yield draw.choice(
            [
                partial(decisions.give_role, names=[name], role=role, proposed={}),
                partial(decisions.give_role, names=some, role=role, proposed={}),
                partial(decisions.give_reason, names=[name], reason=f"because {into} # is: yes"),
                partial(decisions.protect, names=[name], least=2 + level),
                partial(decisions.accept_homogeneity, names=[name], reason="a # b"),
                partial(decisions.name_subject, name=name),
                partial(decisions.name_subject, name=""),
                decisions.count_rows,
                partial(decisions.promise, k=2 + level, limit=level / 100),
                partial(decisions.choose_method, name=draw.choice([*METHODS])),
                partial(hierarchy_edits.allow, name=name, level=level, which=which),
                partial(hierarchy_edits.replace, name=name, hierarchy=hierarchy),
                partial(
                    hierarchy_edits.merge,
                    name="zip",
                    level=level,
                    labels=[draw.choice(values)],
                    into=into,
                    values=values,
                ),
            ]
        )


def test_every_method_is_among_them() -> None:
    assert set(OF_METHODS) == set(METHODS)


@pytest.mark.parametrize("method", OF_METHODS)
@pytest.mark.parametrize("seed", [*range(1 if not tiers.full else 12)])
def test_comments_survive_fifty_clicks(method: str, seed: int, tmp_path: Path) -> None:
    path = tmp_path / "spec.yml"
    path.write_text(text_of(method))
    kept, desk = comments(path.read_text()), Desk(path)
    draw, done, undone = random.Random(f"{method} {seed}"), 0, []
    for click in clicks(draw):
        before = path.read_text()
        try:
            changed = desk.edit(desk.sheet().version, click)
        except SpecError:
            raise  # it could not be written: only what nobody could mean is refused
        except DbdeidError:
            assert path.read_text() == before
            continue
        done += 1
        assert comments(path.read_text()) >= kept, path.read_text()
        if changed:
            undone.append(before)
        if done == (50 if tiers.full else 4):
            break
    load(path.read_text(), "spec")
    while undone:
        desk.undo(desk.sheet().version)
        assert path.read_text() == undone.pop()


HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onfocus='alert(1)' autofocus='",
    "</title></textarea></select><svg onload=alert(1)>",
    "{{ 7 * 7 }}{% include 'x' %}",
    "javascript:alert(1)",
    "<!-- -->&lt;b&gt;&amp;#x3c;",
    "‮evil‬`${alert(1)}`",
)
VOID = {"meta", "link", "input", "br", "img"}
DRAWN = ("line", "circle", "polyline", "rect")


class Strict(HTMLParser):
    """What a page holds: it fails where anything could run that is not ours."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        assert tag not in ("img", "iframe", "object", "embed", "base", "style", "foreignobject")
        if tag == "script":
            assert attrs == [("src", "/static/ui.js"), ("defer", None)]
        for name, value in attrs:
            assert not name.startswith("on"), name
            assert name not in ("style", "srcdoc", "autofocus"), name
            if name in ("href", "src", "action", "formaction"):
                assert value is not None
                assert value.startswith("/")
                assert not value.startswith("//")
        if tag not in VOID and tag not in DRAWN:
            self.open.append(tag)
        self.texts += [str(v) for k, v in given.items() if k in ("value", "aria-label")]

    def handle_endtag(self, tag: str) -> None:
        if tag in ("li", "p", "option", *DRAWN) and self.open[-1:] != [tag]:
            return
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in (*DRAWN, *VOID)

    def handle_data(self, data: str) -> None:
        self.texts.append(data.strip())


def renamed(found: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """What was found of columns, under other names and with hostile values."""
    made = copy.deepcopy(found)
    for one in made["columns"]:
        one["name"] = names[one["name"]]
        one["often"] = [[label, 30] for label in HOSTILE] if one["often"] else []
        one["why"] = HOSTILE[0]
    made["values"] = {names[n]: [[label, 30] for label in HOSTILE] for n in made["values"]}
    made["rows"] = [{names[n]: HOSTILE[1] for n in row} for row in made["rows"]]
    return made


def worked(room: Room, names: list[str]) -> dict[str, Job]:
    """Work whose results are hostile: a check, a frontier, questions, and earlier releases."""
    change = {"column": HOSTILE[3], "min_level": 2, "method": None}
    found = {"query_error": None, "why": None}
    check = {
        "advice": list(HOSTILE),
        "changes": [[change, {**change, "min_level": None}] for _ in HOSTILE],
        "uniqueness": None,
        "methods": [{**found, "method": HOSTILE[0], "declared": True, "loss": 0.1}],
        "questions": list(HOSTILE),
    }  # fmt: skip
    policy = {name: list(HOSTILE) for name in names}
    point = {
        "risk": 0.5,
        "loss": 0.5,
        "kl": 1.0,
        "classes": 3,
        "smallest_class": 3,
        "policy": policy,
    }
    frontier = {
        "points": [{"point": 1, **point}, {"point": 2, **point, "risk": 0.9, "loss": 0.1}],
        "columns": [{"name": name, "values": 9} for name in names],
        "reference": {"safe_harbor": {"risk": 0.2, "loss": 0.9}},
        "dominating_safe_harbor": 0,
        "chosen": 1,
        "risk": HOSTILE[0],
        "utility": HOSTILE[1],
        "search": "greedy",
        "evaluated": 7,
        "warnings": list(HOSTILE),
    }  # fmt: skip
    asked = {"name": HOSTILE[0], "groups": 2, "lost": 1, "invented": 0, "refused": HOSTILE[1]}
    figures = dict.fromkeys(
        ("relative_error", "within_bounds", "true_total", "estimated_total", "mean_relative_error")
    )
    workload = {"answered": 0, **figures, "queries": [{**asked, **figures}]}
    before = {
        "release": HOSTILE[2],
        "created": "x",
        "shared": 3,
        "smallest": None,
        "compared": False,
    }
    beside = {
        "k": 5,
        "found": [{**before, "reason": HOSTILE[3]}],
        "words": list(HOSTILE),
    }  # fmt: skip
    run = {
        "release": HOSTILE[0],
        "created": "x",
        "state": "published",
        "k": 5,
        "files": HOSTILE,
        "beside": beside,
    }
    results = {
        "check": check,
        "frontier": frontier,
        "workload": {"workload": workload},
        "releases": {"releases": [run]},
    }  # fmt: skip
    version = room.desk.sheet().version
    made = {what: Job(room.task(what), version) for what in results}
    for what, job in made.items():
        job.end("done", result=results[what])
    return made


def test_hostile_names_labels_and_words_script_nothing(browser: Browser) -> None:
    room = browser.room
    assert room.looked is not None
    own = [one["name"] for one in room.looked["columns"]]
    names = dict(zip(own, HOSTILE, strict=False))
    job = copy.copy(room.looking.last["look"])
    job.result = renamed(dict(room.looked), names)
    room.looking.last["look"] = job

    def rename(data: dict[str, Any]) -> None:
        columns = data["columns"]
        data["columns"] = {names[name]: columns[name] for name in own}
        data["columns"][HOSTILE[3]] = {
            "role": "quasi_identifier",
            "hierarchy": "suppress",
            "reason": HOSTILE[1],
        }

    room.desk.edit(browser.version, rename)
    assert room.desk.sheet().file is not None, room.desk.sheet().mistakes
    for name in ("columns", "levels", "tradeoff", "release", "ask"):
        page = Strict(browser.page(name))
        if name == "columns":
            assert set(HOSTILE[: len(own)]) <= {*page.texts}
        if name == "levels":
            assert set(HOSTILE) <= {*page.texts}
    browser.room.jobs.last |= worked(browser.room, [*names.values()])
    for name in ("tradeoff", "release"):
        assert set(HOSTILE[:4]) <= {*Strict(browser.page(name)).texts}, name
    answer = browser.send("role", column="99", role=HOSTILE[1])
    Strict(answer.text)
    job = browser.begun("query", page="ask", sql=f"SELECT {HOSTILE[3]}")
    assert job.state == "failed"
    Strict(browser.page("ask"))
    room.desk.path.write_text(f"release: {HOSTILE[0]}\nsource: [\n")
    Strict(browser.page())
