"""Pictures of consequences over a distance, over a year, and over the places where a home may be."""

import math

from emdp.disclosure.consequences import NO_PROTECTION, Consequence, Consequences
from emdp.pictures import Picture
from emdp.pictures.curve import draw_curves
from emdp.privacy import EmdDP, epsilon_curve
from emdp.privacy.events.table import GuaranteeEvent
from emdp.privacy.inference import advantage, crowd, curve_advantage, posterior
from emdp.spaces import Space

__all__ = ["home_picture", "homes_hidden", "reach_picture", "year_picture"]

STEPS = 24
"""Points of a curve."""

WEEKS = (1, 2, 4, 8, 13, 26, 39, 52)
"""Numbers of reports of the picture of a year."""

YEAR_DELTA = 1e-6
"""Delta at which reports that are fixed in advance are priced for the picture."""

VISIT, LIFE = 20, 0.6
"""Records of which one moves, and share of records at home, of the two curves over a distance."""


def reach_picture(space: Space, found: Consequences) -> Picture | None:
    """Return how sure somebody may become, over how far records lie from where they were thought to be.

    None where the space has no one distance, the guarantee has none, or another one is beside it.

    >>> from emdp.disclosure.consequences import consequences_of
    >>> from emdp.spaces import Interval
    >>> space = Interval("x", 0, 40, unit="km")
    >>> reach_picture(space, consequences_of(space, EmdDP(20.0))).text[:62]
    'Curve of largest belief from 50 % over distance in km: home (6'
    """
    promise = found.guarantee
    if len(space.parts) > 1 or space.labels is not None or not isinstance(promise, EmdDP) or found.beside:
        return None
    curves = []
    for name, share in ((f"home ({LIFE:.0%} of the records)", LIFE), (f"one record of {VISIT}", 1 / VISIT)):
        losses = [promise.level * found.reports * share * step / STEPS for step in range(STEPS + 1)]
        points = [
            (space.diameter * step / STEPS, posterior(0.5, min(loss, NO_PROTECTION)))
            for step, loss in enumerate(losses)
        ]
        curves.append((name, points))
    return draw_curves(
        curves,
        across=f"distance in {space.unit}" if space.unit else "distance",
        upwards="largest belief from 50 %",
        title="How far is it hidden?",
    )


def year_picture(found: Consequences, row: Consequence) -> Picture | None:
    """Return the gap between detection and false alarms over a year of such releases, by sum and fixed in advance.

    None where the guarantee is no d_EM-DP, another one is beside it, or the numbers are of several releases already.

    >>> from emdp.disclosure.consequences import consequences_of
    >>> from emdp.spaces import Interval
    >>> found = consequences_of(Interval("x", 0, 40), EmdDP(1.0))
    >>> year_picture(found, found.rows[0]).text[:60]
    'Curve of gap between detection and false alarms over reports'
    """
    promise = found.guarantee
    if not isinstance(promise, EmdDP) or found.reports > 1 or found.group > 1 or not promise.level or found.beside:
        return None
    event = GuaranteeEvent(promise)
    sums, fixed = [], []
    for weeks in WEEKS:
        loss = min(promise.level * row.d_em * weeks, NO_PROTECTION)
        plain = advantage(loss, min(promise.delta * weeks, 0.5))
        delta = max(YEAR_DELTA, 2 * promise.delta * weeks)
        better = float(epsilon_curve([event] * weeks, delta, [row.d_em])[0])
        sums.append((float(weeks), plain))
        fixed.append((float(weeks), min(plain, curve_advantage([(better, delta)]))))
    return draw_curves(
        [("fixed in advance", fixed), ("by the sum, whatever is asked", sums)],
        across="reports in which it shows",
        upwards="gap between detection and false alarms",
        title=f"A year of such releases: {row.story.title}",
    )


def homes_hidden(space: Space, alpha: float, *, share: float = LIFE, apart: float = 2.0) -> tuple[float, float]:
    """Return among how many homes on a line one is hidden, and the radius within which a loss stays below 1.

    Parameters
    ----------
    space : Space
        Of places, or of one number.
    alpha : float
        Of the d_EM-DP guarantee with delta 0, above 0.
    share : float
        Of the records at home.
    apart : float
        Distance from one possible home to the next, in the space's unit.

    Returns
    -------
    (float, float)
        The crowd (T6), rounded down, for a home at the end of the line, where it is least; and the radius.

    >>> from emdp.spaces import Interval
    >>> crowd_, radius = homes_hidden(Interval("x", 0, 40), 5.0)
    >>> round(crowd_, 1), round(radius, 1)
    (6.9, 13.3)
    """
    others = int(space.diameter // apart)
    losses = [alpha * share * min(1.0, apart * step / space.diameter) for step in range(1, others + 1)]
    return crowd(losses), space.diameter / (alpha * share)


def home_picture(space: Space, found: Consequences) -> Picture | None:
    """Return among how many homes one is hidden, over the distance between two of them; None as of the others."""
    promise = found.guarantee
    if len(space.parts) > 1 or not space.is_map or not isinstance(promise, EmdDP) or found.beside:
        return None
    if promise.delta or not promise.level:
        return None
    steps = [space.diameter / 2**power for power in range(1, 9)]
    points = [(step, homes_hidden(space, promise.level * found.reports, apart=step)[0]) for step in steps[::-1]]
    named = [(distance, math.floor(size)) for distance, size in points]
    return draw_curves(
        [("homes", [(a, float(b)) for a, b in named])],
        across=f"{space.unit or 'distance'} from one possible home to the next, on a line",
        upwards="homes among which one is hidden, at least",
        title="Where does she live?",
    )
