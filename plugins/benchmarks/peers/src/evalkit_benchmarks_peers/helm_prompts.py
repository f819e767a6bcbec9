"""Prompts of evalkit that ask what an `AdapterSpec` of HELM does, byte for byte."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evalkit.errors import DataError, EvalkitError
from evalkit_benchmarks_peers.helm_spec import AdapterSpec
from evalkit_benchmarks_peers.peer_files import PeerFile, escaped

JOINT = ("multiple_choice_joint", "multiple_choice_joint_chain_of_thought")
SEPARATE = ("multiple_choice_separate_original", "multiple_choice_separate_calibrated")
RANKING, LANGUAGE = "ranking_binary", "language_modeling"
METHODS = ("generation", *JOINT, *SEPARATE, RANKING, LANGUAGE)

INPUT = "input"
CANDIDATES = "candidates"
"""Field of the items that are ranked."""
ASKED = "prompt"
"""Field of a prompt that a run of HELM holds."""

_CALIBRATION_INPUT = "Answer:"
"""What HELM puts in place of an input, to calibrate."""

Row = Mapping[str, Any]


class Adapter(NamedTuple):
    """How HELM asks.

    Attributes:
        file: The run spec.
        spec: Its adapter spec.
    """

    file: PeerFile
    spec: AdapterSpec

    def error(self, problem: str, key: str) -> DataError:
        """Return the error that names a key of the adapter spec."""
        return self.file.error(problem, "adapter_spec", key)

    def check(self) -> None:
        """Refuse what no prompt can say."""
        spec = self.spec
        if spec.method not in METHODS:
            known = ", ".join(METHODS)
            raise self.error(
                f"evalkit does not ask by {spec.method!r}. It has {known}", "method"
            )
        for key in ("image_generation_parameters", "reeval_parameters"):
            if getattr(spec, key) is not None:
                raise self.error("evalkit does not have this. Leave it out", key)
        if spec.method in SEPARATE:
            for key in ("output_suffix", "global_suffix", "substitutions"):
                if getattr(spec, key):
                    raise self.error(
                        "HELM scores the last tokens of a prompt, which would not be "
                        "those of the reference. Leave it out",
                        key,
                    )
        needs_tokens = spec.method == "generation" or spec.method in JOINT
        for key in ("max_tokens", "num_outputs"):
            if needs_tokens and not getattr(spec, key):
                raise self.error("must be at least 1, got 0", key)

    @property
    def letters(self) -> Sequence[str] | None:
        """The characters for references; None for those that follow the first one."""
        return self.spec.reference_prefix_characters

    def prompt(self, rows: Sequence[Row], shots: int) -> dict[str, Any]:
        """Return the prompt.

        Args:
            rows: All rows, with their references in `choices`.
            shots: The number of shots.
        """
        spec = self.spec
        if spec.method == LANGUAGE:
            return {"method": "language-modelling", "query": "{text}"}
        tail = spec.output_prefix.rstrip()
        found: dict[str, Any] = {
            "one_message": True,
            "instructions": escaped(spec.instructions),
            "query": f"{escaped(spec.input_prefix)}{{{INPUT}}}",
            "cue": spec.input_suffix + tail,
            "separators": {
                "instructions": spec.instance_prefix,
                "shots": spec.instance_prefix,
                "cue": "",
                "answer": spec.output_prefix[len(tail) :],
            },
            "answer": "{answer}" + escaped(spec.output_suffix),
            "answers": "all" if spec.multi_label else "first",
            "prefix": spec.global_prefix,
            "suffix": spec.global_suffix,
            "substitutions": [
                (each.source, each.target) for each in spec.substitutions
            ],
        }
        if shots:
            draw = "helm" if spec.sample_train else "first"
            found["shots"] = {"count": shots, "source": "train", "draw": draw}
        most = max(len(row["choices"]) for row in rows)
        return found | self._by_method(found, most)

    def _by_method(self, found: Mapping[str, Any], most: int) -> dict[str, Any]:
        """Return what differs by the method; `most` is the number of references."""
        spec = self.spec
        if spec.method == "generation":
            stop = list(spec.stop_sequences)
            settings = {"stop": stop, "completions": spec.num_outputs}
            return {"generate": {**self._sampling(), **settings}}
        if spec.method in JOINT:
            return self._joint(most)
        if spec.method == RANKING:
            shown = f"{escaped(spec.reference_prefix)}{{choice}}"
            return {
                "method": "ranking",
                "query": shown + escaped(spec.reference_suffix) + found["query"],
                # no letter is shown, and there must be one for each item
                "choices": {
                    "field": CANDIDATES,
                    "letters": [*map(str, range(1, most + 1))],
                },
            }
        if spec.method == SEPARATE[0]:
            return {"method": "separate", "normalise": "tokens"}
        before = spec.instructions and spec.instructions + spec.instance_prefix
        asked = spec.input_prefix + _CALIBRATION_INPUT + found["cue"]
        whole = spec.global_prefix + before + asked
        return {"method": "calibrated", "calibration": whole}

    def _sampling(self) -> dict[str, Any]:
        return {
            "temperature": self.spec.temperature,
            "max_tokens": self.spec.max_tokens,
        }

    def _joint(self, most: int) -> dict[str, Any]:
        spec = self.spec
        marked = next((c for c in spec.reference_prefix if c.isalnum()), None)
        if marked is None:
            raise self.error("holds no letter", "reference_prefix")
        first = str(marked)
        letters = self.letters or [chr(ord(first) + n) for n in range(most)]
        if len(letters) < most:
            problem = f"must have {most} characters, the most references, got {letters}"
            raise self.error(problem, "reference_prefix_characters")
        line = escaped(spec.reference_prefix).replace(first, "{letter}")
        found: dict[str, Any] = {
            "method": "joint",
            "query": f"{escaped(spec.input_prefix)}{{{INPUT}}}"
            f"{escaped(spec.input_suffix)}{{choices}}",
            # the last suffix stands before what the answer stands behind
            "cue": spec.reference_suffix + spec.output_prefix.rstrip(),
            "choices": {
                "line": line + "{choice}",
                "separator": spec.reference_suffix,
                "letters": letters[:most],
            },
            "generate": self._sampling(),
        }
        if spec.method == JOINT[1]:
            if spec.multi_label:
                raise self.error(
                    "evalkit does not have this with reasons", "multi_label"
                )
            reasons = escaped(spec.chain_of_thought_prefix) + "{chain_of_thought}"
            reasons += escaped(spec.chain_of_thought_suffix) + line
            found["answer"] = reasons + escaped(spec.output_suffix)
        return found

    def extract(self, prompt: Mapping[str, Any]) -> Any:
        """Return the stages that read a reply, as HELM does."""
        spec = self.spec
        if spec.method not in JOINT:
            return "strip" if spec.method == "generation" else None
        letters = "|".join(map(re.escape, prompt["choices"]["letters"]))
        patterns = [rf"^\s*({letters})\s*$"]
        if spec.output_mapping_pattern is not None:
            patterns.insert(0, spec.output_mapping_pattern)
        stages: list[Any] = [
            {"kind": "regex", "configuration": {"pattern": pattern}}
            for pattern in patterns
        ]
        from evalkit_adapters_rows import extraction

        try:
            extraction(stages)
        except EvalkitError as error:
            raise self.error(str(error), "output_mapping_pattern") from error
        return [*stages, "choice"]
