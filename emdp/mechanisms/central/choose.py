"""Choice of the additive mechanism with the smallest expected error, from public numbers only."""

from fractions import Fraction
from typing import Any

from emdp.base.checks import check_count, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.central.additive import AdditiveMechanism, float_at_least
from emdp.mechanisms.central.gaussian import GaussianMechanism, least_gaussian_delta
from emdp.mechanisms.central.k_norm import KNormMechanism
from emdp.mechanisms.central.laplace import LaplaceMechanism
from emdp.noise.k_norm import MAX_DIMENSION
from emdp.privacy.calibration import LARGEST_ALPHA
from emdp.privacy.rounding import check_bound, root_up

__all__ = ["Choice", "choose"]


@dataclass(frozen=True)
class Choice:
    """A mechanism and why it was taken.

    Parameters
    ----------
    mechanism : AdditiveMechanism
        The one with the smallest expected absolute error per coordinate.
    reason : str
        One sentence with the expected errors compared; public.
    """

    mechanism: AdditiveMechanism
    reason: str


def choose(
    *,
    alpha: float,
    sensitivity_1: float | None = None,
    sensitivity_2: float | None = None,
    delta: float = 0.0,
    dimension: int = 1,
    statistic_error: float = 0.0,
    magnitude: float = 0.0,
) -> Choice:
    """Pick among Laplace, K-norm and Gaussian noise by the mean absolute error of a coordinate.

    Parameters
    ----------
    alpha : float
        Above 0, per unit of ``d_em``.
    sensitivity_1, sensitivity_2 : float, optional
        Bound of the statistic's change per unit of ``d_em`` in the 1-norm and in the 2-norm. One that is not
        given follows from the other: the 2-norm is at most the 1-norm, the 1-norm at most
        ``sqrt(dimension)`` 2-norms.
    delta : float
        0 allows Laplace and K-norm noise only; above 0 Gaussian noise too, from about 5e-31 times the dimension
        and up to ``alpha = 1e12``.
    dimension : int
        Number of coordinates; K-norm noise reaches 24.
    statistic_error, magnitude : float
        As in :class:`emdp.mechanisms.central.additive.AdditiveMechanism`.

    Raises
    ------
    UsageError
        If neither sensitivity is given, or an argument is out of its range.

    >>> choose(alpha=1.0, sensitivity_1=0.01).reason
    'Laplace noise: expected error 0.01 a coordinate; Gaussian needs a delta.'
    >>> choose(alpha=1.0, sensitivity_2=0.01, dimension=4).mechanism.name
    'K-norm'
    """
    dimension = check_count("dimension", dimension)
    delta = check_unit_interval("delta", delta, zero=True)
    change_1, change_2 = _both_norms(sensitivity_1, sensitivity_2, dimension)
    shared: dict[str, Any] = {
        "alpha": alpha,
        "dimension": dimension,
        "statistic_error": statistic_error,
        "magnitude": magnitude,
    }
    candidates: list[AdditiveMechanism] = [LaplaceMechanism(sensitivity=change_1, **shared)]
    if candidates[0].is_exact:
        return Choice(candidates[0], "No noise: the statistic is constant, so its exact value tells nothing.")
    remarks: list[str] = []
    if 1 < dimension <= MAX_DIMENSION:
        candidates.append(KNormMechanism(sensitivity=change_2, **shared))
    elif dimension > MAX_DIMENSION:
        remarks.append(f"K-norm reaches {MAX_DIMENSION} coordinates")
    least = least_gaussian_delta(dimension)
    if delta > least and alpha <= LARGEST_ALPHA:
        candidates.append(GaussianMechanism(sensitivity=change_2, delta=delta, **shared))
    else:
        remarks.append(_without_gaussian(delta, least))
    candidates.sort(key=lambda candidate: candidate.expected_absolute_error)
    return Choice(candidates[0], _reason(candidates, remarks))


def _both_norms(change_1: float | None, change_2: float | None, dimension: int) -> tuple[float, float]:
    if change_1 is None and change_2 is None:
        raise UsageError("sensitivity_1 or sensitivity_2 must be given; pass the bound in the norm you know.")
    if change_2 is not None:
        change_2 = check_bound("sensitivity_2", change_2)
        implied = float_at_least(Fraction(change_2) * Fraction(root_up(Fraction(dimension))))
        change_1 = implied if change_1 is None else min(check_bound("sensitivity_1", change_1), implied)
    change_1 = check_bound("sensitivity_1", change_1)
    return change_1, change_1 if change_2 is None else min(change_2, change_1)


def _without_gaussian(delta: float, least: float) -> str:
    if delta == 0:
        return "Gaussian needs a delta"
    return (
        f"Gaussian needs a delta above {least:.3g}" if delta <= least else f"Gaussian reaches alpha {LARGEST_ALPHA:g}"
    )


def _reason(candidates: list[AdditiveMechanism], remarks: list[str]) -> str:
    best, *others = candidates
    text = f"{best.name} noise: expected error {best.expected_absolute_error:.3g} a coordinate"
    if others:
        against = " and ".join(f"{other.expected_absolute_error:.3g} with {other.name}" for other in others)
        text += f", against {against}"
    return "; ".join([text, *remarks]) + "."
