"""Every picture drawn a second time, by Altair and vl-convert: the same shapes at the same pixels."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree as ET

import altair as alt
import pytest
import vl_convert
from made_runs import CITY, cells, grouped, listed, quantiles, single

from emdp.audit.findings import AuditRow
from emdp.audit.page import picture as audit_picture
from emdp.disclosure.consequences import consequences_of
from emdp.disclosure.page import Block, page
from emdp.experiments.base import EMD, Experiment, row_of
from emdp.experiments.picture import draw_experiment
from emdp.pictures import draw, draw_periods, draw_spending, fitting_kinds, rendering
from emdp.pictures.axes import written
from emdp.pictures.rendering import Plane, render
from emdp.pictures.scale import Scale
from emdp.pictures.style import FONT, GRID, INK, MUTED, TEXT_SIZE, VARIABLES
from emdp.privacy import EmdDP

SVG = "{http://www.w3.org/2000/svg}"
CONFIG = {
    "aria": False, "background": None, "font": FONT, "view": {"stroke": None},
    "axis": {
        "labelColor": INK, "labelFontSize": TEXT_SIZE, "titleColor": INK, "titleFontSize": TEXT_SIZE,
        "titleFontWeight": "normal", "gridColor": GRID, "domainColor": MUTED, "tickColor": MUTED, "labelPadding": 3,
        "tickSize": 4, "titlePadding": 6, "labelLimit": 70,
    },
    "text": {"color": INK, "fontSize": TEXT_SIZE},
}  # fmt: skip
Drawn = dict[int, tuple[Plane, list[rendering.Layer]]]
Shape = tuple[str, str, str, tuple[float, ...]]


def experiment() -> Experiment:
    rows = [
        row_of(
            [size * 0.9, size, size * 1.2], panel="n", x=10.0**power, method=method, guarantee=EMD, model="central",
            measure="l1", bound=size * 1.5, drawn=by, parameters={},
        )
        for method in "ab" for by in ("mechanism", "session") for power, size in ((1, 3.0), (2, 0.4), (4, 0.002))
    ]  # fmt: skip
    named = {"name": "t", "title": "Title", "across": {"n": "users"}, "measures": ("l1",), "sentences": ("One.",)}
    return Experiment(rows=tuple(rows), **named)


@pytest.fixture(scope="module")
def drawn() -> Drawn:
    """Planes and layers of pictures of all kinds, as they were drawn."""
    found: defaultdict[int, list[Any]] = defaultdict(list)
    with pytest.MonkeyPatch.context() as patch:
        real = rendering.draw_marks

        def noted(group: Any, mark: Any, rows: Any, options: Any, place: Any) -> None:
            real(group, mark, rows, options, place)
            layer = rendering.Layer(group.get("class").removeprefix("emdp-"), mark, rows, options)
            found[id(place.__self__)].append((place.__self__, layer))

        patch.setattr(rendering, "draw_marks", noted)
        for one in (single(), grouped(), grouped(40), cells(), listed(), quantiles(), single(None)):
            for kind in fitting_kinds(one.shape):
                draw(one.frame, one.columns, one.shape, kind=kind, width=520, title="t")
        draw_periods(
            [(f"2026-W{week}", week / 7, None if week == 3 else week / 8, week / 6) for week in range(9)], "km"
        )
        draw_spending([(f"2026-W{week}", 60.0 - week) for week in range(40, 52)], 60.0)
        for guarantee in (EmdDP(20.0), EmdDP(20.0, 1e-8)):
            page("t", CITY, [Block("Budget", "All.", consequences_of(CITY, guarantee))])
        rows = [
            AuditRow("q", "Laplace", "central", 9, d, 2 * d, 0.0, bound, "threshold", 1000, 0.95)
            for d, bound in ((0.1, 0.15), (0.5, 0.9), (1.0, 2.5))
        ]
        audit_picture(rows)
        draw_experiment(experiment())
    return {key: (layers[0][0], [layer for _, layer in layers]) for key, layers in found.items()}


def by_altair(plane: Plane, layers: list[rendering.Layer]) -> ET.Element:
    """Return the same layers as Altair and vl-convert draw them."""
    ground = rendering.Layer("ground", "text", [{"x": plane.x.low, "y": plane.y.low, "text": ""}])
    charts = [ground, *layers]
    spec = alt.layer(*(_chart(plane, layer) for layer in charts)).to_dict()
    for own, layer in zip(spec["layer"], charts, strict=True):
        own["data"] = {"values": [dict(row) for row in layer.rows]}
    spec |= {"width": plane.width, "height": plane.height, "config": CONFIG, "autosize": {"type": "none"}}
    spec["padding"] = {side: getattr(plane, side) for side in ("left", "top", "right", "bottom")}
    return ET.fromstring(vl_convert.vegalite_to_svg(spec))


def _chart(plane: Plane, layer: rendering.Layer) -> Any:
    x = alt.X("x:Q", title=plane.x_title or None, scale=_scale(plane.x), axis=_axis(plane.x, "x" in plane.grid, True))
    y = alt.Y("y:Q", title=None, scale=_scale(plane.y), axis=_axis(plane.y, "y" in plane.grid, False))
    found: dict[str, Any] = {"x": x, "y": y}
    channels = {
        "x2": ("x2", alt.X2("x2:Q")), "y2": ("y2", alt.Y2("y2:Q")), "text": ("text", alt.Text("text:N")),
        "colour": ("color", alt.Color("colour:N", scale=None)), "part": ("detail", alt.Detail("part:N")),
    }  # fmt: skip
    found |= dict(channels[name] for name in layer.rows[0] if name in channels)
    if "order" in layer.rows[0] and layer.mark == "line":
        found["order"] = alt.Order("order:Q")
    mark = alt.MarkDef(type=layer.mark, **layer.options)
    return alt.Chart(name=f"emdp_{layer.name}", mark=mark).encode(**found)


def _scale(scale: Scale) -> Any:
    return alt.Scale(domain=[scale.low, scale.high], nice=False, zero=False)


def _axis(scale: Scale, grid: bool, flush: bool) -> Any:
    if not scale.ticks:
        return None
    return alt.Axis(
        values=list(scale.ticks), format=scale.format, grid=grid, labelFlush=flush, labelOverlap="greedy", domain=True
    )


def shown(element: ET.Element, x: float = 0.0, y: float = 0.0, layer: str = "") -> Iterator[Shape]:
    """Yield what is seen: name of the layer, text, paint, and the numbers of the shape in pixels, paths with all."""
    tag = element.tag.removeprefix(SVG)
    if element.get("display") == "none":
        return
    if (moved := re.fullmatch(r"translate\(([^,]+),([^)]+)\)", element.get("transform", ""))) is not None:
        x, y = x + float(moved[1]), y + float(moved[2])
    named = re.search(r"emdp[_-](\w+?)(_marks)?$", element.get("class", "").split(" ")[-1])
    layer = layer if named is None else named[1]
    paint = [element.get(name, "") for name in ("fill", "stroke", "stroke-width", "opacity", "text-anchor")]
    if tag != "g" and (paint[0] or paint[1]) and layer != "ground":
        if not paint[1] or paint[1] == "none":
            paint[2] = ""
        paint = [re.sub(r"var\(--emdp-\w+, (#\w+)\)", r"\1", part) for part in paint]
        paint[2], paint[3] = paint[2] or ("1" if paint[1] else ""), paint[3] or "1"
        yield layer, element.text or "", " ".join(paint), tuple(_numbers(element, tag, x, y))
    for child in element:
        yield from shown(child, x, y, layer)


def _numbers(element: ET.Element, tag: str, x: float, y: float) -> Iterator[float]:
    def number(name: str) -> float:
        return float(element.get(name, "0"))

    if tag == "line":
        yield from sorted((x + number("x1"), x + number("x2")))
        yield from sorted((y + number("y1"), y + number("y2")))
    elif tag == "text":
        yield from (x + number("x"), y + number("y"))
    else:
        yield from _corners(element.get("d", ""), x, y)


def _corners(path: str, x: float, y: float) -> Iterator[float]:
    """Yield the ends of a path's steps from the left, in pixels of the picture."""
    found = [(x, y)]
    for command, rest in re.findall(r"([AMLHVhvZ])([^AMLHVhvZ]*)", path):
        numbers = [float(number) for number in re.findall(r"-?\d*\.?\d+(?:e-?\d+)?", rest)]
        left, top = found[-1]
        if command in "MLA":
            found.append((x + numbers[-2], y + numbers[-1]))
        elif command in "hH":
            found.append((left + numbers[0] if command == "h" else x + numbers[0], top))
        elif command in "vV":
            found.append((left, top + numbers[0] if command == "v" else y + numbers[0]))
    for corner in sorted({(round(a, 1), round(b, 1)) for a, b in found[1:]}):
        yield from corner


@pytest.mark.slow
def test_altair_draws_the_same(drawn: Drawn) -> None:
    assert len(drawn) > 25
    for plane, layers in drawn.values():
        own = sorted(shown(render(plane, layers).drawn), key=_rounded)
        other = sorted(shown(by_altair(plane, layers)), key=_rounded)
        assert [one[:3] for one in own] == [one[:3] for one in other]
        for one, two in zip(own, other, strict=True):
            assert one[3] == pytest.approx(two[3], abs=0.11), (one, two)


def _rounded(shape: Shape) -> tuple[Any, ...]:
    return (*shape[:3], [round(number) for number in shape[3]])


@pytest.mark.slow
def test_ticks_are_written_as_d3_does() -> None:
    forms = (".0~f", ".2~f", ".6~f", ".0%", ".3~s", ".5~s", ".0~e", ".3~e")
    numbers = (0.0, 1.0, -2.4, 1234.5678, 5e5, -1.6e6, 2.4e9, 4e-5, 1.25e-7, 3e15, 1e3, 999.0)
    rows = [{"x": 0.0, "y": 0.0, "number": number, "form": form} for form in forms for number in numbers]
    chart = alt.Chart(alt.Data(values=rows)).mark_text().encode(text="written:N")
    svg = vl_convert.vegalite_to_svg(chart.transform_calculate(written="format(datum.number, datum.form)").to_dict())
    texts = [element.text for element in ET.fromstring(svg).iter(f"{SVG}text")]
    assert texts == [written(number, form) for form in forms for number in numbers]


@pytest.mark.slow
def test_another_place_of_texts_is_noticed(drawn: Drawn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emdp.pictures.marks.BASELINES", {"middle": 0.5, "top": 0.79})
    with pytest.raises(AssertionError):
        test_altair_draws_the_same(drawn)


def test_colours_have_names_for_a_page(drawn: Drawn) -> None:
    shapes = [element for plane, layers in drawn.values() for element in render(plane, layers).drawn.iter()]
    found = {element.get(name) for element in shapes for name in ("fill", "stroke")}
    assert set(VARIABLES.values()) <= found
    assert not set(VARIABLES) & found
