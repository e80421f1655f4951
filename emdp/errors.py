"""The errors that emdp raises: one class for each way in which a call can fail.

Every message is one sentence that names the argument, what was wrong and the remedy, and never holds a value
of a private table. ``exit_status`` is what the command line exits with (design.md, "Command line").
"""

import errno
import re
from collections.abc import Iterable
from typing import NoReturn

__all__ = [
    "BudgetExceededError",
    "DataRuleError",
    "EmdpError",
    "InternalError",
    "InvalidItemError",
    "LedgerError",
    "LedgerResourceError",
    "NotLipschitzError",
    "RefusedError",
    "ReportError",
    "ResourceError",
    "SolverError",
    "SqlError",
    "UsageError",
    "raise_alone",
    "resource_error",
]


class EmdpError(Exception):
    """Base of all errors of emdp."""

    exit_status = 2


class UsageError(EmdpError, ValueError):
    """An argument is malformed, out of its range, or does not fit the other arguments."""


class ReportError(UsageError):
    """A report's definition has problems, all of which are named at once, a line each.

    Parameters
    ----------
    problems : iterable
        What is wrong: each with its file and line as text, ``places.toml:12: what is wrong; what to do.``
    sound : object, optional
        The definition without what is wrong, so that the rest of it can be looked at too.

    Attributes
    ----------
    problems, sound : tuple, object or None
        The same.
    """

    def __init__(self, problems: Iterable[object], *, sound: object = None) -> None:
        self.problems = tuple(problems)
        self.sound = sound
        super().__init__("\n".join(map(str, self.problems)))


class RefusedError(EmdpError):
    """A well-formed request that emdp declines, because no guarantee could be given for it."""


class NotLipschitzError(RefusedError):
    """An expression has no finite Lipschitz constant.

    Attributes
    ----------
    expression : str
        The whole expression, as text.
    offending : str
        The sub-expression that jumps or has an unbounded slope.
    remedy : str
        What to write instead.
    """

    def __init__(self, reason: str, *, expression: str, offending: str, remedy: str) -> None:
        super().__init__(f"`{offending}` in `{expression}` {reason}; {remedy}")
        self.expression = expression
        self.offending = offending
        self.reason = reason
        self.remedy = remedy


class SqlError(RefusedError):
    """A statement, or a part of it, that is refused; the message shows the text with that part underlined.

    Parameters
    ----------
    problem : str
        What is wrong, without a full stop.
    remedy : str
        What to write instead, without a full stop.
    code : str
        Short name of the refusal, such as ``"window"``: stable, for programs.
    sql : str
        The whole text.
    start, end : int
        The part that is refused: ``sql[start:end]``, at least one character of a non-empty text.
    """

    def __init__(self, problem: str, *, remedy: str, code: str, sql: str, start: int, end: int) -> None:
        super().__init__(f"{_shortened(problem)}; {_shortened(remedy)}.\n{underlined(sql, start, end)}")
        self.problem = problem
        self.remedy = remedy
        self.code = code
        self.sql = sql
        self.start = start
        self.end = end


class InvalidItemError(EmdpError, ValueError):
    """Items outside the declared domain reached a space whose rule is ``on_invalid="error"``."""

    exit_status = 4


class DataRuleError(EmdpError):
    """The private table breaks a rule that its owner declared."""

    exit_status = 4


class BudgetExceededError(EmdpError):
    """The budget in the ledger does not cover the request; nothing was computed or charged."""

    exit_status = 3


class LedgerError(EmdpError):
    """A ledger cannot be opened, is damaged, or holds something other than what was declared."""


class StoredTextError(LedgerError):
    """A stored answer is whole, and of a form that this version does not know."""


class SolverError(EmdpError):
    """A numerical solve was not proven optimal, so its number is withheld."""


class ResourceError(EmdpError):
    """Memory or disk space ran out while something was computed or written."""

    exit_status = 1


class LedgerResourceError(LedgerError, ResourceError):
    """Memory or disk space ran out where a ledger is kept, or its disk fails."""

    exit_status = 1


class InternalError(EmdpError):
    """A state that emdp's own code should have made impossible: a bug in emdp, not in the call."""

    exit_status = 1


def raise_alone(error: BaseException) -> NoReturn:
    """Raise an error with nothing of the one that is being handled, whose text may quote records.

    ``from None`` hides that one from a traceback, and yet keeps it as ``__context__``.
    """
    try:
        raise error from None
    finally:
        error.__context__ = None


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system says where a disk is full, or as much of it as this user or file may have."""


def resource_error(error: BaseException) -> ResourceError | None:
    """Return what an error of Python or of the system means, where it is about memory or disk space; None elsewhere.

    >>> str(resource_error(MemoryError())).partition(";")[0], resource_error(ValueError())
    ('memory ran out', None)
    """
    number = error.errno if isinstance(error, OSError) else None
    if isinstance(error, MemoryError) or number == errno.ENOMEM:
        return ResourceError(
            "memory ran out; free some, or put the records in more and smaller files; what was charged stays charged."
        )
    if number in FULL:
        return ResourceError(
            "the disk is full; make room on it, or set TMPDIR to a folder on another one; what was charged stays "
            "charged."
        )
    return None


LONGEST_QUOTE = 120
"""Characters of a piece of the statement that a sentence repeats in full."""

LONG_WORD = re.compile(rf"\S{{{2 * LONGEST_QUOTE},}}")
"""A name that would fill a screen."""


def underlined(text: str, start: int, end: int) -> str:
    """Return the line of a text that a part begins in, with its number, and carets under the part.

    >>> print(underlined("SELECT\\n  median(x)", 9, 15))
    line 2 | median(x)
           | ^^^^^^
    """
    start = min(max(start, 0), len(text))
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", start)
    line = text[line_start : len(text) if line_end < 0 else line_end]
    # What a terminal would act on is shown as a space; so is a tab, whose width nobody knows.
    shown = "".join(character if character.isprintable() else " " for character in line)
    indent = len(shown) - len(shown.lstrip())
    head = f"line {text.count(chr(10), 0, start) + 1} | "
    width = max(1, min(end, line_start + len(line)) - start)
    first = max(start - line_start - indent, 0)
    left = max(0, first - 60)
    body, marks = shown[indent:].rstrip()[left : left + 160], " " * (first - left) + "^" * width
    return f"{head}{body}\n{' ' * (len(head) - 2)}| {marks[:160]}"


def _shortened(sentence: str) -> str:
    # What a statement is quoted for is underlined anyway.
    pieces = sentence.split("`")
    for number, piece in enumerate(pieces):
        if number % 2 and len(piece) > LONGEST_QUOTE:
            pieces[number] = f"{piece[: LONGEST_QUOTE // 2]}...{piece[-LONGEST_QUOTE // 2 :]}"
    return LONG_WORD.sub(lambda found: f"{found[0][: LONGEST_QUOTE // 2]}...", "`".join(pieces))
