"""Faults planted in the code, one at a time: which tier of the tests catches them?

    pip install cosmic-ray pytest-cov
    pytest --cov --cov-context=test
    python tests/benchmarks/planted.py [--faults 60] [--seed 1] [--full] [--log planted.jsonl]

Changes this checkout, and restores it: work in a clone of its own, with nothing uncommitted. Faults
are drawn alike from what must not be wrong: privacy models, the verifier, the path of a release,
and queries; in Python (the operators of Cosmic Ray) and in the steps of SQL. Of each fault the
tests of the default tier that run its line, as `.coverage` has it, are run until one fails, the
nearest folder first; no other test of that tier could notice. Of a step of SQL those that run a
line which names the step. With `--full` what the default tier lets pass is tried on all cases of
the same files and of the folder named alike. Prints how many of each area were caught by which
tier, and those that none caught: among them are changes that mean the same.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import sqlglot
from cosmic_ray.mutating import MutationVisitor
from cosmic_ray.plugins import get_operator, operator_names
from coverage import CoverageData

ROOT = Path(__file__).parents[2]
AREAS = {
    "privacy": ("privacy",),
    "verify": ("verify",),
    "release": ("release", "publish", "review", "evaluation", "rerelease"),
    "query": ("query",),
}
# Operators of Cosmic Ray that change what is computed; `|` mostly stands in types.
OPERATORS = re.compile(
    r"core/(AddNot|NumberReplacer|ReplaceAndWithOr|ReplaceOrWithAnd|ReplaceFalseWithTrue"
    r"|ReplaceTrueWithFalse|ReplaceBreakWithContinue|ReplaceContinueWithBreak|ZeroIterationForLoop"
    r"|ReplaceUnaryOperator_Delete_Not|ReplaceUnaryOperator_Delete_USub"
    r"|ReplaceComparisonOperator_(Eq_NotEq|NotEq_Eq|Lt_LtE|LtE_Lt|Gt_GtE|GtE_Gt|Lt_Gt|GtE_LtE"
    r"|Is_IsNot|IsNot_Is)"
    r"|ReplaceBinaryOperator_(Add_Sub|Sub_Add|Div_Mul))"  # a bare * of arguments would be a Mul
)
IN_SQL = {
    **{"=": "<>", "<>": "=", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "+": "-", "-": "+"},
    **{"AND": "OR", "OR": "AND", "MIN": "MAX", "MAX": "MIN", "LEFT": "INNER", "1": "2", "0": "1"},
    **{"SUM": "MAX", "DISTINCT": "ALL"},
}
# A fault may keep a test from ending; no test of the default tier takes nearly as long.
PATIENCE = 900


@dataclass(frozen=True)
class Fault:
    """A change of one file.

    Attributes:
        area: of `AREAS`.
        path: the file, from the root of the checkout.
        operator: what is changed.
        occurrence: which place of the file.
        line: where.
        before, after: the line.
        caught: the tier that noticed, or neither.
        by: what failed.
        tests: how many tests of the default tier run the line.
        seconds: until that was known.
    """

    area: str
    path: str
    operator: str
    occurrence: int
    line: int
    before: str
    after: str
    caught: str = "neither"
    by: str = ""
    tests: int = 0
    seconds: float = 0.0


def files(area: str) -> list[Path]:
    """The modules and steps of an area."""
    found = []
    for room in AREAS[area]:
        found += (ROOT / "dbdeid" / room).rglob("*.py")
        found += (ROOT / "sql" / "steps" / room).rglob("*.sql")
    return sorted(found)


def changed(path: Path, operator: str, occurrence: int) -> str | None:
    """The text of a file with one fault; None where there is no such place."""
    text = path.read_text(encoding="utf-8")
    if operator == "sql":
        places = [t for t in sqlglot.tokenize(text, dialect="duckdb") if t.text.upper() in IN_SQL]
        if occurrence >= len(places):
            return None
        token = places[occurrence]
        return text[: token.start] + IN_SQL[token.text.upper()] + text[token.end + 1 :]
    return MutationVisitor.mutate_code(text, get_operator(operator)(), occurrence)


def places(path: Path) -> Iterator[tuple[str, int]]:
    """All faults that a file could have."""
    names = (
        ["sql"] if path.suffix == ".sql" else sorted(filter(OPERATORS.fullmatch, operator_names()))
    )
    for operator in names:
        occurrence = 0
        while changed(path, operator, occurrence) is not None:
            yield operator, occurrence
            occurrence += 1


def drawn(area: str, number: int, rng: random.Random) -> Iterator[Fault]:
    """Faults of an area, of different files as long as there are some."""
    paths = files(area)
    weights = [len(p.read_text(encoding="utf-8").splitlines()) for p in paths]
    seen: set[Path] = set()
    while number:
        path = rng.choices(paths, weights)[0]
        if path in seen and len(seen) < len(paths) // 2:
            continue
        possible = list(places(path))
        if not possible:
            continue
        operator, occurrence = rng.choice(possible)
        before = path.read_text(encoding="utf-8").splitlines()
        after = (changed(path, operator, occurrence) or "").splitlines()
        line = next(
            (i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), None
        )
        if line is None or _outside(path, line + 1):
            continue
        seen.add(path)
        number -= 1
        at = (before[line].strip(), after[line].strip())
        yield Fault(area, str(path.relative_to(ROOT)), operator, occurrence, line + 1, *at)


def _outside(path: Path, line: int) -> bool:
    """Whether a line never runs: types, and imports for types only."""
    if path.suffix == ".sql":
        return False
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        typed = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        named = isinstance(node, ast.AnnAssign) and "TypeAlias" in ast.unparse(node.annotation)
        if (typed or named) and node.lineno <= line <= (node.end_lineno or line):
            return True
    return False


class Tests:
    """The tests of the default tier by the lines that they run."""

    def __init__(self) -> None:
        self._data = CoverageData(str(ROOT / ".coverage"))
        self._data.read()
        if not self._data.measured_contexts():
            sys.exit("no contexts in .coverage: run `pytest --cov --cov-context=test` first")

    def of(self, fault: Fault) -> list[str]:
        """The tests that run the line of a fault, the nearest folder first."""
        if fault.path.endswith(".sql"):
            step = fault.path.removeprefix("sql/steps/").removesuffix(".sql")
            found = set()
            for module in sorted((ROOT / "dbdeid").rglob("*.py")):
                text = module.read_text(encoding="utf-8").splitlines()
                for number, line in enumerate(text, 1):
                    if f'"{step}"' in line:
                        found |= self._at(module, number)
        else:
            found = self._at(ROOT / fault.path, fault.line)
        room = Path(fault.path).parts[1 if fault.path.startswith("dbdeid") else 2]
        return sorted(found, key=lambda name: (f"/{room}/" not in name, name))

    def _at(self, path: Path, line: int) -> set[str]:
        lines = self._data.contexts_by_lineno(str(path))
        if not any(lines.get(line, ())) and lines.get(line) is not None:
            # it runs when it is imported, before any test: what it makes matters to all
            return {c.rpartition("|")[0] for found in lines.values() for c in found if c}
        # a line of a statement of several is counted at its first
        started = max((n for n in lines if n <= line), default=0)
        contexts = {*lines.get(line, ()), *lines.get(started, ())}
        return {context.rpartition("|")[0] for context in contexts if context}


def failing(tests: list[str], *more: str) -> str:
    """The first test that fails; nothing where all pass."""
    if not tests:
        return ""
    listed = ROOT / ".pytest_cache" / "planted.txt"
    listed.parent.mkdir(exist_ok=True)
    listed.write_text("\n".join(tests), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", *more, f"@{listed}"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return "did not end"
    if done.returncode == 0:
        return ""
    if "ERROR: not found" in done.stdout + done.stderr or done.returncode == 5:
        sys.exit(f"tests of .coverage are not there: {(done.stdout + done.stderr)[-500:]}")
    broken = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return broken[1] if broken else (done.stdout + done.stderr)[-200:]


def tried(fault: Fault, tests: Tests, *, full: bool) -> Fault:
    """Plant a fault, and tell which tier catches it."""
    path, started = ROOT / fault.path, time.monotonic()
    known = tests.of(fault)
    original = path.read_bytes()
    text = changed(path, fault.operator, fault.occurrence)
    assert text is not None
    try:
        path.write_text(text, encoding="utf-8")
        by, tier = failing(known), "default"
        if not by and full:
            room = Path(fault.path).parts[1 if fault.path.startswith("dbdeid") else 2]
            alike = [f"tests/{room}"] if (ROOT / "tests" / room).is_dir() else []
            by, tier = failing([*{n.partition("::")[0] for n in known}, *alike], "--full"), "full"
    finally:
        path.write_bytes(original)
    seconds = round(time.monotonic() - started, 1)
    caught = tier if by else "neither"
    return replace(fault, caught=caught, by=by, tests=len(known), seconds=seconds)


def main() -> None:
    """Plant faults, and count those that are caught."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--faults", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--full", action="store_true", help="what passes is tried on all cases")
    parser.add_argument("--log", type=Path, default=Path("planted.jsonl"))
    given = parser.parse_args()
    git = ["git", "status", "--porcelain", "--untracked-files=no"]
    if subprocess.run(git, cwd=ROOT, capture_output=True, check=True).stdout:
        sys.exit("commit or put aside what you changed first")
    tests, rng = Tests(), random.Random(given.seed)
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    missed = []
    with given.log.open("a", encoding="utf-8") as log:
        for area in AREAS:
            for fault in drawn(area, given.faults // len(AREAS), rng):
                result = tried(fault, tests, full=given.full)
                counted[area][result.caught] += 1
                missed += [result] if result.caught != "default" else []
                log.write(json.dumps(asdict(result)) + "\n")
                log.flush()
                print(f"{result.caught:8} {result.path}:{result.line} {result.by}", flush=True)
    for area, found in counted.items():
        print(f"{area:8}", *(f"{tier} {found[tier]:3}" for tier in ("default", "full", "neither")))
    for fault in missed:
        print(f"{fault.caught}: {fault.path}:{fault.line}\n  - {fault.before}\n  + {fault.after}")


if __name__ == "__main__":
    main()
