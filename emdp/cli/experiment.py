"""``emdp experiment``: the comparisons of the papers, run again on generated data."""

import os
import time
from typing import TYPE_CHECKING, Annotated

import typer

from emdp.cli.output import check_place
from emdp.cli.tables import frame_text, table_width

if TYPE_CHECKING:
    import polars as pl

    from emdp.experiments import Experiment

__all__ = ["run"]

SHOWN = (
    "panel",
    "x",
    "method",
    "guarantee",
    "model",
    "measure",
    "error_mean",
    "error_low",
    "error_high",
    "bound",
    "drawn",
)
"""Columns of the printed table."""


def run(
    name: Annotated[
        str,
        typer.Argument(
            help="table2, fig-error, freq-local, freq-central, embedding, geometric, compressed, bandits, descent, "
            "recoverability."
        ),
    ],
    out: Annotated[str, typer.Option(metavar="DIR", help="Folder for NAME.parquet and NAME.svg.")] = "experiments",
    full: Annotated[bool, typer.Option("--full", help="Full sizes and more runs: minutes to an hour.")] = False,
    seed: Annotated[int, typer.Option(help="Public seed of the data and of all noise.")] = 0,
    runs: Annotated[int | None, typer.Option(help="Draws at each point; each experiment has its own default.")] = None,
) -> None:
    """Compare d_EM-DP with user-level DP on generated data, as the papers do. Nothing in it is private.

    \b
      table2        embedding queries and frequencies, central and local, at alpha/epsilon = 1 and 50
      fig-error     the same four against alpha/epsilon
      freq-local    frequencies on clusters, local, against alpha/epsilon, k, m and n
      freq-central  the same in the central and the shuffle model
      embedding     linear embedding queries against alpha/epsilon, n and p, central and local
      geometric     k = 1000 falling shares by one-bit Hadamard, l1 error against n
      compressed    frequencies over 1024 items, and means of vectors, by few bits a user
      bandits       a linear bandit of private rewards: regret against epsilon, in three models
      descent       a logistic model by who is in which round: loss gap against epsilon, in three models

    Writes all rows as Parquet and a picture as SVG, and says in words where user-level DP is better.
    """
    from emdp.experiments import check_folder, run_experiment, write_experiment

    for suffix in (".parquet", ".svg"):
        check_place("--out", os.path.join(out, f"{name}{suffix}"))
    check_folder(out)
    start = time.monotonic()
    found = run_experiment(name, full=full, seed=seed, runs=runs)
    files = write_experiment(found, out)
    size = "full" if found.is_full else "small"
    print(f"{found.title}\nSimulated on generated data, seed {seed}, {size} size: nothing here is private.\n")
    print(frame_text(_shown(found), width=table_width()))
    print("\n" + "\n".join(f"- {sentence}" for sentence in found.sentences))
    print(f"\nwrote {' and '.join(map(str, files))}, {time.monotonic() - start:.1f} s", flush=True)


def _shown(found: "Experiment") -> "pl.DataFrame":
    import polars as pl

    frame = found.frame.select(SHOWN)
    numbers = pl.col("error_mean", "error_low", "error_high", "bound").cast(pl.Float64)
    return frame.with_columns(numbers.round_sig_figs(4))
