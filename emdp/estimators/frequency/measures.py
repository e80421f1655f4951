"""A private measure: noise on the edges between nodes of the whole space, and a measure fitted to what was released.

What is released are the weights of all nodes, by :mod:`emdp.mechanisms.central.edges`, one event of ``(alpha, 0)``
d_EM-DP. At user level a user's weights move by 2 in the 1-norm, whatever the records, and noise on every node is mostly
better; noise on the blocks of a tree (:mod:`emdp.estimators.frequency.measure_tree`) and, with a delta, Gaussian noise
on edges (:mod:`emdp.estimators.frequency.resistance`) are compared with it by what is expected of each. All else is
computed from them and from public numbers, and costs nothing: the fitted measure, tables sampled from it, means of
functions, maps. The fit is best where the noise has the covariance that it is made for (:mod:`emdp.transport.fit`); no
bound of its distance to the truth is proved, and what is expected is measured at two public priors
(:mod:`emdp.estimators.frequency.measure_cells`).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from emdp.base.errors import UsageError
from emdp.estimators.columns.ordering import ordered
from emdp.estimators.frequency.edge_noise import Fractions, edge_noise
from emdp.estimators.frequency.listed_measures import ListedCells, ListedRows, bound_of_means, listed_notes, listed_ways
from emdp.estimators.frequency.measure_cells import BY_CELLS, BY_TREE, BY_USER_EDGES, MeasureCells, measure_cells
from emdp.estimators.frequency.measure_rows import MeasureRows
from emdp.estimators.frequency.measure_structures import mean_fraction
from emdp.estimators.frequency.measure_tree import (
    REFUSAL,
    TreePlan,
    TreeRows,
    tree_cells,
    tree_column,
    tree_noise,
    tree_of,
)
from emdp.estimators.frequency.pair_rows import PairRows
from emdp.estimators.frequency.smoothed import notes_of_away, with_absent
from emdp.estimators.plan import Plan
from emdp.estimators.user_groups import GroupNoise, change_of, check_names, noise_of_groups
from emdp.expressions.cells.aggregation import Aggregation, LabelAxis
from emdp.expressions.nodes.base import Constant
from emdp.mechanisms import GaussianMechanism
from emdp.mechanisms.central.edge_laws import EdgeGaussianMechanism
from emdp.mechanisms.central.edges import EdgeMechanism
from emdp.privacy.calibration import LARGEST_ALPHA
from emdp.questions.comparison import ComparedMethod
from emdp.questions.measures import Measure
from emdp.questions.price import Price
from emdp.spaces import Space

__all__ = ["OF_MEANS", "plan_measure"]

OF_MEANS = "means are of those that have one, and no distance bounds their error"
"""What the share that has no place says of means over a measure."""

BLOCK = 4
"""Side, in nodes, of the square whose share is compared with a question of its own."""

PAIR_NOTES = (
    "pairs of records of one user, each with each, for how far apart a person's places are: apart(); not for naming "
    "pairs of places, such as home and work: ask for those you know one by one",
)


def plan_measure(query: Measure, *, space: Space, users: int, fractions: Fractions | None = None) -> Plan:
    """Return the plan of a measure.

    Parameters
    ----------
    fractions : mapping of str to Fraction, optional
        Of a block of a structure: what fraction of alpha moves along its columns have in it.

    Raises
    ------
    UsageError
        If the price has a delta under ``alpha``, or a part of the space has no nodes.

    Guarantee
    ---------
    ``(alpha, 0)`` unbounded central d_EM-DP: :mod:`emdp.mechanisms.central.edges`; or central user-level: the
    Laplace mechanism, or Gaussian noise on edges.

    >>> from emdp.questions.measures import measure
    >>> from emdp.spaces import Interval
    >>> plan = plan_measure(measure(alpha=2.0), space=Interval("x", 0, 10), users=100)
    >>> plan.guarantee.alpha, plan.mechanisms[0].dimension
    (2.0, 10)
    """
    ways = _ways(query, space, users, fractions)
    wanted = [way for way in ways if query.noise in ("auto", _where(way))]
    if not wanted:
        why = f": {REFUSAL}" if query.noise == "tree" else ""
        raise UsageError(f"noise={query.noise!r} has no bound here{why}; leave noise out.")
    best = _nearest(wanted)
    if best[0].cells.size < 2:
        raise UsageError("a measure of one node tells nothing; pass a smaller pitch.")
    others = (_plan_of(query, space, users, ways, way) for way in wanted if way is not best and way[0].cells.size > 1)
    return replace(_plan_of(query, space, users, ways, best), others=tuple(others))


Way = tuple[MeasureCells, GroupNoise]


def _nearest(ways: Sequence[Way]) -> Way:
    """Return what is expected to be nearest at towns; a tree where the mean of both public tables is less.

    A tree tells towns apart from empty country by its coarse blocks, and has most of its error in scattered places.
    """
    plain = [way for way in ways if _where(way) != "tree"]
    trees = [way for way in ways if _where(way) == "tree"]
    if not plain:
        return trees[0]
    best = min(plain, key=lambda way: way[0].expected)
    return min([best, *trees], key=lambda way: math.fsum(way[0].expected))


def _plan_of(query: Measure, space: Space, users: int, ways: Sequence[Way], way: Way) -> Plan:
    """Return the plan by one way."""
    grid, noise = way
    aggregation, mechanism = _aggregation(grid), noise.widest
    is_tree = _where(way) == "tree"
    is_listed = isinstance(grid, ListedCells)
    kind = TreeRows if is_tree else PairRows if query.pairs else ListedRows if is_listed else MeasureRows
    rows = kind(query.name, grid, mechanism, space)
    check_names(rows.columns)
    constant = change_of(aggregation, space, query.price).lipschitz
    column = noise.share_column(query, grid.cells.text, constant)
    own = listed_notes(grid, space) if is_listed else _notes(way, users, query.price, space)
    shared: dict[str, Any] = {
        "aggregation": aggregation,
        "scales": (1.0,),
        "mechanisms": noise.mechanisms,
        "event": noise.event,
        "columns": (tree_column(column, grid, mechanism) if is_tree else column,),
        "choice": noise.choice,
        "finisher": ordered(rows, query.order, limit=query.limit, offset=query.offset, columns=rows.columns),
        "notes": (*own, *notes_of_away(space, OF_MEANS), *PAIR_NOTES[: query.pairs]),
        "has_absent": space.elsewhere is not None,
        "comparison": _comparison(ways, grid),
    }
    return TreePlan(tree=tree_of(grid), **shared) if is_tree else Plan(**shared)


def _ways(query: Measure, space: Space, users: int, fractions: Fractions | None) -> list[Way]:
    """Return the nodes and the noise of every way to release the measure."""
    listed = listed_ways(query, space, users, fractions)
    if listed:
        return listed
    price = query.price
    asked: dict[str, Any] = {"pitch": query.pitch, "resolution": query.resolution, "columns": query.columns}
    if not price.is_user_level:
        if price.delta > 0:
            raise UsageError("a measure under alpha has Laplace noise, which spends no delta; leave delta out.")
        if query.pairs and space.elsewhere is not None:
            raise UsageError("pairs is of records that have a place; leave it out where they may be elsewhere.")
        loss = price.level * users * mean_fraction(query.columns, fractions or {})
        grid = measure_cells(space, loss, pairs=query.pairs, **asked)
        return [(grid, edge_noise(_aggregation(grid), space, (users,), price, fractions).required())]
    found = []
    grid = measure_cells(space, price.level * users, rule=BY_CELLS, **asked)
    change = change_of(_aggregation(grid), space, price)
    if space.elsewhere is not None:
        change = with_absent(change, grid.cells, space, price)
    found.append((grid, noise_of_groups(change, (users,), price, "laplace")))
    if query.noise == "tree" or (query.noise == "auto" and query.pitch is None):
        planted = tree_cells(space, price.level * users, asked)
        if planted is not None:
            found.append((planted, tree_noise(_aggregation(planted), space, users, price, tree_of(planted))))
    if price.delta > 0 and space.elsewhere is None and price.level <= LARGEST_ALPHA:
        scale = GaussianMechanism(sensitivity=1.0, alpha=price.level, delta=price.delta).scale
        grid = measure_cells(space, users / scale, rule=BY_USER_EDGES, **asked)
        noise = edge_noise(_aggregation(grid), space, (users,), price).required()
        if isinstance(noise.widest, EdgeGaussianMechanism):
            found.append((grid, noise))
    return found


def _where(way: Way) -> str:
    grid, noise = way
    if isinstance(noise.widest, EdgeMechanism):
        return "edges"
    return "tree" if grid.rule is BY_TREE else "laplace"


def _aggregation(grid: MeasureCells) -> Aggregation:
    return Aggregation((Constant(1.0),), grid.cells.axes, pairs=grid.pairs)


def _notes(way: Way, users: int, price: Price, space: Space) -> tuple[str, ...]:
    grid, mechanism = way[0], way[1].widest
    unit, loss = grid.unit, users * price.level / (2.0 if grid.pairs else 1.0)
    is_edges = isinstance(mechanism, EdgeMechanism)
    direct = math.sqrt(2.0) / (loss if price.is_user_level else grid.pitch * grid.scale * loss)
    block = _block_deviation(way)
    alone = "" if price.is_user_level else " with edges a pitch wide"
    return (
        f"the fitted measure is {grid.expectation}{bound_of_means(space)}",
        f"pitch {grid.pitch:.3g}{unit}, {grid.cells.size} nodes, fitted on {grid.places} places; smoothing moves the "
        "released nodes by at most half a pitch along each axis",
        f"a region of {BLOCK} nodes along each axis has noise of {block:.2g} here, and {direct:.2g} asked alone"
        f"{alone}: from {max(1, math.ceil(block / direct))} such questions on a measure is nearer; one "
        "known question: ask it",
        f"shares of nodes are unbiased for the smoothed distribution{',' if is_edges else ' and'} have exact intervals"
        f"{' and add up to 1' if is_edges else ', and add up to 1 within their noise'}; the fit "
        "has no intervals, and a bright place of it is no finding",
    )


def _block_deviation(way: Way) -> float:
    """Return the standard deviation of the noise in a block of nodes, of all listed values."""
    grid, mechanism = way[0], way[1].widest
    inside = np.ones(())
    for axis in grid.cells.axes:
        line = np.ones(axis.size)
        if not isinstance(axis, LabelAxis):
            start = max((axis.size - BLOCK) // 2, 0)
            line = ((np.arange(axis.size) >= start) & (np.arange(axis.size) < start + BLOCK)).astype(np.float64)
        inside = np.multiply.outer(inside, line)
    if _where(way) == "tree":
        return tree_of(grid).deviation(inside, mechanism.scale)
    if not isinstance(mechanism, EdgeMechanism):
        return mechanism.standard_deviation * math.sqrt(float(inside.sum()))
    return mechanism.linear_deviation(np.append(inside.ravel(), [0.0] * (mechanism.dimension - inside.size)))


def _comparison(ways: Sequence[Way], chosen: MeasureCells) -> tuple[ComparedMethod, ...]:
    found = []
    for way in sorted(ways, key=lambda way: way[0].expected):
        grid, noise = way
        towns, scattered = (own * grid.scale for own in grid.expected)
        where = {"edges": "edges", "tree": "blocks of 4 x 4"}.get(_where(way), "every node")
        name = "measure" if len(ways) == 1 else "tree" if _where(way) == "tree" else noise.widest.name
        remark = f"noise on {where} and a fit; expected at towns, at scattered places {scattered:.3g}"
        found.append(ComparedMethod(name, towns, grid is chosen, remark))
    return tuple(found)
