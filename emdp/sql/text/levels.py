"""The level of a statement, its ``alpha`` or ``epsilon``: read from a header, or put into one that has none."""

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from emdp.base.checks import check_positive
from emdp.base.errors import SqlError
from emdp.sql.text.header import REQUIRED, read_header
from emdp.sql.text.statement import Option
from emdp.sql.text.tokens import read_tokens
from emdp.sql.text.verbs import find_select

__all__ = ["stated_level", "with_level"]


def stated_level(text: str) -> float | None:
    """Return the alpha, under ``USER_PRIVACY`` the epsilon, that the header of a statement states, or None.

    Parameters
    ----------
    text : str
        One statement. Nothing but its header is looked into.

    Raises
    ------
    SqlError
        If the text holds no statement or several, or the header is malformed in another way.

    >>> stated_level("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 2) AVG(x) FROM t")
    2.0
    >>> stated_level("SELECT WITH EMD_PRIVACY AVG(x) FROM t")
    """
    tokens = _only_statement(text)
    stated = _stated(text, tokens, find_select(text, tokens))
    return None if stated is None else float(stated.value)


def with_level(text: str, level: float) -> str:
    """Return a statement with a level put into its header; all else, comments and line ends too, stays as it is.

    Parameters
    ----------
    text : str
        One statement whose header states no level.
    level : float
        What to state, above 0: written with all digits, so that it reads back as the same number.

    Raises
    ------
    SqlError
        If the text holds no statement or several, the header is malformed, or it states a level.
    UsageError
        If the level is no number above 0.

    >>> with_level("SELECT WITH EMD_PRIVACY AVG(x) FROM t", 0.1)
    'SELECT WITH EMD_PRIVACY OPTIONS (alpha = 0.1) AVG(x) FROM t'
    >>> with_level("SELECT WITH USER_PRIVACY OPTIONS (delta = 1e-9) AVG(x) FROM t", 2)
    'SELECT WITH USER_PRIVACY OPTIONS (epsilon = 2.0, delta = 1e-9) AVG(x) FROM t'
    """
    number = check_positive("level", level)
    tokens = _only_statement(text)
    main = find_select(text, tokens)
    stated = _stated(text, tokens, main)
    if stated is not None:
        problem, remedy = f"the header states {stated.name} already", "leave it out, or take the statement as it is"
        raise SqlError(problem, remedy=remedy, code="level-stated", sql=text, start=stated.start, end=stated.end)
    # What read_header went through before it missed the level: WITH, the kind, perhaps OPTIONS ( .. ).
    word = tokens[main + 2]
    option = f"{REQUIRED[word.text.upper()]} = {number!r}"
    listed = tokens[main + 3] if len(tokens) > main + 3 else word
    if listed.text.upper() != "OPTIONS" or listed.token_type == TokenType.IDENTIFIER:
        return f"{text[: word.end + 1]} OPTIONS ({option}){text[word.end + 1 :]}"
    opening, following = tokens[main + 4], tokens[main + 5]
    comma = "" if following.token_type == TokenType.R_PAREN else ", "
    return f"{text[: opening.end + 1]}{option}{comma}{text[opening.end + 1 :]}"


def _only_statement(text: str) -> Sequence[Token]:
    statements: list[list[Token]] = [[]]
    for token in read_tokens(text):
        if token.token_type == TokenType.SEMICOLON:
            statements.append([])
        else:
            statements[-1].append(token)
    found = [tokens for tokens in statements if tokens]
    if not found:
        problem, remedy = "there is no statement", "write SELECT WITH EMD_PRIVACY, then the columns"
        raise SqlError(problem, remedy=remedy, code="empty", sql=text, start=0, end=len(text))
    if len(found) > 1:
        first = found[1][0]
        problem, remedy = "a second statement begins here, where one is expected", "take one statement at a time"
        raise SqlError(problem, remedy=remedy, code="several", sql=text, start=first.start, end=first.end + 1)
    return found[0]


def _stated(text: str, tokens: Sequence[Token], main: int) -> Option | None:
    try:
        header = read_header(text, tokens, main)
    except SqlError as error:
        if error.code == "option-missing":
            return None
        raise
    return header.options[REQUIRED[header.privacy]]
