"""Lower bounds of a privacy loss from counts: how often an event was seen on each of two tables.

Theorem. Let ``P`` and ``Q`` be the laws of a release on two tables, and let ``P(E) <= e^epsilon Q(E) + delta`` hold for
every event ``E``. Let ``E`` be fixed, ``k`` the number of times that it happened in ``n`` independent draws of ``P``,
``l`` in ``m`` draws of ``Q``. With ``a`` the lower bound of Clopper and Pearson for ``P(E)`` and ``b`` the upper one
for ``Q(E)``, each wrong with probability at most ``failure/2``, ``epsilon >= ln((a - delta)/b)`` except with
probability ``failure``. Proof: the union of the two failures; the draws of ``P`` need not be independent of those of
``Q``. An event that was chosen on other draws is fixed (split data).

References
----------
Clopper and Pearson 1934; the use for auditing: Jagielski, Ullman, Oprea 2020 (arXiv 2006.07709). technical-notes.md 7.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from emdp.base.arrays import Floats
from emdp.base.checks import check_unit_interval
from emdp.base.errors import UsageError

__all__ = ["clopper_pearson_lower", "clopper_pearson_upper", "epsilon_bounds", "largest_epsilon", "smallest_epsilon"]

OUTWARD = 1e-9
"""Relative, added outward: above the error of the inverse of the incomplete beta function."""


def clopper_pearson_lower(successes: npt.ArrayLike, trials: int, failure: float) -> Floats:
    """Return lower bounds of probabilities, each wrong with probability at most ``failure``.

    Parameters
    ----------
    successes : array_like of int
        How often the event was seen, 0 to ``trials``.
    trials : int
        Independent draws, at least 1.
    failure : float
        In (0, 1).

    >>> clopper_pearson_lower([0, 50, 100], 100, 0.025).round(4).tolist()
    [0.0, 0.3983, 0.9638]
    """
    from scipy.special import betaincinv

    counts = _checked(successes, trials, failure)
    found = betaincinv(np.maximum(counts, 1.0), trials - counts + 1.0, failure)
    return np.where(counts > 0, np.maximum(found * (1 - OUTWARD), 0.0), 0.0)


def clopper_pearson_upper(successes: npt.ArrayLike, trials: int, failure: float) -> Floats:
    """Return upper bounds of probabilities, each wrong with probability at most ``failure``; see the lower ones.

    >>> clopper_pearson_upper([0, 50, 100], 100, 0.025).round(4).tolist()
    [0.0362, 0.6017, 1.0]
    """
    from scipy.special import betainccinv

    counts = _checked(successes, trials, failure)
    found = betainccinv(counts + 1.0, np.maximum(trials - counts, 1.0), failure)
    return np.where(counts < trials, np.minimum(found * (1 + OUTWARD), 1.0), 1.0)


def epsilon_bounds(
    hits: npt.ArrayLike, misses: npt.ArrayLike, trials: tuple[int, int], delta: float, failure: float
) -> Floats:
    """Return lower bounds of epsilon, one for each event, each wrong with probability at most ``failure``.

    Parameters
    ----------
    hits, misses : array_like of int
        How often each event happened in the draws of the first and of the second law.
    trials : (int, int)
        How many draws there were of each.
    delta : float
        In [0, 1).
    failure : float
        In (0, 1), of one bound.

    Returns
    -------
    numpy.ndarray
        At least 0, which always holds.

    >>> epsilon_bounds([900], [100], (1000, 1000), 0.0, 0.05).round(3), epsilon_bounds([5], [5], (9, 9), 0.0, 0.05)
    (array([1.99]), array([0.]))
    """
    least = clopper_pearson_lower(hits, trials[0], 0.5 * failure) - check_unit_interval("delta", delta, zero=True)
    most = clopper_pearson_upper(misses, trials[1], 0.5 * failure)
    return np.where(least > most, np.log(np.maximum(least, most) / most), 0.0)


def largest_epsilon(trials: int, failure: float) -> float:
    """Return the largest bound that so many draws can give: an event always seen on one table, never on the other.

    >>> round(largest_epsilon(500_000, 1e-6), 1)
    10.4
    """
    return float(epsilon_bounds(trials, 0, (trials, trials), 0.0, failure))


def smallest_epsilon(trials: int, failure: float) -> float:
    """Return the least loss that so many draws can tell from 0, by an event that shows all of it; to three digits.

    The event is randomized response's, with a probability of 1/2 or less: seen as often as is expected, the bound is
    above 0. A loss that shows in rarer events has to be larger.

    Parameters
    ----------
    trials : int
        Draws of each law that judge.
    failure : float
        In (0, 1), of one bound.

    >>> smallest_epsilon(50_000, 1e-3), smallest_epsilon(5_000_000, 1e-3)
    (0.0295, 0.00294)
    """
    low, high = 0.0, 40.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        chance = 1.0 / (1.0 + math.exp(-middle))
        hits, misses = math.floor(trials * chance), math.ceil(trials * (1.0 - chance))
        low, high = (
            (low, middle) if epsilon_bounds(hits, misses, (trials, trials), 0.0, failure) > 0 else (middle, high)
        )
    return float(f"{high:.3g}")


def _checked(successes: npt.ArrayLike, trials: int, failure: float) -> npt.NDArray[Any]:
    check_unit_interval("failure", failure)
    counts = np.asarray(successes, dtype=np.float64)
    if trials < 1 or ((counts < 0) | (counts > trials)).any():
        raise UsageError(f"successes must be from 0 to trials = {trials}, and that at least 1; pass counts of draws.")
    return counts
