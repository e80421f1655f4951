"""Flow between neighbouring cells that a change of one user's records needs: constants of noise on edges.

Where the weights of a record add up to 1 (hats, and lists that have every value) the difference of two records'
weights is the divergence of a flow on the edges between neighbouring cells (:mod:`emdp.mechanisms.central.edges`). The
edges of axis ``a`` carry ``|u_a' - u_a|`` for a move of the places ``u``, half of what the weights move by in the
1-norm; :func:`emdp.expressions.cells.hat_bounds.joint_change` bounds that over a move of one part, per unit of its
distance before it is cut. A distance cut at ``diameter`` is at least ``diameter/domain_diameter`` of the one that is
not, so constants are larger by the inverse: a flow has no bound that a cut could use. A listed value that changes is
at least one over the part's crossing constant away (:mod:`emdp.expressions.cells.label_bounds`); of two values there is
one edge, three stand around a triangle, and each needs a flow of 1; more are a star, with a flow of 2 (``sqrt(2)``).

Lemma (pairs). Let ``K, K'`` be two bags of one user. The bags of all pairs ``K x K``, ``K' x K'``, of the user's
records each with each, are at a distance of at most ``2 d_em(K, K')`` under the sum ``d_X(x, x') + d_X(y, y')``; and
so is a statistic of pairs with a constant for moves of the one record and of the other. *Proof.* Let ``pi`` be an
optimal plan from ``K`` to ``K'``; a record of ``K`` counts ``1/|K|``. ``pi x pi`` has the marginals ``K x K`` and ``K'
x K'``, and its cost is ``E d_X(x, x') + E d_X(y, y') = 2 d_em(K, K')``. QED It is tight where a bag is one place. (No
better constant is to be had: two bags of one place each, ``t`` apart, have pairs that are ``2 t`` apart.) So every
record's axes have edges of their own, as the parts of a product do, and twice the constant.

At user level a flow from any node to any other has at most the length of the longest of the shortest paths, in the
1-norm, and its root in the 2-norm; bags are mixtures of nodes, and a norm is convex.
"""

from emdp.expressions.analysis.checker import largest_quotient
from emdp.expressions.cells.aggregation import Aggregation, Axis, HatAxis, LabelAxis
from emdp.expressions.cells.hat_bounds import hat_rates, joint_change
from emdp.expressions.cells.label_bounds import crossing_constant
from emdp.expressions.cells.reference import OUTSIDE, label_cells
from emdp.expressions.nodes.base import Column
from emdp.expressions.numbers.outward import div_up, mul_up, sqrt_up
from emdp.spaces.base import Space

__all__ = ["flow_lipschitz", "is_partition"]

STAR = 4
"""Listed values from which a star has less noise a cell than edges between any two of them."""


def is_partition(aggregation: Aggregation, space: Space) -> bool:
    """Say whether the weights of every item add up to 1: hats do, and lists of all values.

    >>> from emdp.expressions.nodes.base import Constant
    >>> from emdp.spaces import Categories
    >>> kinds = Categories("kind", ["bar", "inn"])
    >>> [is_partition(Aggregation((Constant(1.0),), (LabelAxis("kind", cells),)), kinds)
    ...     for cells in ((("bar",), ("inn",)), (("bar",),))]
    [True, False]
    """
    return all(
        isinstance(axis, HatAxis) or bool((label_cells(axis, space)[1] != OUTSIDE).all()) for axis in aggregation.axes
    )


def flow_lipschitz(aggregation: Aggregation, space: Space, norm: int) -> tuple[float, ...] | None:
    """Return for each axis how much flow its edges carry for a move by one unit of ``d_X``, in one of the two norms.

    Axes along columns of one part have one constant: their flows together are within it.

    Parameters
    ----------
    aggregation : Aggregation
        Axes whose weights add up to 1.

    Returns
    -------
    tuple of float or None
        0 for an axis of one node; None where an axis is of no column, or two are of the same.

    >>> from emdp.expressions.nodes.base import Constant
    >>> from emdp.spaces import Vector
    >>> space = Vector(["x", "y"], box=[(0, 3), (0, 4)])
    >>> axes = tuple(HatAxis(Column(name), start=0, step=1, size=5) for name in ("x", "y"))
    >>> [round(one / 2**0.5, 12) for one in flow_lipschitz(Aggregation((Constant(1.0),), axes), space, 1)]
    [5.0, 5.0]
    """
    if aggregation.pairs:
        one = flow_lipschitz(aggregation.of_one, space, norm)
        return None if one is None else tuple(mul_up(2.0, own) for own in one) * 2
    owners = _owners(aggregation.axes, space)
    if owners is None:
        return None
    found = [0.0] * len(owners)
    for index, part in enumerate(space.parts):
        own = [place for place, owner in enumerate(owners) if owner == index and aggregation.axes[place].size > 1]
        if not own:
            continue
        hats = [hat_rates(axis, space) for place in own if isinstance(axis := aggregation.axes[place], HatAxis)]
        if len(hats) == len(own):
            constant = joint_change(hats, index, space)[norm - 1]
        elif len(own) == 1 and isinstance(axis := aggregation.axes[own[0]], LabelAxis):
            ends = 1.0 if axis.size < STAR else 2.0 if norm == 1 else sqrt_up(2.0)
            constant = mul_up(ends, crossing_constant(axis, part))
        else:
            return None
        if part.is_truncated:
            constant = mul_up(constant, max(1.0, div_up(part.domain_diameter, part.diameter)))
        whole = [0.0] * len(space.parts)
        whole[index] = constant
        for place in own:
            found[place] = largest_quotient(whole, space)
    return tuple(found)


def _owners(axes: tuple[Axis, ...], space: Space) -> tuple[int, ...] | None:
    """Return the part of each axis; None unless they are of different columns."""
    names = [axis.column if isinstance(axis, LabelAxis) else getattr(axis.expression, "name", None) for axis in axes]
    is_plain = all(isinstance(axis, LabelAxis) or isinstance(axis.expression, Column) for axis in axes)
    if not is_plain or len(set(names)) < len(names):
        return None
    return tuple(next(place for place, part in enumerate(space.parts) if name in part.columns) for name in names)
