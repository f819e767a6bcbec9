"""BLEU of the pieces of a SentencePiece model that is made here."""

import hashlib
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

import evalkit
from evalkit import MetricError
from evalkit_testing import check_metric

TEXTS = [
    "the cat sat on the mat",
    "Der Hund lief über die Straße",
    "猫がマットに座った",
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    written = BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS * 3),
        model_writer=written,
        vocab_size=34,
        minloglevel=2,
    )
    path = tmp_path_factory.mktemp("pieces") / "small.model"
    path.write_bytes(written.getvalue())
    return path


texts = st.lists(
    st.sampled_from([*TEXTS, "the cat", "Hund", "x", "", "  ", "猫", "\n"]), max_size=3
).map(" ".join)


@given(
    rows=st.lists(
        st.tuples(texts, st.lists(texts, min_size=1, max_size=2)),
        min_size=1,
        max_size=4,
    )
)
@pytest.mark.slow
def test_it_is_sacrebleus_score_of_the_pieces(
    model: Path, rows: list[tuple[str, list[str]]]
) -> None:
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))

    def pieces(text: str) -> str:
        return " ".join(processor.encode_as_pieces(text.rstrip()))

    scorer = sacrebleu.BLEU(tokenize="none", force=True)
    said = [pieces(text) for text, _ in rows]
    most = max(len(right) for _, right in rows)
    right: Any = [
        [pieces(of[n]) if n < len(of) else None for _, of in rows] for n in range(most)
    ]
    expected = scorer.corpus_score(said, right).score
    name = f"sp-bleu:model={model}"
    found = evalkit.score(name, [text for text, _ in rows], [of for _, of in rows])[
        name
    ]
    if found.value is None:
        assert expected == 0
        assert not any(said)
    else:
        assert found.value == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
def test_it_keeps_the_laws(model: Path) -> None:
    examples = st.tuples(st.sampled_from(TEXTS), st.sampled_from(TEXTS))
    check_metric(f"sp-bleu:model={model}", examples=examples, max_examples=2)


def test_the_model_is_part_of_the_run(model: Path) -> None:
    rows = [{"uid": "1", "question": "?", "answer": TEXTS[0]}]
    result = evalkit.evaluate(
        rows,
        [{"id": "1", "answer": TEXTS[0]}],
        task="math-qa",
        metrics=[f"sp-bleu:model={model}", "bleu"],
    )
    assert [score.value for score in result.scores] == [pytest.approx(100)] * 2
    known = {each.id: each.resources for each in result.record.components}
    digest = hashlib.sha256(model.read_bytes()).hexdigest()
    version = sacrebleu.__version__
    assert known["metrics/sp-bleu"] == {
        "parameter model": digest,
        "sacrebleu signature": f"case:mixed|eff:no|tok:spm-{digest[:8]}|smooth:exp|"
        f"version:{version}",
    }
    assert known["metrics/bleu"] == {
        "sacrebleu signature": "case:mixed|eff:no|tok:13a (by language zh or char)|"
        f"smooth:exp|version:{version}"
    }


@pytest.mark.parametrize(
    ("spoken", "tokenizer"), [(("zh",), "zh"), (("ja", "zh"), "char"), ((), "13a")]
)
def test_bleu_takes_its_words_from_the_languages(
    spoken: tuple[str, ...], tokenizer: str
) -> None:
    right, said = "今天天气很好我们去公园", "今天天气很好我们去学校 iPhone 15"

    class Weather(evalkit.Dataset):
        name = "weather"
        task = "math-qa"
        languages = spoken

        def load(self, split: str) -> list[dict[str, str]]:
            return [{"uid": "1", "question": "?", "answer": right}]

    rows = [{"id": "1", "answer": said}]
    found = evalkit.evaluate(Weather, rows, metrics=["bleu"])["bleu"]
    expected = sacrebleu.corpus_bleu([said], [[right]], tokenize=tokenizer, force=True)
    assert found.value == pytest.approx(expected.score)
    assert ("no blanks between words" in (found.flag or "")) is (spoken == ())


def test_a_file_that_is_no_model_is_named(tmp_path: Path) -> None:
    path = tmp_path / "no.model"
    with pytest.raises(MetricError, match=r"no\.model cannot be read: No such file"):
        evalkit.score(f"sp-bleu:model={path}", ["a"], ["a"])
    path.write_text("text", encoding="utf-8")
    with pytest.raises(MetricError, match=r"no\.model is no SentencePiece model"):
        evalkit.score(f"sp-bleu:model={path}", ["a"], ["a"])
