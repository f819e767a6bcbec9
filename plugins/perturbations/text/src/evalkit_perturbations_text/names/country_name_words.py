"""Names of Faker's lists that mean something else in an English text.

Reviewed for this package: every name of the lists that is a word of Webster's Second
or of GCIDE, a city of 60 000 people or a country was looked at, and so was every other
one that is about as frequent in English texts as once in two million words.
"""

from __future__ import annotations

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
