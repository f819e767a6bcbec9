"""Annotators: columns computed from responses, before metrics read them."""

from typing import TYPE_CHECKING

from evalkit.base.lazy import lazy_names

if TYPE_CHECKING:
    from evalkit_annotators_columns.annotator import Annotator as Annotator
    from evalkit_annotators_columns.answers import Answer as Answer
    from evalkit_annotators_columns.asking import ask_rows as ask_rows
    from evalkit_annotators_columns.bound import BoundAnnotator as BoundAnnotator
    from evalkit_annotators_columns.stage import Annotators as Annotators
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
