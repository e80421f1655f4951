"""Numbers of errors: a stable one for each sentence that emdp says when a call fails, from one table.

``codes.tsv`` has a line an error: number, class, name, sentence. ``{}`` stands for what differs from call to call. The
name is the ``code`` of an :class:`emdp.base.errors.SqlError`, whose sentences may be several, and empty elsewhere. The
lines without a sentence are of whole classes: the number of an error that has no line of its own. A number is given
once: a line whose sentence is said no more stays (``python -m tests.base.error_sites`` adds lines for new sentences).
"""

import re
from functools import cache
from pathlib import Path

from emdp.base.classes import dataclass

__all__ = ["Code", "all_codes", "code_of", "find_code"]

TABLE = Path(__file__).with_name("codes.tsv")
"""The table."""

HOLE = "{}"
"""What stands in a sentence for what differs."""


@dataclass(frozen=True)
class Code:
    """One line of the table."""

    number: str  # `E` and four digits
    kind: str
    name: str  # `code` of the refusal of a statement, or empty
    sentence: str  # The message, with `{}` for what differs; empty for a whole class


@cache
def all_codes() -> tuple[Code, ...]:
    """Return the table, by number.

    >>> all_codes()[0]
    Code(number='E0001', kind='EmdpError', name='', sentence='')
    """
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    return tuple(Code(*line.split("\t")) for line in lines if line)


def find_code(text: str) -> Code | None:
    """Return the line of a number, in capitals or not, or of the name of a refusal; None if there is none.

    >>> find_code("e0001").kind, find_code("window").kind, find_code("E9999")
    ('EmdpError', 'SqlError', None)
    """
    wanted = text.strip()
    number = wanted.upper() if re.fullmatch(r"[eE]?\d+", wanted) else ""
    if number:
        number = f"E{number.removeprefix('E').zfill(4)}"
    return next((code for code in all_codes() if code.number == number or (code.name and code.name == wanted)), None)


def code_of(kinds: tuple[str, ...], name: str, message: str) -> Code:
    """Return the line of an error: of its name, else of the sentence that fits it best, else of its class.

    Parameters
    ----------
    kinds : tuple of str
        Names of the error's class and of what it is derived from, nearest first.
    name : str
        ``code`` of the refusal of a statement, or empty.

    >>> code_of(("SqlError", "EmdpError"), "window", "").name
    'window'
    >>> code_of(("Toy", "UsageError", "EmdpError"), "", "of no line").sentence
    ''
    """
    if name:
        named = next((code for code in all_codes() if code.name == name), None)
        if named is not None:
            return named
    said = message.removesuffix(".")
    fitting = [code for code in all_codes() if code.kind in kinds and code.sentence and _fits(code.sentence, said)]
    if fitting and not name:
        return max(fitting, key=lambda code: len(code.sentence.replace(HOLE, "")))
    general = {code.kind: code for code in all_codes() if not code.sentence and not code.name}
    return next(general[kind] for kind in kinds if kind in general)


def _fits(sentence: str, message: str) -> bool:
    """Say whether a message is a sentence with its gaps filled: each piece stands in it, in order."""
    pieces = sentence.removesuffix(".").split(HOLE)
    if not message.startswith(pieces[0]) or not message.endswith(pieces[-1]):
        return False
    if len(pieces) == 1:
        return message == pieces[0]
    place, end = len(pieces[0]), len(message) - len(pieces[-1])
    for piece in pieces[1:-1]:
        place = message.find(piece, place, end)
        if place < 0:
            return False
        place += len(piece)
    return place <= end
