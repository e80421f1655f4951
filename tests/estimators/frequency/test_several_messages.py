"""Frequencies by several mixed bits of Hadamard rows: what they cost, how far they are off, what is refused."""

import itertools
import math
from pathlib import Path
from typing import Any

import exact_shuffles as exact
import numpy as np
import polars as pl
import pytest

import emdp
from emdp.base.errors import EmdpError, UsageError
from emdp.estimators.frequency.histograms import OracleRelease
from emdp.estimators.frequency.items import plan_item_frequencies
from emdp.mechanisms.oracles.hadamard_bit import OneBitHadamardOracle
from emdp.privacy.shuffle.users import shuffle_epsilon
from emdp.questions.item_frequencies import ItemFrequencies
from emdp.questions.price import Price

LABELS = ("a", "b", "c")
SPACE = emdp.Categories("item", LABELS)


def plan(messages: Any, users: int = 5000, **options: Any) -> Any:
    given: dict[str, Any] = {"price": Price("epsilon", 1.0, 1e-6), "model": "shuffle", "method": "hadamard", **options}
    return plan_item_frequencies(ItemFrequencies(messages=messages, **given), space=SPACE, users=users)


def test_several_messages_are_as_many_rounds_of_places_and_signs() -> None:
    for count in (2, 16):
        found = plan(count)
        oracle = found.releaser.oracle
        assert isinstance(oracle, OneBitHadamardOracle)
        assert oracle.users == 5000 * count
        reached = shuffle_epsilon(oracle.epsilon, 5000, 1e-6, count, randomizer="place-sign").epsilon
        assert 0.98 < reached <= found.guarantee.epsilon == 1.0
        assert found.releaser.epsilon0 == pytest.approx(count * oracle.epsilon)
        assert any("mixed apart" in one for one in found.assumptions)
        assert ("messages", f"{count} of each user, each mixed apart: {3 * count} bits a user") in found.releaser.facts(
            ""
        )


@pytest.mark.slow
def test_more_messages_come_near_a_curators_noise() -> None:
    """multimessage-shuffle.md 2: 2/(n^2 mu^2) a cell in the limit, if columns that agree cost nothing.

    They are priced as the others here, so that the limit is twice that.
    """
    from emdp.privacy.calibration import gaussian_mu

    limit = 2.0 / (5000 * gaussian_mu(1.0, 1e-6))
    errors = [math.sqrt(plan(count).releaser.oracle.variance()) / limit for count in (1, 16, 64)]
    assert all(later < sooner for sooner, later in itertools.pairwise(errors))
    assert errors[0] > 5.0
    assert 1.0 < errors[-1] < 1.7


@pytest.mark.slow
def test_one_round_is_no_less_than_the_exact_blanket_of_the_sets() -> None:
    """The oracle's blanket, by Fourier transforms, knows that half of the columns agree."""
    for epsilon0, loose in ((0.5, 1.5), (4.0, 1.8)):
        sets = OneBitHadamardOracle(1000, 5000, epsilon0).sets.epsilon(5000, 1e-6)
        assert sets <= shuffle_epsilon(epsilon0, 5000, 1e-6, randomizer="place-sign").epsilon <= sets * loose


def test_small_rounds_of_two_messages_in_full() -> None:
    """Every multiset of rows and signs of two rounds, of three users with any items, against the promise."""
    items, epsilon0 = 4, 1.2
    matrix = np.array([[(-1) ** bin(x & j).count("1") for j in range(items)] for x in range(items)])
    t = math.tanh(epsilon0 / 2)
    laws = np.concatenate([(1 + t * matrix) / 2, (1 - t * matrix) / 2], axis=1) / items
    worst = 0.0
    bounds = {delta: shuffle_epsilon(epsilon0, 3, delta, 2, randomizer="place-sign").epsilon for delta in (0.3, 0.1)}
    for others in itertools.combinations_with_replacement(range(items), 2):
        P, Q = (exact.released(laws, (own, *others)).ravel() for own in (0, 1))
        # most tallies are of more messages than there are
        P, Q = (one[P + Q > 0] for one in (P, Q))
        # what a single message of the user is mixed with is the same in both rounds
        pairs = [np.outer(one, one).ravel() for one in (P, Q)]
        for delta, bound in bounds.items():
            found = float(np.maximum(pairs[0] - math.exp(bound) * pairs[1], 0).sum())
            assert found <= delta * (1 + 1e-9)
            worst = max(worst, found / delta)
    assert worst > 0.2


def rows(users: int) -> pl.DataFrame:
    """Users with one, two or three records, one in five with none."""
    generator = np.random.default_rng(4)
    sizes = np.arange(users) % 5 % 4
    items = generator.choice(list(LABELS), int(sizes.sum()), p=[0.6, 0.3, 0.1])
    return pl.DataFrame({"user": np.repeat(np.arange(users), sizes), "item": items})


@pytest.mark.slow
def test_a_session_asks_for_them(tmp_path: Path) -> None:
    users, errors = 300, []
    table = emdp.read(rows(users), user="user", users=users, space=SPACE)
    query = emdp.frequencies(epsilon=8.0, delta=1e-4, model="shuffle", method="hadamard", messages=4)
    assert "messages=4" in str(query) or query.messages == 4
    with emdp.testing.seeded(5):
        session = emdp.Session(table, budget=emdp.UserDP(10_000.0, 0.9), ledger=tmp_path / "x.ledger")
        shown = session.preview(query)
        for told in ("4 messages a user", "mixed apart"):
            assert told in shown.explain()
        for _ in range(12):
            answer = session.answer(query)
            errors.append(answer.frame["frequency"].to_numpy() - np.array(answer.exact["frequency"]))
    assert isinstance(answer.guarantee, emdp.UserDP)
    assert answer.guarantee.epsilon == 8.0
    releaser = plan(4, users, price=Price("epsilon", 8.0, 1e-4)).releaser
    assert isinstance(releaser, OracleRelease)
    # a smoke test of 36 squared errors: the oracle's own tests have power
    exactly = np.array(answer.exact["frequency"])
    squares = np.square(np.array(errors))
    expected = float(releaser.oracle.variances(exactly).mean())
    assert 0.3 < squares.mean() / expected < 2.2
    assert np.abs(np.array(errors).mean(axis=0)).max() < 5 * math.sqrt(expected / 12)
    assert (answer.frame["frequency_low"].to_numpy() <= exactly).all()
    assert (exactly <= answer.frame["frequency_high"].to_numpy()).all()


def test_sql_asks_for_them(tmp_path: Path) -> None:
    text = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6{}) FREQUENCY({}) FROM visits"
    table = emdp.read(rows(300), user="user", users=300, space=SPACE, name="visits")
    session = emdp.Session(table, budget=emdp.UserDP(10.0, 1e-3), ledger=tmp_path / "x.ledger")
    shuffled = ", model = 'shuffle', method = 'hadamard', messages = 2"
    assert "2 messages a user" in session.preview(text.format(shuffled, "*")).explain()
    for options, what in (
        (", messages = 2", "*"),
        (", model = 'local', messages = 2", "*"),
        (", messages = 2", "item"),
        (", model = 'shuffle', method = 'krr', messages = 2", "*"),
    ):
        with pytest.raises(EmdpError):
            session.preview(text.format(options, what))


@pytest.mark.parametrize(
    "call",
    [
        lambda: plan(4, method="krr"),
        lambda: plan(4, price=Price("alpha", 1.0, 1e-6)),
        lambda: plan(4, model="local", price=Price("epsilon", 1.0)),
        lambda: plan(4, model="central"),
        lambda: plan(0),
        lambda: plan(257),
        lambda: plan("many"),
        lambda: emdp.frequencies(1.0, alpha=1.0, messages=3),
    ],
)
def test_what_has_no_several_messages_is_refused(call: Any) -> None:
    with pytest.raises(UsageError):
        call()


def test_one_user_alone_is_pure() -> None:
    found = plan(4, 1)
    assert found.releaser.epsilon0 <= 1.0
