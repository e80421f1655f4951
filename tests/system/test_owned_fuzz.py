"""Random statements under USER_PRIVACY: one user never moves what is released further than its noise is for.

Each accepted statement runs on three tables that differ in one user's records, hard values among them. Engine errors
that a record causes fail the test, as does a refusal that shows a record or the engine's own text.
"""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from owned_moves import Worlds, members_of
from owned_spelled import spelled
from owned_statements import PUBLIC, SECRETS, SPACE, statement

import emdp
from emdp.base.errors import EmdpError, InternalError
from emdp.estimators import Plan
from emdp.sessions.planning import plan_request

WORLDS = 12
QUICK, CHUNK, FULL = 80, 1_000, 20_000
ENGINE = re.compile(
    "duckdb|binder|catalog error|conversion error|out of range|traceback|sqlglot|select .*group by", re.I
)
"""What no refusal says of an engine."""

ASKED_EVERY = 40
"""Of so many accepted statements one is asked through a session."""


@pytest.fixture(scope="module")
def worlds() -> Worlds:
    return Worlds(WORLDS, 11)


def checked(error: Exception, text: str) -> None:
    """Check what a refusal says."""
    assert not isinstance(error, InternalError), (text, error)
    said = str(getattr(error, "problem", "")) + str(getattr(error, "remedy", "")) or str(error)
    assert not ENGINE.search(said.replace("GROUP BY", "")), (text, said)
    assert not any(secret in said for secret in SECRETS), (text, said)


def run(worlds: Worlds, seed: int, written: Callable[[int], str] = statement) -> tuple[str, float]:
    """Return what became of a statement, and the largest move over its bound."""
    text = written(seed)
    try:
        plan: Any = plan_request(text, worlds.names)[0].plan
        neighbours = plan.guarantee.neighbours
    except EmdpError as error:
        checked(error, text)
        return "refused", 0.0
    if isinstance(plan, Plan):
        # A plain total, which has tests of its own.
        return "Plan", 0.0
    world = seed % worlds.count
    largest = max((worlds.excess(member, world, neighbours) for member in members_of(plan)), default=0.0)
    assert largest <= 1 + 1e-12, (seed, text, largest)
    return type(plan).__name__, largest


def run_all(
    worlds: Worlds, seeds: range, asked: emdp.Session, written: Callable[[int], str] = statement
) -> tuple[Counter[str], float]:
    kinds: Counter[str] = Counter()
    largest = 0.0
    for seed in seeds:
        kind, move = run(worlds, seed, written)
        kinds[kind] += 1
        largest = max(largest, move)
        if kind != "refused" and sum(kinds.values()) % ASKED_EVERY == 0:
            try:
                answer = asked.sql(written(seed))
                said = f"{answer.explain()} {answer.guarantee}"
            except EmdpError as error:
                checked(error, written(seed))
            else:
                assert not any(secret in said for secret in SECRETS), seed
    return kinds, largest


@pytest.fixture
def asked(worlds: Worlds, tmp_path: Path) -> Any:
    budget = [emdp.UserDP(1e6, 0.9), emdp.UserDP(1e6, 0.9, neighbours="remove")]
    table = emdp.read(worlds.first, user="u", space=SPACE, users=6, name="t")
    with emdp.testing.seeded(5), emdp.Session(table, budget=budget, ledger=tmp_path / "l", public=PUBLIC) as opened:
        yield opened


@pytest.mark.slow
def test_no_user_moves_a_release_further_than_its_noise_is_for(worlds: Worlds, asked: emdp.Session) -> None:
    kinds, largest = run_all(worlds, range(QUICK), asked)
    assert kinds["refused"] < 0.3 * QUICK, kinds
    assert {"OwnedPlan", "UnlistedPlan", "MeasuredPlan", "JoinedPlan", "KeysPlan"} <= kinds.keys(), kinds
    # Some move as far as that: the bounds are no larger than need be.
    assert largest > 0.99


@pytest.mark.slow
def test_no_user_moves_stages_lists_and_means_by_weights_further_either(worlds: Worlds, asked: emdp.Session) -> None:
    kinds, largest = run_all(worlds, range(QUICK), asked, spelled)
    assert kinds["refused"] < 0.3 * QUICK, kinds
    assert {"OwnedPlan", "StagedPlan", "KeysPlan", "MeasuredPlan"} <= kinds.keys(), kinds
    assert largest > 0.99


@pytest.mark.full
@pytest.mark.parametrize("first", range(0, FULL, CHUNK))
def test_no_user_moves_20_000_such_releases_further(worlds: Worlds, asked: emdp.Session, first: int) -> None:
    kinds, largest = run_all(worlds, range(first, first + CHUNK), asked, spelled)
    assert kinds["refused"] < 0.3 * CHUNK
    assert largest > 0.99


@pytest.mark.full
@pytest.mark.parametrize("first", range(0, FULL, CHUNK))
def test_no_user_moves_20_000_releases_further_than_their_noise_is_for(
    worlds: Worlds, asked: emdp.Session, first: int
) -> None:
    kinds, largest = run_all(worlds, range(first, first + CHUNK), asked)
    assert kinds["refused"] < 0.3 * CHUNK
    assert largest > 0.99
