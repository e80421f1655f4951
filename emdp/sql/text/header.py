"""The header of a statement: ``SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)``."""

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import cast

from sqlglot.tokenizer_core import Token, TokenType

from emdp.base.classes import dataclass
from emdp.base.errors import SqlError, UsageError
from emdp.questions.price import NEIGHBOUR_WORDS, epsilon_of_rho
from emdp.sql.text.families import (
    AUTOMATIC,
    CAP,
    CAP_WORD,
    CHOICES,
    EXPECTED_SHARE,
    FAR_POINT,
    GROUP_CAP,
    GROUPS_CAP,
    MEASURE_CAP,
    MESSAGES,
    NEIGHBOURS,
    RANGE,
    RHO,
    STAGE_WEIGHTS,
    USER_LEVEL,
    usual,
)
from emdp.sql.text.statement import Option, Privacy
from emdp.sql.text.tiers import TIERS, read_tiers
from emdp.sql.text.tokens import CLOSING, OPENING

__all__ = ["Header", "read_header"]

EXAMPLES: Mapping[str, str] = {
    "EMD_PRIVACY": "WITH EMD_PRIVACY OPTIONS (alpha = 1.0)",
    "USER_PRIVACY": "WITH USER_PRIVACY OPTIONS (epsilon = 1.0, delta = 1e-9, max_records_per_user = 50)",
}
"""A header of each kind."""

REQUIRED: Mapping[str, str] = {"EMD_PRIVACY": "alpha", "USER_PRIVACY": "epsilon"}
"""The option that each kind cannot do without."""

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "EMD_PRIVACY": ("alpha", "delta", "noise", EXPECTED_SHARE, FAR_POINT, *CHOICES, MESSAGES),
    "USER_PRIVACY": (
        "epsilon", RHO, "delta", CAP, MEASURE_CAP, RANGE, NEIGHBOURS, GROUPS_CAP, GROUP_CAP, "max_distinct_per_user",
        STAGE_WEIGHTS, "noise", EXPECTED_SHARE, FAR_POINT, *CHOICES, MESSAGES, *USER_LEVEL,
    ),
}  # fmt: skip
"""All options of each kind; those of :mod:`emdp.sql.text.families` are for some aggregates alone."""

NOISES: Mapping[str, tuple[str, ...]] = {
    "EMD_PRIVACY": ("auto", "laplace", "gaussian", "k_norm", "edges"),
    "USER_PRIVACY": ("auto", "laplace", "gaussian", "edges", "tree"),
}
"""Values of ``noise``."""

WEIGHT = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
"""A share of a stage, as it is written."""

_WORDS = ("PRIVACY", "ANON", "DP", "NOISE")
"""What the name of somebody else's header contains."""


@dataclass(frozen=True)
class Header:
    """A header, checked, and the tokens that are left of the statement."""

    privacy: Privacy
    options: Mapping[str, Option]
    span: tuple[int, int]  # Start and end in the text, from WITH to the closing parenthesis
    rest: tuple[Token, ...]  # The statement without it


def read_header(text: str, tokens: Sequence[Token], main: int) -> Header:
    """Return the header of a statement whose outermost SELECT is ``tokens[main]``.

    Raises
    ------
    SqlError
        If there is none, it is in another place, of another kind, or an option is missing, unknown, twice there, of
        a wrong type or out of its range.
    """
    reader = _Reader(text, tokens, main + 1)
    _check_place(reader, main)
    word = reader.next()
    if word.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
        problem, remedy = "the name of a guarantee stands without quotes", f"write {EXAMPLES['EMD_PRIVACY']}"
        raise reader.refusal(word, word, "unknown-privacy", problem, remedy)
    privacy = word.text.upper() if word.text.isascii() else ""
    if privacy not in OPTIONS:
        problem = f"there is no guarantee named `{word.text}`"
        raise reader.refusal(word, word, "unknown-privacy", problem, f"write {' or '.join(EXAMPLES.values())}")
    options: dict[str, Option] = {}
    if reader.is_at(0, "OPTIONS"):
        reader.next()
        options = _read_options(reader, privacy)
    elif reader.is_at(0, "(") or reader.is_at(0, "OPTION"):
        problem = f"the options of {privacy} follow the word OPTIONS"
        raise reader.refusal(word, word, "options", problem, f"write {EXAMPLES[privacy]}")
    if RHO in options:
        options |= _of_rho(reader, options)
    _check_required(reader, word, privacy, options)
    first, last = tokens[main + 1], tokens[reader.index - 1]
    rest = (*tokens[: main + 1], *tokens[reader.index :])
    return Header(cast("Privacy", privacy), options, (first.start, last.end + 1), rest)


class _Reader:
    """Steps through the tokens after SELECT."""

    def __init__(self, text: str, tokens: Sequence[Token], index: int) -> None:
        self.text, self.tokens, self.index = text, tokens, index

    def is_at(self, ahead: int, word: str) -> bool:
        place = self.index + ahead
        return place < len(self.tokens) and _is_word(self.tokens[place], word)

    def next(self) -> Token:
        if self.index >= len(self.tokens):
            last = self.tokens[-1]
            remedy = f"write {EXAMPLES['EMD_PRIVACY']} after SELECT, then the columns"
            raise self.refusal(last, last, "options", "the statement ends within its header", remedy)
        self.index += 1
        return self.tokens[self.index - 1]

    def refusal(self, first: Token, last: Token, code: str, problem: str, remedy: str) -> SqlError:
        return SqlError(problem, remedy=remedy, code=code, sql=self.text, start=first.start, end=last.end + 1)


def _is_word(token: Token, word: str) -> bool:
    return token.token_type not in (TokenType.STRING, TokenType.IDENTIFIER) and token.text.upper() == word


def _check_place(reader: _Reader, main: int) -> None:
    """Go past the WITH after the outermost SELECT; a header anywhere else is refused."""
    tokens = reader.tokens
    for index, token in enumerate(tokens[:-1]):
        if index != main and token.token_type == TokenType.SELECT and tokens[index + 1].token_type == TokenType.WITH:
            last = tokens[min(index + 2, len(tokens) - 1)]
            problem = "a statement has one header, which belongs to its outermost SELECT"
            raise reader.refusal(tokens[index + 1], last, "nested-header", problem, "move it there")
    if reader.is_at(0, "WITH"):
        reader.next()
        return
    for first, second in pairwise(tokens):
        if first.token_type == TokenType.WITH and second.text.upper() in OPTIONS:
            problem, remedy = "the header stands right behind the outermost SELECT", "write SELECT, then the header"
            raise reader.refusal(first, second, "header-place", problem, remedy)
    problem = "the statement says neither which guarantee its answer has nor what it may spend"
    remedy = f"write SELECT {EXAMPLES['EMD_PRIVACY']}, then the columns"
    if any(f"{one.text} {two.text}".upper() in ("FROM MEASURE", "JOIN MEASURE") for one, two in pairwise(tokens)):
        remedy = "ask what reads a released measure by emdp query, of a session or in a report, since a ledger has it"
    raise reader.refusal(tokens[main], tokens[main], "no-header", problem, remedy)


def _read_options(reader: _Reader, privacy: str) -> dict[str, Option]:
    options: dict[str, Option] = {}
    opening = reader.next()
    if opening.token_type != TokenType.L_PAREN:
        problem, remedy = "OPTIONS is followed by a list in parentheses", f"write {EXAMPLES[privacy]}"
        raise reader.refusal(opening, opening, "options", problem, remedy)
    if reader.is_at(0, ")"):
        reader.next()
        return options
    while True:
        option = _read_option(reader, privacy)
        if option.name in options:
            problem = f"the option {option.name} is given twice"
            raise _about(reader, option, "option-twice", problem, "give it once")
        _CHECKS[option.name](reader, option, privacy)
        options[option.name] = option
        token = reader.next()
        if token.token_type == TokenType.R_PAREN:
            return options
        if token.token_type != TokenType.COMMA:
            problem = f"the option {option.name} has one value, a number or a word"
            raise reader.refusal(token, token, "option-value", problem, "put a comma between options")


def _read_option(reader: _Reader, privacy: str) -> Option:
    name = reader.next()
    listed = ", ".join(OPTIONS[privacy])
    lower = name.text.lower() if name.text.isascii() else name.text
    is_word = lower == CAP_WORD and CAP in OPTIONS[privacy]
    lower = CAP if is_word else lower
    if name.token_type in (
        TokenType.STRING,
        TokenType.IDENTIFIER,
        TokenType.NUMBER,
        TokenType.COMMA,
        TokenType.R_PAREN,
    ):
        problem, remedy = "an option begins with its name, without quotes", f"write one of {listed}"
        raise reader.refusal(name, name, "unknown-option", problem, remedy)
    if lower not in OPTIONS[privacy]:
        other = next((kind for kind, names in OPTIONS.items() if lower in names), None)
        close = get_close_matches(lower, OPTIONS[privacy], 1) or [own for own in OPTIONS[privacy] if lower in own]
        problem = f"{privacy} has no option `{name.text}`"
        hint = f"it belongs to {other}; " if other else f"did you mean {close[0]}? " if close else ""
        raise reader.refusal(name, name, "unknown-option", problem, f"{hint}the options are {listed}")
    sign = reader.next()
    if sign.token_type != TokenType.EQ or reader.text[sign.start : sign.end + 1] != "=":
        problem, remedy = f"the option {lower} lacks its value", f"write {lower} = and the value"
        raise reader.refusal(name, name, "option-value", problem, remedy)
    option = _read_value(reader, name, lower)
    if is_word and option.value != AUTOMATIC:
        problem = f"cap = '{AUTOMATIC}' has the cap chosen, and takes no other value"
        raise _about(reader, option, "option-value", problem, f"write {CAP} = 50, for instance")
    return option


def _read_value(reader: _Reader, name: Token, lower: str) -> Option:
    token = reader.next()
    if lower in REQUIRED.values() and _is_word(token, TIERS) and reader.is_at(0, "("):
        return read_tiers(reader, name, lower)
    sign = 1
    if token.token_type in (TokenType.DASH, TokenType.PLUS):
        sign = -1 if token.token_type == TokenType.DASH else 1
        token = reader.next()
    value: float | int | str
    if token.token_type == TokenType.NUMBER:
        value = sign * (int(token.text) if token.text.isdigit() else float(token.text))
    elif token.token_type in (OPENING | set(CLOSING) | {TokenType.COMMA, TokenType.DASH, TokenType.PLUS}):
        problem, remedy = f"the option {lower} takes a literal, which is not computed", "write the number itself"
        raise reader.refusal(name, token, "option-value", problem, remedy)
    else:
        value = token.text.lower() if token.text.isascii() else token.text
    following = reader.tokens[reader.index] if reader.index < len(reader.tokens) else token
    if following.token_type not in (TokenType.COMMA, TokenType.R_PAREN):
        problem, remedy = f"the option {lower} takes one literal, which is not computed", "write the number itself"
        raise reader.refusal(name, following, "option-value", problem, remedy)
    return Option(lower, value, name.start, token.end + 1)


def _about(reader: _Reader, option: Option, code: str, problem: str, remedy: str) -> SqlError:
    return SqlError(problem, remedy=remedy, code=code, sql=reader.text, start=option.start, end=option.end)


def _check_positive(reader: _Reader, option: Option, privacy: str) -> None:
    if isinstance(option.value, str) or not option.value > 0:
        problem, remedy = f"{option.name} must be a number above 0", f"write {option.name} = 1.0, for instance"
        raise _about(reader, option, "option-value", problem, remedy)


def _check_delta(reader: _Reader, option: Option, privacy: str) -> None:
    if isinstance(option.value, str) or not 0 <= option.value < 1:
        problem, remedy = "delta must be a number from 0, included, to 1, excluded", "write delta = 1e-9, for instance"
        raise _about(reader, option, "option-value", problem, remedy)


def _check_count(reader: _Reader, option: Option, privacy: str) -> None:
    if not isinstance(option.value, int) or not 1 <= option.value < 2**31:
        problem = f"{option.name} must be a whole number from 1 to 2147483647"
        if option.value == AUTOMATIC:
            problem += ", and nothing here chooses it from the data"
        raise _about(reader, option, "option-value", problem, f"write {option.name} = 50, for instance")


def _check_cap(reader: _Reader, option: Option, privacy: str) -> None:
    if option.value != AUTOMATIC:
        _check_count(reader, option, privacy)


def _check_automatic(reader: _Reader, option: Option, privacy: str) -> None:
    if option.value != AUTOMATIC:
        problem, remedy = f"{option.name} takes the word {AUTOMATIC} alone", "write CLAMP(e, 0, 100) for a given range"
        raise _about(reader, option, "option-value", problem, remedy)


def _check_not_negative(reader: _Reader, option: Option, privacy: str) -> None:
    if isinstance(option.value, str) or not option.value >= 0:
        problem, remedy = f"{option.name} must be a number of at least 0", f"write {option.name} = 0.5, for instance"
        raise _about(reader, option, "option-value", problem, remedy)


def _check_share(reader: _Reader, option: Option, privacy: str) -> None:
    if isinstance(option.value, str) or not 0 < option.value < 1:
        problem, remedy = f"{option.name} must be a number between 0 and 1", f"write {option.name} = 0.01, for instance"
        raise _about(reader, option, "option-value", problem, remedy)


def _check_truth(reader: _Reader, option: Option, privacy: str) -> None:
    if option.value not in ("true", "false"):
        problem, remedy = f"{option.name} must be TRUE or FALSE", f"write {option.name} = TRUE, or leave it out"
        raise _about(reader, option, "option-value", problem, remedy)


def _check_noise(reader: _Reader, option: Option, privacy: str) -> None:
    if not isinstance(option.value, str) or option.value.lower() not in NOISES[privacy]:
        problem = f"noise of {privacy} must be one of {', '.join(NOISES[privacy])}"
        raise _about(reader, option, "option-value", problem, "write noise = 'auto', or leave it out")


def _check_word(reader: _Reader, option: Option, privacy: str) -> None:
    # Which aggregate it is for stands behind the header: this only tells a word of one of them from any other.
    choices = {name: found() for name, found in CHOICES[option.name].items()}
    if not isinstance(option.value, str) or not any(option.value in allowed for allowed in choices.values()):
        by_words: dict[tuple[str, ...], list[str]] = {}
        for function, allowed in choices.items():
            by_words.setdefault(allowed, []).append(function)
        listed = ", or ".join(f"{', '.join(words)} for {' and '.join(names)}" for words, names in by_words.items())
        problem, remedy = (
            f"{option.name} must be one of {listed}",
            f"write {option.name} = '{usual(next(iter(by_words)))}'",
        )
        raise _about(reader, option, "option-value", problem, remedy)


def _check_neighbours(reader: _Reader, option: Option, privacy: str) -> None:
    if option.value not in NEIGHBOUR_WORDS:
        problem = f"neighbours must be one of {', '.join(NEIGHBOUR_WORDS)}"
        raise _about(reader, option, "option-value", problem, "write neighbours = 'remove', or leave it out")


def _check_weights(reader: _Reader, option: Option, privacy: str) -> None:
    parts = option.value.split(",") if isinstance(option.value, str) else []
    if not parts or not all(WEIGHT.fullmatch(part.strip()) and float(part) > 0 for part in parts):
        problem = f"{option.name} must be a text of numbers above 0, one for each stage"
        raise _about(reader, option, "option-value", problem, f"write {option.name} = '1, 3', or leave it out")


_CHECKS: Mapping[str, Callable[[_Reader, Option, str], None]] = {
    "alpha": _check_positive,
    "epsilon": _check_positive,
    RHO: _check_positive,
    "delta": _check_delta,
    CAP: _check_cap,
    MEASURE_CAP: _check_truth,
    RANGE: _check_automatic,
    GROUPS_CAP: _check_cap,
    GROUP_CAP: _check_count,
    "max_distinct_per_user": _check_count,
    "noise": _check_noise,
    NEIGHBOURS: _check_neighbours,
    STAGE_WEIGHTS: _check_weights,
    "spread": _check_positive,
    "between_users": _check_not_negative,
    "records_per_user": _check_count,
    "failure": _check_share,
    MESSAGES: _check_count,
    EXPECTED_SHARE: _check_share,
    FAR_POINT: _check_truth,
    **dict.fromkeys(CHOICES, _check_word),
}


def _of_rho(reader: _Reader, options: Mapping[str, Option]) -> dict[str, Option]:
    """Return epsilon and noise as a price in rho has them."""
    rho, delta, noise = options[RHO], options.get("delta"), options.get("noise")
    if "epsilon" in options:
        problem = "rho and epsilon are two prices of one statement"
        raise _about(reader, rho, "option-twice", problem, "leave one of them out")
    if delta is None or not delta.value:
        problem = "rho is of Gaussian noise, whose epsilon holds up to a delta above 0 only"
        raise _about(reader, rho, "option-value", problem, "add delta = 1e-9, or write epsilon in place of rho")
    if noise is not None and noise.value != "gaussian":
        problem = "rho is of Gaussian noise alone"
        raise _about(reader, noise, "option-value", problem, "leave noise out, or write epsilon in place of rho")
    try:
        epsilon = epsilon_of_rho(float(rho.value), float(delta.value))
    except UsageError as error:
        raise _about(reader, rho, "option-value", error.problem, error.remedy) from None
    return {
        "epsilon": Option("epsilon", epsilon, rho.start, rho.end),
        "noise": Option("noise", "gaussian", rho.start, rho.end),
    }


def _check_required(reader: _Reader, word: Token, privacy: str, options: dict[str, Option]) -> None:
    required = REQUIRED[privacy]
    if required not in options:
        problem = f"{privacy} needs the option {required}, which says what the statement may spend"
        raise reader.refusal(word, word, "option-missing", problem, f"write {EXAMPLES[privacy]}")
    noise, delta = options.get("noise"), options.get("delta")
    if noise is not None and str(noise.value).lower() == "gaussian" and not (delta and delta.value):
        problem = "gaussian noise gives its guarantee up to a delta above 0 only"
        raise _about(reader, noise, "option-value", problem, "add delta = 1e-9, or write noise = 'auto'")
