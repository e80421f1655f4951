"""The tokens of a text: what they are made of is checked here, so that nothing hides between or inside them."""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from emdp.base.errors import SqlError
from emdp.sql.text.dialect import tokenise

__all__ = ["CLOSING", "OPENING", "join_points", "read_tokens"]

MAX_CHARACTERS = 100_000
"""Longest text."""

MAX_TOKENS = 20_000
"""Most tokens of a text."""

MAX_NESTING = 25
"""Deepest nesting of parentheses and brackets; sqlglot takes some 28 frames of Python's 1000 for each."""

MAX_DIGITS = 200
"""Most characters of a number."""

LEAST_NUMBER = 2.2250738585072014e-308
"""A number closer to 0 than this, and not 0, has no full precision as a double."""

OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
CLOSING = {
    TokenType.R_PAREN: TokenType.L_PAREN,
    TokenType.R_BRACKET: TokenType.L_BRACKET,
    TokenType.R_BRACE: TokenType.L_BRACE,
}
"""Each closing bracket with the one it closes."""

_HIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
"""Control characters, line separators, marks that turn the direction of writing, halves of characters."""

_PIECES = re.compile(
    r"--[^\n\r]*|/\*|'(?:''|[^'])*+(?P<string>'?)|\"(?:\"\"|[^\"])*+(?P<name>\"?)|\$(?P<tag>\w*)\$", re.DOTALL
)
"""Where a comment, a string or a quoted name begins."""

_NUMBER = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")

_QUOTES = frozenset("`´‘’‚‛“”„‟′″‹›«»＇＂ʼʹʺ")
"""Characters that look like a quote."""

_PREFIXED = {
    TokenType.BYTE_STRING: "E'..' strings read backslashes",
    TokenType.NATIONAL_STRING: "N'..' strings have another type",
    TokenType.BIT_STRING: "B'..' is a string of bits",
    TokenType.HEX_STRING: "X'..' is a string of bytes",
    TokenType.UNICODE_STRING: "U&'..' strings read backslashes",
    TokenType.RAW_STRING: "raw strings are another syntax",
}
"""Types of strings with a prefix, and why none is read."""

_PARAMETERS = frozenset({TokenType.PARAMETER, TokenType.PLACEHOLDER, TokenType.SESSION_PARAMETER})
_TEXTUAL = frozenset(
    {TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING, TokenType.NUMBER, TokenType.HEREDOC_STRING}
)


def read_tokens(text: str) -> list[Token]:
    """Return the tokens of a text, comments left out; ``start`` and ``end`` of a token are offsets, both inclusive.

    Raises
    ------
    SqlError
        If the text is too long or holds what the language has no use for: control characters, unfinished strings,
        strings with a prefix, parameters, hints, templates, numbers that overflow.

    >>> [token.text for token in read_tokens("SELECT avg(x) /* mean */, .5")]
    ['SELECT', 'avg', '(', 'x', ')', ',', '.5']
    """
    if len(text) > MAX_CHARACTERS:
        problem = f"the text has {len(text):,} characters, {MAX_CHARACTERS:,} at most"
        raise _refusal(text, MAX_CHARACTERS, MAX_CHARACTERS + 1, "too-long", problem, "split it into several texts")
    if hidden := _HIDDEN.search(text):
        problem = f"the character U+{ord(hidden[0]):04X} is invisible and means nothing in SQL"
        raise _refusal(text, hidden.start(), hidden.end(), "character", problem, "remove it")
    tokens = _tokenised(text)
    comments = list(_comments(text, tokens))
    if comments:
        # sqlglot reads GROUP /* x */ BY as two words: comments become spaces, which keep every offset.
        blank = list(text)
        for start, end in comments:
            blank[start:end] = " " * (end - start)
        tokens = _tokenised("".join(blank))
    if len(tokens) > MAX_TOKENS:
        token = tokens[MAX_TOKENS]
        problem = f"the text has {len(tokens):,} words and signs, {MAX_TOKENS:,} at most"
        raise _refusal(text, token.start, token.end + 1, "too-long", problem, "split it into several texts")
    tokens = join_points(tokens)
    _check_nesting(text, tokens)
    for index, token in enumerate(tokens):
        _check_token(text, token, tokens[index - 1] if index else None)
    return tokens


def join_points(tokens: Sequence[Token]) -> list[Token]:
    """Join the two tokens that sqlglot makes of ``.5``, so that a number stays as it was written."""
    joined: list[Token] = []
    for token in tokens:
        before = joined[-1] if joined else None
        if (
            token.token_type == TokenType.NUMBER
            and before is not None
            and before.token_type == TokenType.DOT
            and before.end + 1 == token.start
        ):
            joined[-1] = Token(
                TokenType.NUMBER, f".{token.text}", line=token.line, col=token.col, start=before.start, end=token.end
            )
        else:
            joined.append(token)
    return joined


def _refusal(text: str, start: int, end: int, code: str, problem: str, remedy: str) -> SqlError:
    return SqlError(problem, remedy=remedy, code=code, sql=text, start=start, end=end)


def _tokenised(text: str) -> list[Token]:
    try:
        return tokenise(text)
    except TokenError as error:
        start, problem, remedy = _unfinished(text)
        raise _refusal(text, start, len(text), "unfinished", problem, remedy) from error


def _unfinished(text: str) -> tuple[int, str, str]:
    """Return where the string, name or dollar quote begins that the text does not end."""
    position = 0
    while piece := _PIECES.search(text, position):
        position = piece.end()
        if piece[0] == "/*":
            end = _comment_end(text, piece.start())
            if end is None:
                return piece.start(), "the comment is never ended", "close it with */"
            position = end
        elif piece["string"] == "":
            return piece.start(), "the string that begins here is never ended", "close it with '"
        elif piece["name"] == "":
            return piece.start(), "the quoted name that begins here is never ended", 'close it with "'
        elif piece["tag"] is not None:
            closing = text.find(piece[0], position)
            if closing < 0:
                return piece.start(), "the dollar-quoted string is never ended", "write '..' strings"
            position = closing + len(piece[0])
    return 0, "the text cannot be split into words and signs", "check its quotes"


def _comments(text: str, tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Yield start and end of each comment; whatever else stands between tokens is refused."""
    position = 0
    for start, following in [*((token.start, token.end + 1) for token in tokens), (len(text), len(text))]:
        gap = text[position:start]
        while gap and not gap.isspace():
            first = position + len(gap) - len(gap.lstrip())
            end = _skipped(text, first, start)
            yield first, end
            position, gap = end, text[end:start]
        position = following


def _skipped(text: str, first: int, limit: int) -> int:
    """Return where the comment that begins at ``first`` ends."""
    if text.startswith("--", first):
        end = min((place for place in (text.find("\n", first), text.find("\r", first)) if place >= 0), default=limit)
        return min(end, limit)
    if text.startswith("/*+", first):
        end = text.find("*/", first) + 2
        problem = "hints to an optimiser are no part of the language"
        raise _refusal(text, first, end if end > 1 else limit, "hint", problem, "leave the hint out")
    if text.startswith("/*", first):
        closed = _comment_end(text, first)
        if closed is None or closed > limit:
            raise _refusal(text, first, len(text), "unfinished", "the comment is never ended", "close it with */")
        return closed
    problem = "template marks such as {# and {{ are no part of the language"
    raise _refusal(text, first, first + 2, "template", problem, "send the text that the template gives")


def _comment_end(text: str, start: int) -> int | None:
    """Return the end of the comment, comments within it counted, or None where there is none."""
    depth = 0
    for mark in re.finditer(r"/\*|\*/", text[start:]):
        depth += 1 if mark[0] == "/*" else -1
        if not depth:
            return start + mark.end()
    return None


def _check_nesting(text: str, tokens: Sequence[Token]) -> None:
    opened: list[Token] = []
    for token in tokens:
        kind = token.token_type
        if kind in OPENING:
            opened.append(token)
            if len(opened) > MAX_NESTING:
                problem = f"parentheses are nested more than {MAX_NESTING} deep"
                raise _refusal(text, token.start, token.end + 1, "nesting", problem, "write fewer of them")
        elif kind in CLOSING:
            if not opened or opened[-1].token_type != CLOSING[kind]:
                problem = f"`{token.text}` closes nothing that was opened"
                raise _refusal(text, token.start, token.end + 1, "syntax", problem, "check the parentheses before it")
            opened.pop()
        elif kind == TokenType.SEMICOLON and opened:
            break
    if opened:
        token = opened[-1]
        problem = f"`{token.text}` is never closed"
        raise _refusal(text, token.start, token.end + 1, "syntax", problem, "close it in the same statement")


def _check_token(text: str, token: Token, before: Token | None) -> None:
    kind, start, end = token.token_type, token.start, token.end + 1
    written = text[start:end]
    touches = before is not None and before.end + 1 == start
    if kind == TokenType.HEREDOC_STRING:
        problem = "dollar-quoted strings are no part of the language"
        raise _refusal(text, start, end, "dollar-quote", problem, "write '..', and '' for a quote in it")
    if kind in _PREFIXED:
        raise _refusal(text, start, end, "string-prefix", _PREFIXED[kind], "write a plain '..' string")
    if kind in _PARAMETERS:
        problem = f"`{written}` is a parameter, and no value of it is given"
        raise _refusal(text, start, end, "parameter", problem, "pass parameters, or write the value")
    if (
        kind == TokenType.STRING
        and touches
        and before is not None
        and before.token_type in (TokenType.VAR, TokenType.AMP)
    ):
        problem = "a string has no prefix in this language"
        raise _refusal(text, before.start, end, "string-prefix", problem, "write a plain '..' string")
    if kind == TokenType.STRING and before is not None and before.token_type == TokenType.STRING:
        problem = "strings side by side are not joined"
        raise _refusal(text, before.start, end, "strings", problem, "write one string")
    if kind == TokenType.VAR:
        if touches and before is not None and before.token_type == TokenType.NUMBER:
            problem = f"`{text[before.start : end]}` is neither a number nor a name"
            raise _refusal(text, before.start, end, "number", problem, "write a decimal number, or a space after it")
        _check_word(text, token)
    elif kind == TokenType.NUMBER:
        _check_number(text, token)
    elif kind == TokenType.IDENTIFIER and not token.text.strip():
        raise _refusal(text, start, end, "name", "a quoted name is empty", "write the name between the quotes")
    elif kind not in _TEXTUAL and not written.isascii() and not all(c.isascii() or c.isspace() for c in written):
        problem = f"`{written}` looks like {token.text.upper()}, and has other letters"
        raise _refusal(text, start, end, "look-alike", problem, "write it in plain letters")
    elif kind == TokenType.UNKNOWN and written in _QUOTES:
        problem = "a backtick quotes nothing here"
        raise _refusal(text, start, end, "quote", problem, "write \"..\" around a name, '..' around a string")


def _check_word(text: str, token: Token) -> None:
    for offset, character in enumerate(text[token.start : token.end + 1]):
        if character.isascii() or character.isalnum() or unicodedata.category(character).startswith("M"):
            continue
        start = token.start + offset
        if character in _QUOTES:
            problem = f"{character} is no quote of SQL, though it looks like one"
            remedy = "write \"..\" around a name, '..' around a string"
            raise _refusal(text, start, start + 1, "quote", problem, remedy)
        problem = f"the character U+{ord(character):04X} cannot stand in a word"
        remedy = "write plain letters and signs, or a name that has it in double quotes"
        raise _refusal(text, start, start + 1, "character", problem, remedy)


def _check_number(text: str, token: Token) -> None:
    start, end = token.start, token.end + 1
    if not _NUMBER.fullmatch(token.text):
        problem = f"`{text[start:end][:40]}` is no number"
        raise _refusal(text, start, end, "number", problem, "write a decimal number such as 0.5, 40 or 1e-6")
    value = float(token.text)
    digits = re.split("[eE]", token.text)[0].strip("0.")
    if len(token.text) > MAX_DIGITS or value == float("inf") or (digits and value < LEAST_NUMBER):
        problem = "the number is out of the range of a double"
        raise _refusal(text, start, end, "number", problem, "write one between 1e-300 and 1e300")
