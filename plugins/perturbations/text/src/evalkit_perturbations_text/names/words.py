"""Names that are other words too, and words around names.

All lists were written and reviewed for this package.
"""

from __future__ import annotations

from evalkit_perturbations_text.grammar.tokens import word_set

NO_NAMES = word_set(
    """
    ai aide al alba aline alpha america angelic angles apple ariel arie asia aura barbie
    be bee berry bong boyce brain brandy bunny buck case chan chang chance chi chin
    china christ christian christine's chong chung conception coral cruz cuba cherish
    dakota dallas delta denver deja del desire devon diamond do dot dong e easter echo
    else era exie fairy france free garland gay german golden green ha hai han hang hee
    hilton hong honey houston hue hung ima in india israel ja january jesus jewel jong
    junior
    ka kenya king kit kum lady lan lane lang lashay lavender le lea li lincoln loan
    london long love ma mac magdalen mai major male man manual many maple mao marco
    marine master mercedes merry messiah mi milan min ming miss moon my na nada nam
    noble nu numbers oda ok omega paris pa page parthenia perry pei person phoenix ping
    porsche precious prince princess providence queen reagan rich roman roosevelt
    rosario royal sage san sang santa santo santos sari scarlet season see september
    shade shiela so sol son song soon spring star stanford starr sterling sun sunday
    sunny sunshine sung ta temple tequila tennessee thanh thi thu tiara tiny trinidad
    trinity troy un usha velvet verona vi vienna virgin von washington wen windy winter
    water yen yer yi yong young yu zona human memphis cleveland orlando columbus boston
    bronx heaven genesis liberty justice earth world theo chastity tory sir mister
    doctor judge bishop abbot deacon elder mayor florida nevada maryland argentina isis
    chanel carry gala monet emerald karma jame latina roma glory bell foster clinton
    nana babe angeles vita indiana montana nevaeh britney's louisiana delaware arizona
    egypt cairo holland england ireland scotland romania lebanon jersey norway panama
    persia paradise rome sicily valley sherry ivory britain english irish french scott's
    ah oh hi bo no yes
    """
)
"""Names of the census that are nearly always another word, place or person."""

WORD_NAMES = word_set(
    """
    an will mark grace hope rose jack frank bill art summer dawn chase grant joy faith
    penny ruby lily daisy ivy pearl amber crystal holly heather iris violet ginger olive
    basil rusty buddy max sue rob bob nick gene dale glen cliff clay forest forrest reed
    wade skip duke earl dean lance miles guy carol angel destiny jay martin drake tanner
    cooper hunter mason carter parker harmony melody charity patience mercy prudence
    constance felicity serenity eve noel misty stormy candy peg mat matt van ray tad
    colt chip chuck dick don rocky randy woody sonny victor norm josh april may june
    august bud beau kat gil fern myrtle hazel aurora dusty curt opal jade sapphire
    jasmine rosemary cherry clementine dolly kitty birdie autumn stone rock wolf stella
    luna nova venus tiffany flint ace ash blaze brook brooke dash flora gage herb lark
    pierce rush storm ward west buster cash rod tab ty barb bea belle bella bonny bonnie
    chad chevy dolores gail ford gus jerry jimmy john johnny ken lacy laurel leo lee les
    lew lion lucky lump marina maria mickey mike minty moody nell newton nat otter patsy
    patty pansy peace peony percy pete peter petunia piper poppy price queenie ralph
    rebel regina reuben rex rhett river robin roger rosy royce sally sandy shelly
    sherman solomon spencer stew sunny tammy ted teddy terry tilly tim toby toni tory
    trey trip tucker tyson val velma vera viola virgil wally walker warren wendy wiley
    willow winnie winston yuri blossom cinnamon cricket destinee ebony fancy francis
    german gloria infant latin magnolia michael monarch morning nickel oak pat polly
    lake layne lotus loyal marvel modesty pepper ripple rhoda robbie salome scout season
    sidney sherlock shepherd skye vesta verity may-bell ginny gypsy gin bee deb jill
    marshall butler baker page turner fisher taylor smith porter chandler marshal carmen
    dot dollie elder electra era ester
    """
) - word_set(
    """
    michael maria john peter ralph tim toby wendy wally ted roger lee leo gus terry
    tilly tammy velma winston yuri warren virgil vera toni spencer solomon sidney gloria
    infant latin monarch morning nickel oak otter percy regina reuben rhoda robbie
    salome sherman vesta rhett newton nell lew lion lump jill deb francis gail dolores
    leroy stella sally shelly polly patsy marshall walker val
    """
)
"""First names that are also words; at the beginning of a sentence, where any word has
a capital, the words around them decide."""

MASS_NAMES = word_set(
    """
    hope grace faith joy art summer dawn charity patience mercy harmony ginger candy
    basil amber crystal destiny jade autumn serenity felicity prudence noel cash peace
    storm april may june august jasmine rosemary cinnamon flora
    """
)
"""Those that stand without an article as words too."""

MONTHS = word_set("jan april may june august")

SEASONS = word_set("summer autumn dawn")

MONTH_PREPOSITIONS = word_set(
    """
    in last next since until till during of by this every early late mid from through
    between before after on each
    """
)

PLACE_NAMES = word_set(
    """
    austin carolina charlotte chester florence geneva georgia jackson lourdes madison
    savannah sydney victoria virginia brooklyn diego francisco jose antonio angeles chad
    jordan monica barbara maria ana clara cruz lucia rosa pedro salvador camden
    lancaster kent lorraine odessa valencia alexandria adelaide regina vernon logan
    salem troy carson eugene laredo juan louis paul
    """
)
"""First names that are names of places too."""

PLACE_PREFIXES = word_set(
    """
    san santa santo st saint los las lake mount mt fort ft port cape north south east
    west new downtown el rio hurricane typhoon cyclone storm
    """
)

PLACE_PREPOSITIONS = word_set(
    """
    in at to from near through around outside across visit visits visited visiting leave
    leaves left leaving toward towards via of
    """
)

TOWNS = word_set(
    """
    austin carolina charlotte chester florence geneva georgia jackson lourdes madison
    savannah sydney victoria virginia brooklyn camden lancaster kent lorraine odessa
    valencia alexandria adelaide regina vernon salem chad jordan aurora asuncion barrie
    bradford dominica edison edmond guadalupe irving lowell milton modesto palma preston
    quincy raleigh samara santiago sofia soledad
    """
)
"""Places whose name stands alone, without San or Fort before it."""

PLACE_SUFFIXES = word_set(
    """
    street avenue ave road rd boulevard blvd university college school elementary
    hospital county prize award awards act inc corp corporation foundation institute
    cathedral hotel airport stadium museum company bowl theatre theater river island
    islands beach bridge ltd llc highway parkway lane library academy campus gallery
    building festival creek falls station square cross house opera zoo police marathon
    times gazette tribune herald symphony orchestra co group holdings motors bank plc ag
    gmbh partners bros records airlines
    """
)
"""Words after which a name before them is no person's."""

SURNAME_TITLES = word_set(
    """
    mr mrs ms miss dr prof professor president senator judge justice doctor detective
    sergeant lieutenant officer agent governor mayor congressman congresswoman
    representative chancellor secretary inspector reverend rev sgt lt gov sen rep capt
    col gen colonel general major admiral private corporal chief lord mister principal
    minister ambassador chairman councilman councilwoman
    """
)
"""Titles after which a lone name is a surname."""

SURNAME_PREFIXES = word_set(
    "de da di del della dos das du van von der den ter ten la le el bin ibn mac mc"
)
"""Words before a part of a surname."""

ELIDED_PREFIXES = word_set("o d l m n dell t")
"""Those that stand before an apostrophe."""

TITLES_IN_CAPITALS = word_set("ceo cfo cto coo vp mp pm dj mc md phd")
"""Offices before a first name."""

FIRST_NAME_TITLES = word_set(
    """
    aunt auntie aunty uncle grandma grandpa grandmother grandfather granny nana cousin
    king queen prince princess sir dame brother sister pope tsar emperor empress captain
    coach chef nurse big little old young poor dear lady duke duchess father mother baby
    saint santa mama papa great-aunt farmer teacher nephew niece friend dj
    """
) - {"saint", "santa"}
"""Words with a capital after which a first name may stand."""

CALENDAR = word_set(
    """
    monday tuesday wednesday thursday friday saturday sunday january february march
    april may june july august september october november december christmas easter
    thanksgiving halloween i
    """
)

SECOND_NAMES = word_set(
    """
    ann anne jane lou sue marie beth jean rose may mae kate ellen lynn jo louise ray joe
    bob jim paul alice elizabeth catherine
    """
) - {"paul"}
"""First names that stand after another, as in Mary Ann, without being a surname."""

FIXED_PHRASES: frozenset[tuple[str, ...]] = frozenset(
    tuple(phrase.split())
    for phrase in (
        "bloody mary",
        "don juan",
        "don quixote",
        "chase bank",
        "prophet muhammad",
        "prophet mohammed",
        "hail mary",
        "virgin mary",
        "mary kay",
        "papa john",
        "jimmy john",
        "trader joe",
        "aunt jemima",
        "uncle sam",
        "betty crocker",
        "jack daniel",
        "johnnie walker",
        "johnny walker",
        "victoria secret",
        "jersey mike",
        "big ben",
        "saint nick",
        "jack frost",
        "john doe",
        "jane doe",
        "average joe",
        "peter pan",
        "tony award",
        "tony awards",
        "oscar nominee",
        "wells fargo",
        "st john",
        "st paul",
        "king james",
        "little caesar",
        "ben & jerry",
        "william & mary",
        "dave & buster",
        "tiffany & co",
        "mother teresa",
        "dow jones",
        "ku klux",
        "morgan stanley",
        "tommy hilfiger",
        "calvin klein",
        "ralph lauren",
        "louis vuitton",
        "harry winston",
        "rolls royce",
        "john deere",
        "jack russell",
        "saint bernard",
        "st bernard",
    )
)
"""Words in which a name is no person's, or not to be changed."""

EITHER_GENDER = word_set(
    """
    an alex alexis ali andy ariel ash ashton aubrey avery bailey billie blair bobbie
    cameron carey carmen casey charlie chris corey cory courtney dakota dana devin devon
    drew elliot elliott ellis emerson finley frances francis frankie gale hayden hunter
    jackie jaime jamie jan jean jess jesse jessie jo jody jodie jordan jules kai kelly
    kelsey kendall kerry kim kris lee leigh leslie lindsay lindsey logan loren lou lynn
    mackenzie marion marlo max mel micah morgan nicky nikki noel pat parker payton
    peyton phoenix quinn ray reagan reese remy rene riley robbie robin rory rowan sam
    sammy sandy sasha sawyer shannon shay shelby sidney skylar skyler stacey stacy
    stevie sydney taylor terry toby toni tracy tracey val whitney yuki angel hao lian
    ming mika noor connie's valentine sage harper tatum dallas ollie dominique shawn
    tyler's nat bobby's mo ronnie bernie jojo
    """
) - word_set("whitney max ray hunter frances")
"""Names that women and men have in numbers today, whatever the census of 1990 says."""

MORE_FEMALE = word_set(
    """
    zoe zoey chloe mia aaliyah layla leila lila isla ayla nora aria ella ava isabella
    sophia olivia emma emily madelyn addison kaylee kaylie hailey haylee brianna brynn
    makayla mckenna mckenzie kylie kayla alyssa jenna tessa lexi aisha fatima priya
    anita sana meera divya pooja neha mei yuko keiko ingrid freya saoirse niamh siobhan
    aoife beatriz lucia ximena valentina camila gabriela luz guadalupe consuelo amara
    ngozi amina nadia yasmin yasmine svetlana olga natasha anastasia irina giulia chiara
    francesca paola genevieve colette elise amelie fiona imogen pippa gemma poppy katie
    janelle jazmin jazmine toula tasha suzie lizzie libby maddie maddy mandy abby
    abigail ellie emmy millie hallie callie allie annie susie julie trish kathy cathy
    beth liz debbie deborah margie maggie peggy molly becky wendy winona anya ariana
    hannah leah grace jasmin inge birgit hillary
    """
)
"""Reviewed names of women and girls that the lists lack."""

MORE_MALE = word_set(
    """
    liam noah ethan aiden aidan jayden caden kaden mason logan jaxon jackson landon
    hudson easton colton bentley brayden brody carson owen caleb gavin dylan connor
    conor muhammad mohammed mohammad ahmed ahmad omar hassan hussein abdul arjun rohan
    wei sven lars bjorn erik magnus oisin cian eoin jorge javier diego mateo santiago
    alejandro sergio raul joaquin kwame emeka dmitri vladimir sergei boris igor nikolai
    luca matteo lorenzo marco giovanni pierre jacques francois olivier thierry manolo
    raymond zack zach zachary josh matt nate jake luke ollie vince greg jeff tom tim
    tommy timmy billy bobby danny kenny jimmy johnny joey mikey robbie ronny jerome
    tyrone desmond gerald kevin barack donald elon darren gareth nigel alistair callum
    hamish ewan rhys dwayne tyler benny will lebron mohamed ibrahim denis zane
    """
) - word_set("logan carson robbie ollie")
"""Reviewed names of men and boys that the lists lack."""
