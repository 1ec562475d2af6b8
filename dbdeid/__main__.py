"""The command `dbdeid`, also as `python -m dbdeid`."""

import os
import signal


def main() -> None:
    """Load and run the command line; Ctrl-C ends it quietly from the first moment on."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Until a command works, and after it, there is nothing to clean up.
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from dbdeid.cli import main as run

    try:
        run()
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done but to end


if __name__ == "__main__":
    main()
