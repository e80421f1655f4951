"""What leaves a session: frames, guarantees, noise, intervals and caveats."""

from emdp.answers.answer import DEFAULT_LEVEL, Answer, ColumnDescription, Preview, Receipt

__all__ = ["DEFAULT_LEVEL", "Answer", "ColumnDescription", "Preview", "Receipt"]
