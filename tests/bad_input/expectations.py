"""What a refusal may be: one of emdp's own errors, one sentence, nothing of the records anywhere in its chain."""

import re
import traceback
from collections.abc import Iterator

from emdp.base.errors import EmdpError, InternalError, NotLipschitzError, ReportError, SqlError

MARKERS = ("zqvj", "92781828", "6180339")
"""Stands in every private text many times, and in every private number: no mutation takes all of it away."""

STATUSES = (2, 3, 4)
"""Exit statuses of refusals: malformed or refused, budget spent, a declared rule broken."""

FOREIGN = (
    "Binder Error", "Parser Error", "Catalog Error", "Conversion Error", "Invalid Input Error", "IO Error:",
    "Out of Range Error", "Not implemented Error", "INTERNAL Error", "Serialization Error", "_duckdb", "Traceback",
    'File "', "object at 0x", "panicked", "RUST_BACKTRACE", "pyo3", "ArrowInvalid",
)  # fmt: skip
"""What errors of engines and of Python say, and a message of ours does not."""

CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u2028-\u202e\u2066-\u2069]")
"""What a terminal acts on; a message has lines, and nothing else of these."""

LONGEST = 8_000
"""Characters of a message of one sentence, which may repeat a name of thousands of digits."""


class BrokenPromiseError(Exception):
    """What came of a bad input is not what emdp promises."""


def need(is_so: bool, promise: str) -> None:
    """Raise unless a promise was kept."""
    if not is_so:
        raise BrokenPromiseError(promise)


def chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all that it came from, those too that a traceback would not show."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [one.__cause__, one.__context__]


def everything_said(error: BaseException) -> str:
    """Return all text that an error can show to whoever logs it: messages, arguments, attributes, tracebacks."""
    said = []
    for one in chain(error):
        said += [str(one), repr(one), repr(one.args), repr(vars(one))]
        said += [repr(getattr(one, name, None)) for name in ("object", "reason", "filename", "__notes__")]
    return "\n".join([*said, "".join(traceback.format_exception(error))])


def check_private(text: str, *, own: str = "", where: str = "shown") -> None:
    """Raise if a text holds a private value that the caller did not write; ``where`` says what text it is."""
    found = [marker for marker in MARKERS if marker in text and marker not in own]
    need(not found, f"private value {where} ({found})")


def check_refusal(error: BaseException, *, own: str = "") -> str:
    """Check an error that a bad input led to; return the name of its class.

    Parameters
    ----------
    error : BaseException
        What was raised.
    own : str
        What the caller wrote, which a message may repeat.
    """
    name = type(error).__name__
    need(isinstance(error, EmdpError), f"{name} instead of an error of emdp: {str(error)[:300]}")
    need(not isinstance(error, InternalError), f"InternalError: {error}")
    need(getattr(error, "exit_status", None) in STATUSES, f"{name} has exit status {getattr(error, 'exit_status', 0)}")
    message = str(error)
    check_message(message, error, own)
    check_private(f"{message}\n{vars(error)}", own=own)
    check_private(everything_said(error), own=own, where="in what the error came from")
    return name


def check_message(message: str, error: BaseException, own: str) -> None:
    """A message is one sentence of plain text (a report's: one a line; a statement's: with the part underlined)."""
    controls = CONTROLS.sub("", message)
    need(controls == message, f"control characters in the message {message[:200]!r}")
    need(not _has_surrogates(message), f"a message that cannot be written as UTF-8: {message[:200]!r}")
    foreign = [word for word in FOREIGN if word in message and word not in own]
    need(not foreign, f"text of another library in the message ({foreign}): {message[:300]}")
    if isinstance(error, SqlError | NotLipschitzError):
        return
    lines = message.split("\n")
    need(isinstance(error, ReportError) or len(lines) == 1, f"several lines: {message[:300]!r}")
    for line in lines:
        need(line.endswith("."), f"no full stop: {line[-200:]!r}")
        need(len(line) <= LONGEST, f"a sentence of {len(line)} characters: {line[:200]!r}")


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)
