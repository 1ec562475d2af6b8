"""The command line: thin commands over the library."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from dbdeid.cli import dbt, papers, project, releases, risk, roles, sign, sql, ui
from dbdeid.cli.command import (
    Every,
    Nulls,
    Options,
    Subject,
    Table,
    Trial,
    command,
    following,
    frontier_texts,
    is_spec,
    names,
    release_texts,
    search_texts,
    show,
    texts,
)
from dbdeid.cli.overview import Overview, speak_utf8
from dbdeid.errors import DataError
from dbdeid.version import __version__

app = typer.Typer(
    cls=Overview,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="De-identify sensitive tables inside the database.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(sql.macros_app, name="macros")
app.add_typer(roles.roles_app, name="roles")
app.add_typer(dbt.dbt_app, name="dbt")
app.add_typer(releases.releases_app, name="releases")

# -- commands ------------------------------------------------------------------------------------

SpecPath = Annotated[Path, typer.Argument(metavar="SPEC", help="A release specification.")]


@command(app)
def demo(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where the demo is written.")
    ] = Path("dbdeid-demo"),
    *,
    options: Options,
) -> None:
    """Make a release of sample data, with its report. Start here.

    Writes the UCI Adult sample, a commented spec with its hierarchies and queries, the release as
    DuckDB and Parquet files, and report.html. No network is needed.

    dbdeid demo
    """
    from dbdeid.commands import demo as sample

    with following(options) as follower:
        done = sample.run(directory, settings=options.settings, notify=follower.notify)
    show(options, done.to_dict(), texts().demo(done))


@command(app)
def init(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A file, folder or database.")],
    table: Table = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write to this new file, not the terminal."),
    ] = None,
    *,
    options: Options,
) -> None:
    """Draft a specification for your own table.

    Columns that dbdeid recognizes get a role, a reason and a hierarchy. The others stay undecided,
    with the cost of each role. Nothing is released until you have decided.

    dbdeid init visits.parquet -o visits.yml
    """
    from dbdeid.commands.init import drafted, write_draft

    made = drafted(source, table, options.settings)
    if output is not None:
        write_draft(output, made.text)
        return show(options, made.to_dict() | {"file": str(output)}, made.told(output))
    show(options, made.to_dict(), made.text, code=True)


@command(app, explains=True)
def check(
    spec: SpecPath,
    deep: Annotated[
        bool, typer.Option("--deep", help="Examine large data closely, too: may take minutes.")
    ] = False,
    *,
    options: Options,
) -> None:
    """Check a specification against its data.

    Columns, roles, hierarchies and open questions, what makes records unique, and what to change
    first; nothing is written.

    dbdeid check visits.yml
    """
    from dbdeid.commands.check import check as run_check

    if options.explain:
        return project.explain([spec], options)
    with following(options) as follower:
        found = run_check(
            spec,
            database=options.database,
            settings=options.settings,
            notify=follower.notify,
            offer=follower.tell,
            deep=deep,
        )
    show(options, found, texts().checked(found))
    open_ones = len(found.get("undecided", ())) + len(found.get("questions", ()))
    if open_ones:
        raise DataError(
            f"{spec}: {open_ones} question{'s' * (open_ones != 1)} to answer before a run",
            hint="edit the spec, and check it again",
        )


command(app, explains=True)(project.run)
command(app)(ui.ui)


@command(app)
def search(
    spec: SpecPath,
    *,
    k: Annotated[
        str | None, typer.Option(metavar="K,…", help="Values of k to try, as in 3,5,10.")
    ] = None,
    suppression: Annotated[
        str | None, typer.Option(metavar="SHARE,…", help="Limits to try, as in 0,0.02,0.05.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the page of the search here.")
    ] = None,
    histogram: dbt.HistogramPlace = None,
    options: Options,
) -> None:
    """Show what a run would choose, and its neighbours.

    Nothing is released. With lists, shows what each k and each limit would cost. Draws the search
    as a page, by default beside the spec; the page is for internal use only.

    dbdeid search visits.yml

    dbdeid search visits.yml --k 3,5,10 --suppression 0,0.02,0.05
    """
    from dbdeid.commands.search import Grid
    from dbdeid.commands.search import search as run_search

    grid = Grid.parse(k, suppression)
    with following(options) as follower:
        found = run_search(
            spec,
            grid=grid,
            page=output or True,
            database=options.database,
            settings=options.settings,
            histogram=histogram,
            notify=follower.notify,
            offer=follower.tell,
        )
    words = search_texts()
    show(options, found, words.table(found) if grid else words.found(found))


@command(app)
def frontier(
    spec: SpecPath,
    *,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write.")] = None,
    options: Options,
) -> None:
    """Show the risk-loss trade-offs of method policy.

    Keeps them as a private table, and draws them as a page, by default beside the spec; both are
    for internal use only. Nothing is released.

    dbdeid frontier visits.yml
    """
    from dbdeid.commands.frontier import frontier as run_frontier

    with following(options) as follower:
        found = run_frontier(
            spec,
            page=output or True,
            database=options.database,
            settings=options.settings,
            notify=follower.notify,
        )
    show(options, found, frontier_texts().frontier(found))


command(app, former=True)(dbt.plan)
command(app, former=True)(dbt.histogram)


@command(app, foreign="source")
def verify(
    source: Annotated[
        str, typer.Argument(metavar="SPEC|FILE|DIR|ADDRESS", help="A spec, or what was received.")
    ],
    table: Table = None,
    *,
    qi: Annotated[list[str] | None, names("Quasi-identifiers")] = None,
    k: Annotated[int | None, typer.Option(min=1, help="The smallest class accepted.")] = None,
    subject: Subject = None,
    null_policy: Nulls = "own_category",
    manifest: Annotated[
        Path | None, typer.Option(metavar="JSON", help="Check against this public manifest.")
    ] = None,
    signed_by: Annotated[
        Path | None, typer.Option(metavar="KEY", help="The public key that signed the manifest.")
    ] = None,
    trial: Trial = False,
    options: Options,
) -> None:
    """Verify a release, or the k-anonymity of any file or table.

    Everything is recomputed from the written files. Exit code 4: a promise does not hold. Exit code
    2: the release is unchanged, but either its source has changed, so that they cannot be compared,
    or it must not be handed out, because it is a trial or was withdrawn.

    dbdeid verify visits.yml

    dbdeid verify visits_public.parquet --qi age,zip --k 5

    dbdeid verify postgresql://reader@db.example.org/research visits_public --qi age --k 5

    dbdeid verify visits_public.parquet --manifest visits_public.json --signed-by owner.pub

    dbdeid verify received/ --signed-by owner.pub
    """
    from dbdeid.commands import verify_evaluate_export
    from dbdeid.errors import VerificationError
    from dbdeid.privacy import Counting
    from dbdeid.verify import Verification

    found: Verification
    changed, why, target = None, None, Path(source)
    alone = not is_spec(target)
    if target.is_dir():
        if manifest or options.database or qi or table or trial or k is not None:
            raise DataError(
                f"{target}: a folder is held against its manifest, and takes --signed-by only",
                hint=f"dbdeid verify {target} --signed-by KEY.pub",
            )
        return sign.receive_folder(target, signed_by, options)
    if manifest is not None or signed_by is not None:
        if manifest is None or not alone or qi or table or trial or k is not None:
            raise DataError(
                f"{target}: --manifest and --signed-by go with a file, and with nothing else",
                hint="dbdeid verify FILE --manifest MANIFEST.json --signed-by KEY.pub",
            )
        return sign.receive(target, manifest, signed_by, options)
    if not alone:
        if qi or table or subject is not None or k is not None or null_policy != "own_category":
            raise DataError(
                f"{target}: a table, --qi, --k, --subject and --null-policy are for a file alone",
                hint="a release and all its exports are verified as its spec declares",
            )
        known = verify_evaluate_export.verify(
            target, database=options.database, settings=options.settings, trial=trial
        )
        found, changed, why = known, known.source_changed, known.unpublishable
    else:
        if trial:
            raise DataError(f"{target}: --trial goes with a spec", hint="leave it out for a file")
        counting = Counting(null_policy, subject)
        found = verify_evaluate_export.verify_alone(
            source, table, tuple(qi or ()), k, counting, options.settings
        )
    told = texts().verified(found, alone=alone, changed=changed, unpublishable=why)
    show(options, found.to_dict(), told)
    if not found.verified:
        failed = [p.model for p in found.promises if not p.holds]
        failed += [c.check for c in found.hygiene if not c.holds]
        raise VerificationError(
            f"verification failed: {', '.join(failed)}", hint="do not give this away"
        )
    if why is not None:
        raise DataError(f"{why.message}: do not give it away", hint=why.hint)
    if changed is not None:
        raise DataError(changed.message, hint=f"run it again: dbdeid run {target}")


command(app, name="test")(project.examine)


@command(app)
def evaluate(
    spec: SpecPath, *, every: Every = False, trial: Trial = False, options: Options
) -> None:
    """Measure what a release lost.

    Utility metrics, and the spec's queries and models on the source and on the release.

    dbdeid evaluate visits.yml
    """
    from dbdeid.commands.verify_evaluate_export import evaluate as run_evaluate

    found = run_evaluate(spec, database=options.database, settings=options.settings, trial=trial)
    show(options, found.to_dict(), texts().evaluated(found.to_dict(), every=every))
    if found.queries is not None and not found.queries.answered:
        raise DataError(
            "no query of the workload was answered", hint="the reason stands beside each of them"
        )


command(app, explains=True, foreign="source")(sql.query)
command(app)(sql.serve)


@command(app)
def workload(
    spec: SpecPath,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    *,
    queries: Annotated[int, typer.Option(min=1, max=100_000, help="Number of queries.")] = 100,
    dimensions: Annotated[int, typer.Option(min=1, help="Columns in each query.")] = 2,
    selectivity: Annotated[
        float,
        typer.Option(metavar="SHARE", help="Share of the records that each query selects."),
    ] = 0.05,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 7,
    options: Options,
) -> None:
    """Write random range queries for `evaluate`, one file each.

    Each counts the records in a part of the domains of a few columns. The files are private: they
    hold values of the columns.

    dbdeid workload visits.yml queries --dimensions 3
    """
    from dbdeid.commands.queries.workload import Drawing, write

    drawing = Drawing(queries, dimensions, selectivity, seed)
    made = write(spec, directory, drawing, database=options.database, settings=options.settings)
    show(options, made.to_dict(), texts().drawn(made))


command(app, foreign="source")(risk.risk)


@command(app)
def export(
    spec: SpecPath,
    destination: Annotated[
        Path,
        typer.Argument(
            metavar="DEST", help="A new file or table, or an empty folder for all of it."
        ),
    ],
    *,
    options: Options,
) -> None:
    """Export a release, and verify what was written.

    Exports to a new file, folder or table of `attach`. A folder gets exactly what may leave: the
    target or the declared exports, what explains them, the public report and its manifest. Nothing
    private is in it. Trials, withdrawn releases and those that do not verify now are refused.

    dbdeid export visits.yml visits_public.csv

    dbdeid export visits.yml to_send/
    """
    from dbdeid.commands.handout import hand_out
    from dbdeid.commands.verify_evaluate_export import export_release

    if destination.is_dir() or not destination.suffix:
        given = hand_out(spec, destination, database=options.database, settings=options.settings)
        return show(options, given.to_dict(), release_texts().handed_out(given))
    written = export_release(
        spec, destination, database=options.database, settings=options.settings
    )
    names = [str(path) for path in written]
    show(options, {"exported": names}, "exported, promises verified: " + ", ".join(names))


command(app)(sign.sign)
command(app, name="list")(releases.list_database)


@command(app)
def report(
    spec: SpecPath,
    *,
    audience: Annotated[
        Literal["internal", "public"], typer.Option(help="Who will read the page.")
    ] = "internal",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write it.")
    ] = None,
    trial: Trial = False,
    options: Options,
) -> None:
    """Write the report of a release as one page.

    The internal page shows what only the owner may know; the public one may be given away.

    dbdeid report visits.yml --audience public -o visits_public.html
    """
    from dbdeid.commands.report import write_report

    path = write_report(spec, audience, output, options.database, options.settings, trial=trial)
    show(options, {"report": str(path), "audience": audience}, f"{audience} report: {path}")


command(app)(project.docs)
command(app)(sql.sql)
command(app)(papers.reproduce)


def main() -> None:
    """Run the command line and exit: 0 done, 2 bad input, 3 unsatisfiable, 4 not verified."""
    speak_utf8()
    app(prog_name="dbdeid")


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(f"dbdeid {__version__}")
        raise typer.Exit


if __name__ == "__main__":
    main()
