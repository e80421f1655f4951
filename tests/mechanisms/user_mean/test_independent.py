"""An adversarial reading of user-level means: checks that planted faults in the sources got past before."""

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats

from emdp.base.errors import InternalError
from emdp.estimators.user_mean.user_means import UserMeanMessages, plan_user_mean
from emdp.mechanisms.central.gaussian import GaussianMechanism
from emdp.mechanisms.central.laplace import LaplaceMechanism
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.oracles.hadamard_bit import OneBitHadamardOracle
from emdp.mechanisms.scalar.laplace import LaplaceScalar
from emdp.mechanisms.scalar.one_bit import OneBitScalar
from emdp.mechanisms.user_mean import clipped_mean
from emdp.mechanisms.user_mean.base import UserMeanSetting
from emdp.mechanisms.user_mean.central import CentralMean, CentralRange, central_candidates
from emdp.mechanisms.user_mean.clipped_mean import ClippedMean
from emdp.mechanisms.user_mean.local import BudgetSplit, UserSplit
from emdp.mechanisms.user_mean.range_stage import FoundRange, HistogramRange, MedianRange
from emdp.mechanisms.user_mean.shuffle import ShuffledUserMean
from emdp.mechanisms.user_vector import local as user_vector_local
from emdp.mechanisms.user_vector.base import gathered
from emdp.mechanisms.user_vector.central import CentralUserVector
from emdp.mechanisms.user_vector.local import LocalUserVector
from emdp.mechanisms.user_vector.setting import UserVectorSetting, ball_of, frames_of
from emdp.privacy import UserDP
from emdp.privacy.shuffle.users import ShuffleRound, shuffle_epsilon, shuffle_total
from emdp.questions.user_mean import user_mean
from emdp.spaces import Interval, Product
from emdp.testing import seeded

Integers = npt.NDArray[np.int64]
EXPONENT = 40
FARTHEST = (-(2**63), 2**63 - 1, -(2**62), 2**62, 0, 1, -1)


def fixed(means: npt.ArrayLike) -> Integers:
    return np.rint(np.ldexp(np.asarray(means, dtype=np.float64), EXPONENT)).astype(np.int64)


# ---- The curator's noise is calibrated to what one user really moves.


@pytest.mark.quarter
@pytest.mark.parametrize("delta", [0.0, 0.2])
@pytest.mark.parametrize("window", [(0.0, 6.0), (-0.1, 0.2), (-50.0, 50.0), (1e6, 1e6 + 0.3), (0.3, 1e5)])
@pytest.mark.parametrize("exponent", [0, 7, 40])
def test_no_user_moves_a_mean_by_more_than_its_noise_is_for(
    monkeypatch: pytest.MonkeyPatch, window: tuple[float, float], exponent: int, delta: float
) -> None:
    """Without the noise, replacing one user by anything moves the mean by its sensitivity at most, and that far."""
    scales: list[float] = []

    def no_laplace(scale: float, size: int) -> list[int]:
        scales.append(scale)
        return [0] * size

    def no_gaussian(mechanism: GaussianMechanism, statistic: Iterable[Fraction]) -> list[Fraction]:
        # Of the same size as Laplace noise at the same epsilon.
        scales.append(mechanism.sensitivity)
        return list(statistic)

    monkeypatch.setattr(clipped_mean, "draw_discrete_laplace", no_laplace)
    monkeypatch.setattr(GaussianMechanism, "release", no_gaussian)
    mean = ClippedMean(*window, 3, 0.7, delta)
    ends = [round(math.ldexp(end, exponent)) + step for end in window for step in (-1, 0, 1)]
    values, worst = [*FARTHEST, *ends], Fraction(0)
    for own in values:
        found = [mean.release(iter([np.array([values[2], own]), np.array([other])]), exponent) for other in values]
        worst = max(worst, max(found) - min(found))
        assert all(Fraction(window[0]) - 1 <= one <= Fraction(window[1]) + 1 for one in found)
    if delta > 0:
        allowed = Fraction(max(scales))
    else:
        unit = Fraction(1, 2 ** min(exponent, 41 - math.frexp((window[1] - window[0]) / 0.7)[1]))
        allowed = Fraction(max(scales)) * Fraction("0.7") * unit / 3
    assert len(set(scales)) == 1
    assert (1 - Fraction(1, 2**30)) * allowed <= worst <= allowed
    # The window itself is what is not cut.
    assert worst >= (Fraction(window[1]) - Fraction(window[0])) / 3


def gaussian_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """Return the least sigma by bisection of the exact profile (Balle and Wang 2018, theorem 8)."""

    def profile(sigma: float) -> float:
        mu = sensitivity / sigma
        norm = scipy.stats.norm
        return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))

    low, high = 1e-6 * sensitivity, 1e6 * sensitivity
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if profile(middle) <= delta else (middle, high)
    return high


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_noise_of_a_mean_with_power(delta: float) -> None:
    """Laplace of (high - low)/(n epsilon), or Gaussian of the least sigma for (high - low)/n: neither less nor more."""
    runs, users, epsilon = 1500, 40, 0.8
    mean, values = ClippedMean(-1.0, 5.0, users, epsilon, delta), fixed(np.full(users, 2.0))
    with seeded(9):
        errors = np.array([float(mean.release(iter([values]), EXPONENT)) - 2.0 for _ in range(runs)])
    if delta > 0:
        law, unit = scipy.stats.chi2(runs), gaussian_sigma(6.0 / users, epsilon, delta)
        statistic, powers = float((errors**2).sum()), 2
    else:
        law, unit = scipy.stats.gamma(runs), 6.0 / users / epsilon
        statistic, powers = float(np.abs(errors).sum()), 1
    assert mean.deviation == pytest.approx(unit * math.sqrt(3 - powers), rel=1e-6)
    for factor, passes in ((1.0, True), (0.7, False), (1.3, False)):
        size = statistic / (factor * unit) ** powers
        assert bool(2 * min(law.cdf(size), law.sf(size)) > 1e-9) is passes


@pytest.mark.parametrize("kind", [MedianRange, HistogramRange])
def test_both_rounds_are_drawn_at_the_epsilon_that_is_stated(
    monkeypatch: pytest.MonkeyPatch, kind: type[MedianRange] | type[HistogramRange]
) -> None:
    drawn: list[float] = []
    find, release = kind.found, ClippedMean.ask

    def found(stage: Any, sums: Integers) -> Any:
        drawn.append(stage.requested)
        return find(stage, sums)

    def released(mean: ClippedMean, *arguments: Any) -> Fraction:
        drawn.append(mean.epsilon)
        return release(mean, *arguments)

    monkeypatch.setattr(kind, "found", found)
    monkeypatch.setattr(ClippedMean, "ask", released)
    setting = UserMeanSetting(2000, -50, 50, 2.0, spread=1.0, records=100)
    for first in (0.1, 0.7, 1.9):
        way = CentralRange(setting=setting, first=first, kind=kind)
        drawn.clear()
        way.release(iter([fixed(np.full(2000, 7.0))]), EXPONENT, 0)
        assert drawn[0] == first
        assert len(drawn) == 2
        assert sum(Fraction(repr(one)) for one in drawn) <= Fraction(repr(way.epsilon)) <= 2
        assert way.epsilon == pytest.approx(2.0)


def test_one_far_user_moves_no_candidate() -> None:
    setting = UserMeanSetting(2000, -50, 50, 20.0, spread=1.0, records=100)
    for way in central_candidates(setting):
        values = np.append(fixed(np.full(1999, 7.0)), 2**63 - 1)
        width = 100.0 if type(way) is CentralMean else 6.0 * way.setting.bins.radius
        value = float(way.release(iter([values]), EXPONENT, 0).value)
        assert value == pytest.approx(7.0, abs=width / 2000 + 40 * way.deviation)


@pytest.mark.parametrize("is_gaussian", [True, False])
@pytest.mark.parametrize("kind", ["wide", "ranged", "cut", "turned and ranged", "ball"])
def test_no_user_moves_a_vector_by_more_than_its_noise_is_for(
    monkeypatch: pytest.MonkeyPatch, kind: str, is_gaussian: bool
) -> None:
    """Replacing one user moves what noise is added to by its sensitivity at most; in an own frame that far."""
    users, width = 4, 4
    radius = 0.5 if "turned" in kind else 8.0
    turned: dict[str, Any] = {"radius": radius} if kind in ("cut", "turned and ranged", "ball") else {}
    setting = UserVectorSetting(
        users, (-8.0, -8.0, 0.0, -8.0), (8.0,) * width, 2.0, 0.1, spread=None if turned else (0.01,) * width,
        records=10**4, failure=0.5, **turned,
    )  # fmt: skip
    own_wide, *others = frames_of(setting)
    found = {"wide": own_wide, "ball": ball_of(setting)}
    found |= {"ranged": others[0]} if not turned else {"cut": others[0], "turned and ranged": others[-1]}
    frame = found[kind]
    assert frame is not None
    assert bool(frame.ranged) is ("ranged" in kind)
    way = CentralUserVector(setting, frame, 0.01 if frame.ranged else 0.0, 0.5, is_gaussian)
    seen: list[list[Fraction]] = []

    def caught(_: Any, statistic: Iterable[Fraction]) -> list[Fraction]:
        seen.append(list(statistic))
        return seen[-1]

    def middle(stage: MedianRange, *_: Any) -> FoundRange:
        place = stage.bins.count // 2
        return FoundRange(place, stage.bins.window(place))

    for law in (GaussianMechanism, LaplaceMechanism):
        monkeypatch.setattr(law, "release", caught)
    monkeypatch.setattr(MedianRange, "found", middle)
    rows = [fixed(row) for row in np.random.default_rng(2).normal(size=(6, width)) * 30.0]
    rows += [fixed([8.0, 8.0, 8.0, 8.0]), fixed([-8.0, -8.0, 0.0, -8.0]), fixed([8.0, 0, 4, 0]), fixed([-8.0, 0, 4, 0])]
    rows += [np.full(width, far) for far in (2**62, -(2**62))]
    for row in rows:
        with seeded(1):
            way.release(iter([np.array([rows[0], rows[1], rows[2], row])]), (EXPONENT,) * width, (0,) * width)
    power = 2 if is_gaussian else 1
    moved = max(sum(abs(a - b) ** power for a, b in zip(x, y, strict=True)) for x in seen for y in seen)
    allowed = Fraction(way.noise.sensitivity) ** power
    assert moved <= allowed
    if kind in ("wide", "ranged"):
        assert moved >= (1 - Fraction(1, 2**20)) * allowed
    elif kind == "ball" and is_gaussian:
        assert way.is_ball
        assert moved >= Fraction(1, 20**2)


# ---- A user sends what its epsilon is for, and no more.


class Senders:
    """Counts, for every user, the messages of either round: users are told apart by their own mean."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.first: Counter[int] = Counter()
        self.second: Counter[int] = Counter()
        self.strengths: set[tuple[int, float]] = set()
        tally, encode = OneBitHadamardOracle.draw_tally, OneBitScalar.encode

        def draw_tally(oracle: OneBitHadamardOracle, bags: Bags, *rest: Any) -> Any:
            self.first.update(bags.codes.tolist())
            self.strengths.add((1, oracle.epsilon))
            return tally(oracle, bags, *rest)

        def encoded(scalar: OneBitScalar, values: Integers, exponent: int) -> Integers:
            self.second.update(values.tolist())
            self.strengths.add((2, scalar.epsilon))
            return encode(scalar, values, exponent)

        monkeypatch.setattr(OneBitHadamardOracle, "draw_tally", draw_tally)
        monkeypatch.setattr(OneBitScalar, "encode", encoded)


def one_in_each_bin(users: int, *, columns: int = 1) -> tuple[Any, Integers]:
    """Return a setting with as many bins as users, and a user in the middle of each."""
    if columns == 1:
        setting: Any = UserMeanSetting(users, 0.0, 2.0 * users, 2.0, model="local", spread=1.0, failure=0.5)
        spread = 1.0 / setting.radius
        setting = UserMeanSetting(users, 0.0, 2.0 * users, 2.0, model="local", spread=spread, failure=0.5)
        assert setting.bins.count == users
        return setting, fixed(2.0 * np.arange(users) + 1.0)
    lows, highs = (0.0,) * columns, (2.0 * users,) * columns
    trial = UserVectorSetting(users, lows, highs, 2.0, model="local", spread=(1.0,) * columns, failure=0.5)
    spreads = (1.0 / frames_of(trial)[-1].bins[0].radius,) * columns
    setting = UserVectorSetting(users, lows, highs, 2.0, model="local", spread=spreads, failure=0.5)
    assert frames_of(setting)[-1].bins[0].count == users
    return setting, fixed(np.repeat(2.0 * np.arange(users)[:, None] + 1.0, columns, axis=1))


def test_split_users_send_one_message_and_others_two(monkeypatch: pytest.MonkeyPatch) -> None:
    setting, values = one_in_each_bin(40)
    for seed in range(5):
        senders = Senders(monkeypatch)
        with seeded(seed):
            way = UserSplit(setting=setting, first=1.5, second=1.25, chosen=15, scalar=OneBitScalar)
            way.release(iter([values]), EXPONENT, 0)
        late = {int(place): int(value) for place, value in enumerate(values.tolist())}
        messages = Counter({place: senders.first[place] + senders.second[late[place]] for place in late})
        assert set(messages.values()) == {1}
        assert (senders.first.total(), senders.second.total()) == (15, 25)
        assert {(1, 1.5), (2, 1.25)} == senders.strengths
        assert way.epsilon == 1.5
        monkeypatch.undo()
        senders = Senders(monkeypatch)
        both = BudgetSplit(setting=setting, first=0.75, second=1.25, scalar=OneBitScalar)
        both.release(iter([values]), EXPONENT, 0)
        assert {place: senders.first[place] for place in late} == dict.fromkeys(late, 1)
        assert set(senders.second.values()) == {1}
        assert {(1, 0.75), (2, 1.25)} == senders.strengths
        assert both.epsilon == 2.0
        monkeypatch.undo()


@pytest.mark.parametrize("is_sampled", [True, False])
@pytest.mark.parametrize("rounds", ["two rounds", "two groups"])
def test_messages_of_a_vector_s_user(monkeypatch: pytest.MonkeyPatch, rounds: Any, is_sampled: bool) -> None:
    """One or all three coordinates, in one or both rounds, each at its part of epsilon: the sum is what is stated."""
    users, width = 32, 3
    setting, values = one_in_each_bin(users, columns=width)
    assert gathered(setting, iter([values[:30]]), (1, 2, 3))[30:].tolist() == [[1, 2, 3]] * 2
    frame = frames_of(setting)[-1]
    for seed in range(3):
        senders = Senders(monkeypatch)
        first = 12 if rounds == "two groups" else users
        way = LocalUserVector(setting, frame, rounds, is_sampled, (0.75, 1.25), first, is_one_bit=True)
        with seeded(seed):
            way.release(iter([values]), (EXPONENT,) * width, (0,) * width)
        spent = {
            place: senders.first[place] * way.message_epsilons[0] + senders.second[int(value)] * way.message_epsilons[1]
            for place, value in enumerate(values[:, 0].tolist())
        }
        assert {(1, way.message_epsilons[0]), (2, way.message_epsilons[1])} == senders.strengths
        assert max(spent.values()) == pytest.approx(way.epsilon0, rel=1e-12)
        assert min(spent.values()) == pytest.approx(0.75 if rounds == "two groups" else 2.0, rel=1e-12)
        assert way.epsilon0 == (1.25 if rounds == "two groups" else 2.0)
        monkeypatch.undo()


@pytest.mark.parametrize("scalar", [OneBitScalar, LaplaceScalar])
def test_mixed_rounds_count_their_own_messages(scalar: Any) -> None:
    """The smaller group has the larger epsilon, whichever it is; users in both rounds pay for both."""
    users, delta, strength = 300, 1e-4, 1.0
    setting = UserMeanSetting(users, -50, 50, 1.0, delta, "shuffle", spread=1.0, records=100)
    kind = "binary" if scalar is OneBitScalar else "any"
    for chosen in (30, 270):
        split = UserSplit(setting=setting, first=strength, second=strength, chosen=chosen, scalar=scalar)
        first = shuffle_epsilon(strength, chosen, delta, randomizer="place-sign")
        second = shuffle_epsilon(strength, users - chosen, delta, randomizer=kind)
        assert ShuffledUserMean(inner=split).epsilon == max(first.epsilon, second.epsilon)
        assert ShuffledUserMean(inner=split).epsilon0 == strength
    assert second.epsilon > first.epsilon
    both = ShuffledUserMean(inner=BudgetSplit(setting=setting, first=strength, second=strength, scalar=scalar))
    rounds = ShuffleRound(strength, users, "place-sign"), ShuffleRound(strength, users, kind)
    assert both.epsilon == shuffle_total(rounds, delta).epsilon
    assert both.epsilon > 1.2 * shuffle_epsilon(strength, users, delta, randomizer=kind).epsilon
    assert both.epsilon0 == 2.0


@pytest.mark.parametrize("rounds", ["two rounds", "two groups"])
def test_mixed_messages_of_a_vector_are_accounted_as_sent(monkeypatch: pytest.MonkeyPatch, rounds: Any) -> None:
    """Users choose their coordinate alone, so that all have one randomizer, which has more than two messages then."""
    width, users, first = 3, 60, 24 if rounds == "two groups" else 60
    second = users - first or users
    setting = UserVectorSetting(
        users, (0.0,) * width, (900.0,) * width, 30.0, 1e-3, "shuffle", spread=(1.0,) * width, failure=0.5
    )
    frame = frames_of(setting)[-1]
    asked: list[tuple[ShuffleRound, ...]] = []

    def total(strengths: Any, delta: float) -> SimpleNamespace:
        asked.append(tuple(strengths))
        return SimpleNamespace(epsilon=0.5 + len(asked), delta=delta)

    monkeypatch.setattr(user_vector_local, "shuffle_total", total)
    for is_sampled, kind, count in ((True, "place-sign", 1), (False, "binary", width)):
        asked.clear()
        way = LocalUserVector(setting, frame, rounds, is_sampled, (0.75, 1.5), first, is_one_bit=True)
        assert way.epsilon == 0.5 + len(asked)
        parts = (
            ShuffleRound(0.75 / count, first, "place-sign", rounds=count),
            ShuffleRound(1.5 / count, second, kind, rounds=count),
        )
        assert asked == ([(parts[0],), (parts[1],)] if rounds == "two groups" else [parts])

    sizes: dict[str, list[int]] = {"first": [], "second": []}
    tally, encode = OneBitHadamardOracle.draw_tally, OneBitScalar.encode

    def draw_tally(oracle: OneBitHadamardOracle, bags: Bags, *rest: Any) -> Any:
        sizes["first"].append(bags.users)
        return tally(oracle, bags, *rest)

    def encoded(scalar: OneBitScalar, values: Integers, exponent: int) -> Integers:
        sizes["second"].append(len(values))
        return encode(scalar, values, exponent)

    monkeypatch.setattr(OneBitHadamardOracle, "draw_tally", draw_tally)
    monkeypatch.setattr(OneBitScalar, "encode", encoded)
    way = LocalUserVector(setting, frame, rounds, True, (0.75, 1.5), first, is_one_bit=True)
    with seeded(3):
        for _ in range(10):
            way.release(iter([fixed(np.full((users, width), 7.0))]), (EXPONENT,) * width, (0,) * width)
    # Ten even divisions in a row have a chance below 1e-10 where users choose.
    assert sum(sizes["first"]) == 10 * first
    assert set(sizes["first"]) != {first // width}
    assert sum(sizes["second"]) == 10 * second
    assert set(sizes["second"]) != {second // width}


# ---- What the ledger is told.


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("model", "delta", "expressions"),
    [("central", 0.2, ("x",)), ("central", 1e-6, ("x", "y")), ("shuffle", 1e-6, ("x",)), ("local", 0.0, ("x", "y"))],
)
def test_the_charge_is_what_the_mechanism_spends(model: Any, delta: float, expressions: tuple[str, ...]) -> None:
    space = Product(Interval("x", 0.0, 1.0), Interval("y", -3.0, 1.0))
    query = user_mean(expressions, epsilon=1.0, delta=delta, model=model)
    plan = plan_user_mean(query, space=space, users=900)
    assert isinstance(plan.releaser, UserMeanMessages)
    assert isinstance(plan.guarantee, UserDP)
    mechanism = plan.releaser.mechanism
    # Gaussian noise pays at so large a delta, Laplace noise in one or two dimensions at a small one; mixing needs it.
    assert mechanism.delta == (delta if model == "shuffle" or delta == 0.2 else 0.0)
    assert plan.guarantee.model == model
    assert (plan.guarantee.epsilon, plan.guarantee.delta) == (mechanism.epsilon, mechanism.delta)
    assert 0.5 < mechanism.epsilon <= 1.0


def test_means_in_another_unit_are_not_taken() -> None:
    plan = plan_user_mean(user_mean("x", epsilon=1.0), space=Interval("x", 0.0, 1.0), users=3)
    releaser = plan.releaser
    assert isinstance(releaser, UserMeanMessages)
    block = SimpleNamespace(means=np.zeros((3, 1), dtype=np.int64), exponents=(releaser.exponents[0] - 1,))
    with pytest.raises(InternalError, match="another unit"):
        releaser.release(iter([block]), users=3, keep_exact=False)
