"""Names that Faker lists for countries: which ones, who has them, and where."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Literal, NamedTuple

from evalkit_perturbations_text.grammar.tokens import word_set

OTHER_WORDS = word_set(
    """
    aba adda aden adolfs adonis afer africa aga age agla ake alberts albino alcan alf
    alfa alin ally altin alvine ama amar ambar amico amin amine amir amoke amon among
    amra amrita anas anay anda andrena anes angus ani anis antal ante antra ants apollo
    aral aran arent ares ari arian armenia artemisa aru aryan ascension ase aslan ast
    asta aston astros ati atlanta atlas atma aud aune averil azad azalea baba bailie
    bala bale bali balli bambang baptist bara baraka baris bas bashan bayman beat bela
    belo beni benoni bent bento beray bergen bergmann berra besin beste beta bett bil
    bina bitten blas blessing blida blin boas boaz bodhi boe boga bogey boi borg bot
    bozo bra braga brecht breda brid brit buenaventura buhari buri burkhardt cager cal
    campo can canal candela capa capucine cas cedrin cem cerci cercis chaman che chita
    cielo cinta citra claudius claus clemence columba come comfort conan constant
    constanta cord cormack cornel crin dace dadap dadi dag dai daler dalla danson daud
    demeter demi dev devi dex dis disa dita divan doa dodo dogg dom dor drago dries dua
    dui duma durante duro eba eckhardt eckhart edi edit edmunds edu ega eider eimer
    elektra elgin eliot els elver eman emer emir emmet encarnacion ene eral erbil
    erdogan eren eres eris esa esna eta etna evangelista ever evert fancy fares felicity
    feline fella fem fema fia fides fifa floor flore florent florentine forum franc
    franca francia francisc franck gael gaia gaiman gal gallego ganda ganga gani gara
    garda garibaldi gazel geira georgian gerrard gideon gilly gion gisla glo goa gogo
    goi gok goli goma goran gote greet gregorian grein grit gro gua gugu gul gully
    gulper gumi gumma gun gundi gunnel gunner gunny gunsel gurry gust gutti hakim halla
    hami hani hannibal hanno hansa hari haris harish harm harsh hasta hava hella hema
    hemal hemi henna henny hera hermes hersir hilbert hilding hind holger honore huia
    huxley iban ibis ica ide ifa ige iida ika imam imi immaculate immanuel imre indi
    indie indy ine innocent ion ise islam issa ita ivor iwo ize jaan jabal jai jail jara
    jarl jati javan jeet jerker jes jet jil job johnstone joke jos josephus judea jure
    juvenal kahu kalmar kanda kar karatas karna karo kauri kick kiddy kike kiki kingston
    kiri kismet kitan kizil knorr kobe kondo kora kumar laban lada lage laika lalo
    lander lando lar lascar laurin laus laze lega lekha lene lenin ler lere levis lex
    lies lieve lif liga lill liman linde line livingstone loa lode loke loki lone lope
    loretto lot loyola lucca lucky ludo luter macarena macs made magna magnes mahdi mala
    malina manca maney mani mans manus mar mare maree marini marly maron mars mart marte
    marten martial masa mate matic mats matta maua maxim maza mentor merel metta mias
    michelangelo mick mie mihrab mile mille minny mio mir miro mist mjolnir moa modi
    modis montserrat mori moric moussa muni musa musee muslim muslum nacho nadir nae
    nael nagi nair nand nanny nas nasab nath nazi nazim nazir nea nel neo nete nik nil
    nini ninja njeru noi noni nore nori nott nour november nurser nusa oba odd ole olena
    oman omina oni oran orcin ork orn orna osa osha osp oto ottar over owe paca pacifica
    pal pala paley palin pall palmar panini par pascale paschal pastor pau pauls paw
    paye peer pepe per pero peta petre petri petter philippine pien pier piet pili pius
    pol pompeo prima prior puck puk purity rahman rama ramadan ran rani rares ratna reet
    regis regula rei rein reine rembrandt remo remus resi rica rim rin rio rishi risper
    roan roar rok ronaldo roos ros rosberg run rune runny rut ruta rza saba saban sachi
    saddam saga said saida saka salah salami salomon salud salvor samar sante sanya sapa
    sava sayin segundo sem sep sera serge serine server sever shem sia side siena sienna
    sif sil sila sile sime simi sine sinica siper siri siro sita snot sola solberg sole
    solon solver sonata sos sten sultane sune suse sylva sys tade tali tanak tane tatu
    tea tere thales theophile theres thies thom thor thore thorny ties til tilde till
    tilly timoteo titi toki tola toms tone toon tor tore tota toy treacy tri trine trini
    tru tudor tui tule tung ture turkmen tutu tyr uda udo ulu ulva umi unal undine uni
    unna uno uranus ursa uta vali valiant valid vallary valva valves var varsha vedika
    veer ver verde vero vic vid vide vigo viking ville vino visa vit wadi wage warwick
    yaa yair yaw yeni yoga yono zaid zaman zan zara zaraza zelaya zion
    """
)
"""Words, places, firms, surnames and famous names that are no first names here, in
lower case and without accents. With accents they are names: `Léa`, not `lea`."""


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


Gender = Literal["female", "male", "either"]
OneGender = Literal["female", "male"]

_IN_ORDER = """
    pl_PL cs_CZ sk_SK hu_HU sl_SI hr_HR ro_RO tr_TR az_AZ uz_UZ lv_LV et_EE fi_FI it_IT
    pt_PT pt_BR es_ES es_MX es_AR es_CO es_CL es_CA fr_FR da_DK no_NO sv_SE de_DE de_AT
    nl_NL en_IE ga_IE en_IN ig_NG ha_NG yo_NG tw_GH en_KE zu_ZA ja_JP id_ID fr_DZ en_GB
    en_NZ en_US fr_CA fr_CH fr_BE nl_BE de_CH
    """

LOCALES = tuple(_IN_ORDER.split())
"""Faker's locales whose first names are known, those whose list has few names of people
who came from elsewhere first. They are the lists in Latin script, apart by gender, but
`en`, which is of no country; `is_IS`, `sw` and `vi_VN`, which hold many words; and
`de_LI`, `de_LU`, `en_NG` and `fr_QC`, which have nearly all from another."""

_FEWEST_LETTERS = 3

_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "ß": "ss"}
    | {"ı": "i", "œ": "oe"}
)
"""Letters that are no letter and a mark in Unicode."""


class CountryNames(NamedTuple):
    """Names that Faker lists for one locale, which stands for a country."""

    female: tuple[str, ...]
    male: tuple[str, ...]
    last: tuple[str, ...]


class CountryName(NamedTuple):
    """What the lists of countries say of a first name."""

    gender: Gender
    """`either` where a list of women has it, and a list of men, accents aside."""
    locale: str
    """The first of `LOCALES` that holds the name, reviewed names before Faker's."""


@cache
def country_names(locale: str) -> CountryNames:
    """Return Faker's names of a country, in Latin script and of one word only."""
    from importlib import import_module

    provider = import_module(f"faker.providers.person.{locale}").Provider
    women = ("first_names_female", "first_names_women", "first_romanized_names_female")
    men = ("first_names_male", "first_names_men", "first_romanized_names_male")
    last = ("last_names", "last_names_female", "last_romanized_names")
    return CountryNames(*(_plain(provider, *names) for names in (women, men, last)))


def _plain(provider: object, *attributes: str) -> tuple[str, ...]:
    for attribute in attributes:
        names = getattr(provider, attribute, ())
        plain = {name for name in names if isinstance(name, str) and _is_latin(name)}
        if plain:
            return tuple(sorted(plain))
    return ()


def _is_latin(name: str) -> bool:
    """Tell whether a name is one word in Latin script with a first capital."""
    is_word = name.isalpha() or name.replace("-", "").replace("'", "").isalpha()
    if not is_word or not name[0].isupper():
        return False
    return name.isascii() or all(
        sign <= "\u024f" or "\u1e00" <= sign <= "\u1eff" for sign in name
    )


def without_accents(word: str) -> str:
    """Write a word in lower case with plain letters `a` to `z`."""
    if word.isascii():
        return word
    apart = unicodedata.normalize("NFKD", word.translate(_LETTERS))
    return "".join(sign for sign in apart if not unicodedata.combining(sign))


def _usable(names: tuple[str, ...]) -> Iterator[str]:
    """Return the names that have three letters or more, and no hyphen or apostrophe."""
    return (name for name in names if len(name) >= _FEWEST_LETTERS and name.isalpha())


def _lower(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name.lower() for name in _usable(names))


def _gender(is_womans: bool, is_mans: bool) -> Gender:
    if is_womans and is_mans:
        return "either"
    return "female" if is_womans else "male"


@cache
def country_first_names() -> Mapping[str, CountryName]:
    """Return the first names in all lists of `LOCALES`."""
    lists = [(locale, *names) for locale, names in REVIEWED_NAMES.items()]
    lists += [
        (locale, _lower(names.female), _lower(names.male))
        for locale, names in zip(LOCALES, map(country_names, LOCALES), strict=True)
    ]
    women = {without_accents(name) for _, names, _ in lists for name in names}
    men = {without_accents(name) for _, _, names in lists for name in names}
    for female, male in REVIEWED_NAMES.values():
        women -= {without_accents(name) for name in male - female}
        men -= {without_accents(name) for name in female - male}
    found: dict[str, CountryName] = {}
    for locale, female, male in lists:
        for name in (female | male) - found.keys():
            plain = without_accents(name)
            known = CountryName(_gender(plain in women, plain in men), locale)
            found[name] = known
            if plain != name:
                found.setdefault(plain, known)
                found.setdefault(unicodedata.normalize("NFD", name), known)
    for word in OTHER_WORDS:
        found.pop(word, None)
    return found


@cache
def country_spellings(locale: str, gender: OneGender) -> tuple[str, ...]:
    """Return a country's names that only one gender's list has."""
    women, men, _ = country_names(locale)
    known = country_first_names()
    return tuple(
        name
        for name in _usable(women if gender == "female" else men)
        if name.lower() in known and known[name.lower()].gender == gender
    )
