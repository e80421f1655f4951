"""Makes the figures of the pages from real runs under the test switch: ``python docs/make.py``.

A test makes them again and compares them.
"""

import sys
import tempfile
from pathlib import Path

import emdp
from emdp.disclosure.consequences import Consequences, consequences_of
from emdp.disclosure.pictures import reach_picture
from emdp.pictures import draw, picture_file
from emdp.resources import load_dataset_module

FIGURES = Path(__file__).parent / "figures"


def map_figure() -> str:
    """Return the map of the README: shares of check-ins of invented people in cells of 2 km, with noise."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/visits.parquet"
        load_dataset_module("checkins").write_checkins(path, users=2000, records=200_000)
        city = emdp.Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km", on_invalid="clamp")
        visits = emdp.read(path, user="user_id", users=2000, space=city)
        with (
            emdp.testing.seeded(1),
            emdp.Session(visits, budget=emdp.EmdDP(alpha=40), ledger=f"{folder}/map.ledger") as session,
        ):
            answer = session.frequencies(2.0, alpha=20, name="share")
    title = "2,000 invented people, alpha = 20 (test seed)"
    picture = draw(answer.frame, answer.columns, answer.shape, title=title)
    if picture is None:
        raise SystemExit("the map has nothing to draw")
    return picture_file(picture)


def _city() -> tuple[emdp.Space, Consequences]:
    city = emdp.Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km")
    return city, consequences_of(city, emdp.EmdDP(20.0))


def beliefs_figure() -> str:
    """Return how sure somebody may become of each story at alpha 20 in a city of 68 km, from public numbers alone."""
    return picture_file(_city()[1].picture)


def reach_figure() -> str:
    """Return how sure somebody may become, over how far records lie from where they were thought to be."""
    picture = reach_picture(*_city())
    if picture is None:
        raise SystemExit("there is no picture of distances")
    return picture_file(picture)


MAKERS = {"map.svg": map_figure, "beliefs.svg": beliefs_figure, "reach.svg": reach_figure}
"""Name of each figure and what makes it."""


def main() -> None:
    """Write all figures."""
    FIGURES.mkdir(exist_ok=True)
    for name, maker in MAKERS.items():
        (FIGURES / name).write_text(maker(), encoding="utf-8")
        sys.stdout.write(f"wrote {FIGURES / name}\n")


if __name__ == "__main__":
    main()
