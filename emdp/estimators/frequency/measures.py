"""A private measure: noise on the edges between nodes of the whole space, and a measure fitted to what was released.

What is released are the weights of all nodes, by :mod:`emdp.mechanisms.central.edges`, one event of ``(alpha, 0)``
d_EM-DP. All else is computed from them and from public numbers, and costs nothing: the fitted measure, tables sampled
from it, means of functions, maps. The fit is best where the noise has the covariance that it is made for
(:mod:`emdp.transport.fit`); no bound of its distance to the truth is proved, and what is expected is measured at two
public priors (:mod:`emdp.estimators.frequency.measure_cells`).
"""

import math

import numpy as np

from emdp.base.errors import UsageError
from emdp.estimators.columns.ordering import ordered
from emdp.estimators.frequency.edge_noise import edge_noise
from emdp.estimators.frequency.measure_cells import MeasureCells, measure_cells
from emdp.estimators.frequency.measure_rows import MeasureRows
from emdp.estimators.plan import Plan
from emdp.estimators.user_groups import check_names
from emdp.expressions.cells.aggregation import Aggregation, LabelAxis
from emdp.expressions.cells.bounds import aggregation_lipschitz
from emdp.expressions.nodes.base import Constant
from emdp.mechanisms.central.edges import EdgeMechanism
from emdp.questions.comparison import ComparedMethod
from emdp.questions.measures import Measure
from emdp.spaces import Space

__all__ = ["plan_measure"]

BLOCK = 4
"""Side, in nodes, of the square whose share is compared with a question of its own."""


def plan_measure(query: Measure, *, space: Space, users: int) -> Plan:
    """Return the plan of a measure.

    Parameters
    ----------
    query : Measure
        The query.
    space : Space
        The table's item space.
    users : int
        The public number of users.

    Raises
    ------
    UsageError
        If the price is none of ``alpha``, or a part of the space has no nodes.

    Guarantee
    ---------
    ``(alpha, 0)`` unbounded central d_EM-DP: :mod:`emdp.mechanisms.central.edges`.

    >>> from emdp.questions.measures import measure
    >>> from emdp.spaces import Interval
    >>> plan = plan_measure(measure(alpha=2.0), space=Interval("x", 0, 10), users=100)
    >>> plan.guarantee.alpha, plan.mechanisms[0].dimension
    (2.0, 10)
    """
    if query.price.is_user_level or query.price.delta > 0:
        raise UsageError("a measure is priced in alpha, with delta 0; pass alpha, or ask for frequencies.")
    grid = measure_cells(space, query.price.level * users, pitch=query.pitch, resolution=query.resolution)
    aggregation = Aggregation((Constant(1.0),), grid.cells.axes)
    noise = edge_noise(aggregation, space, (users,), query.price).required()
    mechanism = noise.widest
    if not isinstance(mechanism, EdgeMechanism):
        raise UsageError("a measure of one node tells nothing; pass a smaller pitch.")
    rows = MeasureRows(query.name, grid, mechanism, space)
    check_names(rows.columns)
    constant = aggregation_lipschitz(aggregation, (1.0,), space)[0]
    return Plan(
        aggregation=aggregation,
        scales=(1.0,),
        mechanisms=noise.mechanisms,
        event=noise.event,
        columns=(noise.share_column(query, grid.cells.text, constant),),
        choice=noise.choice,
        finisher=ordered(rows, query.order, limit=query.limit, offset=query.offset, columns=rows.columns),
        notes=_notes(grid, mechanism, users * query.price.level),
        comparison=_comparison(grid),
    )


def _notes(grid: MeasureCells, mechanism: EdgeMechanism, loss: float) -> tuple[str, ...]:
    unit = grid.unit
    direct = math.sqrt(2.0) / (grid.pitch * grid.scale * loss)
    block = _block_deviation(grid, mechanism)
    return (
        f"the fitted measure is {grid.expectation}; the mean of a function that changes by at most L a unit "
        "is off by at most L times that",
        f"pitch {grid.pitch:.3g}{unit}, {grid.cells.size} nodes, fitted on {grid.places} places; smoothing moves the "
        "released nodes by at most half a pitch along each axis",
        f"a region of {BLOCK} nodes along each axis has noise of {block:.2g} here, and {direct:.2g} asked alone with "
        f"edges a pitch wide: from {max(1, math.ceil(block / direct))} such questions on a measure is nearer; one "
        "known question: ask it",
        "shares of nodes are unbiased for the smoothed distribution, have exact intervals and add up to 1; the fit "
        "has no intervals, and a bright place of it is no finding",
    )


def _block_deviation(grid: MeasureCells, mechanism: EdgeMechanism) -> float:
    """Return the standard deviation of the noise in a block of nodes, of all listed values."""
    inside = np.ones(())
    for axis in grid.cells.axes:
        line = np.ones(axis.size)
        if not isinstance(axis, LabelAxis):
            start = max((axis.size - BLOCK) // 2, 0)
            line = ((np.arange(axis.size) >= start) & (np.arange(axis.size) < start + BLOCK)).astype(np.float64)
        inside = np.multiply.outer(inside, line)
    return mechanism.linear_deviation(inside.ravel())


def _comparison(grid: MeasureCells) -> tuple[ComparedMethod, ...]:
    towns, scattered = (own * grid.scale for own in grid.expected)
    return (
        ComparedMethod(
            "measure", towns, True, f"noise on edges and a fit; expected at towns, at scattered places {scattered:.3g}"
        ),
    )
