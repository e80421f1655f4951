"""One value over periods, and a budget that is spent."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest

from emdp.base.errors import UsageError
from emdp.pictures import Picture, draw_periods, draw_spending
from emdp.pictures.periods import MOST_PERIODS
from emdp.pictures.style import NO_VALUE

Reader = Callable[[Picture | None], Any]


def weeks(count: int) -> list[tuple[str, float | None, float | None, float | None]]:
    return [(f"2026-W{place:02d}", 5.0 + place % 7, 4.0 + place % 7, 7.0 + place % 7) for place in range(1, count + 1)]


def test_periods_are_points_with_intervals_in_order(read: Reader) -> None:
    series = weeks(5)
    picture = draw_periods(series, "km", title="Weeks")
    drawn = read(picture)
    points, intervals = drawn.layer("point"), drawn.layer("interval")
    at = drawn.axis(upwards=True)
    for (_, value, low, high), point, interval in zip(series, points, intervals, strict=True):
        assert None not in (value, low, high)
        assert point.middle[1] == pytest.approx(at(value), abs=1.5)
        assert [interval.box[1], interval.box[3]] == pytest.approx([at(high), at(low)], abs=1.5)
        assert interval.middle[0] == pytest.approx(point.middle[0], abs=0.1)
    places = [point.middle[0] for point in points]
    assert places == sorted(places)
    assert len(drawn.layer("line")) == 1
    assert picture is not None
    assert picture.text.startswith("Line of km over periods: 2026-W01 6 (5 to 8), 2026-W02 7")
    assert picture.text.endswith("; 5 periods.")


def test_a_period_without_a_value_breaks_the_line(read: Reader) -> None:
    series = [*weeks(3), ("2026-W04", None, -math.inf, math.inf), ("2026-W05", math.nan, 1.0, 2.0), *weeks(7)[5:]]
    picture = draw_periods(series, "km")
    drawn = read(picture)
    assert len(drawn.layer("point")) == len(drawn.layer("interval")) == 5
    assert len(drawn.layer("missing")) == len(drawn.layer("line")) == 2
    assert NO_VALUE in drawn.texts()
    assert picture is not None
    assert f"2026-W04 {NO_VALUE}, 2026-W05 {NO_VALUE}" in picture.text


def test_only_periods_without_a_value(read: Reader) -> None:
    drawn = read(draw_periods([("a", None, None, None), ("b", None, -math.inf, math.inf)], "km"))
    assert drawn.layer("point") == drawn.layer("line") == []
    assert len(drawn.layer("missing")) == 2


@pytest.mark.parametrize("count", [1, 2, 10, 52, 120, 400])
def test_labels_of_periods_never_overlap_and_end_with_the_last(read: Reader, count: int) -> None:
    picture = draw_periods(weeks(count), "km")
    drawn = read(picture)
    assert len(drawn.layer("point")) == min(count, MOST_PERIODS)
    labels = sorted(drawn.layer("label"), key=lambda label: label.box[0])
    assert labels[-1].text == f"2026-W{count:02d}"
    assert all(left.box[2] < right.box[0] for left, right in itertools.pairwise(labels))
    assert picture is not None
    assert ("earlier" in picture.text) == (count > MOST_PERIODS)


def test_the_budget_steps_down_from_the_whole(read: Reader) -> None:
    picture = draw_spending([("Mon", 15.0), ("Tue", 10.0), ("Wed", 9.0)], 20.0, title="Budget")
    drawn = read(picture)
    at = drawn.axis(upwards=True)
    heights = [point.middle[1] for point in drawn.layer("point")]
    assert heights == pytest.approx([at(left) for left in (20, 15, 10, 9)], abs=1.5)
    (line,), (band,) = drawn.layer("line"), drawn.layer("band")
    assert band.box[3] == pytest.approx(at(0), abs=1.5)
    assert line.box[3] == pytest.approx(at(9), abs=1.5)
    assert picture is not None
    assert picture.text == "Budget left after each charge: 9 of 20 left after 3 charges; the last one is Wed."


def test_thousands_of_charges_are_thinned_to_the_last_one(read: Reader) -> None:
    steps = [(f"charge {place}", 100.0 - place / 100) for place in range(5001)]
    picture = draw_spending(steps, 100.0)
    drawn = read(picture)
    assert drawn.layer("point") == []
    assert drawn.layer("line")[0].box[3] == pytest.approx(drawn.axis(upwards=True)(50.0), abs=1.5)
    assert picture is not None
    assert "50 of 100 left after 5001 charges; the last one is charge 5000" in picture.text
    assert len(picture.svg) < 100_000


def test_nothing_to_draw_is_none_and_what_is_no_number_is_refused() -> None:
    assert draw_periods([], "km") is None
    assert draw_spending([], 20.0) is None
    for total, left in ((0.0, 1.0), (math.inf, 1.0), (20.0, math.nan), (20.0, math.inf)):
        with pytest.raises(UsageError):
            draw_spending([("a", left)], total)
