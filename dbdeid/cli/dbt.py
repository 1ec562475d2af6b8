"""The commands for dbt and its warehouses: a plan as a seed, what it counts, and the package."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from dbdeid.cli.command import Options, command, following, plan_texts, show

HistogramPlace = Annotated[
    str | None,
    typer.Option(
        "--histogram",
        metavar="FILE|TABLE",
        help="In place of the source: what the query of `dbdeid dbt histogram` gave.",
    ),
]
dbt_app = typer.Typer(help="Plan releases for dbt, and find its package.", no_args_is_help=True)


@command(dbt_app)
def plan(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="A release specification.")],
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Its folder, created if missing, or a .csv file."),
    ] = None,
    histogram: HistogramPlace = None,
    options: Options,
) -> None:
    """Plan a release for dbt: write the policy that a run would choose as a seed.

    Nothing is released. The seed holds what is declared and which level of it was chosen, no value
    that is only in the data. Prints a model that applies it; what it tells besides goes to
    standard error.

    dbdeid dbt plan visits.yml -o seeds

    dbdeid dbt plan visits.yml -o seeds --histogram visits.parquet
    """
    from dbdeid.commands.plan import plan as run_plan

    with following(options) as follower:
        found = run_plan(
            spec,
            output=output or True,
            database=options.database,
            settings=options.settings,
            histogram=histogram,
            notify=follower.notify,
            offer=follower.offer,
        )
    words = plan_texts()
    model = words.model(found)
    if not (options.json or options.quiet):
        typer.echo(words.planned(found), err=True)
    show(options, found.to_dict() | {"model": model}, model, code=True)


@command(dbt_app)
def histogram(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="A release specification.")],
    *,
    dialect: Annotated[
        str, typer.Option("--dialect", help="SQL dialect of the warehouse, as in snowflake.")
    ] = "duckdb",
    table: Annotated[
        str | None,
        typer.Option(
            "--table", help="In place of the source: schema.name, or \"{{ ref('model') }}\"."
        ),
    ] = None,
    options: Options,
) -> None:
    """Print the query that a warehouse answers for a plan: counts, and nothing else.

    Save its result as Parquet or CSV, or as a table that dbt makes, and give that to
    `dbdeid search` or `dbdeid dbt plan` with --histogram. It holds combinations of values of the
    source: keep it as private as that.

    dbdeid dbt histogram visits.yml --dialect snowflake > counts.sql
    """
    from dbdeid.commands.histogram import histogram as write

    found = write(spec, dialect=dialect, table=table)
    if not (options.json or options.quiet):
        for why in found.unplanned:
            typer.echo(f"note: `dbdeid dbt plan` would refuse this: {why}", err=True)
    show(options, found.to_dict(), found.sql, code=True)


@command(dbt_app, name="path")
def path(*, options: Options) -> None:
    """Print the folder of the dbt package, to be installed as a local package or copied.

    DBDEID_DBT="$(dbdeid dbt path)" dbt deps
    """
    place = str(files("dbdeid.sql").joinpath("dbt"))
    show(options, {"path": place}, place, code=True)
