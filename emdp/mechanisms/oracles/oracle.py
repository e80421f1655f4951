"""Frequency oracles: one message a user, from which the mean of the users' normalised histograms is estimated.

Setting. There are ``k`` public items and ``n`` public users; user ``u`` has any number of records, at least one, and
the normalised histogram ``h_u``. What is estimated is the mean of ``h_u`` over users: every user weighs the same.

Theorem. Let ``M_x`` be the law of a message for item ``x``, and ``M_x(S) <= e^epsilon M_x'(S)`` for all items and sets
of messages. A user who draws one of its records uniformly and sends a message for its item has the law ``M_h = sum_x
h_x M_x``. For any two users, with any records, ``M_h(S) <= e^epsilon M_h'(S)``: user-level ``epsilon``-LDP. With ``d``
the total variation distance of ``h`` and ``h'``, which is their d_EM on 0/1 distances, even ``M_h(S) <= (1 + (e^epsilon
- 1) d) M_h'(S)``: the message is ``(e^epsilon - 1, 0)`` local d_EM-DP, for bags of any sizes (unbounded).

Proof. Take away what ``h`` and ``h'`` have in common: ``h - h' = d (a - b)`` with two distributions ``a``, ``b``. So
``M_h(S) - M_h'(S) = d (M_a(S) - M_b(S))``. Let ``m`` be the least ``M_x(S)`` over items. Then ``M_a(S) <= e^epsilon
m``, ``M_b(S) >= m`` and ``m <= M_h'(S)``, hence ``M_h(S) - M_h'(S) <= d (e^epsilon - 1) m <= d (e^epsilon - 1)
M_h'(S)``. ``d <= 1`` gives the first claim, and ``1 + z <= e^z`` the third. On a finite space with smallest distance
``w`` of two items, ``d <= d_EM/w``, so there ``alpha = (e^epsilon - 1)/w``. Conversely ``epsilon = ln(1 + alpha)``.

``epsilon`` here is that of the integer probabilities with which messages are drawn
(:mod:`emdp.mechanisms.strength`), rounded up. The draws are exact (:mod:`emdp.noise`), so no slack is left.

Estimates. Nearly all oracles are of one kind: a message *supports* some items, its user's item with probability ``p``,
any other item with probability ``q < p``. So item ``x`` is supported by user ``u`` with probability ``r = q + h_ux (p -
q)``, independently of other users, and ``(supporters of x/n - q)/(p - q)`` is unbiased, with the exact variance

    (q (1 - q) + f_x (p - q)(1 - 2 q) - (p - q)^2 g_x)/(n (p - q)^2),

``f_x`` the mean over users of ``h_ux``, ``g_x`` that of ``h_ux^2``. It is largest at ``g_x = f_x^2``, which is also its
value where users are drawn from a population with shares ``f`` and the error is to these. Users with one item each have
``g = f``.

References: local-shuffle-userlevel.md 1.3 and 3, technical-notes.md 2, EMD 4; Wang et al. 2017 for the pairs ``(p,
q)``.
"""

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_count, check_unit_interval
from emdp.base.errors import UsageError
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.strength import check_epsilon, epsilon_of_ratio
from emdp.mechanisms.weights import Floats, Integers
from emdp.noise.binomial import MAX_ITEMS
from emdp.privacy.blanket.sets import SetLaw
from emdp.privacy.rounding import float_up

__all__ = ["LARGEST_DOMAIN", "FrequencyOracle"]

LARGEST_DOMAIN = 2**24
"""Most items of an oracle: arrays of 128 MB."""

BLOCK_USERS = 2**20
"""Users whose messages are in memory together where only their tally is wanted."""

_INTEGRAL_STEPS = 512

_FIXED_POINT_STEPS = 12

_ROUNDING = 2.0**-40
# Above the relative error of a dozen operations on doubles.

_SUM_ERROR = 1e-9
# Of given shares, which should sum to 1.


class FrequencyOracle(ABC):
    """A randomizer of whole users, with the decoder that turns all messages into shares of items.

    Parameters
    ----------
    items : int
        ``k``, the public number of items, from 2 to ``LARGEST_DOMAIN``.
    users : int
        ``n``, the public number of users, at least 1.
    epsilon : float
        User-level epsilon asked for, from 1e-6 to 40; what is achieved, ``self.epsilon``, never exceeds it.

    Attributes
    ----------
    name : str
        The oracle's name, in words.
    requested : float
        The epsilon that was asked for.

    Raises
    ------
    UsageError
        If an argument is malformed.
    RefusedError
        If the oracle cannot serve so many items.

    Guarantee
    ---------
    Each user's message is ``epsilon``-LDP at user level and ``(alpha_em, 0)`` local d_EM-DP on 0/1 distances, for bags
    of any sizes, by the theorem of this file. Neighbours replace a user's whole bag; ``items`` and ``users`` are
    public, and every user sends one message, one without records that of a fixed public item.
    """

    name: ClassVar[str]

    def __init__(self, items: int, users: int, epsilon: float) -> None:
        self.items = check_count("items", items, minimum=2)
        if self.items > LARGEST_DOMAIN:
            raise UsageError(f"items must be at most {LARGEST_DOMAIN}, got {items}; merge items into groups.")
        self.users = check_count("users", users)
        if self.users > MAX_ITEMS:
            raise UsageError(f"users must be at most 2^40, got {users}; release parts of the users.")
        self.requested = check_epsilon(epsilon)
        self._prepare()

    def __repr__(self) -> str:
        """Return the kind, the numbers of items and users, and the strength asked for."""
        return f"{type(self).__name__}({self.items}, {self.users}, {self.requested!r})"

    @abstractmethod
    def _prepare(self) -> None:
        """Settle the integers that the law is made of, once the arguments are checked."""

    @property
    @abstractmethod
    def theorem(self) -> str:
        """The source of the guarantee, in one line."""

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """The largest quotient of two items' probabilities of one message, exactly: ``e^epsilon``."""

    @property
    @abstractmethod
    def chances(self) -> tuple[Fraction, Fraction]:
        """``(p, q)``: the probabilities that a message supports its user's item, and another item; exact."""

    @property
    def sets(self) -> SetLaw | None:
        """The exact law as mixing sees it (:mod:`emdp.privacy.blanket.sets`); None if the oracle is of another kind."""
        return None

    @abstractmethod
    def _encode(self, items: Integers) -> npt.NDArray[Any]:
        """Return the messages of users for one item each."""

    @abstractmethod
    def tally(self, messages: npt.NDArray[Any]) -> Integers:
        """Return what the decoder needs of some messages, as counts; tallies of blocks of users add up."""

    @abstractmethod
    def _supporters(self, tally: Integers) -> Floats:
        """Return how many messages support each item, shape (items,)."""

    @abstractmethod
    def _check_tally(self, tally: Integers) -> None:
        """Raise ``UsageError`` unless a tally has the right shape and is of all users."""

    @property
    def epsilon(self) -> float:
        """The user-level epsilon of the integer probabilities, rounded up; at most ``requested``."""
        # ratio <= exp(requested) by construction, so the smaller of the two bounds it.
        return min(epsilon_of_ratio(self.ratio), self.requested)

    @property
    def alpha_em(self) -> float:
        """``e^epsilon - 1`` of the integer probabilities, rounded up: alpha of d_EM-DP on 0/1 distances, delta 0."""
        return float_up(self.ratio - 1)

    def at(self, epsilon: float) -> Self:
        """Return the same oracle at another strength."""
        return type(self)(self.items, self.users, epsilon)

    def encode(self, bags: Bags) -> npt.NDArray[Any]:
        """Return the messages of some users, a row each: this spends.

        Parameters
        ----------
        bags : Bags
            Whole users; every one is given one message here and nowhere else.

        Returns
        -------
        numpy.ndarray
            Shape (users, ...), of a dtype that is fixed for each oracle.
        """
        bags.check_items(self.items)
        return self._encode(bags.draw_items())

    def draw_tally(self, bags: Bags) -> Integers:
        """Return a draw of the tally of all messages of some users, exact in law, without keeping them: this spends."""
        bags.check_items(self.items)
        parts = range(0, bags.users, BLOCK_USERS)
        blocks = (bags.part(first, min(first + BLOCK_USERS, bags.users)) for first in parts)
        total = self.tally(self._encode(np.zeros(0, dtype=np.int64)))
        for block in blocks:
            total += self.tally(self.encode(block))
        return total

    def decode(self, tally: Integers) -> Floats:
        """Return unbiased estimates of the mean normalised histogram, shape (items,); entries may be negative.

        Parameters
        ----------
        tally : numpy.ndarray of int64
            The sum of the tallies of all ``users`` messages.
        """
        given = np.asarray(tally)
        if given.dtype.kind not in "iu":
            raise UsageError(f"tally must hold integers, not {given.dtype}; pass a sum of tallies.")
        self._check_tally(given)
        return self._estimates(given.astype(np.int64, copy=False))

    def variances(self, p: npt.ArrayLike | None = None, squares: npt.ArrayLike | None = None) -> Floats:
        """Return the exact variance of every item's estimate, shape (items,).

        Parameters
        ----------
        p : array-like of float, shape (items,), optional
            The mean of the users' normalised histograms; uniform by default.
        squares : array-like of float, shape (items,), optional
            The mean of their squares. By default ``p**2``, the least that it can be: then the result is an upper bound,
            and exact for users drawn from a population with shares ``p``. Users with one item each have ``p`` itself.
        """
        shares, second = self._checked_shares(p, squares)
        high, low = self._floats
        gap = high - low
        return (low * (1.0 - low) + shares * (gap * (1.0 - 2.0 * low)) - gap * gap * second) / (gap * gap * self.users)

    def variance(self, share: float = 0.0) -> float:
        """Return the variance of an item's estimate, at most, if its mean share is ``share``: by default a rare item.

        For a share of 0 it is exact.
        """
        share = check_unit_interval("share", share, zero=True, one=True)
        high, low = self._floats
        rate = low + share * (high - low)
        return rate * (1.0 - rate) / ((high - low) ** 2 * self.users)

    def expected_l2_squared(self, p: npt.ArrayLike | None = None, squares: npt.ArrayLike | None = None) -> float:
        """Return the expected squared 2-norm of the error, exactly: the sum of :meth:`variances`."""
        return float(self.variances(p, squares).sum())

    def expected_l1(self, p: npt.ArrayLike | None = None, squares: npt.ArrayLike | None = None) -> float:
        """Return the expected 1-norm of the error: exact variances, normal errors."""
        return float(np.sqrt(self.variances(p, squares)).sum()) * math.sqrt(2.0 / math.pi)

    def expected_linf(self, p: npt.ArrayLike | None = None, squares: npt.ArrayLike | None = None) -> float:
        """Return the expected largest error, about: exact variances, normal errors, independent between items.

        The mean of a maximum is the integral of its tail; deviations are rounded to 1 in 1000.
        """
        from scipy.special import erfc

        deviations = np.sqrt(self.variances(p, squares))
        levels, counts = np.unique(np.round(np.log(deviations[deviations > 0]), 3), return_counts=True)
        sizes = np.exp(levels)
        reach = float(sizes.max()) * (math.sqrt(2.0 * math.log(2.0 * self.items)) + 6.0)
        steps = (np.arange(_INTEGRAL_STEPS) + 0.5) * (reach / _INTEGRAL_STEPS)
        below = [float(counts @ np.log1p(-erfc(step / (sizes * math.sqrt(2.0))))) for step in steps]
        return float(-np.expm1(below).sum()) * reach / _INTEGRAL_STEPS

    def interval(self, level: float, *, together: bool = False, share: float = 1.0) -> float:
        """Return the half width of intervals around estimates that hold the exact shares with a probability.

        The smaller of Bernstein's and Hoeffding's bound for the mean of ``n`` independent bounded terms; both hold for
        any data.

        Parameters
        ----------
        level : float
            In (0, 1): the probability for each single item, or for all at once.
        together : bool
            Whether all items' intervals should hold together (a union bound).
        share : float
            A public upper bound of the mean share of the items of interest; it narrows the interval of rare ones.
        """
        share = check_unit_interval("share", share, zero=True, one=True)
        return float(self._half_widths(np.array([share]), self._log_tail(level, together))[0])

    def intervals(self, estimates: Floats, level: float, *, together: bool = False) -> tuple[Floats, Floats]:
        """Return ends of intervals that hold the exact shares, narrower than :meth:`interval` for rare items.

        An interval holds every share whose own half width ``t``, which grows with it, reaches the estimate. From any
        ``f`` above all of them ``estimate + t(f)`` is again above all of them; and those below the estimate have at
        most the half width at the estimate.

        Parameters
        ----------
        estimates : numpy.ndarray of float, shape (items,)
            What :meth:`decode` returned.
        level, together
            As for :meth:`interval`.

        Returns
        -------
        low, high : numpy.ndarray of float, shape (items,)
            Within [0, 1].
        """
        given = np.asarray(estimates, dtype=np.float64)
        if given.shape != (self.items,) or not np.isfinite(given).all():
            raise UsageError(f"estimates must be {self.items} finite numbers, got shape {given.shape}; pass decode's.")
        log = self._log_tail(level, together)
        high = np.ones(self.items)
        for _ in range(_FIXED_POINT_STEPS):
            high = np.clip(given + self._half_widths(high, log), 0.0, 1.0)
        low = given - self._half_widths(np.clip(given, 0.0, 1.0), log)
        return np.clip(low, 0.0, 1.0), high

    @property
    @abstractmethod
    def message_bits(self) -> int:
        """Bits of one message."""

    def explain(self) -> str:
        """Return the oracle in one line."""
        return (
            f"{self.name} over {self.items} items, one message a user: epsilon = {self.epsilon:.6g} at user level, "
            f"alpha = {self.alpha_em:.6g} on 0/1 distances; {self.theorem}"
        )

    def parameters(self) -> dict[str, Any]:
        """Return what the ledger keeps of it, JSON-ready."""
        return {
            "name": self.name,
            "items": self.items,
            "users": self.users,
            "requested": self.requested,
            "epsilon": self.epsilon,
            "alpha_em": self.alpha_em,
        }

    def _estimates(self, tally: Integers) -> Floats:
        """Return the estimates from a sound tally."""
        high, low = self.chances
        centred = self._supporters(tally) - float(low * self.users)
        return np.asarray(centred / float((high - low) * self.users), dtype=np.float64)

    @property
    def _floats(self) -> tuple[float, float]:
        high, low = self.chances
        return float(high), float(low)

    @property
    def _width(self) -> float:
        """Largest difference of two users' contributions to ``n`` times an estimate."""
        high, low = self.chances
        return float(1 / (high - low))

    def _largest_variances(self, shares: Floats) -> Floats:
        """Return the largest mean variance of a user's contribution for items with at most these shares."""
        high, low = self._floats
        # The mean of r (1 - r) is at most that of the mean r, which lies between q and q + share (p - q).
        rates = np.minimum(max(0.5, low), low + shares * (high - low))
        return np.asarray(rates * (1.0 - rates) * self._width**2, dtype=np.float64)

    def _log_tail(self, level: float, together: bool) -> float:
        tail = (1.0 - check_unit_interval("level", level)) / (self.items if together else 1)
        return math.log(2.0 / tail)

    def _half_widths(self, shares: Floats, log: float) -> Floats:
        linear = self._width * log / 3.0
        most = self._largest_variances(shares)
        bernstein = (linear + np.sqrt(linear * linear + 2.0 * self.users * most * log)) / self.users
        hoeffding = self._width * math.sqrt(log / (2.0 * self.users))
        return np.asarray(np.minimum(bernstein, hoeffding) * (1.0 + _ROUNDING), dtype=np.float64)

    def _checked_shares(self, p: npt.ArrayLike | None, squares: npt.ArrayLike | None) -> tuple[Floats, Floats]:
        shares = np.full(self.items, 1.0 / self.items) if p is None else np.asarray(p, dtype=np.float64)
        if shares.shape != (self.items,):
            raise UsageError(f"p must have {self.items} elements, got shape {shares.shape}; pass a share an item.")
        if not ((shares >= 0).all() and abs(float(shares.sum()) - 1.0) <= _SUM_ERROR):
            raise UsageError("p must be at least 0 and sum to 1; pass shares.")
        second = np.square(shares) if squares is None else np.asarray(squares, dtype=np.float64)
        if second.shape != (self.items,):
            raise UsageError(f"squares must have {self.items} elements, got shape {second.shape}; pass one an item.")
        if not ((second >= np.square(shares) - _SUM_ERROR) & (second <= shares + _SUM_ERROR)).all():
            raise UsageError("squares must lie between p**2 and p; pass means of squared shares.")
        return shares, second
