"""Records of a linear model as numbers, and users' gradients of them where the records are."""

import numpy as np

from emdp.base.arrays import Floats, Integers
from emdp.base.classes import dataclass
from emdp.base.errors import InternalError
from emdp.expressions import evaluate
from emdp.mechanisms.descent.loss import UserRecords, sampled_rows, user_gradients
from emdp.mechanisms.descent.rounds import DescentSetting
from emdp.questions.linear_fit import LinearFit
from emdp.questions.reading import PointBlock
from emdp.spaces import Space
from emdp.spaces.items import filled_items

__all__ = ["ABSENT", "GradientValues", "KeptRecords", "cleared"]

ABSENT = 2.0
"""Target of a record that is elsewhere, beyond all that are rescaled, until its vector is made: 0."""


@dataclass(frozen=True, eq=False)
class KeptRecords:
    """Rescales users' records, and keeps some of those who have many; public facts alone."""

    query: LinearFit
    space: Space  # Of the items
    scales: tuple[tuple[float, float], ...]  # Middle and half of the range of each feature, and of the target
    cap: int  # Most records of a user that are kept

    @property
    def width(self) -> int:
        """The features and the target."""
        return len(self.scales)

    def prepare(self, block: PointBlock) -> tuple[Integers, Floats]:
        """Return where each user's kept records begin and end, and their features and targets, a row a record."""
        if block.offsets is None:
            raise InternalError("the engine gave records without their users; please report it.")
        sizes, items = np.diff(block.offsets), block.items
        if self.space.slots is not None:
            sizes, items = filled_items(self.space, sizes, items)
        kept = sampled_rows(sizes, self.cap)
        ends = np.concatenate([[0], np.cumsum(np.minimum(sizes, self.cap))]).astype(np.int64)
        return ends, self.rescaled(items if kept is None else items[kept])[1:].T

    def rescaled(self, items: Floats) -> Floats:
        """Return 1, the features and the target, a row each; the target of records that are elsewhere is ABSENT."""
        numbers = np.empty((self.width + 1, len(items)))
        numbers[0] = 1.0
        expressions = (*self.query.features, self.query.target)
        for place, (expression, (middle, half)) in enumerate(zip(expressions, self.scales, strict=True), start=1):
            numbers[place] = np.clip((evaluate(expression, self.space, items) - middle) / half, -1.0, 1.0)
        if self.query.loss == "logistic":
            np.clip(numbers[-1], 0.0, 1.0, out=numbers[-1])
        if self.space.elsewhere is not None:
            numbers[-1, self.space.is_elsewhere(items)] = ABSENT
        return numbers

    @property
    def neutral(self) -> tuple[float, ...]:
        """Numbers of a user without records: those of the neutral item (EMD 8.1), or of a record that is elsewhere."""
        return tuple(self.rescaled(self.space.neutral_item)[1:, 0].tolist())


@dataclass(frozen=True, eq=False)
class GradientValues:
    """Users' mean clipped gradients at some weights; see :class:`emdp.estimators.crowds.UserValues`."""

    setting: DescentSetting  # Loss, clip and fixed point
    weights: tuple[float, ...]  # Where gradients are taken
    neutral: tuple[float, ...]  # Numbers of the only record of a user without records

    def of_block(self, block: PointBlock, asked: Integers | None) -> Integers:
        if block.offsets is None:
            raise InternalError("prepared records came without their users; please report it.")
        numbers = np.ones((len(self.neutral) + 1, len(block.items)))
        numbers[1:] = block.items.T
        cleared(numbers)
        own = self.setting
        return user_gradients(
            UserRecords(numbers[:-1], numbers[-1], block.offsets), np.array(self.weights), loss=own.loss,
            clip=own.clip, exponent=own.exponent, users=asked,
        )  # fmt: skip

    def of_nobody(self) -> tuple[int, ...]:
        numbers = cleared(np.array([[1.0], *([one] for one in self.neutral)]))
        own, alone = self.setting, np.array([0, 1], dtype=np.int64)
        found = user_gradients(
            UserRecords(numbers[:-1], numbers[-1], alone), np.array(self.weights), loss=own.loss, clip=own.clip,
            exponent=own.exponent,
        )  # fmt: skip
        return tuple(found[0].tolist())


def cleared(numbers: Floats) -> Floats:
    """Return 1, features and targets of records, a row each, with 0 in all of a record that is elsewhere; in place.

    >>> cleared(np.array([[1.0, 1.0], [0.5, 0.5], [ABSENT, 1.0]])).tolist()
    [[0.0, 1.0], [0.0, 0.5], [0.0, 1.0]]
    """
    numbers[:, numbers[-1] == ABSENT] = 0.0
    return numbers
