"""MED, read from the publisher's own file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalkit import Dataset, Source
from evalkit_datasets_med.publisher import read_pairs

FILE = "MED.tsv"


class Med(Dataset):
    """5 382 pairs of sentences whose inference turns on monotonicity.

    3 268 rows are 1 634 pairs in both directions. Rows with the same two sentences are
    not independent: the cluster is the unordered pair.
    """

    name = "med"
    task = "nli"
    # no pair of the published file is a contradiction, but a model may answer so and
    # is then wrong; without the third label its response would be refused
    labels = {
        "entailment": "entailed",
        "neutral": "neutral",
        "contradiction": "contradictory",
    }
    cluster = "pair"
    # the paper's, for the whole set and by direction
    perf_metric = "accuracy"
    version = "1"
    license = "CC-BY-SA-4.0"
    source_url = "https://github.com/verypluming/MED"
    languages = ("en",)
    description = "Monotonicity Entailment Dataset: pairs of sentences"
    citation = """@inproceedings{yanaka-etal-2019-neural,
  title = {Can Neural Networks Understand Monotonicity Reasoning?},
  author = {Yanaka, Hitomi and Mineshima, Koji and Bekki, Daisuke and Inui, Kentaro and
            Sekine, Satoshi and Abzianidze, Lasha and Bos, Johan},
  booktitle = {Proceedings of the 2019 ACL Workshop BlackboxNLP: Analyzing and
               Interpreting Neural Networks for NLP},
  pages = {31--40},
  year = {2019},
  doi = {10.18653/v1/W19-4804}
}"""
    sources = {
        FILE: Source(
            url="https://raw.githubusercontent.com/verypluming/MED/master/MED.tsv",
            sha256="644d4ffc16fffabb42ab3b7b087074794cefe4c434c7f852b998f209f295d74a",
            license="CC-BY-SA-4.0",
            citation=citation,
        )
    }

    def load(self, split: str) -> list[dict[str, Any]]:
        """Read the pairs; `index` is the id."""
        return read_pairs(self.file(FILE), tuple(self.labels))

    def adapt_response(self, response: Mapping[str, Any]) -> Mapping[str, Any]:
        """Take MNLI's names of the labels, which its models write, for the task's.

        A model of two classes gives no probability of the third label, which is 0.
        """
        adapted = dict(response)
        label, prob = response.get("label"), response.get("prob")
        if isinstance(label, str):
            adapted["label"] = self.labels.get(label, label)
        if isinstance(prob, Mapping) and not {*prob} & {*self.labels.values()} - {
            *self.labels
        }:
            prob = {self.labels.get(name, name): value for name, value in prob.items()}
            adapted["prob"] = prob
        if isinstance(prob, Mapping) and {*prob} == {"entailed", "neutral"}:
            adapted["prob"] = {**prob, "contradictory": 0.0}
        return adapted
