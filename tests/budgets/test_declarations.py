"""What a ledger holds a table to: nothing that is compared with records is declared anew for nothing."""

import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import emdp
from emdp.base.errors import DataRuleError, LedgerError
from emdp.budgets.redeclaring import redeclare, redeclare_as, set_apart
from emdp.ledger import open_ledger, read_ledger
from emdp.sessions.asking import declaration_of
from emdp.sessions.records import TableRecords

FRAME = pl.DataFrame({"user": [1, 1, 2, 3, 3], "x": [1.0, 3.0, 5.0, 2.0, 9.0]})
SPACE = emdp.Interval("x", 0, 10)
BUDGET = emdp.EmdDP(alpha=3)

Ask = Callable[..., object]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Return what asks one question of a table that is declared as told, in a session of its own."""
    FRAME.write_parquet(tmp_path / "visits.parquet")

    def once(source: object = "visits.parquet", *, alpha: float = 0.5, **declared: Any) -> object:
        place = tmp_path / source if isinstance(source, str) and "/" not in source else source
        table = emdp.read(place, **{"user": "user", "space": SPACE, "users": 3, **declared})
        with emdp.Session(table, budget=BUDGET, ledger=tmp_path / "city.ledger") as session:
            return session.mean(emdp.col("x"), alpha=alpha)

    return once


OTHERS: list[tuple[dict[str, Any], str]] = [
    ({"users": 2}, "other users"),
    ({"users": [1, 2]}, "other users"),
    ({"users": [1, 2, 3]}, "other users"),
    ({"records": 2}, "another number of records"),
    ({"space": emdp.Interval("x", 0, 8)}, "another space"),
    ({"space": emdp.Interval("x", 0, 10, on_invalid="clamp")}, "another space"),
    ({"users": 4, "records": 1}, r"other users \(their number or keys\) and another number of records"),
]


@pytest.mark.quarter
@pytest.mark.parametrize(("other", "said"), OTHERS)
def test_rules_are_pinned_after_a_charge(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, other: dict[str, Any], said: str
) -> None:
    ask()
    monkeypatch.setattr(TableRecords, "check_rules", lambda _: pytest.fail("compared with the records"))
    for version in (None, "x"):
        with pytest.raises(LedgerError, match=said):
            ask(**other, version=version)
    ask()


@pytest.mark.quarter
@pytest.mark.parametrize(("other", "said"), OTHERS)
def test_a_validation_that_fails_pins_too(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, other: dict[str, Any], said: str
) -> None:
    with pytest.raises(DataRuleError):
        ask(users=1)
    monkeypatch.setattr(TableRecords, "check_rules", lambda _: pytest.fail("compared with the records"))
    with pytest.raises(LedgerError, match="emdp ledger redeclare"):
        ask(**{"users": 2, **other})


def test_a_validation_that_is_broken_off_has_pinned_already(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken_off(_: object) -> None:
        with read_ledger(tmp_path / "city.ledger") as ledger:
            assert ledger.entries(kind="validated")[-1].payload["begins"]
        raise KeyboardInterrupt

    monkeypatch.setattr(TableRecords, "check_rules", broken_off)
    with pytest.raises(KeyboardInterrupt):
        ask()
    with pytest.raises(LedgerError, match="other users"):
        ask(users=2)
    # That it began is not that it held.
    monkeypatch.setattr(TableRecords, "check_rules", lambda _: pytest.fail("validated"))
    with pytest.raises(pytest.fail.Exception, match="validated"):
        ask()


def test_before_a_record_is_looked_at_a_declaration_may_be_corrected(ask: Ask, tmp_path: Path) -> None:
    for users in (1, 2):
        table = emdp.read(tmp_path / "visits.parquet", user="user", space=SPACE, users=users)
        emdp.Session(table, budget=BUDGET, ledger=tmp_path / "city.ledger").close()
    ask()


def test_what_is_not_compared_with_records_may_change(ask: Ask) -> None:
    people = {"user": [1, 2, 3], "city": ["Rome", "Oslo", "Rome"]}
    ask(users=people)
    ask(users={**people, "city": ["Rome", "Oslo", "Bonn"]})
    ask(users=["3", "2", "1"], version="x")
    ask(users=["3", "2", "1"], columns={"x": "DOUBLE", "user": "BIGINT"})


def test_a_session_that_is_open_notices_what_an_owner_declared(ask: Ask, tmp_path: Path) -> None:
    table = emdp.read(tmp_path / "visits.parquet", user="user", space=SPACE, users=3)
    with emdp.Session(table, budget=BUDGET, ledger=tmp_path / "city.ledger") as session:
        session.mean(emdp.col("x"), alpha=0.5)
        with open_ledger(tmp_path / "city.ledger") as ledger:
            other = emdp.read(tmp_path / "visits.parquet", user="user", space=SPACE, users=[1, 2, 3])
            entry = redeclare_as(ledger, "visits", declaration_of(other))
        assert set(entry.payload["rules"]) == {"users"}
        assert "has records" in entry.payload["reveals"]
        with pytest.raises(LedgerError, match="other users"):
            session.mean(emdp.col("x"), alpha=0.5)
    ask(users=[1, 2, 3])
    with read_ledger(tmp_path / "city.ledger") as ledger:
        assert len(ledger.entries(kind="charge")) == 2


def test_a_charge_keeps_space_and_user_column(ask: Ask, tmp_path: Path) -> None:
    with pytest.raises(DataRuleError):
        ask(space=emdp.Interval("x", 0, 2))
    with open_ledger(tmp_path / "city.ledger") as ledger:
        wide = declaration_of(emdp.read(FRAME, user="user", space=SPACE, users=3))
        narrow = declaration_of(emdp.read(FRAME, user="user", space=emdp.Interval("x", 0, 2), users=3))
        assert "outside the domain" in redeclare_as(ledger, "visits", wide).payload["reveals"]
        ask()
        with pytest.raises(LedgerError, match="not promised in another"):
            redeclare_as(ledger, "visits", narrow)
        for rules in ({"users": wide.users}, {"space": wide.space}, {"records": None}):
            with pytest.raises(emdp.UsageError, match="declared so already"):
                redeclare(ledger, "visits", rules)
        with pytest.raises(emdp.UsageError, match="has no budget"):
            redeclare(ledger, "places", {"records": 2})
        with pytest.raises(emdp.UsageError, match="rules must be some of"):
            redeclare(ledger, "visits", {})
    with pytest.raises(LedgerError, match=r"another space .* declare it as it was then: what was promised"):
        ask(space=emdp.Interval("x", 0, 2))


@pytest.mark.quarter
@pytest.mark.parametrize(
    "odd",
    [
        {"users": "ab"}, {"records": 2}, {"period": "W1", "users": "ab"}, {"marks": 7}, {"marks": [7]}, {"period": [1]},
        {"begins": 1}, {"data_version": ["x"]}, {"users": {}},
    ],
)  # fmt: skip
def test_what_whoever_may_charge_writes_by_hand_changes_no_rule(ask: Ask, tmp_path: Path, odd: dict[str, Any]) -> None:
    ask()
    with open_ledger(tmp_path / "city.ledger") as ledger:
        own = ledger.entries("visits", "validated")[0].payload
        for payload in ({**own, **odd}, {"begins": True}, odd):
            ledger.append("validated", "visits", payload)
            ledger.append("validated", "other", payload)
    for other in ({"users": 2}, {"records": 2}):
        with pytest.raises(LedgerError, match="emdp ledger redeclare"):
            ask(**other)


class TestPeriods:
    TEXT = """
    ledger = "city.ledger"
    [tables.visits]
    source = "SOURCE"
    user = "user"
    users = "lists/{period}.csv"
    elsewhere = "neutral"
    space = { kind = "interval", col = "x", low = 0, high = 10 }
    budget = { alpha = 3 }
    """

    @pytest.fixture
    def weekly(self, tmp_path: Path) -> Callable[..., Any]:
        (tmp_path / "lists").mkdir()
        for week, last in (("W46", 3), ("W47", 4)):
            FRAME.write_parquet(tmp_path / f"{week}.parquet")
            (tmp_path / f"lists/{week}.csv").write_text("user\n" + "".join(f"{key}\n" for key in range(1, last + 1)))

        def once(week: str, source: str = "{period}.parquet") -> Any:
            (tmp_path / "emdp.toml").write_text(self.TEXT.replace("SOURCE", source))
            with emdp.load_catalog(tmp_path / "emdp.toml").session(period=week) as session:
                return session.mean(emdp.col("x"), alpha=0.5)

        return once

    def test_each_period_has_its_list(self, weekly: Any, tmp_path: Path) -> None:
        weekly("W46")
        weekly("W47")
        weekly("W46")
        (tmp_path / "lists/W46.csv").write_text("user\n1\n2\n4\n")
        with pytest.raises(LedgerError, match="other users"):
            weekly("W46")
        weekly("W47")
        catalog = emdp.load_catalog(tmp_path / "emdp.toml")
        with open_ledger(tmp_path / "city.ledger") as ledger:
            entry = redeclare_as(ledger, "visits", declaration_of(catalog.table(period="W46")))
            assert entry.payload["period"] == "W46"
        # Now it is compared: user 3 has records.
        with pytest.raises(DataRuleError):
            weekly("W46")
        weekly("W47")

    def test_one_state_of_the_data_is_compared_with_one_list(self, weekly: Any) -> None:
        weekly("W46", "W46.parquet")
        weekly("W46", "W46.parquet")
        with pytest.raises(LedgerError, match="validated under the users of period W46"):
            weekly("W47", "W46.parquet")

    @pytest.mark.quarter
    @pytest.mark.parametrize("is_declared_anew", [False, True])
    def test_one_state_has_one_list_whatever_it_is_called(
        self, weekly: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_declared_anew: bool
    ) -> None:
        weekly("W46", "W46.parquet")
        if is_declared_anew:
            with open_ledger(tmp_path / "city.ledger") as ledger:
                for count in (5, None):
                    redeclare(ledger, "visits", {"records": count})
            weekly("W46", "W46.parquet")
        (tmp_path / "link.parquet").symlink_to("W46.parquet")
        os.link(tmp_path / "W46.parquet", tmp_path / "hard.parquet")
        monkeypatch.setattr(TableRecords, "check_rules", lambda _: pytest.fail("compared with the records"))
        for source in ("link.parquet", "hard.parquet", "W4[6].parquet", "*.parquet", 'W46.parquet"\n    version = "x'):
            with pytest.raises(LedgerError, match="validated under the users of period W46"):
                weekly("W47", source)

    @pytest.mark.slow
    def test_tables_of_one_file_by_period(self, weekly: Any, tmp_path: Path) -> None:
        with duckdb.connect(str(tmp_path / "city.duckdb")) as connection:
            connection.execute(f"CREATE TABLE visits AS FROM '{tmp_path}/W46.parquet'")
            for week in ("W46", "W47"):
                connection.execute(f"CREATE VIEW {week} AS FROM visits")
        # A view is what its owner makes of the records, whatever it reads.
        weekly("W46", "city.duckdb::{period}")
        weekly("W47", "city.duckdb::{period}")
        for name in ("W46", "w46", "main.W46"):
            with pytest.raises(LedgerError, match="validated under the users of period W46"):
                weekly("W47", f"city.duckdb::{name}")

    def test_an_owner_goes_from_one_list_to_one_for_each_period_and_back(self, weekly: Any, tmp_path: Path) -> None:
        weekly("W46", "W46.parquet")
        text = (tmp_path / "emdp.toml").read_text()
        (tmp_path / "one.toml").write_text(text.replace('"lists/{period}.csv"', "4"))
        one, each = (emdp.load_catalog(tmp_path / name) for name in ("one.toml", "emdp.toml"))
        for catalog, period in ((one, None), (each, "W47")):
            with pytest.raises(LedgerError, match="other users"):
                one.session(period="W46") if catalog is one else weekly("W47", "W46.parquet")
            with open_ledger(tmp_path / "city.ledger") as ledger:
                redeclare_as(ledger, "visits", declaration_of(catalog.table(period=period)))
            with catalog.session(period=period) as session:
                session.mean(emdp.col("x"), alpha=0.5)

    def test_a_name_of_a_period_is_no_list_of_its_own(self, ask: Ask, tmp_path: Path) -> None:
        ask()
        table = emdp.read(tmp_path / "visits.parquet", user="user", space=SPACE, users=2)
        with pytest.raises(LedgerError, match="other users"):
            emdp.Session(table, budget=BUDGET, ledger=tmp_path / "city.ledger", period="new")


class TestOtherNames:
    """One declared alpha is 3: no other name of the same records has another 3."""

    @pytest.mark.parametrize("name", ["Visits", "VISITS", "ｖisits"])
    def test_a_name_that_sql_takes_for_it_is_the_table(self, ask: Ask, tmp_path: Path, name: str) -> None:
        ask(alpha=2)
        with pytest.raises(emdp.BudgetExceededError):
            ask(name=name, alpha=2)
        ask(name=name, alpha=1)
        with read_ledger(tmp_path / "city.ledger") as ledger:
            assert {entry.table for entry in ledger.entries()} == {"", "visits"}
            assert len(ledger.entries(name, "charge")) == 2

    @pytest.mark.quarter
    @pytest.mark.parametrize("path", ["./visits.parquet", "sub/../visits.parquet", "link.parquet", "hard.parquet", "*"])
    def test_other_ways_to_the_files(
        self, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        ask()
        (tmp_path / "sub").mkdir()
        os.symlink("visits.parquet", "link.parquet")
        os.link("visits.parquet", "hard.parquet")
        with pytest.raises(LedgerError, match=r"are, or lie where there were, those of table 'visits'.*shares"):
            ask(f"{tmp_path}/{path}.parquet" if path == "*" else f"./{path}", name="places")
        # Nor after a change of the file, which is then another version of the data.
        os.utime("visits.parquet")
        with pytest.raises(LedgerError, match="those of table 'visits'"):
            ask(f"{tmp_path}/{path}.parquet" if path == "*" else f"./{path}", name="places")

    def test_a_file_that_was_moved_is_known_and_a_copy_is_another(self, ask: Ask, tmp_path: Path) -> None:
        ask()
        shutil.copy(tmp_path / "visits.parquet", tmp_path / "copy.parquet")
        (tmp_path / "visits.parquet").rename(tmp_path / "moved.parquet")
        with pytest.raises(LedgerError, match="those of table 'visits'"):
            ask("moved.parquet")
        # Said in docs/guarantees.md: who can copy a file can read it.
        ask("copy.parquet")

    def test_a_period_of_another_tables_pattern(self, ask: Ask, tmp_path: Path) -> None:
        (tmp_path / "weeks").mkdir()
        for week in ("W46", "W47"):
            FRAME.write_parquet(tmp_path / f"weeks/{week}.parquet")
        ask(f"{tmp_path}/weeks/W47.parquet", name="week")
        with pytest.raises(LedgerError, match="those of table 'week'"):
            ask(f"{tmp_path}/weeks", name="year")
        ask(f"{tmp_path}/weeks/W46.parquet", name="other")

    def test_tables_and_views_of_one_file(self, ask: Ask, tmp_path: Path) -> None:
        with duckdb.connect(str(tmp_path / "city.duckdb")) as connection:
            connection.register("rows", FRAME.to_arrow())
            connection.execute("CREATE TABLE visits AS FROM rows; CREATE TABLE other AS FROM rows")
            connection.execute("CREATE VIEW part AS SELECT * FROM visits WHERE x > 100")
            connection.execute("CREATE VIEW part_of_part AS SELECT * FROM (SELECT * FROM part) p")
        ask("city.duckdb::visits")
        ask("city.duckdb::other")
        for name in ("part", "part_of_part", "MAIN.Visits"):
            with pytest.raises(LedgerError, match="those of table 'visits'"):
                ask(f"city.duckdb::{name}", name="places")

    def test_a_validation_that_failed_has_shown_the_records_too(self, ask: Ask) -> None:
        with pytest.raises(DataRuleError):
            ask(users=2)
        with pytest.raises(LedgerError, match="those of table 'visits'"):
            ask(name="places")

    def test_of_two_names_that_come_at_once_one_is_answered(self, ask: Ask) -> None:
        def told(name: str) -> str:
            try:
                ask(name=name)
            except LedgerError as refusal:
                return str(refusal)
            return "answered"

        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(told, ["a", "b", "c", "d"]))
        assert found.count("answered") == 1
        assert sum("a second budget" in one for one in found) == 3

    def test_shares_is_one_budget_under_two_names(self, ask: Ask, tmp_path: Path) -> None:
        ask(alpha=2)
        ask(name="places", shares="visits", alpha=0.5)
        with pytest.raises(emdp.BudgetExceededError):
            ask(name="places", shares="VISITS", alpha=2)
        with pytest.raises(LedgerError, match="another space"):
            ask(name="places", shares="visits", space=emdp.Interval("x", 0, 10, on_invalid="clamp"))
        table = emdp.read(tmp_path / "visits.parquet", user="user", space=SPACE, users=3, name="p", shares="visits")
        with emdp.Session(table, budget=BUDGET, ledger=tmp_path / "city.ledger") as session:
            session.sql("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 0.5) AVG(x) FROM p")
            assert session.remaining() == emdp.EmdDP(0.0)

    def test_an_owner_sets_two_apart(self, ask: Ask, tmp_path: Path) -> None:
        ask(alpha=2)
        with open_ledger(tmp_path / "city.ledger") as ledger:
            entry = set_apart(ledger, "places", "Visits")
            assert entry.payload == {
                "apart": "Visits",
                "reveals": "what is asked of the same records in both names, whose budgets add up",
            }
            with pytest.raises(emdp.UsageError, match="one table with 'Visits' to SQL"):
                set_apart(ledger, "visits", "Visits")
            with pytest.raises(emdp.UsageError, match="not composed"):
                set_apart(ledger, "visits", " places")
        ask(name="places", alpha=2)
        with pytest.raises(LedgerError, match="those of table 'visits'"):
            ask(name="third")


class TestOldLedgers:
    """Of a version that pinned neither, told names apart to the letter, and wrote nothing of the files."""

    def opened(self, place: Any, name: str = "visits", users: object = 4, **more: Any) -> emdp.Session:
        table = emdp.read(
            {"user": [1, 1, 2, 3], "x": [1.0, 3.0, 5.0, 9.0]},
            **{"user": "user", "space": SPACE, "users": users, "name": name, "version": "1", **more},
        )
        return emdp.Session(table, budget=emdp.EmdDP(alpha=10.0), ledger=place)

    def test_they_open_and_pin_at_their_next_charge(self, old_ledger: str) -> None:
        with self.opened(old_ledger) as session:
            assert session.remaining() == emdp.EmdDP(6.0)
            session.mean(emdp.col("x"), alpha=1)
        with read_ledger(old_ledger) as ledger:
            pinned = ledger.entries("visits", "validated")[-1].payload
            assert (pinned["begins"], pinned["records"]) == (True, None)
        for other in ({"users": 5}, {"users": [1, 2, 3, 4]}, {"records": 2}):
            with pytest.raises(LedgerError, match="emdp ledger redeclare"):
                self.opened(old_ledger, **other)

    def test_what_was_validated_in_them_is_pinned_as_it_is(self, old_ledger: str) -> None:
        for other in ({"users": 5}, {"records": 2}, {"users": 3, "version": "2"}):
            with pytest.raises(LedgerError, match="emdp ledger redeclare"):
                self.opened(old_ledger, **other)
        people = {"user": [1, 2, 3], "city": ["Rome", "Oslo", "Rome"]}
        with self.opened(old_ledger, "trips", people) as session:
            session.mean(emdp.col("x"), alpha=1)
        with self.opened(old_ledger, "trips", {**people, "city": ["Rome", "Oslo", "Bonn"]}) as session:
            session.mean(emdp.col("x"), alpha=1)

    def test_names_that_differ_in_case_are_refused_only_where_they_are_ambiguous(self, old_ledger: str) -> None:
        for name in ("visits", "Visits"):
            with self.opened(old_ledger, name) as session:
                session.mean(emdp.col("x"), alpha=1)
                assert session.remaining() == emdp.EmdDP(5.0)
        with pytest.raises(LedgerError, match="is any of 'Visits', 'visits' of the ledger"):
            self.opened(old_ledger, "VISITS")
        with self.opened(old_ledger, "TRIPS", {"user": [1, 2, 3], "city": ["Rome", "Oslo", "Rome"]}) as session:
            assert session.remaining() == emdp.EmdDP(6.0)

    def test_an_owner_redeclares_in_them(self, old_ledger: str) -> None:
        with open_ledger(old_ledger) as ledger:
            redeclare(ledger, "visits", {"records": 2})
        with pytest.raises(LedgerError, match="another number of records"):
            self.opened(old_ledger)
        with self.opened(old_ledger, records=2) as session, pytest.raises(DataRuleError):
            session.mean(emdp.col("x"), alpha=1)


def test_no_charge_carries_over_to_slots(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "visits.parquet")

    def read(slots: int | None, rule: Any) -> emdp.Table:
        space = emdp.Interval("x", 0, 10, on_invalid=rule)
        return emdp.read(tmp_path / "visits.parquet", user="user", space=space, users=5, slots=slots)

    with emdp.Session(read(None, "neutral"), budget=BUDGET, ledger=tmp_path / "a.ledger") as session:
        session.mean(emdp.col("x"), alpha=1)
    # To people who are elsewhere they do; a record alone in its bag, though, is a whole bag, and would be one slot.
    with pytest.raises(LedgerError, match="under another space"):
        emdp.Session(read(4, "elsewhere"), budget=BUDGET, ledger=tmp_path / "a.ledger")
    with open_ledger(str(tmp_path / "a.ledger")) as ledger, pytest.raises(LedgerError, match="in one metric"):
        redeclare_as(ledger, "visits", declaration_of(read(4, "elsewhere")))
