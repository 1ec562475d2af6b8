"""De-identify sensitive tables inside the database: optimal, verified releases in DuckDB.

The public names are loaded when they are first used, so that importing dbdeid stays cheap.
"""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dbdeid.errors import (
    DataError,
    DbdeidError,
    ExpectationError,
    HierarchyError,
    MissingExtra,
    NothingFound,
    SpecError,
    Unsatisfiable,
    VerificationError,
)
from dbdeid.version import __version__ as __version__

if TYPE_CHECKING:
    from dbdeid.api import (
        Evaluated,
        OpenRelease,
        Result,
        RunResult,
        Verified,
        check,
        evaluate,
        frontier,
        install,
        open,
        progress,
        project,
        query,
        releases,
        run,
        search,
        verify,
        withdraw,
    )


# In a checkout, `sql` and `udfs` lie beside this folder; an installed package has them inside.
_checkout = Path(__file__).parent.parent
if (_checkout / "sql" / "steps").is_dir() and (_checkout / "pyproject.toml").is_file():
    __path__.append(str(_checkout))

__all__ = [
    "DataError",
    "DbdeidError",
    "Evaluated",
    "ExpectationError",
    "HierarchyError",
    "MissingExtra",
    "NothingFound",
    "OpenRelease",
    "Result",
    "RunResult",
    "SpecError",
    "Unsatisfiable",
    "VerificationError",
    "Verified",
    "check",
    "evaluate",
    "frontier",
    "install",
    "open",
    "progress",
    "project",
    "query",
    "releases",
    "run",
    "search",
    "verify",
    "withdraw",
]


def __dir__() -> list[str]:
    return sorted(__all__)


# Where those are that load what they need and no more: the whole of `api` is a third more.
_PLACES = {
    "check": "commands.check",
    "evaluate": "commands.verify_evaluate_export",
    "run": "release.run",
    "search": "commands.search",
    "verify": "commands.verify_evaluate_export",
}


def __getattr__(name: str) -> Any:
    if name in __all__:
        collects = gc.isenabled()
        gc.disable()  # what is loaded stays: a tenth of the time was spent looking
        try:
            return getattr(import_module(f"dbdeid.{_PLACES.get(name, 'api')}"), name)
        finally:
            if collects:
                gc.enable()
    raise AttributeError(f"module 'dbdeid' has no attribute {name!r}")


class _Package(ModuleType):
    """Keeps public names from the submodules that share them: `dbdeid.verify` is the function."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in __all__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
