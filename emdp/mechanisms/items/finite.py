"""Common part of randomizers of finite item spaces: integer weights, their ``alpha0``, draws, unbiased estimates.

Theorem (EMD 3 and 4). Let ``X`` be finite, ``W`` an integer matrix with rows summing to ``2**62``, ``A = W/2**62``. The
randomizer that draws ``y`` with probability ``A[x, y]`` is ``alpha0``-``d_X``-DP exactly if ``W[x, y] <= exp(alpha0
d_X(x, x')) W[x', y]`` for all ``x, x', y``: a set's probability is a sum of such entries. ``alpha0`` here is computed
from the integers that the sampler uses (:func:`emdp.mechanisms.weights.actual_alpha0`), never from the formula behind
them.

Estimates. If ``A B = I`` and ``N`` items with shares ``f`` are randomised independently, the histogram ``h`` of outputs
has ``E[h/N] = A^T f``, so ``B^T h/N`` has mean ``(A B)^T f = f``. Its entry ``x`` is a mean of ``N`` independent values
``B[Y, x]``, each of variance at most ``max_x' Var(B[Y, x] | x')``.
"""

from abc import abstractmethod
from copy import copy
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_positive
from emdp.base.errors import RefusedError, UsageError
from emdp.mechanisms.items.distances import ItemDistances, pair_orbits
from emdp.mechanisms.items.randomizer import Randomizer
from emdp.mechanisms.weights import TOTAL, Floats, Integers, actual_alpha0, fit_weights
from emdp.privacy.blanket.output_law import OutputLaw
from emdp.spaces import Space

__all__ = ["FiniteRandomizer"]

LARGEST_INVERSE = 2000
"""Most items for which a dense right inverse is solved: 32 MB and a second of processor."""

LARGEST_CONDITION = 1e10
"""Largest condition number (1-norm) of an inverse that is used: it costs ten of a double's sixteen digits."""

LARGEST_RESIDUAL = 1e-5
"""Largest entry of ``A B - I`` of an inverse that is used."""


class FiniteRandomizer(Randomizer):
    """A randomizer of a finite item space; subclasses give the weights of a strength.

    Parameters
    ----------
    space : Space
        A finite item space of 2 to 4096 items: listed values, a ``Grid``, or a ``Product`` of such. An unlisted neutral
        item is one of the items, the last.
    alpha0 : float
        The strength asked for, positive; what is achieved, ``self.alpha0``, never exceeds it.

    Attributes
    ----------
    items : ItemDistances
        The items, with ``d_X`` rounded down.

    Raises
    ------
    UsageError
        If an argument is malformed or the space is not finite.
    """

    items: ItemDistances

    def __init__(self, space: Space, alpha0: float) -> None:
        self.requested = check_positive("alpha0", alpha0)
        self.items = ItemDistances(space)
        self.space = space

    def __repr__(self) -> str:
        """Return the kind, the space and the strength asked for."""
        return f"{type(self).__name__}({self.space!r}, {self.requested!r})"

    @abstractmethod
    def _weights_at(self, strength: float) -> Integers:
        """Return the weights of an internal strength."""

    @cached_property
    def _fitted(self) -> tuple[Integers, float]:
        """The weights and their ``alpha0``."""
        weights, reached = fit_weights(
            self._weights_at, self._reached_by, self.requested, self._first_strength, self._aside
        )
        weights.flags.writeable = False
        return weights, reached

    def _reached_by(self, weights: Integers) -> float:
        """Return the ``alpha0`` of weights, rounded up; pairs that symmetry makes equal are looked at once."""
        if weights.shape[0] != weights.shape[1]:
            return actual_alpha0(weights, self.items.matrix)
        images = np.min(self._symmetries(weights), axis=0)
        return actual_alpha0(weights, self.items.matrix, np.flatnonzero(images == np.arange(len(images))))

    @property
    def _first_strength(self) -> float:
        """The internal strength to try first."""
        return self.requested

    @property
    def _aside(self) -> float:
        """What :func:`fit_weights` takes for ``aside``."""
        return 0.0

    @property
    def weights(self) -> Integers:
        """The law times ``2**62``, shape (items, outputs): positive, every row summing to exactly that; read-only."""
        return self._fitted[0]

    @property
    def alpha0(self) -> float:
        """Strength of the integer weights, rounded up; at most ``requested``."""
        return self._fitted[1]

    @property
    def w_min(self) -> float:
        return self.items.w_min

    @cached_property
    def law(self) -> OutputLaw:
        """The exact output law, with one pair of items for each class of equivalent ones where symmetry is known.

        On large grids only near pairs are named.
        """
        near = self.items.near
        if near is None:
            return OutputLaw(self.weights, self.items.matrix, self._pairs())
        return OutputLaw(self.weights, self.items.matrix, self._pairs(), self.blanket, stretch=near.stretch)

    @property
    def matrix(self) -> Floats:
        """The law ``A``, shape (items, outputs), rounded to doubles."""
        return self.weights / float(TOTAL)

    @property
    def blanket(self) -> Integers:
        """The least weight of each output over all items, shape (outputs,): the part of the law that all share."""
        return np.asarray(self.weights.min(axis=0), dtype=np.int64)

    @cached_property
    def right_inverse(self) -> Floats:
        """``B`` with ``A B = I``, shape (outputs, items).

        Raises
        ------
        RefusedError
            If the matrix is not square, too large for a dense solve, or has no stable inverse.
        """
        count, outputs = self.weights.shape
        if count != outputs or count > LARGEST_INVERSE:
            raise RefusedError(
                f"no inverse of {count} x {outputs} is solved for, at most {LARGEST_INVERSE} items; use KRR, GKRR or "
                "HadamardResponse, whose inverses have closed forms."
            )
        try:
            inverse = np.asarray(np.linalg.inv(self.matrix), dtype=np.float64)
        except np.linalg.LinAlgError:
            inverse = np.full(self.weights.shape, np.inf)
        self._check_inverse(inverse)
        return inverse

    def outputs_frame(self) -> dict[str, list[Any]]:
        """Return what the outputs are, in order: values under the space's column names."""
        return self.space.decode(self.items.items)

    def draw(self, codes: npt.NDArray[Any]) -> Integers:
        """Return one random output for each item, as codes.

        Parameters
        ----------
        codes : numpy.ndarray of integers
            Item codes (:func:`emdp.spaces.item_codes`), shape (n,).

        Returns
        -------
        numpy.ndarray of int64
            Output codes, shape (n,).
        """
        from emdp.noise.multinomial import draw_outcomes

        given = np.asarray(codes)
        if given.ndim != 1 or given.dtype.kind not in "iu":
            raise UsageError(f"codes must be a list of whole numbers, got shape {given.shape}; pass item codes.")
        if ((given < 0) | (given >= self.items.count)).any():
            raise UsageError(f"codes must be from 0 to {self.items.count - 1}; pass codes of the space's items.")
        return np.asarray(draw_outcomes(given.astype(np.int64), self.weights), dtype=np.int64)

    def release(self, counts: npt.NDArray[Any]) -> Integers:
        """Return the random histogram of outputs of all items together: one multinomial an item (EMD 3).

        Parameters
        ----------
        counts : numpy.ndarray of integers
            How many items there are of each kind, shape (items,).

        Returns
        -------
        numpy.ndarray of int64
            Shape (outputs,), with the same sum.
        """
        from emdp.noise.multinomial import draw_multinomials

        given = np.asarray(counts)
        if given.shape != (self.items.count,) or given.dtype.kind not in "iu":
            raise UsageError(
                f"counts must be {self.items.count} whole numbers, got shape {given.shape}; pass one for each item."
            )
        return np.asarray(draw_multinomials(given.astype(np.int64), self.weights), dtype=np.int64)

    def estimate(self, counts: npt.NDArray[Any]) -> Floats:
        """Return unbiased estimates of the items' shares from a histogram of outputs.

        Parameters
        ----------
        counts : numpy.ndarray
            Released histograms, shape (..., outputs), each with a positive sum.

        Returns
        -------
        numpy.ndarray
            Shape (..., items); entries may be negative.
        """
        given = np.asarray(counts, dtype=np.float64)
        outputs = self.weights.shape[1]
        if given.ndim == 0 or given.shape[-1] != outputs:
            raise UsageError(f"counts must have {outputs} entries, got shape {given.shape}; pass a released histogram.")
        totals = given.sum(axis=-1, keepdims=True)
        if not (totals > 0).all():
            raise UsageError("counts must have a positive sum; pass a released histogram.")
        return self._from_shares(given / totals)

    def estimate_range(self) -> tuple[Floats, Floats]:
        """Return the least and the largest value that one output can add to each item's estimate, both (items,)."""
        return self.right_inverse.min(axis=0), self.right_inverse.max(axis=0)

    def estimate_variance(self) -> Floats:
        """Return, for each item's estimate, the largest variance that one randomised item can have, shape (items,).

        An estimate from ``N`` items has at most this variance divided by ``N``.
        """
        inverse = self.right_inverse
        second: Floats = self.matrix @ np.square(inverse)
        second[np.diag_indices(len(second))] -= 1.0
        return np.asarray(second.max(axis=0), dtype=np.float64)

    def at(self, alpha0: float) -> Self:
        other = copy(self)
        for parent in type(self).__mro__:
            for name, member in vars(parent).items():
                if isinstance(member, cached_property):
                    other.__dict__.pop(name, None)
        other.requested = check_positive("alpha0", alpha0)
        return other

    def parameters(self) -> dict[str, Any]:
        return {**super().parameters(), "requested": self.requested, "items": self.items.count}

    def _from_shares(self, shares: Floats) -> Floats:
        """Return ``B^T`` applied to shares of outputs."""
        return np.asarray(shares @ self.right_inverse, dtype=np.float64)

    def _pairs(self) -> Integers | None:
        """Return representatives of the ordered pairs of items, or near ones, under the symmetries of the law."""
        if self._depends_on_distance_alone():
            return _pairs_by_distance(self.items.matrix)
        kept = self._symmetries(self.weights)
        if self.items.near is not None:
            return pair_orbits(kept, self.items.count, self.items.near.pairs)
        if len(kept) == len(self.items.isometries):
            return self.items.pairs
        return pair_orbits(kept, self.items.count) if len(kept) > 1 else None

    def _symmetries(self, weights: Integers) -> tuple[Integers, ...]:
        """Return the isometries of the items, taken of outputs too, that preserve weights; a group."""
        first, *others = self.items.isometries
        return first, *(moved for moved in others if np.array_equal(weights[np.ix_(moved, moved)], weights))

    def _depends_on_distance_alone(self) -> bool:
        """Say whether the space is 0/1 or of equal clusters, and a weight is a function of the distance.

        Then any pair of items is carried to any other at the same distance by a permutation that keeps the clusters,
        hence all distances, hence all weights.
        """
        clusters = self.items.clusters
        if clusters is None or len(set(np.bincount(clusters).tolist())) > 1:
            return False
        levels, place = np.unique(self.items.matrix, return_inverse=True)
        example = np.array([self.weights.flat[np.argmax(place == level)] for level in range(len(levels))])
        return bool((example[place.reshape(self.weights.shape)] == self.weights).all())

    def _check_inverse(self, inverse: Floats) -> None:
        matrix = self.matrix
        condition = float(np.abs(matrix).sum(axis=0).max() * np.abs(inverse).sum(axis=0).max())
        sound = np.isfinite(condition) and condition <= LARGEST_CONDITION
        if not sound or np.abs(matrix @ inverse - np.eye(len(matrix))).max() > LARGEST_RESIDUAL:
            raise RefusedError(
                f"the randomizer's outputs do not determine shares stably (condition number {condition:.1e}); ask for "
                "a larger alpha0 or fewer items, or use KRR, GKRR or HadamardResponse."
            )


def _pairs_by_distance(matrix: Floats) -> Integers:
    levels, first = np.unique(matrix, return_index=True)
    places = np.stack(np.divmod(first, len(matrix)), axis=1)
    return np.asarray(places[levels > 0], dtype=np.int64)
