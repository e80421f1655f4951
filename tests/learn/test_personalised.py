"""Personalised models: messages of length 1, one price for all rounds, models better than alone; misuse is refused."""

from pathlib import Path

import numpy as np
import pytest

from emdp.base.errors import BudgetExceededError, UsageError
from emdp.learn import Personalised
from emdp.ledger import open_ledger
from emdp.mechanisms.compressed.coordinates import UNITS
from emdp.privacy.sampled_gaussian import sampled_gaussian_epsilon
from emdp.testing import seeded

KNOWN = {"users": 400, "epsilon": 4.0, "delta": 1e-5, "rounds": 6, "rate": 0.5}


def numerical_gradient(function: object, point: np.ndarray) -> np.ndarray:
    moved = 1e-6 * np.eye(len(point))
    return np.array([(function(point + one) - function(point - one)) / 2e-6 for one in moved])  # type: ignore[operator]


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_gradients_are_those_of_the_losses(loss: str) -> None:
    from emdp.learn.personalised import _distance, _gradient

    rng = np.random.default_rng(3)
    x, y, theta, mu = rng.uniform(-1, 1, (5, 3)), rng.integers(0, 2, 5) * 1.0, rng.normal(size=3), rng.normal(size=3)

    def whole(own: np.ndarray) -> float:
        margins = x @ own
        if loss == "squared":
            return float(np.mean((margins - y) ** 2) / 2)
        return float(np.mean(np.logaddexp(0, margins) - y * margins))

    _, towards_mu, towards_theta = _distance(x, theta, mu, loss)  # type: ignore[arg-type]
    assert _gradient(x, y, theta, loss) == pytest.approx(numerical_gradient(whole, theta), abs=1e-6)  # type: ignore[arg-type]
    own = numerical_gradient(lambda one: _distance(x, one, mu, loss)[0], theta)  # type: ignore[arg-type]
    common = numerical_gradient(lambda one: _distance(x, theta, one, loss)[0], mu)  # type: ignore[arg-type]
    assert towards_mu == pytest.approx(own, abs=1e-6)
    assert towards_theta == pytest.approx(common, abs=1e-6)


@pytest.mark.parametrize("scale", [0.0, 1.0, 1e3, 1e300, np.inf, np.nan])
def test_a_message_is_no_longer_than_its_unit_whatever_a_user_holds(scale: float) -> None:
    rng = np.random.default_rng(4)
    with seeded(1):
        now = Personalised(4, **KNOWN).ask()  # type: ignore[arg-type]
        for _ in range(20):
            with np.errstate(all="ignore"):
                own, message = now.train(scale * rng.normal(size=(3, 4)), scale * rng.normal(size=3), now.common)
                message = now.encode(scale * rng.normal(size=4), scale)
            assert sum(int(one) ** 2 for one in message) <= UNITS**2
            assert own.shape == (4,)


def test_all_rounds_cost_what_was_asked_and_noise_has_power() -> None:
    with seeded(2):
        learnt = Personalised(3, **KNOWN)  # type: ignore[arg-type]
        price = sampled_gaussian_epsilon(learnt.multiplier, 0.5, 6, 1e-5)
        assert 0.999 * 4.0 < price <= 4.0
        assert sampled_gaussian_epsilon(0.7 * learnt.multiplier, 0.5, 6, 1e-5) > 4.0
        # The multiplier of what is really drawn, by the moves of the common model when nobody joined.
        moves = []
        for seed in range(400):
            with seeded(seed):
                one = Personalised(40, **{**KNOWN, "rounds": 1})  # type: ignore[arg-type]
                one.ask()
                one.tell(np.zeros(41, dtype=np.int64))
                moves.append(one.common * 0.5 * 400 / np.sqrt(2.0))
    found = np.array(moves).ravel()
    deviation, error = found.std(), one.multiplier / np.sqrt(2 * found.size)
    assert abs(deviation - one.multiplier) < 6 * error
    assert all(abs(deviation - factor * one.multiplier) > 20 * error for factor in (0.7, 1.3))


def test_one_entry_pays_for_all_rounds(tmp_path: Path) -> None:
    ledger = tmp_path / "x.ledger"
    with seeded(3):
        learnt = Personalised(2, **KNOWN, ledger=ledger)  # type: ignore[arg-type]
        while not learnt.is_finished:
            assert learnt.ask() is learnt.ask()
            learnt.tell([0, 0, 0])
        learnt.close()
        with open_ledger(ledger, test=True) as opened:
            entries = opened.entries("personalised", "charge")
        assert [entry.payload["event"]["guarantee"]["epsilon"] for entry in entries] == [4.0, *[0.0] * 5]
        again = Personalised(2, **KNOWN, ledger=ledger)  # type: ignore[arg-type]
        with pytest.raises(BudgetExceededError):
            again.ask()
        again.close()


def test_own_models_are_nearer_than_common_and_lonely_ones() -> None:
    users, records, rng = 400, 4, np.random.default_rng(5)
    truth = np.array([0.5, -0.4]) + rng.normal(0, 0.3, (users, 2))
    x = np.stack([np.ones((users, records)), rng.uniform(-1, 1, (users, records))], axis=2)
    y = np.einsum("urf,uf->ur", x, truth) + rng.normal(0, 0.5, (users, records))
    with seeded(6):
        known = {**KNOWN, "epsilon": 8.0, "rounds": 10}
        learnt = Personalised(2, **known, step=0.5, clip=0.5, clip_spread=0.2, spread=0.3, steps=20)  # type: ignore[arg-type]
        own = np.zeros((users, 2))
        while not learnt.is_finished:
            now, total = learnt.ask(), np.zeros(3, dtype=np.int64)
            for user in range(users):
                if now.joins():
                    own[user], message = now.train(x[user], y[user], own[user])
                    total += message
            learnt.tell(total)
    alone = np.array([np.linalg.lstsq(a, b, rcond=None)[0] for a, b in zip(x, y, strict=True)])

    def error(models: np.ndarray) -> float:
        return float(np.square(models - truth).sum(axis=1).mean())

    assert error(own) < 0.9 * error(np.tile(learnt.common, (users, 1)))
    assert error(own) < 0.9 * error(alone)


def test_misuse_is_refused() -> None:
    with pytest.raises(UsageError, match="ledger"):
        Personalised(2, **KNOWN)  # type: ignore[arg-type]
    with seeded(1):
        for changed in (
            {"users": 0}, {"users": 30}, {"epsilon": 0.0}, {"delta": 0.0}, {"rounds": 0}, {"rate": 0.0}, {"rate": 1.5},
            {"loss": "hinge"}, {"steps": 0}, {"step": -1.0}, {"clip": 0.0}, {"spread": 0.0}, {"features": 0},
        ):  # fmt: skip
            with pytest.raises(UsageError):
                Personalised(**{"features": 2, **KNOWN, **changed})  # type: ignore[arg-type]
        learnt = Personalised(2, **KNOWN)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="ask first"):
            learnt.tell([0, 0, 0])
        now = learnt.ask()
        for total in ([0, 0], [0.0, 0.0, 0.0], [2**60, 0, 0]):
            with pytest.raises(UsageError, match="total"):
                learnt.tell(total)
        with pytest.raises(UsageError, match="features"):
            now.train([[1.0]], [1.0], now.common)
        with pytest.raises(UsageError, match="own"):
            now.train([[1.0, 2.0]], [1.0], [0.0])


def test_a_message_beyond_all_doubles_in_units_of_the_clip_is_no_longer_either() -> None:
    with seeded(1):
        now = Personalised(2, **KNOWN, clip=0.5).ask()  # type: ignore[arg-type]
        message = now.encode([1.5e308, 1.0], 5.0)
    assert sum(int(one) ** 2 for one in message) <= UNITS**2


def test_noise_is_drawn_once_for_a_round_and_on_its_side_of_the_switch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []

    def once(*given: object) -> None:
        drawn.append(given)
        raise KeyboardInterrupt

    with seeded(4):
        learnt = Personalised(2, **KNOWN, ledger=tmp_path / "x.ledger")  # type: ignore[arg-type]
        learnt.ask()
    with pytest.raises(UsageError, match="test switch"):
        learnt.tell([0, 0, 0])
    with seeded(4):
        monkeypatch.setattr("emdp.learn.personalised.draw_discrete_gaussian", once)
        with pytest.raises(KeyboardInterrupt):
            learnt.tell([0, 0, 0])
        with pytest.raises(UsageError, match="ask first"):
            learnt.tell([0, 0, 0])
        learnt.close()
    assert len(drawn) == 1
