"""Rounds that a secret part of the users, or records, tells in: small ones in full, and what would be no bound."""

import itertools
import math
from fractions import Fraction

import exact_shuffles as exact
import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.privacy.blanket.sets import SetLaw
from emdp.privacy.shuffle.renyi_product import product_epsilon
from emdp.privacy.shuffle.sampled import SampledShuffle, mixed_delta
from emdp.privacy.shuffle.users import ShuffleRound, shuffle_epsilon, shuffle_epsilon0

LEVELS = (0.0, 0.02, 0.1, 0.3, 1.0)
ORACLE = SetLaw(Fraction(54), Fraction(1, 100), ((Fraction(1, 100), Fraction(0)),))
Users = tuple[tuple[int, ...], ...]
Floats = np.ndarray


def responses(k: int, epsilon0: float) -> Floats:
    """k-ary randomized response."""
    matrix = np.ones((k, k)) + np.eye(k) * math.expm1(epsilon0)
    return matrix / matrix.sum(axis=1, keepdims=True)


def any_randomizer(generator: np.random.Generator, epsilon0: float) -> tuple[Floats, float]:
    """A random matrix of three inputs, and its own epsilon."""
    matrix = np.exp(epsilon0 * generator.choice([0.0, 1.0, generator.random()], (3, 3)) / 2) * generator.random(3)
    matrix /= matrix.sum(axis=1, keepdims=True)
    logs = np.log(matrix)
    return matrix, max(float(np.abs(logs[:, None] - logs[None]).max()) * (1 + 1e-12), 1e-3)


def released(matrix: Floats, users: Users, k: int, s: int, *, kept: str) -> Floats:
    """The law of the messages: of ``s`` records each of ``k`` users, or ``k s`` of the messages of all users."""
    laws = []
    if kept == "users":
        for chosen in itertools.combinations(users, k):
            drawn = itertools.product(*(itertools.combinations(own, s) for own in chosen))
            laws += [exact.released(matrix, tuple(itertools.chain(*one))) for one in drawn]
    else:
        for one in itertools.product(*(itertools.combinations(own, s) for own in users)):
            messages = tuple(itertools.chain(*one))
            laws += [exact.released(matrix, some) for some in itertools.combinations(messages, k * s)]
    return np.mean(laws, axis=0)


def joined(matrix: Floats, users: Users, q: float) -> Floats:
    """The law of the messages of those who join, each by one of the own records; their number is seen."""
    n, parts = len(users), []
    for k in range(n + 1):
        law = released(matrix, users, k, 1, kept="users") if k else np.ones(1)
        parts.append(math.comb(n, k) * q**k * (1 - q) ** (n - k) * law)
    return np.concatenate(parts)


def divergence(P: Floats, Q: Floats, epsilon: float) -> float:
    return max(float(np.maximum(a - math.exp(epsilon) * b, 0).sum()) for a, b in ((P, Q), (Q, P)))


def neighbours(generator: np.random.Generator, outputs: int, unit: str) -> tuple[Users, Users]:
    """Three users of two records each that differ in one record, or in a user."""
    own = generator.integers(0, outputs, (3, 2))
    if generator.random() < 0.5:
        # all but what is replaced are alike
        own[:] = 0
    other = own.copy()
    if unit == "record":
        other[0, 0] = (own[0, 0] + 1) % outputs
    else:
        other[0] = 1 if generator.random() < 0.5 else generator.integers(0, outputs, 2)
    return tuple(map(tuple, own.tolist())), tuple(map(tuple, other.tolist()))


def check(seed: int, trials: int) -> tuple[int, dict[tuple[str, int, str], float]]:
    """Compare random small rounds with the bounds; return how many comparisons, and each form's closest approach."""
    generator, compared, closest = np.random.default_rng(seed), 0, dict[tuple[str, int, str], float]()
    for trial in range(trials):
        epsilon0 = float(generator.choice([0.5, 1.5, 3.0]))
        matrix, strength = (
            (responses(2 + trial // 2 % 2, epsilon0), epsilon0) if trial % 3 else any_randomizer(generator, epsilon0)
        )
        unit, kept = ("user", "record")[trial % 2], str(generator.choice(["users", "messages", "joined"]))
        first, second = neighbours(generator, len(matrix), unit)
        s = 1 if kept == "joined" else int(generator.integers(1, 3))
        if kept == "joined":
            q = float(generator.choice([0.3, 0.8]))
            round_ = SampledShuffle(strength, 3, participation=q, records=2)
            P, Q = (joined(matrix, users, q) for users in (first, second))
        else:
            k = int(generator.integers(1, 4))
            round_ = SampledShuffle(strength, 3, sampled=k, records=2, reports=s, kept=kept)
            P, Q = (released(matrix, users, k, s, kept=kept) for users in (first, second))
        for epsilon in LEVELS:
            truth, bound = divergence(P, Q, epsilon), round_.delta(epsilon, unit=unit)
            assert truth <= bound * (1 + 1e-9) + 1e-15, (round_, unit, first, second, epsilon)
            compared += 1
            form = kept, s, unit
            closest[form] = max(closest.get(form, 0.0), truth / bound if bound > 1e-9 else 0.0)
    return compared, closest


def test_no_small_round_is_above_its_form() -> None:
    compared, closest = check(1, 240)
    assert compared == 1200
    assert len(closest) == 10
    assert max(closest.values()) <= 1 + 1e-9
    for form in (("users", 1, "user"), ("users", 1, "record"), ("messages", 1, "user")):
        assert closest[form] > 0.99, form
    assert closest["joined", 1, "user"] > 0.9


@pytest.mark.full
def test_no_small_round_of_many_is_above_its_form() -> None:
    compared, closest = check(2, 4000)
    assert compared == 20_000
    assert max(closest.values()) <= 1 + 1e-9


def test_of_several_records_the_own_users_sampling_is_no_gain() -> None:
    """sampling-and-descent.md 1: ``up`` with all of ``ks/(nm)`` is violated, as what is here is not."""
    worst, matrices = 0.0, {epsilon0: responses(2, epsilon0) for epsilon0 in (1.5, 3.0)}
    for k, own, *others in itertools.product((1, 2), (0, 1), *[[(0, 0), (0, 1), (1, 1)]] * 2):
        for epsilon0, matrix in matrices.items():
            share, round_ = k * 2 / (3 * 2), SampledShuffle(epsilon0, 3, sampled=k, records=2, reports=2)
            P, Q = (released(matrix, ((one, own), *others), k, 2, kept="users") for one in (0, 1))
            for epsilon in LEVELS:
                full = math.log1p(math.expm1(epsilon) / share)
                wrong, truth = share * mixed_delta(full, epsilon0, 2 * k), divergence(P, Q, epsilon)
                assert truth <= round_.delta(epsilon, unit="record") * (1 + 1e-9)
                worst = max(worst, truth / wrong if wrong > 1e-9 else 0.0)
    assert worst > 1.2


def test_random_numbers_of_messages_by_their_sum() -> None:
    """The cells against the sum over every number of those who join."""
    n, q, epsilon0, records = 60, 0.4, 1.0, 3
    for unit, m in (("user", 1), ("record", records)):
        round_ = SampledShuffle(epsilon0, n, participation=q, records=records)
        for epsilon in (0.0, 0.01, 0.05, 0.2):
            total = 0.0
            for k in range(1, n + 1):
                share = k / (n * m)
                inner = math.log1p(math.expm1(epsilon) / share)
                total += math.comb(n, k) * q**k * (1 - q) ** (n - k) * share * mixed_delta(inner, epsilon0, k)
            assert total * (1 - 1e-6) <= round_.delta(epsilon, unit=unit) <= total * 1.01 + 1e-12


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("n", "q", "epsilon0", "delta", "joining", "fixed"),
    [
        (10**5, 0.1, 1.0, 1e-6, 0.004441, 0.004430),
        (10**5, 0.1, 2.0, 1e-6, 0.013877, 0.013841),
        (10**4, 0.5, 1.0, 1e-6, 0.037326, 0.037231),
        (60_000, 1 / 6, 1.5, 1e-5, 0.011445, 0.011416),
    ],
)
def test_known_answers(n: int, q: float, epsilon0: float, delta: float, joining: float, fixed: float) -> None:
    # sampling-and-descent.md 1; its cells are others, so that its numbers of joining users are a little higher or lower
    assert SampledShuffle(epsilon0, n, sampled=round(n * q)).epsilon(delta) == pytest.approx(fixed, abs=1e-6)
    found = SampledShuffle(epsilon0, n, participation=q).epsilon(delta)
    assert found == pytest.approx(joining, rel=5e-3)
    assert found > fixed
    assert shuffle_epsilon(epsilon0, n, delta, participation=q).epsilon == found


@pytest.mark.parametrize("way", [{"sampled": 1}, {"sampled": 2}, {"participation": 0.4}])
def test_rounds_that_alternate_are_below_products_and_renyi(way: dict[str, float]) -> None:
    epsilon0, n = 2.0, 3
    matrix = responses(3, epsilon0)

    def law(own: int, others: int) -> Floats:
        users = ((own,), *(((others),),) * (n - 1))
        if "sampled" in way:
            return released(matrix, users, int(way["sampled"]), 1, kept="users")
        return joined(matrix, users, way["participation"])

    single = [[law(own, other) for own in (turn, other)] for turn, other in ((0, 1), (1, 0))]
    bound = ShuffleRound(epsilon0, n, **way).law()  # type: ignore[arg-type]
    for first, second in ((single[0], single[0]), (single[0], single[0][::-1]), (single[0], single[1][::-1])):
        P, Q = (np.outer(first[side], second[side]).ravel() for side in (0, 1))
        P, Q = P[Q > 0], Q[Q > 0]
        for order in (1.5, 2.0, 8.0):
            own = math.log(float((P**order * Q ** (1 - order)).sum())) / (order - 1)
            assert own <= 2 * bound.renyi(order) * (1 + 1e-9)
        for delta in (0.1, 0.01, 1e-3):
            assert divergence(P, Q, product_epsilon([(bound, 2)], delta)) <= delta * (1 + 1e-9)


@pytest.mark.slow
def test_sampled_rounds_of_a_known_randomizer_gain() -> None:
    from fractions import Fraction

    n, k, delta = 10_000, 2000, 1e-6
    law = SetLaw(Fraction(54), Fraction(1, 100), ((Fraction(1, 100), Fraction(0)),))
    found = {kind: shuffle_epsilon(4.0, n, delta, randomizer=kind, sampled=k).epsilon for kind in ("any", law)}  # type: ignore[arg-type]
    assert found[law] < 0.75 * found["any"]
    inner = SampledShuffle(4.0, n, sampled=k, randomizer=law)
    assert inner.delta(found[law]) <= delta <= inner.delta(0.999 * found[law])
    for kind in ("any", "place-sign"):
        for way in ({"sampled": k}, {"participation": k / n}):
            epsilon0 = shuffle_epsilon0(1.0, n, delta, 20, randomizer=kind, **way)  # type: ignore[arg-type]
            assert 0.99 < shuffle_epsilon(epsilon0, n, delta, 20, randomizer=kind, **way).epsilon <= 1.0  # type: ignore[arg-type]


def test_whoever_joins_surely_is_one_of_all() -> None:
    whole = shuffle_epsilon(1.0, 1000, 1e-6).epsilon
    assert shuffle_epsilon(1.0, 1000, 1e-6, participation=1.0).epsilon == whole
    near = shuffle_epsilon(1.0, 1000, 1e-6, participation=0.9999).epsilon
    assert 0.99 * whole < near < 1.02 * whole
    # everybody may join: a single round is pure at the message's own epsilon alone
    assert shuffle_epsilon(1.0, 1000, 0.0, participation=0.1).epsilon == 1.0
    assert shuffle_epsilon(1.0, 1000, 1e-40, participation=0.1).epsilon == 1.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: SampledShuffle(1.0, 10),
        lambda: SampledShuffle(1.0, 10, sampled=2, participation=0.2),
        lambda: SampledShuffle(1.0, 10, sampled=11),
        lambda: SampledShuffle(1.0, 10, participation=0.0),
        lambda: SampledShuffle(1.0, 10, participation=1.0),
        lambda: SampledShuffle(1.0, 10, participation=math.nan),
        lambda: SampledShuffle(1.0, 10, sampled=2, reports=2),
        lambda: SampledShuffle(1.0, 10, participation=0.2, records=2, reports=2),
        lambda: SampledShuffle(1.0, 10, sampled=2, kept="records"),
        lambda: SampledShuffle(13.0, 10, sampled=2),
        # an oracle of ln 54: at 0.01 its epsilon would be said to be 0.01, at a delta of 0.37
        lambda: SampledShuffle(0.01, 1000, sampled=100, randomizer=ORACLE),
        lambda: SampledShuffle(0.01, 1000, participation=0.1, randomizer=ORACLE),
        lambda: SampledShuffle(1.0, 10, sampled=2).delta(-0.1),
        lambda: SampledShuffle(1.0, 10, sampled=2).delta(0.1, unit="day"),
        lambda: SampledShuffle(1.0, 10, participation=0.2).epsilon(0.1, unit="day"),
        lambda: SampledShuffle(1.0, 10, sampled=2).epsilon(0.0),
        lambda: ShuffleRound(1.0, 10, sampled=2, participation=0.1),
        lambda: ShuffleRound(1.0, 10, participation=1.5),
        lambda: ShuffleRound(1.0, 10, participation=0.0),
    ],
)
def test_arguments_are_checked(call) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError):
        call()
