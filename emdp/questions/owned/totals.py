"""Statistics of a relation whose rows have owners: capped sums of a user's rows, cell by cell.

**Parts.** An argument ``e`` of range ``[a, b]`` and degree ``d`` gives a row that has a value the numbers ``B_j =
binom(d, j) x^j (1 - x)^(d - j)``, ``j = 0..d``, with ``x = (e - a)/(b - a)``, and a row without one (NULL or NaN) the
number 1 in a part of its own. All are at least 0 and add up to 1 a row (binomial theorem). Their sums give COUNT(e)
``= sum B_j``, SUM(e) for ``d >= 1``, and the sum of squares for ``d = 2``: all moments up to ``d`` are linear in them
(user-level-sql.md, 2.3). An argument without an expression has one part: 1 for every row.

**Weights.** With a weight ``v`` of range ``[0, V]`` (degree 1) a row gives ``w (1 - x)`` and ``w x``, ``w = v/V``, and
``1 - w`` in the part of rows without a value: at least 0, and 1 together, so that all that follows holds for it. The
two sums give ``sum v e`` and ``sum v``, both over ``V``: a mean by weights is their quotient. A row without a weight
has ``w = 0``; one with a weight and without ``e`` has ``x`` of ``e = 0``, as in SQL's ``SUM(v * e) / SUM(v)``, or ``w =
0`` where 0 is not in the range. In units ``w x`` is rounded down, and ``w (1 - x)`` is what is missing to ``w``.

**Cap.** A user with ``k`` rows in listed cells, ``k`` over the cap ``C``, counts each with weight ``C/k``. For every
argument a user's numbers, over all its parts and all cells, are at least 0 and add up to at most ``C``. That holds
exactly for what is computed: ``x`` is a multiple of ``1/U``, ``U = 2^20``; ``B_0`` and ``B_d`` are rounded down to one
and the part between them is what is missing to 1, which rounding down makes no less than 0; and each sum times ``C/k``
is rounded down.

**Norm.** With ``norm`` 2 the cap is on the root of the sum of squares of a user's numbers of rows by cell: rows of a
user above it, ``n``, count with weight ``C/n`` each. A user's numbers in a cell are then nonnegative and add up to at
most ``w k``, ``k`` the rows there and ``w`` the weight, and the root of the sum of the squares of these is at most
``C``: what Gaussian noise wants, and more of a user with many cells than a cap on all rows leaves (user-level-sql.md
2.2).

**Cap of a cell.** With ``group_rows = M`` a user's ``k`` rows in a cell count with weight ``M/k`` each where ``k`` is
above ``M``, and all of them with ``L/g`` besides where the user has rows in ``g > L`` cells: per cell numbers of at
most ``M``, and of at most ``L M`` together.

**Amounts.** With ``costs`` the cap is on what a user's rows add rather than on how many they are: ``costs`` are whole
numbers ``c_j`` of ``1/U``, one for each part of the arguments, 0 to ``U``, and a user whose parts ``p_j``, over all
arguments and cells, have ``A = sum c_j p_j/U`` above ``T`` counts each row with weight ``T/A``. ``T`` is ``cap`` in
units of ``2^-AMOUNT_BITS``. What is computed keeps ``sum c_j q_j/U <= T`` exactly: ``A`` is rounded up, the ``q_j``
down. A part that costs nothing has no bound, and must not be drawn. With ``norm`` 2 ``A`` is the root of the sum of
squares of ``a_{ig} = sum c_j p_j/U``, the parts of argument ``i`` in cell ``g``, and ``T`` bounds the same root of the
``q_j``. With ``group_rows = M`` a cell has its own cap: ``sum c_j q_j/U <= M`` over the parts of all arguments there,
and at most ``L M`` over all cells.

**People.** A user with rows in ``k`` listed cells counts 1 in each or, with ``groups_cap = L < k``, ``L/k`` rounded
down to a multiple of ``1/U``: at least 0, at most 1 a cell, and at most ``L`` together.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from fractions import Fraction

import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, UsageError
from emdp.questions.owned.relations import Relation
from emdp.rows.nodes import Node
from emdp.rows.types import Value

__all__ = ["AMOUNT_BITS", "LEAST_COST", "UNIT_BITS", "Argument", "Key", "OwnedTotals"]

UNIT_BITS = 20
"""Sums are whole numbers of ``2**-UNIT_BITS``."""

LEAST_COST = 2**10
"""Least cost of a part that is drawn: what a user may give of it fits 63 bits."""

AMOUNT_BITS = 8
"""A cap on amounts is a whole number of ``2**-AMOUNT_BITS``: of the largest record at a cost of 1."""

MOST_CAP = 2**31
"""Largest cap: a user's sums times it fit 127 bits for up to ``2**75`` rows."""


@dataclass(frozen=True)
class Argument:
    """Summand of a row."""

    node: Node | None  # A function of a row; None for the rows themselves
    degree: int = 0  # 0 to count values, 1 for sums, 2 for sums of squares too
    # low, high: For degrees above 0 the range that values are clamped to; `low < high`.
    low: float = 0.0
    high: float = 1.0
    weight: Node | None = None  # Weight of a row, clamped to `[0, most]`, with degree 1; None for 1 each
    most: float = 1.0  # Largest weight, above 0

    def __post_init__(self) -> None:
        if self.weight is not None and (self.degree != 1 or not 0.0 < self.most < math.inf):
            raise UsageError("weight needs degree 1, and most a finite number above 0; leave it out, or pass these.")
        if self.degree not in (0, 1, 2) or (self.node is None and self.degree):
            raise UsageError(f"degree must be 0, 1 or 2, and 0 without an expression, got {self.degree}; pass one.")
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise UsageError(f"low and high must be finite and low below high, got {self.low}, {self.high}; clamp it.")

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The functions of a row."""
        return tuple(node for node in (self.node, self.weight) if node is not None)

    @property
    def parts(self) -> int:
        """Number of parts: of rows without a value, then ``B_0`` to ``B_d``; one without an expression."""
        return 1 if self.node is None else self.degree + 2


@dataclass(frozen=True)
class Key:
    """Key of rows, and the public list of groups, if there is one: rows of other groups count nowhere."""

    name: str
    node: Node
    values: tuple[Value, ...]  # Distinct values of its kind; None stands for NULL. Empty where there is no list.
    is_listed: bool = True  # Whether there is a list
    # Table and column that the list is read off once an earlier stage of the statement has released them.
    source: tuple[str, str] | None = None


class Summed:
    """Sums of arguments, part by part and cell by cell, and then the number of people in each cell where asked for."""

    arguments: tuple[Argument, ...]
    counts_users: bool
    cap: int | None
    norm: int
    group_rows: int | None
    costs: tuple[int, ...] = ()

    def check_caps(self, groups_cap: int | None) -> None:
        """Check that arguments have one cap, and that it fits."""
        if bool(self.arguments) != (self.cap is not None or self.group_rows is not None):
            raise UsageError("cap or group_rows belongs to arguments; pass one where there are any, else none.")
        if self.norm not in (1, 2) or (self.norm == 2 and self.cap is None):
            raise UsageError(f"norm must be 1, or 2 with a cap, got {self.norm}; leave it out.")
        if self.group_rows is not None and (self.cap is not None or groups_cap is None):
            raise UsageError("group_rows needs groups_cap and no cap; pass groups_cap, and leave cap out.")
        for name, value in (("cap", self.cap), ("group_rows", self.group_rows), ("groups_cap", groups_cap)):
            if value is not None and not 1 <= value < MOST_CAP:
                raise UsageError(f"{name} must be from 1 to {MOST_CAP - 1}, got {value}; pass such a number.")

    @property
    def cap_records(self) -> float | None:
        """The cap as a number of records, of amounts in records of the largest cost."""
        return self.cap / 2**AMOUNT_BITS if self.costs and self.cap is not None else self.cap

    def most_rows(self, groups: int) -> int:
        """Return the most that a user's numbers of an argument add up to, in so many cells."""
        if self.group_rows is not None:
            return groups * self.group_rows
        # By Cauchy and Schwarz: the root of the number of cells times the 2-norm.
        return (self.cap or 0) * (1 if self.norm == 1 else math.isqrt(groups) + 1)

    @property
    def cells(self) -> int:
        """Number of cells."""
        raise NotImplementedError

    @property
    def parts(self) -> int:
        """Number of parts: those of the arguments in their order, then that of people."""
        return self.first_part(len(self.arguments)) + self.counts_users

    @property
    def dimension(self) -> int:
        """Number of coordinates: part ``i`` in cell ``k`` is coordinate ``i * cells + k``."""
        return self.parts * self.cells

    def first_part(self, place: int) -> int:
        """Return the number of the first part of an argument, or of people after the last one."""
        return sum(argument.parts for argument in self.arguments[:place])


@dataclass(frozen=True, eq=False)
class OwnedTotals(Summed):
    """Question for capped sums; the module says which."""

    relation: Relation  # Owned
    # Cells are the combinations of the keys' values, the last key running fastest; one cell without keys.
    keys: tuple[Key, ...] = ()
    arguments: tuple[Argument, ...] = ()  # What is summed up; none where only people are counted
    cap: int | None = None  # Largest weight of one user's rows together; given where there are arguments
    counts_users: bool = False  # Whether the users who have a row are counted in each cell
    groups_cap: int | None = None  # Number of cells that a user counts in at most, all together; None for all
    public: Mapping[str, pl.DataFrame] = field(default_factory=dict)  # The public tables that the relation names
    norm: int = 1  # Norm of a user's numbers of rows by cell that `cap` is of
    # `M`: largest weight of one user's rows in a cell, with `groups_cap` and in place of `cap`.
    group_rows: int | None = None
    # Cost of each part of the arguments, where `cap` or `group_rows` is on amounts; none where it is on rows.
    costs: tuple[int, ...] = ()

    is_plain = False
    users = None

    def __post_init__(self) -> None:
        if not self.relation.is_owned:
            raise UsageError("relation must be one whose rows have owners; read the private table.")
        if not all(key.is_listed for key in self.keys):
            raise UsageError("keys must have public lists; ask for OwnedGroups without them.")
        if not (self.arguments or self.counts_users):
            raise UsageError("arguments or counts_users must be given; pass one of them.")
        self.check_caps(self.groups_cap)
        self._check_costs()

    def _check_costs(self) -> None:
        parts = self.first_part(len(self.arguments))
        if self.costs and (len(self.costs) != parts or not self.arguments):
            raise UsageError("costs must be one for each part of the arguments; leave them out otherwise.")
        if any(cost and not LEAST_COST <= cost <= 2**UNIT_BITS for cost in self.costs):
            raise UsageError(
                f"costs must be 0 or whole numbers from {LEAST_COST} to {2**UNIT_BITS}; divide by the largest record's."
            )

    @property
    def cells(self) -> int:
        return math.prod(len(key.values) for key in self.keys)

    def group_sizes(self, users: int) -> tuple[int, ...]:
        """Return the public number of users: there is one group of them."""
        return (users,)

    def check(self, users: int, statistic: Sequence[Fraction]) -> None:
        """Check that sums are what they can be for some table, before they get noise."""
        if self.costs:
            self._check_amounts(users, statistic)
            return
        most = [users * self.most_rows(min(self.cells, self.groups_cap or self.cells))] * len(self.arguments)
        blocks = [(self.first_part(place), argument.parts) for place, argument in enumerate(self.arguments)]
        if self.counts_users:
            blocks.append((self.parts - 1, 1))
            most.append(users * min(self.cells, self.groups_cap or self.cells))
        is_whole = len(statistic) == self.dimension and all(value >= 0 for value in statistic)
        if not is_whole or any(
            sum(statistic[first * self.cells : (first + count) * self.cells]) > largest
            for (first, count), largest in zip(blocks, most, strict=True)
        ):
            raise InternalError("an engine computed sums that no table has; please report this.")

    def _check_amounts(self, users: int, statistic: Sequence[Fraction]) -> None:
        cells = self.cells
        sums = [sum(statistic[part * cells : (part + 1) * cells], Fraction(0)) for part in range(len(self.costs))]
        whole = sum((cost * value for cost, value in zip(self.costs, sums, strict=True)), Fraction(0))
        people = statistic[(self.parts - 1) * cells :] if self.counts_users else ()
        is_right = len(statistic) == self.dimension and all(value >= 0 for value in statistic)
        groups = min(cells, self.groups_cap or cells)
        most = (
            Fraction(self.cap or 0, 2**AMOUNT_BITS) if self.group_rows is None else Fraction(groups * self.group_rows)
        )
        # By Cauchy and Schwarz: the root of the number of arguments and cells times the 2-norm.
        most *= 1 if self.norm == 1 else math.isqrt(cells * len(self.arguments)) + 1
        is_right &= whole <= users * most * 2**UNIT_BITS
        if not is_right or sum(people, Fraction(0)) > users * groups:
            raise InternalError("an engine computed sums that no table has; please report this.")
