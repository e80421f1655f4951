"""Where in its text each part of a statement's tree was written.

sqlglot keeps positions of names alone. Here a tree is generated with marks around the text of every node; without the
marks that text has the tokens of the statement (:mod:`emdp.sql.text.giveback`), so that the tokens between a node's
marks are the tokens it was written with.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence

from sqlglot import exp
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token

from emdp.base.errors import SqlError
from emdp.sql.text.dialect import BEGIN, FINISH, MARK, NUMBERED, SQLGLOT_FAULTS, marked_text, tokenise
from emdp.sql.text.giveback import Alignment, align
from emdp.sql.text.tokens import join_points, read_tokens

__all__ = ["is_located", "is_same_text", "locate", "locate_names", "span_of"]

_SPAN = "emdp_span"
"""Key in ``meta`` of a node; copies of a node keep it."""

_MARKS = re.compile(f"{BEGIN}([0-9]+){NUMBERED}|{FINISH}")


def span_of(tree: exp.Expr, node: exp.Expr, sql: str, start: int, end: int, header: tuple[int, int]) -> tuple[int, int]:
    """Return start and end of a node in the text.

    Parameters
    ----------
    tree, node : sqlglot.exp.Expr
        A statement's tree and a part of it, or of a copy of it. A node that was not written (made by a rewrite) spans
        its parts that were, or else has the span of the nearest node around it that was.
    start, end : int
        The statement's part of it, the fall-back.
    header : (int, int)
        The part that is not in the tree.

    >>> from emdp.sql import parse
    >>> text = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG( x + 1 ) FROM t"
    >>> tree = parse(text)[0].tree
    >>> start, end = span_of(tree, tree.expressions[0], text, 0, len(text), (7, 43))
    >>> text[start:end]
    'AVG( x + 1 )'
    """
    if _SPAN not in tree.meta:
        _locate_again(tree, sql, start, end, header)
    own = [node.meta[_SPAN]] if _SPAN in node.meta else [part.meta[_SPAN] for part in node.walk() if _SPAN in part.meta]
    around = node.parent
    while not own and around is not None:
        own = [around.meta[_SPAN]] if _SPAN in around.meta else []
        around = around.parent
    return (min(low for low, _ in own), max(high for _, high in own)) if own else (start, end)


def is_located(node: exp.Expr) -> bool:
    """Return whether it is known where a node itself was written."""
    return _SPAN in node.meta


def is_same_text(node: exp.Expr, other: exp.Expr) -> bool:
    """Say whether two nodes are, or are copies of, what one part of a text says."""
    return _SPAN in node.meta and node.meta[_SPAN] == other.meta.get(_SPAN)


def locate(tree: exp.Expr, tokens: Sequence[Token]) -> Alignment:
    """Note at every node where it was written, and return how the statement's tokens match those of the tree.

    Parameters
    ----------
    tree : sqlglot.exp.Expr
        What ``tokens`` were parsed into.
    tokens : sequence of Token
        Of one statement, its header left out.

    Raises
    ------
    SQLGLOT_FAULTS, TokenError
        If sqlglot cannot write the tree.
    """
    if tokens:
        tree.meta[_SPAN] = (tokens[0].start, tokens[-1].end + 1)
    nodes = list(tree.walk())
    for number, node in enumerate(nodes):
        node.meta[MARK] = number
    try:
        marked = marked_text(tree)
    finally:
        for node in nodes:
            del node.meta[MARK]
    plain, ranges = _unmarked(marked)
    generated = join_points(tokenise(plain))
    alignment = align(tokens, generated)
    starts = [token.start for token in generated]
    for number, node in enumerate(nodes):
        if number in ranges and node is not tree:
            low, high = (bisect_left(starts, place) for place in ranges[number])
            places = [place for place in alignment.places[low:high] if place is not None]
            if places:
                node.meta[_SPAN] = (tokens[min(places)].start, tokens[max(places)].end + 1)
    return alignment


def locate_names(tree: exp.Expr) -> None:
    """Note where names and literals were written, of a tree that sqlglot parsed and cannot write."""
    for node in tree.walk():
        if _SPAN not in node.meta and "start" in node.meta and "end" in node.meta:
            node.meta[_SPAN] = (node.meta["start"], node.meta["end"] + 1)


def _unmarked(marked: str) -> tuple[str, dict[int, tuple[int, int]]]:
    """Return the text without marks, and for each number the part of it that stood between its marks."""
    ranges: dict[int, tuple[int, int]] = {}
    opened: list[tuple[int, int]] = []
    pieces: list[str] = []
    length = position = 0
    for mark in _MARKS.finditer(marked):
        pieces.append(marked[position : mark.start()])
        length += mark.start() - position
        position = mark.end()
        if mark[1] is not None:
            opened.append((int(mark[1]), length))
        else:
            number, begin = opened.pop()
            ranges.setdefault(number, (begin, length))
    pieces.append(marked[position:])
    return "".join(pieces), ranges


def _locate_again(tree: exp.Expr, sql: str, start: int, end: int, header: tuple[int, int]) -> None:
    """Locate a tree that lost its notes; a tree that no longer gives its text back keeps none."""
    try:
        tokens = [
            token
            for token in read_tokens(sql)
            if start <= token.start < end and not header[0] <= token.start < header[1]
        ]
        locate(tree, tokens)
    except (SqlError, TokenError, *SQLGLOT_FAULTS):
        tree.meta[_SPAN] = (start, end)
