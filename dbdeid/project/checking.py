"""Testing a release that exists: whether it keeps its promises, and what its spec expects."""

from __future__ import annotations

from pathlib import Path

from dbdeid.bind.read import read
from dbdeid.commands.results import Verified
from dbdeid.commands.verify_evaluate_export import evaluate, verify
from dbdeid.data.json import JsonObject, plain
from dbdeid.engine.session import Settings
from dbdeid.errors import DataError, Failure, VerificationError
from dbdeid.evaluation.expectations import judged
from dbdeid.external import record as external_record
from dbdeid.project.runner import Done
from dbdeid.record.border import record_of
from dbdeid.record.findings import Verification
from dbdeid.record.release_record import ReleaseRecord
from dbdeid.record.usefulness import Expectation, Workload
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
    expectations: tuple[Expectation, ...] = ()
    why, changed = None, None
    if is_external(file):
        record = external_record.record(file, database=database, settings=settings)
        assert record.verification is not None
        found: Verification | Verified = record.verification
        expectations = judged(file.spec.expect, record)
    else:
        found = verify(path, database=database, settings=settings)
        why, changed = found.unpublishable, found.source_changed
        if file.spec.expect:
            record = _measured(file, path, database, settings)
            expectations = judged(file.spec.expect, record)
    failed = [p.model for p in found.promises if not p.holds]
    failed += [check.check for check in found.hygiene if not check.holds]
    missed = [str(expectation) for expectation in expectations if not expectation.holds]
    details: JsonObject = {
        "verified": found.verified,
        "failed": failed,
        "expectations": [expectation.to_dict() for expectation in expectations],
    }
    told = [f"verification failed: {', '.join(failed)}"] if failed else []
    told += [f"it misses what the spec expects: {'; '.join(missed)}"] if missed else []
    if not told and why is not None:
        details["unpublishable"] = plain(why.to_dict())
        do = "run the spec again before anything of it is given away"
        return Done(details, Failure(f"{why.message}\n  Hint: {do}", DataError.exit_code))
    if not told and changed is not None:
        details["source_changed"] = changed.to_dict()
        again = f"{changed.message}\n  Hint: run it again; the release itself is as it was"
        return Done(details, Failure(again, DataError.exit_code))
    if not told:
        return Done(details)
    hint = "do not give this away" if failed else "find a better release, or change `expect`"
    failure = Failure(f"{'; '.join(told)}\n  Hint: {hint}", VerificationError.exit_code)
    return Done(details, failure)


def _measured(
    file: SpecFile, path: Path, database: Path | None, settings: Settings | None
) -> ReleaseRecord:
    """The record of the last run, with what the spec expects now and was not measured then.

    The workload is asked again: its queries may have changed.
    """
    with workplace(file, database=database, settings=settings, writing=False) as work:
        entry = work.last(file.spec)
    if entry is None:
        raise never_run(file, work)
    record = record_of(entry)
    then = {name.partition(".")[0] for name in record.metrics}
    kinds = {name.partition(".")[0] for name in file.spec.expect}
    asked = {*(file.spec.evaluate.metrics or ())}
    if kinds & {*OF_QUERIES} or kinds & asked - then:
        found = evaluate(path, database=database, settings=settings)
        asked_again = None if found.queries is None else Workload.told_by(found.queries.to_dict())
        update = {"metrics": dict(found.metrics), "queries": asked_again}
        return record.model_copy(update=update)
    return record
