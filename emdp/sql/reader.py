"""SQL text to statements: tokens, one statement after the other, its header, its tree, and what clauses it has."""

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import cast

from sqlglot import exp
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from emdp.base.errors import SqlError, UsageError
from emdp.sql.refusals.clauses import check_around, check_clauses, check_owned_clauses
from emdp.sql.text.canaries import check_grouping
from emdp.sql.text.dialect import SQLGLOT_FAULTS, UnexpectedTokenError, parse_tokens
from emdp.sql.text.giveback import Alignment, check_given_back
from emdp.sql.text.header import read_header
from emdp.sql.text.spans import locate, locate_names
from emdp.sql.text.statement import Statement
from emdp.sql.text.tokens import read_tokens
from emdp.sql.text.verbs import find_select

__all__ = ["parse", "parse_plain"]

CLAUSES = ("FROM", "WHERE", "GROUP", "ORDER", "LIMIT", "OFFSET", "JOIN", "USING", "HAVING", "SELECT")
"""Words that begin a clause."""

LIKENESS = 0.74
"""How much of a misspelt word must be right: FORM for FROM is 0.75."""

MAX_DEPTH = 120
"""Most levels of a tree, so that whatever walks it by recursion has room on Python's stack."""


def parse(text: str) -> tuple[Statement, ...]:
    """Return the statements of a text, separated by ``;``. No name in them is resolved yet.

    A statement that is returned has a header with valid options, a tree of which every token of the text came back
    (:mod:`emdp.sql.text.giveback`), and no clause that the language refuses (:mod:`emdp.sql.refusals.clauses`).

    Parameters
    ----------
    text : str
        One statement or several, 100,000 characters at most; comments mean nothing.

    Raises
    ------
    SqlError
        If a statement is refused, the offending part underlined.
    UsageError
        If ``text`` is no string.
    UnsupportedError
        If the installed sqlglot groups operations in another way than emdp was checked with.

    >>> (statement,) = parse("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) AS mean FROM visits;")
    >>> statement.privacy, statement.options["alpha"].value
    ('EMD_PRIVACY', 1.0)
    >>> statement.text_of(statement.tree.expressions[0])
    'AVG(price) AS mean'
    """
    if not isinstance(text, str):
        raise UsageError(f"text must be a string of SQL, got {type(text).__name__}; read the file first.")
    statements = _split(text)
    if not statements:
        problem, remedy = "there is no statement", "write SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(..) FROM .."
        raise SqlError(problem, remedy=remedy, code="empty", sql=text, start=0, end=len(text))
    return tuple(_statement(text, tokens) for tokens in statements)


def parse_plain(text: str) -> Statement:
    """Return one SELECT without a header, of which every token of the text came back; no clause of it is checked."""
    statements = _split(text)
    if len(statements) != 1:
        problem, code = ("there is no statement", "empty") if not statements else ("these are several", "several")
        raise SqlError(problem, remedy="write one SELECT", code=code, sql=text, start=0, end=len(text))
    (tokens,) = statements
    tree, alignment = _tree(text, tokens)
    if alignment is None:
        raise _misplaced(text, tokens, None)
    check_given_back(text, tokens, alignment)
    start = tokens[0].start
    return Statement(text, start, tokens[-1].end + 1, "USER_PRIVACY", {}, (start, start), cast("exp.Select", tree))


def _split(text: str) -> list[list[Token]]:
    """Return the tokens of each statement of a text, empty ones left out."""
    check_grouping()
    statements: list[list[Token]] = [[]]
    for token in read_tokens(text):
        if token.token_type == TokenType.SEMICOLON:
            statements.append([])
        else:
            statements[-1].append(token)
    return [statement for statement in statements if statement]


def _statement(text: str, tokens: list[Token]) -> Statement:
    header = read_header(text, tokens, find_select(text, tokens))
    written = list(header.rest)
    tree, alignment = _tree(text, written)
    statement = Statement(
        sql=text,
        start=tokens[0].start,
        end=tokens[-1].end + 1,
        privacy=header.privacy,
        options=header.options,
        header=header.span,
        # Set operations are no Select; the check of the clauses refuses them by name.
        tree=cast("exp.Select", tree),
    )
    try:
        check_clauses(statement)
    except SqlError as error:
        if header.privacy != "USER_PRIVACY":
            raise
        statement = replace(statement, refused=error, beyond=_beyond(statement, error))
    if alignment is None:
        raise _misplaced(text, written, None)
    check_given_back(text, written, alignment)
    return statement


def _beyond(statement: Statement, refused: SqlError) -> SqlError | None:
    """Return why a statement is not one over rows with owners as a whole; None if it is."""
    try:
        check_owned_clauses(statement, refused)
    except SqlError as error:
        try:
            check_around(statement)
        except SqlError:
            raise error from None
        return error
    return None


def _tree(text: str, tokens: list[Token]) -> tuple[exp.Expr, Alignment | None]:
    """Return the tree of one statement's tokens, located in the text; with None, sqlglot cannot write it."""
    try:
        trees = parse_tokens(tokens, text)
    except RecursionError as error:
        raise _too_deep(text, tokens) from error
    except SQLGLOT_FAULTS as error:
        token = error.token if isinstance(error, UnexpectedTokenError) else None
        raise _misplaced(text, tokens, token) from error
    tree = trees[0] if len(trees) == 1 else None
    if tree is None:
        raise _misplaced(text, tokens, None)
    if _depth(tree) > MAX_DEPTH:
        raise _too_deep(text, tokens)
    try:
        return tree, locate(tree, tokens)
    except RecursionError as error:
        raise _too_deep(text, tokens) from error
    except (TokenError, *SQLGLOT_FAULTS):
        locate_names(tree)
        return tree, None


def _depth(tree: exp.Expr) -> int:
    deepest = 0
    depths = {id(tree): 0}
    for node in tree.walk():
        depth = depths[id(node)]
        deepest = max(deepest, depth)
        for child in node.iter_expressions():
            depths[id(child)] = depth + 1
    return deepest


def _too_deep(text: str, tokens: Sequence[Token]) -> SqlError:
    problem, remedy = "the statement is nested too deeply to be checked", "write shorter sums, or a VECTOR and DOT"
    start, end = tokens[0].start, tokens[-1].end + 1
    return SqlError(problem, remedy=remedy, code="nesting", sql=text, start=start, end=end)


def _misspelt(tokens: Sequence[Token], found: Token) -> tuple[Token, str] | None:
    """Return the word of SQL that a token was meant to be, or the one before it, which was taken for an alias."""
    place = next((index for index, token in enumerate(tokens) if token.start == found.start), 0)
    for token in (tokens[place], *tokens[max(place - 1, 0) : place]):
        if token.token_type != TokenType.VAR:
            continue
        if alike := get_close_matches(token.text.upper(), CLAUSES, n=1, cutoff=LIKENESS):
            return token, alike[0]
    return None


def _misplaced(text: str, tokens: Sequence[Token], token: Token | None) -> SqlError:
    last = tokens[-1]
    if token is None:
        problem = "the statement ends before it is complete, or is written in another SQL"
        remedy = "check the end of the statement, and its commas and parentheses"
        return SqlError(problem, remedy=remedy, code="syntax", sql=text, start=last.start, end=last.end + 1)
    remedy = "check the commas, parentheses and quotes before it; a name that is a word of SQL needs double quotes"
    if meant := _misspelt(tokens, token):
        token, word = meant
        remedy = f"write {word}"
    start, end = token.start, token.end + 1
    problem = f"`{' '.join(text[start:end].split())[:40]}` does not fit here"
    return SqlError(problem, remedy=remedy, code="syntax", sql=text, start=start, end=end)
