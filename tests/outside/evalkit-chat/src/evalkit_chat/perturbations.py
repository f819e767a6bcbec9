"""What users do to messages."""

import evalkit


class Hurried(evalkit.Perturbation):
    """Writes messages without capitals and full stops, as in a hurry."""

    families = {"robustness"}
    version = "1"
    label_effect = {"*": "invariant"}

    def perturb_batch(self, texts, rngs):
        return [text.lower().rstrip(".") for text in texts]


class PoliteUser(evalkit.Perturbation):
    """Lets the user say please, and leaves all other messages alone."""

    families = {"politeness"}
    version = "1"
    label_effect = {"*": "invariant"}

    def perturb_example(self, example, rng):
        said = rng.choice(["please", "if you would be so kind"])
        messages = [
            {**message, "content": f"{message['content']} ({said})"}
            if message["role"] == "user"
            else message
            for message in example["messages"]
        ]
        return {"messages": messages}
