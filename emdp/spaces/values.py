"""Values that owners and analysts give: their form in a message, the test for text, and numbers in rows."""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, TypeGuard

import numpy as np

from emdp.base.checks import shown
from emdp.base.errors import UsageError
from emdp.spaces.base import Floats

__all__ = ["LONGEST_INT", "check_plain", "is_sequence", "is_text", "number_matrix"]

DEEPEST_PLAIN = 10
"""Deepest nesting of lists and mappings in a description; a product of clusters has 5."""

LONGEST_INT = 1024
"""Bits of the largest integer in a description: a longer one fits no double."""


def is_text(value: object) -> bool:
    r"""Say whether a value is a string that UTF-8 can write, as columns of tables and ledgers must.

    >>> is_text("café"), is_text("\ud800"), is_text(1)
    (True, False, False)
    """
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True


def is_sequence(value: Any) -> TypeGuard[Sequence[Any]]:
    """Say whether a value is a sequence that is no string, or an array of one dimension.

    >>> is_sequence([1]), is_sequence(np.zeros(3)), is_sequence(np.array(3)), is_sequence("ab")
    (True, True, False, False)
    """
    if isinstance(value, np.ndarray):
        return value.ndim == 1
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def check_plain(name: str, data: object) -> None:
    """Raise if nested lists and mappings go too deep, or hold an integer or a text that nothing else can take.

    What is left can be shown in a message, walked by recursion and written to a file.

    >>> check_plain("a space", {"kind": "interval", "low": 0})
    """
    stack = [(data, 0)]
    while stack:
        value, depth = stack.pop()
        if depth > DEEPEST_PLAIN:
            raise UsageError(f"{name} nests lists more than {DEEPEST_PLAIN} deep; remove some.")
        if isinstance(value, int) and value.bit_length() > LONGEST_INT:
            raise UsageError(f"{name} holds an integer that fits no double; pass a smaller one.")
        if isinstance(value, str) and not is_text(value):
            raise UsageError(f"{name} holds text with a lone surrogate, {shown(value)}; repair it.")
        if isinstance(value, Mapping):
            stack += [(entry, depth + 1) for pair in value.items() for entry in pair]
        elif isinstance(value, list | tuple) and set(map(type, value)) != {float}:  # spares rows of matrices
            stack += [(entry, depth + 1) for entry in value]


def number_matrix(name: str, rows: Any) -> Floats:
    """Return rows of numbers as a new float64 array of two dimensions.

    Parameters
    ----------
    rows : array or sequence of sequences of int or float
        Texts, Booleans and None are no numbers, even where numpy would read them as such.

    Raises
    ------
    UsageError
        If a row or an entry is malformed, rows differ in length, or a number is too large for a double.

    >>> number_matrix("matrix", [[0, 1], [1.5, 0]]).tolist()
    [[0.0, 1.0], [1.5, 0.0]]
    """
    refusal = UsageError(f"{name} must hold rows of one length of numbers that fit a double; repair the others.")
    if hasattr(rows, "__array__"):
        rows = np.asarray(rows)
    if not (_is_array_of_numbers(rows) or (is_sequence(rows) and all(map(_is_row, rows)))):
        raise refusal
    try:
        matrix = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise refusal from None
    if matrix.ndim != 2:
        raise refusal
    return matrix


def _is_row(row: Any) -> bool:
    return _is_array_of_numbers(row) or (is_sequence(row) and _are_number_types(map(type, row)))


def _is_array_of_numbers(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "iuf"


def _are_number_types(types: Iterable[type]) -> bool:
    return all(issubclass(kind, Real) and not issubclass(kind, bool) for kind in set(types))
