"""The commands for dbt: the plan of a release as a seed, and where the package is."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from dbdeid.cli.command import Options, command, following, plan_texts, show

dbt_app = typer.Typer(help="The package for dbt: where it is.", no_args_is_help=True)


def plan(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="A release specification.")],
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Its folder, made where it is missing, or a .csv file."
        ),
    ] = None,
    options: Options,
) -> None:
    """Plan a release for dbt: write the policy that a run would choose as a seed.

    Nothing is released. The seed holds what is declared and which level of it was chosen, no value
    that is only in the data. Prints a model that applies it; what it tells besides goes to
    standard error.

    dbdeid plan visits.yml -o seeds
    """
    from dbdeid.commands.plan import plan as run_plan

    with following(options) as follower:
        found = run_plan(
            spec,
            output=output or True,
            database=options.database,
            settings=options.settings,
            notify=follower.notify,
            offer=follower.offer,
        )
    words = plan_texts()
    model = words.model(found)
    if not (options.json or options.quiet):
        typer.echo(words.planned(found), err=True)
    show(options, found.to_dict() | {"model": model}, model)


@command(dbt_app, name="path")
def path(*, options: Options) -> None:
    """Print the folder of the dbt package, to be installed as a local package or copied.

    DBDEID_DBT="$(dbdeid dbt path)" dbt deps
    """
    place = str(files("dbdeid.sql").joinpath("dbt"))
    show(options, {"path": place}, place)
