"""Pictures of what an attacker can learn: beliefs before and after, and a hundred people of whom some are caught."""

from collections.abc import Sequence

from emdp.base.classes import dataclass
from emdp.pictures.rendering import Layer, Plane, render
from emdp.pictures.scale import Scale
from emdp.pictures.style import INK, MARK, MUTED, NOISE, clean, cut, wrap
from emdp.pictures.svg import Note, Picture, compose

__all__ = ["MOST_BELIEFS", "Belief", "draw_beliefs", "draw_people"]

MOST_BELIEFS = 30
"""Most rows of a picture; the largest changes are left out beyond."""

WIDTH = 560
"""Pixels of a picture's natural width."""

ROW = 34
"""Pixels from a row to the next: a title above its bar."""

HIDDEN, WEAK = 0.6, 0.9
"""Beliefs up to which a story counts as hidden, and as weakly hidden; above it is told."""

PEOPLE, ACROSS = 100, 10
"""People of a picture, and of one of its rows."""


@dataclass(frozen=True)
class Belief:
    """One row: what somebody believes before, and the ends of what they may believe afterwards."""

    title: str
    # before, lowest, highest: Probabilities.
    before: float
    lowest: float
    highest: float
    label: str


def draw_beliefs(rows: Sequence[Belief], *, title: str = "") -> Picture:
    """Return the picture of beliefs: a circle before, a bar to the largest and a thin one to the smallest afterwards.

    Parameters
    ----------
    rows : sequence of Belief
        At least one; drawn from above.
    title : str
        Stands above; may be empty.

    >>> picture = draw_beliefs([Belief("at the clinic once", 0.5, 0.25, 0.75, "50 % → at most 75 %")])
    >>> picture.text
    'Beliefs before and after. at the clinic once: 50 % → at most 75 %.'
    """
    drawn = list(rows[:MOST_BELIEFS])
    x = Scale(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0), ".0%")
    plane = Plane(
        x, Scale(len(drawn) - 0.5, -0.5), WIDTH - 32, ROW * len(drawn), left=16, right=16, bottom=22, grid="x"
    )
    places = list(enumerate(drawn))
    up = [{"x": each.before, "x2": each.highest, "y": row + 0.06, "y2": row + 0.4} for row, each in places]
    down = [{"x": each.lowest, "x2": each.before, "y": row + 0.2, "y2": row + 0.28} for row, each in places]
    dots = [{"x": each.before, "y": row + 0.23} for row, each in places]
    titles = [{"x": 0.0, "y": row - 0.2, "text": cut(clean(each.title), 0.58 * WIDTH)} for row, each in places]
    labels = [{"x": 1.0, "y": row - 0.2, "text": cut(clean(each.label), 0.4 * WIDTH)} for row, each in places]
    layers = [
        Layer("ceiling", "rect", up, {"color": MARK, "opacity": 0.85}),
        Layer("floor", "rect", down, {"color": NOISE}),
        Layer("before", "point", dots, {"stroke": INK, "fill": "white", "size": 46, "strokeWidth": 1.5, "opacity": 1}),
        Layer("title", "text", titles, {"align": "left", "baseline": "middle", "color": INK}),
        Layer("label", "text", labels, {"align": "right", "baseline": "middle", "color": INK, "fontWeight": "bold"}),
    ]
    notes = [
        Note("circle: belief before; bar: largest belief that any answer can leave; thin bar: smallest one"),
        Note(f"up to {HIDDEN:.0%} a coin toss stays nearly one; above {WEAK:.0%} the story is as good as told"),
    ]
    cut_off = len(rows) - len(drawn)
    if cut_off:
        notes.append(Note(f"the {cut_off} largest changes are not drawn"))
    told = " ".join(f"{clean(each.title)}: {clean(each.label)}." for each in drawn)
    panel = render(plane, layers)
    return compose([panel], title=title, text=f"Beliefs before and after. {told}", width=WIDTH, notes=notes)


def draw_people(caught: float, false_alarms: float, story: str, *, title: str = "") -> Picture:
    """Return a hundred people who did it, of whom the best detector catches some, beside what guessing catches.

    Parameters
    ----------
    caught, false_alarms : float
        Rates of detection and of false alarms, in [0, 1].
    title : str
        Stands above; may be empty.

    >>> draw_people(0.0272, 0.01, "at the clinic once").text
    'Of 100 people (at the clinic once) the best detector catches at most 3; guessing catches 1.'
    """
    most, guessed = _people(caught), _people(false_alarms)
    rows = PEOPLE // ACROSS
    plane = Plane(Scale(-0.5, ACROSS - 0.5), Scale(rows - 0.5, -0.5), 200, 200, left=16, right=WIDTH - 216, bottom=8)
    places = [{"x": number % ACROSS, "y": number // ACROSS} for number in range(PEOPLE)]
    layers = [
        Layer("missed", "point", places[most:], {"shape": "circle", "stroke": MUTED, "size": 110, "strokeWidth": 1}),
        Layer("caught", "point", places[guessed:most], {"shape": "diamond", "color": MARK, "filled": True, "size": 99}),
        Layer(
            "guessed", "point", places[:min(guessed, most)],
            {"shape": "square", "color": NOISE, "filled": True, "size": 110, "opacity": 1},
        ),
    ]  # fmt: skip
    text = f"Of {PEOPLE} people ({clean(story)}) the best detector catches at most {most}; guessing catches {guessed}."
    notes = [
        Note(line)
        for line in wrap(f"{text} Squares: by guessing; diamonds: caught besides; circles: missed.", WIDTH - 8)
    ]
    return compose([render(plane, layers)], title=title, text=text, width=WIDTH, notes=notes)


def _people(rate: float) -> int:
    # rounded up, but not by the dust of a product
    return min(PEOPLE, max(0, -int(-round(PEOPLE * rate, 9) // 1)))
