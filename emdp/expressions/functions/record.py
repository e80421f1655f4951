"""The contract of a scalar function: one record says what it is called, and how it is written, in every language.

A record stands beside its node, which has the rule with its proof and the numpy reference. Whoever writes or reads a
function of numbers asks the table of records (:data:`emdp.expressions.functions.FUNCTIONS`), anew each time.
"""

from collections.abc import Callable

from emdp.base.classes import dataclass
from emdp.expressions.nodes.base import Expression

__all__ = ["ConstantArgument", "Misfit", "ScalarFunction"]


@dataclass(frozen=True)
class ConstantArgument:
    """An argument after the operand that is a number, the same for all records.

    Parameters
    ----------
    name : str
        The field of the node that holds it.
    noun : str
        What it is, for messages of SQL.
    """

    name: str
    noun: str


@dataclass(frozen=True)
class Misfit:
    """Refusal of a function's constants, in SQL's words."""

    problem: str
    remedy: str
    code: str


@dataclass(frozen=True)
class ScalarFunction:
    """A function of numbers, in all languages.

    Parameters
    ----------
    node : type of Expression
        Made of the operand and the constants, or of a tuple of operands; its ``bounds_on`` is the rule, its docstring
        the proof, and its ``values_on`` the numpy reference.
    python : function
        What analysts call; its name is the function's name in texts of expressions.
    sql : tuple of str
        Its names in SQL, in capitals.
    form : str
        Its arguments as messages of SQL write them.
    duckdb : str or None
        DuckDB's function of the operands and constants, with an error of at most ``node.ulps`` units in the last place.
        None where there is none: :mod:`emdp.tables.statements.formulas` then has the formula.
    spark : str or None
        Spark's name, where sqlglot would write another one for DuckDB's function; None where it writes the right one.
    takes_many : bool
        Whether it takes any number of operands.
    misfit : callable or None
        Says of the constants why they do not fit, or None where they do.

    >>> from emdp.expressions.functions import FUNCTIONS
    >>> FUNCTIONS["log"].sql, FUNCTIONS["log"].name, FUNCTIONS["clamp"].form
    (('LN',), 'log', '(e, low, high)')
    """

    node: type[Expression]
    python: Callable[..., Expression]
    sql: tuple[str, ...]
    form: str = "(e)"
    duckdb: str | None = None
    spark: str | None = None
    takes_many: bool = False
    constants: tuple[ConstantArgument, ...] = ()
    misfit: Callable[..., Misfit | None] | None = None

    @property
    def name(self) -> str:
        """Its name in Python."""
        return self.python.__name__

    def made(self, *arguments: object) -> Expression:
        """Return the node of given arguments."""
        make: Callable[..., Expression] = self.node
        return make(*arguments)

    def constants_of(self, node: Expression) -> tuple[float, ...]:
        """Return the constants that a node holds, in order."""
        return tuple(float(getattr(node, constant.name)) for constant in self.constants)
