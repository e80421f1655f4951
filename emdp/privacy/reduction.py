"""Reduction of unbounded to bounded bags: what a mechanism promises after records were sampled (EMD 5).

**Theorem.** Let ``B`` be ``(alpha, delta_M)`` bounded d_EM-DP for ``n`` users of ``s`` items each, in any model. Let
``M`` draw, for every user apart, ``s`` items independently and uniformly from the user's bag, with replacement, and
run ``B`` on what was drawn. Let ``0 < r < q < 1``, ``KL(q‖r) = q ln(q/r) + (1-q) ln((1-q)/(1-r))``, and

1. ``delta_s = exp(-s KL(q‖r))`` (EMD 5), or
2. ``delta_s = C(theta) exp(-s KL(q‖r))``, ``C(theta) = theta^theta/(1 + theta)^(1 + theta)``,
   ``theta = s x/alpha``, ``x = ln(q (1-r)/(r (1-q)))``.

Then ``M`` is ``(alpha q, delta_M + delta_s, r)`` discrete d_EM-DP, for bags of any sizes, in the model of ``B``; and
``(alpha, delta_M, r)``, which is ``q = 1`` with ``delta_s = 0``.

*Proof.* Let two tables differ in one user's bags ``K`` and ``K'`` with ``d = d_em(K, K') <= r``, of sizes ``m`` and
``m'``. An optimal coupling of the normalised histograms is a law on pairs ``(x, x')`` whose marginals are a uniform
item of ``K`` and one of ``K'``; it exists for any ``m`` and ``m'``. Draw ``s`` independent pairs from it. The first
members are what ``M`` samples from ``K``, the second what it samples from ``K'``, and both are bags of one size,
``s``: so ``B`` applies to them. Matching each first member with its second is one assignment, hence
``d_em(S, S') <= D = (d_X(x_1, x'_1) + ... + d_X(x_s, x'_s))/s``, a mean of ``s`` independent values in [0, 1] of
expectation ``d <= r``. Since ``e^(l u) <= 1 - u + u e^l`` on [0, 1], ``E e^(l s D) <= (1 - d + d e^l)^s`` for
``l >= 0``, which rises with ``d``. At ``l = x``, where ``(1 - r + r e^x) = (1-r)/(1-q)``,

    ``E e^(s x (D - q)) <= exp(-s KL(q‖r))``.    (Chernoff)

All other users sample alike in both tables, and independently. So the two laws of the answer are mixtures, with the
same weights, of the laws ``P_S`` and ``Q_S'`` of ``B`` on tables that differ in ``S`` and ``S'``. The hockey-stick
divergence is jointly convex, so ``H_t <= E H_t(P_S‖Q_S')``, at ``t = exp(alpha q)``. Where ``D <= q`` it is
``H_t(P_S‖Q_S') <= H_{exp(alpha D)}(P_S‖Q_S') <= delta_M``. Elsewhere, for any event ``E``,
``Q_S'(E) >= e^(-alpha D) (P_S(E) - delta_M)``, so that

    ``P_S(E) - t Q_S'(E) <= (1 - e^(-y)) P_S(E) + e^(-y) delta_M <= delta_M + (1 - e^(-y))``,  ``y = alpha (D - q)``.

Altogether ``H_t <= delta_M + E (1 - e^(-y))_+``. *Part 1:* ``(1 - e^(-y))_+ <= [D >= q] <= e^(s x (D - q))``. *Part
2:* ``(1 - e^(-y))_+ <= C e^(theta y)``, with ``C`` the largest ``(1 - e^(-y)) e^(-theta y)``, which is at
``e^(-y) = theta/(1 + theta)`` and is ``C(theta)``; and ``theta y = s x (D - q)``. For ``q = 1``: ``D <= 1``. Nothing
distinguishes ``K`` from ``K'``, so the other direction is the same. ∎

Part 2 says that a sample which lies a little too far costs little, not everything; ``C`` is about ``1/(e theta)``,
which lets alpha be larger by a tenth where ``s r`` is about 10 (``r = 0.01, s = 1000, delta = 1e-12``).

*Hypotheses.* Draws must be independent and uniform, from :mod:`emdp.noise`: drawing without replacement has no such
coupling between bags of two sizes. If draws are exact up to a total variation, that is added to delta by whoever
draws. Every user must hold an item: the neutral one, for a user without records. ``s`` is public. Several releases
computed from *one and the same* sample are one release of ``B``: add up their bounded guarantees first, then reduce
once, and ``delta_s`` is paid once.

*Against the paper.* Its Theorem 5.3 has ``alpha = epsilon/((1 + sqrt 2) r + (3/s) ln(1/delta))`` for a total of ``2
delta``: a weaker tail bound, and an even split. Linear queries need neither (EMD 2).

*Numerics.* :mod:`emdp.privacy.sampling` rounds ``q`` up; products and sums follow :mod:`emdp.privacy.rounding`.
"""

import math
from collections.abc import Callable
from dataclasses import replace

from emdp.base.checks import check_positive, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.privacy.guarantees.kinds import DiscreteEmdDP, EmdDP
from emdp.privacy.rounding import as_decimal, float_down, float_up
from emdp.privacy.sampling import (
    DEFAULT_SECONDS,
    check_r,
    check_samples,
    choose_samples,
    published_reduction_quantile,
    reduction_quantile,
)

__all__ = [
    "BoundedReduction",
    "Objective",
    "Reduction",
    "choose_samples",
    "published_reduction_alpha",
    "published_reduction_quantile",
    "reduced_guarantee",
    "reduction_alpha",
    "reduction_quantile",
    "reduction_split",
]

Objective = Callable[[float, float], float]
"""Score of the bounded mechanism's alpha and delta, the larger the better; ``-inf`` for a pair that it cannot use."""

_WIDEST_LOGIT = 5.0
"""The search for a split ends at parts of about 1/150: to give up less than that of delta changes no third digit."""
_EVALUATIONS = 8
"""Evaluations of an objective, up to a second each: they end within 0.6 of the best logit, where it is flat."""
_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class BoundedReduction:
    """Request that every user's records are sampled down (or up) to one public size, for a bounded mechanism.

    Parameters
    ----------
    samples : int or None
        Records drawn with replacement for every user, from 1 to 1e9; None: :meth:`resolved` chooses.
    r : float
        Earth-mover distance up to which the release is protected, in (0, 1].

    Raises
    ------
    UsageError
        If a parameter is out of its range.

    References
    ----------
    EMD 5; :func:`reduction_split` prices it.

    >>> BoundedReduction(samples=1000, r=0.01)
    BoundedReduction(samples=1000, r=0.01)
    """

    samples: int | None = None
    r: float = 0.01

    def __post_init__(self) -> None:
        object.__setattr__(self, "r", check_r(self.r))
        if self.samples is not None:
            object.__setattr__(self, "samples", check_samples(self.samples))

    def resolved(self, n: int, delta: float, *, seconds: float = DEFAULT_SECONDS) -> "BoundedReduction":
        """Return the same with a sample size: its own, or what :func:`choose_samples` says.

        >>> BoundedReduction(r=0.05).resolved(100_000, 1e-9).samples
        3001
        """
        if self.samples is not None:
            return self
        return replace(self, samples=choose_samples(n, seconds, r=self.r, delta=delta))


@dataclass(frozen=True)
class Reduction:
    """Bounded mechanism on sampled records that meets a discrete guarantee.

    Parameters
    ----------
    alpha : float
        What the bounded mechanism may use, rounded down.
    q : float
        ``epsilon/alpha``, the sampled bags' distance that is paid for, in [r, 1]; rounded up.
    delta_sampling : float
        What the sampling takes of the delta; 0 where ``q`` is 1.
    delta_mechanism : float
        What is left of it for the mechanism.
    published_alpha : float
        The alpha of the paper's Theorem 5.3 for the same promise.

    >>> reduction = reduction_split(1.0, 0.01, 1000, 1e-12)
    >>> round(reduction.alpha * reduction.q, 12), round(reduction.published_alpha, 2)
    (1.0, 9.16)
    """

    alpha: float
    q: float
    delta_sampling: float
    delta_mechanism: float
    published_alpha: float


def reduction_alpha(epsilon: float, r: float, s: int, delta: float) -> float:
    """Return the alpha that a pure bounded mechanism on ``s`` sampled records may use, by EMD 5's bound (part 1).

    :func:`reduction_split` has part 2 of the theorem, which is never less.

    Parameters
    ----------
    epsilon : float
        Wanted up to ``r``, above 0.
    r : float
        In (0, 1].
    s : int
        Records drawn with replacement from each user.
    delta : float
        In [0, 1), all of it for the sampling.

    Returns
    -------
    float
        ``epsilon/q``, rounded down.

    References
    ----------
    EMD 5 [sharper].

    >>> round(reduction_alpha(1.0, 0.01, 1000, 1e-12), 4), round(published_reduction_alpha(1.0, 0.01, 1000, 1e-12), 4)
    (24.2714, 9.1647)
    """
    return float_down(as_decimal(check_positive("epsilon", epsilon)) / as_decimal(reduction_quantile(r, s, delta)))


def reduction_split(epsilon: float, r: float, s: int, delta: float, objective: Objective | None = None) -> Reduction:
    """Return how to meet ``(epsilon, delta, r)``, with delta split between sampling and mechanism as suits the latter.

    Parameters
    ----------
    epsilon : float
        Above 0.
    r : float
        In (0, 1].
    s : int
        Records drawn with replacement from each user.
    delta : float
        In [0, 1); above 0 where there is an objective.
    objective : callable, optional
        ``objective(alpha, delta_mechanism)``: what the bounded mechanism makes of them, the larger the better, such as
        the ``alpha0`` of its randomizer; ``-inf`` where it has no bound. None: the mechanism is pure, and the sampling
        takes all of delta. It is called nine times at most, and every split that it chooses from is valid.

    Returns
    -------
    Reduction

    Raises
    ------
    UsageError
        If a parameter is out of its range, or the objective has a value for no split.

    References
    ----------
    EMD 5.

    >>> pure = reduction_split(1.0, 0.01, 1000, 1e-12)
    >>> pure.delta_sampling, pure.delta_mechanism
    (1e-12, 0.0)
    >>> import math
    >>> noisy = reduction_split(1.0, 0.01, 1000, 1e-12, lambda alpha, delta: alpha / math.sqrt(-math.log(delta)))
    >>> round(noisy.delta_sampling / 1e-12, 1), round(noisy.alpha, 1)
    (0.5, 26.2)
    """
    level = check_positive("epsilon", epsilon)
    radius, size, total = check_r(r), check_samples(s), check_unit_interval("delta", delta, zero=True)
    published = published_reduction_alpha(level, radius, size, total) if total > 0 else 0.0

    def at(sampling: float) -> Reduction:
        q = reduction_quantile(radius, size, sampling, epsilon=level)
        spent = 0.0 if q == 1 else sampling
        rest = total if spent == 0 else float_down(as_decimal(total) - as_decimal(spent))
        return Reduction(float_down(as_decimal(level) / as_decimal(q)), q, spent, rest, published)

    everything = at(total)
    if objective is None:
        return replace(everything, delta_mechanism=0.0)
    if total == 0:
        raise UsageError("delta must be above 0 for a mechanism that needs a part of it, got 0; pass a positive one.")
    if everything.q == 1:
        # No part of delta makes the sampling shrink anything, so all of it is the mechanism's.
        best, value = everything, _value(objective, everything)
    else:
        best, value = _search(lambda share: at(total * share), objective, first=at(0.0))
    if value == -math.inf:
        raise UsageError("objective has no value for any split of delta; pass a larger delta, epsilon or s.")
    return best


def reduced_guarantee(bounded: EmdDP, r: float, s: int, delta_s: float) -> DiscreteEmdDP:
    """Return what a bounded guarantee on ``s`` sampled records of each user says of the users' own bags.

    Parameters
    ----------
    bounded : EmdDP
        Of the mechanism that runs on the samples, bounded: several releases from one sample are added up first.
    r : float
        Distance up to which the result holds, in (0, 1].
    s : int
        Records drawn with replacement from each user.
    delta_s : float
        What the sampling may take, in [0, 1); not taken where ``q`` is 1.

    Returns
    -------
    DiscreteEmdDP
        Unbounded, in the same model: ``epsilon = alpha q`` and ``delta = delta_M + delta_s``, rounded up.

    Raises
    ------
    UsageError
        If the guarantee is unbounded already, or its delta and ``delta_s`` reach 1.

    >>> print(reduced_guarantee(EmdDP(24.0, 1e-12, "bounded"), 0.5, 10, 1e-12))
    epsilon = 24.0, delta = 1e-12 (unbounded central DiscreteEmdDP up to d_em = 0.5)
    >>> guarantee = reduced_guarantee(EmdDP(24.0, 1e-12, "bounded"), 0.01, 1000, 1e-12)
    >>> round(guarantee.epsilon, 4), guarantee.delta
    (0.9025, 2e-12)
    """
    if not isinstance(bounded, EmdDP) or bounded.sizes != "bounded":
        named = bounded.kind_name if isinstance(bounded, EmdDP) else type(bounded).__name__
        raise UsageError(f"bounded must be a bounded EmdDP, not {named}; an unbounded one is stated by to_discrete().")
    q = reduction_quantile(r, s, delta_s, alpha=bounded.alpha)
    delta = as_decimal(bounded.delta) + (0 if q == 1 else as_decimal(delta_s))
    if delta >= 1:
        raise UsageError("delta_s and the delta of the bounded guarantee reach 1 together; pass smaller ones.")
    epsilon = float_up(as_decimal(bounded.alpha) * as_decimal(q))
    return DiscreteEmdDP(epsilon, float_up(delta), r, "unbounded", bounded.model)


def published_reduction_alpha(epsilon: float, r: float, s: int, delta: float) -> float:
    """Return the alpha of the paper's Theorem 5.3, for comparison: half of ``delta`` sampling, half the mechanism's.

    Parameters
    ----------
    epsilon, r, s
        As in :func:`reduction_split`.
    delta : float
        The total, in (0, 1): the theorem's own delta is half of it.

    >>> published_reduction_alpha(1.0, 0.05, 1000, 2e-6) < reduction_alpha(1.0, 0.05, 1000, 1e-6) * 0.56
    True
    """
    half = float_down(as_decimal(check_unit_interval("delta", delta)) / 2)
    level = as_decimal(check_positive("epsilon", epsilon))
    return float_down(level / as_decimal(published_reduction_quantile(r, s, half)))


def _value(objective: Objective, candidate: Reduction) -> float:
    value = float(objective(candidate.alpha, candidate.delta_mechanism))
    if math.isnan(value):
        raise UsageError("objective must return a number for every alpha and delta, not nan; return -inf for none.")
    return value


def _search(at: Callable[[float], Reduction], objective: Objective, *, first: Reduction) -> tuple[Reduction, float]:
    """Return the best candidate found by golden section on the logit of the sampling's share of delta, or the first."""
    best, value = first, _value(objective, first)

    def look(logit: float) -> float:
        nonlocal best, value
        candidate = at(1 / (1 + math.exp(-logit)))
        # The smallest of floats has no parts.
        found = _value(objective, candidate) if candidate.delta_mechanism > 0 else -math.inf
        if found > value:
            best, value = candidate, found
        return found

    low, high = -_WIDEST_LOGIT, _WIDEST_LOGIT
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = look(left), look(right)
    for _ in range(_EVALUATIONS - 2):
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = look(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = look(right)
    return best, value
