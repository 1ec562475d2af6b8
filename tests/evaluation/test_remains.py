"""What remains, in three sentences: every number recomputed from the released file alone."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
import tiers
import zoo

import dbdeid
from dbdeid.bind.read import read
from dbdeid.cli.text.release.verdict import released, verified
from dbdeid.commands.report import write_report
from dbdeid.evaluation import remains as counting
from dbdeid.external import record as external_record
from dbdeid.record.border import from_json, to_json
from dbdeid.report.content.remains import Sentences, sentences
from dbdeid.report.page import render

# What is counted by hand: the file that is given away, or its table where no file is written.
PUBLIC = "'public.parquet'" if tiers.full else "visits_public"
QI = ("age", "zip", "sex")
OPEN = ("score", "illness", "income")
SUPPRESS = {"role": "quasi_identifier", "hierarchy": "suppress"}
# 400 rows of 250 people; scores are rare, and some of them are one person's.
VISITS = """
CREATE TABLE visits AS SELECT
  i AS id, 1 + i * 7 % 250 AS pid, 20 + i * 7 % 250 * 13 % 50 AS age,
  CAST(10000 + i * 7 % 250 * 29 % 40 * 10 AS VARCHAR) AS zip,
  CASE WHEN i % 13 = 0 THEN NULL WHEN i * 7 % 250 % 2 = 0 THEN 'f' ELSE 'm' END AS sex,
  CAST(CASE WHEN i % 20 < 3 THEN 1000 + i ELSE i % 30 END AS INTEGER) AS score,
  ['asthma', 'flu', 'none', 'gout'][1 + (i * 5 + i // 9) % 4] AS illness,
  CASE WHEN 20 + i * 7 % 250 * 13 % 50 < 40 THEN 'low' ELSE ['mid', 'high'][1 + i % 2] END AS income
FROM range(400) AS r(i)
"""
TOWN = "CREATE TABLE town AS SELECT age, zip, sex FROM visits, range(4)"
POLICY = {"name": "policy", "search": "random_chain", "budget": 300, "choose": {"max_risk": 0.9}}
COPY = {"name": "full_domain", "transformation": {"age": 1, "zip": 1, "sex": 1}}
WHOLE = {"name": "full_domain", "transformation": {"age": 3, "zip": 3, "sex": 1}}
K = {"model": "k_anonymity", "k": 3}
METHODS: dict[str, dict[str, Any]] = {
    "full_domain": {"method": {"name": "full_domain", "suppression_limit": 0.1}},
    "kept": {"method": {"name": "full_domain", "suppression_limit": 0.1, "suppressed": "keep"}},
    "wildcard": {"method": COPY, "null_policy": "wildcard"},
    "local_recoding": {"method": {"name": "local_recoding"}},
    "policy": {"method": POLICY, "policy": True},
    "counterfeit": {
        "method": {"name": "counterfeit", "h": 0.6, "max_counterfeits": 0.5},
        "drop": ("illness", "score"),
    },
    "relocation": {"method": {"name": "relocation", "limit": 0.5}},
    "microaggregation": {"method": {"name": "microaggregation"}, "plain": True},
}
MODELS: dict[str, tuple[list[dict[str, Any]], dict[str, Any], str]] = {
    "l_diversity": (
        [{"model": "l_diversity", "column": "income", "l": 2}],
        WHOLE,
        "l = 2 of income",
    ),
    "t_closeness": ([{"model": "t_closeness", "column": "income", "t": 0.9}], COPY, "t = 0.9 of"),
    "alpha_k": (
        [{"model": "alpha_k", "column": "income", "k": 3, "alpha": 0.8}],
        WHOLE,
        "k = 3 on 3 columns with at most 80% of a class sharing a value of income",
    ),
    "basic_beta": ([{"model": "basic_beta", "column": "income", "beta": 9}], COPY, "basic β = 9"),
    "enhanced_beta": (
        [{"model": "enhanced_beta", "column": "income", "beta": 9}],
        WHOLE,
        "enhanced β = 9 of income",
    ),
    "delta_disclosure": (
        [{"model": "delta_disclosure", "column": "income", "delta": 2}],
        WHOLE,
        "δ = 2 of income",
    ),
    "em_anonymity": (
        [{"model": "em_anonymity", "column": "score", "epsilon": 5, "m": 2}],
        WHOLE,
        "at most 1 of 2 members of a class within ±5 of any value of score",
    ),
    "km_anonymity": (
        [{"model": "km_anonymity", "column": "illness", "k": 2, "m": 2}],
        WHOLE,
        "k = 2 on 3 columns and any 2 items of illness (k, kᵐ)",
    ),
    "k_map": (
        [{"model": "k_map", "k": 4, "population": "town"}],
        {"name": "full_domain", "transformation": {"age": 0, "zip": 0, "sex": 0}},
        "every class on 3 columns fits at least 4 people of a population",
    ),
    "delta_presence": (
        [{"model": "delta_presence", "max": 0.25, "population": "town"}],
        {"name": "full_domain", "transformation": {"age": 0, "zip": 0, "sex": 0}},
        "of the people of a population who fit a class on 3 columns, 0% to 25% are in it",
    ),
    "max_risk": (
        [{"model": "max_risk", "attacker": "prosecutor", "threshold": 0.5}],
        COPY,
        "risk of at most 50% on 3 columns from one who knows that a person is in the table",
    ),
    "max_risk_journalist": (
        [{"model": "max_risk", "attacker": "journalist", "threshold": 0.25, "population": "town"}],
        {"name": "full_domain", "transformation": {"age": 0, "zip": 0, "sex": 0}},
        "risk of at most 25% on 3 columns from one who looks for anyone of a population",
    ),
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    zoo.fill(ward)
    return tmp_path


def ward() -> None:
    with duckdb.connect("owner.duckdb") as con:
        con.execute(VISITS)
        con.execute(TOWN)


def spec(
    *,
    privacy: Sequence[dict[str, Any]] = (K,),
    drop: Sequence[str] = (),
    plain: bool = False,
    policy: bool = False,
    **more: Any,
) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "id": "drop",
        "pid": "drop",
        "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [10, 20]}},
        "zip": {"role": "quasi_identifier", "hierarchy": {"prefix": [3, 1]}},
        "sex": SUPPRESS,
        "score": {"role": "insensitive", "reason": "known in the ward only"},
        "illness": {"role": "sensitive", "accept": "homogeneity", "reason": "seen by the board"},
        "income": {"role": "sensitive", "accept": "homogeneity"},
    }
    if plain:
        columns |= dict.fromkeys(QI, "quasi_identifier")
    if policy:
        columns |= {
            "age": {"role": "quasi_identifier", "domain": [0, 109]},
            "zip": "drop",
            "sex": "drop",
        }
    columns |= dict.fromkeys(drop, "drop")
    return {
        "release": "visits_public",
        "database": "owner.duckdb",
        "source": "visits",
        "columns": columns,
        "privacy": list(privacy),
        "output": {"export": ["public.parquet"]} if tiers.full else {},
        "evaluate": {"metrics": []},  # the sentences tell of none
        "seed": 2**90,
        **({} if "subject" in more else {"accept": "rows"}),
    } | more


class File:
    """The released file, asked in plain SQL."""

    def __init__(self, rows: str, spec: dict[str, Any], whose: str | None = None) -> None:
        self.con = duckdb.connect("owner.duckdb", read_only=True)
        self.con.execute(f"CREATE TEMP TABLE f AS FROM {rows}")
        self.whose = whose
        found = [row[0] for row in self.con.execute("DESCRIBE f").fetchall()]
        self.names = [name for name in found if name != whose]
        roles = {n: c if isinstance(c, str) else c["role"] for n, c in spec["columns"].items()}
        roles |= {name: "class" for name in found if name not in roles}  # which tells of the keys
        self.keys = [n for n in self.names if roles[n] == "quasi_identifier"]
        self.open = [n for n in self.names if roles[n] in ("sensitive", "insensitive")]
        self.sensitive = [n for n in self.names if roles[n] == "sensitive"]
        self.rows = self.ask("SELECT count(*) FROM f")

    def __enter__(self) -> File:
        return self

    def __exit__(self, *_: object) -> None:
        self.con.close()

    def ask(self, sql: str) -> int:
        (found,) = self.con.execute(sql).fetchall()
        return int(found[0] or 0)

    def same(self, names: Sequence[str]) -> str:
        return " AND ".join(f"a.{name} IS NOT DISTINCT FROM b.{name}" for name in names)

    @property
    def all(self) -> int:
        counted = "*" if self.whose is None else f"DISTINCT {self.whose}"
        return self.ask(f"SELECT count({counted}) FROM f")

    def singled(self, names: Sequence[str]) -> int:
        """Records, or people, of whom a record is like nobody else's: each held against each."""
        if self.whose is None:
            other, counted = "a.rowid <> b.rowid", "count(*)"
        else:
            other, counted = f"a.{self.whose} <> b.{self.whose}", f"count(DISTINCT a.{self.whose})"
        return self.ask(
            f"SELECT {counted} FROM f AS a WHERE NOT EXISTS "
            f"(FROM f AS b WHERE {other} AND {self.same(names)})"
        )

    def certain(self, name: str) -> int:
        """Records whose class has one value of a column; of people, one that all of them have."""
        if self.whose is None:
            return self.ask(
                "SELECT count(*) FROM f AS a WHERE NOT EXISTS (FROM f AS b WHERE "
                f"{self.same(self.keys)} AND a.{name} IS DISTINCT FROM b.{name})"
            )
        own = self.same(self.keys)
        return self.ask(
            f"SELECT count(DISTINCT a.{self.whose}) FROM f AS a WHERE EXISTS (FROM f AS v WHERE "
            f"{own.replace('b.', 'v.')} AND NOT EXISTS (FROM f AS b WHERE {own} AND NOT EXISTS "
            f"(FROM f AS c WHERE c.{self.whose} = b.{self.whose} AND {own.replace('b.', 'c.')} "
            f"AND c.{name} IS NOT DISTINCT FROM v.{name})))"
        )


def figures(text: str) -> tuple[int, int, float]:
    """`12 of 400 records (3%)` as numbers."""
    found = re.search(
        r"([\d,]+) of ([\d,]+) (?:synthetic )?(?:records|people) \(>?([\d.]+)%\)", text
    )
    assert found is not None, text
    some, whole = (int(found[i].replace(",", "")) for i in (1, 2))
    return some, whole, float(found[3])


def require(text: str, some: int, whole: int) -> None:
    """A clause has these figures, and the share that they are."""
    told = figures(text)
    assert told[:2] == (some, whole)
    assert told[2] == pytest.approx(100 * some / whole, abs=0.051)


def judge(told: Sentences, file: File) -> None:
    """Every figure of what is not promised, held against the file."""
    clauses = list(told.not_promised)
    (unique,) = [c for c in clauses if "unique over all" in c]
    require(unique, file.singled(file.names), file.all)
    assert f"over all {len(file.names)} columns released" in unique
    for clause in [c for c in clauses if re.search("shares? the .* with (no other|nobody)", c)]:
        require(clause, file.singled(file.keys), file.all)
    (left,) = [c for c in clauses if " as it is" in c or " as they are" in c]
    together = file.singled(file.open)
    assert left.startswith(", ".join(file.open))
    if len(file.open) > 1:
        head, _, tail = left.partition(", together they single out ")
        require(tail, together, file.all)
        alone = {name: file.singled([name]) for name in file.open}
        found = re.search(r": (\w+) alone singles out (\d.*)", head)
        if found is None:
            assert "none alone singles out" in head
            assert not any(alone.values())
        else:
            require(found[2], alone[found[1]], file.all)
            assert alone[found[1]] == max(alone.values())
    elif together:
        require(left, together, file.all)
    else:
        assert "singles out no" in left
    for name in file.sensitive:
        many = file.certain(name)
        said = [c for c in clauses if f"learns {name} for certain" in c]
        assert len(said) == bool(many)
        for clause in said:
            found = re.match(
                r"for ([\d,]+) (?:records?|people|person), >?([\d.]+)%, anyone", clause
            )
            assert found is not None
            assert int(found[1].replace(",", "")) == many
            assert float(found[2]) == pytest.approx(100 * many / file.all, abs=0.051)


def first(text: str) -> list[str]:
    """The names of the first lines under a headline."""
    return [line[2:15].strip() for line in text.splitlines()[1:] if line[2:15].strip()]


@pytest.mark.full
@pytest.mark.parametrize("name", METHODS)
def test_the_figures_of_each_method_are_those_of_the_released_file(name: str) -> None:
    asked = spec(**METHODS[name])
    result = zoo.run(asked)
    told = sentences(result.record)
    with File(PUBLIC, asked) as file:
        judge(told, file)
        assert json.loads(json.dumps(result.to_dict()))["remains"]["records"] == file.rows
    text = released(result)
    assert [n for n in first(text) if n != "UNTRUTHFUL"][:3] == ["promised", "not promised", "use"]
    assert all(f" {clause}\n" in text for clauses in vars_of(told) for clause in clauses)
    counting_ = (
        "k = 3 counting counterfeits; prosecutor risk" if name == "counterfeit" else "k = 3 on "
    )
    assert told.promised[0].startswith(counting_)
    assert "each record counts as one person" in told.promised
    assert ("may be false" in text) == (name == "relocation")


def vars_of(told: Sentences) -> tuple[tuple[str, ...], ...]:
    return told.promised, told.not_promised, told.use


@pytest.mark.full
@pytest.mark.parametrize("name", MODELS)
def test_the_figures_under_each_model_are_those_of_the_released_file(name: str) -> None:
    models, method, words = MODELS[name]
    asked = spec(privacy=models, method={**method, "suppression_limit": 1.0})
    judged = models[0].get("column")
    if name == "km_anonymity":  # which asks for what many share, and not for several values
        asked["columns"][judged]["values"] = "as_written"
    elif judged:
        asked["columns"][judged] = "sensitive"
    result = dbdeid.run(asked)
    told = sentences(result.record)
    with File(PUBLIC, asked) as file:
        judge(told, file)
    assert told.promised[0].startswith(words)
    assert told.promised[0].endswith(": holds")
    by_model = [c for c in told.not_promised if "learns income for certain" in c]
    assert all(
        c.endswith("the models allow it" if judged == "income" else "accepted in the specification")
        for c in by_model
    )
    (board,) = [c for c in told.not_promised if "illness for certain" in c or "'s illness" in c]
    assert board.endswith(
        'accepted in the specification because "seen by the board"'
    ) or board.startswith("no rec")


@pytest.mark.full
def test_people_are_singled_out_where_they_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBDEID_PSEUDONYM_KEY", "5a5ef3c0f09b4cd18ba27aa8d7b11de5" * 2)
    asked = spec(subject="pid", method={"name": "full_domain", "suppression_limit": 0.2})
    asked["columns"]["pid"] = {"role": "identifier", "pseudonym": True}
    result = dbdeid.run(asked)
    told = sentences(result.record)
    with File(PUBLIC, asked, whose="pid") as file:
        judge(told, file)
    assert "people are counted, not records (pid says whose they are)" in told.promised
    assert "pid links the records of each person" in told.not_promised
    asked["columns"]["pid"] = "identifier"  # the public cannot tell whose records are
    hidden = dbdeid.run(asked)
    with File(PUBLIC, asked) as file:
        page = render(hidden.record, "public")
        unique = re.search(r"([\d,]+ of [\d,]+ \w+ \([\d.]+%\)) (?:is|are) unique over all", page)
        assert unique is not None
        require(unique[1], file.singled(file.names), file.rows)
    assert "people of" not in page


def test_synthetic_records_are_nobodys_and_their_copies_are_told() -> None:
    names = ("age", "sex", "score", "illness", "income")
    asked = spec(privacy=[{"model": "cluster_size", "k": 5}], method={"name": "condensation"})
    del asked["columns"]
    asked["columns"] = dict.fromkeys(("id", "pid", "zip"), "drop")
    asked["columns"] |= dict.fromkeys(names, "synthesize")
    result = dbdeid.run(asked)
    told = sentences(result.record)
    assert told.promised[0] == "each synthetic record is drawn from at least 5 real ones: holds"
    assert told.not_promised[0].startswith("no formal guarantee: the records are nobody's")
    with File(PUBLIC, asked) as file:
        (unique,) = [c for c in told.not_promised if "unique over all" in c]
        require(unique, file.singled(names), 400)
        listed = ", ".join(names)
        alone = f"SELECT {listed} FROM visits GROUP BY ALL HAVING count(*) = 1"
        number = file.ask(f"SELECT count(*) FROM ({alone})")
        copied = file.ask(f"SELECT count(*) FROM ({alone} INTERSECT SELECT {listed} FROM f)")
    assert f"{copied} of {number} unique real records" in told.not_promised[1]
    assert "a synthetic record may equal a real one" in render(result.record, "public")
    assert first(released(result))[:3] == ["promised", "not promised", "use"]


def test_a_view_promises_nothing_that_was_verified() -> None:
    asked = spec(method={"name": "full_domain", "suppression_limit": 0.1})
    asked["output"] = {"as": "view"}
    result = dbdeid.run(asked)
    told = sentences(result.record)
    assert told.promised[0] == "k = 3 on 3 columns: asked for, and not verified"
    with File("visits_public", asked) as file:
        judge(told, file)
    assert "  promises      not verified: internal preview" in released(result)


@pytest.mark.full
def test_a_release_made_elsewhere_is_counted_as_it_is() -> None:
    zoo.run(spec(method={"name": "full_domain", "suppression_limit": 0.1}))
    if not tiers.full:
        with duckdb.connect("owner.duckdb") as con:
            con.execute("COPY visits_public TO 'public.parquet'")
    asked = spec(method={"name": "external", "table": "public.parquet"}, privacy=[K | {"k": 50}])
    del asked["output"], asked["seed"]
    record = external_record.record(read(asked))
    told = sentences(record)
    with File(PUBLIC, asked) as file:
        judge(told, file)
        found = dbdeid.verify(asked)
        require(verified(found).splitlines()[1], file.singled(file.names), file.rows)
    assert re.match(r"k = 50 on 3 columns: FAILS, \d+ found", told.promised[0])
    assert verified(found).startswith("promises NOT verified")
    assert "✗</span> promises not verified" in render(record)


@pytest.mark.full
def test_the_use_is_told_with_what_was_not_answered(place: Path) -> None:
    asked = spec(method={"name": "full_domain", "suppression_limit": 0.1})
    none = sentences(zoo.run(asked).record).use
    assert none[1].startswith("query error not measured")
    (place / "a.sql").write_text("SELECT sex, count(*) FROM visits GROUP BY sex")
    (place / "b.sql").write_text("SELECT count(*) FROM visits WHERE pid = 3")
    result = dbdeid.run(asked | {"evaluate": {"queries": f"{place}/*.sql", "metrics": []}})
    use = sentences(result.record).use
    assert re.fullmatch(r"loss 0\.\d{4} \(0 none, 1 all\)", use[0])
    mean = result.record.queries.mean_relative_error
    found = re.fullmatch(
        r"mean query error ([\d.]+)% over 1 of 2 questions, 1 not answered", use[1]
    )
    assert found is not None
    assert float(found[1]) == pytest.approx(100 * mean, abs=0.051)
    with File(PUBLIC, asked) as file:
        if file.rows == 400:
            assert use[2] == "no record suppressed"
        else:
            require(use[2], 400 - file.rows, 400)


@pytest.mark.full
def test_pages_manifest_and_notebook_begin_with_the_three_sentences(place: Path) -> None:
    asked = spec(method={"name": "full_domain", "suppression_limit": 0.1})
    result = zoo.run(asked)
    Path("visits.json").write_text(json.dumps(asked))
    told = sentences(result.record).to_dict()
    for audience in ("internal", "public"):
        page = write_report(place / "visits.json", audience, place / f"{audience}.html").read_text()
        head = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.split("</header>")[0]))
        places = [head.index(f" {name} ") for name in ("Promised", "Not promised", "Use")]
        assert places == sorted(places)
        manifest = json.loads((place / f"{audience}.json").read_text())
        assert list(manifest["sentences"]) == ["promised", "not_promised", "use"]
        verdict = head.split("promises verified", 1)[1]
        when = r" on [\d-]+ [\d:]+ UTC" if audience == "internal" else ""  # of this verification
        unique = rf"{when} [\d.]+% of the records unique over all 6 columns released"
        assert re.match(unique, verdict)
        assert "accepted in the specification" not in head or audience == "internal"
        assert ("accepted by its owner" in head) == (audience == "public")
    assert json.loads((place / "internal.json").read_text())["sentences"] == told
    assert told["not_promised"].split("; ")[0] in result._repr_html_().replace("&#39;", "'")
    assert "promises verified" in result._repr_html_()


@pytest.mark.full
def test_the_bounds_of_intervals_are_told_among_the_columns() -> None:
    asked = spec(method={"name": "full_domain", "suppression_limit": 0.1})
    asked["output"]["bounds"] = True
    result = dbdeid.run(asked)
    assert (result.remains["columns"], result.remains["bounds"]) == (8, 2)
    (unique,) = [c for c in sentences(result.record).not_promised if "unique over all" in c]
    assert unique.endswith(
        "unique over all 8 columns released, 2 of which hold bounds of intervals"
    )
    with File(PUBLIC, asked) as file:
        judge(sentences(result.record), file)


def test_models_that_promise_nothing_are_told_so() -> None:
    models = [{"model": "t_closeness", "column": "income", "t": 1.0}, K]
    told = sentences(dbdeid.run(spec(privacy=models, method=WHOLE)).record)
    assert told.promised[0].startswith("t = 1 of income in each class, which protects nobody")


def test_cards_follow_the_declared_model() -> None:
    models, method, _ = MODELS["k_map"]
    record = dbdeid.run(spec(privacy=models, method=method)).record
    page = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", render(record)))
    people = duckdb.connect("owner.duckdb", read_only=True).execute(
        "SELECT min(n) FROM (SELECT count(*) AS n FROM town GROUP BY age, zip, sex)"
    )
    (fewest,) = people.fetchone() or (0,)
    assert f"Smallest population class {fewest} people fit each class" in page
    assert f"Highest journalist risk {100 / fewest:g}%" in page
    assert "Smallest class, not promised 1 " in page
    assert "Records at risk" not in page
    assert "The declared models do not limit this risk" in page
    assert "Smallest population class at least 4 " in re.sub(
        r"\s+", " ", re.sub(r"<[^>]+>", " ", render(record, "public"))
    )


@pytest.mark.full
def test_columns_that_were_not_counted_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MOST_COLUMNS", 1)
    result = dbdeid.run(spec(method={"name": "full_domain", "suppression_limit": 0.1}))
    (left,) = [c for c in sentences(result.record).not_promised if " as they are" in c]
    assert left.endswith("(not counted alone, for there are many: illness, income)")


@pytest.mark.full
def test_a_record_of_an_older_run_says_that_nothing_was_counted() -> None:
    result = zoo.run(spec(method={"name": "full_domain", "suppression_limit": 0.1}))
    kept = to_json(result.record)
    del kept["remains"]
    record = from_json(kept)
    told = sentences(record)
    assert told.not_promised == ("who is singled out by all released columns was not counted",)
    assert "promises verified" in render(record)
