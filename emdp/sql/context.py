"""Context of a translation: the statement, the public names, and the part of the text that made each node."""

import difflib
from collections.abc import Iterable
from dataclasses import field
from typing import TypeVar

from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import SqlError
from emdp.expressions.nodes.base import Expression
from emdp.questions.means import CELL_NOISE, CellNoise, VectorNoise
from emdp.questions.names import Names
from emdp.questions.price import NEIGHBOUR_WORDS, Neighbours, Price, PriceKind
from emdp.sql.text.families import EXPECTED_SHARE, NEIGHBOURS, option_refusal
from emdp.sql.text.reserved import is_plain_name, is_reserved
from emdp.sql.text.statement import Statement

__all__ = ["Context", "identifier", "is_comma", "listed", "near", "one_by_name", "quoted", "unwrapped"]

MOST_COMPARED = 2_000
"""Most names that a misspelt one is compared with, so that a refusal stays fast beside a large vocabulary."""

MOST_LISTED = 12
"""Most names that a message lists."""

Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class Context:
    """One statement under translation."""

    statement: Statement
    names: Names
    # For a node of an expression, by identity, the node itself (kept, so that the identity stays its own) and the part
    # of the tree that made it.
    origins: dict[int, tuple[Expression, exp.Expr]] = field(default_factory=dict)

    @property
    def is_user_level(self) -> bool:
        """Whether the statement asks for the ordinary user-level guarantee."""
        return self.statement.privacy == "USER_PRIVACY"

    @property
    def price(self) -> Price:
        """Price of the statement, from its header."""
        options = self.statement.options
        kind: PriceKind = "epsilon" if self.is_user_level else "alpha"
        delta = float(options["delta"].value) if "delta" in options else 0.0
        asked = options.get(NEIGHBOURS)
        neighbours: Neighbours = next((word for word in NEIGHBOUR_WORDS if asked and word == asked.value), "replace")
        level = options[kind]
        return Price(kind, float(level.value), delta, neighbours=neighbours, weaker=level.weaker)

    @property
    def expected_share(self) -> float | None:
        """Part of the records that WHERE or GROUP BY is expected to choose, where the statement says so."""
        option = self.statement.options.get(EXPECTED_SHARE)
        return None if option is None else float(option.value)

    @property
    def cell_noise(self) -> CellNoise:
        """Law of the noise of cells that the statement asks for; what only measures have is refused."""
        option = self.statement.options.get("noise")
        if option is not None and str(option.value).lower() == "tree":
            problem = "noise = 'tree' is of MEASURE"
            remedy = "write noise = 'auto', or leave it out"
            raise option_refusal(self.statement, option, problem, remedy, "tree-noise")
        return next((law for law in CELL_NOISE if option is not None and law == option.value), "auto")

    @property
    def vector_noise(self) -> VectorNoise:
        """Law of the noise of numbers that are no cells; what only cells have is refused."""
        found = self.cell_noise
        if found == "edges":
            problem = "noise = 'edges' is noise on the edges between neighbouring cells of FREQUENCY"
            remedy = "write noise = 'auto', or leave it out"
            raise option_refusal(self.statement, self.statement.options["noise"], problem, remedy, "edges-noise")
        return found

    def refusal(self, node: exp.Expr | None, problem: str, *, remedy: str, code: str) -> SqlError:
        """Return the error that refuses a part of the tree."""
        return self.statement.refusal(node, problem, remedy=remedy, code=code)

    def text(self, node: exp.Expr) -> str:
        """Return a part of the tree as it was written, on one line."""
        return " ".join(self.statement.text_of(node).split())

    def made(self, expression: Expression, node: exp.Expr) -> Expression:
        """Remember what part of the tree an expression comes from, and return the expression."""
        self.origins.setdefault(id(expression), (expression, node))
        return expression

    def origin(self, expression: Expression) -> exp.Expr | None:
        """Return the part of the tree that made a node, or None where several parts did together."""
        found = self.origins.get(id(expression))
        return None if found is None else found[1]

    def written(self, expression: Expression) -> str:
        """Return a node of an expression as the analyst wrote it."""
        node = self.origin(expression)
        return str(expression) if node is None else self.text(node)


def is_comma(join: exp.Expr) -> bool:
    """Say whether a join is a comma of FROM."""
    return not any(join.args.get(part) for part in ("on", "using", "side", "kind", "method"))


def unwrapped(node: exp.Expr) -> exp.Expr:
    """Return what stands inside parentheses.

    >>> unwrapped(exp.Paren(this=exp.Paren(this=exp.Null())))
    Null()
    """
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def near(name: str, choices: Iterable[Found]) -> tuple[Found, ...]:
    """Return the choices that a misspelt name may have meant, the nearest first.

    >>> near("categry", ["category", "price"])
    ('category',)
    """
    by_lower: dict[str, Found] = {}
    for choice in choices:
        by_lower.setdefault(str(choice).lower(), choice)
    candidates = list(by_lower)
    if len(candidates) > MOST_COMPARED:
        start = name.lower()[:1]
        candidates = [text for text in candidates if text[:1] == start and abs(len(text) - len(name)) <= 2]
    found = difflib.get_close_matches(name.lower(), candidates[:MOST_COMPARED], n=3, cutoff=0.6)
    return tuple(by_lower[text] for text in found)


def one_by_name(name: str, choices: Iterable[str]) -> tuple[str, ...]:
    """Return the choices that a name may mean: itself, or else those that differ from it in capitals alone.

    >>> one_by_name("Lat", ["lat", "lon"]), one_by_name("a", ["A", "a"]), one_by_name("B", ["bB", "b"])
    (('lat',), ('a',), ('b',))
    """
    listed_choices = tuple(choices)
    if name in listed_choices:
        return (name,)
    return tuple(choice for choice in listed_choices if choice.lower() == name.lower())


def listed(names: Iterable[object], *, nothing: str = "none") -> str:
    """Return names as one text, cut where there are many.

    >>> listed(["a", "b"]), listed([])
    ('a, b', 'none')
    """
    texts = [str(name) for name in names]
    shown = ", ".join(texts[:MOST_LISTED])
    return f"{shown} and {len(texts) - MOST_LISTED} more" if len(texts) > MOST_LISTED else shown or nothing


def identifier(name: str) -> str:
    """Return a column's name as it is written in SQL, in quotes where it needs them.

    >>> print(identifier("price"), identifier("time(ts)"), identifier("end"), identifier('a"b'))
    price "time(ts)" "end" "a""b"
    """
    if is_plain_name(name) and not is_reserved(name):
        return name
    return '"' + name.replace('"', '""') + '"'


def quoted(value: object) -> str:
    """Return a public value as a literal of SQL.

    >>> quoted("it's"), quoted(3), quoted(True)
    ("'it''s'", '3', 'TRUE')
    """
    if isinstance(value, bool):
        return str(value).upper()
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
