"""Texts, chats and log-probabilities, of small random models that are made here.

Neither torch nor transformers is in the workspace: these tests run where
`evalkit-models-transformers` is installed (see `test_transformers_environment.py`).
"""

import json
import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

import evalkit  # noqa: E402
from evalkit.errors import EvalkitError, PluginContractError  # noqa: E402
from evalkit_models_base import (  # noqa: E402
    Asked,
    BoundModel,
    Message,
    NotAnswered,
    Reply,
    Request,
    predict,
)
from evalkit_models_transformers.encoding import Encoder, Given  # noqa: E402

TEXTS = [
    "the cat sat on the mat and the dog sat on the log",
    "a big cat is not a small dog , is it ?",
    "Which one is right ? A is right , B is wrong .",
    "dogs do not sit on mats , they run over the hills and far away",
    "über die straße ging ein mann",
]
PROMPTS = [
    "the cat",
    "a",
    "Which one is right ? A or B",
    "dogs do not sit on mats , they run over the hills and far away from the cat and",
    "über",
    "the dog sat on the log and the cat sat on the",
    "is it ?",
    "they",
]
TEMPLATE = (
    "{% for message in messages %}"
    "{% if message.role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    "<{{ message.role }}>{{ message.content }}<|end|>"
    "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)
KINDS = ("gpt2", "llama")

# so small a model is slower with several
torch.set_num_threads(1)


def trained_tokenizer(kind: str) -> Any:
    """Return a tokenizer of bytes; that of `llama` puts a sign before each text."""
    trained = tokenizers.Tokenizer(tokenizers.models.BPE())
    trained.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trained.decoder = tokenizers.decoders.ByteLevel()
    trained.train_from_iterator(
        TEXTS,
        tokenizers.trainers.BpeTrainer(
            vocab_size=330,
            special_tokens=["<|end|>", "<|begin|>"],
            initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    signs = {"eos_token": "<|end|>"}
    if kind == "llama":
        signs["bos_token"] = "<|begin|>"
        trained.post_processor = tokenizers.processors.TemplateProcessing(
            single="<|begin|> $A", special_tokens=[("<|begin|>", 1)]
        )
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=trained, **signs)
    if kind == "llama":
        made.chat_template = TEMPLATE
    return made


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A model whose places are learned, and one whose places are turned."""
    torch.manual_seed(7)
    sizes = {"vocab_size": 330, "initializer_range": 0.4, "eos_token_id": 0}
    configs = {
        "gpt2": transformers.GPT2Config(
            n_positions=64, n_embd=24, n_layer=2, n_head=2, bos_token_id=0, **sizes
        ),
        "llama": transformers.LlamaConfig(
            hidden_size=24,
            intermediate_size=40,
            num_hidden_layers=2,
            num_attention_heads=2,
            max_position_embeddings=96,
            bos_token_id=1,
            **sizes,
        ),
    }
    found = {}
    for kind, config in configs.items():
        folder = tmp_path_factory.mktemp("weights") / f"tiny-{kind}"
        model = transformers.AutoModelForCausalLM.from_config(config)
        # what a request says counts, and not this
        model.generation_config.repetition_penalty = 5.0
        model.save_pretrained(folder)
        trained_tokenizer(kind).save_pretrained(folder)
        found[kind] = folder
    return found


def load(folder: Path | str, **parameters: Any) -> BoundModel:
    given = {"model": str(folder), "device": "cpu", **parameters}
    return BoundModel.of(evalkit.Registry().load("models", "transformers", given))


def ask(folder: Path, requests: Sequence[Request], **parameters: Any) -> list[Reply]:
    return load(folder, **parameters).generate(requests)


class ByHand:
    """The same model, asked by torch alone, one token after another."""

    def __init__(self, folder: Path) -> None:
        cls = transformers.AutoModelForCausalLM
        self.model = cls.from_pretrained(folder).eval()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)

    def logprobs(self, tokens: Sequence[int]) -> Any:
        """Return what is expected after some tokens."""
        with torch.no_grad():
            logits = self.model(torch.tensor([list(tokens)])).logits[0, -1]
        return logits.double() - logits.double().logsumexp(0)

    def greedy(self, tokens: Sequence[int], count: int) -> list[int]:
        found: list[int] = []
        while len(found) < count:
            found.append(int(self.logprobs([*tokens, *found]).argmax()))
            if found[-1] == 0:
                return found[:-1]
        return found

    def continuation(self, tokens: Sequence[int], start: int) -> float:
        return sum(
            float(self.logprobs(tokens[:place])[tokens[place]])
            for place in range(start, len(tokens))
        )


@pytest.mark.parametrize("kind", KINDS)
def test_the_likeliest_tokens_follow_whatever_else_is_in_the_batch(
    kind: str, models: dict[str, Path]
) -> None:
    requests = [Request(prompt=each, max_tokens=9, logprobs=3) for each in PROMPTS]
    together = ask(models[kind], requests, batch_size=8)
    alone = ask(models[kind], requests, batch_size=1)
    hand = ByHand(models[kind])
    for request, one, other in zip(requests, together, alone, strict=True):
        tokens = hand.tokenizer(request.prompt)["input_ids"]
        wanted = hand.greedy(tokens, 9)
        (completion,) = one.completions
        assert completion.text == hand.tokenizer.decode(wanted)
        assert one.usage.input_tokens == len(tokens)
        assert completion.finish_reason == ("length" if len(wanted) == 9 else "stop")
        assert completion.tokens is not None
        assert other.completions[0].text == completion.text
        for place, token in enumerate(completion.tokens):
            expected = hand.logprobs([*tokens, *wanted[:place]])
            best: dict[str, float] = {}
            for each in expected.topk(20).indices.tolist():
                # parts of characters are written alike, and count once
                best.setdefault(hand.tokenizer.decode([each]), float(expected[each]))
            likeliest = dict([*best.items()][:3])
            assert token.alternatives == pytest.approx(likeliest, abs=1e-4)
            assert token.logprob == pytest.approx(float(expected.max()), abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_log_probabilities_of_continuations_are_those_of_the_raw_logits(
    kind: str, models: dict[str, Path]
) -> None:
    options = (" cat", " the dog sat on the log", " it ?", " straße")
    requests = [Request(prompt=each, continuations=options) for each in PROMPTS]
    together = ask(models[kind], requests, batch_size=8)
    alone = ask(models[kind], requests, batch_size=1)
    hand = ByHand(models[kind])
    for request, one, other in zip(requests, together, alone, strict=True):
        start = len(hand.tokenizer(request.prompt)["input_ids"])
        for option, found, same in zip(
            options, one.continuations, other.continuations, strict=True
        ):
            tokens = hand.tokenizer(request.prompt + option)["input_ids"]
            wanted = hand.continuation(tokens, start)
            assert found.logprob == pytest.approx(wanted, abs=1e-4)
            assert same.logprob == pytest.approx(wanted, abs=1e-4)
            assert found.tokens == len(tokens) - start


def test_a_token_across_the_end_of_the_prompt_is_an_error(
    models: dict[str, Path],
) -> None:
    """Of `the c` and `at` the whole is `the` and ` cat`."""
    requests = [
        Request(prompt="the c", continuations=("at",)),
        Request(prompt="the", continuations=(" cat",)),
        Request(prompt="the", continuations=("",)),
    ]
    across, whole, nothing = ask(models["gpt2"], requests)
    assert "lies across the beginning of the continuation" in str(across.error)
    assert whole.continuations[0].tokens == 1
    assert nothing.error == "the continuation has no tokens of its own"


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_before_a_continuation_is_the_sign_of_a_beginning(
    kind: str, models: dict[str, Path]
) -> None:
    (reply,) = ask(models[kind], [Request(prompt="", continuations=("the cat",))])
    hand = ByHand(models[kind])
    plain = hand.tokenizer("the cat", add_special_tokens=False)["input_ids"]
    tokens = [{"gpt2": 0, "llama": 1}[kind], *plain]
    wanted = hand.continuation(tokens, 1)
    assert reply.continuations[0].logprob == pytest.approx(wanted, abs=1e-4)
    assert reply.continuations[0].tokens == len(plain)


def test_a_conversation_is_written_as_the_tokenizer_says(
    models: dict[str, Path],
) -> None:
    said = (
        Message(role="user", content="the cat"),
        Message(role="assistant", content="sat"),
        Message(role="user", content="on ?"),
    )
    refused = (Message(role="system", content="Be kind"), *said)
    answered, error = ask(
        models["llama"],
        [Request(messages=each, max_tokens=5) for each in (said, refused)],
    )
    hand = ByHand(models["llama"])
    text = "<user>the cat<|end|><assistant>sat<|end|><user>on ?<|end|><assistant>"
    tokens = hand.tokenizer(text, add_special_tokens=False)["input_ids"]
    wanted = hand.tokenizer.decode(hand.greedy(tokens, 5))
    assert answered.completions[0].text == wanted
    assert "cannot write this conversation: no system" in str(error.error)


def test_a_model_without_a_template_is_not_asked_to_chat(
    models: dict[str, Path],
) -> None:
    assert "chat" in load(models["llama"]).abilities
    assert load(models["gpt2"]).abilities == ("text", "logprobs", "continuations")
    with pytest.raises(EvalkitError, match="chat"):
        ask_about(models["gpt2"], {"query": "{statement}", "form": "chat"})


def ask_about(folder: Path, prompt: Any, **more: Any) -> Any:
    data = [
        {"uid": str(number), "statement": text, "label": "positive"}
        for number, text in enumerate(PROMPTS)
    ]
    return predict(
        data=data,
        task="sentiment",
        model=f"transformers:model={folder},device=cpu",
        prompt=prompt,
        **more,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_draws_depend_on_the_seed_and_on_nothing_else_in_the_batch(
    kind: str, models: dict[str, Path]
) -> None:
    drawn = {"temperature": 1.0, "max_tokens": 8, "completions": 2}

    def texts(seed: int | None, **parameters: Any) -> list[list[str]]:
        requests = [Request(prompt=each, seed=seed, **drawn) for each in PROMPTS]
        replies = ask(models[kind], requests, **parameters)
        return [[each.text for each in reply.completions] for reply in replies]

    first = texts(3, batch_size=8)
    assert first == texts(3, batch_size=1) == texts(3, batch_size=5)
    assert first != texts(4)
    assert texts(None) != texts(None)
    assert all(one != other for one, other in first)


def test_draws_have_the_shares_that_the_model_expects(models: dict[str, Path]) -> None:
    temperature, top_k, count = 0.8, 4, 600
    drawn = {"temperature": temperature, "top_k": top_k, "max_tokens": 1}
    request = Request(prompt="the cat", seed=1, completions=count, **drawn)
    (reply,) = ask(models["gpt2"], [request], batch_size=100)
    hand = ByHand(models["gpt2"])
    expected = hand.logprobs(hand.tokenizer("the cat")["input_ids"]) / temperature
    best = expected.topk(top_k)
    shares = best.values.softmax(0).tolist()
    texts = [hand.tokenizer.decode([token]) for token in best.indices.tolist()]
    found = [each.text for each in reply.completions]
    assert {*found} <= {*texts}
    for text, share in zip(texts, shares, strict=True):
        deviation = math.sqrt(share * (1 - share) / count)
        assert abs(found.count(text) / count - share) < 4.5 * deviation


def test_a_text_ends_before_a_stop(models: dict[str, Path]) -> None:
    whole = [
        reply.completions[0].text
        for reply in ask(
            models["gpt2"], [Request(prompt=each, max_tokens=12) for each in PROMPTS]
        )
    ]
    stop = whole[0][4:6]
    requests = [Request(prompt=p, max_tokens=12, stop=(stop,)) for p in PROMPTS]
    for text, reply in zip(whole, ask(models["gpt2"], requests), strict=True):
        (completion,) = reply.completions
        assert completion.text == text.split(stop)[0]
        if stop in text:
            assert completion.finish_reason == "stop"


def test_penalties_are_taken_off_for_what_was_generated(
    models: dict[str, Path],
) -> None:
    request = Request(prompt="a", max_tokens=10, presence_penalty=2.0, logprobs=0)
    request = request.model_copy(update={"frequency_penalty": 1.0})
    (reply,) = ask(models["llama"], [request])
    hand = ByHand(models["llama"])
    before, found = hand.tokenizer("a")["input_ids"], []
    for _ in range(10):
        scores = hand.logprobs([*before, *found])
        for token in {*found}:
            scores[token] -= 2.0 + found.count(token)
        found.append(int(scores.argmax()))
    assert 0 not in found
    (completion,) = reply.completions
    assert completion.text == hand.tokenizer.decode(found)
    # what is told is the model's own
    own = [
        float(hand.logprobs([*before, *found[:n]])[token])
        for n, token in enumerate(found)
    ]
    assert completion.tokens is not None
    assert [each.logprob for each in completion.tokens] == pytest.approx(own, abs=1e-4)


def test_no_more_is_read_and_written_than_the_model_can(
    models: dict[str, Path],
) -> None:
    model = load(models["gpt2"])
    assert model.context_length == 64
    assert load(models["llama"]).context_length == 96
    size = len(ByHand(models["gpt2"]).tokenizer(PROMPTS[3])["input_ids"])
    requests = [
        Request(prompt=PROMPTS[3], stop=("\0",)),
        Request(prompt="the cat " * 40, max_tokens=1),
        Request(prompt="the cat " * 40, continuations=(" dog",)),
    ]
    filled, *errors = model.generate(requests)
    assert filled.usage.output_tokens is not None
    assert filled.usage.output_tokens <= 64 - size
    for reply in errors:
        assert "tokens, and the model reads 64" in str(reply.error)


def test_a_model_of_the_hub_is_named_by_its_commit(
    models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hub's cache as it is after a download, without a network."""
    commit = "0123456789abcdef0123456789abcdef01234567"
    folder = tmp_path / "models--owner--tiny"
    shutil.copytree(models["gpt2"], folder / "snapshots" / commit)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    model = load("owner/tiny")
    assert model.describe() == {"name": "owner/tiny", "revision": commit}
    (reply,) = model.generate([Request(prompt="a", max_tokens=1)])
    assert reply.error is None
    assert load("owner/tiny", revision=commit).describe() == model.describe()
    with pytest.raises(PluginContractError, match="owner/none"):
        load("owner/none")


def test_what_is_no_model_is_refused_by_name(
    models: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(PluginContractError, match="empty: no AutoConfig can be loaded"):
        load(tmp_path / "empty")
    (reply,) = ask(models["gpt2"], [Request(prompt="a")], device="quantum")
    assert reply.is_fatal
    assert "device=quantum: " in str(reply.error)


def test_too_many_texts_at_once_end_the_work(
    models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr("transformers.GenerationMixin.generate", full)
    (reply,) = ask(models["gpt2"], [Request(prompt="a", max_tokens=1)])
    assert reply.is_fatal
    assert "lower batch_size" in str(reply.error)


def test_a_data_set_is_asked_and_scored(models: dict[str, Path]) -> None:
    """A run names the weights."""
    prompt = {"method": "separate", "query": "{statement}", "cue": "It is"}
    found = ask_about(models["llama"], prompt)
    hand = ByHand(models["llama"])
    for row, statement in zip(found.rows, PROMPTS, strict=True):
        before = f"{statement}\nIt is"
        start = len(hand.tokenizer(before)["input_ids"])
        for each in row["responses"]:
            tokens = hand.tokenizer(f"{before} {each['label']}")["input_ids"]
            wanted = hand.continuation(tokens, start)
            assert each["logprob"] == pytest.approx(wanted, abs=1e-4)
        assert sum(row["prob"].values()) == pytest.approx(1)
    described = found.system["model"]["describes"]
    assert described.keys() == {"name", "files_sha256"}
    assert str(models["llama"]) not in json.dumps(found.system)


def test_letters_are_read_from_the_likeliest_tokens(models: dict[str, Path]) -> None:
    data = [{"uid": "1", "question": "Which one ?", "choices": ["cat", "dog"]}]
    found = predict(
        data=data,
        task="multiple-choice",
        model=f"transformers:model={models['gpt2']},device=cpu",
        generate={"max_tokens": 1, "logprobs": 150},
        asked=Asked(is_cached=False),
    )
    hand = ByHand(models["gpt2"])
    shown = found.system["prompt"]["instructions"] + "\n\nWhich one ?\nA. cat\nB. dog"
    expected = hand.logprobs(hand.tokenizer(f"{shown}\nAnswer:")["input_ids"])
    shares = dict.fromkeys("AB", 0.0)
    seen: set[str] = set()
    for token in expected.argsort(descending=True).tolist():
        text = hand.tokenizer.decode([token])
        seen.add(text)
        if text.strip() in shares and len(seen) <= 150:
            shares[text.strip()] += math.exp(expected[token])
    wanted = {
        option: math.log(shares[letter])
        for letter, option in zip("AB", ("cat", "dog"), strict=True)
        if shares[letter]
    }
    (row,) = found.rows
    assert {e["answer"]: e["logprob"] for e in row["responses"]} == pytest.approx(
        wanted, abs=1e-4
    )


def test_blanks_before_words_are_kept_where_tokens_hold_them() -> None:
    """As in tokenizers of SentencePiece, which put a blank before a text."""
    pieces = ["▁the", "▁cat", "▁sat", "▁", "s", "at", "</s>"]
    trained = tokenizers.Tokenizer(
        tokenizers.models.WordPiece(
            {piece: number for number, piece in enumerate(pieces)},
            unk_token="▁",
            continuing_subword_prefix="",
        )
    )
    trained.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    trained.decoder = tokenizers.decoders.Metaspace()
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_object=trained, eos_token="</s>"
    )
    encoder = Encoder(made)
    before = encoder.prompt(Request(prompt="the"))
    assert made.convert_ids_to_tokens(before) == ["▁the"]
    assert encoder.text_after(before, [1, 2, 6], shows_special=False) == " cat sat"
    assert encoder.text_after(before, [6], shows_special=True) == "</s>"
    request = Request(prompt="the cat", continuations=(" sat",))
    assert encoder.continuations(request) == [Given([0, 1, 2], 2)]
    across = Request(prompt="the cat s", continuations=("at",))
    with pytest.raises(NotAnswered, match="lies across"):
        encoder.continuations(across)
