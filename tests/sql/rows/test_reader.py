"""Row expressions of SQL: what each means, that its canonical text means the same, and what is refused and why."""

import pytest
from row_cases import cases
from row_predicates import predicate
from row_sql import COLUMNS, read

from emdp.base.errors import SqlError
from emdp.rows.functions import BY_SQL_NAME, FUNCTIONS
from emdp.rows.nodes import columns
from emdp.rows.types import Kind
from emdp.sql.rows.reader import OPERATORS
from emdp.sql.rows.refused import NODES
from emdp.sql.rows.sugar import FIELDS, SUGAR

MEANINGS = {
    "x + 1": '("t"."x" + 1)',
    "-5": "-5",
    "- x": 'negate("t"."x")',
    "x + 0.5": '(CAST("t"."x" AS DOUBLE) + 0.5e0)',
    "y BETWEEN 0.06 - 0.01 AND 0.06 + 0.01": '(("t"."y" >= 0.05e0) AND ("t"."y" <= 0.07e0))',
    "2 * 3.0": "6.0e0",
    "18446744073709551615": "1.8446744073709552e+19",
    "x NOT BETWEEN 1 AND 2": '(NOT (("t"."x" >= 1) AND ("t"."x" <= 2)))',
    "s LIKE 'a%'": 'like("t"."s", \'a%\')',
    "s NOT LIKE 'a%'": '(NOT like("t"."s", \'a%\'))',
    "s ILIKE '%B'": 'like(lower("t"."s"), \'%b\')',
    "s ~ '^a'": 'regexp_matches("t"."s", \'^a\')',
    "s || 'a'": '("t"."s" || \'a\')',
    "CONCAT(s, x)": '(coalesce("t"."s", \'\') || coalesce(CAST("t"."x" AS TEXT), \'\'))',
    "x IN (1, 2)": '("t"."x" IN (1, 2))',
    "x NOT IN (1, 2.5)": '(NOT (CAST("t"."x" AS DOUBLE) IN (1.0e0, 2.5e0)))',
    "x IN (1, NULL)": '(("t"."x" IN (1)) OR CAST(NULL AS BOOLEAN))',
    "x IS NULL": 'is_null("t"."x")',
    "x IS NOT NULL": '(NOT is_null("t"."x"))',
    "b IS TRUE": '("t"."b" IS NOT DISTINCT FROM TRUE)',
    "x IS DISTINCT FROM y": '(CAST("t"."x" AS DOUBLE) IS DISTINCT FROM "t"."y")',
    "CASE x WHEN 1 THEN 'a' ELSE s END": 'CASE WHEN ("t"."x" = 1) THEN \'a\' ELSE "t"."s" END',
    "CASE WHEN b THEN 1 END": 'CASE WHEN "t"."b" THEN 1 ELSE CAST(NULL AS BIGINT) END',
    "IF(b, 1, 2.5)": 'CASE WHEN "t"."b" THEN 1.0e0 ELSE 2.5e0 END',
    "COALESCE(x, 1, 2)": 'coalesce(coalesce("t"."x", 1), 2)',
    "x::DOUBLE": 'CAST("t"."x" AS DOUBLE)',
    "TRY_CAST(s AS INT)": 'CAST("t"."s" AS BIGINT)',
    "TRY(s::INT)": 'CAST("t"."s" AS BIGINT)',
    "DATE '2020-01-05'": "DATE '2020-01-05'",
    "d >= '2020-01-05'": '("t"."d" >= DATE \'2020-01-05\')',
    "d < TIMESTAMP '2020-01-05 10:00:00'": '(CAST("t"."d" AS TIMESTAMP) < TIMESTAMP \'2020-01-05 10:00:00\')',
    "d + 3": '("t"."d" + 3)',
    "d - DATE '2020-01-05'": '("t"."d" - DATE \'2020-01-05\')',
    "ts + INTERVAL 1 MONTH": 'add_interval("t"."ts", \'month\', 1)',
    "INTERVAL '2 days' + ts": 'add_interval("t"."ts", \'day\', 2)',
    "ts - INTERVAL '7' HOURS": 'add_interval("t"."ts", \'hour\', -7)',
    "HOUR(ts AT TIME ZONE 'America/New_York')": "date_part('hour', local_time(\"t\".\"ts\", 'America/New_York'))",
    "EXTRACT(DOW FROM ts)": 'date_part(\'dayofweek\', "t"."ts")',
    "DATE_PART('year', d)": 'date_part(\'year\', CAST("t"."d" AS TIMESTAMP))',
    "DATE_TRUNC('Month', ts)": 'date_trunc(\'month\', "t"."ts")',
    "DATE_DIFF('day', d, ts)": '(CAST(date_trunc(\'day\', "t"."ts") AS DATE) - '
    'CAST(date_trunc(\'day\', CAST("t"."d" AS TIMESTAMP)) AS DATE))',
    "CLAMP(y, 0, 5)": 'clamp("t"."y", 0.0e0, 5.0e0)',
    "CLAMP(x, 0, 5)": 'clamp("t"."x", 0, 5)',
    "CLAMP(x, 5, 5)": 'clamp("t"."x", 5, 5)',
    "y ** 2": '("t"."y" ** 2.0e0)',
    "PI()": "3.141592653589793e0",
    "MOD(x, 7)": '("t"."x" % 7)',
    "STRPOS(s, 'a')": 'position("t"."s", \'a\')',
    "x = NULL": '("t"."x" = CAST(NULL AS BIGINT))',
}


@pytest.mark.parametrize("text", MEANINGS)
def test_what_expressions_mean(text: str) -> None:
    node = read(text)
    assert str(node) == MEANINGS[text]
    assert read(str(node)) == node


@pytest.mark.slow
def test_canonical_texts_come_back() -> None:
    for kinds, nodes in cases().items():
        known = {f"c{place}": kind for place, kind in enumerate(kinds)}
        for node in nodes:
            assert read(str(node), known) == node
    for seed in range(300):
        assert read(str(predicate(seed))) == predicate(seed)


def test_every_name_of_a_function_is_read() -> None:
    for name, record in BY_SQL_NAME.items():
        assert name == name.lower()
        assert record is FUNCTIONS[record.name]
    assert set(OPERATORS.values()) <= {*FUNCTIONS, *SUGAR}
    assert not set(BY_SQL_NAME) & {name for name in NODES if isinstance(name, str)}
    assert not set(SUGAR) & {name for name in NODES if isinstance(name, str)}


@pytest.mark.parametrize("unit", ["year", "quarter", "month", "day", "hour", "minute", "second"])
def test_date_diff_counts_as_duckdb(unit: str) -> None:
    import duckdb
    from row_cases import VALUES, in_duckdb

    kinds = (Kind.TIMESTAMP, Kind.TIMESTAMP)
    node = read(f"DATE_DIFF('{unit}', c0, c1)", {"c0": Kind.TIMESTAMP, "c1": Kind.TIMESTAMP})
    times = [time for time in VALUES[Kind.TIMESTAMP] if time is not None]
    rows = [(one, other) for one in times[::3] for other in times[::2]]
    statement = f"SELECT date_diff('{unit}', ?::TIMESTAMP, ?::TIMESTAMP)"
    expected = [duckdb.execute(statement, row).fetchall()[0] for row in rows]
    assert in_duckdb([node], kinds, rows) == expected


@pytest.mark.parametrize("field", sorted(FIELDS))
def test_other_names_of_fields(field: str) -> None:
    assert read(f"DATE_PART('{field}', ts)") == read(f"DATE_PART('{FIELDS[field]}', ts)")


REFUSED = {
    "RANDOM() < 0.5": ("random", "RANDOM()", "leave it out"),
    "ts < NOW()": ("clock", "NOW()", "write a constant"),
    "d < current_date": ("clock", "current_date", "write a constant"),
    "REPEAT(s, x)": ("growth", "REPEAT(s, x)", "SUBSTR(e, 1, 10)"),
    "LPAD(s, x, 'a')": ("growth", "LPAD(s, x, 'a')", "SUBSTR(e, 1, 10)"),
    "GETVARIABLE('a')": ("system-function", "GETVARIABLE('a')", "write the value itself"),
    "ERROR(s)": ("raises", "ERROR(s)", "THEN NULL"),
    "HASH(s)": ("hash", "HASH(s)", "write MD5(e)"),
    "UPPER(s)": ("engines-differ", "UPPER(s)", "REPLACE"),
    "JSON_EXTRACT(s, 'a')": ("list", "JSON_EXTRACT(s, 'a')", "declare the value as a column"),
    "FIRST(s)": ("one-record", "FIRST(s)", "AVG(e)"),
    "TIMEZONE('UTC', ts)": ("time-zone", "TIMEZONE('UTC', ts)", "AT TIME ZONE 'Europe/Paris'"),
    "MY_UDF(x)": ("unknown-function", "MY_UDF(x)", "the functions are"),
    "LENGHT(s)": ("unknown-function", "LENGHT(s)", "write LENGTH"),
    "COUNT(*)": ("unknown-function", "COUNT(*)", "write"),
    "s LIKE s": ("not-literal", "s", "write it in quotes"),
    "REGEXP_MATCHES(s, s)": ("not-literal", "s", "write LIKE"),
    "REGEXP_MATCHES(s, '(a|b)+')": ("argument", "'(a|b)+'", "in place of a repeated group"),
    "REGEXP_MATCHES(s, '(?i)a')": ("argument", "'(?i)a'", "in place of a repeated group"),
    "STRFTIME(ts, s)": ("not-literal", "s", "STRFTIME(ts, '%Y-%m')"),
    "STRFTIME(ts, '%c')": ("argument", "'%c'", "STRFTIME(ts, '%Y-%m')"),
    "STRPTIME(s, '%m-%d')": ("argument", "'%m-%d'", "STRPTIME(text, '%Y-%m-%d')"),
    "ts AT TIME ZONE s": ("not-literal", "s", "IANA name"),
    "ts AT TIME ZONE 'america/new_york'": ("argument", "'america/new_york'", "IANA name"),
    "ts AT TIME ZONE 'IST'": ("argument", "'IST'", "IANA name"),
    "SUBSTR(s, x, 2)": ("not-literal", "x", "whole number from 1"),
    "SUBSTR(s, -1)": ("argument", "-1", "whole number from 1"),
    "REPLACE(s, 'a', 'aaaa')": ("argument", "'aaaa'", "one character"),
    "CLAMP(y, x, 5)": ("not-literal", "x", "write a number"),
    "CLAMP(y, NULL, 5)": ("argument", "NULL", "write a number"),
    "CLAMP(x, 0, NULL)": ("argument", "NULL", "write a number"),
    "x + CLAMP(x, 5, 0)": ("clamp-ends", "CLAMP(x, 5, 0)", "swap them"),
    "CLAMP(y, 5, 0.5)": ("clamp-ends", "CLAMP(y, 5, 0.5)", "swap them"),
    "CLAMP(y, -0.5, -(2 + 3))": ("clamp-ends", "CLAMP(y, -0.5, -(2 + 3))", "swap them"),
    "CLAMP(3, 5, 0)": ("clamp-ends", "CLAMP(3, 5, 0)", "swap them"),
    "POW(y, x)": ("not-literal", "x", "write POW(e, 2)"),
    "ROUND(y, 20)": ("argument", "20", "write ROUND(e, 2)"),
    "EXTRACT(CENTURY FROM ts)": ("kinds", "EXTRACT(CENTURY FROM ts)", "EXTRACT(HOUR FROM ts)"),
    "CAST(y AS TEXT)": ("cast", "CAST(y AS TEXT)", "CAST(CAST(y AS BIGINT) AS TEXT)"),
    "CAST(ts AS TEXT)": ("cast", "CAST(ts AS TEXT)", "STRFTIME(ts, '%Y-%m-%d %H:%M:%S')"),
    "CAST(x AS DECIMAL(10, 2))": ("cast", "CAST(x AS DECIMAL(10, 2))", "write ROUND(e, 2)"),
    "CAST(ts AS TIMESTAMPTZ)": ("cast", "CAST(ts AS TIMESTAMPTZ)", "TIMESTAMP"),
    "DATE '2020-13-01'": ("literal", "DATE '2020-13-01'", "2020-12-31"),
    "x // 0.5": ("kinds", "x // 0.5", "FLOOR(a / b)"),
    "s + 1": ("kinds", "s + 1", "cast what is a text"),
    "ts - ts": ("kinds", "ts - ts", "DATE_DIFF('hour', a, b)"),
    "x = 'a'": ("kinds", "x = 'a'", "CAST(x AS DOUBLE)"),
    "x IN (SELECT 1)": ("row-subquery", "x IN (SELECT 1)", "list of values"),
    "(SELECT 1)": ("row-subquery", "(SELECT 1)", "list of values"),
    "x IN (x, 1)": ("kinds", "x IN (x, 1)", "write the values out"),
    "ROW_NUMBER() OVER ()": ("window", "ROW_NUMBER() OVER ()", "sub-query"),
    "s COLLATE NOCASE": ("collation", "s COLLATE NOCASE", "LOWER(e)"),
    "s SIMILAR TO 'a'": ("pattern", "s SIMILAR TO 'a'", "REGEXP_MATCHES"),
    "s GLOB 'a'": ("pattern", "s GLOB 'a'", "write LIKE"),
    "s LIKE 'a' ESCAPE '$'": ("pattern", "s LIKE 'a' ESCAPE '$'", "CONTAINS"),
    "ts + INTERVAL '1 month 2 days'": ("interval", "INTERVAL '1 month 2 days'", "INTERVAL 7 DAYS"),
    "INTERVAL 1 DAY": ("interval", "INTERVAL 1 DAY", "INTERVAL 7 DAYS"),
    "x & 1": ("row-construct", "x & 1", "arithmetic"),
    "[x]": ("list", "[x]", "declare the value"),
    "? + 1": ("parameter", "?", "write the value"),
    "IF(b)": ("argument-count", "IF(b)", "write IF(condition, e, f)"),
    "s ILIKE 'é%'": ("kinds", "s ILIKE 'é%'", "write LIKE for each way"),
    "CASE WHEN b THEN 1 ELSE s END": ("kinds", "CASE WHEN b THEN 1 ELSE s END", "cast its arguments"),
    "DATE_DIFF('week', ts, ts)": ("kinds", "DATE_DIFF('week', ts, ts)", "write one of them"),
    "TO_TIMESTAMP(x)": ("time-zone", "TO_TIMESTAMP(x)", "AT TIME ZONE"),
    "DAYNAME(ts)": ("names-of-days", "DAYNAME(ts)", "DAYOFWEEK(ts)"),
    "TO_DATE(s)": ("formats-differ", "TO_DATE(s)", "CAST(e AS DATE)"),
    "1e400": ("number", "1e400", "write a smaller one"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused_and_where(text: str) -> None:
    code, place, remedy = REFUSED[text]
    with pytest.raises(SqlError) as caught:
        read(text)
    error = caught.value
    assert error.code == code
    assert error.sql[error.start : error.end] == place
    assert remedy in error.remedy


def test_every_reason_is_tried() -> None:
    tried = {code for code, _, _ in REFUSED.values()}
    assert {reason.code for reason in NODES.values()} <= tried


def test_columns_stand_under_their_kinds() -> None:
    assert {column.kind for column in columns(read("CASE WHEN b AND x > y THEN s ELSE strftime(ts, '%Y') END"))} == (
        set(COLUMNS.values()) - {Kind.DATE}
    )


def test_a_quoted_name_is_a_column() -> None:
    assert str(read('"current_date"', {"current_date": Kind.DATE})) == '"t"."current_date"'


def test_a_part_that_is_not_known_is_refused() -> None:
    """``x NOT BETWEEN SYMMETRIC`` has a flag that is no part of the language."""
    with pytest.raises(SqlError) as caught:
        read("x BETWEEN SYMMETRIC 3 AND 1")
    assert caught.value.code == "row-construct"
