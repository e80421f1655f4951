"""Code blocks of the README and of whole pages, in order and in one folder each, as a reader would run them."""

import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

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
    "docs/tutorial/own-file.md": {"sh": 2, "sql": 1, "toml": 1},
    "docs/tutorial/first-report.md": {"sh": 2, "toml": 2},
    "docs/how-to/choose-alpha.md": {"python": 1, "sh": 1},
    "docs/how-to/after-an-error.md": {"sh": 1},
    "docs/how-to/weekly-report.md": {"sh": 3, "toml": 2},
    "docs/how-to/move-a-ledger.md": {"sh": 4},
    "docs/how-to/upgrade.md": {"sh": 2},
    "docs/how-to/local-model.md": {"python": 1, "sh": 3, "sql": 1, "toml": 1},
    "docs/how-to/frequent-words.md": {"python": 1, "sh": 2, "sql": 1, "toml": 1},
    "docs/how-to/unknown-range.md": {"python": 4},
    "docs/how-to/answers-in-other-tools.md": {"python": 1, "sh": 2, "sql": 1, "toml": 1},
    "docs/how-to/audit-a-question.md": {"sh": 1, "sql": 1, "toml": 1},
}
"""Pages whose blocks run, with the number of blocks of each kind."""


def blocks(page: str) -> list[tuple[str, str]]:
    found = BLOCK.findall((ROOT / page).read_text())
    return [(kind, dedent(text)) for kind, text in found if "pip install" not in text]


def run(arguments: list[str], folder: Path) -> str:
    command = [sys.executable, "-c", "from emdp.cli import main; main()", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_every_block_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
                    run(shlex.split(line)[1:], tmp_path)
        elif kind == "sql":
            (tmp_path / "question.sql").write_text(text)
        elif kind == "toml" and (named := re.match(r"# (\S+\.toml)\n", text)):
            (tmp_path / named[1]).write_text(text)
        elif kind == "toml":
            (tmp_path / "emdp.toml").write_text(text.replace("city.ledger", "catalog.ledger"))
            out = run(["mean", "-C", "emdp.toml", "--distance-to", "40.7484,-73.9857", "--alpha", "1"], tmp_path)
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
