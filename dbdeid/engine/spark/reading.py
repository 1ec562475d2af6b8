"""Files that Spark reads as one table: Parquet, or a folder of Delta Lake or Iceberg.

Folders of tables keep a log that tells which of their files hold rows now. Read as plain Parquet,
rows that were deleted would come back: so the log is looked for first, and never passed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbdeid.engine.spark.failure import ERRORS, kind_of
from dbdeid.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# What a table's log is found by in its folder, and the data source of Spark that reads it.
_LOGS = {"_delta_log": "delta", "metadata/*.metadata.json": "iceberg"}
_PACKAGES = {"delta": "io.delta:delta-spark_…", "iceberg": "org.apache.iceberg:iceberg-spark-…"}
# A file that cannot be read, or is gone, is an error whatever the session says.
_WHOLE = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false"}
# Columns that only some of the files have are columns of the table.
_ALL_COLUMNS = {"mergeSchema": "true"}
_ABSENT = ("PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA")
_REACHED = "its own machines read them, so all must reach them: hdfs://…, s3a://…, abfss://…"


def files_of(spark: SparkSession, address: str) -> DataFrame:
    """The rows of the files at an address.

    Args:
        spark: that reads them.
        address: of a file, a folder or a pattern, with its scheme.

    Raises:
        DataError: none are there, their format is none that Spark knows, or they cannot be read.
    """
    folder = _folder(address)
    kind = next((k for log, k in _LOGS.items() if _is_there(spark, f"{folder}/{log}")), "")
    reader = spark.read.format(kind or "parquet").options(**_WHOLE)
    if not kind:
        reader = reader.options(**_ALL_COLUMNS)
    try:
        frame = reader.load(folder if kind else address)
        _ = frame.schema
    except ERRORS as error:
        raise _unreadable(kind_of(error), kind) from None
    return frame


def _folder(address: str) -> str:
    """What of an address comes before a pattern, without a slash at its end."""
    parts = address.split("/")
    plain = next((i for i, part in enumerate(parts) if any(sign in part for sign in "*?")), None)
    return "/".join(parts[:plain]).rstrip("/")


def _is_there(spark: SparkSession, pattern: str) -> bool:
    """Whether there are such files: they are listed, and not opened."""
    try:
        _ = spark.read.format("binaryFile").load(pattern).schema
    except ERRORS as error:
        condition = kind_of(error)
        if condition == "PATH_NOT_FOUND":
            return False
        raise _unreadable(condition, "") from None
    return True


def _unreadable(condition: str, kind: str) -> DataError:
    if condition == "DATA_SOURCE_NOT_FOUND" and kind:
        return DataError(
            f"source: the folder is a table of {kind}, which this session of Spark cannot read",
            hint=f"start it with its package ({_PACKAGES[kind]}), or name the table by its catalog",
        )
    if condition in _ABSENT:
        return DataError("source: Spark finds no Parquet files there", hint=_REACHED)
    return DataError(
        f"source: Spark cannot read the files there as one table: {condition}",
        hint="Parquet whose files have columns of the same types, or a folder of Delta Lake or "
        "Iceberg; a file system that needs a library must be known to the session",
    )
