"""SVG text: drawn panels, of plain shapes and texts alone, under a title and over notes."""

import hashlib
import re
from collections.abc import Sequence
from typing import Literal
from xml.etree import ElementTree as ET

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.pictures.style import FONT, INK, MUTED, NOISE, TEXT_SIZE, TITLE_SIZE, VARIABLES, clean, cut, wrap

__all__ = ["Note", "Panel", "Picture", "compose", "picture_file", "renamed"]

LARGEST_SCALE = 1.5
"""Largest enlargement of a picture on a page, beside its natural width."""

_HEAD = re.compile(r'<svg [^>]*aria-labelledby="([\w-]+)-title ')


@dataclass(frozen=True)
class Picture:
    """A picture of an answer.

    Parameters
    ----------
    svg : str
        One ``<svg>`` element without an XML declaration, to be put into a page: transparent, with texts and axes in
        ``var(--emdp-ink)``, ``var(--emdp-muted)`` and ``var(--emdp-grid)``, which are dark unless the page sets them.
    text : str
        Its alternative text: what is drawn and the main numbers.

    >>> picture = compose([], title="Places", text="Nothing is drawn.", width=360)
    >>> picture.text, picture.svg[:5]
    ('Nothing is drawn.', '<svg ')
    """

    svg: str
    text: str

    def _repr_html_(self) -> str:
        return self.svg


@dataclass(frozen=True)
class Panel:
    """A drawn part of a picture, with what is written above it."""

    drawn: ET.Element  # Shapes, from 0 to the picture's width and from 0 to `height`
    height: float  # In pixels
    heading: str = ""  # One line; may be empty


@dataclass(frozen=True)
class Note:
    """A line below the panels, with a sign before it if it explains one."""

    text: str
    sign: Literal["", "dot", "bar", "cross"] = ""


def compose(panels: Sequence[Panel], *, title: str, text: str, width: float, notes: Sequence[Note] = ()) -> Picture:
    """Return a picture: the title, the panels under one another, the notes.

    Parameters
    ----------
    panels : sequence of Panel
        Each as wide as the picture.
    title : str
        As the analyst wrote it; nothing is shown where it is empty.
    text : str
        The alternative text.
    width : float
        Natural width in pixels.
    notes : sequence of Note
        Lines below.
    """
    body = ET.Element("g")
    y = 4.0
    for line in wrap(clean(title), width - 8, TITLE_SIZE, most=2):
        y += TITLE_SIZE + 4
        _write(body, line, 4, y - 4, INK, size=TITLE_SIZE, weight="600")
    for panel in panels:
        y += 4
        if panel.heading:
            y += TEXT_SIZE + 5
            _write(body, cut(clean(panel.heading), 0.9 * (width - 8)), 4, y - 5, INK, weight="600")
        placed = ET.SubElement(body, "g", {"transform": f"translate(0,{y:g})"})
        placed.append(panel.drawn)
        y += panel.height
    y += 2
    for note in notes:
        y = _add_note(body, note, y, width)
    content = ET.tostring(body, encoding="unicode")
    return _picture(content, title=clean(title) or _short(text), text=text, width=width, height=y + 4)


def picture_file(picture: Picture) -> str:
    """Return a picture as a document of its own: on white, in plain colours, at its natural size.

    >>> print(picture_file(compose([], title="", text="Nothing.", width=360))[:38])
    <?xml version="1.0" encoding="UTF-8"?>
    """
    svg = picture.svg
    for colour, variable in VARIABLES.items():
        svg = svg.replace(f'"{variable}"', f'"{colour}"')
    found = re.search(r'viewBox="0 0 (\S+) (\S+)" width="100%"', svg)
    if found is None:
        raise UsageError("picture has no viewBox; pass a picture that draw() returned.")
    size = f'viewBox="0 0 {found[1]} {found[2]}" width="{found[1]}" height="{found[2]}"'
    svg = svg.replace(found[0], size, 1)
    ground = '</desc><rect width="100%" height="100%" fill="#ffffff"/>'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{svg.replace("</desc>", ground, 1)}\n'


def renamed(picture: Picture, name: str) -> Picture:
    """Return a picture whose ids begin with another name, for a page that shows equal pictures twice.

    >>> picture = compose([], title="", text="Nothing.", width=360)
    >>> 'id="second-title"' in renamed(picture, "second").svg
    True
    """
    if not re.fullmatch(r"[A-Za-z][\w-]*", name, re.ASCII):
        raise UsageError(f"name must be letters, digits and dashes after a letter, got {name!r}; pass such a name.")
    found = _HEAD.match(picture.svg)
    if found is None:
        raise UsageError("picture has no ids; pass a picture that draw() returned.")
    old, svg = found[1], picture.svg
    for form in ('aria-labelledby="{0}-title {0}-desc"', '<title id="{0}-title">', '<desc id="{0}-desc">'):
        svg = svg.replace(form.format(old), form.format(name), 1)
    return Picture(svg, picture.text)


def _write(
    parent: ET.Element, text: str, x: float, y: float, colour: str, *, size: float = TEXT_SIZE, weight: str = ""
) -> None:
    attributes = {"x": f"{x:g}", "y": f"{y:g}", "fill": VARIABLES[colour], "font-size": f"{size}px"}
    if weight:
        attributes["font-weight"] = weight
    ET.SubElement(parent, "text", attributes).text = text


def _add_note(body: ET.Element, note: Note, y: float, width: float) -> float:
    left = 18.0 if note.sign else 4.0
    if note.sign == "dot":
        ET.SubElement(body, "circle", {"cx": "9", "cy": f"{y + 8:g}", "r": "2", "fill": NOISE})
    elif note.sign == "bar":
        place = {"x": "4", "y": f"{y + 4:g}", "width": "9", "height": "8"}
        ET.SubElement(body, "rect", {**place, "fill": NOISE})
    elif note.sign == "cross":
        stroke = {"stroke": VARIABLES[MUTED], "stroke-width": "1.5"}
        ET.SubElement(body, "path", {"d": f"M5,{y + 4:g}l7,7m0,-7l-7,7", **stroke})
    for line in wrap(clean(note.text), width - left - 4):
        y += TEXT_SIZE + 4
        _write(body, line, left, y - 3, MUTED)
    return y


def _picture(content: str, *, title: str, text: str, width: float, height: float) -> Picture:
    digest = hashlib.sha256("\0".join((content, title, text)).encode()).hexdigest()
    name = f"emdp-{digest[:12]}"
    root = ET.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "class": "emdp-picture",
            "role": "img",
            "aria-labelledby": f"{name}-title {name}-desc",
            "viewBox": f"0 0 {width:g} {height:g}",
            "width": "100%",
            "style": f"max-width:{LARGEST_SCALE * width:g}px;height:auto",
            "font-family": FONT,
        },
    )
    ET.SubElement(root, "title", {"id": f"{name}-title"}).text = title
    ET.SubElement(root, "desc", {"id": f"{name}-desc"}).text = text
    head = ET.tostring(root, encoding="unicode").removesuffix("</svg>")
    return Picture(f"{head}{content}</svg>", text)


def _short(text: str) -> str:
    return text.partition(":")[0]
