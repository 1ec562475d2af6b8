"""The commands on recorded runs: list them, or withdraw one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from dbdeid.cli.command import Options, command, release_texts, show
from dbdeid.errors import DataError

LIST = "list"


class _Listing(typer.core.TyperGroup):
    """A group that lists where no other of its commands is named: `dbdeid releases visits.yml`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = args and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if named else [LIST, *args])


releases_app = typer.Typer(
    help="List what was released, or withdraw a run.", cls=_Listing, no_args_is_help=False
)
Where = Annotated[
    Path,
    typer.Argument(
        metavar="[SPEC|DATABASE|FILE|DIR]",
        help="A specification, a database, a private file, or the folder of a project.",
    ),
]


@command(releases_app, name=LIST)
def list_releases(where: Where = Path(), *, options: Options) -> None:
    """List the recorded runs and their states.

    Published runs are compared with later ones. Trials, previews and withdrawn runs are not.
    `dbdeid releases` alone lists those of the project around this folder.

    dbdeid releases visits.yml
    """
    from dbdeid.project.remembered import releases

    found = releases(where, database=options.database, settings=options.settings)
    show(options, [one.to_dict() for one in found], release_texts().remembered(found))


def list_database(
    target: Annotated[Path, typer.Argument(metavar="DATABASE", help="A database or target.")],
    *,
    options: Options,
) -> None:
    """List the releases recorded in a database.

    dbdeid list visits_public.duckdb
    """
    from dbdeid.project.remembered import of_database

    found = of_database(target, database=options.database, settings=options.settings)
    show(options, [one.to_dict() for one in found], release_texts().remembered(found))


@command(releases_app, name="withdraw")
def withdraw_release(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the release.")],
    where: Where = Path(),
    *,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why; it stays in the book.")],
    run: Annotated[
        str | None, typer.Option(metavar="ID", help="This run instead of the last published one.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All published runs of it.")] = False,
    options: Options,
) -> None:
    """Withdraw a run that nobody received.

    Later runs are not compared with it any more. Withdrawing cannot take back a file: do not
    withdraw a run whose files anyone received. The record of the run stays, with who withdrew it,
    when and why.

    dbdeid releases withdraw visits_public visits.yml --reason "a rehearsal, deleted unseen"
    """
    from dbdeid.project.remembered import releases, to_withdraw
    from dbdeid.workspace.remembered_runs import require_reason, withdraw

    told = require_reason(reason)
    runs = releases(where, database=options.database, settings=options.settings)
    chosen = to_withdraw(name, runs, run=run, every=every)
    _ask_whether_it_left(options)
    found = withdraw(chosen, told, options.settings)
    show(options, [one.to_dict() for one in found], release_texts().withdrawn(found))


def _ask_whether_it_left(options: Options) -> None:
    """Ask on a terminal; elsewhere the reason is the owner's answer.

    Raises:
        DataError: a file of it left.
    """
    if options.quiet or options.json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    typer.echo(release_texts().LEFT, nl=False, err=True)
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        raise DataError(
            "nothing was withdrawn: a file that left is still compared with later releases",
            hint="`rerelease: strict` refuses a release that tells more together with it",
        )
