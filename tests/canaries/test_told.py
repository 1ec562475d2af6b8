"""What dbdeid tells while it works: documents, logs and errors quote no cell of the source.

What commands print, the internal report and the logs stay with the owner; they hold labels, levels
and counts of the original, and even so no cell of it. `--show-values` alone prints values, and only
those of quasi-identifiers.
"""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
import tiers
from typer.testing import CliRunner

import dbdeid
from canaries.conftest import SEEDS, Tally
from canaries.datasets import DATABASE, SPEC, TARGET, Dataset, every_type
from canaries.planting import IDENTIFIER, SUPPRESSED
from canaries.releases import KEY
from canaries.scanner import Scanner
from dbdeid.cli.app import app
from dbdeid.commands.report import write_report
from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.session import Settings
from dbdeid.methods.full_domain import full_domain
from dbdeid.publish import copying
from dbdeid.release import record

Scan = Callable[..., Scanner]
Change = Callable[[dict[str, Any]], None]


def told(error: BaseException) -> str:
    """All that a program could print of an error, and of what it carries along."""
    parts = traceback.format_exception(error)
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        parts += [str(one), repr(one), repr(one.args), repr(getattr(one, "__notes__", ""))]
        waiting += [one.__cause__, one.__context__]
    return "\n".join(parts)


@dataclass(frozen=True)
class Place:
    """A source to release or to fail on, and where it is."""

    dataset: Dataset
    folder: Path

    def spec(self, **changes: Any) -> Path:
        """The dataset's spec with changes; it would write a CSV file."""
        written = {"output": {"export": ["out.csv"]}}
        spec = {**deepcopy(self.dataset.spec()), **written, **changes}
        path = self.folder / "failing.yml"
        path.write_text(json.dumps(spec, ensure_ascii=False), encoding="utf-8")
        return path


@pytest.fixture(scope="module")
def dataset(shared: Path) -> Dataset:
    return every_type(SEEDS[0], shared)


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory: pytest.TempPathFactory, dataset: Dataset) -> Place:
    """A source to release, with exports."""
    folder = tmp_path_factory.mktemp("told of") / "source"
    exports = tiers.some(["public.csv", "public.parquet", "export.duckdb"], 3)
    dataset.write(folder, dataset.spec() | {"output": {"export": exports}})
    return Place(dataset, folder)


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Callable[[], str]:
    """Everything that any logger says, down to the last detail."""
    caplog.set_level(logging.DEBUG)
    for name in ("dbdeid", "sqlglot"):
        caplog.set_level(logging.DEBUG, logger=name)
    return lambda: "\n".join(f"{r.getMessage()} {r.exc_text or ''}" for r in caplog.records)


# -- what commands print -----------------------------------------------------------------------

COMMANDS = {
    "run": ["run", "{spec}", "--json", "-vv"],
    "run-explain": ["run", "{spec}", "--explain", "-v"],
    "check": ["check", "{spec}"],
    "check-json": ["check", "{spec}", "--json"],
    "verify": ["verify", "{spec}", "--json", "-vv"],
    "evaluate": ["evaluate", "{spec}", "--json", "-vv"],
    "list": ["list", "{folder}/public.duckdb", "--json"],
    "init": ["init", "{folder}/owner.duckdb", "source"],
    "export": ["export", "{spec}", "{folder}/again.csv", "--json"],
    "internal report": ["report", "{spec}", "-o", "{folder}/internal.html"],
    "search": ["search", "{spec}", "--json", "-vv", "-o", "{folder}/search.html"],
    "search of demands": ["search", "{spec}", "--k", "2,3", "-o", "{folder}/search.html"],
    "risk": ["risk", "{folder}/owner.duckdb", "source", "--qi", "code", "--qi", "kind", "--json"],
    "risk of sensitive columns": [
        *("risk", "{folder}/owner.duckdb", "source", "--qi", "code", "--qi", "kind", "-vv"),
        *("--sensitive", "illness", "--sensitive", "amount", "--special-uniques", "2"),
        *("--sampling-fraction", "0.1"),
    ],
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_print_no_cell(
    name: str,
    laid_out: Place,
    scan: Scan,
    logged: Callable[[], str],
    tally: Tally,
) -> None:
    made = laid_out
    if name != "run" and not (made.folder / TARGET).exists():
        dbdeid.run(made.folder / SPEC)
    where = {"spec": str(made.folder / SPEC), "folder": str(made.folder)}
    found = CliRunner().invoke(app, [word.format(**where) for word in COMMANDS[name]])
    assert found.exit_code == 0, found.output
    text = found.output + found.stderr + logged()
    for extra in ("internal.html", "search.html", "again.csv", "again_dictionary.csv"):
        path = made.folder / extra
        if path.exists():
            text += path.read_text("utf-8")
            path.unlink()
    assert scan(made.dataset.canaries).search(name, text.encode()) == []
    tally.told += 1


# -- errors ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, dataset: Dataset) -> Place:
    folder = tmp_path_factory.mktemp("failing") / "source"
    dataset.write(folder, dataset.spec())
    with duckdb.connect(str(folder / DATABASE)) as con:
        con.execute(f"COPY source TO '{folder / 'ragged.csv'}'")
        for name in ("whole", "broken"):
            con.execute(f"COPY source TO '{folder / name}.parquet'")
    lines = (folder / "ragged.csv").read_text("utf-8").split("\n")
    lines[301] += ',"unexpected, and never closed'
    (folder / "ragged.csv").write_text("\n".join(lines), encoding="utf-8")
    data = (folder / "broken.parquet").read_bytes()
    middle = len(data) // 2
    (folder / "broken.parquet").write_bytes(data[:middle] + bytes(64) + data[middle + 64 :])
    return Place(dataset, folder)


def _sql(replaced: str, rest: str = "") -> dict[str, Any]:
    return {"source": {"sql": f"SELECT * REPLACE ({replaced}) FROM source {rest}", "name": "s"}}


QUERIES = {
    "cast of an identifier": _sql("CAST(name AS INTEGER) AS name"),
    "cast of a sensitive cell": _sql("CAST(illness AS INTEGER) AS illness"),
    "cast to an enumeration": _sql("CAST(illness AS ENUM ('flu')) AS illness"),
    "cast in a condition": _sql("region AS region", "WHERE CAST(code AS INTEGER) > 3"),
    "number out of range": _sql("(ssn * 1000000000000)::BIGINT AS paid"),
    "error of the owner's": _sql("CAST(error('patient ' || name || illness) AS TEXT) AS region"),
    "date of a text": _sql("strptime(coalesce(illness, 'x'), '%Y-%m-%d') AS at"),
    "JSON of a text": _sql("(illness::JSON ->> 'x') AS illness"),
    "pattern from a cell": _sql("regexp_replace(region, '(' || name, '') AS region"),
    "sum of an enumeration": _sql("sum(doctor) OVER () AS region"),
    "part of an enumeration": _sql("date_part('year', kind) AS region"),
    "rows that change": _sql("CASE WHEN random() < 0.5 THEN 'flu' ELSE illness END AS illness"),
    "infinite number": _sql("CASE WHEN flag IS NULL THEN 'inf' ELSE weight END::DOUBLE AS weight"),
    "far date": _sql("CASE WHEN flag IS NULL THEN '9999-12-31' ELSE born END::DATE AS born"),
    "identifiers that repeat": _sql("left(name, 1) AS name, 7 AS ssn"),
    "list of enumerations": _sql("[kind] AS kind"),
    "nested enumerations": _sql("{'a': [doctor], 'b': kind} AS region"),
    "ragged CSV": {"source": "ragged.csv"},
    "broken Parquet": {"source": "broken.parquet"},
}


def _column(name: str, **keys: Any) -> Change:
    def change(spec: dict[str, Any]) -> None:
        spec["columns"][name] = {"role": "quasi_identifier", **keys}

    return change


def _set(**keys: Any) -> Change:
    return lambda spec: spec.update(keys)


def _without_roles(spec: dict[str, Any]) -> None:
    for key in ("doctor, photo, nested", "kind", "remark"):
        del spec["columns"][key]


def _unanswered(spec: dict[str, Any]) -> None:
    spec["columns"]["score, paid, until, at"] = "insensitive"
    spec["columns"]["illness"] = "sensitive"


def _released_enumeration(spec: dict[str, Any]) -> None:
    spec["columns"] |= {"doctor, photo, nested": "insensitive"}


def _pseudonyms(**source: Any) -> Change:
    def change(spec: dict[str, Any]) -> None:
        spec |= source | {"subject": "ssn"}
        del spec["columns"]["name, ssn, device"]
        spec["columns"] |= {
            "name": {"role": "identifier", "pseudonym": True},
            "ssn, device": "identifier",
        }

    return change


SPECS: dict[str, Change] = {
    "pseudonyms of several subjects": _pseudonyms(**_sql("left(name, 1) AS name")),
    "pseudonyms of nothing": _pseudonyms(**_sql("CASE WHEN flag THEN name END AS name")),
    "records of nobody": _pseudonyms(**_sql("CASE WHEN flag THEN ssn END AS ssn")),
    "sets of classes that nobody shares": _pseudonyms(
        **_sql("CASE WHEN flag THEN 1 ELSE ssn END AS ssn"),
        privacy=[{"model": "k_anonymity", "k": 500}],
    ),
    "values without a leaf": _column("code", hierarchy={"groups": [{"x": ["a"], "y": ["b"]}]}),
    "members without a leaf": _column("kind", hierarchy={"groups": [{"x": ["a"], "y": ["b"]}]}),
    "intervals of an enumeration": _column("kind", hierarchy={"intervals": [10]}),
    "dates of an enumeration": _column("kind", hierarchy={"dates": ["year"]}),
    "intervals of text": _column("code", hierarchy={"intervals": [10]}),
    "columns without a role": _without_roles,
    "questions unanswered": _unanswered,
    "types that cannot be released": _released_enumeration,
    "k larger than the table": _set(privacy=[{"model": "k_anonymity", "k": 5000}]),
    "no record to suppress": _set(method={"name": "full_domain", "suppression_limit": 0}),
    "a level too high": _set(method={"name": "full_domain", "transformation": {"code": 9}}),
}

ERRORS: dict[str, Change] = {
    **{name: _set(**changes) for name, changes in QUERIES.items()},
    **SPECS,
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", ERRORS)
def test_errors_quote_no_cell(
    name: str,
    place: Place,
    scan: Scan,
    logged: Callable[[], str],
    tally: Tally,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DBDEID_PSEUDONYM_KEY", KEY)
    spec = deepcopy(place.dataset.spec())
    ERRORS[name](spec)
    with pytest.raises(dbdeid.DbdeidError) as raised:
        dbdeid.run(place.spec(**spec))
    text = told(raised.value) + logged()
    assert scan(place.dataset.canaries).search(name, text.encode()) == []
    assert not list(place.folder.glob("*out*"))
    tally.told += 1


def test_too_little_memory_quotes_no_cell(place: Place, scan: Scan, tally: Tally) -> None:
    with pytest.raises(dbdeid.DbdeidError) as raised:
        dbdeid.run(place.spec(), settings=Settings(memory_limit="2MB"))
    assert scan(place.dataset.canaries).search("memory", told(raised.value).encode()) == []
    tally.told += 1


# Changes to what was staged, before it is verified. `cell` is a value of the source.
MUTANTS = {
    "a cell in the release": "UPDATE deid_staged SET code = '{cell}' WHERE rowid < 3",
    "a cell in another column": "UPDATE deid_staged SET illness = '{cell}' WHERE rowid = 1",
    "a cell in the dictionary": "UPDATE deid_dictionary SET released_value = '{cell}' "
    "WHERE rowid = 0",
    "leaves in the dictionary": "UPDATE deid_dictionary SET leaves = ['{cell}']",
    "a column that is too many": "ALTER TABLE deid_staged ADD COLUMN name VARCHAR DEFAULT '{cell}'",
    "a column that carries members": "ALTER TABLE deid_staged ALTER illness "
    "TYPE ENUM ('flu', 'gout', '{cell}')",
    "a comment": "COMMENT ON COLUMN deid_staged.code IS '{cell}'",
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", MUTANTS)
def test_failed_verifications_quote_no_cell(
    name: str,
    place: Place,
    scan: Scan,
    logged: Callable[[], str],
    tally: Tally,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cell = str(place.dataset.rows[5]["code"]).replace("'", "''")
    write = full_domain.write

    def mutated(session: Session, *rest: Any) -> Any:
        written = write(session, *rest)
        session.cursor.execute(MUTANTS[name].format(cell=cell))  # not logged: the test's own
        released, dictionary = written.released.name, written.dictionary.name
        return replace(
            written, released=session.temp(released), dictionary=session.temp(dictionary)
        )

    monkeypatch.setattr(full_domain, "write", mutated)
    with pytest.raises(dbdeid.VerificationError) as raised:
        dbdeid.run(place.spec())
    text = told(raised.value) + logged()
    assert scan(place.dataset.canaries).search(name, text.encode()) == []
    tally.told += 1


def test_a_file_that_fails_after_reopening_quotes_no_cell(
    place: Place, scan: Scan, tally: Tally, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leaking(session: Session, table: Any, path: Path) -> None:
        session.execute(f"COPY (SELECT * EXCLUDE (photo, nested) FROM source) TO '{path}'")

    monkeypatch.setattr(copying, "copy", leaking)
    with pytest.raises(dbdeid.VerificationError) as raised:
        dbdeid.run(place.spec(evaluate={"metrics": []}))
    found = scan(place.dataset.canaries).search("file", told(raised.value).encode())
    assert found == []
    assert not list(place.folder.glob("*out*"))
    tally.told += 1


def test_queries_quote_no_cell(
    place: Place, scan: Scan, logged: Callable[[], str], tally: Tally
) -> None:
    queries = place.folder / "queries"
    queries.mkdir()
    for number, select in enumerate(
        (
            "SELECT region, count(*) AS n FROM source GROUP BY region",
            "SELECT kind, illness, count(*) AS n FROM source WHERE weight < 100 GROUP BY ALL",
            "SELECT count(*) AS n FROM source WHERE CAST(illness AS INTEGER) = 3",
            "SELECT count(*) AS n FROM source WHERE name LIKE 'A%'",
            "SELECT max(amount) AS n FROM source",
        )
    ):
        (queries / f"{number}.sql").write_text(select)
    own = {"release": "asked", "target": "asked.duckdb", "output": {}}
    spec = place.spec(**own, evaluate={"queries": "queries/*.sql", "metrics": []})
    result = dbdeid.run(spec)
    pages = [write_report(spec, audience).read_text("utf-8") for audience in ("internal", "public")]
    text = "\n".join([*pages, str(result.to_dict()), str(dbdeid.evaluate(spec)), logged()])
    assert scan(place.dataset.canaries).search("queries", text.encode()) == []
    for path in (*place.folder.glob("*out*"), *place.folder.glob("asked*duckdb")):
        path.unlink()
    tally.told += 1


# -- errors in SQL and on the command line -----------------------------------------------------


def test_show_values_names_quasi_identifiers_only(place: Place, scan: Scan, tally: Tally) -> None:
    spec = deepcopy(place.dataset.spec())
    SPECS["values without a leaf"](spec)
    path = str(place.spec(**spec))
    plain = CliRunner().invoke(app, ["run", path, "-vv", "--json"])
    assert plain.exit_code == 2
    assert scan(place.dataset.canaries).search("", (plain.output + plain.stderr).encode()) == []
    shown = CliRunner().invoke(app, ["run", path, "--show-values"])
    text = (shown.output + shown.stderr).encode()
    withheld = [c for c in place.dataset.canaries if c.why in (IDENTIFIER, SUPPRESSED)]
    assert scan(withheld).search("", text) == []
    assert scan(place.dataset.canaries).search("", text) != []
    tally.told += 2


def test_a_defect_tells_its_kind_and_place_only(
    place: Place,
    scan: Scan,
    logged: Callable[[], str],
    tally: Tally,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def defect(*_: Any, **__: Any) -> None:
        raise RuntimeError(f"could not convert {place.dataset.rows[0]['name']}")

    monkeypatch.setattr(record, "record_of", defect)
    found = CliRunner().invoke(app, ["run", str(place.spec(evaluate={"metrics": []})), "-vv"])
    assert found.exit_code == 1
    text = found.output + found.stderr + logged()
    assert "RuntimeError" in text
    assert "in defect" in text
    assert scan(place.dataset.canaries).search("", text.encode()) == []
    tally.told += 1


@pytest.mark.parametrize(
    "name",
    [
        *("cast of an identifier", "values without a leaf"),
        pytest.param("rows that change", marks=pytest.mark.full),
    ],
)
def test_errors_of_procedures_in_sql_quote_no_cell(
    name: str, place: Place, scan: Scan, tally: Tally
) -> None:
    spec = deepcopy(place.dataset.spec())
    ERRORS[name](spec)
    with duckdb.connect(str(place.folder / DATABASE)) as con:
        dbdeid.install(con)
        with pytest.raises(duckdb.Error) as raised:
            con.execute("SELECT deid_run(?)", [str(place.spec(**spec))]).fetchall()
    assert scan(place.dataset.canaries).search(name, told(raised.value).encode()) == []
    tally.told += 1


STATEMENTS = {
    "cast": "SELECT CAST(name AS INTEGER) FROM source",
    "function of an enumeration": "SELECT sum(doctor) FROM source",
    "value without a label": "SELECT deid.generalize(illness, 'nothing', 1) FROM source",
    "bounds of a text": "SELECT deid.interval_label(name, 5) FROM source",
    "check": "SELECT deid.check('source', ['name', 'kind'], 5)",
    "pseudonym without a key": "SELECT deid_pseudonym(name, 'people') FROM source",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", STATEMENTS)
def test_errors_of_statements_quote_no_cell(
    name: str, place: Place, scan: Scan, tally: Tally, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DBDEID_PSEUDONYM_KEY", raising=False)
    path = str(place.folder / DATABASE)
    found = CliRunner().invoke(app, ["sql", path, "-c", STATEMENTS[name], "-vv"])
    assert found.exit_code == 2
    text = (found.output + found.stderr).encode()
    assert scan(place.dataset.canaries).search(name, text) == []
    tally.told += 1


@pytest.mark.parametrize("file", [DATABASE, "whole.parquet", "ragged.csv"])
def test_verifying_any_file_quotes_no_cell(
    file: str, place: Place, scan: Scan, logged: Callable[[], str], tally: Tally
) -> None:
    words = ["verify", str(place.folder / file), "--qi", "code", "--qi", "kind", "--k", "5", "-vv"]
    found = CliRunner().invoke(app, words if file != DATABASE else [*words, "source"])
    assert found.exit_code in (2, 4)
    text = found.output + found.stderr + logged()
    assert scan(place.dataset.canaries).search(file, text.encode()) == []
    tally.told += 1
