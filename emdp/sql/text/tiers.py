"""The levels of several readers in a header: ``alpha = TIERS(8, 4, 1)``."""

from typing import Protocol

from sqlglot.tokenizer_core import Token, TokenType

from emdp.base.errors import SqlError, UsageError
from emdp.questions.tiers import check_levels
from emdp.sql.text.statement import Option

__all__ = ["TIERS", "read_tiers"]

TIERS = "TIERS"
"""Name of the levels."""


class _Reader(Protocol):
    def next(self) -> Token: ...

    def refusal(self, first: Token, last: Token, code: str, problem: str, remedy: str) -> SqlError: ...


def read_tiers(reader: _Reader, name: Token, lower: str) -> Option:
    """Return the option whose value is TIERS and numbers in parentheses, from the opening one on."""
    reader.next()
    levels: list[float] = []
    while True:
        number, following = reader.next(), reader.next()
        is_end = following.token_type == TokenType.R_PAREN
        if number.token_type != TokenType.NUMBER or not (is_end or following.token_type == TokenType.COMMA):
            problem = f"{TIERS} of {lower} holds numbers with commas between them"
            raise reader.refusal(name, following, "option-value", problem, f"write {lower} = {TIERS}(8, 4, 1)")
        levels.append(float(number.text))
        if is_end:
            break
    try:
        first, *weaker = check_levels(lower, tuple(levels))
    except UsageError as error:
        raise reader.refusal(name, following, "option-value", error.problem, error.remedy) from None
    return Option(lower, first, name.start, following.end + 1, tuple(weaker))
