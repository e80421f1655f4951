"""The local ways: output laws enumerated, the theory's predictions and simulations, coverage, planted faults."""

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats

from emdp.base.errors import InternalError, UsageError
from emdp.mechanisms.scalar.laplace import LaplaceScalar
from emdp.mechanisms.scalar.one_bit import OneBitScalar
from emdp.mechanisms.user_mean.base import UserMeanMechanism, UserMeanSetting
from emdp.mechanisms.user_mean.local import BudgetSplit, LocalUserMean, OneRound, UserSplit, local_candidates
from emdp.mechanisms.user_mean.range_bins import RangeBins
from emdp.mechanisms.weights import TOTAL
from emdp.testing import seeded

Integers = npt.NDArray[np.int64]
EXPONENT = 40

cached_bit = lru_cache(OneBitScalar)
# The same randomizer, built once for each interval: enumerations ask for it thousands of times.


def theory(users: int, records: int, epsilon: float, *, bound: float = 50, gamma: float = 0.05) -> UserMeanSetting:
    return UserMeanSetting(users, -bound, bound, epsilon, model="local", spread=1.0, records=records, failure=2 * gamma)


def fixed(means: npt.ArrayLike) -> Integers:
    return np.rint(np.ldexp(np.asarray(means, dtype=np.float64), EXPONENT)).astype(np.int64)


@lru_cache
def bit_law(scalar: OneBitScalar, value: float) -> dict[int, Fraction]:
    """Return the law of one bit, from its integers."""
    inside = min(max(Fraction(value), Fraction(scalar.low)), Fraction(scalar.high))
    place = (inside - Fraction(scalar.low)) / (Fraction(scalar.high) - Fraction(scalar.low))
    kept = Fraction(scalar._kept, TOTAL)
    plus = (1 - kept) + (2 * kept - 1) * place
    return {1: plus, -1: 1 - plus}


@lru_cache
def symbol_law(mechanism: BudgetSplit | UserSplit, value: float) -> dict[int, Fraction]:
    """Return the law of the message about a bin."""
    oracle = mechanism.stage.oracle
    places = mechanism.stage.bins.place(fixed([value]), EXPONENT)
    inside = set(oracle._inside_symbols(np.repeat(places, oracle.inside), np.arange(oracle.inside)).tolist())
    p = oracle.chances[0] / oracle.inside
    q = (1 - oracle.chances[0]) / oracle.outside
    return {symbol: p if symbol in inside else q for symbol in range(oracle.outputs)}


@lru_cache
def window_of(mechanism: BudgetSplit | UserSplit, symbols: tuple[int, ...]) -> tuple[float, float]:
    """Return the interval after some messages, by plain arithmetic."""
    rows = mechanism.stage.bins.count
    shares = [sum((1 - 2 * (s & 1)) * (-1) ** ((x & (s >> 1)).bit_count()) for s in symbols) for x in range(rows)]
    return mechanism.stage.bins.window(shares.index(max(shares)))


def joint_law(mechanism: BudgetSplit, values: tuple[float, ...]) -> dict[tuple[tuple[int, ...], ...], Fraction]:
    """Return the law of all messages of both rounds, sender by sender."""
    law: dict[tuple[tuple[int, ...], ...], Fraction] = {}
    first = [symbol_law(mechanism, value) for value in values]
    for symbols in itertools.product(*first):
        chance = math.prod(each[symbol] for each, symbol in zip(first, symbols, strict=True))
        scalar = mechanism.scalar(*window_of(mechanism, symbols), mechanism.second)
        assert isinstance(scalar, OneBitScalar)
        second = [bit_law(scalar, value) for value in values]
        for bits in itertools.product(*second):
            law[symbols, bits] = chance * math.prod(each[bit] for each, bit in zip(second, bits, strict=True))
    return law


def worst_log_ratio(one: dict[object, Fraction], other: dict[object, Fraction]) -> float:
    return max(math.log(one[key] / other[key]) for key in one)


def small(users: int, epsilon: float = 1.5) -> UserMeanSetting:
    # Five bins of 2 tau = 2 on [0, 10].
    setting = UserMeanSetting(users, 0.0, 10.0, epsilon, model="local", spread=1.0, failure=0.5)
    spread = 1.0 / setting.radius if setting.radius else 1.0
    return UserMeanSetting(users, 0.0, 10.0, epsilon, model="local", spread=spread, failure=0.5)


class TestOutputLaw:
    VALUES = (0.0, 0.7, 2.0, 4.9, 5.1, 8.0, 10.0, 12.0)

    def test_one_user_is_pure(self) -> None:
        mechanism = BudgetSplit(setting=small(1), first=0.75, second=0.75, scalar=cached_bit)
        assert mechanism.setting.bins.count == 5
        laws = {value: joint_law(mechanism, (value,)) for value in self.VALUES}
        assert all(sum(law.values()) == 1 for law in laws.values())
        worst = max(worst_log_ratio(laws[x], laws[y]) for x, y in itertools.permutations(self.VALUES, 2))
        assert worst <= mechanism.epsilon <= 1.5
        assert worst > 0.95 * mechanism.epsilon

    def test_two_users_are_pure(self) -> None:
        """One user of two changes; messages are seen with their senders."""
        mechanism = BudgetSplit(setting=small(2), first=0.9, second=0.6, scalar=cached_bit)
        values = (0.0, 5.1, 10.0)
        worst = max(
            worst_log_ratio(joint_law(mechanism, (x, z)), joint_law(mechanism, (y, z)))
            for z in values
            for x, y in itertools.permutations(values, 2)
        )
        assert worst <= mechanism.epsilon <= 1.5
        assert worst > 0.95 * mechanism.epsilon

    @pytest.mark.slow
    @pytest.mark.parametrize(("values", "runs"), [((9.5,), 3000), ((9.5, 9.5), 1500)])
    def test_releases_have_this_law(self, values: tuple[float, ...], runs: int) -> None:
        def law(part: float) -> Counter[tuple[float, int]]:
            mechanism = BudgetSplit(setting=small(len(values)), first=2.0 * part, second=2.0 * part, scalar=cached_bit)
            found: Counter[tuple[float, int]] = Counter()
            for (symbols, bits), chance in joint_law(mechanism, values).items():
                found[window_of(mechanism, symbols)[0], sum(bits)] += chance
            return found

        mechanism = BudgetSplit(setting=small(len(values)), first=2.0, second=2.0, scalar=cached_bit)
        found: Counter[tuple[float, int]] = Counter()
        with seeded(8):
            for _ in range(runs):
                release = mechanism.release(iter([fixed(values)]), EXPONENT, 0)
                scalar = cached_bit(*release.range, mechanism.second)
                zero, one = scalar.estimate(0, len(values)), scalar.estimate(1, len(values))
                found[release.range[0], round((release.value - zero) / (one - zero))] += 1
        assert set(found) <= set(law(1.0))

        def p_value(part: float) -> float:
            counts, chances = zip(
                *((found[key], runs * float(chance)) for key, chance in law(part).items()), strict=True
            )
            return float(scipy.stats.chisquare(counts, chances).pvalue)

        assert p_value(1.0) > 1e-9
        assert p_value(0.7) < 1e-9
        assert p_value(1.3) < 1e-9

    def test_split_users_are_pure(self) -> None:
        """Whoever is dealt into either round, both ways of dealing two users."""
        mechanism = UserSplit(setting=small(2), first=1.5, second=1.5, chosen=1, scalar=cached_bit)

        def law(values: tuple[float, float]) -> dict[object, Fraction]:
            found: dict[object, Fraction] = {}
            for finder in (0, 1):
                for symbol, chance in symbol_law(mechanism, values[finder]).items():
                    scalar = cached_bit(*window_of(mechanism, (symbol,)), mechanism.second)
                    for bit, other in bit_law(scalar, values[1 - finder]).items():
                        found[finder, symbol, bit] = chance * other / 2
            return found

        values = (0.0, 3.0, 5.1, 10.0)
        worst = max(
            max(worst_log_ratio(law((x, z)), law((y, z))), worst_log_ratio(law((z, x)), law((z, y))))
            for z in values
            for x, y in itertools.permutations(values, 2)
        )
        assert worst <= mechanism.epsilon <= 1.5
        assert worst > 0.99 * mechanism.epsilon

    def test_noise_for_two_tau_is_caught(self) -> None:
        """Round two spans 6 tau: noise as if it were 2 tau costs three times its epsilon."""
        setting = small(1)
        low, high = setting.middle_window
        assert high - low == pytest.approx(6 * setting.bins.radius)
        sound = LaplaceScalar(low, high, 0.75)
        reach = sound._steps / sound._scale
        assert reach <= 0.75
        narrow = LaplaceScalar(low, low + 2 * setting.bins.radius, 0.75)
        # Two users at the ends of the interval, noise of the narrow law's width.
        widths = (high - low) / (float(narrow._weight) * narrow._scale)
        assert widths == pytest.approx(3 * 0.75, rel=1e-6)
        assert 0.75 + widths > setting.epsilon


class TestPredictions:
    @pytest.mark.parametrize(
        ("setting", "one_bit", "laplace", "direct"),
        [
            (theory(2000, 100, 2.0), "0.069", "0.090", "1.468"),
            (theory(500, 100, 2.0), "0.129", "0.169", "2.936"),
            (theory(500, 100, 1.0), "0.244", "0.338", "4.839"),
            (theory(2000, 100, 1.0), "0.130", "0.180", "2.419"),
            (theory(2000, 10**4, 1.0), "0.0130", "0.0180", "2.419"),
            (theory(20_000, 100, 1.0, bound=10, gamma=0.01), "0.0478", "0.0662", "0.1530"),
            (theory(20_000, 10**4, 1.0, bound=10, gamma=0.01), "0.0048", "0.0066", "0.1530"),
        ],
    )
    def test_theory(self, setting: UserMeanSetting, one_bit: str, laplace: str, direct: str) -> None:
        """local-shuffle-userlevel.md 2.1, predicted RMSE of simulations, to the printed digits."""
        half = setting.epsilon / 2
        for scalar, printed in ((OneBitScalar, one_bit), (LaplaceScalar, laplace)):
            found = BudgetSplit(setting=setting, first=half, second=half, scalar=scalar).deviation
            assert f"{found:.{len(printed) - 2}f}" == printed
        found = OneRound(setting=setting, second=setting.epsilon, scalar=OneBitScalar).deviation
        assert f"{found:.{len(direct) - 2}f}" == direct

    @pytest.mark.parametrize(("epsilon", "chosen", "printed"), [(1.0, 727, "0.0865"), (2.0, 278, "0.0451")])
    def test_user_split(self, epsilon: float, chosen: int, printed: str) -> None:
        way = UserSplit(
            setting=theory(2000, 100, epsilon), first=epsilon, second=epsilon, chosen=chosen, scalar=OneBitScalar
        )
        assert f"{way.deviation:.4f}" == printed

    def test_failure_is_gamma_and_a_wrong_bin(self) -> None:
        way = BudgetSplit(setting=theory(2000, 100, 2.0), first=1.0, second=1.0)
        assert way.missed_range == 0.05 + way.stage.wrong_bin(2000)
        assert way.users_needed == way.stage.users_needed(0.05)
        assert way.expected_error > way.deviation

    def test_even_and_tuned(self) -> None:
        """Tuning never loses, and splitting users wins below epsilon of 3 (local-shuffle-userlevel.md 2.1)."""
        for epsilon in (0.5, 1.0, 2.0):
            one, even, tuned, users = local_candidates(theory(20_000, 100, epsilon), epsilon, OneBitScalar)
            assert users.expected_error < tuned.expected_error < even.expected_error < one.expected_error
            assert all(way.epsilon <= epsilon for way in (one, even, tuned, users))
            assert min(way.epsilon for way in (one, even, tuned, users)) > epsilon * (1 - 1e-12)


def simulate(
    mechanism: UserMeanMechanism, centre: float, spread: float, runs: int
) -> tuple[npt.NDArray[np.float64], float]:
    """Return the errors of some releases against the users' own mean, and how often a 90 % interval held it."""
    generator, errors, held = np.random.default_rng(9), [], 0
    for _ in range(runs):
        values = fixed(np.clip(generator.normal(centre, spread, mechanism.setting.users), -50, 50))
        release = mechanism.release(iter(np.array_split(values, 3)), EXPONENT, 0)
        truth = float(np.ldexp(values.astype(np.float64), -EXPONENT).mean())
        errors.append(float(release.value) - truth)
        low, high = release.interval(0.9)
        held += low <= truth <= high
    return np.array(errors), held / runs


def chi_squared(errors: npt.NDArray[np.float64], deviation: float) -> float:
    """Return a two-sided p-value for the size of errors."""
    statistic = float((errors**2).sum()) / deviation**2
    return 2 * min(scipy.stats.chi2.cdf(statistic, len(errors)), scipy.stats.chi2.sf(statistic, len(errors)))


WAYS = {
    "one round": lambda s: OneRound(setting=s, second=s.epsilon, scalar=OneBitScalar),
    "budget": lambda s: BudgetSplit(setting=s, first=s.epsilon / 2, second=s.epsilon / 2, scalar=OneBitScalar),
    "Laplace": lambda s: BudgetSplit(setting=s, first=s.epsilon / 2, second=s.epsilon / 2, scalar=LaplaceScalar),
    "users": lambda s: UserSplit(setting=s, first=s.epsilon, second=s.epsilon, chosen=278, scalar=OneBitScalar),
}


class TestSimulations:
    """B = 50, n = 2000, m = 100, epsilon0 = 2: as many runs as in the theory."""

    @pytest.mark.slow
    @pytest.mark.parametrize("way", WAYS)
    def test_size_of_errors_with_power(self, way: str) -> None:
        mechanism = WAYS[way](theory(2000, 100, 2.0))
        # At the middle of a bin, where one bit has its largest variance.
        centre = mechanism.setting.bins.low + 121 * mechanism.setting.bins.radius if way != "one round" else 0.0
        with seeded(10):
            errors, held = simulate(mechanism, centre, 0.1, 400)
        assert chi_squared(errors, mechanism.deviation) > 1e-9
        assert chi_squared(errors, 0.7 * mechanism.deviation) < 1e-9
        assert chi_squared(errors, 1.3 * mechanism.deviation) < 1e-9
        assert scipy.stats.binom.cdf(round(400 * held), 400, 0.9) > 1e-9
        assert abs(errors.mean()) < 6 * mechanism.deviation / math.sqrt(400)

    @pytest.mark.full
    @pytest.mark.parametrize(
        ("way", "printed"), [("budget", 0.070), ("Laplace", 0.087), ("one round", 1.34), ("users", 0.043)]
    )
    def test_theory_in_full(self, way: str, printed: float) -> None:
        """local-shuffle-userlevel.md 2.1: 400 runs there, 2,000 here, centres uniform on [-45, 45]."""
        mechanism, errors = WAYS[way](theory(2000, 100, 2.0)), []
        generator = np.random.default_rng(11)
        with seeded(11):
            for _ in range(100):
                errors.append(simulate(mechanism, generator.uniform(-45, 45), 0.1, 20)[0])
        found = math.sqrt(float(np.square(errors).mean()))
        # 400 runs have a standard error of 3.5 %.
        assert found == pytest.approx(printed, rel=0.12)
        assert found <= mechanism.deviation * 1.06

    def test_too_few_users_miss_the_range(self) -> None:
        """n = 500, epsilon0 = 1, users half in either of two bins: fails at times, and is known to beforehand."""
        mechanism = WAYS["budget"](theory(500, 100, 1.0))
        edge = -50 + 150 * mechanism.setting.bins.radius
        assert mechanism.missed_range == 1.0
        assert mechanism.users_needed > 1500
        with seeded(12):
            errors, held = simulate(mechanism, edge, 0.1, 200)
        assert held == 1.0
        assert 0 < np.mean(np.abs(errors) > 2.0) < 0.25

    def test_heterogeneous_users_show_in_near(self) -> None:
        setting = theory(20_000, 100, 2.0)
        mechanism = WAYS["budget"](setting)
        generator = np.random.default_rng(13)
        with seeded(13):
            alike = mechanism.release(iter([fixed(generator.normal(5, 0.1, 20_000))]), EXPONENT, 0)
            unlike = mechanism.release(iter([fixed(generator.normal(5, 2.0, 20_000))]), EXPONENT, 0)
        assert alike.near > 0.9
        assert unlike.near < 0.75
        assert alike.near_error < 0.03
        covering = UserMeanSetting(20_000, -50, 50, 2.0, model="local", spread=1.0, between=2.0, records=100)
        assert covering.radius == pytest.approx(math.hypot(2.0, 0.1) * math.sqrt(2 * math.log(4e4 / 0.005)))


class TestUsers:
    def test_who_never_comes_counts_with_neutral(self) -> None:
        setting = theory(3000, 100, 20.0)
        for mechanism in local_candidates(setting, 20.0):
            with seeded(14):
                release = mechanism.release(iter([fixed(np.full(1500, 7.0))]), EXPONENT, int(fixed([7.2])[0]))
            assert float(release.value) == pytest.approx(7.1, abs=6 * mechanism.deviation)

    @pytest.mark.parametrize("way", WAYS)
    def test_more_users_than_there_are(self, way: str) -> None:
        with pytest.raises(InternalError):
            WAYS[way](theory(2000, 100, 2.0)).release(iter([np.zeros(2001, dtype=np.int64)]), EXPONENT, 0)

    def test_far_values_do_not_raise(self) -> None:
        mechanism = WAYS["budget"](theory(2000, 100, 2.0))
        values = np.resize(np.array([-(2**63), 2**63 - 1, 0], dtype=np.int64), 2000)
        assert -50 <= mechanism.release(iter([values]), EXPONENT, 0).range[0] < 50

    def test_dealing_does_not_look_at_the_order(self) -> None:
        """The first users are in round one as often as the last."""
        setting = theory(2000, 100, 2.0)
        mechanism = WAYS["users"](setting)
        values = fixed(np.append(np.full(1000, -40.0), np.full(1000, 40.0)))
        with seeded(15):
            centres = [sum(mechanism.release(iter([values]), EXPONENT, 0).range) > 0 for _ in range(200)]
        assert 60 < sum(centres) < 140


class TestRefusals:
    def test_two_rounds_need_three_bins(self) -> None:
        few = UserMeanSetting(20_000, -10, 10, 1.0, model="local", spread=1.0)
        assert few.bins.count == 2
        for setting in (few, UserMeanSetting(100, 0.0, 1.0, 1.0, model="local")):
            assert len(local_candidates(setting, 1.0)) == 1
            with pytest.raises(UsageError, match="three bins"):
                BudgetSplit(setting=setting, first=0.5, second=0.5)

    @pytest.mark.parametrize("chosen", [0, 2000])
    def test_both_rounds_need_users(self, chosen: int) -> None:
        with pytest.raises(UsageError, match="chosen"):
            UserSplit(setting=theory(2000, 100, 2.0), first=2.0, second=2.0, chosen=chosen)

    def test_interval_needs_room_for_the_failure(self) -> None:
        mechanism = WAYS["budget"](theory(2000, 100, 2.0))
        with seeded(16):
            release = mechanism.release(iter([fixed(np.full(2000, 3.0))]), EXPONENT, 0)
        assert release.interval(0.96) == (-50.0, 50.0)
        low, high = release.interval(0.9)
        assert release.range[0] <= low < 3.0 < high <= release.range[1]

    def test_facts(self) -> None:
        for mechanism in local_candidates(theory(2000, 100, 2.0), 2.0):
            assert isinstance(mechanism, LocalUserMean)
            assert dict(mechanism.facts("user"))["mean"]
            assert (mechanism.slack_epsilon, mechanism.slack_delta, mechanism.is_exact) == (0.0, 0.0, False)
            assert "LSU" in mechanism.theorem
            assert isinstance(mechanism.setting.bins, RangeBins)
