"""Reports checked as a whole: levels that add up, targets that are met, and every problem at once in its line."""

import shutil
from pathlib import Path

import polars as pl
import pytest

import emdp
import emdp.testing
from emdp.base.errors import ReportError
from emdp.catalog.catalog import load_catalog
from emdp.privacy import EmdDP
from emdp.privacy.rounding import as_decimal
from emdp.reports.checking import check_report
from emdp.reports.definition import PICTURES, load_report
from emdp.resources import find, load_dataset_module

CATALOG = """\
ledger = "sales.ledger"
[tables.sales]
source = "absent.parquet"
user = "user_id"
users = 1000
columns = { user_id = "BIGINT", price = "DOUBLE", kind = "VARCHAR" }
budget = [{ alpha = 50.0, delta = 1e-8 }, { epsilon = 5.0 }]
[tables.sales.space]
kind = "product"
parts = [
  { kind = "interval", col = "price", low = 0, high = 50 },
  { kind = "categories", col = "kind", values = ["a", "b", "c"] },
]
[tables.weekly]
source = "weekly/{period}.parquet"
elsewhere = "neutral"
user = "user_id"
users = 1000
columns = { user_id = "BIGINT", price = "DOUBLE" }
space = { kind = "interval", col = "price", low = 0, high = 50 }
budget = { epsilon = 50.0 }
"""

TOP = 'title = "Prices"\ncatalog = "emdp.toml"\n'


def entry(title, query, *more):
    return "\n".join(["[[entry]]", f'title = "{title}"', f"query = '''{query}'''", *more, ""])


def asked(what, options="", table="sales", header="EMD_PRIVACY"):
    return f"SELECT WITH {header} {options} {what} FROM {table}"


def checked(folder, text, catalog=CATALOG, **options):
    (folder / "emdp.toml").write_text(catalog)
    (folder / "prices.toml").write_text(text)
    report = load_report(folder / "prices.toml", period=options.get("period"))
    return check_report(report, load_catalog(report.catalog))


def problems(folder, text, catalog=CATALOG):
    with pytest.raises(ReportError) as caught:
        checked(folder, text, catalog)
    for problem in caught.value.problems:
        assert "\n" not in problem.text
        assert problem.text.endswith(".")
        assert ";" in problem.text
    return [(problem.line, problem.text) for problem in caught.value.problems]


def levels(report):
    return [own.planned.plan.guarantee.level for own in report.entries]


def test_stated_levels_stay_and_the_rest_is_split_by_weight(tmp_path):
    text = TOP + "budget = { alpha = 6.0, delta = 1e-9 }\n"
    text += entry("A", asked("AVG(price) AS x", "OPTIONS (alpha = 1.5, delta = 1e-10)"))
    text += entry("B", asked("AVG(price) AS x"), "weight = 2")
    text += entry("C", asked("AVG(price) AS x", "OPTIONS (noise = 'laplace')"))
    report = checked(tmp_path, text)
    assert report.table == "sales"
    assert report.budget == EmdDP(6.0, 1e-9)
    assert levels(report) == [1.5, 3.0, 1.5]
    assert [own.text.partition("AVG")[0] for own in report.entries] == [
        "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.5, delta = 1e-10) ",
        "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 3.0)  ",
        "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.5, noise = 'laplace') ",
    ]
    assert [own.entry.title for own in report.entries] == ["A", "B", "C"]
    # Neither a ledger nor the data: only the two texts are there.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["emdp.toml", "prices.toml"]


@pytest.mark.quarter
@pytest.mark.parametrize("budget", [0.3, 0.7, 1.0, 6.1, 49.9])
@pytest.mark.parametrize("count", [3, 7, 13])
def test_levels_add_up_to_the_budget_in_decimals(tmp_path, budget, count):
    """Fifteen reports: all of the budget but for the digits that levels are cut to, and never more."""
    text = TOP + f"budget = {{ alpha = {budget} }}\n"
    for number in range(count):
        text += entry(number, asked("AVG(price) AS x"), f"weight = {1 + number / 7}")
    text += entry("S", asked("AVG(price) AS x", f"OPTIONS (alpha = {budget / 10})"))
    total = sum(map(as_decimal, levels(checked(tmp_path, text))))
    assert as_decimal(budget) * (1 - as_decimal(1e-4)) <= total <= as_decimal(budget)


TARGETS = [
    ("AVG(price) AS x", 0.2),
    ("AVG(price) AS x, AVG(CASE kind WHEN 'a' THEN 1 ELSE 0 END) AS a", 0.3),
    ("AVG(CASE kind WHEN 'a' THEN 1 ELSE 0 END) AS a, COUNT(DISTINCT user_id) AS n", 0.003),
    ("FREQUENCY(kind) AS x", 0.002),
    ("FREQUENCY(GRID(price, 5.0)) AS x", 0.02),
    ("QUANTILE(price, 0.1, 0.5, 0.9) AS x", 2.0),
    ("STDDEV(price) AS x", 1.0),
]


@pytest.mark.quarter
@pytest.mark.parametrize(("what", "target"), TARGETS)
def test_a_target_is_met_and_seven_tenths_of_the_level_miss_it(tmp_path, what, target):
    text = TOP + "budget = { alpha = 50.0 }\n" + entry("A", asked(what), f"target_error = {target}")
    report = checked(tmp_path, text)
    (level,) = levels(report)
    assert max(column.expected_error for column in report.entries[0].planned.plan.columns) <= target
    assert float(f"{level:.2e}") == level
    for factor in (0.7, 0.99):
        less = TOP + entry("A", asked(what, f"OPTIONS (alpha = {level * factor})"))
        columns = checked(tmp_path, less).entries[0].planned.plan.columns
        assert max(column.expected_error for column in columns) > target


def test_targets_stated_levels_and_weights_share_one_budget(tmp_path):
    text = TOP + "budget = { alpha = 10.0 }\n"
    text += entry("A", asked("AVG(price) AS x"), "target_error = 0.05")
    text += entry("B", asked("AVG(price) AS x", "OPTIONS (alpha = 3.1)"))
    text += entry("C", asked("AVG(price) AS x")) + entry("D", asked("AVG(price) AS x"), "weight = 3")
    first, second, third, fourth = levels(checked(tmp_path, text))
    assert (first, second) == (2.0, 3.1)
    assert as_decimal(third) + as_decimal(fourth) <= as_decimal(4.9)
    assert fourth == pytest.approx(3 * third)


def test_a_target_out_of_reach(tmp_path):
    text = TOP + "budget = { alpha = 2.0 }\n" + entry("A", asked("AVG(price) AS x"), "target_error = 0.011")
    ((line, said),) = problems(tmp_path, text)
    assert line == 7
    assert "is 0.05 even with all of the alpha = 2 of the report" in said
    # Without a budget of the report the table's is the limit, and here enough.
    assert levels(checked(tmp_path, text.replace("budget = { alpha = 2.0 }\n", ""))) == [9.1]


def test_ten_mistakes_are_ten_problems_each_in_its_line(tmp_path):
    text = """\
title = "Prices"
catalog = "emdp.toml"
budget = { alpha = 6.0 }
[[entry]]
title = "1"
query = '''
SELECT WITH EMD_PRIVACY
  AVG(priec)
FROM sales'''
[[entry]]
title = "2"
query = "SELECT WITH EMD_PRIVACY OPTIONS (alpah = 1) AVG(price) FROM sales"
[[entry]]
title = "3"
query = "SELECT WITH EMD_PRIVACY AVG(price) FROM sales; SELECT WITH EMD_PRIVACY AVG(price) FROM sales"
[[entry]]
title = "4"
query = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(price) FROM sales"
weight = 2
[[entry]]
title = "5"
query = "SELECT WITH EMD_PRIVACY AVG(price) FROM sales"
picture = "map"
[[entry]]
title = "6"
query = "SELECT WITH EMD_PRIVACY AVG(price) FROM sales"
target_error = 1e-6
[[entry]]
title = "7"
query = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 0.1) AVG(price) FROM sales"
[[entry]]
title = "8"
file = "eight.sql"
[[entry]]
title = "9"
query = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1, delta = 1e-12) \\n\\n AVG(price) FROM sales"
target_error = 2
[[entry]]
title = "10"
query = \"\"\"\\
  SELECT WITH EMD_PRIVACY \\
    AVG(price)
  FROM salse\"\"\"
"""
    (tmp_path / "eight.sql").write_text("-- of all\nSELECT WITH EMD_PRIVACY\n  FLOOR(price)\nFROM sales\n")
    found = problems(tmp_path, text)
    parts = [
        (8, "priec"),
        (12, "alpah"),
        (15, "second statement"),
        (19, "weight has no use"),
        (23, 'picture = "map" does not fit'),
        (27, "target_error = 1e-06 is out of reach"),
        (30, "central UserDP, cannot be charged to the alpha of the report"),
        (33, "line 3 of eight.sql: "),
        (37, "target_error has no use"),
        (43, "salse"),
    ]
    assert [line for line, _ in found] == [line for line, _ in parts]
    for (_, said), (_, part) in zip(found, parts, strict=True):
        assert part in said


def test_a_sum_above_the_budget_is_a_problem_of_the_budget(tmp_path):
    stated = entry("A", asked("AVG(price)", "OPTIONS (alpha = 0.1)")) + entry(
        "B", asked("AVG(price)", "OPTIONS (alpha = 0.2)")
    )
    assert levels(checked(tmp_path, TOP + "budget = { alpha = 0.3 }\n" + stated)) == [0.1, 0.2]
    ((line, said),) = problems(tmp_path, TOP + "text = 'x'\nbudget = { alpha = 0.29999999999999993 }\n" + stated)
    assert line == 4
    assert "cost alpha = 0.3 and delta = 0.0 together" in said
    ((line, said),) = problems(tmp_path, TOP + "budget = { alpha = 0.3 }\n" + stated + entry("C", asked("AVG(price)")))
    assert line == 3
    assert "leave nothing for the other 1" in said


def test_deltas_add_up_too(tmp_path):
    options = "OPTIONS (alpha = 0.1, delta = 4e-10, noise = 'gaussian')"
    stated = "".join(entry(title, asked("AVG(price)", options)) for title in "AB")
    checked(tmp_path, TOP + "budget = { alpha = 1.0, delta = 8e-10 }\n" + stated)
    ((line, said),) = problems(tmp_path, TOP + "budget = { alpha = 1.0, delta = 7.9e-10 }\n" + stated)
    assert (line, "and delta = 8e-10 together" in said) == (3, True)


def test_without_a_budget_of_its_own_a_report_has_the_tables(tmp_path):
    text = TOP + entry("A", asked("AVG(price)", "OPTIONS (alpha = 50.0)"))
    user = entry("B", asked("AVG(price)", "OPTIONS (epsilon = 5.0)", header="USER_PRIVACY"))
    report = checked(tmp_path, text + user)
    assert report.budget is None
    assert [own.planned.plan.guarantee.kind_name for own in report.entries] == [
        "unbounded central EmdDP",
        "central UserDP",
    ]
    for more, part in (
        (entry("C", asked("AVG(price)", "OPTIONS (alpha = 0.1)")), "cost alpha = 50.1"),
        (entry("C", asked("AVG(price)", "OPTIONS (epsilon = 0.1)", header="USER_PRIVACY")), "cost epsilon = 5.1"),
        (entry("C", asked("AVG(price)")), "states no level and the report has no budget"),
    ):
        ((_, said),) = problems(tmp_path, text + user + more)
        assert part in said


def test_kinds_of_budgets(tmp_path):
    emd, user = asked("AVG(price)"), asked("AVG(price)", header="USER_PRIVACY")
    both = entry("A", emd) + entry("B", user)
    report = checked(tmp_path, TOP + "budget = { epsilon = 4.0 }\n" + both)
    assert [own.text.partition(")")[0].partition("(")[2] for own in report.entries] == ["alpha = 2.0", "epsilon = 2.0"]
    ((line, said),) = problems(tmp_path, TOP + "budget = { alpha = 4.0 }\n" + both)
    assert (line, "cannot be charged to the alpha" in said) == (9, True)
    assert "give it a report whose budget is in epsilon, or leave out the report's budget" in said
    checked(
        tmp_path,
        TOP
        + entry("A", asked("AVG(price)", "OPTIONS (alpha = 4)"))
        + entry("B", asked("AVG(price)", "OPTIONS (epsilon = 1)", header="USER_PRIVACY")),
    )
    ((line, said),) = problems(tmp_path, TOP + "budget = { epsilon = 5.1 }\n" + both)
    assert (line, "is more than that of table sales" in said) == (3, True)
    only_alpha = CATALOG.replace(", { epsilon = 5.0 }", "")
    found = problems(tmp_path, TOP + "budget = { epsilon = 4.0 }\n" + both, only_alpha)
    assert found[0][0] == 3
    assert "state the report's budget in the table's kind" in found[0][1]


def test_which_table(tmp_path):
    text = TOP + entry("A", asked("AVG(price)", "OPTIONS (alpha = 1)"))
    assert checked(tmp_path, text.replace("sales", "SALES")).table == "sales"
    ((line, said),) = problems(tmp_path, text + entry("B", asked("AVG(price)", "OPTIONS (alpha = 1)", "weekly")))
    assert (line, "name 2 private tables, sales, weekly" in said) == (2, True)
    ((line, said),) = problems(tmp_path, text.replace("sales", "sale"))
    assert (line, "no query names a table" in said) == (2, True)
    ((line, said),) = problems(tmp_path, text.replace("\n[[", '\ntable = "sale"\n[[', 1))
    assert (line, "table 'sale' is not in" in said) == (3, True)
    ((line, said),) = problems(tmp_path, text.replace("\n[[", '\ntable = "weekly"\nperiod = "1"\n[[', 1))
    assert line == 7


def test_the_period_fills_the_catalogs_paths(tmp_path):
    text = TOP + entry("A", asked("AVG(price)", "OPTIONS (alpha = 1)", "weekly"))
    ((line, said),) = problems(tmp_path, text)
    assert (line, "period" in said) == (2, True)
    assert checked(tmp_path, text.replace("\n[[", '\nperiod = "2026-W47"\n[[', 1)).report.period == "2026-W47"
    report = load_report(tmp_path / "prices.toml")
    again = check_report(report, load_catalog(report.catalog), period="2026-W48")
    assert again.report.period == "2026-W48"


def test_a_catalog_that_is_of_no_use(tmp_path):
    text = TOP + entry("A", asked("AVG(price)", "OPTIONS (alpha = 1)")) + entry("B", "SELECT 1")
    for old, new, part in (
        ("budget = [{ alpha = 50.0, delta = 1e-8 }, { epsilon = 5.0 }]", "", "needs budget"),
        ('columns = { user_id = "BIGINT", price = "DOUBLE", kind = "VARCHAR" }', "", "names no file"),
    ):
        found = problems(tmp_path, text, CATALOG.replace(old, new))
        assert [line for line, _ in found] == [2, 8]
        assert part in found[0][1]


@pytest.mark.parametrize(
    ("what", "fitting"),
    [
        ("AVG(price)", {"bar", "line"}),
        ("kind, AVG(price)", {"bar", "line"}),
        ("FREQUENCY(kind)", {"bar"}),
        ("FREQUENCY(GRID(price, 5.0))", {"bar"}),
        ("QUANTILE(price, 0.5)", {"distribution"}),
    ],
)
def test_pictures_fit_answers(tmp_path, what, fitting):
    group = " GROUP BY kind" if what.startswith("kind") else ""
    for picture in PICTURES:
        text = TOP + entry("A", asked(what, "OPTIONS (alpha = 1)") + group, f'picture = "{picture}"')
        if picture in fitting | {"auto", "none"}:
            checked(tmp_path, text)
        else:
            ((line, said),) = problems(tmp_path, text)
            assert (line, "does not fit the answer" in said) == (6, True)


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """The shipped definitions beside small generated tables."""
    folder = tmp_path_factory.mktemp("shipped")
    shutil.copytree(find("queries"), folder / "queries")
    load_dataset_module("checkins").write_checkins(folder / "checkins.parquet", users=2000, records=20_000)
    load_dataset_module("ratings").write_ratings(folder / "ratings.parquet", users=2000, records=20_000)
    load_dataset_module("messages").write_messages(
        folder / "messages.parquet", folder / "words.parquet", users=2000, records=5000
    )
    (folder / "weekly/week=2025-W47").mkdir(parents=True)
    week = pl.read_parquet(folder / "checkins.parquet").filter(pl.col("ts").dt.to_string("%G-W%V") == "2025-W47")
    week.write_parquet(folder / "weekly/week=2025-W47/data_0.parquet")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", ["places", "words", "ratings", "activity"])
def test_the_shipped_definitions_are_answered_within_their_budgets(shipped: Path, name):
    with emdp.testing.seeded(1):
        report = load_report(shipped / "queries" / f"{name}.toml")
        catalog = load_catalog(report.catalog)
        found = check_report(report, catalog)
        assert len(found.entries) == len(report.entries) >= 4
        assert all(own.entry.text and own.entry.picture != "auto" for own in found.entries)
        with catalog.session(found.table, period=report.period) as session:
            before = session.remaining()
            for own in found.entries:
                answer = session.sql(own.text)
                assert answer.frame.height > 0
            spent = as_decimal(before.level) - as_decimal(session.remaining().level)
        assert as_decimal(report.budget.level) * (1 - as_decimal(1e-4)) <= spent
        assert spent <= as_decimal(report.budget.level) * (1 + as_decimal(1e-12))


def test_the_shipped_definitions_say_something(shipped: Path):
    kinds = set()
    for name in ("places", "words", "ratings", "activity"):
        report = load_report(shipped / "queries" / f"{name}.toml")
        kinds.update(own.picture for own in report.entries)
        assert any(own.target_error is not None for own in report.entries)
        assert any("OPTIONS" in own.query for own in report.entries)
    assert kinds == {"bar", "line", "map", "distribution"}
