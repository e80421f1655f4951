"""Shuffled rounds in which only some users, or some of their records, tell: who does is drawn in secret.

**Setting** (sampling-and-descent.md 1). ``n`` users have ``m`` records each. Who tells is drawn afresh each round,
without looking at data, and stays secret; ``K``, the number of messages, is public. Every message is of one record, or
of one user, by one randomizer, and only the multiset of messages is seen. ``D(epsilon; N)`` is a bound of both orders'
divergences of ``N`` mixed messages that differ in one, which falls with ``N`` (the clone pair, the pair of place-sign
messages, an oracle's blanket). Neighbours replace one record, or all of one user's.

**Theorem.** With ``up(epsilon, x) = ln(1 + (e^epsilon - 1)/x)``, both orders have at ``epsilon >= 0`` at most

- *k of n users, one message each*: ``x D(up(epsilon, x); k)``, ``x = k/n`` at user level, ``k/(nm)`` for one of a
  user's ``m`` records, drawn by him;
- *k of n users, s different records each*: for a record ``(ks/(nm)) D(up(epsilon, s/m); ks)``; for a user ``x sum_{i<s}
  e^(ie) D(e; ks)``, ``x = k/n``, ``e = up(epsilon, x)/s``;
- *all users send s, ks of the ns messages are kept*: for a record ``x D(up(epsilon, x); ks)``, ``x = ks/(nm)``; for a
  user ``sum_{i<s} e^(ie) x D(up(e, x); ks)``, ``x = k/n``, ``e = epsilon/s``;
- *each user joins with probability q*: ``sum_K Bin(n, q)(K) x_K D(up(epsilon, x_K); K)``, ``x_K = K/n``, or ``K/(nm)``.

*Proof.* Let the release be ``(1-x) F0 + x F1`` in one world and ``(1-x) F0 + x F1'`` in the other: ``x`` is the chance
that what differs tells. Then ``H_E`` is ``x H_up(F1, (1-b) F0 + b F1')`` for some ``b`` in [0, 1] (advanced joint
convexity, Balle, Barthe and Gaboardi 2018). ``F1`` and ``F1'`` differ in one message; so do ``F1`` and ``F0``, coupled:
the message in question is exchanged for that of a random other one who does not tell. So ``x D(up; K)``. *A record of s
that one user sends*: without him the release lacks ``s`` messages, not one, so that his absence gains the factor
``k/n`` alone (joint convexity); given that he sends, the first case with ``x = s/m``. *A user of s messages*: ``F0``,
``F1``, ``F1'`` are ``s`` messages apart, by ``s`` steps of ``e`` each (weak triangle inequality); where messages are
kept, each step is one message of the ``ns``, kept with probability ``k/n``. *Joining*: given ``K`` those who join are a
uniform sample, and ``K`` has one law in both worlds. ∎

*The gain of one user's sampling is no gain for his single records:* the second case with ``up(epsilon, ks/(nm))`` is no
bound (up to 1.21 times too low; tested).

**Several rounds.** The pair ``Q + x (P - Q)`` against ``Q`` of a pair ``(P, Q)`` with the divergence ``D`` has ``x
D(up(epsilon, x))``, a ratio less 1 that is ``x`` times as large; it is no bound of the other order's divergences.
Mirrored (:mod:`emdp.privacy.shuffle.renyi_law`) it is, and so products and Renyi divergences of it bound adaptive
rounds; where users join, the mixture over ``K`` of such pairs does.

*Assumptions.* Who tells is known to nobody who sees the release: no addresses, no times of answers, no counts by user.
Under neighbours that add or remove a user, ``K`` would tell; they are replaced here, and ``n`` is public.
"""

import math

from emdp.base.checks import check_choice, check_count, check_range, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.privacy.blanket.sets import SetLaw
from emdp.privacy.shuffle.clone_pair import delta_step
from emdp.privacy.shuffle.grid import LARGEST_ALPHA0
from emdp.privacy.shuffle.place_sign import place_sign_delta
from emdp.privacy.shuffle.renyi import clone_law
from emdp.privacy.shuffle.renyi_law import RatioLaw
from emdp.privacy.shuffle.renyi_rounds import check_own_strength

__all__ = ["SampledShuffle", "mixed_delta"]

_UP = 1 + 1e-12
_STEPS = 60
_TOLERANCE = 1e-6
"""Relative width at which the search for an epsilon ends, and its most steps."""


@dataclass(frozen=True)
class SampledShuffle:
    """One round of shuffled messages that a secret part of the users, or of their records, sends.

    Parameters
    ----------
    epsilon0 : float
        Pure LDP of one message, from 1e-9 to 12; at least that of an oracle's law.
    n : int
        Public number of users, at least 2.
    sampled : int, optional
        ``k``: how many of the users send, or how many times ``reports`` of all messages are kept.
    participation : float, optional
        ``q`` in (0, 1): with what probability a user joins, by himself. Give this or ``sampled``.
    records : int
        ``m``, the public number of records of every user.
    reports : int
        ``s``, of how many different records a user who sends does so, a message each; 1 where users join.
    kept : {"users", "messages"}
        Whether users are sampled, or all users send and of their messages ``k`` times ``reports`` are kept.
    randomizer : str or SetLaw
        As in :class:`emdp.privacy.shuffle.users.ShuffleRound`; "binary" counts as "place-sign", and where users join an
        oracle's law as "any".

    Raises
    ------
    UsageError
        If an argument is out of its range.

    References
    ----------
    sampling-and-descent.md 1 (known answers below; random numbers of messages are cut into cells, half a percent of
    epsilon).

    >>> round(SampledShuffle(1.0, 10**5, sampled=10**4).epsilon(1e-6), 6)
    0.00443
    >>> 0.004441 <= SampledShuffle(1.0, 10**5, participation=0.1).epsilon(1e-6) <= 0.00446
    True
    >>> one = SampledShuffle(1.0, 10**5, sampled=10**4, records=20)
    >>> round(one.epsilon(1e-6, unit="record"), 6) < round(one.epsilon(1e-6), 6)
    True
    """

    epsilon0: float
    n: int
    sampled: int | None = None
    participation: float | None = None
    records: int = 1
    reports: int = 1
    kept: str = "users"
    randomizer: "str | SetLaw" = "any"

    def __post_init__(self) -> None:
        check_range("epsilon0", self.epsilon0, 1e-9, LARGEST_ALPHA0)
        check_count("n", self.n, minimum=2)
        if (self.sampled is None) == (self.participation is None):
            raise UsageError("sampled and participation must not both be given, nor both be missing; pass one of them.")
        if self.sampled is not None and check_count("sampled", self.sampled) > self.n:
            raise UsageError(f"sampled must be at most n = {self.n}, got {self.sampled}; pass how many users send.")
        if self.participation is not None:
            check_unit_interval("participation", self.participation)
        if check_count("reports", self.reports) > check_count("records", self.records):
            raise UsageError(f"reports must be at most records = {self.records}, got {self.reports}; pass fewer.")
        check_choice("kept", self.kept, ("users", "messages"))
        if self.participation is not None and (self.reports > 1 or self.kept == "messages"):
            raise UsageError("participation is for one message of each user who joins; leave out reports and kept.")
        if isinstance(self.randomizer, SetLaw):
            check_own_strength(self.epsilon0, self.randomizer)
        else:
            check_choice("randomizer", self.randomizer, ("any", "binary", "place-sign"))

    def delta(self, epsilon: float, *, unit: str = "user") -> float:
        """Return delta at an epsilon, rounded up.

        Parameters
        ----------
        epsilon : float
            At least 0.
        unit : {"user", "record"}
            What neighbours replace: all records of a user, or one record.

        >>> SampledShuffle(1.0, 2, sampled=1).delta(0.0) <= 0.5 * math.tanh(0.5) * (1 + 1e-6)
        True
        """
        level = check_range("epsilon", epsilon, 0.0, 700.0)
        check_choice("unit", unit, ("user", "record"))
        if self.participation is not None:
            return self._law(unit).delta(level)
        return self._of_record(level) if unit == "record" else self._of_user(level)

    def epsilon(self, delta: float, *, unit: str = "user") -> float:
        """Return epsilon at a delta, rounded up.

        Parameters
        ----------
        delta : float
            In (0, 1).
        unit : {"user", "record"}
            As in :meth:`delta`.
        """
        chance = check_unit_interval("delta", delta)
        if self.participation is not None:
            return self._law(check_choice("unit", unit, ("user", "record"))).epsilon(chance)
        good, bad = self.reports * self.epsilon0, 0.0
        for _ in range(_STEPS):
            middle = (good + bad) / 2 if bad > 0 else good / 4
            good, bad = (middle, bad) if self.delta(middle, unit=unit) <= chance else (good, middle)
            if good - bad <= _TOLERANCE * good or good < 1e-12:
                break
        return good

    def _of_record(self, epsilon: float) -> float:
        messages = (self.sampled or self.n) * self.reports
        share = messages / (self.n * self.records)
        # where users are sampled, the own user's sampling is no gain but for the factor
        inner = share if self.kept == "messages" or self.reports == 1 else self.reports / self.records
        return share * self._whole(_up(epsilon, inner), messages) * _UP

    def _of_user(self, epsilon: float) -> float:
        sampled = self.sampled or self.n
        share, messages = sampled / self.n, sampled * self.reports
        if self.kept == "users":
            step = _up(epsilon, share) / self.reports * (1 - 1e-15)
            whole = self._whole(step, messages)
        else:
            step = epsilon / self.reports * (1 - 1e-15)
            whole = self._whole(_up(step, share), messages)
        return share * whole * math.fsum(math.exp(one * step) for one in range(self.reports)) * _UP

    def _law(self, unit: str) -> RatioLaw:
        kind = "any" if isinstance(self.randomizer, SetLaw) else self.randomizer
        records = self.records if unit == "record" else 1
        return clone_law(self.n, self.epsilon0, kind, None, participation=self.participation, records=records)

    def _whole(self, epsilon: float, messages: int) -> float:
        return mixed_delta(epsilon, self.epsilon0, messages, self.randomizer)


def mixed_delta(epsilon: float, epsilon0: float, messages: int, randomizer: "str | SetLaw" = "any") -> float:
    """Return ``D(epsilon; N)``: the divergence of ``N`` mixed messages that differ in one, rounded up.

    >>> round(mixed_delta(0.5, 1.0, 1), 6), round((math.e - math.exp(0.5)) / (math.e + 1), 6)
    (0.287649, 0.287649)
    """
    if isinstance(randomizer, SetLaw):
        return randomizer.delta(epsilon, messages)
    if epsilon >= epsilon0:
        return 0.0
    if randomizer == "any":
        clone = math.exp(-epsilon0) * (1 - 4e-16)
        return delta_step(epsilon, others=messages - 1, tilt=epsilon0, clone_probability=clone)
    return place_sign_delta(epsilon, epsilon0, messages)


def _up(epsilon: float, share: float) -> float:
    """Return ``ln(1 + (e^epsilon - 1)/x)``, rounded down."""
    if share >= 1:
        return epsilon
    rise = math.expm1(epsilon) if epsilon < 700 else math.inf
    return min(math.log1p(rise / share) * (1 - 1e-14), 700.0)
