"""Versions of other packages on which a guarantee rests: what emdp was checked with, and a refusal of any other.

A parser that groups operations in another way answers another question, and an engine may count in another way, both
without an error. ``pyproject.toml`` states the same ranges to installers, and a test compares the two.
"""

import re
from functools import cache

from emdp.base.errors import UnsupportedError

__all__ = ["CHECKED_WITH", "check_version"]

CHECKED_WITH = {
    # All tests of SQL pass from 30.27.0 to 30.30.0, the newest; up to 30.23.0 operations are grouped otherwise.
    "sqlglot": ("30.27", "30.31"),
    "duckdb": ("2.0", "3"),
}
"""Packages, each with the first version that is allowed, and the first one above it that is not."""


@cache
def check_version(package: str, version: str) -> None:
    """Refuse a package of another version than emdp was checked with.

    Parameters
    ----------
    package : str
        One of ``CHECKED_WITH``.

    Raises
    ------
    UnsupportedError
        If the version is another one, or not stated.

    >>> check_version("sqlglot", "30.30.0")
    """
    first, beyond = CHECKED_WITH[package]
    if not _numbers(first) <= _numbers(version) < _numbers(beyond):
        raise UnsupportedError(
            f"{package} {version} is not a version that emdp was checked with, so a guarantee may not hold; run "
            f"pip install '{package}>={first},<{beyond}'."
        )


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers that a version begins with; none are below all others."""
    begun = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, begun[0].split("."))) if begun else ()
