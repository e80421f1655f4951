"""Shuffled user-level messages: the theory's tables, small shuffles in full, the inverse, and planted mistakes."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.privacy.blanket.sets import SetLaw
from emdp.privacy.shuffle.renyi import renyi_shuffle
from emdp.privacy.shuffle.renyi_rounds import closed_form_epsilon
from emdp.privacy.shuffle.users import (
    ShuffleRound,
    UserShuffleBound,
    shuffle_epsilon,
    shuffle_epsilon0,
    shuffle_total,
)

Law = dict[tuple[int, ...], float]


def by_method(bound: UserShuffleBound) -> dict[str, float | None]:
    return {method.method: method.epsilon for method in bound.methods}


@pytest.mark.parametrize(
    ("n", "epsilon0", "clones", "closed"),
    [
        (1000, 0.5, 0.07052, 0.27264),
        (1000, 1.0, 0.18241, 0.56620),
        (10**4, 1.0, 0.05301, 0.21403),
        (10**4, 3.0, 0.32072, 0.82411),
        (10**5, 1.0, 0.01528, 0.07255),
        (10**4, 0.5, 0.0204, 0.09387),
        (10**4, 2.0, 0.15505, 0.50092),
        (10**5, 2.0, 0.04503, 0.18619),
    ],
)
def test_the_table_of_one_round(n: int, epsilon0: float, clones: float, closed: float) -> None:
    found = by_method(shuffle_epsilon(epsilon0, n, 1e-6))
    assert found["exact clone pair"] == pytest.approx(clones, abs=6e-6)
    assert found["closed form"] == pytest.approx(closed, abs=6e-6)
    assert shuffle_epsilon(epsilon0, n, 1e-6).epsilon == found["exact clone pair"]


@pytest.mark.parametrize(
    ("n", "epsilon0", "value"),
    [
        (1000, 2.0, 0.545498),
        (1000, 4.0, 3.989964),
        (10**4, 4.0, 0.600909),
        (10**5, 0.5, 0.005813),
        (10**5, 4.0, 0.169770),
        (10**6, 0.5, 0.001619),
        (10**6, 4.0, 0.049307),
    ],
)
def test_plain_ldp(n: int, epsilon0: float, value: float) -> None:
    # technical-notes 1.3
    assert shuffle_epsilon(epsilon0, n, 1e-6).epsilon == pytest.approx(value, abs=1e-6, rel=2e-6)


def test_the_closed_form_alone() -> None:
    for epsilon0, value in ((0.5, 0.00976), (1.0, 0.0235), (2.0, 0.06262), (4.0, 0.20099)):
        assert closed_form_epsilon(epsilon0, 10**6, 1e-6) == pytest.approx(value, abs=6e-6)
    for n, limit in ((10**3, 1.460), (10**4, 3.763), (10**5, 6.066), (10**6, 8.368)):
        assert closed_form_epsilon(limit - 1e-3, n, 1e-6) is not None
        assert closed_form_epsilon(limit + 1e-3, n, 1e-6) is None


def test_range_then_mean() -> None:
    # LSU 2.3: two rounds of epsilon0 = 1, n = 1e5, delta = 1e-6
    found = by_method(shuffle_epsilon(1.0, 10**5, 1e-6, 2))
    assert found["exact clone pair"] == pytest.approx(0.03234, abs=6e-6)
    assert found["closed form"] == pytest.approx(0.1483, abs=6e-5)
    two = shuffle_total((ShuffleRound(1.0, 10**5), ShuffleRound(1.0, 10**5, "binary")), 1e-6)
    binary = shuffle_epsilon(1.0, 10**5, 1e-6, 2, randomizer="binary")
    product, renyi = found["clone product"], found["Renyi clones"]
    assert product is not None
    assert renyi is not None
    assert binary.epsilon < two.epsilon < product < renyi < 0.0279
    assert two.method == "clone product"


def test_the_renyi_methods_of_the_theory_there() -> None:
    from emdp.privacy.shuffle.place_sign import place_sign_epsilon
    from emdp.privacy.shuffle.renyi import renyi_epsilon, renyi_shuffle_bound

    orders = [float(order) for order in range(100, 700, 10)]
    assert renyi_epsilon(lambda a: 2 * renyi_shuffle(a, 10**5, 1.0), 1e-6, orders) == pytest.approx(0.0279, abs=6e-5)
    near = [float(order) for order in range(150, 401, 25)]
    assert renyi_epsilon(lambda a: 2 * renyi_shuffle_bound(a, 10**5, 1.0), 1e-6, near) == pytest.approx(
        0.0604, abs=6e-5
    )
    assert place_sign_epsilon(1.0, 10**5, 5e-7) == pytest.approx(0.01317, abs=6e-6)


def test_what_the_methods_say() -> None:
    bound = shuffle_epsilon(1.0, 1000, 1e-6, 3)
    assert [method.method for method in bound.methods][:2] == ["clone product", "Renyi clones"]
    assert bound.epsilon == bound.methods[0].epsilon
    assert all((method.epsilon is None) == bool(method.reason) and method.theorem for method in bound.methods)
    assert "exact binary" not in {m.method for m in bound.methods if m.epsilon is not None}
    pure = shuffle_epsilon(0.1, 1000, 0.0, 3)
    assert (pure.epsilon, pure.delta, pure.method) == (0.3, 0.0, "composition")
    strong = shuffle_epsilon(20.0, 1000, 1e-6, 2)
    assert (strong.epsilon, strong.method, strong.delta) == (40.0, "composition", 0.0)
    assert shuffle_epsilon(1e-9, 1000, 1e-6, 2).epsilon <= 2e-9


def test_many_rounds() -> None:
    assert shuffle_epsilon(0.5, 10**5, 1e-8, 10**4).epsilon < 1.1118
    assert shuffle_epsilon(2.0, 10**6, 1e-8, 10**4).epsilon < 2.345
    assert shuffle_epsilon(2.0, 10**6, 1e-8, 10**5, sampled=10**3).epsilon < 1.0402


def test_rounds_apart_are_rounds_together() -> None:
    one = shuffle_epsilon(0.8, 2000, 1e-6, 4, randomizer="binary")
    four = shuffle_total([ShuffleRound(0.8, 2000, "binary")] * 4, 1e-6)
    for name, value in by_method(one).items():
        assert by_method(four)[name] == (None if value is None else pytest.approx(value, rel=1e-6))
    unlike = shuffle_total((ShuffleRound(0.8, 2000, "binary", rounds=3), ShuffleRound(0.1, 10**4)), 1e-6)
    assert unlike.epsilon < one.epsilon


def released(laws: list[np.ndarray]) -> Law:
    """The law of the multiset of messages of these laws."""
    found: Law = {(): 1.0}
    for law in laws:
        following: Law = {}
        for multiset, chance in found.items():
            for message, own in enumerate(law):
                key = tuple(sorted((*multiset, message)))
                following[key] = following.get(key, 0.0) + chance * own
        found = following
    return found


def smallest_epsilon(pairs: list[tuple[np.ndarray, np.ndarray]], delta: float) -> float:
    """The exact epsilon of the worst pair of laws."""
    low, high = 0.0, 20.0
    for _ in range(50):
        middle = (low + high) / 2
        worst = max(float(np.maximum(first - math.exp(middle) * second, 0).sum()) for first, second in pairs)
        low, high = (low, middle) if worst <= delta else (middle, high)
    return high


def neighbours(laws: np.ndarray, n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """The laws of the releases of all neighbouring data of n users."""
    pairs = []
    for others in itertools.combinations_with_replacement(range(len(laws)), n - 1):
        found = [released([*laws[list(others)], law]) for law in laws]
        keys = sorted(found[0])
        rows = [np.array([law[key] for key in keys]) for law in found]
        pairs += list(itertools.permutations(rows, 2))
    return pairs


def krr(k: int, epsilon0: float) -> np.ndarray:
    laws = np.ones((k, k)) + np.eye(k) * math.expm1(epsilon0)
    return np.asarray(laws / laws.sum(axis=1, keepdims=True))


def hadamard(K: int, epsilon0: float) -> np.ndarray:
    """The laws of one-bit Hadamard messages (j, s), one row for each one-hot value."""
    rows = np.array([[(-1) ** bin(i & j).count("1") for j in range(K)] for i in range(K)])
    chance = np.where(rows > 0, 1, math.exp(-epsilon0)) / (1 + math.exp(-epsilon0)) / K
    return np.concatenate([chance, 1 / K - chance], axis=1)


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("kind", "n"), [("2rr", 2), ("2rr", 4), ("2rr", 6), ("3rr", 2), ("3rr", 4), ("4rr", 3), ("hadamard", 3)]
)
@pytest.mark.parametrize("epsilon0", [0.5, 2.0])
def test_small_shuffles_in_full(kind: str, n: int, epsilon0: float) -> None:
    laws = hadamard(4, epsilon0) if kind == "hadamard" else krr(int(kind[0]), epsilon0)
    pairs = neighbours(laws, n)
    for delta in (0.05, 1e-3):
        exact = smallest_epsilon(pairs, delta)
        assert exact <= shuffle_epsilon(epsilon0, n, delta).epsilon * (1 + 1e-12)
        if kind == "2rr":
            binary = shuffle_epsilon(epsilon0, n, delta, randomizer="binary").epsilon
            assert exact <= binary * (1 + 1e-12) + 1e-12
            assert binary <= exact * (1 + 1e-4) + 1e-6


@pytest.mark.parametrize("randomizer", ["any", "binary"])
def test_two_small_rounds_in_full(randomizer: str) -> None:
    # two rounds on the same data, the second one's strength fixed: the product of all pairs of releases
    n, epsilon0 = 3, 1.0
    laws = krr(2 if randomizer == "binary" else 3, epsilon0)
    pairs = [(np.outer(a, a).ravel(), np.outer(b, b).ravel()) for a, b in neighbours(laws, n)]
    for delta in (0.1, 0.01):
        bound = shuffle_epsilon(epsilon0, n, delta, 2, randomizer=randomizer)
        for method in bound.methods:
            assert method.epsilon is None or smallest_epsilon(pairs, max(method.delta, 1e-12)) <= method.epsilon + 1e-9


def test_sampled_rounds_in_full() -> None:
    epsilon0, n, k, laws = 2.0, 4, 2, krr(3, 2.0)
    pairs = []
    for others in itertools.combinations_with_replacement(range(3), n - 1):
        found = []
        for own in range(3):
            users, law = (*others, own), {}
            for sample in itertools.combinations(range(n), k):
                for key, chance in released([laws[users[user]] for user in sample]).items():
                    law[key] = law.get(key, 0.0) + chance / math.comb(n, k)
            found.append(np.array([law[key] for key in sorted(law)]))
        pairs += list(itertools.permutations(found, 2))
    for delta in (0.05, 1e-3):
        bound = shuffle_epsilon(epsilon0, n, delta, sampled=k)
        assert smallest_epsilon(pairs, delta) <= bound.epsilon <= ShuffleRound(2.0, n, sampled=k).pure


@pytest.mark.parametrize(
    ("epsilon", "n", "delta", "rounds", "options"),
    [
        (0.1, 10**5, 1e-6, 1, {}),
        (0.3, 5000, 1e-6, 1, {"randomizer": "binary"}),
        pytest.param(*(0.1, 10**5, 1e-6, 2, {}), marks=pytest.mark.full),
        pytest.param(*(0.5, 1000, 1e-6, 3, {"randomizer": "binary"}), marks=pytest.mark.full),
        pytest.param(*(1.0, 10**6, 1e-8, 10**4, {}), marks=pytest.mark.full),
        (0.2, 10**4, 1e-6, 1, {"sampled": 1000}),
        (1.0, 10**4, 1e-6, 500, {"sampled": 1000}),
        (1.0, 20, 1e-9, 2, {}),
    ],
)
def test_the_inverse_is_safe_and_close(epsilon, n, delta, rounds, options) -> None:  # type: ignore[no-untyped-def]
    found = shuffle_epsilon0(epsilon, n, delta, rounds, **options)
    assert shuffle_epsilon(found, n, delta, rounds, **options).epsilon <= epsilon
    assert shuffle_epsilon(found * 1.002, n, delta, rounds, **options).epsilon > epsilon
    assert found >= epsilon / rounds


@pytest.mark.slow
def test_the_inverse_at_its_ends() -> None:
    assert shuffle_epsilon0(0.3, 1000, 0.0, 3) == 0.1
    assert shuffle_epsilon0(100.0, 1000, 1e-6) == 100.0
    assert shuffle_epsilon0(1e-12, 2, 1e-6, 2) >= 5e-13
    found = shuffle_epsilon0(1.0, 100, 0.0, 2, sampled=10)
    assert shuffle_epsilon(found, 100, 0.0, 2, sampled=10).epsilon <= 1.0
    assert found == pytest.approx(math.log1p(10 * math.expm1(0.5)), rel=1e-9)


@pytest.mark.parametrize(
    "options", [{}, *(pytest.param(o, marks=pytest.mark.full) for o in ({"randomizer": "binary"}, {"sampled": 40}))]
)
def test_epsilon_is_monotone(options: dict[str, object]) -> None:
    def epsilon(epsilon0: float = 1.0, n: int = 400, delta: float = 1e-5, rounds: int = 2) -> float:
        return shuffle_epsilon(epsilon0, n, delta, rounds, **options).epsilon  # type: ignore[arg-type]

    base = epsilon()
    assert epsilon(epsilon0=1.05) > base > epsilon(epsilon0=0.95)
    assert epsilon(n=380) > base > epsilon(n=430) or "sampled" in options
    assert epsilon(delta=1e-6) > base > epsilon(delta=1e-4)
    assert epsilon(rounds=3) > base > epsilon(rounds=1)
    assert base <= 2 * ShuffleRound(1.0, 400, **options).pure  # type: ignore[arg-type]


def three_outputs(epsilon0: float, n: int, epsilon: float) -> float:
    """What two inputs on (a, b, rest) lose at least when all others are at a third, which hides little."""
    from scipy.special import gammaln

    p = math.exp(epsilon0)
    z = (1 - 2 / (1 + p)) / (p - 2 / (1 + p))
    s = (1 - z) / (1 + p)
    laws = np.array([[(1 - z) * p, 1 - z], [1 - z, (1 - z) * p]]) / (1 + p)
    for law in (*np.column_stack([laws, [z, z]]), np.array([s, s, 1 - 2 * s])):
        assert np.abs(np.log(law / np.array([s, s, 1 - 2 * s]))).max() <= epsilon0 * (1 + 1e-12)
    a, b = np.arange(min(n, 160))[:, None], np.arange(min(n, 160))[None]
    rest = np.maximum(n - 1 - a - b, 0)
    others = gammaln(n) - gammaln(a + 1) - gammaln(b + 1) - gammaln(rest + 1)
    others = np.exp(others + (a + b) * math.log(s) + rest * math.log(1 - 2 * s)) * (a + b < n)
    first, second = (z * others for _ in range(2))
    for own, (left, right) in zip((first, second), laws, strict=True):
        own[1:] += left * others[:-1]
        own[:, 1:] += right * others[:, :-1]
    # a window of the counts: less than all, so a lower bound
    return float(np.maximum(first - math.exp(epsilon) * second, 0).sum())


def test_a_closed_form_without_its_condition_is_wrong() -> None:
    # as printed in the thesis, it promises an epsilon that a randomizer of three outputs does not have
    epsilon0, n, delta = 6.0, 1000, 1e-6
    strength = math.exp(epsilon0)
    factor = 8 * math.sqrt(strength * math.log(4 / delta) / n) + 8 * strength / n
    printed = math.log1p(math.tanh(epsilon0 / 2) * factor)
    assert printed < epsilon0
    assert three_outputs(epsilon0, n, printed) > 1000 * delta
    assert closed_form_epsilon(epsilon0, n, delta) is None
    found = shuffle_epsilon(epsilon0, n, delta)
    assert three_outputs(epsilon0, n, found.epsilon) <= delta
    assert by_method(found)["closed form"] is None


def test_binary_bounds_are_refused_for_other_randomizers() -> None:
    from emdp.privacy.shuffle.binary import binary_epsilon

    # a randomizer of three outputs loses more than binary messages can
    binary = binary_epsilon(3.0, 1000, 1e-6)
    assert three_outputs(3.0, 1000, binary) > 2e-6
    found = shuffle_epsilon(3.0, 1000, 1e-6)
    assert three_outputs(3.0, 1000, found.epsilon) <= 1e-6
    assert by_method(found)["exact binary"] is None
    assert by_method(shuffle_epsilon(3.0, 1000, 1e-6, 2))["exact binary"] is None


def test_rounds_of_a_known_oracle() -> None:
    law = SetLaw(Fraction(math.exp(4.0)), Fraction(1, 100), ((Fraction(1, 100), Fraction(0)),))
    one = shuffle_epsilon(law.pure, 10**4, 1e-6, randomizer=law)
    assert (one.method, one.epsilon) == ("sets of the oracle", law.epsilon(10**4, 1e-6))
    assert by_method(one)["exact clone pair"] == shuffle_epsilon(law.pure, 10**4, 1e-6).epsilon
    two = shuffle_total((ShuffleRound(law.pure, 10**4, law), ShuffleRound(1.0, 10**4)), 1e-6)
    apart = law.epsilon(10**4, 5e-7) + shuffle_epsilon(1.0, 10**4, 5e-7).epsilon
    assert by_method(two)["sets of the oracle"] == pytest.approx(apart, rel=1e-9)
    # of a secret sample the law is used, where users join the strength alone
    sampled = shuffle_epsilon(law.pure, 10**4, 1e-6, randomizer=law, sampled=5000)
    assert sampled.epsilon < 0.75 * shuffle_epsilon(law.pure, 10**4, 1e-6, sampled=5000).epsilon
    joined = shuffle_epsilon(law.pure, 10**4, 1e-6, randomizer=law, participation=0.5)
    assert joined.epsilon == shuffle_epsilon(law.pure, 10**4, 1e-6, participation=0.5).epsilon
    # a small mix in full is below the bound
    three = SetLaw(Fraction(math.exp(1.0)), Fraction(1, 3), ((Fraction(1, 3), Fraction(0)),))
    for delta in (0.05, 1e-3):
        exactly = smallest_epsilon(neighbours(krr(3, 1.0), 4), delta)
        assert exactly <= shuffle_epsilon(1.0 + 1e-9, 4, delta, randomizer=three).epsilon * (1 + 1e-12)
    with pytest.raises(UsageError, match="epsilon0 must be at least that of the randomizer"):
        ShuffleRound(1.0, 100, law)


@pytest.mark.parametrize(
    "call",
    [
        lambda: shuffle_epsilon(0.0, 10, 1e-6),
        lambda: shuffle_epsilon(1.0, 1, 1e-6),
        lambda: shuffle_epsilon(1.0, 10, 1.0),
        lambda: shuffle_epsilon(1.0, 10, 1e-6, 0),
        lambda: shuffle_epsilon(1.0, 10, 1e-6, sampled=11),
        lambda: shuffle_epsilon(1.0, 10, 1e-6, randomizer="hadamard"),
        lambda: shuffle_epsilon(math.inf, 10, 1e-6),
        lambda: shuffle_total((), 1e-6),
        lambda: shuffle_total((1.0,), 1e-6),  # type: ignore[arg-type]
        lambda: shuffle_epsilon0(0.0, 10, 1e-6),
    ],
)
def test_arguments_are_checked(call) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError):
        call()


def test_more_users_than_integers_of_arrays_hold_are_no_fault() -> None:
    # Epsilon falls as the root of n does, in the limit: nothing may be below that.
    many = shuffle_epsilon(1.0, 10**12, 1e-12, randomizer="binary").epsilon
    for n in (2**63 - 1, 10**19):
        for randomizer in ("binary", "any"):
            assert shuffle_epsilon(1.0, n, 1e-12, randomizer=randomizer).epsilon > 0.999 * many * math.sqrt(1e12 / n)
    assert shuffle_epsilon(1.0, 10**19, 1e-12, sampled=2**63).epsilon > 0.1 * many * math.sqrt(1e12 / 1e19)


@pytest.mark.parametrize(("delta", "rounds"), [(1e-300, 10**9), (1e-308, 1), (5e-324, 1)])
def test_a_delta_at_the_end_of_the_floats_is_no_error(delta: float, rounds: int) -> None:
    assert 0 < shuffle_epsilon(1.0, 1000, delta, rounds).epsilon <= rounds
