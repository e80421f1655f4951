"""``table2`` and ``fig-error``: the four comparisons of the metric-DP paper, as one table and against alpha/epsilon.

Linear embedding queries and frequencies, each in the central and in the local model, each under d_EM-DP and under
user-level DP. The table is at one setting; its bounds are those of theorems 6.5 and 6.6 for item-wise release (for raw
estimates) and the expected errors of the other methods.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from emdp.experiments import frequency, linear
from emdp.experiments.base import EMD, PROTECTION, USER, Experiment, Row, ratio_text, verdicts
from emdp.experiments.clustered import PROJECTED, People, Setting, draw_people, measure, theorem_6_5_of

__all__ = ["run_fig_error", "run_table2"]

MEASURES = (linear.NORM, PROJECTED)
"""Measures that are drawn and compared: the 2-norm for linear queries, d_em after projection for frequencies."""

RATIOS = (1.0, 2.0, 4.0, 10.0, 30.0, 100.0, 300.0)
FULL_RATIOS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 30.0, 60.0, 100.0, 200.0, 300.0, 1000.0)
RUNS, FULL_RUNS = 20, 200

NOISE_DRAWS = 5
"""Draws of the noise of linear queries for each run of the frequencies."""

FULL_SIZES = {"clusters": 20, "n": 20_000}
"""Sizes of the frequencies in the full table."""

PAIRS: Mapping[Literal["central", "local"], Sequence[str]] = {"central": frequency.CENTRAL, "local": frequency.LOCAL}
"""Methods of frequencies by model."""


def run_table2(*, full: bool = False, seed: int = 0, runs: int | None = None) -> Experiment:
    """Return the four comparisons at one setting; call it inside the test switch.

    Parameters
    ----------
    full, seed, runs
        As of :func:`emdp.experiments.frequency.run_local`.
    """
    draws = (FULL_RUNS if full else RUNS) if runs is None else runs
    setting = replace(frequency.BASE, **FULL_SIZES) if full else frequency.BASE
    rows = _points((1.0, setting.ratio), setting, draws)
    at_ratio = [row for row in _itemwise(rows) if row.x == setting.ratio]
    limits = [f"{row.method}: {theorem_6_5_of(setting, row.parameters['strength']):.3g}" for row in at_ratio]
    return Experiment(
        name="table2",
        title=f"Table 2: d_EM-DP against user-level DP at alpha/epsilon = 1 and {setting.ratio:g}",
        rows=(*rows, *_sessions(setting)),
        across=_across(rows, setting),
        measures=MEASURES,
        sentences=(
            *verdicts(rows, *MEASURES),
            *_pairwise([row for row in rows if row.measure in MEASURES]),
            f"Bounds of theorem 6.5 at alpha/epsilon = {setting.ratio:g}, for item-wise release, {'; '.join(limits)}; "
            "those of theorem 6.6 are in the table.",
            PROTECTION,
        ),
        seed=seed,
        is_full=full,
    )


def run_fig_error(*, full: bool = False, seed: int = 0, runs: int | None = None) -> Experiment:
    """Return the four comparisons against alpha/epsilon; parameters as of :func:`run_table2`."""
    draws = (FULL_RUNS if full else RUNS) if runs is None else runs
    rows = _points(FULL_RATIOS if full else RATIOS, frequency.BASE, draws)
    return Experiment(
        name="fig-error",
        title="Error against alpha/epsilon: d_EM-DP against user-level DP",
        rows=(*rows, *_sessions(frequency.BASE)),
        across=_across(rows, frequency.BASE),
        measures=MEASURES,
        sentences=(*verdicts(rows, *MEASURES), PROTECTION),
        seed=seed,
        is_full=full,
    )


def _sessions(setting: Setting) -> list[Row]:
    """Return single draws through sessions, at the setting of the frequencies and for a query of one coordinate."""
    rows = linear.session_rows(replace(linear.BASE, p=1), linear.draw_query().first(1))
    for model in PAIRS:
        rows += frequency.session_rows(setting, model, panel=f"frequencies, {model}")
    return rows


def _points(ratios: Sequence[float], base: Setting, runs: int) -> list[Row]:
    """Return the rows of the four comparisons."""
    whole = linear.draw_query()
    query = whole.first(linear.BASE.p)
    # One draw for all ratios, of little cost: norms vary by a third, and near alpha = epsilon errors differ by less.
    unit = linear.draw_unit_noise(linear.BASE.n, linear.BASE.p, NOISE_DRAWS * runs)
    words = linear.draw_words(linear.BASE.n)
    people = draw_people(base)
    rows: list[Row] = []
    for ratio in ratios:
        asked = replace(linear.BASE, ratio=ratio)
        for model in ("central", "local"):
            rows += linear.errors_of(asked, query, unit, panel=f"embedding, {model}", x=ratio, model=model)
        rows += linear.bit_errors(asked, query, words, panel="embedding, local", x=ratio, runs=runs)
        rows += _frequencies(replace(base, ratio=ratio), people, runs)
    return rows


def _frequencies(setting: Setting, people: People, runs: int) -> list[Row]:
    rows: list[Row] = []
    for model, methods in PAIRS.items():
        for method in methods:
            rows += measure(method, setting, people, panel=f"frequencies, {model}", x=setting.ratio, runs=runs)
    return rows


def _pairwise(rows: Sequence[Row]) -> tuple[str, ...]:
    """Say for each comparison which methods are best and by how much."""
    found = []
    for panel, x in dict.fromkeys((row.panel, row.x) for row in rows):
        here = [row for row in rows if (row.panel, row.x) == (panel, x)]
        emd, user = (min((r for r in here if r.guarantee == kind), key=lambda r: r.error_mean) for kind in (EMD, USER))
        first, second = (emd, user) if emd.error_mean <= user.error_mean else (user, emd)
        place = f"{panel} at {x:g}"
        found.append(
            f"{place}: {first.guarantee} {first.error_mean:.3g} ({first.method}), {second.guarantee} "
            f"{second.error_mean:.3g} ({second.method})."
        )
        errors = {row.method: row.error_mean / user.error_mean for row in here if row.guarantee == EMD}
        lost = [f"{method} {ratio_text(quotient)}x" for method, quotient in errors.items() if quotient > 1.0]
        if lost:
            found.append(f"{place}: d_EM-DP loses to the best user-level method by {'; '.join(lost)}.")
    return tuple(found)


def _itemwise(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.measure == PROJECTED and row.method.startswith("GKRR")]


def _across(rows: Sequence[Row], base: Setting) -> dict[str, str]:
    words = f"alpha/epsilon; p = {linear.BASE.p}, n = {linear.BASE.n}, epsilon = {linear.BASE.epsilon:g}"
    items = f"alpha/epsilon; k = {base.k}, m = {base.m}, n = {base.n}, epsilon = {base.epsilon:g}"
    panels = dict.fromkeys(row.panel for row in rows)
    return {panel: words if panel.startswith("embedding") else items for panel in panels}
