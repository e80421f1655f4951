"""Gowalla check-ins in New York, where most people have a handful: previewed first, asked afterwards.

Run `python examples/gowalla.py`, or with --generated where the real table is absent or not wanted.
"""

import tempfile
from pathlib import Path

import common

import emdp
from emdp.resources import load_dataset_module

# Public facts, fixed without looking at a record: how many people there are, and where they can be.
USERS = 7115
BOX = (40.48, -74.26, 40.92, -73.70)
MIDTOWN = (40.7484, -73.9857)


def generate(path: Path) -> None:
    load_dataset_module("checkins").write_checkins(path, users=USERS, records=138_957, venues=10_000)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        (path,) = common.paths(["gowalla_nyc.parquet"], generate, folder)
        space = emdp.Geo("lat", "lon", box=BOX, unit="km", on_invalid="clamp")
        visits = emdp.read(path, user="user_id", space=space, users=USERS)

        # Say in words what must be hidden; alpha follows.
        alpha = emdp.protect(emdp.Change(fraction=1 / 30, distance=5, epsilon=0.2), space=space)
        print(f"a thirtieth of a person's records, moved by 5 km, is hidden with epsilon 0.2: alpha = {alpha:.3f}")
        # Many people here have one record, which cannot change by a thirtieth: see what alpha means for them.
        moved = emdp.Change(fraction=1, distance=1, epsilon=1)
        print(f"all of them, moved by 1 km: epsilon {emdp.privacy.epsilon_for(alpha, moved, space=space):.2f}")

        km = emdp.distance_to(MIDTOWN)
        far = emdp.mean(km, alpha=alpha, name="km_to_midtown")
        near = emdp.vector_mean(
            [emdp.ramp(km, 2, 1), emdp.ramp(km, 6, 5)], alpha=alpha, names=["within_1_km", "within_5_km"]
        )

        exact = common.check_in_means(path, USERS)
        with emdp.Session(visits, budget=emdp.EmdDP(alpha=2 * alpha), ledger=f"{folder}/visits.ledger") as session:
            # A preview is free: it follows from the space, the number of people and the query, not from a record.
            for query in (far, near):
                for row in session.preview(query).frame.iter_rows(named=True):
                    print(f"preview: {row['query']} within {row['interval_95']:.5f} of the truth at 95 %")
            for query in (far, near):
                common.show(session.answer(query), exact)
            print(f"spent {session.spent()}")
        common.check_exact(visits, [far, near], exact)


if __name__ == "__main__":
    main()
