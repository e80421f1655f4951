"""The values behind a select list: what is averaged over records so that every item can be made of it.

Without a condition ``AVG(e)`` is ``E[e]``, one value. With a condition ``c`` it is ``m + E[(e - m) c]/E[c]``, ``m`` the
middle of ``e``'s public range: equal to ``E[e c]/E[c]``, since ``E[(e - m) c] = E[e c] - m E[c]``, and as ``|e - m|``
is at most half the range, a record that enters or leaves the chosen ones moves the numerator by no more than that.
Variances are made of the means of ``e - m`` and of ``(e - m)^2`` (:mod:`emdp.estimators.columns.moments`). Equal values
are computed once.

Where the space has the point elsewhere, every value is 0 there, ``1`` too: a mean then is ``m + E[(e - m) c]/E[c]``
with ``c`` 1 for the records that are somewhere, times what a condition chooses. Who is elsewhere is never chosen, by a
condition or its negation; a share is one of everybody's weight.

To first order the noise ``Z`` of the values moves an item by a weighted sum, the weights taken at typical places of the
public ranges: a quotient ``R = N/D`` by ``(Z_N - R Z_D)/D``, with ``|R|`` a half of its largest, ``h/2``; a variance
``B - A^2``, ``A = N/D``, by ``(Z_B - 2 A Z_A)/D`` with ``|A| = h/2``, and by the noise of the shared denominator with a
weight of ``h^2/4``. The common factor ``1/D`` plays no part in how noise is divided.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from fractions import Fraction

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, UsageError
from emdp.estimators.columns.moments import Variance
from emdp.estimators.columns.rest import Rest
from emdp.estimators.columns.sizes import check_values
from emdp.estimators.columns.values import Mean, OutputColumn
from emdp.expressions.analysis.checker import analyse, final_lipschitz
from emdp.expressions.functions.smooth import Power
from emdp.expressions.nodes.arithmetic import Multiply, Subtract
from emdp.expressions.nodes.base import Constant, Expression
from emdp.expressions.numbers.outward import add_up, mul_up
from emdp.questions.select import Item, Select
from emdp.spaces import Space

__all__ = ["ONE", "RULES", "KindRule", "Needed", "ValueList", "first_mean", "needed_values", "rule_of"]

ONE = Constant(1.0)
"""The value whose mean among chosen records is their share."""


@dataclass(frozen=True)
class Needed:
    """Values that one item is made of."""

    item: Item
    # Numbers of its values: one, or those of `e - m` and `(e - m)^2`; none for a number of users.
    values: tuple[int, ...] = ()
    centres: tuple[Fraction, ...] = ()  # What is added to each value's mean
    denominator: int | None = None  # Number of the value that they are divided by
    half: float = 0.0  # Half of the range of `e`, rounded up; 0 for items that are no mean of an expression
    ranges: tuple[tuple[float, float], ...] = ()  # Public range of each mean, centre included
    weights: tuple[tuple[int, float], ...] = ()  # How much the noise of each value moves the item
    lipschitz: float | None = None  # Constant of `e`; None where the item's function is the value itself
    slots: int = 0  # Slots of one user where the item is a total over all of them; 0 where it is a mean

    def over_slots(self, column: OutputColumn, sizes: Sequence[int]) -> OutputColumn:
        """Return a column of means over slots times the slots of each group of users."""
        # Loaded where it is needed.
        from emdp.estimators.columns.slots import OverSlots

        return OverSlots(column, tuple(self.slots * size for size in sizes))

    def shown(self, column: OutputColumn) -> OutputColumn:
        """Return a column of totals over slots as the answer has it."""
        from emdp.estimators.columns.slots import shown_total

        return shown_total(column, self.ranges[-1:])


@dataclass
class ValueList:
    """Expressions in order of first use, each once."""

    factor: Expression | None  # What a filter multiplies every value by
    unfiltered: list[Expression] = field(default_factory=list)  # The values without it, in the same order
    expressions: list[Expression] = field(default_factory=list)
    places: dict[Expression, int] = field(default_factory=dict)  # Number of each unfiltered value

    def place(self, expression: Expression) -> int:
        """Return the number of a value, given without the filter; a new one if it was not there."""
        if expression not in self.places:
            self.places[expression] = len(self.expressions)
            self.unfiltered.append(expression)
            self.expressions.append(self._filtered(expression))
        return self.places[expression]

    def _filtered(self, expression: Expression) -> Expression:
        if self.factor is None:
            return expression
        return self.factor if expression == ONE else Multiply(expression, self.factor)


def needed_values(query: Select, space: Space) -> tuple[ValueList, tuple[Needed, ...]]:
    """Return the distinct values of a statement's items, and what each item is made of.

    Raises
    ------
    NotLipschitzError
        If an expression has no finite constant.
    UsageError
        If an item does not fit the statement, or ``where`` is no weight in [0, 1].

    >>> from emdp.expressions import col, ramp
    >>> from emdp.questions.price import Price
    >>> from emdp.spaces import Interval
    >>> items = (Item("avg", "mean", col("x")), Item("share", "share"))
    >>> query = Select(items, Price("alpha", 1.0), where=ramp(col("x"), 4, 6))
    >>> needed_values(query, Interval("x", 0, 10))[0].expressions
    [(x - 5) * ramp(x, 4, 6), ramp(x, 4, 6)]
    """
    if query.where is not None:
        factor = analyse(query.where, space)
        if factor.low < 0 or factor.high > 1:
            raise UsageError(
                f"where must have values in [0, 1], but `{query.where}` has the range [{factor.low:.6g}, "
                f"{factor.high:.6g}]; pass a category, or a ramp of the expression."
            )
    values = ValueList(query.where)
    needs = tuple(rule_of(item).needed(item, query, space, values) for item in query.items)
    return values, needs


def rule_of(item: Item) -> "KindRule":
    """Return the rule of an item's kind.

    Raises
    ------
    InternalError
        If the kind has none: nothing is planned as if it were another one.
    """
    if item.kind not in RULES:
        raise InternalError(f"an aggregate of kind {item.kind!r} has no rule for what it needs; please report this.")
    return RULES[item.kind]


def _chooses(query: Select) -> bool:
    return query.where is not None or bool(query.groups)


def _is_conditional(query: Select, space: Space) -> bool:
    return _chooses(query) or space.elsewhere is not None


def _users(item: Item, query: Select, space: Space, values: ValueList) -> Needed:
    if _chooses(query):
        raise UsageError(
            "the number of users is public for groups of users alone, and a filter or group on records has none; "
            "ask for SHARE(), the part of the records' weight that it chooses."
        )
    return Needed(item)


def _total(item: Item, query: Select, space: Space, values: ValueList) -> Needed:
    if space.slots is not None and not query.price.is_user_level:
        return replace(_plain(item, query, space, values), slots=space.slots)
    raise UsageError(
        f"{item.kind} depends on how many records a user has, so it needs a cap; set max_records_per_user."
    )


def _average(item: Item, query: Select, space: Space, values: ValueList) -> Needed:
    return _mean(item, space, values) if _is_conditional(query, space) else _plain(item, query, space, values)


def _mean(item: Item, space: Space, values: ValueList) -> Needed:
    spread = _Spread.of(item, space)
    place, below = values.place(spread.centred), values.place(ONE)
    weights = ((place, 1.0), (below, 0.5 * spread.half or 1.0))
    centres = (Fraction(spread.middle),)
    return Needed(item, (place,), centres, below, spread.half, (spread.ends,), weights, spread.lipschitz)


def _moments(item: Item, query: Select, space: Space, values: ValueList) -> Needed:
    spread = _Spread.of(item, space)
    half, highest = spread.half, mul_up(spread.half, spread.half)
    square = Power(spread.centred, 2.0)
    ranges = ((-half, half), (0.0, highest))
    if not _is_conditional(query, space):
        places = values.place(spread.expression), values.place(square)
        weights: tuple[tuple[int, float], ...] = ((places[1], 1.0), (places[0], half or 1.0))
        centres = (Fraction(-spread.middle), Fraction(0))
        return Needed(item, places, centres, None, half, ranges, weights, spread.lipschitz)
    centre = 0.5 * highest
    centred_square = Subtract(square, Constant(centre))
    places, below = (values.place(spread.centred), values.place(centred_square)), values.place(ONE)
    weights = ((places[1], 1.0), (places[0], half or 1.0), (below, 0.25 * highest or 1.0))
    return Needed(item, places, (Fraction(0), Fraction(centre)), below, half, ranges, weights, spread.lipschitz)


@dataclass(frozen=True)
class _Spread:
    """An item's expression around the middle of its public range."""

    expression: Expression
    centred: Expression
    middle: float
    half: float
    ends: tuple[float, float]
    lipschitz: float

    @classmethod
    def of(cls, item: Item, space: Space) -> "_Spread":
        expression = _expression(item)
        known = analyse(expression, space)
        check_values(known, str(expression))
        middle = 0.5 * known.low + 0.5 * known.high
        centred = expression if middle == 0 else Subtract(expression, Constant(middle))
        half = max(add_up(known.high, -middle), add_up(middle, -known.low))
        lipschitz = final_lipschitz(known, space, text=str(expression))
        return cls(expression, centred, middle, half, (known.low, known.high), lipschitz)


def _plain(item: Item, query: Select, space: Space, values: ValueList) -> Needed:
    place = values.place(ONE if item.expression is None else item.expression)
    known = analyse(values.expressions[place], space)
    check_values(known, str(values.expressions[place]))
    ends = (known.low, known.high)
    if query.groups or space.elsewhere is not None:
        ends = (min(ends[0], 0.0), max(ends[1], 0.0))
    return Needed(item, (place,), (Fraction(0),), None, 0.0, (ends,), ((place, 1.0),))


def _elsewhere(item: Item, query: Select, space: Space, values: ValueList) -> Needed:
    if space.elsewhere is None:
        raise UsageError(
            "no record is elsewhere in this table, and users without records have the neutral item; declare it with "
            "elsewhere=1."
        )
    if _chooses(query):
        raise UsageError(
            "records that are elsewhere are chosen by no condition and are in no group; ask for SHARE(ELSEWHERE) in a "
            "statement without them."
        )
    return Needed(item, (values.place(ONE),), (Fraction(0),), ranges=((0.0, 1.0),), weights=((values.place(ONE), 1.0),))


def _expression(item: Item) -> Expression:
    if item.expression is None:
        raise UsageError(f"an item of kind {item.kind!r} needs an expression; pass one.")
    return item.expression


def first_mean(need: Needed, means: Sequence[Mean]) -> OutputColumn:
    """Return the column that is the one mean."""
    (mean,) = means
    return mean


def _rest(need: Needed, means: Sequence[Mean]) -> OutputColumn:
    (mean,) = means
    return Rest(need.item.name, mean.numerator)


def _variance(need: Needed, means: Sequence[Mean]) -> OutputColumn:
    first, second = means
    return Variance(need.item.name, first, second, need.ranges[1][1])


def _deviation(need: Needed, means: Sequence[Mean]) -> OutputColumn:
    first, second = means
    return Variance(need.item.name, first, second, need.ranges[1][1], is_root=True)


def _typical_mean(need: Needed) -> tuple[float, ...]:
    return (float(sum(need.centres)) + 0.5 * need.half,)


def _typical_moments(need: Needed) -> tuple[float, ...]:
    return 0.5 * need.half, 0.75 * need.half**2


@dataclass(frozen=True)
class KindRule:
    """Rule of a kind of item: its values, its column, and the means that a preview assumes."""

    # Puts the item's values on the list, and returns what it is made of.
    needed: Callable[[Item, Select, Space, ValueList], Needed]
    # The column of the item's means, whose docstring has the proof of its coverage. Not asked where none is needed.
    column: Callable[[Needed, Sequence[Mean]], OutputColumn] = first_mean
    # The means that a preview assumes, in order; those that it does not name are 0.
    typical: Callable[[Needed], tuple[float, ...]] = lambda need: ()
    ends: Callable[[Needed], tuple[float, float]] = lambda need: need.ranges[-1]  # The public range of the answer
    # What the error is divided by besides: one over the slope of the answer in what is linear in the noise.
    steepness: Callable[[Needed], float] = lambda need: 1.0
    note: str = ""


RULES: dict[str, KindRule] = {
    "avg": KindRule(_average, typical=_typical_mean),
    "part": KindRule(_plain),
    "share": KindRule(_plain),
    "elsewhere": KindRule(_elsewhere, _rest, lambda need: (1.0,)),
    "variance": KindRule(_moments, _variance, _typical_moments, note="and half of the largest variance"),
    "stddev": KindRule(
        _moments,
        _deviation,
        _typical_moments,
        ends=lambda need: (0.0, need.half),
        # The root's slope at half of the largest variance.
        steepness=lambda need: 2.0 * math.sqrt(0.5) * need.half if need.half > 0 else 1.0,
        note="and half of the largest variance",
    ),
    "users": KindRule(_users),
    "count": KindRule(_total),
    "sum": KindRule(_total),
}
"""Rules by kind, as :data:`emdp.questions.item_kinds.KINDS`; rules under a cap are in :mod:`emdp.estimators.totals`."""
