"""Chunks, times, users and dirty rows: what both generators are made of."""

import doctest

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.resources import load_dataset_module

streams = load_dataset_module("streams")

MODULES = ("streams", "writing", "city", "people", "vocabulary", "checkins", "messages")
FLAT = streams.week([1.0] * 24, [1.0] * 24)


@pytest.mark.parametrize("name", MODULES)
def test_doctests_and_listed_names(name):
    module = load_dataset_module(name)
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0
    assert all(hasattr(module, public) for public in module.__all__)


@pytest.mark.parametrize(("records", "chunk"), [(1, 1000), (999, 1000), (1000, 1000), (1001, 1000), (123_457, 1000)])
def test_spans_cover_every_row_once_and_stay_below_the_chunk(records, chunk):
    parts = streams.spans(records, chunk)
    rows = [row for part in parts for row in (part.start, part.stop)]
    assert rows[0] == 0
    assert rows[-1] == records
    assert rows[1:-1:2] == rows[2::2]
    assert 0 < min(part.rows for part in parts) <= max(part.rows for part in parts) <= chunk
    assert [part.index for part in parts] == list(range(len(parts)))


@pytest.mark.parametrize("share", [0.0, 0.002, 0.1, 0.3337, 0.4])
@pytest.mark.parametrize("records", [1, 2, 3, 7, 1999, 12_345])
def test_dirt_is_exact_over_the_table_and_never_at_even_rows(share, records):
    total, kinds = 0, []
    for span in streams.spans(records, 1000):
        wrong = streams.dirt(streams.generator(3, span.index), span, share, 3)
        assert len(set(wrong.positions.tolist())) == len(wrong.positions)
        assert all(position % 2 == 1 and position < span.rows for position in wrong.positions)
        total += len(wrong.positions)
        kinds += wrong.kinds.tolist()
    assert total == int(share * records)
    assert kinds == [number % 3 for number in range(total)]


def test_seconds_ascend_within_and_across_chunks_and_follow_the_hours():
    hours = streams.week([0.0] * 8 + [1.0] + [0.0] * 15, [0.0] * 24)
    parts = streams.spans(20_000, 1000)
    moments = np.concatenate([streams.seconds(streams.generator(0, part.index), part, hours) for part in parts])
    assert np.all(np.diff(moments) >= 0)
    assert set((moments // 3600 % 24).tolist()) == {8}
    assert set((moments // 86_400 % 7).tolist()) == {0, 1, 2, 3, 4}
    assert moments[0] < 86_400 < 360 * 86_400 < moments[-1]


def test_users_are_drawn_in_proportion_and_not_in_order():
    span = streams.Span(0, 0, 100_000, 100_000)
    users = streams.draw_users(streams.generator(1), span, np.array([0.0, 1.0, 3.0]))
    counts = np.bincount(users, minlength=3)
    assert counts[0] == 0
    # Standard deviation 137: 0.7 or 1.3 times the weight would be off by thousands.
    assert abs(counts[2] - 75_000) < 1000
    assert np.count_nonzero(np.diff(users)) > 30_000


def test_lookup_gives_each_position_its_share():
    weights = np.array([1.0, 0.0, 2.0, 5.0])
    assert np.bincount(streams.lookup(weights, 800), minlength=4).tolist() == [100, 0, 200, 500]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("users", 0),
        ("users", 2**31),
        ("users", 1.5),
        ("records", 0),
        ("records", -1),
        ("seed", -1),
        ("dirty", -0.1),
        ("dirty", 0.41),
        ("dirty", float("nan")),
        ("chunk", 999),
    ],
)
def test_a_number_out_of_range_is_named(name, value):
    sizes = {"users": 10, "records": 10, "seed": 0, "dirty": 0.0, "chunk": 1000}
    with pytest.raises(UsageError, match=f"^{name} must be"):
        streams.check_sizes(**(sizes | {name: value}))
