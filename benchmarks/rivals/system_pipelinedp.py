"""PipelineDP on its local backend: count, sum and mean by group, which it makes of one noisy count and one noisy sum.

It is told the identifier of a user, at most 10 contributions each (sampled where there are more), the listed
categories and the range of an amount; Laplace noise. The Parquet file is read with pyarrow into Python tuples, as the
backend wants it.
"""

import operator
from collections.abc import Callable
from typing import Any

PACKAGES = ("pipeline-dp", "python-dp", "pyarrow")


def start(task: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return the pipeline."""
    import pipeline_dp
    import pyarrow.parquet

    metrics = pipeline_dp.Metrics
    columns = ["user_id", "category", "amount"]
    extractors = pipeline_dp.DataExtractors(*map(operator.itemgetter, range(3)))
    parameters = pipeline_dp.AggregateParams(
        metrics=[metrics.COUNT, metrics.SUM, metrics.MEAN],
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        max_contributions=task["cap"],
        min_value=task["low"],
        max_value=task["high"],
    )

    def answer(told: dict[str, Any]) -> dict[str, Any]:
        table = pyarrow.parquet.read_table(task["path"], columns=columns)
        records = list(zip(*(table[name].to_pylist() for name in columns), strict=True))
        accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=told["epsilon"], total_delta=0.0)
        engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
        result = engine.aggregate(records, parameters, extractors, public_partitions=task["keys"])
        accountant.compute_budgets()
        return {key: [found.count, found.sum, found.mean] for key, found in result}

    return answer
