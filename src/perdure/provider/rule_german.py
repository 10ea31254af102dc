"""The German table of the offline reviewer."""

from __future__ import annotations

from typing import Final

from perdure.provider.rule_language import MASKED, Language, Rule

_BARE: Final = (
    r"(?!(?:das|dies\w*|jen\w*|es|ihn|sie|ihm|den|der|die|dem|ein|eine|einen|einem|mein\w*|dein\w*|was|alles|etwas|so|mal|"
    r"hier|da|beide\w*|zu)\b)"
)
_LASTING: Final = r"(?:ab jetzt|ab sofort|von jetzt an|von nun an|künftig|zukünftig|in zukunft|fortan)"
_EVER: Final = r"(?:immer|stets|grundsätzlich|niemals|nie|prinzipiell|ausschließlich|nie wieder)"
_IMPERATIVE: Final = (
    r"(?:benutz|verwend|nutz|schreib|antwort|führ|committ?|push|teste?|lass|lauf|mach|leg|setz|bevorzug|vermeid|frag|prüf|"
    r"erklär|nimm|starte?|bau|formatier|importier|halt|gib|fass|bearbeit|änder|lösch|installier|rede?|sprich|stell|lies|pack|squash|rebase|merge)\w{0,2}"
)
_INFINITIVE: Final = (
    r"(?:\w*(?:benutzen|verwenden|nutzen|schreiben|antworten|ausführen|committen|pushen|testen|lassen|machen|anlegen|setzen|"
    r"vermeiden|fragen|prüfen|erklären|nehmen|starten|bauen|formatieren|importieren|halten|bearbeiten|ändern|löschen|installieren|"
    r"anfassen|editieren|aktualisieren|hinzufügen|einchecken|mergen|rebasen|squashen|kommentieren|dokumentieren|verändern|mocken|loggen))"
)
_TASK: Final = r"(?:tests?|unit-?tests?|test|lint|linter|build|check|format|typ(?:en)?check|migrationen|doku|deploy|release)"
_TASK_WORD: Final = (
    r"(?P<name>test|lint|build|check|format|deploy|release|start|typecheck)-?(?:befehl|kommando|command)"
)

_REMEMBER: Final = (
    r"(?:merk(?:e)? (?:dir|es dir)(?: bitte)?(?: für (?:später|die zukunft|immer))?|bitte merk(?:e)? dir|"
    r"(?:denk|denke) (?:bitte )?(?:immer )?daran|behalte?(?: bitte)? im (?:kopf|hinterkopf|gedächtnis)|"
    r"vergiss (?:bitte )?nicht|nicht vergessen|zur erinnerung|für die zukunft|notier(?:e)? dir)"
)

_RULES: Final = (
    Rule(
        "explicit",
        "project",
        rf"^{_REMEMBER}(?:,? dass (?=(?:wir|ich)\b)|(?:[:,–—]| -)(?! ?dass\b)) ?(?P<body>.+)$",
        "high",
    ),
    Rule("explicit", "project", rf"^{_REMEMBER},? dass (?!(?:wir|ich)\b).+$", "high"),
    Rule("convention", "project", rf"^{_LASTING}\b,? .+|^.{{8,}} {_LASTING}$", "high"),
    Rule(
        "command",
        "project",
        rf"^(?:der|unser|das) {_TASK_WORD} (?:ist|lautet|heißt):? .+$",
        key_suffix="command",
        words_min=4,
    ),
    Rule(
        "command",
        "project",
        rf"^(?:(?:die|unsere) )?(?:unit-?)?{_TASK} (?:laufen|startet man|startest du|führt man|führst du|werden|lassen sich|gehen)(?: immer)? (?:mit|per|über|via) (?:{MASKED}|\w).*$"
        rf"|^(?:benutze?|verwende?|nutze?|nimm) .{{2,60}} (?:für (?:die )?{_TASK}|zum (?:testen|bauen|linten|formatieren))$",
        words_min=4,
    ),
    Rule(
        "correction",
        "project",
        rf"^(?:wir |bitte |immer )*(?:benutzen?|verwenden?|nutzen?|nimm|nehmen|schreiben?)(?: wir)?(?: hier| immer| nur)? {_BARE}\S[^,;]{{0,70}}?"
        rf"(?:,? (?:und )?nicht(?: mehr)?|,? statt|,? anstatt|,? anstelle von|,? (?:und )?kein(?:e|en)?) (?P<old>{_BARE}\S.*)$",
        "high",
        words_min=4,
    ),
    Rule(
        "correction",
        "project",
        rf"^(?:(?:es heißt|sag|schreib) )?{_BARE}\S[^,;]{{0,40}} statt (?P<old>{_BARE}\S.*) (?:benutzen|verwenden|nutzen|schreiben|nehmen)$",
        "high",
        words_min=4,
    ),
    Rule(
        "correction",
        "project",
        rf"^wir (?:benutzen|verwenden|nutzen|unterstützen) (?:kein(?:e|en)? )?(?P<old>{_BARE}[^,;]+?)(?:nicht mehr| nicht)$|^wir (?:benutzen|verwenden|nutzen) kein(?:e|en)? .+$",
    ),
    Rule(
        "preference",
        "user",
        rf"^ich (?:bevorzuge|mag (?:lieber|keine?n?|kurze|knappe|ausführliche)|hasse|arbeite (?:mit|auf|unter)|"
        rf"(?:benutze|verwende|nutze|schreibe)(?: immer| nur| lieber| nie)) {_BARE}\S.+$|^ich will (?:immer|nie|niemals|nur|keine) .+$",
    ),
    Rule(
        "preference",
        "agent",
        r"^(?:(?:bitte|immer) )*(?:antworte?|schreibe?|rede?|sprich|erkläre?)(?: mir| bitte| mit mir| immer| nur)* (?:auf|in) (?:deutsch|englisch|französisch|spanisch|stichpunkten|"
        r"einfachem? \w+|ganzen sätzen)\b.*$|^(?:(?:bitte|immer) )*(?:antworte?|fass dich|halte? dich|sei)(?: bitte| immer| mir)* (?:kurz|knapp|knapper|kürzer|präzise|direkt)\b.*$"
        r"|^(?:bitte )?keine (?:emojis?|entschuldigungen|floskeln|zusammenfassungen|ausrufezeichen|semikolons|kommentare|default[- ]exports|abkürzungen)(?: (?:bitte|mehr|im|in|und|oder|bei)\b.*)?$"
        r"|^(?:(?:bitte|immer) )*frage? (?:mich |immer |bitte |erst |zuerst )*(?:bevor|vor jedem|vor dem)\b.{4,}$",
        words_min=2,
    ),
    Rule(
        "convention",
        "project",
        rf"^(?:(?:bitte|also|und|du sollst|du musst|man soll|man muss|wir|in diesem (?:repo|projekt)|hier) )*{_EVER} {_BARE}\S.+ {_INFINITIVE}\b(?:[,;].*)?$"
        rf"|(?:^|[,;:] ?)(?:bitte )?{_IMPERATIVE} (?:bitte |mir )?{_EVER} {_BARE}\S.+$"
        rf"|^(?:(?:bitte|du sollst|du musst|du darfst|wir) )+[^,;]{{2,60}}? ?{_EVER} (?:\S+ ){{0,5}}{_INFINITIVE}$"
        rf"|^{_BARE}[^,;]{{3,60}} (?:bitte )?{_EVER} (?:\S+ ){{0,4}}{_INFINITIVE}$"
        rf"|^wir (?:\w+en) {_EVER} {_BARE}\S.+$",
    ),
    Rule(
        "convention",
        "project",
        rf"^(?:in diesem (?:repo|projekt) |hier |im team )?(?:wir )?(?:benutzen|verwenden|nutzen|schreiben|unterstützen|folgen|formatieren|committen|setzen auf)(?: wir)?(?: hier| immer| nur| ausschließlich| grundsätzlich)* {_BARE}\S.+$"
        rf"|^(?:dieses|das|unser) (?:projekt|repo|repository|backend|frontend|team) (?:benutzt|verwendet|nutzt|braucht|läuft (?:auf|mit)|ist in \S+ geschrieben|unterstützt) ?.*\S$"
        rf"|^(?:die|unsere) (?:konvention|regel|richtlinie)(?: hier| im team)?(?: ist|:| lautet).+$"
        rf"|^(?:der|die|das|unser|unsere) (?:standard-?branch|haupt-?branch|port|paketmanager|datenbank|formatter|linter|zeitzone|zeilenlänge|lizenz) (?:ist|heißt|lautet|läuft auf) (?!(?:nicht|kaputt|falsch|weg|zu|noch|belegt|offen|rot|leer|down)\b)\S.*$",
    ),
    Rule(
        "convention",
        "project",
        rf"^(?:bitte )?(?:generierte|erzeugte|automatisch erzeugte|produktive|bestehende) \w+ (?:bitte )?(?:nicht|nie|niemals) (?:von hand |direkt |manuell )?{_INFINITIVE}$"
        rf"|^(?:bitte )?(?:kein|keine|keinen) {_BARE}\S.* {_INFINITIVE}$"
        rf"|^vor (?:jedem|jeder|dem) (?:commit|push|merge|release|pr|deploy)(?:,| immer)? .{{4,}}$",
    ),
)

GERMAN: Final = Language(
    code="de",
    rules=_RULES,
    refusals=(
        r"\?\s*$|^(?:was|wer|wie|wo|wann|warum|wieso|weshalb|welche\w*|kannst|könntest|könnt|hast|habt|ist|sind|soll|sollen|sollten|"
        r"sollte|wollen|darf|dürfen|müssen|benutzt ihr|nutzt|gibt|gibst|würdest|willst)\b",
        r"\b(?:erst ?mal|erstmal|vorerst|vorläufig|zunächst|im moment|gerade|momentan|aktuell|zurzeit|zur zeit|derzeit|diesmal|dieses mal|heute|"
        r"morgen|einmalig|ausnahmsweise|nur (?:dieses )?(?:ein)?mal|bis (?:zum|zur|morgen|wir|ich|das|die|der)|noch nicht|noch|solange|"
        r"vorübergehend|später|nachher|jetzt(?<!ab jetzt)(?! an)|diese woche|nächste woche)\b",
        r"\b(?:in|für|bei|auf) (?:diesem|diesen|diese|dieser|dieses) (?!(?:repo|repository|projekt|team|paket|monorepo)\b)\w+",
        r"\b(?:wenn|falls) (?:wir|ich|man|du|er|sie|es)\b(?!.*\b(?:immer|nie|niemals)\b)|\b(?:wäre|wären|würde|würden|könnte|könnten|hätte|hätten|sollten|sollte|"
        r"vielleicht|eventuell|angenommen|stell dir vor|vermutlich|wahrscheinlich|möglicherweise|ich glaube|ich denke|glaub|ich frage mich|"
        r"nehmen wir an|mal sehen|was wäre|am liebsten|irgendwann|theoretisch|möchte)\b",
        r"\b(?:er|sie|man|jemand|mein \w+|meine \w+|der \w+|die \w+|alle|chef|kunde) (?:sagt|sagte|meint|meinte|hat gesagt|behauptet|schreibt|schrieb|will|wollte|empfiehlt|findet|"
        r"hat gemeint)\b|\blaut\b|\b(?:gesagt|gemeint) hat\b|\bsteht da\b|\bzum beispiel\b",
        r"\b(?:merk|speicher|notier)\w* (?:dir )?(?:das |es )?(?:bitte )?nicht\b|\bnicht merken\b|\bvergiss (?!(?:bitte )?nicht)|\bich habe? nie(?:mals)? (?:gesagt|behauptet)\b|\bich habe? nicht gesagt\b|"
        r"\bnicht immer\b|\bfast (?:immer|nie)\b|\begal\b|\bstimmt nicht\b|\bdu hast\b|\bscherz\b|\bnicht (?:unbedingt|wirklich)\b",
        r"\b(?:die|den|das|der|dem|diese|diesen|dieses|dieser|diesem|jene\w*) (?:erste|zweite|dritte|letzte|andere|neue|alte|obige|vorherige|gleiche|datei|funktion|zeile|klasse|option|variante|test|seite|methode|stelle|knopf)(?:n|en|s)?\b|"
        r"\b(?:diese|dieser|diesen|dieses) (?!(?:repo|repository|projekt|team|paket)\b)\w+|\bgenauso\b|\bwie (?:oben|vorher|eben|gehabt|immer)\b|\blass uns\b|"
        r"\b(?:fertig|gleich)\b|^(?:denk|denke) (?:bitte )?daran,? .* zu \w+en$|\bzu (?:committen|pushen|testen|fixen)$|\bich werde\b|\bbevor (?:du|wir) (?:weiter|anfängst|anfangen)\w*",
        r"\b(?:na klar|ja klar|haha|lol|super idee|toll gemacht|gut gemacht|danke für nichts|geht immer|läuft immer|kaputt|klappt (?:nie|immer))\b|"
        r"\b(?:wir|ich|du|er) (?:hab|habe|haben|hast|hat) \b(?!.*\b(?:entschieden|umgestellt|geeinigt)\b)",
    ),
    openers=r"^(?:(?:ok(?:ay)?|also|ja|und|aber|ach|hey|hallo|hi|bitte|übrigens|btw|mensch|alter|mann|verdammt|scheiße|nochmal|wie gesagt|ich (?:sagte|sag|hab(?:e)? (?:doch )?(?:schon )?gesagt)|wichtig|hinweis|eigentlich)\b[\s,:;.!–—-]+|(?:nein|nee|nö|falsch|stimmt nicht|das ist falsch|das stimmt nicht|gut|super|danke|genau|richtig|stopp|halt|quatsch)\s?[,:;.!–—-]+\s*)",
    corrects=r"^(?:nein|nee|nö|falsch|stimmt nicht|das (?:ist falsch|stimmt nicht)|quatsch|ich (?:sagte|sag|hab)|wie gesagt|eigentlich)\b",
    closers=r"(?:,? (?:bitte|danke|ok|okay|ja|klar|verstanden|alter))+$",
    vague=r"^(?:(?:bitte|immer|nie|niemals|stets|wir|ab jetzt|ab sofort|von nun an|in zukunft|künftig|du sollst|mach|mache|nimm|benutze?|verwende?) )*(?:das|es|dies|so|den|die|ihn|das gleiche|dasselbe|genauso|mal)(?: (?:immer|nie|so|bitte|"
    r"machen|benutzen|verwenden|nutzen|nehmen|gleiche|hier|da))*\W*$|^(?:das|dies|es|sie|er)\b(?! (?:projekt|repo|repository|team|backend|frontend|paketmanager|datenbank|port|ist (?:unser|der|die)))",
    agent=r"\b(?:antwort\w*|erklär\w*|emojis?|entschuldig\w*|frag\w*|fass dich|rede?|sprich|floskeln|zusammenfassung\w*|sei)\b",
    retracts=r"^(?:(?:ach|ok|nein|doch|hm+|sorry|moment)\W+)*(?:egal|vergiss (?:es|das)|schon gut|war (?:nur )?(?:ein )?(?:scherz|spaß)|doch nicht|ignorier das|nur (?:für )?(?:jetzt|heute|diesmal))\b.{0,20}$",
    durable=rf"^(?:{_LASTING}|immer|bitte|wir)\b,? ?|,? {_LASTING}$",
    list_lead=rf"{_LASTING}|\bmerk dir\b|\b(?:regeln|konventionen|richtlinien)\b|\bimmer\b",
    abbreviations=frozenset(
        {
            "z.b.",
            "bzw.",
            "usw.",
            "d.h.",
            "u.a.",
            "ggf.",
            "evtl.",
            "ca.",
            "vgl.",
            "inkl.",
            "bspw.",
            "nr.",
            "o.ä.",
            "z.",
            "b.",
            "u.",
            "d.",
        }
    ),
    verb_last=r"^(?:wir|ich) .* \w+(?:en|e)$",
)
