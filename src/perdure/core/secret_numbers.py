# ruff: noqa: E501 - a pattern is one piece
"""Secrets that are numbers or codes and show by their surroundings (E-03).

Payment cards (a known issuer and the check digit), seeds of one-time passwords, lists of recovery codes,
and the combinations and codes of safes, doors and alarms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from perdure.core.secret_values import is_hexlike, is_wordlike, looks_random

KINDS = frozenset({"payment-card", "otp-seed", "recovery-code", "pin"})
"""What these findings are called."""

Span = tuple[int, int, str]  # start and end, kind

_CARD = re.compile(r"(?<![\w.+])(?<!\w-)(?=([2-6](?:[ .\u2010-\u2015-]{0,2}\d){12,18}))")
_DIGITS = re.compile(r"\d+")
_CARD_WORDS = re.compile(
    r"\b(?:cards?|cc|visa|master ?card|amex|american express|discover|diners|jcb|unionpay|maestro|credit|debit|pan"
    r"|(?:kredit|debit|bank|giro)?karten?(?:nummer)?|carte|tarjeta|cart[aã]o|carta di credito|карт[аыу]\w{0,3})\b|卡号|信用卡|カード|카드"
)
_OTHER_NUMBERS = re.compile(
    r"\b(?:orders?|invoices?|tickets?|tracking|parcels?|shipments?|timestamps?|epoch|ids?|build|run|job|trace|span|request|message|issue"
    r"|isbn|ean|imei|iccid|serial|snowflake|bestellung|rechnung|commande|factura|pedido)\b[^\n]{0,16}\Z"
)
_CARD_REACH = 60
_GROUPS_MAX = 8
_CARD_DIGITS_MIN, _CARD_DIGITS_MAX = 13, 19
_USUAL = ((4, 4, 4, 4), (4, 6, 5), (4, 6, 4), (4, 4, 4, 4, 3), (4, 4, 4, 1))
_ISSUERS = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d{2}|7[01]\d|720)\d{12}|3[47]\d{13}"
    r"|3(?:0[0-5]|[689]\d)\d{11}|35(?:2[89]|[3-8]\d)\d{12}|6(?:011|5\d{2}|4[4-9]\d)\d{12}|62\d{14,17}"
)
_MAESTRO = re.compile(r"(?:5[06-9]|6\d)\d{11,17}|220[0-4]\d{12}")

_BASE32 = re.compile(
    r"(?<![\w/+-])(?:[A-Z2-7]{16,128}={0,6}|[a-z2-7]{16,128}={0,6}"
    r"|[A-Z2-7]{4}(?:[ -][A-Z2-7]{4}){3,31}|[a-z2-7]{4}(?:[ -][a-z2-7]{4}){3,31})(?![\w/+])"
)
_OTP_WORDS = re.compile(
    r"(?<![a-z])(?:t?otp|hotp|2fa|mfa|otpauth|authenticator|authy|two[- ]factor|two[- ]step|2[- ]step|multi[- ]factor|seeds?"
    r"|setup key|zwei[- ]?faktor|double authentification|verificaci[oó]n en dos|двухфактор\w{0,8})(?![a-z])|验证器|二段階|两步验证"
)
_SEED_TOLD = re.compile(r"(?:[:=]|\b(?:is|ist|est|es))\s{0,3}[\"'`]?\Z")
_OTP_REACH_BEFORE, _OTP_REACH_AFTER = 64, 40

_RECOVERY = re.compile(
    r"(?:recovery|back-?up|scratch|emergency|rescue|bypass|one-time|single-use)[ _-](?:login |access |sign-in |2fa )?(?:codes?|keys?)"
    r"|(?:2fa|mfa|otp)[ _-](?:recovery |backup )?codes?"
    r"|(?:wiederherstellungs|notfall|ersatz|backup-?|sicherungs)-?(?:codes?|schlüssel)|codes? de (?:secours|récupération|secour|sauvegarde)"
    r"|c[oó]digos? de (?:recuperaci[oó]n|respaldo|seguridad|recupera[cç][aã]o|backup)|codic[ei] di (?:backup|recupero|emergenza)"
    r"|резервны[ей] коды?|коды? восстановления|恢复代码|恢复码|备用代码|備用碼|バックアップコード|リカバリーコード|복구 코드|백업 코드"
)
_CODE = re.compile(
    r"(?<![\w-])(?:\d{6,12}|\d{3,6}(?:[ -]\d{3,6}){1,7}|(?=[a-z-]*\d)[a-z0-9]{3,12}(?:-[a-z0-9]{3,12}){1,9}"
    r"|(?=[a-z]*\d)(?=\d*[a-z])[a-z0-9]{8,32})(?![\w-])"
)
_NEXT_CODE = re.compile(r"[\s,;|/&\"'`•*·()\[\]-]{1,12}(?:(?:and|und|et|y|e|и|or)\s)?(?:\d{1,2}[.)]\s{1,3})?")
_TOLD = re.compile(
    r"[^\n.!?;]{0,40}?(?:[:：=]|\b(?:is|are|ist|sind|lautet|lauten|est|sont|es|son|é|è|são|sono|это)\b)[:\s\"'`*•\[-]{0,8}(?:\d{1,2}[.)]\s{1,3})?"
)
_BESIDE = re.compile(r"[\s\"'`(\[]{1,4}")
_CODE_REACH = 64
_SENTENCE_END = re.compile(r"[.!?](?:\s|\Z)")

_PLACE = (
    r"(?:(?:gun |wall |hotel |office |home )?safe|vault|locker|padlock|bike lock|door lock|lock ?box|key ?box|door|front door|gate|garage|alarm|keypad|entry|burglar alarm"
    r"|tresor|safe|türschloss|haustür|alarmanlage|coffre(?:-fort)?|porte|alarme|caja fuerte|puerta|alarma|cassaforte|cofre|сейф\w{0,2})"
)
_WHAT = r"(?:combination|combo|codes?|pin(?: code| number)?|kombination|zahlenkombination|combinaison|combinaci[oó]n|combinazione|c[oó]digo|senha|code|код|комбинация)"
_NUMBER = r"(\d{1,3}(?:[ ]?[-–/,][ ]?\d{1,3}|[ ]\d{1,3}){2,6}|\d{3,12})(?!\d|[.,:/-]\d|\w|\s?(?:lines?|loc|ms|bytes?|kb|mb|files?|tests?|times|seconds?|minutes?|errors?|%|zeilen))"
_IS = r"(?:\s{0,2}(?:is|was|are|to|now|ist|lautet|est|es|é|è|это|[:=：#])){0,3}\s{0,2}[\"'`]?"
_COMBINATION = re.compile(
    rf"(?<![\w-])(?:{_PLACE}(?:'s)?[: -]{{1,2}}{_WHAT}"
    r"|(?:tresor|safe|tür|haustür|alarm)-?(?:code|kombination|pin|nummer)"
    rf"|{_WHAT}(?: (?:of|for|to|on|du|de|de la|del|della|do|da|für|für den|vom|zum|des|от)){{1,2}}(?: (?:the|our|my|his|her|their|la|le|den|die|das|unseren?))?(?: \w{{2,12}})? {_PLACE})"
    rf"(?: (?:at|in|for|on|of) [^\n.;:=\d]{{1,24}}?)?{_IS}{_NUMBER}"
)
_COMBINATION_BEFORE = re.compile(
    rf"(?<![\w.:/-]){_NUMBER}[\"'`]? (?:is|was|opens|unlocks|ist|est|es)(?: (?:the|our|my|der|die|le|la|el))? {_PLACE}(?:'s)?(?:[ -]{_WHAT})?\b"
)
_CALLED_COMBINATION = re.compile(
    rf"(?<![\w-])(?:combination|zahlenkombination){_IS}(\d{{1,2}}(?:[ ]?-[ ]?\d{{1,2}}){{2,4}})(?![\w-])"
)
_PIN = re.compile(
    r"(?<![\w-])(?:PIN|Pin code|pin code|PIN code|PIN number|pin number|CVV2?|CVC2?|cvv2?|cvc2?)(?: (?:for|of|to) [^\n.;:=\d]{1,40}?)?"
    r"(?:\s{0,2}(?:is|was|to|[:=#])){0,2}\s{0,2}[\"'`]?(\d{3,8})(?=[\"'`)]{0,2}\s{0,2}(?:[,;!?\n]|\.(?!\d)|$|and\b|for\b|on\b|to\b))"
)


def find_numbers(text: str, lower: str) -> Iterator[Span]:
    """Give the spans of numbers and codes that are secrets. `lower` is the lower-cased text, as long."""
    yield from _cards(text, lower)
    yield from _seeds(text, lower)
    for word in _RECOVERY.finditer(lower):
        yield from _codes(lower, word.end())
    for pattern, where in (
        (_COMBINATION, lower),
        (_COMBINATION_BEFORE, lower),
        (_CALLED_COMBINATION, lower),
        (_PIN, text),
    ):
        yield from ((*match.span(1), "pin") for match in pattern.finditer(where))


def _cards(text: str, lower: str) -> Iterator[Span]:
    done = 0
    for match in _CARD.finditer(text):
        start, last = match.span(1)
        if start < done:
            continue
        pieces = _DIGITS.finditer(text, start, _whole_digits(text, last))
        groups = [found.span() for found in islice(pieces, _GROUPS_MAX)]
        if sum(end - first for first, end in groups) < _CARD_DIGITS_MIN:
            continue
        for count in range(len(groups), 0, -1):
            digits = [text[slice(*group)] for group in groups[:count]]
            end = groups[count - 1][1]
            if _is_card(digits, lower, (start, end)):
                done = end
                yield start, end, "payment-card"
                break


def _whole_digits(text: str, at: int) -> int:
    """Give where the run of digits that goes on at a place ends, as far as a card number could."""
    end = at
    while end < len(text) and end - at <= _CARD_DIGITS_MAX and text[end].isdecimal():
        end += 1
    return end


def _is_card(groups: list[str], lower: str, span: tuple[int, int]) -> bool:
    """Say whether groups of digits are a card's: an issuer, the check digit, and the form or the words."""
    number, sizes = "".join(groups), tuple(map(len, groups))
    if not number.isascii() or not _CARD_DIGITS_MIN <= len(number) <= _CARD_DIGITS_MAX:
        return False
    if len(set(number)) == 1 or not _passes_check(number) or lower[span[1] : span[1] + 1].isalnum():
        return False
    before, after = lower[max(0, span[0] - _CARD_REACH) : span[0]], lower[span[1] : span[1] + _CARD_REACH]
    told = _CARD_WORDS.search(before) is not None or _CARD_WORDS.search(after) is not None
    if told:
        return (_ISSUERS.fullmatch(number) or _MAESTRO.fullmatch(number)) is not None
    if _ISSUERS.fullmatch(number) is None or _OTHER_NUMBERS.search(before):
        return False
    return sizes in _USUAL or sizes in {(15,), (16,)}


def _passes_check(number: str) -> bool:
    """Luhn: every second digit from the right doubled, the digits of all summed, a multiple of ten."""
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(number)))
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0  # noqa: PLR2004 - one digit


def _seeds(text: str, lower: str) -> Iterator[Span]:
    for match in _BASE32.finditer(text):
        start, end = match.span()
        before, after = lower[max(0, start - _OTP_REACH_BEFORE) : start], lower[end : end + _OTP_REACH_AFTER]
        near = _OTP_WORDS.search(before.rsplit("\n\n", 1)[-1]) or _OTP_WORDS.search(after.split("\n", 1)[0])
        if near is not None and _is_seed(match.group(), told=_SEED_TOLD.search(before) is not None):
            yield start, end, "otp-seed"


def _is_seed(value: str, *, told: bool) -> bool:
    """Say whether base 32 is no plain text: digits among the letters, or capitals that are said to be it."""
    plain = value.rstrip("=").replace(" ", "").replace("-", "")
    if plain.isdecimal() or len(set(plain)) < 5:  # noqa: PLR2004 - a filler
        return False
    digits = sum(char.isdecimal() for char in plain)
    if plain.isupper() and plain == value.rstrip("="):
        return digits > 0 or told
    return digits > 0 and (looks_random(plain, 16) or is_hexlike(plain.upper()))


def _codes(lower: str, at: int) -> Iterator[Span]:
    """Give the codes that follow the words for them: a list, each beside the one before."""
    told = _TOLD.match(lower, at) or _BESIDE.match(lower, at)
    first = _CODE.match(lower, told.end()) if told is not None else None
    sure = first is not None
    if first is None:
        end = _SENTENCE_END.search(lower, at, at + _CODE_REACH)
        first = _CODE.search(lower, at, min(len(lower), at + _CODE_REACH) if end is None else end.start() + 1)
    if first is None or (not sure and (first.group().isdecimal() or is_wordlike(first.group()))):
        return
    code: re.Match[str] | None = first
    while code is not None:
        yield *code.span(), "recovery-code"
        between = _NEXT_CODE.match(lower, code.end())
        code = _CODE.match(lower, between.end()) if between is not None else None
