"""`python -m pacbayes` runs the command `pacbayes`."""

import os
import signal
import sys

_INTERRUPTED = 130


def run() -> None:
    """Load and run the command line; an interrupt ends the process, also during imports."""
    try:
        from pacbayes.cli.interrupted import exit_interrupted, force_exit_on_interrupt

        # Around the imports, during which Python may lose an interrupt; and interrupts are ignored while Python
        # shuts down.
        with force_exit_on_interrupt(handler_after=signal.SIG_IGN):
            try:
                from pacbayes.cli.app import main

                main()
            except KeyboardInterrupt:
                exit_interrupted()
    except KeyboardInterrupt:
        print("pacbayes: interrupted; nothing was written", file=sys.stderr, flush=True)
        os._exit(_INTERRUPTED)
    except SystemExit as ended:
        if ended.code == _INTERRUPTED:
            # A regular shutdown takes a second, and breaks threads that still run.
            os._exit(_INTERRUPTED)
        raise


if __name__ == "__main__":
    run()
