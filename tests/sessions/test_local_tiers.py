"""Messages with keys for several readers: one charge, files of each reader, estimates from them, and misuse."""

import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import emdp
from emdp.audit import audit
from emdp.base.errors import UsageError
from emdp.cli.app import make_app
from emdp.expressions import col, evaluate
from emdp.mechanisms.items.moves import TieredMoves
from emdp.mechanisms.local.tiered_bits import TieredBits
from emdp.sessions.decoding import decode_messages
from emdp.sessions.planning import plan_request
from emdp.sessions.store import Store
from emdp.testing import seeded

LEVELS = [3.0, 1.0, 0.5]
USERS, PRESENT = 6000, 4000
MADE = np.random.default_rng(8)
ROWS = pl.DataFrame(
    {
        "user": np.arange(3 * PRESENT) % PRESENT,
        "x": MADE.uniform(0, 10, 3 * PRESENT),
        "kind": MADE.choice(["a", "b", "c"], 3 * PRESENT, p=[0.6, 0.3, 0.1]),
    }
)
SPACES: dict[str, emdp.Space] = {
    "x": emdp.Interval("x", 0, 10),
    "kind": emdp.Categories("kind", ["a", "b", "c"]),
    "fine": emdp.Grid(emdp.Interval("x", 0, 10), 10),
}
REQUESTS: dict[str, tuple[str, Callable[[emdp.Session, Any], emdp.Answer]]] = {
    "mean": ("x", lambda session, tiers: session.mean(col("x"), model="local", name="m", **tiers)),
    "vector of one": ("x", lambda session, tiers: session.vector_mean([col("x")], model="local", names=["m"], **tiers)),
    "items": ("kind", lambda session, tiers: session.frequencies(model="local", **tiers)),
    "bits of items": ("fine", lambda session, tiers: session.frequencies(model="local", method="hadamard", **tiers)),
    "several": ("x", lambda session, tiers: session.vector_mean(SEVERAL, model="local", names=[*"abc"], **tiers)),
    "average": ("x", lambda session, tiers: session.sql(_sql("AVG(x) AS m FROM visits", tiers))),
    "quotient": (
        "x",
        lambda session, tiers: session.sql(
            _sql("SHARE() AS s, AVG(10 - x) AS a FROM visits WHERE RAMP(x, 1, 9) ORDER BY s", tiers)
        ),
    ),
}

SEVERAL = [col("x"), 10 - col("x"), col("x") * 0.25]


def _sql(rest: str, tiers: Any) -> str:
    ((kind, level),) = tiers.items()
    shown = ", ".join(map(str, level.levels))
    header = "EMD_PRIVACY" if kind == "alpha" else "USER_PRIVACY"
    return f"SELECT WITH {header} OPTIONS ({kind} = TIERS({shown}), model = 'local') {rest}"


AVERAGE = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = TIERS(2, 1), model = 'local') AVG(x) FROM visits"


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[str], emdp.Session]]:
    sessions = []

    def session(space: str) -> emdp.Session:
        table = emdp.read(ROWS, user="user", space=SPACES[space], users=USERS, name="visits")
        budget = [emdp.EmdDP(1000.0), emdp.UserDP(1000.0)]
        sessions.append(emdp.Session(table, budget=budget, ledger=tmp_path / f"{space}.ledger"))
        return sessions[-1]

    yield session
    for one in sessions:
        one.close()


@pytest.mark.quarter
@pytest.mark.parametrize("request_name", REQUESTS)
@pytest.mark.parametrize("kind", ["alpha", "epsilon"])
def test_one_charge_and_files_that_give_every_reader_the_own_answer(
    opened: Any, tmp_path: Path, request_name: str, kind: str
) -> None:
    space, ask = REQUESTS[request_name]
    session = opened(space)
    answer = ask(session, {kind: emdp.tiers(LEVELS)})
    assert len(session.history()) == 1
    assert answer.spent.level == pytest.approx(3.0, abs=1e-12)
    assert answer.spent.level <= 3.0
    messages, *keys = answer.write_messages(tmp_path)
    assert stat.S_IMODE(os.stat(messages).st_mode) & 0o600 == 0o600
    assert [stat.S_IMODE(os.stat(own).st_mode) for own in keys] == [0o600, 0o600]
    widths = []
    for number, own in enumerate([*keys, None], 1):
        tier = answer.tier(number)
        assert tier.messages is None
        assert tier.guarantee.level == pytest.approx(LEVELS[number - 1], abs=1e-12)
        found = decode_messages(messages, keys=own, tier=number)
        assert (found.tier, found.users) == (number, USERS)
        assert found.guarantee == str(tier.guarantee)
        assert found.frame.select(pl.col(pl.Float64)).to_numpy().tolist() == pytest.approx(
            tier.frame.drop("x", strict=False).select(pl.col(pl.Float64)).to_numpy()
        )
        widths.append(float((tier.interval()["high"] - tier.interval()["low"]).max()))
    # Of a quotient the width depends on what was drawn below the line, too.
    assert request_name == "quotient" or widths == sorted(widths)


def test_no_message_or_key_stands_in_the_order_of_users(tmp_path: Path) -> None:
    """Users without records send theirs last: an order that is kept would tell who has none."""
    with seeded(3):
        table = emdp.read(
            ROWS.with_columns(kind=pl.lit("b")), user="user", space=SPACES["kind"], users=USERS, name="visits"
        )
        query = emdp.frequencies(model="local", epsilon=emdp.tiers([30.0, 20.0]), method="krr")
        with emdp.Session(table, budget=emdp.UserDP(100.0), ledger=tmp_path / "s.ledger") as session:
            messages = session.answer(query).messages
    assert messages is not None
    absent = messages.decoded(1) == 0
    assert absent.mean() == pytest.approx(1 / 3, abs=0.01)
    assert absent[-2000:].mean() == pytest.approx(1 / 3, abs=0.08)


def test_exact_values_under_the_switch(tmp_path: Path) -> None:
    with seeded(3):
        for space, ask, name in (("x", "mean", "m"), ("kind", "items", "frequency")):
            table = emdp.read(ROWS, user="user", space=SPACES[space], users=USERS, name="visits")
            with emdp.Session(table, budget=emdp.UserDP(100.0), ledger=tmp_path / space) as session:
                own = REQUESTS[ask][1](session, {"epsilon": emdp.tiers(LEVELS)})
                plain = REQUESTS[ask][1](session, {"epsilon": 1.0})
            assert not own.is_private
            assert own.exact[name] == pytest.approx(plain.exact[name])
            assert own.tier(3).exact[name] == pytest.approx(plain.exact[name])


def test_every_tier_covers_the_truth(opened: Any) -> None:
    session = opened("kind")
    held = np.zeros(3)
    shares = ROWS.group_by("user").agg([(pl.col("kind") == kind).mean().alias(kind) for kind in "abc"])
    truth = np.array([shares[kind].sum() for kind in "abc"])
    truth[0] += USERS - PRESENT
    for _ in range(12):
        answer = session.frequencies(model="local", epsilon=emdp.tiers(LEVELS))
        for place in range(3):
            rows = answer.tier(place + 1).interval(1 - 1e-7)
            low, high = rows["low"].to_numpy(), rows["high"].to_numpy()
            held[place] += bool(((low <= truth / USERS) & (truth / USERS <= high)).all())
    assert held.tolist() == [12, 12, 12]


def test_a_key_opens_the_release_that_it_was_drawn_for_alone(opened: Any, tmp_path: Path) -> None:
    session = opened("kind")
    files = []
    for place in range(2):
        folder = tmp_path / str(place)
        folder.mkdir()
        answer = session.frequencies(model="local", epsilon=emdp.tiers(LEVELS))
        files.append(answer.write_messages(folder))
        with pytest.raises(UsageError, match="no keys are written over"):
            answer.write_messages(folder)
    (messages, *keys), (_, other, _) = files
    with pytest.raises(UsageError, match="of another release"):
        decode_messages(messages, keys=other)
    # Not even where somebody writes the other release's name into it: the digest is of the messages.
    forged = json.loads(other.read_text())
    forged["release"] = json.loads(messages.read_text())["release"]
    other.write_text(json.dumps(forged))
    with pytest.raises(UsageError, match="of another release"):
        decode_messages(messages, keys=other)
    with pytest.raises(UsageError, match="tier 2 was asked for, and the keys are of tier 1"):
        decode_messages(messages, keys=keys[0], tier=2)
    with pytest.raises(UsageError, match="without keys there is tier 3"):
        decode_messages(messages, tier=1)
    keys[0].chmod(0o640)
    with pytest.raises(UsageError, match="chmod 600"):
        decode_messages(messages, keys=keys[0])


def test_files_that_are_none_are_refused(opened: Any, tmp_path: Path) -> None:
    messages, key, _ = opened("kind").frequencies(model="local", epsilon=emdp.tiers(LEVELS)).write_messages(tmp_path)
    whole, of_key = json.loads(messages.read_text()), json.loads(key.read_text())
    bad = tmp_path / "bad"
    for text in ("", "[]", "{}", "{" * 5000, json.dumps({**whole, "sent": [9] * USERS})):
        bad.write_text(text)
        with pytest.raises(UsageError, match="cannot be read as such"):
            decode_messages(bad)
    for changed in (
        {"sent": whole["sent"][1:]}, {"places": "x"}, {"tiers": 1}, {"tiers": True}, {"levels": []}, {"facts": []},
        {"release": 3}, {"sent": [0.5] * USERS}, {"sent": [True] * USERS}, {"symbols": "x"},
    ):  # fmt: skip
        bad.write_text(json.dumps({**whole, **changed}))
        with pytest.raises(UsageError, match="cannot be read as such"):
            decode_messages(bad)
    for facts in ({"what": "frequencies"}, {"epsilons": [1.0, 2.0, 0.5]}, {"method": "rappor"}, {"items": {}}):
        bad.write_text(json.dumps({**whole, "facts": {**whole["facts"], **facts}}))
        if facts.get("what") is None:
            with pytest.raises(UsageError, match="what cannot be"):
                decode_messages(bad)
    # What tiers are promised is of the release, too: with keys no other words stand for it.
    promised = whole["levels"]
    bad.write_text(json.dumps({**whole, "levels": ["epsilon = 0.01", *promised[1:]]}))
    with pytest.raises(UsageError, match="of another release"):
        decode_messages(bad, keys=key)
    bad.write_text(json.dumps({**whole, "levels": [*promised[:-1], "\x1b[2J"]}))
    with pytest.raises(UsageError, match="cannot be read as such"):
        decode_messages(bad)
    bad.chmod(0o600)
    for changed in ({"keys": of_key["keys"][1:]}, {"tier": 3}, {"tier": 0}):
        bad.write_text(json.dumps({**of_key, **changed}))
        with pytest.raises(UsageError, match="of another release"):
            decode_messages(messages, keys=bad)
    for changed in ({"keys": [-1] * USERS}, {"tier": "1"}, {"messages": None}, {"format": "emdp keys 2"}):
        bad.write_text(json.dumps({**of_key, **changed}))
        with pytest.raises(UsageError, match="cannot be read as such"):
            decode_messages(messages, keys=bad)
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(UsageError, match="cannot be read as such"):
            decode_messages(path)
    answer = opened("x").mean(col("x"), model="local", epsilon=emdp.tiers([2, 1]))
    with pytest.raises(UsageError, match="that can be written"):
        answer.write_messages(bad)
    # Paid for already: a folder that is not there is made.
    assert all(path.is_file() for path in answer.write_messages(tmp_path / "new" / "folder"))


def test_the_command(opened: Any, tmp_path: Path) -> None:
    answer = opened("kind").frequencies(model="local", epsilon=emdp.tiers(LEVELS))
    messages, key, _ = answer.write_messages(tmp_path)
    arguments = ["decode", str(messages), "--keys", str(key), "--tier", "1"]
    found = CliRunner().invoke(make_app(["decode"]), arguments)
    assert found.exit_code == 0
    assert f"tier 1, messages of {USERS} users: epsilon = 3.0" in found.stdout
    wrong = CliRunner().invoke(make_app(["decode"]), [*arguments[:-1], "2"])
    assert wrong.exit_code != 0


def test_what_has_no_tiers_of_messages_is_refused(opened: Any, tmp_path: Path) -> None:
    session = opened("kind")
    tiers = emdp.tiers([2, 1])
    refused: list[Callable[[], Any]] = [
        lambda: session.frequencies(model="local", epsilon=tiers, method="subset"),
        lambda: session.frequencies(model="local", epsilon=tiers, sizes=emdp.BoundedReduction(samples=4, r=0.5)),
        lambda: session.frequencies(model="shuffle", epsilon=tiers, delta=1e-6),
        lambda: session.mean(1.0, model="local", epsilon=tiers),
        lambda: session.frequencies(epsilon=1.0).write_messages(tmp_path),
        lambda: opened("x").vector_mean([col("x"), 1.0], model="local", epsilon=tiers),
        lambda: opened("x").vector_mean([col("x")], model="local", epsilon=tiers, noise="laplace"),
        lambda: opened("x").vector_mean([col("x") * (0.5 + k / 1000) for k in range(63)], model="local", epsilon=tiers),
        lambda: opened("x").mean(col("x"), model="shuffle", epsilon=tiers, delta=1e-6),
        lambda: opened("x").sql(AVERAGE.replace("AVG(x)", "AVG(1)")),
        lambda: opened("x").sql(AVERAGE.replace("AVG(x)", "STDDEV(x)")),
        lambda: opened("x").sql(AVERAGE.replace("AVG(x)", "COUNT(*)")),
        lambda: opened("x").sql(AVERAGE.replace("'local'", "'shuffle', delta = 1e-6")),
        lambda: opened("x").sql(AVERAGE + " GROUP BY x BETWEEN 0 AND 5"),
    ]
    for ask in refused:
        with pytest.raises(emdp.EmdpError):
            ask()
    assert len(session.history()) == 1


def test_what_is_stored_or_shown_on_a_page_has_no_keys(opened: Any) -> None:
    session = opened("kind")
    text = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = TIERS(2, 1), model = 'local') FREQUENCY(*) FROM visits"
    planned = plan_request(text, session.names, session.promises)
    with pytest.raises(UsageError, match="have keys, which no stored answer"):
        Store(session).ask(planned)
    assert session.history().is_empty()
    assert session.sql(text).messages is not None


def test_the_best_way_is_said_beside_it(opened: Any) -> None:
    text = str(opened("x").preview(emdp.mean(col("x"), model="local", epsilon=emdp.tiers(LEVELS))))
    assert "where the data are with one, leave model out: an expected error of 0.000556 in place of 0.0569" in text
    assert "a message for each would cost 4.5" in text


@pytest.mark.parametrize(("levels", "each"), [([6.0, 5.0], 2), ([1.0, 0.5], 1)])
def test_several_means_are_sent_together_or_one_a_user(
    opened: Any, tmp_path: Path, levels: list[float], each: int
) -> None:
    """Strong messages are split, weak ones dealt out; the preview has the errors of both ways, and says so."""
    session = opened("x")
    answer = session.vector_mean([col("x"), 10 - col("x")], model="local", epsilon=emdp.tiers(levels))
    messages = answer.messages
    assert messages is not None
    assert np.bincount(messages.places).tolist() == [USERS * each // 2] * 2
    assert ("of a coordinate dealt out (its" if each == 1 else "coordinate (its") in str(answer.explain())
    neutral = float(evaluate(col("x"), SPACES["x"], SPACES["x"].neutral_item)[0])
    mean = (float(ROWS["x"].mean()) * PRESENT + neutral * (USERS - PRESENT)) / USERS  # type: ignore[arg-type]
    for number in (1, 2):
        rows = answer.tier(number).interval(1 - 1e-9)
        assert ((rows["low"] <= pl.Series([mean, 10 - mean])) & (pl.Series([mean, 10 - mean]) <= rows["high"])).all()
    path = answer.write_messages(tmp_path)[0]
    whole = json.loads(path.read_text())
    bad = tmp_path / "bad"
    for facts in (
        {"each": 3 - each}, {"is_dealt": 1}, {"names": ["a"]}, {"bits": []}, {"users": 2 * USERS}, {"items": [[0]]},
        {"items": [["a", 9, 0.0, None, 0, 1]], "listed": []}, {"items": [["a", 0, "1e999", 1, 0, 1]], "listed": []},
        {"items": [["a", 0, 0.0, 1.5, 0, 1]], "listed": []}, {"items": [["a", "0", 0.0, None, 0, 1]], "listed": []},
    ):  # fmt: skip
        bad.write_text(json.dumps({**whole, "facts": {**whole["facts"], **facts}}))
        with pytest.raises(UsageError, match=r"what cannot be|cannot be read"):
            decode_messages(bad)


def test_an_audit_of_several_means_finds_one_key_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a user sends of two means is judged together: bits that are alike with one key tell which means are."""
    table = emdp.read(ROWS, user="user", space=SPACES["x"], users=USERS)
    query = emdp.vector_mean([col("x"), abs(col("x") - 5)], model="local", epsilon=emdp.tiers([4.0, 3.0]))
    options: dict[str, Any] = {"trials": 20_000, "end_to_end": 0, "distances": [1.0], "confidence": 1 - 1e-6}
    assert audit(table, query, **options).is_sound
    moved = TieredBits.moved

    def once(self: TieredBits, bits: Any) -> Any:
        sent, keys = moved(self, bits)
        same = (sent ^ bits)[:, :1]
        return bits ^ same, tuple(np.repeat(own[:, :1], bits.shape[1], axis=1) for own in keys)

    monkeypatch.setattr(TieredBits, "moved", once)
    assert not audit(table, query, **options).is_sound


def test_an_audit_of_several_means_finds_what_they_cost() -> None:
    """Both bits turn when a user moves from end to end: the two at half the level cost the whole one, and no more."""
    table = emdp.read(ROWS, user="user", space=SPACES["x"], users=USERS)
    query = emdp.vector_mean([col("x"), 10 - col("x")], model="local", epsilon=emdp.tiers([4.0, 3.0]))
    report = audit(table, query, trials=20_000, end_to_end=0, distances=[1.0], confidence=1 - 1e-6)
    assert report.is_sound
    assert report.rows[0].audited_epsilon > 3.0


@pytest.mark.quarter
@pytest.mark.parametrize("space", ["x", "kind"])
def test_an_audit_finds_a_key_of_two_questions(space: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    table = emdp.read(ROWS, user="user", space=SPACES[space], users=USERS)
    tiers = emdp.tiers([2.0, 0.5])
    query = (
        emdp.mean(col("x"), model="local", epsilon=tiers)
        if space == "x"
        else emdp.frequencies(model="local", epsilon=tiers, method="krr")
    )
    options: dict[str, Any] = {"trials": 20_000, "end_to_end": 0, "distances": [1.0], "confidence": 1 - 1e-6}
    report = audit(table, query, **options)
    assert report.is_sound
    assert report.rows[0].audited_epsilon > 1.5
    kept: dict[Any, Any] = {}
    draw = TieredMoves._draw
    monkeypatch.setattr(
        TieredMoves, "_draw", lambda self, weight, size: kept.setdefault((weight, size), draw(self, weight, size))
    )
    found = audit(table, query, **options)
    assert not found.is_sound
    assert "two questions" in found.rows[0].test
