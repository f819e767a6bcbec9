"""Verbs that decide what `her` and `his` are.

All lists were written and reviewed for this package.
"""

from __future__ import annotations

from evalkit_perturbations_text.grammar.tokens import word_set

FINITE_VERBS = word_set(
    """
    said says went goes came comes gave gives got gets knew knows told tells stood sat
    ran began begins felt kept keeps became becomes brought bought sold heard took takes
    made makes seems seemed appeared asked wanted wants decided happened happens thinks
    believes believed loves hates needs died arrived agreed refused wore spoke wrote
    drove ate grew held led met paid sent slept spent taught threw understood woke won
    chose drank fell flew forgot forgave rang rose sang swam hid lay lies lived lives
    belongs belonged seem tried tries does doesn didn isn wasn
    """
)
"""Verbs with a tense, few of which are anything else; a sentence goes on with them."""

PURE_VERBS = word_set(
    """
    be become do get go have know see come take find give tell bring begin keep write
    sit lose meet learn speak grow die send build eat choose understand decide believe
    remember forget realize realise apologize apologise explain prepare achieve pursue
    develop discover enjoy deserve appreciate admit agree allow appear arrive ask
    assemble avoid belong breathe carry collect compare complete consider continue
    create deliver deny describe determine earn enter exist expect fail follow grab
    happen hold identify imagine improve include kill let listen live locate maintain
    manage marry obtain perform persuade prefer prove provide put recover recognize
    recognise relax remain remove repeat save say sell serve settle sing solve spend
    stay steal succeed survive teach throw wear weep regain raise overcome adjust adapt
    calculate unload unpack undress undo vanish invest redo rewrite rebuild retake kneel
    disappear hesitate resign graduate compete participate celebrate accept attend apply
    behave cheat chew communicate concentrate contribute convince defeat defend depend
    destroy donate encourage evaluate examine explore forgive fulfil fulfill gain
    generate ignore inform insist investigate memorize navigate negotiate obey operate
    organise pour prevent protect qualify react recite rely require resist respond
    restore retrieve reveal satisfy scold separate shiver sew suggest surrender
    translate withdraw admire argue
    """
)
"""Infinitives that are seldom nouns or adjectives."""

NOUN_VERBS = word_set(
    """
    walk work pay move sleep cry smile dance talk run cut play study wash cook answer
    drink plan drive call dress paint feel look laugh rest try visit watch wish fall
    fight kiss leave love pass push race read reply return ride rise search shop show
    sign sound stand start step stop struggle swim taste think travel turn use vote wait
    wake win wonder worry scream shout climb jump kick knit fly help hope lie cough
    sneeze practice practise perform plant pack park pray rehearse scratch shower slip
    snore stretch sweep tie train trip type whisper bleed break buy change charge choke
    clap collapse count cross dream drop draw enter exit face fish flirt float guess
    heal hit hug hurry hurt juggle land lift mix mop mourn nap organize organise order
    peel pretend promise relax retire roll sail score shake shine shave shiver sink
    skate ski lead deal handle hide reach open clean fix finish escape join pick swear
    duck bow dive bounce chat cruise drown fidget gasp gaze giggle glance grin groan hop
    hunt lunge march mumble nod peek plead reverse roar rush sigh sneak squat stumble
    swing tiptoe toss trot twirl wade whine wrestle swerve compete panic freeze skip
    slide spell spin splash split sob succeed suffer surf sweat sway switch tremble
    trust vomit wander wave whistle wink write yawn yell cheat bake paddle keep know see
    """
)
"""Infinitives that are nouns too."""

TRANSITIVE_VERBS = word_set(
    """
    play drink cook read drive ride cut wash paint plan pack study practice plant answer
    draw shoot score eat
    """
)
"""Those of them that take an object at once, as in `watch her play tennis`."""

CAUSATIVES = word_set("let lets letting make makes made making")
"""Verbs after which an object and a bare infinitive follow."""

HELPERS = word_set(
    """
    help helps helped helping see sees saw seen seeing watch watches watched watching
    hear hears heard hearing feel feels felt notice notices noticed observe observed
    have has had having bid
    """
)
"""Verbs after which a bare infinitive may follow the object, or a noun."""

PERCEIVERS = word_set(
    """
    see sees saw seen seeing watch watches watched watching hear hears heard hearing
    notice notices noticed noticing feel felt find finds found finding catch catches
    caught catching keep keeps kept keeping leave leaves left leaving spot spotted
    observe observed imagine imagined picture pictured remember remembers remembered
    stop stopped have had having got get sent set photographed filmed film show shows
    showed shown recorded video overheard overhear glimpsed discovered witness witnessed
    want wants wanted mind prevent prevents prevented preventing
    """
)
"""Verbs after which a participle may follow the object."""

COMPLEMENT_VERBS = word_set(
    """
    make makes made making call calls called calling drive drives drove driving keep
    keeps kept keeping find finds found finding leave leaves left leaving consider
    considers considered considering think thinks thought get gets got getting set want
    wants wanted wanting have had having see sees saw seen need needs needed believe
    believed declare declared render renders rendered deem deemed hold held turn turned
    prefer label labelled labeled knock knocked strike struck beat scare scared bore
    bored pronounce pronounced prove proved paint painted wish wished like feel
    rendering judged judge reckon branded
    """
)
"""Verbs after which an adjective may say something of the object."""

PARTICIPLES = word_set(
    """
    hurt killed cut beaten broken caught driven drunk fed forgotten frozen given gone
    heard held hidden hit kept known laid led lost made mistaken paid put run seen sent
    shaken shot shut sold spent stolen struck stuck taken taught thrown told torn
    understood upset woken worn written hung bitten chosen sworn
    """
)
"""Irregular participles."""

DITRANSITIVES = word_set(
    """
    give gives gave giving given offer offers offered offering lend lends lent lending
    hand hands handed handing send sends sent sending bring brings brought bringing buy
    buys bought buying teach teaches taught teaching show shows showed showing shown
    promise promises promised serve serves served serving feed feeds fed feeding wish
    wishes wished owe owes owed owing grant grants granted award awards awarded deny
    denied pour poured bake baked baking cook cooked cooking pay pays paid paying tell
    tells told telling ask asks asked asking cost costs get gets got getting make makes
    made making throw threw toss tossed pass passed write writes wrote read reads sell
    sells sold loan loaned charge charges charged earn earned save saves saved leave
    leaves left find found order ordered fetch fetched email emailed text texted bet
    guarantee guaranteed assign assigned forgive forgave allow allowed allows cause
    caused mail mailed pick knit knitted build built sing sang play played draw drew
    gifted gift slip slipped allot tip tipped fine fined refund refunded
    """
)
"""Verbs that may take two objects."""

CORE_DITRANSITIVES = word_set(
    """
    give gives gave giving given offer offers offered offering lend lends lent lending
    hand handed handing teach teaches taught teaching owe owes owed grant grants granted
    award awards awarded wish wishes wished promise promises promised allow allowed
    allows deny denied pour poured loan loaned tip tipped refund refunded send sends
    sent
    """
)
"""Those of them that nearly always do; another object in the plural is a gift."""

KEEPERS = word_set(
    """
    find found left leave leaves earn earned earns sell sold sells save saves saved feed
    feeds fed read reads build built pick cook cooked write wrote play played
    """
)
"""Those of them that more often have one object, which is somebody's own."""

DURATION_VERBS = word_set("take takes took taken taking last lasts lasted")

RETURNED_BY = word_set(
    """
    call calls called calling bring brings brought take takes took taken taking send
    sends sent want wants wanted get gets got pay pays paid write wrote text texted love
    loved welcome welcomed invite invited win won ask asked hold held pull pulled push
    pushed drive drove follow followed let put drag dragged carry carried walk walked
    hit kissed hugged bit phone phoned email emailed give gave messaged hire hired
    """
)
"""Verbs after which `her back` is she, brought back."""

HOME_BRINGERS = word_set(
    """
    drive drives drove driven driving take takes took taken taking walk walks walked
    walking bring brings brought bringing send sends sent sending see saw follow
    followed following carry carried escort escorted let invite invited get got
    accompany accompanied help helped drop dropped call called fly flew want wanted
    chase chased ride welcome welcomed
    """
)
"""Verbs after which `her home` is she, brought home."""

SPEECH_VERBS = word_set(
    """
    tell tells told telling ask asks asked asking call calls called calling answer
    answered name named dub dubbed label labeled labelled nickname nicknamed text texted
    warn warned remind reminded assure assured inform informed advise advised
    """
)
"""Verbs after whose object a quotation may follow."""

APPOINTERS = word_set(
    """
    elect elected appoint appointed crown crowned name named nominate nominated declare
    declared vote voted choose chose make made dub dubbed nickname nicknamed proclaim
    proclaimed hire hired
    """
)
"""Verbs after whose object a role may follow."""
