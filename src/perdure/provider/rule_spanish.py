"""The Spanish table of the offline reviewer."""

from __future__ import annotations

from typing import Final

from perdure.provider.rule_language import Language, Rule

_BARE: Final = (
    r"(?!(?:eso|esto|esta|este|estos|estas|ese|esa|esos|esas|aquello|lo|la|el|los|las|un|una|todo|nada|mi|mis|tu|tus|su|sus|"
    r"algo|así|también)\b)"
)
_LASTING: Final = (
    r"(?:a partir de ahora|de ahora en adelante|desde ahora|en adelante|en el futuro|de aquí en adelante)"
)
_VERB: Final = (
    r"(?:us(?:a|ar|es|e|en)|utiliz(?:a|ar)|utilic(?:es|e)|escrib(?:e|ir|as|a)|ejecut(?:a|ar|es|e)|respond(?:e|er|as|a)|contest(?:a|ar|es)|prueb(?:a|es)|probar|"
    r"haz|hacer|hagas|pon|poner|pongas|añad(?:e|ir|as)|agreg(?:a|ar)|agregues|modific(?:a|ar)|modifiques|edit(?:a|ar|es)|toc(?:a|ar)|toques|borr(?:a|ar|es)|"
    r"pregunt(?:a|ar|es|ame)|pregúntame|revis(?:a|ar|es)|form(?:atea|atear)|sub(?:e|ir|as)|evit(?:a|ar)|prefier(?:e|as)|import(?:a|ar|es)|explic(?:a|ar)|"
    r"habl(?:a|ar|es)|cre(?:a|ar|es)|nombr(?:a|ar)|cambi(?:a|ar|es)|instal(?:a|ar|es)|manten|mantener|mantén|compil(?:a|ar)|corr(?:e|er)|corre|lanz(?:a|ar)|commite(?:a|ar|es))"
)
_TASK: Final = r"(?P<name>pruebas|tests?|lint|build|compilación|formato|despliegue|migraciones)"

_RULES: Final = (
    Rule(
        "explicit",
        "project",
        r"^(?:recuerda|recuerde|acuérdate|ten en cuenta|tenga en cuenta|no olvides|no te olvides|memoriza|ten presente|para el futuro|toma nota)"
        r"(?: siempre)?(?: (?:esto|lo siguiente))?(?:,? (?:de )?que|\s?[:,–—])\s*(?P<body>.+)$",
        "high",
        words_min=2,
    ),
    Rule("convention", "project", rf"^{_LASTING},? .+|^.{{8,}} {_LASTING}$", "high"),
    Rule(
        "command",
        "project",
        rf"^el comando (?:de |para (?:(?:ejecutar|correr|lanzar) )?(?:las |los |el )?){_TASK} es:? .+$",
        words_min=5,
        key_suffix="command",
    ),
    Rule(
        "command", "project", r"^(?:las pruebas|los tests) se (?:ejecutan|corren|lanzan) con .+$", words_min=5
    ),
    Rule(
        "correction",
        "project",
        rf"^(?:(?:nosotros|aquí|siempre) )*(?:usamos|usa|usar|utilizamos|utiliza|escribimos|escribe|prefiere)(?: siempre| aquí)? {_BARE}\S[^,;]{{0,70}}?"
        rf"(?:,? (?:y )?no|,? en (?:lugar|vez) de|,? nunca) (?P<old>{_BARE}\S.*)$",
        "high",
        words_min=4,
    ),
    Rule(
        "correction",
        "project",
        rf"^(?:aquí )?(?:ya )?no (?:usamos|utilizamos|soportamos) (?P<old>{_BARE}\S.*)$",
    ),
    Rule(
        "preference",
        "user",
        rf"^(?:yo )?(?:prefiero|odio|no me gustan?|me gustan (?:más )?|siempre uso|siempre quiero|nunca quiero) (?:las |los |el |la )?{_BARE}\S.+$",
    ),
    Rule(
        "preference",
        "agent",
        r"^(?:siempre )?(?:responde|respóndeme|contesta|contéstame|háblame|habla|escribe|explica)(?: siempre|me)* (?:en (?:español|inglés|francés|alemán|una frase|pocas palabras)|brevemente|de forma (?:breve|concisa)|corto)\b.*$"
        r"|^sé (?:más )?(?:breve|conciso|directo)\b.*$|^(?:sin|nada de|no más) (?:emojis?|disculpas|comentarios|resúmenes|puntos y coma)(?: .*)?$"
        r"|^(?:siempre )?(?:pregunta|pregúntame|consulta|consúltame)(?: siempre| primero)* antes de .+$",
        words_min=2,
    ),
    Rule(
        "convention",
        "project",
        rf"(?:^|[,;:] ?)(?:hay que |debes |tienes que |se debe )?(?:siempre (?:debes |hay que )?{_VERB}|{_VERB} siempre) (?!(?:eso|esto|lo)\b)\S.+$"
        rf"|(?:^|[,;:] ?)(?:nunca (?:debes |hay que )?{_VERB}|no {_VERB} nunca|jamás {_VERB}) (?!(?:eso|esto|lo)\b)\S.+$|^(?:siempre|nunca) \w+amos {_BARE}\S.+$",
    ),
    Rule(
        "convention",
        "project",
        rf"^(?:(?:aquí|en este (?:proyecto|repo|repositorio)),? )?(?:nosotros )?(?:siempre |solo )?(?:usamos|utilizamos|escribimos|seguimos|soportamos)(?: siempre| aquí| solo)* {_BARE}\S.+$"
        rf"|^(?:este|nuestro|el) (?:proyecto|repo|repositorio|backend|frontend) (?:usa|utiliza|requiere|necesita|está escrito en|corre (?:en|con)) {_BARE}\S.*$"
        rf"|^(?:la|nuestra) (?:convención|regla)(?: aquí)?(?: es|:).+$"
        rf"|^(?:la|el|nuestro|nuestra) (?:rama (?:principal|por defecto)|puerto|gestor de paquetes|base de datos|zona horaria) (?:es|se llama) (?!(?:no|rota|mal|vacía|incorrecto)\b)\S.*$"
        rf"|^no (?:edites|modifiques|toques|cambies|borres|uses|agregues|añadas) (?:(?:los|las) \w+ (?:generad|autogenerad)\w+|{_BARE}\S.*)$"
        rf"|^antes de cada (?:commit|push|merge|release|pr)\b,? .{{4,}}$",
    ),
)

SPANISH: Final = Language(
    code="es",
    rules=_RULES,
    refusals=(
        r"\?\s*$|^¿|^(?:qué|por qué|cómo|cuándo|cuál\w*|quién|dónde|puedes|podrías|deberíamos|debemos|usamos .* o )\b",
        r"\b(?:por ahora|por el momento|de momento|en este momento|actualmente|esta vez|hoy|mañana|temporalmente|provisionalmente|solo (?:por )?(?:una|esta) vez|"
        r"hasta (?:que|el|la|mañana|nuevo)|mientras|todavía|aún|más tarde|luego|esta semana|(?<!de )(?<!desde )ahora)\b",
        r"\b(?:en|para|de) (?:este|esta|estos|estas|ese|esa) (?!(?:proyecto|repo|repositorio|equipo)\b)\w+|\b(?:este|esta|ese|esa) (?:archivo|función|clase|línea|opción|prueba|página|botón|rama|método|test)\b",
        r"\bsi (?!.*\b(?:siempre|nunca)\b)\w+|\b(?:quizás?|tal vez|imagina|imaginemos|supongamos|sería|podría|podríamos|deberíamos|debería|gustaría|probablemente|"
        r"creo que|pienso que|supongo|a lo mejor|ojalá|usáramos|usaríamos|qué tal)\b",
        r"\b(?:él|ella|alguien|mi \w+|el \w+|la \w+|ellos|me) (?:ha |han )?(?:dijo|dice|dicho|dicen|quiere|quería|piensa|escribió|recomienda|pidió|afirma)\b|\bsegún\b|\bpor ejemplo\b",
        r"\bno (?:recuerdes|memorices|guardes|anotes|lo recuerdes)\b|\bno siempre\b|\bolvida (?!.*\bno\b)|\b(?:nunca|no) (?:he dicho|dije|pedí)\b|\bno es (?:verdad|cierto)\b|\bcasi (?:siempre|nunca)\b|\bdijiste\b|\bes broma\b|\bno importa\b|\bda igual\b",
        r"\b(?:recuerda|no olvides|acuérdate de) (?!que\b|siempre\b)\w+[aei]r\b|\bcomo (?:eso|esto|antes|arriba|siempre)\b|\b(?:la|el) (?:primera|segunda|última|otra|primer|segundo|último|otro|misma|mismo)\b|\bantes de (?:continuar|seguir)\b",
        r"\b(?:jaja\w*|lol|bien hecho|buena idea|gracias por nada|sí, claro|nunca funciona|siempre falla)\b",
    ),
    openers=r"^(?:(?:ok|vale|bueno|entonces|y|pero|ah|oh|eh|hola|por cierto|joder|mierda|sí|claro|importante|nota|regla|en realidad|otra vez|ya (?:te )?dije(?: que)?|"
    r"por favor|porfa|te dije que)\b[\s,:;.!–—-]+|(?:no|mal|incorrecto|eso está mal|gracias|perfecto|genial|para|atención|de acuerdo)\s?[,:;.!–—-]+\s*)",
    corrects=r"^(?:no|mal|incorrecto|eso está mal|en realidad|ya (?:te )?dije|te dije)\b",
    closers=r"(?:,? (?:por favor|porfa|gracias|ok|vale|de acuerdo))+$",
    vague=r"^(?:(?:siempre|nunca|a partir de ahora,?|haz|hazlo|usa|no) )*(?:eso|esto|lo|así|lo mismo|hazlo|úsalo)\b",
    agent=r"\b(?:respond\w*|respóndeme|contest\w*|explic\w*|emojis?|disculpas|pregunt\w*|pregúntame|habl\w*|breve|conciso)\b",
    retracts=r"^(?:(?:no|ah|bueno|perdón|en realidad)\W+)*(?:olvídalo|no importa|da igual|déjalo|es broma|era broma|solo (?:por (?:hoy|ahora|esta vez)|esta vez))\b.{0,20}$",
    durable=rf"^(?:{_LASTING}|siempre|nosotros)\b,? ?|,? {_LASTING}$",
    list_lead=rf"{_LASTING}|\brecuerda\b|\b(?:reglas|convenciones)\b|\bsiempre\b",
    abbreviations=frozenset({"p.ej.", "ej.", "etc.", "sr.", "sra.", "aprox."}),
)
