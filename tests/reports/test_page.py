"""The page as text: what it says, that nothing an analyst wrote is markup, and that it stays small."""

from dataclasses import replace
from html.parser import HTMLParser

import pytest
from made_runs import CITY, PERIOD, cells, full_run, grouped, listed, outcome, run_of, single

import emdp.reports.page as module
from emdp.privacy import EmdDP, UserDP
from emdp.reports.meaning import meaning
from emdp.reports.outcome import BudgetState, ReportRun
from emdp.reports.page import MOST_BYTES, page


class _Parsed(HTMLParser):
    """Elements with their attributes, and the text that a reader sees."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._inside: list[str] = []
        self.feed(text)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not {"style", "svg"} & set(self._inside):
            self.words.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def _files(run: ReportRun) -> list[tuple[str, ...]]:
    return [() if own.answer is None else (f"{place:02d}.csv",) for place, own in enumerate(run.outcomes, 1)]


def _page(run: ReportRun, most_bytes: int = MOST_BYTES) -> _Parsed:
    return _Parsed(page(run, _files(run), most_bytes=most_bytes))


@pytest.fixture(scope="module")
def full() -> _Parsed:
    return _page(full_run())


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """One real map stands for all, since a picture is drawn in about a second."""
    drawn = module.draw(cells(50).frame, cells(50).columns, cells(50).shape)
    monkeypatch.setattr(module, "draw", lambda *_, **__: drawn)


def test_the_page_says_what_is_protected_and_what_it_cost(full: _Parsed) -> None:
    assert "A change of a thirtieth of your records by 5 km is hidden with epsilon 0.024" in full.text
    assert "answers on this page together cost alpha 8 ; 1 of 8 were stored, and paid for earlier." in full.text
    assert "table's alpha 60 and delta 1e-08 for all that is ever answered, alpha 24.5 is spent (40.9 %)." in full.text
    assert "This report may still spend alpha 35.5 and delta 1e-08 ." in full.text
    assert "What is left of the table's alpha" in full.text


def test_the_page_shows_what_its_answers_may_tell_about_one_person() -> None:
    run = full_run()
    assert run.meaning is not None
    text = page(run, _files(run))
    assert run.meaning.picture.text.partition(".")[0] in text
    assert "declared: 3.33 % by 5: 50 % → at most" in text
    assert f"The numbers of records are those from {PERIOD} that the person has." in text
    assert "There is a delta" not in text
    # Of what has a delta it says how often a belief may lie outside.
    found = meaning([EmdDP(2.0, 1e-8)], [], CITY)
    assert "There is a delta: about once in" in page(replace(run, meaning=found), _files(run))
    assert meaning([EmdDP(0.0)], [], CITY) is None
    own = meaning([EmdDP(2.0, unit="period"), UserDP(1.0)], [], CITY)
    assert own is not None
    assert own.rows[-1].epsilon == 3.0


def test_what_was_spent_is_rounded_up_and_what_is_left_down() -> None:
    state = BudgetState(UserDP(3.0), UserDP(1.00001, 1e-9), UserDP(1.99999, 1e-7))
    text = _page(run_of([outcome("a", single())], budgets=(state,), spent=(UserDP(0.123456),))).text
    assert "cost epsilon 0.1235 ." in text
    assert "epsilon 1.001 and delta 1e-09 is spent (33.4" in text
    assert "may still spend epsilon 1.999 and delta 1e-07 ." in text
    assert "Alpha bounds" not in text


def test_the_page_needs_no_network_and_has_no_script(full: _Parsed) -> None:
    assert not {"script", "link", "iframe", "object", "embed", "base", "form", "img"} & {
        tag for tag, _ in full.elements
    }
    for tag, attributes in full.elements:
        assert not [name for name in attributes if name.startswith("on")], tag
        for name in ("src", "href", "xlink:href", "srcset", "action", "data", "poster", "background"):
            assert ":" not in (attributes.get(name) or ""), (tag, attributes)
            assert "//" not in (attributes.get(name) or ""), (tag, attributes)
    text = page(full_run(), _files(full_run()))
    assert "url(" not in text
    assert "@import" not in text
    policy = full.all("meta")[1]
    assert policy["http-equiv"] == "Content-Security-Policy"
    assert (policy["content"] or "").startswith("default-src 'none'; style-src 'unsafe-inline'")


def test_every_entry_has_heading_table_files_and_statement(full: _Parsed) -> None:
    assert full.all("html") == [{"lang": "en"}]
    assert [own["id"] for own in full.all("article")] == [f"e{place}" for place in range(1, 10)]
    assert len(full.all("table")) == 8
    assert [own["href"] for own in full.all("a") if "download" in own] == [
        *(f"{place:02d}.csv" for place in (1, 2, 3, 4, 5, 6, 8, 9)),
        "manifest.json",
    ]
    assert full.text.count("Statement (SQL)") == 9
    assert full.text.count("Guarantee: alpha 1 (unbounded central EmdDP), paid by ledger entry 12.") == 8
    assert "a user without such a record counts as 0" in full.text
    assert "the 100 of 400 rows with the largest share; all are in the files" in full.text
    assert "the first 100 of 150 rows; all are in the files" in full.text


def test_ids_are_unique_and_links_inside_lead_somewhere(full: _Parsed) -> None:
    ids = [attributes["id"] for _, attributes in full.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    inner = [own["href"] for own in full.all("a") if (own["href"] or "").startswith("#")]
    assert len(inner) == 10
    assert {(href or "")[1:] for href in inner} <= set(ids)


def test_a_stored_answer_is_marked_and_a_failed_entry_says_why(full: _Parsed) -> None:
    assert full.text.count("Stored answer of 2026-11-20 09:30 UTC, nothing spent.") == 1
    assert "Failed: column 'kn' is not in 'visits'; name another." in full.text


def test_a_page_of_stored_answers_says_so() -> None:
    text = _page(run_of([outcome("a", single(), is_reused=True)])).text
    assert "cost alpha 1 ; they were stored, and paid for earlier." in text


def test_a_page_of_failures_cost_nothing() -> None:
    text = _page(run_of([outcome("a", None, error="it failed.")])).text
    assert "Nothing was released from the records" in text
    assert "This page cost nothing." in text


def test_the_footer_says_how_to_check(full: _Parsed) -> None:
    assert "emdp ledger verify LEDGER --manifest manifest.json" in full.text
    run = full_run()
    for part in (run.ledger_id, str(run.head[0]), run.head[1], run.data_version, "duckdb 2.0.0", "95 of 100"):
        assert part in full.text
    assert full.text.count("the number of users is public") == 1


def test_only_a_test_run_has_the_banner(full: _Parsed) -> None:
    assert "NOT PRIVATE" not in full.text
    assert _page(run_of([outcome("a", single())], is_private=False)).text.count("NOT PRIVATE") == 1


def test_few_entries_have_no_table_of_contents(full: _Parsed) -> None:
    assert len(full.all("nav")) == 1
    assert not _page(run_of([outcome(str(place), None, error="x") for place in range(5)])).all("nav")
    assert _page(run_of([outcome(str(place), None, error="x") for place in range(6)])).all("nav")


HOSTILE = "<img src=x onerror=alert(1)>\"'>&amp;</title></style></svg>{{ 7 * 7 }}\u202e\x1b[31m"


def test_nothing_that_was_written_becomes_markup() -> None:
    made = replace(grouped(3), notes=(HOSTILE,), assumptions=(HOSTILE,), explanation=HOSTILE, data_version=HOSTILE)
    keys = made.frame.with_columns(category=module.pl.lit(HOSTILE))
    made = replace(
        made,
        frame=keys.rename({"category": HOSTILE, "km": f"km{HOSTILE}"}).rename(
            {f"km{end}": f"km{HOSTILE}{end}" for end in ("_low", "_high")}
        ),
        shape=replace(made.shape, keys=(HOSTILE,), unit=HOSTILE),
        columns=(replace(made.columns[0], name=f"km{HOSTILE}"), made.columns[1]),
    )
    one = replace(outcome(HOSTILE, made, text=HOSTILE), text=HOSTILE)
    run = run_of(
        [one, outcome(HOSTILE, None, error=HOSTILE)],
        table=HOSTILE, period=HOSTILE, protections=(HOSTILE,), ledger_id=HOSTILE, made=HOSTILE,
        versions={HOSTILE: HOSTILE},
    )  # fmt: skip
    found = _page(replace(run, report=replace(run.report, title=HOSTILE, text=HOSTILE)))
    assert not found.all("img")
    assert not [attributes for _, attributes in found.elements if "onerror" in attributes]
    assert "49" not in found.text
    assert not {"\u202e", "\x1b"} & set(found.text)
    assert found.text.count("alert(1)") > 20


def test_a_picture_is_drawn_only_where_it_is_wanted() -> None:
    assert len(_page(run_of([outcome("a", listed())], budgets=())).all("svg")) == 1
    assert not _page(run_of([outcome("a", listed(), picture="none")], budgets=())).all("svg")
    text = _page(run_of([outcome("a", listed(), picture="map")], budgets=()))
    assert not text.all("svg")
    assert "There is no picture: kind 'map' does not fit" in text.text


def test_lines_over_periods_are_in_the_order_of_periods(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(module, "draw_periods", lambda series, name: asked.append((name, [own[:2] for own in series])))
    earlier = (single(3.0, "2026-W48"), single(2.0, "2026-W46"))
    page(run_of([outcome("a", single(1.0), picture="line", earlier=earlier)]), [("a.csv",)])
    assert asked == [("km", [("2026-W46", 2.0), (PERIOD, 1.0), ("2026-W48", 3.0)])]


def test_lines_find_each_group_by_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(module, "draw_periods", lambda series, name: asked.append((name, [own[1] for own in series])))
    before = grouped(3)
    before = replace(before, period="2026-W46", frame=before.frame.reverse().head(2))
    run = run_of([outcome("a", grouped(3), earlier=(before,))])
    page(run, _files(run))
    assert asked[0] == ("km, category café", [None, 12.0])
    assert asked[2] == ("km, category bar & grill", [pytest.approx(11.1), pytest.approx(11.1)])
    assert len(asked) == 6


def test_many_numbers_have_no_lines_over_periods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "draw_periods", lambda *_: pytest.fail("a line for each of many rows"))
    before = replace(grouped(4), period="2026-W46")
    run = run_of([outcome("a", grouped(4), earlier=(before,))])
    assert len(_page(run).all("svg")) == 2


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_a_report_of_thirty_maps_stays_below_its_limit() -> None:
    run = run_of([outcome(f"Map {place}", cells(50)) for place in range(30)])
    text = page(run, _files(run))
    assert 100_000 < len(text.encode()) <= MOST_BYTES
    found = _Parsed(text)
    assert len(found.all("article")) == 30
    assert len(found.all("svg")) >= 10


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_rows_go_before_pictures_and_the_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of([outcome(f"Map {place}", cells(50)) for place in range(3)])
    size = len(page(run, _files(run)).encode())
    fewer = _page(run, size - 1)
    assert "the 40 of 2,500 rows with the largest share; all are in the files" in fewer.text
    assert len(fewer.all("svg")) == 4
    monkeypatch.setattr(module, "ROW_LIMITS", (0,))
    rowless = len(page(run, _files(run)).encode())
    without = _page(run, rowless - 1)
    assert "The picture is left out: the page would be above" in without.text
    assert len(without.all("svg")) == 3
    assert "The 2,500 rows are in the files" in without.text
    bare = _page(run, 20_000)
    assert len(bare.all("svg")) == 1
    assert len(bare.all("article")) == 3


def test_a_budget_without_charges_has_no_burn_down() -> None:
    states = (BudgetState(EmdDP(60.0), EmdDP(0.0), EmdDP(60.0)), BudgetState(EmdDP(0.0), EmdDP(0.0), EmdDP(0.0)))
    found = _page(run_of([outcome("a", None, error="x")], budgets=states))
    assert not found.all("svg")
    assert "alpha 0 is spent (0" in found.text


def test_the_moment_is_told_in_utc() -> None:
    assert module._moment("2026-11-22T02:31:03+02:00") == "2026-11-22 00:31 UTC"
    assert module._moment("at noon") == "at noon"


def test_an_answer_without_rows_says_so() -> None:
    made = replace(grouped(3), frame=grouped(3).frame.clear())
    assert "The answer has no rows." in _page(run_of([outcome("a", made)])).text


def test_what_released_numbers_say_of_an_answer_stands_on_the_page() -> None:
    made = replace(grouped(3), notes=("a note",), caveats=("fewer records match than assumed", "a note", "rounding"))
    assert "fewer records match than assumed" in _page(run_of([outcome("a", made)])).text
