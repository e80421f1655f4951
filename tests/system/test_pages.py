"""Pages as a browser shows them: at two widths, in light and dark, on paper, and what their links lead to."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import polars as pl
import pytest
from browser import browse, in_dark, look, print_page
from made_runs import full_run, outcome, run_of, single

import emdp
from emdp.disclosure.consequences import consequences_of
from emdp.disclosure.page import Block, page
from emdp.reports.export import write_report

WIDTHS = (400, 1200)
"""A telephone, and a window on a desk."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("report of a week")
    write_report(full_run(), place)
    return place


def _modes(text: str, widths: tuple[int, ...] = WIDTHS) -> dict[str, tuple[str, int]]:
    pages = {"light": text, "dark": in_dark(text)}
    return {f"{mode} {width}": (page, width) for mode, page in pages.items() for width in widths}


@pytest.mark.slow
def test_the_page_is_in_order_at_both_widths_in_light_and_dark(folder: Path, tmp_path: Path) -> None:
    found = look(_modes((folder / "index.html").read_text(encoding="utf-8")), tmp_path)
    for name, own in found.items():
        assert own["problems"] == [], name
        assert (own["width"], own["pictures"]) == (int(name.split()[1]), 10)
        assert own["texts"] > 500
        assert own["ground"] == ("rgb(18, 18, 18)" if "dark" in name else "rgb(255, 255, 255)")


@pytest.mark.slow
def test_a_page_of_a_failure_and_of_a_test_run_is_in_order(tmp_path: Path) -> None:
    long = "a reason with_a_very_long_word_" + "x" * 200
    outcomes = [outcome("Distance", single(None)), outcome("Failed", None, error=long)]
    write_report(run_of(outcomes, is_private=False), tmp_path / "out")
    found = look(_modes((tmp_path / "out" / "index.html").read_text(encoding="utf-8")), tmp_path)
    assert [(name, own["problems"]) for name, own in found.items() if own["problems"]] == []


@pytest.mark.slow
def test_the_page_of_consequences_is_in_order(tmp_path: Path) -> None:
    """All five pictures, both tables and the warnings; it has no script, and lets a browser load nothing."""
    city = emdp.Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km")
    promises = (emdp.EmdDP(20.0), emdp.EmdDP(5.0, 1e-8), emdp.UserDP(2.0, neighbours="remove"))
    blocks = [Block(f"Budget {promise}", "All.", consequences_of(city, promise)) for promise in promises]
    text = page("What visits may tell about one person", city, blocks)
    assert "default-src 'none'" in text
    assert "<script" not in text
    found = look(_modes(text, (360, 1280)), tmp_path)
    assert [(name, own["problems"]) for name, own in found.items() if own["problems"]] == []
    assert {own["pictures"] for own in found.values()} == {5 + 4 + 2}


MUTANTS = {
    "overflow": ("max-width: 50rem", "min-width: 90rem"),
    "overlap: <svg>": ("figcaption { margin-top: .35rem", "figcaption { margin-top: -2rem"),
    "cells overlap": ("tbody th { font-weight: 400; }", "tbody th { transform: translateX(9rem); }"),
    "contrast": ("--emdp-muted: #5c5c5c", "--emdp-muted: #999999"),
    "heading order": ("<h3 ", "<h5 "),
    "no name: <svg": (' class="emdp-picture" role="img"', ""),
    "no name: <a": ("aria-label=", "data-label="),
    "no name: <table": ("<caption ", "<p "),
    "no scope": (' scope="col"', ""),
    "empty picture": ('<g class="emdp-', '<g class="other-'),
    "texts overlap": ('font-size="11px"', 'font-size="30px"'),
    "small picture": ("figure svg { display: block; }", "figure svg { width: 60px; }"),
    "id twice": ('id="cost"', 'id="answers"'),
    "not one main": ("<main", "<div"),
}
"""A problem, and what in the page is changed so that it has it."""


@pytest.mark.slow
def test_the_checks_find_what_is_wrong(folder: Path, tmp_path: Path) -> None:
    text = (folder / "index.html").read_text(encoding="utf-8")
    text = re.sub(r">(CSV|Parquet)</a>", "></a>", text)
    copies = {}
    for problem, (old, new) in MUTANTS.items():
        assert old in text, problem
        copies[problem] = (text.replace(old, new), WIDTHS[0])
    missed = [
        (problem, own["problems"])
        for problem, own in look(copies, tmp_path).items()
        if not any(problem in found for found in own["problems"])
    ]
    assert missed == []


class _Links(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if tag == "a" and name == "href"]


def test_links_lead_to_the_files_beside_the_page(folder: Path) -> None:
    links = [link for link in _Links((folder / "index.html").read_text(encoding="utf-8")).links if link[:1] != "#"]
    assert {unquote(link) for link in links} == {path.name for path in folder.iterdir()} - {"index.html"}
    for link in links:
        path = folder / unquote(link)
        assert path.parent == folder
        if path.suffix in (".csv", ".parquet"):
            assert (pl.read_csv if path.suffix == ".csv" else pl.read_parquet)(path).height > 0


@pytest.mark.slow
def test_the_page_prints(folder: Path, tmp_path: Path) -> None:
    printed = print_page(folder / "index.html", tmp_path)
    assert printed.startswith(b"%PDF")
    pages = re.findall(rb"/Type\s*/Page\b", printed)
    assert 4 <= len(pages) <= 30


@pytest.mark.slow
def test_the_page_itself_opens_from_a_file_with_its_rule_against_scripts(folder: Path, tmp_path: Path) -> None:
    shown = browse(tmp_path, "--dump-dom", (folder / "index.html").as_uri())
    assert "</html>" in shown
    assert shown.count("<article") == 9
    assert shown.count("<script") == 0
