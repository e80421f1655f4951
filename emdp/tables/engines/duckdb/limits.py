"""Limits of the DuckDB engine: memory and threads, from the environment, as DuckDB itself sets them.

``EMDP_MEMORY_LIMIT`` is DuckDB's ``memory_limit``, by default four fifths of the machine's memory; what does not fit
goes to temporary files in ``TMPDIR``. ``EMDP_THREADS`` is DuckDB's ``threads``, by default one for each core. Neither
changes an answer. They hold for the engine alone: what Python keeps of an answer comes on top.
"""

import os
import re

from emdp.base.errors import UsageError

__all__ = ["MEMORY_VARIABLE", "MOST_THREADS", "THREADS_VARIABLE", "engine_limits"]

MEMORY_VARIABLE, THREADS_VARIABLE = "EMDP_MEMORY_LIMIT", "EMDP_THREADS"
"""Names of the environment variables."""

MOST_THREADS = 1024
"""More threads than any machine has use for: such a number is a mistake."""

LEAST_MEGABYTES = 100
"""The engine needs some memory to begin with."""

UNITS = {"K": 1e-3, "M": 1.0, "G": 1e3, "T": 1e6}
"""Megabytes of each unit; that 1024 are not 1000 makes no difference here."""

SIZE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?) ?([KMGT]i?B)", re.IGNORECASE)


def engine_limits() -> dict[str, str]:
    """Return DuckDB's settings for the limits that the environment sets; none where it sets none.

    Raises
    ------
    UsageError
        If a variable is set to what is no such limit.

    >>> import os
    >>> os.environ["EMDP_THREADS"] = "2"
    >>> engine_limits()
    {'threads': '2'}
    >>> del os.environ["EMDP_THREADS"]
    """
    limits = {}
    memory, threads = os.environ.get(MEMORY_VARIABLE), os.environ.get(THREADS_VARIABLE)
    if memory is not None:
        size = SIZE.fullmatch(memory)
        if size is None or float(size.group(1)) * UNITS[size.group(2)[0].upper()] < LEAST_MEGABYTES:
            raise UsageError(
                f"{MEMORY_VARIABLE} must be a size of at least {LEAST_MEGABYTES}MB with its unit, such as 4GB, got "
                f"{memory!r}; correct it, or unset it."
            )
        limits["memory_limit"] = memory
    if threads is not None:
        if not re.fullmatch(r"[0-9]{1,4}", threads) or not 1 <= int(threads) <= MOST_THREADS:
            raise UsageError(
                f"{THREADS_VARIABLE} must be a whole number from 1 to {MOST_THREADS}, got {threads!r}; correct it, or "
                "unset it."
            )
        limits["threads"] = threads
    return limits
