"""Pictures of answers as SVG: ``draw`` for one answer, ``draw_periods`` and ``draw_spending`` for many."""

from emdp.pictures.drawing import KINDS, draw, fitting_kinds
from emdp.pictures.periods import draw_periods
from emdp.pictures.spending import draw_spending
from emdp.pictures.svg import Picture, picture_file, renamed

__all__ = [
    "KINDS",
    "Picture",
    "draw",
    "draw_periods",
    "draw_spending",
    "fitting_kinds",
    "picture_file",
    "renamed",
]
