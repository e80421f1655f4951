"""Row expressions put together from the spellings of their functions, for any engine.

A spelling is parsed once, by a dialect that leaves every call as it is written, and its arguments are put in as trees,
so that no literal and no name is ever pasted into text.
"""

import datetime
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.parsers.duckdb import DuckDBParser

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, UsageError
from emdp.rows.nodes import Call, Case, Cast, Column, InList, Literal, Node
from emdp.rows.record import Form
from emdp.rows.types import Kind, Value
from emdp.tables.statements.fragments import Sql

__all__ = ["Columns", "Writer", "filled", "grouped", "iso", "micros_of", "parsed", "placed"]

Columns = Callable[[Column], Sql]
"""Function from a column to its SQL: an expression of its kind, as ``read_as`` of the engine makes it."""

MOST_NODES = 20_000
"""Most nodes of a statement's tree that stand for one expression: some functions name an argument several times."""

PLACE = "emdp_"


class _AsWritten(DuckDB):
    """DuckDB's syntax in which every function stays a call of its name."""

    class Parser(DuckDBParser):
        FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
            name: DuckDBParser.FUNCTION_PARSERS[name] for name in ("CAST", "TRY_CAST")
        }
        NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}


@dataclass(frozen=True)
class Writer:
    """Spelling of row expressions for one engine."""

    # From a form and the values of its literals to text with `emdp_0` and so on for the arguments.
    spelling: Callable[[Form, tuple[Value, ...]], str]
    literal: Callable[[Value, Kind], Sql]  # From a value and its kind to a tree
    guard: Callable[[Sql], Sql]  # Puts one operator that may raise where it cannot
    # From numbers to `({0} - {1}) / {3} * {4}` of them, from 0 to `2**50`, as the nearest BIGINT, halves up
    nearest: Callable[[Mapping[str, Sql]], Sql]

    def write(self, node: Node, columns: Columns) -> Sql:
        """Return a row expression as a tree.

        Raises
        ------
        UsageError
            If the tree would be too large for an engine, or is nested too deeply.
        """
        try:
            return self._write(node, columns, {})
        except RecursionError as error:
            raise UsageError("expression must not be nested so deeply; write it shorter.") from error

    def _write(self, node: Node, columns: Columns, known: dict[Node, Sql]) -> Sql:
        # The first use has the tree itself: what it is put into copies what it changes.
        if node in known:
            return known[node].copy()
        known[node] = self._own(node, columns, known)
        return known[node]

    def _own(self, node: Node, columns: Columns, known: dict[Node, Sql]) -> Sql:
        def below(part: Node) -> Sql:
            return self._write(part, columns, known)

        if isinstance(node, Column):
            return columns(node)
        if isinstance(node, Literal):
            return self.literal(node.value, node.kind)
        if isinstance(node, Case):
            ifs = [exp.If(this=below(test), true=below(value)) for test, value in node.branches]
            return exp.Case(ifs=ifs, default=below(node.otherwise))
        if isinstance(node, InList):
            return grouped(exp.In(this=below(node.argument), expressions=[below(value) for value in node.values]))
        if isinstance(node, Call):
            return self._spelled(node.form, node.values, [below(part) for part in node.arguments])
        if isinstance(node, Cast):
            return self._spelled(node.form, (None,), [below(node.argument)])
        raise InternalError(f"no statement can be written of a {type(node).__name__}; please report it.")

    def _spelled(self, form: Form, values: tuple[Value, ...], arguments: list[Sql]) -> Sql:
        given = {f"{PLACE}{index}": argument for index, argument in enumerate(arguments)}
        tree = parsed(self.spelling(form, values))
        sizes = {name: len(list(argument.walk())) for name, argument in given.items()}
        size = 0
        for column in tree.find_all(exp.Column):
            size += sizes.get(column.name, 1)
        if size > MOST_NODES:
            raise UsageError(f"expression must be made of at most {MOST_NODES} operations; write it shorter.")
        made = filled(tree, given)
        return self.guard(made) if form.raises else grouped(made)


def filled(tree: Sql, given: Mapping[str, Sql]) -> Sql:
    """Return a copy of a spelling with its arguments in their places."""

    def put(node: Sql) -> Sql:
        if isinstance(node, exp.Column) and node.name in given:
            return given[node.name].copy()
        return node

    return tree.copy().transform(put, copy=False)


def grouped(tree: Sql) -> Sql:
    """Return a tree in parentheses, unless nothing could tear it apart."""
    is_whole = isinstance(tree, exp.Paren | exp.Anonymous | exp.Cast | exp.Case | exp.Column | exp.Boolean)
    return tree if is_whole else exp.Paren(this=tree)


def placed(text: str) -> str:
    """Return a plain spelling with ``emdp_0`` for ``{0}`` and so on.

    >>> placed("{0} + {1}")
    'emdp_0 + emdp_1'
    """
    return re.sub(r"\{(\d)\}", rf"{PLACE}\1", text)


@cache
def parsed(spelling: str) -> Sql:
    """Return the tree of a spelling.

    >>> parsed("emdp_0 + 1").sql("duckdb")
    'emdp_0 + 1'
    """
    (tree,) = _AsWritten().parse(spelling)
    if tree is None:
        raise InternalError("a function of a row has an empty spelling; please report it.")
    return tree


def iso(value: Value) -> str:
    """Return a date or time as text."""
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    return value.isoformat() if isinstance(value, datetime.date) else str(value)


def micros_of(value: datetime.date) -> int:
    """Return microseconds from 1970 to a time, or to the midnight of a date."""
    is_time = isinstance(value, datetime.datetime)
    time = value if is_time else datetime.datetime.combine(value, datetime.time())
    return (time - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)
