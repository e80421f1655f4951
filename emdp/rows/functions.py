"""All functions of a row that the language knows, in one table; what is not in it is refused by name.

A function is in the table if its result depends on its arguments alone (no clock, no chance, no setting, no other row),
its cost and size are not chosen by a row, no value makes it raise, and DuckDB and Spark agree on it: user-level-sql.md,
1.5.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from emdp.base.errors import InternalError
from emdp.rows.record import RowFunction
from emdp.rows.records import casts, logic, numbers, patterns, texts, times, zones

__all__ = ["BY_SQL_NAME", "FUNCTIONS", "OPERATORS"]


def _by_name(records: Iterable[RowFunction]) -> Mapping[str, RowFunction]:
    found: dict[str, RowFunction] = {}
    for record in records:
        if record.name in found:
            raise InternalError(f"two functions are called {record.name}; give one another name.")
        found[record.name] = record
    return MappingProxyType(found)


FUNCTIONS: Mapping[str, RowFunction] = _by_name(
    (
        *logic.RECORDS,
        *numbers.RECORDS,
        *texts.RECORDS,
        *patterns.RECORDS,
        *times.RECORDS,
        *zones.RECORDS,
        *casts.RECORDS,
    )
)
"""By canonical name."""

BY_SQL_NAME: Mapping[str, RowFunction] = MappingProxyType(
    {
        name: record
        for record in FUNCTIONS.values()
        if record not in casts.RECORDS
        for name in (record.name, *record.names)
    }
)
"""By every name, in lower case, by which SQL calls them; a cast is written as CAST alone."""

OPERATORS: Mapping[str, RowFunction] = MappingProxyType(
    {record.operator: record for record in FUNCTIONS.values() if record.operator and record.name != "negate"}
)
"""By operator."""
