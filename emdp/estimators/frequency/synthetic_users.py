"""Synthetic users from a measure of pairs: types of users whose pairs are nearest to it, and users dealt to types.

Post-processing: nothing is drawn at random, and nothing is spent. If a user has a law of places ``p``, and records are
independent given it, the pairs of everybody's records have the law ``P = sum_z w_z p_z p_z'``, a mixture over *types*
of users. The types are found from ``P`` by expectation and maximisation, whose steps are

    ``p_z <- p_z (Q p_z) / p_z' Q p_z,  w_z <- w_z p_z' Q p_z,  Q = P / sum_z w_z p_z p_z'``,

and never lower the likelihood of the pairs (Dempster, Laird and Rubin 1977). It starts from as many types as there are
places, the *anchors*: with ``z`` one place of a pair the other is at ``P(. | z)``. Users are dealt to types at equal
steps of ``w``, and their records at equal steps of ``p_z`` along a curve through all places.

How many records somebody has is no part of any measure: under a distance of normalised bags no answer depends on it. So
their sizes are a public law, or one that was paid for at user level, and they are independent of places.
"""

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from emdp.base.checks import check_count, check_finite
from emdp.base.errors import UsageError
from emdp.spaces.base import Floats

__all__ = ["Sizes", "dealt_users", "law_of_sizes", "octaves", "types_of"]

Sizes = int | Mapping[int, float]
"""Records a user, of all; or how large the share of users is that has so many."""

STEPS = 300
LEAST = 1e-12
"""Types and pairs with less are left out."""

GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
"""Multiples of it are spread evenly in [0, 1)."""

MOST_RECORDS = 10_000_000

Places = npt.NDArray[np.int64]


def types_of(pairs: Floats, *, steps: int = STEPS) -> tuple[Floats, Floats]:
    """Return the shares of types of users, and each type's law of places, a row a type.

    Parameters
    ----------
    pairs : numpy.ndarray
        Shape (places, places), symmetric, at least 0, with sum 1.
    steps : int
        Of expectation and maximisation; 0 for the anchors alone.

    >>> weights, laws = types_of(np.array([[0.5, 0.0], [0.0, 0.5]]))
    >>> weights.tolist(), laws.tolist()
    ([0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]])
    >>> types_of(np.array([[0.0, 0.5], [0.5, 0.0]]))[1].tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    alone = pairs.sum(axis=1)
    kept = alone > LEAST
    weights, laws = alone[kept] / alone[kept].sum(), pairs[kept] / alone[kept, None]
    for _ in range(steps):
        mixed = laws.T @ (weights[:, None] * laws)
        given = np.where(pairs > 0.0, pairs / np.maximum(mixed, np.finfo(np.float64).tiny), 0.0)
        raised = laws * (laws @ given)
        gained = raised.sum(axis=1)
        kept = weights * gained > LEAST
        if not kept.any():
            # no place is shared by two types that see one another, as where no pair is of one place: anchors stay
            break
        weights = weights * gained
        laws = raised[kept] / gained[kept, None]
        weights = weights[kept] / weights[kept].sum()
    return weights, laws


def law_of_sizes(sizes: object) -> tuple[Places, Floats]:
    """Return numbers of records, and the shares of users who have so many.

    Shares that noise made negative count as 0; the others are scaled to the sum 1.

    Raises
    ------
    UsageError
        If they are no such law.

    >>> numbers, shares = law_of_sizes({2: 3.0, 8: 1.0, 32: -0.1})
    >>> numbers.tolist(), shares.tolist()
    ([2, 8, 32], [0.75, 0.25, 0.0])
    """
    given = sizes if isinstance(sizes, Mapping) else {sizes: 1.0}
    counts = [check_count("sizes", number) for number in given]
    if max(counts, default=0) > MOST_RECORDS:
        raise UsageError(f"sizes must be at most {MOST_RECORDS} records a user; pass smaller ones.")
    numbers = np.array(counts, dtype=np.int64)
    shares = np.array([max(check_finite("sizes", share), 0.0) for share in given.values()], dtype=np.float64)
    if not shares.size or not shares.sum() > 0:
        raise UsageError("sizes must give some share of users at least one record; pass such as {1: 0.5, 10: 0.5}.")
    return numbers, shares / shares.sum()


def dealt_users(weights: Floats, laws: Floats, count: int, sizes: object) -> tuple[Places, Places]:
    """Return for each record the number of its user and of its place.

    Parameters
    ----------
    weights, laws : numpy.ndarray
        Types, as :func:`types_of` gives them, of places in the order of a curve.

    Raises
    ------
    UsageError
        If there were more than ten million records.

    >>> owners, places = dealt_users(np.array([0.5, 0.5]), np.array([[1.0, 0.0], [0.0, 1.0]]), 2, 3)
    >>> owners.tolist(), places.tolist()
    ([0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1])
    """
    numbers, shares = law_of_sizes(sizes)
    if check_count("n", count) > MOST_RECORDS:
        raise UsageError(f"n must be at most {MOST_RECORDS} users; pass fewer.")
    own = np.arange(int(count))
    # the places of records within their steps, and the sizes, go through all types alike
    offsets, levels = (0.5 + own * GOLDEN) % 1.0, (0.5 + own * GOLDEN**2 * math.sqrt(2.0)) % 1.0
    types = np.minimum(np.searchsorted(np.cumsum(weights), (own + 0.5) / count), len(weights) - 1)
    each = numbers[np.minimum(np.searchsorted(np.cumsum(shares), levels), len(numbers) - 1)]
    if int(each.sum()) > MOST_RECORDS:
        raise UsageError(f"n users of these sizes have more than {MOST_RECORDS} records; pass fewer users.")
    owners = np.repeat(own, each)
    within = np.arange(len(owners)) - np.repeat(np.cumsum(each) - each, each)
    steps = (within + offsets[owners]) / each[owners]
    places, order = np.zeros(len(owners), dtype=np.int64), np.argsort(types[owners], kind="stable")
    for kind, part in zip(*_split(types[owners][order], order), strict=True):
        places[part] = np.searchsorted(np.cumsum(laws[kind]), steps[part], side="right")
    return owners, np.minimum(places, laws.shape[1] - 1)


def _split(kinds: Places, order: Places) -> tuple[list[int], list[Places]]:
    """Return the kinds that are there, and the places of each."""
    found, starts = np.unique(kinds, return_index=True)
    return found.tolist(), np.split(order, starts[1:])


def octaves(frame: pl.DataFrame) -> dict[int, float]:
    """Return the law of sizes that a histogram says: its column ``octave`` or ``records``, and the number beside it.

    An octave is the whole part of the logarithm to base 2 of a number of records; the middle of those that have it
    stands for all.

    Raises
    ------
    UsageError
        If it has no such columns.

    >>> octaves(pl.DataFrame({"octave": [0, 1, 3], "people": [5.0, 2.5, -0.3]}))
    {1: 5.0, 3: 2.5, 11: -0.3}
    """
    name = next((name for name in ("octave", "records") if name in frame.columns), None)
    values = [own for own in frame.columns if own != name and not own.endswith(("_low", "_high"))]
    if name is None or len(values) != 1 or not frame.get_column(values[0]).dtype.is_numeric():
        raise UsageError("sizes must have a column octave or records, and one number of people; pass such an answer.")
    numbers = frame.get_column(name).to_list()
    if name == "octave":
        numbers = [math.floor(2.0 ** min(check_finite("octave", own), 64.0) * math.sqrt(2.0) + 0.5) for own in numbers]
    return dict(zip(numbers, frame.get_column(values[0]).to_list(), strict=True))
