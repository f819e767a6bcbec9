"""BERTScore."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Any

from pydantic import Field

from evalkit import MetricError, NotScored
from evalkit_metrics_generation.models import ModelMetric, ModelParameters
from evalkit_metrics_generation.references import NO_REFERENCE, reference_list

ZERO = {"": 0.0, "precision": 0.0, "recall": 0.0}
"""The scores of an empty text, as bert-score has them."""

_WITH_BLANK = ("roberta", "gpt2")
"""Kinds of models whose first word is that of a text's middle, with a blank before."""

_PLAUSIBLE = 1_000_000
"""Tokenizers without a limit give a number beyond this."""


class BertScoreParameters(ModelParameters):
    """Which model, and which of its layers."""

    layer: Annotated[int, Field(ge=1)]
    """Which layer's vectors are compared, from 1: 17 of roberta-large, 9 of
    bert-base-multilingual-cased and bert-base-uncased, 40 of deberta-xlarge-mnli."""
    truncate: bool = False
    """Whether texts that are longer than the model reads are cut, as bert-score does;
    else they are not scored."""


class BertScore(ModelMetric):
    """BERTScore: how well the vectors of a text's tokens match those of the reference.

    Recall is the mean, over tokens of the reference, of the greatest cosine with a
    token of the prediction, precision the same the other way round, and the main score
    their F1 (`bertscore#precision` and `#recall` beside it); then the mean over
    examples. Vectors are those of `layer` of the model that `model` names, a folder or
    a model in the cache of Hugging Face; evalkit downloads none. No weights by document
    frequency, and no rescaling to a baseline.

    Of several references the best counts, for each score by itself. An empty text
    scores 0, as in bert-score, and so does a missing prediction that counts. A text
    that is longer than the model reads is not scored, unless `truncate`. How a batch
    is padded moves scores in their sixth digit. It needs torch and transformers: `pip
    install "evalkit-metrics-generation[bertscore]"`. Range -1 to 1, higher is better;
    Wilson's interval of a bounded mean.

    Source: Zhang et al., BERTScore: Evaluating Text Generation with BERT, 2020;
    `bert_score.score`.

    Example:
        >>> import evalkit
        >>> name = "bertscore:model=roberta-large,layer=17"
        >>> evalkit.score(name, ["a cat"], ["the cat"])[name]  # doctest: +SKIP
    """

    Parameters = BertScoreParameters
    extra = "bertscore"
    bounds = (-1.0, 1.0)
    worst_value = 0.0
    scores = {name: {} for name in ZERO}

    def score_batch(
        self, predictions: Sequence[Any], targets: Sequence[Any]
    ) -> list[dict[str, float] | NotScored]:
        """Score some texts, with one pass of the model over all that are different."""
        references = [reference_list(target) for target in targets]
        said = [str(prediction) for prediction in predictions]
        texts = {*said, *(text for several in references for text in several)}
        vectors = self._vectors(sorted(texts, key=lambda text: (len(text), text)))
        return [
            self._best(vectors[text], [vectors[each] for each in several])
            for text, several in zip(said, references, strict=True)
        ]

    def _best(self, said: Any, references: list[Any]) -> dict[str, float] | NotScored:
        """Return the best scores that any reference gives."""
        if not references:
            return NotScored(NO_REFERENCE)
        if said is None or None in references:
            return NotScored(f"a text has more than the {self._limit} tokens read")
        found = [_matched(said, wanted) for wanted in references]
        return {name: max(each[name] for each in found) for name in ZERO}

    def _vectors(self, texts: list[str]) -> dict[str, Any]:
        """Return a text's vectors of length 1; None where it is too long."""
        torch = self.library("torch")
        encoded = {text: self._tokens(text) for text in texts}
        known: dict[str, Any] = dict.fromkeys(texts)
        fit = [text for text in texts if encoded[text] is not None]
        for first in range(0, len(fit), self.batch_rows):
            some = fit[first : first + self.batch_rows]
            padded = self._tokenizer.pad(
                {"input_ids": [encoded[text] for text in some]}, return_tensors="pt"
            ).to(self.device)
            with torch.no_grad():
                layer = self._model(**padded).last_hidden_state
            layer = torch.nn.functional.normalize(layer, dim=-1)
            for row, text in enumerate(some):
                known[text] = layer[row, padded["attention_mask"][row].bool()]
        return known

    def _tokens(self, text: str) -> list[int] | None:
        found: list[int] = self._tokenizer(text.strip(), verbose=False)["input_ids"]
        if len(found) <= self._limit:
            return found
        if not self._truncates:
            return None
        cut: list[int] = self._tokenizer(
            text.strip(), truncation=True, max_length=self._limit
        )["input_ids"]
        return cut

    @property
    def _truncates(self) -> bool:
        given = self.parameters
        assert isinstance(given, BertScoreParameters)
        return given.truncate

    @cached_property
    def _config(self) -> Any:
        return self.library("transformers").AutoConfig.from_pretrained(self.folder)

    @cached_property
    def _limit(self) -> int:
        """The most tokens that the model reads."""
        said = int(self._tokenizer.model_max_length)
        positions = int(getattr(self._config, "max_position_embeddings", _PLAUSIBLE))
        if "roberta" in self._config.model_type:
            positions -= 2  # the first places are not for tokens
        return min(said, positions) if said < _PLAUSIBLE else positions

    @cached_property
    def _tokenizer(self) -> Any:
        transformers = self.library("transformers")
        blank = self._config.model_type in _WITH_BLANK
        options = {"add_prefix_space": True} if blank else {}
        return transformers.AutoTokenizer.from_pretrained(self.folder, **options)

    @cached_property
    def _model(self) -> Any:
        """The model up to the layer that is compared."""
        given = self.parameters
        assert isinstance(given, BertScoreParameters)
        layers = self._config.num_hidden_layers
        if given.layer > layers:
            raise MetricError(f"layer={given.layer}: the model has {layers} layers")
        model = self.library("transformers").AutoModel.from_pretrained(
            self.folder, num_hidden_layers=given.layer
        )
        return model.eval().to(self.device)


def _matched(said: Any, wanted: Any) -> dict[str, float]:
    """Match each token with the most similar one of the other text.

    The first and the last token, which stand for the text, may be matched but are not
    counted.
    """
    if len(said) <= 2 or len(wanted) <= 2:
        return ZERO
    cosines = said @ wanted.T
    precision = float(cosines.max(dim=1).values[1:-1].double().mean())
    recall = float(cosines.max(dim=0).values[1:-1].double().mean())
    total = precision + recall
    f1 = 2 * precision * recall / total if total else 0.0
    return {
        name: min(max(value, -1.0), 1.0)  # of two equal vectors it may be a hair more
        for name, value in (("", f1), ("precision", precision), ("recall", recall))
    }
