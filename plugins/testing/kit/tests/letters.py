"""A task, a metric and perturbations that are installed for a test."""

from pydantic import BaseModel

import evalkit


class Asked(BaseModel):
    uid: str
    text: str


class Said(BaseModel):
    id: str
    label: str | None = None


class Task(evalkit.TaskIO):
    Input = Asked
    Output = Said
    answer_field = "label"
    labels = ("a", "b", "c")
    example = {"uid": "1", "text": "x"}
    perf_metric = "hits"


class Hits(evalkit.Metric):
    bounds = (0, 1)
    higher_is_better = True
    worst_value = 0.0

    class Parameters(evalkit.Parameters):
        weight: float = 1.0

    def score_example(self, prediction: str, target: str) -> float:
        assert isinstance(self.parameters, Hits.Parameters)
        return float(prediction == target) * self.parameters.weight


class Invariant(evalkit.Perturbation):
    families = {"robustness"}
    version = "1"
    label_effect = {"*": "invariant"}

    class Parameters(evalkit.Parameters):
        prob: float = 0.1

    def perturb(self, text: str) -> str:
        return text.upper()


class Swap(Invariant):
    label_effect = {"letters": "invariant", "*": "uncertain"}


class Contrast(Invariant):
    label_effect = {"*": "transforms"}
