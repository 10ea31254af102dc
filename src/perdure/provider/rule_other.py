"""Tables of languages of which the reviewer only knows "remember: ...".

Each is one row; a language grows into a table of its own when somebody who speaks it writes one.
"""

from __future__ import annotations

from typing import Final

from perdure.provider.rule_language import Language, Rule


def _row(code: str, remember: str, *refusals: str) -> Language:
    """A language by its "remember" (a pattern up to the statement) and words that refuse."""
    rule = Rule("explicit", "project", rf"^(?:{remember})\s*(?P<body>.+)$", "high", 3)
    return Language(code=code, rules=(rule,), refusals=(r"[?？]\s*$", *refusals))


OTHERS: Final[tuple[Language, ...]] = (
    _row(
        "zh",
        r"(?:请|請)?(?:务必|一定要)?(?:记住|記住|记得|記得|牢记)[:：,，]",
        r"暂时|暫時|目前|今天|这次|這次|如果|假如|也许|可能|吗|嗎|不要记|别记|不用记",
    ),
    _row(
        "ja",
        r"(?:これを|次のことを)?(?:覚えておいて(?:ください)?|覚えて(?:ください)?|記憶して(?:ください)?)[:：、,]",
        r"今は|今回|今日|とりあえず|もし|たぶん|かも|ですか",
    ),
    _row(
        "ko",
        r"(?:이것을 |이걸 )?기억(?:해(?:줘|주세요|라)?|하세요)[:：,]",
        r"지금은|이번|오늘|일단|만약|아마",
    ),
    _row(
        "ru",
        r"(?:пожалуйста,? )?(?:запомни(?:те)?|имей(?:те)? в виду|не забывай(?:те)?)(?:[:,–—-]| ?, что)(?: ?что)?",
        r"\b(?:пока|сейчас|сегодня|в этот раз|временно|если|может быть|наверное|возможно|не запоминай|забудь)\b",
    ),
    _row(
        "uk",
        r"(?:будь ласка,? )?(?:запам'ятай(?:те)?|май(?:те)? на увазі)(?:[:,–—-])(?: ?що)?",
        r"\b(?:поки|зараз|сьогодні|якщо|можливо|мабуть|тимчасово)\b",
    ),
    _row(
        "it",
        r"(?:per favore,? )?(?:ricorda(?:ti)?|tieni a mente|non dimenticare)(?: che|[:,])",
        r"\b(?:per ora|adesso|oggi|questa volta|se|forse|magari|ancora)\b",
    ),
    _row(
        "pt",
        r"(?:por favor,? )?(?:lembre-se|lembra-te|lembre|lembra|tenha em mente|não (?:se )?esqueças?)(?: de)?(?: que|[:,])",
        r"\b(?:por enquanto|agora|hoje|desta vez|se|talvez|ainda)\b",
    ),
    _row(
        "nl",
        r"(?:alsjeblieft,? )?(?:onthoud|vergeet niet)(?: dat|[:,])",
        r"\b(?:voorlopig|nu|vandaag|deze keer|als|misschien|nog)\b",
    ),
    _row(
        "pl",
        r"(?:proszę,? )?(?:zapamiętaj|pamiętaj)(?:,? że|[:,])",
        r"\b(?:na razie|teraz|dzisiaj|dziś|tym razem|jeśli|może|jeszcze)\b",
    ),
)
