"""Weights, and what tells them from others."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.errors import PluginContractError
from evalkit.places import is_offline
from evalkit_models_transformers.causality import looks_ahead

_READ = frozenset({".json", ".safetensors", ".bin", ".model", ".txt", ".jinja"})
"""Endings of files that replies may depend on."""

_PLAUSIBLE = 10_000_000
"""Tokenizers and models without a limit give a number beyond this."""


_SHOWN = 5
"""Names of weights in a message."""


class Where(NamedTuple):
    """Which weights, and on what they run.

    Attributes:
        model: A folder, or a name on the hub.
        revision: Which one of the hub's; None for the latest.
        dtype: Of what kind numbers are.
        device: What it runs on; empty for a graphics card where there is one.
    """

    model: str
    revision: str | None
    dtype: str
    device: str

    @property
    def folder(self) -> Path | None:
        """Where the weights lie; None for a name on the hub."""
        path = Path(self.model)
        return path if path.is_dir() else None


class Outline(NamedTuple):
    """What is known of a model before its weights are loaded."""

    config: Any
    tokenizer: Any

    @property
    def context_length(self) -> int | None:
        """The most tokens that it reads and writes; None where nobody says."""
        said = getattr(self.config.get_text_config(), "max_position_embeddings", None)
        known = isinstance(said, int) and 0 < said < _PLAUSIBLE
        return said if known else None

    @property
    def chats(self) -> bool:
        """Whether its tokenizer says how a conversation is written."""
        return bool(self.tokenizer.chat_template)


def read_outline(where: Where) -> Outline:
    """Read what stands beside the weights."""
    from transformers import AutoConfig, AutoTokenizer

    config = _load(AutoConfig, where)
    return Outline(config, _load(AutoTokenizer, where))


def load_weights(where: Where, outline: Outline) -> Any:
    """Return the model, ready to be asked.

    Of its `generation_config` only the tokens that end a text are kept, as a request
    says all the rest.
    """
    import torch
    from transformers import AutoModelForCausalLM, GenerationConfig

    with _without_bar():
        model, told = _load(
            AutoModelForCausalLM,
            where,
            dtype=where.dtype,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # they are named below
        )
    _check_complete(model, told, where)
    ends = model.generation_config.eos_token_id
    if ends is None:
        ends = outline.tokenizer.eos_token_id
    model.generation_config = GenerationConfig(
        eos_token_id=ends, pad_token_id=padding_of(outline.tokenizer)
    )
    try:
        device = where.device or ("cuda" if torch.cuda.is_available() else "cpu")
        ready = model.to(device).eval()
    except (RuntimeError, AssertionError) as error:
        raise PluginContractError(
            f"models/transformers: device={where.device}: {_first_line(error)}"
        ) from error
    if looks_ahead(ready, outline.context_length):
        raise PluginContractError(
            f"models/transformers: model={where.model}: this {type(model).__name__} "
            "looks at later tokens, so that it cannot continue a text: name a causal "
            "language model"
        )
    return ready


def _check_complete(model: Any, told: Mapping[str, Any], where: Where) -> None:
    """Refuse weights that are drawn, as the folder has none of them."""
    shapes = [each[0] for each in told["mismatched_keys"]]
    names = sorted({*told["missing_keys"], *shapes})
    if not names:
        return
    shown = ", ".join(names[:_SHOWN])
    if len(names) > _SHOWN:
        shown += f", … ({len(names):,} in all)"
    made = ", ".join(model.config.architectures or ["another model"])
    raise PluginContractError(
        f"models/transformers: model={where.model}: of what a {type(model).__name__} "
        f"needs is missing, or has another shape: {shown}; the configuration says that "
        f"these are weights of {made}"
    )


def padding_of(tokenizer: Any) -> int:
    """Return the token that fills up shorter texts, which is never looked at."""
    known = (tokenizer.pad_token_id, tokenizer.eos_token_id, 0)
    return int(next(each for each in known if each is not None))


def identity(where: Where) -> Mapping[str, str]:
    """Return what tells a model from others."""
    folder = where.folder
    if folder is not None:
        name = folder.resolve().name
        return {"name": name, "files_sha256": _digest(folder)}
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(
        where.model, "config.json", revision=where.revision or "main"
    )
    if not isinstance(found, str):
        raise PluginContractError(
            f"models/transformers: model={where.model}: the hub's cache does not tell "
            "its commit: name a folder"
        )
    return {"name": where.model, "revision": Path(found).parent.name}


def _digest(folder: Path) -> str:
    """Return a hash of the names and contents of the files that are read."""
    whole = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix in _READ and path.is_file():
            with path.open("rb") as content:
                own = hashlib.file_digest(content, "sha256").hexdigest()
            whole.update(f"{path.name} {own}\n".encode())
    return whole.hexdigest()


def _load(kind: Any, where: Where, **more: Any) -> Any:
    try:
        return kind.from_pretrained(
            where.model,
            revision=where.revision or "main",
            local_files_only=where.folder is not None or is_offline(),
            trust_remote_code=False,
            **more,
        )
    except (OSError, ValueError, ImportError, KeyError, RuntimeError) as error:
        if "out of memory" in str(error):
            raise
        raise PluginContractError(
            f"models/transformers: model={where.model}: no {kind.__name__} can be "
            f"loaded from this folder or name on the hub: {_first_line(error)}"
        ) from error


@contextmanager
def _without_bar() -> Iterator[None]:
    """Show no bar of transformers, which would stand in that of evalkit."""
    from transformers.utils import logging

    is_shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if is_shown:
            logging.enable_progress_bar()


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
