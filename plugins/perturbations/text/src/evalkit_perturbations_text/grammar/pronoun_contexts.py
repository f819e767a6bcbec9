"""Words but verbs that decide what `her` and `his` are.

All lists were written and reviewed for this package.
"""

from __future__ import annotations

from evalkit_perturbations_text.grammar.tokens import word_set

PREPOSITIONS = word_set(
    """
    to of in on at by with without from for about into onto over under after before
    behind between during through toward towards against across along around off out up
    down near like unlike per via upon within beside besides beneath below above beyond
    among amongst amid despite except concerning regarding since till until throughout
    underneath versus vs aboard alongside atop
    """
)

DETERMINERS = word_set(
    """
    the a an this that these those my your our their its some any no each another both
    either neither such what which whose whatever
    """
)

PRONOUNS = word_set(
    """
    i you he she it we they me him us them her his himself herself myself yourself
    itself ourselves themselves who whom whoever someone somebody something everyone
    everybody everything anyone anybody anything nobody nothing mine yours ours theirs
    hers one's there how why when where whenever wherever however
    """
)

CONJUNCTIONS = word_set(
    """
    and or but nor so yet if whether because although though while unless as than once
    whereas lest
    """
)

AUXILIARIES = word_set(
    """
    is was are were be been am has have had do does did would shall should could may
    must cannot won't wouldn ain isn wasn aren weren hasn haven hadn don doesn didn
    couldn shouldn not n
    """
)

ADVERBS = word_set(
    """
    again too also here now then never always often ever away instead anyway soon today
    yesterday tomorrow tonight quite rather already still just even really please
    anymore maybe perhaps sometimes somewhere everywhere anywhere nowhere forward
    forwards backward backwards ahead aside apart together elsewhere afterwards
    afterward beforehand forever twice thrice double enough less well alone indeed
    otherwise meanwhile overnight onwards thereafter abroad indoors outdoors goodbye
    hello bye hi goodnight more seriously
    """
)

FUNCTION_WORDS = (
    PREPOSITIONS | DETERMINERS | PRONOUNS | CONJUNCTIONS | AUXILIARIES | ADVERBS
)
"""Words with which no noun phrase goes on after a possessive."""

PREDICATES = word_set(
    """
    happy sad mad angry crazy sick ill tired late early busy famous rich poor nervous
    anxious afraid asleep awake alive dead safe free pregnant jealous proud
    uncomfortable comfortable calm quiet silent warm cold hot cool dry wet clean dirty
    hungry thirsty sleepy dizzy weak strong stronger weaker better worse happier angrier
    sadder richer poorer healthier safer smarter wiser taller older younger thinner slim
    fat thin beautiful pretty attractive ugly stupid dumb smart clever lazy selfish rude
    mean nice kind lovely cute funny boring interesting annoying charming unpleasant
    unbearable difficult different special unique popular successful powerful helpless
    hopeless homeless speechless breathless restless worthless useless guilty innocent
    responsible accountable liable ready unhappy miserable furious curious suspicious
    conscious unconscious serious irresistible vulnerable invisible visible available
    uneasy unwell well fit eligible immune blind deaf mute lame insane sane bankrupt
    unemployed unable able willing unwilling worthy unworthy cheerful grateful fearful
    careful hateful wonderful delightful intelligent arrogant pleasant honest dishonest
    liar hers alone sober drunk high naked bald pale red blue blush single eager
    desperate lonely lucky unlucky wealthy healthy unhealthy company going gone captive
    hostage bossy brave weird strange normal perfect incompetent competent brilliant
    gorgeous adorable disgusting repulsive revolting evil wrong right first
    """
) - {"right", "first", "company", "going", "liar", "blush", "mean"}
"""Adjectives that may say something of an object before them."""

ED_NOUNS = word_set(
    """
    bed beds seed weed need speed feed deed shed red breed creed greed hundred sled
    beloved betrothed intended naked wicked sacred rugged kindred gifted learned
    """
)
"""Words in -ed that are no participles."""

ING_NOUNS = word_set(
    """
    wedding building ring king wing thing morning evening clothing earring painting
    saving feeling meaning drawing sibling offspring string spring swing ceiling darling
    stocking offering beginning ending blessing being upbringing belonging railing
    awning gathering lightning bearing hearing wellbeing plumbing lodging duckling
    gosling pudding herring icing stuffing frosting piercing undertaking understanding
    ranking rating filing housing
    """
)
"""Words in -ing that are nouns."""

COMPOUND_HEADS = word_set(
    """
    shoes shoe bag bags room rooms stick machine suit dress list cart boots gear lessons
    lesson class classes partner companion teacher skills habits career style speed
    position costume trip plans pool pond ability baby child children eyes face hand
    hands heart voice lips smile cap goggles glasses board account expenses costs hours
    schedule desk chair table gown jacket cream license permit coach instructor buddy
    spree days order dog horse cat mother father parents fans
    """
)
"""Nouns before which a word in -ing is part of a name for a thing."""

LY_ADJECTIVES = word_set(
    """
    family lovely friendly elderly only ugly belly bully lonely lively silly jelly fly
    reply assembly anomaly supply monopoly homily ally sickly deadly curly woolly holy
    nightly costly worldly likely unlikely kindly motherly fatherly brotherly sisterly
    womanly manly unruly cowardly heavenly ghastly beastly leisurely scholarly orderly
    bubbly cuddly wobbly wrinkly chilly hilly oily folly trolley melancholy butterfly
    wooly prickly portly sprightly lowly saintly princely queenly kingly smelly
    """
)
"""Words in -ly that are no adverbs."""

BREAK_ADVERBS = word_set(
    """
    daily weekly monthly yearly hourly nightly early late hard fast long close straight
    much most better best once later far first inside outside upstairs downstairs online
    overseas loud tight harder faster longer closer only least forward worse dearly
    """
)
"""Adverbs where a sentence or clause ends after them, else adjectives or nouns."""

TIME_NOUNS = word_set(
    """
    week month year night summer winter spring fall autumn weekend time semester century
    decade monday tuesday wednesday thursday friday saturday sunday january february
    march april may june july august september october november december christmas
    thanksgiving easter term season evening
    """
)

DAYS = word_set("monday tuesday wednesday thursday friday saturday sunday")

NUMBERS = word_set(
    """
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen
    fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy
    eighty ninety hundred thousand million half few many several
    """
)

DURATIONS = word_set(
    """
    second seconds minute minutes hour hours day days week weeks month months year years
    decade decades ages tries attempts steps bites times trips dinners meals more longer
    """
)
"""How long something takes or lasts."""

GIFTS = word_set(
    """
    entry marriage admission entrance passage promotion flowers money advice permission
    chocolate chocolates candy candies luck credit presents gifts stories questions time
    hope help food water tea coffee dinner lunch breakfast directions instructions
    information news medicine comfort strength pleasure joy courage confidence hugs
    kisses cookies roses french english spanish german math mathematics history music
    jewelry jewellery clothes books toys dolls drinks beer wine milk juice access
    attention space orders lies secrets jokes things bedtime support encouragement
    feedback reassurance consent power protection tickets letters messages emails texts
    postcards pictures photos photographs pain trouble problems grief harm embarrassment
    bread soup cake pizza pancakes sandwiches ice vitamins pills antibiotics immunity
    asylum custody bail shelter refuge work homework lessons medals diamonds perfume
    poems change cash dollars pounds euros cents nightmares chills goosebumps headaches
    pause reason compliments respect love mercy grace peace closure notice proof
    evidence leave apples oranges bananas eggs snacks treats sweets balloons stickers
    pencils pens crayons marbles coins bonuses points marks grades bites tips discounts
    coupons gold silver land hell training assistance aid freedom relief security
    insight rice meat fruit salad cheese butter salt sugar pasta sushi lemonade soda
    cereal employment housing satisfaction jam honey corn company happiness success
    farewell goodnight mail socks shoes earrings
    """
)
"""What one gives, sends, tells or asks somebody without saying whose it is."""

POSSESSIONS = word_set(
    """
    parents children kids friends hands eyes keys feelings thoughts brothers sisters
    sons daughters grandchildren grandparents cousins students colleagues coworkers
    classmates neighbors neighbours teammates relatives siblings employees customers
    clients patients pets cats dogs horses chickens cows sheep goats arms legs feet
    fingers toes lips cheeks shoulders knees bills taxes debts dues fees rent fans
    followers guests nails ears teeth details wages savings earnings winnings ideas
    belongings twins nieces nephews aunts uncles roommates bosses teachers readers
    plants fish hens ducks rabbits
    """
)
"""Plurals that are somebody's own."""

PERSONS = word_set(
    """
    mother father sister brother mom dad mum mommy daddy wife husband son daughter aunt
    uncle cousin niece nephew grandmother grandfather grandma grandpa granny parent
    child kid baby friend boyfriend girlfriend partner boss teacher neighbor neighbour
    colleague coworker roommate classmate teammate student patient client customer guest
    doctor nurse lawyer dentist therapist assistant secretary manager employee employer
    landlord landlady twin sibling dog cat horse puppy kitten bird pet fiance fiancee
    husbands wives mothers fathers friend's family grandson granddaughter stepmother
    stepfather stepsister stepbrother team class coach tutor maid servant driver
    """
)
"""Persons and animals that are somebody's."""

ROLES = word_set(
    """
    president captain queen king director chairman chairwoman chair mayor governor
    manager leader secretary treasurer ambassador minister valedictorian partner
    champion winner emperor empress principal head heir heiress chief commander editor
    """
)

EVERY_NOUNS = word_set(
    "move word need wish step whim thought action breath waking desire moment turn"
)
"""Nouns before which `her every` is possessive."""
