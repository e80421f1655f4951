"""What was measured, as a Polars frame with a row an answer, and as the tables of the page."""

import math
import statistics
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from systems import SETTINGS, System
from workload import MEASURES

__all__ = ["Measured", "error_table", "frame_of", "targets", "time_table"]


@dataclass
class Measured:
    """One system's answers.

    Parameters
    ----------
    system : System
        The system.
    startup, startup_cpu : float
        Seconds from the start of its process until it could answer, by the clock and of all processors.
    versions : dict
        Of its packages.
    answers : list of dict
        `round`, `setting`, `told`, `seconds`, `cpu`, `peak` in MB, and `errors`, the squared errors of the measures.
    failure : str
        Why there are no answers, or no more; empty if all is well.
    """

    system: System
    startup: float = math.nan
    startup_cpu: float = math.nan
    versions: dict[str, str] = field(default_factory=dict)
    answers: list[dict[str, Any]] = field(default_factory=list)
    failure: str = ""

    def median(self, name: str) -> float:
        """Return the median of `seconds` or `cpu` after the first answer, which loads and compiles; nan without any.

        Not the best one: quick systems answer more often, and would find more quiet moments.
        """
        warm = self.answers[1:] or self.answers
        return statistics.median(answer[name] for answer in warm) if warm else math.nan

    @property
    def peak(self) -> float:
        """The largest memory in MB."""
        return max((answer["peak"] for answer in self.answers), default=math.nan)

    def error(self, setting: str, measure: int) -> tuple[float, float]:
        """Return the root mean square error over groups and runs, and its standard error over runs.

        Answers to the same telling count whatever setting they were asked for.
        """
        told = self.system.told[setting]
        squares = [answer["errors"][measure] for answer in self.answers if answer["told"] == told]
        if not squares:
            return math.nan, math.nan
        mean = math.fsum(squares) / len(squares)
        if len(squares) == 1 or mean == 0:
            return math.sqrt(mean), math.nan
        variance = math.fsum((square - mean) ** 2 for square in squares) / (len(squares) - 1)
        return math.sqrt(mean), math.sqrt(variance / len(squares)) / (2 * math.sqrt(mean))


def frame_of(measured: list[Measured]) -> pl.DataFrame:
    """Return one row an answer; a system without any has one row with its failure."""
    rows = []
    for one in measured:
        common = {
            "system": one.system.name,
            "failure": one.failure,
            "startup_seconds": one.startup,
            "startup_processor_seconds": one.startup_cpu,
            "versions": ", ".join(f"{name} {version}" for name, version in one.versions.items()),
        }
        rows += [
            {
                **common,
                "round": answer["round"],
                "setting": answer["setting"],
                "epsilon": answer["told"]["epsilon"],
                "seconds": answer["seconds"],
                "processor_seconds": answer["cpu"],
                "peak_mb": answer["peak"],
                **{f"{name}_rmse": math.sqrt(error) for name, error in zip(MEASURES, answer["errors"], strict=True)},
            }
            for answer in one.answers
        ] or [common]
    return pl.DataFrame(rows, infer_schema_length=None)


def time_table(measured: list[Measured]) -> str:
    """Return times and memory as Markdown; ratios are over emdp's, the first of them."""
    emdp = measured[0]
    lines = [
        "| system | start-up s | first s | median s | CPU s | answers | peak MB | time over emdp | CPU over emdp |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for one in measured:
        if not one.answers:
            lines.append(f"| {one.system.name} | {one.failure} |" + " |" * 7)
            continue
        ratios = [one.median(name) / emdp.median(name) for name in ("seconds", "cpu")]
        times = [one.startup, one.answers[0]["seconds"], one.median("seconds"), one.median("cpu")]
        cells = [
            one.system.name,
            *(f"{seconds:.2f}" for seconds in times),
            f"{len(one.answers)}",
            f"{one.peak:,.0f}",
            *(f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}" for ratio in ratios),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def error_table(measured: list[Measured], setting: str) -> str:
    """Return the errors in a setting as Markdown, of systems that add noise."""
    emdp = measured[0]
    head = " | ".join(MEASURES)
    lines = [
        f"| {SETTINGS[setting]} | epsilon | {head} | {' | '.join(f'{name} over emdp' for name in MEASURES)} |",
        "|---|---:|" + "---:|" * (2 * len(MEASURES)),
    ]
    for one in measured:
        found = [one.error(setting, measure) for measure in range(len(MEASURES))]
        # Not asked in this setting, or exact.
        if not found[0][0] > 1e-3:
            continue
        told = one.system.told[setting]
        own = [f"{_short(error)} ± {_short(spread, 2)}" for error, spread in found]
        over = [f"{error / emdp.error(setting, measure)[0]:.2f}" for measure, (error, _) in enumerate(found)]
        lines.append(f"| {one.system.name} | {told['epsilon']:g} | {' | '.join(own)} | {' | '.join(over)} |")
    return "\n".join(lines)


def targets(measured: list[Measured]) -> str:
    """Return a line for each target: how many times slower a system is than emdp, and whether its error is as large.

    Times are compared with emdp's first row and with the one that does the same.
    """
    emdp, lines = measured[0], []
    for one in measured:
        if one.system.factor is None or not one.answers:
            continue
        words = [f"{one.system.name}, target {one.system.factor}"]
        for own in measured:
            if own is emdp or (own.system.name == one.system.beside and own.answers):
                by_clock, by_cpu = (one.median(name) / own.median(name) for name in ("seconds", "cpu"))
                words.append(
                    f"{by_clock:.1f} times {own.system.name} by the clock and {by_cpu:.1f} times in CPU: "
                    f"{_met(by_clock >= one.system.factor)}, {_met(by_cpu >= one.system.factor)}"
                )
        for setting in SETTINGS:
            ratios = [
                one.error(setting, measure)[0] / emdp.error(setting, measure)[0] for measure in range(len(MEASURES))
            ]
            if any(map(math.isnan, ratios)):
                continue
            shown = ", ".join(f"{name} {ratio:.2f}" for name, ratio in zip(MEASURES, ratios, strict=True))
            words.append(f"error over emdp's at the same {setting}: {shown}: {_met(min(ratios) >= 1)}")
        lines.append("- " + "; ".join(words))
    return "\n".join(lines)


def _short(number: float, digits: int = 3) -> str:
    """Return a positive number with so many digits that count, without an exponent."""
    if not number > 0:
        return "-"
    return f"{number:,.{max(0, digits - 1 - math.floor(math.log10(number)))}f}"


def _met(is_met: bool) -> str:
    return "met" if is_met else "not met"
