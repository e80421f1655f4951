"""Headless Chromium looks at a page as a reader would: what it finds at a width, in light or dark, and on paper.

New headless has a least window width, so that a test copy of the page stands in a frame of the wanted width; a script,
which only the copy has, posts what it finds to the page around it, whose text is read by ``--dump-dom``.
"""

import html
import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-extensions",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars",
)  # fmt: skip
"""A browser that asks no host for anything and keeps nothing."""

SECONDS = 120
"""After which a browser that hangs is ended."""

DARK = "@media screen and (prefers-color-scheme: dark)"
"""What the page's style says about dark."""

CHECKS = r"""
(() => {
  const problems = [];
  const wrong = (what, element, more) => problems.push(
    `${what}: <${element.tagName.toLowerCase()}${element.id ? " #" + element.id : ""}> ` +
    `${(element.textContent || "").trim().slice(0, 40)} ${more || ""}`);
  for (const each of document.querySelectorAll("details")) each.open = true;
  const root = document.documentElement, wide = root.clientWidth;
  if (root.scrollWidth > wide) problems.push(`overflow: the page is ${root.scrollWidth} px wide in ${wide}`);
  const seen = element => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && box.right > 0 ? box : null;
  };
  const common = (one, other) => Math.min(
    Math.min(one.right, other.right) - Math.max(one.left, other.left),
    Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top));
  for (const element of document.body.querySelectorAll("*:not(svg *)")) {
    const box = seen(element);
    if (box && box.right > wide + 1 && !element.closest(".scroll table")) wrong("beyond the page", element, box.right);
    if (element.closest("table, svg, pre, p, summary") && !element.matches("p, pre, svg, summary")) continue;
    const inner = [...element.children].filter(child => !child.matches("script, .skip, code, strong, a, span, time"));
    inner.forEach((child, place) => inner.slice(place + 1).forEach(other => {
      const one = seen(child), two = seen(other);
      if (one && two && common(one, two) > 1) wrong("overlap", child, "with " + other.textContent.trim().slice(0, 40));
    }));
  }
  for (const row of document.querySelectorAll("tr")) {
    const cells = [...row.children].map(cell => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      return range.getBoundingClientRect();
    });
    cells.slice(1).forEach((box, place) => { if (common(box, cells[place]) > 1) wrong("cells overlap", row); });
  }
  const pictures = [...document.querySelectorAll("svg")];
  for (const svg of pictures) {
    const frame = svg.getBoundingClientRect();
    if (frame.width < 100 || frame.height < 30) wrong("small picture", svg, `${frame.width} x ${frame.height}`);
    const marks = [...svg.querySelectorAll("g[class^=emdp-] :is(path, rect, line)")].filter(mark => {
      const box = mark.getBoundingClientRect();
      return box.width > 0.5 || box.height > 0.5;
    });
    if (!marks.length && !svg.querySelector(".emdp-missing")) wrong("empty picture", svg);
    const texts = [...svg.querySelectorAll("text")].filter(text => text.textContent.trim());
    const boxes = texts.map(text => text.getBoundingClientRect());
    boxes.forEach((box, place) => {
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 2) {
        wrong("text beyond its picture", texts[place]);
      }
      boxes.slice(place + 1).forEach((other, more) => {
        if (common(box, other) > 3) wrong("texts overlap", texts[place], texts[place + 1 + more].textContent);
      });
    });
  }
  const label = element => (element.getAttribute("aria-label") || (element.getAttribute("aria-labelledby") || "")
    .split(" ").filter(Boolean).map(id => (document.getElementById(id) || {textContent: ""}).textContent).join(" ")
    || "").trim();
  for (const svg of pictures) if (!label(svg) || svg.getAttribute("role") !== "img") wrong("no name", svg);
  for (const link of document.querySelectorAll("a")) {
    if (!label(link) && !link.textContent.trim()) wrong("no name", link);
  }
  for (const image of document.querySelectorAll("img")) if (!image.alt) wrong("no name", image);
  for (const table of document.querySelectorAll("table")) {
    if (!table.caption || !table.caption.textContent.trim()) wrong("no name", table);
    for (const head of table.querySelectorAll("th")) if (!head.scope) wrong("no scope", head);
  }
  for (const part of document.querySelectorAll("nav, [role=region], section, article")) {
    if (!label(part)) wrong("no name", part);
  }
  for (const figure of document.querySelectorAll("figure")) {
    const caption = figure.querySelector("figcaption");
    if (!caption || !caption.textContent.trim()) wrong("no caption", figure);
  }
  const ids = [...document.querySelectorAll("[id]")].map(element => element.id);
  ids.forEach((id, place) => { if (ids.indexOf(id) !== place) problems.push(`id twice: ${id}`); });
  for (const one of ["h1", "main", "body > header", "body > footer"]) {
    if (document.querySelectorAll(one).length !== 1) problems.push(`not one ${one}`);
  }
  if (!root.lang || !document.title) problems.push("no language or title");
  let last = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const level = Number(heading.tagName[1]);
    if (level > last + 1) wrong("heading order", heading);
    last = level;
  }
  const colour = text => {
    const found = text.match(/[\d.]+/g).map(Number);
    return {rgb: found.slice(0, 3), alpha: found.length > 3 ? found[3] : 1};
  };
  const light = rgb => rgb.map(part => part / 255)
    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
  const ground = element => {
    for (let own = element; own; own = own.parentElement) {
      const found = colour(getComputedStyle(own).backgroundColor);
      if (found.alpha === 1) return found.rgb;
    }
    return [255, 255, 255];
  };
  let texts = 0, least = 99;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || element.closest("title, desc, script") || !seen(element)) continue;
    const style = getComputedStyle(element);
    const pair = [light(colour(element.closest("svg") ? style.fill : style.color).rgb), light(ground(element))];
    const contrast = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
    texts += 1;
    least = Math.min(least, contrast);
    if (contrast < 4.5) wrong("contrast", element, contrast.toFixed(2));
  }
  const body = getComputedStyle(document.body).backgroundColor;
  parent.postMessage(JSON.stringify({
    name: NAME, width: wide, texts, least, ground: body, pictures: pictures.length, problems: problems.slice(0, 40),
  }), "*");
})();
"""

AROUND = """<!DOCTYPE html><html><body><pre id="found"></pre><script>
addEventListener("message", event => document.getElementById("found").append(event.data + "\\n"));
</script>%s</body></html>"""


def chromium() -> str:
    """Return the browser; without one the test is skipped, and says what was not tested."""
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("WARNING: NO CHROMIUM, SO THE PAGES WERE NOT LOOKED AT; install Debian's package chromium.")
    return found


def browse(folder: Path, *arguments: str) -> str:
    """Run the browser with a new profile in a folder; return what it printed."""
    profile = folder / "profile"
    shutil.rmtree(profile, ignore_errors=True)
    command = [chromium(), *FLAGS, f"--user-data-dir={profile}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def in_dark(text: str) -> str:
    """Return a page whose dark colours hold always."""
    assert text.count(DARK) == 1
    return text.replace(DARK, "@media all")


def look(copies: Mapping[str, tuple[str, int]], folder: Path) -> dict[str, Any]:
    """Return what the checks find in copies of pages, all looked at by one browser.

    Parameters
    ----------
    copies : mapping of str to (str, int)
        For each name a page, and the width in pixels at which it is shown.
    folder : Path
        Where test copies and the profile are put.

    Returns
    -------
    dict
        For each name ``width``, ``problems`` and what was counted.
    """
    folder.mkdir(parents=True, exist_ok=True)
    frames = []
    for place, (name, (text, width)) in enumerate(copies.items()):
        # The page forbids scripts; its copy has one.
        own = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
        script = CHECKS.replace("NAME", json.dumps(name))
        own = own.replace("</body>", f"<script>addEventListener('load', () => {{{script}}})</script></body>")
        (folder / f"copy-{place}.html").write_text(own, encoding="utf-8")
        frames.append(f'<iframe src="copy-{place}.html" style="border:0;width:{width}px;height:900px"></iframe>')
    around = folder / "around.html"
    around.write_text(AROUND % "".join(frames), encoding="utf-8")
    printed = browse(folder, "--window-size=1400,1000", "--virtual-time-budget=20000", "--dump-dom", around.as_uri())
    listed = re.search(r'<pre id="found">(.*?)</pre>', printed, re.DOTALL)
    assert listed is not None, printed[-2000:]
    found = {own.pop("name"): own for own in map(json.loads, html.unescape(listed[1]).splitlines())}
    assert found.keys() == copies.keys(), "a script did not end"
    return found


def print_page(path: Path, folder: Path) -> bytes:
    """Return the page as a PDF."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "page.pdf"
    browse(folder, "--no-pdf-header-footer", f"--print-to-pdf={target}", path.as_uri())
    return target.read_bytes()
