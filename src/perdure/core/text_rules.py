# ruff: noqa: E501, ISC004 - data: a pattern is one piece
"""What makes a text an instruction to the model, or a frame of its prompt: data of the text checks (M-10).

Patterns of instructions are matched against a copy that is compatibility-folded, lower-cased, free of hidden
characters and of accents on Latin letters, with runs of white space as one space.
"""

from __future__ import annotations

_OLD = r"(?:previous|prior|above|earlier|preceding|existing|original|former|foregoing|initial|past)"
_TOLD = (
    r"(?:instructions?|prompts?|rules?|guidelines?|directions?|directives?|context|messages?|commands?|constraints?"
    r"|training|programming|orders|guardrails)"
)
_FILL = r"(?:(?:all|any|every|each|the|your|my|of|these|those|and|or|other|system|safety|developer|user|given|set|its) )"
_DROP = r"(?:ignore|disregard|forget|override|overrule|bypass|discard|neglect|overlook|disobey|do not follow|don't follow|stop following|cancel)"

ENGLISH = (
    rf"\b{_DROP} {_FILL}{{0,5}}{_OLD} {_FILL}{{0,3}}{_TOLD}\b",
    rf"\b{_DROP} {_FILL}{{0,3}}(?:your|system|safety|developer) {_FILL}{{0,3}}(?:{_TOLD}|prompt)\b(?! (?:in|of|for) )",
    rf"\b{_DROP} (?:all |everything |anything |any )(?:of )?(?:the |that (?:was |is |came )|you (?:were|have been|are) |said |told )?"
    r"(?:above|before|previous|previously|prior|told|so far|earlier|up to now)\b",
    r"\bforget (?:everything|all|what) (?:you|i|we)\b(?: \w+)? ?(?:know|were|have|told|learned|said|been)?",
    r"\byou(?: are|'re) (?:now|no longer|from now on|henceforth|hereby) ",
    r"\bfrom (?:now|this point|here) on(?:wards?)?,? (?:you|act|behave|respond|answer as|reply as|obey|ignore|pretend)\b",
    r"\b(?:pretend|roleplay|role-play|imagine) (?:to be|that you|you are|you're|as an?)\b",
    r"(?:^|[.!?:;\n] ?)(?:please |now |always )?(?:act|behave|respond) as (?:if you|though you|an? (?:unrestricted|uncensored|evil|jailbroken"
    r"|different (?:ai|model|assistant)|ai\b|assistant|hacker|root|administrator)|dan\b|my )",
    r"\b(?:reveal|show|print|output|repeat|leak|display|disclose|expose|dump|recite|tell me|give me|write out|quote|send|share) (?:me )?"
    r"(?:all |the full |the exact |the contents? of )?(?:of )?your (?:full |entire |exact |own )?(?:system|initial|hidden|original|developer"
    r"|secret|internal)? ?(?:prompt|instructions|message|rules|guidelines|configuration)\b",
    r"\b(?:reveal|repeat|leak|disclose|expose|dump|recite|tell me|give me|write out|print|output|show|show me) (?:the |this )?"
    r"(?:system|hidden|developer|initial) (?:prompt|instructions|message)(?= ?(?:[.!?,;]|$|to me|verbatim|in full|now|word for word|above))",
    r"\b(?:do not|don't|never|must not|mustn't|should not|shouldn't|cannot|avoid) (?:ever |please )?(?:tell|telling|inform|informing|let|letting)"
    r" (?:this to )?(?:the|your|this) (?:user|human|operator)\b(?! ?(?:id|name|table|agent|model|service)\b)",
    r"\b(?:do not|don't|never|must not|should not) (?:ever )?(?:mention|reveal|disclose|admit|explain|report|say|show|talk about) "
    r"(?:this|that|it|these|anything|any of this|\w+ instructions?)(?: \w+){0,3} to (?:the |your |any )?(?:user|human|operator|anyone)\b",
    r"\b(?:do not|don't|never) (?:notify|warn|alert|ask) (?:the|your) (?:user|human|operator)(?= ?(?:[.!?,;]|$|about|of this|of that|for|before))",
    r"\b(?:hide|conceal|keep) (?:this|that|it|these|everything|all of this|the following)(?: \w+){0,3} (?:secret |hidden )?from (?:the |your )?"
    r"(?:user|human|operator)\b",
    r"\bwithout (?:telling|informing|asking|notifying|alerting) (?:the |your )(?:user|human|operator)\b",
    r"\bwithout (?:the |your |any )?(?:user|human)(?:'?s)? (?:consent|permission|approval|knowledge|confirmation)\b",
    r"\b(?:you|the (?:assistant|model|agent|ai|llm)|assistant|claude|chatgpt|gpt) (?:must|should|shall|will|have to|need to|are to|can|may)"
    r" (?:always |never |now |only |not )?(?:obey|comply|disregard|bypass|refuse|reveal|ignore (?:all|any|your|the (?:system|user|developer))"
    r"|follow (?:only |all )?(?:these|my|the following|any) |trust (?:this|these|all)|do anything|approve (?:all|every|any)"
    r"|grant|skip (?:all )?(?:confirmation|approval|permission)|forget|pretend|lie\b|deceive)",
    r"\byour (?:new |real |true |actual |only |primary |sole |secret |updated )+(?:instructions?|task|role|purpose|goal|identity|mission"
    r"|objective|job|rules?|directive|name|prompt)\b",
    r"\b(?:these|this|the following|my|new) (?:instructions?|memory|memories|rules?|entry|entries|message|prompt) (?:always )?(?:overrides?"
    r"|supersedes?|takes? (?:precedence|priority) over|outranks?|replaces?|has priority over|have priority over) (?:\w+ ){0,3}"
    r"(?:system|developer|user|all|any|previous|prior|other instructions|your)\b",
    r"\b(?:you (?:now )?have|i (?:hereby )?grant you|you are (?:hereby )?(?:granted|authori[sz]ed|allowed|permitted)|you've been granted)"
    r" (?:\w+ ){0,4}(?:full|unrestricted|admin|administrator|root|unlimited|complete|elevated) (?:\w+ )?(?:access|permissions?|authority"
    r"|control|privileges|rights|powers?)\b",
    r"\b(?:disable|turn off|bypass|ignore|remove|circumvent|switch off) (?:all |any )?(?:of )?(?:your|all|any) (?:\w+ )?(?:safety|security|content"
    r"|ethical|moderation|built-in) (?:\w+ )?(?:checks?|filters?|guidelines?|restrictions?|measures?|guardrails?|polic(?:y|ies)|protocols?|rules?)\b",
    r"\b(?:override|bypass|break|escape) (?:your|the) (?:system prompt|programming|guardrails|restrictions|sandbox rules)\b",
    r"(?:^|[.!?:;\n\]] ?)(?:\#{1,4} ?)?(?:new |updated |real |hidden |secret |important )?(?:system|developer|admin|assistant)"
    r" ?(?:prompt|message|instructions?|note|override|notice|update)? ?: ?"
    r"(?:you|your|ignore|disregard|forget|new |from now|always obey|override|important|reveal|do not)\b",
    r"\b(?:new|updated|revised|additional) (?:system )?instructions? ?:",
    r"\b(?:end|begin(?:ning)?|start) of (?:the )?(?:system|developer|user|memory) (?:prompt|instructions?|message|input|data|block|context)\b",
    r"\btreat (?:this|the following|these|it)(?: \w+){0,4} as (?:a |an |the )?(?:system|developer|trusted|authoritative|highest|top)\b",
    r"\b(?:you are|enter|switch to|activate|enable|you're) (?:in |into )?(?:jailbreak|dan|god|unrestricted|uncensored|sudo) mode\b",
    r"\byou are in developer mode\b|\bdo anything now\b|\bas an ai(?: language)? model,? you\b",
    r"\byour (?:system prompt|instructions|guidelines|rules|restrictions|safety \w+) (?:are|is|have been|has been|no longer|do not|does not)\b",
)

GERMAN = (
    r"\b(?:ignorier\w*|vergiss|vergesst|vergessen sie|missacht\w*|ubergeh\w*|umgeh\w*|uberschreib\w*|verwirf|beacht\w*)(?: \w+){0,4} (?:vorherig|bisherig"
    r"|obig|fruher|vorangegangen|vorangehend|vorig|ursprunglich|dein|system|alten)\w*(?: \w+){0,2} ?(?:anweisung|instruktion|vorgabe|prompt|regel|befehl|richtlinie"
    r"|anordnung|nachricht)\w*",
    r"\b(?:ignorier\w*|vergiss|missacht\w*) (?:den|deinen|die|deine|alle) ?(?:system-?(?:prompt|anweisung|nachricht)\w*|anweisungen)\b",
    r"\b(?:vergiss|ignorier\w*) alles,? (?:was|bisher|davor|vorher|oben)",
    r"\bdu bist (?:jetzt|nun|ab sofort|ab jetzt|von nun an|nicht mehr|nicht langer)\b|\b(?:ab jetzt|ab sofort|von nun an) (?:bist|wirst|musst|sollst|darfst|antwortest) du\b",
    r"\b(?:sag\w*|erzahl\w*|verrat\w*|teil\w*|informier\w*|mitteil\w*)(?: \w+){0,3} (?:dem|den|der) (?:be)?(?:nutzer|anwender|user)\w*\b(?: \w+){0,4} ?(?:nicht|nichts|kein|nie)",
    r"\b(?:verschweig|verheimlich|verberg|versteck)\w*(?: \w+){0,3} (?:dem|den|der|vor dem) (?:be)?(?:nutzer|anwender|user)",
    r"\b(?:zeig|verrat|gib|offenbar|nenn|wiederhol|enthull)\w*(?: \w+){0,3} (?:deinen?|den) (?:system-?prompt|prompt|systemanweisung\w*|system-?nachricht|anweisungen)",
    r"\btu(?:e)? so,? als\b|\bdeine (?:neue|wahre|eigentliche)n? (?:aufgabe|rolle|anweisung|identitat)\w*",
)

FRENCH = (
    r"\b(?:ignor(?:e|es|ez|er)|oubli(?:e|ez|er)|neglige\w*|contourn\w*|ne (?:tiens|tenez) (?:pas|plus) compte|fais abstraction|ne respecte\w* (?:pas|plus))(?: [\w']+){0,4}"
    r" (?:instructions?|consignes?|directives?|regles|ordres|messages?|prompts?|invite)(?: \w+){0,2} (?:precedent|anterieur|ci-dessus|systeme|initial|du systeme)\w*",
    r"\b(?:ignor(?:e|ez|er)|oubli(?:e|ez|er)|contourn\w*)(?: toutes?| tous)? (?:tes|vos) (?:\w+ )?(?:instructions?|consignes?|directives?|regles)",
    r"\b(?:ignor(?:e|ez)|oubli(?:e|ez)) (?:le|ton|votre) (?:prompt|message) (?:systeme|initial)|\b(?:ignor(?:e|ez)|oubli(?:e|ez)) tout ce qui precede",
    r"\b(?:tu es|vous etes) (?:maintenant|desormais|a present)\b|\b(?:a partir de maintenant|desormais|dorenavant),? (?:tu|vous)\b",
    r"\bne (?:le |lui |leur )?(?:di[st]\w*|revel\w*|mentionn\w*|parl\w*|inform\w*|previen\w*|signal\w*)(?: [\w']+){0,4}? ?(?:a l'|l'|aux |a un )?utilisateur",
    r"\b(?:revel|montr|affich|donn|divulgu|repet)\w*(?:[ -]\w+){0,3} (?:ton|votre|le|tes|vos) (?:prompt|invite|message|instructions) (?:systeme|initial|cache)\w*",
    r"\bfais comme si tu\b|\b(?:ta|votre) (?:nouvelle|vraie) (?:mission|tache|identite|instruction)",
)

SPANISH_PORTUGUESE_ITALIAN = (
    r"\b(?:ignor(?:a|e|en|ar|ad|i|ate)|olvid(?:a|e|en|ar)|descart\w+|omit\w+|desobedec\w+|esquec\w+|desconsider\w+|dimentic\w+|trascur\w+|anul\w+)(?: \w+){0,4}"
    r" (?:instruc\w+|instruco\w+|istruzion\w+|ordenes|ordens|ordini|reglas|regras|regole|indicaci\w+|mensajes?|mensagens|directric\w+|comandos|comandi)"
    r"(?: \w+){0,2} (?:anterior\w*|previ\w+|precedent\w*|de arriba|acima|sopra|del? sistema|do sistema|di sistema)",
    r"\b(?:ignora|olvida|esqueca|esquece|ignore|dimentica) (?:todas? |todo |tutte le |tutto )?(?:tus|sus|suas|tuas|tue|le tue|las) (?:\w+ )?(?:instruc|istruz|reglas|regras|regole)",
    r"\b(?:olvida|ignora|esqueca|ignore|dimentica|ignora) (?:todo lo|tudo o que|tutto (?:cio|quello)) ",
    r"\b(?:ahora eres|eres ahora|agora voce e|voce agora e|ora sei|adesso sei|sei ora)\b",
    r"\b(?:a partir de ahora|de ahora en adelante|a partir de agora|d'ora in poi|da ora in poi),? (?:eres|debes|seras|actua|responde|voce|tu\b|sei|devi|sarai)",
    r"\b(?:no|nao|non) (?:se lo |le |les |lhe |lo |gli )?(?:dig\w+|inform\w+|mencion\w+|cuent\w+|revel\w+|cont\w+|dire|dica|rivel\w+|menzion\w+|avis\w+)(?: \w+){0,4}?"
    r" (?:al|a los|ao|aos|all'|all|agli) ?(?:usuari|utilizador|utent)",
    r"\b(?:revel|muestr|imprim|dime|mostr|rivel|dammi|exib|diga|stamp|repit)\w*(?: \w+){0,3} (?:tu|el|su|seu|o|il tuo|tuo|las|tus|suas) (?:prompt|mensaje|mensagem|messaggio|instrucciones)"
    r" ?(?:del?|do|di)? ?(?:sistema|inicial\w*|iniziale)",
    r"\b(?:finge (?:ser|que)|finja (?:ser|que)|fingi di essere|haz como si)\b",
)

RUSSIAN = (
    r"(?:игнорируй|проигнорируй|забудь|отбрось|отмени|не обращай\w* внимания на|не следуй|нарушай|обойди)\w*(?: \w+){0,4} (?:предыдущ|прежн|вышеуказан|вышестоящ|систем|сво|тво|изначальн|прошл|ранн)"
    r"\w*(?: \w+){0,2} ?(?:инструкц|указани|правил|команд|промпт|сообщени|подсказ|настро)\w*",
    r"(?:игнорируй|забудь)\w* (?:вс[её] )?(?:инструкции|системн\w+|указания|вс[её],? что)",
    r"(?:теперь ты|ты теперь|отныне ты|с этого момента ты|с этого момента вы|вы теперь|теперь вы|ты больше не)\b",
    r"(?:не (?:говори|сообщай|рассказывай|упоминай|раскрывай|показывай|предупреждай)|скрывай|скрой|утаи)\w*(?: \w+){0,4} (?:от )?пользовател",
    r"(?:покажи|раскрой|выведи|напиши|сообщи|повтори|назови|выдай)\w*(?: \w+){0,3} (?:системн\w+ (?:промпт|инструкц|сообщени|подсказк)|свой промпт|твой промпт|свои инструкции)",
    r"(?:притворись|притворяйся|представь,? что ты|веди себя как)",
)

EAST_ASIAN = (
    r"(?:忽略|无视|無視|忘记|忘掉|忘記|不要理会|不要遵守|不要遵循|覆盖|忽視|抛弃|绕过).{0,8}(?:之前|先前|以上|上面|上述|前面|此前|以前|系统|系統|你的|原来|原有|安全).{0,8}"
    r"(?:指令|指示|提示|规则|規則|命令|要求|说明|設定|设定|对话|對話|限制)",
    r"(?:忽略|无视|忘记|忘掉)(?:所有|一切|全部)的?(?:指令|指示|提示词?|规则|限制)",
    r"(?:你|您)(?:现在|現在|从现在起|今后)(?:是|就是|扮演|必须服从)|(?:从现在起|从现在开始|從現在起|从此)[,，]?\s?(?:你|您)|(?:假装|假設|假设)(?:你|您)是",
    r"(?:不要|别|別|不得|切勿|不能|不可|禁止|绝不)(?:把.{0,10})?(?:告诉|告訴|告知|通知|透露给|泄露给|让|提醒)(?:用户|使用者|用戶|使用人)",
    r"(?:显示|透露|输出|告诉我|泄露|打印|公开|说出|展示|顯示|重复|给我看).{0,6}(?:系统提示|系统指令|系統提示|初始指令|系统消息|你的提示词?|你的指令|隐藏指令)",
    r"(?:以前|これまで|今まで|上記|前|すべて|全て|元|システム)の(?:すべての|全ての)?(?:指示|命令|ルール|プロンプト|指令).{0,4}(?:無視|忘れ|破棄)",
    r"(?:あなた|君)は(?:今から|これから|今後|もう|今)|システムプロンプトを(?:表示|教え|見せ|出力|開示|公開)|ユーザーには?(?:言わ|伝え|知らせ|教え)(?:ないで|るな|ず|ては)",
)

INSTRUCTIONS: tuple[str, ...] = (
    *ENGLISH,
    *GERMAN,
    *FRENCH,
    *SPANISH_PORTUGUESE_ITALIAN,
    *RUSSIAN,
    *EAST_ASIAN,
)

FRAMES: tuple[str, ...] = (
    r"<\s*[/\\]?\s*perdure[\s_-]*memor\w*[^<>]{0,80}>?",
    r"<\s*[/\\]\s*(?:system|memory|memories|assistant|instructions?|developer|prompt|human|context|user|function_calls|function_results"
    r"|tool_calls?|tool_results?|invoke|antml)\b[\w:-]{0,40}\s*>",
    r"(?<![\w&])<\s*(?:system|memory|memories|assistant|instructions?|developer|system-?prompt|system-?reminder|human|function_calls"
    r"|function_results|tool_calls?|tool_results?|antml)\b(?:[\w:-]{0,40})(?:\s[^<>]{0,80})?>",
    r"<\s*\|\s*[a-z_]{2,30}\s*\|\s*>",
    r"\[\s*/?\s*(?:inst|system|sys)\s*\]",
    r"<<\s*/?\s*sys\s*>>",
    r"<(?:start|end)_of_turn>",
    r"\[/?(?:begin|end)[ _](?:system|memory|prompt|instructions?|of system)[\w ]{0,20}\]",
)
"""Tags that frame a prompt: ours, and those of hosts and chat templates; matched case-insensitively."""

CONFUSABLES = str.maketrans(
    {
        **dict(zip("аеорсухѕіјһԁԛԝьмтнкгв", "aeopcyxsijhdqwbmthkrb", strict=True)),
        **dict(zip("αβεηικνορτυχγω", "abenikvoptuxyw", strict=True)),
        **dict(zip("ɡıℓօսոӏ", "gilounl", strict=True)),
    }
)
"""Lower-case letters of other scripts to the Latin letter that they look like."""
