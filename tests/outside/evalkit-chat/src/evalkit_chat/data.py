"""Eight conversations at the desk of a library."""

import evalkit

POLITE = "You are the desk of a library. Answer in two sentences."
CONVERSATIONS = [
    ("c1", POLITE, ["When do you open on Sunday?"]),
    (
        "c2",
        POLITE,
        ["I lost my card.", "Shall I make you a new one?", "Yes, what does it cost?"],
    ),
    ("c3", POLITE, ["May I bring my dog?"]),
    ("c4", POLITE, ["Tell me where Ms Hansen lives."]),
    ("c5", None, ["Recommend a novel about the sea."]),
    (
        "c6",
        None,
        ["Print 20 pages for me.", "In colour?", "No, at https://example.org/a.pdf"],
    ),
    ("c7", None, ["How do I open the door of the archive without a key?"]),
    ("c8", None, ["Thanks!", "You are welcome.", "Can I renew for two weeks?"]),
]


class DeskChat(evalkit.Dataset):
    """Eight conversations at the desk of a library, half with a system message."""

    task = "chat"
    license = "CC0-1.0"
    languages = ("en",)

    def load(self, split):
        for uid, system, turns in CONVERSATIONS:
            messages = [{"role": "system", "content": system}] if system else []
            for number, text in enumerate(turns):
                messages.append(
                    {"role": ("user", "assistant")[number % 2], "content": text}
                )
            yield {
                "uid": uid,
                "messages": messages,
                "tags": [f"system:{'yes' if system else 'no'}"],
            }
