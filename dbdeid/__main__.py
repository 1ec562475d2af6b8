"""The command `dbdeid`, also as `python -m dbdeid`."""

import atexit
import gc
import os
import signal
import sys

INTERRUPTED = 130
OUT_OF_MEMORY = 2


def main() -> None:
    """Load and run the command line; Ctrl-C ends it quietly from the first moment on."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Until a command works, and after it, there is nothing to clean up.
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    # What a command makes it mostly needs to its end: looking for garbage as often as a server does
    # finds little.
    gc.set_threshold(100_000, 20, 100)
    # The threads that numpy starts for its linear algebra cost more than all of ours there is.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from dbdeid.cli.app import main as run

    try:
        run()
    except SystemExit as ended:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if ended.code is None or isinstance(ended.code, int):
            _end(ended.code or 0)
        raise
    except MemoryError:  # while telling of another error: there was none left for more words
        os.write(2, b"error: not enough memory (MemoryError)\n  Hint: allow more (ulimit -v)\n")
        try:
            atexit._run_exitfuncs()
        finally:
            os._exit(OUT_OF_MEMORY)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done but to end


def _end(code: int) -> None:
    """End with a code at once, all that was written flushed; a stream that fails is left to Python.

    Taking the loaded libraries apart piece by piece, as Python does, takes as long as a small
    release does. And where an interrupt met Python code that an extension module ran, Python holds
    it for unhandled whatever was done about it, and would end by the signal.
    """
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (OSError, ValueError):
        return
    os._exit(code)


if __name__ == "__main__":
    main()
