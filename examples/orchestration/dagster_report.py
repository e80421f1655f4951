"""A private report every week by Dagster: ``dagster dev -f dagster_report.py``.

emdp needs no plug-in: a report is one command. It charges each period once, so that a partition may be made again as
often as anybody likes: what was paid for is stored, and given again for nothing.
Run with Dagster 1.13 in November 2026.
"""

import subprocess
from pathlib import Path

import dagster

FOLDER = Path("/srv/emdp")
"""Where emdp.toml, week.toml and the ledger are."""

WEEKS = dagster.WeeklyPartitionsDefinition(start_date="2026-01-05", day_offset=1)


@dagster.asset(partitions_def=WEEKS)
def private_report(context: dagster.AssetExecutionContext) -> dagster.MaterializeResult:
    """Answers of one week, with their page."""
    week = context.partition_key
    out = FOLDER / f"report-{week}"
    command = ["emdp", "report", "week.toml", "--period", week, "--out", str(out)]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    context.log.info(done.stderr)
    if done.returncode == 3:
        raise dagster.Failure("the budget is spent; only the table's owner can allow more", allow_retries=False)
    if done.returncode:
        raise dagster.Failure(done.stderr.strip().splitlines()[-1])
    return dagster.MaterializeResult(metadata={"page": dagster.MetadataValue.path(str(out / "index.html"))})


weekly = dagster.build_schedule_from_partitioned_job(dagster.define_asset_job("weekly", [private_report]))
definitions = dagster.Definitions(assets=[private_report], schedules=[weekly])
