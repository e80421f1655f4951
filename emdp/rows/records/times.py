"""Dates and times in the years 1 to 9999, in UTC; what would lie outside is NULL.

For Spark a DATE is days and a TIMESTAMP microseconds since 1970, both BIGINT, as the sources of
:mod:`emdp.tables.engines.spark` give them: its own times depend on the session's zone. Fields follow from days by
Spark's functions of dates, which know no zone, and from microseconds by arithmetic. 1970 began on a Thursday.
"""

import datetime
from collections.abc import Mapping, Sequence

from emdp.base.frames import DAY_MICROSECONDS
from emdp.rows import rules
from emdp.rows.record import Form, Given, Range, RowFunction, Spelling
from emdp.rows.records.texts import END_OF_TEXT, spark_text
from emdp.rows.types import Kind, Value

__all__ = ["DATE_FORMS", "DATE_OF_TIME", "PARTS", "RECORDS", "YEAR", "civil", "days_of"]

DAY = str(DAY_MICROSECONDS)
FIRST_DAY, LAST_DAY = (datetime.date(*day).toordinal() - 719_163 for day in ((1, 1, 1), (9999, 12, 31)))
"""Days since 1970."""
MOST_STEPS: Mapping[str, int] = {
    "year": 9_999, "quarter": 40_000, "month": 120_000, "week": 530_000, "day": 3_700_000, "hour": 90_000_000,
    "minute": 2_000_000_000, "second": 2_000_000_000,
}  # fmt: skip
"""Units of an interval, each with how many reach across all years at most (or fit 32 bits)."""
UNIT_MICROSECONDS = {"second": 1_000_000, "minute": 60_000_000, "hour": 3_600_000_000, "day": DAY_MICROSECONDS}

DUCKDB_DAYS = ("DATE '0001-01-01'", "DATE '9999-12-31'")
DUCKDB_TIMES = ("TIMESTAMP '0001-01-01 00:00:00'", "TIMESTAMP '9999-12-31 23:59:59.999999'")


def days_of(time: str) -> str:
    """Return Spark's days of a time in microseconds."""
    return f"(({time} - pmod({time}, {DAY})) // {DAY})"


def civil(days: str) -> str:
    """Return Spark's date of days since 1970."""
    return f"date_from_unix_date(CAST({days} AS INT))"


_DAYS = days_of("emdp_1")
_DATE = civil(_DAYS)

PARTS: Mapping[str, tuple[str, int, int]] = {
    "year": (f"year({_DATE})", 1, 9999),
    "quarter": (f"quarter({_DATE})", 1, 4),
    "month": (f"month({_DATE})", 1, 12),
    "week": (f"weekofyear({_DATE})", 1, 53),
    "isoyear": (f"date_part('YEAROFWEEK', {_DATE})", 0, 9999),
    "day": (f"day({_DATE})", 1, 31),
    "dayofyear": (f"dayofyear({_DATE})", 1, 366),
    "dayofweek": (f"pmod({_DAYS} + 4, 7)", 0, 6),
    "isodow": (f"pmod({_DAYS} + 3, 7) + 1", 1, 7),
    "hour": (f"pmod(emdp_1, {DAY}) // 3600000000", 0, 23),
    "minute": ("pmod(emdp_1, 3600000000) // 60000000", 0, 59),
    "second": ("pmod(emdp_1, 60000000) // 1000000", 0, 59),
}
"""Fields of a time: Spark's spelling, least and largest value."""

TRUNCATED: Mapping[str, str] = {
    **{unit: f"CAST(unix_date(trunc({_DATE}, '{unit}')) AS BIGINT) * {DAY}" for unit in ("year", "quarter", "month")},
    "week": f"({_DAYS} - pmod({_DAYS} + 3, 7)) * {DAY}",
    **{unit: f"emdp_1 - pmod(emdp_1, {micros})" for unit, micros in UNIT_MICROSECONDS.items()},
}
"""Units that times are cut to: Spark's spelling."""

NAMES = {
    "%B": [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ],
    "%A": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
}
FIELDS: Mapping[str, tuple[str, int]] = {
    "%Y": ("year", 4), "%m": ("month", 2), "%d": ("day", 2), "%H": ("hour", 2), "%M": ("minute", 2),
    "%S": ("second", 2), "%j": ("dayofyear", 3), "%u": ("isodow", 1), "%w": ("dayofweek", 1),
}  # fmt: skip
"""Codes of formats: the field, and to how many digits it is filled up."""

YEAR = "(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9][0-9]|[1-9][0-9][0-9][0-9])"
"""Four digits that are no year 0."""
READ: Mapping[str, str] = {
    "%Y": f"({YEAR})", "%m": "([0-9]{1,2})", "%d": "([0-9]{1,2})",
    "%H": "([01]?[0-9]|2[0-3])", "%M": "([0-9]{1,2})", "%S": "([0-9]{1,2})",
}  # fmt: skip
"""Codes that texts are read by, in the order of an ISO time."""

SEPARATORS = frozenset(" -/:.,_T")


def _one_of(what: str, choices: Mapping[str, object], remedy: str) -> Given:
    def problem(value: Value) -> str | None:
        return None if value in choices else f"is none of {', '.join(choices)}"

    return Given(Kind.TEXT, what, problem, remedy, tuple(choices))


def _codes(text: str) -> list[str]:
    """Return the pieces of a format: codes such as ``%Y``, and single characters."""
    found, place = [], 0
    while place < len(text):
        size = 2 if text[place] == "%" else 1
        found.append(text[place : place + size])
        place += size
    return found


def _written_problem(value: Value) -> str | None:
    known = {*FIELDS, *NAMES, "%b", "%a"}
    is_good = isinstance(value, str) and 0 < len(value) <= 100 and all(
        piece in known or piece in SEPARATORS for piece in _codes(value)
    )  # fmt: skip
    return None if is_good else f"may hold {', '.join(sorted(known))}, spaces and the characters - / : . , _ T"


def _read_problem(value: Value) -> str | None:
    pieces = _codes(value) if isinstance(value, str) else []
    codes = [piece for piece in pieces if len(piece) == 2]
    is_good = (
        {"%Y", "%m", "%d"} <= set(codes)
        and len(codes) == len(set(codes))
        and all(piece in READ or piece in SEPARATORS for piece in pieces)
    )
    return None if is_good else f"must hold %Y, %m and %d, and may hold {', '.join(READ)} once each, and - / : . , _ T"


def _formatted(values: Sequence[Value]) -> str:
    pieces = []
    for piece in _codes(str(values[1])):
        time = "emdp_0"
        if piece in FIELDS:
            field, digits = FIELDS[piece]
            pieces.append(f"lpad(CAST({_field(field, time)} AS STRING), {digits}, '0')")
        elif piece in {"%B", "%b", "%A", "%a"}:
            names = NAMES[piece.upper()]
            shown = [name if piece.isupper() or piece[1].isupper() else name[:3] for name in names]
            field = _field("month" if piece.upper() == "%B" else "isodow", time)
            pieces.append(f"elt(CAST({field} AS INT), {', '.join(map(repr, shown))})")
        else:
            pieces.append(f"'{piece}'")
    return f"concat({', '.join(pieces)})"


def _field(name: str, time: str) -> str:
    return PARTS[name][0].replace("emdp_1", time)


def _parse(engine: str) -> Spelling:
    def spelling(values: Sequence[Value]) -> str:
        pieces = _codes(str(values[1]))
        pattern = "^" + "".join(READ.get(piece, "[.]" if piece == "." else piece) for piece in pieces) + "$"
        places = {code: index for index, code in enumerate((piece for piece in pieces if piece in READ), start=1)}
        mark = "\\" if engine == "duckdb" else "$"
        fields = [f"{mark}{places[code]}" if code in places else "00" for code in READ]
        text = "{}-{}-{} {}:{}:{}".format(*fields)
        if engine == "duckdb":
            chosen = f"CASE WHEN regexp_matches(emdp_0, '{pattern}') THEN emdp_0 END"
            return f"CAST(regexp_replace({chosen}, '{pattern}', '{text}') AS TIMESTAMP)"
        pattern = pattern.replace("$", END_OF_TEXT)
        chosen = f"CASE WHEN regexp_like(emdp_0, {spark_text(pattern)}) THEN emdp_0 END"
        replaced = f"regexp_replace({chosen}, {spark_text(pattern)}, {spark_text(text + 'Z')})"
        return f"unix_micros(TRY_CAST({replaced} AS TIMESTAMPTZ))"

    return spelling


def _added(values: Sequence[Value]) -> str:
    unit, count = str(values[1]), int(values[2] or 0)  # type: ignore[arg-type]
    shifted = f"emdp_0 + to_{unit}s(CAST({count} AS INTEGER))"
    return f"CASE WHEN {shifted} BETWEEN {DUCKDB_TIMES[0]} AND {DUCKDB_TIMES[1]} THEN {shifted} END"


def _added_spark(values: Sequence[Value]) -> str:
    unit, count = str(values[1]), int(values[2] or 0)  # type: ignore[arg-type]
    months = {"year": 12, "quarter": 3, "month": 1}.get(unit)
    if months is None:
        size = UNIT_MICROSECONDS[unit] if unit != "week" else 7 * DAY_MICROSECONDS
        shifted = f"emdp_0 + {_number(count * size)}"
    else:
        date = civil(days_of("emdp_0"))
        moved = f"add_months({date}, {_number(count * months)})"
        shifted = f"CAST(unix_date({moved}) AS BIGINT) * {DAY} + pmod(emdp_0, {DAY})"
    low, high = FIRST_DAY * DAY_MICROSECONDS, (LAST_DAY + 1) * DAY_MICROSECONDS - 1
    return f"CASE WHEN {shifted} BETWEEN {_number(low)} AND {_number(high)} THEN {shifted} END"


def _number(value: int) -> str:
    return f"({value})" if value < 0 else str(value)


def _steps_problem(value: Value) -> str | None:
    is_good = isinstance(value, int) and abs(value) <= MOST_STEPS["year"]
    return None if is_good else "is no whole number of at most 9999 in size"


def _moved(sign: str) -> tuple[str, str]:
    """Return spellings of a date with days added or taken off."""
    ends = (f"{DUCKDB_DAYS[0]} - {{0}}", f"{DUCKDB_DAYS[1]} - {{0}}")
    spark_ends = (f"{_number(FIRST_DAY)} - {{0}}", f"{LAST_DAY} - {{0}}")
    if sign == "-":
        ends = ("{0} - " + DUCKDB_DAYS[1], "{0} - " + DUCKDB_DAYS[0])
        spark_ends = (f"{{0}} - {LAST_DAY}", f"{{0}} - {_number(FIRST_DAY)}")
    step = "TRY(CAST({1} AS INTEGER))"
    duckdb = f"CASE WHEN {{1}} BETWEEN {ends[0]} AND {ends[1]} THEN TRY({{0}} {sign} {step}) END"
    function = "try_add" if sign == "+" else "try_subtract"
    spark = f"CASE WHEN {{1}} BETWEEN {spark_ends[0]} AND {spark_ends[1]} THEN {function}({{0}}, {{1}}) END"
    return duckdb, spark


def _span(ranges: Sequence[Range | None], values: Sequence[Value]) -> Range | None:
    return float(FIRST_DAY - LAST_DAY), float(LAST_DAY - FIRST_DAY)


def _part_range(ranges: Sequence[Range | None], values: Sequence[Value]) -> Range:
    _, low, high = PARTS[str(values[0])]
    return float(low), float(high)


def _part_values(values: Sequence[Value]) -> tuple[Value, ...] | None:
    _, low, high = PARTS[str(values[0])]
    return tuple(range(low, high + 1)) if high <= 366 else None


DATE_FORMS: Mapping[str, tuple[Form, ...]] = {
    "add": (Form((Kind.DATE, Kind.BIGINT), Kind.DATE, *_moved("+")),),
    "subtract": (
        Form((Kind.DATE, Kind.BIGINT), Kind.DATE, *_moved("-")),
        Form((Kind.DATE, Kind.DATE), Kind.BIGINT, "{0} - {1}", "{0} - {1}", range_rule=_span),
    ),
}
"""Forms of ``+`` and ``-`` that take dates and days."""

DATE_OF_TIME = Form((Kind.TIMESTAMP,), Kind.DATE, "CAST({0} AS DATE)", days_of("{0}"))

_Y, _M, _D = ("CAST(CASE WHEN {0} BETWEEN 1 AND 9999 THEN {0} END AS INT)",
              "CAST(CASE WHEN {1} BETWEEN 1 AND 12 THEN {1} END AS INT)", "{2}")  # fmt: skip
_FIRST_OF_MONTH = f"make_date({_Y}, {_M}, 1)"


RECORDS = (
    RowFunction(
        "date_part",
        (
            Form((_one_of("a field", PARTS, "write EXTRACT(HOUR FROM ts)"), Kind.TIMESTAMP), Kind.BIGINT,
                 lambda values: f"date_part('{values[0]}', emdp_1)",
                 lambda values: f"CAST({PARTS[str(values[0])][0]} AS BIGINT)",
                 range_rule=_part_range, values=_part_values),
        ),
        names=("datepart",),
    ),
    RowFunction(
        "date_trunc",
        (
            Form((_one_of("a unit", TRUNCATED, "write DATE_TRUNC('month', ts)"), Kind.TIMESTAMP), Kind.TIMESTAMP,
                 lambda values: f"date_trunc('{values[0]}', emdp_1)", lambda values: TRUNCATED[str(values[0])]),
        ),
        names=("datetrunc",),
    ),
    RowFunction(
        "add_interval",
        (
            Form((Kind.TIMESTAMP, _one_of("a unit", MOST_STEPS, "write INTERVAL 1 MONTH"),
                  Given(Kind.BIGINT, "a number of units", _steps_problem, "write INTERVAL 1 MONTH", (1, -13, 9999))),
                 Kind.TIMESTAMP, _added, _added_spark),
        ),
    ),
    RowFunction(
        "epoch",
        (Form((Kind.TIMESTAMP,), Kind.DOUBLE, "epoch({0})", "CAST({0} AS DOUBLE) / CAST(1000000 AS DOUBLE)",
              range_rule=rules.constant(-6.3e10, 2.6e11)),),
    ),
    RowFunction(
        "make_date",
        (
            Form((Kind.BIGINT,) * 3, Kind.DATE,
                 "CASE WHEN {0} BETWEEN 1 AND 9999 THEN TRY(make_date({0}, {1}, {2})) END",
                 f"CASE WHEN {_D} BETWEEN 1 AND day(last_day({_FIRST_OF_MONTH})) "
                 f"THEN CAST(unix_date({_FIRST_OF_MONTH}) AS BIGINT) + {_D} - 1 END"),
        ),
    ),
    RowFunction(
        "strftime",
        (
            Form((Kind.TIMESTAMP, Given(Kind.TEXT, "a format", _written_problem, "write STRFTIME(ts, '%Y-%m')",
                                        ("%Y-%m-%d %H:%M:%S", "%b %B %a %A", "%j/%u/%w"))),
                 Kind.TEXT, "strftime({0}, {1})", _formatted),
        ),
    ),
    RowFunction(
        "strptime",
        (
            Form((Kind.TEXT, Given(Kind.TEXT, "a format", _read_problem, "write STRPTIME(text, '%Y-%m-%d')",
                                   ("%Y-%m-%d", "%d/%m/%Y %H:%M", "%Y.%m.%dT%H:%M:%S"))),
                 Kind.TIMESTAMP, _parse("duckdb"), _parse("spark"), raises=True),
        ),
        names=("try_strptime",),
    ),
)  # fmt: skip
