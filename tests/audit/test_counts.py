"""Bounds from counts of messages: against all outcomes, over their intervals, and at 0.7 times the noise."""

import itertools
import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

from emdp.audit.counts import CountedMessages, CountedSet, _tails, above, best_levels, counted_sets
from emdp.privacy.shuffle.renyi_rounds import ShuffleRound
from emdp.privacy.shuffle.users import shuffle_epsilon0, shuffle_total

Floats = npt.NDArray[np.float64]


def law_of(users: int, each: int, p: float, q: float) -> tuple[Floats, Floats]:
    """Return the laws of the number of messages in the set on both tables, by all outcomes."""
    count = users * each
    laws = np.zeros((2, count + 1))
    for sent in itertools.product((0, 1), repeat=count):
        for table, own in enumerate((p, q)):
            chances = [p if place >= each else own for place in range(count)]
            laws[table, sum(sent)] += math.prod(one if bit else 1 - one for one, bit in zip(chances, sent, strict=True))
    return laws[0], laws[1]


def cases() -> Iterator[tuple[int, int, float, float]]:
    yield from itertools.product((1, 2, 4), (1, 2, 3), (0.05, 0.3), (0.3, 0.8))


@pytest.mark.parametrize(("users", "each", "p", "q"), [one for one in cases() if one[0] * one[1] <= 8])
def test_tails_are_those_of_all_outcomes(users: int, each: int, p: float, q: float) -> None:
    first, second = law_of(users, each, p, q)
    numbers = np.arange(users * each + 1)
    for is_below in (False, True):
        rise, least = _tails(users, each, (p, p, q, q), numbers, is_below=is_below)
        if q == p:
            assert (rise == 0.0).all()
            continue
        above, below = ([own[::-1].cumsum()[::-1], own.cumsum()][is_below] for own in (first, second))
        high, low = (above, below) if is_below else (below, above)
        assert np.exp(least) == pytest.approx(low)
        assert np.exp(rise) == pytest.approx(high / low)


def test_no_chances_within_their_intervals_have_a_smaller_loss() -> None:
    """The theorem's corner is the worst; with the other end of ``p`` for all others it would not be."""
    generator, wrong = np.random.default_rng(1), 0
    for _ in range(60):
        users, each = int(generator.integers(1, 60)), int(generator.integers(1, 5))
        low, high, second, most = np.sort(generator.uniform(0.01, 0.9, 4))
        numbers = np.arange(users * each + 1)
        middle = 0.5 * (low + high), 0.5 * (second + most)
        for is_below in (False, True):
            rise, least = _tails(users, each, (low, high, second, most), numbers, is_below=is_below)
            for p, q in ((low, second), (high, second), (low, most), (high, most), middle):
                own, reached = _tails(users, each, (p, p, q, q), numbers, is_below=is_below)
                seen = (own != 0.0) & (rise != 0.0)
                assert (own[seen] >= rise[seen] - 1e-9).all()
                assert (reached[seen] >= least[seen] - 1e-9).all()
            end = high if is_below else low
            wrong += bool(
                (_tails(users, each, (end, end, second, second), numbers, is_below=is_below)[0] > rise + 1e-3).any()
            )
    assert wrong > 90


def expected(own: float, each: int, draws: int) -> CountedSet:
    """Return what is expected to be counted of signs of this strength."""
    p = 1.0 / (1.0 + math.exp(own))
    hits = (round(p * draws * each), round((1.0 - p) * draws * each))
    return CountedSet(each, hits, hits, (draws * each, draws * each))


@pytest.mark.quarter
@pytest.mark.parametrize("signs", [(1,), (8,), (1, 3)])
@pytest.mark.parametrize("users", [4, 1000])
def test_seven_tenths_of_the_noise_is_found_among_any_number_of_users(users: int, signs: tuple[int, ...]) -> None:
    """Known answer of the power: signs of a strength that mixing brings to epsilon 1, and the same by 0.7 times it."""
    strength, delta, draws = shuffle_epsilon0(1.0, users, 1e-6, sum(signs), randomizer="binary"), 1e-6, 1_000_000
    claimed = shuffle_total((ShuffleRound(strength, users, "binary", rounds=sum(signs)),), delta).epsilon

    def found(own: float) -> float:
        sets = tuple(expected(own, each, draws) for each in signs)
        (finding,) = CountedMessages(users, sets, draws).losses([delta], 1e-6)
        return finding.epsilon

    assert 0.6 * claimed < found(strength) <= claimed
    assert found(strength / 0.7) > claimed
    assert found(strength * 0.7) < 0.75 * claimed


def test_a_bound_is_wrong_no_more_often_than_asked() -> None:
    """Of randomized response of 1 among 3 users, whose loss at delta 0 is 1: with a failure of a fifth."""
    p, wrong, trials = 1.0 / (1.0 + math.e), 0, 400
    generator = np.random.default_rng(2)
    for _ in range(trials):
        chosen, judged = (tuple(int(generator.binomial(2000, own)) for own in (p, 1.0 - p)) for _ in range(2))
        own = CountedSet(1, chosen, judged, (2000, 2000))  # type: ignore[arg-type]
        (finding,) = CountedMessages(3, (own,), 4000).losses([0.0], 0.2)
        wrong += finding.epsilon > 1.0
    # four bounds share the failure, of which not all are in use here
    assert wrong <= 0.2 * trials


def test_a_set_that_is_as_likely_on_both_tables_tells_nothing() -> None:
    own = CountedSet(2, (500, 500), (5000, 4990), (1000, 10_000))
    (finding,) = CountedMessages(100, (own,), 11_000).losses([1e-6], 0.05)
    assert (finding.epsilon, finding.test) == (0.0, "no event stood out")
    # chosen by luck, and not seen again
    lucky = CountedSet(2, (100, 900), (5000, 4990), (1000, 10_000))
    (finding,) = CountedMessages(100, (lucky,), 11_000).losses([0.0], 0.05)
    assert finding.epsilon == 0.0


def test_who_is_drawn_in_secret_loses_less() -> None:
    own = expected(2.0, 1, 500_000)
    whole, drawn = (CountedMessages(50, (own,), 1, share).losses([0.0], 1e-6)[0].epsilon for share in (1.0, 0.5))
    assert drawn == pytest.approx(math.log1p(0.5 * math.expm1(whole)), rel=1e-6)


def test_messages_are_counted_where_their_ratio_tells_most() -> None:
    """Of k-ary responses the other items' tell nothing, though their ratio, learnt from draws, may be above 1."""
    first = np.array([[1.02]] * 60 + [[0.1]] * 35 + [[9.0]] * 5)
    second = np.array([[1.02]] * 60 + [[0.1]] * 5 + [[9.0]] * 35)
    (level,) = best_levels([first, second], (0,))
    assert level > 1.02
    assert above(second, (0,), [level]) == [35]
    (own,) = counted_sets(lambda table, count: [count * (table + 1)], (0,), 11)
    assert own == CountedSet(1, (6, 12), (5, 10), (6, 5))
