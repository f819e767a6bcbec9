"""Stand-in rows for SEA-HELM's tasks, in the form that each dataloader class reads."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROWS = 23
"""Rows of each split: no multiple of four, as options are dealt in fours."""

ALPHABETS = (["A", "B", "C", "D"], ["Positif", "Netral", "Negatif"], ["ya", "tidak"])

Row = dict[str, Any]


def _text(random: random.Random, name: str) -> str:
    words = random.sample(["uno", "dua", "ba {b}", "ไทย", "cinco\n", " six", "$7"], 3)
    return f"{name} {random.randrange(10**9)} {' '.join(words)}"


_OWN_LABELS: Mapping[str, Any] = {
    "CountdownMetric": {
        "nums": [1, 2, 3, 4],
        "target": 10,
        "search_procedure": "<Search Procedure>\nLook.\nPick two numbers 2.\n"
        "|- Try 2 + 2 = 4.\n</Search Procedure>\n"
        "<Solution>\n1 + 2 = 3\n3 + 3 = 6\n6 + 4 = 10\n</Solution>",
    },
    "HtmlToTsvMetric": "```tsv\nname\tage\nAna\t11\nBudi\t12\n```",
    "PathTraversalMetric": "<Route>\nFrom A, take a bus to B.\nFrom B, walk to C 1.\n"
    "</Route>",
    "ToMTrackingMetric": "- Step 0: {room 1}\n- Step 1: {room 2}",
    "TravelPlanningMetric": {
        "ground_truth_cities": "Oslo**Rome",
        "ground_truth_durations": "1**3",
        "solving_procedure": "<Solving Procedure>\nGo 1.\n</Solving Procedure>\n"
        "<Plan>\n"
        "**Day 1:** Visiting Oslo for 1 days.\n</Plan>",
    },
}
"""Labels of classes that are no text alone, with what would be a right response."""


def own_response(metric: str, number: int) -> str | None:
    """Return a right or wrong response to a task whose metric class is its own."""
    if metric == "IFEvalMetric":
        return ("Saya suka makan nasi goreng di rumah", "Mereka pergi ke pasar")[
            number % 2
        ]
    label = _OWN_LABELS.get(metric)
    if label is None:
        return None
    text = label if isinstance(label, str) else list(label.values())[-1]
    return str(text) if number % 3 else str(text).replace("1", "7")


def _own_rows(job: Mapping[str, Any], random: random.Random) -> Iterator[Row]:
    """Make rows in SEA-HELM's own format, which several tasks may read."""
    metric, names = job["config"]["metric_class"], job["names"]
    labels = ALPHABETS[random.randrange(3)]
    loader = job["config"].get("dataloader_class") or ""
    for number in range(ROWS):
        label: Any = labels[number % len(labels)]
        if metric in (
            "QuestionAnsweringMetric",
            "BBHExactMatch",
            "SummarizationMetric",
        ):
            label = f"the answer {number % 5}!"
        if metric == "QuestionAnsweringMetric":
            label = [label, f"another {number}"]
        label = _OWN_LABELS.get(metric, label)
        metadata = {
            "linguistic_phenomenon": f"kind {number % 3}",
            "category": f"category {number % 2}",
            "subcategory": "keywords:existence",
            "subject": f"subject {number % 2}",
        }
        prompt = {name: _text(random, name) for name in names}
        prompt["subject"] = metadata["subject"].title()
        other = labels[(number + 1) % len(labels)]
        found = {"prompt_label": label, "response_label": other}
        yield {
            "id": f"row{number}",
            **(found if loader.endswith("DataLoader") else {"label": label}),
            "prompts": [prompt],
            "metadata": metadata,
            "cot": _text(random, "cot"),
            "cot_content": _text(random, "cot"),
            "kwargs": [{"keywords": ["saya"]}],
        }


def stored_rows(job: Mapping[str, Any], seed: int) -> list[Row]:
    """Make the stored rows that a task's dataloader class reads."""
    rng = random.Random(seed)
    loader = job["config"].get("dataloader_class")
    task = job["task"].removesuffix("-logprobs")

    def text(name: str) -> str:
        return _text(rng, name)

    makers = {
        "GlobalMMLUDataloader": lambda n: {
            "sample_id": f"s/{n}",
            "subject": task.removeprefix("global_mmlu_") if n % 5 else "other",
            "question": text("q"),
            **{f"option_{x}": f" {x} {text('o')}" for x in "abcd"},
            "answer": "ABCD"[n % 4],
            **dict.fromkeys(
                (
                    *("subject_category", "required_knowledge", "time_sensitive"),
                    *("reference", "culture", "region", "country", "is_annotated"),
                    "cultural_sensitivity_label",
                ),
                "",
            ),
        },
        "MMLUReduxDataloader": lambda n: {
            "question": text("q"),
            "choices": [text(x) for x in "abcd"],
            "answer": n % 4,
            "error_type": ("ok", "ok", "wrong_groundtruth", "bad_question")[n % 4],
            "correct_answer": n % 5 if n % 3 else None,
            "source": "",
        },
        "MMLUProDataloader": lambda n: {
            "question_id": n,
            "question": text("q"),
            "options": [text(x) for x in "abcdefghij"[: 4 + n % 7]],
            "answer": "ABCD"[n % 4],
            "category": task.removeprefix("mmlu_pro_").replace("_", " ")
            if n % 5
            else "other",
            "cot_content": text("cot"),
            "src": "",
        },
        "SuperGPQADataloader": lambda n: {
            "question": text("q"),
            "options": [text(x) for x in "abcdefghij"],
            "answer_letter": "ABCDEFGHIJ"[n % 10],
            "discipline": task.removeprefix("supergpqa-").replace("-", " ").title()
            if n % 5
            else "Other",
            "field": f"field {n % 2}",
            "subfield": "",
            "difficulty": ("easy", "hard")[n % 2],
        },
        "ThaiExamDataloader": lambda n: {
            "question": f"{n} {text('q')}",
            **{x: text(x) for x in "abcde"},
            "answer": "abcde"[n % 5],
            "subject": "",
        },
        "GPQADataloader": lambda n: {
            "Question": text("q"),
            "Correct Answer": f"{text('right')} ",
            **{f"Incorrect Answer {k}": text(f"wrong {k}") for k in (1, 2, 3)},
        },
        "MuSRDataloader": lambda n: {
            "narrative": text("n"),
            "question": text("q"),
            "choices": repr([text(x) for x in "abc"]),
            "answer_index": n % 3,
        },
        "MathArenaDataloader": lambda n: {
            "problem_idx": n,
            "answer": n,
            "problem": text("p"),
        },
        "MathHardDataloader": lambda n: {
            "problem": f"{n} {text('p')}",
            "solution": rf"So $x = \boxed{{\frac{{{n + 1}}}{{7}}}}$.",
            "level": "",
            "type": "",
        },
        "IFEvalDataloader": lambda n: {
            "key": 1000 + n,
            "prompt": text("p"),
            "instruction_id_list": ["punctuation:no_comma"],
            "kwargs": [{"let_relation": None}],
        },
    }
    if loader in makers:
        count = 440 if loader == "MathHardDataloader" else ROWS
        return [makers[loader](number) for number in range(count)]
    return list(_own_rows(job, rng))


def write_stand_ins(job: Mapping[str, Any], root: Path, hub: Path) -> None:
    """Write the stand-ins of a task where its dataloader class looks for them."""
    for number, split in enumerate(("test", "examples")):
        place = job["places"].get(split)
        if place is None:
            continue
        file = (hub if place["is_hub"] else root) / place["file"]
        file.parent.mkdir(parents=True, exist_ok=True)
        is_own = split == "examples" and not place["is_hub"]
        source = {**job, "config": {**job["config"], "dataloader_class": None}}
        rows = stored_rows(source if is_own else job, number)
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
