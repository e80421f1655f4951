"""What one user adds to the statistic of a period, beside a user who is elsewhere: bounds for a cap on active periods.

A user of whom no record is read adds 0: the means of a table with the point elsewhere, and totals under a cap, do not
count who is not there. A user of whom some are adds ``m a``, with ``m`` the cap of a total (1 of a mean) and ``a`` in
the convex hull of 0 and the vectors ``F(x) = (s_i v_i(x) w_k(x))`` of records ``x``: values, their scales, and weights
of cells that are not negative and add up to at most 1 (:mod:`emdp.expressions.cells.bounds`). A share that is counted
as 1 less the sum of its cells is one more coordinate, ``-sum_k w_k(x)``. So, with the numbers of the theorem on active
periods (:mod:`emdp.mechanisms.streams.strategy`):

Where all values have one factor in [0, 1], as a condition's, ``F(x)`` is in the hull of 0 and the vector without it.

- ``r`` is the bound of ``‖F(x)‖``, for that one more coordinate the root of its square and 1;
- ``rho = max(0, -sum_i s_i^2 p_i)``, ``p_i`` the least product of two values of ``v_i``: ``<F(x), F(y)>`` is ``sum_i
  s_i^2 v_i(x) v_i(y)`` times ``sum_k w_k(x) w_k(y)``, which is in [0, 1], and the one more coordinate adds no less
  than 0.
"""

from dataclasses import replace
from fractions import Fraction

from emdp.base.errors import UsageError
from emdp.estimators.plan import Plan
from emdp.expressions.analysis.checker import analyse
from emdp.expressions.cells.aggregation import Aggregation
from emdp.expressions.cells.bounds import aggregation_removal
from emdp.expressions.nodes.arithmetic import Multiply
from emdp.expressions.nodes.base import Constant, Expression
from emdp.privacy.guarantees.kinds import is_by_removal
from emdp.privacy.rounding import root_up
from emdp.spaces import Space

__all__ = ["reach_of"]


def reach_of(plan: Plan, space: Space, users: int) -> float:
    """Return the ``reach`` of a question's statistic (:class:`emdp.mechanisms.streams.mechanism.StreamMechanism`).

    Parameters
    ----------
    plan : Plan
        Of one period's question, with a promise at user level and one group of users.
    users : int
        The public number of users; of totals it does not matter.

    Raises
    ------
    UsageError
        If a user without records counts with something else than nothing.
    """
    aggregation = plan.aggregation
    if aggregation.cap is None and space.elsewhere is None:
        raise UsageError(
            "active needs a table in which who has no records is elsewhere, since others would count with the neutral "
            "item in the periods beyond; declare it with elsewhere=1, or ask for counts and sums."
        )
    if is_by_removal(plan.guarantee):
        # One of the two worlds has nothing of the user, and this is how far the other moves.
        return plan.mechanisms[0].sensitivity
    (size,) = (1,) if aggregation.cap is not None else plan.group_sizes(users)
    forms = (aggregation.values, _without_factor(aggregation.values, space))
    square = min(_square(plan, replace(aggregation.of_one, values=values), space) for values in forms)
    return root_up(square / size**2)


def _square(plan: Plan, aggregation: Aggregation, space: Space) -> Fraction:
    """Return ``2 r^2 + 2 rho`` of what a user adds, times the square of the users where it is a mean."""
    cap = aggregation.cap or 1
    length = Fraction(aggregation_removal(replace(aggregation, cap=cap), plan.scales, space)[1])
    against = max(Fraction(0), -_least_product(aggregation, plan.scales, space))
    return 2 * (length**2 + plan.has_absent) + 2 * cap**2 * against


def _without_factor(values: tuple[Expression, ...], space: Space) -> tuple[Expression, ...]:
    """Return values without the factor in [0, 1] that all of them have, if they have one."""
    factor = next((value.right for value in values if isinstance(value, Multiply)), None)
    if factor is None or not all(
        value is factor or (isinstance(value, Multiply) and value.right is factor) for value in values
    ):
        return values
    known = analyse(factor, space)
    if known.low < 0 or known.high > 1:
        return values
    return tuple(
        value.left if isinstance(value, Multiply) and value is not factor else Constant(1.0) for value in values
    )


def _least_product(aggregation: Aggregation, scales: tuple[float, ...], space: Space) -> Fraction:
    """Return a lower bound of the inner product of two records' values, each times its scale."""
    found = Fraction(0)
    for value, scale in zip(aggregation.values, scales, strict=True):
        known = analyse(value, space)
        low, high = Fraction(known.low), Fraction(known.high)
        found += Fraction(scale) ** 2 * min(low * low, low * high, high * high)
    return found
