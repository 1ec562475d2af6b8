"""Testing a release that exists: whether it keeps its promises, and what its spec expects."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dbdeid.bind.read import read
from dbdeid.commands.verify_evaluate_export import evaluate, verify
from dbdeid.engine.session import Settings
from dbdeid.errors import DataError, Failure, VerificationError
from dbdeid.evaluation.expectations import judged
from dbdeid.external import record as external_record
from dbdeid.project.runner import Done
from dbdeid.spec.expect_spec import OF_QUERIES
from dbdeid.spec.file import SpecFile
from dbdeid.spec.names import is_external
from dbdeid.workspace.workplace import never_run, workplace


def check_release(
    path: Path, *, database: Path | None = None, settings: Settings | None = None
) -> Done:
    """Verify the release of a spec again, and hold what was measured against `expect`.

    Raises:
        DataError: there is no verifiable release of this spec.
    """
    file = read(path, database=database)
    if is_external(file):
        record: Mapping[str, Any] = external_record.record(
            file, database=database, settings=settings
        )
        found = record["verification"]
    else:
        found = verify(path, database=database, settings=settings).to_dict()
        record = _measured(file, path, database, settings) if file.spec.expect else {}
    failed = [p["model"] for p in found["promises"] if not p["holds"]]
    failed += [check["check"] for check in found["hygiene"] if not check["holds"]]
    expectations = judged(file.spec.expect, record) if file.spec.expect else ()
    missed = [str(expectation) for expectation in expectations if not expectation.holds]
    details = {
        "verified": found["verified"],
        "failed": failed,
        "expectations": [expectation.to_dict() for expectation in expectations],
    }
    told = [f"verification failed: {', '.join(failed)}"] if failed else []
    told += [f"it misses what the spec expects: {'; '.join(missed)}"] if missed else []
    if not told and (why := found.get("unpublishable")):
        details["unpublishable"] = why
        do = "run the spec again before anything of it is given away"
        return Done(details, Failure(f"{why['message']}\n  Hint: {do}", DataError.exit_code))
    changed = found.get("source_changed")
    if not told and changed:
        details["source_changed"] = changed
        again = f"{changed['message']}\n  Hint: run it again; the release itself is as it was"
        return Done(details, Failure(again, DataError.exit_code))
    if not told:
        return Done(details)
    hint = "do not give this away" if failed else "find a better release, or change `expect`"
    failure = Failure(f"{'; '.join(told)}\n  Hint: {hint}", VerificationError.exit_code)
    return Done(details, failure)


def _measured(
    file: SpecFile, path: Path, database: Path | None, settings: Settings | None
) -> Mapping[str, Any]:
    """The record of the last run, with what the spec expects now and was not measured then.

    The workload is asked again: its queries may have changed.
    """
    with workplace(file, database=database, settings=settings, writing=False) as work:
        entry = work.last(file.spec)
    if entry is None:
        raise never_run(file, work)
    record: dict[str, Any] = dict(entry.record)
    then = {name.partition(".")[0] for name in record.get("metrics") or ()}
    kinds = {name.partition(".")[0] for name in file.spec.expect}
    asked = {*(file.spec.evaluate.metrics or ())}
    if kinds & {*OF_QUERIES} or kinds & asked - then:
        found = evaluate(path, database=database, settings=settings)
        record |= {"metrics": found["metrics"], "queries": found["queries"]}
    return record
