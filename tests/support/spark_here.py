"""Whether Spark can be started here."""

from __future__ import annotations

import shutil
from importlib.util import find_spec

NO_SPARK = "NOT TRIED: no Spark here; it needs java 17 and pip install -e '.[dev,spark]'"


def has_spark() -> bool:
    """Whether pyspark and java are installed."""
    return find_spec("pyspark") is not None and shutil.which("java") is not None
