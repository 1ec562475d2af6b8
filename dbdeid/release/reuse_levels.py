"""Reusing: the levels of a release's last run, applied to the data of today."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from dbdeid.engine.catalog import Entry
from dbdeid.engine.sqltext import step
from dbdeid.errors import DataError, NothingFound, SpecError, Unsatisfiable
from dbdeid.prepare.prepare import Prepared, upload_hierarchies
from dbdeid.record.border import record_of
from dbdeid.spec.file import SpecFile, read_text
from dbdeid.workspace.workplace import Workplace


def applied(file: SpecFile, work: Workplace) -> tuple[SpecFile, Entry]:
    """The spec with the levels of its last run, and that run.

    Raises:
        DataError: there is none, or it was of another spec.
        SpecError: the method has no levels that could be applied again.
    """
    method, spec = file.spec.method, file.spec
    if (refused := method.can.reuse) is not None:
        mistake = file.mistake(
            f"a run of method {method.name} cannot be repeated on other records: {refused.why} "
            "by the records that there are",
            "method",
            hint=refused.hint,
        )
        raise SpecError([mistake], source=file.label)
    last = work.published.latest(spec.release) if work.published else None
    if last is None:
        raise DataError(
            f"release {spec.release!r} was never run here: there is nothing to reuse",
            hint="run it once without --reuse",
        )
    require_same(file, last, besides=("seed",))
    known = method.at_levels(last.transformation)
    return replace(file, spec=spec.model_copy(update={"method": known})), last


def require_same_labels(work: Workplace, prepared: Prepared, last: Entry) -> None:
    """Refuse levels that would mean something else than in the last run.

    Raises:
        DataError: values read otherwise on their level than they did.
    """
    assert work.published is not None
    kept = work.published.of_release(last.release)
    now = upload_hierarchies(prepared, work.session)
    changed = work.session.rows(step("release/changed_labels", {"now": now, "kept": kept}))
    for name, level, values in changed:
        if last.transformation.get(name) == level:
            raise DataError(
                f"column {name!r}: level {level} of its hierarchy is not what it was: {values} "
                "values read otherwise",
                hint="run it without --reuse; intervals stay the same where `lower` and `upper` "
                "are declared",
            )


@contextmanager
def still_holding(last: Entry | None) -> Iterator[None]:
    """Turn a failure of reused levels into an error that names them.

    Raises:
        Unsatisfiable: the transformation no longer satisfies the models within the limits.
    """
    try:
        yield
    except (Unsatisfiable, NothingFound) as error:
        if last is None:
            raise
        levels = ", ".join(f"{name} {level}" for name, level in last.transformation.items())
        raise Unsatisfiable(
            f"the levels of {last.created:%Y-%m-%d %H:%M} UTC ({levels}) no longer hold on the "
            f"data of today: {error.message}",
            hint="nothing was replaced; run it without --reuse to search for other levels",
        ) from None


def drawing_as_before(prepared: Prepared, last: Entry | None) -> Prepared:
    """The same with the key of the release's last run, unless the spec has a seed.

    Who has two releases that differ in their draws alone knows what is real: it is in both.
    """
    parameters, drawing = prepared.parameters, prepared.parameters.drawing
    key = record_of(last).draws if last else None
    if drawing is None or key is None or prepared.bound.spec.seed is not None:
        return prepared
    return replace(prepared, parameters=parameters.under(replace(drawing, key=key)))


def require_same(file: SpecFile, entry: Entry, *, besides: tuple[str, ...] = ()) -> None:
    """Refuse to speak of a release for a spec that has changed since.

    Args:
        file: the spec now.
        entry: the last run.
        besides: keys that may differ; `evaluate`, `rerelease` and what a project asks always may.

    Raises:
        DataError: the spec is not the one that made the release.
    """
    loose = {"evaluate", "expect", "rerelease", "tags", "depends_on", *besides}
    try:
        then = read_text(entry.spec).spec
    except SpecError:
        then = None
    if then is None or then.model_dump(exclude=loose) != file.spec.model_dump(exclude=loose):
        raise DataError(
            f"{file.label} is not the spec that made release {entry.release!r} on "
            f"{entry.created:%Y-%m-%d %H:%M} UTC",
            hint="run it first, or go back to that spec",
        )
