"""The errors that emdp raises: one class for each way in which a call can fail.

Every message is one sentence that names the argument, what was wrong and the remedy, and never holds a value
of a private table. Its parts are attributes of the error, so that nobody needs to look into its text. ``exit_status``
is what the command line exits with (design.md, "Command line").
"""

import errno
import re
from collections.abc import Iterable
from typing import Any, NoReturn

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
    "UnsupportedError",
    "UsageError",
    "raise_alone",
    "resource_error",
]


class EmdpError(Exception):
    """Base of all errors of emdp.

    Parameters
    ----------
    message : str
        The whole sentence, ``ARGUMENT PROBLEM; REMEDY.``; with ``remedy`` only what stands before its semicolon.
    argument : str, optional
        Name of the argument that the message is about. By default what the sentence says ``must`` be something, or
        begins with as ``NAME=VALUE`` or ``--NAME``.
    remedy : str, optional
        What to do instead, without a full stop. Give it where the rest of the sentence may hold a semicolon.

    Attributes
    ----------
    argument : str or None
        Name of the argument, None where the sentence is about none.
    problem : str
        What is wrong, with the argument's name and without a full stop; the whole message if it has several lines.
    remedy : str
        What to do instead, without a full stop; empty if the message says nothing of it.

    >>> error = UsageError("alpha must be above 0, got -1.0; pass a positive number.")
    >>> error.argument, error.problem, error.remedy
    ('alpha', 'alpha must be above 0, got -1.0', 'pass a positive number')
    >>> str(UsageError("'a; b' is no name", argument="name", remedy="pass another one"))
    "'a; b' is no name; pass another one."
    """

    exit_status = 2
    argument: str | None
    problem: str
    remedy: str

    def __init__(self, message: str = "", *, argument: str | None = None, remedy: str | None = None) -> None:
        super().__init__(message if remedy is None else f"{message}; {remedy}.")
        self.argument = _argument(message) if argument is None else argument
        self.problem, self.remedy = _parts(message) if remedy is None else (message, remedy)

    @property
    def number(self) -> str:
        """Stable number of the error, such as ``E0412``: ``emdp explain E0412`` says what it means.

        >>> UsageError("of a sentence that has no line").number == UsageError("of another one").number
        True
        """
        # Loaded where it is needed.
        from emdp.base.codes import code_of

        kinds = tuple(kind.__name__ for kind in type(self).__mro__)
        return code_of(kinds, str(getattr(self, "code", "")), str(self)).number

    @property
    def sentence(self) -> str:
        """Problem and remedy without a full stop, to be part of another text."""
        return f"{self.problem}; {self.remedy}" if self.remedy else self.problem


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
    reason : str
        What is wrong with it, without its text, which ``problem`` begins with.
    remedy : str
        What to write instead.
    is_too_large : bool
        Whether its numbers leave the range of doubles, rather than that it jumps or is too steep.
    """

    def __init__(
        self, reason: str, *, expression: str, offending: str, remedy: str, is_too_large: bool = False
    ) -> None:
        super().__init__(f"`{offending}` in `{expression}` {reason}; {remedy}")
        self.expression = expression
        self.offending = offending
        self.reason = reason
        self.is_too_large = is_too_large
        self.problem, self.remedy = f"`{offending}` in `{expression}` {reason}", remedy


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
        said = f"{_shortened(problem)}; {_shortened(remedy)}"
        super().__init__(f"{said}.\n{underlined(sql, start, end)}")
        self.problem, self.remedy = problem, remedy
        self._said = said
        self.code = code
        self.sql = sql
        self.start = start
        self.end = end

    @property
    def sentence(self) -> str:
        """Problem and remedy without a full stop and the underlined text; long pieces of the statement are cut."""
        return self._said


class InvalidItemError(EmdpError, ValueError):
    """Items outside the declared domain reached a space whose rule is ``on_invalid="error"``."""

    exit_status = 4


class DataRuleError(EmdpError):
    """The private table breaks a rule that its owner declared.

    Parameters
    ----------
    message : str
        Which rule, of which columns, and the remedy.
    breaches : iterable, optional
        How many records and users break each rule, for the owner: see :meth:`emdp.tables.Table.validate`.

    Attributes
    ----------
    breaches : tuple of Breach
        The same; empty in all that a session raises, whose text and attributes say nothing more of the records.
    """

    exit_status = 4

    def __init__(self, message: str, *, breaches: Iterable[Any] = ()) -> None:
        super().__init__(message)
        self.breaches = tuple(breaches)


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


class UnsupportedError(EmdpError, ImportError):
    """The system, or the version of a package, is none that emdp was checked with; raised when it is imported."""


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
"""Error numbers of a full disk, or of all the room that this user or file may have."""


def resource_error(error: BaseException) -> ResourceError | None:
    """Return what an error of Python or of the system means, where it is about memory or disk space; None elsewhere.

    >>> getattr(resource_error(MemoryError()), "problem", None), resource_error(ValueError())
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


SUBJECT = re.compile(r"(--[a-z][\w-]*)|([A-Za-z_]\w*)(?:=| must )")
"""Beginning of a sentence about an argument."""

QUOTE = r"""`[^`]*`|(?<!\w)'(?:[^'\\]|\\.)*'(?!\w)|"(?:[^"\\]|\\.)*"|\((?:[^()\[\]]|\([^()\[\]]*\))*\)"""
"""Pieces of a message that may hold a semicolon of their own: code, texts, remarks in brackets."""

SEMICOLON = re.compile(rf"(?:{QUOTE})|(; )", re.DOTALL)


def _argument(message: str) -> str | None:
    found = SUBJECT.match(message)
    return None if found is None else found[1] or found[2]


def _parts(message: str) -> tuple[str, str]:
    """Split a sentence at its own semicolon: the one place where a message is taken apart."""
    whole = message.removesuffix(".")
    if "\n" in message:
        return whole, ""
    for found in SEMICOLON.finditer(whole):
        if found[1]:
            return whole[: found.start()], whole[found.end() :]
    return whole, ""


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
