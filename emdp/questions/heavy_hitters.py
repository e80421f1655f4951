"""The frozen query for frequent strings of a column whose values nobody listed."""

import string
from typing import Literal, get_args

from emdp.base.checks import check_choice, check_count, check_range, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.privacy.guarantees.kinds import Neighbours
from emdp.questions.itemwise import MODELS, Model
from emdp.questions.names import Names
from emdp.questions.price import Price, check_price, refuse_removal

__all__ = ["DEFAULT_LENGTH", "HeavyHitters", "WordTokenizer", "check_listed", "check_text_column", "heavy_hitters"]

DEFAULT_LENGTH = 12
"""Bytes of the longest string that messages of users find, unless told: every further few are one more level."""

WORD_CHARACTERS = string.ascii_lowercase + string.digits + "'"
TEXT_CHARACTERS = string.ascii_lowercase + string.digits + " _-'"
"""Default alphabet of strings that messages of users find: words have no other characters."""

EPSILONS = (1e-6, 40.0)
"""Prices that the mechanisms are made for."""

WordTokenizer = Literal["words", "unicode"]
"""Rules that make words of a text."""

TEXT_TYPES = ("VARCHAR", "ENUM")


@dataclass(frozen=True)
class HeavyHitters:
    """The most frequent strings of a column of text, at user level.

    A string's frequency is the mean over the public users of its share of the user's records. Nobody needs to know
    beforehand which strings there are.

    Parameters
    ----------
    column : str
        Any column of text of the table, whether its space has it or not.
    price : Price
        At user level, with an epsilon from 1e-6 to 40; delta is 0 in the local model, above 0 in the others.
    threshold : float, optional
        Frequency, in (0, 1), from which every string is found.
    count : int, optional
        Instead: the so many most frequent strings, at the smallest threshold that users and price allow.
    words : bool
        Whether every token is a record, as :class:`emdp.Words` makes them (ASCII capitals are small letters there), or
        every text is.
    length : int, optional
        Most bytes of a string; longer ones count as none. 12 by default, and without a limit in the central model.
    alphabet : str, optional
        ASCII characters that strings consist of; a string with others counts as none. By default small letters,
        digits and the apostrophe, with words=False also the blank, the hyphen and the underscore; any in the central
        model.
    lower : bool
        Whether ASCII capitals are small letters.
    model : {"central", "shuffle", "local"}
        Noise that a curator adds to the strings that occur, which finds rarer ones by far; one message of every user,
        mixed; or one message of every user to whoever asks.
    failure : float
        In (0, 1): what is said of the strings that are found fails with at most this probability.
    name : str
        Column of the frequencies.
    tokenizer : {"words", "unicode"}
        Which tokens, with words=True, as :class:`emdp.Words` makes them; ``"unicode"`` in the central model alone.

    Raises
    ------
    UsageError
        If a parameter is malformed or does not fit the others.

    >>> query = HeavyHitters("message", Price("epsilon", 2.0), threshold=0.01, words=True, model="local")
    >>> query.longest, query.characters
    (12, "abcdefghijklmnopqrstuvwxyz0123456789'")
    """

    column: str
    price: Price
    threshold: float | None = None
    count: int | None = None
    words: bool = False
    length: int | None = None
    alphabet: str | None = None
    lower: bool = True
    model: Model = "central"
    failure: float = 0.01
    name: str = "frequency"
    tokenizer: WordTokenizer = "words"

    def __post_init__(self) -> None:
        for field, example in (("column", "a column of text"), ("name", "the answer's column")):
            value = getattr(self, field)
            if not isinstance(value, str) or not value:
                raise UsageError(f"{field} must be a non-empty text; pass {example}.")
        if self.name in ("value", "value_low", "value_high"):
            raise UsageError(f"name={self.name!r} is what the column of strings is called; pass another one.")
        for field in ("words", "lower"):
            if not isinstance(getattr(self, field), bool):
                raise UsageError(f"{field} must be True or False; pass one of them.")
        if self.words and not self.lower:
            raise UsageError("lower=False does not fit words=True, whose tokens are of small letters; leave it out.")
        self._check_tokenizer()
        self._check_wanted()
        self._check_price()
        self._check_strings()

    @property
    def longest(self) -> int | None:
        """Most bytes of a string, None without a limit."""
        return DEFAULT_LENGTH if self.length is None and self.model != "central" else self.length

    @property
    def characters(self) -> str | None:
        """The characters of a string, None for any."""
        if self.alphabet is not None or self.model == "central":
            return self.alphabet
        return WORD_CHARACTERS if self.words else TEXT_CHARACTERS

    @property
    def text(self) -> str:
        """The query as text, for the ledger and for explanations."""
        parts = [f"heavy_hitters({self.column!r}"]
        for field in ("threshold", "count", "price", "words", "tokenizer", "length", "alphabet", "lower"):
            value = getattr(self, field)
            if isinstance(value, Price):
                parts += [f"epsilon={value.level!r}", *([f"delta={value.delta!r}"] if value.delta else [])]
            elif value != type(self).__dataclass_fields__[field].default:
                parts.append(f"{field}={value!r}")
        return ", ".join([*parts, f"model={self.model!r}", f"failure={self.failure!r}"]) + ")"

    def _check_tokenizer(self) -> None:
        check_choice("tokenizer", self.tokenizer, get_args(WordTokenizer))
        if self.tokenizer == "unicode" and not self.words:
            raise UsageError("tokenizer='unicode' is about words; pass words=True, or leave it out.")
        if self.tokenizer == "unicode" and (self.model != "central" or self.alphabet is not None):
            raise UsageError(
                "tokenizer='unicode' needs model='central' without an alphabet: messages of users are about ASCII "
                "characters; pass model='central', or leave tokenizer out."
            )

    def _check_wanted(self) -> None:
        if (self.threshold is None) == (self.count is None):
            raise UsageError(
                "exactly one of threshold and count must be given; pass the frequency from which strings are found, or "
                "how many of the most frequent ones."
            )
        if self.threshold is not None:
            object.__setattr__(self, "threshold", check_unit_interval("threshold", self.threshold))
        if self.count is not None:
            object.__setattr__(self, "count", check_count("count", self.count))
        object.__setattr__(self, "failure", check_unit_interval("failure", self.failure))

    def _check_price(self) -> None:
        check_choice("model", self.model, MODELS)
        check_price(self.price, "epsilon")
        check_range("epsilon", self.price.level, *EPSILONS)
        if self.model == "local" and self.price.delta:
            raise UsageError("delta must be 0 for model='local', whose messages need none; leave it out.")
        if self.model != "local" and not self.price.delta:
            raise UsageError(
                f"delta must be above 0 for model={self.model!r}; pass one far below 1/users, such as 1e-9, or "
                "model='local'."
            )

    def _check_strings(self) -> None:
        if self.length is not None:
            object.__setattr__(self, "length", check_count("length", self.length))
        if self.alphabet is None:
            return
        own = self.alphabet
        if not isinstance(own, str) or not own or not own.isascii() or len(set(own)) < len(own) or "\0" in own:
            raise UsageError(
                "alphabet must be distinct ASCII characters other than NUL; pass them as one text, or model='central', "
                "where any string is found."
            )
        if self.lower and own != own.lower():
            raise UsageError("alphabet has capitals, which are small letters here; leave them out, or lower=False.")


def heavy_hitters(
    column: str,
    *,
    threshold: float | None = None,
    count: int | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    words: bool = False,
    length: int | None = None,
    alphabet: str | None = None,
    lower: bool = True,
    model: Model = "central",
    failure: float = 0.01,
    name: str = "frequency",
    tokenizer: WordTokenizer = "words",
    neighbours: Neighbours = "replace",
) -> HeavyHitters:
    """Return a :class:`HeavyHitters` query; see there for the parameters.

    >>> heavy_hitters("message", count=10, epsilon=2.0, delta=1e-9).text
    "heavy_hitters('message', count=10, epsilon=2.0, delta=1e-09, model='central', failure=0.01)"
    """
    refuse_removal(neighbours, "frequencies of strings")
    missing = "epsilon must be given: strings of an unknown list are found at user level; pass one."
    price = Price.user_level(epsilon, delta, missing=missing, ends=EPSILONS)
    return HeavyHitters(column, price, threshold, count, words, length, alphabet, lower, model, failure, name,
                        tokenizer)  # fmt: skip


def check_text_column(query: HeavyHitters, names: Names) -> None:
    """Raise ``UsageError`` unless a query is about a column of text of the table, other than the user's key."""
    kind = names.columns.get(query.column)
    texts = [name for name, own in names.columns.items() if _is_text(own) and name != names.user]
    listed = f"name one of {', '.join(map(repr, texts))}" if texts else "the table has none"
    if kind is None:
        raise UsageError(f"column {query.column!r} is none of the table's; columns of text are asked about: {listed}.")
    if query.column == names.user:
        raise UsageError(f"column {query.column!r} says who the user is; ask about another column: {listed}.")
    if not _is_text(kind):
        raise UsageError(
            f"column {query.column!r} is {_type_name(kind)}, and only text has frequent strings; ask for frequencies "
            f"of a space with it, such as emdp.Interval or emdp.Categories, or {listed}."
        )


def check_listed(column: str, names: Names) -> None:
    """Raise ``UsageError`` if a column whose values are to be counted is one of text that nobody listed values of.

    >>> from emdp.spaces import Interval
    >>> check_listed("x", Names("visits", "user", Interval("x", 0, 1), {"user": "BIGINT", "x": "DOUBLE"}, 3))
    """
    is_finite = any(column in part.columns and part.labels is not None for part in names.space.parts)
    if not is_finite and column != names.user and _is_text(names.columns.get(column, "")):
        raise UsageError(
            f"column {column!r} has no public list of values; read the table with a Categories part that lists them, "
            f"or find the frequent ones by session.heavy_hitters({column!r}, ...)."
        )


def _is_text(kind: str) -> bool:
    return _type_name(kind) in TEXT_TYPES


def _type_name(kind: str) -> str:
    """Return the name of a DuckDB type alone: an ENUM's values may be private."""
    return kind.upper().split("(")[0].strip()
