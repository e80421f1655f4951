"""Builds the pages for a browser: ``python docs/build.py FOLDER`` (``pip install '.[docs]'``), without a network.

The pages of docs/, with what they lead to, are copied as they lie beside one another, pages of reference are made from
the code among them, and Sphinx reads all, where every warning of a page is an error, and one of a docstring's markup is
printed. Nothing is written into the tree.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

COPIED = (
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "queries/README.md",
    "benchmarks/README.md",
)
"""Pages outside of docs/ that others lead to."""

LINK = re.compile(r"(?<!\!)\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")
"""A link of Markdown to a file."""

FIRST = '<!doctype html><meta http-equiv="refresh" content="0; url=docs/index.html"><title>emdp</title>\n'
"""Page at the top of the folder, which leads to the pages."""


def stage(folder: Path) -> None:
    """Write the sources of all pages into an empty folder."""
    sys.path.insert(0, str(ROOT / "docs"))
    from made_pages import PAGES

    for path in sorted((ROOT / "docs").rglob("*")):
        if path.suffix in (".md", ".svg"):
            _copy(path, folder)
    for name in COPIED:
        _copy(ROOT / name, folder)
    shutil.copy(ROOT / "docs" / "conf.py", folder / "conf.py")
    for name, make in PAGES.items():
        place = folder / "docs" / "reference" / f"{name}.md"
        place.parent.mkdir(exist_ok=True)
        place.write_text(make() + "\n", encoding="utf-8")
    _list_the_rest(folder / "docs")


def _is_page(line: str) -> bool:
    return bool(line) and " " not in line and not line.startswith(("`", ":", "#"))


def _list_the_rest(folder: Path) -> None:
    """Add the pages of docs/ that the index does not name to its end, so that none is out of reach."""
    index = folder / "index.md"
    lines = index.read_text(encoding="utf-8").splitlines()
    # Two changes that come together may both have named a page.
    kept = [line for place, line in enumerate(lines) if not (_is_page(line) and line in lines[:place])]
    text = "\n".join(kept) + "\n"
    named = set(text.split())
    rest = [page.stem for page in sorted(folder.glob("*.md")) if page.stem not in named and page.name != "index.md"]
    if rest:
        text += "\n".join(["", "```{toctree}", ":caption: More", ":hidden:", "", *rest, "```", ""])
    index.write_text(text, encoding="utf-8")


def _copy(path: Path, folder: Path) -> None:
    place = folder / path.relative_to(ROOT)
    place.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix != ".md":
        shutil.copy(path, place)
        return
    text = path.read_text(encoding="utf-8")
    place.write_text(LINK.sub(lambda found: _link(path, found), text), encoding="utf-8")


def _link(page: Path, found: re.Match[str]) -> str:
    """Return a link as it is where it leads to a page or another host, and else only its words: code is no page."""
    words, target = found[1], found[2]
    if "://" in target or (page.parent / target).resolve().suffix == ".md":
        return found[0]
    return words


def build(out: Path) -> None:
    """Build all pages into a folder; end with status 1 where a page is warned of."""
    with tempfile.TemporaryDirectory() as folder:
        stage(Path(folder))
        words = ["-q", "-b", "html", "-d", f"{folder}/.trees", folder, str(out)]
        done = subprocess.run([sys.executable, "-m", "sphinx", *words], check=False, capture_output=True, text=True)
    sys.stderr.write(done.stderr)
    warned = [line for line in done.stderr.splitlines() if "WARNING" in line and "docstring of" not in line]
    if done.returncode or warned:
        raise SystemExit(done.returncode or 1)
    (out / "index.html").write_text(FIRST, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python docs/build.py FOLDER")
    build(Path(sys.argv[1]))
