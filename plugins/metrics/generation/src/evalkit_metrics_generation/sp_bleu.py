"""BLEU of the pieces of a SentencePiece model."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from evalkit import MetricError
from evalkit_metrics_generation.bleu import CountedBleu, CountParameters

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU


class SpBleuParameters(CountParameters):
    """The model, and how n-grams are counted."""

    model: Path
    """File of a SentencePiece model, such as that of FLORES-200."""


class SpBleu(CountedBleu):
    """BLEU of all texts together, of the pieces of a SentencePiece model.

    As `bleu`, with texts cut into pieces by the model that `model=FILE` names instead
    of into words, so that languages without blanks between words compare. What is
    called spBLEU is this with the model of FLORES-101 or FLORES-200; whose BLEU it is,
    is said by the hash of the file, which is part of the run, and in sacrebleu's
    signature as `tok:spm-` and its first digits. Nothing is downloaded.

    A missing prediction counts as an empty text; an example with an empty list of
    references is not scored. Where no prediction has 4 pieces, BLEU is 0, which is
    flagged; where no text has a piece at all, it is null. Range 0 to 100, higher is
    better; bootstrap.

    Source: Goyal et al., The Flores-101 Evaluation Benchmark for Low-Resource and
    Multilingual Machine Translation, 2022; `sacrebleu.corpus_bleu(…,
    tokenize="flores200")`.

    Example:
        >>> import io, tempfile
        >>> import evalkit, sentencepiece
        >>> model, texts = io.BytesIO(), ["the cat sat on the mat", "a cat, a hat"]
        >>> options = {"vocab_size": 16, "model_type": "char", "minloglevel": 2}
        >>> sentencepiece.SentencePieceTrainer.train(
        ...     sentence_iterator=iter(texts), model_writer=model, **options
        ... )
        >>> with tempfile.NamedTemporaryFile(suffix=".model") as file:
        ...     _ = file.write(model.getvalue()), file.flush()
        ...     name = f"sp-bleu:model={file.name}"
        ...     round(evalkit.score(name, texts, texts)[name].value, 2)
        100.0
    """

    Parameters = SpBleuParameters

    def make_scorer(self) -> BLEU:
        """Return sacrebleu's BLEU with the model's pieces as words.

        Raises:
            MetricError: The file is not there, or no model.
        """
        from sacrebleu.metrics.bleu import BLEU

        given = self.parameters
        assert isinstance(given, SpBleuParameters)
        scorer = BLEU(tokenize="none", **self._options())
        scorer.tokenizer = _Pieces(given.model)
        scorer.tokenizer_signature = scorer.tokenizer.signature()
        return scorer


class _Pieces:
    """Cuts texts into pieces, as sacrebleu asks of its tokenizers."""

    def __init__(self, path: Path) -> None:
        from sentencepiece import SentencePieceProcessor

        try:
            model = path.read_bytes()
            self._encode = SentencePieceProcessor(model_proto=model).encode_as_pieces
        except OSError as error:
            raise MetricError(
                f"model={path} cannot be read: {error.strerror or error}"
            ) from error
        except RuntimeError as error:
            raise MetricError(f"model={path} is no SentencePiece model") from error
        self._name = f"spm-{sha256(model).hexdigest()[:8]}"

    def signature(self) -> str:
        return self._name

    def __call__(self, line: str) -> str:
        return " ".join(self._encode(line))
