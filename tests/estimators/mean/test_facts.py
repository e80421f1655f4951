"""Shares of users by facts: privacy by enumeration, errors by simulation, answers of a session and refusals."""

import itertools
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.base.errors import UsageError
from emdp.estimators.mean.facts import FactMessages, plan_shares, share_half_width
from emdp.expressions import category_is, col, ramp
from emdp.mechanisms.vector.mixed_bits import MixedBits
from emdp.privacy.shuffle.place_sign import place_sign_delta
from emdp.privacy.shuffle.users import ShuffleRound, shuffle_epsilon0, shuffle_total
from emdp.questions import shares
from emdp.spaces import Categories

KINDS = ["bar", "inn", "zoo"]
SPACE = Categories("kind", KINDS)
FACTS = [category_is(kind) for kind in KINDS]


def law_of(law: MixedBits, facts: tuple[int, ...]) -> list[dict[tuple[int, int], float]]:
    """The law of each message of a user: of its place and sign."""
    kept = law.signs[0].strength.high / 2**62
    found = []
    for block in range(law.blocks):
        places = range(block, law.dimension, law.blocks)
        chances = {(place, sign): 0.0 for place in places for sign in (0, 1)}
        for place, sign in chances:
            chances[place, sign] = (kept if facts[place] == sign else 1 - kept) / len(places)
        found.append(chances)
    return found


def mixed(laws: list[dict[Any, float]]) -> dict[Any, float]:
    """The law of the multiset of one message of each user."""
    total: Counter[Any] = Counter()
    for drawn in itertools.product(*(law.items() for law in laws)):
        total[tuple(sorted(message for message, _ in drawn))] += math.prod(chance for _, chance in drawn)
    return total


@pytest.mark.parametrize(("users", "blocks"), [(2, 1), (3, 1), (2, 2), (3, 2)])
def test_no_small_mixing_is_above_the_price(users: int, blocks: int) -> None:
    """All facts of all users, each kind of message mixed apart: the divergence is below that of the rounds."""
    each, closest = 1.0, 0.0
    law = MixedBits(2, each, users, blocks=blocks)
    facts = list(itertools.product((0, 1), repeat=2))
    rounds = [ShuffleRound(each, users, "place-sign", None, blocks)]
    claims = {delta: shuffle_total(rounds, delta).epsilon for delta in (0.02, 0.1)}
    for others in itertools.combinations_with_replacement(facts, users - 1):
        for one, two in itertools.permutations(facts, 2):
            pair = []
            for own in (one, two):
                everybody = [law_of(law, bits) for bits in (own, *others)]
                shuffled = [mixed([user[block] for user in everybody]) for block in range(blocks)]
                pair.append(
                    {
                        tuple(seen): math.prod(shuffled[block][part] for block, part in enumerate(seen))
                        for seen in itertools.product(*shuffled)
                    }
                )
            for delta, claimed in claims.items():
                reached = sum(max(chance - math.exp(claimed) * pair[1][seen], 0) for seen, chance in pair[0].items())
                assert reached <= delta * (1 + 1e-9)
                closest = max(closest, reached / delta)
    assert closest > 0.3


def test_known_answers() -> None:
    """multimessage-shuffle.md 3: BinMean, n = 1e4, d = 100, epsilon 1, delta 1e-6."""
    for blocks, strength, error in ((10, 3.4265, 0.02597), (100, 1.6386, 2.992e-3)):
        # the accountant's own, at both sides of the printed strength
        rounds = [ShuffleRound(factor * strength, 10**4, "place-sign", None, blocks) for factor in (0.999, 1.001)]
        assert shuffle_total(rounds[:1], 1e-6).epsilon < 1.0 < shuffle_total(rounds[1:], 1e-6).epsilon
        each = strength
        assert MixedBits(100, each, 10**4, blocks=blocks).squared_error() == pytest.approx(error, rel=2e-4)
    # of one message the printed 5.686 is that of two outputs, which a place beside the sign is not
    each = shuffle_epsilon0(1.0, 10**4, 1e-6, randomizer="place-sign")
    assert place_sign_delta(1.0, each, 10**4) <= 1e-6 < place_sign_delta(1.0, 5.686, 10**4)


@pytest.mark.parametrize("model", ["local", "shuffle"])
def test_errors_are_those_predicted(model: str) -> None:
    """1500 releases of 3 facts: the root mean square is within 5 %, and intervals of 95 % hold 94 % or more."""
    users, truth = 400, np.array([0.25, 0.5, 1.0])
    more: dict[str, Any] = {"delta": 1e-6, "messages": 2} if model == "shuffle" else {}
    plan = plan_shares(shares(FACTS, epsilon=1.0, model=model, **more), space=SPACE, users=users)  # type: ignore[arg-type]
    assert isinstance(plan.releaser, FactMessages)
    law = plan.releaser.law
    bits = (np.arange(users)[:, None] < truth * users).astype(np.float64)
    with emdp.testing.seeded(5):
        errors = np.array([law.decode(law.tally(law.encode(bits)), users) - truth for _ in range(1500)])
    assert 0.95 < math.sqrt((errors**2).sum(axis=1).mean() / law.squared_error()) < 1.05
    widths = np.array([share_half_width(law, place, 0.95) for place in range(3)])
    assert (np.abs(errors) <= widths).mean() > 0.94
    assert (np.abs(errors) <= 0.4 * widths).mean() < 0.9
    assert plan.columns[0].noise_scale == pytest.approx(math.sqrt(law.squared_error() / 3))


def session_of(folder: Path, users: int = 3000) -> emdp.Session:
    rows = {"user": [str(user) for user in range(users) for _ in "ab"], "kind": ["bar", "inn"] * users}
    table = emdp.read(pl.DataFrame(rows), user="user", space=SPACE, users=users + 1000)
    return emdp.Session(table, budget=emdp.UserDP(1e3, 0.1), ledger=folder / "one.ledger")


@pytest.mark.slow
def test_answers_of_a_session_in_python_and_sql(tmp_path: Path) -> None:
    with emdp.testing.seeded(9):
        session = session_of(tmp_path)
        answer = session.shares(FACTS, epsilon=2.0, delta=1e-6, model="shuffle", names=KINDS)
        assert answer.frame.columns == ["fact", "share", "share_low", "share_high"]
        # who has no records has no fact
        assert answer.exact["share"] == [0.75, 0.75, 0.0]
        for row, truth in zip(answer.frame.iter_rows(named=True), (0.75, 0.75, 0.0), strict=True):
            assert row["share_low"] <= truth <= row["share_high"]
        assert answer.guarantee == emdp.UserDP(2.0, 1e-6, "shuffle")
        sql = session.sql(
            "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 2.0) SHARES(kind = 'zoo', kind IN ('bar', 'inn')) AS ever "
            "FROM data ORDER BY ever DESC"
        )
        assert sql.frame["fact"].to_list() == ["kind IN ('bar', 'inn')", "kind = 'zoo'"]
        assert sql.guarantee == emdp.UserDP(2.0, 0.0, "local")
        assert not session.preview(shares(FACTS, epsilon=1.0, delta=1e-6, model="shuffle")).comparison.is_empty()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"conditions": []}, "conditions is empty"),
        ({"conditions": FACTS[0]}, "must be a sequence"),
        ({"delta": 1e-6}, "delta must be 0 in the local model"),
        ({"model": "shuffle"}, "delta must be above 0"),
        ({"model": "central"}, "model must be one of"),
        ({"messages": 4}, "at most the 3 conditions"),
        ({"names": ["a", "a", "b"]}, "3 distinct texts"),
        ({"epsilon": None}, "epsilon must be given"),
        ({"epsilon": None, "alpha": 1.0}, "alpha does not fit shares"),
    ],
)
def test_what_does_not_fit_is_refused(asked: dict[str, Any], said: str) -> None:
    given: dict[str, Any] = {"conditions": FACTS, "epsilon": 1.0} | asked
    with pytest.raises(UsageError, match=said):
        shares(given.pop("conditions"), **given)


def test_conditions_are_from_zero_to_one_and_one_user_may_be_alone() -> None:
    line = emdp.Interval("x", 0, 10)
    with pytest.raises(UsageError, match="must have values in"):
        plan_shares(shares([col("x")], epsilon=1.0), space=line, users=10)
    near = shares([ramp(col("x"), 4, 6)], epsilon=1.0, delta=1e-6, model="shuffle")
    for users in (1, 2):
        plan = plan_shares(near, space=line, users=users)
        assert plan.releaser.law.epsilon <= 1.0 + 1e-9  # type: ignore[attr-defined]


@pytest.mark.parametrize("messages", [1, 2])
def test_a_plan_is_priced_as_its_rounds(messages: int) -> None:
    query = shares(FACTS, epsilon=1.0, delta=1e-6, model="shuffle", messages=messages)
    law = plan_shares(query, space=SPACE, users=2000).releaser.law  # type: ignore[attr-defined]
    assert shuffle_total([ShuffleRound(law.each, 2000, "place-sign", None, messages)], 1e-6).epsilon <= 1.0
    assert law.epsilon == pytest.approx(messages * law.each, rel=1e-9)
