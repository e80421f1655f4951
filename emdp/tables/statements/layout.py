"""Columns and cells of an aggregation on a space: the expressions that are compiled, and the numbers of cells."""

from collections.abc import Mapping
from math import ldexp, prod

import numpy as np

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError
from emdp.expressions import Expression, analyse
from emdp.expressions.cells.aggregation import Aggregation, HatAxis, LabelAxis
from emdp.expressions.cells.reference import label_cells
from emdp.expressions.nodes.base import Constant
from emdp.expressions.nodes.leaves import Leaf
from emdp.expressions.nodes.parts import Located, part_of_columns
from emdp.expressions.numbers.bounds import Analysis, Domain
from emdp.expressions.numbers.fixed_point import WEIGHT_BITS, fixed_point_exponent
from emdp.spaces import Space
from emdp.spaces.base import Floats
from emdp.tables.statements.compile import elsewhere_parts

__all__ = ["CellNumber", "Layout", "layout_of"]


@dataclass(frozen=True, eq=False)
class Layout:
    """The columns that the layers of an aggregation's statement have."""

    values: tuple[Expression, ...]
    exponents: tuple[int, ...]
    constants: Mapping[int, int]  # The integer of every record, for each value that is a constant
    # labels, hats: The axes along which records differ, by position: a label axis's cell number, a hat axis of two
    # nodes or more.
    labels: Mapping[int, Expression]
    hats: Mapping[int, HatAxis]
    sizes: tuple[int, ...]
    weight: Expression | None  # Weight of a record against the cap, where records differ in it
    cap: int | None
    # Records up to which a user's are filled with the point elsewhere before their mean is taken.
    slots: int | None = None
    is_counted: bool = False  # Whether these records are counted one by one, since some may be elsewhere
    is_checked: bool = False  # Whether records are held against the declared rules, too

    @property
    def has_cells(self) -> bool:
        """Whether records fall into more than one cell."""
        return bool(self.labels or self.hats)

    def shares(self, splits: int) -> list[str]:
        """Names of the sums at the corners after some splits, value by value, the last split's lower node first."""
        return [f"share_{value}_{corner}" for value in range(len(self.values)) for corner in range(2**splits)]

    def stride(self, position: int) -> int:
        """Step of an axis in the number of a cell."""
        return prod(self.sizes[position + 1 :])


@dataclass(frozen=True, eq=False, repr=False)
class CellNumber(Leaf):
    """The number of the cell that lists an item's value, negative where none does; never averaged, nor analysed."""

    column: str
    numbers: tuple[int, ...]

    def locate(self, space: Space) -> Located[None]:
        index = part_of_columns(space, (self.column,))
        return Located(index, space.parts[index], None)

    def bounds_on(self, domain: Domain, operands: tuple[Analysis, ...]) -> Analysis:
        raise InternalError("the number of a cell was about to be averaged; please report it.")

    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        return np.array(self.numbers, dtype=np.float64)[items[:, 0].astype(np.intp)]


def layout_of(aggregation: Aggregation, space: Space, *, is_checked: bool = False) -> Layout:
    """Return the layout of an aggregation on a space.

    Raises
    ------
    UsageError
        If a label axis does not fit the space.

    >>> from emdp.expressions import col
    >>> from emdp.spaces import Interval
    >>> tents = HatAxis(col("x"), start=0, step=1, size=3)
    >>> layout_of(Aggregation((col("x"),), (tents,)), Interval("x", 0, 2)).shares(1)
    ['share_0_0', 'share_0_1']
    """
    if aggregation.chosen is not None:
        known = analyse(aggregation.chosen, space)
        # Any other weight could be computed as a negative number of units, which a cap does not bound.
        is_weight = known.low >= 0 and known.high <= 1 and known.rounding < 2.0 ** -(WEIGHT_BITS + 1)
        if aggregation.cap is None or not is_weight:
            raise InternalError("a weight that leaves [0, 1], or has no cap, reached the engine; please report it.")
    labels: dict[int, Expression] = {}
    hats: dict[int, HatAxis] = {}
    for position, axis in enumerate(aggregation.axes):
        if isinstance(axis, LabelAxis):
            labels[position] = CellNumber(axis.column, tuple(label_cells(axis, space)[1].tolist()))
        elif axis.size > 1:
            hats[position] = axis
    exponents = tuple(fixed_point_exponent(analyse(value, space)) for value in aggregation.values)
    # Where a record may be elsewhere no value is the same for all.
    constants = {
        place: round(ldexp(value.value, exponents[place]))
        for place, value in enumerate(aggregation.values)
        if isinstance(value, Constant) and space.elsewhere is None
    }
    weight = aggregation.chosen
    if weight is None and aggregation.cap is not None and space.elsewhere is not None:
        weight = Constant(1.0)
    sizes = tuple(axis.size for axis in aggregation.axes)
    slots = space.slots if aggregation.cap is None else None
    is_counted = slots is not None and bool(elsewhere_parts(space))
    cap, values = aggregation.cap, aggregation.values
    return Layout(values, exponents, constants, labels, hats, sizes, weight, cap, slots, is_counted, is_checked)
