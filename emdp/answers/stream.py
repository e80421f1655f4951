"""Answer of a stream: figures of all periods so far, with their promise."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

import polars as pl

from emdp.answers.answer import Receipt
from emdp.answers.description import DEFAULT_LEVEL
from emdp.base.checks import check_choice, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.text import Text
from emdp.privacy import Guarantee

__all__ = ["Costs", "StreamAnswer", "StreamPreview", "charged_in_words"]

MakeFrame = Callable[[Sequence[str], float, bool], pl.DataFrame]
"""Makes the rows of figures at a level, each alone or the columns of a figure together."""

Costs = tuple[tuple[str, Guarantee, int], ...]
"""Each budget that is charged, what it is charged, and in how many periods each (0: once for all)."""


def charged_in_words(costs: Costs) -> str:
    """Return what budgets are charged as a text that names each of them.

    >>> from emdp.privacy import EmdDP
    >>> charged_in_words((("alpha = 9.0", EmdDP(3.0), 0),))
    'alpha = 3.0 per unit of d_em, delta = 0.0 (unbounded central EmdDP) once, of the budget alpha = 9.0'
    """
    return "; ".join(
        f"{charged} {f'in each of {count} periods' if count else 'once'}, of the budget {budget}"
        for budget, charged, count in costs
    )


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
    notes : tuple of str
        As whom people without records count, and values that are missing.
    of_table : tuple of str
        Those of the notes that are the same in all answers of the table.
    costs : mapping of int to tuple
        What each of its charges, the opening and what prolonged it, by the ledger entry, cost every budget that it
        counts in: as ``costs`` of :class:`StreamPreview`.
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
    notes: tuple[str, ...] = ()
    of_table: tuple[str, ...] = ()
    costs: Mapping[int, Costs] = field(default_factory=dict)

    @property
    def charged(self) -> str:
        """What every budget was charged for it so far, in words."""
        return charged_in_words(tuple(own for costs in self.costs.values() for own in costs))

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
        lines = [*self.facts, *(f"note         {note}" for note in self.notes)]
        if not self.is_private:
            lines.insert(0, "NOT PRIVATE  made under the test switch, with reproducible noise")
        if self.costs:
            lines.append(f"charged      {self.charged}")
        lines.append(f"paid by      entry {self.receipt.sequence} of {self.receipt.ledger}, {self.receipt.hash}")
        return Text("\n".join(lines))

    def __repr__(self) -> str:
        head = "" if self.is_private else "NOT PRIVATE (test switch)\n"
        return f"{head}{self.frame}\n{self.guarantee}"


@dataclass(frozen=True, repr=False)
class StreamPreview:
    """Cost and expected error of a stream; no private value was touched.

    Parameters
    ----------
    query : str
        What is asked of each period.
    guarantee : Guarantee
        What holds for all rows together, in the stream's unit.
    periods : tuple of str
        Names of the periods that it is, or would be, paid for.
    released : tuple of str
        Those that have a row already.
    costs : tuple of (str, Guarantee, int)
        Each budget that is charged, what it is charged, and in how many periods each (0: once for all); empty where
        the stream is paid, so that nothing is due.
    refusal : str
        Why the budgets do not cover it; empty where they do.
    frame : polars.DataFrame
        One row a figure and column, at the last period: figure, query, noise_scale, expected_error, interval_95
        (half-width).
    facts : tuple of str
        Derivation, a line a fact.
    notes : tuple of str
        What errors assume; as whom people without records count, and values that are missing.
    of_table : tuple of str
        As in :class:`StreamAnswer`.
    """

    query: str
    guarantee: Guarantee
    periods: tuple[str, ...]
    released: tuple[str, ...]
    costs: Costs
    refusal: str
    frame: pl.DataFrame
    facts: tuple[str, ...]
    notes: tuple[str, ...] = ()
    of_table: tuple[str, ...] = ()

    @property
    def is_affordable(self) -> bool:
        """Whether the budgets cover what is due."""
        return not self.refusal

    @property
    def cost(self) -> str:
        """What is due, in words."""
        if not self.costs:
            return f"costs nothing: it is paid, and has {len(self.released)} of {len(self.periods)} rows"
        which = "more periods" if self.released else "all its periods"
        return f"costs {self.guarantee} once, for {which}; it is charged {charged_in_words(self.costs)}"

    def explain(self) -> Text:
        """Return the derivation as text, a line a fact."""
        lines = [*self.facts, f"due          {self.cost}"]
        lines += [f"refused      {self.refusal}"] if self.refusal else []
        for figure, name, scale, error, half in self.frame.rows():
            lines.append(
                f"figure       {figure} of {name}: noise scale {scale:.6g}, expected error {error:.6g}, half-width of "
                f"the 95 % interval {half:.6g}, at the last period"
            )
        return Text("\n".join([*lines, *(f"note         {note}" for note in self.notes)]))

    def __repr__(self) -> str:
        return str(self.explain())

    def _repr_html_(self) -> str:
        # Loaded where it is needed.
        from emdp.base.html import frame_html

        return frame_html(self.frame, caption=f"{self.cost}; no record was read, and nothing was spent")
