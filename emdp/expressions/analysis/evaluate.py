"""Reference evaluation of expressions on encoded items, in double precision with numpy."""

import numpy as np

from emdp.base.errors import UsageError
from emdp.expressions.analysis.checker import analyse
from emdp.expressions.nodes.base import Expression, walk
from emdp.spaces.base import Floats, Space

__all__ = ["evaluate"]


def evaluate(expression: Expression, space: Space, items: Floats) -> Floats:
    """Return the value of an expression for each encoded item, within ``analyse(...).rounding`` of the exact
    one.

    Parameters
    ----------
    expression : Expression
        An expression that :func:`emdp.expressions.analyse` accepts on the space.
    space : Space
        The item space.
    items : numpy.ndarray
        Encoded items of the domain, shape (n, width), as ``space.encode`` returns them. They are not moved
        into the domain, nor are values into the range. Elsewhere every expression is 0.

    Returns
    -------
    numpy.ndarray
        Shape (n,), finite.

    Raises
    ------
    NotLipschitzError, UsageError
        As the analysis does; and if the items have another shape or lie so far outside the domain that the
        expression has no value there.

    >>> from emdp.expressions import col, ramp
    >>> from emdp.spaces import Interval
    >>> space = Interval("x", 0, 10)
    >>> evaluate(ramp(col("x"), 2, 1), space, space.encode({"x": [0.5, 1.25, 7]}))
    array([1.  , 0.75, 0.  ])
    """
    analyse(expression, space)
    array = np.asarray(items, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != space.width:
        raise UsageError(f"items must have shape (n, {space.width}), not {array.shape}; encode them with the space.")
    absent = space.is_elsewhere(array)
    if absent.any():
        found = np.zeros(len(array))
        found[~absent] = evaluate(expression, space, array[~absent])
        return found
    known: dict[int, Floats] = {}
    try:
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            for node in walk(expression):
                operands = tuple(known[id(operand)] for operand in node.operands)
                known[id(node)] = node.values_on(space, array, operands)
    except FloatingPointError as error:
        raise UsageError(f"items must lie in the domain, for `{expression}` has no value there.") from error
    values = known[id(expression)]
    if not np.isfinite(values).all():
        raise UsageError(f"items must lie in the domain, for `{expression}` has no value there.")
    return values
