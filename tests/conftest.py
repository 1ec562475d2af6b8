"""Fixtures shared by all tests, and the two tiers that they are run in."""

from __future__ import annotations

import gc
import os
import platform
import sys
from collections.abc import Generator
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb
import pytest
import tiers
from hypothesis import settings

# Before numpy is loaded. Sums in another order round otherwise, and so do the synthetic records
# that guides print figures of: one thread, as the command has it, and kernels of one machine.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
if platform.machine() == "x86_64":
    os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")

# Or each of the many processes that the tests start compiles the whole package.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

SHARED = Path(__file__).resolve().parents[2] / "shared"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the full tier be asked for."""
    parser.addoption("--full", action="store_true", help="every case, see tests/TIERS.md")


def pytest_configure(config: pytest.Config) -> None:
    """Tell the tier before tests are imported, in which nothing becomes garbage."""
    gc.disable()  # until all is collected: a third of that time was spent looking
    config.addinivalue_line("markers", "full: only in the full tier (pytest --full)")
    config.addinivalue_line("markers", "sampled(n): each n-th case in the default tier")
    tiers.full = bool(config.getoption("--full"))
    settings.register_profile("default tier", max_examples=10)
    if not tiers.full:
        settings.load_profile("default tier")
        duckdb.connect = one_threaded
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
    if int(worker.removeprefix("gw")) % 2 and len(config.args) == 1:
        config.pluginmanager.register(Backwards())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores, for tests wait for locks, processes and servers."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let one worker have all tests of dbt: others would wait while it makes its environment."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            dbt = "tests/dbt"
            return dbt if nodeid.startswith(f"{dbt}/") else str(super()._split_scope(nodeid))

    return Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None


_connect = duckdb.connect


def one_threaded(
    database: str | Path = ":memory:", read_only: bool = False, config: Any = None
) -> duckdb.DuckDBPyConnection:
    """A connection of one thread, unless it is given more: each core has a worker of its own."""
    return _connect(database, read_only=read_only, config={"threads": 1} | (config or {}))


class Backwards:
    """Has a worker load the files from the last one on, and run the tests in their order.

    Every worker loads all files. Where every other one begins at the end, each compiles one half of
    those of a new checkout, and finds the other half compiled.
    """

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Turn the files and folders of each folder around."""
        report = yield
        if isinstance(collector, pytest.Directory):
            report.result.reverse()
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Turn the files around again."""
        files = [list(of) for _, of in groupby(items, lambda item: item.path)]
        items[:] = [item for of in reversed(files) for item in of]


def _default(config: pytest.Config) -> bool:
    """Whether only the default tier is run: no test is asked for by its name."""
    return not tiers.full and not any("::" in argument for argument in config.args)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, obj: object) -> list[pytest.Item] | None:
    """Make no cases of tests that only the full tier runs."""
    marks = getattr(obj, "pytestmark", ()) if callable(obj) else ()
    waits = any(mark.name == "full" for mark in marks)
    return [] if waits and _default(collector.config) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only the full tier runs, unless it is asked for by its name."""
    if not _default(config):
        return
    kept = list(tiers.default(items))
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = kept


def pytest_collection_finish() -> None:
    """Let garbage collection pass over all that stays anyway, modules and collected tests, and
    look as seldom as it does in the command."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    gc.enable()


def pytest_unconfigure() -> None:
    """Leave nothing behind when Python ends."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference datasets and oracle values that lies beside the checkout."""
    if not SHARED.is_dir():
        pytest.skip("reference data not found beside the checkout: ../shared")
    return SHARED
