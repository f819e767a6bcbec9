"""Has annotators annotate the responses to examples."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit.annotating.annotations import Tell, annotate
from evalkit.annotating.declared import refuse_absent
from evalkit.annotating.wanted import Wanted
from evalkit.examples.table import Examples
from evalkit.predictions.alignment import Alignment
from evalkit.predictions.table import scoring_table


def annotated(
    examples: Examples,
    alignment: Alignment,
    wanted: Sequence[Wanted],
    jobs: int,
    tell: Tell,
) -> Alignment:
    """Add what annotators say to the fields that metrics may ask for.

    Args:
        examples: The examples.
        alignment: Their responses.
        wanted: The annotators. One whose column the data or the responses have is not
            asked for it.
        jobs: Processes that may ask an annotator at the same time.
        tell: Told how far each is.

    Returns:
        The responses with the annotators' columns.
    """
    notices: list[str] = []
    for each in wanted:
        table = scoring_table(examples, alignment)
        refuse_absent(each.annotator, table.frame.columns, table.offered)
        columns = {
            name: part
            for name, part in each.columns.items()
            if name not in table.frame.columns
        }
        # of copies that a run holds, the run has what was said of them
        others = each.columns.keys() - columns.keys() - alignment.lacking.keys()
        for name in sorted(others):
            origin = each.annotator.component.origin
            notices.append(
                f"the column {name!r} that metrics ask for is one of the data or the "
                f"responses; {origin} was not asked"
            )
        if columns:
            asked = Wanted(each.annotator, columns)
            found = annotate(asked, table.frame, jobs, tell, table.offered)
            alignment = alignment._replace(
                fields={**alignment.fields, **found.columns},
                annotations=(*alignment.annotations, found),
                lacking={
                    **alignment.lacking,
                    **dict.fromkeys(found.columns, found.lacking),
                },
            )
    return alignment._replace(notices=(*alignment.notices, *notices))
