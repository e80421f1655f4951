"""The experiment on descents in a small size: every schedule, gaps that are none of nothing, words on which is best."""

from pathlib import Path

import numpy as np
import pytest

from emdp.experiments import descent, run_experiment, write_experiment
from emdp.mechanisms.descent.loss import minimum
from emdp.mechanisms.vector.direction import VectorDirection
from emdp.testing import seeded


@pytest.mark.slow
def test_every_schedule_has_a_gap_and_a_place_in_the_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descent, "USERS", 600)
    monkeypatch.setattr(descent, "EPSILONS", (2.0,))
    monkeypatch.setattr(descent, "FEATURES", 3)
    found = run_experiment("descent", runs=1, seed=1)
    assert [row.method for row in found.rows] == [
        "central: everybody in every round",
        "shuffle: dealt to rounds",
        "shuffle: everybody in every round",
        "shuffle: a secret sixth a round",
        "shuffle: joining by a coin of 1/6",
        "local: dealt to rounds",
    ]
    gaps = {row.method: row.error_mean for row in found.rows}
    assert all(-1e-6 <= gap < 1.0 for gap in gaps.values())
    assert gaps["central: everybody in every round"] < gaps["local: dealt to rounds"]
    assert "trusted" in " ".join(found.sentences)
    assert all(file.exists() for file in write_experiment(found, tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("reports", [1, 3])
def test_sums_that_are_drawn_at_once_have_the_mean_and_covariance_of_messages(reports: int) -> None:
    runs, vectors = 3000, np.array([[0.9, 0.0, 0.3], [0.1, -0.5, 0.0], [0.0, 0.0, 0.0], [0.5, 0.5, 0.5]] * 10)
    plain, summed = (
        kind(3, 1.0, 6.0 * reports, len(vectors), reports=reports)
        for kind in (VectorDirection, descent.SummedDirections)
    )
    with seeded(5):
        drawn = [
            np.array([law.decode(law.tally(law.encode(vectors)), len(vectors)) for _ in range(runs)])
            for law in (plain, summed)
        ]
    covariances = [np.cov(own.T) for own in drawn]
    spread = np.diag(covariances[0]).mean()
    for own in drawn:
        assert np.abs(own.mean(axis=0) - vectors.mean(axis=0)).max() < 6 * np.sqrt(spread / runs)
    # An entry's own standard error is about spread times the root of 2/runs.
    assert np.abs(covariances[0] - covariances[1]).max() < 6 * spread * np.sqrt(4 / runs)


@pytest.mark.slow
def test_only_rounds_of_very_many_reports_are_drawn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descent, "FEATURES", 3)
    found = {method: descent.at_once(own) for _, method, own in descent.schedules(60_000, 2.0, 2.0)}
    assert [
        method for method, own in found.items() if isinstance(getattr(own, "law", 0), descent.SummedDirections)
    ] == ["shuffle: everybody in every round"]


def test_people_have_the_model_that_they_are_made_by() -> None:
    with seeded(3):
        records = descent.people(30_000, 4)
    weights = minimum(records, loss="logistic", clip=3.0, radius=4.0)
    truth = np.array([0.0, 1.0, -1.0, 1.0, -1.0]) * np.sqrt(3.0 / 4)
    assert np.abs(weights - truth).max() < 0.1
