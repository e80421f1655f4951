"""Personalised models: messages of length 1, one price for all rounds, models better than alone; misuse is refused."""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from emdp.base.errors import BudgetExceededError, UsageError
from emdp.learn import Personalised
from emdp.learn.personalised import TOLD_RIDGE, Loss, Round, _apart, _curvature, _gradient, divergence
from emdp.ledger import open_ledger
from emdp.mechanisms.compressed.coordinates import UNITS
from emdp.privacy.sampled_gaussian import sampled_gaussian_epsilon
from emdp.testing import seeded

KNOWN = {"users": 400, "epsilon": 4.0, "delta": 1e-5, "rounds": 6, "rate": 0.5}


def numerical_gradient(function: object, point: np.ndarray) -> np.ndarray:
    moved = 1e-6 * np.eye(len(point))
    return np.array([(function(point + one) - function(point - one)) / 2e-6 for one in moved])  # type: ignore[operator]


def loss_of(loss: str, x: np.ndarray, y: np.ndarray, own: np.ndarray) -> float:
    margins = x @ own
    if loss == "squared":
        return float(np.mean((margins - y) ** 2) / 2)
    return float(np.mean(np.logaddexp(0, margins) - y * margins))


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_gradients_are_those_of_the_losses(loss: str) -> None:
    rng = np.random.default_rng(3)
    x, y, theta = rng.uniform(-1, 1, (5, 3)), rng.integers(0, 2, 5) * 1.0, rng.normal(size=3)
    slope = numerical_gradient(lambda own: loss_of(loss, x, y, own), theta)
    assert _gradient(x, y, theta, loss) == pytest.approx(slope, abs=1e-6)  # type: ignore[arg-type]
    bend = numerical_gradient(lambda own: _gradient(x, y, own, loss), theta)  # type: ignore[arg-type]
    assert _curvature(x, theta, loss) == pytest.approx(bend, abs=1e-6)  # type: ignore[arg-type]


def test_an_own_model_is_the_minimum_that_the_text_says() -> None:
    from emdp.learn.personalised import RIDGE

    rng = np.random.default_rng(8)
    x, y = np.c_[np.ones(9), rng.uniform(-1, 1, (9, 2))], rng.integers(0, 2, 9) * 1.0
    common = np.array([0.3, -1.0, 0.5])
    now = replace(_asked(), common=common, spread=0.2, loss="logistic", steps=30)
    own, _ = now.train(x, y, common)
    pull = 3 / (2 * divergence(0.2, "logistic") * 9)

    def whole(theta: np.ndarray) -> float:
        chance = 1 / (1 + np.exp(-x @ common))
        apart = np.logaddexp(0, x @ theta) - np.logaddexp(0, x @ common) - chance * (x @ theta - x @ common)
        off = theta - common
        return loss_of("logistic", x, y, theta) + pull * float(apart.mean()) + (1 + pull) * RIDGE * float(off @ off) / 2

    assert numerical_gradient(whole, own) == pytest.approx(np.zeros(3), abs=1e-5)


@pytest.mark.parametrize(("loss", "apart"), [("squared", 0.4), ("logistic", 0.4), ("logistic", 2.0)])
def test_psi_of_what_users_tell_is_the_mean_of_their_distance(loss: Loss, apart: float) -> None:
    """Of people who are far apart what is told levels off, and half of their distance would be taken for it."""
    rng, users, records, common = np.random.default_rng(9), 4000, 12, np.array([0.1, 0.2])
    told, true = [], []
    for theta in common + rng.normal(0, apart, (users, 2)):
        x = np.c_[np.ones(records), rng.uniform(-1, 1, records)]
        margins, base = x @ theta, x @ common
        if loss == "squared":
            y = margins + rng.normal(0, 0.7, records)
            true.append(float(np.mean((margins - base) ** 2) / 2))
        else:
            y = (rng.uniform(size=records) < 1 / (1 + np.exp(-margins))) * 1.0
            chance = 1 / (1 + np.exp(-base))
            true.append(float(np.mean(np.logaddexp(0, margins) - np.logaddexp(0, base) - chance * (margins - base))))
        told.append(_apart(x, y, common, loss))
    error = 6 * np.std(told) / np.sqrt(users)
    # The ridge takes a part, and log-odds of several features are not quite normal.
    assert divergence(float(np.mean(told)), loss) == pytest.approx(np.mean(true), abs=2 * error, rel=0.3)
    assert np.mean(told) < np.mean(true) + error
    assert apart < 1 or np.mean(told) < 0.6 * np.mean(true)


def test_what_a_user_tells_does_not_depend_on_the_noise_of_targets() -> None:
    """Over all targets of six records, by enumeration: the mean is that of the true chances, none of their noise."""
    rng, common = np.random.default_rng(2), np.array([0.2, 0.6])
    x = np.c_[np.ones(6), rng.uniform(-1, 1, 6)]
    chances = 1 / (1 + np.exp(-x @ np.array([1.0, -0.5])))
    mean = 0.0
    for bits in itertools.product((0.0, 1.0), repeat=6):
        y = np.array(bits)
        mean += float(np.prod(np.where(y == 1, chances, 1 - chances))) * _apart(x, y, common, "logistic")
    inverse = np.linalg.inv(_curvature(x, common, "logistic") + TOLD_RIDGE * np.eye(2))
    slopes = x * (chances - 1 / (1 + np.exp(-x @ common)))[:, None]
    pairs = [slopes[a] @ inverse @ slopes[b] for a, b in itertools.permutations(range(6), 2)]
    assert mean == pytest.approx(0.5 * np.mean(pairs), abs=1e-12)
    assert mean > 0.02


def test_psi_of_normal_log_odds_is_their_divergence() -> None:
    from scipy.integrate import quad

    for deviation in (0.3, 1.0, 3.0):

        def mean(of: object, deviation: float = deviation) -> float:
            found, _ = quad(lambda z: of(deviation * z) * np.exp(-z * z / 2), -9, 9)  # type: ignore[operator]
            return float(found / np.sqrt(2 * np.pi))

        told = mean(lambda odds: 2 * (1 / (1 + np.exp(-odds)) - 0.5) ** 2)
        whole = mean(lambda odds: np.logaddexp(0, odds)) - np.log(2)
        assert divergence(told, "logistic") == pytest.approx(whole, rel=2e-3)
    assert divergence(0.27, "logistic") > 2.5 * 0.27


def test_a_user_with_one_record_moves_nothing_of_the_spread() -> None:
    now = _asked()
    assert now.train([[1.0, 0.5, 0.2]], [3.0], now.common)[1][-1] == 0


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


def _asked() -> Round:
    with seeded(1):
        return Personalised(3, **KNOWN).ask()  # type: ignore[arg-type]


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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize(("apart", "records", "most"), [(0.3, 6, 1.1), (1.0, 6, 0.95), (1.0, 30, 0.6), (3.0, 30, 0.22)])
def test_own_models_of_few_records_are_about_as_good_as_the_common_one_and_of_many_better(
    apart: float, records: int, most: float
) -> None:
    """Six yes/no records of a user say little: the published weight of ``1/(2 psi)`` made own models worse there."""
    users, rng = 300, np.random.default_rng(10)
    truth = np.array([0.5, 1.5, -1.0]) + rng.normal(0, apart, (users, 3))

    def drawn(count: int) -> tuple[np.ndarray, np.ndarray]:
        x = np.concatenate([np.ones((users, count, 1)), rng.uniform(-1, 1, (users, count, 2))], axis=2)
        return x, 1 / (1 + np.exp(-np.einsum("urf,uf->ur", x, truth)))

    x, chance = drawn(records)
    y = (rng.uniform(size=chance.shape) < chance) * 1.0
    with seeded(7):
        learnt = Personalised(
            3, users=users, epsilon=8.0, delta=1e-5, rounds=8, loss="logistic", step=0.5, clip=1.0, clip_spread=0.5
        )
        own = np.zeros((users, 3))
        while not learnt.is_finished:
            now, total = learnt.ask(), np.zeros(4, dtype=np.int64)
            for user in range(users):
                own[user], message = now.train(x[user], y[user], own[user])
                total += message
            learnt.tell(total)
    fresh, truly = drawn(100)

    def excess(models: np.ndarray) -> float:
        margins, best = np.einsum("urf,uf->ur", fresh, models), np.log(truly / (1 - truly))
        return float((np.logaddexp(0, margins) - truly * margins - np.logaddexp(0, best) + truly * best).mean())

    common = excess(np.tile(learnt.common, (users, 1)))
    assert excess(own) < most * common


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
