"""The eleven test sets of TweetEval, a few lines each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from evalkit import DataError, Dataset, Source
from evalkit_datasets_tweeteval.publisher import (
    CITATION,
    REPOSITORY,
    read_mapping,
    read_rows,
    url_of,
)

TEXTS, NUMBERS, NAMES = FILES = ("test_text.txt", "test_labels.txt", "mapping.txt")

_LICENSE = "LicenseRef-Twitter-terms"


class TweetEval(Dataset):
    """A test set of TweetEval, read from the publisher's files.

    A subclass declares where the files are and how the labels are called; `labels` and
    `sources` are made of that. Predictions may be labels, the publisher's numbers or
    the publisher's names.
    """

    folder: ClassVar[str] = ""
    """The publisher's folder."""
    mapping_folder: ClassVar[str] = ""
    """The folder of the mapping, where that is another one."""
    label_names: ClassVar[Sequence[str]] = ()
    """The labels, in the order of the publisher's numbers."""
    published_names: ClassVar[Sequence[Sequence[str]]] = ()
    """What the mapping calls each label, where that is not its name alone."""
    hashes: ClassVar[Mapping[str, str]] = {}
    """SHA-256 of the publisher's files, of those where it is known."""
    test_size: ClassVar[int] = 0
    """Number of tweets that the publisher's test set has."""

    task = "text-classification"
    perf_metric = "macro-f1"
    eval_metrics: ClassVar[Sequence[str]] = ("accuracy",)
    version = "1"
    license = _LICENSE
    source_url = REPOSITORY
    languages = ("en",)
    content_warning = "contains tweets, some of them offensive"
    citation = CITATION

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.labels = {str(number): name for number, name in enumerate(cls.label_names)}
        mapping_folder = cls.mapping_folder or cls.folder
        cls.sources = {
            filename: Source(
                url_of(mapping_folder if filename == NAMES else cls.folder, filename),
                cls.hashes.get(filename),
                _LICENSE,
                CITATION,
            )
            for filename in FILES
        }

    def load(self, split: str) -> list[dict[str, Any]]:
        """Read texts and labels; the id is the line's number."""
        expected = self._expected_mapping
        found = read_mapping(self.file(NAMES))
        if found != expected:
            raise DataError(
                f"{self.file(NAMES)}: names the labels {_listed(found)}; "
                f"expected {_listed(expected)}"
            )
        return read_rows(self.file(TEXTS), self.file(NUMBERS))

    def adapt_response(self, response: Mapping[str, Any]) -> Mapping[str, Any]:
        """Take the publisher's numbers and names for the labels they stand for."""
        adapted = dict(response)
        if "label" in adapted:
            adapted["label"] = self._label_of(adapted["label"])
        probabilities = adapted.get("prob")
        if isinstance(probabilities, Mapping):
            named = {self._label_of(key): p for key, p in probabilities.items()}
            # one label under two of its names stays as it is, and is refused for that
            if len(named) == len(probabilities):
                adapted["prob"] = named
        return adapted

    def _label_of(self, given: Any) -> Any:
        """Return the label that a number or name stands for; else what was given."""
        if isinstance(given, bool) or not isinstance(given, int | str):
            return given
        text = str(given).strip()
        return self._labels_by_spelling.get(text, text or given)

    @property
    def _expected_mapping(self) -> dict[str, tuple[str, ...]]:
        names = self.published_names or [(name,) for name in self.label_names]
        return {str(number): tuple(columns) for number, columns in enumerate(names)}

    @cached_property
    def _labels_by_spelling(self) -> dict[str, str]:
        return {
            spelling: label
            for label, (number, names) in zip(
                self.label_names, self._expected_mapping.items(), strict=True
            )
            for spelling in (number, *names)
        }


def _listed(names: Mapping[str, Sequence[str]]) -> str:
    return ", ".join(f"{number} {' '.join(names[number])}" for number in names)


class Emoji(TweetEval):
    """50 000 tweets; which of 20 emoji was in each?

    The labels are the publisher's names without the underscores around them; the emoji
    themselves are taken as predictions too.
    """

    name = "tweeteval-emoji"
    folder = "emoji"
    test_size = 50_000
    published_names = tuple(
        (emoji, f"_{name}_")
        for emoji, name in (
            ("❤", "red_heart"),
            ("😍", "smiling_face_with_hearteyes"),
            ("😂", "face_with_tears_of_joy"),
            ("💕", "two_hearts"),
            ("🔥", "fire"),
            ("😊", "smiling_face_with_smiling_eyes"),
            ("😎", "smiling_face_with_sunglasses"),
            ("✨", "sparkles"),
            ("💙", "blue_heart"),
            ("😘", "face_blowing_a_kiss"),
            ("📷", "camera"),
            ("🇺🇸", "United_States"),
            ("☀", "sun"),
            ("💜", "purple_heart"),
            ("😉", "winking_face"),
            ("💯", "hundred_points"),
            ("😁", "beaming_face_with_smiling_eyes"),
            ("🎄", "Christmas_tree"),
            ("📸", "camera_with_flash"),
            ("😜", "winking_face_with_tongue"),
        )
    )
    label_names = tuple(name.strip("_") for _, name in published_names)
    hashes = {NAMES: "ac172bfbb0972d875a832224f48602472279be365454e3bce01084689100f4d3"}
    description = "Which emoji a tweet had (SemEval 2018 task 2), as in TweetEval"

    def _label_of(self, given: Any) -> Any:
        # most keyboards write ❤ and ☀ with a selector of the coloured form behind them
        bare = given.replace("\ufe0f", "") if isinstance(given, str) else given
        return super()._label_of(bare)


class Emotion(TweetEval):
    """1 421 tweets: anger, joy, optimism or sadness?"""

    name = "tweeteval-emotion"
    folder = "emotion"
    test_size = 1_421
    label_names = ("anger", "joy", "optimism", "sadness")
    hashes = {NAMES: "656dea85d149716af96206ca19bec0d94e9dc6de3f5079f5c7c2a241ec76cadb"}
    description = "Emotion of tweets (SemEval 2018 task 1), as in TweetEval"


class Hate(TweetEval):
    """2 970 tweets: hateful to immigrants or women, or not?

    The labels are those of the task `hs`, so that a model is scored on this set and
    on HateCheck alike; the publisher's are `hate` and `not-hate`.
    """

    name = "tweeteval-hate"
    task = "hs"
    folder = "hate"
    test_size = 2_970
    label_names = ("not-hateful", "hateful")
    published_names = (("not-hate",), ("hate",))
    hashes = {NAMES: "3fc75504ffae64ddc82e13afb5790af7798cd3167d7d35790abe78b39b991896"}
    description = "Hate speech in tweets (SemEval 2019 task 5), as in TweetEval"
    content_warning = "contains tweets, many of them hateful"


class Irony(TweetEval):
    """784 tweets: ironic or not? The official metric is F1 of the ironic ones."""

    name = "tweeteval-irony"
    folder = "irony"
    test_size = 784
    label_names = ("non_irony", "irony")
    perf_metric = "f1:label=irony"
    eval_metrics = ("accuracy", "macro-f1")
    hashes = {NAMES: "70e09046e181179b9870a2f59a3263bbb28c787831779e4ce4a18373d054296b"}
    description = "Irony in tweets (SemEval 2018 task 3 A), as in TweetEval"


class Offensive(TweetEval):
    """860 tweets: offensive or not?

    The first mapping that the publisher gave out had the two names the wrong way
    round. It is refused.
    """

    name = "tweeteval-offensive"
    folder = "offensive"
    test_size = 860
    label_names = ("not-offensive", "offensive")
    hashes = {NAMES: "3e427f483dd5d5be21ae85dcf224c36b3d024af27999939fa0d438d695801c50"}
    description = "Offensiveness of tweets (SemEval 2019 task 6 A), as in TweetEval"


class Sentiment(TweetEval):
    """12 284 tweets; the official metric is macro-averaged recall."""

    name = "tweeteval-sentiment"
    task = "sentiment"
    folder = "sentiment"
    test_size = 12_284
    label_names = ("negative", "neutral", "positive")
    perf_metric = "macro-recall"
    eval_metrics = ("accuracy", "macro-f1")
    hashes = {
        TEXTS: "09a93a55c63fd93f97485ef7302889d7edb4091cd49733aa37da094f0bfa0675",
        NUMBERS: "6afb4afe9374d1f983bcf9a7c79b108d0f37fdf020a83f30488309bed215db9d",
        NAMES: "c0572796fbe261d8ea5fd16c5061076fbba49bc69fc865d6abccaf60daacee24",
    }
    description = "Sentiment of tweets (SemEval 2017 task 4 A), as in TweetEval"


class Stance(TweetEval):
    """Against or in favour of a target, or neither? Base of the five targets.

    The official metric is the mean of F1(against) and F1(favor), of the five targets
    together, as the suite `tweeteval` computes it.
    """

    mapping_folder = "stance"
    label_names = ("none", "against", "favor")
    perf_metric = "macro-f1:labels=against/favor"
    eval_metrics = ("accuracy", "macro-f1")
    hashes = {NAMES: "0f8a803dc1773c84279506f25d54b5a9eec7edfc277b41eb75076744dc89b26f"}


class StanceAbortion(Stance):
    """280 tweets on the legalisation of abortion."""

    name = "tweeteval-stance-abortion"
    folder = "stance/abortion"
    test_size = 280
    hashes = {
        **Stance.hashes,
        NUMBERS: "c90e6d36d863f876d6661620d37b613b4b07858a5277c8d6623713ee59ca451c",
    }
    description = "Stance of tweets on abortion (SemEval 2016 task 6), as in TweetEval"


class StanceAtheism(Stance):
    """220 tweets on atheism."""

    name = "tweeteval-stance-atheism"
    folder = "stance/atheism"
    test_size = 220
    hashes = {
        **Stance.hashes,
        NUMBERS: "4ef7c9398d265cfac625092c834e43cef9da9cb318e563493abb64f65dfe1b52",
    }
    description = "Stance of tweets on atheism (SemEval 2016 task 6), as in TweetEval"


class StanceClimate(Stance):
    """169 tweets on climate change being a concern."""

    name = "tweeteval-stance-climate"
    folder = "stance/climate"
    test_size = 169
    hashes = {
        **Stance.hashes,
        NUMBERS: "193c9f2358f61d9efe558324ec89ecaf08e600a44b68128f47838c01d9f98dfd",
    }
    description = (
        "Stance of tweets on climate change (SemEval 2016 task 6), as in TweetEval"
    )


class StanceFeminist(Stance):
    """285 tweets on the feminist movement."""

    name = "tweeteval-stance-feminist"
    folder = "stance/feminist"
    test_size = 285
    hashes = {
        **Stance.hashes,
        NUMBERS: "ddbde6d253ee47c5d5ef8bc5386270fde45cf088d3be70bba9c382b8a024897a",
    }
    description = "Stance of tweets on feminism (SemEval 2016 task 6), as in TweetEval"


class StanceHillary(Stance):
    """295 tweets on Hillary Clinton."""

    name = "tweeteval-stance-hillary"
    folder = "stance/hillary"
    test_size = 295
    hashes = {
        **Stance.hashes,
        NUMBERS: "068468f6a72b85dfb65bf10e45f2453fa082d1ea9d7a40e7f560d5b6d75027f3",
    }
    description = (
        "Stance of tweets on Hillary Clinton (SemEval 2016 task 6), as in TweetEval"
    )
