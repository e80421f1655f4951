"""The table of engines, and which of them a source, a frame or a text such as ``"spark::visits"`` belongs to.

An engine is loaded where a source of it is read, and nowhere else.
"""

from collections.abc import Mapping

from emdp.tables.base import DUCKDB_SEPARATOR, Source
from emdp.tables.engines.duckdb.kind import KIND as DUCKDB_KIND
from emdp.tables.engines.kind import EngineKind, Opener
from emdp.tables.engines.spark.kind import KIND as SPARK_KIND

__all__ = ["ENGINES", "frame_opener", "named_opener", "named_table", "opener_of"]

ENGINES: Mapping[str, EngineKind] = {
    "duckdb": DUCKDB_KIND,
    "spark": SPARK_KIND,
}
"""Engines by the name that their sources give, which is also what stands before ``::`` in a text."""


def named_opener(engine: str) -> Opener | None:
    """Return the opener of the tables of an engine by that name; None where there is none.

    >>> named_opener("city.duckdb") is None
    True
    """
    kind = ENGINES.get(engine)
    return None if kind is None else kind.opener


def named_table(text: str) -> tuple[Opener, str] | None:
    """Return the opener of the table that a text such as ``"spark::visits"`` names, and the table; None for others.

    ``"./spark::visits"`` is of a file.

    >>> named_table("spark::city.visits")[1], named_table("city.duckdb::visits")
    ('city.visits', None)
    """
    engine, _, table = text.partition(DUCKDB_SEPARATOR)
    opener = named_opener(engine)
    return None if opener is None or not table else (opener, table)


def frame_opener(source: object) -> Opener | None:
    """Return the opener of a frame of an engine; None of anything else.

    >>> frame_opener({"x": [1]}) is None
    True
    """
    openers = (kind.opener for kind in ENGINES.values())
    return next((opener for opener in openers if opener is not None and opener.is_frame(source)), None)


def opener_of(source: object) -> Opener | None:
    """Return the opener of the engine that a source, a frame or a text is of; None where it is of none that has one."""
    if isinstance(source, Source):
        return named_opener(source.engine)
    named = named_table(source) if isinstance(source, str) else None
    return frame_opener(source) if named is None else named[0]
