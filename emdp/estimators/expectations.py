"""What a preview says of each item: noise and errors from public numbers, for quotients under a stated assumption."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from emdp.estimators.columns import Draw, OutputColumn
from emdp.estimators.conditional import Needed
from emdp.estimators.joint_noise import JointNoise
from emdp.expressions.columns import PlannedColumn

__all__ = ["PREVIEW_LEVEL", "WHERE_SHARE", "Outlook"]

PREVIEW_LEVEL = 0.95
"""Coverage of the interval whose half-width a preview shows."""

WHERE_SHARE = 0.5
"""Share of the records' weight that a filter is taken to choose in a preview, since nothing is known of it."""


@dataclass(frozen=True, eq=False)
class Outlook:
    """A statement before its data: one cell with typical values, under the noise of the smallest group of users.

    Every value is taken in the middle of its public range, the share of a condition to be the same in all groups of
    records, and half of that where records are filtered too. A larger share has errors smaller in proportion.

    Parameters
    ----------
    noise : JointNoise
        The noise.
    places : mapping of int to int
        For each value that has noise its number among these.
    typical : tuple of Fraction
        For each of these the number that is assumed.
    share : float
        The share that is assumed, in (0, 1].
    """

    noise: JointNoise
    places: Mapping[int, int]
    typical: tuple[Fraction, ...]
    share: float

    def column(
        self, need: Needed, column: OutputColumn, *, text: str, lipschitz: float, part: float, sizes: Sequence[int]
    ) -> PlannedColumn:
        """Return what is public about the column of one item.

        Parameters
        ----------
        need : Needed
            What the item is made of.
        column : OutputColumn
            How it is made.
        text : str
            Its function of one record.
        lipschitz : float
            That function's constant.
        part : float
            Its share of the budget.
        sizes : sequence of int
            Numbers of users of the groups.
        """
        low, high = self._range(need, sizes)
        name = need.item.name
        if not column.is_noisy:
            return PlannedColumn(name, text, lipschitz, low, high, 0.0, 0.0, 0.0, share=0.0)
        widest = self.noise.widest
        expected = column.estimates(Draw(self.typical, 1, widest), 0, PREVIEW_LEVEL)[0]
        is_quotient = need.denominator is not None and need.denominator in self.places
        share = self.share if is_quotient else 1.0
        moved = [(self.places[value], weight) for value, weight in need.weights if value in self.places]
        error = (
            sum(weight / self.noise.scales[place] for place, weight in moved) * widest.expected_absolute_error / share
        )
        if need.item.kind == "stddev" and need.half > 0:
            error /= 2.0 * float(expected.value or need.half)
        if need.ranges and not column.is_linear:
            error = min(error, high - low)
        leading = self.places.get(need.values[-1])
        return PlannedColumn(
            name,
            text,
            lipschitz,
            low,
            high,
            noise_scale=0.0 if leading is None else widest.scale / self.noise.scales[leading] / share,
            expected_error=error,
            interval_95=0.5 * (expected.high - expected.low),
            share=part,
            note=self._note(need, is_quotient, expected.value is None, sizes),
        )

    def _range(self, need: Needed, sizes: Sequence[int]) -> tuple[float, float]:
        if need.item.kind == "users":
            return float(min(sizes)), float(max(sizes))
        low, high = need.ranges[-1]
        return (low, high) if need.item.kind != "stddev" else (0.0, need.half)

    def _note(self, need: Needed, is_quotient: bool, is_null: bool, sizes: Sequence[int]) -> str:
        notes = []
        if len(set(sizes)) > 1:
            notes.append(f"for the smallest group, of {min(sizes)} users")
        if is_quotient:
            notes.append(f"if the chosen records have a share of {self.share:.3g}")
            if is_null:
                notes.append("which is within its own noise, so that the answer would be NULL")
        if need.item.kind in ("variance", "stddev"):
            notes.append("at half of the largest variance")
        return ", ".join(notes)
