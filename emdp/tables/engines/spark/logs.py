"""Files that Spark is told to read as they are, though a table's log beside them says which of their rows still count.

A table of the format itself is read by its library, which knows the log; a path under ``parquet`` is not.
"""

from collections.abc import Iterator
from typing import Any

from emdp.tables.engines.spark.errors import is_spark_error
from emdp.tables.files import LOGS, kind_of_named_log, log_refusal

__all__ = ["check_no_spark_log"]

OWN = "org.apache.spark.sql.execution."
"""What the names of Spark's own indexes of files begin with: those of other libraries know their logs."""

FILES = OWN + "datasources.v2.FileTable"
"""What such tables are where a session reads formats by Spark's newer interface."""


def check_no_spark_log(frame: Any) -> None:
    """Refuse a DataFrame that reads files of a Delta, Iceberg or Hudi table by their path; see :func:`check_no_log`.

    The folders that were named and all above them are looked at, with Spark's own access to them.

    Raises
    ------
    UsageError
        Naming the table's folder and kind.
    """
    plan = frame._jdf.queryExecution().analyzed()
    folders: dict[str, Any] = {}
    for named in _paths(plan):
        path = named
        while path is not None:
            folders.setdefault(path.toString(), path)
            path = path.getParent()
    if not folders:
        return
    session = frame.sparkSession
    settings, java = session._jsparkSession.sessionState().newHadoopConf(), session.sparkContext._jvm
    for name, path in folders.items():
        kind = _kind_of_log(path, settings, java.org.apache.hadoop.fs.Path)
        if kind is not None:
            raise log_refusal(name, kind)


def _paths(plan: Any) -> Iterator[Any]:
    """Yield the paths that the relations of a plan, and of its sub-queries, were told to read as they are."""
    yield from _own_paths(plan)
    for below in _listed(plan.subqueriesAll()):
        yield from _own_paths(below)


def _own_paths(plan: Any) -> Iterator[Any]:
    for leaf in _listed(plan.collectLeaves()):
        index = None
        kind = leaf.getClass().getSimpleName()
        if kind == "LogicalRelation" and leaf.relation().getClass().getSimpleName() == "HadoopFsRelation":
            index = leaf.relation().location()
        elif kind == "DataSourceV2Relation" and leaf.table().getClass().getSuperclass().getName() == FILES:
            index = leaf.table().fileIndex()
        if index is not None and index.getClass().getName().startswith(OWN):
            yield from _listed(index.rootPaths())


def _listed(found: Any) -> Iterator[Any]:
    return (found.apply(place) for place in range(found.size()))


def _kind_of_log(folder: Any, settings: Any, path_of: Any) -> str | None:
    try:
        system = folder.getFileSystem(settings)
        for name, kind in LOGS.items():
            if system.exists(path_of(folder, name)):
                return kind
        return kind_of_named_log(lambda name: _names(system, path_of(folder, name)))
    except Exception as error:
        if not is_spark_error(error):
            raise
        # What this user may not look into, as the root of a bucket, says nothing.
        return None


def _names(system: Any, folder: Any) -> list[str]:
    return [status.getPath().getName() for status in system.listStatus(folder)] if system.exists(folder) else []
