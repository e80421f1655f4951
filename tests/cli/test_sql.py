"""``emdp init``, ``check``, ``preview`` and ``query`` as a person runs them: output, files, exit status, underlines."""

import io
import json
import sys
from pathlib import Path

import polars as pl
import pytest

from emdp.cli import main
from emdp.cli.sql import HALF
from emdp.sessions.planning import plan_request

CATALOG = """
ledger = "city.ledger"
[tables.visits]
source = "visits.parquet"
user = "user_id"
users = "people.csv"
space = { kind = "product", parts = [
    { kind = "geo", lat = "lat", lon = "lon", box = [40.48, -74.26, 40.92, -73.70], unit = "km", on_invalid = "clamp" },
    { kind = "categories", col = "category", values = ["bar", "cafe"] },
] }
budget = { alpha = 25.0 }
[public.kinds]
source = "kinds.csv"
"""

KM = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 10) AVG(DISTANCE(POINT(40.7484, -73.9857))) AS km FROM visits"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    columns = {"user_id": [1, 1, 2], "lat": [40.7, 40.8, 99.0], "lon": [-74.0, -73.9, -74.0]}
    pl.DataFrame({**columns, "category": ["bar", "cafe", "bar"]}).write_parquet("visits.parquet")
    pl.DataFrame({"user_id": [1, 2, 3], "plan": ["free", "pro", "pro"]}).write_csv("people.csv")
    pl.DataFrame({"category": ["bar", "cafe"], "drinks": [1.0, 0.5]}).write_csv("kinds.csv")
    Path("emdp.toml").write_text(CATALOG)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    out, err = capsys.readouterr()
    return int(caught.value.code or 0), out, err


def test_check_prints_the_constant_and_opens_no_ledger(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    status, out, err = run(capsys, "check", KM)
    assert status == 0
    assert err.endswith(f"note: {HALF}\n")
    assert [line.split()[0] for line in out.splitlines()[:3]] == ["query", "expression", "lipschitz"]
    assert out.split()[1] == "km"
    assert not (place / "city.ledger").exists()


@pytest.mark.slow
def test_plain_outputs_say_whom_a_neutral_item_may_stand_for_and_once(capsys: pytest.CaptureFixture[str]) -> None:
    people = "people without records count with the neutral item, "
    missing = "records of visits with a NULL or NaN in lat, lon count as lat = "
    batch = f"{KM.replace('10', '4')}; {KM.replace('10', '5')}"
    for command in (["check"], ["preview"], ["query"], ["query", "--fresh", "--explain"], ["preview", "--explain"]):
        for asked, times in ((KM.replace("10", "3"), 1), (batch, 2)):
            status, out, err = run(capsys, command[0], asked, *command[1:])
            assert status == 0
            # Of the table once; of a statement, which reads the column, with each, as in derivations both.
            assert (out + err).count(people) == (times if "--explain" in command else 1)
            assert (out + err).count(missing) == times


@pytest.mark.slow
def test_check_of_the_data_is_the_owners_and_counts_what_breaks_the_rules(
    capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    status, out, err = run(capsys, "check", "--data")
    assert (status, out) == (0, "visits: the records keep every declared rule\n")
    assert "for the table's owner" in err
    frame = pl.read_parquet("visits.parquet")
    others = frame.with_columns(category=pl.lit("sauna"), user_id=pl.lit(9, frame.schema["user_id"]))
    pl.concat([frame, others]).write_parquet("visits.parquet")
    status, out, err = run(capsys, "check", "--data", "--table", "visits")
    assert (status, out) == (4, "")
    assert "not among the declared users in column 'user_id' (3 records of 1 user); correct the list" in err
    assert "domain under on_invalid=\"error\" in column 'category' (3 records of 1 user); clean the rows" in err
    assert "sauna" not in err
    # A query says the first of it, and no count.
    status, out, err = run(capsys, "query", KM)
    assert (status, out) == (4, "")
    assert err.strip().endswith("not among the declared users in column 'user_id'; correct the list or the number.")
    assert "3" not in err
    assert run(capsys, "check")[0] == 2
    assert run(capsys, "check", KM, "--data")[0] == 2


def test_check_of_the_data_says_that_a_box_is_the_wrong_way_round(
    capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    frame = pl.DataFrame({"user_id": [1, 2, 2], "lat": [52.4, 52.6, 50.0], "lon": [13.1, 13.5, 9.0]})
    frame.write_parquet("berlin.parquet")
    for box, said in (("13.0, 52.3, 13.8, 52.7", 1), ("52.3, 13.0, 52.7, 13.8", 0)):
        (place / "emdp.toml").write_text(
            "ledger = 'b.ledger'\n[tables.visits]\nsource = 'berlin.parquet'\nuser = 'user_id'\nusers = 3\n"
            f"elsewhere = 1\nspace = {{ kind = 'geo', lat = 'lat', lon = 'lon', box = [{box}], unit = 'km', "
            "on_invalid = 'elsewhere' }\nbudget = { alpha = 9 }\n"
        )
        status, _, err = run(capsys, "check", "--data")
        assert (status, err.count("the box of lat, lon in visits seems to be the wrong way round")) == (0, said)
        assert err.count("more records lie in box = [52.3, 13.0, 52.7, 13.8]") == said


@pytest.mark.slow
def test_preview_says_what_the_budget_allows_and_spends_nothing(
    capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    status, out, _ = run(capsys, "preview", KM)
    assert status == 0
    assert out.split()[-2:] == ["affordable", "2"]
    assert not (place / "city.ledger").exists()
    assert "theorem" in run(capsys, "preview", "--explain", KM)[1]


@pytest.mark.slow
def test_preview_and_check_show_how_methods_for_frequencies_compare(
    capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    start, end = CATALOG.index('{ kind = "product"'), CATALOG.index("budget =")
    space = '{ kind = "categories", col = "category", values = ["bar", "cafe"] }\n'
    Path("emdp.toml").write_text(CATALOG[:start] + space + CATALOG[end:])
    text = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 10, model = 'local') FREQUENCY(*) FROM visits"
    for command in ("preview", "check"):
        status, out, _ = run(capsys, command, text)
        assert status == 0
        _, *blocks = out.split("\n\n")
        first, *rest = (
            dict(line.split(maxsplit=1) for line in block.splitlines() if line[0] != " ") for block in blocks
        )
        assert list(first)[:5] == ["method", "expected_error", "measure", "is_chosen", "remark"]
        assert first["measure"] == "d_em"
        assert first["is_chosen"].lower() == "true"
        assert [row["method"] for row in rest].count("itemwise") == 1
    status, out, _ = run(capsys, "query", text)
    assert (status, out.splitlines()[0].split()) == (0, ["category", "frequency", "frequency_low", "frequency_high"])


def test_query_answers_until_the_budget_is_spent(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "query", KM)
    assert status == 0
    assert out.splitlines()[0].split() == ["km", "km_low", "km_high"]
    assert "remaining alpha = 15.0" in err
    again = run(capsys, "query", KM)
    assert again[:2] == (0, out)
    assert "nothing spent" in again[2]
    assert "remaining alpha = 15.0" in again[2]
    fresh = run(capsys, "query", KM, "--fresh")
    assert fresh[0] == 0
    # A terminal rounds to the noise, so that two answers may look the same.
    assert "nothing spent" not in fresh[2]
    assert "remaining alpha = 5.0" in fresh[2]
    assert run(capsys, "query", KM)[:2] == fresh[:2]
    status, out, err = run(capsys, "query", KM, "--fresh")
    assert (status, out) == (3, "")
    assert "more than the budget has left" in err


@pytest.mark.slow
def test_a_file_and_standard_input_are_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("km.sql").write_text(f"-- how far from midtown\n{KM};\n")
    assert run(capsys, "check", "km.sql")[0] == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO(KM))
    assert run(capsys, "check", "-")[0] == 0
    status, _, err = run(capsys, "check", "absent.sql")
    assert status == 2
    assert "absent.sql" in err


@pytest.mark.slow
def test_a_batch_is_charged_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    both = f"{KM}; SELECT WITH EMD_PRIVACY OPTIONS (alpha = 10) AVG(lat) FROM visits"
    assert run(capsys, "query", both)[0] == 0
    history = run(capsys, "ledger", "history", "city.ledger")[1]
    assert "Batch" in history
    status, out, _ = run(capsys, "query", both, "--fresh")
    assert (status, out) == (3, "")
    assert run(capsys, "ledger", "history", "city.ledger")[1] == history


@pytest.mark.slow
def test_of_a_batch_only_what_is_not_stored_is_paid(capsys: pytest.CaptureFixture[str]) -> None:
    other = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 4) AVG(lat) FROM visits"
    first = run(capsys, "query", KM)[1]
    status, out, err = run(capsys, "query", f"{KM};{other};{other}")
    assert (status, out.startswith(first)) == (0, True)
    assert "remaining alpha = 11.0" in err
    assert err.count("nothing spent") == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_answers_go_into_files(capsys: pytest.CaptureFixture[str], kind: str) -> None:
    query = KM.replace("alpha = 10", "alpha = 1") + " GROUP BY category"
    status, out, _ = run(capsys, "query", query, f"--{kind}", f"answer.{kind}")
    assert (status, out) == (0, "")
    if kind == "json":
        stored = json.loads(Path("answer.json").read_text())
        assert stored["spent"]["alpha"] == 1.0
        rows = stored["rows"]
    else:
        rows = (pl.read_csv if kind == "csv" else pl.read_parquet)(f"answer.{kind}").to_dicts()
    assert [row["category"] for row in rows] == ["bar", "cafe"]
    assert set(rows[0]) == {"category", "km", "km_low", "km_high"}


def test_a_batch_into_files_is_numbered(capsys: pytest.CaptureFixture[str]) -> None:
    one = KM.replace("alpha = 10", "alpha = 1")
    assert run(capsys, "query", f"{one};{one}", "--csv", "km.csv")[0] == 0
    assert sorted(path.name for path in Path().glob("km*.csv")) == ["km-1.csv", "km-2.csv"]


@pytest.mark.slow
def test_what_cannot_be_written_is_found_before_anything_is_spent(
    capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    status, _, err = run(capsys, "query", KM, "--csv", "absent/answer.csv")
    assert status == 2
    assert "cannot be written" in err
    assert run(capsys, "query", KM, "--csv", "a.csv", "--json", "a.json")[0] == 2
    assert run(capsys, "query", KM, "--parquet", "-")[0] == 2
    assert not (place / "city.ledger").exists()


def test_a_refusal_underlines_the_sql(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    text = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1)\n       AVG(FLOOR(lat)) FROM visits"
    status, out, err = run(capsys, "query", text)
    assert (status, out) == (2, "")
    assert "RAMP" in err
    lines = err.splitlines()
    assert lines[-2].startswith("line 2 | ")
    assert lines[-1].count("^") == len("FLOOR(lat)")
    assert lines[-2][lines[-1].index("^") :].startswith("FLOOR(lat)")
    assert not (place / "city.ledger").exists()


@pytest.mark.slow
def test_init_writes_a_catalog_whose_blanks_are_refused_until_filled(
    capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    status, out, _ = run(capsys, "init", "visits.parquet", "--out", "new.toml")
    assert status == 0
    assert "blanks to fill in" in out
    text = Path("new.toml").read_text()
    assert 'user   = "user_id"' in text
    assert "99" not in text
    status, _, err = run(capsys, "check", KM, "-C", "new.toml")
    assert status == 2
    assert "left blank; fill in" in err
    filled = text.replace('"FILL IN: [south, west, north, east] in degrees"', "[40.48, -74.26, 40.92, -73.70]")
    filled = filled.replace('"FILL IN: their number, or a file with one row a user; not from the records"', "3")
    filled = filled.replace('"FILL IN: the most that all answers may spend, per unit of d_em"', "30")
    assert '"FILL IN' not in filled
    Path("new.toml").write_text(filled)
    assert run(capsys, "check", KM, "-C", "new.toml")[0] == 0
    assert run(capsys, "init", "visits.parquet", "--out", "new.toml")[0] == 2
    assert run(capsys, "init", "visits.parquet", "--out", "new.toml", "--force", "--users", "3")[0] == 0


def test_public_tables_of_the_catalog_can_be_joined(capsys: pytest.CaptureFixture[str]) -> None:
    query = (
        "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 5) AVG(kinds.drinks) AS drinks FROM visits "
        "JOIN kinds ON visits.category = kinds.category"
    )
    assert run(capsys, "query", query)[0] == 0


def test_a_user_column_partitions_users(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "query", f"{KM} GROUP BY plan", "--json", "plans.json")
    assert status == 0
    assert [row["plan"] for row in json.loads(Path("plans.json").read_text())["rows"]] == ["free", "pro"]
    assert "remaining alpha = 15.0" in err


@pytest.mark.slow
def test_a_picture_is_an_svg_file_and_nothing_else(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    status, _, err = run(capsys, "query", KM, "--plot", "km.png")
    assert (status, "ends in .svg" in err) == (2, True)
    assert not (place / "city.ledger").exists()
    status, _, err = run(capsys, "query", f"{KM};{KM}", "--plot", "km.svg")
    assert status == 0
    assert err.count("\nspent ") + err.startswith("spent ") == 1
    assert Path("km-1.svg").read_text().startswith("<?xml") or Path("km-1.svg").read_text().startswith("<svg")


@pytest.mark.slow
def test_a_query_says_where_fewer_records_came_than_were_assumed(capsys: pytest.CaptureFixture[str]) -> None:
    """A sixth of the records' weight is of a cafe, where one of two listed values is taken for a half."""
    Path("emdp.toml").write_text(CATALOG.replace("alpha = 25.0", "alpha = 1e9"))
    query = KM.replace("10", "1e6") + " WHERE category = 'cafe'"
    for reused in ("spent alpha", "stored answer of"):
        status, _, err = run(capsys, "query", query)
        assert status == 0
        assert "note: fewer records match than the 50 % that the preview assumed: 16.7 %, at most" in err
        assert reused in err


def test_a_query_is_planned_once(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []

    def counted(request: object, *known: object) -> object:
        made.append(request)
        return plan_request(request, *known)  # type: ignore[arg-type]

    monkeypatch.setattr("emdp.sessions.planning.plan_request", counted)
    assert run(capsys, "query", f"{KM}; {KM.replace('alpha = 10', 'alpha = 2')}")[0] == 0
    assert len(made) == 1
