"""Messages and word vectors: exact sizes, reproducible, dirty as declared, with topics and floods."""

import re
from collections import Counter

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from emdp.base.errors import UsageError
from emdp.resources import load_dataset_module

messages = load_dataset_module("messages")


def made(folder, name="t.parquet", **options):
    options = {"users": 200, "records": 10_000} | options
    messages.write_messages(folder / name, folder / f"words-{name}", **options)
    return pl.read_parquet(folder / name), pl.read_parquet(folder / f"words-{name}")


def words_of(texts):
    return [word for text in texts.drop_nulls() for word in re.findall(r"[a-z0-9]+", text.lower())]


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    return made(tmp_path_factory.mktemp("clean"), users=1000, records=30_000, dirty=0.0)


@pytest.mark.quarter
@pytest.mark.parametrize("records", [1, 2, 999, 10_001])
@pytest.mark.parametrize("users", [1, 19, 20, 200])
def test_the_number_of_rows_is_exact_and_users_are_listed(tmp_path, users, records):
    frame, _ = made(tmp_path, users=users, records=records, chunk=1000, dirty=0.01)
    assert frame.height == records
    assert set(frame["user_id"]) <= set(messages.message_users(users))


def test_the_schemas_and_what_is_returned(tmp_path):
    paths = tmp_path / "t.parquet", tmp_path / "w.parquet"
    written = messages.write_messages(*paths, users=5, records=10)
    assert pq.read_schema(paths[0]).equals(messages.SCHEMA)
    assert pq.read_schema(paths[1]).equals(messages.VECTORS_SCHEMA)
    assert (written.rows, written.users) == (10, 5)
    assert written.bytes == sum(path.stat().st_size for path in paths)


@pytest.mark.slow
def test_rows_depend_on_the_seed_alone(tmp_path):
    first, vectors = made(tmp_path, "a.parquet", seed=4, chunk=2000)
    again, vectors_again = made(tmp_path, "b.parquet", seed=4, chunk=2000)
    other, vectors_other = made(tmp_path, "c.parquet", seed=5, chunk=2000)
    assert first.equals(again)
    assert vectors.equals(vectors_again)
    assert not first["text"].equals(other["text"])
    assert not vectors["word"].equals(vectors_other["word"])


def test_one_chunk_at_a_time_is_in_memory(tmp_path):
    held, done = [], []

    def progress(rows):
        held.append(pa.total_allocated_bytes())
        done.append(rows)

    made(tmp_path, records=20_000, chunk=1000, progress=progress)
    assert done == list(range(1000, 20_001, 1000))
    assert pq.ParquetFile(tmp_path / "t.parquet").num_row_groups == 20
    # A chunk is about 85 kB in Arrow: nineteen more of them held measured 1.6 MB.
    assert held[-1] - held[0] < 300_000


def test_dirty_rows_are_as_many_as_declared_and_of_every_kind(tmp_path):
    frame, _ = made(tmp_path, records=20_000, dirty=0.02, chunk=3000)
    counts = {
        "null": frame["text"].null_count(),
        "empty": (frame["text"] == "").sum(),
        "no word": (frame["text"] == "...").sum(),
        "duplicate": frame.height - frame.unique().height,
    }
    assert counts == dict.fromkeys(messages.DIRTY_KINDS, 100)


def test_without_dirt_every_message_has_words(clean):
    frame, _ = clean
    assert frame["text"].null_count() == 0
    assert frame["text"].str.contains("[a-zA-Z0-9]").all()
    assert frame.unique().height == frame.height


def test_some_listed_users_are_silent(clean):
    silent = messages.silent_nicks(1000)
    assert len(silent) == 20
    assert not set(silent) & set(clean[0]["user_id"])


def test_nicks_are_different_and_stable():
    nicks = messages.message_users(200_000)
    assert len(set(nicks)) == 200_000
    assert nicks[:1000] == messages.message_users(1000)
    assert all(re.fullmatch(r"[a-z]+[2_]?", nick) for nick in nicks[:10_000])


def test_about_a_tenth_of_the_words_has_no_vector(clean):
    frame, vectors = clean
    known = set(vectors["word"])
    assert len(known) == vectors.height == 2000
    words = words_of(frame["text"])
    assert 0.085 < np.mean([word not in known for word in words]) < 0.115
    assert 7 < len(words) / frame.height < 11


def test_frequencies_are_long_tailed(clean):
    counts = np.array(sorted(Counter(words_of(clean[0]["text"])).values(), reverse=True))
    assert counts[0] > 20 * np.median(counts)
    assert counts[:100].sum() > 0.3 * counts.sum()


def test_writing_has_capitals_marks_and_plain_words(clean):
    texts = clean[0]["text"]
    for pattern, low, high in [
        (r"^[A-Z][a-z]", 0.2, 0.6),
        (r"\.$", 0.2, 0.5),
        (r"\?$", 0.1, 0.3),
        (r", ", 0.15, 0.6),
    ]:
        assert low < texts.str.contains(pattern).mean() < high
    assert texts.str.contains(r"\b[A-Z]{3,}\b").any()


def test_words_of_a_topic_cluster(clean):
    _, vectors = clean
    points = vectors["vector"].to_numpy().astype(float)
    topics = points[200:].reshape(15, 120, 25)
    centres = topics.mean(axis=1)
    within = np.linalg.norm(topics - centres[:, None], axis=2).mean()
    between = np.linalg.norm(centres[:, None] - centres[None], axis=2)[np.triu_indices(15, 1)].mean()
    assert between > 2 * within
    assert np.isfinite(points).all()


def test_people_have_topics(clean):
    frame, vectors = clean
    topic_of = {word: row // 120 for row, word in enumerate(vectors["word"][200:])}
    shares = []
    for texts in frame.group_by("user_id").agg("text")["text"]:
        topics = Counter(topic_of[word] for word in words_of(texts) if word in topic_of)
        if sum(topics.values()) >= 100:
            shares.append(sum(count for _, count in topics.most_common(3)) / sum(topics.values()))
    assert len(shares) > 30
    # With one taste for all, the three most common topics of fifteen would have a third.
    assert np.median(shares) > 0.9


def test_a_few_users_flood_with_one_line(clean):
    frame, _ = clean
    repeats = frame.group_by("user_id", "text").len().sort("len", descending=True)
    flooders = repeats.filter(pl.col("len") > 100)["user_id"].unique()
    assert flooders.len() == 2
    assert 0.06 < frame["user_id"].is_in(flooders.implode()).mean() < 0.1


def test_counts_are_long_tailed(clean):
    counts = clean[0]["user_id"].value_counts()["count"]
    assert counts.quantile(0.99) > 10 * counts.median()


def test_both_tables_appear_or_neither(tmp_path):
    with pytest.raises(UsageError, match=r"^vectors_out must end in \.parquet, got"):
        messages.write_messages(tmp_path / "t.parquet", tmp_path / "w.csv", users=5, records=10)

    def interrupt(rows):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        messages.write_messages(tmp_path / "t.parquet", tmp_path / "w.parquet", users=5, records=10, progress=interrupt)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_csv_tells_null_from_empty(tmp_path):
    frame, _ = made(tmp_path, dirty=0.02)
    messages.write_messages(tmp_path / "t.csv", tmp_path / "w.parquet", users=200, records=10_000, dirty=0.02)
    lines = (tmp_path / "t.csv").read_text().splitlines()[1:]
    assert len(lines) == frame.height
    assert sum(line.endswith(",") for line in lines) == frame["text"].null_count()
    assert sum(line.endswith(',""') for line in lines) == (frame["text"] == "").sum()
