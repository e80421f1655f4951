"""The parser is tried before it reads: on what it must group as DuckDB does, and a wrong one is refused."""

import json
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
import sqlglot
from sqlglot import exp
from sqlglot.parsers.duckdb import DuckDBParser

from emdp.base.errors import UnsupportedError
from emdp.sql import parse
from emdp.sql.text import canaries
from emdp.sql.text.canaries import CANARIES, check_grouping
from emdp.sql.text.dialect import EmdpDialect

SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "intdiv": "//", "mod": "%", "pow": "**", "eq": "=", "neq": "<>",
    "lt": "<", "gte": ">=", "and": "AND", "or": "OR", "is": "IS", "nullsafeneq": "IS DISTINCT FROM",
}  # fmt: skip


def in_parentheses(grouping: str) -> str:
    """Return the SQL of a grouping, every operation in parentheses."""
    words = iter(grouping.replace("(", "( ").replace(")", " )").split())

    def read(word: str) -> Any:
        return list(iter(lambda: read(next(words)), ")")) if word == "(" else word

    def write(tree: Any) -> str:
        if isinstance(tree, str):
            return tree
        name, *parts = tree[0], *map(write, tree[1:])
        if name in SIGNS:
            return f"({parts[0]} {SIGNS[name]} {parts[1]})"
        return {
            "neg": "(- {0})",
            "not": "(NOT {0})",
            "between": "({0} BETWEEN {1} AND {2})",
            "in": f"({{0}} IN ({', '.join(parts[1:])}))",
            "cast": "CAST({0} AS INT)",
            "case": "CASE {0} ELSE {1} END",
            "if": "WHEN {0} THEN {1}",
        }[name].format(*parts)

    return write(read(next(words)))


def as_duckdb_reads(text: str) -> object:
    with duckdb.connect() as connection:
        ((tree,),) = connection.execute("SELECT json_serialize_sql(?)", [f"SELECT {text} FROM t"]).fetchall()
    read = json.loads(tree, object_hook=_without_places)
    assert not read["error"], text
    return read


def _without_places(node: dict[str, Any]) -> dict[str, Any]:
    # A NOT before IS NULL and IS NOT NULL are one to DuckDB, and so are NOT IN and a NOT before IN.
    kept = {key: value for key, value in node.items() if not key.startswith("query_location")}
    if kept.get("type") == "OPERATOR_NOT":
        (inner,) = kept["children"]
        opposite = {"OPERATOR_IS_NULL": "OPERATOR_IS_NOT_NULL", "COMPARE_IN": "COMPARE_NOT_IN"}.get(inner["type"])
        return {**inner, "type": opposite} if opposite else kept
    return kept


@pytest.fixture
def untried() -> Iterator[None]:
    check_grouping.cache_clear()
    yield
    check_grouping.cache_clear()


@pytest.mark.quarter
@pytest.mark.parametrize(("text", "grouping"), CANARIES)
def test_duckdb_groups_as_the_canaries_say(text: str, grouping: str) -> None:
    assert as_duckdb_reads(text) == as_duckdb_reads(in_parentheses(grouping))


def test_the_installed_parser_groups_so() -> None:
    assert [(text, canaries._read(text)) for text, _ in CANARIES] == list(CANARIES)


@pytest.mark.parametrize(
    ("table", "entries", "text"),
    [
        # As sqlglot 30.16 has it: % among the signs of sums.
        ("TERM", {**DuckDBParser.TERM, **{sign: kind for sign, kind in DuckDBParser.FACTOR.items() if kind is exp.Mod}},
         "a % b * c"),
        ("CONJUNCTION", {**DuckDBParser.CONJUNCTION, **DuckDBParser.DISJUNCTION}, "a OR b AND NOT c"),
    ],
)  # fmt: skip
def test_a_parser_that_groups_otherwise_is_refused_before_it_reads(
    table: str, entries: dict[Any, Any], text: str, untried: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EmdpDialect.Parser, table, entries)
    if table == "TERM":
        factors = {sign: kind for sign, kind in DuckDBParser.FACTOR.items() if kind is not exp.Mod}
        monkeypatch.setattr(EmdpDialect.Parser, "FACTOR", factors)
    with pytest.raises(UnsupportedError) as caught:
        parse("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x) FROM t")
    assert f"does not read `{text}` as emdp was checked with" in str(caught.value)
    assert str(caught.value).endswith("run pip install --force-reinstall emdp.")


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("parser.py", "sqlglot {} does not read .* run pip install --force-reinstall emdp"),
        ("parser.cpython-311-x86_64-linux-gnu.so", "sqlglot {}, compiled, does not read .* run pip uninstall sqlglotc"),
    ],
)
def test_a_parser_that_reads_nothing_is_refused_with_the_remedy(
    file: str, says: str, untried: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise TypeError("interpreted classes cannot inherit from compiled")

    monkeypatch.setattr(canaries, "parse_tokens", fails)
    monkeypatch.setattr("sqlglot.parser.__file__", file)
    with pytest.raises(UnsupportedError, match=says.format(sqlglot.__version__)):
        check_grouping()
