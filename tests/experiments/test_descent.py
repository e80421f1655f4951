"""The experiment on descents in a small size: every schedule, gaps that are none of nothing, words on which is best."""

from pathlib import Path

import numpy as np
import pytest

from emdp.experiments import descent, run_experiment, write_experiment
from emdp.mechanisms.descent.loss import minimum
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


def test_people_have_the_model_that_they_are_made_by() -> None:
    with seeded(3):
        records = descent.people(30_000, 4)
    weights = minimum(records, loss="logistic", clip=3.0, radius=4.0)
    truth = np.array([0.0, 1.0, -1.0, 1.0, -1.0]) * np.sqrt(3.0 / 4)
    assert np.abs(weights - truth).max() < 0.1
