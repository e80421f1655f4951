"""Foursquare check-ins in New York: how far from midtown people check in, and how many of them near it.

Run `python examples/foursquare.py`, or with --generated where the real table is absent or not wanted.
"""

import tempfile
from pathlib import Path

import common

import emdp
from emdp.resources import load_dataset_module

# Public facts, fixed without looking at a record: how many people there are, and where they can be.
USERS = 1083
BOX = (40.48, -74.26, 40.92, -73.70)
MIDTOWN = (40.7484, -73.9857)


def generate(path: Path) -> None:
    load_dataset_module("checkins").write_checkins(path, users=USERS, records=147_938, venues=10_000)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        (path,) = common.paths(["foursquare_nyc.parquet"], generate, folder)
        # Some 4 % of the real rows lie outside the box: clamp counts them at its edge.
        space = emdp.Geo("lat", "lon", box=BOX, unit="km", on_invalid="clamp")
        visits = emdp.read(path, user="user_id", space=space, users=USERS)

        # Say in words what must be hidden; alpha follows.
        alpha = emdp.protect(emdp.Change(fraction=1 / 30, distance=5, epsilon=0.2), space=space)
        print(f"a thirtieth of a person's records, moved by 5 km, is hidden with epsilon 0.2: alpha = {alpha:.3f}")

        # A ramp is 1 up to the second number of km and 0 from the first on. A jump would have no finite constant.
        km = emdp.distance_to(MIDTOWN)
        far = emdp.mean(km, alpha=alpha, name="km_to_midtown")
        near = emdp.vector_mean(
            [emdp.ramp(km, 2, 1), emdp.ramp(km, 6, 5)], alpha=alpha, names=["within_1_km", "within_5_km"]
        )

        # Two answers, each at alpha: the budget must hold both, and together they hide the change with 0.4.
        exact = common.check_in_means(path, USERS)
        with emdp.Session(visits, budget=emdp.EmdDP(alpha=2 * alpha), ledger=f"{folder}/visits.ledger") as session:
            common.show(session.answer(far), exact)
            common.show(session.answer(near), exact)
            print(f"spent {session.spent()}")
        common.check_exact(visits, [far, near], exact)


if __name__ == "__main__":
    main()
