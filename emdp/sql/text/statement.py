"""One parsed statement: its header, its tree, and where in the text each part of the tree stands."""

from collections.abc import Mapping
from typing import Literal

from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import SqlError
from emdp.sql.text.spans import span_of

__all__ = ["Option", "Privacy", "Statement"]

Privacy = Literal["EMD_PRIVACY", "USER_PRIVACY"]


@dataclass(frozen=True)
class Option:
    """One entry of ``OPTIONS (name = value)``."""

    name: str  # In lower case
    value: float | int | str
    start: int
    end: int
    weaker: tuple[float, ...] = ()  # Of `TIERS(8, 4, 1)` all numbers but the first, which is the value


@dataclass(frozen=True, eq=False)
class Statement:
    """A statement as it was parsed; nothing in it is resolved yet.

    Parameters
    ----------
    sql : str
        The whole text that the statement stands in.
    start, end : int
        The statement's own part of it.
    privacy : {"EMD_PRIVACY", "USER_PRIVACY"}
        Its header.
    options : mapping of str to Option
        By name.
    header : tuple of int
        Start and end of the header in the text.
    tree : sqlglot.exp.Select
        The rest. Every function call is an ``exp.Anonymous`` with the name as written.
    refused : SqlError or None
        Under USER_PRIVACY why the statement is none of the language of mean values; it may be one over rows with
        owners still.
    beyond : SqlError or None
        Why it is not a statement over rows with owners as a whole: it may be one in stages still.
    """

    sql: str
    start: int
    end: int
    privacy: Privacy
    options: Mapping[str, Option]
    header: tuple[int, int]
    tree: exp.Select
    refused: SqlError | None = None
    beyond: SqlError | None = None

    @property
    def text(self) -> str:
        """The statement's own text."""
        return self.sql[self.start : self.end]

    def is_true(self, name: str) -> bool:
        """Say whether an option is given as TRUE."""
        option = self.options.get(name)
        return option is not None and option.value == "true"

    def span(self, node: exp.Expr) -> tuple[int, int]:
        """Return start and end in ``sql`` of a node of the tree."""
        return span_of(self.tree, node, self.sql, self.start, self.end, self.header)

    def text_of(self, node: exp.Expr) -> str:
        start, end = self.span(node)
        return self.sql[start:end]

    def refusal(self, node: exp.Expr | None, problem: str, *, remedy: str, code: str) -> SqlError:
        """Return the error that refuses a node of the tree, or the header where there is no node."""
        start, end = self.header if node is None else self.span(node)
        return SqlError(problem, remedy=remedy, code=code, sql=self.sql, start=start, end=end)
