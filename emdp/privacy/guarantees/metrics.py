"""Guarantees under different ground metrics: nothing is added up before it is stated under one (EMD 7).

A guarantee says nothing about which ground metric its ``d_em`` belongs to; a ledger ties each table to one, by a hash
of its space, and adds up within it alone. Across metrics there are two ways, both by name: the functions here, and the
user level, where every metric agrees (:func:`emdp.privacy.account.totals.total_as_user`).
"""

from fractions import Fraction

from emdp.base.checks import check_positive
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.privacy.guarantees.kinds import DiscreteEmdDP, EmdDP
from emdp.privacy.rounding import as_decimal, float_down, float_up

__all__ = ["MetricTotal", "change_metric", "compose_metrics"]


@dataclass(frozen=True)
class MetricTotal:
    """Joint guarantee of two releases under two ground metrics, under a mixture of the two.

    Parameters
    ----------
    guarantee : EmdDP
        Under ``(a d_X + b d'_X)/(a + b)``.
    weights : tuple of (float, float)
        ``(a, b)``.

    >>> print(compose_metrics(EmdDP(2.0), EmdDP(1.0, 1e-9)))
    alpha = 3.0 per unit of d_em, delta = 1e-09 (unbounded central EmdDP), under (2.0 d + 1.0 d')/(2.0 + 1.0)
    """

    guarantee: EmdDP
    weights: tuple[float, float]

    def __str__(self) -> str:
        first, second = self.weights
        return f"{self.guarantee}, under ({first!r} d + {second!r} d')/({first!r} + {second!r})"


def compose_metrics(first: EmdDP, second: EmdDP) -> MetricTotal:
    """Return what two releases guarantee together, the first under ``d_X``, the second under ``d'_X``.

    *Proof.* Let a plan be optimal for ``d'' = (a d_X + b d'_X)/(a + b)``, with the two alphas ``a`` and ``b``. Its
    mean costs under ``d_X`` and ``d'_X`` are at least the earth-mover distances there, so that the losses, which add
    up, are at most ``a E d_X + b E d'_X = (a + b) E d''``, and ``E d''`` is the earth-mover distance under ``d''``.

    Parameters
    ----------
    first, second : EmdDP
        Of the same sizes and model, on one item space, about the same users.

    Raises
    ------
    UsageError
        If they are no ``EmdDP`` of one kind, if both alphas are 0, or if the deltas add up to 1 or more.

    References
    ----------
    EMD 7.

    >>> compose_metrics(EmdDP(0.1), EmdDP(0.2)).guarantee.alpha
    0.3
    """
    for guarantee in (first, second):
        if not isinstance(guarantee, EmdDP):
            raise UsageError(
                f"guarantees under two metrics must be EmdDP, not {type(guarantee).__name__}; state both by to_user()."
            )
    if first.kind != second.kind:
        raise UsageError(
            f"guarantees must be of one kind, not a {first.kind_name} and a {second.kind_name}; convert one first."
        )
    if first.alpha == second.alpha == 0:
        raise UsageError("one alpha must be above 0, since the alphas weigh the metrics; nothing was spent otherwise.")
    delta = as_decimal(first.delta) + as_decimal(second.delta)
    if delta >= 1:
        raise UsageError("the deltas add up to 1 or more, which says nothing; pass smaller ones.")
    alpha = float_up(as_decimal(first.alpha) + as_decimal(second.alpha))
    return MetricTotal(first.at_level(alpha, float_up(delta)), (first.alpha, second.alpha))


def change_metric(guarantee: EmdDP | DiscreteEmdDP, factor: float) -> EmdDP | DiscreteEmdDP:
    """Return what a guarantee under ``d_X`` says under ``d'_X``, where ``d_X <= factor * d'_X`` everywhere.

    Then ``d_em <= factor * d'_em``: an alpha becomes ``factor`` times as large, a discrete guarantee holds up to
    ``r/factor``.

    Parameters
    ----------
    guarantee : EmdDP or DiscreteEmdDP
        Under ``d_X``.
    factor : float
        Above 0. That it bounds the one metric by the other is the caller's promise.

    Raises
    ------
    UsageError
        If the guarantee has no metric, or the factor is not positive.

    References
    ----------
    EMD 7.

    >>> change_metric(EmdDP(2.0), 1.5).level, change_metric(DiscreteEmdDP(1.0, 0.0, r=0.3), 3.0).r
    (3.0, 0.1)
    """
    bound = as_decimal(check_positive("factor", factor))
    if isinstance(guarantee, EmdDP):
        return guarantee.at_level(float_up(as_decimal(guarantee.alpha) * bound), guarantee.delta)
    if isinstance(guarantee, DiscreteEmdDP):
        r = float_down(min(as_decimal(guarantee.r) / bound, Fraction(1)))
        return DiscreteEmdDP(guarantee.epsilon, guarantee.delta, r, guarantee.sizes, guarantee.model)
    raise UsageError(f"a {type(guarantee).__name__} is under no metric; pass an EmdDP or a DiscreteEmdDP.")
