"""ClickBench's 43 questions at user level: which are answered as they are, and what the others are told to write.

The texts are those of https://github.com/ClickHouse/ClickBench (Apache-2.0), numbered from 1, with nothing changed but
the header of the outermost SELECT. The unit of privacy is the user, `UserID`. Records are made up here: a small table
with the columns of `hits` that the questions read.

    python benchmarks/clickbench.py            # a line a question, then the sums
    python benchmarks/clickbench.py --answer   # each is answered too, under the test switch
"""

import argparse
import datetime
import random
import tempfile
from dataclasses import dataclass
from pathlib import Path

import polars as pl

import emdp
from emdp.base.errors import EmdpError

__all__ = ["ASKED", "Asked", "check", "made_up", "opened", "statement"]

HEADER = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, delta = 1e-9, neighbours = 'remove'{caps}) "
RECORDS = "max_records_per_user = 1000"
GROUPS = "max_groups_per_user = 20"

HITS = {
    "WatchID": pl.Int64, "JavaEnable": pl.Int64, "Title": pl.String, "GoodEvent": pl.Int64,
    "EventTime": pl.Datetime("us"),
    "EventDate": pl.Date, "CounterID": pl.Int64, "ClientIP": pl.Int64, "RegionID": pl.Int64, "UserID": pl.Int64,
    "CounterClass": pl.Int64, "OS": pl.Int64, "UserAgent": pl.Int64, "URL": pl.String, "Referer": pl.String,
    "IsRefresh": pl.Int64, "ResolutionWidth": pl.Int64, "IsLink": pl.Int64, "IsDownload": pl.Int64,
    "DontCountHits": pl.Int64, "SearchEngineID": pl.Int64, "SearchPhrase": pl.String, "AdvEngineID": pl.Int64,
    "TraficSourceID": pl.Int64, "WindowClientWidth": pl.Int64, "WindowClientHeight": pl.Int64, "MobilePhone": pl.Int64,
    "MobilePhoneModel": pl.String, "URLHash": pl.Int64, "RefererHash": pl.Int64,
}  # fmt: skip
"""Columns of `hits` that the questions read."""

WIDTHS = ", ".join("SUM(ResolutionWidth)" if not add else f"SUM(ResolutionWidth + {add})" for add in range(90))
SHORT = "CounterID = 62 AND EventDate >= '2013-07-01' AND EventDate <= '2013-07-31'"


@dataclass(frozen=True)
class Asked:
    """One question.

    Parameters
    ----------
    number : int
        From 1.
    text : str
        As ClickBench has it.
    instead : str
        What to ask where it is refused: what the refusal says, written out. Empty where it is answered as it is.
    why : str
        What a refusal's remedy has to name.
    """

    number: int
    text: str
    instead: str = ""
    why: str = ""


TOP = "ORDER BY c DESC LIMIT 10"
ASKED = (
    Asked(1, "SELECT COUNT(*) FROM hits"),
    Asked(2, "SELECT COUNT(*) FROM hits WHERE AdvEngineID <> 0"),
    Asked(3, "SELECT SUM(AdvEngineID), COUNT(*), AVG(ResolutionWidth) FROM hits"),
    Asked(
        4,
        "SELECT AVG(UserID) FROM hits",
        "SELECT AVG(CLAMP(UserID, 0, 100)) FROM hits",
        "CLAMP(UserID, 0, 100)",
    ),
    Asked(5, "SELECT COUNT(DISTINCT UserID) FROM hits"),
    Asked(6, "SELECT COUNT(DISTINCT SearchPhrase) FROM hits"),
    Asked(
        7,
        "SELECT MIN(EventDate), MAX(EventDate) FROM hits",
        "SELECT QUANTILE(DATE_DIFF('day', DATE '1970-01-01', EventDate), 0.05), "
        "QUANTILE(DATE_DIFF('day', DATE '1970-01-01', EventDate), 0.95) FROM hits",
        "QUANTILE",
    ),
    Asked(
        8, "SELECT AdvEngineID, COUNT(*) FROM hits WHERE AdvEngineID <> 0 GROUP BY AdvEngineID ORDER BY COUNT(*) DESC"
    ),
    Asked(9, "SELECT RegionID, COUNT(DISTINCT UserID) AS u FROM hits GROUP BY RegionID ORDER BY u DESC LIMIT 10"),
    Asked(
        10,
        "SELECT RegionID, SUM(AdvEngineID), COUNT(*) AS c, AVG(ResolutionWidth), COUNT(DISTINCT UserID) FROM hits "
        f"GROUP BY RegionID {TOP}",
    ),
    Asked(
        11,
        "SELECT MobilePhoneModel, COUNT(DISTINCT UserID) AS u FROM hits WHERE MobilePhoneModel <> '' "
        "GROUP BY MobilePhoneModel ORDER BY u DESC LIMIT 10",
    ),
    Asked(
        12,
        "SELECT MobilePhone, MobilePhoneModel, COUNT(DISTINCT UserID) AS u FROM hits WHERE MobilePhoneModel <> '' "
        "GROUP BY MobilePhone, MobilePhoneModel ORDER BY u DESC LIMIT 10",
    ),
    Asked(
        13,
        f"SELECT SearchPhrase, COUNT(*) AS c FROM hits WHERE SearchPhrase <> '' GROUP BY SearchPhrase {TOP}",
    ),
    Asked(
        14,
        "SELECT SearchPhrase, COUNT(DISTINCT UserID) AS u FROM hits WHERE SearchPhrase <> '' GROUP BY SearchPhrase "
        "ORDER BY u DESC LIMIT 10",
    ),
    Asked(
        15,
        "SELECT SearchEngineID, SearchPhrase, COUNT(*) AS c FROM hits WHERE SearchPhrase <> '' "
        f"GROUP BY SearchEngineID, SearchPhrase {TOP}",
    ),
    Asked(
        16,
        "SELECT UserID, COUNT(*) FROM hits GROUP BY UserID ORDER BY COUNT(*) DESC LIMIT 10",
        "SELECT n, COUNT(*) FROM (SELECT UserID, COUNT(*) AS n FROM hits GROUP BY UserID) q "
        "WHERE n BETWEEN 0 AND 50 GROUP BY n",
        "sub-query",
    ),
    Asked(
        17,
        "SELECT UserID, SearchPhrase, COUNT(*) FROM hits GROUP BY UserID, SearchPhrase ORDER BY COUNT(*) DESC LIMIT 10",
        "SELECT SearchPhrase, AVG(CLAMP(n, 0, 100)) FROM (SELECT UserID, SearchPhrase, COUNT(*) AS n FROM hits "
        "GROUP BY UserID, SearchPhrase) q GROUP BY SearchPhrase",
        "sub-query",
    ),
    Asked(
        18,
        "SELECT UserID, SearchPhrase, COUNT(*) FROM hits GROUP BY UserID, SearchPhrase LIMIT 10",
        "SELECT AVG(CLAMP(n, 0, 100)) FROM (SELECT UserID, SearchPhrase, COUNT(*) AS n FROM hits "
        "GROUP BY UserID, SearchPhrase) q",
        "sub-query",
    ),
    Asked(
        19,
        "SELECT UserID, extract(minute FROM EventTime) AS m, SearchPhrase, COUNT(*) FROM hits "
        "GROUP BY UserID, m, SearchPhrase ORDER BY COUNT(*) DESC LIMIT 10",
        "SELECT m, AVG(CLAMP(n, 0, 100)) FROM (SELECT UserID, extract(minute FROM EventTime) AS m, COUNT(*) AS n "
        "FROM hits GROUP BY UserID, extract(minute FROM EventTime)) q GROUP BY m",
        "sub-query",
    ),
    Asked(20, "SELECT UserID FROM hits WHERE UserID = 435090932899640449", "SELECT COUNT(*) FROM hits", "COUNT(*)"),
    Asked(21, "SELECT COUNT(*) FROM hits WHERE URL LIKE '%google%'"),
    Asked(
        22,
        "SELECT SearchPhrase, MIN(URL), COUNT(*) AS c FROM hits WHERE URL LIKE '%google%' AND SearchPhrase <> '' "
        f"GROUP BY SearchPhrase {TOP}",
        "SELECT SearchPhrase, COUNT(*) AS c FROM hits WHERE URL LIKE '%google%' AND SearchPhrase <> '' "
        f"GROUP BY SearchPhrase {TOP}",
        "leave it out",
    ),
    Asked(
        23,
        "SELECT SearchPhrase, MIN(URL), MIN(Title), COUNT(*) AS c, COUNT(DISTINCT UserID) FROM hits WHERE Title LIKE "
        f"'%Google%' AND URL NOT LIKE '%.google.%' AND SearchPhrase <> '' GROUP BY SearchPhrase {TOP}",
        "SELECT SearchPhrase, COUNT(*) AS c, COUNT(DISTINCT UserID) FROM hits WHERE Title LIKE '%Google%' AND "
        f"URL NOT LIKE '%.google.%' AND SearchPhrase <> '' GROUP BY SearchPhrase {TOP}",
        "leave it out",
    ),
    Asked(
        24,
        "SELECT * FROM hits WHERE URL LIKE '%google%' ORDER BY EventTime LIMIT 10",
        "SELECT COUNT(*) FROM hits WHERE URL LIKE '%google%'",
        "AVG(column)",
    ),
    Asked(
        25,
        "SELECT SearchPhrase FROM hits WHERE SearchPhrase <> '' ORDER BY EventTime LIMIT 10",
        "SELECT SearchPhrase, COUNT(*) FROM hits WHERE SearchPhrase <> '' GROUP BY SearchPhrase",
        "COUNT(*)",
    ),
    Asked(
        26,
        "SELECT SearchPhrase FROM hits WHERE SearchPhrase <> '' ORDER BY SearchPhrase LIMIT 10",
        "SELECT SearchPhrase, COUNT(*) FROM hits WHERE SearchPhrase <> '' GROUP BY SearchPhrase",
        "COUNT(*)",
    ),
    Asked(
        27,
        "SELECT SearchPhrase FROM hits WHERE SearchPhrase <> '' ORDER BY EventTime, SearchPhrase LIMIT 10",
        "SELECT SearchPhrase, COUNT(*) FROM hits WHERE SearchPhrase <> '' GROUP BY SearchPhrase",
        "COUNT(*)",
    ),
    Asked(
        28,
        "SELECT CounterID, AVG(STRLEN(URL)) AS l, COUNT(*) AS c FROM hits WHERE URL <> '' GROUP BY CounterID "
        "HAVING COUNT(*) > 100000 ORDER BY l DESC LIMIT 25",
    ),
    Asked(
        29,
        "SELECT REGEXP_REPLACE(Referer, '^https?://(?:www\\.)?([^/]+)/.*$', '\\1') AS k, AVG(STRLEN(Referer)) AS l, "
        "COUNT(*) AS c, MIN(Referer) FROM hits WHERE Referer <> '' GROUP BY k HAVING COUNT(*) > 100000 "
        "ORDER BY l DESC LIMIT 25",
        "SELECT SPLIT_PART(Referer, '/', 3) AS k, AVG(STRLEN(Referer)) AS l, COUNT(*) AS c FROM hits "
        "WHERE Referer <> '' GROUP BY k HAVING COUNT(*) > 100000 ORDER BY l DESC LIMIT 25",
        "SPLIT_PART",
    ),
    Asked(30, f"SELECT {WIDTHS} FROM hits"),
    Asked(
        31,
        "SELECT SearchEngineID, ClientIP, COUNT(*) AS c, SUM(IsRefresh), AVG(ResolutionWidth) FROM hits WHERE "
        f"SearchPhrase <> '' GROUP BY SearchEngineID, ClientIP {TOP}",
    ),
    Asked(
        32,
        "SELECT WatchID, ClientIP, COUNT(*) AS c, SUM(IsRefresh), AVG(ResolutionWidth) FROM hits WHERE "
        f"SearchPhrase <> '' GROUP BY WatchID, ClientIP {TOP}",
    ),
    Asked(
        33,
        "SELECT WatchID, ClientIP, COUNT(*) AS c, SUM(IsRefresh), AVG(ResolutionWidth) FROM hits "
        f"GROUP BY WatchID, ClientIP {TOP}",
    ),
    Asked(34, f"SELECT URL, COUNT(*) AS c FROM hits GROUP BY URL {TOP}"),
    Asked(35, f"SELECT 1, URL, COUNT(*) AS c FROM hits GROUP BY 1, URL {TOP}"),
    Asked(
        36,
        "SELECT ClientIP, ClientIP - 1, ClientIP - 2, ClientIP - 3, COUNT(*) AS c FROM hits "
        f"GROUP BY ClientIP, ClientIP - 1, ClientIP - 2, ClientIP - 3 {TOP}",
    ),
    Asked(
        37,
        f"SELECT URL, COUNT(*) AS PageViews FROM hits WHERE {SHORT} AND DontCountHits = 0 AND IsRefresh = 0 AND "
        "URL <> '' GROUP BY URL ORDER BY PageViews DESC LIMIT 10",
    ),
    Asked(
        38,
        f"SELECT Title, COUNT(*) AS PageViews FROM hits WHERE {SHORT} AND DontCountHits = 0 AND IsRefresh = 0 AND "
        "Title <> '' GROUP BY Title ORDER BY PageViews DESC LIMIT 10",
    ),
    Asked(
        39,
        f"SELECT URL, COUNT(*) AS PageViews FROM hits WHERE {SHORT} AND IsRefresh = 0 AND IsLink <> 0 AND "
        "IsDownload = 0 GROUP BY URL ORDER BY PageViews DESC LIMIT 10 OFFSET 1000",
    ),
    Asked(
        40,
        "SELECT TraficSourceID, SearchEngineID, AdvEngineID, CASE WHEN (SearchEngineID = 0 AND AdvEngineID = 0) THEN "
        f"Referer ELSE '' END AS Src, URL AS Dst, COUNT(*) AS PageViews FROM hits WHERE {SHORT} AND IsRefresh = 0 "
        "GROUP BY TraficSourceID, SearchEngineID, AdvEngineID, Src, Dst ORDER BY PageViews DESC LIMIT 10 OFFSET 1000",
    ),
    Asked(
        41,
        f"SELECT URLHash, EventDate, COUNT(*) AS PageViews FROM hits WHERE {SHORT} AND IsRefresh = 0 AND "
        "TraficSourceID IN (-1, 6) AND RefererHash = 3594120000172545465 GROUP BY URLHash, EventDate "
        "ORDER BY PageViews DESC LIMIT 10 OFFSET 100",
    ),
    Asked(
        42,
        "SELECT WindowClientWidth, WindowClientHeight, COUNT(*) AS PageViews FROM hits WHERE "
        f"{SHORT} AND IsRefresh = 0 AND DontCountHits = 0 AND URLHash = 2868770270353813622 "
        "GROUP BY WindowClientWidth, WindowClientHeight ORDER BY PageViews DESC LIMIT 10 OFFSET 10000",
    ),
    Asked(
        43,
        "SELECT DATE_TRUNC('minute', EventTime) AS M, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND "
        "EventDate >= '2013-07-14' AND EventDate <= '2013-07-15' AND IsRefresh = 0 AND DontCountHits = 0 GROUP BY "
        "DATE_TRUNC('minute', EventTime) ORDER BY DATE_TRUNC('minute', EventTime) LIMIT 10 OFFSET 1000",
    ),
)


def made_up(users: int = 200, records: int = 4_000, seed: int = 1) -> pl.DataFrame:
    """Return a small table with the columns of `hits`."""
    chance = random.Random(seed)
    texts = ["", "", "cat", "google maps", "Google - weather", "http://www.google.com/a", "https://b.example/google/x"]
    rows = []
    for _ in range(records):
        start = datetime.datetime(2013, 7, 1) + datetime.timedelta(minutes=chance.randrange(40_000))
        row: dict[str, object] = {}
        for name, kind in HITS.items():
            small = chance.choice((0, 0, 0, 1, 2, 62))
            row[name] = chance.choice(texts) if kind == pl.String else small
        row |= {
            "EventTime": start,
            "EventDate": start.date(),
            "UserID": chance.randrange(users),
            "WatchID": chance.randrange(2**60),
        }
        row["ResolutionWidth"] = chance.choice((800, 1024, 1920))
        rows.append(row)
    return pl.DataFrame(rows, schema=HITS)


def opened(folder: Path, records: pl.DataFrame) -> emdp.Session:
    """Return a session on a table of hits with a large budget, under the test switch or not as it is set."""
    space = emdp.Product(
        *(emdp.Interval(name, 0, 100) for name in ("AdvEngineID", "IsRefresh")),
        emdp.Interval("ResolutionWidth", 0, 4096),
    )
    table = emdp.read(records, user="UserID", space=space, name="hits")
    return emdp.Session(table, budget=emdp.UserDP(1e9, 0.5, neighbours="remove"), ledger=folder / "ledger")


def statement(text: str, caps: str) -> str:
    """Return a question with its header."""
    return HEADER.format(caps=f", {caps}" if caps else "") + text.removeprefix("SELECT ")


def check(session: emdp.Session, text: str, *, answer: bool) -> tuple[str, EmdpError | None]:
    """Return a text with those caps that it has a use for, checked and perhaps answered; and why it is refused."""
    refused: EmdpError | None = None
    for caps in (f"{RECORDS}, {GROUPS}", RECORDS, GROUPS, ""):
        try:
            own = statement(text, caps)
            if answer:
                _ = session.sql(own).frame
            else:
                session.preview(own)
        except EmdpError as error:
            is_about_caps = "has no use" in str(error) or "max_groups_per_user" in str(error)
            if refused is None or not is_about_caps:
                refused = error
        else:
            return own, None
    return text, refused


def main() -> None:
    """Check all questions, and print what becomes of each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--answer", action="store_true", help="answer each under the test switch too")
    asked = parser.parse_args()
    passed = instead = 0
    with tempfile.TemporaryDirectory() as folder, emdp.testing.seeded(1), opened(Path(folder), made_up()) as session:
        for one in ASKED:
            _, refused = check(session, one.text, answer=asked.answer)
            if refused is None:
                passed += 1
                print(f"{one.number:2d}  as it is")
                continue
            _, again = check(session, one.instead, answer=asked.answer) if one.instead else ("", refused)
            instead += again is None
            mark = "" if again is None else "  (WHAT IT SAYS FAILS)"
            print(f"{one.number:2d}  refused: {refused.problem}; {refused.remedy}{mark}")
            if again is not None:
                print("    ", again)
    print(f"{passed} of {len(ASKED)} as they are; {instead} of {len(ASKED) - passed} by what the refusal says")


if __name__ == "__main__":
    main()
