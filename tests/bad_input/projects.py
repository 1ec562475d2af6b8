"""Projects: files that are broken, specs that do not go together, words that select nothing."""

from __future__ import annotations

import json
from typing import Any

from bad_input.place import SPEC
from bad_input.runner import Case


def spec(**changes: Any) -> str:
    """A good spec of a project, changed; it lies in a folder below the database."""
    places = {"database": "../owner.duckdb", "target": None}
    found = {**SPEC, **places, **changes}
    return json.dumps({key: value for key, value in found.items() if value is not None})


ONE = {"releases/people_public.yml": spec()}


def project(
    name: str,
    text: str | bytes,
    place: str,
    hint: str,
    *words: str,
    specs: dict[str, str] | None = None,
) -> Case:
    return Case(
        name=name,
        words=words or ("run",),
        place=place,
        hint=hint,
        spec=None,
        files={"dbdeid.yml": text, **(ONE if specs is None else specs)},
    )


def two(**changes: Any) -> dict[str, str]:
    """Two releases, the second changed."""
    return ONE | {"releases/b.yml": spec(**{"release": "b", **changes})}


FILES = (
    project("no YAML", "database: [", "dbdeid.yml", "bracket is not closed"),
    project("a list", "- database: a.duckdb", "a mapping of keys", "hospital.duckdb"),
    project("not UTF-8", b"\xff\xfe\x00", "not UTF-8", "YAML file"),
    project("a repeated key", "database: a\ndatabase: b", "line 2", "keep one"),
    project("a misspelt key", "databse: owner.duckdb", "line 1: databse", "'database'"),
    project("a key of a spec", "privacy: []", "line 1: privacy", "under `defaults`"),
    project("a spec", "release: a", "no project", "another name"),
    project("a misspelt default", "defaults: {metod: full_domain}", "defaults.metod", "'method'"),
    project("a default of one", "defaults: {release: a}", "defaults.release", "in the spec"),
    project("a default beside", "defaults: {database: a}", "defaults.database", "beside"),
    project("a bad default", "defaults: {seed: -1}", "dbdeid.yml: defaults.seed", "seed: 7"),
    project("one target for all", "target: all.duckdb", "target", "{release}"),
    project("a misspelt path", "paths: {query: q}", "paths.query", "'queries'"),
    project("releases elsewhere", "paths: {releases: ..}", "paths.releases", "above the folder"),
    project("a number for a path", "paths: {docs: 7}", "paths.docs", "in quotes"),
    project("no folder", "paths: {releases: nowhere}", "'nowhere' is not there", "make it"),
    project("an empty folder", "", "no spec in 'releases'", "init", specs={"releases/x.txt": ""}),
    project(
        "a bad default told by verify",
        "defaults: {seed: -1}",
        "dbdeid.yml: defaults.seed",
        "seed: 7",
        *("verify", "releases/people_public.yml"),
    ),
)

SPECS = (
    project("one name", "", "have one name", "name of its own", specs=two(release="PEOPLE_public")),
    project(
        "one file",
        "",
        "both write the file out.csv",
        "of its own",
        specs={
            f"releases/{name}.yml": spec(release=name, output={"export": ["../out.csv"]})
            for name in "ab"
        },
    ),
    project(
        "unknown dependency", "", "'people'", "'people_public'?", specs=two(depends_on=["people"])
    ),
    project("on itself", "", "circle: b → b", "depends_on", specs=two(depends_on=["b"])),
    project(
        "a circle",
        "",
        "in a circle",
        "depends_on",
        specs={
            "releases/a.yml": spec(release="a", depends_on=["b"]),
            "releases/b.yml": spec(release="b", depends_on=["a"]),
        },
    ),
    project("a tag of blanks", "", "tags[0]", "tags: [weekly", specs=two(tags=["a b"])),
    project("tags that are text", "", "tags: expects a list", "[a, b]", specs=two(tags="a")),
    project("an unknown metric", "", "expect.los", "'loss'?", specs=two(expect={"los": "< 1"})),
    project("no threshold", "", "expect.loss", '"< 0.3"', specs=two(expect={"loss": "30%"})),
    project(
        "an expectation of a view",
        "",
        "expect.loss",
        "as a table",
        specs=two(expect={"loss": "< 1"}, output={"as": "view"}),
    ),
    project(
        "mistakes in two specs",
        "",
        "2 specs of the project have mistakes",
        "'method'",
        specs={"releases/a.yml": spec(metod=1), "releases/b.yml": "release: ["},
    ),
    project(
        "a release that would be lost",
        "",
        "nothing would remain",
        "`target` or a `database`",
        specs={"releases/a.yml": spec(database=None, source="../people.csv")},
    ),
)

WORDS = (
    *(
        project(f"run --select {word}", "", place, hint, "run", "--select", word)
        for word, place, hint in (
            ("people", "no release 'people'", "'people_public'?"),
            ("tag:weekly", "the tag 'weekly'", "tags: [weekly]"),
            ("tagg:weekly", "'tagg:weekly'", "'tag'?"),
            ("state:old", "state 'old'", "state:modified"),
            ("result:failed", "no results of a run", "run the project first"),
            ("result:broken", "result 'broken'", "failed"),
            ("spec/x.yml", "lies at 'spec/x.yml'", "releases/people_public.yml"),
            ("++", "selects nothing", "+visits_public"),
            ("", "says nothing", "tag:weekly"),
        )
    ),
    project("test an unknown release", "", "no release 'x'", "Known", "test", "--exclude", "x"),
    project("a folder without project", "", "nowhere: no dbdeid.yml", "dbdeid.yml", "docs", "--project", "nowhere"),
    project(
        "both a spec and words", "", "without SPEC", "--select",
        *("run", "releases/people_public.yml", "--select", "people_public"),
    ),
    project(
        "a site where others have a page", "", "index.html", "-o", "docs", "-o", "site",
        specs=ONE | {"site/index.html": "<h1>mine</h1>"},
    ),
    project(
        "results that are no results", "", "run_results.json is no document", "remove it",
        *("run", "--select", "result:failed"), specs=ONE | {"results/run_results.json": "[]"},
    ),
    Case(name="no project", words=("test",), place="no dbdeid.yml", hint="beside the folder", spec=None),
)  # fmt: skip

CASES = FILES + SPECS + WORDS
