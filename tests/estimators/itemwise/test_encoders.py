"""The two steps of an item-wise release: what is drawn of a block, and what is made of all blocks together."""

import pickle
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.base.errors import InternalError
from emdp.estimators.itemwise import encoders as itemwise_encoders
from emdp.estimators.itemwise.encoders import HistogramEncoder, PointEncoder, SampleEncoder
from emdp.estimators.itemwise.release import ItemwiseRelease
from emdp.questions.reading import EncodedReleaser
from emdp.randomizers import KRR, PlanarLaplace
from emdp.tables.engines.blocks import BagBlock, PointBlock

KINDS = emdp.Categories("kind", ["bar", "cafe", "park"], on_invalid="neutral")
PLANE = emdp.Vector(["a", "b"], box=[(0, 1), (0, 1)])
USERS, SIZE = 60, 8


@pytest.fixture(autouse=True)
def switched() -> Iterator[None]:
    with emdp.testing.seeded(3):
        yield


def bags(first: int, users: int, step: int = 1) -> BagBlock:
    """Users with two entries each, of together ``SIZE`` records."""
    own = np.arange(users)
    codes = np.column_stack([np.zeros(users, np.int64), 1 + own % 2]).reshape(-1)
    counts = np.column_stack([1 + own % 3, SIZE - 1 - own % 3]).reshape(-1)
    return BagBlock(first + step * own, 2 * np.arange(users + 1), codes, counts)


def points(first: int, users: int, step: int = 1) -> PointBlock:
    items = np.random.default_rng(users).random((users * SIZE, 2))
    return PointBlock(first + step * np.arange(users), SIZE * np.arange(users + 1), items)


def released(kind: str, *, is_sampled: bool, is_local: bool) -> tuple[ItemwiseRelease, Any]:
    randomizer = PlanarLaplace(PLANE, 5.0) if kind == "points" else KRR(KINDS, 1.0)
    release = ItemwiseRelease(randomizer, SIZE, is_sampled, is_local, "a theorem")
    return release, points if kind == "points" else bags


CASES = [
    ("bags", True, False, SampleEncoder),
    ("bags", True, True, HistogramEncoder),
    ("bags", False, True, HistogramEncoder),
    ("points", True, False, PointEncoder),
    ("points", True, True, PointEncoder),
    ("points", False, True, PointEncoder),
    ("points", False, False, PointEncoder),
]


@pytest.mark.parametrize(("kind", "is_sampled", "is_local", "expected"), CASES)
def test_a_release_is_the_merged_output_of_its_blocks(
    kind: str, is_sampled: bool, is_local: bool, expected: type
) -> None:
    release, block = released(kind, is_sampled=is_sampled, is_local=is_local)
    assert isinstance(release, EncodedReleaser)
    encoder = release.encoder(keep_exact=True)
    assert type(encoder) is expected
    assert encoder is not None
    present = USERS - 10 if is_sampled else USERS
    blocks = [block(0, 20), block(20, present - 20)]
    with emdp.testing.seeded(8):
        whole = release.release(iter(blocks), users=USERS, keep_exact=True)
    # The same after a journey to another process.
    other = pickle.loads(pickle.dumps(encoder))
    with emdp.testing.seeded(8):
        frames = list(chain.from_iterable(map(other.encode, blocks)))
        again = release.merge(iter(frames), users=USERS, keep_exact=True)
    assert all(frame.schema == pl.Schema(encoder.schema) for frame in frames)
    if isinstance(whole[0][0], pl.DataFrame):
        assert whole[0][0].equals(again[0][0])
        assert len(again[0][0].select("user").unique() if is_local else again[0][0]) == USERS * (
            1 if is_local else SIZE
        )
        total = again[0][0]["count"].sum() if kind == "bags" else len(again[0][0])
        assert total == USERS * SIZE
        assert again[1] == ()
    else:
        assert whole == again
        assert sum(again[0][0]) == USERS * SIZE
        # Each present user has (1, 2 or 3)/8 of "bar", the absent ones are all of it.
        shares = np.bincount(blocks[0].codes, blocks[0].counts, 3) + np.bincount(blocks[1].codes, blocks[1].counts, 3)
        shares[0] += 10 * SIZE
        np.testing.assert_allclose([float(share) for share in again[1][0]], shares / (USERS * SIZE), rtol=1e-12)


@pytest.mark.parametrize(("kind", "is_sampled", "is_local", "expected"), CASES)
def test_users_may_have_any_numbers(kind: str, is_sampled: bool, is_local: bool, expected: type) -> None:
    release, block = released(kind, is_sampled=is_sampled, is_local=is_local)
    encoder = release.encoder(keep_exact=False)
    assert isinstance(encoder, expected)
    frames = []
    for given in (block(2**45, 25, 3), block(-7, USERS - 25, 2**33)):
        with emdp.testing.seeded(5):
            frames += list(encoder.encode(given))
    (found,), exact = release.merge(reversed(frames), users=USERS, keep_exact=False)
    assert exact is None
    if is_local:
        assert sorted(found["user"].unique().to_list()) == list(range(USERS))
        sizes = found.group_by("user").agg(pl.col("count").sum() if kind == "bags" else pl.len().alias("count"))
        assert sizes["count"].unique().to_list() == [SIZE]


@pytest.mark.parametrize(("kind", "is_sampled", "is_local", "expected"), CASES)
def test_a_wrong_total_is_a_bug(kind: str, is_sampled: bool, is_local: bool, expected: type) -> None:
    release, block = released(kind, is_sampled=is_sampled, is_local=is_local)
    encoder = release.encoder(keep_exact=False)
    assert isinstance(encoder, expected)
    too_many = [block(0, USERS), block(USERS, 1)]
    with pytest.raises(InternalError, match="not as many"):
        release.release(iter(too_many), users=USERS, keep_exact=False)
    if not is_sampled:
        with pytest.raises(InternalError, match="not as many"):
            release.release(iter([block(0, USERS - 1)]), users=USERS, keep_exact=False)


def test_output_comes_in_bounded_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(itemwise_encoders, "AT_ONCE", 1000)
    moved = list(PointEncoder(PlanarLaplace(PLANE, 5.0), 50, True, True).encode(points(0, 300)))
    assert max(map(len, moved)) <= 1000
    assert sum(map(len, moved)) == 50 * 300
    assert pl.concat(moved).group_by("user").len()["len"].unique().to_list() == [50]
    counted = list(HistogramEncoder(KRR(KINDS, 1.0), 50, True).encode(bags(0, 300)))
    assert [frame["count"].sum() for frame in counted] == [1000] * 15
    # A user's outputs stand in one frame.
    assert sum(frame["user"].n_unique() for frame in counted) == 300
    large = list(HistogramEncoder(KRR(KINDS, 1.0), 5000, True).encode(bags(0, 2)))
    assert [frame["count"].sum() for frame in large] == [5000, 5000]


def test_sampling_follows_the_multinomial_law() -> None:
    # 20,000 users with the bag (1, 7): the first item's total is binomial, 8 draws of chance 1/8 a user.
    users, draws = 20_000, 8
    block = BagBlock(np.arange(users), 2 * np.arange(users + 1), np.tile([0, 1], users), np.tile([1, 7], users))
    (frame,) = SampleEncoder(draws, keep_exact=True).encode(block)
    assert frame["count"].sum() == users * draws
    expected, deviation = users * draws / 8, np.sqrt(users * draws * (1 / 8) * (7 / 8))
    assert abs(frame["count"][0] - expected) < 6 * deviation
    assert abs(frame["count"][0] - 1.3 * expected) > 6 * deviation
    np.testing.assert_allclose(frame["share"].to_list(), [users / 8, users * 7 / 8], rtol=1e-12)
