"""Casts among kinds; where a value has no counterpart the result is NULL.

What a text may look like is one regular expression for both engines, since DuckDB reads ``1_000`` and Spark does not; a
text of another form is NULL. DOUBLE to BIGINT rounds half to even. There is no cast from DOUBLE to TEXT: engines write
other digits.
"""

from emdp.base.frames import DAY_MICROSECONDS
from emdp.rows import rules
from emdp.rows.record import Form, RowFunction
from emdp.rows.records.logic import BOOLEANS
from emdp.rows.records.texts import END_OF_TEXT, spark_text
from emdp.rows.records.times import DATE_OF_TIME, YEAR, civil
from emdp.rows.types import Kind

__all__ = ["RECORDS"]

INTEGER_TEXT = "^ *([+-]?[0-9]{1,19}) *$"
DOUBLE_TEXT = "^ *([+-]?([0-9]{1,300}[.]?[0-9]{0,300}|[.][0-9]{1,300})([eE][+-]?[0-9]{1,3})?) *$"
DATE_TEXT = f"^ *({YEAR}-[0-9]{{1,2}}-[0-9]{{1,2}}) *$"
_TWO = "[0-9][0-9]"
TIME_TEXT = f"^ *({YEAR}-{_TWO}-{_TWO}[ T](?:[01][0-9]|2[0-3]):{_TWO}:{_TWO}(?:[.][0-9]{{1,6}})?) *$"
"""Without ``{2}``, which stands for an argument in a spelling."""
_LARGEST = "CAST('9223372036854774784' AS DOUBLE)"
"""The largest double below 2**63."""


def _matched(pattern: str) -> str:
    return f"regexp_extract({{0}}, '{pattern}', 1)"


def _matched_spark(pattern: str) -> str:
    # Java's $ stands before a last line break as well.
    return f"regexp_extract({{0}}, {spark_text(pattern.replace('$', END_OF_TEXT))}, 1)"


RECORDS = (
    RowFunction(
        "to_boolean",
        (Form((Kind.BIGINT,), Kind.BOOLEAN, "{0} <> 0", "{0} <> 0", values=lambda values: BOOLEANS),),
    ),
    RowFunction(
        "to_bigint",
        (
            Form((Kind.BOOLEAN,), Kind.BIGINT, "CAST({0} AS BIGINT)", "CAST({0} AS BIGINT)",
                 range_rule=rules.constant(0.0, 1.0), values=lambda values: (0, 1)),
            Form((Kind.DOUBLE,), Kind.BIGINT, "CAST({0} AS BIGINT)",
                 f"CAST(CASE WHEN rint({{0}}) BETWEEN -{_LARGEST} - 1024 AND {_LARGEST} "
                 "THEN rint({0}) END AS BIGINT)",
                 raises=True, range_rule=rules.whole(rules.rounded_even)),
            Form((Kind.TEXT,), Kind.BIGINT, f"CAST({_matched(INTEGER_TEXT)} AS BIGINT)",
                 f"TRY_CAST({_matched_spark(INTEGER_TEXT)} AS BIGINT)", raises=True,
                 range_rule=rules.whole(rules.unknown)),
        ),
    ),
    RowFunction(
        "to_double",
        (
            Form((Kind.BIGINT,), Kind.DOUBLE, "CAST({0} AS DOUBLE)", "CAST({0} AS DOUBLE)", range_rule=rules.same),
            Form((Kind.TEXT,), Kind.DOUBLE, f"CAST({_matched(DOUBLE_TEXT)} AS DOUBLE)",
                 f"TRY_CAST({_matched_spark(DOUBLE_TEXT)} AS DOUBLE)", raises=True),
        ),
    ),
    RowFunction(
        "to_text",
        (
            Form((Kind.BOOLEAN,), Kind.TEXT, "CAST({0} AS TEXT)", "CAST({0} AS TEXT)",
                 values=lambda values: ("false", "true")),
            Form((Kind.BIGINT,), Kind.TEXT, "CAST({0} AS TEXT)", "CAST({0} AS TEXT)"),
            Form((Kind.DATE,), Kind.TEXT, "CAST({0} AS TEXT)", f"CAST({civil('{0}')} AS TEXT)"),
        ),
    ),
    RowFunction(
        "to_date",
        (
            DATE_OF_TIME,
            Form((Kind.TEXT,), Kind.DATE, f"CAST({_matched(DATE_TEXT)} AS DATE)",
                 f"CAST(unix_date(TRY_CAST({_matched_spark(DATE_TEXT)} AS DATE)) AS BIGINT)", raises=True),
        ),
    ),
    RowFunction(
        "to_timestamp",
        (
            Form((Kind.DATE,), Kind.TIMESTAMP, "CAST({0} AS TIMESTAMP)", f"{{0}} * {DAY_MICROSECONDS}"),
            Form((Kind.TEXT,), Kind.TIMESTAMP, f"CAST({_matched(TIME_TEXT)} AS TIMESTAMP)",
                 f"unix_micros(TRY_CAST(concat({_matched_spark(TIME_TEXT)}, 'Z') AS TIMESTAMPTZ))", raises=True),
        ),
    ),
)  # fmt: skip
