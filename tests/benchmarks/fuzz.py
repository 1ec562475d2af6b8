"""Random specifications over all methods and types, judged by code that shares nothing with dbdeid.

    python tests/benchmarks/fuzz.py --cases 2000 --log fuzz.jsonl

Every case is run through `dbdeid.run` in a folder of its own. A release is recomputed from each
exported file (`tests/release/recomputed.py`) and verified once more by `dbdeid.verify`. The log has
a line a case, so that a run that was interrupted goes on where it stopped; the table at the end has
the outcomes by method, and what was refused and why. `--case N` runs one and shows it.

Whatever is neither a verified release that the judge accepts nor an error of dbdeid with a hint is
a finding, and makes the exit code 1.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter, defaultdict
from contextlib import chdir
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "release"))

import duckdb
import fuzzed
import recomputed

import dbdeid

FOUND = ("wrong", "crash", "report", "no hint", "EngineError")


def run(case: fuzzed.Case, folder: Path) -> tuple[str, str]:
    """The outcome of a case, and what it says: verified, refused by an error, or a finding."""
    with chdir(folder):
        for name, text in case.files.items():
            Path(name).write_text(text, newline="")
        con = duckdb.connect() if case.inside else None
        held = con or duckdb.connect("owner.duckdb")
        for statement in case.sql:
            held.execute(statement)
        if con is None:
            held.close()
        try:
            return _external(case) if case.foreign is not None else _release(case, con, folder)
        except dbdeid.DbdeidError as error:
            return _refused(error)
        except Exception:
            return "crash", traceback.format_exc()[-2000:]
        finally:
            if con is not None:
                con.close()


def _release(case: fuzzed.Case, con: Any, folder: Path) -> tuple[str, str]:
    result = dbdeid.run(case.spec, con)
    wrong = [] if result.verified else ["the run does not say that it was verified"]
    told = recomputed.told_of(result)
    for export in case.spec["output"]["export"]:
        wrong += [f"{export}: {w}" for w in recomputed.judge(case, folder / export, told)]
    if "target" in case.spec:
        wrong += recomputed.judge(case, folder / case.spec["target"], told)
    again = dbdeid.verify(case.spec, con)
    if not again.verified:
        wrong.append(f"a later verification fails: {again.failures}")
    if case.number % 4 == 0:
        dbdeid.check(case.spec, con)
        wrong += _asked(case, con, result.released_rows - result.counterfeit_rows)
    return ("wrong", "; ".join(wrong)) if wrong else ("verified", "")


def _asked(case: fuzzed.Case, con: Any, rows: int) -> list[str]:
    """How many records there are, asked of the release as an analyst does."""
    try:
        answer = dbdeid.query(case.spec, "SELECT COUNT(*) AS n FROM visits", con)
    except dbdeid.DbdeidError as error:
        kind, text = _refused(error)
        return [f"query: {text}"] if kind in FOUND else []
    (row,) = answer.rows
    lower, upper = row[answer.columns.index("n_lower")], row[answer.columns.index("n_upper")]
    if lower is not None and not lower <= rows <= upper:
        return [f"query: {rows} records are not between {lower} and {upper}"]
    return []


def _external(case: fuzzed.Case) -> tuple[str, str]:
    """The verifier says of a release that was made elsewhere what is the case."""
    found = dbdeid.verify(case.spec)
    k, promised = recomputed.honest_k(case), case.spec["privacy"][0]["k"]
    if not case.honest:
        return ("wrong", "a false row was accepted") if found.verified else ("found out", "")
    if found.verified == (k >= promised):
        return ("verified" if found.verified else "found out"), ""
    return "wrong", f"k = {k}, promised {promised}, and verify says {found.failures or 'verified'}"


def _refused(error: dbdeid.DbdeidError) -> tuple[str, str]:
    text = str(error)
    kind = type(error).__name__
    if "report this" in text or "defect" in text or isinstance(error, dbdeid.VerificationError):
        return "report", f"{kind}: {text}"
    if "Hint:" not in text:
        return "no hint", f"{kind}: {text}"
    return kind, text


def short(text: str) -> str:
    """What a refusal is about, without names and numbers."""
    lines = [line for line in text.splitlines() if not line.startswith("spec: ")]
    found = re.sub(r"'[^']*'|\"[^\"]*\"", "…", lines[0] if lines else text)
    return re.sub(r"-?\d[\d,.]*", "N", found)[:110]


def outcome(number: int) -> dict[str, Any]:
    """Run the case of a number in a folder that is gone afterwards."""
    case = fuzzed.case(number)
    folder = Path(tempfile.mkdtemp(prefix="fuzz"))
    started = time.monotonic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kind, text = run(case, folder)
        left = [p.name for p in folder.iterdir() if p.name.startswith(".dbdeid")]
        if left and kind not in FOUND:
            kind, text = "wrong", f"left behind: {left}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    seconds = round(time.monotonic() - started, 2)
    return {"case": number, "method": case.method, "outcome": kind, "text": text, "s": seconds}


def table(found: list[dict[str, Any]]) -> str:
    """Outcomes by method, then the kinds of refusals."""
    kinds = ["verified", "found out"]
    kinds += [*sorted({f["outcome"] for f in found} - {*kinds, *FOUND}), *FOUND]
    by_method: dict[str, Counter[str]] = defaultdict(Counter)
    for f in found:
        by_method[f["method"]][f["outcome"]] += 1
        by_method["all"][f["outcome"]] += 1
    lines = ["method".ljust(18) + "cases  " + "  ".join(kinds) + "  verified"]
    for method in [*fuzzed.METHODS, "all"]:
        counts = by_method[method]
        cells = "  ".join(str(counts[kind]).rjust(len(kind)) for kind in kinds)
        good = counts["verified"] + counts["found out"]
        share = good / max(1, counts.total())
        lines.append(f"{method.ljust(18)}{counts.total():5}  {cells}  {share:8.0%}")
    reasons = Counter(
        (f["outcome"], f["method"], short(f["text"]))
        for f in found
        if f["outcome"] not in ("verified", "found out")
    )
    lines += ["", "refused"]
    for (kind, method, text), n in reasons.most_common(60):
        lines.append(f"{n:5}  {kind:14} {method:17} {text}")
    return "\n".join(lines)


def main() -> int:
    """Run the cases that the log does not have."""
    ask = argparse.ArgumentParser()
    ask.add_argument("--cases", type=int, default=2000)
    ask.add_argument("--first", type=int, default=0)
    ask.add_argument("--log", type=Path, default=Path("fuzz.jsonl"))
    ask.add_argument("--seconds", type=float, default=float("inf"))
    ask.add_argument("--case", type=int)
    asked = ask.parse_args()
    if asked.case is not None:
        print(json.dumps(fuzzed.case(asked.case).spec, indent=1, default=str, ensure_ascii=False))
        print(*fuzzed.case(asked.case).sql, sep="\n")
        print(json.dumps(outcome(asked.case), indent=1, ensure_ascii=False).replace("\\n", "\n"))
        return 0
    log, done, started = asked.log, [], time.monotonic()  # type: ignore[var-annotated]
    if log.exists():
        done = [json.loads(line) for line in log.read_text().splitlines()]
    known = {f["case"] for f in done}
    with log.open("a") as out:
        for number in range(asked.first, asked.first + asked.cases):
            if number in known or time.monotonic() - started > asked.seconds:
                continue
            done.append(outcome(number))
            out.write(json.dumps(done[-1]) + "\n")
            out.flush()
            if done[-1]["outcome"] in FOUND:
                print(number, done[-1]["method"], done[-1]["outcome"], done[-1]["text"][-600:])
    done = [f for f in done if asked.first <= f["case"] < asked.first + asked.cases]
    print(table(done))
    print(f"{len(done)} of {asked.cases} cases, {sum(f['s'] for f in done):.0f} s")
    return int(any(f["outcome"] in FOUND for f in done))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
