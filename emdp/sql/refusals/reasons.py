"""Constructs of SQL that the language refuses: for each a code, the reason, and what to write instead."""

from collections.abc import Mapping
from typing import NamedTuple

from sqlglot import exp

__all__ = ["ARGUMENTS", "DISTINCT_ON", "JOINS", "NODES", "SUBQUERY", "UNPIVOT", "Reason"]


class Reason(NamedTuple):
    """Why a construct is refused.

    Parameters
    ----------
    problem, remedy : str
        As in :class:`emdp.base.errors.SqlError`.
    """

    code: str
    problem: str
    remedy: str


WINDOW = Reason(
    "window",
    "a window compares records of several users, so one user's records change many values",
    "write GROUP BY, or a function of a single record",
)
SAMPLE = Reason(
    "sample",
    "sampling is no query of its own: a guarantee counts every record of every user",
    "leave it out, and spend a smaller alpha or epsilon for a coarser answer",
)
LATERAL = Reason(
    "lateral",
    "a lateral join runs once for every record",
    "write a JOIN with a declared public table, or an expression",
)
UNNEST = Reason(
    "unnest", "unnesting makes several records of one", "declare the items as records when the table is prepared"
)
PIVOT = Reason("pivot", "its columns would come from private values", "write GROUP BY, whose groups are public")
UNPIVOT = Reason("unpivot", "it makes several records of one", "write one aggregate a column")
DISTINCT_ON = Reason(
    "distinct-on",
    "DISTINCT ON picks one record of several by comparing private values",
    "write an aggregate, or GROUP BY over a categorical part",
)
SUBQUERY = Reason(
    "scalar-subquery",
    "a sub-query within an expression mixes the records of all users",
    "ask for it in a statement of its own, and write its answer as a number",
)
LIST = Reason("list", "lists are no part of the language", "write VECTOR[..] for a vector, (..) behind IN")
STRUCT = Reason("struct", "structs and maps are no part of the language", "write the values themselves")
SUBSCRIPT = Reason(
    "subscript", "an element of a list, map or text has no known range", "declare it as a column of the table"
)
JSON = Reason("json", "a value inside JSON has no known range", "declare it as a column of the table")
PATTERN = Reason(
    "pattern", "regular expressions and this kind of pattern are no part of the language", "list the values with IN"
)
BITS = Reason("bitwise", "operators on bits jump at every value", "write arithmetic that has a slope")
OPERATOR = Reason("operator", "this operator is no part of the language", "write arithmetic or one of its functions")
CAST_FORMAT = Reason(
    "cast-format",
    "FORMAT reads or writes a value as text, and texts have no distance here",
    "leave the cast out, and name a column of the space",
)
PARAMETER = Reason("parameter", "a parameter is filled in by no call", "write the value")
NULLS = Reason(
    "nulls",
    "NULL is settled before any aggregate, by the space's on_invalid rule",
    "leave it out, or choose records with WHERE",
)
SET_OPERATION = Reason(
    "set-operation",
    "a statement is one SELECT, since the same user may stand on both sides of a set operation",
    "write two statements, separated by ;",
)
GROUPING = Reason(
    "grouping-sets",
    "every set of groups is a query of its own, with its own share of the price",
    "write one statement for each set of groups",
)
QUANTIFIER = Reason("quantifier", "ANY and ALL mix the records of all users", "compare with a number, or write IN (..)")
INTERVAL = Reason("interval", "spans of time are no part of the language", "write numbers in the column's own unit")
NAMED_ARGUMENT = Reason("named-argument", "arguments have no names in this language", "write them in their order")

NODES: Mapping[type[exp.Expr], Reason] = {
    exp.Window: WINDOW,
    exp.WindowSpec: WINDOW,
    exp.TableSample: SAMPLE,
    exp.Lateral: LATERAL,
    exp.Unnest: UNNEST,
    exp.Explode: UNNEST,
    exp.Pivot: PIVOT,
    exp.Array: LIST,
    exp.Comprehension: LIST,
    exp.Struct: STRUCT,
    exp.Map: STRUCT,
    exp.ToMap: STRUCT,
    exp.Dot: Reason("struct", "fields and methods of a value are no part of the language", "write FUNCTION(value)"),
    exp.Bracket: SUBSCRIPT,
    exp.Slice: SUBSCRIPT,
    exp.JSONExtract: JSON,
    exp.JSONExtractScalar: JSON,
    exp.JSONBExtract: JSON,
    exp.JSONBExtractScalar: JSON,
    exp.RegexpLike: PATTERN,
    exp.RegexpILike: PATTERN,
    exp.RegexpFullMatch: PATTERN,
    exp.SimilarTo: PATTERN,
    exp.Glob: PATTERN,
    exp.StartsWith: PATTERN,
    exp.Escape: PATTERN,
    exp.BitwiseAnd: BITS,
    exp.BitwiseOr: BITS,
    exp.BitwiseXor: BITS,
    exp.BitwiseNot: BITS,
    exp.BitwiseLeftShift: BITS,
    exp.BitwiseRightShift: BITS,
    exp.Coalesce: Reason(
        "null-function",
        "?? handles NULL, and no item holds one: the space's on_invalid rule has replaced every invalid value",
        "leave it out",
    ),
    exp.Sqrt: OPERATOR,
    exp.Cbrt: OPERATOR,
    exp.Xor: OPERATOR,
    exp.DPipe: Reason("concatenation", "texts cannot be joined", "compare the columns one by one"),
    exp.Placeholder: PARAMETER,
    exp.Parameter: PARAMETER,
    exp.IgnoreNulls: NULLS,
    exp.RespectNulls: NULLS,
    exp.Union: SET_OPERATION,
    exp.Intersect: SET_OPERATION,
    exp.Except: SET_OPERATION,
    exp.Cube: GROUPING,
    exp.Rollup: GROUPING,
    exp.GroupingSets: GROUPING,
    exp.Any: QUANTIFIER,
    exp.All: QUANTIFIER,
    exp.Exists: Reason("exists", "EXISTS mixes the records of all users", "choose users by a public user column"),
    exp.Interval: INTERVAL,
    exp.Kwarg: NAMED_ARGUMENT,
    exp.PropertyEQ: NAMED_ARGUMENT,
    exp.Lambda: Reason(
        "lambda",
        "a lambda, or an arrow into JSON, has no known slope",
        "write the expression itself, over columns of the table",
    ),
    exp.Collate: Reason("collation", "collations differ from engine to engine", "compare with the values as they are"),
    exp.AtTimeZone: Reason(
        "time-zone",
        "a local time is a column of the space here, if its owner declares it",
        "write such a column in double quotes, as \"time(ts, 'Europe/Paris')\", or declare it",
    ),
    exp.Filter: Reason(
        "filter", "FILTER chooses records inside one aggregate", "write WHERE, or CASE WHEN .. THEN .. ELSE 0 END"
    ),
    exp.WithinGroup: Reason(
        "within-group", "aggregates over an order are no part of the language", "write QUANTILE(e, 0.5)"
    ),
    exp.HavingMax: Reason(
        "having", "HAVING inside an aggregate depends on private values", "choose records with WHERE"
    ),
    exp.Tuple: Reason(
        "row",
        "rows of values are no part of the language",
        "name the columns one by one, with AND as in a = 1 AND b = 2, or as in GROUP BY a, b",
    ),
    exp.Values: Reason("values", "a statement asks about a declared table", "give small public tables to the session"),
    exp.PositionalColumn: Reason("position", "columns have no numbers here", "name the column"),
    exp.Lock: Reason("lock", "nothing is changed that a lock could guard", "leave it out"),
    exp.Into: Reason("into", "an answer is stored by the caller", "leave INTO out"),
    exp.Having: Reason(
        "having",
        "HAVING drops groups by their private values; all groups of the public list are answered",
        "filter the answer, or choose records with WHERE",
    ),
    exp.Qualify: Reason("qualify", "QUALIFY filters by a window over records of several users", "choose with WHERE"),
    exp.Fetch: Reason("fetch", "FETCH is no part of the language", "write LIMIT 10"),
    exp.MatchRecognize: Reason("match", "patterns over records are no part of the language", "write an aggregate"),
    exp.Hint: Reason("hint", "hints to an optimiser are no part of the language", "leave the hint out"),
}
"""Refused wherever they stand."""

ARGUMENTS: Mapping[tuple[type[exp.Expr], str], Reason] = {
    (exp.Select, "distinct"): Reason(
        "distinct",
        "DISTINCT depends on which private values occur",
        "write GROUP BY over a categorical part, whose groups are public",
    ),
    (exp.Select, "windows"): WINDOW,
    (exp.Select, "sample"): SAMPLE,
    (exp.Select, "laterals"): LATERAL,
    (exp.Select, "kind"): Reason("struct", "SELECT AS STRUCT is no part of the language", "leave AS STRUCT out"),
    (exp.Select, "exclude"): Reason("star", "columns are named one by one", "name the columns"),
    (exp.With, "recursive"): Reason(
        "recursive", "a recursive query runs until the private records say stop", "write a plain WITH"
    ),
    (exp.CTE, "key_expressions"): Reason("using-key", "USING KEY belongs to recursive queries", "write a plain WITH"),
    (exp.CTE, "materialized"): Reason(
        "materialized", "how a sub-query is computed is the engine's affair", "leave MATERIALIZED out"
    ),
    (exp.TableAlias, "columns"): Reason(
        "column-aliases", "columns are renamed where they are selected", "write AS in the select list of the sub-query"
    ),
    (exp.Table, "db"): Reason(
        "qualified-table",
        "schemas and catalogs of the engine are out of reach",
        "write the name of a declared table alone",
    ),
    (exp.Table, "sample"): SAMPLE,
    (exp.Subquery, "sample"): SAMPLE,
    (exp.Table, "version"): Reason("version", "older versions of a table are out of reach", "leave the version out"),
    (exp.Column, "db"): Reason("qualified-column", "schemas of the engine are out of reach", "write table.column"),
    (exp.Group, "all"): Reason("group-by-all", "the columns to group by are named one by one", "name them"),
    (exp.Group, "cube"): GROUPING,
    (exp.Group, "rollup"): GROUPING,
    (exp.Group, "grouping_sets"): GROUPING,
    (exp.Limit, "limit_options"): Reason("limit", "LIMIT counts rows of the answer", "write a whole number of rows"),
    (exp.Limit, "expressions"): Reason("limit", "LIMIT BY is no part of the language", "write LIMIT 10"),
    (exp.Limit, "offset"): Reason("limit", "the offset has a clause of its own", "write LIMIT 10 OFFSET 5"),
    (exp.In, "query"): Reason(
        "in-subquery",
        "IN with a sub-query mixes the records of all users",
        "list the values, or JOIN a declared public table",
    ),
    (exp.In, "unnest"): UNNEST,
    (exp.In, "field"): LIST,
    (exp.Between, "symmetric"): Reason(
        "between", "BETWEEN SYMMETRIC is no part of the language", "write the lower bound first"
    ),
    (exp.Star, "except_"): Reason("star", "columns are named one by one", "name the columns"),
    (exp.Star, "replace"): Reason("star", "columns are named one by one", "name the columns"),
    (exp.Star, "rename"): Reason("star", "columns are named one by one", "name the columns"),
    (exp.Cast, "format"): CAST_FORMAT,
    (exp.TryCast, "format"): CAST_FORMAT,
}
"""Refused parts of constructs that are otherwise part of the language."""

JOINS: Mapping[str, Reason] = {
    "NATURAL": Reason(
        "natural-join", "a natural join depends on which columns the tables share", "write USING (column)"
    ),
    "ASOF": Reason("asof-join", "an as-of join picks one record by comparing many", "join on a user or category key"),
    "POSITIONAL": Reason("positional-join", "records have no order", "join on a user or category key"),
    "SEMI": Reason("semi-join", "semi joins choose records by whether others exist", "write JOIN .. USING (key)"),
    "ANTI": Reason("anti-join", "anti joins choose records by whether others exist", "write WHERE on the key"),
    "CROSS": Reason("cross-join", "a cross join repeats every record", "join a public table on a user or category key"),
    "RIGHT": Reason(
        "right-join", "a right join makes records of nobody", "write the private table first, then LEFT JOIN"
    ),
    "FULL": Reason("full-join", "a full join makes records of nobody", "write JOIN or LEFT JOIN"),
    "": Reason("join-condition", "a join without ON or USING repeats every record", "write JOIN .. USING (key)"),
}
"""Refused kinds of joins."""
