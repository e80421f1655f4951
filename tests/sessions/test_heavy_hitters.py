"""Frequent strings through a session: found as promised, charged before reading, exact under the switch, refused."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.base.errors import BudgetExceededError, DataRuleError, EmdpError, UsageError
from emdp.mechanisms.strings.prefix_search import HeavyHitterSearch
from emdp.resources import load_dataset_module
from emdp.tables.engines.duckdb import items as item_reads

USERS, FEW = 5_000, 2_000
WORDS = ["Abc", "abc", "ABC zz!", "defg abc", "h3llo", None, "", "\u00e9t\u00e9"]
SPACE = emdp.Interval("x", 0, 1)
LOCAL: dict[str, Any] = {
    "threshold": 0.3, "epsilon": 4.0, "words": True, "length": 4, "alphabet": "abcdefgh", "model": "local",
}  # fmt: skip
CENTRAL: dict[str, Any] = {"threshold": 0.05, "epsilon": 2.0, "delta": 1e-7, "words": True}


@cache
def rows(count: int) -> pl.DataFrame:
    # User u has 1 + u % 3 records, but for every tenth, who has none.
    users = np.repeat(np.arange(count), np.where(np.arange(count) % 10, 1 + np.arange(count) % 3, 0))
    texts = [WORDS[number] for number in (users * 5 + np.arange(len(users)) // 3) % len(WORDS)]
    return pl.DataFrame({"user": users, "x": np.full(len(users), 0.5), "message": texts})


@cache
def truth_of(count: int, alphabet: str = r"[a-z0-9']") -> dict[str, float]:
    """Return frequencies of words by plain Python; of words with other characters than an alphabet's there are none."""
    totals: Counter[str] = Counter()
    for (_,), own in rows(count).group_by("user"):
        texts = own["message"].to_list()
        # A missing message is a record, one without words is none.
        found = [w for text in texts for w in ([""] if text is None else re.findall("[a-z0-9]+", text.lower()))]
        totals.update({word: 1 / len(found) * found.count(word) for word in set(found)})
    return {word: share / count for word, share in totals.items() if re.fullmatch(f"{alphabet}+", word)}


def opened(folder: Path, count: int = FEW, users: Any = None, **changed: Any) -> emdp.Session:
    budget = changed.pop("budget", emdp.UserDP(1000, 1e-3))
    frame = changed.pop("frame", rows(count))
    table = emdp.read(frame, user="user", space=SPACE, users=count if users is None else users, **changed)
    return emdp.Session(table, budget=budget, ledger=folder / "x.ledger")


@pytest.fixture
def switched() -> Iterator[None]:
    with emdp.testing.seeded(31):
        yield


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("model", "listed"),
    [("local", False), ("local", True), ("shuffle", True), ("central", False), ("central", True)],
)
def test_what_is_frequent_is_found(tmp_path: Path, listed: bool, model: str, switched: None) -> None:
    options = CENTRAL if model == "central" else {**LOCAL, "model": model, "delta": 0.0 if model == "local" else 1e-7}
    count = FEW if model == "central" else USERS
    session = opened(tmp_path, count, list(range(count)) if listed else None)
    truth = truth_of(count) if model == "central" else truth_of(count, "[a-h]")
    answer = session.heavy_hitters("message", **options)
    frame = answer.frame
    assert frame.columns == ["value", "frequency", "frequency_low", "frequency_high"]
    wanted = {word for word, share in truth.items() if share >= options["threshold"]}
    assert len(wanted) == (1 if model != "central" else 5), truth
    assert wanted <= set(frame["value"])
    for value, _, low, high in frame.iter_rows():
        assert low <= truth[value] <= high
    assert not answer.is_private
    exact = answer.exact_frame
    assert dict(exact.iter_rows()) == pytest.approx({w: truth[w] for w in exact["value"]}, abs=1e-12)
    assert wanted <= set(exact["value"])
    assert isinstance(answer.exact["frequency"], list)
    assert answer.guarantee.model == model  # type: ignore[attr-defined]


def test_answers_are_reproducible_under_the_switch(tmp_path: Path, switched: None) -> None:
    found = []
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
        with emdp.testing.seeded(5):
            session = opened(tmp_path / place, USERS)
            found += [session.heavy_hitters("message", **options).frame for options in (LOCAL, CENTRAL)]
    assert found[0].equals(found[2])
    assert found[1].equals(found[3])


def test_private_answers_hold_nothing_exact(tmp_path: Path) -> None:
    session = opened(tmp_path, USERS)
    for options in (LOCAL, CENTRAL):
        answer = session.heavy_hitters("message", **options)
        assert "abc" in answer.frame["value"].to_list()
        assert answer.is_private
        with pytest.raises(UsageError, match="seeded"):
            _ = answer.exact


def test_the_ledger_says_what_was_paid_and_for_what(tmp_path: Path) -> None:
    session = opened(tmp_path, USERS)
    local = session.heavy_hitters("message", **LOCAL)
    central = session.heavy_hitters("message", **CENTRAL)
    assert local.spent == emdp.UserDP(4.0, 0.0, "local")
    assert central.spent == emdp.UserDP(2.0, 1e-7)
    assert session.spent() == emdp.UserDP(6.0, 1e-7)
    history = session.history()
    assert history["mechanism"].to_list()[-2:] == ["Guarantee"] * 2
    assert "frequent strings" in Path(session.ledger.path).read_bytes().decode("latin-1")
    assert history["query"].to_list()[-1] == emdp.heavy_hitters("message", **CENTRAL).text


def test_what_explains_an_answer(tmp_path: Path) -> None:
    session = opened(tmp_path, USERS)
    text = session.heavy_hitters("message", **LOCAL).explain()
    search = HeavyHitterSearch(USERS, 4.0, 0.3, b"abcdefgh", 4)
    assert f"{search.levels} levels" in text
    assert f"{search.level_users} users asked at each" in text
    assert "probability of 0.01" in text
    assert "theorem" in text
    assert "strings longer than 4 bytes or with other characters than 'abcdefgh' count as none" in text
    text = session.heavy_hitters("message", **CENTRAL).explain()
    assert "threshold for strings that only one user has" in text
    assert "every string with a frequency of at least 0.05 is found" in text


def test_a_preview_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened(tmp_path, USERS)

    def read(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(item_reads, "_frames", read)
    for options in (LOCAL, CENTRAL):
        shown = session.preview(emdp.heavy_hitters("message", **options))
        assert shown.frame["query"].to_list() == ["frequency"]
        assert shown.frame["affordable"][0] >= 200
    assert session.spent().epsilon == 0  # type: ignore[attr-defined]


def test_the_charge_stands_before_a_string_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened(tmp_path, USERS)
    frames, spent = item_reads._frames, []

    def watched(*arguments: Any) -> Any:
        spent.append(session.spent().epsilon)  # type: ignore[attr-defined]
        return frames(*arguments)

    monkeypatch.setattr(item_reads, "_frames", watched)
    session.heavy_hitters("message", **LOCAL)
    session.heavy_hitters("message", **CENTRAL)
    assert spent == [4.0, 6.0]


def test_a_crash_after_the_charge_leaves_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened(tmp_path)

    def broken(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(item_reads, "_frames", broken)
    with pytest.raises(KeyboardInterrupt):
        session.heavy_hitters("message", **CENTRAL)
    assert session.spent() == emdp.UserDP(2.0, 1e-7)


def test_budgets_that_do_not_cover_it(tmp_path: Path) -> None:
    session = opened(tmp_path, USERS, budget=emdp.UserDP(1.0, 1e-9))
    for options in (LOCAL, CENTRAL):
        with pytest.raises(BudgetExceededError):
            session.heavy_hitters("message", **options)
    assert session.spent().epsilon == 0  # type: ignore[attr-defined]
    (tmp_path / "em").mkdir()
    other = opened(tmp_path / "em", USERS, budget=emdp.EmdDP(100.0, 1e-3))
    with pytest.raises(EmdpError, match="UserDP"):
        other.heavy_hitters("message", **LOCAL)


def test_counts_mark_what_is_certain(tmp_path: Path, switched: None) -> None:
    session = opened(tmp_path)
    options = {**CENTRAL, "threshold": None, "count": 2}
    answer = session.heavy_hitters("message", **options)
    frame, truth = answer.frame, truth_of(FEW)
    assert len(frame) == 2
    top = sorted(truth, key=lambda word: -truth[word])
    assert frame["value"][0] == top[0] == "abc"
    assert frame["frequency_is_certain"].to_list()[0]
    few = session.heavy_hitters("message", **{**options, "count": 1000})
    assert set(few.frame["value"]) >= {word for word, share in truth.items() if share >= 0.05}


def test_whole_texts_and_case(tmp_path: Path, switched: None) -> None:
    session = opened(tmp_path)
    options = {**CENTRAL, "words": False}
    assert "defg abc" in session.heavy_hitters("message", **options).frame["value"].to_list()
    kept = session.heavy_hitters("message", **options, lower=False).frame["value"].to_list()
    assert {"Abc", "abc"} <= set(kept)
    assert "\u00e9t\u00e9" in kept
    assert "" not in kept


def test_a_string_of_one_user_with_many_strings_does_not_come_out(tmp_path: Path) -> None:
    # 5,000 strings of a user of its own, and one string that fills all 5,000 records of another.
    own = pl.DataFrame(
        {"user": [1] * 5000 + [2] * 5000, "x": [0.5] * 10_000,
         "message": [f"secret{number}" for number in range(5000)] + ["alone"] * 5000}
    )  # fmt: skip
    frame = pl.concat([rows(FEW).filter(~pl.col("user").is_in([1, 2])), own])
    session = opened(tmp_path, frame=frame)
    for _ in range(3):
        found = session.heavy_hitters("message", **{**CENTRAL, "threshold": None, "count": 10_000}).frame["value"]
        assert "abc" in found.to_list()
        assert not found.str.contains("secret|alone").any()


def test_a_flood_counts_once(tmp_path: Path) -> None:
    flood = pl.DataFrame({"user": [1] * 9000, "x": [0.5] * 9000, "message": ["h"] * 9000})
    session = opened(tmp_path, USERS, frame=pl.concat([rows(USERS), flood]))
    for options in (LOCAL, CENTRAL):
        found = session.heavy_hitters("message", **options).frame["value"].to_list()
        assert "abc" in found
        assert "h" not in found


def test_pictures_and_intervals(tmp_path: Path) -> None:
    session = opened(tmp_path)
    answer = session.heavy_hitters("message", **CENTRAL)
    assert "abc" in answer.plot().svg
    assert "abc" in session.heavy_hitters("message", **{**CENTRAL, "threshold": None, "count": 3}).plot().svg
    assert answer.interval(0.9).columns == ["key_value", "query", "value", "low", "high"]
    with pytest.raises(UsageError, match="top is for"):
        answer.top(3)


@pytest.mark.parametrize(
    ("column", "named"), [("x", "only text has frequent strings"), ("user", "who the user is"), ("no", "none of the")]
)
def test_other_columns_are_refused(tmp_path: Path, column: str, named: str) -> None:
    session = opened(tmp_path)
    with pytest.raises(UsageError, match=named):
        session.preview(emdp.heavy_hitters(column, **LOCAL))
    with pytest.raises(UsageError, match=named):
        session.heavy_hitters(column, **LOCAL)


def test_an_unknown_list_is_refused_with_the_remedy(tmp_path: Path) -> None:
    session = opened(tmp_path)
    with pytest.raises(UsageError, match=r"session.heavy_hitters\('message', ...\)"):
        session.frequencies(cells="message", epsilon=1.0)
    with pytest.raises(UsageError, match=r"is in reach; ask for a larger one.*model='central'"):
        session.heavy_hitters("message", **{**LOCAL, "threshold": 0.01})
    assert session.spent().epsilon == 0  # type: ignore[attr-defined]


def test_rules_are_checked_before_the_charge(tmp_path: Path) -> None:
    frame = pl.concat([rows(FEW), pl.DataFrame({"user": [FEW], "x": [0.5], "message": ["a"]})])
    session = opened(tmp_path, FEW, list(range(FEW)), frame=frame)
    with pytest.raises(DataRuleError, match="not among the declared users"):
        session.heavy_hitters("message", **CENTRAL)
    assert session.spent().epsilon == 0  # type: ignore[attr-defined]


def test_words_of_generated_messages(tmp_path: Path, switched: None) -> None:
    messages = load_dataset_module("messages")
    messages.write_messages(tmp_path / "m.parquet", tmp_path / "w.parquet", users=1000, records=5000, seed=3)
    space = emdp.Words("text", tmp_path / "w.parquet", on_invalid="neutral")
    table = emdp.read(tmp_path / "m.parquet", user="user_id", space=space, users=messages.message_users(1000))
    session = emdp.Session(table, budget=emdp.UserDP(10, 1e-4), ledger=tmp_path / "m.ledger")
    answer = session.heavy_hitters("text", count=50, epsilon=8.0, delta=1e-7, words=True, model="central")
    exact = answer.exact_frame
    joined = answer.frame.join(exact, on="value", suffix="_exact", how="left")
    assert len(joined) >= 10
    # Fewer than the 50 that were asked for: the answer says from which frequency all are found.
    assert answer.diagnostics["found"] == len(joined) < 50
    assert answer.diagnostics["complete_above"] > 0
    assert f"{len(joined)} of 50 strings were found" in answer.explain()
    assert f"{len(joined)} of 50 strings were found" in repr(answer)
    assert f"{len(joined)} of 50 strings were found" in answer._repr_html_()
    assert joined["frequency_exact"].is_between(joined["frequency_low"], joined["frequency_high"]).all()
    certain = joined.filter(pl.col("frequency_is_certain"))["value"]
    assert len(certain) >= 3
    assert set(certain) <= set(exact["value"][:50])


def test_words_of_every_language_are_found(tmp_path: Path, switched: None) -> None:
    own = ["M\u00fcller \u6771\u4eac", "MU\u0308LLER", "STRASSE stra\u00dfe"]
    users = np.arange(FEW)
    frame = pl.DataFrame({"user": users, "x": 0.5, "message": [own[number % 3] for number in users]})
    with opened(tmp_path, frame=frame) as session:
        answer = session.heavy_hitters("message", **CENTRAL, tokenizer="unicode")
    found = dict(answer.frame.select("value", "frequency").iter_rows())
    assert found.keys() == {"m\u00fcller", "strasse", "\u6771", "\u4eac"}
    assert found["m\u00fcller"] == pytest.approx(4 / 9, abs=0.05)
    assert found["strasse"] == pytest.approx(1 / 3, abs=0.05)
