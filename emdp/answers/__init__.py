"""Answers and previews: all that leaves a session, each with its promise."""

from typing import TYPE_CHECKING

from emdp.base.lazy import lazy_names

if TYPE_CHECKING:
    from emdp.answers.answer import Answer, Receipt
    from emdp.answers.description import DEFAULT_LEVEL, Description
    from emdp.answers.preview import Preview, PreviewedStatement
    from emdp.answers.stream import StreamAnswer, StreamPreview
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "emdp.answers.answer": "Answer Receipt",
            "emdp.answers.description": "DEFAULT_LEVEL Description",
            "emdp.answers.preview": "Preview PreviewedStatement",
            "emdp.answers.stream": "StreamAnswer StreamPreview",
        },
    )

__all__ = [
    "DEFAULT_LEVEL",
    "Answer",
    "Description",
    "Preview",
    "PreviewedStatement",
    "Receipt",
    "StreamAnswer",
    "StreamPreview",
]
