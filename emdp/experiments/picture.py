"""The picture of an experiment: errors and bounds over logarithmic axes, a panel for each thing that is varied."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from emdp.experiments.base import Experiment, Row
from emdp.pictures.rendering import Layer, Plane, render
from emdp.pictures.scale import Scale
from emdp.pictures.style import GRID, MUTED, clean, number
from emdp.pictures.svg import Note, Panel, Picture, compose

__all__ = ["draw_experiment"]

WIDTH, HEIGHT = 560, 200
"""Natural size of the picture and of a panel's inner rectangle, in pixels."""

LEFT, RIGHT, BOTTOM = 62.0, 16.0, 38.0
"""Room around a panel."""

COLOURS = (
    ("#0072b2", "blue"), ("#d55e00", "red"), ("#009e73", "green"), ("#aa4499", "purple"), ("#8c6d00", "ochre"),
    ("#56b4e9", "light blue"), ("#808080", "grey"),
)  # fmt: skip
"""Colours of the methods in the order in which they are met."""

LEAST = 1e-12
"""Place of an error of 0 in the picture."""


def draw_experiment(experiment: Experiment) -> Picture:
    """Return the picture: a line for each method, bars from low to high, dashed where theory says something.

    Parameters
    ----------
    experiment : Experiment
        What was measured.

    Returns
    -------
    Picture
        Its notes hold the legend and every sentence of the experiment.
    """
    drawn = [row for row in experiment.rows if row.measure in experiment.measures]
    colours = _colours(drawn)
    panels = [
        _panel([row for row in drawn if row.panel == panel], title, panel, colours)
        for panel, title in experiment.across.items()
    ]
    notes = [Note(_legend(drawn, method, word)) for method, (_, word) in colours.items()]
    notes.append(Note("lines: means over runs, bars: 5 % to 95 % of runs; dashed: theory; crosses: drawn by a session"))
    notes += [Note(part) for sentence in experiment.sentences for part in _pieces(sentence)]
    text = f"{experiment.title}. {_summary(drawn)} {' '.join(experiment.sentences)}"
    return compose(panels, title=experiment.title, text=clean(text), width=WIDTH, notes=notes)


def _colours(rows: Sequence[Row]) -> dict[str, tuple[str, str]]:
    """Return a colour for each method: methods that share a panel have different ones."""
    found: dict[str, tuple[str, str]] = {}
    for method in dict.fromkeys(row.method for row in rows):
        panels = {row.panel for row in rows if row.method == method}
        taken = {found[row.method] for row in rows if row.panel in panels and row.method in found}
        found[method] = next((colour for colour in COLOURS if colour not in taken), COLOURS[-1])
    return found


def _legend(rows: Sequence[Row], method: str, word: str) -> str:
    own = [row for row in rows if row.method == method]
    promise = "" if method.endswith(own[0].guarantee) else f" ({own[0].guarantee})"
    panels = dict.fromkeys(row.panel for row in own)
    is_everywhere = len(panels) == len({row.panel for row in rows})
    return f"{word}{'' if is_everywhere else ' in ' + ' and '.join(panels)}: {method}{promise}"


def _pieces(sentence: str) -> list[str]:
    """Return parts of a sentence that a note can hold, which shows three lines."""
    parts, line = [], ""
    for word in sentence.split():
        if line and len(line) + len(word) > 230:
            parts.append(line)
            line = ""
        line = f"{line} {word}".strip()
    return [*parts, line]


def _summary(rows: Sequence[Row]) -> str:
    found = []
    for row in rows:
        if row.drawn == "mechanism":
            found.append(f"{row.panel} {number(row.x)}, {row.method}: {number(row.error_mean)}")
    return "Errors: " + "; ".join(found) + "."


def _panel(rows: Sequence[Row], across: str, heading: str, colours: Mapping[str, tuple[str, str]]) -> Panel:
    xs = _axis(row.x for row in rows)
    ys = _axis(value for row in rows for value in (row.error_low, row.error_high, row.error_mean, row.bound) if value)
    plane = Plane(
        Scale(xs[0], xs[1]), Scale(ys[0], ys[1]), WIDTH - LEFT - RIGHT, HEIGHT, left=LEFT, right=RIGHT, bottom=BOTTOM
    )
    layers = _ground(xs, ys, across)
    for method in dict.fromkeys(row.method for row in rows):
        own = sorted((row for row in rows if row.method == method), key=lambda row: row.x)
        layers += _method_layers([row for row in own if row.drawn == "mechanism"], colours[method][0], method)
        crosses = [{"x": _log(row.x), "y": _log(row.error_mean)} for row in own if row.drawn == "session"]
        options = {"shape": "cross", "size": 60, "filled": True, "color": colours[method][0], "opacity": 1}
        layers.append(Layer(_named("session", method), "point", crosses, options))
    return render(plane, layers, heading=f"{heading}: {rows[0].measure}")


def _method_layers(rows: Sequence[Row], colour: str, method: str) -> list[Layer]:
    line = [{"x": _log(row.x), "y": _log(row.error_mean), "order": i, "part": 0} for i, row in enumerate(rows)]
    bars = [{"x": _log(row.x), "y": _log(row.error_low), "y2": _log(row.error_high)} for row in rows]
    bound = [{"x": _log(row.x), "y": _log(row.bound), "order": i, "part": 0} for i, row in enumerate(rows) if row.bound]
    points = [{"x": row["x"], "y": row["y"]} for row in line]
    return [
        Layer(
            _named("bound", method), "line", bound,
            {"color": colour, "strokeWidth": 1.2, "strokeDash": [5, 3]},
        ),
        Layer(_named("bar", method), "rule", bars, {"color": colour, "strokeWidth": 1}),
        Layer(_named("line", method), "line", line, {"color": colour, "strokeWidth": 2}),
        Layer(_named("point", method), "point", points, {"color": colour, "filled": True, "size": 18, "opacity": 1}),
    ]  # fmt: skip


def _named(kind: str, method: str) -> str:
    return kind + "".join(character for character in method if character.isascii() and character.isalnum())


def _axis(values: Iterable[float]) -> tuple[float, float, tuple[float, ...]]:
    """Return the ends of a logarithmic axis, as logarithms, and where its ticks are, as values."""
    found = [_log(value) for value in values]
    low, high = min(found), max(found)
    room = 0.05 * (high - low) or 0.3
    low, high = low - room, high + room
    factors = (1.0,) if high - low > 3 else (1.0, 3.0) if high - low > 1.5 else (1.0, 2.0, 5.0)
    powers = range(math.floor(low), math.ceil(high) + 1)
    ticks = tuple(factor * 10.0**power for power in powers for factor in factors)
    shown = tuple(tick for tick in ticks if low <= math.log10(tick) <= high)
    return low, high, shown or (10.0**low, 10.0**high)


def _ground(
    xs: tuple[float, float, tuple[float, ...]], ys: tuple[float, float, tuple[float, ...]], across: str
) -> list[Layer]:
    """Return grid lines, ticks as texts and the title below: the axes of a renderer of linear scales are of no use."""
    upright = [{"x": _log(tick), "y": ys[0], "y2": ys[1]} for tick in xs[2]]
    level = [{"x": xs[0], "x2": xs[1], "y": _log(tick)} for tick in ys[2]]
    below = [{"x": _log(tick), "y": ys[0], "text": _tick(tick)} for tick in xs[2]]
    beside = [{"x": xs[0], "y": _log(tick), "text": _tick(tick)} for tick in ys[2]]
    title = [{"x": (xs[0] + xs[1]) / 2, "y": ys[0], "text": clean(across)}]
    small: dict[str, Any] = {"clip": False}
    return [
        Layer("upright", "rule", upright, {"color": GRID, "strokeWidth": 1}),
        Layer("level", "rule", level, {"color": GRID, "strokeWidth": 1}),
        Layer("below", "text", below, {**small, "dy": 11, "align": "center"}),
        Layer("beside", "text", beside, {**small, "dx": -6, "align": "right"}),
        Layer("title", "text", title, {**small, "dy": 27, "align": "center", "color": MUTED}),
    ]


def _tick(value: float) -> str:
    return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e") if value < 1e-3 or value >= 1e5 else f"{value:g}"


def _log(value: float) -> float:
    return math.log10(max(value, LEAST))
