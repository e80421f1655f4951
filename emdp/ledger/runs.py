"""Lock for one run of reports at a time on a ledger in a database: the server takes it back when a connection ends."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

from emdp.base.errors import UsageError
from emdp.ledger.address import Address

__all__ = ["hold_runs"]

PAUSE_SECONDS = 0.1
"""Pause between two tries."""

_KEYS = "1701667952, 1"
"""The advisory lock of runs: "emdp" in ASCII as an integer, and a number of its own."""


@contextmanager
def hold_runs(address: Address, *, wait: float) -> Iterator[None]:
    """Hold the lock of runs on a ledger in a database.

    The lock spares a team from paying twice for what two runs ask at once. No budget rests on it: charging is serial
    with or without it, so that a connection that is cut, and the lock with it, overspends nothing.

    Parameters
    ----------
    address : Address
        Of the ledger.
    wait : float
        Seconds to wait for another run.

    Raises
    ------
    UsageError
        If another run holds it for longer, or psycopg is missing.
    LedgerError
        If the server cannot be reached.
    """
    from emdp.ledger.opening import need_psycopg

    need_psycopg()
    import psycopg

    from emdp.ledger.postgres import connect
    from emdp.ledger.postgres_faults import ledger_error

    deadline = time.monotonic() + wait
    with closing(connect(address)) as connection:
        try:
            while not connection.execute(f"SELECT pg_try_advisory_lock({_KEYS})").fetchall()[0][0]:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise UsageError(
                        f"another report is running on ledger {address.shown!r}; waited {wait:g} s, and nothing was "
                        "charged, so run it again when that one has finished, or wait longer with --wait."
                    )
                time.sleep(min(PAUSE_SECONDS, left))
        except psycopg.Error as error:
            raise ledger_error(address.shown, error) from error
        yield
