"""Request for a picture, and the words on what the picture leaves out."""

from collections.abc import Sequence

import polars as pl

from emdp.base.classes import dataclass
from emdp.pictures.style import clean
from emdp.pictures.svg import Note, Panel, Picture, compose
from emdp.questions.columns import PlannedColumn
from emdp.questions.shape import Shape

__all__ = ["MOST_PANELS", "Asked", "panels_left_out", "where"]

MOST_PANELS = 6
"""Most panels of a picture: columns, or groups of users."""


@dataclass(frozen=True)
class Asked:
    """Checked arguments of :func:`emdp.pictures.draw`."""

    frame: pl.DataFrame
    columns: Sequence[PlannedColumn]
    shape: Shape
    title: str
    width: float

    @property
    def only(self) -> PlannedColumn:
        """The one column of frequencies or quantiles."""
        return self.columns[0]

    @property
    def by(self) -> str:
        """Words for the columns that tell rows apart."""
        names = [*self.shape.keys, *self.shape.coordinates]
        return f" by {', '.join(map(clean, names))}" if names else ""

    def heading(self, column: PlannedColumn) -> str:
        """Return a column's name, with its unit."""
        return f"{column.name} ({self.shape.unit})" if self.shape.unit and len(self.columns) == 1 else column.name

    def compose(
        self, panels: Sequence[Panel], sentences: Sequence[str], legend: Sequence[Note], left_out: Sequence[str]
    ) -> Picture:
        """Return the picture: what is left out is told below it and in its alternative text."""
        text = " ".join([*sentences, *(f"{note[0].upper()}{note[1:]}." for note in left_out)])
        notes = [*legend, *map(Note, left_out)]
        return compose(panels, title=self.title, text=text, width=self.width, notes=notes)


def where(group: str) -> str:
    """Return which group of users is meant, in words; nothing where there are no groups."""
    return f" in {group}" if group else ""


def panels_left_out(count: int, what: str) -> list[str]:
    """Return what is said where there are more panels than are drawn."""
    return [f"the first {MOST_PANELS} of {count} {what} are drawn"] if count > MOST_PANELS else []
