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

_WITH_BLANK = ("roberta",)
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
    frequency, and no rescaling to a baseline. Models whose tokenizer does not put one
    sign before and one after a text, as those of BERT do, are refused.

    Of several references the best counts, for each score by itself. An empty text
    scores 0, as in bert-score, and so does a missing prediction that counts. A text
    that is longer than the model reads is not scored, unless `truncate`. How a batch
    is padded moves scores in their sixth digit. It needs torch and transformers: `pip
    install "evalkit-metrics-generation[bertscore]"`. Range -1 to 1, higher is better;
    Student's interval.

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

    def check(self) -> None:
        """Refuse a layer that the model does not have, and texts without ends."""
        layer, layers = self._known.layer, self._config.num_hidden_layers
        if layer > layers:
            raise MetricError(f"layer={layer}: the model has {layers} layers")
        tokenizer = self._tokenizer
        tokens = tokenizer("a", verbose=False)["input_ids"]
        ends = [tokenizer.cls_token_id, tokenizer.sep_token_id]
        if len(tokens) < len(ends) or [tokens[0], tokens[-1]] != ends:
            raise MetricError(
                f"model={self._known.model}: its tokenizer does not put one sign "
                "before and one after a text, as those of BERT do, so that it is not "
                "known which tokens count"
            )

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
            tokens = [torch.tensor(encoded[text], device=self.device) for text in some]
            padded, is_token = (
                self._padded(tokens),
                self._padded([torch.ones_like(each) for each in tokens], 0),
            )
            with torch.no_grad():
                layer = self._model(padded, attention_mask=is_token).last_hidden_state
            layer = torch.nn.functional.normalize(layer, dim=-1)
            known |= {
                text: vectors[: len(own)]
                for text, own, vectors in zip(some, tokens, layer, strict=True)
            }
        return known

    def _padded(self, rows: list[Any], value: int | None = None) -> Any:
        if value is None:
            value = self._tokenizer.pad_token_id or 0
        pad = self.library("torch").nn.utils.rnn.pad_sequence
        return pad(rows, batch_first=True, padding_value=value)

    def _tokens(self, text: str) -> list[int] | None:
        found: list[int] = self._tokenizer(text.strip(), verbose=False)["input_ids"]
        if len(found) <= self._limit:
            return found
        if not self._known.truncate:
            return None
        cut: list[int] = self._tokenizer(
            text.strip(), truncation=True, max_length=self._limit
        )["input_ids"]
        return cut

    @property
    def _known(self) -> BertScoreParameters:
        given = self.parameters
        assert isinstance(given, BertScoreParameters)
        return given

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
        logging = self.library("transformers.utils.logging")
        level = logging.get_verbosity()
        logging.set_verbosity_error()  # it would list the layers that are left out
        try:
            model = self.library("transformers").AutoModel.from_pretrained(
                self.folder, num_hidden_layers=self._known.layer
            )
        finally:
            logging.set_verbosity(level)
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
