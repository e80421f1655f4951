"""The experiment on bandits in a tiny size: rows by model, a picture, and words on what privacy costs."""

from pathlib import Path

import pytest

from emdp.experiments import bandits, run_experiment, write_experiment


@pytest.mark.slow
def test_regret_by_model_is_written_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bandits, "HORIZON", 3000)
    found = run_experiment("bandits", runs=2, seed=1)
    assert {row.model for row in found.rows} == {"central", "local", "shuffle"}
    assert all(0 <= row.error_mean <= 2 * 3000 for row in found.rows)
    assert len(found.across) == 2
    assert "2 epsilon" in " ".join(found.sentences)
    assert all(file.exists() for file in write_experiment(found, tmp_path))
