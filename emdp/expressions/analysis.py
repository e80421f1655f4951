"""The type checker: Lipschitz constants, range and rounding error of an expression on a space (EMD 2)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from emdp.errors import EmdpError, NotLipschitzError, UsageError
from emdp.expressions.bounds import Analysis, Domain, largest_parts
from emdp.expressions.categories import Labelled, covers_domain
from emdp.expressions.nodes import Expression, walk
from emdp.expressions.outward import add_up, div_up, mul_up
from emdp.spaces.base import Space

__all__ = [
    "Analysis",
    "analyse",
    "discrete_scales",
    "final_lipschitz",
    "leaves",
    "offender",
    "truncated_parts",
]

MOST_CASE_NODES = 4_000
"""Most nodes analysed again with a discrete part held fixed: keeps a check within some 20 ms."""

UNNAMED = -1.0
"""Position that stands for every value of a part that the expression does not name."""


def analyse(expression: Expression, space: Space) -> Analysis:
    """Return the constants (one a part), range and rounding error of an expression, by structure (EMD 2).

    Parameters
    ----------
    expression : Expression
        The expression.
    space : Space
        The item space.

    Returns
    -------
    Analysis
        ``parts[i]`` per unit of ``d_i`` before truncation; :func:`final_lipschitz` makes one constant of
        them.

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
        raise UsageError(
            f"expression must be an emdp expression, not {type(expression).__name__}; use emdp.col."
        )
    if expression.space is not None and expression.space is not space and expression.space != space:
        raise UsageError("the expression is bound to another space; analyse it on its own space.")
    nodes, domain, scales = walk(expression), Domain(space), discrete_scales(space)
    known: dict[int, Analysis] = {}
    try:
        analysis = _pass(nodes, domain, scales, known)
        for index, scale in enumerate(scales):
            if scale is not None and analysis.parts[index] > 0:
                analysis = _by_label(nodes, domain, index, scales, known, analysis)
    except NotLipschitzError as error:
        raise NotLipschitzError(
            error.reason, expression=str(expression), offending=error.offending, remedy=error.remedy
        ) from None
    return analysis


def truncated_parts(analysis: Analysis, space: Space) -> tuple[float, ...]:
    """Return the constant of each part per unit of its *truncated* distance (EMD 2, "Truncated ground
    metrics").

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


def final_lipschitz(analysis: Analysis, space: Space) -> float:
    """Return one constant per unit of the space's ``d_X``: the largest ``L_i / share_i`` (EMD 2, "Product
    spaces").

    Moving the parts one after another, ``|f - f'| <= sum_i L_i d_i <= max_i (L_i/share_i) sum_i share_i
    d_i``.

    >>> from emdp.expressions import col
    >>> from emdp.spaces import Interval, Product
    >>> space = Product(Interval("x", 0, 3), Interval("y", 0, 2))
    >>> final_lipschitz(analyse(col("x") + col("y"), space), space)
    6.0
    """
    constants = truncated_parts(analysis, space)
    return max(div_up(constant, share) for constant, share in zip(constants, space.shares, strict=True))


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
    known: dict[int, Analysis] = {}
    scales = discrete_scales(space)
    for node in walk(expression):
        try:
            known[id(node)] = _node_analysis(node, Domain(space), known, scales)
        except EmdpError:
            return node
    return None


def discrete_scales(space: Space) -> tuple[float | None, ...]:
    """Return for each part with a 0/1 distance its diameter per that distance (mostly 1), else None.

    On such a part any function changes by at most its range, over exactly that distance.
    """
    return tuple(
        div_up(part.diameter, part.domain_diameter)
        if part.structure == "discrete" and part.domain_diameter > 0
        else None
        for part in space.parts
    )


def _pass(
    nodes: Sequence[Expression], domain: Domain, scales: Sequence[float | None], known: dict[int, Analysis]
) -> Analysis:
    """Analyse the nodes in order, skipping those already known, and return what is known of the last."""
    for node in nodes:
        if id(node) not in known:
            known[id(node)] = _node_analysis(node, domain, known, scales)
    return known[id(nodes[-1])]


def _node_analysis(
    node: Expression, domain: Domain, known: Mapping[int, Analysis], scales: Sequence[float | None]
) -> Analysis:
    analysis = node.bounds_on(domain, tuple(known[id(operand)] for operand in node.operands))
    if not analysis.is_finite:
        raise NotLipschitzError(
            "has a constant or a range beyond the largest double",
            expression=str(node),
            offending=str(node),
            remedy="rescale it, or narrow it with clamp",
        )
    return _with_range(analysis, scales)


def _with_range(analysis: Analysis, scales: Sequence[float | None]) -> Analysis:
    # a 0/1 part's constant need not exceed the range, and what never changes has none
    spread = analysis.spread
    parts = tuple(
        0.0 if spread == 0 else constant if scale is None else min(constant, mul_up(spread, scale))
        for constant, scale in zip(analysis.parts, scales, strict=True)
    )
    return replace(analysis, parts=parts)


def _by_label(
    nodes: Sequence[Expression],
    domain: Domain,
    index: int,
    scales: Sequence[float | None],
    known: Mapping[int, Analysis],
    whole: Analysis,
) -> Analysis:
    """Sharpen an analysis by holding one 0/1 part at each value the expression names, and at one it does not.

    Moves of other parts leave that value as it is, so the worst value's constants are valid for them. A move
    of the part itself goes from one value's range to another's, or between two values that the expression
    does not name.
    """
    labelled = [
        node for node in nodes if isinstance(node, Labelled) and node.locate_in(domain).index == index
    ]
    positions = dict.fromkeys(position for node in labelled for position in node.locate_in(domain).found)
    is_open = not covers_domain(domain.space.parts[index], tuple(positions))
    held_at = [*positions, *([UNNAMED] if is_open else [])]
    if not labelled or len(held_at) * len(nodes) > MOST_CASE_NODES:
        return whole
    changing = {id(node) for node in labelled}
    kept = {id(node): known[id(node)] for node in nodes if not node.operands and id(node) not in changing}
    held = [
        _pass(nodes, replace(domain, fixed={index: position}), scales, dict(kept)) for position in held_at
    ]
    jump = max(
        (max(add_up(a.high, -b.low), add_up(b.high, -a.low)) for k, a in enumerate(held) for b in held[:k]),
        default=0.0,
    )
    scale = scales[index]
    moved = math.inf if scale is None else mul_up(jump, scale)
    parts = list(map(min, whole.parts, largest_parts(case.parts for case in held)))
    parts[index] = min(whole.parts[index], max(moved, held[-1].parts[index] if is_open else 0.0))
    return Analysis(
        tuple(parts),
        max(whole.low, min(case.low for case in held)),
        min(whole.high, max(case.high for case in held)),
        min(whole.rounding, max(case.rounding for case in held)),
    )
