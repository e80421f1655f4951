"""Bounds on what an attacker can learn about one person, from a guarantee alone.

The attacker knows everything but one thing: all other people's records, all of this person's other records, the
question, the code and the law of the noise. She tells two versions of one person's records apart: ``K0`` (it did not
happen) and ``K1`` (it did). ``P0`` and ``P1`` are the laws of all that is released. The guarantee says, in both
orders, ``P1(E) <= e^eps P0(E) + delta`` for every event ``E``; under d_EM-DP ``eps = alpha d_em(K0, K1)``. ``odds(p)
= p/(1-p)``. Real attackers know less, so that every number here is a ceiling, and no forecast.

T1 (posterior, ``delta = 0``). For almost every answer the Bayes factor ``p1/p0`` is in ``[e^-eps, e^eps]``, so that
the posterior of a prior ``p`` is at most ``p/(p + (1-p) e^-eps)``. Proof: the inequality holds for all events, so for
the densities almost everywhere; Bayes.

T2 (power). A test that errs at rate ``x = P0(R)`` detects at rate ``P1(R) <= min(1, e^eps x + delta, 1 - e^-eps (1 -
delta - x))``. Proof: the guarantee for ``R``; and for its complement with the roles exchanged, ``1 - P0(R) <= e^eps
(1 - P1(R)) + delta``. (Wasserman and Zhou 2010; Kairouz, Oh, Viswanath 2015.)

T3 (advantage). ``P1(R) - P0(R) <= (e^eps - 1 + 2 delta)/(e^eps + 1)``. Proof: the two lines of T2 meet at ``x = (1 -
delta)/(e^eps + 1)``; before it the gap rises, behind it it falls.

T4 (posterior, any delta). For ``s > 0``: ``P1[p1/p0 > e^(eps+s)] <= delta/(1 - e^-s)``. Proof: on ``B = {p1 >
e^(eps+s) p0}``: ``P1(B) <= e^eps P0(B) + delta <= e^-s P1(B) + delta``; solve. The floor ``p1/p0 < e^-(eps+s)`` has
under ``P1`` the probability ``e^-(eps+s) delta/(1 - e^-s)`` at most. So T1 with ``eps + s`` fails with probability
``failure(delta, s)``; with ``delta > 0`` T1 itself is false.

T5 (Gaussian noise). A release with the ratio ``mu = sensitivity/sigma`` per unit of ``d_em`` has the power
``Phi(Phi^-1(x) + m)``, ``m = mu d``, the advantage ``2 Phi(m/2) - 1``, and ``ln p1/p0 ~ N(m^2/2, m^2)`` under ``P1``.
Proof: Neyman and Pearson for ``N(0, 1)`` against ``N(m, 1)``; a smaller shift is a weaker test. Several releases,
fixed in advance or not: ``mu^2`` adds up.

T6 (one of M versions, equally likely). A guess is right with probability at most ``(e^eps + (M-1) delta)/(e^eps + M -
1)``. Proof: ``P_j(G=i) >= e^-eps (P_i(G=i) - delta)``. Sum over ``j != i`` and ``i``: with ``S`` the success, ``M (1
- S) >= (M-1) e^-eps M (S - delta)``; solve. For unequal distances and ``delta = 0`` the posterior of version ``i`` is
at most ``1/crowd_i``, ``crowd_i = 1 + sum over j != i of e^-eps(d_ij)``, and the success at most ``max_i 1/crowd_i``,
not the mean of these: guesses go to the versions that stand apart.

T7 (a batch fixed in advance). Every point ``(eps, delta)`` of its privacy curve gives T2 and T3; the least holds.

T8 (a group). ``k`` people change by ``d_1 <= .. <= d_k``: ``eps = alpha (d_1 + .. + d_k)`` and ``delta_k = sum over j
of e^(alpha (d_1 + .. + d_(j-1))) delta``. Proof: one person after the other, each step ``(alpha d_j, delta)``.

Probabilities are rounded outward by a relative ``1e-12``, far above the errors of the functions used.

References
----------
consequences.md 2 (T1 to T8).
"""

import math
from collections.abc import Iterable, Sequence

from emdp.base.checks import check_count, check_finite, check_unit_interval
from emdp.base.errors import UsageError
from emdp.privacy.rounding import as_decimal, float_up

__all__ = [
    "advantage",
    "crowd",
    "curve_advantage",
    "curve_power",
    "epsilon_of",
    "failure",
    "gaussian_advantage",
    "gaussian_posterior",
    "gaussian_power",
    "group_loss",
    "posterior",
    "posterior_floor",
    "power",
    "prior_to_reach",
    "right_guess",
]

OUTWARD = 1e-12
"""Relative, added outward."""


def posterior(prior: float, epsilon: float) -> float:
    """Return the largest belief that any answer can leave (T1), rounded up.

    Parameters
    ----------
    prior : float
        Belief before, in [0, 1].
    epsilon : float
        Loss of the change, at least 0; with a ``delta`` the guarantee's plus a slack ``s``, see :func:`failure`.

    >>> [round(posterior(p, math.log(3)), 5) for p in (0.5, 0.1, 0.01)]
    [0.75, 0.25, 0.02941]
    """
    p = check_unit_interval("prior", prior, zero=True, one=True)
    loss = _loss(epsilon)
    if p in (0.0, 1.0):
        return p
    return _up(p / (p + (1.0 - p) * math.exp(-loss)))


def posterior_floor(prior: float, epsilon: float) -> float:
    """Return the smallest belief that any answer can leave (T1), rounded down.

    >>> round(posterior_floor(0.5, math.log(3)), 5)
    0.25
    """
    p = check_unit_interval("prior", prior, zero=True, one=True)
    odds = math.exp(-_loss(epsilon))
    return max(0.0, p * odds / (p * odds + (1.0 - p)) * (1.0 - OUTWARD)) if p else 0.0


def prior_to_reach(target: float, epsilon: float) -> float:
    """Return the smallest prior from which an answer can lead to a belief of ``target`` (T1), rounded down.

    >>> round(prior_to_reach(0.5, 1.0), 4)
    0.2689
    """
    return posterior_floor(target, epsilon)


def epsilon_of(posterior: float, prior: float = 0.5) -> float:
    """Return the largest epsilon under which a belief stays at most ``posterior`` (T1), rounded down.

    Parameters
    ----------
    posterior : float
        Largest belief afterwards, in (0, 1), at least the prior.
    prior : float
        Belief before, in (0, 1).

    Raises
    ------
    UsageError
        If a belief is out of its range, or falls.

    >>> round(epsilon_of(0.6), 4)
    0.4055
    """
    after, before = check_unit_interval("posterior", posterior), check_unit_interval("prior", prior)
    if after <= before:
        raise UsageError(
            f"posterior must be above the prior {before:.6g}, got {after:.6g}; pass the largest belief that an answer "
            "may leave."
        )
    return max(0.0, math.log(after / (1.0 - after) * ((1.0 - before) / before)) * (1.0 - OUTWARD) - OUTWARD)


def power(rate: float, epsilon: float, delta: float = 0.0) -> float:
    """Return the largest rate of detection at a rate of false alarms (T2), rounded up.

    >>> round(power(0.05, math.log(3)), 4), power(0.01, 0.0, 0.0) < 0.0100001
    (0.15, True)
    """
    x = check_unit_interval("rate", rate, zero=True, one=True)
    loss, lost = _loss(epsilon), check_unit_interval("delta", delta, zero=True)
    low = math.exp(min(loss, 700.0)) * x + lost
    # 1 - e^-eps (1 - delta - x), without the cancellation.
    high = -math.expm1(-loss) + math.exp(-loss) * (lost + x)
    return _up(min(low, high, 1.0))


def advantage(epsilon: float, delta: float = 0.0) -> float:
    """Return the largest gap between detection and false alarms (T3), rounded up.

    >>> round(advantage(math.log(3)), 6), round(advantage(0.0, 0.1), 6)
    (0.5, 0.1)
    """
    loss, lost = _loss(epsilon), check_unit_interval("delta", delta, zero=True)
    odds = math.exp(-loss)
    return _up((2.0 * lost * odds - math.expm1(-loss)) / (1.0 + odds))


def failure(delta: float, slack: float) -> float:
    """Return the largest chance that a belief exceeds the bound of T1 at ``epsilon + slack`` (T4), rounded up.

    >>> failure(1e-8, math.log(2)) < 2.0001e-8, failure(0.0, 0.1)
    (True, 0.0)
    """
    s = check_finite("slack", slack)
    if s <= 0:
        raise UsageError(f"slack must be above 0, got {s}; pass what is added to epsilon, such as 0.1.")
    return _up(check_unit_interval("delta", delta, zero=True) / -math.expm1(-s))


def gaussian_power(rate: float, shift: float) -> float:
    """Return the largest rate of detection at a rate of false alarms under Gaussian noise (T5), rounded up.

    Parameters
    ----------
    rate : float
        Of false alarms, in [0, 1].
    shift : float
        ``mu d``: how far the change moves the release, in standard deviations of its noise, at least 0.

    >>> round(gaussian_power(0.05, 1.0), 4), round(gaussian_power(0.01, 1.0), 4)
    (0.2595, 0.0924)
    """
    from scipy.special import ndtr, ndtri

    x = check_unit_interval("rate", rate, zero=True, one=True)
    return _up(float(ndtr(float(ndtri(x)) + _loss(shift, "shift")))) if 0.0 < x < 1.0 else x


def gaussian_advantage(shift: float) -> float:
    """Return the largest gap between detection and false alarms under Gaussian noise (T5), rounded up.

    >>> round(gaussian_advantage(1.0), 4)
    0.3829
    """
    return _up(math.erf(_loss(shift, "shift") / (2.0 * math.sqrt(2.0))))


def gaussian_posterior(prior: float, shift: float, share: float = 0.99) -> float:
    """Return a belief above which only a few answers lead under Gaussian noise (T5), rounded up.

    It is a quantile of one law where the change happened, and no promise for every answer.

    Parameters
    ----------
    prior : float
        Belief before, in [0, 1].
    shift : float
        As in :func:`gaussian_power`.
    share : float
        Share of answers that stay below, in (0, 1).

    >>> round(gaussian_posterior(0.5, 2.909 * 0.05), 3)
    0.586
    """
    from scipy.special import ndtri

    moved = _loss(shift, "shift")
    factor = 0.5 * moved * moved + moved * float(ndtri(check_unit_interval("share", share)))
    return posterior(prior, factor * (1.0 + OUTWARD)) if factor > 0 else prior


def right_guess(epsilon: float, versions: int, delta: float = 0.0) -> float:
    """Return how often a guess among equally likely versions is right, at most (T6), rounded up.

    Parameters
    ----------
    epsilon : float
        Loss between any two of them, at least 0.
    versions : int
        How many there are, at least 1.
    delta : float
        In [0, 1).

    >>> round(right_guess(math.log(99), 100), 6)
    0.5
    """
    odds, others = math.exp(-_loss(epsilon)), check_count("versions", versions) - 1
    lost = check_unit_interval("delta", delta, zero=True)
    return _up((1.0 + others * lost * odds) / (1.0 + others * odds))


def crowd(epsilons: Iterable[float]) -> float:
    """Return among how many versions one is hidden, by its losses to the others (T6, ``delta = 0``), rounded down.

    The posterior of this version is at most one over it.

    >>> crowd([0.0, 0.0]), round(crowd([math.log(2)] * 4), 6)
    (2.999999999997, 3.0)
    """
    return (1.0 + math.fsum(math.exp(-_loss(loss)) for loss in epsilons)) * (1.0 - OUTWARD)


def curve_power(rate: float, curve: Sequence[tuple[float, float]]) -> float:
    """Return the largest rate of detection by several ``(epsilon, delta)`` that all hold (T7).

    >>> curve_power(0.01, [(1.0, 0.0), (0.5, 1e-3)]) == power(0.01, 0.5, 1e-3)
    True
    """
    return min(power(rate, epsilon, delta) for epsilon, delta in curve)


def curve_advantage(curve: Sequence[tuple[float, float]]) -> float:
    """Return the largest gap between detection and false alarms by several ``(epsilon, delta)`` that all hold (T7).

    >>> curve_advantage([(1.0, 0.0), (0.5, 1e-3)]) == advantage(0.5, 1e-3)
    True
    """
    return min(advantage(epsilon, delta) for epsilon, delta in curve)


def group_loss(losses: Sequence[float], delta: float = 0.0) -> tuple[float, float]:
    """Return epsilon and delta for a group of people who all change (T8), rounded up.

    Parameters
    ----------
    losses : sequence of float
        Epsilon of each person's change, ``alpha d_em`` under d_EM-DP, at least 0.
    delta : float
        Of the guarantee, in [0, 1).

    Returns
    -------
    (float, float)
        The group's epsilon, and its delta, at most 1.

    >>> group_loss([0.2, 0.8])
    (1.0, 0.0)
    >>> [round(number, 9) for number in group_loss([0.0, 0.0, 0.0], 0.01)]
    [0.0, 0.03]
    """
    lost = check_unit_interval("delta", delta, zero=True)
    total, failing = as_decimal(0.0), 0.0
    for one in sorted(_loss(loss, "loss") for loss in losses):
        failing += math.exp(min(float(total), 700.0)) * lost
        total += as_decimal(one)
    return float_up(total), _up(failing)


def _loss(value: float, name: str = "epsilon") -> float:
    loss = check_finite(name, value)
    if loss < 0:
        raise UsageError(f"{name} must be at least 0, got {loss}; pass a number that is not negative.")
    return loss


def _up(number: float) -> float:
    return min(1.0, number * (1.0 + OUTWARD))
