"""Checks of arguments: each raises ``UsageError`` with a sentence that names the argument and the remedy."""

import math
import re
import unicodedata
from collections.abc import Collection
from functools import lru_cache
from numbers import Real

from emdp.base.errors import UsageError

__all__ = [
    "check_choice",
    "check_count",
    "check_finite",
    "check_period",
    "check_positive",
    "check_range",
    "check_table_name",
    "check_unit_interval",
    "is_unicode",
    "shown",
    "table_key",
    "without_login",
]


LONGEST_SHOWN = 200
"""Characters of a given value that a message repeats."""


def check_finite(name: str, value: object) -> float:
    """Return ``value`` as a float, or raise if it is not a finite real number.

    >>> check_finite("low", 2)
    2.0
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise UsageError(
            f"{name} must be a number, not {type(value).__name__}", argument=name, remedy="pass an int or a float"
        )
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise UsageError(f"{name} must be finite, got {number}", argument=name, remedy="pass a finite number")
    return number


def check_positive(name: str, value: object) -> float:
    """Return ``value`` as a float, or raise if it is not a finite number above zero.

    >>> check_positive("alpha", 0.5)
    0.5
    """
    number = check_finite(name, value)
    if number <= 0:
        raise UsageError(f"{name} must be above 0, got {number}", argument=name, remedy="pass a positive number")
    return number


def check_range(name: str, value: object, low: float, high: float) -> float:
    """Return ``value`` as a float, or raise if it is outside ``[low, high]``.

    >>> check_range("lat", 40.7, -90, 90)
    40.7
    """
    number = check_finite(name, value)
    if not low <= number <= high:
        raise UsageError(
            f"{name} must be between {low} and {high}, got {number}", argument=name, remedy="pass a value in that range"
        )
    return number


def check_unit_interval(name: str, value: object, *, zero: bool = False, one: bool = False) -> float:
    """Return ``value`` as a float, or raise if it is not in (0, 1); ``zero`` and ``one`` admit the ends.

    >>> check_unit_interval("delta", 0, zero=True)
    0.0
    """
    number = check_finite(name, value)
    inside = 0 < number < 1 or (zero and number == 0) or (one and number == 1)
    if not inside:
        ends = f"{'[' if zero else '('}0, 1{']' if one else ')'}"
        raise UsageError(
            f"{name} must be in {ends}, got {number}", argument=name, remedy="pass a number in that interval"
        )
    return number


def check_count(name: str, value: object, *, minimum: int = 1) -> int:
    """Return ``value`` as an int, or raise if it is not a whole number of at least ``minimum``.

    >>> check_count("users", 1000)
    1000
    """
    number = value if isinstance(value, int) else check_finite(name, value)
    if isinstance(value, bool) or number != int(number):
        raise UsageError(f"{name} must be a whole number, not {shown(value)}", argument=name, remedy="pass an int")
    number = int(number)
    if number < minimum:
        raise UsageError(
            f"{name} must be at least {minimum}, got {shown(number)}",
            argument=name,
            remedy="pass a larger whole number",
        )
    return number


def check_choice(name: str, value: object, choices: Collection[str]) -> str:
    """Return ``value``, or raise if it is none of ``choices``.

    >>> check_choice("unit", "km", ("km", "mi"))
    'km'
    """
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise UsageError(
            f"{name} must be one of {listed}, got {shown(value)}", argument=name, remedy="pass one of them"
        )
    return value


PERIOD = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}")
"""The name of a period: part of file names, so no slash, no blank, no leading dot."""


def check_period(period: object) -> str:
    """Return the name of a period, or raise ``UsageError``.

    >>> check_period("2026-W47")
    '2026-W47'
    """
    if not isinstance(period, str) or PERIOD.fullmatch(period) is None:
        raise UsageError(
            f"period must be a name of letters, digits, '_', '-' and '.', as 2026-W47, got {shown(period)}",
            argument="period",
            remedy="pass one",
        )
    return period


UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Characters that take no place where they stand (Unicode's Default_Ignorable_Code_Point)."""


def check_table_name(name: str) -> str:
    """Return the name of a private table, or raise if another name could look the same.

    >>> check_table_name("visits")
    'visits'
    """
    is_plain = name.isprintable() and not UNSEEN.search(name) and name == name.strip()
    if not name or not is_plain or unicodedata.normalize("NFC", name) != name:
        raise UsageError(
            f"name {shown(ascii(name))} of a table is empty, has a space at an end, or holds characters that are not "
            "seen or not composed (Unicode's NFC); name the table in plain letters."
        )
    return name


@lru_cache(maxsize=1024)
def table_key(name: str) -> str:
    """Return what two names of one table have in common: SQL does not tell small letters from capitals.

    Neither does it tell what Unicode calls compatible (NFKC), nor characters that are not seen, which earlier
    versions took: to merge two names costs a word of the owner's, to part them costs a second budget.

    >>> table_key("Visits") == table_key("visits")
    True
    """
    composed = unicodedata.normalize("NFKC", UNSEEN.sub("", name))
    return unicodedata.normalize("NFKC", composed.casefold()).strip()


def without_login(text: str) -> str:
    """Return a path or address for a message, without what stands between its first colon and its last @.

    >>> without_login("s3://key:secret@bucket/x"), without_login("postgresql:ann:secret@db"), without_login("a/b.csv")
    ('s3:...@bucket/x', 'postgresql:...@db', 'a/b.csv')
    """
    return re.sub(":.*@", ":...@", text, flags=re.DOTALL)


def is_unicode(text: str) -> bool:
    r"""Say whether a text has no lone surrogate, which is no character and which UTF-8 cannot write.

    >>> is_unicode("café"), is_unicode("\ud800")
    (True, False)
    """
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def shown(value: object) -> str:
    """Return the repr of a given value for a message: cut if long, its type's name if there is none.

    >>> shown([1, 2]), len(shown("a" * 1000)), shown(10**5000)
    ('[1, 2]', 201, 'a very large int')
    """
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        # An integer of thousands of digits, or a list nested too deep.
        return f"a very large {type(value).__name__}"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
