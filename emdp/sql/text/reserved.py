"""Words of DuckDB's grammar that name no table without quotes."""

import re

__all__ = ["is_plain_name", "is_reserved"]

_WORDS = """
ALL ANALYSE ANALYZE AND ANTI ANY ARRAY AS ASC ASOF ASYMMETRIC AT AUTHORIZATION BINARY BOTH BY CASE CAST
CHECK COLLATE COLLATION COLUMN CONCURRENTLY CONSTRAINT CREATE CROSS DEFAULT DEFERRABLE DESC DESCRIBE
DISTINCT DO ELSE END EXCEPT FALSE FETCH FOR FOREIGN FREEZE FROM FULL GLOB GROUP HAVING ILIKE IN INITIALLY
INNER INTERSECT INTO IS ISNULL JOIN LAMBDA LATERAL LEADING LEFT LIKE LIMIT NATURAL NOT NOTNULL NULL OFFSET
ON ONLY OR ORDER OUTER OVERLAPS PIVOT PIVOT_LONGER PIVOT_WIDER PLACING POSITIONAL PRIMARY QUALIFY REFERENCES
RETURNING RIGHT SELECT SEMI SHOW SIMILAR SOME SUMMARIZE SYMMETRIC TABLE TABLESAMPLE THEN TO TRAILING TRUE
UNION UNIQUE UNPACK UNPIVOT USING VARIADIC VERBOSE WHEN WHERE WINDOW WITH
"""
"""What ``duckdb_keywords()`` calls reserved, and its words for functions and types that begin a clause or a join."""

_RESERVED = frozenset(_WORDS.split())

_PLAIN = re.compile(r"(?:[A-Za-z_]|[^\x00-\x7f])(?:[\w$]|[^\x00-\x7f])*")


def is_reserved(name: str) -> bool:
    """Say whether a name is a word of the grammar, so that only quotes make a name of it.

    >>> is_reserved("Left"), is_reserved("price")
    (True, False)
    """
    return name.upper() in _RESERVED


def is_plain_name(name: str) -> bool:
    """Say whether a name is made of letters, digits, ``_`` and ``$``, so that it needs no quotes.

    >>> is_plain_name("größe"), is_plain_name("@>")
    (True, False)
    """
    return _PLAIN.fullmatch(name) is not None
