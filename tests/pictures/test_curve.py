"""Curves of one number against another."""

from collections.abc import Callable
from typing import Any

import pytest

from emdp.base.errors import UsageError
from emdp.pictures import Picture
from emdp.pictures.curve import draw_curves

Reader = Callable[[Picture | None], Any]


def test_curves_lie_where_their_points_are(read: Reader) -> None:
    best, other = [(1.0, 1.0), (2.0, 4.0), (3.0, 10.0)], [(1.0, 4.0), (3.0, 40.0)]
    picture = draw_curves([("best", best), ("other", other)], across="alpha0", upwards="alpha", title="Randomizers")
    drawn = read(picture)
    at, along = drawn.axis(upwards=True), drawn.axis(upwards=False)
    for name, points in (("curve0", best), ("curve1", other)):
        (line,) = drawn.layer(name)
        assert [line.box[1], line.box[3]] == pytest.approx([at(points[-1][1]), at(points[0][1])], abs=2)
        assert [line.box[0], line.box[2]] == pytest.approx([along(1.0), along(3.0)], abs=2)
    assert {"Randomizers", "alpha", "alpha0", "blue: best", "grey: other"} <= set(drawn.texts())
    assert picture.text == "Curve of alpha over alpha0: best from 1 at 1 to 10 at 3; other from 4 at 1 to 40 at 3."


def test_one_curve_needs_no_names_of_colours(read: Reader) -> None:
    drawn = read(draw_curves([("noise", [(1.0, 2.0)])], across="users", upwards="error"))
    assert not any("blue" in text for text in drawn.texts())


@pytest.mark.parametrize("curves", [[], [("a", [])], [("a", [(1.0, 1.0)])] * 3, [("a", [(1.0, float("nan"))])]])
def test_what_cannot_be_drawn_is_refused(curves: Any) -> None:
    with pytest.raises(UsageError):
        draw_curves(curves, across="x", upwards="y")
