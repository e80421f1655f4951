"""Answers of tables with slots: counts and sums under d_EM-DP, their previews and intervals, ledgers, words."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import emdp
from emdp.base.errors import LedgerError, SqlError, UsageError
from emdp.budgets.redeclaring import redeclare_as
from emdp.catalog.catalog import load_catalog
from emdp.disclosure.stories import default_stories, protected
from emdp.estimators.itemwise.encoders import PointEncoder
from emdp.estimators.itemwise.release import ItemwiseRelease
from emdp.ledger import open_ledger
from emdp.privacy import Change, EmdDP
from emdp.reports.words import protection_sentences
from emdp.sessions.asking import declaration_of
from emdp.spaces import Elsewhere
from emdp.tables.engines.blocks import PointBlock
from emdp.tables.engines.duckdb.items import bag_blocks

FRAME = pl.DataFrame(
    {
        "user": [1, 1, 1, 2, 4, 5, 5],
        "x": [1.0, 2.0, 3.0, 4.0, 99.0, 6.0, None],
        "kind": ["a", "a", "b", "b", "a", "a", "b"],
    }
)
LINE = emdp.Interval("x", 0, 10, on_invalid="elsewhere")
BOTH = emdp.Product(LINE, emdp.Categories("kind", ["a", "b"]))
EXACT = 1e9
"""A price at which noise is far below what the tests look at."""


@pytest.fixture
def session(tmp_path: Path) -> emdp.Session:
    # Somewhere are 3 records of user 1, 1 of user 2, none of 3 and 4, 1 of user 5.
    table = emdp.read(FRAME, user="user", space=BOTH, users=[1, 2, 3, 4, 5], name="trips", slots=4)
    budget = [emdp.EmdDP(alpha=1e13), emdp.UserDP(1e13)]
    return emdp.Session(table, budget=budget, ledger=tmp_path / "city.ledger")


def ask(session: emdp.Session, items: str, clauses: str = "") -> dict[str, list[Any]]:
    statement = f"SELECT WITH EMD_PRIVACY OPTIONS (alpha = {EXACT}) {items} FROM trips {clauses}"
    return session.sql(statement).frame.to_dict(as_series=False)


def test_counts_and_sums_are_those_of_the_records(session: emdp.Session) -> None:
    found = ask(session, "COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m, SHARE(ELSEWHERE) AS gone")
    assert found["n"] == pytest.approx([5], abs=1e-5)
    assert found["s"] == pytest.approx([16], abs=1e-5)
    # Every record weighs the same; without slots it is the mean of the users' means among what is somewhere.
    assert found["m"] == pytest.approx([16 / 5], abs=1e-5)
    assert found["gone"] == pytest.approx([15 / 20], abs=1e-5)


def test_conditions_and_groups_choose_records(session: emdp.Session) -> None:
    groups = ask(session, "kind, COUNT(*) AS n, SUM(x) AS s", "GROUP BY kind")
    assert groups["n"] == pytest.approx([3, 2], abs=1e-5)
    assert groups["s"] == pytest.approx([9, 7], abs=1e-5)
    assert ask(session, "COUNT(*) AS n", "WHERE NOT kind = 'a'")["n"] == pytest.approx([2], abs=1e-5)


def test_a_user_with_more_records_than_slots_counts_as_so_many(tmp_path: Path) -> None:
    table = emdp.read(FRAME, user="user", space=BOTH, users=[1, 2, 3, 4, 5], name="trips", slots=2)
    with emdp.Session(table, budget=emdp.EmdDP(1e13), ledger=tmp_path / "a.ledger") as session:
        answer = session.sql(f"SELECT WITH EMD_PRIVACY OPTIONS (alpha = {EXACT}) COUNT(*) AS n, SUM(x) AS s FROM trips")
    row = answer.frame.row(0, named=True)
    assert row["n"] == pytest.approx(2 + 1 + 1, abs=1e-5)
    assert row["s"] == pytest.approx(2 / 3 * 6 + 4 + 6, abs=1e-5)
    # What such users hold besides is not known, so that an interval of the true total has no upper end.
    assert row["n_high"] is row["s_high"] is None
    both = answer.interval(of="capped").row(0, named=True)
    assert both["query"] == "n"
    assert both["low"] < both["value"] < both["high"]


def test_a_mean_says_that_users_above_the_slots_count_as_so_many(tmp_path: Path) -> None:
    table = emdp.read(FRAME, user="user", space=BOTH, users=[1, 2, 3, 4, 5], name="trips", slots=2)
    with emdp.Session(table, budget=emdp.EmdDP(1e3), ledger=tmp_path / "a.ledger") as session:
        statements = session.preview("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x) AS m FROM trips").statements
    (said,) = (note for note in statements[0].notes if "more than 2" in note)
    assert said.startswith("means are over the records")


def test_sensitivities_are_those_of_the_theorem(tmp_path: Path) -> None:
    def scale(items: str, space: emdp.Space, slots: int) -> float:
        table = emdp.read({"user": [1], "x": [1.0]}, user="user", space=space, users=50, name="trips", slots=slots)
        with emdp.Session(table, budget=emdp.EmdDP(1e3), ledger=tmp_path / f"{slots}.ledger") as session:
            preview = session.preview(f"SELECT WITH EMD_PRIVACY OPTIONS (alpha = 2) {items} AS n FROM trips")
            return float(preview.frame["noise_scale"][0])

    # A count moves by M per unit of d_em, whatever the number of users; a sum by M max(L, max|e|).
    assert scale("COUNT(*)", emdp.Interval("x", 0, 10), 20) == pytest.approx(20 / 2)
    assert scale("SUM(x)", emdp.Interval("x", 0, 10), 20) == pytest.approx(20 * 10 / 2)
    assert scale("SUM(x)", emdp.Interval("x", 90, 100), 20) == pytest.approx(20 * 100 / 2)
    assert scale("SUM(x)", emdp.Interval("x", -5, 5), 7) == pytest.approx(7 * 10 / 2)


def test_previews_and_explanations_say_what_is_counted(session: emdp.Session) -> None:
    text = str(session.preview("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) COUNT(*) AS n, SUM(x) AS s FROM trips"))
    assert "range [0, 20]" in text
    assert "range [0, 200]" in text
    assert "users with more than 4 of them" in text
    assert "bags are filled with it up to 4 records" in text


@pytest.mark.slow
def test_intervals_hold_what_they_say(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    frame = pl.DataFrame({"user": rng.integers(0, 40, 150), "x": rng.uniform(0, 10, 150)})
    table = emdp.read(frame, user="user", space=emdp.Interval("x", 0, 10), users=list(range(50)), name="t", slots=12)
    query = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 5) COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m FROM t"
    held, repetitions = {"n": 0, "s": 0, "m": 0}, 200
    with emdp.testing.seeded(3), emdp.Session(table, budget=emdp.EmdDP(1e6), ledger=tmp_path / "a.ledger") as session:
        truth = {"n": 150.0, "s": float(frame["x"].sum()), "m": float(frame["x"].mean() or 0)}
        for _ in range(repetitions):
            for row in session.sql(query).interval(of="capped").iter_rows(named=True):
                held[row["query"]] += row["low"] <= truth[row["query"]] <= row["high"]
    # 95 %: fewer than 179 or more than 199 of 200 happen less than once in 1,000 times.
    assert all(179 <= count <= 199 for count in held.values()), held


def test_a_cap_stays_one_of_the_user_level(session: emdp.Session) -> None:
    with pytest.raises(SqlError, match="max_records"):
        session.sql("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1, max_records_per_user = 3) COUNT(*) FROM trips")
    assert session.history().height == 0
    capped = (
        "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1000000000, max_records_per_user = 2) COUNT(*) AS n FROM trips"
    )
    # Under a cap the slots play no part.
    assert session.sql(capped).frame["n"][0] == pytest.approx(4, abs=1e-4)


KINDS = emdp.Categories("kind", ["a", "b"], on_invalid="elsewhere")
BAGS = [bag for size in range(5) for bag in itertools.combinations_with_replacement(("a", "b", "c"), size)]
"""Bags of up to four records; "c" is no kind, and elsewhere."""


def in_one_table(slots: int) -> emdp.Table:
    """Return a table with a user for each of the bags; the first, who has none, is on the list alone."""
    rows = [(user, kind) for user, bag in enumerate(BAGS) for kind in bag]
    frame = pl.DataFrame(rows, schema={"user": pl.Int64, "kind": pl.String}, orient="row")
    return emdp.read(frame, user="user", space=KINDS, users=list(range(len(BAGS))), name="trips", slots=slots)


@pytest.mark.parametrize("slots", [*(pytest.param(own, marks=pytest.mark.slow) for own in (1, 2)), 3])
def test_what_is_drawn_from_is_the_bag_of_the_distance(slots: int) -> None:
    """Of all pairs of bags: what a record is drawn of differs by their ``d_em``, here the distance in variation."""
    table = in_one_table(slots)
    shares = {0: [0.0, 0.0, 1.0]}
    for block in bag_blocks(table).open():
        for place, user in enumerate(block.users.tolist()):
            entries = slice(int(block.offsets[place]), int(block.offsets[place + 1]))
            own = np.bincount(block.codes[entries], weights=block.counts[entries], minlength=3)
            assert own.sum() == max(slots, sum(kind != "c" for kind in BAGS[user]))
            assert block.codes[entries].tolist() == sorted(set(block.codes[entries].tolist()))
            shares[user] = (own / own.sum()).tolist()
    assert len(shares) == len(BAGS)
    for one, other in itertools.combinations(range(len(BAGS)), 2):
        frames = [
            pl.DataFrame({"kind": list(BAGS[user])}, schema={"kind": pl.String}) for user in (one, other)
        ]  # fmt: skip
        apart = 0.5 * float(np.abs(np.subtract(shares[one], shares[other])).sum())
        assert apart == pytest.approx(emdp.d_em(*frames, space=table.space), abs=1e-12)


@pytest.mark.parametrize("model", ["local", "central"])
def test_frequencies_of_items_are_of_filled_bags(tmp_path: Path, model: str) -> None:
    """One of 4 slots of 5 users is drawn of each; at a price without noise the shares are those of what was drawn."""
    space = emdp.Categories("kind", ["a", "b"])
    frame = pl.DataFrame({"user": np.repeat(np.arange(4000), 2), "kind": ["a", "b"] * 4000})
    table = emdp.read(frame, user="user", space=space, users=5000, name="trips", slots=4)
    method = "krr" if model == "local" else "histogram"
    budget = [emdp.EmdDP(1e9, 1e-3), emdp.UserDP(99.0, 1e-3)]
    with emdp.Session(table, budget=budget, ledger=tmp_path / "a.ledger") as session:
        answer = session.frequencies(epsilon=30, delta=1e-5, model=model, method=method, name="share")
    found = dict(answer.frame.select("kind", "share").rows())
    # Two of four slots of 4,000 users, none of 1,000: .2 each of them, and .6 empty. Six deviations are .042.
    assert found == {
        "a": pytest.approx(0.2, abs=0.042),
        "b": pytest.approx(0.2, abs=0.042),
        None: pytest.approx(0.6, abs=0.042),
    }
    assert "a user's as 4 at most" in str(answer.explain()) or model == "central"


def test_samples_of_records_are_of_filled_bags(tmp_path: Path) -> None:
    space = emdp.Categories("kind", ["a", "b"])
    table = emdp.read(FRAME, user="user", space=space, users=5, name="trips", slots=4)
    with (
        emdp.testing.seeded(5),
        emdp.Session(table, budget=emdp.EmdDP(60.0, 1e-3), ledger=tmp_path / "a.ledger") as session,
    ):
        with pytest.raises(UsageError, match=r"costs alpha = .* in 4 slots, above the 20 asked for; pass alpha0 = "):
            session.itemwise(emdp.randomizers.KRR(table.space, 20.0), alpha=20.0)
        answer = session.itemwise(emdp.randomizers.KRR, alpha=50.0)
        # Pure, and for bags of any sizes; as many draws as slots.
        assert (answer.guarantee.sizes, answer.guarantee.delta) == ("unbounded", 0.0)
        assert 49.9 < answer.spent.level <= 50.0
        assert answer.frame["count"].sum() == 5 * 4
        assert "4 records drawn with replacement from every user's bag" in answer.explain()
    randomizer = emdp.randomizers.KRR(table.space, 30.0)
    release = ItemwiseRelease(randomizer, 2000, is_sampled=True, is_local=False, accounted="")
    with emdp.testing.seeded(5):
        (outputs,), _ = release.release(bag_blocks(table).open(), users=5, keep_exact=False)
    # Of users 1 (a, a, b), 2 (b), 4 (a), 5 (a, b) and one without: 4 a and 3 b in 20 slots. Eight deviations.
    shares = [float(count) / 10_000 for count in outputs]
    assert shares == [pytest.approx(number, abs=0.04) for number in (0.2, 0.15, 0.65)]


def test_points_are_drawn_of_filled_bags() -> None:
    space = Elsewhere(LINE, 1, slots=4)
    encoder = PointEncoder(emdp.randomizers.PlanarLaplace(space, 1e6), 1000, True, True)
    items = np.vstack([LINE.encode({"x": [5.0]}), space.neutral_item, LINE.encode({"x": [1.0, 2.0, 3.0, 4.0, 6.0]})])
    block = PointBlock(np.array([0, 1]), np.array([0, 2, 7]), items)
    with emdp.testing.seeded(3):
        drawn = pl.concat(encoder.encode(block))
    gone = [
        space.is_elsewhere(drawn.filter(pl.col("user") == user).select("item_0").to_numpy()).mean() for user in (0, 1)
    ]
    # One of four slots is filled, and five of five. Eight deviations.
    assert gone == [pytest.approx(0.75, abs=0.11), 0.0]


def test_a_mean_over_users_weighs_users_whatever_the_slots(tmp_path: Path) -> None:
    found = []
    for slots in (None, 1, 4):
        table = emdp.read(FRAME, user="user", space=LINE, users=5, name="trips", elsewhere=1, slots=slots)
        ledger = tmp_path / f"{slots}.ledger"
        with emdp.testing.seeded(2), emdp.Session(table, budget=emdp.UserDP(99.0), ledger=ledger) as session:
            answer = session.user_mean("x", epsilon=9.0)
            found.append(answer.exact["user_mean"])
            assert ("users weigh alike here" in str(answer.explain())) == (slots is not None)
    assert found[0] == pytest.approx(found[1], abs=1e-9)
    assert found[0] == pytest.approx(found[2], abs=1e-9)


def test_what_cannot_be_declared_beside_them() -> None:
    common: dict[str, Any] = {"user": "user", "space": LINE, "users": 5}
    for more, said in (
        ({"slots": 4, "elsewhere": "neutral"}, "elsewhere=1"),
        ({"slots": 4, "records": 4}, "leave one out"),
        ({"slots": 0}, "at least 1"),
        ({"slots": 2.0}, "whole number"),
        ({"slots": True}, "whole number"),
    ):
        with pytest.raises(UsageError, match=said):
            emdp.read(FRAME, **common, **more)
    assert emdp.read(FRAME, **common, slots=4).space.elsewhere == 1
    assert emdp.read(FRAME, **common, slots=4, elsewhere=0.5).space.elsewhere == 0.5


@pytest.mark.parametrize(
    ("had", "has"), [({"elsewhere": 1}, {"slots": 4}), ({"slots": 4}, {"elsewhere": 1}), ({"slots": 4}, {"slots": 5})]
)
def test_no_charge_carries_over_to_other_slots(tmp_path: Path, had: Any, has: Any) -> None:
    FRAME.write_parquet(tmp_path / "trips.parquet")

    def read(more: Any) -> emdp.Table:
        return emdp.read(tmp_path / "trips.parquet", user="user", space=LINE, users=5, **more)

    with emdp.Session(read(had), budget=emdp.EmdDP(9), ledger=tmp_path / "a.ledger") as session:
        session.mean(emdp.col("x"), alpha=1)
    with pytest.raises(LedgerError, match="slots"):
        emdp.Session(read(has), budget=emdp.EmdDP(9), ledger=tmp_path / "a.ledger")
    with open_ledger(str(tmp_path / "a.ledger")) as ledger, pytest.raises(LedgerError, match="in one metric"):
        redeclare_as(ledger, "trips", declaration_of(read(has)))


CATALOG = """
ledger = "city.ledger"
[tables.trips]
source = "trips.parquet"
user = "user"
users = 5
slots = 20
space = { kind = "interval", col = "x", low = 0, high = 100, on_invalid = "elsewhere" }
budget = { delta = 0.0 }
protect = [
  { records = 3, distance = 5.0, epsilon = 0.2 },
  { records = 1, distance = "elsewhere", epsilon = 2.0 },
]
"""


def test_a_catalog_protects_records(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "trips.parquet")
    (tmp_path / "emdp.toml").write_text(CATALOG)
    catalog = load_catalog(tmp_path / "emdp.toml")
    space = catalog.table().space
    assert space.slots == 20
    assert catalog.budgets()[0].level == pytest.approx(min(0.2 / (3 / 20 * 0.05), 2.0 * 20))
    spent, promised = [EmdDP(6.0)], [EmdDP(20.0)]
    said = protection_sentences(spent, promised, catalog.protections(), space, period="2026-W47")
    assert said[0].startswith("A change of 3 of your records of 2026-W47 by 5 is hidden with epsilon 0.045 by this")
    assert "One record counts as 1/20 of that period's, however many you have: epsilon 0.05." in said[0]
    assert said[1].startswith("That 1 of your records of 2026-W47 is changed in any way, added, removed or gone, is")
    assert "with epsilon 1 by all" in said[1]
    stories = protected(catalog.protections(), space)
    assert [story.title for story in stories] == ["declared: 3 records by 5", "declared: 1 record gone"]
    assert [story.d_em(space) for story in stories] == pytest.approx([0.0075, 0.05])
    assert [story.title for story in default_stories(space)][1:3] == [
        "one record, of 100 records",
        "one record, of 20 records",
    ] or "one record, of 5 records" not in [story.title for story in default_stories(space)]
    for wrong in ("{ records = 3, fraction = 0.1, distance = 5.0, epsilon = 0.2 }", "{ records = 3, distance = 5.0 }"):
        (tmp_path / "emdp.toml").write_text(CATALOG.replace("{ records = 3, distance = 5.0, epsilon = 0.2 }", wrong))
        with pytest.raises(UsageError, match="write all three"):
            load_catalog(tmp_path / "emdp.toml").protections()


def test_a_change_of_records_reads_the_same_as_its_share() -> None:
    space = emdp.spaces.Elsewhere(emdp.Interval("x", 0, 100), slots=30)
    one = protection_sentences([EmdDP(6.0)], [EmdDP(60.0)], [Change(records=1, distance=5, epsilon=1.0)], space)
    other = protection_sentences([EmdDP(6.0)], [EmdDP(60.0)], [Change(1 / 30, 5, 1.0)], space)
    assert one[0].split("is hidden")[1] == other[0].split("is hidden")[1]
