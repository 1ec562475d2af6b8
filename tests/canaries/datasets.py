"""Sources full of canaries: real tables with planted columns, and one with every type.

Each is drawn from a seed. Everything that a release shows, the columns released as they are and the
generalized values, is the same for every seed; everything that it must not show is different: the
identifiers, the values inside a generalized class, the suppressed records and their number, the
order of the rows, and the members of enumerations. So two seeds must give the same bytes. A method
whose release depends on other cells, too, gets the same of these for every seed (`fixed`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

import dbdeid
from canaries.planting import GENERALIZED, IDENTIFIER, LINKED, SUPPRESSED, Canary, Planter

Row = dict[str, Any]

DATABASE, TARGET, SPEC = "owner.duckdb", "public.duckdb", "release.yml"


@dataclass(frozen=True)
class Dataset:
    """A source with its canaries and the spec of its release.

    Attributes:
        rows: the records, the columns in the order of `types`.
        types: DuckDB type of each column.
        columns: the spec's roles.
        k: smallest class.
        canaries: what must not leave.
        transformation: a transformation that suits it, for runs that are given one.
        files: hierarchies beside the spec, by path.
        tables: statements that make more tables.
        more: other keys of the spec.
    """

    rows: Sequence[Row]
    types: Mapping[str, str]
    columns: Mapping[str, Any]
    k: int
    canaries: Sequence[Canary]
    transformation: Mapping[str, int]
    files: Mapping[str, str] = field(default_factory=dict)
    tables: Sequence[str] = ()
    more: Mapping[str, Any] = field(default_factory=dict)

    def spec(self) -> dict[str, Any]:
        """The spec, to be written beside the database."""
        return {
            "release": "released",
            "database": DATABASE,
            "target": TARGET,
            "source": "source",
            "columns": dict(self.columns),
            "privacy": [{"model": "k_anonymity", "k": self.k}],
            "method": {"name": "full_domain", "suppression_limit": 0.05},
            "output": {
                "export": [
                    *("public.parquet", "public.csv", "public.json.gz", "public.xlsx"),
                    "export.duckdb",
                ]
            },
            **self.more,
        }

    def write(self, folder: Path, spec: Mapping[str, Any]) -> Path:
        """Make the owner's database, the hierarchies and the spec in a folder; give the spec."""
        folder.mkdir(parents=True)
        for name, text in self.files.items():
            (folder / name).write_text(text, encoding="utf-8")
        with duckdb.connect(str(folder / DATABASE)) as con:
            for statement in self.tables:
                con.execute(statement)
            self._load(con)
        path = folder / SPEC
        path.write_text(json.dumps(spec, ensure_ascii=False), encoding="utf-8")
        return path

    def _load(self, con: duckdb.DuckDBPyConnection) -> None:
        texts = {
            name: pa.array([_text(row[name]) for row in self.rows], pa.string())
            for name in self.types
        }
        defined = ", ".join(f'"{name}" {kind}' for name, kind in self.types.items())
        con.register("texts", pa.table(texts))
        con.execute(f"CREATE TABLE source ({defined})")
        con.execute("INSERT INTO source FROM texts")
        con.unregister("texts")


def _text(cell: Any) -> str | None:
    return None if cell is None else str(cell)


def _sampled(query: str) -> list[Row]:
    with duckdb.connect() as con:
        found = con.execute(query)
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _shuffled(rows: list[Row], planter: Planter) -> list[Row]:
    planter.random.shuffle(rows)
    return rows


def _members(values: Sequence[str], planter: Planter) -> str:
    """An enumeration of these values, in an order that tells nothing."""
    listed = sorted(set(values))
    planter.random.shuffle(listed)
    return "ENUM({})".format(", ".join("'" + v.replace("'", "''") + "'" for v in listed))


QI = "quasi_identifier"


def adult(seed: int, shared: Path, fixed: tuple[str, ...] = ()) -> Dataset:
    """UCI Adult with names, numbers, bank accounts and postcodes; hierarchy files."""
    sample = Path(dbdeid.__file__).parent / "sample"
    p = Planter(seed, fixed)
    real = _sampled(
        f"SELECT age, education, sex, income, hours_per_week FROM '{sample / 'adult.parquet'}' "
        "WHERE age < 90 ORDER BY ALL LIMIT 1500 OFFSET 9000"
    )
    rows: list[Row] = []
    for i, found in enumerate(real):
        rows.append(
            {
                **found,
                "name": p.text("name", IDENTIFIER, 'O\'Hara, "Zoë" {}'),
                "ssn": p.whole("ssn", IDENTIFIER, 10**12, 10**13),
                "age": found["age"] // 5 * 5 + p.random.randrange(5),
                "account": p.whole(
                    "account", GENERALIZED, (4 + i % 2) * 10**12, (5 + i % 2) * 10**12
                ),
                "postcode": p.text("postcode", GENERALIZED, f"37{i % 2}" + "{}"),
                "note": ("none", "some")[i % 3 == 0],
            }
        )
    for i in p.outliers():
        rows.append(
            {
                **real[i],
                "name": p.text("name", IDENTIFIER),
                "ssn": p.whole("ssn", IDENTIFIER, 10**12, 10**13),
                "age": 110 + i,
                "account": p.whole("account", GENERALIZED, 4 * 10**12, 6 * 10**12),
                "postcode": p.text("postcode", GENERALIZED),
                "note": p.text("note", SUPPRESSED),
                "income": p.text("income", SUPPRESSED),
                "hours_per_week": p.whole("hours_per_week", SUPPRESSED, 2**30, 2**31),
            }
        )
    return Dataset(
        rows=_shuffled(rows, p),
        types={
            "name": "VARCHAR",
            "ssn": "BIGINT",
            "age": "INTEGER",
            "education": "VARCHAR",
            "sex": "VARCHAR",
            "account": "BIGINT",
            "postcode": "VARCHAR",
            "note": "VARCHAR",
            "income": "VARCHAR",
            "hours_per_week": "INTEGER",
        },
        columns={
            "name": "identifier",
            "ssn": "drop",
            "age": {"role": QI, "hierarchy": {"intervals": [5, 10, 20], "lower": 10, "upper": 100}},
            "education": {"role": QI, "hierarchy": "education.csv"},
            "sex": {"role": QI, "hierarchy": "suppress"},
            "account": {"role": QI, "hierarchy": {"intervals": [10**12, 10**13]}, "max_level": 1},
            "postcode": {"role": QI, "hierarchy": {"prefix": [3, 1]}, "max_level": 1},
            "note": "insensitive",
            "income": {"role": "sensitive", "accept": "homogeneity"},
            "hours_per_week": {"role": "insensitive", "reason": "nobody knows"},
        },
        k=5,
        canaries=p.canaries,
        transformation={
            **{"age": 2, "education": 2, "sex": 0},
            **{"account": 1, "postcode": 1},
        },
        files={"education.csv": (sample / "hierarchies" / "education.csv").read_text("utf-8")},
    )


def diabetes(seed: int, shared: Path, fixed: tuple[str, ...] = ()) -> Dataset:
    """Encounters of Diabetes 130-US hospitals, with numbers of patients, days and moments."""
    p = Planter(seed, fixed)
    real = _sampled(
        "SELECT patient_nbr, race, gender, age, admission_type_id, diag_1, readmitted "
        f"FROM '{shared / 'data/ehr/diabetes130.parquet'}' "
        "WHERE admission_type_id <= 3 ORDER BY encounter_id LIMIT 1500"
    )
    patients: dict[int, int] = {}
    rows: list[Row] = []
    for i, found in enumerate(real):
        if found["patient_nbr"] not in patients:
            patients[found["patient_nbr"]] = p.whole("patient_nbr", LINKED, 10**9, 10**10)
        quarter = date(5128 + 7 * (i % 2), 1, 1), date(5128 + 7 * (i % 2), 4, 1)
        rows.append(
            {
                **found,
                "encounter_id": p.whole("encounter_id", IDENTIFIER, 10**9, 10**10),
                "patient_nbr": patients[found["patient_nbr"]],
                "admitted": p.day("admitted", GENERALIZED, *quarter)
                if i < 60
                else quarter[0] + timedelta(days=p.random.randrange(90)),
                "seen": p.moment("seen", GENERALIZED, *quarter),
            }
        )
    for i in p.outliers():
        year = 7095 + 2 * i + seed % 2
        years = date(year, 1, 1), date(year, 12, 1)
        rows.append(
            {
                **real[i],
                "encounter_id": p.whole("encounter_id", IDENTIFIER, 10**9, 10**10),
                "patient_nbr": p.whole("patient_nbr", LINKED, 10**9, 10**10),
                "race": p.text("race", GENERALIZED),
                "admitted": p.day("admitted", GENERALIZED, *years),
                "seen": p.moment("seen", GENERALIZED, date(5128, 1, 1), date(5129, 1, 1)),
                "diag_1": p.text("diag_1", SUPPRESSED),
                "readmitted": p.text("readmitted", SUPPRESSED),
            }
        )
    return Dataset(
        rows=_shuffled(rows, p),
        types={
            "encounter_id": "BIGINT",
            "patient_nbr": "BIGINT",
            "race": "VARCHAR",
            "gender": "VARCHAR",
            "age": "VARCHAR",
            "admission_type_id": "INTEGER",
            "admitted": "DATE",
            "seen": "TIMESTAMP",
            "diag_1": "VARCHAR",
            "readmitted": "VARCHAR",
        },
        columns={
            "encounter_id": "identifier",
            "patient_nbr": "identifier",
            "race": {"role": QI, "hierarchy": "suppress"},
            "gender": {"role": QI, "hierarchy": "suppress"},
            "age": {"role": QI, "hierarchy": {"table": "dim.ages"}},
            "admission_type_id": {
                "role": QI,
                "type": "categorical",
                "hierarchy": {"groups": [{"unplanned": ["1", "2"], "planned": ["3"]}]},
            },
            "admitted": {
                "role": QI,
                "hierarchy": {"dates": ["month", "quarter", "year"]},
                "min_level": 2,
                "max_level": 3,
            },
            "seen": {"role": QI, "hierarchy": {"dates": ["year"]}, "min_level": 1},
            "diag_1": {"role": "sensitive", "accept": "homogeneity"},
            "readmitted": "insensitive",
        },
        k=5,
        canaries=p.canaries,
        transformation={
            **{"race": 1, "gender": 0, "age": 1, "admission_type_id": 1},
            **{"admitted": 3, "seen": 1},
        },
        tables=(
            "CREATE SCHEMA dim",
            "CREATE TABLE dim.ages AS SELECT '[' || 10 * i || '-' || 10 * (i + 1) || ')' AS age, "
            "CASE WHEN i < 4 THEN 'younger' WHEN i < 7 THEN 'middle' ELSE 'older' END AS third "
            "FROM range(10) AS r(i)",
        ),
        more={"accept": "rows"},
    )


def support2(seed: int, shared: Path, fixed: tuple[str, ...] = ()) -> Dataset:
    """Seriously ill patients of SUPPORT2: ages and charges with all digits of a float, NULLs."""
    p = Planter(seed, fixed)
    real = _sampled(
        "SELECT age, sex, race, charges, dzclass, num_co, death "
        f"FROM '{shared / 'data/survival/support2.parquet'}' ORDER BY sno LIMIT 1500"
    )
    wide = 250_000
    rows: list[Row] = []
    for found in real:
        start = None if found["charges"] is None else found["charges"] // wide * wide
        rows.append(
            {
                **found,
                "patient": p.uuid("patient", IDENTIFIER),
                "totcst": p.real("totcst", IDENTIFIER, 0, 1e6),
                "age": p.real("age", GENERALIZED, found["age"] // 1, found["age"] // 1 + 1),
                "charges": None
                if start is None
                else p.real("charges", GENERALIZED, start, start + wide),
            }
        )
    for i in p.outliers():
        rows.append(
            {
                **real[i],
                "patient": p.uuid("patient", IDENTIFIER),
                "totcst": p.real("totcst", IDENTIFIER, 0, 1e6),
                "age": p.real("age", GENERALIZED, 130 + seed % 9, 141),
                "charges": p.real("charges", GENERALIZED, 9e6 + 1e6 * i, 9.2e6 + 1e6 * i),
                "dzclass": p.text("dzclass", SUPPRESSED),
                "num_co": p.whole("num_co", SUPPRESSED, 2**30, 2**31),
                "death": p.whole("death", SUPPRESSED, 2**30, 2**31),
            }
        )
    groups = {"white": ["white"], "other": ["black", "asian", "hispanic", "other"]}
    return Dataset(
        rows=_shuffled(rows, p),
        types={
            "patient": "UUID",
            "age": "DOUBLE",
            "sex": "VARCHAR",
            "race": "VARCHAR",
            "charges": "DOUBLE",
            "totcst": "DOUBLE",
            "dzclass": "VARCHAR",
            "num_co": "INTEGER",
            "death": "INTEGER",
        },
        columns={
            "patient": "identifier",
            "totcst": "drop",
            "age": {"role": QI, "hierarchy": {"intervals": [10, 20], "lower": 10, "upper": 120}},
            "sex": {"role": QI, "hierarchy": "suppress"},
            "race": {"role": QI, "hierarchy": {"groups": [groups]}},
            "charges": {
                "role": QI,
                "hierarchy": {"intervals": [wide, 4 * wide]},
                "min_level": 1,
                "max_level": 2,
            },
            "dzclass": "insensitive",
            "num_co": {"role": "insensitive", "reason": "nobody knows"},
            "death": {"role": "sensitive", "accept": "homogeneity"},
        },
        k=5,
        canaries=p.canaries,
        transformation={"age": 2, "sex": 0, "race": 1, "charges": 2},
    )


def every_type(seed: int, shared: Path, fixed: tuple[str, ...] = ()) -> Dataset:
    """Each type of DuckDB in each role; quotes, other alphabets and emoji in texts."""
    p = Planter(seed, fixed)
    rows: list[Row] = []
    for i in range(600):
        decade = date(5110 + 10 * (i % 2), 1, 1), date(5120 + 10 * (i % 2), 1, 1)
        rows.append(
            {
                **_identified(p),
                "code": p.text("code", GENERALIZED, "é'{}".replace("{}", f"{i % 2}" + '{}"🙂')),
                "amount": p.whole(
                    "amount", GENERALIZED, (3 + i % 2) * 10**15, (4 + i % 2) * 10**15
                ),
                "price": p.decimal("price", GENERALIZED, 7 * 10**13, 8 * 10**13),
                "weight": p.real("weight", GENERALIZED, 50 * (1 + i % 2), 50 * (2 + i % 2)),
                "born": p.day("born", GENERALIZED, *decade)
                if i < 40
                else decade[0] + timedelta(days=p.random.randrange(3600)),
                "seen": p.moment("seen", GENERALIZED, date(4321, 5, 1), date(4321, 6, 1)),
                "zoned": p.moment("zoned", GENERALIZED, date(4322, 4, 1), date(4322, 7, 1)),
                "ward": p.uuid("ward", GENERALIZED),
                "kind": p.text("kind", GENERALIZED, "it's {}"),
                "flag": i % 2 == 0,
                "region": ("north", "south", "östlich 'x'")[i % 3],
                "illness": ("flu", "gout", None)[i % 3],
                "remark": ("none", "some")[i % 2],
                "score": i % 5 / 4,
                "paid": f"{i % 4}.25",
                "until": date(2030, 1, 1 + i % 3),
                "at": f"2030-01-01 00:00:0{i % 3}",
                "hours": f"0{i % 3}:30:00",
            }
        )
    for i in p.outliers():
        rows.append(
            {
                **_identified(p),
                "code": p.text("code", GENERALIZED),
                "amount": p.whole("amount", GENERALIZED, (50 + i) * 10**15, (51 + i) * 10**15),
                "price": p.decimal("price", GENERALIZED, (10 + i) * 10**13, (11 + i) * 10**13),
                "weight": p.real("weight", GENERALIZED, 5e5, 6e5),
                "born": p.day("born", GENERALIZED, date(8000, 1, 1), date(8900, 1, 1)),
                "seen": p.moment("seen", GENERALIZED, date(4400, 1, 1), date(4500, 1, 1)),
                "zoned": p.moment("zoned", GENERALIZED, date(4400, 1, 1), date(4500, 1, 1)),
                "ward": p.uuid("ward", GENERALIZED),
                "kind": p.text("kind", GENERALIZED),
                "flag": None,
                "region": "north",
                "illness": p.text("illness", SUPPRESSED),
                "remark": p.text("remark", SUPPRESSED, "{}'s"),
                "score": p.real("score", SUPPRESSED, 0, 1e9),
                "paid": p.decimal("paid", SUPPRESSED, 10**13, 10**14),
                "until": p.day("until", SUPPRESSED, date(6000, 1, 1), date(6900, 1, 1)),
                "at": p.moment("at", SUPPRESSED, date(2110, 1, 1), date(2260, 1, 1)),
                "hours": p.moment("hours", SUPPRESSED, date(2000, 1, 1), date(2000, 1, 2)).time(),
            }
        )
    never = p.text("remark", IDENTIFIER, "a member that never occurs {}")
    kinds = {name: _members([row[name] for row in rows], p) for name in ("doctor", "kind")}
    remarks = _members([never, *(row["remark"] for row in rows)], p)
    fixed = {"role": QI, "min_level": 1}
    reason = {"role": "insensitive", "reason": "nobody knows"}
    return Dataset(
        rows=_shuffled(rows, p),
        types={
            "name": "VARCHAR",
            "ssn": "BIGINT",
            "device": "UUID",
            "doctor": kinds["doctor"],
            "photo": "BLOB",
            "nested": "STRUCT(a VARCHAR, b INTEGER[])",
            "code": "VARCHAR",
            "amount": "HUGEINT",
            "price": "DECIMAL(18, 4)",
            "weight": "DOUBLE",
            "born": "DATE",
            "seen": "TIMESTAMP",
            "zoned": "TIMESTAMPTZ",
            "ward": "UUID",
            "kind": kinds["kind"],
            "flag": "BOOLEAN",
            "region": "VARCHAR",
            "illness": "VARCHAR",
            "remark": remarks,
            "score": "DOUBLE",
            "paid": "DECIMAL(18, 4)",
            "until": "DATE",
            "at": "TIMESTAMP_NS",
            "hours": "TIME",
        },
        columns={
            "name, ssn, device": "identifier",
            "doctor, photo, nested": "drop",
            "code": {**fixed, "hierarchy": {"prefix": [3, 1]}, "max_level": 1},
            "amount": {**fixed, "hierarchy": {"intervals": [10**15, 10**16]}, "max_level": 1},
            "price": {**fixed, "hierarchy": {"intervals": [10**9], "lower": 0, "upper": 10**11}},
            "weight": {**fixed, "hierarchy": {"intervals": [50, 100], "lower": 0, "upper": 200}},
            "born": {**fixed, "hierarchy": {"dates": ["year", "decade"], "upper": "6000-01-01"}},
            "seen": {**fixed, "hierarchy": {"dates": ["month"]}, "max_level": 1},
            "zoned": {**fixed, "hierarchy": {"dates": ["quarter", "year"]}},
            "ward": {**fixed, "hierarchy": "suppress"},
            "kind": {**fixed, "hierarchy": "suppress"},
            "flag": {"role": QI, "hierarchy": "suppress"},
            "region": {
                "role": QI,
                "hierarchy": {"groups": [{"edge": ["north", "south"], "Öst": ["östlich 'x'"]}]},
            },
            "illness": {"role": "sensitive", "accept": "homogeneity"},
            "remark": "insensitive",
            "score, paid, until, at": reason,
            "hours": "insensitive",
        },
        k=10,
        canaries=p.canaries,
        transformation={
            **{"code": 1, "amount": 1, "price": 1, "weight": 1, "born": 2, "seen": 1},
            **{"zoned": 2, "ward": 1, "kind": 1, "flag": 0, "region": 1},
        },
    )


def _identified(p: Planter) -> Row:
    photo = p.text("photo", IDENTIFIER)
    nested = p.text("nested", IDENTIFIER)
    return {
        "name": p.text("name", IDENTIFIER, "Ärztin; \"Müller\", '{}'\n山田 🙂"),
        "ssn": p.whole("ssn", IDENTIFIER, 10**12, 10**13),
        "device": p.uuid("device", IDENTIFIER),
        "doctor": p.text("doctor", IDENTIFIER, "Dr. {}, O'Neil"),
        "photo": photo,
        "nested": f"{{'a': {nested}, 'b': [1]}}",
    }


DATASETS: Mapping[str, Callable[[int, Path, tuple[str, ...]], Dataset]] = {
    "adult": adult,
    "diabetes": diabetes,
    "support2": support2,
    "every_type": every_type,
}
