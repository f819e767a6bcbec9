"""Character error rate."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit_metrics_text.error_rate import ErrorRate


class CharacterErrorRate(ErrorRate):
    """Character error rate: edits of characters / characters of all answers.

    As `wer`, with characters (Unicode code points) in the place of words. Blanks within
    a text are characters, those at its ends are left out. Characters are compared as
    they are: `lowercase=true` ignores capitals, `punctuation=false` deletes
    punctuation. Of several acceptable answers the one with the lowest rate counts. A
    missing prediction that counts has all characters of the longest answer deleted.
    Null where the answers have no characters. Range 0 to infinity, in %, lower is
    better; the delta method's interval of the logarithm.

    Source: Morris, Maier and Green, From WER and RIL to MER and WIL, 2004, for words;
    jiwer's `cer`.

    Example:
        >>> import evalkit
        >>> evalkit.score("cer", ["kitten", "yes"], ["kittens", "yes"])["cer"].value
        0.1
    """

    parts = "characters"

    def parts_of(self, text: str) -> Sequence[str]:
        """Return the characters, without blanks at the ends."""
        return text.strip()
