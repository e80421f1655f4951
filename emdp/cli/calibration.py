"""Output of ``emdp calibrate``: from protections to alpha, and from alpha to noise, users, samples and randomizers."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from emdp.base.classes import dataclass

if TYPE_CHECKING:
    from emdp.privacy import Change
    from emdp.privacy.guarantees.protections import HasDiameter
    from emdp.privacy.reduction import Reduction

__all__ = [
    "Items",
    "Section",
    "alpha_section",
    "central_error",
    "mean_section",
    "protection_section",
    "randomizer_curves",
    "reduction_section",
    "strength_section",
    "users_section",
]

LAPLACE_95 = math.log(20)
"""Half the width of a 95 % interval of Laplace noise of scale 1: it is farther off with probability ``exp(-t)``."""

GAUSSIAN_95 = 1.959963984540054
"""The same of a normal law of standard deviation 1."""

POINTS, REACH = 12, 1.25
"""Points of a curve, and its reach as a multiple of the alpha0 that was found."""

MOST_USERS = 10**11
"""Beyond it no number of users is shown: more than have ever lived."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Section:
    """A part of the output."""

    name: str  # Its key in JSON
    title: str  # A line above it
    rows: tuple[Row, ...]  # Its table, a column a key; the same keys in every row


@dataclass(frozen=True)
class Items:
    """The items of an item-wise release."""

    m: int  # Records of a user
    total: int  # Records that are shuffled together: of one user (local), or of all
    delta: float  # Above 0
    w_min: float = 0.0  # Smallest positive distance of two items, 0 if there is none

    def __str__(self) -> str:
        return f"with {self.m} records of a user among {self.total} shuffled, delta = {self.delta:.6g}"


def protection_section(
    changes: "Sequence[Change]", space: "HasDiameter", alpha: float | None = None
) -> tuple[float, Section]:
    """Return the alpha that covers some changes, or the given one, and what it means for each of them."""
    from emdp.privacy import change_distance, epsilon_for, protect
    from emdp.privacy.guarantees.protections import change_fraction

    level = protect(*changes, space=space) if alpha is None else alpha
    rows: tuple[dict[str, Any], ...] = tuple(
        {
            "fraction": change_fraction(change, space=space),
            "distance": change.distance,
            "wanted_epsilon": change.epsilon,
            "d_em": change_distance(change, space=space),
            "alpha_needed": protect(change, space=space),
            "covered_with": epsilon_for(level, change, space=space),
            # Of what an answer reads, a period's records for instance: one of m records is 1/m of them.
            "one_record": epsilon_for(level, _one_of(change, 1, space), space=space),
            "one_of_ten": epsilon_for(level, _one_of(change, 10, space), space=space),
        }
        for change in changes
    )
    least = min(row["alpha_needed"] for row in rows)
    if level <= least:
        title = f"alpha = {level:.6g} covers every one of these changes"
    else:
        title = f"alpha = {level:.6g} does not cover all of these changes; at most {least:.6g} does"
    return level, Section("protections", title, rows)


def _one_of(change: "Change", count: int, space: "HasDiameter") -> "Change":
    """Return the change of one record of so many; with slots it weighs the same whatever their number."""
    if getattr(space, "slots", None) is not None:
        return replace(change, fraction=0.0, records=1)
    return replace(change, fraction=1 / count)


def mean_section(alpha: float, delta: float, lipschitz: float, users: int) -> Section:
    """Return the noise of a mean over users, and how far off it makes the answer."""
    rows = tuple(
        {"model": model, "noise": noise, "scale": scale, "half_width_95": half}
        for model, noise, scale, half in _noises(alpha, delta, lipschitz, users)
    )
    return Section(
        "mean", f"noise of a mean over {users} users, lipschitz {lipschitz:.6g}, at alpha = {alpha:.6g}", rows
    )


def central_error(alpha: float, delta: float, lipschitz: float, users: int) -> float:
    """Return the half-width of a mean's 95 % interval in the central model, by the better of the noises."""
    return min(half for model, _, _, half in _noises(alpha, delta, lipschitz, users) if model == "central")


def users_section(alpha: float, delta: float, lipschitz: float, error: float) -> Section:
    """Return how many users a mean needs for a 95 % half-width of at most ``error`` from noise; None: too many."""
    rows = []
    for model, noise, _, half in _noises(alpha, delta, lipschitz, 1):
        # Central noise shrinks as 1/n, that of single users as 1/sqrt(n).
        ratio = Fraction(half) / Fraction(error)
        needed = math.ceil(ratio if model == "central" else ratio**2)
        rows.append({"model": model, "noise": noise, "users": needed if needed <= MOST_USERS else None})
    return Section("users", f"users needed for a 95 % half-width of {error:.6g}, at alpha = {alpha:.6g}", tuple(rows))


def _noises(alpha: float, delta: float, lipschitz: float, users: int) -> list[tuple[str, str, float, float]]:
    """Return model, noise, its scale (for one user in the local model) and the half-width of a mean's 95 % interval."""
    from emdp.privacy import gaussian_sigma, laplace_scale
    from emdp.privacy.rounding import quotient_up

    sensitivity = quotient_up(lipschitz, users)
    central, local = laplace_scale(alpha, sensitivity), laplace_scale(alpha, lipschitz)
    found = [("central", "Laplace", central, LAPLACE_95 * central)]
    if delta > 0:
        sigma = gaussian_sigma(alpha, delta, sensitivity)
        found.append(("central", "Gaussian", sigma, GAUSSIAN_95 * sigma))
    found.append(("local", "Laplace", local, GAUSSIAN_95 * math.sqrt(2 / users) * local))
    if delta > 0:
        sigma = gaussian_sigma(alpha, delta, lipschitz)
        found.append(("local", "Gaussian", sigma, GAUSSIAN_95 * sigma / math.sqrt(users)))
    return found


def reduction_section(epsilon: float, r: float, s: int, delta: float) -> tuple["Reduction", Section]:
    """Return how a discrete guarantee is met: without sampling by linear queries, with it by bounded mechanisms."""
    from emdp.privacy.reduction import reduction_split
    from emdp.privacy.rounding import as_decimal, float_down

    # Where noise is of a Gaussian kind, what a mechanism makes of alpha goes with 1/sqrt(ln(1/delta)).
    reduction = reduction_split(epsilon, r, s, delta, lambda alpha, left: alpha / math.sqrt(-math.log(left)))
    plain = float_down(as_decimal(epsilon) / as_decimal(r))
    own = reduction.alpha, reduction.q, reduction.delta_sampling, reduction.delta_mechanism
    published = reduction.published_alpha, epsilon / reduction.published_alpha, delta / 2, delta / 2
    rows = (
        _way("mean, or histogram by noise", None, plain, r, 0.0, delta),
        _way("item-wise, on samples", s, *own),
        _way("the same, paper's Thm 5.3", s, *published),
    )
    title = f"epsilon = {epsilon:.6g} up to d_em = {r:.6g}, delta = {delta:.6g}: the alpha that may be used"
    return reduction, Section("reduction", title, rows)


def _way(release: str, samples: int | None, alpha: float, q: float, sampling: float, rest: float) -> Row:
    row = {"release": release, "samples": samples, "q": q, "alpha": alpha}
    return {**row, "delta_sampling": sampling, "delta_mechanism": rest}


def strength_section(alpha: float, items: Items) -> Section:
    """Return the largest alpha0 of a randomizer on every item, by each accountant."""
    from emdp.privacy.shuffle.items import shuffle_alpha0_bounds

    found = shuffle_alpha0_bounds(alpha, items.m, items.total, items.delta, items.w_min)
    rows = tuple(
        {"accountant": one.method, "alpha0": one.alpha0, "why": _why(one.alpha0, one.reason, one.theorem)}
        for one in found
    )
    return Section("accountants", f"alpha = {alpha:.6g} allows a randomizer of this alpha0, {items}", rows)


def alpha_section(alpha0: float, items: Items) -> Section:
    """Return the alpha of an item-wise release with a randomizer, by each accountant."""
    from emdp.privacy.shuffle.items import shuffle_bounds

    found = shuffle_bounds(alpha0, items.m, items.total, items.delta, items.w_min)
    rows = tuple(
        {"accountant": one.method, "alpha": one.alpha, "why": _why(one.alpha, one.reason, one.theorem)} for one in found
    )
    return Section("accountants", f"a randomizer of alpha0 = {alpha0:.6g} gives this alpha, {items}", rows)


def _why(number: float | None, reason: str, theorem: str) -> str:
    return reason if number is None else theorem.partition(" (")[0]


def randomizer_curves(alpha0: float, items: Items) -> list[tuple[str, list[tuple[float, float]]]]:
    """Return alpha over alpha0, up to a little above the given one: by the best accountant, and by the paper's."""
    from emdp.privacy.shuffle.items import shuffle_bounds

    best: list[tuple[float, float]] = []
    published: list[tuple[float, float]] = []
    for place in range(1, POINTS + 1):
        strength = REACH * alpha0 * place / POINTS
        for one in shuffle_bounds(strength, items.m, items.total, items.delta, items.w_min):
            if one.alpha is not None and one.method == "closed form":
                published.append((strength, one.alpha))
            if one.alpha is not None and (not best or best[-1][0] < strength):
                best.append((strength, one.alpha))
    # The first bound is the best one.
    return [("best accountant", best), *([("paper's closed form", published)] if published else [])]
