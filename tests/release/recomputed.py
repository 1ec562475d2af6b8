"""Recomputes a release from its exported file alone, beside the rows it was made from.

Nothing here is shared with dbdeid: files are read with pyarrow, with a CSV reader of a few lines,
and, where there is no other, by DuckDB as text. Every promise is counted in plain Python.
"""

from __future__ import annotations

import json
import math
import re
import struct
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet
from fuzzed import KINDS, Case, Column, text_of
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

EPOCH = datetime(1970, 1, 1)
CLOSE = 1e-9
Row = tuple[Any, ...]


@dataclass(frozen=True)
class Table:
    """A table of a file: its columns' names, and cells as they are there or as text."""

    names: list[str]
    rows: list[Row]

    def column(self, name: str) -> list[Any]:
        at = self.names.index(name)
        return [row[at] for row in self.rows]


# -- reading --------------------------------------------------------------------------------------


def tables(file: Path, release: str) -> dict[str, Table]:
    """The release, and its dictionary and catalog where there are any: `""`, `_dictionary`, …"""
    found = {}
    for part in ("", "_dictionary", "_catalog"):
        if file.suffix == ".duckdb":
            with duckdb.connect() as con:
                con.execute(f"ATTACH '{file}' AS given (READ_ONLY)")
                held = con.execute(
                    "SELECT table_name FROM duckdb_tables() WHERE database_name = 'given'"
                )
                if (release + part,) in held.fetchall():
                    given = con.execute(
                        f"SELECT CAST(COLUMNS(*) AS VARCHAR) FROM given.main.{release}{part}"
                    )
                    names = [d[0] for d in given.description]
                    found[part] = Table(names, given.fetchall())
            continue
        path = file.with_name(file.stem + part + file.suffix)
        if path.exists():
            found[part] = _parquet(path) if file.suffix == ".parquet" else _csv(path)
    return found


def _parquet(path: Path) -> Table:
    table = pyarrow.parquet.read_table(path)
    columns = []
    for c in table.columns:
        if pa.types.is_timestamp(c.type):
            assert c.type == pa.timestamp("us"), c.type
            moments = c.cast(pa.int64()).to_pylist()
            columns.append(
                [None if m is None else EPOCH + timedelta(microseconds=m) for m in moments]
            )
        else:
            columns.append(c.to_pylist())
    return Table(table.column_names, list(zip(*columns, strict=True)))


def _csv(path: Path) -> Table:
    """Quoted and unquoted cells are told apart: only what is not quoted is NULL."""
    text, at, rows, row = path.read_bytes().decode(), 0, [], []  # type: ignore[var-annotated]
    while at < len(text):
        if text[at] == '"':
            end = at + 1
            while text[end] != '"' or text[end + 1 : end + 2] == '"':
                end += 2 if text[end] == '"' else 1
            row.append(text[at + 1 : end].replace('""', '"'))
            at = end + 1
        else:
            found = re.compile(r"[^,\n]*").match(text, at)
            assert found is not None
            row.append(found[0] or None)
            at = found.end()
        if text[at : at + 1] != ",":
            rows.append(tuple(row))
            row = []
        at += 1
        if at == len(text) and text[at - 1] == ",":
            row.append(None)
            rows.append(tuple(row))
    return Table([str(n) for n in rows[0]], rows[1:])


# -- values ---------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """One form for what is equal: NaN is one value, -0.0 is 0.0, and 1 and true differ."""
    if isinstance(value, bool):
        return ("truth", value)
    if isinstance(value, float):
        return "nan of a number" if math.isnan(value) else float(value) + 0.0
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else value
    return value


def as_kind(cell: Any, kind: str) -> Any:
    """A cell as a value of a kind, whether it is typed or text; ValueError where it is none."""
    if not isinstance(cell, str):
        if kind == "float" and isinstance(cell, float):
            return plain(struct.unpack("f", struct.pack("f", cell))[0])
        return plain(cell)
    family = KINDS[kind].family
    if family in ("text", "odd", "nested"):
        return cell
    if family == "truth":
        if cell not in ("true", "false"):
            raise ValueError
        return plain(cell == "true")
    if family == "date":
        return date.fromisoformat(cell)
    if family == "moment":
        if not re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?", cell):
            raise ValueError
        whole, _, rest = cell.partition(".")
        return datetime.fromisoformat(whole) + timedelta(microseconds=int(rest.ljust(6, "0")))
    if kind == "float":
        return plain(struct.unpack("f", struct.pack("f", float(cell)))[0])
    if kind == "double":
        return plain(float(cell))
    try:
        return plain(Decimal(cell))
    except InvalidOperation:
        raise ValueError from None


def is_value(cell: Any, value: Any, kind: str) -> bool:
    """Whether a cell reads a value."""
    if cell is None or value is None:
        return cell is value
    try:
        return bool(as_kind(cell, kind) == plain(value)) or (
            isinstance(cell, str) and cell == text_of(value)
        )
    except (ValueError, OverflowError):
        return isinstance(cell, str) and cell == text_of(value)


# -- labels ---------------------------------------------------------------------------------------


def _number(value: Any) -> Fraction | float:
    if isinstance(value, float) and not math.isfinite(value):
        return value
    return Fraction(value)


def label_holds(cell: Any, value: Any, column: Column) -> bool:
    """Whether a released cell of a quasi-identifier is true of a value of the source."""
    if value is None:
        return cell is None or cell == "*"
    if is_value(cell, value, column.kind):
        return True
    if not isinstance(cell, str):
        return False
    if cell == "*":
        return True
    bare = re.sub(r"@\d+$", "", cell)
    if "domain" in column.spec or "order" in column.spec:
        return _policy_holds(cell, value, column)
    form = column.spec.get("hierarchy")
    if column.labels:
        return bare in column.labels[text_of(value)]
    if isinstance(form, dict) and "prefix" in form:
        text = str(value)
        return any(bare == text[:n] + "*" * (len(text) - n) for n in form["prefix"])
    if isinstance(form, dict) and "intervals" in form:
        return _interval_holds(bare, value)
    if isinstance(form, dict) and "dates" in form:
        return _date_holds(bare, value)
    return False


def _interval_holds(label: str, value: Any) -> bool:
    number = _number(value)
    if found := re.fullmatch(r"\[(\S+), (\S+)\)", label):
        return bool(Fraction(found[1]) <= number < Fraction(found[2]))
    if found := re.fullmatch(r"(<|>=) (\S+)", label):
        return bool(
            number < Fraction(found[2]) if found[1] == "<" else number >= Fraction(found[2])
        )
    return False


def _date_holds(label: str, value: Any) -> bool:
    day = value.date() if isinstance(value, datetime) else value
    year, week, _ = day.isocalendar()
    return label in {
        f"{year:04}-W{week:02}",
        f"{day.year:04}-{day.month:02}",
        f"{day.year:04}-Q{(day.month + 2) // 3}",
        f"{day.year:04}",
        f"{day.year // 10 * 10:04}s",
    }


def _policy_holds(cell: str, value: Any, column: Column) -> bool:
    order = column.spec.get("order")
    if order:
        return text_of(value) in cell.split(" | ")
    if column.family == "text":
        if re.fullmatch(r"[^*]*\*+", cell):
            return len(cell) == len(value) and value.startswith(cell.rstrip("*"))
        ends = cell.split(" to ")
        return value in cell.split(" | ") or (len(ends) == 2 and ends[0] <= value <= ends[1])
    ends = cell.split(" to ")
    try:
        known = [as_kind(end, column.kind) for end in ends]
    except ValueError:
        return False
    return bool(known[0] <= plain(value) <= known[-1])


# -- the judge ------------------------------------------------------------------------------------


def judge(case: Case, file: Path, told: dict[str, Any]) -> list[str]:
    """Everything that a release promises and does not keep; nothing where it keeps all."""
    found = tables(file, "public")
    if "" not in found:
        return ["there is no release in the file"]
    release = found[""]
    leaving = case.of("quasi_identifier", "sensitive", "insensitive", "synthesize")
    missing = [c.name for c in leaving if c.name not in release.names]
    extra = {
        n
        for n in release.names
        if n not in {c.name for c in leaving}
        and n != "class_id"
        and not re.search("_(lower|upper)$", n)
    }
    if missing or extra:
        return [f"columns: missing {missing}, not declared {sorted(extra)}"]
    if case.method == "condensation":
        return list(_synthetic(case, release))
    wrong = list(_classes(case, release))
    if case.method == "microaggregation":
        return [*wrong, *_means(case, release), *_others(case, release)]
    if case.method == "relocation":
        return [*wrong, *_others(case, release), *_moved(case, release)]
    wrong += _models(case, release, told)
    wrong += _truthful(case, release, found.get("_catalog"))
    wrong += _explained(case, release, found.get("_dictionary"))
    if case.method == "counterfeit":
        wrong += _catalog(case, release, found.get("_catalog"))
    return wrong


def key_of(case: Case, release: Table) -> list[Row]:
    """The class of each released row: what its quasi-identifiers read."""
    shown = [release.column(c.name) for c in case.of("quasi_identifier")]
    return [tuple(plain(v) for v in row) for row in zip(*shown, strict=True)]


def _classes(case: Case, release: Table) -> Iterator[str]:
    k = case.spec["privacy"][0]["k"]
    keys = key_of(case, release)
    sizes = Counter(keys)
    policy = case.spec.get("null_policy")
    if policy == "wildcard":
        for key in sizes:
            alike = sum(
                n
                for other, n in sizes.items()
                if all(a is None or b is None or a == b for a, b in zip(key, other, strict=True))
            )
            if alike < k:
                yield f"k: a row is like {alike}, promised {k}"
        return
    if sizes and min(sizes.values()) < k:
        yield f"k: the smallest class has {min(sizes.values())}, promised {k}"
    if policy == "exclude" and any(None in key for key in sizes):
        yield "null_policy exclude: a record with NULL was released"
    if "class_id" in release.names:
        numbers = defaultdict(set)
        for key, number in zip(keys, release.column("class_id"), strict=True):
            numbers[key].add(number)
        if any(len(n) > 1 for n in numbers.values()) or len(set().union(*numbers.values())) != len(
            sizes
        ):
            yield "class_id does not number the classes"
    if case.spec.get("subject") and case.method == "full_domain":
        yield from _people(case, sizes, k)


def _people(case: Case, sizes: Counter[Row], k: int) -> Iterator[str]:
    """With one level a column, a record of the source fits one class."""
    quasi, people = case.of("quasi_identifier"), defaultdict(set)
    who = next(c for c in case.columns if c.name == "person").values
    stars = {key for key in sizes if set(key) == {"*"}}
    for i in range(case.rows):
        fits = [
            key
            for key in sizes
            if all(label_holds(v, c.values[i][1], c) for v, c in zip(key, quasi, strict=True))
        ]
        if len(fits) > 1 and not stars:
            yield "subjects: a record fits several classes"
        for key in fits[:1] if not stars else fits:
            people[key].add(who[i][1])
    if not stars and any(len(people[key]) < k for key in sizes):
        yield f"k: a class has fewer than {k} subjects"


# -- models of sensitive columns ------------------------------------------------------------------


def _models(case: Case, release: Table, told: dict[str, Any]) -> Iterator[str]:
    if case.spec.get("subject"):
        return  # several rows of a person: whose they are is not released
    keys = key_of(case, release)
    for model in case.spec["privacy"][1:]:
        column = next(c for c in case.columns if c.name == model["column"])
        read = [None if v is None else as_kind(v, column.kind) for v in release.column(column.name)]
        source = Counter(_meant(plain(v)) for _, v in column.values)
        classes = defaultdict(Counter)  # type: defaultdict[Row, Counter[Any]]
        for key, value in zip(keys, read, strict=True):
            classes[key][_meant(value)] += 1
        broken = [c for c in classes.values() if not holds(model, c, source)]
        if broken:
            yield f"{model}: {len(broken)} of {len(classes)} classes, such as {broken[0]}"


def _meant(value: Any) -> Any:
    """A text however it is spelled; other values as they are."""
    if not isinstance(value, str) or value == "nan of a number":
        return value
    seen = "".join(
        c for c in unicodedata.normalize("NFKC", value) if unicodedata.category(c) != "Cf"
    )
    return " ".join(seen.casefold().split()) or None


def _order(value: Any) -> tuple[int, Any]:
    if value is None:
        return (2, 0)
    if value == "nan of a number":
        return (1, 0)
    return (0, value[1] if isinstance(value, tuple) else value)


def holds(model: dict[str, Any], counts: Counter[Any], source: Counter[Any]) -> bool:
    """Whether a class of so many records of each value holds a model."""
    n, whole = counts.total(), source.total()
    p = {v: Fraction(c, n) for v, c in counts.items()}
    q = {v: Fraction(c, whole) for v, c in source.items()}
    values, name = {*p, *q}, model["model"]
    shares = [(p.get(v, Fraction(0)), q.get(v, Fraction(0))) for v in values]
    if name == "l_diversity":
        most = [c for _, c in counts.most_common()]
        if model.get("kind") == "entropy":
            entropy = -sum(float(x) * math.log(x) for x in p.values())
            return math.exp(entropy) >= model["l"] - CLOSE
        if model.get("kind") == "recursive":
            tail = sum(most[model["l"] - 1 :])
            return len(most) >= model["l"] and most[0] < model["c"] * tail
        return len(most) >= model["l"]
    if name == "t_closeness":
        if model.get("distance") == "ordered":
            running, total = Fraction(0), Fraction(0)
            ordered = sorted(q, key=_order)
            for v in ordered[:-1]:
                running += p.get(v, Fraction(0)) - q[v]
                total += abs(running)
            return total <= (len(ordered) - 1) * (model["t"] + CLOSE)
        return sum(abs(a - b) for a, b in shares) / 2 <= model["t"] + CLOSE
    if name == "alpha_k":
        return n >= model["k"] and max(p.values()) <= model["alpha"] + CLOSE
    if name == "em_anonymity":
        return _far_enough(counts, model["epsilon"], model["m"])
    if name == "delta_disclosure":
        return all(a and abs(math.log2(a / b)) < model["delta"] + CLOSE for a, b in shares if b)
    if any(a and not b for a, b in shares):
        return False
    if name == "basic_beta":
        return all((a - b) / b <= model["beta"] + CLOSE for a, b in shares)
    assert name == "enhanced_beta"
    return all(a <= b or (a - b) / b <= min(model["beta"], -math.log(b)) + CLOSE for a, b in shares)


def _far_enough(counts: Counter[Any], epsilon: float, m: int) -> bool:
    """Whether 1/m are near each value, of all and of those who have one."""

    def near(value: Any, other: Any) -> bool:
        numbers = [v for v in (value, other) if v is not None and _finite(v)]
        if len(numbers) < 2:
            return bool(value == other)
        return abs(Fraction(numbers[0]) - Fraction(numbers[1])) <= Fraction(repr(epsilon))

    known = Counter({v: c for v, c in counts.items() if v is not None})
    return all(
        m * sum(c for v, c in one.items() if near(value, v)) <= one.total()
        for one in (counts, known)
        for value in one
    )


def _finite(value: Any) -> bool:
    return value != "nan of a number" and math.isfinite(value)


# -- what is true of the source -------------------------------------------------------------------


def _matched(case: Case, release: Table) -> int:
    """How many released rows and rows of the source can be one another, each once."""
    checks: list[list[list[bool]]] = []
    for c in case.of("quasi_identifier", "sensitive", "insensitive"):
        cells = release.column(c.name)
        test: Callable[[Any, Any], bool]
        if c.role == "quasi_identifier":
            test = lambda cell, value, c=c: label_holds(cell, value, c)  # noqa: E731
        else:
            test = lambda cell, value, c=c: is_value(cell, value, c.kind)  # noqa: E731
        known: dict[tuple[Any, int], bool] = {}
        pool = {id(v): v for v in c.values}
        grid = []
        for cell in cells:
            row = []
            for v in c.values:
                at = (repr(cell), id(v))
                if at not in known:
                    known[at] = test(cell, pool[id(v)][1])
                row.append(known[at])
            grid.append(row)
        checks.append(grid)
    alike = np.logical_and.reduce([np.array(grid, bool) for grid in checks])
    if not alike.size:
        return 0
    match = maximum_bipartite_matching(csr_matrix(alike), perm_type="column")
    return int((match >= 0).sum())


def _truthful(case: Case, release: Table, catalog: Table | None) -> Iterator[str]:
    rows, matched = len(release.rows), _matched(case, release)
    if case.method == "counterfeit":
        if matched < case.rows:
            yield f"truthful: {matched} of {case.rows} records of the source are in the release"
        return
    if matched < rows:
        yield f"truthful: only {matched} of {rows} released rows can be records of the source"
    limit = case.spec["method"].get("suppression_limit", 0)
    if not case.spec.get("subject") and case.rows - rows > limit * case.rows:
        yield f"{case.rows - rows} of {case.rows} records are missing, at most {limit}"


def _others(case: Case, release: Table) -> Iterator[str]:
    """Columns that leave as they are have the same records, all together."""
    columns = case.of("sensitive", "insensitive")
    if len(release.rows) != case.rows:
        yield f"{len(release.rows)} rows of {case.rows}"
    if not columns:
        return
    released = Counter(
        tuple(None if v is None else as_kind(v, c.kind) for v, c in zip(row, columns, strict=True))
        for row in zip(*(release.column(c.name) for c in columns), strict=True)
    )
    source = Counter(
        tuple(plain(v[1]) for v in row) for row in zip(*(c.values for c in columns), strict=True)
    )
    if released != source:
        yield "columns that leave as they are have other values than the source"


def _moved(case: Case, release: Table) -> Iterator[str]:
    moved, limit = case.rows - _matched(case, release), case.spec["method"]["limit"]
    if moved > limit * case.rows:
        yield f"{moved} of {case.rows} records were moved, at most {limit}"


def _measured(value: Any) -> Fraction | None:
    if value is None or isinstance(value, str):
        return None
    if isinstance(value, datetime):
        return Fraction((value - EPOCH) // timedelta(microseconds=1))
    if isinstance(value, date):
        return Fraction(value.toordinal())
    return Fraction(value)


def _means(case: Case, release: Table) -> Iterator[str]:
    """Means keep the sum of a column, and lie within its values; names are among its names."""
    for c in case.of("quasi_identifier"):
        family = c.family if c.spec.get("type") != "categorical" else "text"
        cells = release.column(c.name)
        if family not in ("whole", "number", "date", "moment"):
            known = {None if v is None else text_of(v) for _, v in c.values}
            shown = {text_of(v) if isinstance(v, bool) else v for v in cells}
            if not shown <= known:
                yield f"{c.name}: a released value is none of the source"
            continue
        kind = c.kind if family in ("date", "moment") else "double"
        read = [_measured(as_kind(v, kind)) for v in cells if v is not None]
        source = [n for _, v in c.values if (n := _measured(v)) is not None]
        if not source or not read:
            continue
        scale = max(abs(n) for n in source)
        near = scale * Fraction(1, 2 ** (22 if c.kind == "float" else 48)) + (
            1 if family == "date" else 10**6 if family == "moment" else 0
        )
        if not (min(source) - near <= min(read) and max(read) <= max(source) + near):
            yield f"{c.name}: a mean lies outside of the values"
        if len(read) == len(source) == case.rows:
            off = abs(sum(read) - sum(source)) / len(source)
            if off > near:
                yield f"{c.name}: the mean of all records changed by {float(off)}"


def _synthetic(case: Case, release: Table) -> Iterator[str]:
    if len(release.rows) != case.rows:
        yield f"{len(release.rows)} rows of {case.rows}"
    for c in case.columns:
        cells = release.column(c.name)
        known = [v for _, v in c.values if v is not None and not (isinstance(v, float) and v != v)]
        shown = [as_kind(v, c.kind) for v in cells if v is not None]
        if c.family in ("whole", "number", "date", "moment") and known and shown:
            if not min(map(plain, known)) <= min(shown) <= max(shown) <= max(map(plain, known)):
                yield f"{c.name}: beyond the range of the source"
        elif not set(shown) <= set(map(plain, known)):
            yield f"{c.name}: a category that the source does not have"


# -- dictionary and catalog -----------------------------------------------------------------------


def _listed(cell: Any) -> list[str] | None:
    """A list as a file writes it; None where it cannot be told apart from text."""
    if cell is None or isinstance(cell, list):
        return cell
    return None


def _explained(case: Case, release: Table, dictionary: Table | None) -> Iterator[str]:
    if dictionary is None:
        yield "there is no dictionary"
        return
    at = {n: i for i, n in enumerate(dictionary.names)}
    by_name: dict[str, dict[Any, Row]] = defaultdict(dict)
    for row in dictionary.rows:
        own = by_name[row[at["column"]]]
        if row[at["released_value"]] in own:
            yield f"dictionary: {row[at['column']]} has a value twice"
        own[row[at["released_value"]]] = row
    for c in case.of("quasi_identifier"):
        own = by_name.pop(c.name, {})
        for cell in {repr(v): v for v in release.column(c.name)}.values():
            text = cell if isinstance(cell, str) or cell is None else text_of(cell)
            row = own.get(text)
            if row is None and not any(is_value(k, cell, c.kind) for k in own):
                yield f"dictionary: {c.name} lacks a released value"
            elif row is not None:
                yield from _bounded(c, cell, row, at)
    if by_name:
        yield f"dictionary: it explains {sorted(by_name)}"


def _bounded(c: Column, cell: Any, row: Row, at: dict[str, int]) -> Iterator[str]:
    """Whatever of the source a label is true of lies between its bounds, and is a leaf."""
    values = [v for _, v in c.values if v is not None and label_holds(cell, v, c)]
    numbers = c.family in ("whole", "number") and "type" not in c.spec
    lower, upper = row[at["lower"]], row[at["upper"]]
    for end, wrong in ((lower, lambda e, v: v < e), (upper, lambda e, v: v > e)):
        if end is None or not values or end in ("inf", "-inf", "nan"):
            continue
        if numbers:
            known = [_number(v) for v in values if v == v]
            bound = as_kind(end, c.kind) if c.kind in ("float", "double") else Fraction(end)
            if any(wrong(bound, v) for v in known):
                yield f"dictionary: a value of {c.name} lies outside of the bounds of its label"
        elif c.family in ("date", "moment") and "type" not in c.spec:
            bound = datetime.fromisoformat(end)
            moments = [
                v if isinstance(v, datetime) else datetime(*v.timetuple()[:3]) for v in values
            ]
            if any(wrong(bound, v) for v in moments):
                yield f"dictionary: a value of {c.name} lies outside of the bounds of its label"
    leaves = _listed(row[at["leaves"]])
    if leaves is not None and not all(
        any(is_value(leaf, v, c.kind) for leaf in leaves) for v in values
    ):
        yield f"dictionary: the leaves of a label of {c.name} lack a value of the source"


def _catalog(case: Case, release: Table, catalog: Table | None) -> Iterator[str]:
    """The catalog tells of each sensitive value how many records are not of the source."""
    if case.spec["method"]["catalog"] == "none":
        if catalog is not None:
            yield "a catalog that was not asked for"
        return
    if catalog is None:
        yield "there is no catalog"
        return
    sensitive = case.of("sensitive")
    said: Counter[Any] = Counter()
    for value, n in zip(
        catalog.column("sensitive_value"), catalog.column("counterfeits"), strict=True
    ):
        c = sensitive[0] if sensitive else None
        said[None if value is None else as_kind(value, c.kind) if c else value] += int(n)
    if not sensitive:
        if said.total() != len(release.rows) - case.rows:
            yield "catalog: another number of counterfeit records than were added"
        return
    c = sensitive[0]
    read = Counter(None if v is None else as_kind(v, c.kind) for v in release.column(c.name))
    read.subtract(Counter(plain(v) for _, v in c.values))
    if +said != +read or any(n < 0 for n in read.values()):
        yield "catalog: other counterfeit records than were added"


def honest_k(case: Case) -> int:
    """The least class of a release that was made elsewhere."""
    assert case.foreign is not None
    quasi = len(case.of("quasi_identifier"))
    return min(Counter(tuple(row[:quasi]) for row in case.foreign).values())


def told_of(result: Any) -> dict[str, Any]:
    """What a run tells, in plain values."""
    found = result.to_dict() if hasattr(result, "to_dict") else {}
    return dict(json.loads(json.dumps(found, default=str)))
