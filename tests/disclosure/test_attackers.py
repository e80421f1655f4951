"""Simulated attackers on every mechanism and randomizer that the audit knows: none passes the bounds T2 and T3."""

import numpy as np
import numpy.typing as npt
import pytest

from emdp.audit import AuditReport, Scores, audit_mechanisms, audit_randomizer, find_losses, generated_table
from emdp.audit.bounds import clopper_pearson_lower, clopper_pearson_upper
from emdp.audit.run import COUNTED
from emdp.audit.suite import suite
from emdp.privacy.inference import advantage, power
from emdp.randomizers import KRR, Geometric, OneBit, PlanarLaplace
from emdp.spaces import Categories, Grid, Interval

Floats = npt.NDArray[np.float64]
Drawn = list[tuple[Scores, float]]

FAILURE = 1e-9
"""Chance that one end of Clopper and Pearson is wrong: of some hundreds of attackers none errs."""

CERTAIN = 1 - 1e-6
"""Confidence of all bounds of an audit together."""

FALSE_ALARMS = (0.01, 0.05, 0.2, 0.5)
"""Rates at which an attacker sets a threshold."""

LABELS = Categories("kind", ["bar", "home", "office", "park", "station"])
RANDOMIZERS = {
    "one bit": OneBit(LABELS, 2.0, [0.0, 1.0, 2.0, 3.0, 4.0]),
    "k-ary": KRR(LABELS, 2.0),
    "geometric": Geometric(Grid(Interval("x", 0, 1), 6), 2.0),
    "planar": PlanarLaplace(Interval("x", 0, 1), 2.0),
}


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    """Return a list that gets the draws on both tables, with each delta that is claimed of them."""
    found: Drawn = []

    def seen(scores: Scores, deltas: list[float], failure: float) -> object:
        found.extend((scores, delta) for delta in deltas)
        return find_losses(scores, deltas, failure)

    monkeypatch.setattr("emdp.audit.run.find_losses", seen)
    monkeypatch.setattr("emdp.audit.mechanisms.find_losses", seen)
    return found


def broken(scores: Scores, epsilon: float, delta: float) -> list[str]:
    """Return the attackers that surely pass a bound: thresholds from a third of the draws, rates from the others."""
    names = []
    for column, name in enumerate(scores.names):
        for zero, one in ((scores.first, scores.second), (scores.second, scores.first)):
            for sign in (1.0, -1.0):
                base, other = sign * zero[:, column], sign * one[:, column]
                chosen, judged, found = base[::3], np.delete(base, np.s_[::3]), np.delete(other, np.s_[::3])
                for rate in FALSE_ALARMS:
                    threshold = np.quantile(chosen, 1.0 - rate, method="higher")
                    most = float(clopper_pearson_upper([int((judged >= threshold).sum())], len(judged), FAILURE)[0])
                    least = float(clopper_pearson_lower([int((found >= threshold).sum())], len(found), FAILURE)[0])
                    if least > power(most, epsilon, delta) or least - most > advantage(epsilon, delta):
                        names.append(f"{name} at {rate:g}")
    return names


def passing(drawn: Drawn, report: AuditReport, factor: float = 1.0) -> list[str]:
    """Return which rows an attacker breaks where a factor of the loss is said; rows of counts have no draws."""
    rows = [row for row in report.rows if not row.mechanism.endswith(COUNTED)]
    return [
        f"{row.query}, {row.mechanism}, {row.distance:.3g}: {attacker}"
        for (scores, delta), row in zip(drawn, rows, strict=True)
        for attacker in broken(scores, factor * row.claimed_epsilon, delta)
    ]


@pytest.mark.parametrize("kind", RANDOMIZERS)
def test_no_attacker_passes_the_bounds_of_a_randomizer_and_some_passes_half_of_them(kind: str, drawn: Drawn) -> None:
    report = audit_randomizer(RANDOMIZERS[kind], trials=20_000)
    assert passing(drawn, report) == []
    assert passing(drawn, report, 0.5)


@pytest.mark.slow
def test_every_mechanism_is_audited_and_no_attacker_passes_the_bounds_of_any(drawn: Drawn) -> None:
    report = audit_mechanisms(trials=10_000, distances=[1.0], confidence=CERTAIN, end_to_end=0)
    # A guarantee up to some distance has nothing to say beyond it.
    (beyond,) = report.skipped
    assert beyond.startswith("item-wise release, sampled: distances lie beyond what the guarantee protects")
    assert report.is_sound
    titles = {case.title for case in suite(generated_table())}
    assert {row.query for row in report.rows} == titles - {"item-wise release, sampled"}
    assert {row.model for row in report.rows} == {"central", "local", "shuffle"}
    assert CERTAIN - 1e-12 <= report.confidence < 1
    assert len(report.rows) > 50
    assert passing(drawn, report) == []
    # At half of the loss most of them are caught: the attackers are no weak ones.
    seen = {text.partition(":")[0] for text in passing(drawn, report, 0.5)}
    assert len(seen) > 20
