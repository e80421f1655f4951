"""Expressions whose grouping is known: the parser is tried on them once in a process, before it reads the first text.

A parser that groups ``- a = b IS NOT NULL`` in another way than DuckDB reads another question, without an error:
sqlglot did so up to 30.23.0, and up to 30.16.0 with ``a + b % c``. Versions are refused by number
(:mod:`emdp.base.versions`); the trial also holds where the number says nothing, of a patched parser or a compiled one.
"""

from functools import cache

import sqlglot
import sqlglot.parser
from sqlglot import exp

from emdp.base.errors import UnsupportedError
from emdp.sql.text.dialect import SQLGLOT_FAULTS, parse_tokens, tokenise

__all__ = ["CANARIES", "check_grouping"]

CANARIES = (
    ("a - b - c", "(sub (sub a b) c)"),
    ("a // b / c", "(div (intdiv a b) c)"),
    ("a % b * c", "(mul (mod a b) c)"),
    ("a + b % c", "(add a (mod b c))"),
    ("a * b ** c", "(mul a (pow b c))"),
    ("a ** b ** c", "(pow (pow a b) c)"),
    ("- a ** b", "(pow (neg a) b)"),
    ("a ** - b * c", "(mul (pow a (neg b)) c)"),
    ("- a - - b", "(sub (neg a) (neg b))"),
    ("- a::INT", "(neg (cast a datatype))"),
    ("a ** b::INT", "(pow a (cast b datatype))"),
    ("a + b < c * d", "(lt (add a b) (mul c d))"),
    ("NOT a = b AND c", "(and (not (eq a b)) c)"),
    ("a OR b AND NOT c", "(or a (and b (not c)))"),
    ("a < b AND c >= d OR e <> f", "(or (and (lt a b) (gte c d)) (neq e f))"),
    ("NOT a IS NULL", "(not (is a null))"),
    ("- a = b IS NOT NULL", "(not (is (eq (neg a) b) null))"),
    ("a IS NULL = b IS NULL", "(is (eq (is a null) b) null)"),
    ("a AND b IS NULL", "(and a (is b null))"),
    ("NOT a BETWEEN b AND c OR d", "(or (not (between a b c)) d)"),
    ("a + b BETWEEN c - d AND e * f", "(between (add a b) (sub c d) (mul e f))"),
    ("a = b IN (c, d)", "(eq a (in b c d))"),
    ("a + b NOT IN (c, d) AND e", "(and (not (in (add a b) c d)) e)"),
    ("a = b + c IS DISTINCT FROM d", "(nullsafeneq (eq a (add b c)) d)"),
    ("CASE WHEN a OR b THEN c + d * e ELSE - f END", "(case (if (or a b) (add c (mul d e))) (neg f))"),
)
"""Expressions, and how DuckDB groups them: each operation in parentheses, its name in sqlglot's tree first."""


@cache
def check_grouping() -> None:
    """Refuse a parser that groups operations in another way than DuckDB.

    Raises
    ------
    UnsupportedError
        If it reads one of ``CANARIES`` otherwise, or not at all.
    """
    for text, grouping in CANARIES:
        if _read(text) != grouping:
            # A dialect of one's own cannot be built on the compiled parser.
            is_compiled = not str(sqlglot.parser.__file__).endswith(".py")
            remedy = "pip uninstall sqlglotc" if is_compiled else "pip install --force-reinstall emdp"
            raise UnsupportedError(
                f"sqlglot {sqlglot.__version__}{', compiled,' if is_compiled else ''} does not read `{text}` as emdp "
                f"was checked with, so another question could be answered; run {remedy}."
            )


def _read(text: str) -> str:
    statement = f"SELECT {text}"
    try:
        (tree,) = parse_tokens(tokenise(statement), statement)
        return _grouped(tree.expressions[0]) if tree is not None else ""
    except SQLGLOT_FAULTS:
        return ""


def _grouped(node: exp.Expr) -> str:
    if isinstance(node, exp.Column | exp.Literal):
        return node.name
    parts = [_grouped(child) for child in node.iter_expressions()]
    if isinstance(node, exp.Paren):
        return parts[0]
    return f"({' '.join([node.key, *parts])})" if parts else node.key
