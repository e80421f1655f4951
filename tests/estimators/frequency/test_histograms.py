"""The averaged histogram and one message a user: exact sums, sensitivity by brute force, slack, absent users."""

import itertools
import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest

from emdp.estimators.frequency.histograms import HistogramRelease, OracleRelease, _on_grid, share_bits
from emdp.estimators.frequency.items import plan_item_frequencies
from emdp.mechanisms import LaplaceMechanism
from emdp.mechanisms.oracles.krr import KRROracle
from emdp.mechanisms.oracles.subset import SubsetOracle
from emdp.questions.item_frequencies import ItemFrequencies
from emdp.questions.price import Price
from emdp.spaces import Categories, Clusters, Distances, Grid, Interval, Space, finite_items
from emdp.testing import seeded
from emdp.transport.kr_norm import kr_norm


class Block(NamedTuple):
    users: np.ndarray[Any, Any]
    offsets: np.ndarray[Any, Any]
    codes: np.ndarray[Any, Any]
    counts: np.ndarray[Any, Any]


Bag = dict[int, int]


def block_of(bags: list[Bag], first: int = 0) -> Block:
    """A block of users with these bags."""
    sizes = [len(bag) for bag in bags]
    codes = [code for bag in bags for code in sorted(bag)]
    counts = [bag[code] for bag in bags for code in sorted(bag)]
    return Block(
        np.arange(first, first + len(bags)),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.array(codes, dtype=np.int64),
        np.array(counts, dtype=np.int64),
    )


def silent(items: int, users: int, *, neutral: int = 0, sensitivity: float | None = None) -> HistogramRelease:
    """A release whose noise is far below a step of the shares, so that what is released is the rounded statistic."""
    mechanism = LaplaceMechanism(
        sensitivity=2.0 / users if sensitivity is None else sensitivity,
        alpha=1.0,
        dimension=items,
        statistic_error=math.ldexp(1.0, -share_bits(users)) / users,
        magnitude=1.0,
    )
    return HistogramRelease(mechanism, neutral, share_bits(users))


class Noiseless(HistogramRelease):
    """The same release without its noise."""

    def _draw(self, items: int) -> np.ndarray[Any, Any]:
        return np.zeros(items, dtype=np.int64)


def rounded(bags: list[Bag], items: int, users: int, cuts: tuple[int, ...] = ()) -> np.ndarray[Any, Any]:
    """The statistic of some users on the mechanism's grid, in blocks that end at ``cuts``."""
    release = Noiseless(silent(items, users).mechanism, 0, share_bits(users))
    ends = [0, *cuts, len(bags)]
    blocks = [block_of(bags[a:b], a) for a, b in itertools.pairwise(ends) if b > a]
    return release.release(iter(blocks), users=users, keep_exact=False)[0][0]


def exact_average(bags: list[Bag], items: int, users: int, neutral: int = 0) -> list[Fraction]:
    """The averaged histogram in fractions, absent users with the neutral item."""
    shares = [Fraction(0)] * items
    for bag in bags:
        total = sum(bag.values())
        for code, count in bag.items():
            shares[code] += Fraction(count, total)
    shares[neutral] += users - len(bags)
    return [share / users for share in shares]


def random_bags(rng: np.random.Generator, users: int, items: int) -> list[Bag]:
    bags = []
    for _ in range(users):
        codes = rng.choice(items, size=int(rng.integers(1, items + 1)), replace=False)
        bags.append({int(code): int(rng.integers(1, 50)) for code in codes})
    return bags


@pytest.mark.parametrize("users", [1, 3, 100, 511, 600, 5000])
def test_bits_leave_room_and_shares_are_as_near_as_is_claimed(users: int) -> None:
    # One user's share in doubles and rounded, against the exact fraction; and the largest sum fits.
    bits = share_bits(users)
    assert users << bits < 2**62
    worst = Fraction(0)
    rng = np.random.default_rng(users)
    for size in [3, 7, 49, 1001, *rng.integers(2, 10**9, 400).tolist()]:
        for count in (1, size // 3 or 1, size - 1):
            share = int(np.rint(np.ldexp(np.int64(count) / np.int64(size), bits)))
            worst = max(worst, abs(Fraction(share, 2**bits) - Fraction(int(count), int(size))))
    assert worst <= Fraction(1, 2**bits)
    assert worst > Fraction(1, 2 ** (bits + 3))


def test_sums_do_not_depend_on_blocks_or_order() -> None:
    rng = np.random.default_rng(3)
    bags = random_bags(rng, 40, 6)
    whole = rounded(bags, 6, 60)
    for cuts in ((1,), (7, 20), tuple(range(1, 40))):
        assert np.array_equal(rounded(bags, 6, 60, cuts), whole)
    for _ in range(5):
        mixed = [bags[place] for place in rng.permutation(40)]
        assert np.array_equal(rounded(mixed, 6, 60, (11,)), whole)


@pytest.mark.parametrize("users", [1, 7, 64, 300, 1000])
def test_the_statistic_is_within_the_claimed_error_and_half_a_step(users: int) -> None:
    rng = np.random.default_rng(users)
    bags = random_bags(rng, max(1, users - users // 5), 5)
    mechanism = silent(5, users).mechanism
    found = rounded(bags, 5, users)
    # All users' errors add up here; one user's is what the slack counts.
    bound = Fraction(mechanism.grid) / 2 + users * Fraction(mechanism.statistic_error)
    for value, exact in zip(found.tolist(), exact_average(bags, 5, users), strict=True):
        assert abs(Fraction(value) - exact) <= bound + Fraction(1, 2**54)


def test_rounding_is_to_the_nearest_step() -> None:
    assert _on_grid([1, 2, 3, 5], 4, 0).tolist() == [0, 1, 1, 1]
    assert _on_grid([1, 2, 3, 5], 3, 2).tolist() == [1, 3, 4, 7]
    assert _on_grid([1, 2, 3, 5, 24], 4, -1).tolist() == [0, 0, 0, 1, 3]
    for shift in (-3, 0, 4):
        values = list(range(0, 4000, 37))
        found = _on_grid(values, 7, shift).tolist()
        for value, step in zip(values, found, strict=True):
            assert abs(Fraction(value) * Fraction(2) ** shift / 7 - step) <= Fraction(1, 2)


@pytest.mark.parametrize("norm", [1, 2])
def test_sensitivity_by_brute_force(norm: int) -> None:
    # All pairs of bags of up to three records on three items, an absent user among them, beside two fixed users: the
    # released statistic moves by at most 2/n (root 2/n), and by at most d_TV times that, plus what rounding adds.
    items, users = 3, 4
    own: list[Bag | None] = [None]
    for size in (1, 2, 3):
        for codes in itertools.combinations_with_replacement(range(items), size):
            own.append({code: codes.count(code) for code in set(codes)})
    others = [{0: 1, 2: 3}, {1: 7}]
    found = [rounded([*others, *([] if bag is None else [bag])], items, users) for bag in own]
    mechanism = silent(items, users).mechanism
    ones = items if norm == 1 else math.sqrt(items)
    slack = ones * (mechanism.grid + 2 * mechanism.statistic_error) * (1 + 1e-9)
    reached = 0.0
    for a, b in itertools.product(range(len(own)), repeat=2):
        one, two = ([float(x) for x in exact_average([own[i] or {0: 1}], items, 1)] for i in (a, b))
        distance = sum(abs(x - y) for x, y in zip(one, two, strict=True)) / 2
        moved = float(np.linalg.norm(found[a] - found[b], norm))
        claimed = (2.0 if norm == 1 else math.sqrt(2.0)) / users
        assert moved <= claimed * distance + slack
        reached = max(reached, moved / claimed)
    assert reached > 0.999


SPACES: list[Space] = [
    Categories("kind", ["a", "b", "c"]),
    Clusters("kind", {"a": 1, "b": 1, "c": 2}, 0.25),
    Distances("kind", ["a", "b", "c"], [[0, 1, 4], [1, 0, 3], [4, 3, 0]]),
    Grid(Interval("x", 0, 10), 3),
]


@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.kind)
def test_alpha_pays_for_every_neighbour_on_small_spaces(space: Space) -> None:
    # Over all pairs of bags of up to three records: the noise of scale s = l/alpha pays |change|_1/s <= alpha d_em.
    alpha, users = 1.5, 5
    plan = plan_item_frequencies(ItemFrequencies(Price("alpha", alpha), adjust="simplex"), space=space, users=users)
    mechanism = plan.releaser.mechanism  # type: ignore[attr-defined]
    items = finite_items(space)
    assert items is not None
    bags = [np.bincount(codes, minlength=3) for size in (1, 2, 3) for codes in itertools.product(range(3), repeat=size)]
    worst = 0.0
    for one, two in itertools.combinations({tuple(bag) for bag in bags}, 2):
        change = np.array(one) / sum(one) - np.array(two) / sum(two)
        distance = kr_norm(change, space, items)
        if distance > 0:
            worst = max(worst, np.abs(change).sum() / users / mechanism.scale / distance)
    assert worst <= alpha * (1 + 1e-9)
    # The nearest pair of items attains it.
    assert worst >= alpha * (1 - 1e-6)


@pytest.mark.quarter
@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.kind)
@pytest.mark.parametrize("method", ["hadamard", "krr", "subset", "projective", "response"])
def test_alpha_of_messages_pays_for_every_neighbour_on_small_spaces(space: Space, method: str) -> None:
    # The law of one message for each of three items, from the exact chances of symbols; mixtures of it for bags.
    alpha = 1.5
    query = ItemFrequencies(Price("alpha", alpha), method=method, model="local")  # type: ignore[arg-type]
    plan = plan_item_frequencies(query, space=space, users=5)
    assert plan.guarantee.level <= alpha
    oracle = plan.releaser.oracle  # type: ignore[attr-defined]
    laws = message_laws(oracle)
    items = finite_items(space)
    assert items is not None
    bags = {
        tuple(np.bincount(codes, minlength=3)) for s in (1, 2, 3) for codes in itertools.product(range(3), repeat=s)
    }
    for one, two in itertools.permutations(bags, 2):
        first, second = np.array(one) / sum(one), np.array(two) / sum(two)
        distance = kr_norm(first - second, space, items)
        loss = float(np.log(np.max((first @ laws) / (second @ laws))))
        assert loss <= plan.guarantee.level * distance * (1 + 1e-9) + 1e-12


def message_laws(oracle: Any) -> np.ndarray[Any, Any]:
    """The probability of every message of the three items, counted over all places of an exact draw."""
    if isinstance(oracle, SubsetOracle):
        sets = list(itertools.combinations(range(3), oracle.size))
        chance = float(oracle.chances[0])
        inside, outside = math.comb(2, oracle.size - 1), math.comb(2, oracle.size)
        return np.array([[chance / inside if x in s else (1 - chance) / outside for s in sets] for x in range(3)])
    laws = np.zeros((3, oracle.outputs))
    chance = oracle.numerator / 2**62
    for item in range(3):
        for is_inside, weight in ((True, chance), (False, 1 - chance)):
            limit = int(oracle._place_limits(np.array([is_inside]))[0])
            owners = np.full(limit, item, dtype=np.int64)
            symbols = oracle._inside_symbols if is_inside else oracle._outside_symbols
            laws[item] += np.bincount(symbols(owners, np.arange(limit)), minlength=oracle.outputs) * weight / limit
    assert np.allclose(laws.sum(axis=1), 1.0)
    return laws


def test_slack_is_that_of_the_claimed_error() -> None:
    for users, items in ((50, 10), (10**6, 1000), (10**7, 2**20)):
        release = silent(items, users)
        mechanism = release.mechanism
        change = items * (mechanism.grid + 2 * mechanism.statistic_error)
        assert release.slack_epsilon >= change / mechanism.scale
        assert release.slack_epsilon < 1e-4
        assert release.slack_delta == 0.0
        assert not release.is_exact


def test_absent_users_have_the_neutral_item() -> None:
    with seeded(1):
        release = silent(4, 10, neutral=2)
        _, exact = release.release(iter([block_of([{0: 1}, {1: 2, 3: 2}])]), users=10, keep_exact=True)
        assert exact is not None
        assert np.allclose(np.array(exact[0], dtype=float), [0.1, 0.05, 0.8, 0.05])
        _, same = release.release(iter([]), users=10, keep_exact=True)
        assert same is not None
        assert np.array(same[0], dtype=float).tolist() == [0.0, 0.0, 1.0, 0.0]
        oracle = OracleRelease(KRROracle(4, 10, 30.0), 2)
        found, exact = oracle.release(iter([block_of([{0: 1}, {1: 2, 3: 2}])]), users=10, keep_exact=True)
        assert exact is not None
        assert np.allclose(np.array(exact[0], dtype=float), [0.1, 0.05, 0.8, 0.05])
        # At so large an epsilon every message is the user's own item.
        assert np.allclose(found[0][[0, 2]], [0.1, 0.8], atol=1e-6)
        found, _ = oracle.release(iter([]), users=10, keep_exact=True)
        assert np.allclose(found[0], [0.0, 0.0, 1.0, 0.0], atol=1e-6)


@pytest.mark.slow
def test_messages_are_drawn_in_blocks_as_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # The law does not depend on the blocks: means of 225 releases agree, at 5 standard errors, with the truth.
    bags = random_bags(np.random.default_rng(5), 60, 4)
    truth = np.array([float(share) for share in exact_average(bags, 4, 80)])
    oracle = OracleRelease(KRROracle(4, 80, 2.0), 0)
    with seeded(9):
        for at_once in (10, 2**22):
            monkeypatch.setattr("emdp.estimators.frequency.encoders.AT_ONCE", at_once)
            found = np.array([
                oracle.release(iter([block_of(bags[:25]), block_of(bags[25:], 25)]), users=80, keep_exact=False)[0][0]
                for _ in range(225)
            ])  # fmt: skip
            errors = np.abs(found.mean(axis=0) - truth) / (found.std(axis=0, ddof=1) / 15)
            assert errors.max() < 5
            bound = oracle.oracle.variances(truth)
            assert (found.var(axis=0, ddof=1) < 1.4 * bound).all()
            assert (found.var(axis=0, ddof=1) > 0.5 * bound).all()
