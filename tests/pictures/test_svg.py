"""The SVG as text: safe to put into a page, the same every time, legible on light and dark."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from typing import Any
from xml.etree import ElementTree as ET

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.base.errors import UsageError
from emdp.pictures import Picture, draw, draw_periods, picture_file, renamed
from emdp.pictures.scale import covering
from emdp.pictures.style import (
    GRID,
    INK,
    MARK,
    MUTED,
    NOISE,
    PAPER,
    SEQUENCE,
    TEXT_SIZE,
    clean,
    cut,
    sequence_colour,
    text_width,
    wrap,
)
from emdp.questions.columns import PlannedColumn
from emdp.questions.shape import Shape

Reader = Callable[[Picture | None], Any]
NASTY = "</text><script>alert(1)</script>&amp;\"'\u202e\x00\x1b[31m\n]]>"
SVG = "http://www.w3.org/2000/svg"


def bars(names: Iterable[str] = ("a", "b"), *, name: str = "km", title: str = "") -> Picture:
    listed = list(names)
    column = PlannedColumn(name, "distance", 1.0, 0.0, 50.0, 0.1, 0.1, 0.3)
    frame = pl.DataFrame({"key": listed, name: [3.0] * len(listed)})
    frame = frame.with_columns(pl.lit(2.0).alias(f"{name}_low"), pl.lit(5.0).alias(f"{name}_high"))
    picture = draw(frame, [column], Shape("rows", ("key",)), title=title)
    assert picture is not None
    return picture


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2.2."""
    shares = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    dark, light = sorted((luminance(first), luminance(second)))
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_marks_are_seen_on_light_and_dark_and_texts_are_read_on_white() -> None:
    for mark in (MARK, NOISE):
        assert contrast(mark, "#ffffff") >= 3
        assert contrast(mark, "#121212") >= 3
    for place in range(101):
        assert contrast(sequence_colour(place / 100), PAPER) >= 3
    assert contrast(NOISE, PAPER) >= 3
    assert contrast(INK, "#ffffff") >= 7
    assert contrast(MUTED, "#ffffff") >= 4.5
    assert contrast(INK, MARK) >= 3  # an interval on its bar
    lights = [luminance(colour) for colour in SEQUENCE]
    assert lights == sorted(lights, reverse=True)


@pytest.mark.parametrize("deficiency", ["protan", "deutan"])
def test_the_sequence_is_steady_for_colour_blind_readers(deficiency: str) -> None:
    """Machado, Oliveira and Fernandes 2009, severity 1, on linear light."""
    rows = {
        "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
        "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    }[deficiency]
    lights = []
    for colour in SEQUENCE:
        shares = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
        seen = [sum(weight * share for weight, share in zip(row, linear, strict=True)) for row in rows]
        lights.append(0.2126 * seen[0] + 0.7152 * seen[1] + 0.0722 * seen[2])
    assert lights == sorted(lights, reverse=True)


def test_texts_of_the_analyst_are_only_text(read: Reader) -> None:
    drawn = read(bars([NASTY, "b"], name="km <b>&", title=NASTY))
    assert {element.tag.removeprefix(f"{{{SVG}}}") for element in drawn.root.iter()} <= {
        "svg", "title", "desc", "g", "path", "line", "rect", "text",
    }  # fmt: skip
    svg = bars([NASTY, "b"], name="km <b>&", title=NASTY).svg
    assert "<script" not in svg
    assert "]]>" not in svg
    assert all(character.isprintable() for character in svg)
    assert drawn.root.find(f"{{{SVG}}}title").text == clean(NASTY)
    for attribute in (name for element in drawn.root.iter() for name in element.attrib):
        assert not attribute.startswith("on")
        assert "href" not in attribute


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.text(max_size=60), st.text(max_size=200))
def test_any_text_gives_a_well_formed_picture_inside_its_box(read: Reader, name: str, title: str) -> None:
    read(bars([name], title=title))


@given(st.text(max_size=300), st.floats(20, 400))
def test_cut_and_wrapped_texts_fit(text: str, width: float) -> None:
    assert text_width(cut(text, width)) <= width
    lines = wrap(clean(text), width, most=3)
    assert len(lines) <= 3
    assert all(text_width(line) <= width for line in lines)


@given(st.lists(st.floats(-1e200, 1e200), max_size=6), st.booleans())
def test_axes_cover_what_they_must_with_few_ticks(values: list[float], zero: bool) -> None:
    scale = covering(values, zero=zero)
    assert scale.low < scale.high
    assert 2 <= len(scale.ticks) <= 8
    assert list(scale.ticks) == sorted(set(scale.ticks))
    room = 1e-9 * (scale.high - scale.low)
    assert all(scale.low - room <= value <= scale.high + room for value in values)
    assert not zero or scale.low <= 0 <= scale.high


@pytest.mark.slow
def test_a_picture_is_the_same_every_time_and_in_every_process() -> None:
    code = (
        "from emdp.pictures import draw_periods, picture_file;"
        "print(picture_file(draw_periods([('a', 1.0, 0.5, 1.5), ('b', 2.0, 1.5, 2.5)], 'km', title='t')), end='')"
    )
    here = [picture_file(picture) for _ in range(2) if (picture := _two_periods()) is not None]
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, encoding="utf-8")
    assert here == [there.stdout] * 2


def test_ids_are_of_the_picture_alone_and_names_it(read: Reader) -> None:
    first, second = bars(), bars(title="other")
    ids = [set(re.findall(r' id="([^"]+)"', picture.svg)) for picture in (first, second)]
    assert len(ids[0]) == len(ids[1]) == 2
    assert not ids[0] & ids[1]
    for picture, own in zip((first, second), ids, strict=True):
        root = read(picture).root
        assert root.get("role") == "img"
        assert set(root.get("aria-labelledby", "").split()) == own
        assert root.find(f"{{{SVG}}}desc").text == picture.text
    assert "url(" not in first.svg
    again = renamed(first, "figure-7")
    assert re.findall(r' id="([^"]+)"', again.svg) == ["figure-7-title", "figure-7-desc"]
    assert 'aria-labelledby="figure-7-title figure-7-desc"' in again.svg
    assert again.text == first.text
    with pytest.raises(UsageError, match="name must be letters"):
        renamed(first, '"><script>')


def test_inks_can_be_set_by_the_page_and_are_plain_in_a_file() -> None:
    svg = bars(title="t").svg
    for name, colour in (("ink", INK), ("muted", MUTED), ("grid", GRID)):
        assert f'"var(--emdp-{name}, {colour})"' in svg
        assert f'"{colour}"' not in svg
    document = picture_file(bars(title="t"))
    assert "var(" not in document
    root = ET.fromstring(document)
    assert root.get("width") == "360"
    ground = root.find(f"{{{SVG}}}rect")
    assert ground is not None
    assert (ground.get("fill"), ground.get("width")) == ("#ffffff", "100%")
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", document)


def test_a_file_is_rendered_by_another_program() -> None:
    import vl_convert

    drawn = vl_convert.svg_to_png(picture_file(bars(title="t")))
    assert drawn[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(drawn) > 2000


def test_all_texts_are_large_enough_for_a_phone() -> None:
    sizes = {float(size) for size in re.findall(r'font-size="([\d.]+)px"', bars(title="t").svg)}
    assert min(sizes) >= TEXT_SIZE >= 11
    assert "<text" in bars().svg
    assert all("font-size" in text for text in re.findall(r"<text [^>]*>", bars(title="t").svg))


def test_no_heavy_package_is_loaded_for_a_picture() -> None:
    code = (
        "import sys, emdp.pictures as p; p.draw_periods([('a', 1.0, 0.5, 1.5), ('b', 2.0, 1.5, 2.5)], 'km');"
        "print([name for name in ('altair', 'vl_convert', 'pandas', 'jsonschema') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def _two_periods() -> Picture | None:
    return draw_periods([("a", 1.0, 0.5, 1.5), ("b", 2.0, 1.5, 2.5)], "km", title="t")
