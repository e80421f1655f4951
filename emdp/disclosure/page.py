"""The page of consequences: pictures, a sentence and a row a story, and what a reader must know; without network."""

import math
from collections.abc import Sequence
from html import escape

from emdp.base.classes import dataclass
from emdp.disclosure.consequences import FALSE_ALARMS, Consequence, Consequences
from emdp.disclosure.pictures import home_picture, reach_picture, year_picture
from emdp.disclosure.words import failing, head, percent, percent_down
from emdp.pictures import Picture, renamed
from emdp.pictures.beliefs import draw_people
from emdp.spaces import Space

__all__ = ["Block", "gaussian_table", "page", "table_of"]

HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
"""

STYLE = """
:root { color-scheme: light dark; --emdp-ink: #1b1b1b; --emdp-muted: #5c5c5c; --emdp-grid: #dcdcdc;
        --emdp-ground: #fff; }
@media screen and (prefers-color-scheme: dark) {
  :root { --emdp-ink: #e8e8e8; --emdp-muted: #a8a8a8; --emdp-grid: #3a3a3a; --emdp-ground: #121212; }
}
body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem;
       color: var(--emdp-ink); background: var(--emdp-ground); overflow-wrap: break-word; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.first { border-left: .3rem solid #0072b2; padding: .4rem .8rem; }
.warning { border-left: .3rem solid #b00020; padding: .2rem .8rem; }
figure { margin: 1rem 0; }
figcaption, footer { color: var(--emdp-muted); font-size: .9rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; }
caption { text-align: left; padding: .3rem 0; color: var(--emdp-muted); }
th, td { border-bottom: 1px solid var(--emdp-grid); padding: .25rem .6rem; text-align: left; vertical-align: top; }
th { font-weight: 600; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
"""

CAPTION = (
    "Largest belief afterwards by the belief before; share caught at one false alarm in 100; largest gap between "
    "detection and false alarms. All rounded up."
)

FOOT = "All of this follows from public numbers alone: no record was read, and nothing was spent."

CAPTIONS = {
    "beliefs": "A circle is what somebody believed before; the bar ends at the most and the least afterwards.",
    "reach": "The largest belief from 50 %, over how far records lie from where they were thought to be.",
    "home": "Among how many homes on a line one is hidden, at least, over the way from one to the next.",
    "people": "Whom the best detector catches that raises one false alarm in 100 people.",
    "year": "The largest gap between detection and false alarms, by the number of such releases.",
}
"""What stands below each kind of picture."""

GAUSSIAN_CAPTION = "Where all noise is Gaussian: the largest gap, and what a belief usually stays below."

MOST_EPSILON = 100.0
"""Epsilon from which on whole numbers are written."""


@dataclass(frozen=True)
class Block:
    """Consequences of one thing: a budget, a statement, what was spent."""

    title: str
    text: str
    found: Consequences


def page(title: str, space: Space, blocks: Sequence[Block]) -> str:
    """Return the page of some consequences of one table: one HTML file that needs no network and no script.

    >>> from emdp.disclosure.consequences import consequences_of
    >>> from emdp.privacy import EmdDP
    >>> from emdp.spaces import Interval
    >>> space = Interval("x", 0, 40)
    >>> text = page("sales", space, [Block("Budget", "All.", consequences_of(space, EmdDP(2.0)))])
    >>> "http" in text.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    False
    """
    first = f'<p class="first">{escape(head(blocks[0].found.guarantee))}</p>'
    body = ["<header>", f"<h1>{escape(title)}</h1>", first, "</header>", "<main>"]
    for place, block in enumerate(blocks):
        body += _block(block, space, f"c{place}")
    warnings = dict.fromkeys(text for block in blocks for text in block.found.warnings)
    body += ["<h2>What these numbers do not say</h2>", *(f'<p class="warning">{escape(text)}</p>' for text in warnings)]
    body += ["</main>", f"<footer><p>{FOOT}</p></footer>"]
    top = f"<title>{escape(title)}</title>\n<style>{STYLE}</style></head>\n<body>\n"
    return HEAD + top + "\n".join(body) + "\n</body></html>\n"


def table_of(found: Consequences) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return heads and rows of the table of some consequences, as texts.

    >>> from emdp.disclosure.consequences import consequences_of
    >>> from emdp.privacy import EmdDP
    >>> from emdp.spaces import Interval
    >>> heads, rows = table_of(consequences_of(Interval("x", 0, 40), EmdDP(1.0)))
    >>> heads
    ('change', 'epsilon', '50 %', '10 %', '1 %', 'caught', 'gap')
    >>> rows[-1]
    ('everything is different', '1', '73.2 %', '23.2 %', '2.68 %', '2.72 %', '46.3 %')
    """
    heads = ("change", "epsilon", *(percent_down(prior) for prior in found.priors), "caught", "gap")
    return heads, [_cells(row) for row in found.rows]


def gaussian_table(found: Consequences) -> tuple[tuple[str, ...], list[tuple[str, ...]]] | None:
    """Return the table of what holds where all noise is Gaussian; None without a delta."""
    rows: list[tuple[str, ...]] = [
        (row.story.title, percent(row.gaussian_advantage), percent(row.usual_belief))
        for row in found.rows
        if row.gaussian_advantage is not None and row.usual_belief is not None
    ]
    heads = ("change", "Gaussian gap", f"99 of 100 leave {percent_down(found.priors[0])} below")
    return (heads, rows) if rows else None


def _cells(row: Consequence) -> tuple[str, ...]:
    beliefs = ["100 %"] * len(row.beliefs) if row.is_open else [percent(belief) for belief in row.beliefs]
    loss = f"{row.epsilon:.3g}" if row.epsilon < MOST_EPSILON else f"{row.epsilon:.0f}"
    return (row.story.title, loss, *beliefs, percent(row.caught), percent(row.advantage))


def _block(block: Block, space: Space, name: str) -> list[str]:
    found = block.found
    # The story whose loss is nearest to 1 shows most: less is hidden anyway, and more is told.
    chosen = min((row for row in found.rows if row.epsilon > 0), key=_from_one, default=None)
    drawn = [
        ("beliefs", found.picture),
        ("reach", reach_picture(space, found)),
        ("home", home_picture(space, found)),
    ]
    if chosen is not None:
        title = "Of 100 people who did it, how many are caught?"
        drawn.append(("people", draw_people(chosen.caught, FALSE_ALARMS, chosen.story.title, title=title)))
        drawn.append(("year", year_picture(found, chosen)))
    gaussian = gaussian_table(found)
    return [
        f"<h2>{escape(block.title)}</h2>",
        f"<p>{escape(block.text)}</p>",
        *(_figure(picture, name, kind) for kind, picture in drawn if picture is not None),
        "<ul>",
        *(f"<li>{escape(found.sentence(row))}</li>" for row in found.rows),
        "</ul>",
        _table(*table_of(found), CAPTION),
        *([] if gaussian is None else [_table(*gaussian, GAUSSIAN_CAPTION)]),
        *([f"<p>{escape(failing(found.failure))}</p>"] if found.failure else []),
    ]


def _from_one(row: Consequence) -> float:
    return abs(math.log(row.epsilon))


def _figure(picture: Picture, name: str, kind: str) -> str:
    return f"<figure>{renamed(picture, f'{name}-{kind}').svg}<figcaption>{CAPTIONS[kind]}</figcaption></figure>"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    top = "".join(f'<th scope="col"{_class(place)}>{escape(text)}</th>' for place, text in enumerate(heads))
    lines = []
    for row in rows:
        cells = "".join(f"<td{_class(place)}>{escape(text)}</td>" for place, text in enumerate(row[1:], 1))
        lines.append(f'<tr><th scope="row">{escape(row[0])}</th>{cells}</tr>')
    return (
        '<div class="scroll" role="region" tabindex="0" aria-label="table"><table>'
        f"<caption>{escape(caption)}</caption>"
        f"<thead><tr>{top}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _class(place: int) -> str:
    return ' class="number"' if place else ""
