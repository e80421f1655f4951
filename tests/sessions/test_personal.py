"""Users' own means drawn towards a private common one: moments, weights, and errors smaller than of own means."""

from pathlib import Path

import numpy as np
import pytest

import emdp
from emdp.base.errors import EmdpError, UsageError
from emdp.testing import seeded

USERS = 1500


def people(seed: int = 0) -> tuple[dict[str, list[float]], np.ndarray, np.ndarray, np.ndarray]:
    """Return a table, users' true means, their own means and numbers of records."""
    rng = np.random.default_rng(seed)
    truth, sizes = rng.normal(5.0, 1.0, USERS), rng.integers(1, 9, USERS)
    values = [np.clip(rng.normal(m, 1.5, k), 0, 10) for m, k in zip(truth, sizes, strict=True)]
    rows = {"user": np.repeat(np.arange(USERS), sizes).tolist(), "x": np.concatenate(values).tolist()}
    return rows, truth, np.array([one.mean() for one in values]), sizes


def asked(folder: Path, rows: object, **options: float) -> "emdp.sessions.personal.PersonalMeans":
    table = emdp.read(rows, user="user", users=USERS, space=emdp.Interval("x", 0, 10))
    with emdp.Session(table, budget=emdp.UserDP(20.0, 1e-6), ledger=folder / "x.ledger") as session:
        found = session.personal_means("x", **options)
        assert session.spent(emdp.UserDP).epsilon == options["epsilon"]
    return found


def test_shrunk_means_are_nearer_than_own_ones_and_than_the_common_one(tmp_path: Path) -> None:
    rows, truth, own, sizes = people()
    with seeded(1):
        found = asked(tmp_path, rows, epsilon=2.0)
    assert found.mean == pytest.approx(5.0, abs=0.2)
    assert found.between == pytest.approx(1.0, abs=0.25)
    assert found.within == pytest.approx(1.5, abs=0.2)
    shrunk = np.array([found.shrink(float(m), int(k)) for m, k in zip(own, sizes, strict=True)])

    def error(values: np.ndarray) -> float:
        return float(np.mean((values - truth) ** 2))

    assert error(shrunk) < 0.65 * error(own)
    assert error(shrunk) < 0.65 * error(np.full(USERS, found.mean))
    # The answer holds four moments and no user.
    assert found.answer.frame.height == 1
    assert found.frame.columns == ["mean", "between", "within"]


def test_weights_grow_with_records_and_vanish_without(tmp_path: Path) -> None:
    with seeded(2):
        found = asked(tmp_path, people()[0], epsilon=4.0)
    weights = [found.weight(k) for k in (0, 1, 2, 10, 1000)]
    assert weights == sorted(weights)
    assert weights[0] == 0.0
    assert weights[-1] > 0.99
    assert found.shrink(99.0, 0) == found.mean
    assert found.shrink(99.0, 10**6) <= 10.0
    with pytest.raises(UsageError):
        found.shrink(float("nan"), 3)
    with pytest.raises(UsageError):
        found.weight(-1)


def test_equal_users_are_all_drawn_to_the_common_mean(tmp_path: Path) -> None:
    rows = {"user": [u for u in range(USERS) for _ in range(3)], "x": [4.0] * (3 * USERS)}
    with seeded(3):
        found = asked(tmp_path, rows, epsilon=10.0)
    assert found.mean == pytest.approx(4.0, abs=0.1)
    assert found.between < 0.5
    assert found.within < 0.5


def test_bounds_and_columns_are_checked(tmp_path: Path) -> None:
    rows = people()[0]
    table = emdp.read(rows, user="user", users=USERS, space=emdp.Interval("x", 0, 10))
    with seeded(4), emdp.Session(table, budget=emdp.UserDP(20.0), ledger=tmp_path / "y.ledger") as session:
        for options in ({"bounds": (5, 5)}, {"bounds": (7, 3)}, {"bounds": 3}, {"epsilon": 0.0}, {"epsilon": -1.0}):
            with pytest.raises(EmdpError):
                session.personal_means("x", **{"epsilon": 1.0, **options})  # type: ignore[arg-type]
        for column in ("nothing", "", 'x"; DROP', 3):
            with pytest.raises(EmdpError):
                session.personal_means(column, epsilon=1.0)  # type: ignore[arg-type]
        assert session.spent().epsilon == 0.0
        narrow = session.personal_means("x", epsilon=1.0, bounds=(2, 8))
        assert 2 <= narrow.mean <= 8
