"""What an adversarial reading of the shuffle accountants and of the search for frequent strings found to hold.

Windows and grids are made narrow on purpose, so that what lies beyond them counts; randomizers are the extreme points
of all epsilon0-LDP ones, among which the worst one is; and exact laws come from decimals of 50 digits.
"""

import itertools
import math
from collections.abc import Iterator
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linprog

import emdp
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.strings.stable_histogram import StableHistogram
from emdp.privacy.shuffle import binary as shuffle_two
from emdp.privacy.shuffle import renyi_law as shuffle_renyi_law
from emdp.privacy.shuffle import renyi_product as shuffle_renyi_product
from emdp.privacy.shuffle.binary import binary_delta, binary_epsilon, pair_epsilon
from emdp.privacy.shuffle.clone_pair import delta_step
from emdp.privacy.shuffle.renyi import clone_law, sampled_tilt
from emdp.privacy.shuffle.renyi_product import product_epsilon
from emdp.privacy.shuffle.renyi_rounds import ShuffleRound, binary_round_epsilon
from emdp.privacy.shuffle.users import shuffle_epsilon, shuffle_epsilon0, shuffle_total
from emdp.questions.reading import TextColumn
from emdp.spaces import Interval
from emdp.tables.engines.duckdb.items import text_blocks
from emdp.tables.table import read

Array = np.ndarray
Pair = tuple[Array, Array]


def extreme_laws(inputs: int, epsilon0: float, count: int, seed: int) -> Iterator[Array]:
    """Yield random vertices, and means of two, of all epsilon0-LDP randomizers of so many inputs: a row an input.

    The columns of such a randomizer are sums of vectors of the two values 1 and e^epsilon0, times a weight.
    """
    columns = np.array(list(itertools.product([1.0, math.exp(epsilon0)], repeat=inputs)))
    rng, last = np.random.default_rng(seed), np.zeros(len(columns))
    for number in range(count):
        goal = -rng.random(len(columns)) * columns.sum(axis=1) ** (number % 3)
        weights = np.maximum(linprog(goal, A_eq=columns.T, b_eq=np.ones(inputs), bounds=(0, None)).x, 0.0)
        mixed = weights if number % 2 == 0 else 0.5 * (weights + last)
        last = weights
        yield (columns[mixed > 1e-12] * mixed[mixed > 1e-12, None]).T


def two_messages(one: Array, two: Array) -> Array:
    """The law of the multiset of two messages."""
    both = np.outer(one, two)
    both = both + both.T
    upper = np.triu_indices(len(one))
    return np.where(upper[0] == upper[1], 0.5, 1.0) * both[upper]


def hockey_stick(first: Array, second: Array, epsilon: float) -> float:
    return float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum())


@pytest.mark.parametrize("epsilon0", [0.3, 1.5, 4.0])
def test_no_extreme_randomizer_of_two_users_is_above_the_clone_pair(epsilon0: float) -> None:
    law, closest = clone_law(2, epsilon0, "any", None), 0.0
    for laws in extreme_laws(3, epsilon0, 24, seed=1):
        own, other = two_messages(laws[0], laws[2]), two_messages(laws[1], laws[2])
        for first, second in ((own, other), (other, own)):
            for part in (0.0, 0.3, 0.8, 0.99):
                bound = delta_step(part * epsilon0, others=1, tilt=epsilon0, clone_probability=math.exp(-epsilon0))
                reached = hockey_stick(first, second, part * epsilon0)
                assert reached <= bound * (1 + 1e-12)
                closest = max(closest, reached / bound)
            for order in (1.25, 2.0, 20.0):
                divergence = math.log(float((first**order * second ** (1 - order)).sum())) / (order - 1)
                assert divergence <= law.renyi(order)
    assert closest > 0.45


@pytest.mark.parametrize("epsilon0", [0.3, 1.5, 4.0])
def test_no_extreme_randomizer_of_a_secret_sample_is_above_its_pair(epsilon0: float) -> None:
    # two of three users send; the third user's two laws are rows 0 and 1
    tilt, closest = sampled_tilt(epsilon0, 3, 2), 0.0
    law = clone_law(3, epsilon0, "any", 2)
    for laws in extreme_laws(4, epsilon0, 16, seed=2):
        rest = two_messages(laws[2], laws[3])
        own, other = ((rest + two_messages(row, laws[2]) + two_messages(row, laws[3])) / 3 for row in laws[:2])
        for first, second in ((own, other), (other, own)):
            for part in (0.0, 0.3, 0.8):
                bound = delta_step(part * tilt, others=1, tilt=tilt, clone_probability=math.exp(-epsilon0))
                reached = hockey_stick(first, second, part * tilt)
                assert reached <= bound
                closest = max(closest, reached / bound)
            divergence = math.log(float((first**2 / second).sum()))
            assert divergence <= law.renyi(2.0)
    assert closest > 0.4


@pytest.mark.parametrize("epsilon0", [0.5, 2.0])
def test_a_second_round_chosen_by_the_first_ones_outcome(epsilon0: float) -> None:
    pool: list[Pair] = []
    for laws in extreme_laws(3, epsilon0, 12, seed=3):
        own, other = two_messages(laws[0], laws[2]), two_messages(laws[1], laws[2])
        pool += [(own, other), (other, own)]
    law = clone_law(2, epsilon0, "any", None)
    for part in (0.1, 0.5, 0.8):
        epsilon = 2 * epsilon0 * part

        def best_after(p: float, q: float, level: float = math.exp(epsilon)) -> float:
            return max(float(np.maximum(p * one - level * q * two, 0.0).sum()) for one, two in pool)

        reached = max(sum(best_after(p, q) for p, q in zip(*pair, strict=True)) for pair in pool)
        assert product_epsilon([(law, 2)], reached) >= epsilon
        for method in shuffle_epsilon(epsilon0, 2, reached, 2).methods:
            assert method.epsilon is None or method.epsilon >= epsilon


def exact_pair(others: int, tilt: float) -> list[tuple[Decimal, Decimal]]:
    """The masses of the clone pair, in the decimals of the context."""
    clone, p = (-Decimal(tilt)).exp(), Decimal(tilt).exp()
    masses = []
    for count in range(others + 1):
        chance = math.comb(others, count) * clone**count * (1 - clone) ** (others - count)
        for a in range(count + 2):
            base = chance * math.comb(count + 1, a) * 2 / (Decimal(2) ** (count + 1) * (1 + p) * (count + 1))
            masses.append((base * (a * p + count + 1 - a), base * (a + (count + 1 - a) * p)))
    return masses


@pytest.mark.quarter
@pytest.mark.parametrize("others", [0, 1, 2, 7])
@pytest.mark.parametrize("tilt", [1e-8, 1e-3, 1.0, 12.0])
def test_rounding_is_outward_at_the_ends(others: int, tilt: float) -> None:
    clone, rest = math.exp(-tilt) * (1 - 4e-16), -math.expm1(-tilt)
    with localcontext() as context:
        context.prec = 50
        masses = exact_pair(others, tilt)

        def exact(epsilon: float) -> Decimal:
            level = Decimal(epsilon).exp()
            return sum((max(p - level * q, Decimal(0)) for p, q in masses), Decimal(0))

        for part in (0.0, 1e-9, 0.3, 0.99, 1 - 1e-10):
            bound, truth = (
                delta_step(part * tilt, others=others, tilt=tilt, clone_probability=clone),
                exact(part * tilt),
            )
            assert truth <= Decimal(bound) <= truth * (1 + Decimal("2e-8"))
        for delta in (0.5, 1e-3, 1e-12, 1e-30):
            found = pair_epsilon(tilt, others, clone, rest, delta)
            assert found == tilt or exact(found) <= Decimal(delta)
        law = shuffle_renyi_law.ratio_law(others, tilt, clone)
        for order in (1.125, 8.0, 1000.0):
            terms = (q * ((p / q).ln() * Decimal(order)).exp() for p, q in masses)
            divergence = sum(terms, Decimal(0)).ln() / Decimal(order - 1)
            assert Decimal(law.renyi(order)) >= divergence


def test_the_law_of_a_sample_is_the_mirrored_pair_of_those_who_send() -> None:
    for n, k, epsilon0 in ((3, 2, 1.0), (10, 8, 3.0), (40, 9, 0.5)):
        with localcontext() as context:
            context.prec = 30
            masses = exact_pair(k - 1, epsilon0)
        above = [(1 + k / n * (float(p / q) - 1), float(q)) for p, q in masses if p > q]
        ratios, chances = np.array([one for one, _ in above]), np.array([one for _, one in above])
        rest = 1 - float(chances.sum()) - float(chances @ ratios)
        for order in (1.5, 2.0, 8.0):
            moment = float(ratios**order @ chances) + float(ratios ** (1 - order) @ chances) + rest
            exact = math.log(moment) / (order - 1)
            assert exact * (1 - 1e-9) <= clone_law(n, epsilon0, "any", k).renyi(order) <= exact * 1.01


def whole_pair(n: int, epsilon0: float, rounds: int) -> Pair:
    """The ratios and second masses of the clone pair's product with itself, in doubles."""
    with localcontext() as context:
        context.prec = 30
        masses = exact_pair(n - 1, epsilon0)
    ratios, chances = np.array([float(p / q) for p, q in masses]), np.array([float(q) for _, q in masses])
    ratio, chance = ratios, chances
    for _ in range(rounds - 1):
        ratio, chance = np.outer(ratio, ratios).ravel(), np.outer(chance, chances).ravel()
    return ratio, chance


@pytest.mark.parametrize(("part", "rounds"), [(0.8, 2), (0.55, 3), (0.8, 4)])
def test_what_lies_beyond_a_narrow_window_of_losses_counts(
    part: float, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    n, epsilon0 = 3, 1.0
    law = clone_law(n, epsilon0, "any", None)
    ratio, chance = whole_pair(n, epsilon0, rounds)
    monkeypatch.setattr(shuffle_renyi_product, "_window", lambda laws, delta: part * rounds * epsilon0)
    monkeypatch.setattr(shuffle_renyi_product, "_HALF", 200)
    finite = 0
    for delta in np.geomspace(0.9, 0.02, 40):
        found = product_epsilon([(law, rounds)], float(delta))
        if found < math.inf:
            finite += found > 0
            assert float(np.maximum(ratio - math.exp(found), 0.0) @ chance) <= delta
    assert finite > 0


def test_what_lies_beyond_a_window_for_a_single_round_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    # The window cuts single losses and those of each power: of three rounds, the second is squared again.
    law = clone_law(2, 1.0, "any", None)
    ratio, chance = whole_pair(2, 1.0, 4)
    monkeypatch.setattr(shuffle_renyi_product, "_HALF", 200)
    for reach in (0.9, 0.99):
        monkeypatch.setattr(shuffle_renyi_product, "_window", lambda laws, delta, reach=reach: reach)
        for delta in (0.9, 0.8, 0.7, 0.6, 0.5):
            for spec in ([(law, 4)], [(law, 1)] * 4, [(law, 3), (law, 1)]):
                found = product_epsilon(spec, delta)
                if found < math.inf:
                    assert float(np.maximum(ratio - math.exp(found), 0.0) @ chance) <= delta


@pytest.mark.parametrize(("reach", "slack"), [(0.5, 0.0), (1.5, 1.0)])
def test_what_lies_beyond_a_narrow_window_of_counts_counts(
    reach: float, slack: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shuffle_renyi_law, "_REACH", reach)
    monkeypatch.setattr(shuffle_renyi_law, "_SLACK", slack)
    for others, tilt in ((0, 1.0), (4, 0.2), (30, 1.0), (60, 3.0)):
        with localcontext() as context:
            context.prec = 30
            masses = exact_pair(others, tilt)
        law = shuffle_renyi_law.ratio_law.__wrapped__(others, tilt, math.exp(-tilt) * (1 - 4e-16))
        ratios, chances = np.array([float(p / q) for p, q in masses]), np.array([float(q) for _, q in masses])
        for order in (1.25, 2.0, 16.0, 200.0):
            exact = math.log(float((ratios**order) @ chances)) / (order - 1)
            assert law.renyi(order) >= exact * (1 - 1e-12)


def sums_of_bits(zeros: int, ones: int, epsilon0: float) -> Pair:
    """The laws of the number of ones of two neighbours."""
    p, law = 1 / (math.exp(epsilon0) + 1), np.ones(1)
    for chance in [p] * zeros + [1 - p] * ones:
        law = np.convolve(law, [1 - chance, chance])
    return np.convolve(law, [p, 1 - p]), np.convolve(law, [1 - p, p])


def test_what_lies_beyond_a_narrow_window_of_bits_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffle_two, "_REACH", 1.0)
    monkeypatch.setattr(shuffle_two, "_COUNTS", 1.0)
    for zeros, ones, epsilon0 in ((60, 0, 1.0), (0, 60, 1.0), (25, 30, 2.0), (40, 3, 0.3)):
        first, second = sums_of_bits(zeros, ones, epsilon0)
        for part in (0.0, 0.1, 0.3, 0.6, 0.9, 0.99):
            exact = hockey_stick(first, second, part * epsilon0)
            assert binary_delta(part * epsilon0, zeros + ones + 1, epsilon0, ones) >= exact * (1 - 1e-12)


@pytest.mark.parametrize(("n", "epsilon0", "delta"), [(1200, 1.0, 1e-6), (900, 3.0, 1e-3)])
def test_every_number_of_ones_is_covered_by_a_smaller_count(
    n: int, epsilon0: float, delta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The certificate itself: for each t a count of at most t ones and n - 1 - t zeros that has delta at the result."""
    asked: list[shuffle_two._Count] = []
    sizes: list[tuple[int, int]] = []

    class Watched(shuffle_two._Count):
        def __init__(self, zeros: int, ones: int, epsilon0: float) -> None:
            super().__init__(zeros, ones, epsilon0)
            asked.append(self)
            sizes.append((zeros, ones))

    monkeypatch.setattr(shuffle_two, "_Count", Watched)
    shuffle_two._binary_epsilon.cache_clear()
    found = binary_epsilon(epsilon0, n, delta)
    shuffle_two._binary_epsilon.cache_clear()
    good = [size for size, count in zip(sizes, asked, strict=True) if count.delta(found) <= delta]
    assert len(good) < n // 2
    for ones in range(n):
        assert any(zeros <= n - 1 - ones and own <= ones for zeros, own in good)


def test_the_amplification_of_a_sample_by_hand() -> None:
    # Others alike: P - e^eps' Q = (k/n) (S_1 - e^eps S_0), so that neither the rate nor the inner delta can be less.
    for n, epsilon0 in ((4, 1.0), (10, 3.0), (3, 0.2)):
        k, (own, other) = 2, sums_of_bits(1, 0, epsilon0)
        first = k / n * own + (1 - k / n) * other
        for delta in (0.05, 0.02, 1e-3):
            found = binary_round_epsilon(ShuffleRound(epsilon0, n, "binary", k), delta)
            assert hockey_stick(first, other, found) <= delta
            inner = binary_epsilon(epsilon0, k, delta * n / k)
            pair = pair_epsilon(
                sampled_tilt(epsilon0, n, k), k - 1, math.exp(-epsilon0) * (1 - 4e-16), -math.expm1(-epsilon0), delta
            )
            assert found == pytest.approx(min(math.log1p(k / n * math.expm1(inner)), pair), rel=1e-5, abs=1e-12)


def test_rounds_that_no_shuffling_amplifies_count_in_full() -> None:
    # A message of one sampled user, and one above the accountants' reach, are seen as they are.
    parts = (ShuffleRound(0.5, 10**4, rounds=2), ShuffleRound(13.0, 10**4))
    for method in shuffle_total(parts, 1e-6).methods:
        assert method.epsilon is None or method.epsilon >= 13.0


def all_pairs(laws: Array, n: int) -> list[Pair]:
    """The laws of the releases of all neighbouring data of n users."""
    found = []
    for others in itertools.combinations_with_replacement(range(len(laws)), n - 1):
        rows = []
        for own in range(len(laws)):
            chances: dict[tuple[int, ...], float] = {}
            for sent in itertools.product(range(laws.shape[1]), repeat=n):
                key = tuple(sorted(sent))
                chance = math.prod(laws[user, message] for user, message in zip((*others, own), sent, strict=True))
                chances[key] = chances.get(key, 0.0) + chance
            rows.append(np.array([chances[key] for key in sorted(chances)]))
        found += list(itertools.permutations(rows, 2))
    return found


def subset_selection(inputs: int, size: int, epsilon0: float) -> Array:
    """The laws of subset selection."""
    sets = list(itertools.combinations(range(inputs), size))
    laws = np.array([[math.exp(epsilon0) if one in own else 1.0 for own in sets] for one in range(inputs)])
    return np.asarray(laws / laws.sum(axis=1, keepdims=True))


@pytest.mark.parametrize(("inputs", "size", "n"), [(3, 1, 2), (3, 1, 3), (4, 2, 2), (2, 1, 4)])
def test_the_inverse_is_safe_by_enumeration(inputs: int, size: int, n: int) -> None:
    for epsilon, delta in ((0.05, 0.2), (0.5, 0.1), (1.0, 0.01), (3.0, 1e-3)):
        strength = shuffle_epsilon0(epsilon, n, delta, randomizer="binary" if inputs == 2 else "any")
        assert strength >= epsilon
        reached = max(hockey_stick(*pair, epsilon) for pair in all_pairs(subset_selection(inputs, size, strength), n))
        assert reached <= delta * (1 + 1e-9)


def test_the_order_of_a_users_strings_is_theirs_alone() -> None:
    """Joint slots depend on the order of a user's strings, so other users' data must not move it."""
    histogram, counts = StableHistogram(2, 1.0, 1e-3, slots=2), np.ones(4, dtype=np.int64)
    bags = Bags(np.array([0, 4]), np.arange(4), counts)
    with emdp.testing.seeded(1):
        met = {tuple(histogram.draw_slots(bags).tolist()) for _ in range(60)}
    # Neighbours on the circle never meet, the others always do.
    assert met == {(1, 0, 1, 0), (0, 1, 0, 1)}
    own = ["d", "b", "a", None, "c", "aa", "\u00e9", "B"]
    for others in ([], list("gfedcba") * 40):
        every = pl.DataFrame(
            {"user": [1] * len(own) + [0] * len(others), "x": [0.5] * (len(own) + len(others)), "message": own + others}
        )
        for mixed in (every, every.reverse()):
            table = read(mixed, user="user", space=Interval("x", 0, 1), users=[0, 1])
            block = list(text_blocks(table, TextColumn("message", lower=False)).open())[-1]
            assert block.texts[int(block.offsets[-2]) :].to_list() == [None, "B", "a", "aa", "b", "c", "d", "\u00e9"]


@pytest.mark.parametrize(("slots", "epsilon", "delta"), [(2, 1.0, 0.05), (3, 4.0, 0.1), (4, 8.0, 1e-4)])
def test_whole_bags_by_enumeration(slots: int, epsilon: float, delta: float) -> None:
    """All slots before and after, strings of others that are rare, near the threshold or above it: at most delta."""
    histogram = StableHistogram(3, epsilon, delta, slots)
    tau, q, strings = histogram.private_threshold, math.exp(-1 / histogram.scale), 2
    far = 2 * tau + 4 * slots

    def law(count: int) -> Array:
        released = (1 - q) / (1 + q) * q ** np.abs(np.arange(tau, far) - count)
        above = q ** (far - count) / (1 + q)
        return np.array([1 - released.sum() - above, *released, above]) if count else np.eye(1, far - tau + 2)[0]

    own = [one for one in itertools.product(range(slots + 1), repeat=strings) if sum(one) <= slots]
    worst = 0.0
    for others in ((0, 0), (0, 1), (1, tau - 1), (0, tau + slots)):
        laws = [np.outer(*(law(rest + mine) for rest, mine in zip(others, one, strict=True))).ravel() for one in own]
        worst = max(worst, *(hockey_stick(one, two, epsilon) for one, two in itertools.permutations(laws, 2)))
    assert 0.3 * delta < worst <= delta * (1 + 1e-9)


ODD = [
    "abc",
    "ABC",
    "abc\0",
    "\0",
    "a\0b",
    "",
    "  ",
    "e\u0301t\u00e9",
    "\U0001f600",
    "\uffff",
    "\u202eabc",
    "\u0130",
    "'",
    "%",
]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"words": True},
        {"lower": False, "length": 3, "alphabet": "abc'\\-^]% "},
    ],
)
def test_odd_texts_fail_no_release(options: dict[str, object], tmp_path: Path) -> None:
    texts = [ODD[number % len(ODD)] if number % 2 else "abc" for number in range(1200)] + [None, "x" * 70_000]
    frame = pl.DataFrame({"user": [one * 7 % 600 for one in range(1202)], "x": [0.5] * 1202, "message": texts})
    table = read(frame, user="user", space=Interval("x", 0, 1), users=list(range(700)))
    session = emdp.Session(table, budget=emdp.UserDP(100, 1e-3), ledger=tmp_path / "x.ledger")
    asked: dict[str, object] = {"threshold": 0.2, "epsilon": 4.0, "delta": 1e-6, **options}
    answer = session.heavy_hitters("message", **asked)  # type: ignore[arg-type]
    assert set(answer.frame["value"]) <= {"abc"}
