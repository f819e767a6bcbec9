"""Gendered words whose counterpart, if any, depends on what is around them.

Left alone, since they have another meaning or none of the other gender: `guys` as an
address of anybody, `God` and `the Lord`, insults of one gender only (their counterparts
would be other insults), `miss` and `man` as verbs, `man` as an exclamation, `mankind`
and other general words (`manager`, `human`, `snowman`, which are no pairs), names of
firms and works such as `Burger King` and `Iron Man`.
"""

from __future__ import annotations

from functools import cache

from evalkit_perturbations_text.gender.pronoun_grammar import (
    is_possessive,
    precedes_noun,
)
from evalkit_perturbations_text.gender.titles import (
    Decision,
    Swap,
    decide_dame,
    decide_lady,
    decide_lord,
    decide_maam,
    decide_madam,
    decide_miss,
    decide_mr,
    decide_mrs,
    decide_ms,
    decide_plural_ruler,
    decide_ruler,
    decide_sir,
    is_aside,
    swap_word,
    swapped_words,
)
from evalkit_perturbations_text.grammar.tokens import (
    APOSTROPHES,
    HYPHENS,
    Tokens,
    word_set,
)


def _he(tokens: Tokens, position: int) -> Swap | None:
    """Leave `s/he` and `(s)he` alone."""
    joined = tokens.form(position - 1) in ("/", ")") and tokens.touches(position - 1)
    if joined and tokens.word(position - 2) == "s":
        return None
    return swap_word(position, "she")


def _her(tokens: Tokens, position: int) -> Swap:
    if tokens.has_possessive(position):
        return Swap(position + 3, "his")
    return swap_word(position, "his" if is_possessive(tokens, position) else "him")


def _his(tokens: Tokens, position: int) -> Swap:
    return swap_word(position, "her" if precedes_noun(tokens, position) else "hers")


def _hers(tokens: Tokens, position: int) -> Swap:
    return swap_word(position, "his")


_MODALS = word_set("""
    to will must can should could would may might shall not t cannot ll who let
    """)


_VERB_OBJECTS = word_set("the up a an this those these its their our")


_PLURALS = word_set("they we you i who people soldiers sailors volunteers")


def _man(tokens: Tokens, position: int) -> Swap | None:
    """Leave `man the boat`, `man up` and `Man, that …` alone."""
    before, after = tokens.word(position - 1), tokens.word(position + 1)
    is_verb = before in _MODALS or before in _PLURALS
    starts = tokens.starts_sentence(position)
    if after in _VERB_OBJECTS and (is_verb or (starts and after != "this")):
        return None
    addresses = before in ("hey", "yeah", "yes", "sorry", "dude", "bro", ",")
    if addresses and is_aside(tokens, position):
        return None
    if starts and after in (",", "!", "…"):
        return None
    return swap_word(position, "woman")


def _boy(tokens: Tokens, position: int) -> Swap | None:
    """Leave `Boy, that hurt` alone."""
    exclaims = tokens.word(position + 1) in (",", "!", "oh")
    if exclaims and tokens.starts_sentence(position):
        return None
    return swap_word(position, "girl")


def _god(tokens: Tokens, position: int) -> Swap | None:
    """Swap `a god` and `the god of war`; leave God alone."""
    plain = tokens.form(position) == "god"
    before = tokens.word(position - 1)
    if plain and before in ("a", "the", "greek", "roman", "or", "and"):
        return swap_word(position, "goddess")
    return None


def _goddess(tokens: Tokens, position: int) -> Swap:
    return swap_word(position, "god")


_GIRLS = word_set("gals girls ladies")


def _guys(tokens: Tokens, position: int) -> Swap | None:
    """Leave `guys`, an address of anybody, alone but in `guys and gals`."""
    pairs = (tokens.word(position + 2), tokens.word(position - 2))
    joined = {tokens.word(position + 1), tokens.word(position - 1)} & {"and", "or", "&"}
    return swap_word(position, "gals") if joined and _GIRLS & set(pairs) else None


def _gals(tokens: Tokens, position: int) -> Swap:
    return swap_word(position, "guys")


def _guy(tokens: Tokens, position: int) -> Swap | None:
    """Leave the name Guy alone."""
    capital = tokens.is_capital(position) and not tokens.shouts and not tokens.is_title
    if capital:
        inside = not tokens.starts_sentence(position)
        if inside or tokens.is_capital(position + 1):
            return None
    return swap_word(position, "gal")


_ARTICLES = word_set("""
    the a her his their my your our this that new young happy handsome nervous bride and
    future old beautiful proud
    """)


def _groom(tokens: Tokens, position: int) -> Swap | None:
    """Leave the verb in `groom the dog` alone."""
    before = tokens.word(position - 1)
    and_verb = before == "and" and tokens.word(position - 2) != "bride"
    if before not in _ARTICLES or and_verb:
        return None
    new = "brides" if tokens.word(position) == "grooms" else "bride"
    return swap_word(position, new)


def _dad(tokens: Tokens, position: int) -> Swap:
    """Write `mum` where the text does."""
    british = {"mum", "mums", "mummy", "stepmum"} & set(tokens.lower)
    return swap_word(position, "mum" if british else "mom")


_RULERS = ("king", "queen", "prince", "duke", "earl", "baron", "princess", "duchess")


_TEAMS = ("kings", "queens", "cowboys", "barons", "dukes", "wizards")


DECISIONS: dict[str, Decision] = {
    "he": _he,
    "her": _her,
    "his": _his,
    "hers": _hers,
    "man": _man,
    "boy": _boy,
    "miss": decide_miss,
    "mr": decide_mr,
    "mrs": decide_mrs,
    "ms": decide_ms,
    "sir": decide_sir,
    "dame": decide_dame,
    "madam": decide_madam,
    "ma": decide_maam,
    "lord": decide_lord,
    "lady": decide_lady,
    "god": _god,
    "goddess": _goddess,
    "guys": _guys,
    "gals": _gals,
    "guy": _guy,
    "groom": _groom,
    "grooms": _groom,
    "dad": _dad,
    **dict.fromkeys(_RULERS, decide_ruler),
    **dict.fromkeys(_TEAMS, decide_plural_ruler),
    "brothers": decide_plural_ruler,
}
"""How each word is decided that has no single counterpart."""


@cache
def gendered_words() -> frozenset[str]:
    """Return all words that may be swapped, in lower case."""
    return frozenset(swapped_words()) | frozenset(DECISIONS)


_FIXED = frozenset(
    tuple(phrase.split())
    for phrase in (
        "isle of man",
        "burning man",
        "man united",
        "man utd",
        "man city",
        "spider man",
        "iron man",
        "ant man",
        "x men",
        "man made",
        "man hour",
        "man hours",
        "man eating",
        "man eater",
        "men at arms",
        "man at arms",
        "no man s",
        "man s best friend",
        "mother nature",
        "mother earth",
        "mother tongue",
        "mother teresa",
        "mother lode",
        "mother ship",
        "father time",
        "father christmas",
        "founding fathers",
        "founding father",
        "uncle sam",
        "aunt jemima",
        "king kong",
        "king s college",
        "king s cross",
        "queen s college",
        "queen s university",
        "queen latifah",
        "lady gaga",
        "lady luck",
        "our lady",
        "lady liberty",
        "wonder woman",
        "king size",
        "king sized",
        "queen size",
        "queen sized",
        "boy george",
        "beach boys",
        "backstreet boys",
        "spice girls",
        "golden girls",
        "gilmore girls",
        "warner brothers",
        "brothers grimm",
        "dairy queen",
        "burger king",
        "bachelor s degree",
        "bachelor s degrees",
        "bachelor of",
        "bachelor degree",
        "bachelors degree",
        "old man winter",
        "he man",
        "man ray",
        "king cake",
        "king salmon",
        "king crab",
        "queen bed",
        "queen bee",
        "prince edward island",
        "miss universe",
        "miss america",
        "oh man",
        "yo man",
        "damn man",
        "oh boy",
        "oh brother",
        "boy oh",
        "come on man",
        "c mon man",
        "thanks man",
        "witch hunt",
        "witch hazel",
    )
)


_CAPITAL_FIXED = frozenset(
    {
        ("big", "brother"),
        ("pretty", "woman"),
        ("little", "women"),
        ("mad", "men"),
        ("big", "brothers"),
    }
)
"""Phrases that are fixed only where each word has a capital."""


@cache
def _phrases_by_word() -> dict[str, list[tuple[int, tuple[str, ...]]]]:
    found: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
    for phrase in sorted(_FIXED | _CAPITAL_FIXED):
        for place, word in enumerate(phrase):
            found.setdefault(word, []).append((place, phrase))
    return found


def is_fixed(tokens: Tokens, position: int) -> bool:
    """Tell whether a word is part of a phrase that is left alone."""
    for place, phrase in _phrases_by_word().get(tokens.word(position), ()):
        places = _phrase_places(tokens, position, place, phrase)
        if not places:
            continue
        if phrase not in _CAPITAL_FIXED or all(map(tokens.is_capital, places)):
            return True
    return False


def _phrase_places(
    tokens: Tokens, position: int, place: int, phrase: tuple[str, ...]
) -> list[int]:
    """Return where the words of a phrase are, if they are all there."""
    before, after = phrase[:place][::-1], phrase[place + 1 :]
    places = [position]
    for words, step in ((before, -1), (after, 1)):
        at = position
        for word in words:
            at += step
            if tokens.word(at) in APOSTROPHES | HYPHENS:
                at += step
            if tokens.word(at) != word:
                return []
            places.append(at)
    return places
