"""Common first names that Faker's lists of their countries lack, or have wrong.

Written and reviewed for this package.
"""

from __future__ import annotations

from typing import NamedTuple

from evalkit_perturbations_text.grammar.tokens import word_set


class ReviewedNames(NamedTuple):
    """First names of women and of men, in lower case."""

    female: frozenset[str]
    male: frozenset[str]


REVIEWED_NAMES = {
    "en_IN": ReviewedNames(
        word_set(
            """
            aditi ananya lakshmi rekha shreya sunita swati geeta nandini sneha shivani
            """
        ),
        word_set(
            """
            ajay amit anil ashok deepak karthik manoj nikhil rahul raj rajesh rajiv
            ramesh ravi rohit sanjay sunil suresh varun vijay vikram gaurav siddharth
            """
        ),
    ),
    "en_KE": ReviewedNames(
        word_set(
            """
            achieng adhiambo akinyi anyango atieno auma awino awuor muthoni njeri
            nyambura nyokabi wairimu wambui wangari wangui wanjiku wanjiru
            """
        ),
        frozenset(),
    ),
    "et_EE": ReviewedNames(
        word_set("ekaterina katya ludmila oksana"), word_set("alexei dmitry mikhail")
    ),
    "fr_DZ": ReviewedNames(
        word_set("noura khadija zainab"),
        word_set("abdullah khalid karim tariq youssef"),
    ),
    "ig_NG": ReviewedNames(word_set("chioma"), word_set("chidi")),
    "it_IT": ReviewedNames(frozenset(), word_set("luca")),
    "ja_JP": ReviewedNames(word_set("sakura"), word_set("akira hiroshi kenji takashi")),
    "pl_PL": ReviewedNames(
        word_set(
            """
            aleksandra bożena grażyna iwona jolanta karolina katarzyna kinga małgorzata
            weronika
            """
        ),
        word_set("bartosz janusz marek paweł zbigniew"),
    ),
    "tr_TR": ReviewedNames(
        word_set(
            """
            ayşe defne elif emine fatma gülsüm hatice merve meryem zeynep
            """
        ),
        word_set(
            """
            ahmet burak emre hasan hüseyin ismail kemal mehmet murat mustafa orhan osman
            recep yusuf
            """
        ),
    ),
    "yo_NG": ReviewedNames(frozenset(), word_set("olu")),
}
"""By Faker's locale whose list has names like them; Russian ones by Estonia's, Arabic
ones by Algeria's, since Faker has no list of theirs in Latin script."""
