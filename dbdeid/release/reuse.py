"""Reusing: the levels of a release's last run, applied to the data of today."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from dbdeid.engine.catalog import Entry
from dbdeid.engine.sqltext import step
from dbdeid.errors import DataError, NothingFound, SpecError, Unsatisfiable
from dbdeid.release.existing import require_same
from dbdeid.release.method_spec import FullDomain, Policy
from dbdeid.release.prepare import Prepared, upload_hierarchies
from dbdeid.release.specfile import SpecFile
from dbdeid.release.workplace import Workplace

_OTHERWISE = "give the intervals as hierarchies of method full_domain, whose levels stay"


def applied(file: SpecFile, work: Workplace) -> tuple[SpecFile, Entry]:
    """The spec with the levels of its last run, and that run.

    Raises:
        DataError: there is none, or it was of another spec.
        SpecError: the method has no levels that could be applied again.
    """
    method, spec = file.spec.method, file.spec
    if not isinstance(method, FullDomain):
        why = "it chooses intervals" if isinstance(method, Policy) else "it has no levels"
        mistake = file.mistake(
            f"a run of method {method.name} cannot be repeated on other records: {why} by the "
            "records that there are",
            "method",
            hint=_OTHERWISE if isinstance(method, Policy) else "run it without --reuse",
        )
        raise SpecError([mistake], source=file.label)
    last = work.published.latest(spec.release) if work.published else None
    if last is None:
        raise DataError(
            f"release {spec.release!r} was never run here: there is nothing to reuse",
            hint="run it once without --reuse",
        )
    require_same(file, last, besides=("seed",))
    known = method.model_copy(update={"transformation": dict(last.transformation)})
    return replace(file, spec=spec.model_copy(update={"method": known})), last


def require_same_labels(work: Workplace, prepared: Prepared, last: Entry) -> None:
    """Refuse levels that would mean something else than in the last run.

    Raises:
        DataError: values read otherwise on their level than they did.
    """
    assert work.published is not None
    kept = work.published.of_release(last.release)
    now = upload_hierarchies(prepared, work.session)
    changed = work.session.rows(step("changed_labels", {"now": now, "kept": kept}))
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
    """What does not hold of reused levels, told as such.

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
