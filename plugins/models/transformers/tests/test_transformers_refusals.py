"""Weights that cannot continue texts, and logits that are no numbers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

import evalkit  # noqa: E402
from evalkit_models_base import (  # noqa: E402
    BoundModel,
    Reply,
    Request,
)
from evalkit_models_transformers.causality import looks_ahead  # noqa: E402

torch.set_num_threads(1)

LONG = "the cat sat on the mat and the dog"
Made = Callable[[Any], Path]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Write a model into a folder, with a tokenizer of bytes."""

    def write(model: Any) -> Path:
        signs = tokenizers.pre_tokenizers.ByteLevel.alphabet()
        known = {"<|end|>": 0, **{each: n for n, each in enumerate(sorted(signs), 1)}}
        tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(known, []))
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(
            add_prefix_space=False
        )
        tokenizer.decoder = tokenizers.decoders.ByteLevel()
        transformers.PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, eos_token="<|end|>"
        ).save_pretrained(tmp_path)
        model.save_pretrained(tmp_path)
        return tmp_path

    return write


def gpt2(**more: Any) -> Any:
    torch.manual_seed(3)
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            **{
                "vocab_size": 257,
                "n_positions": 48,
                "n_embd": 16,
                "n_layer": 1,
                "n_head": 2,
                "initializer_range": 0.4,
                "eos_token_id": 0,
                "bos_token_id": 0,
                **more,
            }
        )
    )


def small(kind: str, **more: Any) -> Any:
    """Return the configuration of a small model."""
    return getattr(transformers, kind)(
        vocab_size=257,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=64,
        pad_token_id=0,
        **more,
    )


def ask(folder: Path, *requests: Request, **parameters: Any) -> list[Reply]:
    given = {"model": str(folder), "device": "cpu", **parameters}
    model = evalkit.Registry().load("models", "transformers", given)
    return BoundModel.of(model).generate(requests)


def test_weights_that_are_missing_are_named(made: Made) -> None:
    config = small("LlamaConfig", num_labels=3, tie_word_embeddings=False)
    folder = made(transformers.LlamaForSequenceClassification(config))
    (reply,) = ask(folder, Request(prompt="a", continuations=(" b",)))
    assert reply.is_fatal
    assert f"model={folder}: of what a LlamaForCausalLM needs" in (reply.error or "")
    assert "lm_head.weight" in (reply.error or "")
    assert "LlamaForSequenceClassification" in (reply.error or "")


def test_weights_of_another_shape_are_named(made: Made) -> None:
    folder = made(gpt2())
    gpt2(n_positions=40).config.save_pretrained(folder)
    (reply,) = ask(folder, Request(prompt="a", max_tokens=1))
    assert reply.is_fatal
    assert "transformer.wpe.weight" in (reply.error or "")


def test_tied_weights_are_not_missing(made: Made) -> None:
    (reply,) = ask(made(gpt2()), Request(prompt="a", max_tokens=1))
    assert reply.error is None


@pytest.mark.parametrize("seed", range(3))
def test_a_model_that_looks_at_later_tokens_is_refused(made: Made, seed: int) -> None:
    torch.manual_seed(seed)
    folder = made(transformers.BertForMaskedLM(small("BertConfig")))
    (reply,) = ask(folder, Request(prompt="a", continuations=(" b",)))
    assert reply.is_fatal
    assert "this BertLMHeadModel looks at later tokens" in (reply.error or "")


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float16"])
def test_what_looks_ahead_is_told_from_what_does_not(kind: str) -> None:
    config = small("BertConfig", initializer_range=0.4)
    there = transformers.BertForMaskedLM(config).to(getattr(torch, kind)).eval()
    assert looks_ahead(there, 64)
    config = small("BertConfig", initializer_range=0.4, is_decoder=True)
    causal = transformers.BertLMHeadModel(config).to(getattr(torch, kind)).eval()
    assert not looks_ahead(causal, 64)
    assert not looks_ahead(gpt2().to(getattr(torch, kind)).eval(), 48)
    assert looks_ahead(there, 2)
    assert not looks_ahead(there, 1)


@pytest.mark.parametrize("more", [{}, {"temperature": 1.0, "seed": 5}])
def test_a_long_prompt_leaves_short_ones_their_room(
    made: Made, more: dict[str, Any]
) -> None:
    """GPT-2 knows no place after its last one."""
    folder = made(gpt2(eos_token_id=None))
    prompts = [LONG, "ab", "abc", LONG[:20], "ab"]
    requests = [Request(prompt=each, logprobs=1, **more) for each in prompts]
    requests[2] = requests[2].model_copy(update={"max_tokens": 3})
    together = ask(folder, *requests, batch_size=5)
    alone = ask(folder, *requests, batch_size=1)
    for request, one, other in zip(requests, together, alone, strict=True):
        assert one.error is None
        assert one.usage == other.usage
        assert one.completions[0].text == other.completions[0].text
        first, second = one.completions[0].tokens, other.completions[0].tokens
        assert [each.logprob for each in first or ()] == pytest.approx(
            [each.logprob for each in second or ()], abs=1e-4
        )
        assert one.usage.output_tokens is not None
        room = 48 - len(request.prompt or "")
        assert one.usage.output_tokens <= (request.max_tokens or room)
    assert together[1].usage.output_tokens == 46


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_logits_that_are_no_numbers_are_an_error_of_their_row(
    made: Made, value: float
) -> None:
    """Only who reads one token has them."""
    model = gpt2()
    with torch.no_grad():
        # apart, as tied weights would break each row
        model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.clone())
        model.config.tie_word_embeddings = False
        model.transformer.wte.weight[90] = value
    folder = made(model)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    broken = tokenizer.decode([90])
    replies = ask(
        folder,
        Request(prompt=f"b{broken}", max_tokens=1),
        Request(prompt="ab", max_tokens=1),
        Request(prompt="a", continuations=("b", f"{broken}c")),
        Request(prompt="a", continuations=("b",)),
        Request(prompt=f"b{broken}", max_tokens=1, temperature=1.0, completions=2),
        dtype="bfloat16",
    )
    said = "the model's logits are no numbers (NaN or infinite) in bfloat16: try "
    assert [each.error for each in replies] == [
        *(f"{said}dtype=float32", None) * 2,
        f"{said}dtype=float32",
    ]
    assert not any(each.is_fatal for each in replies)
