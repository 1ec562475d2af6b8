"""The command that computes the tables and figures of the papers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dbdeid.cli.command import Options, following, show


def reproduce(
    paper: Annotated[
        str | None, typer.Argument(metavar="[PAPER]", help="One of the five; none lists them.")
    ] = None,
    figure: Annotated[
        str | None, typer.Argument(metavar="[FIGURE]", help="Its table or figure; none lists them.")
    ] = None,
    *,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Tables that the package does not carry."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer records and repetitions than the paper.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Write a page with the picture here."),
    ] = None,
    options: Options,
) -> None:
    """Compute a table or figure of the five papers, beside the published numbers.

    Without arguments it lists the papers, what becomes of each of their tables and figures, and how
    long each takes. UCI Adult and two simulated registries come with the package; of other tables
    you have a copy, and an error says where it is to be had.

    dbdeid reproduce

    dbdeid reproduce yoo2012 figure4 --quick -o figures
    """
    from dbdeid.cli.text import papers as words
    from dbdeid.papers import catalog

    if paper is None or figure is None:
        found = catalog.PAPERS if paper is None else (catalog.paper(paper),)
        return show(options, [one.to_dict() for one in found], words.listed(found))
    from dbdeid.papers.reproduce import reproduce as compute

    with following(options) as follower:
        follower.notify(f"computing {paper} {figure}", None)
        done = compute(paper, figure, data=data, quick=quick, output=output)
    show(options, done.to_dict(), words.reproduced(done))
