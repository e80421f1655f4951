"""Kinds of values of row expressions, and what a value of each kind is in Python."""

import datetime
import enum
import math
from typing import TypeAlias

from emdp.base.checks import is_unicode
from emdp.base.errors import UsageError

__all__ = ["BIGINT_MAX", "BIGINT_MIN", "Kind", "Value", "check_value"]

Value: TypeAlias = bool | int | float | str | datetime.date | datetime.datetime | None
"""A value of a literal; None is NULL."""

BIGINT_MIN, BIGINT_MAX = -(2**63), 2**63 - 1


class Kind(enum.Enum):
    """Kind of a value.

    Every column is read as one of these: whole numbers of any width as BIGINT, FLOAT and DECIMAL as DOUBLE, dates and
    times in the years 1 to 9999 (others are NULL) without a zone, in UTC.

    >>> Kind.BIGINT.is_number, Kind("DATE").is_time
    (True, True)
    """

    BOOLEAN = "BOOLEAN"
    BIGINT = "BIGINT"
    DOUBLE = "DOUBLE"
    TEXT = "TEXT"
    DATE = "DATE"
    TIMESTAMP = "TIMESTAMP"

    @property
    def is_number(self) -> bool:
        """Whether values are numbers."""
        return self in {Kind.BIGINT, Kind.DOUBLE}

    @property
    def is_time(self) -> bool:
        """Whether values are dates or times."""
        return self in {Kind.DATE, Kind.TIMESTAMP}


_PYTHON: dict[Kind, type] = {
    Kind.BOOLEAN: bool,
    Kind.BIGINT: int,
    Kind.DOUBLE: float,
    Kind.TEXT: str,
    Kind.DATE: datetime.date,
    Kind.TIMESTAMP: datetime.datetime,
}


def check_value(value: Value, kind: Kind) -> None:
    """Check that a value is of a kind: of exactly its Python type, finite, in 64 bits, without a zone, or None.

    Raises
    ------
    UsageError
        If it is not.

    >>> check_value(5, Kind.BIGINT)
    """
    if value is None:
        return
    if type(value) is not _PYTHON[kind]:
        raise UsageError(
            f"value must be {_PYTHON[kind].__name__} for {kind.value}, got {type(value).__name__}; cast it."
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError("value must be finite; write a number.")
    if isinstance(value, int) and not BIGINT_MIN <= value <= BIGINT_MAX:
        raise UsageError("value must fit 64 bits; write it as a DOUBLE.")
    if isinstance(value, str) and not (value.isascii() or is_unicode(value)):
        raise UsageError("value must be text of Unicode characters; leave lone surrogates out.")
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        raise UsageError("value must have no zone; convert it to UTC and leave the zone out.")
