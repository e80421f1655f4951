"""Frozen queries for private measures: where everybody's records are, released once for questions of later."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from emdp.base.checks import check_choice, check_positive
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.privacy.guarantees.kinds import Neighbours
from emdp.questions.price import Price, check_price, refuse_removal

if TYPE_CHECKING:
    from emdp.questions.select import Order

MeasureStructure = Literal["joint", "auto", "given zone", "each given zone", "independent"]
STRUCTURES: tuple[MeasureStructure, ...] = ("joint", "auto", "given zone", "each given zone", "independent")
MeasureNoise = Literal["auto", "laplace", "edges", "tree"]
NOISES: tuple[MeasureNoise, ...] = ("auto", "laplace", "edges", "tree")

__all__ = ["Measure", "measure", "measure_statement"]


@dataclass(frozen=True)
class Measure:
    """The distribution of the average user's records over the whole item space (private-measures.md).

    Of one part that lists up to 500 values, such as areas with their distances, every value is a node, under ``alpha``
    alone, without pitch, resolution, pairs and structure.

    Parameters
    ----------
    price : Price
        Under ``alpha``, without a delta, or at user level; spent once, whatever is asked of the answer afterwards.
    pitch : float, optional
        How far nodes are apart, in the natural unit of the first continuous part (km of a ``Geo``); other continuous
        parts have nodes as far apart in the unit of ``d_X``. By default the rule of
        :mod:`emdp.estimators.frequency.measure_cells`, from public numbers.
    resolution : float, optional
        How far the places of the fitted measure are apart, at most, in that unit; by default a quarter of the pitch, or
        more where there would be more than 60,000 places. With one there are up to a million: a minute of fitting.
    name : str
        Column of the shares.
    noise : {"auto", "laplace", "edges", "tree"}
        At user level whether it is on every node, on the edges between neighbours (Gaussian, with a delta), or of a
        plane on blocks of 16 x 16, 4 x 4 and single nodes; by default what is expected to be nearest, without a tree
        where a pitch is given. Under ``alpha`` it is on edges.
    columns : sequence of str
        Columns of the parts that it is of; by default all. It has more of the budget's use then, and two such measures
        make a table of all parts: :meth:`emdp.Answer.joined`.
    pairs : bool
        Whether it is of pairs of records of one user, each with each, of one part of the space, under ``alpha``: for
        how far apart a person's places are (:meth:`emdp.Answer.apart`). It is not for naming pairs of places, such as
        home and work: those are asked one by one.
    structure : {"joint", "auto", "given zone", "each given zone", "independent"}
        Under ``alpha``, of a plane and further parts of one column each, such as hours and categories: one release of
        all, or several that are joined, together at alpha. *Given zone* has moves in space at 0.6 of alpha in a measure
        of places and at 0.4 in one of all parts, coarser, where the others have alpha: a place has the rest of its
        zone. *Each given zone* has such a second measure for each further part, which are taken as independent within
        a zone. *Independent* has a measure of every part alone, each at alpha. ``"auto"`` is the one that is nearest at
        public towns by simulations (:mod:`emdp.estimators.frequency.measure_structures`), and one release where the
        measure is of other parts. A pitch and a resolution are those of places.
    order, limit, offset, statement, written
        As in :class:`emdp.questions.user_mean.UserMean`.

    Raises
    ------
    UsageError
        If a parameter is malformed.
    """

    price: Price
    pitch: float | None = None
    resolution: float | None = None
    name: str = "share"
    noise: MeasureNoise = "auto"
    columns: tuple[str, ...] = ()
    pairs: bool = False
    structure: MeasureStructure = "joint"
    order: "tuple[Order, ...]" = ()
    limit: int | None = None
    offset: int = 0
    statement: str = ""
    written: str = ""

    def __post_init__(self) -> None:
        check_price(self.price)
        for argument in ("pitch", "resolution"):
            given = getattr(self, argument)
            if given is not None:
                object.__setattr__(self, argument, check_positive(argument, given))
        check_choice("noise", self.noise, NOISES)
        if isinstance(self.columns, str) or not all(isinstance(name, str) and name for name in self.columns):
            raise UsageError("columns must be names of columns of the space; pass such as ['lat', 'lon'].")
        object.__setattr__(self, "columns", tuple(self.columns))
        if self.noise in ("laplace", "tree") and not self.price.is_user_level:
            raise UsageError(f"noise={self.noise!r} is for measures at user level; leave noise out.")
        if self.noise == "edges" and self.price.is_user_level and not self.price.delta > 0:
            raise UsageError("noise='edges' is Gaussian at user level, and needs a delta; pass one such as 1e-8.")
        if not isinstance(self.pairs, bool):
            raise UsageError("pairs must be True or False; leave it out for single records.")
        if self.pairs and self.price.is_user_level:
            raise UsageError("pairs is under alpha, where near pairs are alike; pass alpha, or leave pairs out.")
        check_choice("structure", self.structure, STRUCTURES)
        if self.structure != "joint" and (self.pairs or self.price.is_user_level):
            raise UsageError("structure is for measures of single records under alpha; leave it out.")
        if not isinstance(self.name, str) or not self.name:
            raise UsageError("name must be a non-empty text; pass the answer's column.")

    @property
    def text(self) -> str:
        """The query as text, for the ledger and for explanations: as it was asked in SQL, or else as a call."""
        if self.statement:
            return self.statement
        given = [f"{own}={getattr(self, own):g}" for own in ("pitch", "resolution") if getattr(self, own) is not None]
        given += ["pairs=True"] * self.pairs
        given += [f"structure={self.structure!r}"] * (self.structure != "joint")
        return f"measure({', '.join(given)})"


def measure(
    *,
    alpha: float | None = None,
    pitch: float | None = None,
    resolution: float | None = None,
    name: str = "share",
    epsilon: float | None = None,
    delta: float = 0.0,
    noise: MeasureNoise = "auto",
    columns: Iterable[str] = (),
    pairs: bool = False,
    structure: MeasureStructure = "joint",
    neighbours: Neighbours = "replace",
) -> Measure:
    """Return a :class:`Measure` query; see there for what is not below.

    Parameters
    ----------
    epsilon, delta : float, optional
        Price at user level, in place of ``alpha``: for any change of one user's records. The noise is on every node or
        on the blocks of a tree then; with a delta Gaussian noise on edges is compared with these.

    >>> measure(alpha=20.0, pitch=1.5).text
    'measure(pitch=1.5)'
    """
    refuse_removal(neighbours, "a measure")
    price = Price.asked(alpha=alpha, epsilon=epsilon, delta=delta)
    return Measure(price, pitch, resolution, name, noise, _names(columns), pairs, structure)


def _names(columns: Iterable[str]) -> tuple[str, ...]:
    if isinstance(columns, str):
        raise UsageError("columns must be names of columns of the space; pass such as ['lat', 'lon'].")
    return tuple(columns)


def measure_statement(query: Measure, table: str) -> str:
    """Return a query as the SQL statement that releases the same; how fine the fit is, is no part of it.

    >>> measure_statement(measure(alpha=20.0, name="city"), "visits")
    'SELECT WITH EMD_PRIVACY OPTIONS (alpha = 20.0) MEASURE(*) AS "city" FROM "visits"'
    >>> measure_statement(measure(alpha=9.0, pairs=True, columns=["lat", "lon"]), "visits")
    'SELECT WITH EMD_PRIVACY OPTIONS (alpha = 9.0) MEASURE(PAIRS("lat", "lon")) AS "share" FROM "visits"'
    >>> print(measure_statement(measure(alpha=9.0, structure="auto"), "visits"))
    SELECT WITH EMD_PRIVACY OPTIONS (alpha = 9.0) MEASURE(STRUCTURE('auto')) AS "share" FROM "visits"
    """
    name, source, *columns = ('"' + text.replace('"', '""') + '"' for text in (query.name, table, *query.columns))
    chosen = [f"PAIRS({', '.join(columns)})"] if query.pairs else columns
    asked = [*chosen, *([] if query.pitch is None else [f"PITCH({query.pitch!r})"])]
    asked += [] if query.structure == "joint" else [f"STRUCTURE('{query.structure}')"]
    pitch = ", ".join(asked) or "*"
    price = query.price
    kind = "USER" if price.is_user_level else "EMD"
    options = f"{price.kind} = {price.level!r}" + (f", delta = {price.delta!r}" if price.delta else "")
    options += "" if query.noise == "auto" else f", noise = '{query.noise}'"
    return f"SELECT WITH {kind}_PRIVACY OPTIONS ({options}) MEASURE({pitch}) AS {name} FROM {source}"
