"""Nothing vanishes: a tree is accepted if its own text has the tokens of the statement, one by one.

sqlglot drops what it does not know (``IGNORE NULLS``, ``FOR UPDATE``, an ``ALL``) and rewrites what it knows better.
The tree is therefore generated again, and every token of the statement must come back, in its order. The two
sequences may differ in the few ways that are listed here, none of which carries a meaning of its own: an AS that was
left out comes back, ``NULLS LAST``, the default, need not, and some words and signs have several spellings.
"""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

from sqlglot.tokenizer_core import Token, TokenType

from emdp.base.classes import dataclass
from emdp.base.errors import SqlError

__all__ = ["Alignment", "align", "check_given_back"]

_SPELLINGS = frozenset(
    {
        TokenType.EQ,
        TokenType.NEQ,
        TokenType.BIGINT,
        TokenType.BOOLEAN,
        TokenType.DECIMAL,
        TokenType.DOUBLE,
        TokenType.FLOAT,
        TokenType.INT,
        TokenType.SMALLINT,
        TokenType.TEXT,
        TokenType.TIMESTAMP,
        TokenType.TIMESTAMPNTZ,
        TokenType.TIMESTAMPTZ,
        TokenType.TINYINT,
        TokenType.VARBINARY,
    }
)
"""Types of tokens with several spellings: = and ==, <> and !=, INT and INTEGER, VARCHAR and TEXT."""

_ONE = {TokenType.CARET: TokenType.DSTAR, TokenType.PERCENT: TokenType.MOD}
"""Two signs for one operator: ``^`` and ``**``; PERCENT and ``%`` behind a number of rows, which is refused by name."""

_EXACT = frozenset({TokenType.IDENTIFIER, TokenType.STRING, TokenType.NUMBER})
"""Types whose text is compared letter by letter; of a word the case of ASCII letters does not count."""

_COMMA = (TokenType.COMMA, ",")

_LONGEST = 300
"""Most tokens that are matched with care once a statement is known to be refused: the time grows with the square."""

_REMEDIES: Mapping[TokenType, str] = {
    TokenType.PLUS: "write the number without +",
    TokenType.COMMA: "remove the comma before the end of the list",
    TokenType.STRING: "write names in double quotes",
    TokenType.ALL: "leave it out, since it is the default",
    TokenType.ISNULL: "write IS NULL",
    TokenType.NOTNULL: "write IS NOT NULL",
    TokenType.OFFSET: "write LIMIT first, then OFFSET",
    TokenType.LIMIT: "write LIMIT first, then OFFSET",
    TokenType.ORDER_BY: "write ORDER BY before LIMIT",
    TokenType.WHERE: "write the clauses in the order WHERE, GROUP BY, ORDER BY, LIMIT",
    TokenType.GROUP_BY: "write the clauses in the order WHERE, GROUP BY, ORDER BY, LIMIT",
    TokenType.PIPE_GT: "write the clauses in the order of SQL",
}
"""What to do instead, by the first token that did not come back."""


@dataclass(frozen=True)
class Alignment:
    """Which token of a statement each token of its tree's text is."""

    # For each generated token the index of the written one, None for a word that was left out.
    places: tuple[int | None, ...]
    # The first written tokens that did not come back, as a range of indices; None where all did.
    lost: tuple[int, int] | None = None
    inserted: str = ""  # The first generated token that was not written, where no written one was lost, else empty


def align(written: Sequence[Token], generated: Sequence[Token]) -> Alignment:
    """Match the tokens of a statement with those of its tree's text.

    Where the two differ the rest is matched as well as can be, so that a refusal can underline what it means.

    >>> from emdp.sql.text.dialect import tokenise
    >>> align(tokenise("AVG(x IGNORE NULLS) AS y"), tokenise("AVG(x) AS y"))
    Alignment(places=(0, 1, 2, 5, 6, 7), lost=(3, 5), inserted='')
    """
    ours = _without_default_order(written)
    commas = _commas_of_substrings(written)
    our_keys = [_COMMA if index in commas else _interval_key(written, index) or _key(written[index]) for index in ours]
    theirs = _without_added_as(our_keys, generated)
    their_keys = [_key(generated[index]) for index in theirs]
    if our_keys == their_keys:
        places: list[int | None] = [None] * len(generated)
        for place, index in zip(theirs, ours, strict=True):
            places[place] = index
        return Alignment(tuple(places))
    return _mismatched(len(written), ours, our_keys, generated)


def check_given_back(text: str, written: Sequence[Token], alignment: Alignment) -> None:
    """Refuse a statement of which a token did not come back."""
    if alignment.lost is None:
        return
    lost = written[slice(*alignment.lost)]
    start, end = lost[0].start, lost[-1].end + 1
    shown = " ".join(text[start:end].split())
    shown = shown if len(shown) <= 40 else f"{shown[:37]}..."
    problem, code = f"`{shown}` is not part of the language", "not-given-back"
    remedy = "leave it out, or write it another way"
    if len(lost) == 1 or lost[0].token_type != TokenType.COMMA:
        remedy = _REMEDIES.get(lost[0].token_type, remedy)
    following = written[alignment.lost[1]] if alignment.lost[1] < len(written) else None
    if following is not None and following.text.upper() == "PRECEDING":
        problem, remedy = f"the frame from `{shown}` has no end", f"write BETWEEN {shown} PRECEDING AND CURRENT ROW"
    if alignment.inserted == "(":
        problem, remedy = f"the order of the operations from `{shown}` on is not plain", "write parentheses"
        code = "ambiguous"
    elif any(token.token_type == TokenType.COLON for token in lost):
        remedy = "name a column behind its expression, with AS"
    raise SqlError(problem, remedy=remedy, code=code, sql=text, start=start, end=end)


def _mismatched(
    count: int, ours: Sequence[int], our_keys: Sequence[tuple[TokenType, str]], generated: Sequence[Token]
) -> Alignment:
    """Return an alignment of two sequences that differ: what was lost first, or else what was added first."""
    their_keys = [_key(token) for token in generated]
    places: list[int | None] = [None] * len(generated)
    lost: tuple[int, int] | None = None
    added: tuple[int, str] | None = None
    for tag, i, i_end, j, j_end in _matches(our_keys, their_keys):
        if tag in ("delete", "replace"):
            lost = lost or (ours[i], ours[i_end - 1] + 1)
        elif tag == "insert" and added is None and any(kind != TokenType.ALIAS for kind, _ in their_keys[j:j_end]):
            added = (i, generated[j].text)
        if tag == "equal" or (tag == "replace" and i_end - i == j_end - j):
            places[j:j_end] = ours[i:i_end]
    if lost is not None or added is None:
        return Alignment(tuple(places), lost or (0, count))
    near = ours[min(added[0], len(ours) - 1)] if ours else 0
    return Alignment(tuple(places), (near, near + 1), added[1])


def _without_default_order(tokens: Sequence[Token]) -> list[int]:
    """Return the indices of all tokens but those of ``NULLS LAST``."""
    kept: list[int] = []
    for index, token in enumerate(tokens):
        if _folded(token) == "LAST" and index and _folded(tokens[index - 1]) == "NULLS" and kept[-1:] == [index - 1]:
            kept.pop()
            continue
        kept.append(index)
    return kept


def _without_added_as(written: Sequence[tuple[TokenType, str]], generated: Sequence[Token]) -> list[int]:
    """Return the indices of all tokens but each AS that was not written where it stands."""
    kept: list[int] = []
    for index, token in enumerate(generated):
        place = len(kept)
        is_written = place < len(written) and written[place][0] == TokenType.ALIAS
        if token.token_type != TokenType.ALIAS or is_written:
            kept.append(index)
    return kept


def _interval_key(written: Sequence[Token], index: int) -> tuple[TokenType, str] | None:
    """Return the key of the number in ``INTERVAL 7 DAY``, which comes back as ``INTERVAL '7' DAY``; None of others."""
    is_number = written[index].token_type == TokenType.NUMBER and index > 0
    is_of_interval = is_number and written[index - 1].token_type == TokenType.INTERVAL
    return (TokenType.STRING, written[index].text) if is_of_interval else None


def _commas_of_substrings(written: Sequence[Token]) -> set[int]:
    """Return the places of FROM and FOR in ``SUBSTRING(x FROM 1 FOR 2)``, which come back as commas."""
    found: set[int] = set()
    inside: list[bool] = []
    for index, token in enumerate(written):
        if token.token_type == TokenType.L_PAREN:
            inside.append(index > 0 and _folded(written[index - 1]) == "SUBSTRING")
        elif token.token_type == TokenType.R_PAREN and inside:
            inside.pop()
        elif inside and inside[-1] and token.token_type in (TokenType.FROM, TokenType.FOR):
            found.add(index)
    return found


def _key(token: Token) -> tuple[TokenType, str]:
    kind = _ONE.get(token.token_type, token.token_type)
    if kind in _EXACT:
        return kind, token.text
    return kind, "" if kind in _SPELLINGS or kind in _ONE.values() else _folded(token)


def _folded(token: Token) -> str:
    return token.text.upper() if token.text.isascii() and token.token_type not in _EXACT else token.text


def _matches(
    ours: Sequence[tuple[TokenType, str]], theirs: Sequence[tuple[TokenType, str]]
) -> list[tuple[str, int, int, int, int]]:
    """Return opcodes as those of :mod:`difflib`."""
    if ours == theirs:
        return [("equal", 0, len(ours), 0, len(theirs))]
    shorter = min(len(ours), len(theirs))
    first = next((index for index in range(shorter) if ours[index] != theirs[index]), shorter)
    after = next((index for index in range(shorter - first) if ours[-1 - index] != theirs[-1 - index]), shorter - first)
    i, j = len(ours) - after, len(theirs) - after
    found = [("replace", first, i, first, j)] if i > first else [("insert", first, i, first, j)]
    if max(i, j) - first <= _LONGEST:
        matcher = SequenceMatcher(None, ours[first:i], theirs[first:j], autojunk=False)
        found = [(tag, first + a, first + b, first + c, first + d) for tag, a, b, c, d in matcher.get_opcodes()]
    return [("equal", 0, first, 0, first), *found, ("equal", i, len(ours), j, len(theirs))]
