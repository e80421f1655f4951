"""A row in a table of the product for the time of a test."""

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

__all__ = ["registered"]


@contextmanager
def registered(*rows: tuple[MutableMapping[str, Any], str, Any]) -> Iterator[None]:
    """Add rows, each a table, a new key and a record, and take them out again."""
    for table, key, _ in rows:
        assert key not in table, f"{key} is there already"
    for table, key, record in rows:
        table[key] = record
    try:
        yield
    finally:
        for table, key, _ in rows:
            del table[key]
