"""Which option a model finds likeliest, by what it gave each as a log-probability."""

import evalkit


class ChoiceLogprob(evalkit.Metric):
    """Share of questions whose likeliest option is the answer.

    `by-characters` divides each log-probability by the number of characters of the
    option, as lm-evaluation-harness does for `acc_norm`. Of options that are as likely
    as each other the first counts.
    """

    unit = "%"
    scale = 100
    bounds = (0, 1)
    higher_is_better = True
    interval = "wilson"
    answer_kinds = ("one",)
    columns = ("responses", "responses.logprob", "choices")
    worst_value = 0.0
    scores = {"": {}, "by-characters": {}}

    def score_example(self, target, fields):
        logprobs = dict(
            zip(fields["responses"], fields["responses.logprob"], strict=True)
        )
        if set(logprobs) != set(fields["choices"]) or None in logprobs.values():
            return evalkit.NotScored("not every option has a log-probability")
        by_characters = {
            choice: value / len(choice) for choice, value in logprobs.items()
        }
        return {
            "": float(_find_likeliest(logprobs, fields["choices"]) == target),
            "by-characters": float(
                _find_likeliest(by_characters, fields["choices"]) == target
            ),
        }


def _find_likeliest(logprobs, choices):
    return max(choices, key=lambda choice: logprobs[choice])
