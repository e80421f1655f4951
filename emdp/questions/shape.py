"""Layout of an answer's rows, for reports and pictures."""

from typing import Literal

from emdp.base.classes import dataclass

__all__ = ["Shape"]


@dataclass(frozen=True)
class Shape:
    """Roles of the columns of an answer's frame, besides values and the ends of their intervals.

    >>> Shape("cells", (), ("lat", "lon"), (0.009, 0.012), is_map=True).coordinates
    ('lat', 'lon')
    """

    # Items by group; smoothed cells of a grid, given by their centres; listed values of a column; quantiles.
    kind: Literal["rows", "cells", "values", "quantiles"]
    keys: tuple[str, ...] = ()  # Key columns of groups; for quantiles `q` is not among them
    # For cells one column an axis (latitude first, on a map), for values that column, for quantiles `q`.
    coordinates: tuple[str, ...] = ()
    # For cells the distance of neighbouring centres along each axis, in the axis's own unit.
    steps: tuple[float, ...] = ()
    is_map: bool = False  # Whether the coordinates are a latitude and a longitude, in degrees
    unit: str = ""  # Natural unit of the values where there is one, such as `km`; empty otherwise
