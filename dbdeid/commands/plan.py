"""A plan: what a release would do, as a policy that dbt applies again and again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdeid.bind.bind import bind
from dbdeid.bind.bound import Bound
from dbdeid.bind.histogram import on_histogram, records, require_explained
from dbdeid.bind.histogram import warnings as of_histogram
from dbdeid.bind.read import Source, read
from dbdeid.commands import dbt_seed as seed
from dbdeid.commands.dbt_promises import Promises, promises_of
from dbdeid.data.json import JsonObject
from dbdeid.engine.file_names import stem
from dbdeid.engine.reading import table_parts
from dbdeid.engine.session import Session, Settings
from dbdeid.errors import DataError, Mistake, SpecError
from dbdeid.methods.common.method import Planned
from dbdeid.methods.full_domain import full_domain
from dbdeid.methods.registry import method_of, ready
from dbdeid.prepare.prepare import Prepared
from dbdeid.privacy import KAnonymity, LDiversity, TCloseness
from dbdeid.review import exposure, findings
from dbdeid.spec.file import SpecFile
from dbdeid.spec.names import refuse
from dbdeid.spec.open_decisions import require_decided
from dbdeid.workspace.progress import Clock, Notify, Offer
from dbdeid.workspace.report_files import require_place, write_page
from dbdeid.workspace.workplace import check_source, workplace


@dataclass(frozen=True, slots=True)
class DbtPlan:
    """What was planned.

    Attributes:
        release: its name.
        seed: the file of the policy; None where none was asked for.
        source: what dbt calls the source: its name without folder and ending, or schema.
        policy: the CSV text.
        transformation: the level of each quasi-identifier.
        promises: what the gate of a model measures; the policy says it, too.
        loss: information loss in [0, 1] of the release that was planned.
        source_rows, suppressed_rows: records of the source, and those that the plan leaves out.
        warnings: what a reader should see.
        seconds: by phase.
    """

    release: str
    seed: Path | None
    source: str
    policy: str
    transformation: Mapping[str, int]
    promises: Promises
    loss: float
    source_rows: int
    suppressed_rows: int
    warnings: tuple[str, ...]
    seconds: Mapping[str, float]

    def to_dict(self) -> JsonObject:
        """As plain values, without the text of the policy."""
        return {
            "release": self.release,
            "seed": str(self.seed) if self.seed else None,
            "transformation": dict(self.transformation),
            "promises": self.promises.to_dict(),
            "loss": self.loss,
            "source_rows": self.source_rows,
            "suppressed_rows": self.suppressed_rows,
            "warnings": list(self.warnings),
            "seconds": dict(self.seconds),
        }


def plan(
    source: Source,
    connection: Any = None,
    *,
    output: Path | bool = False,
    database: Path | None = None,
    settings: Settings | None = None,
    histogram: str | Path | None = None,
    notify: Notify | None = None,
    offer: Offer | None = None,
) -> DbtPlan:
    """Search as a run would, release nothing, and write the policy that was found as a dbt seed.

    The seed holds what was declared, and which level was chosen of it: no value that is only in
    the data.

    Args:
        source: path of a spec, its text, or a dict.
        connection: an open DuckDB connection to read from.
        output: a .csv file, or the folder of `<release>_policy.csv`, which is made where it is
            missing; True: beside the spec.
        database: in place of the spec's `database`.
        settings: engine limits of an opened connection.
        histogram: in place of the source: a file or table with what the query of
            `dbdeid dbt histogram` gave.
        notify: called with each phase, and with the progress of the search.
        offer: asked, when the search is interrupted, whether to go on with the best found so far.

    Raises:
        SpecError, HierarchyError, DataError: bad input, or what dbt cannot do; nothing was written.
        Unsatisfiable: no transformation satisfies the models.
        NothingFound: none was found, and that none satisfies is not proven.
    """
    file, clock = read(source, connection, database), Clock(notify)
    refuse(file, "is not planned: it is there already", "verify, evaluate, query or report it")
    require_decided(file)
    _require_possible(file)
    place = _place(file, output, database)
    declared, counted = file, on_histogram(file, histogram) if histogram is not None else None
    if counted is not None:
        require_explained(declared, counted)
        file = counted.file
    with workplace(file, connection, database=database, settings=settings, writing=False) as work:
        with clock.phase("prepare"):
            bound = bind(file, work.session, records(counted, work.session) if counted else None)
            check_source(work, bound)
            prepared = ready(bound, work.session)
            warnings = findings.foreseen(prepared, work.session)
        with clock.phase("search"):
            planned = method_of(bound).plan(prepared, work.session, clock.progress, offer)
            prepared, warnings = planned.prepared, (*warnings, *planned.warnings)
            found: full_domain.FullDomainPlan = planned.plan
        with clock.phase("look"):
            _require_releasable(planned, work.session)
    rules = list(_policy(prepared, found))
    generalized = tuple(name for name, lines in rules if lines[0].rule != "keep")
    promises = promises_of(bound, generalized, counted)
    text = seed.written(file.spec.release, [*promises.lines(), *rules])
    if place is not None:
        with clock.phase("write"):
            _write(place, text)
    names = [q.name for q in prepared.quasi_identifiers]
    return DbtPlan(
        release=file.spec.release,
        seed=place,
        source=_model_of(declared),
        policy=text,
        transformation=dict(zip(names, found.node, strict=True)),
        promises=promises,
        loss=found.metrics["loss"],
        source_rows=prepared.rows,
        suppressed_rows=found.check.suppressed,
        warnings=(*warnings, *_warnings(bound), *(of_histogram(counted) if counted else ())),
        seconds=clock.seconds,
    )


def _model_of(file: SpecFile) -> str:
    """What dbt calls the source: the name of the file, or of the table without its schema."""
    name = file.spec.source_name
    if file.spec.kind_of(name) == "file":
        return stem(Path(name))
    return table_parts(name)[-1]


def _policy(
    prepared: Prepared, found: full_domain.FullDomainPlan
) -> Iterator[tuple[str, tuple[seed.Rule, ...]]]:
    for q, level in zip(prepared.quasi_identifiers, found.node, strict=True):
        bound = next(c for c in prepared.bound.quasi_identifiers if c.name == q.name)
        yield q.name, seed.rules(q, bound, level)


def _require_releasable(planned: Planned[full_domain.FullDomainPlan], session: Session) -> None:
    """Make what the policy makes, in memory alone, and refuse what a run would refuse of it.

    Raises:
        SpecError: a column looks like a direct identifier, or tells what is left out.
    """
    prepared = planned.prepared
    written = method_of(prepared.bound).write(planned, session)
    exposure.require_unnamed(prepared.bound, session, written.released)
    exposure.require_hidden(prepared, session, written.counted, synthetic=False)


def _warnings(bound: Bound) -> Iterator[str]:
    if any(isinstance(model, TCloseness) for model in bound.models):
        yield (
            "dbt measures t-closeness against the table that it releases, and dbdeid against the "
            "source: they differ by the records that are left out"
        )


def _require_possible(file: SpecFile) -> None:
    """Refuse what the package for dbt cannot do.

    Raises:
        SpecError: with all of it at once.
    """
    if mistakes := list(not_in_dbt(file)):
        raise SpecError(mistakes, source=file.label)


def not_in_dbt(file: SpecFile) -> Iterator[Mistake]:
    """What of a spec the package for dbt cannot do."""
    spec, run = file.spec, "release it with `dbdeid run`"
    if not spec.method.can.rules:
        message = f"method {spec.method.name} is no rule for each value, which a plan is"
        yield file.mistake(message, "method", hint="use full_domain or policy, or " + run)
    elif spec.method.keeps_suppressed:
        message = "the package for dbt leaves records out, and cannot keep them as *"
        yield file.mistake(message, "method", "suppressed", hint=f"drop the key, or {run}")
    if spec.null_policy != "own_category":
        message = "in dbt a NULL equals a NULL (own_category)"
        yield file.mistake(message, "null_policy", hint=f"leave it out, or {run}")
    for name, column in spec.columns.items():
        if column.pseudonym:
            message = "dbt has no pseudonyms"
            yield file.mistake(message, "columns", name, "pseudonym", hint=f"drop it, or {run}")
    if spec.output.bounds or spec.output.kind == "view":
        message = "in dbt a release is a table without bounds"
        yield file.mistake(message, "output", hint=f"leave it out, or {run}")
    for number, model in enumerate(spec.privacy):
        gated = isinstance(model, KAnonymity)
        if isinstance(model, LDiversity):
            gated = model.kind != "recursive" and not model.joint
        elif isinstance(model, TCloseness):
            gated = model.distance != "hierarchical" and not model.joint
        if not gated:
            message = f"the gate for dbt does not measure {model.model} as it is declared"
            hint = f"k_anonymity, l_diversity (distinct, entropy), t_closeness; or {run}"
            yield file.mistake(message, "privacy", number, hint=hint)


def _place(file: SpecFile, output: Path | bool, database: Path | None) -> Path | None:
    """Where the policy goes: a .csv file, or in a folder, which may have to be made.

    Raises:
        DataError: no folder, no name of a seed, or something else is there.
    """
    if output is False:
        return None
    name = f"{file.spec.release}_policy.csv"
    path = (file.path.parent if file.path else Path()) if output is True else Path(output)
    if path.is_dir():
        path = path / name
    elif not path.suffix and not path.exists():
        return path / name  # of a folder that is not there: nothing can be in its place
    if path.suffix != ".csv":
        raise DataError(f"{path} is no place for a seed", hint="give a .csv file, or a folder")
    require_place(path, file, database, _is_policy, "policy")
    return path


def _write(place: Path, text: str) -> None:
    """Write the policy; its folder is made where it is missing.

    Raises:
        DataError: it cannot be written.
    """
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"{place.parent} cannot be made ({error.strerror})", hint="choose another place with -o"
        ) from None
    write_page(place, text)


def _is_policy(path: Path) -> bool:
    try:
        return seed.is_policy(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return False
