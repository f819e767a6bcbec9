"""What SEA-HELM's dataloader classes make of stored rows: `id`, `label`, `prompts`."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

Row = Mapping[str, Any]
Rows = list[dict[str, Any]]

_SEED = 976843
"""Seed of SEA-HELM's shuffled options."""

_SHOWN_OF_MATH_HARD = {
    "algebra": (363, 228, 160, 90, 176),
    "counting_and_probability": (66, 82, 183, 4, 1),
    "geometry": (2, 247, 155, 317, 39),
    "intermediate_algebra": (423, 192, 23, 232, 168),
    "number_theory": (301, 287, 100, 263, 228),
    "prealgebra": (67, 74, 243, 207, 212),
    "precalculus": (121, 165, 119, 57, 171),
}
"""Rows of the training split that are shown, by category."""


class Loader(NamedTuple):
    """Counterpart of a dataloader class."""

    is_hub: bool = True
    """Whether `filepath` is a dataset on the hub, or a file."""
    config: str | None = "{lang}"
    """Configuration on the hub; may name `{lang}` and `{category}`."""
    split: str = "eval"
    """Split on the hub that is evaluated."""
    examples: str | None = "examples"
    """Split on the hub that shots are from; None for a file in SEA-HELM's format."""
    prefix: str = ""
    """Beginning of the names of its tasks, before the category."""
    where: Callable[[Row, str], bool] = lambda row, category: True
    """Tells which rows are of a category."""
    counts_first: bool = False
    """Whether shots are counted before the category is looked at."""
    make: Callable[[Rows], Rows] = list
    """Makes SEA-HELM's rows."""
    match: str | None = None
    """Facet in which shots agree with the example."""

    def category(self, task: str) -> str:
        """Return the category of a task: its name without the prefix."""
        return task.removesuffix("-logprobs").removeprefix(self.prefix)

    def rows(self, stored: Iterable[Row], task: str, shots: int | None) -> Rows:
        """Make rows in SEA-HELM's format.

        Args:
            stored: The stored rows.
            task: Name of the task.
            shots: Number of rows to show; None for the rows to evaluate.
        """
        rows, category = [dict(row) for row in stored], self.category(task)
        if shots is not None and self.examples is None and self.is_hub:
            return rows[:shots]
        if shots is not None and self.make is _math_hard:
            rows = [rows[place] for place in _SHOWN_OF_MATH_HARD[category]]
        kept = rows[:shots] if self.counts_first else rows
        kept = [row for row in kept if self.where(row, category)]
        return self.make(kept if self.match and shots else kept[:shots])


def _row(number: Any, label: Any, **prompt: Any) -> dict[str, Any]:
    return {"id": number, "label": label, "prompts": [prompt]}


def _listed(options: Sequence[str], mark: str = ". ", between: str = "\n") -> str:
    pairs = zip("ABCDEFGHIJ", options, strict=False)
    return between.join(f"{letter}{mark}{option.strip()}" for letter, option in pairs)


def _renamed(column: str) -> Callable[[Rows], Rows]:
    return lambda rows: [
        {**row, "label": row.get(column, row.get("label"))} for row in rows
    ]


def _by_subject(rows: Rows) -> Rows:
    """Name the subject of each row: of shots in their metadata, else of the prompt."""
    for row in rows:
        subject = row["prompts"][0].get("subject") or row["metadata"].get("subject")
        row["subject"] = str(subject).lower()
    return rows


def _shuffled(
    options: Sequence[tuple[str, list[str]]], repeats: int
) -> list[tuple[list[str], str]]:
    """Draw the order of each row's options, and the letter of the right one.

    Args:
        options: Of each row the right option and the wrong ones.
        repeats: How often the four letters are dealt.
    """
    letters, made = list("ABCD" * repeats), []
    seeds = random.Random(_SEED).sample(range(2**31 - 1), len(options))
    random.Random(_SEED).shuffle(letters)
    for (right, wrong), letter, seed in zip(options, letters, seeds, strict=False):
        random.Random(seed).shuffle(wrong)
        wrong.insert("ABCD".index(letter), right)
        made.append((wrong, letter))
    return made


def _global_mmlu(rows: Rows) -> Rows:
    options = []
    for row in rows:
        texts = [row[f"option_{letter}"].strip() for letter in "abcd"]
        options.append((texts.pop("ABCD".index(row["answer"])), texts))
    drawn = _shuffled(options, -(-len(rows) // 4))
    return [
        _row(
            row["sample_id"],
            letter,
            question=row["question"],
            **{f"option_{x}": each for x, each in zip("abcd", texts, strict=True)},
        )
        for row, (texts, letter) in zip(rows, drawn, strict=True)
    ]


def _gpqa(rows: Rows) -> Rows:
    options = [
        (row["Correct Answer"], [row[f"Incorrect Answer {n}"] for n in (1, 2, 3)])
        for row in rows
    ]
    drawn = zip(rows, _shuffled(options, len(rows) // 4 + 1), strict=True)
    return [
        _row(
            number,
            letter,
            question=row["Question"],
            **{f"choice{n}": each.strip() for n, each in enumerate(texts, start=1)},
        )
        for number, (row, (texts, letter)) in enumerate(drawn)
    ]


def _mmlu_redux(rows: Rows) -> Rows:
    made = []
    for number, row in enumerate(rows):
        is_wrong = row["error_type"] == "wrong_groundtruth"
        answer = row["correct_answer"] if is_wrong else row["answer"]
        if (is_wrong or row["error_type"] == "ok") and answer in (0, 1, 2, 3):
            options = _listed(row["choices"])
            letter = "ABCD"[answer]
            made.append(_row(number, letter, question=row["question"], options=options))
    return made


def _mmlu_pro(rows: Rows) -> Rows:
    return [
        _row(
            row["question_id"],
            row["answer"],
            question=row["question"],
            options=_listed(row["options"]),
            cot_content=row.get("cot_content"),
        )
        for row in rows
    ]


def _supergpqa(rows: Rows) -> Rows:
    return [
        {
            **_row(
                number,
                row["answer_letter"],
                question=row["question"],
                options=_listed(row["options"], ": ", "\n\n"),
            ),
            "metadata": {key: row[key] for key in ("difficulty", "field")},
        }
        for number, row in enumerate(rows)
    ]


def _thai_exam(rows: Rows) -> Rows:
    return [
        _row(
            number,
            row["answer"].upper(),
            **{key: row[key] for key in ("question", *"abcde") if key in row},
        )
        for number, row in enumerate(rows)
    ]


def _musr(rows: Rows) -> Rows:
    made = []
    for number, row in enumerate(rows):
        texts = enumerate(ast.literal_eval(row["choices"]), start=1)
        choices = "\n".join(f"{n} - {text}" for n, text in texts)
        said = {key: row[key] for key in ("narrative", "question")}
        label = str(row["answer_index"] + 1)
        made.append(_row(number, label, **said, choices=choices))
    return made


def _math_arena(rows: Rows) -> Rows:
    return [
        _row(
            row["problem_idx"] if "problem_idx" in row else row["id"],
            str(row["answer"]),
            problem=row["problem"],
        )
        for row in rows
    ]


def _math_hard(rows: Rows) -> Rows:
    return [
        _row(number, row["solution"], problem=row["problem"])
        for number, row in enumerate(rows)
    ]


def _ifeval(rows: Rows) -> Rows:
    made = []
    for row in rows:
        kwargs = [dict(each) for each in row["kwargs"]]
        if row["key"] == 1174:  # SEA-HELM mends this row
            kwargs[0]["let_relation"] = "at least"
        metadata = {"instruction_id_list": row["instruction_id_list"]}
        found = _row(row["key"], None, text=row["prompt"])
        made.append({**found, "metadata": metadata, "kwargs": kwargs})
    return made


def _of(column: str, blank: str) -> Callable[[Row, str], bool]:
    """Tell whether a column holds the category, blanks of which are written so."""
    return lambda row, category: row[column].lower() == category.replace(blank, " ")


_HUB = Loader()
_FILE = Loader(is_hub=False, config=None, examples=None)
_TRAIN = Loader(config=None, split="train")
_CATEGORY = Loader(config="{category}", split="test")

LOADERS: Mapping[str, Loader] = {
    "SeaHelmLocalDataloader": _FILE,
    "SeaHelmLocalCriteriaDataloader": _FILE,
    "HuggingFaceDataloader": _HUB,
    "HuggingFaceCriteriaDataloader": _HUB,
    "BBHDataloader": Loader(config="{category}", prefix="bbh_"),
    "GlobalMMLUDataloader": Loader(
        split="test",
        examples="dev",
        prefix="global_mmlu_",
        where=lambda row, category: bool(row["subject"] == category),
        make=_global_mmlu,
    ),
    "GlobalMMLULiteDataloader": _FILE._replace(make=_by_subject, match="subject"),
    "GPQADataloader": _CATEGORY._replace(split="train", examples=None, make=_gpqa),
    "IFEvalDataloader": _TRAIN._replace(make=_ifeval),
    "MathArenaDataloader": _TRAIN._replace(make=_math_arena),
    "MathHardDataloader": _CATEGORY._replace(
        examples="train", prefix="math_hard_", make=_math_hard
    ),
    "MMLUProDataloader": Loader(
        config=None,
        split="test",
        examples="validation",
        prefix="mmlu_pro_",
        where=_of("category", "_"),
        counts_first=True,
        make=_mmlu_pro,
    ),
    "MMLUReduxDataloader": _CATEGORY._replace(prefix="mmlu_redux_", make=_mmlu_redux),
    "MuSRDataloader": Loader(
        config=None, split="{category}", examples=None, prefix="musr_", make=_musr
    ),
    "PragmaticDataloader": Loader(config="{lang}_{category}", prefix="pragmatic-"),
    "SuperGPQADataloader": _TRAIN._replace(
        prefix="supergpqa-", where=_of("discipline", "-"), make=_supergpqa
    ),
    "ThaiExamDataloader": _CATEGORY._replace(
        examples="test", prefix="thai_exam_", make=_thai_exam
    ),
    "CulturalContentGenerationPromptDataLoader": _FILE._replace(
        make=_renamed("prompt_label")
    ),
    "CulturalContentGenerationResponseDataLoader": _FILE._replace(
        make=_renamed("response_label")
    ),
    "GeneralPromptDataLoader": _FILE._replace(make=_renamed("prompt_label")),
    "GeneralResponseDataLoader": _FILE._replace(make=_renamed("response_label")),
}
"""Counterparts of dataloader classes by name."""
