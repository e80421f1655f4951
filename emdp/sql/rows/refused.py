"""Constructs and functions that row expressions refuse: for each the reason, and what to write instead."""

from collections.abc import Mapping
from types import MappingProxyType

from sqlglot import exp

from emdp.rows.functions import FUNCTIONS
from emdp.rows.types import Kind
from emdp.sql.refusals.reasons import Reason

__all__ = ["NODES", "UNKNOWN", "remedy_of"]

UNKNOWN = Reason(
    "row-construct",
    "this is no part of what is computed of a row",
    "write comparisons, arithmetic, CASE, CAST and functions",
)
_SUBQUERY = Reason(
    "row-subquery", "a sub-query looks at the rows of others", "write a list of values, or join a public table"
)
_WINDOW = Reason("window", "a window looks at other rows", "aggregate in a sub-query GROUP BY the user")
_RANDOM = Reason(
    "random",
    "is random, and randomness belongs to the mechanism alone",
    "leave it out; the answer's noise is drawn when the budget is charged",
)
_CLOCK = Reason(
    "clock",
    "changes from moment to moment, so that the same statement would not mean the same again",
    "write a constant, such as TIMESTAMP '2026-01-31 00:00:00'",
)
_SETTING = Reason(
    "system-function", "reads settings or files, and not the row", "write the value itself, or join a public table"
)
_GROWTH = Reason(
    "growth",
    "makes something whose size a row chooses, so that one row could make the statement run for ever",
    "write the text out, or SUBSTR(e, 1, 10)",
)
_LIST = Reason("list", "works on lists, structures or JSON", "declare the value as a column of the table")
_LIST_NODE = Reason("list", "lists, structures and JSON are no values of a row here", _LIST.remedy)
_RAISES = Reason("raises", "stops the statement for a value of one row", "write CASE WHEN .. THEN NULL ELSE e END")
_HASH = Reason("hash", "differs among engines and versions", "write MD5(e)")
_APART = Reason(
    "engines-differ",
    "gives other results in DuckDB than in Spark",
    "write REPLACE(e, 'é', 'e') for the letters that matter, or LIKE",
)
_PATTERN = Reason(
    "engines-differ",
    "gives other results in DuckDB than in Spark",
    "write SPLIT_PART(e, '/', 3) for a part of a text, or REGEXP_MATCHES(e, '^a') for a test",
)
_ORDER = Reason("one-record", "looks at several rows", "write an aggregate such as AVG(e)")
_CAST_TIME = Reason(
    "time-zone", "depends on the zone of a session", "write ts AT TIME ZONE 'Europe/Paris', with the zone written out"
)
_DAYS = Reason("names-of-days", "is a word of one language", "write DAYOFWEEK(ts), 0 on Sunday, or MONTH(ts)")
_FORMATTED = Reason(
    "formats-differ", "has other formats in every system", "write STRFTIME(ts, '%Y-%m'), or CAST(e AS DATE) to read one"
)

_NAMES: tuple[tuple[Reason, str], ...] = (
    (_RANDOM, "random rand uuid gen_random_uuid uuidv4 uuidv7 setseed nextval currval shuffle"),
    (
        _CLOCK,
        "now today current_date current_time current_timestamp get_current_timestamp transaction_timestamp "
        "localtimestamp localtime age txid_current",
    ),
    (
        _SETTING,
        "getvariable current_setting getenv current_user current_database current_schema version read_text read_blob "
        "sleep_ms write_log pg_typeof typeof query query_table",
    ),
    (
        _GROWTH,
        "repeat range generate_series lpad rpad list_resize array_resize bar string_split str_split split "
        "regexp_split_to_array regexp_extract_all permutations combinations",
    ),
    (
        _LIST,
        "list_value list_contains array_length len_list json_extract json_extract_string json_value struct_pack "
        "map_extract unnest list_transform array_agg list",
    ),
    (_RAISES, "error raise assert constant_or_null checked_cast"),
    (_HASH, "hash xxhash64 sha256 crc32 md5_number"),
    (
        _APART,
        "strip_accents reverse translate levenshtein jaccard printf format ascii chr "
        "unicode upper ucase initcap nfc_normalize soundex gamma lgamma even factorial",
    ),
    (_PATTERN, "regexp_replace regexp_extract"),
    (_ORDER, "row_number rank lag lead first last any_value arg_min arg_max string_agg mode"),
    (_DAYS, "dayname monthname"),
    (
        _FORMATTED,
        "to_char format_date format_datetime format_timestamp date_format to_date parse_date parse_timestamp "
        "parse_datetime",
    ),
    (_CAST_TIME, "timezone to_timestamp make_timestamptz strftime_tz"),
)

NODES: Mapping[type[exp.Expr] | str, Reason] = MappingProxyType(
    {
        exp.Subquery: _SUBQUERY,
        exp.Select: _SUBQUERY,
        exp.Exists: _SUBQUERY,
        exp.Any: _SUBQUERY,
        exp.Window: _WINDOW,
        exp.SimilarTo: Reason("pattern", "SIMILAR TO is another kind of pattern", "write REGEXP_MATCHES(e, '^a')"),
        exp.Glob: Reason("pattern", "GLOB is another kind of pattern", "write LIKE"),
        exp.Escape: Reason("pattern", "ESCAPE is not known to both engines", "write CONTAINS(e, '%')"),
        exp.Collate: Reason("collation", "a collation makes unlike texts equal", "write LOWER(e)"),
        exp.Bracket: _LIST_NODE,
        exp.Array: _LIST_NODE,
        exp.Struct: _LIST_NODE,
        exp.JSONExtract: _LIST_NODE,
        exp.JSONExtractScalar: _LIST_NODE,
        exp.Dot: _LIST_NODE,
        exp.Lambda: _LIST_NODE,
        exp.Interval: Reason("interval", "an interval is no value", "write ts + INTERVAL 7 DAYS"),
        exp.Placeholder: Reason("parameter", "a parameter is filled in by no call", "write the value"),
        **{name: reason for reason, names in _NAMES for name in names.split()},
    }
)
"""By class of node, and by name of function in lower case; problems of functions stand behind the name."""

_REMEDIES: Mapping[str, str] = {
    "DOUBLE-TEXT": "write CAST(CAST({} AS BIGINT) AS TEXT), or CASE over its ranges",
    "TIMESTAMP-TEXT": "write STRFTIME({}, '%Y-%m-%d %H:%M:%S')",
    "TEXT-BOOLEAN": "write ({}) = 'true'",
    "DOUBLE-BOOLEAN": "write ({}) <> 0",
    "BOOLEAN-DOUBLE": "write CAST(CAST({} AS BIGINT) AS DOUBLE)",
    "TIMESTAMP-BIGINT": "write EPOCH({})",
    "DATE-BIGINT": "write {} - DATE '1970-01-01'",
    "divide_whole": "write FLOOR(a / b) for numbers with a fraction",
    "add": "add numbers, days to a date, or an INTERVAL to a time; cast what is a text",
    "subtract": "subtract numbers, days, or an INTERVAL; DATE_DIFF('hour', a, b) counts between times",
    "pow": "write POW(e, 2) with the exponent written out, or EXP(p * LN(e))",
    "in": "write the values out, all of the kind of what stands before IN",
}


def remedy_of(name: str, text: str, *, own: str = "", argument: str = "e") -> str:
    """Return what to write in place of what does not fit, with the text that was written, or else the function's own
    remedy.

    >>> remedy_of("DOUBLE-BOOLEAN", "x"), remedy_of("like", "x LIKE y", own="cast them")
    ('write (x) <> 0', 'cast its arguments, as in CAST(e AS TEXT)')
    >>> remedy_of("date_trunc", "DATE_TRUNC('month', when)", own="cast them", argument="when")
    'cast its arguments, as in CAST(when AS TIMESTAMP)'
    """
    found = _REMEDIES.get(name) or (_casted(name, argument) if own in {"", "cast them"} else own)
    return found.replace("{}", text)


def _casted(name: str, argument: str) -> str:
    forms = FUNCTIONS[name].forms if name in FUNCTIONS else ()
    taken = [kind for form in forms for kind in form.arguments if isinstance(kind, Kind)] or [Kind.DOUBLE]
    # A number where it may be anything, and a time where a day would do: texts of days are read as times too.
    kind = next((own for own in (Kind.DOUBLE, Kind.TIMESTAMP) if own in taken), taken[0])
    return f"cast its arguments, as in CAST({argument} AS {kind.value})"
