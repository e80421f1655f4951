"""What leaves a session: answers and previews, each with the promise that holds for it."""

from emdp.answers.answer import Answer, Receipt
from emdp.answers.description import DEFAULT_LEVEL, Description
from emdp.answers.preview import Preview, PreviewedStatement

__all__ = ["DEFAULT_LEVEL", "Answer", "Description", "Preview", "PreviewedStatement", "Receipt"]
