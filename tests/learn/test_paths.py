"""An adversarial reading of descents and of a team's ledger: what must hold on every path, tried from the outside."""

import importlib.util
import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import psycopg
import pytest

from emdp.base.errors import LedgerError
from emdp.estimators.fit.linear_fit import plan_linear_fit
from emdp.ledger import open_ledger
from emdp.ledger.chain import Link, next_link
from emdp.ledger.postgres_schema import APPEND, grants
from emdp.ledger.start import now
from emdp.mechanisms.central import additive as base
from emdp.mechanisms.descent.central import CentralDescent
from emdp.mechanisms.descent.loss import UserRecords, sampled_rows, user_gradients
from emdp.mechanisms.descent.messages import MessageDescent
from emdp.mechanisms.descent.plan import descent_candidates
from emdp.mechanisms.descent.rounds import DescentSetting
from emdp.mechanisms.vector import direction as vector_direction
from emdp.mechanisms.vector.direction import VectorDirection
from emdp.noise.choices import draw_bernoulli
from emdp.privacy.shuffle.users import shuffle_epsilon
from emdp.questions.linear_fit import linear_fit_query
from emdp.questions.reading import PointBlock
from emdp.spaces import Interval, Product

_SPEC = importlib.util.spec_from_file_location("team_server", Path(__file__).parents[1] / "ledger" / "conftest.py")
_TEAM = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_TEAM)
running, server = _TEAM.running, _TEAM.server


# ---- A user's gradient stays in the ball, and is that user's alone.

ENTRIES = (-1.0, 1.0, 0.7, 1 - 2.0**-53, 5e-324, 1e-160, 0.0)


@pytest.mark.quarter
@pytest.mark.parametrize("dimension", [1, 3, 1024])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_gradients_stay_in_the_ball_at_the_ends_of_floats(dimension, loss):
    generator = np.random.default_rng(dimension)
    features = generator.choice(ENTRIES, (dimension, 120))
    features[0] = 1.0
    targets = generator.choice([0.0, 1.0], 120)
    records = UserRecords(features, targets, np.array([0, 1, 50, 120]))
    alone = UserRecords(features[:, 1:50], targets[1:50], np.array([0, 49]))
    for clip in (1e-6, 1.0, math.nextafter(1.0, 0.0), 1e6):
        exponent = DescentSetting(3, dimension, loss, clip, 1e6, 1.0).exponent
        for size in (0.0, 1.0, 1e6):
            weights = generator.choice([-1.0, 1.0], dimension) * size / math.sqrt(dimension)
            found = user_gradients(records, weights, loss=loss, clip=clip, exponent=exponent)
            for row in found.tolist():
                assert sum(entry * entry for entry in row) <= (Fraction(clip) * Fraction(2) ** exponent) ** 2
            own = user_gradients(alone, weights, loss=loss, clip=clip, exponent=exponent)
            assert (own[0] == found[1]).all()
            chosen = user_gradients(records, weights, loss=loss, clip=clip, exponent=exponent, users=np.array([2, 1]))
            assert (chosen == found[[2, 1]]).all()


# ---- The curator's rounds: shifts along one outcome of all rounds, and all outcomes of two rounds.


def drawn_users(generator, count, dimension, loss):
    """Return features, targets and sizes of users whose records lie at the ends of their ranges."""
    sizes = generator.integers(1, 4, count)
    features = generator.choice([-1.0, 1.0], (dimension, sizes.sum()))
    features[0] = 1.0
    return features, generator.choice([-1.0 if loss == "squared" else 0.0, 1.0], sizes.sum()), sizes


def joined(*parts):
    features, targets, sizes = zip(*parts, strict=True)
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    return UserRecords(np.concatenate(features, axis=1), np.concatenate(targets), offsets)


def centre(descent, records, weights):
    """Return the sums of gradients in grid steps, rounded as a release does."""
    own = descent.setting
    found = user_gradients(records, weights, loss=own.loss, clip=own.clip, exponent=own.exponent)
    unit = Fraction(2) ** -own.exponent / own.users / Fraction(descent.law.grid)
    return [round(sum(column) * unit) for column in found.T.tolist()]


def moved(descent, weights, outcome):
    grid = Fraction(descent.law.grid)
    weights = weights - descent.step * np.array([float(one * grid) for one in outcome])
    radius = descent.setting.radius
    return weights * (radius / max(radius, math.sqrt(math.fsum(weights * weights))))


@pytest.mark.parametrize("is_gaussian", [False, True])
def test_one_user_moves_all_rounds_together_by_no_more_than_is_charged(is_gaussian):
    generator, largest = np.random.default_rng(5), 0.0
    for trial in range(60):
        users, dimension, rounds = (int(generator.integers(1, end)) for end in (3, 4, 4))
        loss, clip = ("squared", "logistic")[trial % 2], float(generator.choice([0.05, 1.0, 2.5]))
        epsilon = float(generator.choice([0.3, 2.0, 8.0]))
        setting = DescentSetting(users, dimension, loss, clip, 4.0, epsilon, 1e-6 if is_gaussian else 0.0)
        descent = CentralDescent(setting, rounds, is_gaussian)
        others = drawn_users(generator, users - 1, dimension, loss)
        tables = [joined(others, drawn_users(generator, 1, dimension, loss)) for _ in range(2)]
        scale, weights = Fraction(descent.law.noise_units), np.zeros(dimension)
        ratio = shift = squares = Fraction(0)
        for _ in range(rounds):
            size = float(generator.choice([0.3, 1.0, 5.0]))
            outcome = [int(one) for one in generator.normal(0, size, dimension) * float(scale)]
            one, other = (centre(descent, table, weights) for table in tables)
            squares += sum(Fraction(a - b) ** 2 for a, b in zip(one, other, strict=True)) / scale**2
            shift += sum(abs(a - b) for a, b in zip(one, other, strict=True)) / scale
            ratio += sum(abs(at - a) - abs(at - b) for at, a, b in zip(outcome, one, other, strict=True)) / scale
            weights = moved(descent, weights, outcome)
        if is_gaussian:
            # mu + eta of the grid's theorem, and the noise of the whole vector.
            law = descent.law
            limit = law.sensitivity / law.scale + math.sqrt(rounds * dimension) / float(scale)
            assert law.dimension == rounds * dimension
            largest = max(largest, math.sqrt(squares) / limit)
        else:
            assert abs(ratio) <= shift <= Fraction(epsilon) + Fraction(descent.slack_epsilon)
            largest = max(largest, float(shift) / epsilon)
    assert 0.99 < largest <= 1.0 + 1e-9


@pytest.mark.quarter
@pytest.mark.parametrize("is_gaussian", [False, True])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-3), (4.0, 1e-2)])
def test_all_outcomes_of_two_rounds_of_one_user(monkeypatch, is_gaussian, epsilon, delta):
    # A grid so coarse that everything can be added up, with the slack that it then has.
    monkeypatch.setattr(base, "GRID_BITS", 4)
    setting = DescentSetting(1, 1, "squared", 1.0, 4.0, epsilon, delta if is_gaussian else 0.0)
    descent = CentralDescent(setting, 2, is_gaussian)
    scale = descent.law.noise_units
    tables = [UserRecords(np.ones((1, 1)), np.array([target]), np.array([0, 1])) for target in (1.0, -1.0)]
    reach = int((11 if is_gaussian else 30) * scale)
    steps = np.arange(-reach, reach + 1)

    def weights_of(away):
        return np.exp(-0.5 * (away / scale) ** 2 if is_gaussian else -np.abs(away) / scale)

    def law(outcomes, middle):
        return weights_of(outcomes - middle) / weights_of(np.arange(-60 * int(scale), 60 * int(scale) + 1)).sum()

    first = [centre(descent, table, np.zeros(1))[0] for table in tables]
    outcomes = np.arange(min(first) + steps[0], max(first) + steps[-1] + 1)
    one, other = (law(outcomes, middle) for middle in first)
    apart = 0.0
    for place, outcome in enumerate(outcomes.tolist()):
        weights = moved(descent, np.zeros(1), [outcome])
        later = [law(outcomes, centre(descent, table, weights)[0]) for table in tables]
        gap = one[place] * later[0] - math.exp(epsilon + descent.slack_epsilon) * other[place] * later[1]
        apart += float(np.maximum(gap, 0.0).sum())
    assert apart <= setting.delta + 1e-12


# ---- Users' messages: each user in one round, once, at no more than its epsilon; shuffled among those of the round.


@pytest.mark.quarter
@pytest.mark.parametrize("model", ["local", "shuffle"])
@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_every_sign_is_as_weak_as_the_message_says_and_users_send_once_a_round(monkeypatch, model, epsilon):
    generator = np.random.default_rng(3)
    numerators: list[np.ndarray] = []
    monkeypatch.setattr(
        vector_direction, "draw_bernoulli", lambda given, bits: numerators.append(given) or draw_bernoulli(given, bits)
    )
    setting = DescentSetting(13, 3, "squared", 1.3, 4.0, epsilon, 0.0 if model == "local" else 1e-2, model)
    features = generator.choice([-1.0, 1.0], (3, 26))
    features[0] = 1.0
    records = UserRecords(features, generator.choice([-1.0, 1.0], 26), np.arange(14) * 2)
    for descent in descent_candidates(setting, 3):
        assert isinstance(descent, MessageDescent)
        assert isinstance(descent.law, VectorDirection)
        numerators.clear()
        released = descent.release(records)
        assert math.hypot(*released.weights) <= 4.0 * (1 + 1e-12)
        drawn = np.concatenate(numerators)
        asked = 12 if descent.is_dealt else 39
        assert len(drawn) == asked * descent.law.reports
        high = max(int(drawn.max()), 2**62 - int(drawn.min()))
        worst = descent.law.reports * math.log(Fraction(high, 2**62 - high))
        assert worst <= descent.law.epsilon * (1 + 1e-12)
        if model == "local":
            assert descent.law.epsilon == descent.epsilon <= epsilon
        else:
            # each report is mixed by itself, as a place and a sign
            rounds, users = (1, 4) if descent.is_dealt else (3, 13)
            each = math.log(descent.law.strength.ratio) * (1 + 1e-14)
            own = shuffle_epsilon(each, users, 1e-2, rounds * descent.law.reports, randomizer="place-sign")
            assert descent.epsilon == pytest.approx(own.epsilon, rel=1e-6)
            assert descent.epsilon <= epsilon
            assert descent.delta <= 1e-2
        for _ in range(20 if descent.is_dealt else 0):
            dealt = [users.tolist() for users in descent._dealt()]
            assert [len(users) for users in dealt] == [4, 4, 4]
            assert len(set().union(*dealt)) == 12


# ---- What a table hands on: neutral users, samples, ranges.


class Block:
    """Some users' items, as an engine gives them."""

    def __init__(self, items: Sequence[tuple[float, float]], offsets: Sequence[int]) -> None:
        self.items, self.offsets = np.array(items), np.array(offsets)
        self.users = np.arange(len(offsets) - 1)


def gathered(users: int, *blocks: Block, cap: int | None = None) -> UserRecords:
    space = Product(Interval("x", 0, 10), Interval("y", 0, 100))
    plan = plan_linear_fit(linear_fit_query("x", "y", epsilon=1.0, rounds=1), space=space, users=users)
    read: Iterator[PointBlock] = iter(blocks)
    releaser = plan.releaser if cap is None else replace(plan.releaser, cap=cap)
    return releaser._gathered(read, users)


def test_users_without_records_have_the_neutral_item_wherever_blocks_end():
    known = [(0.0, 100.0), (10.0, 0.0), (2.5, 50.0)]
    one = gathered(4, Block(known[:2], [0, 2]), Block(known[2:], [0, 1]))
    other = gathered(4, Block(known, [0, 2, 3]))
    assert (one.features == other.features).all()
    assert one.offsets.tolist() == other.offsets.tolist() == [0, 2, 3, 4, 5]
    neutral = gathered(1)
    assert (one.features[:, 3:] == neutral.features).all()
    assert (one.targets[3:] == neutral.targets).all()
    assert one.features[1, :3].tolist() == [-1.0, 1.0, -0.5]


def test_values_beyond_a_public_range_and_a_user_more_change_no_scale():
    inside = gathered(3, Block([(10.0, 100.0), (1.0, 1.0)], [0, 1, 2]))
    beyond = gathered(3, Block([(1e300, 1e300), (1.0, 1.0)], [0, 1, 2]))
    assert (inside.features == beyond.features).all()
    assert (inside.targets == beyond.targets).all()


def test_a_sample_of_a_user_is_of_that_user_and_all_of_the_others_stay():
    sizes = np.array([3, 7, 2, 5])
    seen = set()
    for _ in range(200):
        kept = sampled_rows(sizes, 3)
        owners = np.repeat(np.arange(4), sizes)[kept]
        assert np.bincount(owners).tolist() == [3, 3, 2, 3]
        assert len(set(kept.tolist())) == len(kept)
        assert {0, 1, 2, 10, 11} <= set(kept.tolist())
        seen |= set(kept.tolist())
    # Each of the others is missed in all draws with probability (4/7)^200 at most.
    assert seen == set(range(17))


def test_records_over_the_cap_are_left_out_of_their_user_alone():
    block = Block([(float(place), 1.0) for place in range(10)], [0, 2, 8, 10])
    for _ in range(20):
        found = gathered(4, block, cap=2)
        assert found.offsets.tolist() == [0, 2, 4, 6, 7]
        places = found.features[1] * 5 + 5
        assert places[[0, 1, 4, 5]].round(9).tolist() == [0, 1, 8, 9]
        assert 2 <= places[2] < places[3] < 8


# ---- A team's ledger, against clients that do not take the lock that emdp takes, and settings of their own.


def last_of(connection):
    columns = 'sequence, time, kind, "table", payload, previous_hash, hash'
    row = connection.execute(f"SELECT {columns} FROM emdp_ledger.event ORDER BY sequence DESC LIMIT 1").fetchone()
    return Link(*row)


@pytest.mark.slow
def test_clients_that_append_without_the_lock_fork_no_chain_and_lose_no_charge(server):
    ledger = open_ledger(server.address())
    server.execute(*grants(("analyst",), ()), role="owner")
    levels = ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")
    meet, committed, refused = threading.Barrier(len(levels)), [], []

    def spend(level):
        with server.connect("analyst") as connection:
            for _ in range(12):
                meet.wait(30)
                try:
                    connection.execute(f"BEGIN ISOLATION LEVEL {level}")
                    link = next_link(last_of(connection), now(), "charge", "visits", f'{{"by":"{level}"}}')
                    connection.execute(APPEND, (*link, None))
                    connection.execute("COMMIT")
                    committed.append(link)
                except psycopg.Error:
                    connection.execute("ROLLBACK")
                    refused.append(level)

    threads = [threading.Thread(target=spend, args=(level,)) for level in levels]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(committed) + len(refused) == 36
    assert len(committed) >= 12
    links, _ = ledger.snapshot()
    assert sorted(committed) == sorted(links[1:])


SETTINGS = [
    "default_transaction_isolation = 'serializable'",
    "default_transaction_read_only = on",
    "synchronous_commit = off",
    "search_path = pg_temp",
    "transform_null_equals = on",
    "client_encoding = 'latin1'",
    "role = 'owner'",
]


def test_settings_of_an_analyst_change_neither_entries_nor_rights(server):
    ledger = open_ledger(server.address())
    server.execute(*grants(("analyst",), ()), role="owner")
    try:
        for setting in SETTINGS:
            server.execute(f"ALTER ROLE analyst SET {setting}", role="admin")
            with open_ledger(server.address("analyst")) as own:
                entry = own.append("charge", "vis\u00eft \U0001f600\x7f", {"a": '\u00ef\\"'})
                assert ledger.entries()[-1] == entry
                with pytest.raises(LedgerError):
                    own.append("budget", "visits", {"budgets": []})
            server.execute("ALTER ROLE analyst RESET ALL", role="admin")
    finally:
        server.execute("ALTER ROLE analyst RESET ALL", role="admin")
    assert ledger.verify()[0] == 1 + len(SETTINGS)
