"""Answer of a stream: figures of all periods so far, with their promise."""

from collections.abc import Callable, Sequence

import polars as pl

from emdp.answers.answer import Receipt
from emdp.answers.description import DEFAULT_LEVEL
from emdp.base.checks import check_choice, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.text import Text
from emdp.privacy import Guarantee

__all__ = ["StreamAnswer"]

MakeFrame = Callable[[Sequence[str], float, bool], pl.DataFrame]
"""Makes the rows of figures at a level, each alone or the columns of a figure together."""


@dataclass(frozen=True, repr=False)
class StreamAnswer:
    """Figures of a stream; post-processing of its rows, so that all of them cost nothing beside the one charge.

    Parameters
    ----------
    query : str
        What was asked of each period.
    guarantee : Guarantee
        What holds for all rows together, those to come included, in the stream's unit.
    periods : tuple of str
        Names of the periods that are paid, in order.
    released : tuple of str
        Those that have a row so far.
    show : tuple of str
        Figures in the frame.
    facts : tuple of str
        Derivation, a line a fact.
    make : callable
        Makes rows.
    receipt : Receipt
        The ledger entry that paid.
    is_new : bool
        Whether a row was drawn for this answer.
    is_private : bool
        False under the test switch.
    """

    query: str
    guarantee: Guarantee
    periods: tuple[str, ...]
    released: tuple[str, ...]
    show: tuple[str, ...]
    facts: tuple[str, ...]
    make: MakeFrame
    receipt: Receipt
    is_new: bool
    is_private: bool = True

    @property
    def frame(self) -> pl.DataFrame:
        """The figures: columns ``period`` and ``figure``, then those of the question with their 95 % intervals."""
        return self.make(self.show, DEFAULT_LEVEL, False)

    def interval(self, level: float = DEFAULT_LEVEL, *, coverage: str = "each") -> pl.DataFrame:
        """Return the figures with intervals of another level.

        Parameters
        ----------
        level : float
            Coverage in (0, 1).
        coverage : {"each", "all"}
            Whether every interval has that coverage alone, or all of them together: by the Gaussian maximum within a
            figure, and by Bonferroni over figures and periods.
        """
        level = check_unit_interval("level", level)
        check_choice("coverage", coverage, ("each", "all"))
        if coverage == "each":
            return self.make(self.show, level, False)
        figures = max(len(self.released) * len(self.show), 1)
        return self.make(self.show, 1.0 - (1.0 - level) / figures, True)

    def explain(self) -> Text:
        """Return the derivation as text, a line a fact, with the ledger entry that paid."""
        lines = list(self.facts)
        if not self.is_private:
            lines.insert(0, "NOT PRIVATE  made under the test switch, with reproducible noise")
        lines.append(f"paid by      entry {self.receipt.sequence} of {self.receipt.ledger}, {self.receipt.hash}")
        return Text("\n".join(lines))

    def __repr__(self) -> str:
        head = "" if self.is_private else "NOT PRIVATE (test switch)\n"
        return f"{head}{self.frame}\n{self.guarantee}"
