"""Python UDFs that dbdeid registers in DuckDB."""
