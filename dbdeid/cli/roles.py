"""The commands that carry roles between specifications and comments on columns."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dbdeid.cli.command import Options, command, show

roles_app = typer.Typer(help="Keep roles in the comments of columns.", no_args_is_help=True)


@command(roles_app, name="export")
def roles_export(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="A release specification.")],
    *,
    options: Options,
) -> None:
    """Write the roles of a specification into the comments of its source's columns.

    What people wrote there stays before them. Nothing of the data is changed.

    dbdeid roles export visits.yml
    """
    from dbdeid.bind import comments
    from dbdeid.bind.read import read
    from dbdeid.spec.yaml_text import load
    from dbdeid.workspace.release_files import places

    file = read(spec, database=options.database)
    written, _ = load(file.text, file.label)
    database = places(file, options.database).database
    found = comments.export(written["columns"], file.spec.source, database, options.settings)
    text = "\n".join(f"{name}: {comment}" for name, comment in found.items())
    show(options, {"comments": found}, text, code=True)


@command(roles_app, name="import")
def roles_import(
    target: Annotated[Path, typer.Argument(metavar="DATABASE", help="A DuckDB database.")],
    table: Annotated[str, typer.Argument(metavar="TABLE", help="Its table or view.")],
    *,
    options: Options,
) -> None:
    """Print the `columns` of a specification from the comments of a table.

    dbdeid roles import hospital.duckdb visits
    """
    from dbdeid.bind import comments

    roles, without = comments.roles_in(target, table, options.settings)
    show(
        options,
        {"columns": roles, "without": without},
        comments.draft_text(roles, without),
        code=True,
    )
