"""The pages: made from the code where they are reference, built without a warning, opened without a network."""

import importlib.util
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from urllib.parse import urlsplit

import pytest
from browser import browse

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
HOST = "pages.test"
VIOLATION = "/violation"
POLICY = f"default-src 'self' 'unsafe-inline' data:; report-uri {VIOLATION}"
OPENED = {
    "docs/index.html": "emdp answers questions about people",
    "docs/tutorial/first-map.html": "A first map, in ten minutes",
    "docs/reference/errors.html": "E0412",
}
"""Pages that a browser opens, and what it must show there."""


def load(name: str) -> ModuleType:
    specification = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    found = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(found)
    return found


def test_reference_pages_have_all_that_the_code_has() -> None:
    from emdp.base.codes import all_codes
    from emdp.catalog.entries import TABLE_KEYS
    from emdp.cli.app import COMMANDS
    from emdp.expressions.functions import FUNCTIONS
    from emdp.rows.functions import FUNCTIONS as OF_ROWS

    made = {name: maker() for name, maker in load("made_pages").PAGES.items()}
    assert all(f"`emdp.{name}`" in made["functions"] for name in FUNCTIONS)
    assert all(f"`{name.upper()}`" in made["functions"] for name in OF_ROWS)
    assert all(f"## emdp {name}" in made["commands"] for name in COMMANDS)
    assert all(f"`{key}`" in made["keys"] for key in TABLE_KEYS)
    assert all(f"**{code.number}**" in made["errors"] for code in all_codes())
    assert ".. autofunction:: emdp.read" in made["python"]
    assert "| `TANH(e)` | `emdp.tanh` | 0.7864 | [0.4621, 0.7616] |" in made["functions"]


def test_the_index_names_pages_that_exist() -> None:
    text = (DOCS / "index.md").read_text()
    listed = [
        line for block in re.findall(r"```\{toctree\}(.*?)```", text, re.DOTALL) for line in block.split() if line
    ]
    listed = [line for line in listed if (not line.startswith(":") and "/" in line) or (DOCS / f"{line}.md").exists()]
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")} - {"index"}
    made = {f"reference/{name}" for name in load("made_pages").PAGES}
    outside = {line for line in listed if line.startswith("../")}
    # A page of docs/ itself that is not named stands under "More", which docs/build.py adds.
    assert set(listed) - outside <= pages | made
    assert {page for page in pages | made if "/" in page} <= set(listed)
    assert all((DOCS / f"{line}.md").exists() for line in outside)


def test_new_pages_are_short_and_their_links_lead_somewhere() -> None:
    for folder in ("tutorial", "how-to", "explanation", "reference"):
        for page in (DOCS / folder).glob("*.md"):
            text = page.read_text()
            assert len(text.splitlines()) <= 150, page.name
            for target in re.findall(r"(?<!\!)\]\(([^)#]+)(?:#[^)]*)?\)", text):
                assert (page.parent / target).exists(), (page.name, target)
            prose = re.sub(r"```.*?```|^\|.*$", "", text, flags=re.DOTALL | re.MULTILINE)
            for sentence in re.split(r"(?<=[.:?])\s|\n\n|\n- ", prose):
                assert len(sentence.split()) <= 30, (page.name, sentence)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the pages."""
    for name in ("sphinx", "myst_parser", "furo"):
        if importlib.util.find_spec(name) is None:
            pytest.skip("THE PAGES WERE NOT BUILT: pip install '.[docs]'")
    out = tmp_path_factory.mktemp("pages")
    command = [sys.executable, str(DOCS / "build.py"), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.slow
def test_pages_are_built_without_a_warning_and_name_no_other_host(built: Path) -> None:
    pages = list(built.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe)[^>]*\ssrc=\"([^\"]*)\"|<link[^>]*\shref=\"([^\"]*)\"", text)
        assert not [url for pair in loaded for url in pair if "://" in url or url.startswith("//")], page.name
    for style in built.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//", style.read_text(encoding="utf-8")), style.name
    assert not list(ROOT.glob("docs/reference/errors.md"))


@pytest.fixture
def proxy(built: Path) -> Iterator[tuple[int, list[str]]]:
    """Run a proxy that knows the pages alone; yield its port and the addresses that it was asked for."""
    asked: list[str] = []

    class Pages(BaseHTTPRequestHandler):
        """Gives files of the pages' host, and nothing of another."""

        def do_GET(self) -> None:
            asked.append(self.path)
            parts = urlsplit(self.path)
            place = built / parts.path.lstrip("/")
            if parts.hostname != HOST or not place.is_file():
                self.send_error(404)
                return
            kinds = {".html": "text/html; charset=utf-8", ".css": "text/css", ".js": "text/javascript"}
            self.send_response(200)
            self.send_header("Content-Type", kinds.get(place.suffix, "image/svg+xml"))
            # Whatever a page wants of another host is not loaded, and reported.
            self.send_header("Content-Security-Policy", POLICY)
            self.end_headers()
            self.wfile.write(place.read_bytes())

        def do_POST(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def do_CONNECT(self) -> None:
            # The browser itself asks for news of itself, which it does not get either.
            self.send_error(403)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1], asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.slow
@pytest.mark.parametrize("page", OPENED)
def test_a_page_opens_with_no_request_to_another_host(page: str, proxy: tuple[int, list[str]], tmp_path: Path) -> None:
    port, asked = proxy
    shown = browse(
        tmp_path,
        f"--proxy-server=127.0.0.1:{port}",
        "--proxy-bypass-list=<-loopback>",
        "--dump-dom",
        f"http://{HOST}/{page}",
    )
    assert OPENED[page] in shown
    assert f"http://{HOST}/{page}" in asked
    assert any(url.endswith(".css") or ".css?" in url for url in asked)
    assert not [url for url in asked if url.endswith(VIOLATION)]


@pytest.mark.slow
def test_a_page_that_asks_another_host_is_found(built: Path, proxy: tuple[int, list[str]], tmp_path: Path) -> None:
    port, asked = proxy
    (built / "bad.html").write_text('<!doctype html><title>x</title><img src="https://elsewhere.test/x.png">')
    browse(tmp_path, f"--proxy-server=127.0.0.1:{port}", "--dump-dom", f"http://{HOST}/bad.html")
    (built / "bad.html").unlink()
    assert [url for url in asked if url.endswith(VIOLATION)]
