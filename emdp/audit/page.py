"""The audit's picture, claimed loss against lower bound over distance, and its page: one file without network."""

from collections.abc import Sequence
from html import escape

from emdp.audit.findings import COLUMNS_SHOWN, AuditRow, Findings
from emdp.pictures import Picture, renamed
from emdp.pictures.rendering import Layer, Plane, render
from emdp.pictures.scale import covering
from emdp.pictures.style import INK, MARK, NOISE, number
from emdp.pictures.svg import Note, Panel, compose

__all__ = ["page", "picture"]

WIDTH, HEIGHT = 420, 190
"""Of the picture and of a panel's inner rectangle, in pixels."""

MOST_PANELS = 24
"""Panels of a picture; the table has the others."""

HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
"""

STYLE = """
:root { color-scheme: light dark; --emdp-ink: #1b1b1b; --emdp-muted: #5c5c5c; --emdp-grid: #dcdcdc; }
@media (prefers-color-scheme: dark) {
  :root { --emdp-ink: #e8e8e8; --emdp-muted: #a8a8a8; --emdp-grid: #3a3a3a; }
}
body { font: 16px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem;
       color: var(--emdp-ink); background: Canvas; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.verdict { border-left: .3rem solid #0072b2; padding: .4rem .8rem; }
.verdict.broken { border-color: #b00020; }
figure { display: grid; grid-template-columns: repeat(auto-fill, minmax(22rem, 1fr)); gap: 1rem; margin: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; }
caption { text-align: left; padding: .3rem 0; color: var(--emdp-muted); }
th, td { border-bottom: 1px solid var(--emdp-grid); padding: .25rem .6rem; text-align: left; vertical-align: top; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
tr.broken td { color: #b00020; font-weight: 600; }
"""

EXPLANATION = (
    "For every row two tables were made from the public item space alone, without a look at any private record, so "
    "this page may be published. They differ in one user's records, at the exact earth-mover distance stated. The "
    "release ran so many times on each; half of the runs chose the event that tells the tables apart best, the other "
    "half counted it, and the audited epsilon is a lower bound of the true loss by Clopper and Pearson.",
    "A bound above the claim would show that a promise is broken. A bound below it proves nothing by itself: a small "
    "ratio says that the audit saw little of what is claimed. That is so where the loss is small against the error of "
    "counting, where the delta is far below one over the number of runs, where a function of the query is flat beyond "
    "a short distance, or where an accountant's proof is not tight.",
)
"""Text on the page; the second paragraph explains a ratio."""


def picture(rows: Sequence[AuditRow], *, title: str = "") -> Picture:
    """Return a panel for each query and delta: the claimed epsilon over ``d_em``, and the audited lower bounds.

    >>> row = AuditRow("q", "Laplace", "central", 9, 0.5, 1.0, 0.0, 0.9, "threshold", 1000, 0.95)
    >>> picture([row]).text
    'Claimed epsilon over d_em and the audited lower bound. Laplace, q, delta 0: 0.9 of 1 at 0.5.'
    """
    panels, sentences = [], []
    for name, own in list(_groups(rows).items())[:MOST_PANELS]:
        panels.append(_panel(name, own))
        seen = "; ".join(
            f"{number(row.audited_epsilon)} of {number(row.claimed_epsilon)} at {number(row.distance)}" for row in own
        )
        sentences.append(f"{name}: {seen}.")
    notes = [Note("grey line: claimed epsilon; blue points: audited lower bound, over the earth-mover distance")]
    text = f"Claimed epsilon over d_em and the audited lower bound. {' '.join(sentences)}"
    return compose(panels, title=title, text=text, width=WIDTH, notes=notes)


def page(report: Findings) -> str:
    """Return the page of an audit: one HTML file that needs no network and no script.

    >>> "No promise was broken" in page(Findings((), 0.95))
    True
    """
    sound = "verdict" if report.is_sound else "verdict broken"
    body = [
        f"<h1>{escape(report.title)}</h1>",
        f'<p class="{sound}">{escape(report.verdict[:1].upper() + report.verdict[1:])}. '
        f"All bounds hold together with probability {report.confidence:.7g}.</p>",
        *(f"<p>{escape(text)}</p>" for text in EXPLANATION),
        "<h2>Claimed loss and audited lower bound</h2>",
        f"<figure>{_figures(report)}</figure>",
        "<h2>All bounds</h2>",
        _table(report),
        *_agreements(report),
        *_skipped(report),
    ]
    title = f"<title>{escape(report.title)}</title>\n<style>{STYLE}</style>"
    return HEAD + title + "</head>\n<body>\n" + "\n".join(body) + "\n</body></html>\n"


def _groups(rows: Sequence[AuditRow]) -> dict[str, list[AuditRow]]:
    found: dict[str, list[AuditRow]] = {}
    for row in rows:
        found.setdefault(f"{row.mechanism}, {row.query}, delta {row.delta:.4g}", []).append(row)
    return {name: sorted(own, key=lambda row: row.distance) for name, own in found.items()}


def _panel(name: str, rows: Sequence[AuditRow]) -> Panel:
    x = covering([row.distance for row in rows], zero=True)
    y = covering([value for row in rows for value in (row.claimed_epsilon, row.audited_epsilon)], zero=True)
    left = y.label_room
    plane = Plane(x, y, WIDTH - left - 20, HEIGHT, left=left, right=20, bottom=40, x_title="d_em", grid="xy")
    claimed = [{"x": row.distance, "y": row.claimed_epsilon, "order": place} for place, row in enumerate(rows)]
    marks = [{"x": row.distance, "y": row.claimed_epsilon} for row in rows]
    audited = [{"x": row.distance, "y": row.audited_epsilon} for row in rows if not row.is_broken]
    broken = [{"x": row.distance, "y": row.audited_epsilon} for row in rows if row.is_broken]
    layers = [
        Layer("claimed", "line", claimed, {"color": NOISE, "strokeWidth": 2}),
        Layer("claims", "point", marks, {"shape": "stroke", "stroke": NOISE, "strokeWidth": 2, "size": 120}),
        Layer("audited", "point", audited, {"fill": MARK, "stroke": MARK, "size": 45}),
        Layer("broken", "point", broken, {"shape": "cross", "fill": INK, "stroke": INK, "size": 90}),
    ]
    return render(plane, layers, heading=name)


def _figures(report: Findings) -> str:
    drawn = []
    for place, own in enumerate(list(_groups(report.rows).values())[:MOST_PANELS]):
        drawn.append(f"<div>{renamed(picture(own), f'audit{place}').svg}</div>")
    return "\n".join(drawn)


def _table(report: Findings) -> str:
    frame = report.frame
    numeric = {name for name, kind in frame.schema.items() if kind.is_numeric()}
    heads = "".join(f"<th{_class(name in numeric)}>{escape(name)}</th>" for name in COLUMNS_SHOWN)
    lines = []
    for row in frame.iter_rows(named=True):
        cells = "".join(f"<td{_class(name in numeric)}>{escape(_written(row[name]))}</td>" for name in COLUMNS_SHOWN)
        lines.append(f'<tr class="broken">{cells}</tr>' if row["broken"] else f"<tr>{cells}</tr>")
    words = "distance: exact d_em, rounded up; audited_epsilon: lower bound; ratio: audited/claimed"
    caption = f"<caption>{words}</caption>"
    rows = "\n".join(lines)
    return f'<div class="wide"><table>{caption}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'


def _agreements(report: Findings) -> list[str]:
    if not report.agreements:
        return []
    lines = [
        f"<li>{escape(one.query)}: {one.sessions} answers against {one.draws} draws, p = {one.p_value:.3g}</li>"
        for one in report.agreements
    ]
    words = (
        "What was drawn in bulk was compared with answers of whole sessions, with all checks, a ledger and the engine, "
        "by the test of Kolmogorov and Smirnov."
    )
    return ["<h2>Whole sessions</h2>", f"<p>{words}</p>", f"<ul>{''.join(lines)}</ul>"]


def _skipped(report: Findings) -> list[str]:
    if not report.skipped:
        return []
    return ["<h2>Not audited</h2>", f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in report.skipped)}</ul>"]


def _class(is_number: bool) -> str:
    return ' class="number"' if is_number else ""


def _written(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
