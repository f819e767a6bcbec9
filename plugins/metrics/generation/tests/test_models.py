"""BERTScore and COMET, on small models that are made here.

Their libraries are no part of the workspace: these tests run where
`evalkit-metrics-generation[bertscore]` or `[comet]` and `bert-score` are installed.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import evalkit
from evalkit import MetricError
from evalkit_metrics_generation.bertscore import BertScore

TEXTS = [
    "the cat sat on the mat",
    "a cat sat on the mat today",
    "cat",
    "",
    "  ",
    "dogs do not sit on mats , they run",
    "über straße",
]
PAIRS = [(said, right) for said in TEXTS for right in TEXTS]

# without a model --------------------------------------------------------------------


class Tokenizer:
    """One whose texts have given ends."""

    cls_token_id: int | None = 1
    sep_token_id: int | None = 2

    def __init__(self, *tokens: int) -> None:
        self.tokens = list(tokens)

    def __call__(self, text: str, verbose: bool) -> dict[str, list[int]]:
        return {"input_ids": self.tokens}


@pytest.mark.parametrize("tokens", [(1, 9, 2), (9,), (9, 2), (9, 2, 1), (9, 8, 7)])
def test_texts_must_stand_between_two_signs(tokens: tuple[int, ...]) -> None:
    metric = BertScore(BertScore.Parameters(model="some", layer=1))
    config = SimpleNamespace(num_hidden_layers=1)
    vars(metric).update(_config=config, _tokenizer=Tokenizer(*tokens))
    if tokens == (1, 9, 2):
        metric.check()
        vars(metric)["_tokenizer"].sep_token_id = None
    with pytest.raises(MetricError, match="one sign before and one after"):
        metric.check()


# models of random weights ------------------------------------------------------------


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch, transformers = _libraries()
    folder = tmp_path_factory.mktemp("bert")
    words = sorted({word for text in TEXTS for word in text.split()} | set("abcdef"))
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    tokenizer = transformers.BertTokenizer(str(folder / "vocab.txt"))
    tokenizer.model_max_length = 16
    tokenizer.save_pretrained(folder)
    torch.manual_seed(1)
    sizes = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32}
    config = transformers.BertConfig(
        vocab_size=len(vocabulary), num_hidden_layers=3, **sizes
    )
    transformers.BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch, transformers = _libraries()
    tokenizers = pytest.importorskip("tokenizers")
    folder = tmp_path_factory.mktemp("roberta")
    trained = tokenizers.ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained.train_from_iterator(TEXTS, vocab_size=300, special_tokens=special)
    trained.save_model(str(folder))
    transformers.RobertaTokenizer.from_pretrained(folder).save_pretrained(folder)
    torch.manual_seed(2)
    sizes = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32}
    config = transformers.RobertaConfig(
        vocab_size=trained.get_vocab_size(),
        num_hidden_layers=2,
        max_position_embeddings=40,
        **sizes,
    )
    transformers.RobertaModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def comet_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch, transformers = _libraries()
    models = pytest.importorskip("comet.models")
    tokenizers = pytest.importorskip("tokenizers")
    encoder = tmp_path_factory.mktemp("encoder")
    trained = tokenizers.SentencePieceUnigramTokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained.train_from_iterator(
        TEXTS, vocab_size=60, special_tokens=special, unk_token="<unk>"
    )
    trained._tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer = transformers.XLMRobertaTokenizerFast(
        tokenizer_object=trained._tokenizer
    )
    tokenizer.save_pretrained(encoder)
    config = transformers.XLMRobertaConfig(
        vocab_size=len(tokenizer) + 2,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=66,
    )
    config.save_pretrained(encoder)
    torch.manual_seed(3)
    model = models.RegressionMetric(
        pretrained_model=str(encoder),
        load_pretrained_weights=False,
        hidden_sizes=[16, 8],
        local_files_only=True,
    )
    folder = tmp_path_factory.mktemp("comet")
    (folder / "checkpoints").mkdir()
    (folder / "hparams.yaml").write_text("class_identifier: regression_metric\n")
    content = {
        "state_dict": model.state_dict(),
        "hyper_parameters": dict(model.hparams),
        "pytorch-lightning_version": "2.0.0",
    }
    torch.save(content, folder / "checkpoints" / "model.ckpt")
    return folder


def _libraries() -> tuple[Any, Any]:
    return pytest.importorskip("torch"), pytest.importorskip("transformers")


def one_by_one(name: str, pairs: list[tuple[str, Any]]) -> dict[str, list[float]]:
    """Return the score of every pair, from a table that says which score is whose."""
    said, right = (list(column) for column in zip(*pairs, strict=True))
    tags = [[str(number)] for number in range(len(pairs))]
    result = evalkit.score(name, said, right, tags=tags)
    found: dict[str, list[float]] = {}
    for score in result.scores:
        if score.tag is not None:
            found.setdefault(score.metric.partition("#")[2], []).append(score.value)
    return found


# BERTScore ---------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("kind", "layer"), [("bert", 3), ("bert", 1), ("roberta", 2)])
def test_it_is_bert_score(
    kind: str, layer: int, request: pytest.FixtureRequest
) -> None:
    bert_score = pytest.importorskip("bert_score")
    folder = request.getfixturevalue(kind)
    said, right = (list(column) for column in zip(*PAIRS, strict=True))
    # it pads texts of a batch with tokens of cosine 0, which is more than some are
    expected = bert_score.score(
        said, right, model_type=str(folder), num_layers=layer, batch_size=1
    )
    found = one_by_one(f"bertscore:layer={layer},model={folder}", PAIRS)
    order = sorted(range(len(PAIRS)), key=str)
    for name, values in zip(("precision", "recall", ""), expected, strict=True):
        wanted = values[order].tolist()
        assert found[name] == pytest.approx(wanted, abs=2e-6), name


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_best_of_several_references_counts_as_in_bert_score(bert: Path) -> None:
    bert_score = pytest.importorskip("bert_score")
    right = [["cat", "a cat sat"], ["dogs do not", "the mat"]]
    said = ["the cat sat", "the mat today"]
    expected = bert_score.score(said, right, model_type=str(bert), num_layers=2)
    name = f"bertscore:layer=2,model={bert}"
    result = evalkit.score(name, said, right)
    for part, values in zip(("#precision", "#recall", ""), expected, strict=True):
        assert result[name + part].value == pytest.approx(
            float(values.mean()), abs=1e-6
        )


@pytest.mark.slow
def test_long_texts_are_cut_or_not_scored(bert: Path) -> None:
    long = "the cat " * 20
    name = f"bertscore:layer=2,model={bert}"
    result = evalkit.score(name, [long, "cat"], ["cat", "cat"])
    assert (result.status, result[name].n) == ("partial", 1)
    assert "a text has more than the 16 tokens read" in result.problems[0].reason
    cut = evalkit.score(name + ",truncate=true", [long, "cat"], ["cat", "cat"])
    assert cut.status == "complete"


@pytest.mark.slow
def test_missing_predictions_and_references(bert: Path) -> None:
    name = f"bertscore:layer=2,model={bert}"
    found = evalkit.score(name, [None, "cat"], ["cat", "cat"])[name]
    assert (found.value, found.n) == (pytest.approx(0.5), 2)
    result = evalkit.score(name, ["cat", "cat"], [[], ["cat"]])
    assert (result.status, result[name].n) == ("partial", 1)
    assert "no reference" in result.problems[0].reason


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ("layer=4,model={bert}", "layer=4: the model has 3 layers"),
        ("layer=1,model=no/such-model", "neither a folder nor a model in the cache"),
        ("layer=1,model=a/b/c", "neither a folder nor a model in the cache"),
    ],
)
def test_a_model_that_cannot_be_used_is_named(
    bert: Path, settings: str, error: str
) -> None:
    name = f"bertscore:{settings.format(bert=bert)}"
    with pytest.raises(MetricError, match=error):
        evaluated(name, [("a", "b")])


# COMET -------------------------------------------------------------------------------


def evaluated(name: str, pairs: list[tuple[str, str]]) -> evalkit.Result:
    """Score pairs, whose question is one of the texts."""
    ids = [f"{number:02}" for number in range(len(pairs))]
    rows = [
        {"uid": uid, "question": TEXTS[number % 5], "answer": right}
        for number, (uid, (_, right)) in enumerate(zip(ids, pairs, strict=True))
    ]
    responses = [
        {"id": uid, "answer": said} for uid, (said, _) in zip(ids, pairs, strict=True)
    ]
    return evalkit.evaluate(rows, responses, task="math-qa", metrics=[name])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_it_is_comet(comet_model: Path) -> None:
    comet = pytest.importorskip("comet")
    result = evaluated(f"comet:model={comet_model},source=question", PAIRS)
    assert result.status == "complete", result.problems
    samples = [
        {"src": TEXTS[number % 5], "mt": said, "ref": right}
        for number, (said, right) in enumerate(PAIRS)
    ]
    model = comet.load_from_checkpoint(
        str(comet_model / "checkpoints" / "model.ckpt"), local_files_only=True
    )
    expected = model.predict(samples, batch_size=8, gpus=0, progress_bar=False)
    [found] = result.scores
    assert found.value == pytest.approx(expected.system_score, abs=1e-6)
    assert found.n == len(PAIRS)


@pytest.mark.slow
def test_a_folder_that_is_no_comet_model_is_named(bert: Path) -> None:
    pytest.importorskip("comet")
    with pytest.raises(MetricError, match=r"has no hparams\.yaml"):
        evaluated(f"comet:model={bert},source=question", [("a", "b")])
