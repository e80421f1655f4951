"""PostgreSQL's errors as errors of emdp: what happened to the ledger, and what to do about it."""

import psycopg

from emdp.base.errors import LedgerError, LedgerResourceError
from emdp.ledger.chain import REMEDY

__all__ = ["ConnectionLostError", "commit_error", "ledger_error"]

_HELD = "is held by another process for too long; ask again when that has finished."
_LACKS = "lacks its tables or functions; put back the last good copy, or name another database."

_ANSWERS = {
    "25006": "cannot be written, for the server only reads; name the primary server.",
    "3F000": _LACKS,
    "42883": _LACKS,
    "42P01": _LACKS,
    "40001": _HELD,
    "40P01": _HELD,
    "55P03": _HELD,
    "53100": "finds the server's disk full; nothing was charged, so make room and ask again.",
    "53200": "finds no memory on the server; nothing was charged, so free some there and ask again.",
    "57014": "took longer than the server allows; nothing was charged, so raise statement_timeout and ask again.",
    "58030": "cannot be read or written, for the server's disk fails; check it and ask again.",
    "EM001": f"refuses an entry that does not follow its last one; {REMEDY}",
}

_SHORT = {"53100", "53200", "58030"}
"""Codes of a server that falls short, where nothing is wrong with the request or the ledger."""

_LOST = ("08", "57P", "25P03", "53300")
"""Beginnings of the codes of a connection that the server cut, or would not give."""


class ConnectionLostError(LedgerError):
    """The server cannot be reached, or cut the connection before a commit was asked for."""


def ledger_error(shown: str, error: psycopg.Error) -> LedgerError:
    """Return what a PostgreSQL error before the commit means for the ledger at the address ``shown``.

    >>> ledger_error("postgresql://db/city", psycopg.errors.LockNotAvailable()).problem
    'ledger postgresql://db/city is held by another process for too long'
    """
    code = error.sqlstate
    reason = (error.diag.message_primary or "").rstrip(".") or type(error).__name__
    if code is None and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return ConnectionLostError(f"ledger {shown} lost its server; nothing was charged, so ask again.")
    if code is not None and code.startswith(_LOST):
        return ConnectionLostError(f"ledger {shown} lost its server ({reason}); nothing was charged, so ask again.")
    if code == "42501":
        return LedgerError(f"ledger {shown} is denied by the server ({reason}); ask an owner of the ledger.")
    kind = LedgerResourceError if code in _SHORT else LedgerError
    return kind(f"ledger {shown} {_ANSWERS.get(code or '', f'cannot be used ({reason}); {REMEDY}')}")


def commit_error(shown: str, sequence: int, failure: Exception, *, is_open: bool) -> LedgerError:
    """Return what a commit that failed means for the entry that was to be kept.

    A server that finds no room for its log stops in the middle of a commit, and says why before it goes.

    Parameters
    ----------
    shown : str
        The ledger's address, without a password.
    failure : Exception
        What came of the commit.
    is_open : bool
        Whether it cannot be known what became of the entry; else it is known that it was not kept.

    >>> commit_error("postgresql://db/city", 7, psycopg.errors.DiskFull(), is_open=False).remedy
    'nothing was charged, so make room and ask again'
    """
    kind, found, first = LedgerError, "lost its server", ""
    if getattr(failure, "sqlstate", None) == "53100":
        kind, found, first = LedgerResourceError, "finds the server's disk full", "make room and "
    happened = f"ledger {shown} {found} while entry {sequence} was committed"
    if is_open:
        return kind(f"{happened}, and cannot say what became of it; {first}verify the ledger, and count it as charged.")
    return kind(f"{happened}; nothing was charged, so {first}ask again.")
