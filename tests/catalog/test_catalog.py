"""The catalog: what it may say, that paths are its own folder's, and that every mistake is named."""

from pathlib import Path

import polars as pl
import pytest

import emdp
from emdp.base.errors import UsageError

GOOD = """
ledger = "city.ledger"
[tables.visits]
source = "data/visits.parquet"
user = "user_id"
users = "data/users.csv"
space = { kind = "interval", col = "x", low = 0, high = 10 }
budget = { alpha = 60.0, delta = 1e-8 }
"""


def catalog(folder: Path, text: str = GOOD) -> emdp.Catalog:
    (folder / "emdp.toml").write_text(text)
    return emdp.load_catalog(folder / "emdp.toml")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    pl.DataFrame({"user_id": [1, 1, 2], "x": [1.0, 2.0, 3.0]}).write_parquet(tmp_path / "data/visits.parquet")
    (tmp_path / "data/users.csv").write_text("user_id\n1\n2\n3\n")
    return tmp_path


def test_a_session_from_a_catalog(place: Path) -> None:
    opened = catalog(place).session()
    assert opened.table.name == "visits"
    assert opened.table.n == 3
    opened.mean(emdp.col("x"), alpha=1)
    assert opened.remaining() == emdp.EmdDP(59.0, 1e-8)
    assert (place / "city.ledger").is_file()


def test_alpha_may_be_left_to_the_protections(place: Path) -> None:
    words = "protect = [{ fraction = 0.1, distance = 5.0, epsilon = 0.2 }]\nbudget = { delta = 1e-8 }"
    found = catalog(place, GOOD.replace("budget = { alpha = 60.0, delta = 1e-8 }", words)).budget()
    assert found == emdp.EmdDP(0.2 / (0.1 * 5 / 10), 1e-8)


def test_a_user_level_budget(place: Path) -> None:
    assert catalog(place, GOOD.replace("alpha = 60.0", "epsilon = 2")).budget() == emdp.UserDP(2.0, 1e-8)


def test_a_product_space_with_weights_and_vectors_beside_the_catalog(place: Path) -> None:
    pl.DataFrame({"word": ["a", "b"], "v": [[0.0, 1.0], [1.0, 0.0]]}).write_parquet(place / "words.parquet")
    space = """{ kind = "product", weights = [1, 2], parts = [
        { kind = "interval", col = "x", low = 0, high = 10 },
        { kind = "embedding", col = "w", vectors = "words.parquet" }] }"""
    text = GOOD.replace('{ kind = "interval", col = "x", low = 0, high = 10 }', space.replace("\n", " "))
    text += 'columns = { user_id = "BIGINT", x = "DOUBLE", w = "VARCHAR" }\n'
    found = catalog(place, text).table().space
    assert found.shares == (1 / 3, 2 / 3)


def test_previews_work_without_the_data_where_the_catalog_has_the_types(place: Path) -> None:
    (place / "data/visits.parquet").unlink()
    with pytest.raises(UsageError, match="names no file"):
        catalog(place).session()
    opened = catalog(place, GOOD + 'columns = { user_id = "BIGINT", x = "DOUBLE" }\n').session()
    assert opened.preview(emdp.mean(emdp.col("x"), alpha=1)).statements[0].affordable == 60


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('user = "user_id"', "", "lacks 'user'"),
        ('user = "user_id"', 'user = "user_id"\nusrs = 3', "unknown key 'usrs'"),
        ('ledger = "city.ledger"', 'leger = "x"', "unknown key 'leger'"),
        ('ledger = "city.ledger"', "", "names no ledger"),
        ("[tables.visits]", "[tables.visits", "as TOML"),
        ("alpha = 60.0, ", "alpa = 60.0, ", "unknown key 'alpa'"),
        ("budget = { alpha = 60.0, delta = 1e-8 }", "", "needs budget"),
        ('kind = "interval"', 'kind = "intervall"', "intervall"),
        ("low = 0, ", "", "low"),
        ("high = 10 }", 'high = 10, colour = "red" }', "colour"),
        ("users = ", "users = -3 #", "at least 1"),
    ],
)
def test_mistakes_are_named(place: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        catalog(place, GOOD.replace(old, new)).session()


PUBLIC = (
    GOOD
    + """
[public.stations]
source = "data/stations.csv"
[public.zones]
source = "zones.parquet"
"""
)


def test_public_tables_lie_beside_the_catalog_and_reach_names_and_sessions(place: Path) -> None:
    (place / "data/stations.csv").write_text("stop,zone\nA,1\nB,\n")
    pl.DataFrame({"zone": [1], "name": ["inner"]}).write_parquet(place / "zones.parquet")
    (place / "data/users.csv").write_text("user_id,plan\n1,pro\n2,\n3,free\n")
    found = catalog(place, PUBLIC)
    public = found.public()
    assert list(public) == ["stations", "zones"]
    assert public["stations"].sort("stop").rows() == [("A", 1), ("B", None)]
    names = found.names()
    assert (names.table, names.users, names.user_columns) == ("visits", 3, ("plan",))
    assert names.public["zones"].rows() == [(1, "inner")]
    with found.session() as opened:
        assert opened.table.users.frame is not None
        assert opened.table.users.frame.sort("user_id").rows() == [("1", "pro"), ("2", None), ("3", "free")]
    assert catalog(place).public() == {}


def test_a_session_gets_the_public_tables(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "data/stations.csv").write_text("stop,zone\nA,1\n")
    pl.DataFrame({"zone": [1]}).write_parquet(place / "zones.parquet")
    passed = {}
    monkeypatch.setattr("emdp.catalog.catalog.Session", lambda table, **options: passed.update(options))
    catalog(place, PUBLIC).session()
    assert {name: frame.rows() for name, frame in passed["public"].items()} == {"stations": [("A", 1)], "zones": [(1,)]}


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"zones.parquet"', '"nowhere.parquet"', "public table 'zones': source .* names no file"),
        ('"zones.parquet"', "3", r"\[public.zones\] of .* has a 'source' that is not a path"),
        ('"zones.parquet"', '""', r"\[public.zones\] of .* no usable text"),
        ('source = "zones.parquet"', "", r"\[public.zones\] of .* lacks 'source'"),
        ('source = "zones.parquet"', 'source = "zones.parquet"\nuser = "a"', r"\[public.zones\] .* unknown key 'user'"),
        ('"zones.parquet"', '"data/../data/visits.parquet"', r"\[public.zones\] .* the source of a private table"),
        ('"zones.parquet"', '"data"', r"\[public.zones\] .* the source of a private table"),
        ("[public.zones]", "[public.Stations]", "'Stations', which is no name or taken"),
        ("[public.zones]", "[public.VISITS]", "'VISITS', which is no name or taken"),
        ('[public.stations]\nsource = "data/stations.csv"\n[public.zones]', "[public]", "a public table that is none"),
    ],
)
def test_mistakes_of_public_tables_are_named(place: Path, old: str, new: str, message: str) -> None:
    (place / "data/stations.csv").write_text("stop,zone\nA,1\n")
    pl.DataFrame({"zone": [1]}).write_parquet(place / "zones.parquet")
    assert old in PUBLIC
    with pytest.raises(UsageError, match=message):
        catalog(place, PUBLIC.replace(old, new)).names()


def test_the_source_of_another_private_table_is_not_public_either(place: Path) -> None:
    two = PUBLIC.replace('"zones.parquet"', '"data/second.parquet"').replace(
        "[tables.visits]",
        """[tables.second]
source = "data/second.parquet"
[tables.visits]""",
    )
    (place / "data/stations.csv").write_text("stop,zone\nA,1\n")
    pl.DataFrame({"zone": [1]}).write_parquet(place / "data/second.parquet")
    with pytest.raises(UsageError, match="the source of a private table"):
        catalog(place, two).names("visits")


@pytest.mark.parametrize(
    ("old", "new", "place_of_it"),
    [
        ('"user_id"', '"FILL IN: the column of people"', "'user' left blank; fill in the column of people"),
        ('"data/users.csv"', '"FILL IN: how many"', "'users' left blank; fill in how many"),
        ('"data/visits.parquet"', '"FILL IN"', "'source' left blank; fill in its value"),
        ("low = 0", 'low = "FILL IN: least value."', "'space.low' left blank; fill in least value"),
        ("low = 0", 'low = "  FILL IN least value"', "'space.low' left blank; fill in least value"),
        ("low = 0", 'low = ["FILL IN a", 0]', r"'space.low\[0\]' left blank"),
        ("alpha = 60.0", 'alpha = "FILL IN: the most"', "'budget.alpha' left blank; fill in the most"),
        ("delta = 1e-8 }", 'delta = 0 }\nprotect = [{ fraction = "FILL IN: share" }]', r"'protect\[0\].fraction' left"),
        ("budget = {", 'columns = { "FILL IN: user" = "BIGINT" }\nbudget = {', "'columns.FILL IN: user' left blank"),
        ("budget = {", 'columns = { user_id = "FILL IN: type" }\nbudget = {', "'columns.user_id' left blank"),
    ],
)
def test_a_blank_left_anywhere_fails_closed(place: Path, old: str, new: str, place_of_it: str) -> None:
    assert old in GOOD
    found = catalog(place, GOOD.replace(old, new))
    for act in (found.table, found.budget, found.names, found.session):
        with pytest.raises(UsageError, match=rf"\[tables.visits\] of .* has its {place_of_it}"):
            act()
    assert not (place / "city.ledger").exists()


def test_blanks_of_public_tables_and_of_the_ledger_fail_closed(place: Path) -> None:
    with pytest.raises(UsageError, match=r"\[public.zones\] of .* has its 'source' left blank; fill in the file"):
        catalog(
            place, PUBLIC.replace('"zones.parquet"', '"FILL IN: the file"').replace("data/stations", "data/users")
        ).names()
    with pytest.raises(UsageError, match="has its 'ledger' left blank; fill in a path"):
        catalog(place, GOOD.replace('"city.ledger"', '"FILL IN: a path"'))


@pytest.mark.parametrize(
    "text",
    ["dbname=city", "service=city", "host=db", "postgres:city", "postgresql:ann:s3cret@h/city", "mysql://s3cret@h/x"],
)
def test_a_ledger_that_looks_like_a_connection_is_no_file(place: Path, text: str) -> None:
    before = sorted(place.rglob("*"))
    with pytest.raises(UsageError, match="ledger looks like a server's connection") as caught:
        catalog(place, GOOD.replace("city.ledger", text)).session()
    assert "s3cret" not in str(caught.value)
    assert sorted(place.rglob("*")) == sorted([*before, place / "emdp.toml"])


def test_a_ledger_of_an_odd_name_or_folder_is_written_with_its_folder(place: Path) -> None:
    assert catalog(place, GOOD.replace("city.ledger", "./a=b.ledger")).ledger_path == str(place / "a=b.ledger")
    (place / "dbname=x").mkdir()
    assert catalog(place / "dbname=x").ledger_path == str(place / "dbname=x/city.ledger")


def test_words_that_only_begin_like_a_blank_are_none(place: Path) -> None:
    frame = pl.DataFrame({"FILL INDEX": [1, 1, 2], "x": [1.0, 2.0, 3.0]})
    frame.write_parquet(place / "data/visits.parquet")
    text = GOOD.replace('"user_id"', '"FILL INDEX"').replace('"data/users.csv"', "3")
    assert catalog(place, text).table().user == "FILL INDEX"


def test_another_tables_blank_does_not_stop_a_finished_one(place: Path) -> None:
    unfinished = GOOD.split("[tables.visits]")[1].replace('"user_id"', '"FILL IN: the column"')
    found = catalog(place, f"{GOOD}[tables.second]{unfinished}")
    assert found.table("visits").n == 3
    with pytest.raises(UsageError, match=r"\[tables.second\] of .* has its 'user' left blank"):
        found.table("second")


def test_a_component_of_a_time_needs_nothing_in_the_catalog_but_its_name(place: Path) -> None:
    times = pl.datetime_range(pl.datetime(2024, 1, 1), pl.datetime(2024, 1, 2), "12h", eager=True)
    pl.DataFrame({"user_id": [1, 1, 2], "ts": times}).write_parquet(place / "data/visits.parquet")
    space = '{ kind = "cycle", col = "time(ts)", period = 24 }'
    text = GOOD.replace('{ kind = "interval", col = "x", low = 0, high = 10 }', space)
    with emdp.testing.seeded(7), catalog(place, text).session() as opened:
        answer = opened.mean(emdp.distance_to(0), alpha=1, name="hours")
        # Users 1 (0 h and 12 h), 2 (0 h) and 3 (no record: 12 h).
        assert dict(answer.exact) == {"hours": pytest.approx(6.0)}


def test_a_missing_catalog_or_table(place: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        emdp.load_catalog(place / "nowhere.toml")
    with pytest.raises(UsageError, match=r"has no \[tables"):
        catalog(place, 'ledger = "x"')
    two = GOOD + GOOD.split("[tables.visits]")[1].join(["[tables.second]", ""])
    with pytest.raises(UsageError, match="must be named"):
        catalog(place, two).table()
    with pytest.raises(UsageError, match="'third' is not in"):
        catalog(place, two).table("third")


BUDGET = "budget = { alpha = 60.0, delta = 1e-8 }"


@pytest.mark.parametrize(
    ("written", "budgets"),
    [
        ("{ alpha = 60.0 }", (emdp.EmdDP(60.0),)),
        ("[{ alpha = 60.0 }]", (emdp.EmdDP(60.0),)),
        ("[{ alpha = 60.0, delta = 1e-8 }, { epsilon = 1.0 }]", (emdp.EmdDP(60.0, 1e-8), emdp.UserDP(1.0))),
        ("[{ epsilon = 1 }, { delta = 1e-8 }]", (emdp.UserDP(1), emdp.EmdDP(4.0, 1e-8))),
    ],
)
def test_one_budget_of_each_kind(place: Path, written: str, budgets: tuple[emdp.Guarantee, ...]) -> None:
    words = "protect = [{ fraction = 0.1, distance = 5.0, epsilon = 0.2 }]"
    found = catalog(place, GOOD.replace(BUDGET, f"budget = {written}\n{words}"))
    assert found.budgets("visits") == budgets
    assert found.budget() == (budgets[0] if len(budgets) == 1 else budgets)
    with found.session() as opened:
        assert opened.remaining_all() == budgets


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("[]", "budget that is no table"),
        ("[60.0]", "budget that is no table"),
        ("60.0", "'budget' that is not a table such as"),
        ("[{ alpha = 1 }, { alpha = 2 }]", "budget has a kind twice"),
        ("[{ alpha = 1 }, { delta = 1e-9 }]", "needs budget"),
        ("[{ alpha = 1, epsilon = 2 }]", "has both alpha and epsilon"),
        ("[{ alpha = 1 }, { epsilon = 1, gamma = 2 }]", "unknown key 'gamma'"),
        ('[{ alpha = "FILL IN: most" }]', r"'budget\[0\].alpha' left blank"),
    ],
)
def test_mistakes_in_budgets_are_named(place: Path, written: str, message: str) -> None:
    found = catalog(place, GOOD.replace(BUDGET, f"budget = {written}"))
    for act in (found.budget, found.budgets, found.session):
        with pytest.raises(UsageError, match=message):
            act()


def test_the_declared_protections(place: Path) -> None:
    words = "[{ fraction = 0.1, distance = 5.0, epsilon = 0.2 }, { fraction = 1, distance = 0.05, epsilon = 0.3 }]"
    found = catalog(place, f"{GOOD}protect = {words}\n")
    assert found.protections("visits") == (emdp.Change(0.1, 5.0, 0.2), emdp.Change(1, 0.05, 0.3))
    assert catalog(place).protections() == ()
    with pytest.raises(UsageError, match="has a protection that is not"):
        catalog(place, f"{GOOD}protect = [{{ fraction = 1 }}]\n").protections()


def test_two_tables_may_share_a_budget(place: Path) -> None:
    entry = GOOD.partition("[tables.visits]")[2].partition("[public")[0]
    own = "\n".join(line for line in entry.splitlines() if not line.startswith(("budget", "protect")))
    shared = f"{GOOD}\n[tables.places]{own}\nshares = "
    found = catalog(place, f'{shared}"visits"')
    assert found.account("places") == found.account("visits") == "visits"
    assert found.table("places").account == "visits"
    assert found.budgets("places") == found.budgets("visits")
    assert found.protections("places") == found.protections("visits")
    for wrong in ("places", "Visits", "nowhere"):
        with pytest.raises(UsageError, match="no table of the catalog with a budget of its own"):
            catalog(place, f'{shared}"{wrong}"').table("places")


def test_two_names_that_are_one_to_sql_are_refused(place: Path) -> None:
    with pytest.raises(UsageError, match="has 'visits', 'Visits', one name to SQL; rename one"):
        catalog(place, GOOD + '\n[tables.Visits]\nsource = "a.parquet"\n')


def test_a_budget_by_removal_needs_no_users(place: Path) -> None:
    words = GOOD.replace("alpha = 60.0", 'neighbours = "remove", epsilon = 2').replace('users = "data/users.csv"\n', "")
    opened = catalog(place, words).session()
    assert opened.promises == (emdp.UserDP(2.0, 1e-8, neighbours="remove"),)
    assert opened.mean(emdp.col("x"), epsilon=1, neighbours="remove").guarantee.level == 1.0
    both = "budget = [{ epsilon = 1 }, { epsilon = 2, neighbours = 'remove' }]"
    assert len(catalog(place, GOOD.replace("budget = { alpha = 60.0, delta = 1e-8 }", both)).budgets()) == 2
    for wrong, why in (
        ("alpha = 60.0, neighbours = 'remove'", "belong to an epsilon for a whole user"),
        ("epsilon = 2, r = 0.1, neighbours = 'remove'", "belong to an epsilon for a whole user"),
        ("epsilon = 2, neighbours = 'add'", "neighbours must be one of"),
    ):
        with pytest.raises(UsageError, match=why):
            catalog(place, GOOD.replace("alpha = 60.0", wrong)).budgets()


def test_a_table_may_say_who_is_elsewhere(tmp_path: Path) -> None:
    space = '{ kind = "interval", col = "x", low = 0, high = 10, on_invalid = "elsewhere" }'
    pl.DataFrame({"user": [1], "x": [1.0]}).write_parquet(tmp_path / "trips.parquet")
    entry = (
        f'[tables.trips]\nsource = "trips.parquet"\nuser = "user"\nusers = 3\nspace = {space}\nbudget = {{ alpha = 9 }}'
    )
    found: list[float | None] = []
    for line in ("elsewhere = 1", "elsewhere = 0.5"):
        (tmp_path / "emdp.toml").write_text(f"{entry}\n{line}\n")
        found.append(emdp.load_catalog(tmp_path / "emdp.toml").table().space.elsewhere)
    assert found == [1.0, 0.5]
    for line in ("", 'elsewhere = "neutral"', "elsewhere = 2", "elsewhere = true", 'elsewhere = "yes"'):
        (tmp_path / "emdp.toml").write_text(f"{entry}\n{line}\n")
        with pytest.raises(UsageError, match="elsewhere"):
            emdp.load_catalog(tmp_path / "emdp.toml").table()
