"""A private report every Monday by Airflow: copy this file into the folder of DAGs.

emdp needs no plug-in: a report is one command. It charges each period once, so that a task may be tried again as often
as Airflow likes: what was paid for is stored, and given again for nothing. Exit status 3, a spent budget, is final.
Run with Airflow 3.3 in November 2026.
"""

import datetime

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

FOLDER = "/srv/emdp"
"""Where emdp.toml, week.toml and the ledger are."""

with DAG(
    "private_weekly_report",
    schedule="0 6 * * 1",
    start_date=datetime.datetime(2026, 1, 5),
    catchup=False,
    max_active_runs=1,
) as dag:
    look = BashOperator(
        task_id="look",
        bash_command=f"cd {FOLDER} && emdp report week.toml --period {{{{ ds }}}} --dry-run",
    )
    report = BashOperator(
        task_id="report",
        bash_command=f"cd {FOLDER} && emdp report week.toml --period {{{{ ds }}}} --out report-{{{{ ds }}}}",
        retries=3,
        skip_on_exit_code=3,
    )
    look >> report
