"""The common part of an answer and its preview: everything but the data."""

import math

import polars as pl

from emdp.base.classes import dataclass
from emdp.mechanisms.release import Mechanism
from emdp.privacy import Guarantee
from emdp.privacy.guarantees.kinds import is_by_removal
from emdp.questions.columns import Finisher, PlannedColumn, PlannedStage
from emdp.questions.comparison import ComparedMethod
from emdp.questions.shape import Shape

__all__ = ["DEFAULT_LEVEL", "Description", "on_one_line"]

DEFAULT_LEVEL = 0.95
"""Coverage of the intervals that stand in ``Answer.frame``."""

COMPARED = {
    "method": pl.String,
    "expected_error": pl.Float64,
    "measure": pl.String,
    "is_chosen": pl.Boolean,
    "remark": pl.String,
}
"""Columns of a comparison of methods."""

FEW = 24
"""Most groups of users whose noise is explained one by one."""


@dataclass(frozen=True, repr=False)
class Description:
    """The public part of an answer.

    Parameters
    ----------
    query : str
        The query, as text.
    columns : tuple of PlannedColumn
        The columns that are answered.
    mechanisms : tuple of Mechanism
        One release for each group of users.
    guarantee : Guarantee
        What holds for all of it.
    choice : str
        Why this noise.
    users : int or None
        The public number of users; None where the guarantee is by removal, under which it is private.
    groups : tuple of int
        The public number of users of each group; one number where they are not grouped.
    assumptions : tuple of str
        What is the data owner's to know.
    notes : tuple of str
        What a filter or group means, what was smoothed.
    finisher : Finisher
        What makes rows of released coordinates.
    weighing : str
        How much a user and a record count, in words.
    compared : tuple of ComparedMethod
        The methods that were compared before the data was touched, if any were.
    parts : tuple of PlannedStage
        The stages of a statement that has several, each with its share.
    of_table : tuple of str
        Those of the notes that are the same in all answers of the table.
    """

    query: str
    columns: tuple[PlannedColumn, ...]
    mechanisms: tuple[Mechanism, ...]
    guarantee: Guarantee
    choice: str
    users: int | None
    groups: tuple[int, ...]
    assumptions: tuple[str, ...]
    notes: tuple[str, ...]
    finisher: Finisher
    weighing: str
    compared: tuple[ComparedMethod, ...] = ()
    parts: tuple[PlannedStage, ...] = ()
    of_table: tuple[str, ...] = ()

    @property
    def shape(self) -> Shape:
        """Meaning of the columns of the answer's frame."""
        return self.finisher.shape

    @property
    def comparison(self) -> pl.DataFrame:
        """The methods that were compared, the best first; no row where none were.

        Columns: method, expected_error (planned from public numbers; missing where a method was left out), measure (of
        what: ``"d_em"`` of frequencies, ``"root mean square"`` of means over users, in the columns' unit), is_chosen,
        remark (how it is priced, or why it was left out).
        """
        return pl.DataFrame([vars(one) for one in self.compared], schema=COMPARED)

    def slack_caveat(self) -> str:
        """Say what rounding and floating-point sums cost (EMD 8.5), as one clause."""
        epsilon = max(mechanism.slack_epsilon for mechanism in self.mechanisms)
        delta = max(mechanism.slack_delta for mechanism in self.mechanisms)
        return (
            f"rounding to the grid and floating-point evaluation add at most {epsilon:.2g} to epsilon "
            f"and {delta:.2g} to delta at any distance"
        )

    def explain_lines(self) -> list[str]:
        """Return the derivation, a line a fact."""
        query, *more = self.query.splitlines() or [""]
        lines = [
            f"query        {query}",
            *(f"             {line}" for line in more),
            f"guarantee    {self.guarantee}",
            f"mechanism    {self.choice}",
            *(f"compared     {one.text}" for one in self.compared),
            f"theorem      {self.mechanisms[0].theorem}",
            f"users        {'number private' if self.users is None else f'{self.users} (public)'}; {self.weighing}",
            *self._noise_lines(),
        ]
        for part in self.parts:
            text = f"stage        {part.label}: {part.guarantee}, share {part.share:.3g}: {' '.join(part.text.split())}"
            lines.append(on_one_line(text))
            lines += [_column_line(column, f"{part.label}.") for column in part.columns]
        lines += [] if self.parts else [_column_line(column) for column in self.columns]
        lines.extend(f"note         {text}" for text in self.notes)
        lines.extend(f"assumes      {text}" for text in self.assumptions)
        lines.append(f"caveat       {self.slack_caveat()}")
        return lines

    def _noise_lines(self) -> list[str]:
        unit = "d_em" if self.guarantee.level_name == "alpha" else "replaced user"
        unit = "removed user" if is_by_removal(self.guarantee) else unit
        lines = []
        for size, mechanism in list(zip(self.groups, self.mechanisms, strict=True))[:FEW]:
            group = f"of a group of {size} users: " if len(self.groups) > 1 else ""
            lines += [f"{name:<13}{group}{fact}" for name, fact in mechanism.facts(unit)]
        if len(self.groups) > FEW:
            lines.append(f"noise        and {len(self.groups) - FEW} further groups of users, by the same rule")
        return lines


def _column_line(column: PlannedColumn, prefix: str = "") -> str:
    written = f" = {' '.join(column.written.split())}," if column.written not in ("", column.expression) else ""
    error = f"expected error {column.expected_error:.6g}, " if prefix else ""
    # What users send about each item has no constant.
    constant = "" if math.isnan(column.lipschitz) else f"lipschitz {column.lipschitz:.6g}, "
    return on_one_line(
        f"column       {prefix}{column.name}{written} from {column.expression}: {constant}"
        f"range [{column.low:.6g}, {column.high:.6g}], noise scale {column.noise_scale:.6g}, {error}"
        f"share {column.share:.3g}{f' ({column.note})' if column.note else ''}"
    )


def on_one_line(text: str) -> str:
    """Return a text with what is not printable, such as the line breaks of a quoted name, as spaces.

    >>> on_one_line("a\\nb")
    'a b'
    """
    return "".join(character if character.isprintable() else " " for character in text)
