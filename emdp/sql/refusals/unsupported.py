"""Functions of DuckDB that this language refuses by name: why, and what to write instead."""

import re
from collections.abc import Mapping

from emdp.base.classes import dataclass
from emdp.questions.item_kinds import KINDS

__all__ = ["SHAPES", "UNSUPPORTED", "Unsupported", "aggregates"]


@dataclass(frozen=True)
class Unsupported:
    """A refusal."""

    code: str
    problem: str  # What is wrong, to stand after the function's name
    remedy: str  # What to write instead; `e` stands for the first argument

    def remedy_for(self, argument: str | None) -> str:
        """Return the remedy with the argument that was written in the place of a lone ``e``.

        >>> UNSUPPORTED["MEAN"].remedy_for("lat"), UNSUPPORTED["MIN"].remedy_for("lat")
        ('write AVG(lat)', 'write QUANTILE(lat, 0.05, 0.95)')
        """
        if argument is None or re.search(r"(?<![(])\be\b|\be\b(?![,)])", self.remedy):
            return self.remedy
        return re.sub(r"\be\b", lambda _: argument, self.remedy)


def aggregates() -> tuple[str, ...]:
    """Return the aggregates of the language, and ``WEIGHT`` around one.

    >>> aggregates()[0], aggregates()[-1]
    ('AVG', 'WEIGHT')
    """
    together = (name for kind in KINDS.values() for name in kind.sql)
    return (*together, "FREQUENCY", "MEASURE", "QUANTILE", "MEDIAN", "SHARES", "USER_MEAN", "WEIGHT")


SHAPES = ("POINT", "VECTOR", "GRID")
"""Words that are no function of a record by themselves."""

_JUMP = Unsupported(
    "jump-function",
    "jumps, so no noise could hide a small change of a record near the jump",
    "use its argument as it is, or a slope such as RAMP(e, a, b)",
)
_NULL = Unsupported(
    "null-function",
    "handles NULL, and no item holds one: the space's on_invalid rule has replaced every invalid value",
    "leave it out",
)
_CHOICE = Unsupported(
    "choice-function",
    "chooses by a condition, which jumps in a continuous value",
    "write CASE WHEN .. THEN .. ELSE .. END over a categorical column, or blend by a RAMP of a continuous one",
)
_RANDOM = Unsupported(
    "random",
    "is random, and randomness belongs to the mechanism alone",
    "leave it out; the answer's noise is drawn when the budget is charged",
)
_CLOCK = Unsupported(
    "clock",
    "changes from moment to moment, so that the same statement would not mean the same again",
    "write a constant",
)
_TEXT = Unsupported(
    "text-function",
    "works on texts, which have no distance here",
    "list the values of a categorical column, as in CASE column WHEN 'a' THEN 1 ELSE 0 END",
)
_DATE = Unsupported(
    "date-function",
    "works on timestamps, which only a declared component of the space may stand for",
    "write EXTRACT(HOUR FROM column) of a component that the space declares",
)
_LIST = Unsupported(
    "list-function",
    "works on lists, structures or JSON, which are no part of an item",
    "name a column of the item space",
)
_HASH = Unsupported(
    "hash", "jumps from every value to the next", "group by a categorical column, or join a public table"
)
_SYSTEM = Unsupported(
    "system-function",
    "reaches files, settings or the engine, and a statement sees its tables alone",
    "declare a public table, and join it",
)
_WINDOW = Unsupported(
    "window-function",
    "ranks records among each other, so that one record changes the value of all",
    "use an aggregate of an expression of one record, such as AVG(e) or QUANTILE(e, 0.5)",
)
_DISTANCE = Unsupported(
    "distance-function",
    "is not how distances are written here",
    "write DISTANCE, DOT or SIMILARITY of the space",
)
_QUANTILE = Unsupported(
    "quantile-function", "is not how quantiles are written here", "write QUANTILE(e, 0.5, 0.9) or MEDIAN(e)"
)
_EXTREME = Unsupported(
    "extreme", "is the value of one record, which no noise could hide", "write QUANTILE(e, 0.05, 0.95)"
)
_ONE_RECORD = Unsupported(
    "one-record", "gives out the value of one record", "write an aggregate of all, such as AVG(e) or QUANTILE(e, 0.5)"
)
_ALL_RECORDS = Unsupported(
    "all-records", "gives out the values of all records", "write FREQUENCY(column), or FREQUENCY of a GRID"
)
_APPROXIMATE = Unsupported(
    "all-records", "is not how different values are counted here", "write COUNT(DISTINCT e) under USER_PRIVACY"
)
_SAMPLE = Unsupported(
    "sample-variance",
    "estimates a population from a sample, while VARIANCE and STDDEV here are those of the population",
    "write VARIANCE(e) or STDDEV(e)",
)
_PAIRS = Unsupported(
    "two-columns",
    "relates two columns",
    "ask for AVG(x * y), AVG(x), AVG(y) and their squares, and compute it from them",
)
_SUM = Unsupported("sum-variant", "is not how sums are written here", "write SUM(e) or AVG(e)")
_MEAN = Unsupported("mean", "is not how means are written here", "write AVG(e)")
_LOGIC = Unsupported(
    "logic-aggregate", "counts conditions", "write SHARE() with the condition in WHERE, or AVG of a CASE"
)
_MOMENT = Unsupported(
    "moment", "is no aggregate of this language", "ask for AVG(e), AVG(e * e) and so on, and compute it from them"
)

_GONE = Unsupported("unknown-function", "is no function of this language", "use TANH, SIN, COS, EXP, LN or SQRT")

_REFUSED: tuple[tuple[Unsupported, str], ...] = (
    (
        _JUMP,
        """
        FLOOR CEIL CEILING ROUND ROUND_EVEN ROUNDBANKERS EVEN TRUNC SIGN SIGNBIT MOD FMOD FDIV GCD LCM
        FACTORIAL GAMMA LGAMMA BIT_COUNT XOR NEXTAFTER ISNAN ISINF ISFINITE
        """,
    ),
    (_NULL, "COALESCE IFNULL NULLIF NVL NVL2 ISNULL ERROR TRY"),
    (_CHOICE, "IF IIF DECODE CHOOSE"),
    (_RANDOM, "RANDOM RAND UUID GEN_RANDOM_UUID UUIDV4 UUIDV7 SETSEED NEXTVAL CURRVAL"),
    (
        _CLOCK,
        """
        NOW TODAY GET_CURRENT_TIME GET_CURRENT_TIMESTAMP TRANSACTION_TIMESTAMP CURRENT_DATE
        CURRENT_TIMESTAMP CURRENT_TIME CURRENT_LOCALTIME CURRENT_LOCALTIMESTAMP TXID_CURRENT
        """,
    ),
    (
        _TEXT,
        """
        LENGTH LEN STRLEN LOWER UPPER LCASE UCASE TRIM LTRIM RTRIM SUBSTR SUBSTRING LEFT RIGHT CONCAT
        CONCAT_WS REPLACE REVERSE REPEAT LPAD RPAD SPLIT SPLIT_PART STRING_SPLIT CONTAINS PREFIX SUFFIX
        STARTS_WITH ENDS_WITH POSITION STRPOS INSTR REGEXP_MATCHES REGEXP_REPLACE REGEXP_EXTRACT
        REGEXP_FULL_MATCH LIKE_ESCAPE LEVENSHTEIN DAMERAU_LEVENSHTEIN JACCARD JARO_SIMILARITY HAMMING ASCII
        CHR ORD UNICODE FORMAT PRINTF TO_BASE TRANSLATE INITCAP STRIP_ACCENTS NFC_NORMALIZE BAR SOUNDEX
        OVERLAY
        """,
    ),
    (
        _DATE,
        """
        DATE_TRUNC DATETRUNC DATE_PART DATEPART DATE_DIFF DATEDIFF DATE_SUB DATE_ADD AGE STRFTIME STRPTIME
        TIME_BUCKET MAKE_DATE MAKE_TIMESTAMP TO_TIMESTAMP EPOCH_MS EPOCH_US EPOCH_NS LAST_DAY DAYNAME
        MONTHNAME WEEKDAY DAYOFWEEK DAYOFMONTH DAYOFYEAR WEEKOFYEAR YEARWEEK SECOND MILLISECOND TO_DAYS
        """,
    ),
    (
        _LIST,
        """
        LIST_VALUE ARRAY_VALUE LIST_CONTAINS LIST_EXTRACT ELEMENT_AT MAP STRUCT_PACK STRUCT_EXTRACT ROW
        JSON_EXTRACT JSON_VALUE RANGE GENERATE_SERIES LIST_TRANSFORM LIST_FILTER LIST_REDUCE FLATTEN
        CARDINALITY
        """,
    ),
    (_HASH, "HASH MD5 SHA1 SHA256 CRC32 MURMURHASH"),
    (
        _SYSTEM,
        """
        READ_CSV READ_CSV_AUTO READ_PARQUET PARQUET_SCAN READ_JSON READ_TEXT READ_BLOB GLOB GETENV
        GETVARIABLE CURRENT_SETTING CURRENT_USER CURRENT_SCHEMA CURRENT_DATABASE VERSION PG_TYPEOF TYPEOF
        QUERY QUERY_TABLE SQLITE_SCAN POSTGRES_SCAN ICEBERG_SCAN DELTA_SCAN WRITE_LOG EVAL
        """,
    ),
    (
        _WINDOW,
        """
        ROW_NUMBER RANK DENSE_RANK PERCENT_RANK CUME_DIST NTILE LAG LEAD FIRST_VALUE LAST_VALUE NTH_VALUE
        FILL
        """,
    ),
    (
        _DISTANCE,
        """
        ST_DISTANCE ST_DISTANCE_SPHERE ST_DISTANCE_SPHEROID ST_POINT HAVERSINE LIST_DISTANCE ARRAY_DISTANCE
        ARRAY_COSINE_SIMILARITY ARRAY_COSINE_DISTANCE ARRAY_INNER_PRODUCT LIST_COSINE_SIMILARITY
        LIST_INNER_PRODUCT LIST_DOT_PRODUCT L2_DISTANCE DISTANCE_TO
        """,
    ),
    (
        _QUANTILE,
        """
        QUANTILE_CONT QUANTILE_DISC PERCENTILE_CONT PERCENTILE_DISC APPROX_QUANTILE PERCENTILE QUANTILES
        RESERVOIR_QUANTILE APPROX_PERCENTILE MAD
        """,
    ),
    (_EXTREME, "MIN MAX ARG_MIN ARG_MAX MIN_BY MAX_BY ARGMIN ARGMAX"),
    (_ONE_RECORD, "FIRST LAST ANY_VALUE ARBITRARY"),
    (
        _ALL_RECORDS,
        """
        LIST ARRAY_AGG STRING_AGG GROUP_CONCAT LISTAGG HISTOGRAM MODE HISTOGRAM_EXACT APPROX_TOP_K
        BITSTRING_AGG JSON_GROUP_ARRAY ENTROPY
        """,
    ),
    (_APPROXIMATE, "APPROX_COUNT_DISTINCT"),
    (_SAMPLE, "VAR_SAMP STDDEV_SAMP STD SEM"),
    (
        _PAIRS,
        """
        CORR COVAR_POP COVAR_SAMP REGR_SLOPE REGR_INTERCEPT REGR_R2 REGR_COUNT REGR_AVGX REGR_AVGY REGR_SXX
        REGR_SXY REGR_SYY
        """,
    ),
    (_SUM, "FSUM KAHAN_SUM SUMKAHAN SUM_NO_OVERFLOW WEIGHTED_AVG"),
    (_MEAN, "MEAN AVERAGE FAVG"),
    (_LOGIC, "COUNT_IF COUNTIF COUNT_STAR BOOL_AND BOOL_OR BIT_AND BIT_OR BIT_XOR"),
    (_MOMENT, "KURTOSIS KURTOSIS_POP SKEWNESS PRODUCT GEOMEAN GEOMETRIC_MEAN"),
    (_GONE, "ASIN ACOS ATAN2 ASINH ACOSH ATANH COT"),
)

UNSUPPORTED: Mapping[str, Unsupported] = {
    **{name: refused for refused, names in _REFUSED for name in names.split()},
    "LOG": Unsupported(
        "log", "is the logarithm to base 10 in DuckDB and the natural one elsewhere", "write LN(e), or LN(e) / LN(10)"
    ),
    "LOG10": Unsupported("log", "is no function of this language", "write LN(e) / LN(10)"),
    "LOG2": Unsupported("log", "is no function of this language", "write LN(e) / LN(2)"),
    "CBRT": Unsupported("unknown-function", "is no function of this language", "write POWER(e, 1.0 / 3) for e above 0"),
    "TAN": Unsupported("unknown-function", "has poles", "write SIN(e) / COS(e) where COS(e) stays away from 0"),
    "RADIANS": Unsupported("unknown-function", "is no function of this language", "write e * PI() / 180"),
    "DEGREES": Unsupported("unknown-function", "is no function of this language", "write e * 180 / PI()"),
    "SINH": Unsupported("unknown-function", "is no function of this language", "write (EXP(e) - EXP(-e)) / 2"),
    "COSH": Unsupported("unknown-function", "is no function of this language", "write (EXP(e) + EXP(-e)) / 2"),
}
"""By name, in capitals."""
