"""Maps, histograms and bars of frequencies, and distribution functions."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from emdp.pictures import Picture, draw
from emdp.pictures.cells import BELOW_NOISE
from emdp.pictures.style import MARK, MOST_MARKS, NO_VALUE, NOISE, SEQUENCE, sequence_colour
from emdp.questions.columns import PlannedColumn
from emdp.questions.shape import Shape

Reader = Callable[[Picture | None], Any]
FREQUENCY = PlannedColumn("frequency", "cells", 1.0, 0.0, 1.0, 0.1, 0.1, 0.3)
KM = PlannedColumn("km", "distance", 1.0, 0.0, 50.0, 0.1, 0.1, 0.3)
HIDDEN = "the 2500 cells with the largest values of 3600 are drawn; 1100 are not"


def grid(size: int, *, seed: int = 5, half: float = 0.001) -> tuple[pl.DataFrame, Shape]:
    """Cells around 40.7, -74 with values from 0 to 0.01, all different."""
    lats, lons = 40.5 + 0.008 * np.arange(size), -74.2 + 0.01 * np.arange(size)
    lat, lon = (axis.ravel() for axis in np.meshgrid(lats, lons, indexing="ij"))
    values = np.random.default_rng(seed).permutation(np.linspace(0.0, 0.01, size * size))
    ends = {"frequency": values, "frequency_low": values - half, "frequency_high": values + half}
    return pl.DataFrame({"lat": lat, "lon": lon, **ends}), Shape(
        "cells", (), ("lat", "lon"), (0.008, 0.01), is_map=True
    )


def test_a_map_shows_cells_above_their_noise_in_colours_and_the_others_as_dots(read: Reader) -> None:
    frame, shape = grid(10, half=0.00201)
    picture = draw(frame, [FREQUENCY], shape)
    drawn = read(picture)
    noisy = sum(low <= 0 for low in frame["frequency_low"])
    assert 0 < noisy < 100
    cells, dots = drawn.layer("cell"), drawn.layer("noise")
    assert (len(cells), len(dots)) == (100 - noisy, noisy)
    assert {dot.colour for dot in dots} == {NOISE}
    assert all(dot.width < 0.3 * cells[0].width for dot in dots)
    assert BELOW_NOISE in drawn.texts()
    assert "95 % interval: ± 0.00201 (half-width)" in drawn.texts()
    assert picture is not None
    assert picture.text.startswith("Map of frequency by lat, lon, the largest first: ")
    assert picture.text.endswith(f"; 100 cells. {noisy} of them are below the noise.")


def test_cells_lie_at_their_places_with_the_aspect_of_the_middle_latitude(read: Reader) -> None:
    frame, shape = grid(10, half=0.0)
    drawn = read(draw(frame, [FREQUENCY], shape))
    (paper,) = drawn.layer("paper")
    middle = 40.5 + 0.008 * 4.5
    assert paper.height / paper.width == pytest.approx(0.008 / (0.01 * math.cos(math.radians(middle))), rel=1e-3)
    seen = frame.filter(pl.col("frequency_low") > 0)
    for (lat, lon), cell in zip(seen.select("lat", "lon").rows(), drawn.by_place("cell"), strict=True):
        x, y = cell.middle
        assert (x - paper.box[0]) / paper.width == pytest.approx((lon + 74.2 + 0.005) / 0.1, abs=2e-3)
        assert (paper.box[3] - y) / paper.height == pytest.approx((lat - 40.5 + 0.004) / 0.08, abs=2e-3)
        assert cell.width == pytest.approx(paper.width / 10, abs=0.02)
        assert cell.height == pytest.approx(paper.height / 10, abs=0.02)


def test_dots_lie_in_the_middle_of_their_cells(read: Reader) -> None:
    frame, shape = grid(10, half=1.0)
    drawn = read(draw(frame, [FREQUENCY], shape))
    (paper,) = drawn.layer("paper")
    for (lat, lon), dot in zip(frame.select("lat", "lon").rows(), drawn.by_place("noise"), strict=True):
        x, y = dot.middle
        assert (x - paper.box[0]) / paper.width == pytest.approx((lon + 74.2 + 0.005) / 0.1, abs=1e-3)
        assert (paper.box[3] - y) / paper.height == pytest.approx((lat - 40.5 + 0.004) / 0.08, abs=1e-3)
        assert dot.width == pytest.approx(dot.height, abs=0.02)


def test_colours_of_a_map_darken_with_the_value(read: Reader) -> None:
    frame, shape = grid(10, half=0.0)
    drawn = read(draw(frame, [FREQUENCY], shape))
    values = frame.filter(pl.col("frequency_low") > 0)["frequency"].to_list()
    ranked = [cell for _, cell in sorted(zip(values, drawn.by_place("cell"), strict=True), key=lambda pair: pair[0])]
    assert ranked[-1].colour == SEQUENCE[-1]
    greens = [int(cell.colour[3:5], 16) for cell in ranked]
    assert greens == sorted(greens, reverse=True)
    assert len(set(greens)) > 50
    assert drawn.layer("legend")[-1].box[0] > drawn.layer("legend")[0].box[0]


@pytest.mark.parametrize("least", [0.0001, 0.005], ids=["root", "linear"])
def test_a_cell_has_the_nearest_of_sixty_four_colours(read: Reader, least: float) -> None:
    frame, shape = grid(30, half=0.0)
    frame = frame.with_columns(pl.col("^frequency.*$") * (0.01 - least) / 0.01 + least)
    drawn = read(draw(frame, [FREQUENCY], shape))
    steps = [sequence_colour(step / 63) for step in range(64)]
    seen = [steps.index(cell.colour) for cell in drawn.by_place("cell")]
    shares = (frame["frequency"] / 0.01).to_numpy() ** (0.5 if least < 0.001 else 1.0)
    assert len(seen) == 900
    assert np.abs(np.array(seen) / 63 - shares).max() <= 0.5 / 63 + 1e-9
    assert len(set(seen)) == 64 - round(63 * min(shares))


def test_a_map_of_too_many_cells_shows_the_largest_and_says_so(read: Reader) -> None:
    frame, shape = grid(60, half=0.0002)
    picture = draw(frame, [FREQUENCY], shape)
    drawn = read(picture)
    assert len(drawn.layer("cell")) + len(drawn.layer("noise")) == MOST_MARKS
    assert drawn.layer("noise") == []  # the cells below their noise are the smallest ones
    assert " ".join(drawn.texts()).count(HIDDEN) == 1
    assert picture is not None
    assert f"T{HIDDEN[1:]}." in picture.text


def test_a_map_of_fifty_by_fifty_cells_is_small_enough(read: Reader) -> None:
    for half in (0.0, 0.003, 1.0):
        picture = draw(*_with_column(grid(50, half=half)))
        drawn = read(picture)
        assert len(drawn.layer("cell")) + len(drawn.layer("noise")) == 2500
        assert picture is not None
        assert len(picture.svg.encode()) <= 60_000
        paths = [group for name in ("cell", "noise") for group in drawn.root.iterfind(f".//*[@class='emdp-{name}']/*")]
        assert len(paths) <= 64 + 1


def test_where_no_cell_stands_out_there_is_no_legend_of_colours(read: Reader) -> None:
    drawn = read(draw(*_with_column(grid(4, half=1.0))))
    assert len(drawn.layer("noise")) == 16
    assert drawn.layer("legend") == []


@pytest.mark.parametrize(("tall", "wide"), [(0.5, 0.001), (0.001, 0.5)])
def test_long_and_narrow_boxes_stay_inside(read: Reader, tall: float, wide: float) -> None:
    frame, _ = grid(3)
    frame = frame.with_columns(lat=pl.col("lat") / 0.008 * tall / 9, lon=pl.col("lon") / 0.01 * wide)
    read(draw(frame, [FREQUENCY], Shape("cells", (), ("lat", "lon"), (tall / 9, wide), is_map=True)))


def test_groups_of_users_have_a_map_each_in_the_same_colours(read: Reader) -> None:
    frame, shape = grid(5, half=0.0)
    halved = frame.with_columns(pl.col("^frequency.*$") / 2)
    both = pl.concat([frame.with_columns(plan=pl.lit("free")), halved.with_columns(plan=pl.lit("pro"))])
    drawn = read(draw(both, [FREQUENCY], Shape("cells", ("plan",), shape.coordinates, shape.steps, is_map=True)))
    first, second = drawn.layer("paper")
    assert first.box[3] < second.box[1]
    colours = [cell.colour for cell in drawn.layer("cell")]
    assert SEQUENCE[-1] in colours[:24]
    assert SEQUENCE[-1] not in colours[24:]
    assert {"free", "pro"} <= set(drawn.texts())


def test_cells_of_one_axis_are_a_histogram(read: Reader) -> None:
    values = [0.1, 0.3, 0.02, 0.2]
    frame = pl.DataFrame({"x": [0.0, 2.5, 5.0, 7.5], "frequency": values})
    frame = frame.with_columns(frequency_low=pl.col("frequency") - 0.05, frequency_high=pl.col("frequency") + 0.05)
    picture = draw(frame, [FREQUENCY], Shape("cells", (), ("x",), (2.5,)))
    drawn = read(picture)
    bars, intervals = drawn.layer("bar"), drawn.layer("interval")
    at = drawn.axis(upwards=True)
    assert [bar.colour for bar in bars] == [MARK, MARK, NOISE, MARK]
    for value, bar, interval in zip(values, bars, intervals, strict=True):
        assert bar.height == pytest.approx(at(0) - at(value), abs=1)
        assert interval.height == pytest.approx(at(0) - at(0.1), abs=1)
        assert interval.middle == pytest.approx((bar.middle[0], bar.box[1]), abs=0.1)
    gaps = np.diff([bar.middle[0] for bar in bars])
    assert gaps == pytest.approx([gaps[0]] * 3, abs=0.05)
    assert picture is not None
    assert picture.text.startswith("Bars of frequency by x, the largest first: 2.5 0.3 (0.25 to 0.35), 7.5 0.2")


def test_a_long_histogram_keeps_to_the_marks(read: Reader) -> None:
    frame, _ = grid(50)
    frame = frame.with_columns(x=pl.int_range(2500) * 0.1)
    drawn = read(draw(frame, [FREQUENCY], Shape("cells", (), ("x",), (0.1,))))
    assert len(drawn.layer("bar")) + len(drawn.layer("interval")) == MOST_MARKS


def test_cells_of_more_axes_are_bars_of_the_largest(read: Reader) -> None:
    frame, _ = grid(10, half=0.0)
    drawn = read(draw(frame, [FREQUENCY], Shape("cells", (), ("lat", "lon"), (0.008, 0.01))))
    lengths = [bar.width for bar in drawn.layer("bar")]
    assert len(lengths) == 30
    assert lengths == sorted(lengths, reverse=True)
    assert "the 30 largest of 100 are drawn; 70 are not" in drawn.texts()


def test_listed_values_are_bars_in_their_order(read: Reader) -> None:
    frame = pl.DataFrame({"kind": ["b", "a", "c"], "frequency": [0.2, 0.7, 0.01]})
    frame = frame.with_columns(frequency_low=pl.col("frequency") - 0.1, frequency_high=pl.col("frequency") + 0.1)
    drawn = read(draw(frame, [FREQUENCY], Shape("values", (), ("kind",))))
    assert [label.text for label in drawn.layer("label")] == ["b", "a", "c"]
    assert [bar.colour for bar in drawn.layer("bar")] == [MARK, MARK, NOISE]


def quantiles(count: int) -> pl.DataFrame:
    q = (np.arange(count) + 0.5) / count
    return pl.DataFrame({"q": q, "km": 10 * q, "km_low": 10 * q - 1, "km_high": 10 * q + 3})


def test_a_distribution_function_has_q_upwards_and_a_band_across(read: Reader) -> None:
    picture = draw(quantiles(5), [KM], Shape("quantiles", (), ("q",)))
    drawn = read(picture)
    (band,), points, intervals = drawn.layer("band"), drawn.layer("point"), drawn.layer("interval")
    at = drawn.axis(upwards=False)
    assert len(points) == len(intervals) == 5
    for q, point, interval in zip((0.1, 0.3, 0.5, 0.7, 0.9), points, intervals, strict=True):
        assert point.middle[0] == pytest.approx(at(10 * q), abs=1.5)
        assert list(interval.box[::2]) == pytest.approx([at(10 * q - 1), at(10 * q + 3)], abs=1.5)
        assert interval.middle[1] == pytest.approx(point.middle[1], abs=0.1)
    heights = np.diff([point.middle[1] for point in points])
    assert heights == pytest.approx([heights[0]] * 4, abs=0.1)
    assert heights[0] < 0
    assert list(band.box[::2]) == pytest.approx([intervals[0].box[0], intervals[-1].box[2]], abs=0.1)
    assert picture is not None
    assert picture.text.startswith("Distribution function of km: quantiles by level: 0.1 1 (0 to 4), 0.3 3 (2 to 6)")


def test_many_levels_are_a_line_and_a_band_alone(read: Reader) -> None:
    drawn = read(draw(quantiles(99), [KM], Shape("quantiles", (), ("q",))))
    assert len(drawn.layer("band")) == len(drawn.layer("line")) == 1
    assert drawn.layer("point") == drawn.layer("interval") == []


def test_one_level_is_a_point_with_its_interval(read: Reader) -> None:
    drawn = read(draw(quantiles(1), [KM], Shape("quantiles", (), ("q",))))
    assert len(drawn.layer("point")) == len(drawn.layer("interval")) == 1
    assert drawn.layer("band") == drawn.layer("line") == []


def test_groups_whose_quantiles_are_noise_say_so_in_their_panel(read: Reader) -> None:
    nothing = quantiles(3).with_columns(
        km=pl.lit(None, pl.Float64), km_low=pl.lit(0.0), km_high=pl.lit(50.0), plan=pl.lit("pro")
    )
    both = pl.concat([quantiles(3).with_columns(plan=pl.lit("free")), nothing])
    drawn = read(draw(both, [KM], Shape("quantiles", ("plan",), ("q",))))
    assert len(drawn.layer("point")) == 3
    assert [shape.text for shape in drawn.layer("missing")] == [NO_VALUE]
    assert f"some levels have {NO_VALUE}" in drawn.texts()


def test_more_groups_than_panels_are_said(read: Reader) -> None:
    parts = [quantiles(2).with_columns(plan=pl.lit(str(place))) for place in range(9)]
    drawn = read(draw(pl.concat(parts), [KM], Shape("quantiles", ("plan",), ("q",))))
    assert len(drawn.layer("line")) == 6
    assert "the first 6 of 9 groups of users are drawn" in drawn.texts()


@pytest.mark.parametrize(
    "shape",
    [
        Shape("cells", (), ("lat", "lon"), (0.008, 0.01), is_map=True),
        Shape("cells", (), ("lat",), (0.008,)),
        Shape("values", (), ("lat",)),
        Shape("quantiles", (), ("lat",)),
    ],
    ids=lambda shape: f"{shape.kind}{len(shape.coordinates)}",
)
def test_no_value_and_no_ends_are_never_numbers(read: Reader, shape: Shape) -> None:
    frame, _ = grid(2)
    frame = frame.with_columns(
        frequency=pl.lit(None, pl.Float64), frequency_low=pl.lit(-math.inf), frequency_high=pl.lit(math.inf)
    )
    assert draw(frame.clear(), [FREQUENCY], shape) is None
    picture = draw(frame, [FREQUENCY], shape)
    drawn = read(picture)
    for name in ("bar", "cell", "noise", "interval", "point", "line", "band"):
        assert drawn.layer(name) == []
    assert picture is not None
    assert NO_VALUE in picture.text


def _with_column(found: tuple[pl.DataFrame, Shape]) -> tuple[pl.DataFrame, list[PlannedColumn], Shape]:
    return found[0], [FREQUENCY], found[1]
