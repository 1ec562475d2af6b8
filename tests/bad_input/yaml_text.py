"""The text of a specification: what YAML makes of it, and what it must not."""

from __future__ import annotations

import json

from bad_input.place import SPEC, changed
from bad_input.runner import Case

HEAD = """release: people_public
database: owner.duckdb
source: people
privacy: [{model: k_anonymity, k: 2}]
method: {name: full_domain, suppression_limit: 0.1}
"""
COLUMNS = """columns:
  name: identifier
  age: {role: quasi_identifier, hierarchy: {intervals: [10, 20]}}
  zip: {role: quasi_identifier, hierarchy: {prefix: [3, 1]}}
  sex: {role: quasi_identifier, hierarchy: suppress}
  illness, wage: {role: sensitive, accept: homogeneity}
"""
GOOD = HEAD + COLUMNS

LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9)
)
QUADRATIC = "a: &a [" + "x, " * 1000 + "x]\nb: [" + "*a, " * 1000 + "*a]\n"

REFUSED = tuple(
    Case(name=name, spec=text, place=place, hint=hint)
    for name, text, place, hint in (
        ("empty", "", "a mapping of keys", "start with `release:"),
        ("only blanks", "  \n\n  ", "a mapping of keys", "start with `release:"),
        ("only a comment", "# nothing\n", "a mapping of keys", "start with `release:"),
        ("only an end", "---\n...\n", "a mapping of keys", "start with `release:"),
        ("a list", "- a\n- b\n", "a mapping of keys", "start with `release:"),
        ("a text", "release", "a mapping of keys", "start with `release:"),
        ("a number", "7", "a mapping of keys", "start with `release:"),
        ("null", "~", "a mapping of keys", "start with `release:"),
        ("two documents", GOOD + "---\n" + GOOD, "line 12", "one"),
        ("YAML 1.1", "%YAML 1.1\n---\n" + GOOD, "line 1: a spec is YAML 1.2", "%YAML"),
        (
            "an unknown directive",
            "%TAG ! tag:x,2000:\n---\n" + GOOD.replace("2}", "!k 2}"),
            "k",
            "k: 5",
        ),
        ("tabs", "release: r\ncolumns:\n\tage: drop\n", "line 3", "tabs are not allowed"),
        ("a bad indentation", "release: r\n database: x\n", "line 2", "indentation"),
        ("an open brace", GOOD.replace("]\nmethod", "\nmethod"), "line 5", "not closed"),
        ("an open quote", GOOD.replace("source: people", "source: 'people"), "line ", "quote"),
        (
            "a repeated key",
            GOOD + "release: again\n",
            "line 12: the key 'release' is repeated",
            "keep one",
        ),
        (
            "a repeated column",
            GOOD + "  age: drop\n",
            "line 12: the key 'age' is repeated",
            "keep one",
        ),
        (
            "a repeated key in braces",
            GOOD.replace("k: 2}", "k: 2, k: 3}"),
            "line 4: the key 'k' is repeated",
            "keep one",
        ),
        (
            "a repeated key in JSON",
            '{"release": "a", "release": "b"}',
            "'release' is repeated",
            "keep one",
        ),
        (
            "a key repeated by a merge",
            GOOD.replace("  age: {", "  sex2: &q {role: drop}\n  age: {<<: *q, "),
            "columns",
            "Known",
        ),
        (
            "an alias of nothing",
            GOOD.replace("source: people", "source: *people"),
            "line 3",
            "anchor",
        ),
        (
            "an alias of itself",
            "release: &a [*a]\n",
            "line 1: release: expects text",
            "as in `release: visits_public`",
        ),
        (
            "a mapping that holds itself",
            "columns: &a {age: *a}\n",
            "line 1: columns.age: expects a mapping",
            "{key: value}",
        ),
        ("billion laughs", LAUGHS + GOOD, "unfolds into too much", "few anchors"),
        ("quadratic laughs", QUADRATIC + GOOD, "unfolds into too much", "few anchors"),
        (
            "thousands of merges",
            "a: &a {b: 1}\n" + "".join(f"k{i}: {{<<: *a}}\n" for i in range(8000)),
            "unfolds into too much",
            "few anchors",
        ),
        (
            "an object of Python",
            "release: !!python/object/apply:os.system ['touch owned']\n",
            "line 1: release: expects text",
            "as in `release: visits_public`",
        ),
        (
            "a module of Python",
            "!!python/object/new:os.system [touch owned]",
            "a mapping of keys",
            "start with",
        ),
        (
            "a tag of our own",
            GOOD.replace("full_domain,", "!x full_domain,"),
            "line 5: method.name",
            "full_domain",
        ),
        ("a set", GOOD + "more: !!set {a, b}\n", "more", "Known"),
        ("binary", GOOD + "more: !!binary aGk=\n", "more", "Known"),
        (
            "a timestamp as release",
            GOOD.replace("people_public", "2020-01-01"),
            "line 1: release",
            "in quotes",
        ),
        ("NO as release", GOOD.replace("people_public", "NO WAY"), "line 1: release", "release: "),
        ("on as bounds", GOOD + "output: {bounds: on}\n", "output.bounds", "bounds: true"),
        ("NO as bounds", GOOD + "output: {bounds: NO}\n", "output.bounds", "bounds: true"),
        ("yes as bounds", GOOD + "output: {bounds: yes}\n", "output.bounds", "bounds: true"),
        ("12:30 as k", GOOD.replace("k: 2", "k: 12:30"), "privacy[0].k", "k: 5"),
        ("1e3 as k", GOOD.replace("k: 2", "k: 1e3"), "privacy[0].k", "k: 5"),
        (".inf as k", GOOD.replace("k: 2", "k: .inf"), "privacy[0].k", "k: 5"),
        (".nan as limit", GOOD.replace("0.1", ".nan"), "method.suppression_limit", "0.05"),
        ("-.inf as limit", GOOD.replace("0.1", "-.inf"), "method.suppression_limit", "0.05"),
        ("a date as k", GOOD.replace("k: 2", "k: 2020-01-01"), "privacy[0].k", "k: 5"),
        (
            "a date as width",
            GOOD.replace("[10, 20]", "[2020-01-01]"),
            "columns.age.hierarchy.intervals[0]",
            "[5, 10",
        ),
        ("0o17 as limit", GOOD.replace("0.1", "0o17"), "method.suppression_limit", "0.05"),
        ("a NUL", GOOD.replace("people_public", "a\0b"), "line 1: not valid YAML", "plain text"),
        ("a bell", GOOD + "x: \a\n", "line 12: not valid YAML", "plain text"),
        (
            "an escaped NUL",
            GOOD.replace("people_public", '"a\\0b"'),
            "line 1: release",
            "release: ",
        ),
        (
            "an escaped NUL in source",
            GOOD.replace("source: people", 'source: "a\\0b"'),
            "line 3: source",
            "source: ",
        ),
        (
            "a lone surrogate in JSON",
            json.dumps({**SPEC, "source": "a\ud800b"}),
            "source",
            "source",
        ),
        (
            "a lone surrogate as a column",
            json.dumps(changed({"columns/\ud800": "drop"})),
            "line 1: columns",
            "Known: age",
        ),
        (
            "3,000 brackets",
            "release: " + "[" * 3000 + "]" * 3000,
            "nested too deeply",
            "no deep nesting",
        ),
        (
            "3,000 braces in JSON",
            '{"a":' * 3000 + "1" + "}" * 3000,
            "not valid YAML",
            "deep nesting",
        ),
        (
            "30 levels",
            "a: " + "[" * 30 + "]" * 30 + "\n" + GOOD,
            "nested too deeply",
            "no deep nesting",
        ),
        (
            "5,000 digits",
            GOOD.replace("k: 2", "k: " + "9" * 5000),
            "not valid YAML",
            "thousands of digits",
        ),
        (
            "30,000 columns in braces",
            HEAD + "columns: {" + "".join(f"c{i}: drop, " for i in range(10_000)) + "}",
            "line 6: columns: no column",
            "quasi_identifier",
        ),
        (
            "a backslash in quotes",
            GOOD.replace("owner.duckdb", '"C:\\x.duckdb"'),
            "line 2",
            "single quotes",
        ),
        ("an at sign", GOOD.replace("source: people", "source: @people"), "line 3", "in quotes"),
        (
            "no blank after a colon",
            GOOD.replace("source: people", "source:people"),
            "line 4",
            "colon and a blank",
        ),
        (
            "JSON with a comma too many",
            '{"release": "a",, }',
            "line 1: not valid YAML",
            "a comma too many",
        ),
        (
            "HTML",
            "<!doctype html>\n<html><body>404: not found</body></html>\n",
            "line 2: not valid YAML",
            "indentation",
        ),
        ("SQL", "SELECT 1;\nSELECT 2;\n", "a mapping of keys", "start with"),
        ("a key that is a list", GOOD + "? [a, b]\n: 1\n", "unknown key", "Known"),
        ("a key that is null", GOOD + "~: 1\n", "unknown key 'null'", "Known"),
        (
            "latin-1",
            GOOD.replace("source: people", "source: gr\xf6\xdfe").encode("latin-1"),
            "spec.yml: 1 mistake",
            "YAML file",
        ),
        ("UTF-16", GOOD.encode("utf-16"), "spec.yml: 1 mistake", "YAML file"),
        ("random bytes", bytes(range(256)) * 20, "spec.yml: 1 mistake", "YAML file"),
        ("a gzip file", b"\x1f\x8b\x08\x00" + bytes(100), "spec.yml: 1 mistake", "YAML file"),
        ("10 MB", GOOD + "# " + "x" * 10_000_000, "spec.yml: 1 mistake", "hierarchy files"),
        ("10 MB of brackets", "[" * 10_000_000, "spec.yml: 1 mistake", "hierarchy files"),
        (
            "300 kB of columns",
            HEAD + "columns:\n" + "".join(f"  c{i}: drop\n" for i in range(25_000)),
            "spec.yml: 1 mistake",
            "hierarchy files",
        ),
    )
)

LEGAL = tuple(
    Case(name=name, code=0, words=("check", "spec.yml"), spec=text, says=("fits its data",))
    for name, text in (
        ("a byte order mark", b"\xef\xbb\xbf" + GOOD.encode()),
        ("CRLF", GOOD.replace("\n", "\r\n")),
        ("CR alone", GOOD.replace("\n", "\r")),
        ("an end of document", "---\n" + GOOD + "...\n"),
        ("YAML 1.2", "%YAML 1.2\n---\n" + GOOD),
        (
            "anchors and merges",
            GOOD.replace(
                "  illness, wage: {role: sensitive, accept: homogeneity}",
                "  illness: &s {role: sensitive, accept: homogeneity}\n  wage: {<<: *s}",
            ),
        ),
        ("0x2 as k", GOOD.replace("k: 2", "k: 0x2")),
        ("1e-1 as limit", GOOD.replace("0.1", "1e-1")),
        ("no newline at the end", GOOD.rstrip("\n")),
        ("JSON", json.dumps(changed({"target": None}))),
        (
            "NO and on as values",
            GOOD.replace("hierarchy: suppress", "hierarchy: {groups: [{NO: [f], on: [m]}]}"),
        ),
    )
)

CASES = (*REFUSED, *LEGAL)
