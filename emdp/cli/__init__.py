"""The command line ``emdp``: one command a file; the only part of the package that prints or exits."""

import io
import os
import signal
import sys

from emdp.errors import EmdpError, UsageError

__all__ = ["main"]

INTERRUPTED = 130
"""Exit status after Ctrl-C: 128 and the signal's number, as shells have it."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit: 0, 2 refused, 3 budget spent, 4 data breaks a rule, 130 interrupted.

    Parameters
    ----------
    arguments : list of str, optional
        Words after ``emdp``; the process's own by default.
    """
    try:
        from emdp.cli.app import app

        _prepare()
        try:
            app(args=arguments)
        finally:
            # What cannot be written must show here, not when the process ends.
            sys.stdout.flush()
    except OSError as error:
        print(f"emdp: output cannot be written ({error.strerror}); what was charged stays charged.", file=sys.stderr)
        # Nothing more can be written, so Python must not try again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except EmdpError as error:
        print(f"emdp: {error}", file=sys.stderr)
        raise SystemExit(error.exit_status) from None
    except (KeyboardInterrupt, SystemExit) as ending:
        # Typer turns Ctrl-C into this status and says nothing.
        if isinstance(ending, SystemExit) and ending.code != INTERRUPTED:
            raise
        print("emdp: interrupted; what was charged stays charged, nothing else was changed.", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None


def _prepare() -> None:
    """See to it that what is charged can be shown, and that Ctrl-C ends what waits for the keyboard."""
    if sys.stdout is None:
        raise UsageError("standard output is closed, so no answer could be shown; open it, or send it to a file.")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A name that the terminal's encoding lacks must not cost an answer.
            stream.reconfigure(errors="backslashreplace")
    if hasattr(signal, "siginterrupt"):
        # Polars' own handler restarts a read that Ctrl-C broke off, so that a prompt would go on waiting.
        signal.siginterrupt(signal.SIGINT, True)
