"""COMET."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from evalkit import MetricError
from evalkit_metrics_generation.models import ModelMetric, ModelParameters

SETTINGS, CHECKPOINT = "hparams.yaml", "checkpoints/model.ckpt"
"""The files of a model."""


class CometParameters(ModelParameters):
    """Which model, and where the source texts are."""

    source: str = "source"
    """The field of the data that holds the text that was translated."""


class Comet(ModelMetric):
    """COMET: the mean of the scores that a trained model gives to translations.

    The model that `model` names, a folder with `hparams.yaml` and
    `checkpoints/model.ckpt` or a model in the cache of Hugging Face, reads the source
    text (the field `source` of the data), the translation and the reference; evalkit
    downloads none, nor the configuration of the model's encoder. What a score means is
    the model's: those of 2022 give about 0 to 1, earlier ones have no bounds.

    It takes one reference. A missing prediction that counts is an empty text. Texts
    that are longer than the encoder reads are cut, as COMET does. How a batch is padded
    moves scores in their sixth digit. It needs COMET: `pip install
    "evalkit-metrics-generation[comet]"`. Higher is better; Student's interval.

    Source: Rei et al., COMET: A Neural Framework for MT Evaluation, 2020;
    `comet.models.CometModel.predict`.

    Example:
        >>> import evalkit
        >>> name = "comet:model=Unbabel/wmt22-comet-da"
        >>> rows = [{"uid": "1", "source": "le chat", "answer": "the cat"}]
        >>> evalkit.evaluate(rows, ["a cat"], metrics=[name])  # doctest: +SKIP
    """

    Parameters = CometParameters
    extra = "comet"
    answer_kinds = ("one",)
    accepts_no_prediction = True
    batch_rows = 16

    @property
    def columns(self) -> Sequence[str]:  # type: ignore[override]
        """The field of the source texts."""
        return (self._source,)

    def check(self) -> None:
        """Refuse a folder that holds no model of COMET's."""
        self.library("comet")
        for name in (SETTINGS, CHECKPOINT):
            if not (self.folder / name).is_file():
                raise MetricError(f"model={self._given.model} has no {name}")

    def score_batch(
        self,
        predictions: Sequence[Any],
        targets: Sequence[Any],
        fields: Mapping[str, Sequence[Any]],
    ) -> list[float]:
        """Score some translations in one pass of the model."""
        torch = self.library("torch")
        samples = [
            {"src": str(source), "mt": str(said or ""), "ref": str(wanted)}
            for source, said, wanted in zip(
                fields[self._source], predictions, targets, strict=True
            )
        ]
        inputs = self._model.prepare_for_inference(samples)
        inputs = self._model.transfer_batch_to_device(inputs, self.device, 0)
        with torch.no_grad():
            scores = self._model.predict_step(inputs).scores
        found: list[float] = scores.double().flatten().tolist()
        return found

    @property
    def _source(self) -> str:
        given = self.parameters
        assert isinstance(given, CometParameters)
        return given.source

    @cached_property
    def _model(self) -> Any:
        checkpoint = str(self.folder / CHECKPOINT)
        load = self.library("comet").load_from_checkpoint
        try:
            model = load(checkpoint, local_files_only=True)
        except OSError as error:
            raise MetricError(
                f"model={self._given.model}: its encoder is not in the cache of "
                f"Hugging Face, and evalkit downloads none: {error}"
            ) from error
        return model.eval().to(self.device)
