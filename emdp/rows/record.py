"""Record of one function of a row: its names, the kinds it takes, its range, and its spelling for each engine.

A spelling is SQL text in which ``emdp_0``, ``emdp_1``, ... stand for the arguments; in a plain text ``{0}`` is short
for ``emdp_0``. Its arguments are values that cannot fail any more. Where the spelling's one operator may raise,
``raises`` is true, and the compiler puts that operator, with nothing else, into ``TRY``: user-level-sql.md, section
1.5, shows what a ``TRY`` around a larger expression lets through.
"""

from collections.abc import Callable, Sequence

from emdp.base.classes import dataclass
from emdp.expressions.functions.record import Misfit
from emdp.rows.types import Kind, Value

__all__ = ["Form", "Given", "Range", "RangeRule", "RowFunction", "Spelling"]

Range = tuple[float, float]
"""Least and largest value that is neither NULL nor NaN; both may be infinite."""

RangeRule = Callable[[Sequence[Range | None], Sequence[Value]], Range | None]
"""From the arguments' ranges (None: nothing is known) and their values (None: no literal) to the result's range."""

Spelling = str | Callable[[Sequence[Value]], str]
"""SQL text, or what makes it of the values of the arguments that are literals (None for the others)."""


@dataclass(frozen=True)
class Given:
    """An argument that must be a literal, since it chooses what the function does.

    Parameters
    ----------
    what : str
        What it is, for messages: ``"a pattern"``.
    problem : callable
        Says what is wrong with a value, None for a good one.
    examples : tuple
        Good values; tests try them.
    """

    kind: Kind
    what: str
    problem: Callable[[Value], str | None]
    remedy: str
    examples: tuple[Value, ...]


@dataclass(frozen=True)
class Form:
    """A function for arguments of given kinds.

    Parameters
    ----------
    duckdb, spark : str or callable
        How engines spell it.
    raises : bool
        Whether DuckDB's operator may raise on some values.
    range_rule : callable, optional
        Range of the result.
    values : callable, optional
        All values that the result can have, from the literals among the arguments; None where they are too many.
    """

    arguments: tuple[Kind | Given, ...]
    result: Kind
    duckdb: Spelling
    spark: Spelling
    raises: bool = False
    range_rule: RangeRule | None = None
    values: Callable[[Sequence[Value]], tuple[Value, ...] | None] | None = None

    def takes(self, kinds: Sequence[Kind], is_literal: Sequence[bool]) -> bool:
        """Return whether arguments of these kinds fit."""
        return len(kinds) == len(self.arguments) and all(
            (kind is wanted.kind and literal) if isinstance(wanted, Given) else kind is wanted
            for kind, wanted, literal in zip(kinds, self.arguments, is_literal, strict=True)
        )


@dataclass(frozen=True)
class RowFunction:
    """A deterministic function of a row.

    Parameters
    ----------
    name : str
        Its canonical name, in lower case: ledgers hold it, so that it never changes its meaning.
    forms : tuple of Form
        By kinds of arguments; the first that fits is taken.
    names : tuple of str
        Other names that SQL has for it, in lower case.
    operator : str
        The operator of two arguments, or word before one, that stands for it in SQL; empty for a call.
    misfit : callable or None
        Refusal of literals that are good one by one, of all arguments' values (None for what is no literal).
    """

    name: str
    forms: tuple[Form, ...]
    names: tuple[str, ...] = ()
    operator: str = ""
    misfit: Callable[[Sequence[Value]], Misfit | None] | None = None

    def form(self, kinds: Sequence[Kind], is_literal: Sequence[bool]) -> Form | None:
        """Return the form for arguments of these kinds, None where there is none."""
        return next((form for form in self.forms if form.takes(kinds, is_literal)), None)
