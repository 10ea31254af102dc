"""The English table of the offline reviewer."""

from __future__ import annotations

from typing import Final

from perdure.provider.rule_english_refusals import REFUSALS
from perdure.provider.rule_language import MASKED, PROGRAMS, Language, Rule

_VERBS: Final = (
    "abbreviate|access|act|add|address|align|amend|annotate|answer|append|apply|approve|ask|assert|assign|assume|"
    "attach|avoid|await|base|batch|be|begin|branch|build|bump|cache|call|capitali[sz]e|catch|change|check|"
    "cherry-pick|choose|cite|clean|clear|clone|close|combine|comment|commit|compare|compile|confirm|connect|"
    "convert|copy|cover|create|declare|default|define|delete|deploy|depend|describe|disable|discuss|document|"
    "double-check|download|drop|edit|emit|enable|encode|encrypt|end|ensure|escape|explain|export|expose|extend|"
    "extract|fetch|follow|force-push|force|fork|format|generate|give|go|group|guess|handle|hardcode|hard-code|"
    "hide|ignore|implement|import|include|indent|inherit|inject|inline|insert|install|instantiate|invent|invoke|"
    "keep|label|launch|leave|link|lint|list|load|log|look|lower|make|mark|mention|merge|migrate|mix|mock|modify|"
    "move|mutate|name|nest|open|order|overwrite|override|parse|pass|pin|pick|place|plan|prefer|prefix|print|"
    "propose|publish|pull|push|put|query|quote|raise|read|rebase|refer|reference|regenerate|release|rely|remove|"
    "rename|render|reply|reset|respond|restart|retry|return|reuse|review|rewrite|rotate|round|run|saniti[sz]e|"
    "save|say|seed|send|serve|set|ship|show|shorten|sign|skip|sort|speak|specify|split|squash|stage|start|stash|"
    "state|stick|stop|store|structure|stub|style|suffix|suggest|summari[sz]e|support|suppress|swallow|sync|tag|"
    "talk|target|tell|test|throw|touch|trim|translate|treat|trust|type|update|upgrade|upload|use|validate|verify|"
    "wait|wrap|write|apologi[sz]e|mutate|deal|work|try|touch|take|respect"
)
_DONT: Final = r"(?:do\s?n'?t|do not|dont)"
_BARE: Final = (
    r"(?!(?:a|an|the|this|that|it|its|these|those|them|him|her|my|your|his|any|anything|everything|some|"
    r"something|same|both|one|another|each|all of|either|more|too|so|to|up|for|is|was|in|on|at|when|what|how|"
    r"only when|cases?)\b)"
)
_VALUE: Final = (
    rf"(?:{MASKED}|\d|(?!(?:not|a|an|the|this|that|it|very|so|too|still|already|now|all|up|down|ok|okay|fine|good|"
    r"great|bad|slow|fast|wrong|right|correct|incorrect|broken|missing|gone|empty|old|outdated|stale|red|green|"
    r"fucked|messed|weird|odd|strange|different|same|here|there|in|on|out|off|off|just|really|kind|kinda|pretty|"
    r"quite|super|terrible|awful|horrible|invalid|required|useless|stupid|dumb|hard|easy|long|short|taken|"
    r"unused|dirty|behind|ahead|protected|gonna|going|supposed|what|where|why|how|like|somewhere|something|"
    r"null|undefined|no|[a-z]+ing|[a-z]+ed)\b)[\w@])"
)
_CONFIG: Final = (
    r"(?:(?:default|main|base|target|stable|development|production|release|staging) branch|port|package manager|database|db|registry|formatter|linter|test runner|test framework|"
    r"time ?zone|line length|line width|indent(?:ation)?|licen[cs]e|minimum version|python version|node version|"
    r"target version|java version|go version|convention|naming convention|style guide|"
    r"commit (?:style|format|convention)|base url|staging url|production url|bundler|framework|orm|ci system|"
    r"build tool|build system|task runner|source of truth|coding style|code style|house style)"
)
_SUBJECT: Final = (
    r"(?:(?:this|the|our) (?:project|repo|repository|code ?base|monorepo|back ?end|front ?end|api|server|app|"
    r"team|ci|pipeline|test suite|tests|docs|website|build|database|package|library|cli)|ci|prod|production|"
    r"staging|integration tests|unit tests|e2e tests|end-to-end tests|all tests|tests|migrations|releases|"
    r"deployments|deploys)"
)
_PROGRAM: Final = rf"(?:{MASKED}+|(?:{PROGRAMS})(?!\w))"
_TASKS: Final = (
    r"(?:unit |integration |e2e |end-to-end |all |full |whole |dev |development |production |type |db |database )?"
    r"(?:tests?|test suite|lint(?:er|ing)?|build|checks?|typecheck(?:er|s)?|type[- ]?check(?:er|s)?|formatt(?:er|ing)|"
    r"format|dev server|server|migrations?|benchmarks?|docs|coverage|deploy|release|codegen|start|setup|install|"
    r"project|app|seed)"
)
_NOUN: Final = r"[\w-]+(?: [\w-]+){0,3}"
_CONTRAST: Final = (
    r"(?:,? ?(?:and |but )?not|instead of|rather than|,? never|over|,? and never|,? ?"
    r"(?:and )?(?:don'?t|do not) use|,? no(?!\w))"
)
_THING: Final = rf"{_BARE}[\w@#{MASKED[1:-1]}][^,;:]{{0,70}}?"
_EVENT: Final = (
    rf"(?:every|each|any|all|committing|pushing|merging|releasing|deploying|publishing|opening|you (?:commit|push|"
    rf"merge|release|deploy|publish|open)|(?:a |the )?(?:commits?|push(?:es)?|merges?|releases?|deploys?|prs?|"
    rf"pull requests?)|{_PROGRAM})"
)
_WHEN: Final = (
    r"(?:whenever|every time|each time|any time|when(?:ever)? you|if you|before (?:(?:every|each|any) (?:commit|push|merge|release|deploy|pr\b|pull request|change|edit|migration|task|session|refactor)|you|committing|pushing|"
    r"merging|releasing|deploying|publishing|opening|editing|changing)|after (?:(?:every|each|any) (?:commit|push|merge|release|deploy|pr\b|pull request|change|edit|migration|task|session|refactor)|you|changing|editing|adding|"
    r"modifying|touching|updating|pulling|merging|rebasing))"
)
_CLAUSE: Final = r"(?:^|[,;:(–—-] ?|\b(?:and|but|so|please|you) )"
_MUST: Final = r"(?:you (?:must|should|have to|need to|are to|shall)|we (?:must|should)|must|should|shall|make sure (?:to|you)|be sure to|i (?:want|need|expect) you to)"
_LASTING: Final = (
    r"(?:from now on|from here on(?: out)?|from this point on|going forward|henceforth|in (?:the )?future)"
)

_RULES: Final = (
    Rule(
        "explicit",
        "project",
        r"^(?:(?:always )?(?:remember|memori[sz]e|keep in mind|bear in mind)(?: (?:this|the following|for (?:later|"
        r"(?:the )?future|next time)))?|don'?t (?:ever )?forget|do not forget|never forget|"
        r"for (?:future reference|the record|future sessions)|(?:make|take) a (?:mental )?note|"
        r"note (?:to self|for (?:later|the future))|"
        r"(?:add|save|store|commit|put)(?: (?:this|that|it|the following))? (?:to|in|into) (?:your |the |project |our )?"
        r"(?:long-term )?memory)(?:,? that(?! \w+ (?:was|did|had))|,? (?:to )?(?=(?:always|never) )|[:–—]|,(?= ?(?:we|our|i|my|the|this|always|never|don'?t|do|use|no)\b)| [-–—](?= (?:we|our|i|my|the|this|always|never|don'?t|do|use|no)\b))\s*(?P<body>.+)$",
        "high",
        words_min=2,
    ),
    Rule(
        "explicit",
        "project",
        r"^(?:remember|don'?t forget|keep in mind|memori[sz]e) (?P<body>(?:we|our|all|every|each|i|you|the|this (?:repo|project|"
        r"code ?base)) .*\b(?:is|are|must|should|uses?|prefers?|needs?|requires?|lives?|goe?s?|always|never|can(?:'?t|not)?|"
        r"has to|have to|runs?|don'?t|doesn'?t|hates?|likes?|wants?)\b.+)$",
        "high",
    ),
    Rule(
        "convention",
        "project",
        rf"^{_LASTING}\b[,:]? ?(?:please )?.+|^(?!(?:i|he|she|they|it|you|we) (?!want|expect|must|should|will|need))(?!.*\bi\b).{{6,}}[ ,]{_LASTING}$|^(?:i want you to|you should|you must|"
        rf"please) {_LASTING},? .+",
        "high",
    ),
    Rule(
        "command",
        "project",
        rf"^(?:the|our) (?P<name>{_TASKS}) commands? (?:here |for this \w+ )?(?:is|are)(?: now| actually)?:? (?P<value>{_PROGRAM}.*|{MASKED}.*)$",
        words_min=4,
        key_suffix="command",
    ),
    Rule(
        "command",
        "project",
        rf"^(?:the|our) command (?:to (?:run|start|do|execute) (?:the |our )?|for (?:the |our |running (?:the )?)?)(?P<name>{_TASKS}) is:? "
        rf"(?:{_PROGRAM}|{MASKED}).*$",
        words_min=5,
        key_suffix="command",
    ),
    Rule(
        "command",
        "project",
        rf"^(?:you can |you |we |always )?(?:run|start|execute) (?:the |our |all )?(?P<name>{_TASKS}) (?:with|using|via|through) "
        rf"(?:{_PROGRAM}).*$",
        key_suffix="command",
    ),
    Rule(
        "command",
        "project",
        rf"^(?:typecheck|type-check|lint|build|test|format|deploy|release|seed)(?: everything| it all| the (?:project|code|app|docs))? (?:with|using|via) (?:{_PROGRAM}).*$",
    ),
    Rule(
        "command",
        "project",
        rf"^(?:the |our )?(?P<name>{_TASKS}) (?:are|is|get|gets) (?:run|started|executed|launched|run) (?:with|using|via|by|through) "
        rf"(?:{_PROGRAM}).*$",
        key_suffix="command",
    ),
    Rule(
        "command",
        "project",
        rf"^to (?:run |start |do |execute )?(?:the |our |all )?(?P<name>{_TASKS})(?: the (?:project|app|code|docs))?,? "
        rf"(?:you (?:have to |need to |must )?|always |please )?(?:use|run|call|do|type|execute) (?:{_PROGRAM}).*$",
        key_suffix="command",
    ),
    Rule(
        "command",
        "project",
        rf"^(?:use|run|it'?s) (?:{_PROGRAM}).{{0,60}}? (?:to (?:run|start|execute) (?:the |our |all )?|for (?:running )?(?:the |our |all )?)"
        rf"(?P<name>{_TASKS})$",
        words_min=4,
        key_suffix="command",
    ),
    Rule(
        "command",
        "project",
        rf"^(?P<thing>{_PROGRAM}.{{0,60}}?) is (?:the|our) (?P<name>{_TASKS}) command\b.*$",
        words_min=4,
        key_suffix="command",
    ),
    Rule(
        "correction",
        "project",
        rf"^(?:(?:in|for|on) [^,]{{3,40}}(?:, ?| (?=we )))?(?:(?:we|please|always|you should|you must|i said|to|i want you to) )*(?:use|using|prefer|run|write|say|call|"
        rf"pick|choose|stick (?:to|with)|target|deploy to|import from) (?P<new>{_THING}) ?{_CONTRAST} (?P<old>(?!(?:it|that|this|these|those|them|yet)\b)\S.*)$",
        "high",
        words_min=4,
    ),
    Rule(
        "correction",
        "project",
        rf"^(?:the|our) (?P<name>(?:[\w-]+ ){{0,2}}{_CONFIG}) (?:is|are)(?: called| named| set to| actually| now)? {_VALUE}.*? ?(?:,? not|instead of|rather than) \S.*$",
        "high",
        words_min=4,
    ),
    Rule(
        "correction",
        "project",
        rf"^we (?:no longer|don'?t|do not|dont) (?:\w+ )?(?:use|support|run|deploy|publish|ship|target|write) (?P<old>{_BARE}[^,;]+?)(?: anymore| any more)?(?:[,;].*)?$",
    ),
    Rule(
        "convention",
        "project",
        r"^(?:(?:the|our) )?(?:(?:team|project|house|repo|coding|naming|commit|code) )?(?:rule|convention|policy|guideline)s?(?: of thumb)?"
        r"(?: here| in this (?:repo|project|code ?base)| for [\w -]{3,30})?(?::| is(?: that| to)?:?) (?!(?:not|wrong|stupid|broken|fine)\b).+$",
        "high",
        words_min=3,
    ),
    Rule(
        "convention",
        "project",
        rf"^(?:the|our) (?P<name>(?:[\w-]+ ){{0,2}}{_CONFIG}) (?:is|are)(?: called| named| set to| actually| now| always)? {_VALUE}.*$",
        words_min=4,
    ),
    Rule(
        "preference",
        "user",
        r"^i (?:always |really |strongly |generally |usually |much |personally |definitely )*prefer (?!not (?:this|that)\b|(?:the (?:first|second|"
        r"third|other|last|old|new|former|latter|previous)|option|your|version \w+$|it|this|that|these|those|them|neither|both|"
        r"either)\b).+",
    ),
    Rule(
        "preference",
        "user",
        r"^(?:my (?:preferred |favou?rite |default )?(?:name|editor|shell|terminal|time ?zone|os|operating system|pronouns|keyboard layout|"
        r"language|native language|ide|browser|font|color scheme|window manager|package manager)(?: is|'s| are) (?!(?:not|broken|slow|"
        r"being|crashing|wrong|fucked|set|a|an|the|complaining|\w+ing)\b)\S.*|(?:you can |please )?call me (?!when|back|if|later|crazy|stupid|old|"
        r"once|maybe|a|an|the|in|on|at|out|now)\w+)$",
    ),
    Rule(
        "preference",
        "agent",
        r"^i (?:really |absolutely |fucking )?(?:hate|can'?t stand|dislike|don'?t like|do not like|don'?t want|do not want)(?: it)? (?:when(?:ever)? you|you "
        r"to(?: ever)?|seeing) (?!(?:it|this|that)\b).{4,}$",
        words_min=5,
    ),
    Rule(
        "preference",
        "user",
        r"^i (?:really |absolutely |fucking |just )?(?:hate|can'?t stand|dislike|don'?t like|do not like|like|love|want) (?:(?:your )?(?:short|long|concise|brief|"
        r"terse|verbose|small|tiny|big|large|simple|explicit|descriptive|detailed|functional|clean|plain|early|nested|deep|inline|"
        r"default|named|typed|one-line|magic|trailing|excessive|unnecessary|useless|obvious)(?: and \w+|, \w+)? (?:answers|"
        r"responses|replies|explanations|summaries|commits|commit messages|prs|pull requests|functions|names|types|tests|comments|files|"
        r"exports|returns|code|diffs|imports|strings|numbers|abstractions|ternaries|steps|variable names|messages|classes|loops|"
        r"lines)|emojis?|semicolons|abbreviations|exclamation marks|em dashes|bullet points|tabs|spaces|type hints|comments|mocks|"
        r"filler|apologies)\b(?! (?:you|we|that you|he|they)\b).*$",
        "normal",
    ),
    Rule(
        "preference",
        "user",
        rf"^i (?:always|only|never) (?:(?:want|expect|need) (?!it\b|this\b|that\b|to (?:go|leave|die)\b)|(?:use|write|prefer|work|like|run|commit|review|name|deploy|read) {_BARE}).+",
    ),
    Rule(
        "preference",
        "user",
        r"^i (?:use|work (?:on|with|in)|code (?:on|in)|develop (?:on|in)|am on|'m on|run) (?:(?:neo)?vim|emacs|vs ?code|fish|zsh|bash|nushell|mac(?:os)?|linux|windows|wsl2?|"
        r"ubuntu|debian|arch|fedora|nixos|a mac(?:book)?|intellij|pycharm|webstorm|helix|zed|sublime|tmux|kitty|ghostty|iterm2?)"
        r"(?: (?:as my|on my|for|and|with|on|in|exclusively|only|here|everywhere|all the time|\d+)\b(?! (?:this|that|it)\b).*)?$",
    ),
    Rule(
        "preference",
        "agent",
        r"^(?:i (?:want|need|expect) you to )?(?:always )?(?:answer|respond|reply|write|speak|talk|communicate|explain(?: things)?)(?: to me| back)?(?: only| always)? (?:in|with) "
        r"(?:plain |simple |british |american )?(?:english|german|french|spanish|italian|portuguese|dutch|polish|russian|japanese|chinese|korean|turkish|ukrainian|"
        r"swedish|bullet points|short sentences|one sentence|full sentences|markdown|plain text|code only|a few words|"
        r"as few words as possible)\b.*$",
    ),
    Rule(
        "preference",
        "agent",
        r"^(?:(?:answer|respond|reply) (?:more )?(?:briefly|concisely|shortly|tersely|succinctly|directly|in short|short)|(?:be|stay) (?:more |very |as )?"
        r"(?:brief|concise|terse|succinct|direct|less (?:verbose|chatty|wordy)|laconic)|keep (?:your |the |all )?"
        r"(?:answers?|responses?|repl(?:y|ies)|explanations?|summar(?:y|ies)|commit messages|functions|prs|commits) (?:short|brief|concise|small|to the point|under|"
        r"below|terse)|(?:less|fewer|no) (?:verbose|chatty|fluff|filler|small talk|emojis?|apologies|exclamation marks|summaries|bullet points))\b.*$",
        words_min=2,
    ),
    Rule(
        "preference",
        "agent",
        rf"^(?:{_DONT}|stop) (?:ever |always )?(?:summari[sz]e|apologi[sz]e|recap|flatter me|repeat (?:yourself|what i|my)|guess|invent|sugar-?coat|make up)\b(?! (?:it|this|that|yet)\b).*$",
        words_min=2,
    ),
    Rule(
        "preference",
        "agent",
        r"^(?:you (?:must|should|have to|need to) |always )?(?:ask(?: me)?(?: for (?:permission|confirmation|approval))?|check with me|confirm with me|show me the (?:diff|plan|"
        r"changes)|explain your plan|wait for my (?:approval|ok|okay|confirmation)|tell me|warn me) (?:first )?(?:before|whenever|"
        r"every time|each time) (?!(?:the|that|this|it|we|i)\b).{4,}$",
        "high",
        words_min=4,
    ),
    Rule(
        "preference",
        "agent",
        rf"^(?:you (?:must|should|need to|have to) )?stop (?:using|adding|writing|saying|apologi[sz]ing|asking|creating|committing|editing|putting|"
        rf"generating|explaining|repeating|summari[sz]ing|starting|ending|guessing|inventing|importing|suggesting|mocking|mentioning|"
        rf"calling|making|telling|pushing|formatting) {_BARE}\S.*$|^(?:you (?:must|should|need to|have to) )?stop (?:apologi[sz]ing|summari[sz]ing|guessing)$",
        words_min=2,
    ),
    Rule(
        "convention",
        "project",
        rf"{_CLAUSE}(?:{_MUST} )?(?:always|never(?: ever)?|(?:{_DONT} )ever) (?!be (?:happy|sure that|able)|stop learning|mind|say never|go wrong|work(?! (?:on|in|from|with)))"
        rf"(?:{_VERBS})\b(?! ?,(?! ?(?:never|always|not|don'?t|and|only)\b))(?P<object>.*)$",
    ),
    Rule(
        "convention",
        "project",
        rf"^(?:(?:in|for|on) [^,]{{3,40}}, )?(?!(?:it|that|this|these|those|they|he|she|you|i|there|something|the|a|an)\b)[^,;:]{{3,60}}? "
        rf"(?:must|should|shall|need to|has to|have to|may) (?:always|never|only(?: ever)?|not ever) (?:{_VERBS}|explode|crash|fail|block|contain|exceed|have|live|"
        rf"come|fit|match|pass|happen in)\b.*$",
        words_min=4,
    ),
    Rule(
        "convention",
        "project",
        rf"^(?:every|each|all|any|no|only|new|public) (?!(?:this|that|of)\b)[^,;:?]{{3,50}}? (?:must|needs to|has to|have to)(?: not| never)? (?:be|have|{_VERBS})\b.+$"
        rf"|^(?!(?:the|a|an|these|those|this|that|it|its|my|your)\b)(?:[\w-]+ ){{0,2}}[\w-]+s must (?:not |never )?(?:be|have|use|start|end|follow|contain|include|live|come|pass|go)\b.+$"
        rf"|^(?:always |please )?(?:only use|indent (?:with|using|by)) {_BARE}\S.+$"
        rf"|^(?:always |please )?(?:use|write|prefer|follow|keep) {_BARE}\S.{{2,60}} (?:in|for|on) (?:(?:all|every|any|new|public) [\w-]+|(?:the |our |all )?(?:docs|documentation|tests|"
        rf"commit messages|commits|error messages|log messages|comments|pr descriptions|pull requests|variable names|file names|branch names|production|type ?script|java ?script|python|go|rust)|"
        rf"(?:this|the) (?:repo|project|code ?base)|everything)$|^(?:use|write|prefer) {_BARE}\S.{2, 40} everywhere$",
        words_min=3,
    ),
    Rule(
        "convention",
        "project",
        rf"^{_WHEN}(?: [^,]{{3,80}})?, ?(?:please |always |you (?:must|should|have to|need to) |also |then |make sure to |don'?t |do not |never )*(?:{_VERBS}) (?!(?:it|that|"
        rf"them|this)\b).{{3,}}$",
        words_min=5,
    ),
    Rule(
        "convention",
        "project",
        rf"^(?:always |please |you (?:must|should|have to|need to) )?(?:run|use|call|execute|do) (?:{_PROGRAM}|the (?:linter|tests|formatter|type ?checker|full test suite)\b)[^,;]{{0,60}}? "
        rf"(?:before|after) {_EVENT}\b.*$",
        words_min=4,
    ),
    Rule(
        "convention",
        "project",
        rf"^(?:in this (?:repo|project|code ?base|team),? |here,? |internally,? )?we (?:only |always |never |strictly |exclusively |just |all |generally |mostly |usually |deliberately |do )*"
        rf"(?:use|write|prefer|run|follow|deploy|squash|rebase|target|support|format|lint|store|keep|pin|name|tag|merge|commit|ship|publish|"
        rf"test|log|document|indent|version|require|stick (?:to|with)|go with|host|avoid|generate|vendor|mock|raise|return|edit|touch|push|"
        rf"release|branch|import|build|validate) {_BARE}\S.*$",
    ),
    Rule(
        "convention",
        "project",
        rf"^we(?:'re| are) (?:now |all )?on [\w.+-]+ (?:{MASKED}|v?\d).*$|^we(?:'re| are| were)? (?:now )?using {_BARE}\S.{{1,60}} (?:in this (?:repo|project|code ?base)|everywhere|for everything|here|across the board)$"
        rf"|^we(?:'ve| have)? (?:all )?(?:recently |just )?(?:switched|moved|migrated|standardi[sz]ed|settled|agreed) (?:over )?(?:from {_BARE}\S+ )?(?:to|on) (?:using )?{_BARE}\S.*$"
        rf"|^we(?:'ve| have)? decided (?:to (?:use|go with|drop|stick (?:to|with)|avoid|keep)|against) {_BARE}\S.*$",
    ),
    Rule(
        "convention",
        "project",
        rf"^{_SUBJECT} (?:always |only |all )?(?:uses?|requires?|targets?|supports?|follows?|(?:is|are) (?:written|built|implemented|deployed|hosted|generated|stored|"
        rf"published|versioned|managed|done|run|made) (?:in|with|on|by|from|via|using|to|through)|runs? on|listens? on|deploys? to|depends? on) (?!(?:a lot|too|way|\d+ ?%|"
        rf"more|up|fixing|work|to be|some|it|this|that|these|those|the (?:same|wrong|old)|my|your|you|me|updating|help|love|attention|another|cleanup)\b).+$",
        words_min=4,
    ),
    Rule(
        "convention",
        "project",
        rf"^(?:all |the |our |new |every |shared )*(?!(?:it|that|this|they|he|she|there|what|where|who|we|i|you)\b){_NOUN} (?:must |should |always )?(?:live|lives|go|goes|belong|belongs|are kept|is kept|are stored|is stored) "
        rf"(?:in|into|under|at|inside|next to|beside) (?:the )?{MASKED}.*$",
        words_min=4,
    ),
    Rule(
        "convention",
        "project",
        rf"^(?:and |so |please |you should |we )?(?:{_DONT}|do ?nt) (?:use|log|store|expose|print|wrap|edit|modify|touch|change|commit|push|add|write|create|put|import|mock|hard-?code|install|"
        rf"delete|format|swallow|catch|mention|include|rename|rewrite|abbreviate|reformat|bump|vendor|cast|throw|disable|skip|nest|mutate|share|"
        rf"squash|amend|force[- ]push|rebase|upgrade|break) {_BARE}(?P<object>\S.*)$",
    ),
    Rule(
        "convention",
        "project",
        r"^(?:please |and )?no (?:emojis?|semicolons|comments(?= (?:in|please))|default exports|barrel files|wildcard imports|relative imports|force[- ]push(?:es|ing)?|merge commits|"
        r"abbreviations|magic numbers|global state|globals|singletons|trailing whitespace|tabs|inline styles|any types|print statements|"
        r"console logs?|new dependencies|mocks|co-authored-by(?: lines| trailers)?|"
        + MASKED
        + r"+)(?: (?:please|in|inside|for|without|anywhere|ever|or|and)\b(?! (?:this|that)\b).*)?$",
        words_min=2,
    ),
)

_OPENERS: Final = (
    r"^(?:(?:(?:no|yes|ok|oh|hey)[, ]+(?:man|dude|bro|mate)|ok(?:ay)?|k|so|and|but|also|oh|ah|uh|um|hmm+|hm|hey|hi|hello|btw|fyi|psa|ffs|omf?g|wtf|jesus|christ|(?:my )?dude|bro|please|pls|plz|kindly|"
    r"yes|yeah|yep|yup|alright|all right|actually|seriously|honestly|basically|again|man|mate|"
    r"(?:oh )?(?:for (?:fuck|god|christ|heaven)'?s? sake)|(?:fucking|bloody|god) ?(?:hell|damn ?it)|damn(?: ?it)?|by the way|as i (?:already )?(?:said|told you)|"
    r"like i (?:already )?(?:said|told you)|i (?:have )?(?:already |just |literally )?(?:said|told you)(?: (?:to|that|before|already|twice|a (?:hundred|thousand) times|many times))*|"
    r"one more thing|one thing|quick (?:note|reminder)|reminder|note(?=[:,])|important(?: note)?|heads[- ]up|correction|"
    r"can you please(?= (?:always|never|stop)\b)|you need to know that|you should know(?: that)?|it'?s important (?:that|to)|you know)\b[\s,:;.!–—-]+"
    r"|(?:no|nope|nah|no no|wrong|not quite|incorrect|well|look|listen|right|great|good|nice|cool|perfect|thanks|thank you|thx|sorry|sure|fuck|shit|hell|stop|wait|"
    r"that'?s (?:wrong|not right|incorrect|not it|not how we do (?:it|things)(?: here)?)|you'?re wrong|claude|pi|codex|agent|buddy|friend|everyone|team|"
    r"(?:great|good|nice|thanks|cool|perfect|ok)[\w ]{0,20})\s?[,:;.!–—-]+\s*)"
)

ENGLISH: Final = Language(
    code="en",
    rules=_RULES,
    refusals=REFUSALS,
    openers=_OPENERS,
    corrects=r"^(?:no|nope|nah|no no|wrong|not quite|incorrect|that'?s (?:wrong|not right|incorrect|not it|not how)|you'?re wrong|actually|"
    r"correction|i (?:already |just |literally )?(?:said|told you)|like i (?:already )?said|as i (?:already )?(?:said|told you))\b",
    closers=r"(?:,? (?:please|pls|plz|thanks|thank you|thx|ok|okay|dude|bro|man|ffs|will you|got it|understood|alright))+$",
    vague=r"^(?:(?:please|you|we|must|should|always|never|only|just|do|don'?t|do not|ever|from now on,?|going forward,?|in (?:the )?future,?|"
    r"i (?:always |never )?(?:want|like|prefer|hate|use)) )*(?:\w+ )?(?:it|this|that|these|those|them|so|him|her|something|anything|everything|stuff|things|"
    r"again|(?:the )?same|one|ones|like (?:it|this|that))\b(?! (?:when(?:ever)? you|repo|project|code ?base|monorepo|package|workspace|team|company|app|"
    r"service|machine|computer|library|product)\b)|^(?:it|that|this|these|those|they|he|she|there)(?:'s|'re|'ll)? (?!repo|project|code|monorepo|"
    r"package|workspace|team|company|app|service|machine|computer|library|product|way)|^(?:always|never)\W*$|"
    r"^(?:(?:how|what|why|who|where|last|yesterday|me)\b|the (?:last|first|previous|other) )",
    agent=r"\b(?:answer|respond|reply|explain|explaining|apologi\w+|summar\w+|ask|asking|confirm|speak|talk|tell me|be (?:concise|brief|terse|direct|"
    r"honest|polite)|emojis?|repl(?:y|ies)|responses?|answers?|chat|sound|greet|mention yourself|guess|guessing|invent|small talk|your (?:answers|plan))\b",
    retracts=r"^(?:(?:actually|oh|ah|ok|no|hmm|sorry|wait|well)\W+)*(?:never ?mind(?: (?:that|this|me|it))?|nvm|nevermind|scratch that|forget (?:it|that|this|about (?:it|that)|what i said)|"
    r"ignore (?:that|this|what i said|my last message)|(?:just )?kidding|jk|strike that|i take (?:that|it) back|disregard (?:that|this)|"
    r"(?:just )?(?:for now|this time|for today|this once|only this once|until the release)|not really|lol no|"
    r"(?:that )?was (?:a )?(?:joke|joking|kidding))\b.{0,24}$",
    durable=rf"^(?:{_LASTING}|always|please|we|you (?:must|should))\b[,:]? ?|[ ,]+{_LASTING}$",
    list_lead=rf"{_LASTING}|\bremember\b|\b(?:rules|conventions|guidelines|preferences)\b|\balways\b|\bin this (?:repo|project|code ?base)\b|\bkeep in mind\b",
    suggests=rf"^(?:(?:no|ok|hm+|then|maybe)[,.]? )?(?:just )?(?:try|run|use|do)(?: it with)? (?P<command>{_PROGRAM}[^,;]{{0,80}}?)(?: instead)?$",
    confirms=r"\b(?:that|this|it|which)(?:'s)? (?:works?|worked|did it|does it|is it|was it)\b.*\b(?:from now on|always|in (?:the )?future|going forward|remember (?:that|this|it)|every time|next time)\b",
    confirmed="Use {} from now on.",
    abbreviations=frozenset(
        {
            "e.g.",
            "i.e.",
            "etc.",
            "vs.",
            "cf.",
            "approx.",
            "mr.",
            "mrs.",
            "ms.",
            "dr.",
            "incl.",
            "resp.",
            "no.",
            "fig.",
            "st.",
            "aka.",
            "inc.",
            "ltd.",
            "ca.",
            "max.",
            "min.",
        }
    ),
)
