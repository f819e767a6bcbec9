"""Violations of the laws of perturbations."""

from __future__ import annotations

from benchmarks.violations.entry import Violation, change

PERTURBATION = "hookspecs.PerturbationSpec"

VIOLATIONS = (
    Violation(
        "perturbations-01",
        "perturbations/keyboard-typos",
        "chance comes from the generator that is given",
        f"{PERTURBATION}.find_edits",
        (
            change(
                "typos.py",
                "if rng.random() < prob and",
                "if __import__('random').random() < prob and",
            ),
        ),
    ),
    Violation(
        "perturbations-02",
        "perturbations/merge-words",
        "what becomes of an example depends on it and its generator alone",
        PERTURBATION,
        (
            change(
                "typos.py",
                "            if rng.random() < self.prob\n        ]",
                "            if self._is_due()\n        ]",
            ),
            change(
                "typos.py",
                '{"mild": 0.05, "medium": 0.1, "hard": 0.3}\n',
                '{"mild": 0.05, "medium": 0.1, "hard": 0.3}\n\n'
                "    _count = 0\n\n    def _is_due(self) -> bool:\n"
                "        self._count += 1\n"
                "        return self._count % int(1 / self.prob) == 0\n",
            ),
        ),
    ),
    Violation(
        "perturbations-03",
        "perturbations/character-swaps",
        "no edits overlap",
        f"{PERTURBATION}.find_edits",
        (
            change(
                "typos.py",
                "                    place = rng.choice(places)\n"
                "                    swapped = text[place + 1] + text[place]\n"
                "                    edits.append(Edit(place, place + 2, swapped))\n",
                "                    for place in places[:2]:\n"
                "                        swapped = text[place + 1] + text[place]\n"
                "                        edits.append(Edit(place, place + 2, "
                "swapped))\n",
            ),
        ),
    ),
    Violation(
        "perturbations-04",
        "perturbations/contrast-sets",
        "with `invariant` the answer stays",
        "hookspecs.PerturbationAttributes.label_effect",
        (
            change(
                "checklist.py",
                '{"*": "transforms"}\n\n    def perturb_example(\n        self,\n',
                '{"*": "invariant"}\n\n    def perturb_example(\n        self,\n',
            ),
        ),
    ),
    Violation(
        "perturbations-05",
        "perturbations/name-swap",
        "the same name gets the same replacement in all texts of an example",
        f"{PERTURBATION}; docstring of NameSwap",
        (
            change(
                "names/swap.py",
                "        tokens = [Tokens(text) for text in texts]\n",
                "        if len(texts) > 1:\n"
                "            return [self.find_edits([text], rng)[0] for text in "
                "texts]\n"
                "        tokens = [Tokens(text) for text in texts]\n",
            ),
        ),
    ),
    Violation(
        "perturbations-06",
        "perturbations/contrast-sets",
        "`perturb_example` must not change the example",
        f"{PERTURBATION}.perturb_example",
        (
            change(
                "checklist.py",
                "inputs, answers = example.get(INPUTS), example.get(ANSWERS)",
                "inputs, answers = example.pop(INPUTS, None), "
                "example.pop(ANSWERS, None)",
            ),
        ),
    ),
    Violation(
        "perturbations-07",
        "perturbations/lowercase",
        "`find_edits` returns the edits of each text",
        f"{PERTURBATION}.find_edits",
        (
            change(
                "text_perturbations.py",
                "return [self.edits_of(text, rng) for text in texts]",
                "found = [self.edits_of(text, rng) for text in texts]\n"
                "        return [edits for edits in found if edits]",
            ),
        ),
    ),
    Violation(
        "perturbations-08",
        "perturbations/punctuation",
        "the same seed gives the same text, in another process too",
        "hookspecs.PerturbationAttributes.version",
        (change("typos.py", "rng.choice(_SIGNS)", "rng.choice([*{*_SIGNS}])"),),
    ),
    Violation(
        "perturbations-09",
        "perturbations/zero-width",
        "places of edits are characters of the text",
        f"{PERTURBATION}.find_edits",
        (
            change(
                "characters.py",
                "edits.append(Edit(place, place, rng.choice(CODE_POINTS)))",
                "place = len(text[:place].encode())\n"
                "                edits.append(Edit(place, place, "
                "rng.choice(CODE_POINTS)))",
            ),
        ),
    ),
    Violation(
        "perturbations-10",
        "perturbations/split-words",
        "in `perturb_batch` what becomes of a text depends on it and its generator "
        "alone",
        f"{PERTURBATION}.perturb_batch",
        (
            change(
                "text_perturbations.py",
                "    def find_edits(self, texts: Sequence[str], rng: Random)"
                " -> list[list[Edit]]:",
                "    def perturb_batch(self, texts, rngs):\n"
                '        """Change many texts, all by the first generator."""\n'
                "        from evalkit_commands_perturb import apply_edits\n"
                "        return [apply_edits(text, self.edits_of(text, rngs[0])) "
                "for text in texts]\n\n"
                "    def _edits_of_all(self, texts: Sequence[str], rng: Random)"
                " -> list[list[Edit]]:",
            ),
        ),
    ),
)
