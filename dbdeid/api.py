"""The public functions of dbdeid in Python; `import dbdeid` offers them."""

from __future__ import annotations

from dbdeid.commands.check import check
from dbdeid.commands.frontier import frontier
from dbdeid.commands.queries.open_release import OpenRelease, open
from dbdeid.commands.queries.query import query
from dbdeid.commands.queries.result import Result
from dbdeid.commands.results import Evaluated, Verified
from dbdeid.commands.search import search
from dbdeid.commands.verify_evaluate_export import evaluate, verify
from dbdeid.install import install
from dbdeid.project.project import project
from dbdeid.project.remembered import releases, withdraw
from dbdeid.release.result import RunResult
from dbdeid.release.run import run
from dbdeid.workspace.progress_line import progress

__all__ = [
    "Evaluated",
    "OpenRelease",
    "Result",
    "RunResult",
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
