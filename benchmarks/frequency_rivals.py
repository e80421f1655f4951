"""Our frequency oracles against those of pure-ldp and multi-freq-ldpy, at equal epsilon: error and speed.

Run `python benchmarks/frequency_rivals.py` from the project's root. The two packages get a virtual environment of
their own, made in a temporary folder and thrown away (or kept and used again, with `--environment FOLDER`): they ask
for `xxhash < 4`, and for packages that they do not declare. Both sides estimate the shares of `k` items from one item a
user, drawn from a Zipf law, the same users in every run.

Error: the mean over runs of the squared 2-norm of unbiased estimates less the truth, with its standard error, and what
an exact formula expects: ours, and for their encodings, sets and k-ary response the same formula at their own (p, q).
The packages' estimators clip and rescale; here *unbiased* estimates are made of their reports and these (p, q), so that
oracles are compared and not the clipping. The best is that of the least expected error; where there is no formula it is
the mean over runs, of oracles that are fast enough for `FEWEST` runs in `--seconds`.

Speed: reports of all users and the estimates from them, best of the runs, in time of the processor, since other work
may run beside; both sides use one core. Theirs is timed on `--timed` users, since all that they do grows with their
number, and scaled up; compilation by numba is not counted. Ours is given twice: the tally alone, exact in law, which
is what a session draws, and with every user's message made.
"""

import argparse
import itertools
import json
import subprocess
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

import numpy as np

RIVALS = ("pure-ldp", "multi-freq-ldpy", "xxhash<4", "scikit-learn", "statsmodels", "tqdm", "bitarray", "bitstring")

FEWEST = 20
"""Least runs for a comparison of errors."""

RIVAL_CODE = r"""
import json, sys, time, warnings
warnings.filterwarnings("ignore")
import numpy as np
from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer
from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client

def by_server(server, client, items, k):
    for item in items:
        server.aggregate(client.privatise(int(item) + 1))
    counts = np.array([server.estimate(x + 1, suppress_warnings=True) for x in range(k)])
    return counts / len(items)

def hadamard(items, k, epsilon):
    server = HadamardResponseServer(epsilon, k)
    client = HadamardResponseClient(epsilon, k, hash_funcs=server.get_hash_funcs())
    return by_server(server, client, items, k)

def unary(items, k, epsilon):
    return by_server(UEServer(epsilon, k, use_oue=True), UEClient(epsilon, k, use_oue=True), items, k)

def hashing(items, k, epsilon):
    return by_server(LHServer(epsilon, k, use_olh=True), LHClient(epsilon, k, use_olh=True), items, k)

def mf_unary(items, k, epsilon):
    total = np.zeros(k)
    for item in items:
        total += UE_Client(int(item), k, epsilon, True)
    p, q = 0.5, 1 / (np.exp(epsilon) + 1)
    return (total / len(items) - q) / (p - q)

def mf_subset(items, k, epsilon):
    total, e = np.zeros(k), np.exp(epsilon)
    for item in items:
        total[SS_Client(int(item), k, epsilon)] += 1
    size = int(max(1, np.rint(k / (e + 1))))
    p = size * e / (size * e + k - size)
    q = ((size - 1) * size * e + (k - size) * size) / ((k - 1) * (size * e + k - size))
    return (total / len(items) - q) / (p - q)

def mf_grr(items, k, epsilon):
    total, e = np.zeros(k), np.exp(epsilon)
    for item in items:
        total[GRR_Client(int(item), k, epsilon)] += 1
    p, q = e / (e + k - 1), 1 / (e + k - 1)
    return (total / len(items) - q) / (p - q)

METHODS = {
    "pure-ldp HR": hadamard, "pure-ldp OUE": unary, "pure-ldp OLH": hashing,
    "multi-freq SS": mf_subset, "multi-freq OUE": mf_unary, "multi-freq GRR": mf_grr,
}

def chances(name, k, epsilon):
    e = np.exp(epsilon)
    if name.endswith("OUE"):
        return 0.5, 1 / (e + 1)
    if name.endswith("SS"):
        size = int(max(1, np.rint(k / (e + 1))))
        p = size * e / (size * e + k - size)
        return p, ((size - 1) * size * e + (k - size) * size) / ((k - 1) * (size * e + k - size))
    if name.endswith("GRR"):
        return e / (e + k - 1), 1 / (e + k - 1)
    return None

def expected(name, k, epsilon, truth, n):
    found = chances(name, k, epsilon)
    if found is None:
        return None
    p, q = found
    return float((q * (1 - q) + truth * (p - q) * (1 - 2 * q) - (p - q) ** 2 * truth).sum() / (n * (p - q) ** 2))

asked = json.loads(sys.stdin.read())
items, k, epsilon, timed = np.array(asked["codes"]), asked["items"], asked["epsilon"], asked["timed"]
truth = np.bincount(items, minlength=k) / len(items)
for name, method in METHODS.items():
    method(items[:20], k, epsilon)
    seconds = []
    for _ in range(3):
        start = time.process_time()
        method(items[:timed], k, epsilon)
        seconds.append((time.process_time() - start) * len(items) / timed)
    runs = int(min(asked["runs"], asked["seconds"] // min(seconds)))
    errors = [float(((method(items, k, epsilon) - truth) ** 2).sum()) for _ in range(runs)]
    line = {"name": name, "errors": errors, "seconds": min(seconds)}
    known = expected(name, k, epsilon, truth, len(items))
    print(json.dumps(line if known is None else line | {"expected": known}), flush=True)
"""


def environment(folder: Path) -> Path:
    """Return the Python of an environment with the packages, made if it is not there."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *RIVALS], check=True)
    return python


def theirs(python: Path, codes: np.ndarray[Any, Any], items: int, epsilon: float, wanted: argparse.Namespace) -> Any:
    """Yield name, errors and seconds of each of their oracles."""
    asked = {"codes": codes.tolist(), "items": items, "epsilon": epsilon, "timed": min(wanted.timed, len(codes))}
    asked |= {"runs": wanted.runs, "seconds": wanted.seconds}
    done = subprocess.run(
        [python, "-c", RIVAL_CODE], input=json.dumps(asked), stdout=subprocess.PIPE, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def ours(codes: np.ndarray[Any, Any], items: int, epsilon: float, wanted: argparse.Namespace) -> Any:
    """Return name, errors and seconds of the oracle that ``method="auto"`` takes on 0/1 distances, and of others."""
    from emdp.estimators.frequency.items import plan_item_frequencies
    from emdp.mechanisms.oracles.bags import Bags
    from emdp.questions.item_frequencies import ItemFrequencies
    from emdp.questions.price import Price
    from emdp.spaces import Categories

    space = Categories("kind", list(range(items)))
    bags, truth = Bags.of_items(codes), np.bincount(codes, minlength=items) / len(codes)
    found = []
    for method in ("auto", "subset", "unary", "projective", "hadamard"):
        query = ItemFrequencies(Price("epsilon", epsilon), method=method, model="local")  # type: ignore[arg-type]
        plan = plan_item_frequencies(query, space=space, users=len(codes))
        oracle = plan.releaser.oracle  # type: ignore[attr-defined]
        errors, tallied, messages = [], [], []
        while len(errors) < wanted.runs and sum(tallied) < wanted.seconds:
            start = time.process_time()
            estimates = oracle.decode(oracle.draw_tally(bags))
            tallied.append(time.process_time() - start)
            errors.append(float(((estimates - truth) ** 2).sum()))
        for _ in range(3):
            start = time.process_time()
            oracle.decode(oracle.tally(oracle.encode(bags)))
            messages.append(time.process_time() - start)
        name = f"emdp {'auto: ' if method == 'auto' else ''}{oracle.name}"
        expected = oracle.expected_l2_squared(truth, truth)
        times = {"seconds": min(tallied), "messages": min(messages)}
        found.append({"name": name, "errors": errors, "expected": expected, **times})
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, nargs="*", default=[100, 1024])
    parser.add_argument("--users", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--epsilon", type=float, nargs="*", default=[1.0, 3.0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0, help="most time for the runs of one oracle")
    parser.add_argument("--timed", type=int, default=2000, help="users on whom their oracles are timed")
    parser.add_argument("--environment", type=Path, help="folder of the environment with their packages")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        python = environment(wanted.environment or Path(folder) / "rivals")
        for items, users in itertools.product(wanted.items, wanted.users):
            weights = 1.0 / np.arange(1, items + 1)
            codes = np.random.default_rng(1).choice(items, size=users, p=weights / weights.sum())
            for epsilon in wanted.epsilon:
                print(f"{items} items, {users} users, epsilon = {epsilon:g}", flush=True)
                own = ours(codes, items, epsilon, wanted)
                show(own, theirs(python, codes, items, epsilon, wanted))


def show(own: list[dict[str, Any]], rivals: list[dict[str, Any]]) -> None:
    """Print a line for each oracle and the ratios of both sides."""
    for one in [*own, *rivals]:
        errors = np.array(one["errors"])
        spread = f" +- {errors.std(ddof=1) / np.sqrt(len(errors)):.2g}" if len(errors) > 1 else ""
        mean = f"{errors.mean():.5g}" if len(errors) else "of no run"
        expected = f", expected {one['expected']:.5g}" if "expected" in one else ""
        apart = f", every message made {one['messages']:.4g} s" if "messages" in one else ""
        print(
            f"  {one['name']:38s} squared error {mean}{spread}{expected} "
            f"({len(errors)} runs), {one['seconds']:.4g} s{apart}",
            flush=True,
        )
    compared = [one for one in rivals if "expected" in one or len(one["errors"]) >= FEWEST]
    if not compared:
        return
    best, least = min(compared, key=_error), min(own, key=_error)
    for one in (own[0], least):
        runs = len(best["errors"])
        measured = f"{np.mean(one['errors']) / np.mean(best['errors']):.3f} by the runs" if runs else "by the formulas"
        print(
            f"  {one['name']}: {_error(one) / _error(best):.4f} times the expected error of their best, {best['name']} "
            f"({measured}), at "
            f"{best['seconds'] / one['seconds']:.0f} times its speed, "
            f"{best['seconds'] / one['messages']:.0f} times with every message made",
            flush=True,
        )


def _error(one: dict[str, Any]) -> float:
    return float(one["expected"]) if "expected" in one else float(np.mean(one["errors"]))


if __name__ == "__main__":
    main()
