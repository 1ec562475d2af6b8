"""The command that measures the risk of any table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dbdeid.cli.command import Nulls, Options, Subject, Table, names, show, texts


def risk(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A file, folder or database.")],
    table: Table = None,
    *,
    qi: Annotated[list[str], names("Quasi-identifiers")],
    sensitive: Annotated[list[str] | None, names("Columns not to be learned")] = None,
    k: Annotated[int, typer.Option(min=1, help="Classes below this are at risk.")] = 5,
    subject: Subject = None,
    null_policy: Nulls = "own_category",
    sampling_fraction: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Share of a population: how much of it is unique."),
    ] = None,
    weight: Annotated[
        str | None, typer.Option(metavar="COL", help="Survey weights: individual risks.")
    ] = None,
    special_uniques: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="SIZE", help="Records that SIZE quasi-identifiers or fewer single out."
        ),
    ] = None,
    similar: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV", help="Hierarchy of the sensitive column: values that mean the same."
        ),
    ] = None,
    items: Annotated[
        str | None, typer.Option(metavar="COL", help="Lists, some items of which are known, too.")
    ] = None,
    known: Annotated[int, typer.Option(min=1, metavar="M", help="So many of the items.")] = 2,
    options: Options,
) -> None:
    """Measure re-identification and disclosure risk.

    dbdeid risk hospital.duckdb visits --qi age,zip --k 5 --sensitive diagnosis

    dbdeid risk hospital.duckdb visits --qi age,zip --subject patient_nbr

    dbdeid risk hospital.duckdb visits --qi age,zip --sensitive diagnosis --similar icd.csv

    dbdeid risk visits.parquet --qi age,sex --k 5 --items codes --known 2

    dbdeid risk survey.csv --qi age,zip --sampling-fraction 0.01 --weight w --special-uniques 3
    """
    from dbdeid.commands.risk import RiskQuestion, assess
    from dbdeid.privacy import Counting

    asked = RiskQuestion(
        tuple(qi),
        k,
        Counting(null_policy, subject),
        tuple(sensitive or ()),
        sampling_fraction,
        weight,
        special_uniques,
        options.show_values,
        similar,
        items,
        known,
    )
    found = assess(source, table, asked, options.settings)
    show(options, found.to_dict(), texts().risk(found, asked))
