"""Bars, points and lines of rows: what is drawn, where, and what is said of what has no number."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pytest

from emdp.base.errors import UsageError
from emdp.pictures import Picture, draw, fitting_kinds
from emdp.pictures.bars import MOST_ROWS
from emdp.pictures.style import NO_VALUE
from emdp.questions.columns import PlannedColumn
from emdp.questions.shape import Shape

Reader = Callable[[Picture | None], Any]
INFINITY = math.inf
KEYED = Shape("rows", keys=("category",))


def column(name: str, low: float = 0.0, high: float = 50.0) -> PlannedColumn:
    return PlannedColumn(name, "distance", 1.0, low, high, 0.1, 0.1, 0.3)


def rows(values: Sequence[tuple[float | None, float, float]], name: str = "km") -> pl.DataFrame:
    found = list(zip(*values, strict=True))
    ends = {f"{name}{end}": found[place] for place, end in enumerate(("", "_low", "_high"))}
    return pl.DataFrame({"category": [f"c{place}" for place in range(len(values))], **ends})


def test_bars_and_their_intervals_lie_where_the_axis_says(read: Reader) -> None:
    values = [(7.2, 6.9, 7.5), (12.0, 9.0, 16.5), (3.0, 1.0, 5.0)]
    drawn = read(draw(rows(values), [column("km")], KEYED))
    at = drawn.axis(upwards=False)
    bars, intervals = drawn.layer("bar"), drawn.layer("interval")
    assert len(bars) == len(intervals) == 3
    assert drawn.layer("point") == []
    for (value, low, high), bar, interval in zip(values, bars, intervals, strict=True):
        assert [bar.box[0], bar.box[2]] == pytest.approx([at(0), at(value)], abs=1)
        assert [interval.box[0], interval.box[2]] == pytest.approx([at(low), at(high)], abs=1)
        assert bar.middle[1] == pytest.approx(interval.middle[1], abs=0.1)
    lengths = [bar.width for bar in bars]
    assert lengths[1] / lengths[0] == pytest.approx(12 / 7.2, rel=1e-3)
    assert [label.text for label in drawn.layer("label")] == ["c0", "c1", "c2"]
    assert [label.middle[1] for label in drawn.layer("label")] == pytest.approx([bar.middle[1] for bar in bars], abs=3)


def test_negative_values_go_to_the_left_of_zero(read: Reader) -> None:
    drawn = read(draw(rows([(-2.0, -3.0, -1.0), (4.0, 3.0, 5.0)]), [column("km", -10, 10)], KEYED))
    left, right = drawn.layer("bar")
    assert left.box[2] == pytest.approx(right.box[0], abs=0.05)
    assert right.width == pytest.approx(2 * left.width, rel=1e-2)


def test_without_a_zero_in_the_public_range_there_are_points_on_an_axis_of_their_own(read: Reader) -> None:
    values = [(40.74, 40.73, 40.75), (40.76, 40.755, 40.765)]
    picture = draw(rows(values, "lat"), [column("lat", 40.4, 40.9)], KEYED)
    drawn = read(picture)
    assert drawn.layer("bar") == []
    points, intervals = drawn.layer("point"), drawn.layer("interval")
    assert points[0].middle[0] == pytest.approx(intervals[0].middle[0], abs=0.1)
    assert intervals[0].width == pytest.approx(2 * intervals[1].width, rel=1e-2)
    assert picture is not None
    assert picture.text.startswith("Points of lat by category: c0 40.74 (40.73 to 40.75)")


def test_a_row_without_a_value_says_so_and_is_no_bar(read: Reader) -> None:
    picture = draw(rows([(7.0, 6.0, 8.0), (None, -INFINITY, INFINITY), (math.nan, 1.0, 2.0)]), [column("km")], KEYED)
    drawn = read(picture)
    assert len(drawn.layer("bar")) == len(drawn.layer("interval")) == 1
    assert [shape.text for shape in drawn.layer("missing")] == [NO_VALUE, NO_VALUE]
    assert picture is not None
    assert f"c1 {NO_VALUE}, c2 {NO_VALUE}; 3 groups." in picture.text
    assert "inf" not in picture.svg
    assert "nan" not in picture.svg.lower().replace("no value", "")


def test_infinite_ends_stop_at_the_public_range_or_at_an_arrow(read: Reader) -> None:
    frame = rows([(7.0, 6.0, 8.0), (5.0, -INFINITY, INFINITY)])
    closed = read(draw(frame, [column("km", 0, 20)], KEYED))
    at = closed.axis(upwards=False)
    assert closed.layer("interval")[1].box[::2] == pytest.approx((at(0), at(20)), abs=1)
    assert closed.layer("open_left") == closed.layer("open_right") == []
    picture = draw(frame, [column("km", -INFINITY, INFINITY)], KEYED)
    open_ = read(picture)
    arrows, interval = open_.layer("open_left") + open_.layer("open_right"), open_.layer("interval")[1]
    assert [arrow.middle[0] for arrow in arrows] == pytest.approx(list(interval.box[::2]), abs=3)
    assert picture is not None
    assert "c1 5 (no lower limit to no upper limit)" in picture.text


def test_a_frame_in_which_nothing_has_a_value_still_says_so(read: Reader) -> None:
    frame = rows([(None, -INFINITY, INFINITY)] * 2)
    for public in ((0.0, 50.0), (-INFINITY, INFINITY)):
        assert len(read(draw(frame, [column("km", *public)], KEYED)).layer("missing")) == 2


def test_only_the_first_rows_are_drawn_and_the_picture_says_so(read: Reader) -> None:
    picture = draw(rows([(float(place), place - 1.0, place + 1.0) for place in range(41)]), [column("km")], KEYED)
    drawn = read(picture)
    assert len(drawn.layer("bar")) == MOST_ROWS
    assert f"the first {MOST_ROWS} of 41 rows are drawn" in drawn.texts()
    assert picture is not None
    assert "c7 7 (6 to 8), and 33 more; 41 groups. The first 30 of 41 rows are drawn." in picture.text


def test_several_columns_have_a_panel_each(read: Reader) -> None:
    frame = rows([(7.0, 6.0, 8.0), (5.0, 4.0, 6.0)]).hstack(rows([(0.2, 0.1, 0.3), (0.8, 0.7, 0.9)], "share")[:, 1:])
    drawn = read(draw(frame, [column("km"), column("share", 0, 1)], KEYED))
    km, share = drawn.layer("bar")[:2], drawn.layer("bar")[2:]
    assert max(bar.box[3] for bar in km) < min(bar.box[1] for bar in share)
    assert km[0].width / km[1].width == pytest.approx(7 / 5, rel=1e-2)
    assert share[1].width / share[0].width == pytest.approx(4, rel=1e-2)
    assert {"km", "share"} <= set(drawn.texts())


def test_without_keys_columns_of_one_range_share_an_axis(read: Reader) -> None:
    frame = pl.concat(
        [
            rows([value], name)[:, 1:]
            for name, value in (("km", (7.0, 6.0, 8.0)), ("near", (0.2, 0.1, 0.3)), ("far", (0.6, 0.5, 0.7)))
        ],
        how="horizontal",
    )
    picture = draw(frame, [column("km"), column("near", 0, 1), column("far", 0, 1)], Shape("rows"))
    drawn = read(picture)
    km, near, far = drawn.layer("bar")
    assert far.width == pytest.approx(3 * near.width, rel=1e-2)
    assert km.width > far.width  # on an axis of its own, not 7 / 0.6 times as long
    assert km.width < 2 * far.width
    assert picture is not None
    assert picture.text == "Bars of the columns: km 7 (6 to 8), near 0.2 (0.1 to 0.3), far 0.6 (0.5 to 0.7); 3 columns."


def test_a_line_goes_through_the_rows_in_order(read: Reader) -> None:
    frame = rows([(1.0, 0.5, 1.5), (2.0, 1.5, 2.5), (None, -INFINITY, INFINITY), (3.0, 2.5, 3.5)])
    drawn = read(draw(frame, [column("km")], KEYED, kind="line"))
    points = drawn.layer("point")
    assert len(points) == len(drawn.layer("interval")) == 3
    assert [point.middle[0] for point in points] == sorted(point.middle[0] for point in points)
    assert len(drawn.layer("missing")) == 1
    assert len(drawn.layer("line")) == 2


def test_equal_and_missing_names_stay_apart(read: Reader) -> None:
    frame = rows([(1.0, 0.5, 1.5)] * 4).with_columns(category=pl.Series(["same", "same", None, ""]))
    drawn = read(draw(frame, [column("km")], KEYED))
    assert [label.text for label in drawn.layer("label")] == ["same", "same", "(none)", "(empty)"]
    assert len({round(bar.box[1]) for bar in drawn.layer("bar")}) == 4


@pytest.mark.parametrize(
    "value", [0.0, 5e-324, 1e-199, 1e-12, 1e-5, 123456.0, 1e12, 1e150, 1e300, -1e300], ids=lambda value: f"{value:g}"
)
def test_numbers_of_any_size_are_drawn_inside(read: Reader, value: float) -> None:
    read(draw(rows([(value, value, value), (0.0, 0.0, 0.0)]), [column("km", -INFINITY, INFINITY)], KEYED))
    read(draw(rows([(value, value, value)]), [column("km", -INFINITY, INFINITY)], KEYED, kind="line"))


@pytest.mark.parametrize("width", [280, 360, 900])
def test_the_width_is_the_picture_s_own(read: Reader, width: float) -> None:
    drawn = read(draw(rows([(7.0, 6.0, 8.0)]), [column("km")], KEYED, width=width))
    assert drawn.root.get("viewBox", "").split()[2] == str(width)


@pytest.mark.parametrize("name", ["*", "^k.*$", "^.*$", "place", "value", "x", "km low"])
def test_names_of_columns_are_no_patterns(read: Reader, name: str) -> None:
    values = rows([(3.0, 2.0, 4.0), (6.0, 5.0, 7.0)], name)
    by_name = values.rename({"category": "^category$"})
    drawn = read(draw(by_name, [column(name)], Shape("rows", keys=("^category$",))))
    assert [label.text for label in drawn.layer("label")] == ["c0", "c1"]
    assert len(drawn.layer("bar")) == 2
    grouped = by_name.with_columns(pl.Series("*", ["a", "b"])) if name != "*" else by_name
    keys = ("*",) if name != "*" else ("^category$",)
    shape = Shape("values", keys, ("^category$",))
    assert len(read(draw(grouped, [column(name)], shape)).layer("bar")) == 2


def test_nothing_to_draw_is_none() -> None:
    assert draw(rows([(1.0, 0.0, 2.0)]).clear(), [column("km")], KEYED) is None
    assert draw(rows([(1.0, 0.0, 2.0)]), [column("km")], KEYED, kind="none") is None
    assert draw(rows([(1.0, 0.0, 2.0)]), [], KEYED) is None


@pytest.mark.parametrize(
    ("shape", "fitting"),
    [
        (KEYED, ("auto", "bar", "line", "none")),
        (Shape("values", (), ("word",)), ("auto", "bar", "none")),
        (Shape("cells", (), ("x",), (1.0,)), ("auto", "bar", "none")),
        (Shape("cells", (), ("lat", "lon"), (1.0, 1.0), is_map=True), ("auto", "map", "bar", "none")),
        (Shape("quantiles", (), ("q",)), ("auto", "distribution", "none")),
    ],
)
def test_a_kind_that_does_not_fit_is_refused_with_those_that_do(shape: Shape, fitting: tuple[str, ...]) -> None:
    assert fitting_kinds(shape) == fitting
    frame = rows([(1.0, 0.0, 2.0)])
    for kind in {"auto", "bar", "line", "map", "distribution", "none"} - set(fitting):
        with pytest.raises(UsageError, match=f"kind '{kind}' does not fit .*; pass one of 'auto', '{fitting[1]}'"):
            draw(frame, [column("km")], shape, kind=kind)


def test_malformed_arguments_are_refused() -> None:
    frame = rows([(1.0, 0.0, 2.0)])
    with pytest.raises(UsageError, match="kind must be one of"):
        draw(frame, [column("km")], KEYED, kind="pie")
    with pytest.raises(UsageError, match="width must be between"):
        draw(frame, [column("km")], KEYED, width=10)
    with pytest.raises(UsageError, match="frame has no column 'miles'"):
        draw(frame, [column("miles")], KEYED)
    with pytest.raises(UsageError, match="frame has no column 'km_low'"):
        draw(frame.drop("km_low"), [column("km")], KEYED)
    with pytest.raises(UsageError, match="frame has no column 'team'"):
        draw(frame, [column("km")], Shape("rows", keys=("team",)))
