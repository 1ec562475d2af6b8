"""The commands that work on many releases: run, test and document a project."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dbdeid.cli.command import Options, following, guarded, project_texts, show, tell, texts
from dbdeid.errors import DataError, Failure

if TYPE_CHECKING:
    from dbdeid.project.project import Project
    from dbdeid.project.releases import Release
    from dbdeid.project.results import Result, Results
    from dbdeid.project.runner import Done, Runner

Specs = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[SPEC]…", help="Specifications; none: the project around this folder."),
]
Select = Annotated[
    list[str] | None,
    typer.Option(
        "--select",
        "-s",
        metavar="WORDS",
        help="Releases of the project: name, tag:x, path, state:modified, result:failed, +name+.",
    ),
]
Exclude = Annotated[list[str] | None, typer.Option(metavar="WORDS", help="Releases to exclude.")]
InProject = Annotated[
    Path | None, typer.Option("--project", metavar="DIR", help="The folder of the project.")
]


def run(
    specs: Specs = None,
    *,
    select: Select = None,
    exclude: Exclude = None,
    project: InProject = None,
    reuse: Annotated[
        bool, typer.Option("--reuse", help="Apply the levels of the last run without a search.")
    ] = False,
    trial: Annotated[
        bool, typer.Option("--trial", help="Make a trial, which is never published.")
    ] = False,
    spark_remote: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The Spark that has the tables: sc://host:15002."),
    ] = None,
    options: Options,
) -> None:
    """Make, verify and publish releases.

    A release is published only after it is verified. Exit code 3: no release satisfies the declared
    models within the declared limits; 4: a release misses what its spec expects. In a project, a
    failure stops only the releases built on it. A trial is written to a file of its own, without
    exports: what was published stays, and later runs are not compared with it.

    dbdeid run visits.yml

    dbdeid run visits.yml --trial

    dbdeid run --select "tag:weekly+" --exclude visits_internal

    dbdeid run --select result:failed

    dbdeid run visits.yml --spark-remote sc://spark.example.org:15002
    """
    if specs:
        _refuse_words(select, exclude, project)
        return _run_specs(specs, options, reuse=reuse, trial=trial, there=spark_remote)
    if spark_remote is not None:
        raise DataError(
            "a project is not run in Spark: it remembers what it has released",
            hint="name the specifications",
        )

    found = _opened(project, options)
    chosen = found.select(select or (), exclude or ())
    if options.explain:
        return explain([release.path for release in chosen if release.made_here], options)

    def make(release: Release) -> Done:
        from dbdeid.workspace.progress_line import PHASES

        with following(options, PHASES) as follower:
            return found.make(release, follower.notify, follower.offer, reuse=reuse, trial=trial)

    kept = found.trials_file if trial else found.results_file
    _go(found.runner(chosen, make, guarded, trial=trial), options, kept)


def examine(
    specs: Specs = None,
    *,
    select: Select = None,
    exclude: Exclude = None,
    project: InProject = None,
    options: Options,
) -> None:
    """Test promises and expectations of releases.

    Promises are verified as by `verify`, and measured values are compared with `expect`. Exit code
    4: a promise does not hold, or an expectation is missed.

    dbdeid test visits.yml

    dbdeid test --select tag:weekly
    """
    if specs:
        _refuse_words(select, exclude, project)
        return _test_specs(specs, options)
    found = _opened(project, options)
    tester = found.tester(found.select(select or (), exclude or ()), guarded)
    _go(tester, options, found.tests_file)


def docs(
    *,
    audience: Annotated[
        Literal["internal", "public"], typer.Option(help="Who will read the page.")
    ] = "internal",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Where to write it.")
    ] = None,
    select: Select = None,
    exclude: Exclude = None,
    project: InProject = None,
    options: Options,
) -> None:
    """Write the reports of a project as a site.

    The internal site shows what only the owner may know; the public one may be given away. No
    network is needed to read either.

    dbdeid docs --audience public --select tag:open
    """
    found = _opened(project, options)
    written = found.docs(audience, output, select=select or (), exclude=exclude or ())
    index = _from_here(written)
    show(options, {"site": index, "audience": audience}, f"{audience} site: {index}")


def explain(specs: Sequence[Path], options: Options) -> None:
    """Print the SQL steps of runs without executing any."""
    from dbdeid.commands.explain import steps

    documents, shown = [], []
    for spec in specs:
        found = steps(spec, database=options.database, settings=options.settings)
        documents.append({"steps": [{"name": s.name, "sql": s.text()} for s in found]})
        shown += [f"-- step {s.name}\n{s.text()};" for s in found]
    show(options, documents if len(specs) != 1 else documents[0], "\n\n".join(shown), code=True)


def _run_specs(
    specs: Sequence[Path], options: Options, *, reuse: bool, trial: bool, there: str | None
) -> None:
    from dbdeid.bind.read import read
    from dbdeid.engine.engines import connected
    from dbdeid.release.run import run as run_release
    from dbdeid.workspace.release_files import require_lasting

    if options.explain and there is not None:
        raise DataError("the steps of a run in Spark are not shown", hint="-vv logs its phases")
    if options.explain:
        return explain(specs, options)
    mine = specs if there is None else ()
    files = [read(path, database=options.database, trial=trial) for path in mine]
    # a mistake in the last spec is told before the first is run
    for file, path in zip(files, mine, strict=True):
        require_lasting(
            file,
            str(path),
            options.database,
            hint="give the spec a `target`, a `database` or an `output.export`",
        )
    results = []
    with connected(there) as connection:
        for path in specs:
            from dbdeid.workspace.progress_line import PHASES

            with following(options, PHASES) as follower:
                result = run_release(
                    # one that reads what another has made is looked at again when its turn comes
                    files[0] if len(files) == 1 else path,
                    connection,
                    database=options.database,
                    settings=options.settings,
                    notify=follower.notify,
                    offer=follower.offer,
                    reuse=reuse,
                    trial=trial,
                )
            results.append(result.to_dict())
            show(options, None, texts().released(result))
    if options.json:
        show(options, results if len(specs) > 1 else results[0], "")


def _test_specs(specs: Sequence[Path], options: Options) -> None:
    from dbdeid.bind.read import read
    from dbdeid.project.checking import check_release
    from dbdeid.project.releases import Release
    from dbdeid.project.runner import Runner

    releases = [Release(read(path, database=options.database), str(path)) for path in specs]

    def check(release: Release) -> Done:
        return check_release(release.path, database=options.database, settings=options.settings)

    _go(Runner("test", releases, check, guarded), options, None)


def _go(runner: Runner, options: Options, kept: Path | None) -> None:
    """Work on releases, tell of each as it ends, and end with the worst of their exit codes."""

    def told(result: Result, failure: Failure | None) -> None:
        if failure is not None:
            tell(failure, options, of=result.release)
        show(options, None, project_texts().line(result.to_dict()))

    runner.tell = told
    found: Results = runner.go()
    for result in found.results:
        if result.status == "interrupted":
            show(options, None, project_texts().line(result.to_dict()))
    document = found.to_dict()
    show(options, document, project_texts().summary(document, _from_here(kept) if kept else None))
    if found.interrupted:
        raise KeyboardInterrupt
    if found.exit_code:
        raise typer.Exit(found.exit_code)


def _from_here(path: Path) -> str:
    """A path as it is typed here, if it is below this folder."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _opened(folder: Path | None, options: Options) -> Project:
    from dbdeid.project.project import project

    try:
        return project(folder or ".", database=options.database, settings=options.settings)
    except DataError as error:
        if folder is not None:
            raise
        hint = f"{error.hint}; or give a SPEC. See --help"
        raise DataError(error.message, hint=hint) from None


def _refuse_words(*given: object) -> None:
    if any(value is not None and value != [] for value in given):
        raise DataError(
            "--select, --exclude and --project are for the releases of a project, without SPEC",
            hint="name the release with --select, or leave them out",
        )
