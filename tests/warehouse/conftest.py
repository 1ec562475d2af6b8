"""One session of Spark for all tests of warehouses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from spark_here import NO_SPARK, has_spark


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    if not has_spark():
        pytest.skip(NO_SPARK)
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    settings = {
        **{"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"},
        **{"spark.driver.host": "127.0.0.1", "spark.sql.session.timeZone": "America/New_York"},
        **{"spark.sql.warehouse.dir": str(folder), "spark.ui.showConsoleProgress": "false"},
        "spark.driver.memory": "3g",  # as tests/query has it: in one process the first holds
    }
    started = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    started.sparkContext.setLogLevel("OFF")
    yield started
    started.stop()


@pytest.fixture
def here(spark: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The session with a schema of the test's own as the current one."""
    name = request.node.name.partition("[")[0][:60]
    spark.sql(f"DROP SCHEMA IF EXISTS `{name}` CASCADE")
    spark.sql(f"CREATE SCHEMA `{name}`")
    spark.catalog.setCurrentDatabase(name)
    yield spark
    spark.catalog.setCurrentDatabase("default")
    spark.sql(f"DROP SCHEMA `{name}` CASCADE")
