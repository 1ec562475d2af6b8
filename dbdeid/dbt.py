"""A plugin of dbt-duckdb: its connections have the macros and functions of dbdeid.

In the profile: `plugins: [{module: dbdeid.dbt}]`. Only dbt imports this module.
"""

from __future__ import annotations

from typing import Any

from dbt.adapters.duckdb.plugins import BasePlugin

from dbdeid.install import install


class Plugin(BasePlugin):
    """Registers the macros `deid.*` and the functions `deid_*` for models in DuckDB."""

    def configure_connection(self, conn: Any) -> None:
        """Install the macros in the database of the target, and register the functions."""
        install(conn)
