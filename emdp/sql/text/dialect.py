"""sqlglot's DuckDB made literal: every call stays a call with its name and arguments, every tree gives back its text.

What the stock dialect changes on the way through (functions it knows, default precisions, ``x::T``, ``NOT IN``) keeps
its written form here, since :mod:`emdp.sql.text.giveback` refuses whatever does not come back.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp, generator
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ErrorLevel, ParseError
from sqlglot.generators.duckdb import DuckDBGenerator
from sqlglot.parser import SENTINEL_NONE
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import Token, TokenType

__all__ = ["SQLGLOT_FAULTS", "UnexpectedTokenError", "marked_text", "parse_tokens", "tokenise"]

SQLGLOT_FAULTS = (
    ParseError,
    RecursionError,
    AttributeError,
    TypeError,
    ValueError,
    KeyError,
    IndexError,
    AssertionError,
    NotImplementedError,
)
"""What sqlglot raises on odd input: its own error, and slips of its code, all of which mean that it has no tree."""

MARK = "emdp_mark"
"""Key in ``meta`` of a node under which its number stands while its text is generated."""

BEGIN, NUMBERED, FINISH = "\x02", "\x03", "\x04"
"""Around the text of a marked node: BEGIN, the number, NUMBERED, the text, FINISH. No text holds these characters."""

_WRITTEN = "emdp_written"
"""Key in ``meta`` of a node that can be written in several ways."""


class UnexpectedTokenError(ParseError):
    """A token does not fit; ``token`` is None at the end of the statement."""

    token: Token | None = None


def tokenise(text: str) -> list[Token]:
    """Return sqlglot's tokens of a text.

    >>> [token.text for token in tokenise("AVG(x)")]
    ['AVG', '(', 'x', ')']
    """
    return _DIALECT.tokenize(text)


def parse_tokens(tokens: list[Token], text: str) -> list[exp.Expr | None]:
    """Return the trees of tokens of a text.

    Raises
    ------
    SQLGLOT_FAULTS
        If there is none.
    """
    trees = _DIALECT.parser(error_level=ErrorLevel.IMMEDIATE).parse(tokens, text)
    for cte in [cte for tree in trees if tree is not None for cte in tree.find_all(exp.CTE)]:
        _unwrap_values(cte)
    return trees


def marked_text(tree: exp.Expr) -> str:
    """Return the text of a tree, in which the text of every node with a number stands between marks.

    >>> column = exp.column("x")
    >>> column.meta["emdp_mark"] = 7
    >>> marked_text(column)
    '\\x027\\x03x\\x04'
    """
    return _DIALECT.generate(
        tree, comments=False, normalize_functions=False, unsupported_level=ErrorLevel.IGNORE, identify=False
    )


def _unwrap_values(cte: exp.CTE) -> None:
    """Write ``WITH k AS (VALUES ..)`` as it was written: the parser makes a SELECT of it."""
    select = cte.this
    source = select.args["from_"].this if isinstance(select, exp.Select) and select.args.get("from_") else None
    if isinstance(source, exp.Values) and source.alias == "_values" and not source.alias_column_names:
        source.set("alias", None)
        select.replace(source)


_FLAGS_OF_ORDER = {"True": " DESC", "False": " ASC"}
_FLAGS_OF_BETWEEN = {"True": " SYMMETRIC", "False": " ASYMMETRIC"}
"""Words of ``desc`` and ``symmetric``, which are None where neither was written."""


def _typed_literal(parser: Any, this: exp.Expr, data_type: exp.DataType) -> exp.Expr:
    cast: exp.Expr = parser.expression(exp.Cast(this=this, to=data_type))
    cast.meta[_WRITTEN] = "literal"
    return cast


def _substring(parser: Any) -> exp.Anonymous:
    """Read ``SUBSTRING(x FROM 1 FOR 2)`` as ``SUBSTRING(x, 1, 2)``."""
    arguments = parser._parse_csv(lambda: parser._parse_lambda(alias=False))
    if len(arguments) == 1 and parser._match(TokenType.FROM):
        arguments.append(parser._parse_bitwise())
        if parser._match(TokenType.FOR):
            arguments.append(parser._parse_bitwise())
    return exp.Anonymous(this="SUBSTRING", expressions=arguments)


def _colons(parser: Any, this: exp.Expr, data_type: exp.DataType) -> exp.Expr:
    cast: exp.Expr = parser.expression(exp.Cast(this=this, to=data_type))
    cast.meta[_WRITTEN] = "colons"
    return cast


class EmdpDialect(DuckDB):
    """DuckDB's syntax, of which nothing is rewritten."""

    # The stock version counts x[1] from 0, and logs it.
    INDEX_OFFSET = 0

    # The stock version writes DOW as DAYOFWEEK.
    DATE_PART_MAPPING: dict[str, str] = {}  # noqa: RUF012

    def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
        """Return a path as it is; the stock version rewrites it and logs what it cannot read."""
        return path

    class Tokenizer(DuckDB.Tokenizer):
        COMMANDS: ClassVar[set[TokenType]] = set()

    class Parser(DuckDBParser):
        FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
            **{name: DuckDBParser.FUNCTION_PARSERS[name] for name in ("CAST", "TRY_CAST", "EXTRACT")},
            "SUBSTRING": _substring,
        }
        NO_PAREN_FUNCTIONS: ClassVar[dict[TokenType, Any]] = {}
        NO_PAREN_FUNCTION_PARSERS = {  # noqa: RUF012
            name: DuckDBParser.NO_PAREN_FUNCTION_PARSERS[name] for name in ("CASE", "ANY")
        }
        STATEMENT_PARSERS: ClassVar[dict[TokenType, Any]] = {}
        TYPE_CONVERTERS: ClassVar[dict[Any, Any]] = {}
        TYPE_LITERAL_PARSERS = dict.fromkeys(exp.DType, _typed_literal)
        COLUMN_OPERATORS = {**DuckDBParser.COLUMN_OPERATORS, TokenType.DCOLON: _colons}  # noqa: RUF012

        def raise_error(self, message: str, token: Token = SENTINEL_NONE) -> None:
            """Raise at once, and say where."""
            error = UnexpectedTokenError(message)
            error.token = token or self._curr or None
            raise error

        def _warn_unsupported(self) -> None:
            self.raise_error("No such statement")

        def _negate_range(self, this: exp.Expr | None = None) -> exp.Expr | None:
            return _negated(super()._negate_range(this))

        def _parse_is(self, this: exp.Expr | None) -> exp.Expr | None:
            return _negated(super()._parse_is(this))

    class Generator(DuckDBGenerator):
        LOCKING_READS_SUPPORTED = True
        SUPPORTS_SELECT_INTO = True
        SUPPORTS_BETWEEN_FLAGS = True
        LIMIT_FETCH = "ALL"
        MULTI_ARG_DISTINCT = True
        RESERVED_KEYWORDS: ClassVar[set[str]] = set()
        TRANSFORMS = {  # noqa: RUF012
            name: transform
            for name, transform in DuckDBGenerator.TRANSFORMS.items()
            if name not in (exp.Select, exp.Pow)
        }
        join_sql = generator.Generator.join_sql
        lambda_sql = generator.Generator.lambda_sql
        ignorenulls_sql = generator.Generator.ignorenulls_sql
        respectnulls_sql = generator.Generator.respectnulls_sql

        def sql(self, expression: str | exp.Expr | None, key: str | None = None, comment: bool = True) -> str:
            """Return the text of a node, between marks where it has a number."""
            text = super().sql(expression, key, comment)
            if key or not text or not isinstance(expression, exp.Expr):
                return text
            number = expression.meta.get(MARK)
            return text if number is None else f"{BEGIN}{number}{NUMBERED}{text}{FINISH}"

        def withingroup_sql(self, expression: exp.WithinGroup) -> str:
            """``f(a) WITHIN GROUP (ORDER BY b)``."""
            return f"{self.sql(expression, 'this')} WITHIN GROUP ({self.sql(expression, 'expression')})"

        def pow_sql(self, expression: exp.Pow) -> str:
            """``a ** b``."""
            return self.binary(expression, "**")

        def neg_sql(self, expression: exp.Neg) -> str:
            """``- a``, with a space, since two signs would begin a comment."""
            return f"- {self.sql(expression, 'this')}"

        def not_sql(self, expression: exp.Not) -> str:
            """``NOT a``, or ``a NOT IN b`` where it was written so."""
            return self.sql(expression, "this") if expression.meta.get(_WRITTEN) else super().not_sql(expression)

        def in_sql(self, expression: exp.In) -> str:
            """``a IN (b, c)``."""
            query = expression.args.get("query")
            if query is not None and not (expression.args.get("unnest") or expression.args.get("field")):
                return f"{self.sql(expression, 'this')}{_not(expression)} IN {self.sql(query)}"
            if expression.args.get("unnest") or expression.args.get("field"):
                return super().in_sql(expression)
            return f"{self.sql(expression, 'this')}{_not(expression)} IN ({self.expressions(expression, flat=True)})"

        def between_sql(self, expression: exp.Between) -> str:
            """``a BETWEEN b AND c``."""
            this, low, high = (self.sql(expression, key) for key in ("this", "low", "high"))
            flag = _FLAGS_OF_BETWEEN.get(str(expression.args.get("symmetric")), "")
            return f"{this}{_not(expression)} BETWEEN{flag} {low} AND {high}"

        def is_sql(self, expression: exp.Is) -> str:
            """``a IS NULL``."""
            return f"{self.sql(expression, 'this')} IS{_not(expression)} {self.sql(expression, 'expression')}"

        def ordered_sql(self, expression: exp.Ordered) -> str:
            """``a DESC NULLS FIRST``."""
            order = _FLAGS_OF_ORDER.get(str(expression.args.get("desc")), "")
            nulls = " NULLS FIRST" if expression.args.get("nulls_first") else ""
            return f"{self.sql(expression, 'this')}{order}{nulls}"

        def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
            """``CAST(a AS t)``, ``a::t`` or ``t 'a'``, as it was written."""
            this, to = self.sql(expression, "this"), self.sql(expression, "to")
            written = expression.meta.get(_WRITTEN)
            if written == "literal":
                return f"{to} {this}"
            return f"{this}::{to}" if written == "colons" else f"{safe_prefix or ''}CAST({this} AS {to})"


def _negated(node: exp.Expr | None) -> exp.Expr | None:
    """Remember that ``NOT`` stood behind the operand."""
    if isinstance(node, exp.Not) and isinstance(node.this, (exp.In, exp.Between, exp.Is)):
        node.meta[_WRITTEN] = node.this.meta[_WRITTEN] = "not"
    return node


def _not(expression: exp.Expr) -> str:
    return " NOT" if expression.meta.get(_WRITTEN) == "not" else ""


_DIALECT = EmdpDialect()
