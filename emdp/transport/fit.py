"""A measure on a fine grid near noisy weights of a coarse one: least squares in the noise's own norm.

``q = argmin |S^(-1/2) (C q - Y)|^2`` over the measures of mass 1 on the fine grid: ``C`` the weights of the fine places
at the coarse nodes, a product over the axes, and ``S`` the covariance of the noise. For noise on the edges of a grid
``S = 2 sum_a b_a^2 L_a``, ``L_a`` the Laplacian along axis ``a``, which discrete cosines diagonalise (of an axis that
goes round, sines and cosines; of a listed axis any basis that starts with a constant). ``S`` knows no mass: what it
cannot see, the sum, is the same on both sides. For independent noise ``S`` is the identity times its variance.

Noise on the blocks of a tree (:mod:`emdp.mechanisms.central.tree`) has a covariance that a basis of steps within blocks
diagonalises, the same along every axis: a product of such vectors belongs to the finer of their levels.

One place more may stand away from all others, at no node of the grid: then ``q`` has mass 1 with it. Where an edge
joins it to every node, with noise of variance ``v``, ``S + v I`` is the covariance of the grid's nodes; its own weight
is 1 less their sum, and tells nothing more. With independent noise its own weight is one more number to be near.

The minimum is sought from the uniform measure by accelerated projected gradients that start over where they climb
(FISTA; Beck and Teboulle 2009; O'Donoghue and Candes 2015), with a step from a power iteration: deterministic. It is
post-processing: how well it is solved costs no privacy. The minimum is not unique, since a cell's weights tell mass and
centre, not spread; the start decides (private-measures.md 2).
"""

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce

import numpy as np

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.spaces.base import Floats
from emdp.transport.simplex import project_to_simplex

__all__ = ["STEPS", "FitAxis", "along_axes", "coarse_weights", "fit_measure"]

STEPS = 800
"""Steps of the descent; 200 were within 7 % of it, 3000 no nearer."""

POWER_STEPS = 30
SMALL = 2**18
"""Multiplications up to which a product of matrices stays on one core."""

MARGIN = 1.05
"""Above what a power iteration misses of the largest eigenvalue; a step that climbs all the same starts over."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class FitAxis:
    """One axis of both grids."""

    weights: Floats  # Shape (nodes, places): what a place of the fine grid gives to each node; columns add up to 1
    # "path", "round", "listed", "tree", "graph": how the nodes hang together; see `emdp.mechanisms.central.edge_grid`.
    # A tree has a power of 4 of them.
    form: str
    variance: float
    laplacian: Floats | None = None  # Of a graph: the covariance of its noise over the variance, shape (nodes, nodes)

    def basis(self) -> tuple[Floats, Floats]:
        """Return an orthonormal basis, a row a vector, that diagonalises the axis's Laplacian, and its eigenvalues.

        >>> vectors, values = FitAxis(np.eye(3), "path", 1.0).basis()
        >>> np.round(vectors @ np.array([[1, -1, 0], [-1, 2, -1], [0, -1, 1]]) @ vectors.T, 12).diagonal().tolist()
        [0.0, 1.0, 3.0]
        >>> values.round(12).tolist()
        [0.0, 1.0, 3.0]
        """
        size = len(self.weights)
        if self.form == "tree":
            return _steps_in_blocks(size)
        if self.laplacian is not None:
            values, columns = np.linalg.eigh(self.laplacian)
            return columns.T, np.maximum(values, 0.0)
        place, number = np.arange(size), np.arange(size)[:, None]
        if self.form == "round":
            angle = 2.0 * np.pi * number * place / size
            # cosine plus sine is real, orthogonal and has the frequencies of both
            return (np.cos(angle) + np.sin(angle)) / np.sqrt(size), 2.0 - 2.0 * np.cos(2.0 * np.pi * place / size)
        vectors = np.cos(np.pi * number * (place + 0.5) / size) * np.sqrt(2.0 / size)
        vectors[0] = 1.0 / np.sqrt(size)
        if self.form == "listed":
            return vectors, (place > 0).astype(np.float64)
        return vectors, 2.0 - 2.0 * np.cos(np.pi * place / size)


def fit_measure(
    values: Floats, axes: Sequence[FitAxis], *, variance: float | None = None, away: float = 0.0,
    away_value: float | None = None, strengths: Sequence[float] = (), away_strength: float = 0.0, steps: int = STEPS,
    progress: Progress | None = None,
) -> Floats:  # fmt: skip
    """Return the measure on the fine grid.

    Parameters
    ----------
    values : numpy.ndarray
        The noisy weights, one a node, the last axis running fastest.
    variance : float, optional
        That of independent noise on every node; by default the noise is on the edges.
    away : float
        Variance of the noise on the edges to a place that stands away; 0 where there is none.
    away_value : float, optional
        Noisy weight of that place, where the noise is independent or on a tree.
    strengths : sequence of float
        Of axes that are trees: one over the variance of what each level adds, the coarsest first.
    away_strength : float
        That of the place away, beside a tree.
    progress : callable, optional
        Told how many steps of how many are done.

    Returns
    -------
    numpy.ndarray
        Shape of the fine grid, at least 0, with sum 1; at most 1 where the rest may be away.

    Raises
    ------
    UsageError
        If there are not as many values as nodes, or one is not finite.

    >>> line = FitAxis(np.array([[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]]), "path", 1.0)
    >>> fit_measure(np.array([1.2, -0.2]), [line], steps=50).round(6).tolist()
    [1.0, 0.0, 0.0]
    """
    shape = tuple(len(axis.weights) for axis in axes)
    given = np.asarray(values, dtype=np.float64)
    if given.size != np.prod(shape) or not np.isfinite(given).all():
        raise UsageError(f"values must be {int(np.prod(shape))} finite numbers, one a node; pass those.")
    numbers = [axis.basis()[1] for axis in axes]
    weights = (
        _of_levels(numbers, strengths, away_strength > 0.0)
        if strengths
        else _inverse_variances(axes, numbers, variance, away)
    )
    places = tuple(axis.weights.shape[1] for axis in axes)
    forward, back = zip(*(_transforms(axis, math.prod(places)) for axis in axes), strict=True)
    aim = _transformed([_to_basis(axis) for axis in axes], given.reshape(shape))

    def gradient(q: Floats) -> Floats:
        return _transformed(back, weights * (_transformed(forward, q) - aim))

    size = _step(lambda q: _transformed(back, weights * _transformed(forward, q)), places)
    inside, has_away = 1.0, away > 0.0 or away_value is not None
    if has_away:
        inside = min(max(float(given.sum()) if away_value is None else 1.0 - away_value, 0.0), 1.0)
    start = np.append(np.full(int(np.prod(places)), inside / np.prod(places)), [1.0 - inside] * has_away)
    # the slope of the weight of the place away in the same units
    slope = away_strength / max(strengths) if strengths else 1.0
    size = size if away_value is None else min(size, 1.0 / (MARGIN * slope))

    def slopes(q: Floats) -> Floats:
        inner = int(np.prod(places))
        own = gradient(q[:inner].reshape(places)).ravel()
        return np.append(own, slope * (q[inner:] - away_value) if away_value is not None else 0.0 * q[inner:])

    return _descend(slopes, size, start, steps, progress)[: int(np.prod(places))].reshape(places)


def coarse_weights(measure: Floats, axes: Sequence[FitAxis]) -> Floats:
    """Return ``C q``: what a measure on the fine grid gives to each node, in the order of the nodes.

    >>> line = FitAxis(np.array([[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]]), "path", 1.0)
    >>> coarse_weights(np.array([0.5, 0.5, 0.0]), [line]).tolist()
    [0.75, 0.25]
    """
    return along_axes([axis.weights for axis in axes], measure).ravel()


def _inverse_variances(
    axes: Sequence[FitAxis], values: Sequence[Floats], variance: float | None, away: float
) -> Floats:
    """Return one over the noise's variance along each vector of the product basis; 0 for the sum, unless it is free."""
    if variance is not None:
        return np.full(tuple(map(len, values)), 1.0)
    scaled = [axis.variance * own for axis, own in zip(axes, values, strict=True)]
    total: Floats = reduce(np.add.outer, scaled) + away
    known = total > 1e-12 * total.max(initial=0.0)
    return np.where(known, total[known].min(initial=np.inf) / np.where(known, total, 1.0), 0.0)


def _of_levels(levels: Sequence[Floats], strengths: Sequence[float], has_away: bool) -> Floats:
    """Return the strengths of the products of vectors of some levels; of the sum none, where it is known."""
    finer: Floats = reduce(np.maximum.outer, levels)
    found: Floats = np.array([strengths[0] if has_away else 0.0, *strengths])[finer.astype(np.int64)] / max(strengths)
    return found


def _steps_in_blocks(size: int) -> tuple[Floats, Floats]:
    """Return a constant and, level by level, what blocks of 4 differ by from their mean; and the levels.

    >>> vectors, levels = _steps_in_blocks(16)
    >>> bool(np.allclose(vectors @ vectors.T, np.eye(16))), levels.tolist()[:7]
    (True, [0.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0])
    """
    steps = np.cos(np.pi * np.arange(1, 4)[:, None] * (np.arange(4) + 0.5) / 4) * np.sqrt(0.5)
    parts, levels, side, level = [np.full((1, size), 1.0 / np.sqrt(size))], [0.0], size // 4, 1
    while side >= 1:
        inside = np.repeat(steps, side, axis=1) / np.sqrt(side)
        parts.append(np.kron(np.eye(size // (4 * side)), inside))
        levels += [float(level)] * len(parts[-1])
        side, level = side // 4, level + 1
    return np.concatenate(parts), np.array(levels)


def along_axes(matrices: Sequence[Floats], values: Floats) -> Floats:
    """Return the product of one matrix an axis with an array.

    >>> along_axes([np.array([[1.0, 1.0]]), np.eye(2)], np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[4.0, 6.0]]
    """
    for place, matrix in enumerate(matrices):
        values = np.moveaxis(np.tensordot(matrix, values, axes=(1, place)), 0, place)
    return np.asarray(values, dtype=np.float64)


Transform = Callable[[Floats], Floats]
"""Of an array's first axis."""


def _transformed(transforms: Sequence[Transform], values: Floats) -> Floats:
    """Return an array whose axes went through one transform each.

    They run on one core: on a busy machine the threads of a product of matrices of this size cost ten times more
    processor time, in waiting for one another, than the product.
    """
    found = values
    for place, transform in enumerate(transforms):
        first = np.moveaxis(found, place, 0)
        lines = transform(np.ascontiguousarray(first).reshape(len(first), -1))
        found = np.moveaxis(lines.reshape(len(lines), *first.shape[1:]), 0, place)
    return np.ascontiguousarray(found)


def _transforms(axis: FitAxis, places: int) -> tuple[Transform, Transform]:
    """Return what takes weights of so many places to the coefficients of their nodes' weights, and its transpose."""
    if len(axis.weights) * places <= SMALL:
        matrix = axis.basis()[0] @ axis.weights
        return lambda values: matrix @ values, lambda values: matrix.T @ values
    from scipy.sparse import csr_array

    coarse, fine = csr_array(axis.weights), csr_array(axis.weights.T)
    to, of = _to_basis(axis), _to_basis(axis, is_back=True)
    return lambda values: to(coarse @ values), lambda values: fine @ of(values)


def _to_basis(axis: FitAxis, *, is_back: bool = False) -> Transform:
    """Return the product with the axis's basis, or with its transpose, by a fast transform where there is one."""
    if axis.form in ("tree", "graph"):
        vectors = axis.basis()[0]
        matrix = vectors.T if is_back else vectors
        return lambda values: np.asarray(matrix @ values, dtype=np.float64)
    from scipy import fft

    if axis.form == "round":
        root = np.sqrt(len(axis.weights))

        def waves(values: Floats) -> Floats:
            # cosine plus sine of each frequency: it is its own inverse
            found = fft.fft(values, axis=0)
            return np.asarray((found.real - found.imag) / root, dtype=np.float64)

        return waves
    cosines = partial(fft.idct if is_back else fft.dct, axis=0, norm="ortho")
    return lambda values: np.asarray(cosines(values), dtype=np.float64)


def _step(change: Transform, places: tuple[int, ...]) -> float:
    """Return one over the gradient's Lipschitz constant."""
    vector = np.cos(np.arange(int(np.prod(places))) * 1.7).reshape(places)
    largest = 0.0
    for _ in range(POWER_STEPS):
        vector = change(vector)
        largest = float(np.sqrt(np.square(vector).sum()))
        if largest == 0.0:
            return 0.0
        vector /= largest
    return 1.0 / (MARGIN * largest)


def _descend(
    gradient: Callable[[Floats], Floats], size: float, start: Floats, steps: int, progress: Progress | None
) -> Floats:
    current = start
    if size == 0.0:
        return current
    ahead, momentum = current, 1.0
    for done in range(steps):
        found = project_to_simplex(ahead - size * gradient(ahead))
        if float(((ahead - found) * (found - current)).sum()) > 0.0:
            # it climbs: start over from here
            ahead, momentum = found, 1.0
        else:
            after = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
            ahead = found + (momentum - 1.0) / after * (found - current)
            momentum = after
        current = found
        if progress is not None:
            progress(done + 1, steps)
    return current
