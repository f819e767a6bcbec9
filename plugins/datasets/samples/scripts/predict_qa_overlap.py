"""Answer questions from shared words alone: the word overlap baseline.

The system picks the sentence of the passage which shares most content words with the
question, the first one if several do. Of that sentence it returns the last run of
words which are neither stop words nor in the question, since what is new tends to
come last. It does not look at what kind of thing is asked for.
"""

from __future__ import annotations

from typing import Any

from _shared import (
    STOP_WORDS,
    content_stems,
    main,
    sentences,
    stem,
    word_spans,
)


def best_sentence(context: str, question: str) -> tuple[str, float]:
    """Find the sentence which is most like the question.

    Args:
        context: The passage.
        question: The question.

    Returns:
        The sentence, and the share of the question's content words in it.
    """
    asked = set(content_stems(question))
    shared = {
        sentence: len(asked & set(content_stems(sentence)))
        for sentence in sentences(context)
    }
    best = max(shared, key=lambda sentence: shared[sentence])
    return best, shared[best] / max(len(asked), 1)


def last_new_run(sentence: str, question: str) -> str:
    """Find the last part of a sentence which is not in the question.

    Args:
        sentence: A sentence of the passage.
        question: The question.

    Returns:
        The last run of words without a stop word, a punctuation mark or a word of
        the question; the whole sentence if there is nothing new in it.
    """
    asked = set(content_stems(question))
    runs: list[tuple[int, int]] = []
    previous = None
    for start, end in word_spans(sentence):
        word = sentence[start:end].lower()
        if word in STOP_WORDS or stem(word) in asked:
            continue
        if runs and previous == start - 1 and sentence[previous] == " ":
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
        previous = end
    return sentence[slice(*runs[-1])] if runs else sentence


def predict(row: dict[str, Any]) -> dict[str, Any]:
    """Answer one question.

    Args:
        row: A row with ``context`` and ``question``.

    Returns:
        The answer, a part of the passage, and how sure the system is of it.
    """
    sentence, share = best_sentence(row["context"], row["question"])
    answer = last_new_run(sentence, row["question"])
    return {"answer": answer, "conf": round(share, 4)}


if __name__ == "__main__":
    main("sample-qa", "overlap", predict)
