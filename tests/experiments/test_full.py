"""Experiments in full size: what is drawn lies where its exact error is, and a curator is best."""

import math
from pathlib import Path

import pytest

from emdp.experiments import run_experiment, write_experiment


@pytest.mark.full
def test_both_figures_of_compressed_means_have_the_errors_said(tmp_path: Path) -> None:
    found = run_experiment("compressed", full=True, seed=0)
    write_experiment(found, tmp_path)
    own = [row for row in found.rows if row.panel.startswith("means")]
    assert {row.panel for row in own} == {"means, d = 500", "means, d = 5000", "means, d = 1000, ten bits"}
    for row in own:
        assert row.bound is not None
        if "directions" not in row.method:
            # A squared error of d numbers has about the root of 2/d of itself as its deviation.
            near = 6 * math.sqrt(2 / row.parameters["d"] / row.runs)
            assert row.error_mean == pytest.approx(row.bound, rel=near), row


@pytest.mark.full
def test_schedules_of_descent_by_sixty_thousand_people(tmp_path: Path) -> None:
    found = run_experiment("descent", full=True, seed=0)
    write_experiment(found, tmp_path)
    for epsilon in {row.x for row in found.rows}:
        own = [row for row in found.rows if row.x == epsilon]
        assert min(own, key=lambda row: row.error_mean).model == "central"
