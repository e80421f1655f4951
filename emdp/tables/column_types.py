"""Column types as DuckDB writes them: parsed from texts that an owner declared, never put into a statement as they are.

A type is one of a list of names, a decimal with its digits, or an ENUM with its values; a text of any other form is
none. What a statement gets is written here from the parts that were read.
"""

import re
from collections.abc import Mapping

from emdp.base.errors import UsageError
from emdp.tables.base import quote_text, type_name

__all__ = ["parsed_columns", "parsed_type", "type_in_statement"]

PLAIN = frozenset(
    (
        *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
        *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"),
        *("FLOAT", "DOUBLE", "BOOLEAN", "VARCHAR", "UUID", "BLOB", "BIT", "INTERVAL"),
        *("DATE", "TIME", "TIME_NS", "TIME WITH TIME ZONE"),
        *("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS"),
    )
)
"""Types without parameters, under the names that DuckDB's DESCRIBE gives them."""

DECIMAL = re.compile(r"DECIMAL ?\( ?([0-9]{1,2}) ?, ?([0-9]{1,2}) ?\)")
MOST_DIGITS = 38
"""Most digits of a decimal, in DuckDB and in Spark."""

ENUM_VALUE = r"'((?:[^']|'')*)'"
ENUM = re.compile(rf"ENUM\s*\(\s*{ENUM_VALUE}(?:\s*,\s*{ENUM_VALUE})*\s*\)", re.IGNORECASE)


def parsed_columns(columns: Mapping[str, str]) -> dict[str, str]:
    """Return declared columns with their types as DuckDB writes them; what a statement says of them is made of that.

    Raises
    ------
    UsageError
        Naming the first column whose type is none.

    >>> parsed_columns({"user": "bigint"})
    {'user': 'BIGINT'}
    """
    schema = {}
    for name, kind in columns.items():
        parsed = parsed_type(kind)
        if parsed is None:
            raise UsageError(
                f"columns gives {name!r} a type that is none of DuckDB's plain ones; write it as DESCRIBE does, "
                "such as DOUBLE or DECIMAL(18,3), or leave out a column that is not read."
            )
        schema[name] = parsed
    return schema


def parsed_type(text: str) -> str | None:
    """Return a column type as DuckDB's DESCRIBE writes it, None for a text that is no type of the listed forms.

    Nested types are none of them: no statement reads such a column.

    >>> parsed_type("double"), parsed_type("decimal(18, 3)"), parsed_type("ENUM('a','b')")
    ('DOUBLE', 'DECIMAL(18,3)', "ENUM('a', 'b')")
    >>> parsed_type("DECIMAL(18,3)); SELECT 1 --"), parsed_type("INTEGER[]")
    (None, None)
    """
    if ENUM.fullmatch(text.strip()):
        values = [value.replace("''", "'") for value in re.findall(ENUM_VALUE, text)]
        return f"ENUM({', '.join(map(quote_text, values))})"
    name = " ".join(text.upper().split())
    if name in PLAIN:
        return name
    found = DECIMAL.fullmatch(name)
    if found is None:
        return None
    digits, scale = int(found[1]), int(found[2])
    return f"DECIMAL({digits},{scale})" if 1 <= digits <= MOST_DIGITS and scale <= digits else None


def type_in_statement(kind: str) -> str | None:
    """Return what a statement declares a column of a type as, on no rows; None for a type that none reads.

    Of an ENUM the values stay out, which may be private: no statement compares with them.

    >>> type_in_statement("DECIMAL(10,2)"), type_in_statement("ENUM('ann', 'bob')"), type_in_statement("INTEGER[]")
    ('DECIMAL(10,2)', "ENUM('a')", None)
    """
    return "ENUM('a')" if type_name(kind) == "ENUM" else parsed_type(kind)
