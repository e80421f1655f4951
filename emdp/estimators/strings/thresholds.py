"""Choice among searches for frequent strings, from the public number of users and the price alone."""

import math
from functools import lru_cache

from emdp.base.errors import UsageError
from emdp.mechanisms.oracles.hadamard_bit import OneBitHadamardOracle
from emdp.mechanisms.oracles.mixed import mix
from emdp.mechanisms.strings.prefix_search import HeavyHitterSearch
from emdp.privacy import UserDP
from emdp.questions.heavy_hitters import EPSILONS, HeavyHitters

__all__ = ["least_threshold", "try_search"]

LEAST_STEP = 1.01
"""Largest ratio of the threshold for ``count`` to the smallest one that users and price allow."""

LEAST_THRESHOLD = 1e-5


def try_search(query: HeavyHitters, users: int, threshold: float) -> tuple[HeavyHitterSearch, UserDP] | None:
    """Return the search for a threshold with what it guarantees; None where it takes more users."""
    epsilon, delta = query.price.level, query.price.delta
    alphabet, length = (query.characters or "").encode("ascii"), query.longest or 1

    def made(count: int, strength: float) -> HeavyHitterSearch | None:
        try:
            return HeavyHitterSearch(count, strength, threshold, alphabet, length, query.failure)
        except UsageError:
            return None

    if query.model == "local":
        search = made(users, epsilon)
        return None if search is None else (search, UserDP(epsilon, 0.0, "local"))
    # How many levels there are follows from the threshold and the strings alone.
    planned = made(2**40, 20.0)
    level_users = 0 if planned is None else users // planned.levels
    if level_users < 2:
        return None
    strength = _strength(epsilon, level_users, delta)
    search = made(users, strength)
    if search is None:
        return None
    return search, UserDP(epsilon, delta, "shuffle")


def least_threshold(query: HeavyHitters, users: int) -> float | None:
    """Return nearly the smallest threshold that users and price allow; None where none below 1 is allowed."""
    high, low = math.nextafter(1.0, 0.0), LEAST_THRESHOLD
    if try_search(query, users, high) is None:
        return None
    while high > LEAST_STEP * low:
        middle = math.sqrt(low * high)
        if try_search(query, users, middle) is None:
            low = middle
        else:
            high = middle
    return high


@lru_cache(maxsize=32)
def _strength(epsilon: float, users: int, delta: float) -> float:
    """Return the strength of a message that costs at most epsilon once those of all its level are mixed.

    The law of mixed one-bit messages does not depend on how many candidates there are, so any number does here.
    """
    return min(mix(OneBitHadamardOracle, 2, users, epsilon, delta).oracle.requested, EPSILONS[1])
