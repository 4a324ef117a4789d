"""`python -m pacbayes` runs the command `pacbayes`."""

import gc
import os
import sys


def run() -> None:
    """Load and run the command line; an interrupt ends the process, also during imports."""
    # The objects of imported modules stay: looking through them again and again takes a tenth of the time of `certify`.
    gc.set_threshold(10_000)
    try:
        from pacbayes.cli.interrupted import INTERRUPTED, exit_interrupted, handle_interrupts

        try:
            handle_interrupts()
            from pacbayes.cli.app import main

            main()
        except KeyboardInterrupt:
            exit_interrupted()
    except SystemExit as ended:
        if ended.code == INTERRUPTED:
            # A regular shutdown takes a second, and breaks threads that still run.
            os._exit(INTERRUPTED)
        raise
    except KeyboardInterrupt:
        sys.exit("pacbayes: interrupted; nothing was written")


if __name__ == "__main__":
    run()
