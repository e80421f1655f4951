"""Functions of texts, counted in characters (code points).

Separators, places and lengths are literals: what a row chose would let one row choose how long the work or the result
is. A replacement never makes a text longer, and a join is as long as its parts together. There is no UPPER: Java makes
two letters of ``ß``.
"""

from collections.abc import Sequence

from emdp.rows import rules
from emdp.rows.record import Form, Given, RowFunction
from emdp.rows.records.logic import BOOLEANS
from emdp.rows.types import Kind, Value

__all__ = ["END_OF_TEXT", "RECORDS", "duckdb_text", "spark_text"]

PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _.,:-")
LONGEST = 1_000
"""Of a literal in a function of texts, and the largest place."""

END_OF_TEXT = r"\z"
"""In a regular expression of Java, whose ``$`` is also before a last line break."""

_LENGTH = rules.constant(0.0, 2.0**32)
"""Of a text: DuckDB and Spark hold less than 4 GiB."""


def duckdb_text(value: Value) -> str:
    """Return a text as DuckDB writes it."""
    return "'" + str(value).replace("'", "''") + "'"


def spark_text(value: Value) -> str:
    """Return a text for Spark: in hexadecimal where what a character in it means is a setting of the session."""
    text = str(value)
    return f"'{text}'" if set(text) <= PLAIN else f"decode(unhex('{text.encode().hex()}'), 'UTF-8')"


def _text_problem(value: Value) -> str | None:
    is_good = isinstance(value, str) and 0 < len(value) <= LONGEST and "\x00" not in value
    return None if is_good else f"is no text of 1 to {LONGEST} characters"


def _new_problem(value: Value) -> str | None:
    is_good = isinstance(value, str) and len(value) <= 1 and value != "\x00"
    return None if is_good else "is no text of at most one character"


def _place_problem(value: Value) -> str | None:
    is_good = isinstance(value, int) and 1 <= value <= LONGEST
    return None if is_good else f"is no whole number from 1 to {LONGEST}"


_SEPARATOR = Given(
    Kind.TEXT, "a text to look for", _text_problem, "write it in quotes, such as ','", (",", "a", "é'\\")
)
_NEW = Given(Kind.TEXT, "a replacement", _new_problem, "write '' or one character in quotes", ("", "x", "\\", "$"))
"""No longer than what it replaces: nested ones would multiply one row's text until the engine gives up."""
_PLACE = Given(Kind.BIGINT, "a place", _place_problem, "write a whole number from 1 on", (1, 2, 1000))


def _test(name: str, duckdb: str, spark: str, *names: str) -> RowFunction:
    form = Form((Kind.TEXT, _SEPARATOR), Kind.BOOLEAN, duckdb, spark, values=lambda values: BOOLEANS)
    return RowFunction(name, (form,), names=names)


def _of_text(name: str, duckdb: str, spark: str, *names: str) -> RowFunction:
    return RowFunction(name, (Form((Kind.TEXT,), Kind.TEXT, duckdb, spark),), names=names)


def _trim(name: str, spark: str, *names: str) -> RowFunction:
    return _of_text(name, f"{name}({{0}}, ' ')", f"{spark}({{0}})", *names)


def _substring(values: Sequence[Value]) -> str:
    return "substring(emdp_0, CAST(emdp_1 AS INT), CAST(emdp_2 AS INT))"


_LOWER = f"lower(translate({{0}}, {spark_text('İΣ')}, {spark_text('iσ')}))"
"""Java makes two characters of the first letter, and looks at the neighbours of the second one. Letters that came with
Unicode 16 stay as they are in DuckDB: of all others the tests compare each."""

RECORDS = (
    RowFunction("length", (Form((Kind.TEXT,), Kind.BIGINT, "length({0})", "CAST(char_length({0}) AS BIGINT)",
                                range_rule=_LENGTH),), names=("len", "char_length", "character_length")),
    RowFunction("strlen", (Form((Kind.TEXT,), Kind.BIGINT, "strlen({0})", "CAST(octet_length({0}) AS BIGINT)",
                                range_rule=_LENGTH),), names=("octet_length",)),
    _of_text("lower", "lower({0})", _LOWER, "lcase"),
    _trim("trim", "trim"),
    _trim("ltrim", "ltrim"),
    _trim("rtrim", "rtrim"),
    RowFunction("join_texts", (Form((Kind.TEXT, Kind.TEXT), Kind.TEXT, "{0} || {1}", "concat({0}, {1})"),),
                operator="||"),
    RowFunction(
        "substr",
        (
            Form((Kind.TEXT, _PLACE, _PLACE), Kind.TEXT, "substr({0}, {1}, {2})", _substring),
            Form((Kind.TEXT, _PLACE), Kind.TEXT, "substr({0}, {1})", "substring({0}, CAST({1} AS INT))"),
        ),
        names=("substring",),
    ),
    RowFunction("left", (Form((Kind.TEXT, _PLACE), Kind.TEXT, "left({0}, {1})", "left({0}, CAST({1} AS INT))"),)),
    RowFunction("right", (Form((Kind.TEXT, _PLACE), Kind.TEXT, "right({0}, {1})", "right({0}, CAST({1} AS INT))"),)),
    RowFunction(
        "replace", (Form((Kind.TEXT, _SEPARATOR, _NEW), Kind.TEXT, "replace({0}, {1}, {2})", "replace({0}, {1}, {2})"),)
    ),
    _test("starts_with", "starts_with({0}, {1})", "startswith({0}, {1})", "prefix"),
    _test("ends_with", "suffix({0}, {1})", "endswith({0}, {1})", "suffix"),
    _test("contains", "contains({0}, {1})", "contains({0}, {1})"),
    RowFunction(
        "position",
        (Form((Kind.TEXT, _SEPARATOR), Kind.BIGINT, "instr({0}, {1})", "CAST(instr({0}, {1}) AS BIGINT)",
              range_rule=_LENGTH),),
        names=("instr", "strpos"),
    ),
    RowFunction(
        "split_part",
        (Form((Kind.TEXT, _SEPARATOR, _PLACE), Kind.TEXT, "split_part({0}, {1}, {2})",
              "split_part({0}, {1}, CAST({2} AS INT))"),),
    ),
    _of_text("md5", "md5({0})", "md5(CAST({0} AS BINARY))"),
)  # fmt: skip
