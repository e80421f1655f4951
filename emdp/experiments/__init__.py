"""Published comparisons, run again: d_EM-DP against user-level DP on generated data (``emdp experiment``).

Built on sessions and public functions. All of it is simulation under the test switch, with a public seed: nothing here
is private, and nothing is read but what was generated.
"""

import io
import os
from collections.abc import Callable
from pathlib import Path

from emdp.base.checks import check_choice, check_count
from emdp.base.errors import UsageError
from emdp.experiments.base import Experiment, Row
from emdp.experiments.picture import draw_experiment
from emdp.testing import seeded

__all__ = ["NAMES", "Experiment", "Row", "check_folder", "draw_experiment", "run_experiment", "write_experiment"]

NAMES = (
    "table2", "fig-error", "freq-local", "freq-central", "embedding", "geometric", "compressed", "bandits", "descent",
    "recoverability",
)  # fmt: skip
"""The experiments."""


def run_experiment(name: str, *, full: bool = False, seed: int = 0, runs: int | None = None) -> Experiment:
    """Run an experiment on generated data, under the test switch.

    Parameters
    ----------
    name : str
        One of ``NAMES``.
    full : bool
        Whether to take the full sizes, which may take an hour, and not the small ones, a minute at most.
    seed : int
        Public seed of the data and of all noise, at least 0: the same seed gives the same rows.
    runs : int, optional
        Independent draws at each point, at least 1; each experiment has its default.

    Raises
    ------
    UsageError
        If an argument is malformed.

    >>> "geometric" in NAMES
    True
    """
    check_choice("name", name, NAMES)
    draws = None if runs is None else check_count("runs", runs)
    with seeded(seed):
        return _runner(name)(full=full, seed=seed, runs=draws)


def write_experiment(experiment: Experiment, folder: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Write ``<name>.parquet``, all rows, and ``<name>.svg``, the picture, into a folder, which is made if absent.

    Parameters
    ----------
    experiment : Experiment
        What was measured.
    folder : path
        A local folder.

    Returns
    -------
    tuple of pathlib.Path
        The two files.

    Raises
    ------
    UsageError
        If the folder cannot be made or written to.
    """
    from emdp.pictures import picture_file

    check_folder(folder)
    place = Path(folder)
    table, picture = place / f"{experiment.name}.parquet", place / f"{experiment.name}.svg"
    packed = io.BytesIO()
    experiment.frame.write_parquet(packed)
    drawn = picture_file(draw_experiment(experiment)).encode("utf-8")
    try:
        _write_whole(table, packed.getvalue())
        _write_whole(picture, drawn)
    except OSError as error:
        raise UsageError(f"out {str(folder)!r} cannot be written: {error.strerror}; pass another folder.") from None
    return table, picture


def _write_whole(path: Path, content: bytes) -> None:
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        unfinished.write_bytes(content)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def check_folder(folder: str | os.PathLike[str]) -> None:
    """Make a folder if it is absent: before an experiment takes its time.

    Raises
    ------
    UsageError
        If it cannot be made or written to.
    """
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError:
        raise UsageError(f"out must be a folder that can be made, got {str(folder)!r}; pass another.") from None
    if not os.access(folder, os.W_OK):
        raise UsageError(f"out {str(folder)!r} cannot be written to; pass another folder.")


def _runner(name: str) -> Callable[..., Experiment]:
    """Return what runs an experiment; imported when one is run."""
    from emdp.experiments import bandits, compressed, descent, frequency, geometric, linear, recoverability, table2

    runners: dict[str, Callable[..., Experiment]] = {
        "table2": table2.run_table2,
        "fig-error": table2.run_fig_error,
        "freq-local": frequency.run_local,
        "freq-central": frequency.run_central,
        "embedding": linear.run_embedding,
        "geometric": geometric.run_geometric,
        "compressed": compressed.run_compressed,
        "bandits": bandits.run_bandits,
        "descent": descent.run_descent,
        "recoverability": recoverability.run_recoverability,
    }
    return runners[name]
