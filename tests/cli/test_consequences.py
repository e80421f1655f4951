"""``emdp consequences`` as a person runs it."""

import json
from pathlib import Path

import polars as pl
import pytest

import emdp
from emdp.base.errors import UsageError
from emdp.cli import main

CATALOG = """
ledger = "city.ledger"
[tables.visits]
source = "visits.csv"
user = "who"
users = 2
space = { kind = "interval", col = "x", low = 0.0, high = 20.0, unit = "km" }
budget = { alpha = 10.0, delta = 1e-8 }
protect = [{ fraction = 0.5, distance = 1.0, epsilon = 0.25 }]
"""
STATEMENT = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x) FROM visits"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"who": [1, 1, 2, 2], "x": [1.0, 2.0, 3.0, 4.0]}).write_csv("visits.csv")
    Path("emdp.toml").write_text(CATALOG)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(["consequences", *arguments])
    out, err = capsys.readouterr()
    return int(caught.value.code or 0), out, err


def test_a_budget_of_a_catalog(capsys: pytest.CaptureFixture[str]) -> None:
    """The declared change stands first; lines fit a page; no ledger is made."""
    status, out, err = run(capsys)
    assert (status, err) == (0, "")
    assert "declared: 50 % by 1" in out
    assert "everything is different" in out
    assert "Each epsilon has 0.001 beside the budget" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 80
    assert sorted(path.name for path in Path().iterdir()) == ["emdp.toml", "visits.csv"]


def test_a_budget_of_one_period_stands_beside_that_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    """One visit weighs more among the few records of a week than among those of a year, at a smaller alpha."""
    text = CATALOG.replace("visits.csv", "visits-{period}.csv").replace("delta = 1e-8", "per_period = { alpha = 2.0 }")
    Path("emdp.toml").write_text(text.replace("users = 2", "users = 2\nelsewhere = 1"))
    Path("visits.csv").rename("visits-w1.csv")
    status, out, _ = run(capsys, "--period", "w1", "--records", "20", "--json")
    whole, one = json.loads(out)
    assert (status, whole["title"]) == (0, "The whole budget, whatever is asked")
    assert one["title"].endswith(": about one period, of the records that somebody has in it")
    visits = [next(row for row in found["rows"] if "20 records" in row["story"]) for found in (whole, one)]
    assert [row["epsilon"] for row in visits] == pytest.approx([0.5, 0.1], abs=2e-3)
    with emdp.load_catalog("emdp.toml").session(period="w1") as session:
        session.sql(STATEMENT)
    status, out, _ = run(capsys, "--spent", "city.ledger", "--period", "w1", "--json")
    assert (status, len(json.loads(out))) == (0, 2)
    assert [found["rows"][-1]["epsilon"] for found in json.loads(out)] == pytest.approx([1.0, 1.0], abs=2e-3)


def test_what_two_budgets_allow_adds_up(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever sees the answers sees those of both budgets: first stands what they tell together."""
    Path("emdp.toml").write_text(
        CATALOG.replace("{ alpha = 10.0, delta = 1e-8 }", "[{ alpha = 10.0 }, { epsilon = 1.0 }]")
    )
    status, out, _ = run(capsys, "--json")
    tables = json.loads(out)
    assert status == 0
    assert [table["rows"][-1]["epsilon"] for table in tables] == pytest.approx([11.0, 10.0, 1.0], abs=3e-3)
    title = "The whole budget, whatever is asked"
    assert [table["title"] for table in tables] == [title, *2 * [f"{title}: of one budget alone"]]
    status, out, _ = run(capsys, "--group", "2")
    assert status == 0
    assert "and epsilon = 1.0" in " ".join(out.split())
    both = (
        f"{STATEMENT}; SELECT WITH USER_PRIVACY OPTIONS (epsilon = 0.5, max_records_per_user = 3) COUNT(*) FROM visits"
    )
    _, out, _ = run(capsys, "--after", both, "--json")
    assert json.loads(out)[0]["rows"][-1]["epsilon"] == pytest.approx(1.5, abs=3e-3)


def test_a_budget_beside_one_per_period_alone_is_not_the_whole(capsys: pytest.CaptureFixture[str]) -> None:
    """With alpha 2 a week and epsilon 0.1 nobody is promised 0.1 whatever is asked; of a week both tell."""
    text = CATALOG.replace("visits.csv", "visits-{period}.csv").replace("users = 2", "users = 2\nelsewhere = 1")
    budgets = "[{ per_period = { alpha = 2.0 } }, { epsilon = 0.1 }]"
    Path("emdp.toml").write_text(text.replace("{ alpha = 10.0, delta = 1e-8 }", budgets))
    Path("visits.csv").rename("visits-w1.csv")
    status, out, _ = run(capsys, "--period", "w1", "--json")
    tables = json.loads(out)
    title = "The whole budget, whatever is asked"
    ends = ("about one period, of the records that somebody has in it", "of one budget alone")
    assert (status, [table["title"] for table in tables]) == (0, [f"{title}: {end}" for end in ends])
    assert [table["rows"][-1]["epsilon"] for table in tables] == pytest.approx([2.1, 0.1], abs=3e-3)
    with emdp.load_catalog("emdp.toml").session(period="w1") as session, pytest.raises(UsageError, match="is missing"):
        emdp.consequences(session)


def test_a_statement_and_what_was_spent(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--after", STATEMENT, "--json")
    (table,) = json.loads(out)
    assert (status, table["title"]) == (0, "This statement")
    assert table["rows"][-1]["epsilon"] == pytest.approx(1.0, abs=2e-3)
    loaded = emdp.load_catalog("emdp.toml")
    with loaded.session() as session:
        session.sql(STATEMENT)
        assert session.remaining is not None
    status, out, _ = run(capsys, "--spent", "city.ledger", "--json")
    (table,) = json.loads(out)
    assert (status, table["title"]) == (0, "All that was released so far")
    assert table["rows"][-1]["epsilon"] == pytest.approx(1.0, abs=2e-3)


def test_a_page_and_stories_of_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("stories.toml").write_text('[[story]]\ntitle = "hospital"\nonce = 10\n')
    status, out, _ = run(capsys, "--story", "stories.toml", "--out", "meaning", "--period-count", "52")
    assert status == 0
    assert "hospital, of 10 records" in out
    assert "hospital, of 10 records" in Path("meaning/index.html").read_text(encoding="utf-8")


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--alpha", "1", "--epsilon", "1"], "--alpha and --epsilon both say what is released"),
        (["--alpha", "0"], "--alpha must be"),
        (["--alpha", "1", "--diameter", "5", "-C", "emdp.toml"], "--diameter stands in the catalog"),
        (["--diameter", "5"], "there is no budget"),
        (["--prior", "0.5,x"], "--prior '0.5,x' is no list of numbers"),
        (["--prior", "1.5"], "prior must be in (0, 1)"),
        (["--records", "0"], "--records must be"),
        (["--group", "2", "--period-count", "2"], "reports and group cannot both be above 1"),
        (["--story", "none.toml"], "--story 'none.toml' does not exist"),
        (["--spent", "none.ledger"], "none.ledger"),
        (["--out", "visits.csv"], "--out 'visits.csv'"),
    ],
)
def test_refusals(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1


def test_no_name_of_a_change_is_cut_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    title = "was at the clinic of the other side of the river on one of the days of the long summer"
    Path("stories.toml").write_text(f'[[story]]\ntitle = "{title}"\nonce = 10\n')
    _, out, _ = run(capsys, "--story", "stories.toml", "--alpha", "5")
    table = out[out.index("change ") :]
    assert "..." not in table
    assert all(len(line) <= 80 for line in out.splitlines())
    assert set(title.split()[:-1]) <= set(table.split())
