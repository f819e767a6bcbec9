"""A small quiz with two to five options for each question."""

import evalkit

QUESTIONS = [
    (
        "q1",
        "Which planet is nearest to the Sun?",
        ["Venus", "Mercury", "Mars"],
        "Mercury",
        "science",
    ),
    ("q2", "Is a tomato a fruit, botanically?", ["yes", "no"], "yes", "science"),
    (
        "q3",
        "How many legs has a spider?",
        ["four", "six", "eight", "ten"],
        "eight",
        "science",
    ),
    (
        "q4",
        "Which gas do plants take up?",
        ["oxygen", "carbon dioxide"],
        "carbon dioxide",
        "science",
    ),
    (
        "q5",
        "What is the capital of Norway?",
        ["Oslo", "Bergen", "Lund"],
        "Oslo",
        "places",
    ),
    (
        "q6",
        "Which river flows through Vienna?",
        ["Rhine", "Elbe", "Danube", "Oder", "Po"],
        "Danube",
        "places",
    ),
    ("q7", "On which continent is Chad?", ["Asia", "Africa"], "Africa", "places"),
    (
        "q8",
        "Which ocean is the largest?",
        ["Atlantic", "Indian", "Pacific"],
        "Pacific",
        "places",
    ),
    ("q9", "How many strings has a violin?", ["four", "five", "six"], "four", "music"),
    (
        "q10",
        "Who wrote The Magic Flute?",
        ["Haydn", "Mozart", "Bach", "Liszt"],
        "Mozart",
        "music",
    ),
]


class PubQuiz(evalkit.Dataset):
    """Ten questions of a pub quiz, with two to five options each."""

    task = "multiple-choice"
    license = "CC0-1.0"
    languages = ("en",)
    description = "Ten questions of a pub quiz, with two to five options each."

    def load(self, split):
        for uid, question, choices, answer, subject in QUESTIONS:
            yield {
                "uid": uid,
                "question": question,
                "choices": choices,
                "answer": answer,
                "tags": [f"subject:{subject}", f"options:{len(choices)}"],
            }
