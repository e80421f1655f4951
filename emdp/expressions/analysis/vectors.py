"""Lipschitz constants of a vector of expressions in the 1-norm and the 2-norm (EMD 2, last paragraphs).

The vector changes least when it is taken in blocks. A block is one entry, or several entries ``1[S_k] g_k``
whose sets ``S_k`` of listed values are disjoint (one-hot times a function), of which at most one is not 0 at
any item. Moving the parts of the space one after another, a block with such sets changes in a norm by at most

- ``max_k`` (the constant of ``g_k`` for that part), where the part is in no set: one entry stays the other
  than 0;
- ``(M1, M2)`` in that norm, ``M1 >= M2`` the two largest ``max |g_k|``, over the gap around the sets, where
  the part is in the sets and the ``g_k`` do not depend on it: one entry goes to 0 and another comes from 0.

Blocks are added in the norm, part by part; the maximum over parts comes last, as for one expression.
"""

import math
from collections.abc import Sequence
from dataclasses import field
from itertools import product

from emdp.base.classes import dataclass
from emdp.base.errors import NotLipschitzError, UsageError
from emdp.expressions.analysis.checker import analyse, largest_quotient, too_large, truncated_parts
from emdp.expressions.nodes.arithmetic import Divide, Multiply, Negate
from emdp.expressions.nodes.base import Constant, Expression
from emdp.expressions.nodes.categories import CategoryIs, indicator_bounds
from emdp.expressions.numbers.bounds import Analysis
from emdp.expressions.numbers.outward import mul_up, norm_up
from emdp.spaces.base import Space

__all__ = ["VectorAnalysis", "analyse_vector"]

NORMS = (1, 2)
LARGEST_SUPPORT = 10_000
"""Most combinations of listed values in one entry's set; an entry with more is a block of its own."""

Cell = tuple[float, ...]


@dataclass(frozen=True)
class VectorAnalysis:
    """Public knowledge of a vector of expressions on a space.

    Parameters
    ----------
    entries : tuple of Analysis
        What is known of each expression.
    lipschitz_1, lipschitz_2 : float
        Constant of the vector per unit of the space's ``d_X``, in the 1-norm and in the 2-norm.
    """

    entries: tuple[Analysis, ...]
    lipschitz_1: float
    lipschitz_2: float

    def lipschitz(self, norm: int) -> float:
        """Return the constant in the 1-norm or the 2-norm."""
        if norm not in NORMS:
            raise UsageError(f"norm must be 1 or 2, got {norm!r}; pass the norm of the noise.")
        return self.lipschitz_1 if norm == 1 else self.lipschitz_2


def analyse_vector(expressions: Sequence[Expression], space: Space) -> VectorAnalysis:
    """Return the constants of a vector of expressions in the 1-norm and the 2-norm.

    Parameters
    ----------
    expressions : sequence of Expression
        At least one.

    Raises
    ------
    NotLipschitzError, UsageError
        As :func:`emdp.expressions.analyse`, for the first entry refused; and if a constant of the vector is
        beyond the largest double.

    Examples
    --------
    One-hot over the categories times a function of the place: ``max(2 D, 4)`` in the 1-norm (EMD 2).

    >>> from emdp.expressions import category_is, col
    >>> from emdp.spaces import Categories, Interval, Product
    >>> space = Product(Interval("x", 0, 1), Categories("kind", ["cafe", "bar"]))
    >>> analyse_vector([category_is(kind) * col("x") for kind in ("cafe", "bar")], space).lipschitz_1
    4.0
    """
    if not expressions:
        raise UsageError("expressions is empty; pass at least one expression.")
    entries = tuple(analyse(expression, space) for expression in expressions)
    blocks = _blocks(expressions, entries, space)
    constants = []
    for norm in NORMS:
        rows = [_block_parts(block, space, norm) for block in blocks]
        parts = [norm_up(column, norm) for column in zip(*rows, strict=True)]
        constants.append(largest_quotient(parts, space))
    if not all(map(math.isfinite, constants)):
        raise too_large(", ".join(map(str, expressions)))
    return VectorAnalysis(entries, *constants)


@dataclass(frozen=True)
class _Entry:
    """An entry of a vector as ``1[cells] factor``: ``cells`` are combinations of listed values of ``parts``."""

    whole: Analysis
    parts: tuple[int, ...] = ()
    gaps: tuple[float, ...] = ()
    cells: frozenset[Cell] = frozenset()
    factor: Analysis | None = None
    rest: Expression | None = None


@dataclass
class _Block:
    """Entries whose cells are disjoint, or a single entry without cells."""

    entries: list[_Entry] = field(default_factory=list)
    taken: set[Cell] = field(default_factory=set)

    def admits(self, entry: _Entry) -> bool:
        return bool(entry.cells) and entry.parts == self.entries[0].parts and self.taken.isdisjoint(entry.cells)

    def add(self, entry: _Entry) -> None:
        self.entries.append(entry)
        self.taken |= entry.cells


def _blocks(expressions: Sequence[Expression], entries: Sequence[Analysis], space: Space) -> list[_Block]:
    """Put each entry into a block that admits it, if possible of the same factor, else into its own."""
    blocks: list[_Block] = []
    for expression, analysis in zip(expressions, entries, strict=True):
        entry = _entry(expression, analysis, space)
        admitting = [block for block in blocks if block.admits(entry)]
        same = [block for block in admitting if block.entries[0].rest == entry.rest]
        if not admitting:
            blocks.append(_Block())
        (same or admitting or blocks[-1:])[0].add(entry)
    return blocks


def _entry(expression: Expression, whole: Analysis, space: Space) -> _Entry:
    sets: dict[int, set[float]] = {}
    gaps: dict[int, float] = {}
    others: list[Expression] = []
    for factor in _factors(expression):
        if not isinstance(factor, CategoryIs):
            others.append(factor)
            continue
        located = factor.locate(space)
        bounds = indicator_bounds(located.part, factor.values, located.found)
        sets[located.index] = sets.get(located.index, set(located.found)) & set(located.found)
        gaps[located.index] = max(gaps.get(located.index, 0.0), bounds.lipschitz)
    parts = tuple(sorted(sets))
    size = 1
    for part in parts:
        size *= len(sets[part])
    if not parts or not 0 < size <= LARGEST_SUPPORT:
        return _Entry(whole)
    try:
        rest = _balanced(others)
        factor_known = analyse(rest, space)
    except (NotLipschitzError, UsageError):  # in another order products may overflow or nest too deep
        return _Entry(whole)
    if any(factor_known.parts[part] > 0 for part in parts):
        return _Entry(whole)
    cells = frozenset(product(*(sorted(sets[part]) for part in parts)))
    return _Entry(whole, parts, tuple(gaps[part] for part in parts), cells, factor_known, rest)


def _factors(expression: Expression) -> list[Expression]:
    """Return factors whose product is the expression."""
    found: list[Expression] = []
    stack = [expression]
    while stack:
        node = stack.pop()
        if isinstance(node, Multiply):
            stack += [node.right, node.left]
        elif isinstance(node, Negate):
            stack += [node.operand, Constant(-1.0)]
        elif isinstance(node, Divide) and not isinstance(node.left, Constant):
            stack += [Divide(Constant(1.0), node.right), node.left]
        else:
            found.append(node)
    return found


def _balanced(factors: list[Expression]) -> Expression:
    """Return the product of factors, nested as little as their number allows."""
    while len(factors) > 1:
        pairs = [Multiply(left, right) for left, right in zip(factors[::2], factors[1::2], strict=False)]
        factors = [*pairs, *factors[2 * len(pairs) :]]
    return factors[0] if factors else Constant(1.0)


def _block_parts(block: _Block, space: Space, norm: int) -> tuple[float, ...]:
    """Return the block's constant for each part, per unit of its truncated distance."""
    rows = [truncated_parts(entry.whole, space) for entry in block.entries]
    alone = tuple(norm_up(column, norm) for column in zip(*rows, strict=True))
    factors = [entry.factor for entry in block.entries if entry.factor is not None]
    if len(factors) < len(block.entries):
        return alone
    together = list(map(max, zip(*(truncated_parts(factor, space) for factor in factors), strict=True)))
    two_largest = norm_up(sorted((factor.magnitude for factor in factors), reverse=True)[:2], norm)
    for place, part in enumerate(block.entries[0].parts):
        gap_constant = max(entry.gaps[place] for entry in block.entries)
        together[part] = _truncated(mul_up(two_largest, gap_constant), two_largest, space.parts[part])
    return tuple(map(min, alone, together))


def _truncated(constant: float, spread: float, part: Space) -> float:
    return max(constant, spread) if part.is_truncated else constant
