"""Where dbt builds: a file of DuckDB, a schema of a PostgreSQL server, or a session of Spark."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import psycopg
from hospital import Project
from postgres_server import Server, programs, running

NO_SERVER = "no PostgreSQL server here: initdb, postgres or psql is missing"
PROFILE = """hospital:
  target: dev
  outputs:
    dev: {type: postgres, host: %s, port: 5432, user: owner, password: none, dbname: postgres,
          schema: main, search_path: main, threads: 2}
"""

# A session inside of dbt's own process. Its tables lie in the project's folder, and its catalog in
# memory: a build has to make again the views that it reads.
SPARK = """hospital:
  target: dev
  outputs:
    dev:
      type: spark
      method: session
      host: none
      schema: main
      threads: 1
      server_side_parameters:
        spark.master: "local[2]"
        spark.sql.catalogImplementation: in-memory
        spark.driver.host: 127.0.0.1
        spark.ui.enabled: "false"
        spark.sql.shuffle.partitions: "2"
        spark.sql.ansi.enabled: "true"
"""


@dataclass(frozen=True)
class Warehouse:
    """A project and where it builds; without a server in the file of the project."""

    project: Project
    server: Server | None = None

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query; a script gives those of its last one, where it has any."""
        if self.server is None:
            with duckdb.connect(str(self.project.database)) as con:
                return con.execute(query).fetchall()
        place = (
            f"host={self.server.folder} user=owner dbname=postgres options='-c search_path=main'"
        )
        with psycopg.connect(place, autocommit=True) as connection:
            found = connection.execute(query)  # type: ignore[call-overload]
            return found.fetchall() if found.description else []

    def has(self, table: str) -> bool:
        """Whether there is a table or view."""
        (found,) = self.ask(
            "SELECT COUNT(*) FROM information_schema.tables "
            f"WHERE table_schema = 'main' AND table_name = '{table}'"
        )
        return found != (0,)


@contextmanager
def warehouse(adapter: str, folder: Path, dbt: Path) -> Iterator[Warehouse]:
    """The integration project without its models, in an empty database."""
    shutil.copytree(Path(__file__).with_name("project"), folder, ignore=Project.MADE)
    shutil.rmtree(folder / "models")
    (folder / "models").mkdir()
    project = Project(folder, dbt)
    project.link()
    if adapter == "duckdb":
        yield Warehouse(project)
        return
    if adapter == "spark":
        project.write("profiles.yml", SPARK)
        yield Warehouse(project)
        return
    found = programs()
    assert found is not None
    with running(found) as server:
        project.write("profiles.yml", PROFILE % server.folder)
        server.run("CREATE SCHEMA main;")
        yield Warehouse(project, server)
