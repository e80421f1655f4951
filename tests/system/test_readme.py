"""Code blocks of the README and of whole pages, in order and in one folder each, as a reader would run them."""

import importlib.util
import re
import shlex
import shutil
from pathlib import Path
from textwrap import dedent

import pytest

from emdp.cli import main

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
BLOCK = re.compile(r"^ *```(\w+)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)")
NAME = re.compile(r"emdp-[0-9a-f]{12}")
MOST_LINES = 150
"""Lines of the README: what a reader needs in the first minutes; the rest is pages."""

PAGES = {
    "README.md": {"python": 1, "sh": 3, "sql": 1, "toml": 1},
    "docs/python.md": {"python": 12},
    "docs/command-line.md": {"sh": 2, "toml": 1},
    "docs/tutorial/first-map.md": {"sh": 5, "sql": 1, "toml": 1},
    "docs/tutorial/own-file.md": {"sh": 3, "sql": 1, "toml": 1},
    "docs/tutorial/first-report.md": {"sh": 2, "toml": 2},
    "docs/how-to/choose-alpha.md": {"python": 1, "sh": 1},
    "docs/how-to/after-an-error.md": {"sh": 1},
    "docs/how-to/weekly-report.md": {"sh": 3, "toml": 2},
    "docs/how-to/move-a-ledger.md": {"sh": 4},
    "docs/how-to/upgrade.md": {"sh": 2},
    "docs/how-to/local-model.md": {"python": 1, "sh": 3, "sql": 1, "toml": 1},
    "docs/how-to/count-people.md": {"sh": 2, "sql": 1, "toml": 1},
    "docs/how-to/frequent-words.md": {"python": 1, "sh": 2, "sql": 1, "toml": 1},
    "docs/how-to/unknown-range.md": {"python": 4},
    "docs/how-to/answers-in-other-tools.md": {"python": 1, "sh": 2, "sql": 1, "toml": 1},
    "docs/how-to/audit-a-question.md": {"sh": 1, "sql": 1, "toml": 1},
}
"""Pages whose blocks run, with the number of blocks of each kind."""


def blocks(page: str) -> list[tuple[str, str]]:
    found = BLOCK.findall((ROOT / page).read_text())
    return [(kind, dedent(text)) for kind, text in found if "pip install" not in text]


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command in this process, where emdp is loaded: what it prints, after it left with 0."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as done:
        main(arguments)
    said = capsys.readouterr()
    assert done.value.code == 0, said.err
    return said.out


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_every_block_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "queries", tmp_path / "queries")
    names: dict[str, object] = {}
    ran = []
    for kind, text in blocks(page):
        if kind == "python":
            exec(compile(text, page, "exec"), names)  # noqa: S102
        elif kind == "sh":
            for line in text.replace("\\\n", " ").strip().splitlines():
                if line.startswith("emdp "):
                    run(shlex.split(line)[1:], capsys)
        elif kind == "sql":
            (tmp_path / "question.sql").write_text(text)
        elif kind == "toml" and (named := re.match(r"# (\S+\.toml)\n", text)):
            (tmp_path / named[1]).write_text(text)
        elif kind == "toml":
            (tmp_path / "emdp.toml").write_text(text.replace("city.ledger", "catalog.ledger"))
            out = run(["mean", "-C", "emdp.toml", "--distance-to", "40.7484,-73.9857", "--alpha", "1"], capsys)
            assert "95 % interval" in out
        ran.append(kind)
    assert {kind: ran.count(kind) for kind in sorted(set(ran))} == PAGES[page]
    if page == "docs/command-line.md":
        assert (tmp_path / "places" / "index.html").is_file()


@pytest.mark.slow
def test_figures_are_made_again_as_they_are() -> None:
    """To one pixel: the same shapes and texts, whatever a processor rounds."""
    specification = importlib.util.spec_from_file_location("make_figures", ROOT / "docs/make.py")
    assert specification is not None
    assert specification.loader is not None
    make = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(make)
    for name, maker in make.MAKERS.items():
        kept, made = (
            NUMBER.split(NAME.sub("", text)) for text in ((ROOT / "docs/figures" / name).read_text(), maker())
        )
        assert kept[::2] == made[::2]
        for before, after in zip(kept[1::2], made[1::2], strict=True):
            assert abs(float(before) - float(after)) <= 1, name


def test_the_readme_is_short_and_its_links_lead_somewhere() -> None:
    for page in ("README.md", "docs/README.md", *PAGES, "docs/promises.md", "docs/consequences.md"):
        text = (ROOT / page).read_text()
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
            assert ((ROOT / page).parent / target).exists(), f"{page} names {target}"
    lines = README.read_text().splitlines()
    assert len(lines) <= MOST_LINES
    prose = re.sub(r"```.*?```|^\|.*$", "", README.read_text(), flags=re.DOTALL | re.MULTILINE)
    for sentence in re.split(r"(?<=[.:?])\s|\n\n|\n- ", prose):
        assert len(sentence.split()) <= 25, sentence


def test_the_test_command_is_where_ci_looks_for_it() -> None:
    after = README.read_text().split("<!-- test command -->", 1)[1]
    assert after.lstrip().startswith("```sh\npip install '.[test]' && pytest -n auto\n```")


CITY = """
import numpy as np
import emdp
from emdp.resources import load_dataset_module
load_dataset_module("checkins").write_checkins("visits.parquet", users=300, records=9000)
city = emdp.Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km", on_invalid="clamp")
visits = emdp.read("visits.parquet", user="user_id", users=300, space=city)
"""
MINUTES = """
import numpy as np
import emdp
rows = {"user": np.repeat(np.arange(200), 5), "minutes": np.random.default_rng(1).uniform(0, 60, 1000)}
table = emdp.read(rows, user="user", users=200, space=emdp.Interval("minutes", 0, 60), name="visits")
session = emdp.Session(table, budget=emdp.EmdDP(100.0), ledger="minutes.ledger")
"""

BEFORE = {
    "docs/profile.md": {
        "profile_preview(": f"{CITY}session = emdp.Session(visits, budget=emdp.UserDP(4, 1e-6), ledger='a.ledger')",
    },
    "docs/elsewhere.md": {
        "elsewhere=1,": """
import numpy as np
import polars as pl
import emdp
generator = np.random.default_rng(1)
rows = {"taxi": np.arange(3000), "lat": generator.uniform(40.5, 41.0, 3000), "lon": np.full(3000, -74.0)}
pl.DataFrame({**rows, "km": generator.uniform(0, 50, 3000)}).write_parquet("trips.parquet")
""",
        "slots=20": """
place = emdp.Geo("lat", "lon", (40.48, -74.26, 40.92, -73.70), unit="km", on_invalid="elsewhere")
space = emdp.Product(place, emdp.Interval("km", 0, 50))
""",
    },
    "docs/measures.md": {
        "emdp.measure(alpha=20)": f"{CITY}session = emdp.Session(visits, budget=emdp.EmdDP(100), ledger='a.ledger')",
        "places.joined(": """
whole = emdp.Product(city, emdp.Cycle("hour", 24))
days = emdp.read("visits.parquet", user="user_id", users=300, space=whole, name="days")
session = emdp.Session(days, budget=emdp.EmdDP(100), ledger="b.ledger")
""",
    },
    "docs/streams.md": {"session.stream(": CITY},
    "docs/tiers.md": {
        "emdp.tiers([8, 4, 1])": MINUTES,
        "session.refine(": "",
        "write_messages(": """
from pathlib import Path
Path("release").mkdir()
session = emdp.Session(table, budget=emdp.UserDP(9.0, 1e-6), ledger="local.ledger")
""",
        "TieredResponse(": "items = np.array([0, 1, 2, 3] * 50)",
    },
}
"""Of pages about one feature each: what a block of Python is known by, and what their reader has before it."""


@pytest.mark.slow
@pytest.mark.parametrize("page", BEFORE)
def test_python_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    own = [text for kind, text in blocks(page) if kind == "python"]
    for known, before in BEFORE[page].items():
        (text,) = (text for text in own if known in text)
        exec(before, names)  # noqa: S102
        exec(compile(text, page, "exec"), names)  # noqa: S102


def test_every_page_that_teaches_runs() -> None:
    """A page of the tutorial or a how-to with a block that says what it is written in is one whose blocks run."""
    pages = [page for folder in ("tutorial", "how-to", "explanation") for page in (ROOT / "docs" / folder).glob("*.md")]
    named = {page.relative_to(ROOT).as_posix() for page in pages if BLOCK.search(page.read_text())}
    assert named <= PAGES.keys()
