"""``emdp profile``: a file alone, a catalog's table, looking ahead, the stored answer, and the page."""

import io
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

from emdp.cli import main
from emdp.ledger import read_ledger
from emdp.sessions.profile.lines import WIDTH, places

CATALOG = """
ledger = "l.ledger"
[tables.sales]
source = "sales.parquet"
user = "who"
users = 40
space = { kind = "interval", col = "price", low = 0, high = 50 }
budget = { epsilon = 2.5, delta = 1e-6 }
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = {
        "who": [n % 40 for n in range(200)],
        "price": [n % 50 + 0.5 for n in range(200)],
        "open": [n % 2 == 0 for n in range(200)],
        "title <b>": ["a & b"] * 200,
    }
    pl.DataFrame(rows).write_parquet("sales.parquet")
    Path("emdp.toml").write_text(CATALOG)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(["profile", *arguments])
    out, err = capsys.readouterr()
    return int(caught.value.code or 0), out, err


def test_a_file_alone(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("sales.parquet", "--user", "who", "--epsilon", "50", "--delta", "1e-6", "--out", "page.html")
    status, out, err = run(capsys, *asked)
    assert status == 0, err
    assert "by removal" in out
    assert "a & b" in out
    assert max(map(places, out.splitlines())) <= WIDTH
    assert "spent epsilon = 50.0" in err
    assert Path("sales.profile.ledger").exists()
    page = Path("page.html").read_text(encoding="utf-8")
    assert "people with a &amp; b" in page
    assert "<b>" not in page
    HTMLParser().feed(page)
    status, again, err = run(capsys, *asked)
    assert (status, again == out, "nothing spent" in err) == (0, True, True)
    status, _, err = run(capsys, *asked, "--fresh")
    assert (status, "budget" in err) == (3, True)


@pytest.mark.slow
def test_looking_ahead_makes_no_ledger(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    asked = ("sales.parquet", "--user", "who", "--users", "40", "--epsilon", "1", "--columns", "price, open")
    status, out, _ = run(capsys, *asked, "--preview")
    assert status == 0
    assert "quartiles" in out
    assert "would cost epsilon = 1.0" in out
    status, out, _ = run(capsys, *asked, "--sql")
    assert (status, out.count("SELECT WITH USER_PRIVACY")) == (0, 4)
    assert sorted(path.name for path in place.iterdir()) == ["emdp.toml", "sales.parquet"]


@pytest.mark.slow
def test_a_table_of_a_catalog_pays_from_its_budget(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("-C", "emdp.toml", "--table", "sales", "--epsilon", "1", "--columns", "price")
    status, out, err = run(capsys, *asked)
    assert (status, "40 (public)" in out, "remaining epsilon = 1.5" in err) == (0, True, True)
    status, _, err = run(capsys, "-C", "emdp.toml", "--epsilon", "2")
    assert (status, "budget" in err) == (3, True)


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["sales.parquet", "--epsilon", "1"], "--user is missing"),
        (["--user", "who", "--epsilon", "1"], "SOURCE is missing"),
        (["sales.parquet", "--user", "nobody", "--epsilon", "1"], "is no column"),
        (["sales.parquet", "--user", "who", "--epsilon", "0"], "epsilon must be above 0"),
        (["sales.parquet", "--user", "who", "--epsilon", "1", "--neighbours", "replace"], "no users are declared"),
        (["sales.parquet", "--user", "who", "--epsilon", "1", "--columns", "x"], "is no column"),
        (["sales.parquet", "--user", "who", "--epsilon", "1", "--out", "sales.parquet"], "belongs to what is read"),
        (["sales.parquet", "--user", "who", "--epsilon", "1", "--out", "no/page.html"], "cannot be written"),
        (["-C", "emdp.toml", "--user", "who", "--epsilon", "1"], "stands in the catalog"),
        (["sales.parquet", "--user", "price", "--epsilon", "1"], "price"),
        (["sales.parquet", "--user", "who", "--epsilon", "1", "--budget", "-1"], "--budget"),
    ],
)
def test_refusals_name_the_argument_and_spend_nothing(
    asked: list[str], told: str, capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    status, _, err = run(capsys, *asked)
    assert (status, told in err) == (2, True), err
    assert not list(place.glob("*.ledger"))


@pytest.mark.slow
def test_what_would_be_paid_for_nothing_is_said_before_the_charge(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["sales.parquet", "--user", "who", "--users", "40", "--epsilon", "1", "--ledger", "own.ledger"]
    status, _, err = run(capsys, *words)
    assert status == 0
    assert err.startswith("note: quartiles of price will say little or nothing at this price: their ranks")
    # stored: nothing is paid, so nothing is warned of
    status, _, err = run(capsys, *words)
    assert status == 0
    assert err.startswith("stored, nothing spent")


@pytest.mark.quarter
@pytest.mark.parametrize(("reply", "status"), [("n\n", 2), ("", 2), ("y\n", 0)])
def test_on_a_terminal_one_is_asked_whether_to_pay(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, reply: str, status: int
) -> None:
    terminal = io.StringIO(reply)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    words = ["sales.parquet", "--user", "who", "--users", "40", "--epsilon", "1", "--ledger", "own.ledger"]
    assert run(capsys, *words)[0] == status
    with read_ledger("own.ledger") as ledger:
        assert len(ledger.entries(None, "charge")) == (status == 0)
