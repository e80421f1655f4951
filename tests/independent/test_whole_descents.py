"""Three rounds of descent as one release, over small tables, against what they claim.

Claim: user-level ``(epsilon, delta)`` of all rounds together, neighbours replacing one user's records. Second method,
by a curator: the descent's own code is run for every pair of outputs of the first two rounds on a lattice, and tells
where each round's noise is centred; the density of the outputs is that of the formula, the third round a closed form.
``H`` is a sum over the lattice (Gaussian: the trapezoidal rule, whose total mass is checked), or the largest log-ratio
on it (Laplace). From messages: every deal of users to rounds and every message. Every test shows that 0.7 times the
noise is seen.
"""

import itertools
import math
from typing import Any

import exact_releases as exact
import exact_rounds as rounds
import numpy as np
import numpy.typing as npt
import pytest

from emdp.mechanisms.descent.central import CentralDescent
from emdp.mechanisms.descent.loss import UserRecords
from emdp.mechanisms.descent.messages import MessageDescent
from emdp.mechanisms.descent.rounds import Descent, DescentSetting
from emdp.mechanisms.vector.one_bit import VectorOneBit
from emdp.mechanisms.vector.randomizer import VectorRandomizer

Floats = npt.NDArray[np.float64]
Bag = tuple[float, ...]

ROUNDS = 3
SAFE = 1 + 1e-9

BAGS: tuple[Bag, ...] = ((-1.0,), (1.0,), (0.1, 0.3), (-0.6,))
"""Targets of one user's records: two whose gradients are clipped at any weights, and two whose follow the weights."""


def setting_of(users: int, epsilon: float, delta: float = 0.0, model: str = "central") -> DescentSetting:
    """Return a setting of one weight, in which clipped gradients stay clipped for the first two bags."""
    return DescentSetting(users, 1, "squared", 0.5, 0.4, epsilon, delta, model)


def records_of(table: tuple[Bag, ...]) -> UserRecords:
    targets = np.array([target for bag in table for target in bag])
    return UserRecords(np.ones((1, len(targets))), targets, np.cumsum([0, *map(len, table)]))


class Told(int):
    """Noise that makes a round's output what it is told to be, and keeps what it was to be added to."""

    centres: list[int]

    def __radd__(self, centre: int) -> int:
        self.centres.append(centre)
        return int(self)


def centres_of(monkeypatch: pytest.MonkeyPatch, descent: CentralDescent, table: Any, outputs: Floats) -> Floats:
    """Return where the noise of all rounds is centred after each pair of outputs, in scales, shape (pairs, 3)."""
    units, found = descent.law.noise_units, []
    records = records_of(table)
    for path in itertools.product(np.rint(outputs * units).astype(int).tolist(), repeat=ROUNDS - 1):
        told, centres = iter((*path, 0)), []

        def draw(scale: float, size: int, told: Any = told, centres: list[int] = centres) -> list[Told]:
            assert (scale, size) == (units, 1)
            noise = Told(next(told))
            noise.centres = centres
            return [noise]

        with monkeypatch.context() as patched:
            for name in ("draw_discrete_laplace", "draw_discrete_gaussian"):
                patched.setattr(f"emdp.mechanisms.descent.central.{name}", draw)
            descent.release(records)
        assert len(centres) == ROUNDS
        found.append(centres)
    return np.array(found, dtype=np.float64) / units


def largest_loss(centres: dict[Any, Floats], outputs: Floats) -> float:
    """Return the largest log-ratio of three rounds with Laplace noise of scale 1, over all neighbouring tables."""
    paths, found = np.array(list(itertools.product(outputs, repeat=2))), 0.0
    for one, two in rounds.changed(centres):
        P, Q = centres[one], centres[two]
        early = np.abs(paths - Q[:, :2]).sum(axis=1) - np.abs(paths - P[:, :2]).sum(axis=1)
        found = max(found, float((early + np.abs(P[:, 2] - Q[:, 2])).max()))
    return found


def largest_stick(centres: dict[Any, Floats], outputs: Floats, epsilon: float) -> float:
    """Return the largest divergence of three rounds with normal noise of scale 1, over all neighbouring tables."""
    paths, found = np.array(list(itertools.product(outputs, repeat=2))), 0.0
    masses = {}
    for table, centre in centres.items():
        each = np.exp(-0.5 * (paths - centre[:, :2]) ** 2) * (outputs[1] - outputs[0]) / math.sqrt(2 * math.pi)
        masses[table] = each.prod(axis=1)
        assert masses[table].sum() == pytest.approx(1.0, abs=1e-6)
    for one, two in rounds.changed(centres):
        moved = np.abs(centres[one][:, 2] - centres[two][:, 2])
        found = max(found, rounds.normal_stick(masses[one], masses[two], moved, epsilon))
    return found


def check_central(monkeypatch: Any, bags: int, users: int, delta: float, outputs: Floats) -> float:
    """Check a curator's descent, without and with a planted fault; return the part of the claim that is reached."""
    tables = list(itertools.combinations_with_replacement(BAGS[:bags], users))
    claimed = CentralDescent(setting_of(users, 2.0, delta), ROUNDS, delta > 0)
    weak = CentralDescent(setting_of(users, 2.0 / rounds.WEAKER, delta), ROUNDS, delta > 0)
    assert (claimed.epsilon, claimed.delta) == (2.0, delta)
    claim = claimed.epsilon + claimed.slack_epsilon
    values = []
    for descent in (claimed, weak):
        centres = {table: centres_of(monkeypatch, descent, table, outputs) for table in tables}
        values.append(largest_stick(centres, outputs, claim) if delta > 0 else largest_loss(centres, outputs))
    found, planted = values
    bound = delta + QUADRATURE if delta > 0 else claim * SAFE
    assert found <= bound
    assert planted > bound
    return found / bound


QUADRATURE = 1e-9
"""Covers the trapezoidal rule's error: with outputs a whole scale apart it is 1.4e-8, and falls fast."""

COARSE = np.linspace(-9.0, 9.0, 7)
FINE = np.linspace(-9.0, 9.0, 25)
"""Outputs of a round, in scales of the noise: for a largest value, and for a sum."""


def test_three_rounds_with_laplace_noise_cost_what_they_claim(monkeypatch: Any) -> None:
    assert check_central(monkeypatch, 3, 2, 0.0, COARSE) > 0.99


@pytest.mark.slow
def test_three_rounds_with_gaussian_noise_cost_what_they_claim(monkeypatch: Any) -> None:
    assert check_central(monkeypatch, 2, 2, 0.01, FINE) > 0.99


@pytest.mark.full
def test_three_rounds_cost_what_they_claim_over_more_tables(monkeypatch: Any) -> None:
    assert check_central(monkeypatch, 4, 3, 0.0, COARSE) > 0.99
    assert check_central(monkeypatch, 4, 2, 0.01, np.linspace(-9.0, 9.0, 31)) > 0.99


class Pairs(exact.Replay):
    """Deals in which the order of a round's two users is left out: their messages are mixed."""

    def draw_permutation(self, count: int) -> Any:
        orders = [
            order
            for order in itertools.permutations(range(count))
            if all(order[place] < order[place + 1] for place in range(0, count, 2))
        ]
        return np.array(orders[self.choose([1 / len(orders)] * len(orders))], dtype=np.int64)


def message_laws(monkeypatch: Any, descent: Descent, tables: list[Any], *, is_mixed: bool) -> dict[Any, exact.Law]:
    """Return for each table the law of the messages of all rounds and of the weights."""
    said: list[Any] = []
    with monkeypatch.context() as patched:
        replay = Pairs(patched) if is_mixed else exact.Replay(patched)
        rounds.recorded(patched, VectorRandomizer, "encode", said, is_mixed=is_mixed)

        def run(table: Any) -> Any:
            said.clear()
            return descent.release(records_of(table)).weights, tuple(said)

        return {table: replay.law(lambda table=table: run(table)) for table in tables}


def messages_of(users: int, delta: float, epsilon: float, *, is_dealt: bool) -> MessageDescent:
    setting = setting_of(users, 20.0, delta, "shuffle" if delta else "local")
    law = VectorOneBit(1, setting.clip, epsilon, users // ROUNDS if is_dealt else users, norm=2.0)
    return MessageDescent(setting, ROUNDS, law, is_dealt)


def check_messages(monkeypatch: Any, users: int, delta: float, tables: list[Any], *, is_dealt: bool) -> float:
    """Check messages of three rounds, without and with a planted fault; return the divergence that is reached."""
    descent = messages_of(users, delta, 1.0, is_dealt=is_dealt)
    weak = messages_of(users, delta, 1.0 / rounds.WEAKER, is_dealt=is_dealt)
    assert descent.delta == delta
    found, planted = (
        rounds.worst_stick(
            message_laws(monkeypatch, own, tables, is_mixed=delta > 0), descent.epsilon * SAFE, rounds.changed(tables)
        )
        for own in (descent, weak)
    )
    assert found <= delta * SAFE + 1e-12
    assert planted > delta + 0.01
    return found


def test_three_rounds_of_messages_cost_what_they_claim(monkeypatch: Any) -> None:
    check_messages(monkeypatch, 3, 0.0, list(itertools.combinations_with_replacement(BAGS[:3], 3)), is_dealt=True)


def test_three_mixed_rounds_of_all_users_cost_what_they_claim(monkeypatch: Any) -> None:
    tables = list(itertools.combinations_with_replacement(BAGS[:3], 2))
    assert check_messages(monkeypatch, 2, 0.02, tables, is_dealt=False) > 0.002


class Samples(exact.Replay):
    """Samples of which the order is left out: messages are mixed."""

    size = 2

    def draw_permutation(self, count: int) -> Any:
        samples = list(itertools.combinations(range(count), self.size))
        chosen = samples[self.choose([1 / len(samples)] * len(samples))]
        return np.array([*chosen, *(place for place in range(count) if place not in chosen)], dtype=np.int64)


@pytest.mark.parametrize(("users", "way"), [(3, {"sampled": 2}), (2, {"participation": 0.5})])
def test_two_mixed_rounds_of_users_drawn_anew_cost_what_they_claim(
    monkeypatch: Any, users: int, way: dict[str, Any]
) -> None:
    """Every draw of who tells, and every message, of two rounds; their number is seen, their senders are not."""
    monkeypatch.setattr("emdp.mechanisms.descent.messages.FEWEST_JOINING", 1)
    setting, tables = setting_of(users, 20.0, 0.02, "shuffle"), [(bag, *BAGS[:1] * (users - 1)) for bag in BAGS[:2]]
    found = []
    for epsilon in (1.0, 1.0 / rounds.WEAKER):
        law = VectorOneBit(1, setting.clip, epsilon, way.get("sampled", users), norm=2.0)
        descent = MessageDescent(setting, 2, law, False, **way)
        said: list[Any] = []
        with monkeypatch.context() as patched:
            replay = Samples(patched)
            rounds.recorded(patched, VectorRandomizer, "encode", said)

            def run(table: Any, descent: MessageDescent = descent, said: list[Any] = said) -> Any:
                said.clear()
                return descent.release(records_of(table)).weights, tuple(said)

            laws = {table: replay.law(lambda table=table: run(table)) for table in tables}
        if not found:
            claim = descent.epsilon
        found.append(rounds.worst_stick(laws, claim * SAFE, rounds.changed(tables)))
    assert found[0] <= 0.02 * SAFE + 1e-12
    assert found[0] > 0.002
    assert found[1] > found[0] + 0.01


@pytest.mark.full
def test_three_mixed_rounds_of_dealt_users_cost_what_they_claim(monkeypatch: Any) -> None:
    tables = [(bag, *BAGS[:1] * 5) for bag in BAGS[:2]]
    assert check_messages(monkeypatch, 6, 0.02, tables, is_dealt=True) > 0.002
