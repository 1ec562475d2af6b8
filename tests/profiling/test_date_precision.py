"""Dates finer than a month, however they are written, and numbers that are the time between two."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dbdeid.bind.any_table import opened
from dbdeid.engine.session import Step
from dbdeid.profiling.date_precision import date_differences, finer_than_month
from dbdeid.profiling.detect import detect
from dbdeid.profiling.possible_identifiers import look

FIRST, LAST = "(DATE '2001-01-01' + (i * 7 % 3000)::INTEGER)", "(i * 13 % 900)::INTEGER"
FEW = "(DATE '2019-03-01' + (i % 12 * 37)::INTEGER)"
FINE = {
    "d": FIRST,
    "t": f"{FIRST}::TIMESTAMP",
    "written": f"strftime({FIRST}, '%d.%m.%Y')",
    "iso": f"strftime({FIRST}, '%Y-%m-%dT%H:%M')",
    "compact": f"strftime({FIRST}, '%Y%m%d')::INTEGER",
    "seconds": f"epoch({FIRST})::BIGINT",
    "excel": f"{FIRST} - DATE '1899-12-30'",
    "birth_date": f"{FIRST} - DATE '1960-01-01'",
    "decimal": "1990 + (i * 7 % 3000) / 365.25",
    "week": f"strftime({FIRST}, '%G-W%V')",
    "under": f"strftime({FIRST}, '%Y_%m_%d')",
    "blank": f"strftime({FIRST}, '%d %m %Y')",
    "yymmdd": f"strftime({FIRST}, '%y%m%d')",
    "yymmdd_number": f"strftime({FIRST}, '%y%m%d')::INTEGER",
    "ddmmyy": f"strftime({FIRST}, '%d%m%y')::INTEGER",
    "ddmmyyyy": f"strftime({FIRST}, '%d%m%Y')",
    "few_yymmdd": f"strftime({FEW}, '%y%m%d')",
    "few_excel": f"({FEW} - DATE '1899-12-30')::INTEGER",
    "excel_double": f"({FEW} - DATE '1899-12-30')::DOUBLE",
}
COARSE = {
    "first": f"date_trunc('month', {FIRST})::DATE",
    "month": f"strftime({FIRST}, '%Y-%m')",
    "month_name": f"strftime({FIRST}, '%B %Y')",
    "year": f"year({FIRST})",
    "salary": "20000 + i * 37 % 900 * 10",
    "glucose": "60 + i % 200",
    "code": "100000 + i * 7919 % 800000",
    "paid": "20000 + i % 30 * 1000",
    "version": "'v' || i % 9 || '_1_2'",
    "empty": "NULL::DATE",
}


def looked_into(folder: Path, columns: dict[str, str]) -> tuple[dict[str, str], dict[str, object]]:
    source = folder / "d.parquet"
    made = ", ".join(f"{sql} AS {name}" for name, sql in columns.items())
    with duckdb.connect() as con:
        con.execute(f"COPY (SELECT {made} FROM range(1500) t(i)) TO '{source}'")
    with opened(source, None) as found_table:
        session, query = found_table.session, found_table.opened.query
        table = session.run(Step("deid_draft", query))
        found = detect(session, table)
        between = date_differences(session, table, found)
        return finer_than_month(session, table, found, look(session, table, found)), dict(between)


def test_days_are_found_however_they_are_written(tmp_path: Path) -> None:
    told, _ = looked_into(tmp_path, FINE | COARSE)
    assert set(told) == set(FINE)
    assert not any("2001" in reason for reason in told.values())


TIMES = {
    "days": f"{LAST}",
    "nights_and_one": f"{LAST} + 1",
    "weeks": f"{LAST} // 7",
    "months": f"date_diff('month', {FIRST}, {FIRST} + {LAST})",
    "years": f"round({LAST} / 365.25, 2)",
}
NO_TIMES = {"score": "i % 97", "other": "i * 31 % 900", "dose": "i * 17 % 30 / 2.0"}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", ["{}", "strftime({}, '%d.%m.%Y')", "strftime({}, '%Y-%m-%d')"])
def test_times_between_two_dates(tmp_path: Path, form: str) -> None:
    dates = {"a": form.format(FIRST), "b": form.format(f"({FIRST} + {LAST})")}
    _, told = looked_into(tmp_path, dates | TIMES | NO_TIMES)
    assert told == dict.fromkeys(TIMES, ("a", "b"))


@pytest.mark.full
def test_one_date_has_no_difference(tmp_path: Path) -> None:
    assert looked_into(tmp_path, {"a": FIRST} | TIMES)[1] == {}


def test_a_cancer_registry(shared: Path) -> None:
    with opened(shared / "data/survival/biostat3_colon.parquet", None) as found_table:
        session, query = found_table.session, found_table.opened.query
        table = session.run(Step("deid_draft", query))
        found = detect(session, table)
        fine = finer_than_month(session, table, found, look(session, table, found))
        assert {"dx", "exit", "bdate", "ydx"} <= set(fine)
        assert date_differences(session, table, found) == {"surv_mm": ("dx", "exit")}
