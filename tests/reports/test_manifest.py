"""The check of a report's manifest: what is as it was agrees, and every forged field is named."""

import copy
import hashlib
import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from emdp.base.errors import EmdpError
from emdp.cli import main
from emdp.cli.ledger import app
from emdp.ledger import open_ledger, read_ledger
from emdp.privacy import Budget, EmdDP, GuaranteeEvent, LaplaceEvent, UserDP
from emdp.reports.manifest import check_manifest

PERIOD, VERSION, USERS = "2026-W47", "v1", 1000
TITLE = "Where people go"
QUERIES = (
    "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE(POINT(40.7484, -73.9857))) AS km FROM visits",
    "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 2.0) FREQUENCY(GRID(1.0)) FROM visits",
    "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 3.0) AVG(SIMILARITY('cafe')) FROM visits",
)
TITLES = ("Distance to midtown", "Map", "Words")
DEFINITION = f'title = "{TITLE}"\ncatalog = "emdp.toml"\n' + "".join(
    f'[[entry]]\ntitle = "{title}"\nquery = """{query}"""\n' for title, query in zip(TITLES, QUERIES, strict=True)
)
EVENTS = (
    LaplaceEvent(1.0, 1, scale=1.0, sensitivity=1.0, grid=2.0**-40, slack_epsilon=2.0**-39),
    GuaranteeEvent(EmdDP(2.0, 1e-9)),
)


def sha256(content):
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def pay(ledger, place, *, report=TITLE, period=PERIOD, table="visits"):
    """Charge an entry's event and store its answer, as a run of a report does."""
    query = QUERIES[place]
    tags = {"period": period, "report": report, "entry": TITLES[place] if report else None, "reserve": None}
    payload = {"query": query, "data_version": VERSION, "users": USERS, "questions": [sha256(query)], **tags}
    event = EVENTS[place].to_json()
    charge = ledger.append("charge", table, {**payload, "event": event, "budget": EmdDP(0).kind_name})
    del tags["reserve"]
    stored = {"question": sha256(query), "charge": charge.sequence, "query": query, "data_version": VERSION, **tags}
    return charge, ledger.append("answer", table, stored, content=f'{{"answer": {place}}}')


def listed(place, charge, answer, *, is_reused, files):
    return {
        "title": TITLES[place],
        "query": QUERIES[place],
        "reused": is_reused,
        "error": None,
        "charge": {"sequence": charge.sequence, "hash": charge.hash, "event": charge.payload["event"]},
        "answer": {"sequence": answer.sequence, "hash": answer.hash, "content": answer.payload["content"]},
        "files": files,
    }


@pytest.fixture
def made(tmp_path):
    """Return a folder with a ledger, a page's files and its manifest: one entry reused, one paid, one failed."""
    path, folder = tmp_path / "city.ledger", tmp_path / "page"
    (folder / "tables").mkdir(parents=True)
    files = {"tables/distance.csv": b"km\n1.5\n", "tables/map.parquet": bytes(range(256)) * 9000}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    with open_ledger(path) as ledger:
        budgets = [Budget(EmdDP(60.0, 1e-8)).to_json(), Budget(UserDP(2.0)).to_json()]
        ledger.append("budget", "visits", {"budgets": budgets})
        ledger.append("budget", "words", {"budgets": budgets})
        reused = pay(ledger, 0, report=None)
        other = pay(ledger, 0, report="Another", period="2026-W46")
        wrong = pay(ledger, 0, table="words")
        paid = pay(ledger, 1)
        head = ledger.head()
        later = pay(ledger, 0, report="Another")
        name = ledger.ledger_id
    remaining = {"EmdDP": EmdDP(56.0, 9e-9), "UserDP": UserDP(2.0)}
    spent = {"EmdDP": EmdDP(4.0, 1e-9), "UserDP": UserDP(0.0)}
    manifest = {
        "format": 1,
        "made": "2026-11-20T09:00:00+00:00",
        "versions": {"emdp": "0.1.0"},
        "report": {"title": TITLE, "definition": DEFINITION, "sha256": sha256(DEFINITION)},
        "table": "visits",
        "period": PERIOD,
        "data_version": VERSION,
        "users": USERS,
        "guarantees": [
            {"kind": promise.kind_name, "promise": promise.to_json(),
             "spent": spent[type(promise).__name__].to_json(), "remaining": remaining[type(promise).__name__].to_json()}
            for promise in (EmdDP(60.0, 1e-8), UserDP(2.0))
        ],
        "ledger": {"id": name, "sequence": head[0], "head": head[1]},
        "entries": [
            listed(0, *reused, is_reused=True, files=["tables/distance.csv"]),
            listed(1, *paid, is_reused=False, files=["tables/map.parquet"]),
            {"title": TITLES[2], "query": QUERIES[2], "reused": False, "error": "refused", "charge": None,
             "answer": None, "files": []},
        ],
        "files": {file: sha256(content) for file, content in files.items()},
    }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return {"path": path, "folder": folder, "manifest": manifest, "other": other, "wrong": wrong, "later": later}


def problems_of(made, manifest):
    with read_ledger(made["path"]) as ledger:
        return check_manifest(manifest, made["folder"], ledger)


def forged(made, *keys, value):
    """Return the manifest with one value put in another's place."""
    manifest = copy.deepcopy(made["manifest"])
    inner = manifest
    for key in keys[:-1]:
        inner = inner[key]
    assert inner[keys[-1]] != value or type(inner[keys[-1]]) is not type(value)
    inner[keys[-1]] = value
    return problems_of(made, manifest)


def places(problems):
    return {problem.partition(":")[0] for problem in problems}


def test_a_manifest_that_is_as_it_was_agrees(made):
    assert problems_of(made, made["manifest"]) == []
    assert problems_of(made, json.loads((made["folder"] / "manifest.json").read_text())) == []


WRONG = "0" * 64
FORGERIES = [
    (("format",), 2, "format"),
    (("format",), True, "format"),
    (("report", "title"), "What people do", "report.title"),
    (("report", "definition"), DEFINITION.replace("1.0", "9.0"), "report.sha256"),
    (("report", "definition"), "title = ", "report.definition"),
    (("report", "sha256"), WRONG, "report.sha256"),
    (("table",), "words", "table"),
    (("table",), "streets", "table"),
    (("period",), "2026-W46", "period"),
    (("period",), None, "period"),
    (("data_version",), "v2", "data_version"),
    (("users",), 1001, "users"),
    (("guarantees",), [], "guarantees"),
    (("guarantees", 0, "kind"), "central UserDP", "guarantees[0].kind"),
    (("guarantees", 0, "promise"), EmdDP(50.0, 1e-8).to_json(), "guarantees[0].promise"),
    (("guarantees", 0, "promise"), EmdDP(60.0, 1e-9).to_json(), "guarantees[0].promise"),
    (("guarantees", 0, "promise"), {"kind": "Nothing"}, "guarantees[0]"),
    (("guarantees", 0, "spent"), EmdDP(3.0, 1e-9).to_json(), "guarantees[0].spent"),
    (("guarantees", 0, "spent"), EmdDP(4.0, 0.0).to_json(), "guarantees[0].spent"),
    # What was spent before the last entry of the page, and after its head.
    (("guarantees", 0, "spent"), EmdDP(2.0).to_json(), "guarantees[0].spent"),
    (("guarantees", 0, "spent"), EmdDP(5.0, 1e-9).to_json(), "guarantees[0].spent"),
    (("guarantees", 1, "spent"), UserDP(0.1).to_json(), "guarantees[1].spent"),
    (("guarantees", 0, "remaining"), EmdDP(56.000001, 9e-9).to_json(), "guarantees[0].remaining"),
    (("guarantees", 0, "remaining"), EmdDP(56.0, 1e-8).to_json(), "guarantees[0].remaining"),
    (("guarantees", 1, "remaining"), EmdDP(1.0).to_json(), "guarantees[1].remaining"),
    (("ledger", "id"), WRONG[:32], "ledger.id"),
    (("ledger", "sequence"), 10, "ledger.sequence"),
    (("ledger", "sequence"), 99, "ledger.sequence"),
    (("ledger", "sequence"), 0, "ledger.sequence"),
    (("ledger", "head"), WRONG, "ledger.head"),
    (("entries",), [], "entries"),
    (("entries", 0, "title"), "Distance to the sea", "entries[0].title"),
    (("entries", 1, "title"), "Maps", "entries[1].reused"),
    (("entries", 2, "title"), "Words of all", "entries[2].title"),
    (("entries", 0, "query"), QUERIES[0].replace("40.7", "40.8"), "entries[0].query"),
    (("entries", 0, "query"), QUERIES[0].replace("km", "KM"), "entries[0].query"),
    (("entries", 0, "query"), "'", "entries[0].query"),
    (("entries", 0, "reused"), False, "entries[0].reused"),
    (("entries", 2, "reused"), True, "entries[2].reused"),
    (("entries", 0, "error"), "refused", "entries[0].error"),
    (("entries", 2, "error"), None, "entries[2].error"),
    (("entries", 0, "charge"), None, "entries[0].charge"),
    (("entries", 0, "answer"), None, "entries[0].charge"),
    (("entries", 0, "charge", "sequence"), 99, "entries[0].charge.sequence"),
    (("entries", 0, "charge", "sequence"), -1, "entries[0].charge.sequence"),
    (("entries", 0, "charge", "sequence"), 5, "entries[0].charge.sequence"),
    (("entries", 0, "charge", "sequence"), 6, "entries[0].charge.hash"),
    (("entries", 0, "charge", "hash"), WRONG, "entries[0].charge.hash"),
    (("entries", 0, "charge", "event"), EVENTS[1].to_json(), "entries[0].charge.event"),
    (("entries", 0, "charge", "event", "scale"), 0.5, "entries[0].charge.event"),
    (("entries", 1, "charge", "event", "guarantee", "alpha"), 1.0, "entries[1].charge.event"),
    (("entries", 0, "answer", "sequence"), 4, "entries[0].answer.sequence"),
    (("entries", 0, "answer", "sequence"), 7, "entries[0].answer.hash"),
    (("entries", 0, "answer", "hash"), WRONG, "entries[0].answer.hash"),
    (("entries", 0, "answer", "content"), WRONG, "entries[0].answer.content"),
    (("entries", 0, "files"), ["tables/other.csv"], "entries[0].files"),
    (("entries", 0, "files"), [3], "entries[0].files"),
    (("files", "tables/distance.csv"), WRONG, "files"),
    (("files", "tables/distance.csv"), None, "files"),
    (("files",), {}, "entries[0].files"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("keys", "value", "place"), FORGERIES, ids=lambda value: str(value)[:40])
def test_every_forged_field_is_named(made, keys, value, place):
    assert place in places(forged(made, *keys, value=value))


def walk(value, keys=()):
    """Yield the keys of every object in a manifest, but for those whose content is not the manifest's own."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*keys, key)
        if isinstance(inner, dict | list) and key not in {"versions", "event", "promise", "spent", "remaining"}:
            yield from walk(inner, (*keys, key))


@pytest.mark.slow
def test_every_field_that_is_missing_or_of_another_type_is_named(made):
    """Nothing is raised whatever stands in a field, and what stands there instead is named."""
    for keys in walk(made["manifest"]):
        for value in (Ellipsis, None, 3.5, "no", [], {}, [[]], True, -1):
            manifest = copy.deepcopy(made["manifest"])
            inner = manifest
            for key in keys[:-1]:
                inner = inner[key]
            before = inner[keys[-1]]
            if value is Ellipsis:
                del inner[keys[-1]]
            else:
                inner[keys[-1]] = value
            unknown = keys[0] in {"made", "versions"} and isinstance(value, type(before))
            text = keys[-1] == "error" and before is not None and isinstance(value, str)
            failed = keys == ("entries", 2, "query") and isinstance(value, str)
            alike = value == before and type(value) is type(before)
            is_listed = keys[0] == "files" or "files" in keys
            fewer = is_listed and value in (Ellipsis, [])
            # A later run of the report says so of the same answer.
            again = keys[-1] == "reused" and value is True
            if not (unknown or text or failed or alike or fewer or again):
                assert problems_of(made, manifest), (keys, value)
            else:
                problems_of(made, manifest)


@pytest.mark.parametrize("manifest", [None, [], "manifest", 1, {}, {"format": 1}])
def test_what_is_no_manifest_is_named_too(made, manifest):
    assert problems_of(made, manifest)


def test_a_charge_of_another_table_period_or_after_the_head_does_not_stand_for_an_entry(made):
    for name, expected in (
        ("other", {"period"}),
        ("wrong", {"table"}),
        ("later", {"entries[0].charge.sequence", "entries[0].answer.sequence", "guarantees[0].spent"}),
    ):
        entry = listed(0, *made[name], is_reused=True, files=["tables/distance.csv"])
        assert expected & places(forged(made, "entries", 0, value=entry)), name


def test_an_answer_stands_with_the_charge_that_paid_for_it(made):
    _, answer = made["other"]
    stated = {"sequence": answer.sequence, "hash": answer.hash, "content": answer.payload["content"]}
    assert "entries[0].answer" in places(forged(made, "entries", 0, "answer", value=stated))


def test_the_layout_of_a_query_does_not_matter_but_its_words_do(made):
    manifest = copy.deepcopy(made["manifest"])
    manifest["entries"][0]["query"] = QUERIES[0].replace(" ", "\n  ") + " -- as written"
    assert problems_of(made, manifest) == []


def test_changed_and_missing_files_are_named(made):
    page = made["folder"] / "tables" / "map.parquet"
    page.write_bytes(page.read_bytes()[:-1] + b"\0")
    assert problems_of(made, made["manifest"]) == ["files: 'tables/map.parquet' was changed"]
    page.unlink()
    assert problems_of(made, made["manifest"]) == ["files: 'tables/map.parquet' is missing"]


@pytest.mark.parametrize("name", ["../city.ledger", "/etc/hostname", "tables/../../city.ledger", "", "..\\x", "a\0b"])
def test_no_file_outside_the_folder_is_opened(made, name):
    manifest = copy.deepcopy(made["manifest"])
    manifest["files"][name] = sha256(Path(made["path"]).read_bytes())
    assert places(problems_of(made, manifest)) == {"files"}


def test_a_link_out_of_the_folder_is_no_file_of_the_page(made):
    (made["folder"] / "linked").symlink_to(made["path"])
    manifest = copy.deepcopy(made["manifest"])
    manifest["files"]["linked"] = sha256(Path(made["path"]).read_bytes())
    assert problems_of(made, manifest) == ["files: 'linked' is missing"]


def test_a_text_that_was_forgotten_is_not_missed(made):
    with open_ledger(made["path"]) as ledger:
        assert ledger.forget([made["manifest"]["entries"][0]["answer"]["content"]]) == 1
    assert problems_of(made, made["manifest"]) == []
    assert places(forged(made, "entries", 0, "answer", "content", value=WRONG)) == {"entries[0].answer.content"}


def test_spending_by_others_between_the_last_entry_and_the_head_is_allowed_for(made):
    # Another process was charged after what was spent was added up, and before the head was read.
    with read_ledger(made["path"]) as ledger:
        sequence, head = ledger.head()
    manifest = copy.deepcopy(made["manifest"])
    manifest["ledger"].update(sequence=sequence, head=head)
    assert problems_of(made, manifest) == []
    manifest["guarantees"][0].update(spent=EmdDP(5.0, 1e-9).to_json(), remaining=EmdDP(55.0, 9e-9).to_json())
    assert problems_of(made, manifest) == []
    manifest["guarantees"][0]["remaining"] = EmdDP(56.0, 9e-9).to_json()
    assert places(problems_of(made, manifest)) == {"guarantees[0].remaining"}


def test_another_ledger_or_an_older_copy_disagrees(made, tmp_path):
    with open_ledger(tmp_path / "other.ledger") as ledger:
        ledger.append("budget", "visits", {"budgets": [Budget(EmdDP(60.0, 1e-8)).to_json()]})
        found = places(check_manifest(made["manifest"], made["folder"], ledger))
    assert {"ledger.id", "ledger.head", "ledger.sequence", "guarantees", "entries[0].charge.sequence"} <= found


def run(*arguments):
    result = CliRunner().invoke(app, ["verify", *map(str, arguments)])
    if isinstance(result.exception, EmdpError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_verify_prints_what_was_checked(made):
    manifest = made["folder"] / "manifest.json"
    head = made["manifest"]["ledger"]["head"]
    for options in ((), ("--head", head)):
        output = run(made["path"], "--manifest", manifest, *options)
        lines = output.splitlines()
        assert lines[0] == "ok"
        assert lines[1] == f"manifest: {manifest}, up to entry {made['manifest']['ledger']['sequence']} of the ledger"
        assert lines[2] == (
            "checked: entries 3, answers with their charges 2 (of which the text is still kept: 2), budgets 2, files 2"
        )
        assert lines[3].startswith("not checked")
        assert lines[4].startswith("entries: ")


def failed(capsys, *arguments):
    with pytest.raises(SystemExit) as caught:
        main(["ledger", "verify", *map(str, arguments)])
    out, err = capsys.readouterr()
    assert caught.value.code == 2
    assert out == ""
    return err


def test_verify_lists_every_mismatch_and_exits_with_2(made, capsys):
    forgery = copy.deepcopy(made["manifest"])
    forgery["users"] = 7
    forgery["entries"][0]["query"] = "SELECT \x1b[2J"
    path = made["folder"] / "forged.json"
    path.write_text(json.dumps(forgery), encoding="utf-8")
    (made["folder"] / "tables" / "distance.csv").write_text("km\n1.4\n")
    lines = failed(capsys, made["path"], "--manifest", path).splitlines()
    assert lines[0] == f"emdp: manifest {path} disagrees with ledger {made['path']} in {len(lines) - 1} places:"
    assert {line.strip().partition(":")[0] for line in lines[1:]} == {"users", "entries[0].query", "files"}


@pytest.mark.slow
def test_verify_of_what_is_no_manifest(made, tmp_path, capsys):
    broken = tmp_path / "broken.json"
    for content in (b"{", b"\xff\xfe", b"[" * 100_000):
        broken.write_bytes(content)
        assert "holds no JSON" in failed(capsys, made["path"], "--manifest", broken)
    assert "cannot be read" in failed(capsys, made["path"], "--manifest", tmp_path / "missing.json")
    assert "cannot be read" in failed(capsys, made["path"], "--manifest", tmp_path)


def test_verify_still_walks_the_chain(made, capsys):
    damaged = made["path"].with_name("damaged.ledger")
    shutil.copy(made["path"], damaged)
    content = damaged.read_bytes()
    damaged.write_bytes(content.replace(b'"alpha":1.0', b'"alpha":0.1'))
    assert damaged.read_bytes() != content
    assert "the chain breaks" in failed(capsys, damaged, "--manifest", made["folder"] / "manifest.json")
