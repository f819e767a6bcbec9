"""Answer questions by the kind of thing they ask for.

The system tells from the question's first words whether a person, a place, a date, a
number, an amount, a reason or some other thing is wanted, and lists the spans of the
passage which look like one: capitalised names, numbers with the word that follows,
dates, clauses after *because*, and short phrases between function words. Of these it
returns the one which stands in the sentence most like the question, and nearest to
the words that the two share. There is no parser and no list of names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from _shared import STOP_WORDS, content_stems, main, sentences, stem, word_spans

_CARDINAL = (
    r"(?:\d[\d.,]*\d|\d|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|"
    r"twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|"
    r"thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand)"
    r"(?:[- ](?:one|two|three|four|five|six|seven|eight|nine|hundred|thousand))?)\b"
)
_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|"
    r"November|December)"
)
_DAY = r"(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)"
_NAME = (
    r"(?:(?:Mrs?|Ms|Dr|Professor)\.? )?[^\W\d_a-zß-ÿ][\w’'-]+"
    r"(?: (?:von|van|de|of the|of) (?=[A-Z])| [^\W\d_a-zß-ÿ][\w’'-]+)*"
)

PATTERNS: dict[str, tuple[str, ...]] = {
    "person": (_NAME,),
    "place": (
        rf"(?<=\bin ){_NAME}|(?<=\bat ){_NAME}|(?<=\bfrom ){_NAME}|(?<=\bto ){_NAME}",
        r"(?:in|at|on|under|behind|beside|near) (?:the|a|an|his|her|their) [^,.;:]+",
    ),
    "date": (
        rf"(?:\d{{1,2}} )?{_MONTH}\b(?: \d{{4}})?|\b1\d{{3}}\b|\b20\d\d\b|\b{_DAY}\b",
        rf"\b{_CARDINAL} (?:days|weeks|months|years) (?:ago|later)",
    ),
    "number": (rf"\b{_CARDINAL}",),
    "duration": (
        rf"\b{_CARDINAL} (?:seconds?|minutes?|hours?|days?|weeks?|months?|years?)",
    ),
    "amount": (
        rf"(?:(?:about|more than|over) )?[€£$]?\b{_CARDINAL}(?: [€£$]| [a-z]+)?",
    ),
    "reason": (r"\b(?:[Bb]ecause|since|so that) [^.;]+", r"(?<=\bbut )[^.;]+"),
}
"""What a span of each kind looks like; earlier patterns are preferred."""

_KINDS: tuple[tuple[str, str], ...] = (
    (r"\bhow many\b", "number"),
    (r"\bhow long\b", "duration"),
    (r"\bhow (?:much|far|deep|high|old|big|tall)\b", "amount"),
    (r"\bwho(?:se|m)?\b", "person"),
    (r"\bwhere\b", "place"),
    (r"\bwhen\b|\b(?:what|which) (?:year|month|day|date|time)\b", "date"),
    (r"\bwhy\b", "reason"),
)


@dataclass(frozen=True)
class Candidate:
    """A span of the passage which may be the answer.

    Attributes:
        text: The span.
        sentence: The number of the sentence it stands in.
        position: The number of its first word in that sentence.
        rank: 0 for the best pattern of its kind, 1 for the next one.
    """

    text: str
    sentence: int
    position: int
    rank: int


def question_kind(question: str) -> str:
    """Tell what kind of thing is asked for.

    Args:
        question: The question.

    Returns:
        A key of :data:`PATTERNS`, or ``phrase`` for any other thing.
    """
    lower = question.lower()
    return next((kind for form, kind in _KINDS if re.search(form, lower)), "phrase")


def phrases(sentence: str) -> Iterator[re.Match[str]]:
    """Cut a sentence into short phrases.

    Args:
        sentence: A sentence.

    Yields:
        Runs of up to five words without a stop word or a punctuation mark, each with
        the article before it.
    """
    stops = "|".join(sorted(STOP_WORDS, key=lambda word: (-len(word), word)))
    word = rf"(?!(?:{stops})\b)[^\W_][\w’'-]*"
    yield from re.finditer(
        rf"\b(?:(?:the|an?|his|her|its) )?{word}(?: {word}){{0,4}}",
        sentence,
        re.IGNORECASE,
    )


def candidates(context: str, kind: str) -> list[Candidate]:
    """List the spans of a passage which are of a kind.

    Args:
        context: The passage.
        kind: What :func:`question_kind` says.

    Returns:
        The spans, in the order of the passage.
    """
    found = []
    for index, sentence in enumerate(sentences(context)):
        groups = (
            [re.finditer(pattern, sentence) for pattern in PATTERNS[kind]]
            if kind in PATTERNS
            else [phrases(sentence)]
        )
        for rank, matches in enumerate(groups):
            for match in matches:
                text = match.group().strip()
                if text.lower() in STOP_WORDS:
                    continue
                position = len(word_spans(sentence[: match.start()]))
                found.append(Candidate(text, index, position, rank))
    return found


def nearness(sentence: str, position: int, asked: set[str]) -> float:
    """Measure how near a word is to the words of the question.

    Args:
        sentence: A sentence of the passage.
        position: The number of a word of the sentence.
        asked: The stems of the question's content words.

    Returns:
        A number from 0 (no shared word) to 1 (a shared word right beside it).
    """
    distances = [
        abs(index - position)
        for index, (start, end) in enumerate(word_spans(sentence))
        if stem(sentence[start:end].lower()) in asked
    ]
    return 1 / max(min(distances), 1) if distances else 0.0


def predict(row: dict[str, Any]) -> dict[str, Any]:
    """Answer one question.

    Args:
        row: A row with ``context`` and ``question``.

    Returns:
        The answer, a part of the passage, and how sure the system is of it.
    """
    context, question = row["context"], row["question"]
    asked = set(content_stems(question))
    kind = question_kind(question)
    parts = sentences(context)
    shares = [
        len(asked & set(content_stems(part))) / max(len(asked), 1) for part in parts
    ]

    def score(candidate: Candidate) -> float:
        new = set(content_stems(candidate.text)) - asked
        return (
            2 * shares[candidate.sentence]
            + nearness(parts[candidate.sentence], candidate.position, asked) / 2
            - candidate.rank / 4
            - (0 if new else 2)
        )

    found = candidates(context, kind) or candidates(context, "phrase")
    best = max(found, key=score)
    conf = min(max((score(best) + 0.5) / 3, 0.0), 1.0)
    return {"answer": best.text, "conf": round(conf, 4)}


if __name__ == "__main__":
    main("sample-qa", "typed", predict)
