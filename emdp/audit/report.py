"""The report of an audit: what it found, and the files that show it."""

import json
import math
from dataclasses import asdict
from pathlib import Path

from emdp.audit.findings import Agreement, AuditRow, Findings
from emdp.audit.page import page, picture
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.base.spreadsheets import csv_text
from emdp.pictures import picture_file

__all__ = ["Agreement", "AuditReport", "AuditRow", "combined"]


@dataclass(frozen=True)
class AuditReport(Findings):
    """The findings of an audit, which can be written into a folder; the parameters are those of :class:`Findings`."""

    def write(self, folder: str | Path) -> tuple[Path, ...]:
        """Write the page, the picture and the table (Markdown, CSV, Parquet, JSON) into a folder, made if absent.

        Raises
        ------
        UsageError
            If the folder cannot be made or written.
        """
        place = Path(folder)
        texts = {
            "index.html": page(self),
            "audit.svg": picture_file(picture(self.rows, title=self.title)),
            "audit.md": self.markdown(),
            "audit.csv": csv_text(self.frame),
            "audit.json": json.dumps({"verdict": self.verdict, "rows": [asdict(row) for row in self.rows]}, indent=1),
        }
        try:
            place.mkdir(parents=True, exist_ok=True)
            for name, text in texts.items():
                (place / name).write_text(text, encoding="utf-8")
            self.frame.write_parquet(place / "audit.parquet")
        except OSError as error:
            raise UsageError(
                f"folder {str(place)!r} cannot be written ({error.strerror}); pass another folder."
            ) from None
        return (*(place / name for name in texts), place / "audit.parquet")


def combined(reports: tuple[AuditReport, ...], *, title: str, skipped: tuple[str, ...] = ()) -> AuditReport:
    """Return several reports as one; the failures of their confidences add up.

    >>> one = AuditReport((), 0.99)
    >>> round(combined((one, one), title="both").confidence, 6)
    0.98
    """
    confidence = 1.0 - math.fsum(1.0 - report.confidence for report in reports)
    rows = tuple(AuditRow(**{**asdict(row), "confidence": confidence}) for report in reports for row in report.rows)
    agreements = tuple(one for report in reports for one in report.agreements)
    lost = (*skipped, *(text for report in reports for text in report.skipped))
    return AuditReport(rows, confidence, agreements, title, lost)
