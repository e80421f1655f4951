"""Previews of items: noise and errors from public numbers, for quotients under a stated assumption.

Errors are taken to first order in the noise. Every mean that is divided, squared or both is assumed a quarter of its
public range above the middle of that range, and a variance at half of its largest; these are the places for which
:mod:`emdp.estimators.mean.conditional` weighs the noise, so that with ``m`` the middle, ``h`` half of the range and
``D`` the share of the chosen records a quotient has the error ``(Z_N - (h/2) Z_D)/D`` and a variance the error ``(Z_B -
h Z_A
- (h^2/4) Z_D)/D`` (without ``Z_D`` and ``D = 1`` where nothing is divided).
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from emdp.base.classes import dataclass
from emdp.estimators.columns.values import Draw, OutputColumn
from emdp.estimators.mean.conditional import Needed, rule_of
from emdp.estimators.mean.joint_noise import JointNoise
from emdp.mechanisms import AdditiveMechanism, GaussianMechanism
from emdp.questions.assumed import Assumed
from emdp.questions.columns import PlannedColumn

__all__ = ["PREVIEW_LEVEL", "Outlook", "expected_absolute"]

PREVIEW_LEVEL = 0.95
"""Coverage of the interval whose half-width a preview shows."""

_APART = 1.0 + 2.0**-10
# Scales that are nearer are moved apart by this factor, so that partial fractions keep their digits.


@dataclass(frozen=True, eq=False)
class Outlook:
    """A statement before its data: one cell with assumed values, under the noise of the smallest group of users.

    The share of a condition is taken to be the same in all groups of records. A larger share has errors smaller in
    proportion. The module says what is assumed of the means.
    """

    noise: JointNoise
    places: Mapping[int, int]  # For each value that has noise its number among these
    known: Mapping[int, float]  # For each value that has none its number in the first cell
    assumed: Assumed

    def column(
        self, need: Needed, column: OutputColumn, *, text: str, lipschitz: float, part: float, sizes: Sequence[int]
    ) -> PlannedColumn:
        """Return public facts about the column of one item."""
        low, high = self._range(need, sizes)
        name, written = need.item.name, need.item.text
        if not column.is_noisy:
            return PlannedColumn(name, text, lipschitz, low, high, 0.0, 0.0, 0.0, share=0.0, written=written)
        widest, share = self.noise.widest, self._share(need)
        expected = column.estimates(Draw(self._typical(need, share), 1, widest), 0, PREVIEW_LEVEL)[0]
        divisor = share * rule_of(need.item).steepness(need) / (need.slots * min(sizes) or 1)
        scales = self.noise.scales
        moved = [(self.places[value], weight) for value, weight in need.weights if value in self.places]
        error = expected_absolute(widest, [weight / scales[place] for place, weight in moved]) / divisor
        leading = self.places.get(need.values[-1])
        return PlannedColumn(
            name,
            text,
            lipschitz,
            low,
            high,
            noise_scale=0.0 if leading is None else widest.scale / scales[leading] / divisor,
            expected_error=error if column.is_linear else min(error, high - low),
            interval_95=0.5 * (expected.high - expected.low),
            share=part,
            note=self._note(need, column, expected.value is None, sizes),
            written=written,
        )

    def _share(self, need: Needed) -> float:
        if need.denominator is None:
            return 1.0
        return self.assumed.share if need.denominator in self.places else self.known[need.denominator] or 1.0

    def _typical(self, need: Needed, share: float) -> tuple[Fraction, ...]:
        """Return the coordinates of one cell in which this item's means stand where the module says."""
        typical = [Fraction(0)] * len(self.places)
        wanted = rule_of(need.item).typical(need)
        for value, centre, mean in zip(need.values, need.centres, wanted, strict=False):
            if value in self.places:
                typical[self.places[value]] = (Fraction(mean) - centre) * Fraction(share)
        if need.denominator is not None and need.denominator in self.places:
            typical[self.places[need.denominator]] = Fraction(share)
        return tuple(typical)

    def _range(self, need: Needed, sizes: Sequence[int]) -> tuple[float, float]:
        if not need.values:
            return float(min(sizes)), float(max(sizes))
        low, high = rule_of(need.item).ends(need)
        most = need.slots * max(sizes) or 1
        return low * most, high * most

    def _note(self, need: Needed, column: OutputColumn, is_null: bool, sizes: Sequence[int]) -> str:
        notes = []
        if len(set(sizes)) > 1:
            notes.append(f"for the smallest group, of {min(sizes)} users")
        if need.denominator is not None and need.denominator in self.places:
            null = "; so few are within the noise, so that the answer would be NULL" if is_null else ""
            notes.append(f"assuming {self.assumed.text}{null}")
        if not column.is_linear:
            notes.append("with a mean a quarter of the range from its middle")
        if rule_of(need.item).note:
            notes.append(rule_of(need.item).note)
        return f"errors {', '.join(notes)}" if notes else ""


def expected_absolute(mechanism: AdditiveMechanism, weights: Sequence[float]) -> float:
    """Return the mean absolute value of a weighted sum of a mechanism's coordinates.

    For Gaussian noise it is that of one coordinate times the 2-norm of the weights. For Laplace noise of different
    scales ``a_i`` the characteristic function ``prod 1/(1 + a_i^2 t^2)`` is ``sum A_i/(1 + a_i^2 t^2)`` in partial
    fractions, so it is ``sum A_i a_i``; scales within a thousandth of one another are moved apart by that. Coordinates
    of other noise are taken one by one, where there are several an upper bound.

    >>> from emdp.mechanisms import LaplaceMechanism
    >>> noise = LaplaceMechanism(sensitivity=1.0, alpha=1.0, dimension=3)
    >>> expected_absolute(noise, [2.0]), round(expected_absolute(noise, [1.0, 1.0]), 2)
    (2.0, 1.5)
    """
    unit = mechanism.expected_absolute_error
    sizes = sorted((abs(weight) for weight in weights if weight), reverse=True)
    if isinstance(mechanism, GaussianMechanism):
        return unit * math.hypot(*sizes)
    if len(sizes) < 2 or mechanism.name != "Laplace":
        return unit * math.fsum(sizes)
    apart = [sizes[0]]
    for size in sizes[1:]:
        apart.append(min(size, apart[-1] / _APART))
    terms = []
    for place, own in enumerate(apart):
        others = (own**2 / (own**2 - other**2) for number, other in enumerate(apart) if number != place)
        terms.append(own * math.prod(others))
    return unit * math.fsum(terms)
