"""Functions of SQL around private rows, over public tables and noisy answers: a list, and nothing else is reached."""

from sqlglot import exp

from emdp.sql.context import Context, near

__all__ = ["check_functions"]

AGGREGATES = """
    COUNT SUM AVG MEAN MIN MAX MEDIAN MODE VARIANCE VAR_POP VAR_SAMP STDDEV STDDEV_POP STDDEV_SAMP QUANTILE
    QUANTILE_CONT QUANTILE_DISC BOOL_AND BOOL_OR ANY_VALUE FIRST LAST ARG_MIN ARG_MAX MIN_BY MAX_BY STRING_AGG CORR
    COVAR_POP COVAR_SAMP REGR_SLOPE REGR_INTERCEPT REGR_R2 ENTROPY KURTOSIS SKEWNESS COUNT_IF PRODUCT
    APPROX_COUNT_DISTINCT
"""
WINDOWS = "ROW_NUMBER RANK DENSE_RANK PERCENT_RANK CUME_DIST NTILE LAG LEAD FIRST_VALUE LAST_VALUE NTH_VALUE"
NUMBERS = """
    ABS SIGN FLOOR CEIL CEILING ROUND TRUNC MOD FMOD POWER POW EXP LN LOG LOG2 LOG10 SQRT CBRT SIN COS TAN ASIN ACOS
    ATAN ATAN2 SINH COSH TANH RADIANS DEGREES PI GREATEST LEAST ISNAN ISINF ISFINITE GCD LCM
"""
TEXTS = """
    LENGTH LEN STRLEN LOWER UPPER LCASE UCASE TRIM LTRIM RTRIM SUBSTR SUBSTRING LEFT RIGHT CONCAT CONCAT_WS REPLACE
    REVERSE SPLIT_PART CONTAINS PREFIX SUFFIX STARTS_WITH ENDS_WITH POSITION STRPOS INSTR REGEXP_MATCHES
    REGEXP_REPLACE REGEXP_EXTRACT REGEXP_FULL_MATCH LEVENSHTEIN ASCII CHR MD5
"""
TIMES = """
    DATE_TRUNC DATE_PART DATE_DIFF DATEDIFF DATE_ADD DATE_SUB STRFTIME STRPTIME TRY_STRPTIME MAKE_DATE MAKE_TIMESTAMP
    EPOCH EPOCH_MS LAST_DAY DAYNAME MONTHNAME YEAR QUARTER MONTH WEEK WEEKDAY DAY DAYOFWEEK DAYOFMONTH DAYOFYEAR HOUR
    MINUTE SECOND TO_DAYS TO_MONTHS TO_YEARS TO_HOURS TO_MINUTES TO_SECONDS DATE
"""
CHOICES = "COALESCE IFNULL NULLIF IF"

ALLOWED = frozenset(" ".join((AGGREGATES, WINDOWS, NUMBERS, TEXTS, TIMES, CHOICES)).split())
"""Names of DuckDB's functions: of their arguments alone."""

WORDS = frozenset(
    (
        "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "CURRENT_USER",
        "SESSION_USER", "USER", "CURRENT_ROLE", "CURRENT_SCHEMA", "CURRENT_CATALOG",
    )
)  # fmt: skip
"""Functions that DuckDB writes like columns."""


def check_functions(context: Context, tree: exp.Expr) -> None:
    """Refuse a function that is none of the list."""
    for node in tree.find_all(exp.Anonymous):
        name = node.name.upper()
        if name not in ALLOWED:
            alike = near(name, sorted(ALLOWED))
            raise context.refusal(
                node,
                f"{name} is no function of what stands around private rows",
                remedy=f"write {' or '.join(alike)}"
                if alike
                else "write another one, such as GREATEST(LEAST(e, 1), 0)",
                code="around-function",
            )
    for column in tree.find_all(exp.Column):
        quoted = isinstance(column.this, exp.Identifier) and column.this.args.get("quoted")
        if not quoted and not column.table and column.name.upper() in WORDS:
            raise context.refusal(
                column,
                f"{column.name} is a function of the engine, not a column",
                remedy="write a constant, or the column's name in double quotes",
                code="around-function",
            )
