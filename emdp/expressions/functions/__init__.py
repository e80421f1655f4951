"""Functions that analysts write expressions with, and the table of scalar functions.

A family of scalar functions is a file: for each function its node, its function of Python, named in the file's
``__all__``, and its record in ``RECORDS``. All else reads the table: Python's names, the text of expressions, SQL, its
refusals, and the engines.
"""

from typing import TYPE_CHECKING

from emdp.expressions.functions import items, shaping, smooth, waves
from emdp.expressions.functions.items import *  # noqa: F403  all that a family offers is offered here
from emdp.expressions.functions.record import ScalarFunction
from emdp.expressions.functions.shaping import *  # noqa: F403
from emdp.expressions.functions.smooth import *  # noqa: F403
from emdp.expressions.functions.waves import *  # noqa: F403
from emdp.expressions.nodes.base import Expression

if not TYPE_CHECKING:
    # Type checkers take a star for what it is, and cannot read a list that is put together.
    __all__ = items.__all__ + shaping.__all__ + smooth.__all__ + waves.__all__

FUNCTIONS: dict[str, ScalarFunction] = {
    one.name: one for records in (shaping.RECORDS, smooth.RECORDS, waves.RECORDS) for one in records
}
"""The scalar functions by their names in Python."""


def function_of(node: Expression) -> ScalarFunction | None:
    """Return the record of the function that a node applies, if it is one of the table.

    >>> function_of(tanh(col("x"))).name, function_of(col("x"))  # noqa: F405
    ('tanh', None)
    """
    return next((one for one in FUNCTIONS.values() if one.node is type(node)), None)
