"""Errors of Spark, which may quote cells: only their kind is ever told."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from pyspark.errors import PySparkException

try:
    from py4j.protocol import Py4JError, Py4JJavaError

    _OF_JAVA: tuple[type[Exception], ...] = (Py4JError,)
except ImportError:  # a client of Spark Connect needs no java
    _OF_JAVA = ()

ERRORS: tuple[type[Exception], ...] = (PySparkException, *_OF_JAVA)


def kind_of(error: BaseException) -> str:
    """The condition of an error of Spark; of one that has none its type."""
    condition = None
    if isinstance(error, PySparkException):
        condition = error.getCondition()
    elif _OF_JAVA and isinstance(error, Py4JJavaError):
        condition = _in_java(error.java_exception)
    return condition or type(error).__name__


def _in_java(error: Any) -> str | None:
    """The condition of an error that pyspark did not translate, or its class."""
    with suppress(*ERRORS):
        return str(error.getCondition())
    with suppress(*ERRORS):
        return str(error.getClass().getSimpleName())
    return None
