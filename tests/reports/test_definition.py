"""Definitions: what they may say, that all mistakes are named at once, and that each is named where it stands."""

from pathlib import Path

import pytest

from emdp.base.errors import ReportError, UsageError
from emdp.privacy import EmdDP, UserDP
from emdp.reports.definition import Entry, Problem, load_report

SMALL = """\
title = "Prices"
catalog = "emdp.toml"

[[entry]]
title = "Mean"
query = "SELECT WITH EMD_PRIVACY AVG(price) FROM sales"
"""

WHOLE = """\
title = "Prices"
catalog = "sub/emdp.toml"
table = "sales"
period = "2026-W47"
budget = { alpha = 6, delta = 1e-9 }
retention = 30
reserve = "weekly"
text = "About prices."
# [[entry]]
[[entry]]
title = "Mean"
query = '''
SELECT WITH EMD_PRIVACY
  AVG(price) FROM sales'''
picture = "bar"
text = "The mean."
weight = 2

[[entry]]
title = "Spread"
file = "spread.sql"
target_error = 0.5
"""


def written(folder: Path, text: str, name: str = "prices.toml") -> Path:
    (folder / name).write_bytes(text.encode())
    return folder / name


def problems(folder: Path, text: str) -> list[tuple[int, str]]:
    with pytest.raises(ReportError) as caught:
        load_report(written(folder, text))
    lines = str(caught.value).split("\n")
    assert [str(problem) for problem in caught.value.problems] == lines
    for problem, line in zip(caught.value.problems, lines, strict=True):
        assert line.startswith(f"{folder / 'prices.toml'}:{problem.line}: ")
        assert line.endswith(".")
        assert not problem.text.endswith("..")
    return [(problem.line, problem.text) for problem in caught.value.problems]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_all_that_a_definition_says(tmp_path, end):
    (tmp_path / "spread.sql").write_text("SELECT WITH EMD_PRIVACY STDDEV(price) FROM sales\n")
    report = load_report(written(tmp_path, WHOLE.replace("\n", end)))
    assert (report.title, report.table, report.period, report.retention) == ("Prices", "sales", "2026-W47", 30)
    assert (report.budget, report.reserve, report.text) == (EmdDP(6.0, 1e-9), "weekly", "About prices.")
    assert report.catalog == tmp_path / "sub/emdp.toml"
    assert report.line_of("budget") == 5
    mean, spread = report.entries
    assert mean == Entry(
        "Mean",
        "SELECT WITH EMD_PRIVACY\n  AVG(price) FROM sales",
        "bar",
        "The mean.",
        weight=2.0,
        line=10,
        lines={"title": 11, "query": 13, "picture": 15, "text": 16, "weight": 17},
        query_lines=(13, 14),
    )
    assert spread.query == "SELECT WITH EMD_PRIVACY STDDEV(price) FROM sales\n"
    assert (spread.file, spread.target_error, spread.line, spread.lines["file"]) == ("spread.sql", 0.5, 19, 21)


def test_a_small_definition_and_what_takes_its_place(tmp_path):
    path = written(tmp_path, SMALL.replace('catalog = "emdp.toml"', ""))
    report = load_report(path, catalog="other.toml", period="2026-W48")
    assert (report.catalog, report.period, report.budget, report.retention) == (
        Path("other.toml"),
        "2026-W48",
        None,
        None,
    )
    assert problems(tmp_path, path.read_text()) == [(1, 'the report names no catalog; add catalog = "emdp.toml".')]
    with pytest.raises(UsageError, match="period"):
        load_report(path, period="../x")


def test_a_budget_in_epsilon(tmp_path):
    text = SMALL.replace("\n\n", "\n[budget]\nepsilon = 0.5\n\n")
    assert load_report(written(tmp_path, text)).budget == UserDP(0.5)


def test_entries_written_as_an_array_have_their_lines(tmp_path):
    text = """\
title = "Prices"
catalog = "emdp.toml"
entry = [
  { title = "A", query = "SELECT 1" },
  { title = "B", query = "SELECT 1", picture = "pie" },
]
"""
    ((line, text),) = problems(tmp_path, text)
    assert line == 5
    assert text.startswith("picture is none of auto")


def test_ten_mistakes_are_ten_problems_each_in_its_line(tmp_path):
    text = """\
title = "Prices"
catalog = 3
perod = "2026"
period = "../2026"
budget = { alpha = 1, epsilon = 2 }
retention = 0
[[entry]]
title = "Mean"
query = "SELECT 1"
picture = "pie"
weight = 1
target_error = 2

[[entry]]
title = "Mean"
query = '''  '''

[[entry]]
title = "Other"
file = "absent.sql"
"""
    found = problems(tmp_path, text)
    assert [line for line, _ in found] == [2, 3, 4, 5, 6, 10, 12, 15, 16, 20]
    parts = [
        "catalog is not a text", "unknown key 'perod'", "period must be", "both alpha and epsilon", "retention is",
        "picture is none", "keep one", "that of the entry in line 8", "query is empty", "cannot be read",
    ]  # fmt: skip
    for (_, said), part in zip(found, parts, strict=True):
        assert part in said


MISTAKES = [
    ('title = "Prices"\n', "", 1, "has no title"),
    ('title = "Prices"', 'title = ""', 1, "is empty"),
    ('title = "Prices"', 'title = "a\\nb"', 1, "control character"),
    ('title = "Prices"', 'title = "Prices"\nbudget = 3', 2, "budget is not a table"),
    ('title = "Prices"', 'title = "Prices"\nbudget = {}', 2, "neither alpha nor epsilon"),
    ('title = "Prices"', 'title = "Prices"\nbudget = { alpha = 0 }', 2, "alpha must be"),
    ('title = "Prices"', 'title = "Prices"\nbudget = { alpha = -1.0 }', 2, "alpha must be"),
    ('title = "Prices"', 'title = "Prices"\nbudget = { alpha = nan }', 2, "alpha must be"),
    ('title = "Prices"', 'title = "Prices"\nbudget = { alpha = inf }', 2, "finite"),
    ('title = "Prices"', 'title = "Prices"\nbudget = { alpha = true }', 2, "alpha is not a number"),
    ('title = "Prices"', 'title = "Prices"\nbudget = { alpha = 1, delta = 1 }', 2, "delta must be"),
    ('title = "Prices"', 'title = "Prices"\nbudget.alpha = 1\nbudget.gamma = 2', 3, "unknown key 'gamma'"),
    ('title = "Prices"', 'title = "Prices"\nperiod = 2026-11-16', 2, "put it in quotes"),
    ('title = "Prices"', 'title = "Prices"\nperiod = ".2026"', 2, "period must be"),
    ('title = "Prices"', 'title = "Prices"\nperiod = "2026/47"', 2, "period must be"),
    ('title = "Prices"', 'title = "Prices"\nperiod = "2026 47"', 2, "period must be"),
    ('title = "Prices"', 'title = "Prices"\nretention = 1.5', 2, "a whole number"),
    ('title = "Prices"', 'title = "Prices"\nretention = true', 2, "a whole number"),
    ('title = "Prices"', 'title = "Prices"\nretention = 1000000', 2, "from 1 to 36500"),
    ('title = "Prices"', 'title = "Prices"\nentries = []', 2, "unknown key 'entries'"),
    ('title = "Mean"\n', "", 4, "the entry has no title"),
    ('title = "Mean"', "title = 3", 5, "title is not a text"),
    ('query = "SELECT WITH EMD_PRIVACY AVG(price) FROM sales"', "", 4, "has no query"),
    ('query = "SELECT', 'file = "x.sql"\nquery = "SELECT', 6, "both a query and a file"),
    ('title = "Mean"', 'title = "Mean"\nweight = 0', 6, "weight must be"),
    ('title = "Mean"', 'title = "Mean"\nweight = inf', 6, "weight must be"),
    ('title = "Mean"', f'title = "Mean"\nweight = {10**400}', 6, "weight must be finite"),
    ('title = "Prices"', f'title = "Prices"\nbudget = {{ alpha = {10**400} }}', 2, "alpha must be finite"),
    ('title = "Mean"', 'title = "Mean"\ntarget_error = nan', 6, "target_error must be"),
    ('title = "Mean"', 'title = "Mean"\npicture = "Bar"', 6, "picture is none of"),
    ('title = "Mean"', 'title = "Mean"\nalpha = 1', 6, "unknown key 'alpha'"),
    ('FROM sales"\n', 'FROM sales"\n[entry.sub]\nx = 1\n', 7, "unknown key 'sub'"),
    ('title = "Mean"', 'title = "Mean"\ntitle = "Twice"', 6, "this is no TOML (cannot overwrite a value)"),
    ("FROM sales", "FROM sales\n", 6, "this is no TOML"),
    ('FROM sales"\n', 'FROM sales"\nlast =\n', 7, "this is no TOML (invalid value)"),
]


@pytest.mark.parametrize(("old", "new", "line", "part"), MISTAKES)
def test_every_mistake_alone(tmp_path, old, new, line, part):
    assert SMALL.count(old) == 1
    text = SMALL.replace(old, new)
    ((found, said),) = problems(tmp_path, text)
    assert found == line
    assert part in said


@pytest.mark.parametrize("text", ['title = "a"\ncatalog = "b"\n', 'title = "a"\ncatalog = "b"\nentry = []\n'])
def test_a_report_has_an_entry(tmp_path, text):
    ((_, said),) = problems(tmp_path, text)
    assert "has no entry" in said


@pytest.mark.parametrize("written_entry", ["entry = 3", "entry = [3]", "[entry]\ntitle = 'x'"])
def test_entries_are_a_list_of_tables(tmp_path, written_entry):
    ((line, said),) = problems(tmp_path, f'title = "a"\ncatalog = "b"\n{written_entry}\n')
    assert line == 3
    assert "begin each entry with [[entry]]" in said


def test_a_text_nested_too_deep(tmp_path):
    ((line, said),) = problems(tmp_path, f'title = "a"\nx = {"[" * 20_000}{"]" * 20_000}\n')
    assert (line, said) == (1, "the text is nested too deep; write fewer brackets.")


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(UsageError, match="does not exist"):
        load_report(tmp_path / "none.toml")
    with pytest.raises(UsageError, match="cannot be read"):
        load_report(tmp_path)
    (tmp_path / "bad.toml").write_bytes(b"title = '\xff'")
    with pytest.raises(UsageError, match="no UTF-8 text"):
        load_report(tmp_path / "bad.toml")
    (tmp_path / "empty.sql").write_text(" \n")
    query = 'query = "SELECT WITH EMD_PRIVACY AVG(price) FROM sales"'
    ((line, said),) = problems(tmp_path, SMALL.replace(query, 'file = "empty.sql"'))
    assert (line, "is empty" in said) == (6, True)


def test_a_problem_as_text_and_what_the_error_holds():
    shown = Problem(3, "no title; add one.", "a.toml")
    assert str(shown) == "a.toml:3: no title; add one."
    error = ReportError([shown, Problem(4, "b.", "a.toml")])
    assert error.problems[0] is shown
    assert str(error) == "a.toml:3: no title; add one.\na.toml:4: b."
    assert isinstance(error, UsageError)
    assert error.exit_status == 2
