"""Kind of a statement by its first words: all but SELECT is refused by name."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from sqlglot.tokenizer_core import Token, TokenType

from emdp.base.errors import SqlError
from emdp.sql.text.tokens import CLOSING, OPENING

__all__ = ["find_select"]

_READS = "no statement of this language changes or stores anything"
_ENGINE = "the engine's settings and files are the data owner's"
_ASK = "ask with SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)"

VERBS: Mapping[str, tuple[str, str, str]] = {
    "EXPLAIN": ("explain", "plans and timings of an engine depend on private records", "ask for a preview"),
    "DESCRIBE": ("describe", "the columns of a table are told by the catalog", "read emdp.toml, or table.columns"),
    "DESC": ("describe", "the columns of a table are told by the catalog", "read emdp.toml, or table.columns"),
    "SHOW": ("show", "tables and settings are told by the catalog", "read emdp.toml"),
    "SUMMARIZE": ("summarize", "it prints exact minima, maxima and counts of private records", _ASK),
    "SET": ("set", _ENGINE, "give what the statement may spend in OPTIONS (..)"),
    "RESET": ("set", _ENGINE, "leave it out"),
    "PRAGMA": ("pragma", _ENGINE, "leave it out"),
    "ATTACH": ("attach", "a statement reads the declared tables only", "declare the table in emdp.toml"),
    "DETACH": ("attach", "a statement reads the declared tables only", "leave it out"),
    "USE": ("use", "a statement names its table itself", "write FROM and the name of the declared table"),
    "COPY": ("copy", "private records leave no table, and files are read where they are declared", _ASK),
    "EXPORT": ("export", "private records leave no table", _ASK),
    "IMPORT": ("import", "a statement reads the declared tables only", "declare the table in emdp.toml"),
    "INSTALL": ("install", "extensions run code that nobody has checked", "leave it out"),
    "LOAD": ("load", "extensions run code that nobody has checked", "leave it out"),
    "FORCE": ("install", "extensions run code that nobody has checked", "leave it out"),
    "CREATE": ("create", _READS, _ASK),
    "INSERT": ("insert", _READS, _ASK),
    "UPDATE": ("update", _READS, _ASK),
    "DELETE": ("delete", _READS, "choose records with WHERE"),
    "TRUNCATE": ("truncate", _READS, "choose records with WHERE"),
    "MERGE": ("merge", _READS, _ASK),
    "DROP": ("drop", _READS, "leave it out"),
    "ALTER": ("alter", _READS, "leave it out"),
    "COMMENT": ("comment-on", _READS, "write comments as -- or /* */"),
    "CALL": ("call", "table functions read what nobody has declared", _ASK),
    "PREPARE": ("prepare", "a statement is checked and priced as it stands", "write the values into it"),
    "EXECUTE": ("prepare", "a statement is checked and priced as it stands", "write the values into it"),
    "DEALLOCATE": ("prepare", "a statement is checked and priced as it stands", "leave it out"),
    "VACUUM": ("vacuum", _READS, "leave it out"),
    "ANALYZE": ("vacuum", _READS, "leave it out"),
    "CHECKPOINT": ("checkpoint", _READS, "leave it out"),
    "BEGIN": ("transaction", "nothing is changed that a transaction could undo", "leave it out"),
    "START": ("transaction", "nothing is changed that a transaction could undo", "leave it out"),
    "COMMIT": ("transaction", "nothing is changed that a transaction could undo", "leave it out"),
    "ROLLBACK": ("transaction", "nothing is changed that a transaction could undo", "leave it out"),
    "ABORT": ("transaction", "nothing is changed that a transaction could undo", "leave it out"),
    "END": ("transaction", "nothing is changed that a transaction could undo", "leave it out"),
    "PIVOT": ("pivot", "its columns would come from private values", "write GROUP BY, whose groups are public"),
    "PIVOT_WIDER": ("pivot", "its columns would come from private values", "write GROUP BY, whose groups are public"),
    "UNPIVOT": ("unpivot", "it makes several records of one", "write one aggregate a column"),
    "PIVOT_LONGER": ("unpivot", "it makes several records of one", "write one aggregate a column"),
    "VALUES": ("values", "a statement asks about a declared table", "give small public tables to the session"),
    "TABLE": ("table", "records as they are have no guarantee", _ASK),
    "FROM": (
        "from-first",
        "the header, which stands behind SELECT, comes first",
        "begin with SELECT WITH .., then FROM",
    ),
    "GRANT": ("grant", _READS, "leave it out"),
    "REVOKE": ("grant", _READS, "leave it out"),
    "DECLARE": ("script", "scripts and variables are no part of the language", "write the values into it"),
    "DO": ("script", "scripts and variables are no part of the language", "write one SELECT"),
    "WHILE": ("script", "scripts and variables are no part of the language", "write one SELECT"),
    "LOCK": ("lock", _READS, "leave it out"),
    "REFRESH": ("refresh", _READS, "leave it out"),
    "KILL": ("kill", _ENGINE, "leave it out"),
    "WITH": ("statement", "no SELECT stands behind its last parenthesis", "write SELECT WITH .. there"),
    "CONNECT": ("attach", "a statement reads the declared tables only", "leave it out"),
}
"""For each first word the refusal's code, the reason, and what to do instead."""

_OBJECTS = frozenset(
    {
        "OR",
        "REPLACE",
        "TEMP",
        "TEMPORARY",
        "PERSISTENT",
        "SECRET",
        "MACRO",
        "FUNCTION",
        "TABLE",
        "VIEW",
        "SCHEMA",
        "TYPE",
        "SEQUENCE",
        "INDEX",
        "UNIQUE",
        "DATABASE",
        "INTO",
        "EXTENSIONS",
        "TRANSACTION",
        "WORK",
        "COLUMN",
        "ON",
        "IMMEDIATE",
        "DEFERRED",
        "MATERIALIZED",
        "TRIGGER",
        "RECURSIVE",
    }
)
"""Words behind the first one that name what it works on."""


def find_select(text: str, tokens: Sequence[Token]) -> int:
    """Return the index of the outermost SELECT, behind the CTEs if there are any.

    Raises
    ------
    SqlError
        If the statement is none, naming what it is.

    >>> from emdp.sql.text.tokens import read_tokens
    >>> find_select("", read_tokens("WITH q AS (SELECT x FROM t) SELECT y FROM q"))
    9
    """
    main = _behind_ctes(tokens) if tokens[0].token_type == TokenType.WITH else 0
    token = tokens[main]
    if token.token_type == TokenType.SELECT:
        return main
    start, end = token.start, token.end + 1
    if token.token_type == TokenType.L_PAREN:
        problem, remedy = "a statement does not stand in parentheses", "remove them"
        raise SqlError(problem, remedy=remedy, code="parentheses", sql=text, start=start, end=end)
    word = token.text.upper() if token.text.isascii() else ""
    if word not in VERBS or token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
        problem = f"`{text[start:end][:40]}` begins no statement of the language"
        raise SqlError(problem, remedy=_ASK, code="statement", sql=text, start=start, end=end)
    words = [word]
    for following in tokens[main + 1 : main + 5]:
        if following.text.upper() not in _OBJECTS or following.token_type == TokenType.IDENTIFIER:
            break
        words.append(following.text.upper())
        end = following.end + 1
    code, reason, remedy = VERBS[word]
    if word == "CREATE" and not {"MACRO", "FUNCTION"}.isdisjoint(words):
        reason, remedy = f"{reason}, and a macro or function has no known constant", "write the expression itself"
    elif remedy == _ASK and _holds_question(tokens[main + 1 :]):
        remedy = "write its SELECT alone, and store the answer yourself, as by emdp query --csv FILE"
    problem = f"{' '.join(words)} is refused, since {reason}"
    raise SqlError(problem, remedy=remedy, code=code, sql=text, start=start, end=end)


def _holds_question(tokens: Sequence[Token]) -> bool:
    """Say whether a SELECT with the header of a guarantee stands among some tokens."""
    return any(
        token.token_type == TokenType.SELECT and following.token_type == TokenType.WITH
        for token, following in pairwise(tokens)
    )


def _behind_ctes(tokens: Sequence[Token]) -> int:
    """Return the index of the first token behind ``WITH a AS (..), b AS (..)``, 0 where there is none."""
    depth = 0
    for index, token in enumerate(tokens[:-1]):
        depth += (token.token_type in OPENING) - (token.token_type in CLOSING)
        following = tokens[index + 1]
        is_name = following.token_type in (TokenType.COMMA, TokenType.ALIAS) or following.text.upper() == "USING"
        if token.token_type == TokenType.R_PAREN and not depth and not is_name:
            return index + 1
    return 0
