"""The public functions of dbdeid in Python; `import dbdeid` offers them."""

from __future__ import annotations

from dbdeid.project.project import project
from dbdeid.project.remembered import releases, withdraw
from dbdeid.release.check import check
from dbdeid.release.existing import evaluate, verify
from dbdeid.release.frontier import frontier
from dbdeid.release.install import install
from dbdeid.release.query import query
from dbdeid.release.run import run
from dbdeid.release.search import search
from dbdeid.words.progress import progress

__all__ = [
    "check",
    "evaluate",
    "frontier",
    "install",
    "progress",
    "project",
    "query",
    "releases",
    "run",
    "search",
    "verify",
    "withdraw",
]
