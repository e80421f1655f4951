"""The type check of a translated expression: refusals of the analysis, with the SQL underlined and in SQL's words."""

import math

from sqlglot import exp

from emdp.base.errors import EmdpError, NotLipschitzError, SqlError, UsageError
from emdp.expressions.analysis.checker import Analysis, analyse, final_lipschitz, offender
from emdp.expressions.functions.smooth import Power, Smooth
from emdp.expressions.nodes.arithmetic import Divide
from emdp.expressions.nodes.base import Column, Expression
from emdp.expressions.nodes.categories import Labelled
from emdp.sql.context import Context

__all__ = ["checked", "known_range", "small_step"]

STEP_SHARE = 0.05
"""Widths that a remedy suggests, as a share of the range of what is compared."""


def checked(context: Context, expression: Expression, node: exp.Expr) -> Analysis:
    """Return what is known of an expression, after EMD 2's rules and their final constant.

    Raises
    ------
    SqlError
        If it has no finite constant: the first part that has none is underlined.
    """
    space = context.names.space
    try:
        analysis = analyse(expression, space)
        final_lipschitz(analysis, space)
    except NotLipschitzError as error:
        raise _refusal(context, expression, node, error) from None
    except UsageError as error:
        raise _misfit(context, expression, node, error) from None
    return analysis


def known_range(context: Context, expression: Expression) -> tuple[float, float] | None:
    """Return the range of an expression, or None where it has none; for the words of refusals."""
    try:
        analysis = analyse(expression, context.names.space)
    except EmdpError:
        return None
    return analysis.low, analysis.high


def small_step(spread: float) -> float:
    """Return a round number near a twentieth of a range.

    >>> small_step(67.99), small_step(0.0)
    (3.0, 1.0)
    """
    if not 0 < spread < math.inf:
        return 1.0
    step = STEP_SHARE * spread
    digit = 10.0 ** math.floor(math.log10(step))
    return float(f"{round(step / digit) * digit:.3g}")


def _refusal(context: Context, root: Expression, node: exp.Expr, error: NotLipschitzError) -> SqlError:
    bad = _blamed(context, root)
    blamed = context.origin(bad) or node
    text = context.text(blamed)
    if isinstance(bad, Divide):
        operand, name = bad.right, "divisor"
    elif isinstance(bad, Smooth):
        operand, name = bad.operand, "argument"
    else:
        return _other(context, bad, blamed, error)
    reach = known_range(context, operand)
    if reach is None or error.is_too_large:
        return _other(context, bad, blamed, error)
    low, high = reach
    how = "goes below" if _is_root(bad) else "reaches" if low <= 0 <= high else "is so wide that rounding may reach"
    return context.refusal(
        blamed,
        f"`{text}` has no bounded slope, for its {name} `{context.written(operand)}` has the range "
        f"[{low:.6g}, {high:.6g}], which {how} 0",
        remedy=f"keep it away from 0, as in {_kept(context, bad, operand, low, high)}",
        code="unbounded-slope",
    )


def _blamed(context: Context, root: Expression) -> Expression:
    found = offender(root, context.names.space)
    return root if found is None else found


def _is_root(bad: Expression) -> bool:
    return isinstance(bad, Power) and not bad.exponent.is_integer() and bad.exponent > 1


def _kept(context: Context, bad: Expression, operand: Expression, low: float, high: float) -> str:
    text = context.written(operand)
    if _is_root(bad):
        return f"GREATEST({text}, 0)"
    step = small_step(high - low)
    if high <= 0 and isinstance(bad, Divide):
        return f"LEAST({text}, -{step:g})"
    return f"GREATEST({text}, {step:g})"


def _other(context: Context, bad: Expression, blamed: exp.Expr, error: NotLipschitzError) -> SqlError:
    text = context.text(blamed)
    if isinstance(bad, Column):
        return context.refusal(
            blamed,
            f"`{text}` has no finite Lipschitz constant: near items can have far values of it",
            remedy="use a distance, as in DISTANCE(POINT(lat, lon), POINT(40.7, -74.0)) or DISTANCE(hour, 8)",
            code="no-finite-constant",
        )
    if isinstance(bad, Labelled):
        return context.refusal(
            blamed,
            f"`{text}` jumps between values at distance 0, or to values beyond the largest double",
            remedy="use DISTANCE or SIMILARITY, which are equal at values at distance 0, or smaller numbers",
            code="equal-values",
        )
    if error.is_too_large:
        return context.refusal(
            blamed,
            f"`{text}` has a constant or a range beyond the largest double",
            remedy="rescale it, or narrow it with CLAMP(e, low, high)",
            code="too-large",
        )
    return context.refusal(
        blamed,
        f"`{text}` has no finite Lipschitz constant",
        remedy="write it with the functions of this language, as in RAMP(e, a, b)",
        code="no-finite-constant",
    )


def _misfit(context: Context, root: Expression, node: exp.Expr, error: UsageError) -> SqlError:
    blamed = context.origin(_blamed(context, root)) or node
    return context.refusal(
        blamed,
        f"`{context.text(blamed)}` does not fit the item space: {error.sentence}",
        remedy="use what a part of the space has, or name the part's columns first",
        code="misfit",
    )
