"""Planned errors of frequency estimates after post-processing, from fixed public draws: no data, no randomness.

Projection onto the simplex makes errors smaller by an amount that depends on the truth, so it is planned at public
*priors*: all cells alike, and shares falling by a factor from cell to cell. To the prior ``f`` errors of the model
are added, ``f + e`` is projected, and what is left of the error is averaged over draws. The draws are the quantiles
of normals at the values of a fixed hash of draw and cell (splitmix64; Steele, Lea and Flood 2014): the same for
everybody and for ever, so a plan is a function of public numbers. A low-discrepancy sequence would not do: its
partial sums are far smaller than those of noise, and ``d_em`` is made of such sums.

On a grid the norm is planned as ``PLANE_RATIO`` times the cost of a smooth flow (:mod:`emdp.transport.flow`), in the
plane; on one axis of a grid it is exact, on three axes the flow's cost is taken as it is, an upper bound. Of few listed
values with given distances it is exact, too; on other spaces without a closed form it is half the 1-norm, an upper
bound.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Literal

import numpy as np

from emdp.base.checks import check_choice, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.estimators.frequency.geometry import Geometry
from emdp.estimators.frequency.models import ErrorModel, checked_prior
from emdp.spaces.base import Floats
from emdp.transport.arrays import solve
from emdp.transport.flow import PLANE_RATIO, flow_bound
from emdp.transport.projection import project_on_blocks, project_on_clusters, project_on_line
from emdp.transport.simplex import project_rows

__all__ = ["PlannedErrors", "expected_distance", "falling_prior", "fixed_normals", "planned_errors", "typical_norm"]

Post = Literal["raw", "simplex", "d_em"]

ENTRIES = 200_000
"""Entries of all draws together: means of many cells are then known to 1 %, in well under a second."""

FEWEST_DRAWS, MOST_DRAWS = 2, 2000
"""Draws of very many, and of very few cells."""

MANY = 2**18
"""Cells from which one draw is enough: a mean over so many is known to some per cent, and methods share their draws."""

SINGLE_ENTRIES, FEWEST_SINGLE, MOST_SINGLE = 20_000, 4, 400
"""The same where draws are projected, or on grids measured, one after the other in the unit of ``d_em``."""


SOLVED = (1000, 4, 50)
"""The same where the transport of each draw is solved for."""


@dataclass(frozen=True)
class PlannedErrors:
    """Mean errors at one prior."""

    # l2_squared, l1, l_inf: Of the squared 2-norm, the 1-norm and the largest absolute error.
    l2_squared: float
    l1: float
    l_inf: float
    d_em: float  # Of the Kantorovich-Rubinstein norm
    draws: int  # Over how many fixed draws


def planned_errors(
    model: ErrorModel, geometry: Geometry, *, prior: Floats | None = None, post: Post = "simplex"
) -> PlannedErrors:
    """Return the mean errors of estimates after post-processing, at a public prior; deterministic.

    Parameters
    ----------
    model : ErrorModel
        The noise; only its second moments are used.
    prior : numpy.ndarray, optional
        Public shares of the cells, shape (k,); uniform by default. See :func:`falling_prior`.
    post : {"raw", "simplex", "d_em"}
        What is done with the estimates: nothing, the Euclidean projection, or the one in the unit of ``d_em`` (exact on
        lines, clusters and 0/1 distances, by blocks on grids).

    Raises
    ------
    UsageError
        If model, geometry and prior have different numbers of cells.

    >>> from emdp.estimators.frequency.models import IndependentErrors
    >>> model, cells = IndependentErrors(1000, 2.16395**2 / 150_000), Geometry.discrete(1000)
    >>> round(planned_errors(model, cells, prior=falling_prior(1000, 0.8)).l1, 2)
    0.31
    """
    check_choice("post", post, ("raw", "simplex", "d_em"))
    if model.size != geometry.size:
        raise UsageError(f"model has {model.size} cells and geometry {geometry.size}; describe the same cells.")
    truth = checked_prior(prior, model.size)
    projected_alone = post == "d_em" and geometry.kind in ("line", "clusters", "grid")
    alone = projected_alone or geometry.kind == "grid"
    entries, fewest, most = (
        SOLVED
        if geometry.apart is not None
        else (SINGLE_ENTRIES, FEWEST_SINGLE, MOST_SINGLE)
        if alone
        else (ENTRIES, FEWEST_DRAWS, MOST_DRAWS)
    )
    draws = min(max(entries // model.size, 1 if model.size >= MANY else fewest), most)
    errors = model.combine(fixed_normals(draws, model.size))
    if projected_alone:
        errors = np.stack([_projected(truth + row, geometry) - truth for row in errors])
    elif post != "raw":
        errors = project_rows(truth + errors, np.ones(len(errors))) - truth
    return PlannedErrors(
        l2_squared=float(np.square(errors).sum(axis=1).mean()),
        l1=float(np.abs(errors).sum(axis=1).mean()),
        l_inf=float(np.abs(errors).max(axis=1).mean()),
        d_em=float(_norms(errors, geometry).mean()),
        draws=len(errors),
    )


def expected_distance(
    model_at: Callable[[Floats | None], ErrorModel], geometry: Geometry, *, post: Post = "simplex"
) -> float:
    """Return the expected distance in ``d_em``, by default after projection: the mean over two public priors.

    What is found on given data may be up to about 3 times as much, or half of it: on check-ins in some thousands of
    cells, many of them empty and the others far less alike than a prior's, it was from 0.45 to 3.0 times. Before the
    projection the priors hardly matter.

    Parameters
    ----------
    model_at : callable
        From shares of the cells, None for equal ones, to the errors there.
    post : {"raw", "simplex", "d_em"}
        As for :func:`planned_errors`.

    >>> from emdp.estimators.frequency.models import IndependentErrors
    >>> model = IndependentErrors(100, 1e-6)
    >>> round(expected_distance(lambda _: model, Geometry.discrete(100)), 3)
    0.029
    """
    prior = falling_prior(geometry.size)
    falling = planned_errors(model_at(prior), geometry, prior=prior, post=post).d_em
    return 0.5 * (planned_errors(model_at(None), geometry, post=post).d_em + falling)


def typical_norm(errors: Floats, geometry: Geometry) -> float:
    """Return the Kantorovich-Rubinstein norm of errors: exactly, or on a grid of two axes to some per cent.

    On three axes and on spaces without a closed form it is an upper bound.

    Parameters
    ----------
    errors : numpy.ndarray
        Shape (k,); their sum is spread evenly first.

    >>> typical_norm(np.array([0.5, -0.5, 0.0]), Geometry.line([0.0, 0.5, 1.0]))
    0.25
    """
    return float(_norms(errors[None], geometry)[0])


@lru_cache(maxsize=4)
def falling_prior(size: int, factor: float = 0.8) -> Floats:
    """Return shares that fall by a factor from cell to cell: a public guess of what concentrated data look like.

    >>> falling_prior(3, 0.5).round(4).tolist()
    [0.5714, 0.2857, 0.1429]
    """
    weights = check_unit_interval("factor", factor, one=True) ** np.arange(size, dtype=np.float64)
    found = np.asarray(weights / weights.sum(), dtype=np.float64)
    found.flags.writeable = False
    return found


@lru_cache(maxsize=2)
def fixed_normals(draws: int, size: int) -> Floats:
    """Return fixed numbers that look like independent standard normals, shape (draws, size).

    For planning alone: they are public, and nothing that is private may be made of them.

    >>> fixed_normals(1, 3).round(3).tolist() == fixed_normals(2, 3)[:1].round(3).tolist()
    True
    """
    from scipy.special import ndtri

    word = np.arange(1, draws * size + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    shares = ((word >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53
    found = np.asarray(ndtri(shares).reshape(draws, size), dtype=np.float64)
    found.flags.writeable = False
    return found


def _norms(errors: Floats, geometry: Geometry) -> Floats:
    """Return :func:`typical_norm` of each row."""
    centred = errors - errors.mean(axis=1, keepdims=True)
    if geometry.positions is not None:
        order = np.argsort(geometry.positions, kind="stable")
        gaps = np.diff(geometry.positions[order])
        return np.asarray(np.abs(np.cumsum(centred[:, order], axis=1)[:, :-1]) @ gaps, dtype=np.float64)
    half = np.asarray(np.abs(centred).sum(axis=1) / 2, dtype=np.float64)
    if geometry.clusters is not None:
        order = np.argsort(geometry.clusters, kind="stable")
        starts = np.searchsorted(geometry.clusters[order], np.arange(int(geometry.clusters.max()) + 1))
        between = np.abs(np.add.reduceat(centred[:, order], starts, axis=1)).sum(axis=1) / 2
        return np.asarray(geometry.within * (half - between) + between, dtype=np.float64)
    if geometry.apart is not None:
        return np.array([own * _solved(row, geometry.apart) for own, row in zip(half, centred, strict=True)])
    if geometry.kind != "grid":
        return half
    factor = PLANE_RATIO if sum(count > 1 for count in geometry.shape) == 2 else 1.0
    bounds = [flow_bound(row.reshape(geometry.shape), geometry.steps) * factor for row in centred]
    return np.asarray(np.minimum(np.array(bounds), half), dtype=np.float64)


def _solved(errors: Floats, apart: Floats) -> float:
    """Return how far the positive part of errors is from the negative one, each made a distribution."""
    more, less = np.maximum(errors, 0.0), np.maximum(-errors, 0.0)
    return solve(more, less, apart) if more.any() and less.any() else 0.0


def _projected(values: Floats, geometry: Geometry) -> Floats:
    balanced = values + (1.0 - float(values.sum())) / values.size
    if geometry.positions is not None:
        return project_on_line(balanced, geometry.positions)
    if geometry.clusters is not None:
        return project_on_clusters(balanced, geometry.clusters)
    return project_on_blocks(balanced.reshape(geometry.shape)).ravel()
