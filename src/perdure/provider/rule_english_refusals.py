"""What makes an English sentence no lasting statement, whatever else it says."""

from __future__ import annotations

from typing import Final

REFUSALS: Final[tuple[str, ...]] = (
    # questions
    r"\?\s*$|^(?:do|does|did|is|are|was|were|am|can|could|would|will|shall|has|have|had|isn'?t|aren'?t|don'?t (?:we|you|i|they)|doesn'?t|didn'?t|"
    r"can'?t|couldn'?t|wouldn'?t|won'?t|should|shouldn'?t|why|how|what|which|who|whose|where|when (?:do|did|does|should|will|is|are)|"
    r"any (?:idea|chance|reason)) |,? ?\b(?:why|how come|where) (?:is|are|do|does|did|was|were|the hell|would|should)\b|\b(?:right|correct|no|yes|isn'?t it|don'?t we|do we)\?",
    # temporary
    r"\b(?:for now|for the moment|for the time being|right now|just now|at the moment|at this point|currently|this time|today|tonight|tomorrow|"
    r"(?:just|only) (?:this )?once|this once|for once|temporar(?:y|ily)|this (?:week|month|sprint|morning|afternoon|evening|release|round|"
    r"iteration)|(?:until|till)(?! (?:ci|all|every|tests?|the (?:tests?|ci|build|pipeline|checks?) (?:is|are|pass\w*)|it passes|they pass)\b)|yet|for a (?:bit|while|sec(?:ond)?|moment|minute)|in the meantime|meanwhile|while (?:we|i|you)\b|"
    r"as long as|next (?:week|time|step|month|release)|short[- ]term|interim|(?<!for )(?<!and )(?<!or )later|asap|first thing|as a (?:workaround|stopgap)|"
    r"(?<!from )now\b(?! on))",
    r"\b(?:in|for|on|with|within|during) (?:this|that|the current) (?:pr|pull request|branch|commit|task|session|file|change|one|function|class|case|"
    r"test|module|method|ticket|issue|fix|refactor(?:ing)?|feature|chat|conversation|demo|spike|prototype|experiment|component|"
    r"script|line|patch|step|run|part|instance)\b",
    # hypothetical, unsure
    r"\b(?:what if|imagine|suppose|supposing|let'?s say|say we|pretend|assuming|hypothetically|in theory|would|wouldn'?t|could|couldn'?t|"
    r"might|maybe|perhaps|probably|i guess|i think|i believe|i suppose|not sure|unsure|i wonder|wondering|i wish|i hope|hopefully|"
    r"what about|how about|thinking (?:about|of)|considering|we (?:should|can) (?:probably|consider|discuss|try)|i'?d(?: \w+)? (?:like|love|prefer|rather|say)|"
    r"it'?d|we'?d|you'?d|unless|possibly|apparently|supposedly|presumably|one day|someday|eventually|in an ideal world|"
    r"ideally|if only|either way|let'?s (?:see|try|discuss))\b",
    r"\bif (?:we|i|they|he|she|it|someone|somebody|everyone|you) (?:\w+ed|were|had|did|was|ever|want(?:s)?|get(?:s)?|find|see|need|think|like|really|can|"
    r"ran|went|wrote|chose|kept|put|made|\w+ wanted)\b",
    r"\bif\b(?!.*\b(?:always|never|must|don'?t|do not|run|use|ask|regenerate)\b)",
    # reported speech, quotations
    r"\b(?:he|she|they|who|someone|somebody|people|folks|everyone|everybody|nobody|the (?:docs?|documentation|readme|article|blog(?: post)?|linter|error|"
    r"message|book|tutorial|guide|internet|reviewer|client|customer|compiler|output|log|boss|manager|cto|lead|intern|issue|comment|"
    r"ticket)|it|stack ?overflow|chatgpt|my \w+|(?:a|this|that|some|another) \w+|bob|alice|john|jane|tom|anna|the (?:other|new|old) \w+) "
    r"(?:once |always |just |also |keeps? |kept |recently |\w+ly )?(?:said|says?|saying|told|tells|telling|claim(?:s|ed)|wrote|writes|thinks?|thought|suggest(?:s|ed)|"
    r"recommend(?:s|ed)|wants?|wanted|ask(?:s|ed)|insist(?:s|ed)|argue[sd]|mention(?:s|ed)|complain(?:s|ed)|believe[sd]?)\b|\baccording to\b|"
    r"\bquote\b|\b(?:says|reads|stating)\b ?:|\bas (?:he|she|they|bob) \w+\b|\bin the style of\b|\bfor example\b|\bsomething like\b",
    # taken back, denied
    r"\b(?:do\s?n'?t|do not|dont|no need to|needn'?t|stop|never|not) (?:remember|memori[sz]e|save|store|note)(?: (?:this|that|it|any|in memory|to memory)|$)|"
    r"\bnever mind\b|\bnvm\b|^forget (?!.*\bnot\b)|\bi (?:never|didn'?t|did not) (?:say|said|ask|asked|tell|told|mean|meant|claim|want|wanted|write|wrote)\b|"
    r"\b(?:not|n'?t) true\b|\bnot the case\b|\bnot that (?:we|i)\b|\b(?:do\s?n'?t|do not|dont|not|n'?t|does\s?n'?t|are\s?n'?t|is\s?n'?t|need\s?n'?t|have) (?:to |necessarily |really |need to |have to )?always\b|"
    r"\b(?:almost|hardly|nearly) (?:never|always|ever)\b|\bjust kidding\b|\bjk\b|\bi (?:don'?t|do not) (?:care|mind|know|remember|recall|think)\b|"
    r"\bnot anymore$|\byou (?:said|told|mentioned|wrote|claimed)\b|\b(?:who|nobody|noone|no one) (?:needs|cares)\b|\bi lied\b|\bignore (?:that|what i)\b",
    # one task, one place
    r"^(?:remember|don'?t forget|do not forget|make sure|be sure) to (?!(?:always|never)\b)|\b(?:the|this|that|these|those) (?:first|second|third|last|other|"
    r"previous|former|latter|same|above|following|current|remaining|whole|new|old) (?!(?:repo|project|code ?base|api)\b)\w+|\bthat time\b|\b(?:this|these|those) (?!(?:to|into|in|repo(?:sitory)?|project|code ?base|monorepo|"
    r"package|workspace|team|company|app|service|machine|computer|library|organi[sz]ation|product|org)\b)\w+|\bthat (?:file|one|function|test|class|thing|"
    r"component|method|variable|module|line|option|way|bug|branch|commit|pr|shit|crap|stuff|part|idea|code|folder|page|button|error|field|column|"
    r"table|endpoint)\b|\b(?:as|the|see|shown|listed|mentioned) (?:above|below)\b|\blike (?:this|that|so|before|i did|you did)\b|"
    r"\b(?:same|this|that) way\b|\bas (?:before|usual|well)$|\boption (?:\d|[a-d]|one|two|three)\b|\bwhen you'?re done\b|\bwhen (?:you(?:'re| are)|i'?m|it'?s) (?:done|finished|ready)\b|"
    r"\bbefore (?:you|we) (?:continue|proceed|start|go on|begin|move on)\b|\blet'?s\b|\bgo ahead\b|\bi'?ll\b|\bi will\b|\bi'?m (?:going|gonna|about|trying)\b|\bgonna\b|\btrying to\b",
    # to do, and what happened
    r"\b(?:need|needs|have|has|got|want) to (?:be )?(?:fix|finish|add|clean|look|check|refactor|revisit|remove|implement|investigate|debug|talk|figure|"
    r"rework|fixed|cleaned|refactored|removed|updated)|\bto-?do\b|\bstill\b|\bkeeps? (?:\w+ing)\b|\bworks? fine\b|"
    r"^(?:you|i|he|she|they) (?:just |already |have |'?ve )*(?:broke|did|made|were|was|had|got|went|saw|found|wrote|ran|lost|fucked|"
    r"deleted|forgot|removed|changed|added|moved|used to)\b|\bused to\b|^we (?:just |already |have |'?ve )*(?:broke|did|made|were|had|got|said|went|saw|found|wrote|ran|lost|"
    r"tried|talked|discussed|spent|fixed)\b",
    r"[,;] ?(?:so |and |please |pls |just |then )*(?:fix|check|look|see|try|tell me|add|remove|implement|undo|revert|redo|change|update) (?:it|that|them|this|the|an?|at|into|again|if)\b|\bwhich one\b|[,;] ?(?:can|could|would|will) (?:you|we|i)\b|\b(?:with|called|by|on|is|are) what$|\band (?:tell me|show me|then|report|run (?:it|them)|see|check|fix|let me)\b|\bwhen(?:ever)? (?:you|the user|users?) (?:click|press|hover|select|scroll|resize|type|drag|log)\w*\b|\bthat(?: is|\'s) (?:the|why|what|how|a) "
    r"^(?:the|make sure) (?:the )?(?:[\w-]+ )?(?:function|button|method|component|modal|dialog|page|variable|header|footer|sidebar|menu|loop|list|output|result|response|cursor|class|field|input|"
    r"form|icon|label|column|row|table|animation|window|screen|popup|tooltip|spinner|selector) (?:should|is|needs|has)\b",
    # sarcasm and praise
    r"\byeah,? right\b|\bas if\b|\bthanks for nothing\b|\blo+l\b|\bhaha|\blmao\b|(?:^|\s)/s$|\bof course you\b|\bgenius\b|\bbrilliant\b|\b(?:great|nice|good|awesome|"
    r"excellent|amazing) (?:job|work|idea|one|stuff)\b|\bwell done\b|\bbecause that (?:always )?work(?:s|ed)\b|\bwhat could (?:possibly )?go wrong\b|\bsurprise\b|\bgood luck\b|\bwho doesn'?t\b|"
    r"\b(?:oh|yeah|yay|wow|gee),? (?:great|sure|wow|brilliant|please|thanks)\b|(?<!sure )\byou always\b(?! (?:use|run|ask|write|have to))|\byou never\b|\bnever (?:ever )?again$|\bagain and again\b|"
    r"\bat 3 ?am\b|\b(?:works|fails|breaks|crashes) every time\b|\byou(?: are|\'re) (?:awesome|great|amazing|the best|stupid|useless)\b",
)
