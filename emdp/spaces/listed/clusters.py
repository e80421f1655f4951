"""``Clusters``: listed values in groups, near inside a group and far between groups."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_unit_interval, shown
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.spaces.base import Floats, FunctionBounds, OnInvalid, check_on_invalid
from emdp.spaces.listed.finite import FinitePart, Label, check_labels
from emdp.spaces.part import check_columns
from emdp.spaces.values import is_sequence

__all__ = ["Clusters"]


@dataclass(frozen=True, init=False, repr=False)
class Clusters(FinitePart):
    """Listed values with a two-level distance: 0 same, ``within`` in the same cluster, 1 otherwise.

    Parameters
    ----------
    col : str
        The column.
    cluster_of : mapping of value to cluster, or sequence of such pairs
        The public list of values, distinct and of one type, each with the name of its cluster (strings,
        integers or Booleans, of one type); NULL and whatever is not listed is invalid.
    within : float
        Distance inside a cluster, in (0, 1]. Any such number makes a metric: the triangle inequality could
        fail only for a distance above twice ``within``, hence between clusters, and one leg of such a detour
        is 1.
    on_invalid : {"error", "neutral", "elsewhere"}
        What is done with an invalid value.
    neutral : value, optional
        The neutral item, a listed value; default the first.

    Raises
    ------
    UsageError
        If an argument is malformed.

    References
    ----------
    EMD 4 and 6, clustered spaces (there ``within`` is called rho).

    >>> space = Clusters("word", {"cat": "animal", "dog": "animal", "red": "colour"}, 0.25)
    >>> space.pairwise({"word": ["cat"]}, {"word": ["cat", "dog", "red"]}).tolist()
    [[0.0, 0.25, 1.0]]
    """

    kind: ClassVar[str] = "clusters"
    structure: ClassVar[Literal["line", "discrete", "clusters", "general"]] = "clusters"
    columns: tuple[str, ...]
    values: tuple[Any, ...]
    clusters: tuple[Any, ...]
    within: float
    diameter: float
    domain_diameter: float
    unit: str | None
    on_invalid: OnInvalid
    neutral: Label

    def __init__(
        self,
        col: str,
        cluster_of: Mapping[Label, Label] | Sequence[Sequence[Label]],
        within: float,
        *,
        on_invalid: OnInvalid = "error",
        neutral: Label | None = None,
    ) -> None:
        values, clusters = _check_pairs(cluster_of)
        self._set(
            columns=check_columns("col", [col]),
            values=values,
            clusters=clusters,
            within=check_unit_interval("within", within, one=True),
            diameter=1.0,
            domain_diameter=1.0,
            unit=None,
            on_invalid=check_on_invalid(on_invalid, allowed=("error", "neutral", "elsewhere")),
        )
        self._set(neutral=self.values[0 if neutral is None else self.code_of(neutral)])

    @property
    def neutral_code(self) -> int:
        return self.code_of(self.neutral)

    @property
    def cluster_of(self) -> dict[Any, Any]:
        """Cluster of each listed value."""
        return dict(zip(self.values, self.clusters, strict=True))

    def cluster_codes(self, items: Floats) -> npt.NDArray[np.intp]:
        """Return the number of each encoded item's cluster, counted in order of first appearance, shape (n,).

        >>> space = Clusters("word", {"cat": "animal", "red": "colour", "dog": "animal"}, 0.25)
        >>> space.cluster_codes(space.encode({"word": ["dog", "red"]})).tolist()
        [0, 1]
        """
        numbers = {cluster: number for number, cluster in enumerate(dict.fromkeys(self.clusters))}
        table = np.array([numbers[cluster] for cluster in self.clusters], dtype=np.intp)
        return np.asarray(table[self.codes(items)], dtype=np.intp)

    def natural_distances(self, left: Floats, right: Floats) -> Floats:
        """Return the matrix of 0, ``within`` and 1."""
        apart = np.not_equal.outer(self.cluster_codes(left), self.cluster_codes(right))
        differ = np.not_equal.outer(left[:, 0], right[:, 0])
        return np.where(apart, 1.0, np.where(differ, self.within, 0.0))

    def distance_bounds(self, point: Floats) -> FunctionBounds:
        """Return what is known of the distance to a listed value: constant 1, range [0, 1]."""
        del point
        return FunctionBounds(1.0, 0.0, 1.0, 0.0)

    def to_json(self) -> dict[str, Any]:
        """Return the arguments that rebuild the space; ``cluster_of`` as pairs, for JSON keys are strings."""
        return {
            "kind": self.kind,
            "col": self.column,
            "cluster_of": [list(pair) for pair in zip(self.values, self.clusters, strict=True)],
            "within": self.within,
            "on_invalid": self.on_invalid,
            "neutral": self.neutral,
        }


def _check_pairs(cluster_of: object) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    pairs = list(cluster_of.items()) if isinstance(cluster_of, Mapping) else cluster_of
    if not is_sequence(pairs) or len(pairs) == 0:
        raise UsageError(f"cluster_of must map each value to its cluster, got {shown(cluster_of)}; pass a mapping.")
    for pair in pairs:
        if not is_sequence(pair) or len(pair) != 2:
            raise UsageError(f"cluster_of must hold pairs (value, cluster), got {shown(pair)}; pass a mapping.")
    values = check_labels("cluster_of", [value for value, _ in pairs])
    clusters = check_labels("the clusters of cluster_of", [cluster for _, cluster in pairs], distinct=False)
    return values, clusters
