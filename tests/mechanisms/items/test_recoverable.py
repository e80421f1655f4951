"""Recoverable response: every item comes back, outsiders see a private message, and keys are as short as published."""

import math

import numpy as np
import pytest
import scipy.stats

from emdp.base.errors import RefusedError, UsageError
from emdp.experiments import run_experiment
from emdp.experiments.base import Row
from emdp.mechanisms.items import recoverable
from emdp.mechanisms.items.recoverable import difference_set, least_key_bits, response_risk
from emdp.privacy import shuffle_alpha
from emdp.privacy.blanket.output_law import OutputLaw
from emdp.randomizers import KRR, HadamardResponse, Recoverable
from emdp.spaces import Categories
from emdp.testing import seeded

CASES = [(2, 1.0), (3, 0.5), (7, 0.5), (7, 3.0), (10, 1.0), (14, 1.0), (31, 2.0), (45, 3.0), (70, 1.0)]


def made(items: int, epsilon: float) -> Recoverable:
    return Recoverable(Categories("item", [str(number) for number in range(items)]), epsilon)


@pytest.mark.parametrize("degree", range(2, 13))
def test_every_shift_meets_the_set_in_a_quarter(degree: int) -> None:
    marks = difference_set(degree)
    v = 2**degree - 1
    assert marks.size == v
    assert marks.sum() == 2 ** (degree - 1)
    spectrum = np.fft.rfft(marks.astype(float))
    met = np.rint(np.fft.irfft(np.abs(spectrum) ** 2, n=v)).astype(int)
    assert set(met[1:].tolist()) == {2 ** (degree - 2)}


@pytest.mark.parametrize(("items", "epsilon"), CASES)
def test_every_key_gives_every_item_back(items: int, epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    randomizer = made(items, epsilon)
    outputs = randomizer.weights.shape[1]
    for key in range(outputs):
        monkeypatch.setattr(Recoverable, "draw", lambda self, codes, key=key: np.full(codes.shape, key))
        messages, keys = randomizer.encode(np.arange(items))
        assert (randomizer.recover(messages, keys) == np.arange(items)).all()
        # For one key different items have different messages: it gives nothing else back.
        assert len(set(messages.tolist())) == items


@pytest.mark.parametrize(("items", "epsilon"), CASES)
def test_messages_have_the_law_whatever_the_item(items: int, epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The law of the messages that encode makes, by all keys, is the matrix; it is private, its columns add to 1."""
    randomizer = made(items, epsilon)
    key_weights = randomizer.weights[0].astype(object)
    found = np.zeros(randomizer.weights.shape, dtype=object)
    for key, weight in enumerate(key_weights):
        monkeypatch.setattr(Recoverable, "draw", lambda self, codes, key=key: np.full(codes.shape, key))
        messages, _ = randomizer.encode(np.arange(items))
        found[np.arange(items), messages] += weight
    assert (found == randomizer.weights.astype(object)).all()
    quotient = max(max(column) / min(column) for column in found.T)
    assert math.log(quotient) <= randomizer.alpha0 <= epsilon
    assert math.log(quotient) > epsilon * (1 - 1e-9)
    full = randomizer._full(*randomizer._levels).astype(object)
    assert set(full.sum(axis=0)) == set(full.sum(axis=1)) == {2**62}


@pytest.mark.parametrize(("items", "epsilon"), CASES)
def test_estimates_are_unbiased_and_their_variance_is_known(items: int, epsilon: float) -> None:
    randomizer = made(items, epsilon)
    inverse = randomizer.right_inverse
    assert randomizer.matrix @ inverse == pytest.approx(np.eye(items), abs=1e-9)
    second = randomizer.matrix @ inverse**2
    second[np.diag_indices(items)] -= 1.0
    # Padded items may be the worst case of a bound for all of them.
    assert (randomizer.estimate_variance() >= second.max(axis=0) - 1e-9).all()
    if items > 2:
        assert randomizer.estimate_variance() == pytest.approx(second.max(axis=0), rel=1e-9)
    counts = np.arange(3.0, 3.0 + inverse.shape[0])
    assert randomizer.estimate(counts) == pytest.approx(counts / counts.sum() @ inverse, abs=1e-9)


@pytest.mark.parametrize(("degree", "blocks", "epsilon", "point", "even"), [
    (3, 1, 0.5, 92.896, 93.753), (3, 2, 1.0, 62.973, 63.901), (4, 4, 3.0, 28.090, 29.073),
])  # fmt: skip
def test_known_errors(degree: int, blocks: int, epsilon: float, point: float, even: float) -> None:
    items = blocks * (2**degree - 1)
    risk = response_risk(degree, blocks, epsilon)
    assert risk - 1.0 == pytest.approx(point, abs=5e-4)
    assert risk - 1.0 / items == pytest.approx(even, abs=5e-4)


def test_the_shape_has_the_least_error() -> None:
    for items in (3, 10, 100, 300):
        for epsilon in (0.5, 2.0, 6.0):
            own = made(items, epsilon)
            second = own.matrix[0] @ (own.right_inverse**2).sum(axis=1)
            # Of the items that there are: those which only fill the last block are no item of anybody.
            risks = [
                response_risk(degree, -(-items // (2**degree - 1 if degree > 1 else 1)), epsilon, items)
                for degree in range(1, 8)
            ]
            assert second == pytest.approx(response_risk(own.degree, own.blocks, epsilon, items), rel=1e-6)
            assert second <= min(risks) * (1 + 1e-6)
            if items in (7, 31, 300):
                assert response_risk(own.degree, own.blocks, epsilon) >= second * (1 - 1e-9)


# Bits of the least key, its number of heavy atoms in brackets in the document.
LEAST = [
    (10, 1.0, 3.145), (10, 3.0, 1.873), (10, 5.0, 0.497), (100, 1.0, 6.466), (100, 3.0, 5.191), (100, 5.0, 3.160),
    (1000, 1.0, 9.788), (1000, 3.0, 8.512), (1000, 5.0, 6.478),
]  # fmt: skip


@pytest.mark.parametrize(("items", "epsilon", "bits"), LEAST)
def test_least_keys_of_the_document(items: int, epsilon: float, bits: float) -> None:
    assert least_key_bits(items, epsilon) == pytest.approx(bits, abs=5e-4)
    every = []
    for atoms in range(1, items):
        total = atoms * math.exp(epsilon) + items - atoms
        every.append(math.log2(total) - atoms * math.exp(epsilon) / total * epsilon / math.log(2))
    assert least_key_bits(items, epsilon) == pytest.approx(min(every), abs=1e-9)


@pytest.mark.parametrize(("items", "saved"), [(2, 94.2), (4, 91.4), (10, 85.0)])
def test_savings_of_the_published_figure(items: int, saved: float) -> None:
    assert 100 * (1 - least_key_bits(items, 5.0) / math.log2(items)) == pytest.approx(saved, abs=0.06)


@pytest.mark.parametrize(("items", "epsilon"), CASES)
def test_no_key_is_shorter_than_the_bound(items: int, epsilon: float) -> None:
    randomizer = made(items, epsilon)
    assert randomizer.key_bits >= least_key_bits(items, epsilon) - 1e-9
    assert randomizer.key_bits <= math.log2(randomizer.weights.shape[1])
    assert made(7, 0.5).key_bits == pytest.approx(2.766, abs=5e-4)


@pytest.mark.parametrize(
    ("items", "epsilon", "shape", "bits"),
    [(100, 1.0, (3, 16), 6.761), (1000, 1.0, (9, 2), 9.827), (1000, 3.0, (8, 4), 8.545), (7, 0.5, (3, 1), 2.766)],
)
def test_keys_of_the_document(
    items: int, epsilon: float, shape: tuple[int, int], bits: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the shape of the shortest key; what is shipped has the shape of the least error, and a key hardly longer."""
    shipped = made(items, epsilon).key_bits
    monkeypatch.setattr(recoverable, "_shape", lambda count, strength: shape)
    assert made(items, epsilon).key_bits == pytest.approx(bits, abs=6e-4)
    assert bits - 6e-4 <= shipped < bits + 0.2


def test_errors_without_keys_are_said_beside() -> None:
    text = made(10, 1.0).explain()
    plain = HadamardResponse(Categories("item", [str(number) for number in range(10)]), 1.0)
    found = float(plain.matrix[0] @ (plain.right_inverse**2).sum(axis=1)) ** 0.5
    assert f"without keys to guard, {found:.4g}/sqrt(n)" in text
    assert f"err by {response_risk(1, 10, 1.0) ** 0.5:.4g}/sqrt(n)" in text


def test_keys_have_their_law_with_power() -> None:
    randomizer, users = made(7, 1.0), 20_000
    with seeded(2):
        _, keys = randomizer.encode(np.full(users, 4))
    counts = np.bincount(keys, minlength=7)
    for factor in (0.7, 1.0, 1.3):
        chances = made(7, factor).weights[0] / 2.0**62
        p = float(scipy.stats.chisquare(counts, chances * users).pvalue)
        assert p > 1e-9 if factor == 1.0 else p < 1e-9


def test_two_messages_of_one_key_tell_the_difference_of_the_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """What reuse costs: with one key for two messages outsiders have the difference of the two items, always."""
    randomizer = made(7, 0.5)
    keys = np.random.default_rng(0).integers(0, 7, 50)
    sent = []
    for item in (2, 5):
        monkeypatch.setattr(Recoverable, "draw", lambda self, codes: keys)
        sent.append(randomizer.encode(np.full(50, item))[0])
    assert set(((sent[0] - sent[1]) % randomizer.places).tolist()) == {3}


def test_the_law_that_accountants_use_is_that_of_all_items() -> None:
    for items, epsilon in [(7, 1.0), (14, 3.0)]:
        randomizer = made(items, epsilon)
        assert randomizer.weights.shape == (items, items)
        plain = OutputLaw(randomizer.weights, 1.0 - np.eye(items), None)

        class Plain:
            law, alpha0, w_min = plain, randomizer.alpha0, 1.0

        short, long = (
            shuffle_alpha(None, 5, 10_000, 1e-6, randomizer=own)
            for own in (randomizer, Plain())  # type: ignore[arg-type]
        )
        assert short == pytest.approx(long, rel=1e-6)


def test_no_worse_than_the_others_by_much() -> None:
    for items, epsilon in [(10, 1.0), (100, 1.0), (100, 3.0)]:
        space = Categories("item", [str(number) for number in range(items)])
        risks = [
            float(own.matrix[0] @ (own.right_inverse**2).sum(axis=1))
            for own in (Recoverable(space, epsilon), HadamardResponse(space, epsilon), KRR(space, epsilon))
        ]
        assert risks[0] < 1.3 * min(risks[1:])


@pytest.mark.slow
def test_the_experiment_draws_what_theory_says() -> None:
    found = run_experiment("recoverability", runs=30, seed=1)
    errors: list[Row] = [row for row in found.rows if row.measure == "n times the squared l2 error"]
    assert len(errors) == 18
    for row in errors:
        assert row.bound is not None
        assert abs(row.error_mean - row.bound) < 6 * row.standard_error + 1e-9
    bits = [row for row in found.rows if row.measure == "bits of a key"]
    assert {row.panel for row in bits} == {"k = 2", "k = 4", "k = 10", "k = 100"}
    assert "94.2 % for 2 items, 91.4 % for 4 items, 85.0 % for 10 items" in found.sentences[0]


@pytest.mark.parametrize("wrong", [[-1], [3], [0.5], [[0, 1]], ["a"]])
def test_items_that_are_none_are_refused_before_a_draw(wrong: object, monkeypatch: pytest.MonkeyPatch) -> None:
    randomizer = made(3, 1.0)
    monkeypatch.setattr(Recoverable, "draw", lambda self, codes: pytest.fail("it drew"))
    with pytest.raises(UsageError):
        randomizer.encode(np.array(wrong))


def test_what_does_not_belong_together_is_refused() -> None:
    randomizer = made(70, 1.0)
    outputs = randomizer.weights.shape[1]
    assert outputs > 70
    for messages, keys in [([outputs], [0]), ([0], [-1]), ([0, 1], [0]), ([0.5], [0])]:
        with pytest.raises(UsageError):
            randomizer.recover(np.array(messages), np.array(keys))
    # A key that would give an item that only fills the block.
    padded = (
        next(message for message in range(outputs) if (0 - message) % randomizer.places + 0 >= 70)
        if randomizer.blocks == 1
        else None
    )
    if padded is not None:
        with pytest.raises(UsageError, match="do not belong"):
            randomizer.recover(np.array([padded]), np.array([0]))
    with pytest.raises(RefusedError):
        made(3, 1e-19).weights  # noqa: B018  # made when asked for
    assert recoverable.TAPS[3] == (1, 0)
