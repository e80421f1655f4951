"""Central user-level means against OpenDP and diffprivlib at equal epsilon, all given only the wide bounds.

Run `python benchmarks/user_mean_rivals.py` from the project's root. diffprivlib gets a virtual environment of its own,
made in a temporary folder and thrown away (or kept and used again, with `--environment FOLDER`), with an older
scikit-learn than it asks for. Everybody is given one number a user, the mean of its records, and the bounds [-50, 50]:
the others clip to these and add Laplace noise; we are also told how far records lie from their mean. Errors are root
mean squares against the mean of the users' means.
"""

import argparse
import json
import math
import subprocess
import tempfile
import time
import venv
from pathlib import Path

import numpy as np
import numpy.typing as npt

import emdp
from emdp.mechanisms.user_mean.plan import UserMeanSetting, best_user_mean

BOUND, SIGMA, MU = 50.0, 1.0, 7.3
SETTINGS = ((2000, 100, 1.0), (2000, 100, 2.0), (500, 100, 2.0), (2000, 1, 1.0), (20_000, 1, 1.0))

RIVAL_CODE = r"""
import json, sys, time, warnings
warnings.filterwarnings("ignore")
import numpy as np
from diffprivlib.tools import mean
from diffprivlib.accountant import BudgetAccountant
given = json.load(sys.stdin)
values, found = np.array(given["values"]), []
start = time.perf_counter()
for _ in range(given["runs"]):
    found.append(float(mean(values, epsilon=given["epsilon"], bounds=(-given["bound"], given["bound"]))))
json.dump({"found": found, "seconds": (time.perf_counter() - start) / given["runs"]}, sys.stdout)
"""

Floats = npt.NDArray[np.float64]


def opendp_means(values: Floats, epsilon: float, runs: int) -> list[float]:
    """Return OpenDP's bounded means of a public number of users: sized sums, Laplace noise by the bounds."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = (
        dp.vector_domain(dp.atom_domain(bounds=(-BOUND, BOUND), nan=False), size=len(values)),
        dp.symmetric_distance(),
    )
    query = space >> dp.t.then_mean()
    # Replacing a user is a distance of 2 there: one is removed, one added.
    release = dp.binary_search_chain(lambda scale: query >> dp.m.then_laplace(scale), d_in=2, d_out=epsilon)
    clipped = np.clip(values, -BOUND, BOUND).tolist()
    return [release(clipped) for _ in range(runs)]


def rms(found: list[float], truth: float) -> float:
    """Return the root mean square of the errors."""
    return math.sqrt(float(np.mean(np.square(np.array(found) - truth))))


def ours(values: Floats, records: int, epsilon: float, runs: int) -> tuple[list[float], str, float]:
    """Return our releases, how they were made, and the seconds of one."""
    setting = UserMeanSetting(len(values), -BOUND, BOUND, epsilon, spread=SIGMA, records=records)
    mechanism = best_user_mean(setting)
    exponent = 40
    means = np.rint(np.ldexp(values, exponent)).astype(np.int64)
    start = time.perf_counter()
    with emdp.testing.seeded(3):
        found = [float(mechanism.release(iter([means]), exponent, 0).value) for _ in range(runs)]
    return found, mechanism.name, (time.perf_counter() - start) / runs


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--environment", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = given.environment or Path(folder) / "venv"
        if not place.exists():
            venv.create(place, with_pip=True)
            wanted = ["diffprivlib", "scikit-learn<1.6", "numpy<2.2"]
            subprocess.run([place / "bin" / "pip", "install", "-q", *wanted], check=True)
        print("| n | m | epsilon | ours | by | OpenDP | diffprivlib | OpenDP/ours | diffprivlib/ours |")
        print("|---|---|---|---|---|---|---|---|---|")
        for n, m, epsilon in SETTINGS:
            compare(place, n, m, epsilon, given.runs)


def compare(place: Path, n: int, m: int, epsilon: float, runs: int) -> None:
    """Print one setting."""
    values = np.random.default_rng(n + m).normal(MU, SIGMA / math.sqrt(m), n)
    truth = float(values.mean())
    found, name, _ = ours(values, m, epsilon, runs)
    wanted = {"values": values.tolist(), "runs": runs, "epsilon": epsilon, "bound": BOUND}
    told = subprocess.run(
        [place / "bin" / "python", "-c", RIVAL_CODE],
        input=json.dumps(wanted),
        capture_output=True,
        text=True,
        check=True,
    )
    own, first = rms(found, truth), rms(opendp_means(values, epsilon, runs), truth)
    second = rms(json.loads(told.stdout)["found"], truth)
    print(
        f"| {n} | {m} | {epsilon:g} | {own:.4g} | {name} | {first:.4g} | {second:.4g} | {first / own:.2f} | "
        f"{second / own:.2f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
