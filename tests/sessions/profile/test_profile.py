"""First looks: what they ask, what it costs, what they find, and what they say of columns that nobody can answer."""

import datetime as dt
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import emdp
from emdp.base.errors import BudgetExceededError, UsageError
from emdp.privacy.guarantees.kinds import Neighbours
from emdp.privacy.rounding import as_decimal
from emdp.reports.profile_page import profile_page
from emdp.rows.types import Kind
from emdp.sessions.profile import Profile
from emdp.sessions.profile.lines import WIDTH, places
from emdp.sessions.profile.statements import Options, Part, _grid, parts_of

USERS = 200
UNMEASURED = emdp.Categories("who", [0], on_invalid="neutral")


def dirty() -> pl.DataFrame:
    """Four records a user, of all kinds of columns, with NaN, infinities, gaps, and names that need quotes."""
    rows = 4 * USERS
    start = dt.datetime(2024, 3, 1, 12)
    whole = [None if n % 10 == 0 else 1000 + n for n in range(rows)]
    real = [float("nan") if n % 20 == 0 else float("inf") if n % 20 == 1 else n / 100 - 5 for n in range(rows)]
    return pl.DataFrame(
        {
            "who": [n % USERS for n in range(rows)],
            'a "quoted" name': whole,
            "real": real,
            "at": [start + dt.timedelta(days=n % 30) for n in range(rows)],
            "flag": [None if n % 4 == 0 else n % 4 == 1 for n in range(rows)],
            "label": [("東京" if n % 3 else "München\n<b>") if n % 5 else None for n in range(rows)],
            "same": [2**62] * rows,
            "list": [[1, 2]] * rows,
            "time": [dt.time(8, 30)] * rows,
            "blob": [b"x"] * rows,
        }
    )


def session(place: Path, neighbours: Neighbours = "replace", rows: Any = None, budget: float = 1e6) -> emdp.Session:
    table = emdp.read(
        dirty() if rows is None else rows,
        user="who",
        space=UNMEASURED,
        users=USERS if neighbours == "replace" else None,
        name="odd table",
    )
    return emdp.Session(
        table, budget=emdp.UserDP(budget, 0.5, neighbours=neighbours), ledger=place / f"{neighbours}.ledger"
    )


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    """A first look at a price that hides nothing."""
    with emdp.testing.seeded(4), session(tmp_path_factory.mktemp("dirty"), "remove") as asked:
        found = asked.profile(
            epsilon=800.0, delta=1e-6, neighbours="remove", max_groups_per_user=2, max_records_per_user=4
        )
        assert asked.history().height == 1
        assert asked.spent() == emdp.UserDP(asked.spent().level, 1e-6, neighbours="remove")
        assert 0 < asked.spent().level <= 800
    return found


@pytest.mark.slow
def test_a_dirty_table(found: Profile) -> None:
    columns = {column.name: column for column in found.columns}
    assert found.records.value == pytest.approx(4 * USERS, abs=1)
    assert found.users.value == pytest.approx(USERS, abs=1)
    assert [(name, round(users.value)) for name, users in found.octaves] == [("up to 4", USERS)]
    missing = {"flag": 0.25, "real": 0.05, "label": 0.2, "same": 0.0, "at": 0.0}
    shares = {name: column.missing.value for name, column in columns.items() if column.missing}
    assert {name: shares[name] for name in missing} == pytest.approx(missing, abs=0.01)
    assert columns["flag"].true is not None
    assert columns["flag"].true.value == pytest.approx(0.25, abs=0.01)
    assert {name for name, column in columns.items() if column.unanswered} == {"list", "time", "blob"}
    assert set(found.frame.get_column("fact")) == {"missing", "true", "quantile", "days", "people"}
    assert max(map(places, found.explain().splitlines())) <= WIDTH


@pytest.mark.slow
def test_quartiles_days_and_values_of_a_dirty_table(found: Profile) -> None:
    columns = {column.name: column for column in found.columns}
    quartiles = {name: [one.value for _, one in column.quartiles] for name, column in columns.items()}
    assert quartiles['a "quoted" name'] == pytest.approx([1199, 1399, 1599], abs=2)
    assert quartiles["real"] == pytest.approx([-2.9, -0.8, 1.3], abs=0.2)
    assert quartiles["same"] == pytest.approx([2.0**62] * 3, rel=0.003)
    assert [day.isoformat() for day in quartiles["at"]] == ["2024-03-08", "2024-03-15", "2024-03-23"]
    assert columns["at"].days is not None
    assert columns["at"].days.value == pytest.approx(30, abs=1)
    assert columns["label"].values is not None
    assert {value for value, _ in columns["label"].values} == {"東京", "München\n<b>"}
    assert "München <b>" in found.explain()


def test_quartiles_weigh_few_records_of_a_user_however_many_are_counted(tmp_path: Path) -> None:
    with session(tmp_path, "remove") as asked:
        for most, own in ((3, 3), (100, 10), (10_000, 10)):
            shown = asked.profile_preview(epsilon=1.0, neighbours="remove", columns=["real"], max_records_per_user=most)
            texts = {part.kind: part.text for part, _ in shown.plan.parts}
            assert f"max_records_per_user = {most})" in texts["records"]
            assert f"max_records_per_user = {own})" in texts["quartiles"]


@pytest.mark.quarter
@pytest.mark.parametrize("neighbours", ["replace", "remove"])
def test_a_preview_is_what_is_asked_and_spends_nothing(neighbours: Neighbours, tmp_path: Path) -> None:
    with emdp.testing.seeded(4), session(tmp_path, neighbours, budget=2.0) as asked:
        few = ["real", "label", "flag"]
        shown = asked.profile_preview(epsilon=1.0, delta=1e-6, neighbours=neighbours, columns=few)
        assert asked.history().height == 0
        assert max(map(places, shown.explain().splitlines())) <= WIDTH
        assert len(asked.sql_batch(shown.sql)) == shown.frame.height
        (price,) = asked.history().get_column("alpha")
        assert price == asked.spent().level <= 1.0
        assert sum(map(as_decimal, shown.frame.get_column("epsilon"))) <= 1
        assert sum(map(as_decimal, shown.frame.get_column("delta"))) <= as_decimal(1e-6)
        assert shown.is_affordable
        assert not asked.profile_preview(epsilon=2.0, neighbours=neighbours, columns=few).is_affordable
        with pytest.raises(BudgetExceededError):
            asked.profile(epsilon=1.5, neighbours=neighbours, columns=few)
        assert asked.history().height == 1


@pytest.mark.slow
def test_one_user_is_hidden(tmp_path: Path) -> None:
    rows = pl.DataFrame({"who": [7], "title": ["secret"], "amount": [123456.0]})
    with session(tmp_path, "remove", rows) as asked:
        found = asked.profile(epsilon=1.0, delta=1e-6, neighbours="remove")
    assert found.is_private
    assert "secret" not in found.explain()
    assert [column.values for column in found.columns] == [(), None]


def test_no_delta_names_the_texts(tmp_path: Path) -> None:
    with session(tmp_path) as asked:
        shown = asked.profile_preview(epsilon=1.0, columns=["label", "flag"])
    assert "label: values that nobody listed need a delta" in shown.explain()
    assert set(shown.frame.get_column("delta")) == {0.0}


def test_a_listed_column_needs_no_delta(tmp_path: Path) -> None:
    rows = {"who": [1, 2, 3], "kind": ["bar", "cafe", "bar"]}
    space = emdp.Categories("kind", ["bar", "cafe", "zoo"], on_invalid="neutral")
    table = emdp.read(rows, user="who", space=space, users=3)
    with emdp.testing.seeded(1), emdp.Session(table, budget=emdp.UserDP(1e4), ledger=tmp_path / "l") as asked:
        (column,) = asked.profile(epsilon=1000.0, columns=["kind"]).columns
    assert column.values is not None
    assert [(value, round(people.value)) for value, people in column.values] == [("bar", 2), ("cafe", 1), ("zoo", 0)]


def test_a_declared_range_is_used(tmp_path: Path) -> None:
    table = emdp.read({"who": [1], "x": [0.5]}, user="who", space=emdp.Interval("x", 0, 1), users=1)
    parts, _ = parts_of(table.names(), Options(1.0, 0.0, "replace"))
    assert 'QUANTILE("x", 0.25)' in parts[-1].text


@pytest.mark.parametrize(
    ("name", "kind", "values"),
    [
        ("x", Kind.BIGINT, [-(2**63), -(10**9), -16385, -3, 0, 1, 370, 2024, 16384, 16385, 10**12, 2**63 - 1]),
        ("x", Kind.DOUBLE, [-1e11, -40.7, -1e-3, 0.0, 1e-4, 0.5, 73.98, 1e6, 1e12]),
        ("lat", Kind.DOUBLE, [-90.0, 40.7, 90.0]),
    ],
)
def test_a_place_of_the_grid_is_near_its_value_and_rises(name: str, kind: Kind, values: list[float]) -> None:
    names = emdp.read({"who": [1], name: values[:1]}, user="who", space=UNMEASURED, users=1).names()
    text, back, above = _grid(names, name, kind)
    text = text.replace("CLAMP(", "greatest_least(")
    with duckdb.connect() as engine:
        engine.execute("CREATE MACRO greatest_least(e, a, b) AS greatest(a, least(b, e))")
        frame = engine.execute(f'SELECT {text} FROM (SELECT unnest(?) AS "{name}")', [values]).fetchall()
    found = [place for (place,) in frame]
    assert found == sorted(found)
    for value, place in zip(values, found, strict=True):
        low, high = back(place), above(place)
        assert isinstance(low, float)
        assert isinstance(high, float)
        assert low == pytest.approx(value, rel=0.0023, abs=1e-9)
        if kind is Kind.BIGINT:
            assert low <= value * (1 + 1e-9 if value > 0 else 1 - 1e-9)
            assert value <= high * (1 + 1e-9 if high > 0 else 1 - 1e-9) or abs(value) >= 2**62
        if kind is Kind.BIGINT and abs(value) <= 16384:
            assert low == value


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": 1.0, "delta": 1.0}, "delta"),
        ({"epsilon": 1.0, "neighbours": "both"}, "neighbours"),
        ({"epsilon": 1.0, "columns": "real"}, "columns"),
        ({"epsilon": 1.0, "columns": ["nowhere"]}, "columns"),
        ({"epsilon": 1.0, "top": 0}, "top"),
        ({"epsilon": 1.0, "max_records_per_user": 0}, "max_records_per_user"),
        ({"epsilon": 1.0, "max_groups_per_user": 0}, "max_groups_per_user"),
        ({"epsilon": 1e-300}, "epsilon"),
    ],
)
def test_what_is_out_of_range_is_refused_by_name(options: dict[str, Any], named: str, tmp_path: Path) -> None:
    with session(tmp_path) as asked:
        with pytest.raises(UsageError, match=named):
            asked.profile(**options)
        assert asked.history().height == 0


def test_a_table_without_users_is_looked_at_by_removal_alone(tmp_path: Path) -> None:
    with session(tmp_path, "remove") as asked, pytest.raises(UsageError, match="'remove' where no users are declared"):
        asked.profile(epsilon=1.0)


def test_words_are_no_columns(tmp_path: Path) -> None:
    vectors = {"word": ["a", "b"], "vector": [[1.0], [2.0]]}
    table = emdp.read({"who": [1], "text": ["a"]}, user="who", space=emdp.Words("text", vectors), users=1)
    asked = emdp.Session(table, budget=emdp.UserDP(1.0), ledger=tmp_path / "l")
    with asked, pytest.raises(UsageError, match="declare the table with another space"):
        asked.profile(epsilon=1.0)


def test_a_table_of_users_alone(tmp_path: Path) -> None:
    with session(tmp_path, rows={"who": [1, 1, 2]}) as asked:
        found = asked.profile(epsilon=1.0)
    assert found.columns == ()
    assert isinstance(found.plan.parts[0][0], Part)


@pytest.mark.slow
def test_what_is_elsewhere_is_told_and_never_shown_as_missing(tmp_path: Path) -> None:
    rows = {
        "who": [n % 50 for n in range(400)],
        "x": [None if n % 8 == 0 else 99.0 if n % 8 == 1 else 5.0 for n in range(400)],
        "kind": ["a" if n % 8 < 5 else None for n in range(400)],
    }
    space = emdp.Interval("x", 0, 10, on_invalid="elsewhere")
    table = emdp.read(rows, user="who", space=space, users=50, elsewhere=1)
    with emdp.testing.seeded(1), emdp.Session(table, budget=emdp.UserDP(1e5, 0.1), ledger=tmp_path / "l") as asked:
        shown = asked.profile_preview(epsilon=1000.0, delta=1e-6)
        look = asked.profile(epsilon=1000.0, delta=1e-6)
        alone = asked.profile(epsilon=1000.0, columns=["x"])
    missing = {column.name: column.missing for column in look.columns}
    assert missing["x"] is None
    assert missing["kind"] is not None
    # Of the records that are somewhere half have no kind; of all it is three eighths.
    assert missing["kind"].value == pytest.approx(0.5, abs=0.01)
    assert look.records.value == pytest.approx(300, abs=20)
    assert [column.name for column in alone.columns] == ["x"]
    assert alone.columns[0].quartiles
    assert not alone.frame.filter(pl.col("fact") == "missing").height
    told = "records without a value of x that the space takes are elsewhere, and left out."
    for text in (shown.explain(), look.explain(), " ".join(look.notes), profile_page(look)):
        assert told in " ".join(text.split())
    errors = " ".join(shown.frame.get_column("expected_error"))
    assert "records that are somewhere within" in errors
    assert "of the average user's records that are somewhere" in errors


def test_a_time_whose_hour_sends_records_elsewhere_has_no_share_of_missing_values(tmp_path: Path) -> None:
    space = emdp.Categories("hour(at)", list(range(24)), on_invalid="elsewhere")
    table = emdp.read(dirty().select("who", "at", "flag"), user="who", space=space, users=USERS, elsewhere=1)
    with emdp.Session(table, budget=emdp.UserDP(1.0), ledger=tmp_path / "l") as asked:
        plan = asked.profile_plan(Options(1.0, 0.0, "replace"))
    (part,) = (part for part, _ in plan.parts if part.kind == "missing")
    assert list(part.missing or {}) == ["flag"]
    assert "without a value of at that" in plan.elsewhere


def test_people_with_a_value_are_a_lower_bound_in_the_preview_too(tmp_path: Path) -> None:
    with session(tmp_path) as asked:
        shown = asked.profile_preview(epsilon=1.0, delta=1e-6, columns=["label"], max_groups_per_user=2)
        found = asked.profile(epsilon=1.0, delta=1e-6, columns=["label"], max_groups_per_user=2)
    assert sum("People with more than 2 values of a column count partly" in note for note in found.notes) == 1
    (error,) = shown.frame.filter(pl.col("asks") == "frequent values").get_column("expected_error")
    assert error.startswith("people with a value, at least: within ")
    assert "at most the true one, since a user in more than 2 values" in error
    assert "elsewhere" not in shown.explain()


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["neutral", "clamp"])
def test_values_that_are_made_up_are_not_told_as_there(rule: str, tmp_path: Path) -> None:
    """Half of all records have no value; as the neutral item's none would be missing."""
    rows = {"user": [place // 4 for place in range(400)], "x": [1.0, None] * 200, "y": [None, 2.0] * 200}
    space = emdp.Interval("x", 0, 10, on_invalid=rule)
    table = emdp.read(rows, user="user", users=100, space=space, name="t")
    with emdp.testing.seeded(3), emdp.Session(table, budget=emdp.UserDP(40.0), ledger=tmp_path / "l") as session:
        found = session.profile(epsilon=40.0)
    facts = {(row["column"], row["fact"]): row["value"] for row in found.frame.iter_rows(named=True)}
    assert ("x", "missing") not in facts
    assert facts["y", "missing"] == pytest.approx(0.5, abs=0.05)
    assert any("count as the neutral item's" in note for note in found.notes)
