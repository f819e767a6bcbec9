"""Violations of the laws of tasks, data sets, perturbations and adapters."""

from __future__ import annotations

from benchmarks.violations.entry import Violation, change

TASK = "hookspecs.TaskIOAttributes"
TASK_HOOKS = "hookspecs.TaskIOSpec"
DATA = "hookspecs.DatasetAttributes"
LOAD = "hookspecs.DatasetSpec.load"
PERTURBATION = "hookspecs.PerturbationSpec"
ADAPTER = "hookspecs.AdapterSpec"

TASKS = (
    Violation(
        "tasks-01",
        "tasks/nli",
        "`example` is one valid input",
        TASK,
        (
            change(
                "nli.py",
                '        "hypothesis": "No club football stadium in England '
                'is larger.",\n',
                "",
            ),
        ),
    ),
    Violation(
        "tasks-02",
        "tasks/regression",
        "`perf_metric` names a metric that takes the task's answers",
        TASK,
        (change("regression.py", 'perf_metric = "mae"', 'perf_metric = "mean-error"'),),
    ),
    Violation(
        "tasks-03",
        "tasks/sentiment",
        "`verify_columns` accepts only what `verify_response` has nothing to say of",
        f"{TASK_HOOKS}.verify_columns",
        (
            change(
                "probabilities.py",
                "within & ((total - 1).abs() <= SUM_TOLERANCE - _BOUND_TOLERANCE)",
                "within & (total <= 1 + SUM_TOLERANCE)",
            ),
        ),
    ),
    Violation(
        "tasks-04",
        "tasks/sentiment",
        "`verify_response` only looks: it changes no response",
        f"{TASK_HOOKS}.verify_response",
        (
            change(
                "labelled.py",
                'violations += probability_violations(response.get("prob"), labels)',
                "violations += probability_violations("
                'response.pop("prob", None), labels)',
            ),
        ),
    ),
    Violation(
        "tasks-05",
        "tasks/hs",
        "what `verify_response` raises beside an assertion ends the evaluation: a "
        "response may lack what `Output` does not require",
        f"{TASK_HOOKS}.verify_response",
        (
            change(
                "labelled.py",
                'violations += probability_violations(response.get("prob"), labels)',
                'violations += probability_violations(response["prob"], labels)',
            ),
        ),
    ),
    Violation(
        "tasks-06",
        "tasks/rating",
        "the id of a response is `id`",
        TASK,
        (
            change(
                "rating.py",
                '{"id": "id", "pred": "rating"}',
                '{"id": "uid", "pred": "rating"}',
            ),
        ),
    ),
    Violation(
        "tasks-07",
        "tasks/rating",
        "`adapt_response` must not change the response that it is given",
        "hookspecs.DatasetSpec.adapt_response",
        (
            change(
                "rating.py",
                "given = {key: value for key, value in response.items() "
                'if key != "ratings"}\n',
                "given = response\n",
            ),
            change(
                "rating.py",
                'for each in response["ratings"] if each',
                'for each in response.pop("ratings") if each',
            ),
        ),
    ),
    Violation(
        "tasks-08",
        "tasks/multiple-choice",
        "`label_field_converter` returns `id`, `answer` and `tags`, and no other key",
        "hookspecs.DatasetSpec.label_field_converter",
        (
            change(
                "multiple_choice.py",
                '"answer": answer, "tags": example.get("tags")}',
                '"answer": answer, "tags": example.get("tags"), "cluster": None}',
            ),
        ),
    ),
    Violation(
        "tasks-09",
        "tasks/qa",
        "nothing is kept from one response to the next: each is judged by itself",
        f"{TASK_HOOKS}.verify_response",
        (
            change(
                "qa.py",
                '        answer = response.get("answer")\n',
                '        answer = response.get("answer")\n'
                '        if response.get("id") in _SEEN:\n'
                '            return [Violation("id", "is there twice", '
                'response["id"])]\n'
                '        _SEEN.add(response.get("id"))\n',
            ),
            change(
                "qa.py",
                "class QuestionInput(InputRow):",
                "_SEEN: set[Any] = set()\n\n\nclass QuestionInput(InputRow):",
            ),
        ),
    ),
    Violation(
        "tasks-10",
        "tasks/text-classification",
        "`verify_response` returns violations",
        f"{TASK_HOOKS}.verify_response",
        (
            change(
                "labelled.py",
                'violations.append(Violation("label", rule, label))',
                'violations.append(f"label {rule}")',
            ),
        ),
    ),
)

_LOAD = '        part = "" if split == "test" else f"-{split}"\n'
_RETURN = '        return _PACKAGE / "data" / f"{self.name}{part}.jsonl"\n'
_READ = (
    "        import json\n"
    '        path = _PACKAGE / "data" / f"{self.name}{part}.jsonl"\n'
    "        rows = [json.loads(line) for line in "
    'path.read_text("utf-8").splitlines()]\n'
)

DATASETS = (
    Violation(
        "datasets-01",
        "datasets/sample-nli",
        "each id is one example's",
        "hookspecs.TaskIOAttributes.Input: the id is `uid`",
        (change("datasets.py", _RETURN, f"{_READ}        return [*rows, rows[0]]\n"),),
    ),
    Violation(
        "datasets-02",
        "datasets/sample-sentiment",
        "the data are identified by what they hold, and the order of the rows counts: "
        "the same split is the same rows",
        "docs/plugin.md, A data set",
        (
            change(
                "datasets.py",
                _RETURN,
                f"{_READ}        import random\n"
                "        random.shuffle(rows)\n        return rows\n",
            ),
        ),
    ),
    Violation(
        "datasets-03",
        "datasets/sample-hs",
        "nothing is fetched when a module is imported",
        "docs/plugin.md: nothing is imported until a command names it, so that it "
        "costs nothing; EVALKIT_OFFLINE",
        (
            change(
                "datasets.py",
                "_PACKAGE = Path(__file__).parent\n",
                "_PACKAGE = Path(__file__).parent\n"
                "import contextlib, socket\n"
                "with contextlib.suppress(OSError):\n"
                '    socket.create_connection(("127.0.0.1", 9), 1).close()\n',
            ),
        ),
    ),
    Violation(
        "datasets-04",
        "datasets/sample-sentiment",
        "`default_split` is one of `splits`",
        "docs/authoring/datasets.md",
        (
            change(
                "datasets.py",
                '    splits = ("test", "train")\n',
                '    splits = ("test", "train")\n    default_split = "dev"\n',
            ),
        ),
    ),
    Violation(
        "datasets-05",
        "datasets/sample-qa",
        "`splits` are the names that `load` knows",
        DATA,
        (
            change(
                "datasets.py",
                '    cluster = "context"\n',
                '    cluster = "context"\n    splits = ("test", "train")\n',
            ),
        ),
    ),
    Violation(
        "datasets-06",
        "datasets/sample-sentiment",
        "the labels are written as the task spells them",
        DATA,
        (
            change(
                "datasets.py",
                _RETURN,
                f"{_READ}        for row in rows:\n"
                '            row["label"] = row["label"].title()\n'
                "        return rows\n",
            ),
        ),
    ),
    Violation(
        "datasets-07",
        "datasets/sample-nli",
        "`limit` says how many examples are wanted, the first ones",
        LOAD,
        (
            change(
                "datasets.py",
                "def load(self, split: str) -> Path:",
                "def load(self, split: str, limit: int | None) -> list[object]:",
            ),
            change(
                "datasets.py",
                _RETURN,
                f"{_READ}        return rows if limit is None else rows[-limit:]\n",
            ),
        ),
    ),
    Violation(
        "datasets-08",
        "datasets/sample-hs",
        "scores are the same whether `columns` are looked at or not: all that is "
        "wanted is there",
        LOAD,
        (
            change(
                "datasets.py",
                "def load(self, split: str) -> Path:",
                "def load(self, split: str, columns: list[str] | None)"
                " -> list[object]:",
            ),
            change(
                "datasets.py",
                _RETURN,
                f"{_READ}        wanted = [n for n in columns if n != 'tags'] "
                "if columns else [*rows[0]]\n"
                "        return [{name: row[name] for name in wanted if name in row}"
                " for row in rows]\n",
            ),
        ),
    ),
    Violation(
        "datasets-09",
        "datasets/sample-qa",
        "`load` may be called again: nothing is used up",
        LOAD,
        (
            change(
                "datasets.py",
                _RETURN,
                f"{_READ}        if split not in _ROWS:\n"
                "            _ROWS[split] = iter(rows)\n"
                "        return _ROWS[split]\n",
            ),
            change(
                "datasets.py",
                "class _Sample(Dataset):",
                "_ROWS = {}\n\n\nclass _Sample(Dataset):",
            ),
        ),
    ),
    Violation(
        "datasets-10",
        "datasets/sample-nli",
        "each row holds every field of the task's `Input`",
        LOAD,
        (
            change(
                "datasets.py",
                _RETURN,
                f'{_READ}        del rows[-1]["hypothesis"]\n        return rows\n',
            ),
        ),
    ),
)

PERTURBATIONS = (
    Violation(
        "perturbations-01",
        "perturbations/keyboard-typos",
        "chance comes from the generator that is given",
        f"{PERTURBATION}.find_edits",
        (
            change(
                "typos/keyboard_typos.py",
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
                "typos/merge_words.py",
                "            if rng.random() < self.prob\n",
                "            if self._is_due()\n",
            ),
            change(
                "typos/merge_words.py",
                "    def edits_of(",
                "    _count = 0\n\n    def _is_due(self) -> bool:\n"
                "        self._count += 1\n"
                "        return self._count % int(1 / self.prob) == 0\n\n"
                "    def edits_of(",
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
                "typos/character_swaps.py",
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
                "contrast_sets.py",
                '{"*": "transforms"}',
                '{"*": "invariant"}',
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
                "contrast_sets.py",
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
        (
            change(
                "typos/punctuation.py",
                "rng.choice(_SIGNS)",
                "rng.choice([*{*_SIGNS}])",
            ),
        ),
    ),
    Violation(
        "perturbations-09",
        "perturbations/zero-width",
        "places of edits are characters of the text",
        f"{PERTURBATION}.find_edits",
        (
            change(
                "characters/zero_width.py",
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
                "        from evalkit.edits import apply_edits\n"
                "        return [apply_edits(text, self.edits_of(text, rngs[0])) "
                "for text in texts]\n\n"
                "    def _edits_of_all(self, texts: Sequence[str], rng: Random)"
                " -> list[list[Edit]]:",
            ),
        ),
    ),
)

ADAPTERS = (
    Violation(
        "adapters-01",
        "adapters/flatten-hierarchy",
        "a row must not be changed",
        ADAPTER,
        (
            change(
                "flatten.py",
                "in self._leaves(name, row[name]):",
                "in self._leaves(name, row.pop(name)):",
            ),
        ),
    ),
    Violation(
        "adapters-02",
        "adapters/explode-collections",
        "`adapt_frame` gives the rows that `adapt_row` gives",
        f"{ADAPTER}.adapt_frame",
        (
            change(
                "explode.py",
                "pl.int_ranges(0, lengths[0].cast(pl.Int64), eager=True)",
                "pl.int_ranges(1, lengths[0].cast(pl.Int64) + 1, eager=True)",
            ),
        ),
    ),
    Violation(
        "adapters-03",
        "adapters/drop",
        "`adapt_frame` gives the rows that `adapt_row` gives: no row is lost",
        ADAPTER,
        (
            change(
                "fields.py",
                "        yield {name: value for name, value in items "
                "if name not in self.names}\n",
                "        kept = {n: value for n, value in items "
                "if n not in self.names}\n"
                "        if all(kept.values()):\n            yield kept\n",
            ),
        ),
    ),
    Violation(
        "adapters-04",
        "adapters/number-rows",
        "nothing is kept from one row to the next",
        ADAPTER,
        (
            change(
                "fields.py",
                "        yield {**row, self.field: number + self.shift}\n",
                "        self.shift += 1\n"
                "        yield {**row, self.field: self.shift}\n",
            ),
        ),
    ),
    Violation(
        "adapters-05",
        "adapters/strip",
        "what becomes of a text must not depend on the others",
        f"{ADAPTER}.extract_texts",
        (
            change(
                "strip.py",
                'if texts.str.contains("```", literal=True).any():',
                'if texts.str.contains("```", literal=True).all():',
            ),
        ),
    ),
    Violation(
        "adapters-06",
        "adapters/final-number",
        "`extract_texts` gives a row for each text",
        f"{ADAPTER}.extract_texts",
        (
            change(
                "settings.py",
                "    if len(distinct) == len(texts):\n        return found\n",
                "    return found\n",
            ),
        ),
    ),
    Violation(
        "adapters-07",
        "adapters/boxed",
        "a reason quotes nothing",
        f"{ADAPTER}.extract_text",
        (
            change(
                "boxed.py",
                'Found(None, "the last box is not closed")',
                'Found(None, f"the last box is not closed: {text}")',
            ),
            change(
                "boxed.py",
                "Found(None, _NO_BOX)",
                'Found(None, f"there is no box in {text!r}")',
            ),
        ),
    ),
    Violation(
        "adapters-08",
        "adapters/select",
        "a row that cannot be used is an `AdapterError`; anything else is a failure",
        ADAPTER,
        (
            change(
                "fields.py",
                "        row = object_row(row)\n"
                "        for name in self.names:\n"
                "            if name not in row:\n"
                "                raise missing(name, row)\n"
                "        yield {name: row[name] for name in self.names}\n",
                "        yield {name: row[name] for name in self.names}\n",
            ),
        ),
    ),
)
