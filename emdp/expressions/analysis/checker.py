"""The type checker: Lipschitz constants, range and rounding error of an expression on a space (EMD 2)."""

import math
from collections.abc import Sequence
from dataclasses import field, replace

from emdp.base.classes import dataclass
from emdp.base.errors import EmdpError, NotLipschitzError, UsageError
from emdp.expressions.analysis.fixed_parts import HeldPart, combined, discrete_scales, held_parts, tightened
from emdp.expressions.nodes.base import Expression, walk
from emdp.expressions.nodes.categories import Labelled
from emdp.expressions.nodes.jumps import Jump
from emdp.expressions.numbers.bounds import Analysis, Domain
from emdp.expressions.numbers.outward import div_up, mul_up
from emdp.spaces.base import Space
from emdp.spaces.rounding import quotient_up

__all__ = [
    "Analysis",
    "analyse",
    "final_lipschitz",
    "largest_quotient",
    "leaves",
    "offender",
    "too_large",
    "truncated_parts",
]

REMEMBERED = "_leaf_bounds"
"""Attribute under which a space keeps the bounds of leaves, beside its fields as a cached property does."""

MOST_REMEMBERED = 512
"""Leaves that a space remembers; then it begins anew."""


def analyse(expression: Expression, space: Space) -> Analysis:
    """Return the constants (one a part), range and rounding error of an expression, by structure (EMD 2).

    Returns
    -------
    Analysis
        ``parts[i]`` per unit of ``d_i`` before truncation; :func:`final_lipschitz` makes one of them.

    Raises
    ------
    NotLipschitzError
        If a sub-expression jumps, has an unbounded slope, or leaves the range of doubles.
    UsageError
        If a leaf does not fit the space.

    >>> from emdp.expressions import col, ramp
    >>> from emdp.spaces import Interval
    >>> analyse(ramp(col("x"), 2, 1), Interval("x", 0, 10)).parts
    (10.0,)
    """
    if not isinstance(expression, Expression):
        raise UsageError(f"expression must be an emdp expression, not {type(expression).__name__}; use emdp.col.")
    if expression.space is not None and expression.space is not space and expression.space != space:
        raise UsageError("the expression is bound to another space; analyse it on its own space.")
    try:
        return _Sweep(expression, space).run()
    except NotLipschitzError as error:
        raise NotLipschitzError(
            error.reason,
            expression=str(expression),
            offending=error.offending,
            remedy=error.remedy,
            is_too_large=error.is_too_large,
        ) from None


def truncated_parts(analysis: Analysis, space: Space) -> tuple[float, ...]:
    """Return each part's constant per unit of its *truncated* distance (EMD 2, "Truncated ground metrics").

    Below the diameter truncation changes nothing. Beyond it ``d_i = 1``, while the expression changes by at
    most its range, and by at most ``L_i`` times the domain's diameter in diameters.
    """
    constants = []
    for constant, part in zip(analysis.parts, space.parts, strict=True):
        if part.is_truncated and constant > 0:
            farthest = mul_up(constant, div_up(part.domain_diameter, part.diameter))
            constants.append(max(constant, min(analysis.spread, farthest)))
        else:
            constants.append(constant)
    return tuple(constants)


def final_lipschitz(analysis: Analysis, space: Space, *, text: str = "the expression") -> float:
    """Return one constant per unit of the space's ``d_X``: the largest ``L_i / share_i`` (EMD 2).

    Moving the parts one after another, ``|f - f'| <= sum_i L_i d_i``, which is at most
    ``max_i (L_i/share_i)`` times ``sum_i share_i d_i``. The shares are exact, the quotients rounded up.

    Raises
    ------
    NotLipschitzError
        If the constant is beyond the largest double.

    >>> from emdp.expressions import col
    >>> from emdp.spaces import Interval, Product
    >>> space = Product(Interval("x", 0, 3), Interval("y", 0, 2))
    >>> final_lipschitz(analyse(col("x") + col("y"), space), space)
    6.0
    """
    constant = largest_quotient(truncated_parts(analysis, space), space)
    if math.isfinite(constant):
        return constant
    raise too_large(text)


def largest_quotient(constants: Sequence[float], space: Space) -> float:
    """Return the largest constant of a part over the part's exact share, rounded up; infinite if no double is."""
    return max(quotient_up(constant, share) for constant, share in zip(constants, space.exact_shares, strict=True))


def too_large(text: str) -> NotLipschitzError:
    """Return the refusal of an expression whose numbers leave the range of doubles."""
    return NotLipschitzError(
        "has a constant or a range beyond the largest double",
        expression=text,
        offending=text,
        remedy="rescale it, or narrow it with clamp",
        is_too_large=True,
    )


def leaves(expression: Expression) -> tuple[Expression, ...]:
    """Return the distinct leaves of an expression, constants included, from left to right.

    >>> from emdp.expressions import col
    >>> leaves(col("x") * 2 + col("x"))
    (x, 2)
    """
    found = [node for node in walk(expression) if not node.operands]
    return tuple(dict.fromkeys(found))


def offender(expression: Expression, space: Space) -> Expression | None:
    """Return the first sub-expression for which the analysis refuses, or None: what a caller underlines.

    >>> from emdp.expressions import col
    >>> from emdp.spaces import Interval
    >>> offender(1 + (col("x") > 3), Interval("x", 0, 10))
    x > 3
    """
    for node in walk(expression):
        if isinstance(node, Jump):
            return node
    for node in walk(expression):
        try:
            analyse(replace(node, space=None), space)
        except EmdpError:
            return node
    return None


@dataclass
class _Sweep:
    """A walk over an expression: each node's analysis, also with each 0/1 part held at each value."""

    root: Expression
    space: Space
    known: dict[int, Analysis] = field(default_factory=dict)
    held: dict[tuple[int, int, float], Analysis] = field(default_factory=dict)
    """Analyses by a node's identity, a part's index and a position; only for nodes that name values of the part."""

    def run(self) -> Analysis:
        nodes = walk(self.root)
        for node in nodes:
            if isinstance(node, Jump):
                raise node.refusal()
        domain, scales = Domain(self.space), discrete_scales(self.space)
        parts = held_parts(nodes, domain)
        for node in nodes:
            operands = tuple(self.known[id(operand)] for operand in node.operands)
            bounds = node.bounds_on(domain, operands) if operands else _leaf_bounds(node, domain)
            analysis = _with_range(_finite(node, bounds), scales)
            for part in parts:
                if self._names(node, part, domain):
                    analysis = tightened(analysis, self._hold(node, part, domain))
            self.known[id(node)] = _with_range(analysis, scales)
        return self.known[id(self.root)]

    def _names(self, node: Expression, part: HeldPart, domain: Domain) -> bool:
        if isinstance(node, Labelled) and node.locate_in(domain).index == part.index:
            return True
        return any((id(operand), part.index, part.positions[0]) in self.held for operand in node.operands)

    def _hold(self, node: Expression, part: HeldPart, domain: Domain) -> Analysis:
        cases: dict[float, Analysis] = {}
        for position in part.positions:
            operands = tuple(
                self.held.get((id(operand), part.index, position), self.known[id(operand)]) for operand in node.operands
            )
            fixed = replace(domain, fixed={part.index: position})
            cases[position] = _finite(node, node.bounds_on(fixed, operands))
            self.held[id(node), part.index, position] = cases[position]
        return combined(part, cases)


def _leaf_bounds(node: Expression, domain: Domain) -> Analysis:
    """Return a leaf's bounds, remembered by the space: a distance to a word looks at every word of an embedding.

    Nodes are told apart by identity, since equal labels such as 1 and true are none of one another.
    """
    known: dict[int, tuple[Expression, Analysis]] = vars(domain.space).setdefault(REMEMBERED, {})
    found = known.get(id(node))
    if found is not None and found[0] is node:
        return found[1]
    bounds = node.bounds_on(domain, ())
    if len(known) >= MOST_REMEMBERED:
        known.clear()
    known[id(node)] = node, bounds
    return bounds


def _finite(node: Expression, analysis: Analysis) -> Analysis:
    if analysis.is_finite:
        return analysis
    raise too_large(str(node))


def _with_range(analysis: Analysis, scales: tuple[float | None, ...]) -> Analysis:
    # a 0/1 part's constant need not exceed the range, and what never changes has none
    spread = analysis.spread
    parts = tuple(
        0.0 if spread == 0 else constant if scale is None else min(constant, mul_up(spread, scale))
        for constant, scale in zip(analysis.parts, scales, strict=True)
    )
    return replace(analysis, parts=parts)
