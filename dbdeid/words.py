"""What the command line says to people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dbdeid.engine.catalog import Entry
    from dbdeid.engine.console import Table
    from dbdeid.privacy.risk import Risk
    from dbdeid.release.demo import Demo, Rows
    from dbdeid.release.result import RunResult
    from dbdeid.verify import Verification


ROWS_SHOWN = 100


def released(result: RunResult) -> str:
    """A finished run in a few lines."""
    search = result.search
    share = result.suppressed_rows / result.source_rows
    how = "proven optimal" if search["proven_optimal"] else "not searched"
    levels = ", ".join(f"{name} {level}" for name, level in result.transformation.items())
    lines = [
        f"{result.release}: {result.released_rows:,} of {result.source_rows:,} records released, "
        f"{result.suppressed_rows:,} suppressed ({share:.1%})",
        f"  k             {result.smallest_class} in {result.classes:,} classes",
        f"  loss          {result.loss:.4f}",
        f"  levels        {levels}",
        f"  search        {search['checked']:,} of {search['lattice_size']:,} transformations "
        f"checked, {how}",
        f"  verified      {'yes' if result.verified else 'no: internal preview'}",
        f"  written       {result.table}",
        f"  seconds       {result.seconds['total']:.2f}",
    ]
    return "\n".join([*lines, *(f"  note          {text}" for text in result.warnings)])


def checked(found: Mapping[str, Any]) -> str:
    """A checked spec in a few lines."""
    risk_ = found["risk"]
    head = (
        f"{found['release']}: the spec fits its data ({found['source_rows']:,} records, "
        f"{found['lattice_size']:,} transformations to choose from)"
    )
    rows = [(c["name"], c["role"], c["type"], _hierarchy(c)) for c in found["columns"]]
    lines = [
        head,
        f"  as it is: k = {risk_['k']}, {risk_['unique_records']:,} unique records, "
        f"{risk_['records_at_risk']:,} at risk",
        _grid(("column", "role", "type", "hierarchy"), rows),
    ]
    return "\n".join([*lines, *(f"  note: {text}" for text in found["warnings"])])


def _hierarchy(column: Mapping[str, Any]) -> str:
    if column["hierarchy"] is None:
        return ""
    return f"{column['levels']} levels, {column['values']} values ({column['hierarchy']})"


def verified(found: Verification) -> str:
    """A verification: every promise, and every check that failed."""
    lines = ["verified: every promise holds" if found.verified else "NOT verified"]
    for promise in found.promises:
        mark = "ok  " if promise.holds else "FAIL"
        lines.append(
            f"  {mark} {promise.model}: declared {_flat(promise.declared)}, "
            f"found {_flat(promise.found)}"
        )
    for check in found.hygiene:
        mark = "ok  " if check.holds else "FAIL"
        lines.append(f"  {mark} {check.check}{': ' + check.detail if check.detail else ''}")
    return "\n".join(lines)


def _flat(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_flat(item)}" for key, item in value.items())
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def evaluated(found: Mapping[str, Any]) -> str:
    """The utility of a release."""
    rows = [(name, f"{value:.6g}") for name, value in found["metrics"].items()]
    lines = [_grid(("metric", "value"), rows)]
    if found["queries"]:
        lines += ["", workload(found["queries"])]
    return "\n".join(lines)


def workload(found: Mapping[str, Any]) -> str:
    """The error of each query of a workload."""
    rows = []
    for query in found["queries"]:
        if query["refused"]:
            rows.append((query["name"], "", "", query["refused"].split("\n")[0]))
            continue
        lost = f"{query['lost']} lost, {query['invented']} invented"
        rows.append((query["name"], str(query["groups"]), _share(query["relative_error"]), lost))
    total = f"mean relative error {_share(found['mean_relative_error'])}"
    return _grid(("query", "groups", "error", "groups not met"), rows) + f"\n{total}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.2%}"


def demo(done: Demo) -> str:
    """What the demo made, where to look, what to type next."""
    place, result = done.directory, done.result
    parts = [
        "1. A release of the UCI Adult sample, made from adult_public.yml",
        released(result),
        "",
        "2. Its workload: what analysts ask, answered from the release alone",
        workload(done.utility["queries"]),
        "",
        "3. The same question to both tables, in plain SQL: FROM deid.risk(table, columns)",
        _rows(done.risks),
        "",
        "4. Inside the house: adult_preview, a view that follows the table as rows arrive",
        _rows(done.preview),
        "",
        "Look at",
        f"  {place}/report.html          what was released, what it promises, what was lost",
        f"  {place}/adult_public.yml     the release as you declare it, every line explained",
        f"  {place}/adult_public.duckdb  the release with its dictionary, fit to be given away",
        f"  {place}/adult_public.parquet the same for people without DuckDB",
        "",
        "Type next",
        f"  dbdeid verify {place}/adult_public.yml",
        f"  dbdeid run {place}/adult_public.yml          after changing k, roles or hierarchies",
        f"  dbdeid sql {place}/adult.duckdb -c \"FROM deid.risk('adult', ['age', 'sex'])\"",
        "  dbdeid init YOUR_DATA.parquet > release.yml   to start with your own table",
    ]
    return "\n".join(parts)


def _rows(found: Rows) -> str:
    return _grid(found.columns, [[_cell(cell) for cell in row] for row in found.rows])


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    return f"{value:,}" if isinstance(value, int) else str(value)


def risk(found: Risk, qi: Sequence[str], k: int) -> str:
    """The risk of a table."""
    rows = [
        ("records", f"{found.records:,}"),
        ("classes", f"{found.classes:,}"),
        ("k (smallest class)", str(found.k)),
        ("highest risk", _share(found.highest_risk)),
        ("average risk", _share(found.average_risk)),
        ("unique records", f"{found.unique_records:,}"),
        (f"records in classes below {k}", f"{found.records_at_risk:,}"),
    ]
    return f"risk over {', '.join(qi)} (NULL is a value of its own)\n" + _grid(("", ""), rows)


def entry(found: Entry) -> dict[str, Any]:
    """One run for JSON."""
    return {
        "release": found.release,
        "object": found.object,
        "kind": found.kind,
        "exports": list(found.exports),
        "transformation": dict(found.transformation),
        "metrics": dict(found.metrics),
        "spec_hash": found.spec_hash,
        "version": found.version,
        "created": found.created.isoformat(timespec="seconds"),
    }


def entries(found: Sequence[Entry]) -> str:
    """The runs of a database."""
    if not found:
        return "no releases yet"
    rows = [
        (
            e.release,
            e.kind,
            e.object,
            f"{e.created:%Y-%m-%d %H:%M}",
            f"k={e.record['smallest_class']}",
            f"loss {e.metrics['loss']:.4f}" if "loss" in e.metrics else "",
        )
        for e in found
    ]
    return _grid(("release", "kind", "written to", "at (UTC)", "", ""), rows)


def tables(found: Iterable[Table]) -> str:
    """The results of SQL statements."""
    parts = []
    for table in found:
        rows = [["NULL" if cell is None else str(cell) for cell in row] for row in table.rows]
        more = len(rows) - ROWS_SHOWN
        parts.append(_grid(table.columns, rows[:ROWS_SHOWN]))
        if more > 0:
            parts[-1] += f"\n  … {more:,} more rows; --json prints all"
    return "\n\n".join(parts)


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of equal width, two blanks apart."""
    shown = [list(head), *rows] if any(head) else list(rows)
    widths = [max(len(row[i]) for row in shown) for i in range(len(head))] if shown else []
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in shown]
    return "\n".join("  " + line.rstrip() for line in lines)
