"""A process that has loaded dbdeid and forks one that runs it, whenever it is told to.

Loading takes most of a short run, and a kill there proves little. Each order is a line of JSON:
`folder`, `words` of the command line, `environment`, and the `moment` at which the process kills
itself or tells that it is reached:

- `{"step": n}`: right before its n-th step in the file system (opening to write, making,
  renaming, linking, removing), as Python's audit events tell, or of those of one kind with
  `"of": "os.rename"`; a process that ends says how many it took;
- `{"call": "package.module:Class.method", "number": n}`: right before the n-th call of that method;
  a process that ends says how often it was called;
- `{"commit": true}`: right before it commits; the one who waits then kills it some time later.

It answers `started <id>`, `reached` and `steps <n>` as it comes to that, and `ended <exit code>`.
"""

from __future__ import annotations

import atexit
import importlib
import json
import logging
import os
import signal
import sys
from typing import Any

import pyarrow.pandas_compat
import pyarrow.parquet  # noqa: F401
import ruamel.yaml  # noqa: F401

import dbdeid.commands.verify_evaluate_export
import dbdeid.release.run  # noqa: F401
from dbdeid.__main__ import main
from dbdeid.cli import app  # noqa: F401
from dbdeid.verify.files import container

STEPS = {"open", "os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir"}
say = os.fdopen(os.dup(1), "w")


def die_at(number: int, kinds: set[str]) -> None:
    count = 0

    def hook(event: str, given: tuple[Any, ...]) -> None:
        nonlocal count
        reads = event == "open" and not (isinstance(given[2], int) and given[2] & os.O_ACCMODE)
        if event in kinds and not reads:
            count += 1
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    atexit.register(lambda: tell(f"steps {count}"))


def die_in(place: str, number: int) -> None:
    module, _, path = place.partition(":")
    owner, _, name = path.rpartition(".")
    holder = getattr(importlib.import_module(module), owner)
    whole, count = getattr(holder, name), 0

    def dying(*given: Any, **more: Any) -> Any:
        nonlocal count
        count += 1
        if count == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return whole(*given, **more)

    setattr(holder, name, dying)
    atexit.register(lambda: tell(f"steps {count}"))


def tell(word: str) -> None:
    say.write(f"{word}\n")
    say.flush()


class TellCommit(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if record.args == ("COMMIT",):
            tell("reached")


def become(order: dict[str, Any]) -> None:
    os.chdir(order["folder"])
    os.umask(0o022)
    os.environ.update(order["environment"])
    for stream, name in ((1, "out"), (2, "err")):
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(f"{order['told']}.{name}", flags, 0o644), stream)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    moment = order["moment"]
    if "step" in moment:
        die_at(moment["step"], {moment["of"]} if "of" in moment else STEPS)
    if "call" in moment:
        die_in(moment["call"], moment["number"])
    if "commit" in moment:
        logger = logging.getLogger("dbdeid")
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
        logger.addHandler(TellCommit())
    sys.argv = ["dbdeid", *order["words"]]
    main()


container._published_texts()  # what every run asks once
for line in sys.stdin:
    process = os.fork()
    if process == 0:
        become(json.loads(line))
    tell(f"started {process}")
    tell(f"ended {os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])}")
