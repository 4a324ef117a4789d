"""`python -m pacbayes` is `pacbayes`."""

import os
import signal
import sys

_ENDED_BY_USER = 130


def run() -> None:
    """Load the command line and run it; an interrupt ends the process at once, also while it loads."""
    try:
        from pacbayes.cli.interrupted import end_interrupted, force_exit_on_interrupt

        # Around the imports: Python may lose an interrupt in the middle of one.  And none is to be heard afterwards,
        # while Python tidies up.
        with force_exit_on_interrupt(afterwards=signal.SIG_IGN):
            try:
                from pacbayes.cli.app import main

                main()
            except KeyboardInterrupt:
                end_interrupted()
    except KeyboardInterrupt:
        print("pacbayes: interrupted; nothing was written", file=sys.stderr, flush=True)
        os._exit(_ENDED_BY_USER)
    except SystemExit as ended:
        if ended.code == _ENDED_BY_USER:
            # Python would tidy up for a second, and take what threads still run from under them.
            os._exit(_ENDED_BY_USER)
        raise


if __name__ == "__main__":
    run()
