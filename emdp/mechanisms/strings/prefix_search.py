"""Frequent strings of an unknown list: a search along prefixes in which every user sends one message.

Setting. ``n`` public users, a public alphabet of bytes, strings of at most ``L`` of them. A string's frequency
``f_x`` is the mean over users of its share of the user's records. The search has ``T`` levels, and users are dealt
out to levels by a uniform permutation, which does not depend on the data. At level ``j`` the candidates are the
survivors of level ``j - 1``, each as a complete string and with every continuation of up to ``step`` bytes, and one
more for "none of these". A user of the level sends one message of a frequency oracle about the share of its records
that begin with each candidate (:mod:`emdp.mechanisms.oracles.oracle`). Candidates with estimates of at least
``threshold - w`` survive, at most ``floor(3/threshold)`` of them.

Theorem (privacy). Each user's message is ``epsilon``-LDP at user level given all messages before it, for any records.
So is the whole search: a user sends one message, and what others are asked later depends on it through that message
alone.

Theorem (what is found). Let ``w <= threshold/3`` with ``w = a + b``, where oracle estimates of all candidates of a
level are within ``a`` of the level's own frequencies with probability ``1 - beta/(2T)``, and ``(3 e^2/b) exp(-2 m
b^2) <= beta/(2T)``, ``m`` the users of a level, ``b <= 1/2`` (``b = 0`` if ``T = 1``). With probability at least ``1
- beta``: every string with ``f_x >= threshold`` is found, no string with ``f_x < threshold - 2 w`` is, and estimates
are within ``w`` of the truth.

Proof. *The level's users stand for all.* Let ``f'`` be a level's frequencies, from a uniform sample of ``m`` users.
Sums of such a sample have moment generating functions at most those of independent draws (Hoeffding 1963, theorem 4).
The strings of one length, or prefixes, with ``f_x >= b/e^2`` are at most ``e^2/b``, and ``|f'_x - f_x| > b`` has
probability at most ``2 exp(-2 m b^2)`` for each. For the others ``f'_x < f_x - b`` is impossible, and by Chernoff
``f'_x >= f_x + b`` has probability at most ``(e f_x/b)^{m b} <= (f_x/b) e^{2 - m b}``, which adds up to at most
``(e^2/b) e^{-m b} <= (e^2/b) e^{-2 m b^2}`` over all of them, as the frequencies of prefixes add up to at most 1. So
all at once fail with at most ``beta/(2T)``, whatever the candidates are. *Estimates.* Given the dealing and the
earlier levels, whose users are others, the candidates are fixed and the oracle's union bound applies. So but for
``beta`` in all, all estimates of candidates are within ``w`` of ``f``. *Conclusion.* A prefix of a frequent string is
at least as frequent, so its estimate is at least ``threshold - w``; survivors have a frequency of at least
``threshold - 2 w >= threshold/3``, so at most ``3/threshold`` survive and none is cut off.
"""

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_count, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.oracles.hadamard_bit import OneBitHadamardOracle
from emdp.mechanisms.oracles.oracle import FrequencyOracle
from emdp.mechanisms.weights import Floats, Integers
from emdp.noise.choices import draw_permutation

__all__ = ["FoundStrings", "HeavyHitterSearch", "chosen_bags", "sampling_error"]

Strings = npt.NDArray[np.bytes_]

MOST_CANDIDATES = 2**20
"""Most candidates of a level: the estimates' error grows with the logarithm alone, time and memory in proportion."""

MOST_USERS = 2**40


@dataclass(frozen=True, eq=False)
class FoundStrings:
    """Result of a search."""

    strings: tuple[bytes, ...]  # Most frequent first
    estimates: Floats  # Their estimated frequencies, by the users of the last level
    half_width: float  # `w`: all of them are this near to the truth, with the search's probability


@dataclass(frozen=True)
class HeavyHitterSearch:
    """A planned search for all strings with a frequency of at least ``threshold``.

    Raises
    ------
    UsageError
        If an argument is malformed, or there are too few users for the threshold; the message says how many it takes.

    Guarantee
    ---------
    ``epsilon``-LDP at user level, for any records, and the theorem on what is found: the module's text.

    >>> search = HeavyHitterSearch(2_000_000, 2.0, threshold=0.1, alphabet=b"abcdefgh", length=6)
    >>> search.levels, search.step, search.half_width <= 0.1 / 3
    (2, 3, True)
    """

    users: int  # The public number of users
    epsilon: float  # User-level epsilon of every user's one message
    threshold: float  # Frequency from which strings are found, in (0, 1): the share of an average user's records
    alphabet: bytes  # The public bytes that strings consist of, distinct, not NUL. Text is to be encoded first.
    # Most bytes of a string that can be found. Longer strings, the empty one and those with other bytes count as none
    # of the candidates.
    length: int
    beta: float = 0.01  # Probability that the statement on what is found fails
    oracle: type[FrequencyOracle] = OneBitHadamardOracle

    def __post_init__(self) -> None:
        check_count("users", self.users)
        check_count("length", self.length)
        check_unit_interval("threshold", self.threshold)
        check_unit_interval("beta", self.beta)
        letters = self.alphabet
        if not isinstance(letters, bytes) or not letters or 0 in letters or len(set(letters)) < len(letters):
            raise UsageError("alphabet must be distinct bytes other than NUL; pass them as one bytes object.")
        if self.candidates_at(1) > MOST_CANDIDATES:
            raise UsageError(
                f"threshold {self.threshold:g} makes more than {MOST_CANDIDATES} candidates; ask for a larger one, or "
                "shorten the alphabet."
            )
        if not self.half_width <= self.threshold / 3:
            raise UsageError(
                f"users must be at least {self.users_needed} to find frequencies of {self.threshold:g} at epsilon = "
                f"{self.epsilon:g}, got {self.users}; ask for a larger threshold or epsilon, or for shorter strings."
            )

    @cached_property
    def step(self) -> int:
        """Bytes added by a level: as many as the number of candidates allows, and no more than the levels need."""
        most = 1
        while most < self.length and self.candidates_at(most + 1) <= MOST_CANDIDATES:
            most += 1
        return -(-self.length // -(-self.length // most))

    @cached_property
    def levels(self) -> int:
        """``T``."""
        return -(-self.length // self.step)

    @property
    def most_survivors(self) -> int:
        """Most candidates that pass a level."""
        return math.floor(3.0 / self.threshold)

    @property
    def level_users(self) -> int:
        """Users of the smallest level."""
        return self.users // self.levels

    @cached_property
    def half_width(self) -> float:
        """``w``, rounded up; infinite where a level has no users."""
        return self._half_width_of(self.level_users)

    @cached_property
    def users_needed(self) -> int:
        """The least number of users for this threshold, with the other arguments."""
        low, high = 0, 1
        while not self._half_width_of(high) <= self.threshold / 3:
            low, high = high, 2 * high
            if high * self.levels > MOST_USERS:
                raise UsageError(
                    f"threshold {self.threshold:g} takes more than 2^40 users at epsilon = {self.epsilon:g}; ask for a "
                    "larger one."
                )
        while high - low > 1:
            middle = (low + high) // 2
            if self._half_width_of(middle) <= self.threshold / 3:
                high = middle
            else:
                low = middle
        return high * self.levels

    def candidates_at(self, step: int) -> int:
        """Return the most candidates that a level of so many bytes can have, "none of these" included."""
        letters = len(self.alphabet)
        continuations = int(sum(letters**added for added in range(step + 1)))
        return self.most_survivors * continuations + 1

    def explain(self) -> str:
        """Return the plan in a few sentences."""
        return (
            f"{self.levels} levels of {self.step} bytes, {self.level_users} users each, every user one message of "
            f"{self.oracle.name} at epsilon = {self.epsilon:g}. But for a probability of {self.beta:g}, every string "
            f"with a frequency of at least {self.threshold:.4g} is found, none below "
            f"{self.threshold - 2 * self.half_width:.4g}, and estimates are within {self.half_width:.3g}. It takes "
            f"{self.users_needed} users."
        )

    def deal(self) -> Integers:
        """Return the level, from 0, of every user: dealt out evenly by a uniform permutation."""
        return np.asarray(draw_permutation(self.users) % self.levels, dtype=np.int64)

    def extend(self, survivors: Sequence[bytes], level: int) -> Strings:
        """Return the candidates of a level, sorted.

        Parameters
        ----------
        survivors : sequence of bytes
            What passed the level before; ``[b""]`` for level 0.
        level : int
            From 0.
        """
        width = min((level + 1) * self.step, self.length)
        found: list[bytes] = []
        for one in survivors:
            # Shorter than what the levels before could hold: it is complete.
            is_open = len(one) == level * self.step
            grown = [one]
            found.append(one)
            while is_open and grown and len(grown[0]) < width:
                grown = [prefix + bytes([letter]) for prefix in grown for letter in self.alphabet]
                found += grown
        return np.array(sorted(set(found) - {b""}), dtype=f"S{width}")

    def codes(self, words: npt.ArrayLike, candidates: Strings) -> Integers:
        """Return for each word the candidate that stands for it: its own number, or that of "none of these", the last.

        A word that begins with a candidate of full width is that candidate's; one that equals a shorter candidate is
        that candidate's.
        """
        given = _checked_words(words)
        is_letter = np.zeros(256, dtype=np.bool_)
        is_letter[list(self.alphabet)] = True
        lengths = np.char.str_len(given)
        # A word is padded by NUL, which is no letter.
        letters = is_letter[given.reshape(-1, 1).view(np.uint8)].sum(axis=1)
        sound = (letters == lengths) & (lengths <= self.length)
        cut = given.astype(candidates.dtype)
        place = np.minimum(np.searchsorted(candidates, cut), len(candidates) - 1)
        return np.where(sound & (candidates[place] == cut), place, len(candidates)).astype(np.int64)

    def level_oracle(self, candidates: Strings, users: int) -> FrequencyOracle:
        """Return what the users of a level answer with."""
        return self.oracle(len(candidates) + 1, users, self.epsilon)

    def survivors(self, candidates: Strings, estimates: Floats) -> Integers:
        """Return the places of the candidates that pass, most frequent first; the last estimate is of none of them."""
        own = estimates[: len(candidates)]
        order = np.argsort(-own, kind="stable")[: self.most_survivors]
        return np.asarray(order[own[order] >= self.threshold - self.half_width], dtype=np.int64)

    def search(self, bags: Bags, words: npt.ArrayLike) -> FoundStrings:
        """Run all levels on the bags of all users: this spends.

        Parameters
        ----------
        bags : Bags
            All users, codes being places in ``words``. A user without records has one of the empty string.
        words : array-like of bytes
            The strings that codes stand for, shape (words,).
        """
        given = _checked_words(words)
        if bags.users != self.users:
            raise UsageError(f"bags must be those of {self.users} users, as planned; pass all of them.")
        bags.check_items(given.size)
        dealt = self.deal()

        def tally(level: int, candidates: Strings, oracle: FrequencyOracle) -> Integers:
            own = chosen_bags(bags, dealt == level)
            return oracle.draw_tally(Bags(own.offsets, self.codes(given, candidates)[own.codes], own.counts))

        return self.ask(tally)

    def ask(self, tally: Callable[[int, Strings, FrequencyOracle], Integers]) -> FoundStrings:
        """Run all levels: this spends.

        Parameters
        ----------
        tally : callable
            From a level, its candidates and its oracle to the tally of the messages of all users dealt to that level.
        """
        passed: list[bytes] = [b""]
        shares = np.zeros(0)
        for level in range(self.levels):
            candidates = self.extend(passed, level)
            # As many as `deal` gives a level.
            oracle = self.level_oracle(candidates, self.level_users + (level < self.users % self.levels))
            estimates = oracle.decode(tally(level, candidates, oracle))
            kept = self.survivors(candidates, estimates)
            passed, shares = candidates[kept].tolist(), estimates[kept]
            if not passed:
                break
        return FoundStrings(tuple(passed), shares, self.half_width)

    def parameters(self) -> dict[str, Any]:
        """Return what the ledger keeps of it, JSON-ready."""
        return {
            "name": "prefix search",
            "oracle": self.oracle.name,
            "users": self.users,
            "epsilon": self.epsilon,
            "threshold": self.threshold,
            "alphabet": self.alphabet.hex(),
            "length": self.length,
            "beta": self.beta,
        }

    def _half_width_of(self, level_users: int) -> float:
        if level_users < 1:
            return math.inf
        share = self.beta / (2 * self.levels)
        oracle = self.oracle(self.candidates_at(self.step), level_users, self.epsilon)
        own = oracle.interval(1.0 - share, together=True)
        return own if self.levels == 1 else own + sampling_error(level_users, share)


def _checked_words(words: npt.ArrayLike) -> Strings:
    """Return a vector of byte strings; text is refused, as encoding it could fail with a word in the message."""
    given = np.asarray(words)
    if given.ndim != 1 or (given.size and given.dtype.kind != "S"):
        raise UsageError(f"words must be a list of bytes, not {given.dtype}; encode text first.")
    return np.ascontiguousarray(given.astype(np.bytes_))


def sampling_error(users: int, failure: float) -> float:
    """Return ``b`` with ``(3 e^2/b) exp(-2 users b^2) <= failure``, rounded up; infinite above 1/2."""

    def is_enough(width: float) -> bool:
        return math.log(3.0 / (width * failure)) + 2.0 - 2.0 * users * width * width <= -1e-9

    low, high = 0.0, 0.5
    if not is_enough(high):
        return math.inf
    for _ in range(60):
        middle = 0.5 * (low + high)
        if is_enough(middle):
            high = middle
        else:
            low = middle
    return high


def chosen_bags(bags: Bags, mask: npt.NDArray[np.bool_]) -> Bags:
    """Return the bags of some users, in their order."""
    lengths = np.diff(bags.offsets)
    entries = np.repeat(mask, lengths)
    offsets = np.concatenate(([0], np.cumsum(lengths[mask])))
    return Bags(offsets, bags.codes[entries], bags.counts[entries])
