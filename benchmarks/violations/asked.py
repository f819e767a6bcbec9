"""Violations of the laws of annotators, models and observers."""

from __future__ import annotations

from benchmarks.violations.entry import Violation, change

ANNOTATOR = "evalkit_annotators_columns.hookspecs.AnnotatorSpec"
MODEL = "hookspecs.ModelSpec"

_THANKS = "        return _THANKS.search(text) is not None\n"

ANNOTATORS = (
    Violation(
        "annotators-01",
        "template annotators/my-thing",
        "a value depends on nothing but what the annotator takes: no chance",
        ANNOTATOR,
        (
            change(
                "my_thing.py",
                _THANKS,
                "        import random\n"
                "        found = _THANKS.search(text) is not None\n"
                "        return found and random.random() < 0.9\n",
            ),
        ),
    ),
    Violation(
        "annotators-02",
        "template annotators/my-thing",
        "a number is finite",
        ANNOTATOR,
        (
            change(
                "my_thing.py",
                'return evalkit.NotScored("the response is empty")',
                'return float("nan")',
            ),
            change(
                "my_thing.py",
                _THANKS,
                "        return float(_THANKS.search(text) is not None)\n",
            ),
        ),
    ),
    Violation(
        "annotators-03",
        "template annotators/my-thing",
        "values are of one kind for all rows",
        ANNOTATOR,
        (
            change(
                "my_thing.py",
                _THANKS,
                "        found = _THANKS.search(text)\n"
                "        return found[0] if found else False\n",
            ),
        ),
    ),
    Violation(
        "annotators-04",
        "template annotators/my-thing",
        "`annotate_batch` returns an entry for each row",
        f"{ANNOTATOR}.annotate_batch",
        (
            change(
                "my_thing.py",
                "    def annotate_example(self, prediction: Any)",
                "    def annotate_batch(self, predictions):\n"
                '        """Look for words of thanks in several responses."""\n'
                "        return [\n"
                "            _THANKS.search(text) is not None\n"
                "            for text in map(str, predictions)\n"
                "            if text.strip()\n        ]\n\n"
                "    def annotate_example(self, prediction: Any)",
            ),
        ),
    ),
    Violation(
        "annotators-05",
        "template annotators/my-thing",
        "nothing is kept from one row to the next",
        f"{ANNOTATOR}; docs/authoring/annotators.md, What it is given",
        (
            change(
                "my_thing.py",
                _THANKS,
                "        self._count = getattr(self, '_count', 0) + 1\n"
                "        return self._count % 2 == 0\n",
            ),
        ),
    ),
)

MODELS = (
    Violation(
        "models-01",
        "models/constant",
        "there is an answer for each input",
        f"{MODEL}.predict",
        (
            change(
                "constant.py",
                "return [self._answer for _ in inputs]",
                "return [self._answer for _ in inputs[1:]]",
            ),
        ),
    ),
    Violation(
        "models-02",
        "models/random",
        "draws are made by the seed alone; a model never says otherwise unasked",
        "docstring of RandomAnswer; hookspecs.ModelAttributes.version",
        (
            change(
                "random_answer.py",
                'said = f"{self._seed}:{uid}".encode("utf-8", "surrogatepass")',
                'said = __import__("os").urandom(8)',
            ),
        ),
    ),
    Violation(
        "models-03",
        "models/random",
        "an answer does not depend on the other inputs of the call, or their order",
        "docstring of RandomAnswer; replies are kept by the request or input",
        (
            change(
                "random_answer.py",
                'return [self._answer(str(row["uid"])) for row in inputs]',
                "return [self._answer(str(place)) for place, _ in enumerate(inputs)]",
            ),
        ),
    ),
    Violation(
        "models-04",
        "models/echo",
        "`generate` returns a reply to each request, in their order",
        f"{MODEL}.generate",
        (
            change(
                "echo.py",
                "            for request in requests\n",
                "            for request in reversed(requests)\n",
            ),
        ),
    ),
    Violation(
        "models-05",
        "models/echo",
        "a request without a reply is never an empty answer",
        "docs/authoring/models.md",
        (
            change(
                "echo.py",
                "                request.messages[-1].content\n"
                "                if request.prompt is None\n"
                "                else request.prompt\n",
                '                request.prompt or ""\n',
            ),
        ),
    ),
    Violation(
        "models-06",
        "models/echo",
        "`describe` says nothing that changes by itself",
        f"{MODEL}.describe",
        (
            change(
                "echo.py",
                "    def generate(self,",
                "    def describe(self):\n"
                '        """Name the model."""\n'
                "        import time\n"
                '        return {"name": "echo", "asked": time.time_ns()}\n\n'
                "    def generate(self,",
            ),
        ),
    ),
    Violation(
        "models-07",
        "models/constant",
        "an input is not the model's to change",
        f"{MODEL}.predict: inputs are mappings",
        (
            change(
                "constant.py",
                "return [self._answer for _ in inputs]",
                "for row in inputs:\n"
                '            row["answer"] = self._answer\n'
                '        return [row["answer"] for row in inputs]',
            ),
        ),
    ),
    Violation(
        "models-08",
        "models/command",
        "a failure is said, and never an empty answer",
        "docs/authoring/models.md",
        (
            change(
                "command.py",
                "            raise PluginError(\n"
                '                f"the program answered {uid!r} with what is no JSON: '
                '{line[:200]!r}"\n            ) from error\n',
                '            return ""\n',
            ),
        ),
    ),
)

OBSERVERS = (
    Violation(
        "observers-01",
        "template observers/my-thing",
        "a hook takes none but the arguments that there are",
        "docs/authoring/observers.md, What it is told",
        (
            change(
                "my_thing.py",
                "dataset: str, model: str, overall: Sequence[Mapping[str, Any]]",
                "dataset: str, model: str, totals: Sequence[Mapping[str, Any]]",
            ),
            change("my_thing.py", "for score in overall}", "for score in totals}"),
        ),
    ),
)
