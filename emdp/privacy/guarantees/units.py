"""Units of a promise: all of a user, one period, or a part of the history of so many periods.

``d_t`` is the earth-mover distance of a user's bags of period ``t`` in two histories of that user, ``D_max`` the
largest of them, ``d~ = (d_1 + .. + d_T)/T`` their mean over a public number ``T`` of periods, 0 where nothing is read.

**Theorem (units).** A release that reads one period and is ``(alpha, delta)`` per unit of its ``d_t`` is ``(T alpha,
delta)`` per unit of ``d~``. What is ``(alpha, delta)`` per unit of ``d~`` is ``(alpha, delta)`` per unit of ``D_max``,
``(alpha/T, delta)`` between histories that differ in one period, and, for ``T' >= T`` periods that hold the ``T``,
``(alpha T'/T, delta)`` per unit of their mean. *Proof.* ``d_t <= d_1 + .. + d_T = T d~``; ``d~ <= D_max``; one period
alone has ``d~ = d_t/T``; and ``T d~ <= T' d~'``. ∎

**What d~ is.** Label the records with their period, let labels that differ be at distance 1, and let every period have
the mass ``1/T``: ``d~`` is the earth-mover distance of two such histories. *Proof.* Plans inside the periods, put
together, cost the mean. For the other direction let ``f_t`` be an optimal potential of period ``t``, moved so that its
values lie in [0, 1]: since distances are at most 1 it varies by no more. ``f(t, x) = f_t(x)`` is 1-Lipschitz for the
labelled distance, and its expectations differ by the mean. ∎ With slots (``M`` in a period) every record has the mass
``1/(T M)``, whoever has how many, and so it is with the same number of records for everybody. Without either a record
is ``1/(T m_t)``, which nobody knows beforehand: then no sentence about records follows, and a session refuses it.

*References.* elsewhere-periods-continual.md B1 and B2 (theorem B2 for equal shares).
"""

from fractions import Fraction

from emdp.privacy.guarantees.kinds import EmdDP, Guarantee, Unit, is_by_removal, is_per_history, is_per_period
from emdp.privacy.rounding import as_decimal, float_up

__all__ = ["of_one_period", "side_of", "unit_factor", "unit_refusal"]


def unit_refusal(guarantee: Guarantee, kind: Guarantee) -> str:
    """Return why a guarantee says nothing in the unit of a kind, or nothing if it does.

    >>> unit_refusal(EmdDP(1.0), EmdDP(0.0, unit="history", periods=52))
    ''
    >>> unit_refusal(EmdDP(1.0, unit="period"), EmdDP(0.0))[:34]
    'it hides what somebody did in one '
    """
    if is_per_period(guarantee) and not is_per_period(kind):
        return "it hides what somebody did in one period, and says less of a whole user; ask in unit='user'"
    if _periods(guarantee) > _periods(kind) > 0:
        return f"it is of a history of {_periods(guarantee)} periods; declare a budget for as many periods, or for more"
    return ""


def unit_factor(guarantee: Guarantee, kind: Guarantee) -> Fraction:
    """Return what the level is multiplied by in the unit of a kind, by the theorem of the module.

    >>> year = EmdDP(104.0, unit="history", periods=52)
    >>> unit_factor(EmdDP(2.0), year), unit_factor(year, EmdDP(0.0)), unit_factor(year, EmdDP(0.0, unit="period"))
    (Fraction(52, 1), Fraction(1, 1), Fraction(1, 52))
    """
    if is_per_history(kind):
        return Fraction(_periods(kind), _periods(guarantee) or 1)
    if is_per_history(guarantee) and is_per_period(kind):
        return Fraction(1, _periods(guarantee))
    return Fraction(1)


def of_one_period(guarantee: Guarantee) -> Guarantee:
    """Return what a guarantee per period, or history, says of a change in one period, as one per user; others as is.

    >>> of_one_period(EmdDP(104.0, unit="history", periods=52)), of_one_period(EmdDP(2.0, unit="period")).unit
    (EmdDP(alpha=2.0, delta=0.0, sizes='unbounded', model='central'), 'user')
    """
    if not isinstance(guarantee, EmdDP) or guarantee.unit == "user":
        return guarantee
    level = float_up(as_decimal(guarantee.level) / (guarantee.periods or 1))
    return EmdDP(level, guarantee.delta, guarantee.sizes)


def side_of(guarantee: Guarantee) -> tuple[bool, Unit]:
    """Return what tells budgets of one class apart: whether neighbours are by removal, and the unit.

    >>> side_of(EmdDP(2.0, unit="period")), side_of(EmdDP(2.0))
    ((False, 'period'), (False, 'user'))
    """
    return is_by_removal(guarantee), guarantee.unit if isinstance(guarantee, EmdDP) else "user"


def _periods(guarantee: Guarantee) -> int:
    """Return the number of periods of a guarantee's history; 0 where it is in another unit."""
    return guarantee.periods or 0 if isinstance(guarantee, EmdDP) else 0
