"""Parameters of a text: ``?`` and ``$name``, each filled in with a literal before anything else is read.

The text with its literals is what is parsed, priced, written into the ledger and compared with stored answers, so that
values are part of a question's identity. A value becomes exactly one literal, whatever it holds: texts are quoted, and
a number below 0 stands in parentheses, since ``x-?`` would begin a comment. Values are public, as literals are.
"""

import datetime
import math
import re
from collections.abc import Mapping, Sequence

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from emdp.base.errors import SqlError, UsageError
from emdp.sql.text.dialect import tokenise

__all__ = ["Parameters", "filled_in"]

Parameters = Sequence[object] | Mapping[str, object]
"""Values of ``?`` in their order, or of ``$name`` by name."""

LIST = "\x00"
"""Begins the literals of a list: no literal begins so."""

LARGEST = 2**63
"""Whole numbers are BIGINT: below this, and at least the negative of it."""


def filled_in(text: str, parameters: Parameters | None) -> str:
    """Return a text with a literal in the place of each parameter.

    Parameters
    ----------
    text : str
        SQL; ``?`` and ``$name`` within texts, quoted names and comments are no parameters.
    parameters : sequence, mapping or None
        Values: None, bool, int (64 bits), float (finite), str, date, or datetime without a zone; a list or tuple of
        these for ``IN ?`` or ``IN (?)``.

    Raises
    ------
    UsageError
        If there are more or fewer values than parameters, or a value is of another type.
    SqlError
        If a parameter has another form than the values have.

    >>> filled_in("x > ? AND y = ?", [-1, "it's"])
    "x > (-1) AND y = 'it''s'"
    >>> filled_in("kind IN ? OR n IN (?)", [["bar", "cafe"], [1, 2]])
    "kind IN ('bar', 'cafe') OR n IN (1, 2)"
    >>> filled_in("day >= $first", {"first": datetime.date(2026, 1, 5)})
    "day >= DATE '2026-01-05'"
    """
    if parameters is None:
        return text
    is_named = isinstance(parameters, Mapping)
    if isinstance(parameters, str | bytes) or not isinstance(parameters, Sequence | Mapping):
        kind = type(parameters).__name__
        raise UsageError(f"parameters must be a list of values or a dict by names, not {kind}; pass one of these.")
    literals = {str(name): _literal(value, str(name)) for name, value in _pairs(parameters)}
    found = _places(text, is_named=is_named)
    if is_named:
        missing = next((name for name, _, _ in found if name not in literals), None)
        if missing is not None:
            raise UsageError(f"parameters has no value of ${missing}; pass one.")
    elif len(found) != len(literals):
        values = "1 value" if len(found) == 1 else f"{len(found)} values"
        raise UsageError(f"parameters must have {values}, one for each ?, got {len(literals)}; pass as many.")
    unused = set(literals) - {name for name, _, _ in found}
    if unused:
        raise UsageError(f"parameters has a value of {min(unused)!r}, which the text does not name; leave it out.")
    for name, start, end in reversed(found):
        literal = literals[name]
        if literal.startswith(LIST):
            literal = _listed(literal.removeprefix(LIST), text[:start], text[end:], name)
        text = f"{text[:start]}{literal}{text[end:]}"
    return text


def _listed(literals: str, before: str, after: str, name: str) -> str:
    """Return the literals of a list between what stands around it: behind IN, with or without parentheses."""
    if re.search(r"\bIN\s*$", before, re.IGNORECASE):
        return f"({literals})"
    if re.search(r"\bIN\s*\(\s*$", before, re.IGNORECASE) and after.lstrip().startswith(")"):
        return literals
    raise UsageError(f"parameters has a list as {name!r}, which does not stand behind IN; write IN ?, or pass a value.")


def _pairs(parameters: Parameters) -> list[tuple[object, object]]:
    return list(parameters.items() if isinstance(parameters, Mapping) else enumerate(parameters))


def _places(text: str, *, is_named: bool) -> list[tuple[str, int, int]]:
    """Return name, start and end of each parameter; those of ``?`` are named by their number."""
    try:
        tokens = tokenise(text)
    except TokenError:
        # What cannot be split is refused where the text is read, with the place underlined.
        return []
    found: list[tuple[str, int, int]] = []
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.token_type is TokenType.PLACEHOLDER:
            if is_named:
                raise _other(text, token, "parameters are given by name", "write $name")
            found.append((str(len(found)), token.start, token.end + 1))
        elif token.token_type is TokenType.PARAMETER:
            is_name = following is not None and following.token_type is TokenType.VAR
            if not is_named or not is_name or following is None or following.start != token.end + 1:
                raise _other(text, token, "parameters are given in their order" if not is_named else "this is no name",
                             "write ?" if not is_named else "write $name")  # fmt: skip
            found.append((following.text, token.start, following.end + 1))
    return found


def _other(text: str, token: Token, problem: str, remedy: str) -> SqlError:
    return SqlError(problem, remedy=remedy, code="parameter", sql=text, start=token.start, end=token.end + 1)


def _literal(value: object, name: str) -> str:
    if value is None or isinstance(value, bool):
        return "NULL" if value is None else str(value).upper()
    if isinstance(value, int):
        if not -LARGEST <= value < LARGEST:
            raise UsageError(f"parameters has a whole number beyond 64 bits as {name!r}; pass a float.")
        return str(value) if value >= 0 else f"({value})"
    if isinstance(value, float):
        if not math.isfinite(value):
            raise UsageError(f"parameters has a number that is not finite as {name!r}; pass a finite one.")
        return repr(value) if math.copysign(1.0, value) > 0 else f"({value!r})"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            raise UsageError(f"parameters has a time with a zone as {name!r}; pass it as UTC, without a zone.")
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, list | tuple) and value:
        if any(isinstance(own, list | tuple) for own in value):
            raise UsageError(f"parameters has a list of lists as {name!r}; pass one list of values.")
        return LIST + ", ".join(_literal(own, name) for own in value)
    if isinstance(value, list | tuple):
        raise UsageError(f"parameters has an empty list as {name!r}; leave the condition out, or pass a value.")
    kind = type(value).__name__
    raise UsageError(
        f"parameters must be numbers, texts, dates, times, bools, None or lists of these, got {kind}; convert {name!r}."
    )
