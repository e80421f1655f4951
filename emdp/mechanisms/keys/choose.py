"""The noise with which unlisted keys appear earliest: a choice from public numbers alone, so that it costs nothing."""

from emdp.mechanisms.keys.gaussian import GaussianKeys
from emdp.mechanisms.keys.laplace import LaplaceKeys, TruncatedKeys
from emdp.mechanisms.keys.threshold import KeyThreshold
from emdp.privacy.guarantees.kinds import Neighbours

__all__ = ["best_threshold"]


def best_threshold(epsilon: float, delta: float, keys: int, neighbours: Neighbours) -> KeyThreshold:
    """Return the threshold that a key passes with the fewest people; of equal ones that with the least noise.

    Parameters
    ----------
    epsilon, delta, keys, neighbours
        As of :class:`emdp.mechanisms.keys.threshold.KeyThreshold`.

    >>> [best_threshold(1.0, 1e-9, keys, "remove").name for keys in (1, 3)]
    ['truncated discrete Laplace', 'Gaussian']
    """
    kinds: tuple[type[KeyThreshold], ...] = (TruncatedKeys, GaussianKeys, LaplaceKeys)
    found = [kind(epsilon, delta, keys, neighbours) for kind in kinds]
    return min(found, key=lambda one: (one.people, one.standard_deviation))
