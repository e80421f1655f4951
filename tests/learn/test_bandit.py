"""Linear bandits: the best action is kept, regret falls with epsilon, one charge a batch, and misuse is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import emdp
from emdp.base.errors import BudgetExceededError, UsageError
from emdp.experiments.bandits import one_regret
from emdp.learn import LinearBandit
from emdp.ledger import open_ledger
from emdp.mechanisms.bandits.rewards import BatchRewards
from emdp.testing import seeded

CIRCLE = np.array([[np.cos(a), np.sin(a)] for a in 2 * np.pi * np.arange(8) / 8])
THETA = np.array([0.9, 0.1])


def played(bandit: LinearBandit, theta: np.ndarray, seed: int = 0) -> int:
    """Play a bandit to its end; return how many batches there were."""
    rng, batches = np.random.default_rng(seed), 0
    while not bandit.is_finished:
        batch = bandit.ask()
        means = (bandit.actions @ theta)[batch.actions]
        bandit.tell(batch.encode(np.where(rng.random(len(batch)) < (1 + means) / 2, 1.0, -1.0)))
        batches += 1
    return batches


@pytest.mark.parametrize(("model", "delta"), [("central", 0.0), ("local", 0.0), ("shuffle", 1e-6)])
def test_the_best_action_is_never_lost(model: str, delta: float) -> None:
    # 1/T is the chance that theory allows in a run: one in 200 runs would be far beyond it.
    runs = 40 if model == "shuffle" else 80
    with seeded(1):
        for seed in range(runs):
            turn = np.random.default_rng(seed).uniform(0, 2 * np.pi)
            theta = np.array([np.cos(turn), np.sin(turn)])
            bandit = LinearBandit(CIRCLE, 20_000, 1.0, model, delta=delta)
            played(bandit, theta, seed)
            assert int((CIRCLE @ theta).argmax()) in bandit.active
            assert bandit.rounds_left >= 0


def test_regret_falls_with_epsilon() -> None:
    with seeded(5):
        found = [
            [np.mean([one_regret(CIRCLE, THETA, 50_000, level, model, 0.0) for _ in range(3)]) for level in levels]
            for model, levels in (("central", (0.02, 10.0)), ("local", (0.3, 4.0)))
        ]
    assert all(weak > 1.3 * strong for weak, strong in found)


@pytest.mark.parametrize(("model", "delta"), [("central", 0.0), ("shuffle", 1e-6)])
def test_all_batches_cost_what_one_does(tmp_path: Path, model: str, delta: float) -> None:
    ledger = tmp_path / "city.ledger"
    with seeded(3):
        bandit = LinearBandit(CIRCLE, 20_000, 0.5, model, delta=delta, ledger=ledger, name="banners")
        batches = played(bandit, THETA)
        bandit.close()
        with open_ledger(ledger, test=True) as opened:
            entries = opened.entries("banners", "charge")
        assert batches > 2
        assert [entry.payload["event"]["guarantee"]["epsilon"] for entry in entries] == [0.5] + [0.0] * (batches - 1)
        assert "paid for by batch 1" in entries[1].payload["event"]["mechanism"]
        # What was learnt died with the process: the name is spent.
        again = LinearBandit(CIRCLE, 20_000, 0.5, model, delta=delta, ledger=ledger, name="banners")
        with pytest.raises(BudgetExceededError):
            again.ask()
        again.close()
        with pytest.raises(emdp.EmdpError):
            LinearBandit(CIRCLE[:4], 20_000, 0.5, model, delta=delta, ledger=ledger, name="banners")


def test_a_batch_is_charged_before_it_is_seen_and_once(tmp_path: Path) -> None:
    with seeded(3):
        bandit = LinearBandit(CIRCLE, 20_000, 0.5, ledger=tmp_path / "x.ledger")
        assert bandit.ask() is bandit.ask()
        with open_ledger(tmp_path / "x.ledger", test=True) as opened:
            assert len(opened.entries("bandit", "charge")) == 1
        bandit.close()


def test_misuse_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="ledger"):
        LinearBandit(CIRCLE, 1000, 1.0)
    with seeded(1):
        bandit = LinearBandit(CIRCLE, 1000, 1.0, ledger=tmp_path / "y.ledger")
    with pytest.raises(UsageError, match="test switch"):
        bandit.ask()
    bandit.close()
    with seeded(1):
        for changed in (
            {"actions": [[1.0, 0.0]]}, {"actions": 2 * CIRCLE}, {"actions": [[1.0, 0.0], [1.0, 0.0]]},
            {"actions": [[np.nan, 0.0], [1.0, 0.0]]}, {"actions": "x"}, {"actions": [[1.0], [0.0, 1.0]]},
            {"horizon": 7}, {"epsilon": 0.0}, {"epsilon": np.nan}, {"model": "global"}, {"delta": 1e-6},
            {"model": "shuffle"}, {"name": ""},
        ):  # fmt: skip
            with pytest.raises(UsageError):
                LinearBandit(**{"actions": CIRCLE, "horizon": 1000, "epsilon": 1.0, **changed})
        bandit = LinearBandit(CIRCLE, 1000, 1.0)
        with pytest.raises(UsageError, match="ask first"):
            bandit.tell([1])
        bandit.ask()
        with pytest.raises(UsageError, match="messages"):
            bandit.tell([1])
        played(bandit, THETA)
        with pytest.raises(UsageError, match="finished"):
            bandit.ask()


def test_noise_is_drawn_once_for_a_batch_and_on_its_side_of_the_switch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with seeded(4):
        bandit = LinearBandit(CIRCLE, 20_000, 0.5, ledger=tmp_path / "z.ledger")
        batch = bandit.ask()
        messages = batch.encode(np.zeros(len(batch)))
    with pytest.raises(UsageError, match="test switch"):
        bandit.tell(messages)
    with seeded(4):
        with monkeypatch.context() as patch:
            patch.setattr(BatchRewards, "radius", stopped)
            with pytest.raises(KeyboardInterrupt):
                bandit.tell(messages)
        with pytest.raises(UsageError, match="ask first"):
            bandit.tell(messages)
        bandit.close()


def stopped(*given: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("rewards", [[2.0], [-1.0001], [np.nan], [np.inf], [[0.5]], 0.5])
@pytest.mark.parametrize("model", ["central", "local"])
def test_rewards_out_of_their_range_are_refused(model: Any, rewards: Any) -> None:
    with seeded(1):
        batch = LinearBandit([[1.0, 0.0], [0.0, 1.0]], 10_000, 1.0, model).ask()
        with pytest.raises(UsageError, match="from -1 to 1"):
            batch.encode(rewards)
        assert len(batch.encode([-1.0, 1.0])) == 2
