"""The commands that take SQL or give it: questions to a release, scripts, and the macros."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from dbdeid.cli.command import Options, Trial, command, query_texts, show, texts
from dbdeid.engine import regular
from dbdeid.errors import DataError

macros_app = typer.Typer(help="Install or print the SQL macros.", no_args_is_help=True)


def query(
    source: Annotated[
        Path, typer.Argument(metavar="SPEC|FILE", help="A spec, or an exported release.")
    ],
    sql: Annotated[
        str, typer.Argument(metavar="SQL", help="A SELECT, a .sql file with one, or - for stdin.")
    ],
    *,
    spread_suppressed: Annotated[
        bool, typer.Option("--spread-suppressed", help="Count suppressed records, spread evenly.")
    ] = False,
    trial: Trial = False,
    dialect: Annotated[
        Literal["duckdb", "spark", "postgres"] | None,
        typer.Option(help="With --explain: SQL of another engine.", show_default="duckdb"),
    ] = None,
    options: Options,
) -> None:
    """Answer SQL for the source from a release.

    The SQL is rewritten for the release. Each aggregate x comes with x_lower and x_upper: the true
    value over the released records lies between them. Suppressed records are not counted. An
    exported file is queried without its source.

    dbdeid query visits.yml "SELECT sex, COUNT(*) AS n FROM visits WHERE age < 30 GROUP BY sex"

    dbdeid query visits_public.duckdb "SELECT AVG(age) FROM visits WHERE sex = 'F'"
    """
    from dbdeid.commands.queries.query import query as run_query
    from dbdeid.commands.queries.query import rewritten

    if dialect is not None and not options.explain:
        raise DataError("--dialect goes with --explain", hint="answers are computed by DuckDB")
    text = _question(sql)
    given: dict[str, Any] = {
        "database": options.database,
        "settings": options.settings,
        "spread_suppressed": spread_suppressed,
        "trial": trial,
    }
    if options.explain:
        script = rewritten(source, text, **given, dialect=dialect or "duckdb")
        show(options, {"sql": script}, script, code=True)
        return
    found = run_query(source, text, **given)
    show(options, found.to_dict(), query_texts().answered(found))


def serve(
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="SPEC|FILE|FOLDER...", help="Specs, exported releases, or folders."),
    ],
    *,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Where to listen; 0 takes a free one.")
    ] = 5433,
    expected_only: Annotated[
        bool, typer.Option("--expected-only", help="Answer without columns of bounds.")
    ] = False,
    timeout: Annotated[
        float,
        typer.Option(min=0, metavar="SECONDS", help="End a question that takes longer; 0: none."),
    ] = 60,
    options: Options,
) -> None:
    """Serve releases to PostgreSQL clients here.

    Each release is a table that psql, BI tools and notebooks query like its source. Only programs
    on this machine can connect, with the password that is printed; DBDEID_PASSWORD sets another
    one. Ctrl-C ends it.

    dbdeid serve visits_public.duckdb

    dbdeid serve releases/ --port 5433 --expected-only
    """
    import os
    import secrets
    import time

    from dbdeid.serve.server import serving

    os.environ["TZ"] = "UTC"  # as clients are told
    time.tzset()
    given = os.environ.get("DBDEID_PASSWORD")
    password = given or secrets.token_urlsafe(12)
    if options.database is not None:
        raise DataError("--database does not go with serve", hint="name it in the spec")
    with serving(
        sources,
        port=port,
        password=password,
        bounds=not expected_only,
        timeout=timeout,
        settings=options.settings,
    ) as server:
        found = {
            "url": server.url(None if given else password),
            "tables": {t.name: list(t.columns) for t in server.served.tables},
            "skipped": {str(path): why for path, why in server.served.skipped.items()},
        }
        show(options, found, query_texts().served(found))
        sys.stdout.flush()
        try:
            server.serve_forever(0.2)
        except KeyboardInterrupt:
            show(options, None, "stopped")


def sql(
    target: Annotated[Path, typer.Argument(metavar="DATABASE", help="A DuckDB database.")],
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="SQL to run.")] = None,
    *,
    statement: Annotated[str | None, typer.Option("-c", help="SQL to run.")] = None,
    create: Annotated[
        bool, typer.Option("--create", help="Create the database if it is missing.")
    ] = False,
    options: Options,
) -> None:
    """Run DuckDB SQL with all macros and UDFs registered.

    SQL is read from -c, a file, or standard input. The macros are installed in the database; a
    published release is only read, with the macros that it carries.

    dbdeid sql hospital.duckdb -c "FROM deid.risk('visits', ['age', 'zip'])"
    """
    from dbdeid.engine.engines import ENGINE
    from dbdeid.install import install, register_functions

    text = statement if statement is not None else _script(file)
    results = []
    released = ENGINE.is_release(target)
    # a release may be anyone's: its views must not call what reads and writes files
    register = register_functions if released else install
    made = ENGINE.run_script(
        target, text, options.settings, register, read_only=released, create=create
    )
    for result in made:
        results.append(result.to_dict() if options.json else None)
        show(options, None, texts().table(result))
    if options.json:
        show(options, results, "")


def _question(text: str) -> str:
    """The SQL that is meant: it stands there, in a file or on standard input."""
    if text == "-":
        return _script(None)
    name = text.strip()
    is_file = name.lower().endswith(".sql") and not any(sign.isspace() for sign in name)
    return _script(Path(name)) if is_file else text


def _script(file: Path | None) -> str:
    if file is None:
        return sys.stdin.read()
    try:
        return regular.text(file)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        raise DataError(f"{file} cannot be read ({why})", hint="give a file of SQL") from None


@command(macros_app, name="install")
def macros_install(
    target: Annotated[Path, typer.Argument(metavar="DATABASE", help="A DuckDB database.")],
    *,
    options: Options,
) -> None:
    """Install the macros in a database.

    Any DuckDB client can then use them, without Python. A published release has its own already.

    dbdeid macros install hospital.duckdb
    """
    from dbdeid.engine.engines import ENGINE

    if not target.exists():
        raise DataError(f"{target}: no such database file", hint="give a DuckDB database")
    with ENGINE.open(target, read_only=False, settings=options.settings) as session:
        session.install_macros()
    names = [macro.signature for macro in ENGINE.macros()]
    show(options, {"installed": names}, f"{len(names)} macros in schema deid of {target}")


@command(macros_app, name="print")
def macros_print(*, options: Options) -> None:
    """Print the macros as one SQL script.

    dbdeid macros print > macros.sql
    """
    from dbdeid.engine.engines import ENGINE

    script = ENGINE.macro_script()
    show(options, {"sql": script}, script, code=True)
