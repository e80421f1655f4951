"""The 100 words that most people use, privately, beside the true ones: how many are right, and which are certain.

Run `python benchmarks/words.py --messages ../shared/data/irc_ubuntu.parquet --vectors
../shared/data/glove_twitter_25d_12k.parquet` from the project's root (some minutes); without them on generated
messages. Every word of a message is an item of a `Words` space, whose public list are the words that have a vector; a
word without one counts as the neutral item, `(other)` here. Shares are those of the average person's words: everybody
weighs the same. Asked is `session.frequencies(...)` and of its answer `Answer.top(100)`, with a failure probability of
5 %, for a person's whole text (user level; central, shuffled and local) and for one stated change of it (d_EM-DP).

For each price: `right` of the 100 listed words are among the true 100, mean over rounds with standard error; `certain`
of them are marked so; `wrong` of these marks were wrong in all rounds together, which at most 5 % of rounds may have;
`complete above` is the share above which surely every word is listed, `first miss` the rank of the most frequent word
that is not listed. Useful is called an epsilon at which at least `USEFUL` of 100 are right. All draws are real; the
true words are read by the table's owner, who compares.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl

import emdp
from emdp.base.errors import EmdpError
from emdp.resources import load_dataset_module
from emdp.tables import bag_blocks

TOP = 100
FAILURE = 0.05
USEFUL = 90
DELTA = 1e-9
EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
SHOWN = 1.0
"""Epsilon at which the words themselves are printed."""

CHANGE = (1 / 30, 5.0)
"""A thirtieth of a person's words, moved by 5 in the unit of the vectors: the change of d_EM-DP."""


@dataclass(frozen=True)
class Outcome:
    """What is measured at one price; see the module's text."""

    model: str
    guarantee: str
    epsilon: float
    method: str = ""
    right: float = 0.0
    right_error: float = 0.0
    certain: float = 0.0
    wrong: int = 0
    complete_above: float = 0.0
    first_miss: float = 0.0
    seconds: float = 0.0
    rounds: int = 0
    refused: str = ""


def true_shares(table: emdp.Table, size: int) -> npt.NDArray[np.float64]:
    """Return the average of everybody's normalised histogram of words, the neutral one last."""
    shares = np.zeros(size)
    for block in bag_blocks(table).open():
        sizes = np.add.reduceat(block.counts, block.offsets[:-1])
        np.add.at(shares, block.codes, block.counts / np.repeat(sizes, np.diff(block.offsets)))
    # Who is listed and wrote nothing counts with the neutral item.
    shares[-1] += table.n - shares.sum()
    return shares / table.n


def prices(space: emdp.Space, epsilon: float) -> list[tuple[str, str, emdp.Guarantee, dict[str, Any]]]:
    """Return model, guarantee, budget and options of all questions at one epsilon."""
    alpha = emdp.protect(emdp.Change(fraction=CHANGE[0], distance=CHANGE[1], epsilon=epsilon), space=space)
    user = {"epsilon": epsilon}
    return [
        ("central", "user-level", emdp.UserDP(epsilon * 1000), user),
        ("central", "d_EM-DP", emdp.EmdDP(alpha * 1000), {"alpha": alpha}),
        (
            "shuffle", "user-level", emdp.UserDP(epsilon * 1000, 1e-3, model="shuffle"),
            {**user, "delta": DELTA, "model": "shuffle"},
        ),
        ("local", "user-level", emdp.UserDP(epsilon * 1000, model="local"), {**user, "model": "local"}),
        ("local", "d_EM-DP", emdp.EmdDP(alpha * 1000, model="local"), {"alpha": alpha, "model": "local"}),
    ]  # fmt: skip


def measure(
    table: emdp.Table, shares: npt.NDArray[np.float64], words: Sequence[str], price: Any, epsilon: float, rounds: int
) -> tuple[Outcome, pl.DataFrame | None]:
    """Return the outcome at one price, and the last list."""
    model, guarantee, budget, options = price
    order = np.argsort(-shares, kind="stable")
    truly = {words[code] for code in order[:TOP]}
    right, certain, above, misses, seconds, wrong = [], [], [], [], [], 0
    line = Outcome(model, guarantee, epsilon)
    with (
        tempfile.TemporaryDirectory() as folder,
        emdp.Session(table, budget=budget, ledger=f"{folder}/words.ledger") as session,
    ):
        for _ in range(rounds):
            start = time.perf_counter()
            try:
                answer = session.frequencies(**options)
            except EmdpError as error:
                return Outcome(model, guarantee, epsilon, refused=str(error)), None
            top = answer.top(TOP, failure=FAILURE)
            seconds.append(time.perf_counter() - start)
            frame = top.frame.with_columns(pl.col("text").fill_null("(other)"))
            listed, marks = frame["text"].to_list(), frame["frequency_is_certain"].to_list()
            right.append(len(truly & set(listed)))
            certain.append(sum(marks))
            wrong += sum(mark and word not in truly for word, mark in zip(listed, marks, strict=True))
            above.append(top.complete_above)
            misses.append(1 + next(rank for rank, code in enumerate(order) if words[code] not in set(listed)))
        spread = float(np.std(right, ddof=1) / np.sqrt(rounds)) if rounds > 1 else 0.0
        line = Outcome(
            model, guarantee, epsilon, answer.choice.split(" (")[0].removeprefix("frequencies by "),
            float(np.mean(right)), spread, float(np.mean(certain)), wrong, float(np.mean(above)),
            float(np.mean(misses)), min(seconds), rounds,
        )  # fmt: skip
    return line, frame


def told(one: Outcome) -> str:
    """Return a line of the table."""
    if one.refused:
        return f"| {one.model} | {one.guarantee} | {one.epsilon:g} | refused: {one.refused} | | | | | | |"
    return (
        f"| {one.model} | {one.guarantee} | {one.epsilon:g} | {one.method} | {one.right:.1f} ± {one.right_error:.1f} | "
        f"{one.certain:.1f} | {one.wrong} | {one.complete_above:.2g} | {one.first_miss:.0f} | {one.seconds:.1f} |"
    )


def useful(outcomes: Sequence[Outcome]) -> list[str]:
    """Say from which epsilon on most listed words are right."""
    found = []
    for model, guarantee in dict.fromkeys((one.model, one.guarantee) for one in outcomes):
        own = [one for one in outcomes if (one.model, one.guarantee) == (model, guarantee) and not one.refused]
        enough = [one.epsilon for one in own if one.right >= USEFUL]
        most = max((one.right for one in own), default=0.0)
        found.append(
            f"- {model}, {guarantee}: "
            + (
                f"useful from epsilon = {min(enough):g} on"
                if enough
                else f"never useful here; at most {most:.0f} right"
            )
        )
    return found


def main() -> None:
    """Measure, and write the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=Path, help="a Parquet file with user_id and text")
    parser.add_argument("--vectors", type=Path, help="a Parquet file with word and vector")
    parser.add_argument("--out", type=Path, default=Path("words"), help="folder for tables")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epsilon", type=float, nargs="*", default=EPSILONS)
    wanted = parser.parse_args()
    wanted.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        messages, vectors = wanted.messages, wanted.vectors
        if messages is None or vectors is None:
            messages, vectors = Path(folder) / "messages.parquet", Path(folder) / "vectors.parquet"
            load_dataset_module("messages").write_messages(messages, vectors, users=5000, records=100_000)
        # The number of users is public; here the table's owner counts them.
        users = duckdb.sql(f"SELECT count(DISTINCT user_id) FROM '{messages}'").fetchall()[0][0]
        space = emdp.Words("text", vectors, on_invalid="neutral")
        table = emdp.read(messages, user="user_id", space=space, users=users)
        table.validate()
        words = [*space.labels, "(other)"]
        shares = true_shares(table, len(words))
        compare(table, shares, words, wanted)


def compare(
    table: emdp.Table, shares: npt.NDArray[np.float64], words: Sequence[str], wanted: argparse.Namespace
) -> None:
    """Print and write all lines."""
    order = np.argsort(-shares, kind="stable")
    ends = ", ".join(f"rank {rank}: {shares[order[rank - 1]]:.3g}" for rank in (1, 2, 10, 50, TOP, TOP + 1, 2 * TOP))
    print(f"{table.n:,} users, {len(words):,} words; true shares, {ends}")
    head = (
        "| model | guarantee | epsilon | method | right of 100 | certain | wrong | complete above | first miss | s |\n"
        "|---|---|---|---|---|---|---|---|---|---|"
    )
    print(head, flush=True)
    lines, outcomes, listed = [head], [], []
    for epsilon in wanted.epsilon:
        for price in prices(table.space, epsilon):
            outcome, frame = measure(table, shares, words, price, epsilon, wanted.rounds)
            outcomes.append(outcome)
            lines.append(told(outcome))
            print(lines[-1], flush=True)
            if epsilon == SHOWN and frame is not None and outcome.model == "central":
                listed.append(shown(frame, shares, words, outcome))
    text = [*lines, "", *useful(outcomes), "", *listed]
    print("\n".join(text[len(lines) :]))
    (wanted.out / "words.md").write_text("\n".join(text) + "\n", encoding="utf-8")
    pl.DataFrame([asdict(one) for one in outcomes]).write_parquet(wanted.out / "words.parquet")


def shown(frame: pl.DataFrame, shares: npt.NDArray[np.float64], words: Sequence[str], outcome: Outcome) -> str:
    """Return the private list beside the true one, in words: what is wrong in brackets, what is certain in bold."""
    order = np.argsort(-shares, kind="stable")[:TOP]
    truly = [words[code] for code in order]
    own = [
        f"**{word}**" if is_certain else word if word in truly else f"[{word}]"
        for word, is_certain in zip(frame["text"].to_list(), frame["frequency_is_certain"].to_list(), strict=True)
    ]
    missed = [word for word in truly if word not in set(frame["text"].to_list())]
    return (
        f"{outcome.model}, {outcome.guarantee}, epsilon = {outcome.epsilon:g}; certain in bold, wrong in brackets:\n"
        f"{' '.join(own)}\n\ntrue: {' '.join(truly)}\n\nmissed: {' '.join(missed)}\n"
    )


if __name__ == "__main__":
    main()
