"""Pictures of answers that a session gave."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.pictures import Picture, draw

Reader = Callable[[Picture | None], Any]
BOX = (40.48, -74.26, 40.92, -73.70)
HEADER = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 4000)"
GEO = "DISTANCE(POINT(40.7484, -73.9857))"


def asked(place: Path, sql: str) -> emdp.Answer:
    generator = np.random.default_rng(11)
    users = np.repeat(np.arange(200), 20)
    frame = pl.DataFrame(
        {
            "user": users,
            "lat": np.clip(40.74 + 0.03 * generator.normal(size=4000), BOX[0], BOX[2]),
            "lon": np.clip(-73.98 + 0.04 * generator.normal(size=4000), BOX[1], BOX[3]),
            "kind": generator.choice(["cafe", "bar"], 4000),
        }
    )
    space = emdp.Product(emdp.Geo("lat", "lon", box=BOX, unit="km"), emdp.Categories("kind", ["cafe", "bar", "zoo"]))
    table = emdp.read(frame, user="user", space=space, users=200, name="visits")
    with emdp.testing.seeded(5), emdp.Session(table, budget=emdp.EmdDP(4000.0), ledger=place / "t.ledger") as session:
        return session.sql(f"{HEADER} {sql}")


def drawn_from(answer: emdp.Answer, **options: Any) -> Picture:
    picture = draw(answer.frame, answer.columns, answer.shape, **options)
    assert picture is not None
    return picture


def test_means_by_group(read: Reader, tmp_path: Path) -> None:
    answer = asked(tmp_path, f"kind, AVG({GEO}) AS km, SHARE() AS share FROM visits GROUP BY kind")
    drawn = read(drawn_from(answer))
    assert len(drawn.layer("bar")) + len(drawn.layer("missing")) == 6
    bars = drawn.layer("bar")[-3:]
    shares = answer.frame["share"].to_list()
    assert bars[0].width / bars[1].width == pytest.approx(shares[0] / shares[1], rel=0.02)
    # Nobody was at a zoo: an average over nothing has no value, or one of noise whose interval has no end.
    zoo = answer.frame.filter(pl.col("kind") == "zoo").row(0, named=True)
    assert zoo["km"] is None or not np.isfinite(zoo["km_high"])


def test_cells_of_a_map(read: Reader, tmp_path: Path) -> None:
    answer = asked(tmp_path, "FREQUENCY(GRID(lat, 4)) AS frequency FROM visits")
    picture = drawn_from(answer)
    drawn = read(picture)
    frame = answer.frame
    noisy = frame.filter(pl.col("frequency_low") <= 0).height
    assert (len(drawn.layer("cell")), len(drawn.layer("noise"))) == (frame.height - noisy, noisy)
    assert len(drawn.layer("cell")) > 3
    largest = frame.sort("frequency", descending=True).row(0, named=True)
    assert f"the largest first: {largest['lat']:.6g}, {largest['lon']:.6g} {largest['frequency']:.4g} (" in picture.text


def test_quantiles(read: Reader, tmp_path: Path) -> None:
    answer = asked(tmp_path, f"QUANTILE({GEO}, 0.1, 0.25, 0.5, 0.75, 0.9) AS km FROM visits")
    drawn = read(drawn_from(answer))
    assert len(drawn.layer("point")) == len(drawn.layer("interval")) == 5
    at = drawn.axis(upwards=False)
    for value, point in zip(answer.frame["km"], drawn.layer("point"), strict=True):
        assert point.middle[0] == pytest.approx(at(value), abs=1.5)


def test_a_map_is_of_what_is_somewhere(read: Reader, tmp_path: Path) -> None:
    from emdp.pictures import draw
    from emdp.questions.columns import PlannedColumn
    from emdp.questions.shape import Shape

    column = PlannedColumn("share", "cells", 2.0, 0.0, 1.0, 0.01, 0.01, 0.02, share=1.0)
    values = pl.DataFrame(
        {
            "kind": ["a", "b", None],
            "elsewhere": [False, False, True],
            "share": [0.3, 0.2, 0.5],
            "share_low": [0.29, 0.19, 0.49],
            "share_high": [0.31, 0.21, 0.51],
        }
    )
    text = str(draw(values, (column,), Shape("values", coordinates=("kind",)), kind="bar").svg)
    assert "a 0.6 (0.58 to 0.62), b 0.4 (0.38 to 0.42); 2 values" in text
    assert "(none)" not in text
    places = {"lat": [40.5, 40.6, None], "lon": [-74.0, -74.0, None]}
    cells = values.drop("kind").with_columns([pl.Series(name, own) for name, own in places.items()])
    shape = Shape("cells", coordinates=("lat", "lon"), steps=(0.1, 0.1), is_map=True)
    assert "0.6 (0.58 to 0.62)" in str(draw(cells, (column,), shape, kind="map").svg)
