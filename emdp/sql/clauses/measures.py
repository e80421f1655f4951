"""``MEASURE``: a private measure on the whole space or some parts of it, at the pitch of its rule or ``PITCH(h)``."""

from sqlglot import exp

from emdp.questions.measures import STRUCTURES, Measure, MeasureNoise, MeasureStructure
from emdp.questions.select import Order
from emdp.sql.clauses.aggregates import Aggregate
from emdp.sql.clauses.conditions import Chosen
from emdp.sql.clauses.grouping import Grouping
from emdp.sql.context import Context, one_by_name, unwrapped
from emdp.sql.text.families import option_refusal
from emdp.sql.values.scalar import Scalars

__all__ = ["measure_query"]

FORM = "MEASURE(*), MEASURE(PITCH(1.0)), MEASURE(lat, lon, PITCH(1.0)) or MEASURE(PAIRS(lat, lon))"
STRUCTURED = "STRUCTURE('auto'), STRUCTURE('given zone'), STRUCTURE('each given zone') or STRUCTURE('independent')"


def measure_query(
    scalars: Scalars,
    aggregate: Aggregate,
    chosen: tuple[Grouping, Chosen, exp.Select],
    name: str,
    order: tuple[Order, ...],
    limits: tuple[int | None, int],
    written: str,
) -> Measure:
    """Return the query of a statement with ``MEASURE``.

    Parameters
    ----------
    chosen : (Grouping, Chosen, sqlglot.exp.Select)
        What chooses or groups users or records, which a measure has not, and the statement's tree.
    name, order, limits, written
        As of the query.
    """
    context, node = scalars.context, aggregate.node
    _check_whole(context, node, *chosen)
    _check_options(context)
    structure, given = _structure(context, node)
    pitch, columns, pairs = _asked(scalars, node, given)
    return Measure(
        context.price,
        pitch=pitch,
        columns=columns,
        pairs=pairs,
        structure=structure,
        name=name,
        noise=_noise(context) or "auto",
        order=order,
        limit=limits[0],
        offset=limits[1],
        statement=context.statement.text,
        written=written,
    )


def _check_whole(context: Context, node: exp.Anonymous, grouping: Grouping, left: Chosen, tree: exp.Select) -> None:
    """Refuse conditions and a choice or groups of users: a measure is of all records, and is filtered afterwards."""
    if left.factor is None and grouping.people is None:
        return
    raise context.refusal(
        left.node or tree.args.get("group") or tree.args.get("where") or node,
        "MEASURE is of all records of all public users",
        remedy="leave the condition out, and choose rows of the answer's table, which costs nothing",
        code="measure-where",
    )


def _structure(context: Context, node: exp.Anonymous) -> tuple[MeasureStructure, list[exp.Expr]]:
    """Return the structure of a call, and its other arguments."""
    given = [unwrapped(own) for own in node.expressions]
    calls = [own for own in given if _is_call(own, "STRUCTURE")]
    if not calls:
        return "joint", given
    named = [unwrapped(own) for own in calls[0].expressions]
    known = {str(own): own for own in STRUCTURES}
    found = known.get(str(named[0].this).lower()) if len(named) == 1 and isinstance(named[0], exp.Literal) else None
    rest = [own for own in given if own is not calls[0]] or [exp.Star()]
    is_single = not context.is_user_level and not any(_is_call(own, "PAIRS") for own in rest)
    if found is None or len(calls) > 1 or (found != "joint" and not is_single):
        raise context.refusal(
            node,
            f"`{context.text(calls[0])}` is no structure of a measure of single records under EMD_PRIVACY",
            remedy=f"write {STRUCTURED} under EMD_PRIVACY without PAIRS, or leave it out",
            code="measure-structure",
        )
    return found, rest


def _asked(scalars: Scalars, node: exp.Anonymous, given: list[exp.Expr]) -> tuple[float | None, tuple[str, ...], bool]:
    """Return the pitch and the columns of a call, and whether it is of pairs of records."""
    context = scalars.context
    if len(given) == 1 and isinstance(given[0], exp.Star):
        return None, (), False
    pitch: float | None = None
    if given and _is_call(given[-1], "PITCH"):
        call = given.pop()
        pitch = scalars.constant(call.expressions[0], "the pitch of MEASURE") if len(call.expressions) == 1 else 0.0
    pairs = len(given) == 1 and _is_call(given[0], "PAIRS")
    if pairs:
        given = [unwrapped(own) for own in given[0].expressions]
    names = [one_by_name(own.name, context.names.space.columns) for own in given if isinstance(own, exp.Column)]
    if (pitch is None and not given and not pairs) or (pitch is not None and pitch <= 0) or len(names) != len(given):
        names = [()]
    if any(len(own) != 1 for own in names):
        raise context.refusal(
            node,
            f"`{context.text(node)}` says neither * nor columns of the space and a pitch above 0",
            remedy=f"write {FORM}",
            code="measure-argument",
        )
    if pairs and context.is_user_level:
        raise context.refusal(
            node,
            "PAIRS is under EMD_PRIVACY, where near pairs of places are alike",
            remedy="write WITH EMD_PRIVACY and an alpha, or leave PAIRS out",
            code="measure-pairs",
        )
    return pitch, tuple(own for (own,) in names), pairs


def _is_call(node: exp.Expr, name: str) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() == name


def _check_options(context: Context) -> None:
    statement, options = context.statement, context.statement.options
    if context.price.delta > 0 and not context.is_user_level:
        problem = "MEASURE has Laplace noise, which spends no delta"
        raise option_refusal(statement, options["delta"], problem, "leave delta out", "measure-option")
    if _noise(context) is None:
        problem = (
            "MEASURE has noise on edges, which under USER_PRIVACY needs a delta, or there Laplace noise on every node"
        )
        raise option_refusal(statement, options["noise"], problem, "leave noise out", "measure-option")


def _noise(context: Context) -> MeasureNoise | None:
    """Return where the noise is asked to be; None where it cannot be there."""
    option = context.statement.options.get("noise")
    if option is not None and str(option.value).lower() == "tree":
        return "tree"
    asked = context.cell_noise
    if asked == "edges" and (not context.is_user_level or context.price.delta > 0):
        return "edges"
    if asked == "laplace" and context.is_user_level:
        return "laplace"
    return "auto" if asked == "auto" else None
