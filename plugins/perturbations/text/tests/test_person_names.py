"""First names and surnames: found where they are used as names, and nowhere else."""

import re

import pytest

from evalkit_perturbations_text.grammar.tokens import Tokens
from evalkit_perturbations_text.names.country_names import (
    OTHER_WORDS,
    country_first_names,
    country_names,
)
from evalkit_perturbations_text.names.lists import (
    common_first_names,
    country_of,
    first_names,
    is_census_name,
)
from evalkit_perturbations_text.names.person_names import (
    find_first_names,
    find_last_names,
)

CASES = """
[Mary] went home.
I saw [Mary]'s dog.
[Mark] has three dogs.
Mark the date in your calendar.
I asked [Mark] to mark the page.
[Will] is tall. Will you come?
Will [Mary] come to the party?
Where is [Will]?
[Will] Smith came.
[Will]'s hat
[Will]’ll come.
Will it rain in May?
In May, [John] met [Grace] Kelly.
May I borrow [May]'s umbrella?
We met [May] in June.
She married on May 5.
From April to June, and in May or June
It rained in April, May and June.
[April] was late, she said.
April showers came.
[Rose] bought a rose.
Roses are red.
The Rose Garden is open.
[Bill] paid the bill.
Bill the customer at noon.
Bill collectors called twice.
The Bill of Rights protects us.
Hope is important.
[Hope] laughed.
I met [Hope] yesterday.
Faith, hope and charity
Grant me a wish.
[Grant] told [Sue] a joke.
They sue him.
Sue them!
[Jack] and [Jill] went up the hill.
Jack up the car.
[Frank] said so.
To be frank, I miss [Frank].
Summer is hot.
In Summer it rains.
She said [Summer] was late.
Dawn broke.
[Dawn] broke her leg.
Chase the ball!
[Chase] threw the ball.
Art is long.
[Art] asked for help.
Mr. James met [James] Brown.
Mr James met Mr. [James] Brown.
Dr. Thomas saw [Thomas] Edison.
Mrs. Kim and Miss Kelly
[John] Thomas and [Mary] [Ann] Smith
[John] F. James
Uncle [Bob] and Aunt [Sally] came.
Uncle Sam wants you.
Grandma [Betty] baked.
King [George] spoke.
We went to Charlotte, North Carolina.
She moved from Austin to Sydney.
He lives in Virginia.
Mt. St. Helens, St. Paul and San Jose
Stanford University hired [Susan].
Jane Street is closed.
George Washington University is open.
Ben & Jerry make ice cream.
[Ben] & [Kate] make tea.
[Taylor] and [Jordan] play.
Merry Christmas!
I love Paris.
"[Mary] left," said [Tom].
“Mark my words,” he said.
He said, “Will you go?”
JOHN LOVES MARY? NO, THE ACRONYM IS [JOHN]
IBM hired ANN.
[Emily]'s and [James]' books
Don't shout, [Don].
An [Olivia] called.
john and mary
Jean-Luc and Anne-Marie
@Mary and #John
Max out the card.
I gave [Penny] a penny.
A penny for [Penny].
[Jay] saw a blue jay.
Carol singing is fun.
[Carol] sings.
[Nick] was in the nick of time.
Rob the bank!
[Rob] robbed it.
[Ray] originally had two.
The Mark of Zorro
[Daisy] gave [Ivy] a daisy.
Christian and Jesus
Kenya, India and Israel
[Joy] baked a cake.
Joy to the world
[Mary], [Rose] and [Lily] sang.
Victoria Station
Queen [Victoria] reigned.
Captain [Mark] Brown saluted.
Professor [Mary] Beard wrote it.
the Republican Thomas spoke.
Ms. Frank called.
Five Big Mistakes Mark Makes Every Single Monday
On Monday [Sarah] slept.
When [Sarah] slept, it rained.
[An] went home.
An apple, an hour, an honest man
An educated guess
She saw [An] yesterday.
[An] Nguyen left.
An Italian left.
an
Don Juan and Don Quixote
June was rainy.
[June] was angry, and she left.
We flew to Los Angeles and San Francisco.
We leave by June, and June 3rd is for April.
In Jan. 5, on Jan 20 and until Jan we wait for [Jan].
It was written by [June]. [June] laughed by [June]'s hat.
I saw O'Connor, D'Angelo and O’Neal.
[Sean] O'Brien met [Malia] d'Angelo and [Maria] de Luca.
The Kata'ib met [Kata]'s aunt.
Austin is the capital of Texas.
Georgia and Florida voted.
Georgia's governor and the Georgia coast
[Georgia]'s mother met [Georgia] and [Mary].
the Madison police and an Austin office
Florence, Italy; Lexington, Virginia
Lorraine is in France.
[Charlotte] moved to Austin.
I gave two apples to [Charlotte], who got one from [Madison].
We sailed to Charlotte.
They said we may all want to sail away from here to Charlotte.
[Georgia] is happy about her new red hat.
We spoke. To Madison!
[Amy], [Jackson], [Corey] and [James] left.
Charlotte Hornets beat Carolina Panthers.
[Austin] Powers met [Jackson] Pollock.
We saw the Sydney Opera House.
They read the Sydney Morning Herald and asked Carl Zeiss AG.
Hurricane Katrina hit.
Marks & Spencer and Tiffany & Cartier
Obama & [Michael] Moore
JP Morgan hired her.
TIL [Steve] Bannon left, says CEO [Tim] Cook.
[Tomasz] Kowalski met [Emily] Zzyzx.
[Inês], [Ines], [José], [Søren], [Soren], [Małgorzata] and [Malgorzata]
[İbrahim] and [Ayşe]
Sofia is a city; [Sofia] is a girl.
Petri dishes and the Muslim Nazim
[Léa] is a name, Lea is none.
Drive 30 Miles with [Miles].
In the month of May it rains.
He hates his Art class.
The Mary Ann Smith School is open.
...
"""
GOLD = {
    "JOHN LOVES MARY? NO, THE ACRONYM IS [JOHN]": ["JOHN", "MARY", "JOHN"],
    "“Mark my words,” he said.": [],
}


@pytest.mark.parametrize("case", CASES.strip("\n").split("\n"))
def test_first_names(case: str) -> None:
    gold = GOLD.get(case, re.findall(r"\[(\w+)\]", case))
    tokens = Tokens(re.sub(r"[\[\]]", "", case))
    (mentions,) = find_first_names([tokens])
    assert [tokens.forms[mention.position] for mention in mentions] == gold


def test_last_names() -> None:
    texts = [
        Tokens("John Smith met Dr. Brown. Smith and Brown ate brown bread."),
        Tokens("Smith"),
    ]
    found = find_last_names(texts)
    forms = [
        [text.forms[mention.position] for mention in mentions]
        for text, mentions in zip(texts, found, strict=True)
    ]
    assert forms == [["Smith", "Brown", "Smith", "Brown"], ["Smith"]]


@pytest.mark.parametrize(
    ("name", "gender", "country"),
    [
        ("tomasz", "male", "pl_PL"),
        ("inês", "female", "pt_PT"),
        ("priya", "female", "en_IN"),
        ("ravi", "male", "en_IN"),
        ("jürgen", "male", "de_DE"),
        ("jurgen", "male", "de_DE"),
        ("josé", "male", "pt_PT"),
        ("ayşe", "female", "tr_TR"),
        ("hiroshi", "male", "ja_JP"),
        ("lebron", "male", "en_US"),
    ],
)
def test_names_of_countries(name: str, gender: str, country: str) -> None:
    assert first_names()[name] == gender
    assert not is_census_name(name)
    assert country_of(name) == country


def test_words_and_places_are_no_names_of_countries() -> None:
    names = first_names()
    assert OTHER_WORDS.isdisjoint(country_first_names())
    assert names.keys().isdisjoint(OTHER_WORDS - common_first_names() - _census_names())
    assert not {"per", "are", "even", "bergen", "petri", "muslim"} & names.keys()


def _census_names() -> frozenset[str]:
    return frozenset(name for name in OTHER_WORDS if is_census_name(name))


def test_names_in_other_scripts_are_left_out() -> None:
    assert country_names("ko_KR").female == ()


@pytest.mark.parametrize("text", ["", " ", "\n\n", "a", "'", "\u0301", "a\u200db 5"])
def test_tokens_of_any_text(text: str) -> None:
    tokens = Tokens(text)
    assert [text[start:end] for start, end in tokens.spans] == tokens.forms
    assert tokens.form(99) == tokens.word(-1) == ""
    assert not tokens.touches(-1)
    assert not tokens.breaks_line(99)
    assert not tokens.is_title
    assert not tokens.shouts
