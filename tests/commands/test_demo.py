"""The demo as a newcomer meets it: every file, a second run, an edited spec, both reports."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dbdeid.cli.text.release import verdict
from dbdeid.commands import demo
from dbdeid.commands.report import write_report
from dbdeid.errors import DataError

FILES = {
    "NOTICE.md",
    "adult.duckdb",
    "adult_preview.yml",
    "adult_public.duckdb",
    "adult_public.parquet",
    "adult_public.private.duckdb",
    "adult_public.yml",
    "adult_public_dictionary.parquet",
    "hierarchies",
    "queries",
    "report.html",
    "report.json",
}


@pytest.mark.full
def test_the_demo_runs_twice_and_respects_an_edited_spec(tmp_path: Path) -> None:
    done = demo.run(tmp_path / "demo")
    assert {p.name for p in done.directory.iterdir()} == FILES
    assert done.result.verified
    assert done.result.smallest_class is not None
    assert done.result.smallest_class >= 5
    assert done.utility["queries"]["queries"]
    told = verdict.demo(done)
    for name in ("report.html", "adult_public.yml", "adult_public.duckdb", "adult_public.parquet"):
        assert f"{done.directory}/{name}" in told
    with duckdb.connect(str(done.directory / "adult_public.duckdb"), read_only=True) as con:
        assert con.execute("SELECT count(*) FROM adult_public").fetchone() == (
            done.result.released_rows,
        )
    public = write_report(done.directory / demo.SPEC, "public", tmp_path / "public.html")
    for page in (done.report, public):
        assert "adult_public" in page.read_text()
        assert 'src="http' not in page.read_text()

    spec = done.directory / demo.SPEC
    spec.write_text(spec.read_text().replace("k: 5}", "k: 25}"))
    again = demo.run(tmp_path / "demo")
    assert again.result.smallest_class is not None
    assert again.result.smallest_class >= 25
    assert {p.name for p in again.directory.iterdir()} == FILES


@pytest.mark.parametrize("where", ["/proc/nowhere", "file/inside"])
def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, where: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        demo.run(tmp_path / where)
