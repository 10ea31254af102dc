"""The French table of the offline reviewer."""

from __future__ import annotations

from typing import Final

from perdure.provider.rule_language import Language, Rule

_BARE: Final = (
    r"(?!(?:ça|cela|ceci|ce|cet|cette|ces|le|la|les|l'\w+|un|une|lui|eux|tout|rien|mon|ma|mes|ton|ta|tes|son|sa|ses|pas|plus|"
    r"quelque|chose|aussi|trop)\b)"
)
_LASTING: Final = r"(?:désormais|dorénavant|à partir de maintenant|à l'avenir|à compter d'aujourd'hui)"
_VERB: Final = (
    r"(?:utilise[rz]?|emploie[rz]?|écris|écrivez|écrire|lance[rz]?|exécute[rz]?|réponds?|répondez|répondre|teste[rz]?|commite?[rz]?|pousse[rz]?|"
    r"modifie[rz]?|édite[rz]?|touche[rz]?|ajoute[rz]?|mets|mettez|mettre|demande[rz]?|vérifie[rz]?|formate[rz]?|garde[rz]?|évite[rz]?|"
    r"préfère[rz]?|supprime[rz]?|importe[rz]?|explique[rz]?|fais|faites|faire|parle[rz]?|crée[rz]?|nomme[rz]?|change[rz]?|place[rz]?|commence[rz]?)"
)
_TASK: Final = r"(?P<name>tests?|lint|build|vérification|format|déploiement|compilation|migration)"

_RULES: Final = (
    Rule(
        "explicit",
        "project",
        r"^(?:souviens[- ]toi|souvenez[- ]vous|rappelle[- ]toi|rappelez[- ]vous|n'oublie(?:z)? (?:pas|jamais)|retiens|retenez|garde(?:z)? (?:en tête|à l'esprit)|"
        r"mémorise[rz]?|pour mémoire|pour info|à retenir)(?: bien)?(?: (?:de ceci|ceci|cela))?(?:,? (?:que |qu')|\s?[:,–—])\s*(?P<body>.+)$",
        "high",
    ),
    Rule("convention", "project", rf"^{_LASTING},? .+|^.{{8,}} {_LASTING}$", "high"),
    Rule(
        "command",
        "project",
        rf"^la commande (?:de |des |pour (?:les |le |la )?|du )(?:lancer (?:les |le |la )?)?{_TASK} (?:est|c'est)\s?:? .+$",
        words_min=5,
        key_suffix="command",
    ),
    Rule(
        "command",
        "project",
        r"^(?:les|nos) tests (?:se lancent|se font|tournent|s'exécutent) avec .+$",
        words_min=5,
    ),
    Rule(
        "correction",
        "project",
        rf"^(?:(?:on|nous|toujours) )*(?:utilis(?:e|ons|ez)|emploi(?:e|yons)|écri(?:s|vons)|préfère)(?: toujours| ici)? {_BARE}\S[^,;]{{0,70}}?"
        rf"(?:,? (?:et )?pas|,? plutôt que|,? au lieu d[e'](?:s )?|,? et non) ?(?P<old>{_BARE}\S.*)$",
        "high",
        words_min=4,
    ),
    Rule(
        "correction",
        "project",
        rf"^(?:on|nous) n'(?:utilise|utilisons|emploie) (?:plus|pas|jamais) (?:d[e'] ?)?(?P<old>{_BARE}\S.*)$",
    ),
    Rule(
        "preference",
        "user",
        rf"^(?:je préfère|j'aime mieux|je (?:déteste|n'aime pas)|j'utilise toujours|je veux toujours|je ne veux jamais) (?:les |des |le |la |l')?{_BARE}\S.+$",
    ),
    Rule(
        "preference",
        "agent",
        r"^(?:toujours )?(?:réponds|répondez|parle(?:z)?|écris|écrivez|explique(?:z)?)(?:[- ]moi| toujours| moi)* (?:en (?:français|anglais|allemand|espagnol|une phrase|peu de mots)|brièvement|de (?:façon|manière) (?:concise|courte|brève)|court)\b.*$"
        r"|^(?:sois|soyez|reste) (?:plus )?(?:bref|concis|brève|direct)\b.*$|^(?:pas|plus) d(?:e |')(?:emojis?|émojis?|excuses|commentaires|points-virgules|résumés)(?: .*)?$"
        r"|^(?:toujours )?demande(?:z)?(?:[- ]moi)? (?:toujours |la permission |confirmation )*avant (?:de |d'|chaque ).+$",
        words_min=2,
    ),
    Rule(
        "convention",
        "project",
        rf"(?:^|[,;:] ?)(?:il faut |on doit |tu dois |vous devez )?(?:toujours {_VERB}|{_VERB} toujours) (?!(?:ça|cela|ceci)\b)\S.+$"
        rf"|(?:^|[,;:] ?)(?:il ne faut |on ne doit |tu ne dois )?(?:jamais {_VERB}|ne {_VERB} jamais|ne jamais {_VERB}|n'{_VERB} jamais) (?:d[e'] ?)?(?!(?:ça|cela|ceci)\b)\S.+$"
        rf"|^(?:on|nous) n[e'] ?\w+ jamais (?!(?:ça|cela)\b)\S.+$",
    ),
    Rule(
        "convention",
        "project",
        rf"^(?:(?:ici|dans ce (?:projet|dépôt)),? )?(?:on|nous) (?:utilis(?:e|ons)|emploie|écri(?:t|vons)|cibl(?:e|ons)|support(?:e|ons)|suit|suivons)(?: toujours| ici| uniquement)* {_BARE}\S.+$"
        rf"|^(?:ce|notre|le) (?:projet|dépôt|backend|frontend) (?:utilise|nécessite|cible|est écrit en|tourne (?:sur|avec)) {_BARE}\S.*$"
        rf"|^(?:la|notre) (?:convention|règle)(?: ici)?(?: est|\s?:).+$"
        rf"|^(?:la|le|notre) (?:branche (?:principale|par défaut)|port|gestionnaire de paquets|base de données|fuseau horaire) (?:est|s'appelle) (?!(?:pas|cassée?|fermée?|encore|déjà|vide)\b)\S.*$"
        rf"|^(?:ne (?:modifie|touche|édite|change|commite)(?:z)? pas|n'(?:édite|utilise|ajoute)(?:z)? pas) (?:les fichiers générés|les \w+ générés|de |d')\S*.*$"
        rf"|^avant (?:chaque|tout) (?:commit|push|merge|release|pr)\b,? .{{4,}}$",
    ),
)

FRENCH: Final = Language(
    code="fr",
    rules=_RULES,
    refusals=(
        r"\?\s*$|^(?:est-ce|qu'est-ce|pourquoi|comment|quand|quel\w*|qui|où|combien|peux-tu|pouvez-vous|pourrais-tu|pourriez|faut-il|doit-on|"
        r"as-tu|avez-vous|utilise-t-on)\b",
        r"\b(?:pour l'instant|pour le moment|en ce moment|actuellement|cette fois|aujourd'hui|demain|ce soir|temporairement|provisoirement|juste une fois|"
        r"une seule fois|jusqu'(?:à|au|en|ici)|en attendant|pas encore|plus tard|cette semaine|tant que|encore|(?<!de )maintenant)",
        r"\b(?:dans|pour|sur) (?:cette?|ce|cet|ces) (?!(?:projet|dépôt|repo|équipe|monorepo)\b)\w+|\bcette? (?:fichier|fonction|classe|ligne|option|méthode|test|page|bouton|branche)\b|\bce (?:fichier|test|code|bouton)\b",
        r"\bsi (?:on|nous|je|tu|vous|il|elle|quelqu'un)\b|\bs'il (?!te|vous)\b|\b(?:peut-être|imagine|imaginons|supposons|serait|pourrait|pourrions|devrait|devrions|aimerais|"
        r"voudrais|probablement|je crois|je pense|je suppose|et si|sans doute|éventuellement|idéalement)\b",
        r"\b(?:il|elle|on|quelqu'un|mon \w+|ma \w+|le \w+|la \w+|l'équipe|ils) (?:m'a |nous a |a |ont )?(?:dit|disait|disent|pense|veut|voulait|écrit|prétend|recommande|"
        r"demandé|affirme) ?(?:que|qu'|de|d'|:|$)|\bselon\b|\bd'après\b|\bpar exemple\b",
        r"\b(?:ne|n'|ne te|ne le) ?(?:retiens|mémorise|souviens|enregistre|note) pas\b|\bpas (?:toujours|forcément|nécessairement)\b|\boublie (?!pas)|\bje n'ai (?:jamais|pas) (?:dit|demandé)\b|\bce n'est pas vrai\b|\bpresque (?:toujours|jamais)\b|\btu as dit\b|\bje plaisante\b|\blaisse tomber\b",
        r"\bn'oublie(?:z)? pas d[e']|\bcomme (?:ça|avant|ci-dessus|d'habitude)\b|\b(?:la|le) (?:première|deuxième|seconde|dernière|autre|premier|second|dernier|même)\b|\bla même chose\b|\bavant de continuer\b",
        r"\b(?:haha|mdr|lol|bravo|bien joué|super idée|merci pour rien|ben voyons|ne marche jamais|plante toujours|jamais vu)\b",
    ),
    openers=r"^(?:(?:ok|okay|alors|donc|et|mais|ah|oh|euh|salut|bonjour|au fait|merde|putain|bon|bref|oui|rappel|important|note|règle|en fait|encore une fois|j'ai (?:déjà )?dit|je t'ai (?:déjà )?dit(?: de| d'| que)?|"
    r"s'il (?:te|vous) pla[iî]t|stp|svp|merci de)\b[\s,:;.!–—-]+|(?:non|faux|c'est faux|pas du tout|merci|parfait|super|stop|attention|d'accord)\s?[,:;.!–—-]+\s*)",
    corrects=r"^(?:non|faux|c'est faux|pas du tout|en fait|j'ai (?:déjà )?dit|je t'ai)\b",
    closers=r"(?:,? (?:s'il (?:te|vous) pla[iî]t|stp|svp|merci|ok|d'accord))+$",
    vague=r"^(?:(?:toujours|jamais|désormais,?|fais|fait|utilise|faire|on|nous|ne) )*(?:ça|cela|ceci|pareil|comme)\b|^(?:ce|c\'est|il|elle) (?!projet|dépôt|repo)",
    agent=r"\b(?:répon\w*|expliqu\w*|[eé]mojis?|excuses|demande\w*|parle[rz]?|bref|concis|résumés)\b",
    retracts=r"^(?:(?:non|ah|oh|bon|en fait|désolé)\W+)*(?:laisse tomber|oublie(?: ça)?|peu importe|je plaisante|c'était une blague|juste pour (?:cette fois|aujourd'hui|l'instant))\b.{0,20}$",
    durable=rf"^(?:{_LASTING}|toujours|on|nous)\b,? ?|,? {_LASTING}$",
    list_lead=rf"{_LASTING}|\bsouviens\b|\b(?:règles|conventions)\b|\btoujours\b",
    abbreviations=frozenset({"p.ex.", "ex.", "etc.", "env.", "cf.", "m.", "mme."}),
)
