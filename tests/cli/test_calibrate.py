"""``emdp calibrate`` as a person runs it: from protections to alpha, on to noise, users, samples and randomizers."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from emdp.cli import main
from emdp.privacy.reduction import published_reduction_alpha, reduction_quantile
from emdp.privacy.shuffle.items import shuffle_alpha, shuffle_alpha0
from emdp.privacy.shuffle.users import shuffle_epsilon0

EARTH = ["--diameter", "12930", "--change", "1/30,1000,0.2", "--change", "1,100,0.2"]
ITEMS = ["--delta", "1e-6", "--records", "10", "--users", "100"]

CATALOG = """
ledger = "city.ledger"
[tables.visits]
source = "visits.csv"
user = "who"
users = 2
records = 2
space = { kind = "interval", col = "x", low = 0.0, high = 20.0 }
protect = [{ fraction = 0.5, distance = 1.0, epsilon = 0.2 }]
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"who": [1, 1, 2, 2], "x": [1.0, 2.0, 3.0, 4.0]}).write_csv("visits.csv")
    Path("emdp.toml").write_text(CATALOG)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(["calibrate", *arguments])
    out, err = capsys.readouterr()
    return int(caught.value.code or 0), out, err


def found(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    status, out, err = run(capsys, *arguments, "--json")
    assert (status, err) == (0, "")
    return dict(json.loads(out))


@pytest.mark.slow
def test_protections_lead_to_alpha(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emdp.cli.tables.PIPED", 120)
    status, out, err = run(capsys, *EARTH)
    assert (status, err) == (0, "")
    assert out.splitlines()[0] == "alpha = 25.86 covers every one of these changes"
    assert out.splitlines()[1].split() == [
        "fraction", "distance", "wanted_epsilon", "d_em", "alpha_needed", "covered_with",
        "one_record", "one_of_ten",
    ]  # fmt: skip
    values = found(capsys, *EARTH)
    assert values["alpha"] == 25.86
    assert [row["alpha_needed"] for row in values["protections"]] == [pytest.approx(77.58), 25.86]
    assert [row["covered_with"] for row in values["protections"]] == [pytest.approx(0.2 / 3), 0.2]
    # a given alpha is held against the protections
    assert "does not cover all of these changes; at most 25.86 does" in run(capsys, *EARTH, "--alpha", "30")[1]
    assert "alpha = 20 covers every one" in run(capsys, *EARTH, "--alpha", "20")[1]


@pytest.mark.slow
def test_a_part_of_a_product_space_is_named_after_the_numbers(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    parts = '{ kind = "interval", col = "x", low = 0, high = 20 }, { kind = "categories", col = "y", values = ["a"] }'
    product = f'{{ kind = "product", parts = [{parts}] }}'
    text = CATALOG.replace('{ kind = "interval", col = "x", low = 0.0, high = 20.0 }', product)
    (place / "emdp.toml").write_text(text.split("protect")[0])
    pl.DataFrame({"who": [1, 2], "x": [1.0, 2.0], "y": ["a", "a"]}).write_csv("visits.csv")
    assert found(capsys, "-C", "emdp.toml", "--change", "0.5,1,0.2,x")["alpha"] == 16.0
    status, out, err = run(capsys, "-C", "emdp.toml", "--change", "0.5,1,0.2")
    assert (status, out) == (2, "")
    assert err == (
        "emdp: --change lacks the part of the space in which records move; end it in one of the columns x, y, as in "
        "--change 0.5,1,0.2,x.\n"
    )
    assert "has 'z' for the part" in run(capsys, "-C", "emdp.toml", "--change", "0.5,1,0.2,z")[2]
    assert "--change '2,1,0.2,x' cannot be read: fraction" in run(capsys, "-C", "emdp.toml", "--change", "2,1,0.2,x")[2]


def test_a_catalog_has_diameter_users_records_and_protections(capsys: pytest.CaptureFixture[str]) -> None:
    values = found(capsys, "-C", "emdp.toml", "--delta", "1e-6")
    assert values["alpha"] == 8.0
    assert values["mean"][0]["scale"] == pytest.approx(20 / (8 * 2))
    assert [row["accountant"] for row in values["accountants"]][-1] in ("composition", "closed form")
    assert "accountants" not in found(capsys, "-C", "emdp.toml")
    # what is asked for by name goes before what the catalog protects
    assert "protections" not in found(capsys, "-C", "emdp.toml", "--alpha0", "1", "--delta", "1e-6")
    assert not Path("city.ledger").exists()


def test_noise_and_users_of_a_mean(capsys: pytest.CaptureFixture[str]) -> None:
    mean = ["--alpha", "2", "--delta", "1e-6", "--lipschitz", "3"]
    values = found(capsys, *mean, "--users", "1000", "--error", "0.01")
    rows = {(row["model"], row["noise"]): row for row in values["mean"]}
    assert rows["central", "Laplace"]["scale"] == pytest.approx(3 / 2000)
    assert rows["central", "Laplace"]["half_width_95"] == pytest.approx(math.log(20) * 3 / 2000)
    assert rows["local", "Laplace"]["half_width_95"] == pytest.approx(1.95996 * math.sqrt(2 / 1000) * 1.5, rel=1e-5)
    assert len(rows) == 4
    # as many users as it says are enough, one less is not
    for needed in values["users"]:
        for users, holds in ((needed["users"], True), (needed["users"] - 1, False)):
            again = found(capsys, *mean, "--users", str(users))["mean"]
            (half,) = (
                row["half_width_95"]
                for row in again
                if (row["model"], row["noise"]) == (needed["model"], needed["noise"])
            )
            assert (half <= 0.01 * (1 + 1e-9)) == holds
    # a distance in the space's own unit by default
    assert found(capsys, *EARTH, "--users", "1000")["mean"][0]["scale"] == pytest.approx(12930 / 25860)
    # more people than there are is no number
    hopeless = found(capsys, "--alpha", "1e-9", "--lipschitz", "3", "--error", "1e-9")["users"]
    assert [row["users"] for row in hopeless] == [None, None]


@pytest.mark.slow
def test_randomizers_by_every_accountant_both_ways(capsys: pytest.CaptureFixture[str]) -> None:
    rows = found(capsys, "--alpha", "4", *ITEMS)["accountants"]
    assert rows[0]["alpha0"] == shuffle_alpha0(4.0, 10, 1000, 1e-6)
    assert {row["accountant"] for row in rows} >= {"composition", "closed form"}
    rows = found(capsys, "--alpha0", "1", *ITEMS)["accountants"]
    assert rows[0]["alpha"] == shuffle_alpha(1.0, 10, 1000, 1e-6)
    assert rows[-1] == {
        "accountant": "closed form",
        "alpha": None,
        "why": "alpha0 must be below 0.9477 here",
    }
    local = found(capsys, "--alpha", "4", "--delta", "1e-6", "--records", "500", "--model", "local")["accountants"]
    assert local[0]["alpha0"] == shuffle_alpha0(4.0, 500, 500, 1e-6)
    sharper = found(capsys, "--alpha", "4", *ITEMS, "--w-min", "1")["accountants"]
    assert sharper[0]["alpha0"] == shuffle_alpha0(4.0, 10, 1000, 1e-6, 1.0)
    status, out, _ = run(capsys, "--alpha0", "1", *ITEMS)
    assert status == 0
    assert out.startswith("a randomizer of alpha0 = 1 gives this alpha, with 10 records of a user among 1000 shuffled")


@pytest.mark.slow
def test_a_promise_for_near_bags_is_met_by_sampling(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--epsilon", "1", "--r", "0.05", "--delta", "1e-6"]
    values = found(capsys, *asked, "--samples", "1000", "--users", "50")
    plain, sampled, published = values["reduction"]
    assert plain["alpha"] == 20.0
    assert values["alpha"] == sampled["alpha"] == pytest.approx(1 / sampled["q"])
    assert sampled["q"] < reduction_quantile(0.05, 1000, 1e-6)
    assert sampled["delta_sampling"] + sampled["delta_mechanism"] == pytest.approx(1e-6)
    assert published["alpha"] == published_reduction_alpha(1.0, 0.05, 1000, 1e-6)
    rows = values["accountants"]
    assert rows[0]["alpha0"] == shuffle_alpha0(sampled["alpha"], 1000, 50_000, sampled["delta_mechanism"])
    # without users only the split, without samples as many as there is time for
    assert "accountants" not in found(capsys, *asked, "--samples", "1000")
    chosen = found(capsys, *asked, "--users", "1000000", "--seconds", "3")
    assert 90 <= chosen["reduction"][1]["samples"] <= 100


@pytest.mark.slow
def test_messages_of_every_kind_both_ways_and_the_three_models(capsys: pytest.CaptureFixture[str]) -> None:
    # shuffle-known-randomizers.md 3: k = 1000
    mixed = ["--delta", "1e-6", "--users", "10000"]
    values = found(capsys, "--epsilon", "0.5", *mixed, "--items", "1000")
    rows = {row["message"]: row for row in values["messages"]}
    assert rows["any"]["epsilon0"] == shuffle_epsilon0(0.5, 10**4, 1e-6)
    assert rows["any"]["epsilon0"] < rows["a place and a sign"]["epsilon0"] < rows["two outputs"]["epsilon0"]
    assert rows["krr"]["deviation"] == pytest.approx(1.101e-3, rel=3e-3)
    models = {(row["asked"], row["model"]): row for row in values["models"]}
    share = "a share among 1000"
    assert models[share, "shuffle"]["method"] == "krr"
    for asked in ("a yes or no", share):
        assert models[asked, "central"]["deviation"] < models[asked, "shuffle"]["deviation"]
        assert models[asked, "shuffle"]["deviation"] < models[asked, "local"]["deviation"] / 10
    back = {
        row["message"]: row["epsilon"] for row in found(capsys, "--epsilon0", "4", *mixed, "--items", "100")["messages"]
    }
    assert back["krr"] == pytest.approx(0.233739, abs=1e-5)
    assert back["a place and a sign"] == pytest.approx(0.410812, abs=1e-6)
    assert back["any"] == pytest.approx(0.600909, abs=1e-6)
    metric = found(capsys, "--alpha", "0.5", *mixed, "--items", "1000")
    assert metric["alpha"] == 0.5
    assert {row["message"] for row in metric["messages"]} >= {"krr", "unary"}
    assert [row["model"] for row in metric["models"]] == ["central", "shuffle", "local"]
    several = found(capsys, "--epsilon", "0.5", *mixed, "--messages", "4")
    assert several["messages"][1]["epsilon0"] == shuffle_epsilon0(0.5, 10**4, 1e-6, 4, randomizer="place-sign")
    drawn = {"--sampled": {"sampled": 1000}, "--participation": {"participation": 0.1}}
    for option, given in drawn.items():
        asked = [option, str(*given.values()), *mixed, "--messages", "3"]
        rows = {row["message"]: row for row in found(capsys, "--epsilon", "0.5", *asked)["messages"]}
        strength = shuffle_epsilon0(0.5, 10**4, 1e-6, 3, randomizer="place-sign", **given)  # type: ignore[arg-type]
        assert rows["a place and a sign"]["epsilon0"] == strength
        back = {
            row["message"]: row["epsilon"] for row in found(capsys, "--epsilon0", str(strength), *asked)["messages"]
        }
        assert 0.49 < back["a place and a sign"] <= 0.5
    status, out, _ = run(capsys, "--epsilon", "0.5", *mixed)
    assert status == 0
    assert "epsilon = 0.5 allows messages of this epsilon0, 10000 users mixed, delta = 1e-06" in out


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there is nothing to calibrate; give --change"),
        (["--alpha", "3"], "--alpha alone says no more"),
        (
            ["--alpha", "3", "--lipschitz", "1", "--users", "30", "--sampled", "4"],
            "--sampled and --participation belong",
        ),
        (
            ["--epsilon", "3", "--users", "9", "--delta", "1e-6", "--sampled", "10"],
            "--sampled must be at most the 9 users",
        ),
        (
            ["--epsilon", "3", "--users", "9", "--delta", "1e-6", "--participation", "0"],
            "--participation must be in (0, 1]",
        ),
        (
            ["--epsilon", "3", "--users", "9", "--delta", "1e-6", "--sampled", "5", "--participation", "0.5"],
            "pass one of them",
        ),
        (["--alpha", "3", "--alpha0", "1"], "--alpha and --alpha0 both lead to an alpha"),
        (["--alpha", "-1", "--lipschitz", "1", "--users", "3"], "--alpha must be above 0"),
        (["--alpha", "nan", "--lipschitz", "1", "--users", "3"], "--alpha must be finite"),
        (["--change", "1,1,0.2"], "--diameter is missing"),
        (["--change", "1,1", "--diameter", "3"], "--change must be 3 values"),
        (["--change", "1/0,1,1", "--diameter", "3"], "--change must be 3 numbers"),
        (["--change", "2,1,1", "--diameter", "3"], "fraction must be between"),
        (["--change", "1,1,0.2", "--diameter", "-3"], "--diameter must be above 0"),
        (["--change", "1,1,0.2,x", "--diameter", "3"], "part 'x' names none"),
        (["-C", "emdp.toml", "--diameter", "3"], "--diameter stands in the catalog"),
        (["-C", "other.toml"], "does not exist"),
        (["--table", "visits", "--alpha", "1"], "--table names a table of a catalog"),
        (["--period", "2026-W47", "--alpha", "1"], "--period is part of a table of a catalog"),
        (["--alpha", "1", "--error", "0.1"], "--lipschitz is missing"),
        (["--alpha", "1", "--lipschitz", "1", "--error", "0"], "--error must be above 0"),
        (["--alpha", "1", "--records", "10", "--delta", "1e-6"], "--users is missing; it says how many records"),
        (["--alpha", "1", "--records", "10", "--users", "5"], "--delta is missing; without one only"),
        (["--alpha", "1", "--records", "0", "--users", "5"], "--records must be at least 1"),
        (["--alpha0", "1", "--users", "5"], "--records is missing"),
        (["--alpha0", "1", *ITEMS, "--model", "central"], "--model must be one of 'shuffle', 'local'"),
        (["--alpha0", "1", *ITEMS, "--w-min", "2"], r"--w-min must be in"),
        (["--epsilon", "1"], "--r is missing; --epsilon and --r are one promise"),
        (["--r", "0.1"], "--epsilon is missing"),
        (["--epsilon", "1", "--users", "5"], "--delta is missing; mixing hides nothing"),
        (["--epsilon0", "1", "--delta", "1e-6"], "--users is missing; it says how many messages"),
        (["--epsilon0", "1", "--delta", "1e-6", "--users", "1"], "pass 2 or more"),
        (["--epsilon0", "1", "--alpha", "1", "--delta", "1e-6", "--users", "9"], "both lead to an alpha"),
        (["--epsilon", "1", "--delta", "1e-6", "--users", "9", "--items", "1"], "--items must be at least 2"),
        (["--epsilon", "1", "--delta", "1e-6", "--users", "9", "--messages", "0"], "--messages must be at least 1"),
        (["--epsilon", "1", "--r", "0.1", "--users", "5"], "--delta is missing; samples may lie"),
        (["--epsilon", "1", "--r", "0.1", "--delta", "1e-6"], "--users is missing; how many records can be sampled"),
        (["--epsilon", "1", "--r", "2", "--delta", "1e-6", "--samples", "5"], "r must be between"),
        (["--alpha", "1", "--samples", "5"], "--samples belongs to --epsilon and --r"),
        (["--alpha0", "1", *ITEMS, "--plot", "x.png"], "--plot 'x.png' is no SVG file"),
        (["--alpha0", "1", *ITEMS, "--plot", "no/x.svg"], "cannot be written"),
        (["--epsilon", "1", "--r", "0.1", "--delta", "1e-6", "--samples", "5", "--plot", "x.svg"], "no curve to draw"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str, place: Path
) -> None:
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.startswith("emdp: ")
    assert err.count("\n") == 1
    assert not list(place.glob("*.svg"))


@pytest.mark.slow
def test_curves_are_drawn_for_what_was_asked(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    for name, arguments, words in (
        ("a.svg", ["--alpha", "4", *ITEMS], ("alpha of the release", "alpha0 of the randomizer", "best accountant")),
        ("b.svg", ["--alpha0", "0.5", *ITEMS], ("closed form",)),
        ("c.svg", [*EARTH, "--users", "1000"], ("half-width of the 95 % interval", "users")),
        ("d.svg", ["--alpha", "1", "--lipschitz", "2", "--error", "0.1"], ("half-width",)),
    ):
        status, out, err = run(capsys, *arguments, "--plot", name)
        assert (status, err) == (0, f"wrote {name}\n")
        assert out
        svg = (place / name).read_text()
        assert svg.startswith("<?xml")
        assert all(word in svg for word in words)


def test_help_begins_with_what_can_be_asked(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--help")
    assert status == 0
    for line in (
        "  emdp calibrate --change 1/30,5,0.2 --change 1,0.15,0.2 --diameter 68\n",
        "  emdp calibrate --epsilon 1 --r 0.05 --delta 1e-9 --users 100000\n",
    ):
        assert line in out


def test_the_deviation_of_users_who_are_drawn_is_that_of_what_they_send() -> None:
    """Exactly by enumeration: five users, three with a yes; randomized response, by a sample and by joining."""
    from itertools import combinations, product

    from emdp.cli.mixing import Messages

    epsilon0, bits = 1.3, np.array([1, 1, 1, 0, 0, 0])
    contrast, users = 1 / math.tanh(epsilon0 / 2), len(bits)
    means, noises = 0.5 + (bits - 0.5), np.full(users, (contrast**2 - 1) / 4)
    picks = [list(own) for own in combinations(range(users), 2)]
    found = [means[own].mean() for own in picks]
    exact = np.var(found) + np.mean([noises[own].sum() / 4 for own in picks])
    assert Messages(users, 1e-6, sampled=2).variance(epsilon0) == pytest.approx(exact)
    total, share = 0.0, 0.3
    for joins in product((0, 1), repeat=users):
        weight = math.prod(share if one else 1 - share for one in joins)
        told = 0.5 + (np.array(joins) * (means - 0.5)).sum() / (share * users)
        total += weight * ((told - bits.mean()) ** 2 + (np.array(joins) * noises).sum() / (share * users) ** 2)
    assert Messages(users, 1e-6, participation=share).variance(epsilon0) == pytest.approx(total)
    assert Messages(users, 1e-6, rounds=4).variance(epsilon0) == pytest.approx(noises[0] / users / 4)
