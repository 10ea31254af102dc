"""Cards, one-time seeds, recovery codes and combinations are found; look-alikes stay (E-03)."""

from __future__ import annotations

import secrets
import string
import time
from collections.abc import Callable

import pytest

from perdure.core.secret_numbers import find_numbers
from perdure.core.secrets import KINDS, find_secrets, redact
from perdure.core.text import check_entry_text
from perdure.errors import TextRefused

BASE32 = string.ascii_uppercase + "234567"


def digits(count: int) -> str:
    """Random digits, the first not zero."""
    return str(secrets.randbelow(9 * 10 ** (count - 1)) + 10 ** (count - 1))


def checked(start: str, length: int, *, off_by: int = 0) -> str:
    """A card number with its check digit, or with another one."""
    body = start + digits(length - len(start) - 1)
    doubled = [int(digit) * (2 - place % 2) for place, digit in enumerate(reversed(body))]
    total = sum(value - 9 if value > 9 else value for value in doubled)
    return body + str((-total + off_by) % 10)


def grouped(number: str, sizes: tuple[int, ...], between: str) -> str:
    """Write a number in groups."""
    parts, at = [], 0
    for size in sizes:
        parts.append(number[at : at + size])
        at += size
    return between.join(parts)


def seed(length: int = 32) -> str:
    """A seed of one-time passwords, with a digit."""
    return "".join(secrets.choice(BASE32) for _ in range(length - 2)) + "Q7"


def gone(text: str, *hidden: str) -> bool:
    """Whether nothing of what was hidden is left, and looking again finds nothing."""
    left, kinds = redact(text)
    assert set(kinds) <= KINDS
    assert redact(left) == (left, ())
    return not any(one in left for one in hidden)


@pytest.mark.requirement("E-03", "M-10")
@pytest.mark.parametrize(
    ("start", "length", "sizes"),
    [
        ("4", 16, (4, 4, 4, 4)),
        ("53", 16, (4, 4, 4, 4)),
        ("2300", 16, (4, 4, 4, 4)),
        ("37", 15, (4, 6, 5)),
        ("6011", 16, (4, 4, 4, 4)),
        ("305", 14, (4, 6, 4)),
    ],
)
def test_a_payment_card_is_found_however_it_is_written(
    start: str, length: int, sizes: tuple[int, ...]
) -> None:
    """Unbroken, in groups, in a sentence and among other numbers; no group of it is left."""
    number = checked(start, length)
    last = number[-sizes[-1] :]
    for between in (" ", "-", ".", "\u2011"):
        shown = grouped(number, sizes, between)
        assert gone(f"Use {shown} 12/29 for the order.", shown, last)
        assert gone(f"5 {shown}", shown)
    assert gone(f"my card is {number}, exp 12/29", number)
    assert gone(f"Karte:{number}", number)
    with pytest.raises(TextRefused):
        check_entry_text(f"Pay with the card {number}.")


@pytest.mark.requirement("E-03")
def test_a_cvv_goes_with_its_card() -> None:
    """The three digits on the back are a secret of their own."""
    assert gone("cvv 731, expires 12/29", "731")
    assert gone("CVC: 7314", "7314")


@pytest.mark.requirement("E-03", "M-10")
@pytest.mark.parametrize(
    "said",
    [
        "My TOTP seed is {}",
        "2FA: {}",
        "otp seed {}",
        "{} is my 2FA seed",
        "TOTP_SEED={}",
        "the authenticator setup key:\n{}",
        "Google Authenticator: {}",
    ],
)
def test_a_seed_of_one_time_passwords_is_found(said: str) -> None:
    """Base 32 beside the words for it: unbroken, in fours, in small letters."""
    for value in (
        seed(16),
        seed(32),
        grouped(seed(32).lower(), (4,) * 8, " "),
        grouped(seed(), (4,) * 8, "-"),
    ):
        assert gone(said.format(value), value), (said, value)


@pytest.mark.requirement("E-03", "M-10")
@pytest.mark.parametrize(
    "said",
    [
        "GitHub recovery codes: {}, {} and {}",
        "backup codes are {} {} {}",
        "backup codes:\n1. {}\n2. {}\n3. {}",
        "2FA backup codes:\n- {}\n- {}\n- {}",
        "Die Wiederherstellungscodes lauten {}, {}, {}",
        "códigos de recuperación: {}, {}, {}",
        "バックアップコード: {} {} {}",
    ],
)
def test_every_code_of_a_list_is_found(said: str) -> None:
    """All codes that follow the words, in their usual shapes."""
    shapes: tuple[Callable[[], str], ...] = (
        lambda: digits(8),
        lambda: f"{digits(4)}-{digits(4)}",
        lambda: f"{secrets.token_hex(2)}7-{secrets.token_hex(2)}a",
        lambda: f"{secrets.token_hex(4)}a7",
    )
    for shape in shapes:
        codes = [shape() for _ in range(3)]
        assert gone(said.format(*codes), *codes), (said, codes)


@pytest.mark.requirement("E-03", "M-10")
@pytest.mark.parametrize(
    "said",
    [
        "The safe combination is {}.",
        "The combination to the office safe is {}",
        "safe code {}",
        "the door code is {}#",
        "alarm code: {}",
        "{} is the door code",
        "PIN for the vault is {}",
        "PIN {}",
        "pin code {}.",
        "Der Tresorcode lautet {}",
        "the code for the safe is {}",
    ],
)
def test_a_combination_is_found(said: str) -> None:
    """A number that opens a safe, a door or an alarm, said in either order."""
    number = digits(6)
    assert gone(said.format(number), number)


@pytest.mark.requirement("E-03")
def test_the_numbers_of_a_dial_are_found() -> None:
    """A combination of several numbers is one secret."""
    for said in ("The safe combination is {}.", "combination: {}", "The combination of the safe is {}"):
        assert gone(said.format("12-34-56"), "12-34", "34-56")


@pytest.mark.requirement("E-03")
@pytest.mark.parametrize(
    "text",
    [
        "epoch 1780000000000 ms, id 1180000000000000000",
        "build 20261130 ran on 2026-11-30 17:28:02",
        "The random seed is 1234567; SEED=42",
        "seed the database with 2000 users",
        "the totp module TOTPVALIDATORSERVICE",
        "Recovery codes are stored as sha-256 hashes.",
        "We print 10 backup codes.",
        "2fa codes are six digits long and mfa codes expire after 30 seconds",
        "the recovery code path was refactored in 2024",
        "Backup keys are rotated in 2026-11",
        "memory-safe code is 2000 lines",
        "safe code review takes 30 minutes",
        "The door service returns code 500",
        "exit code 137, error code 404",
        "Pin node to 18.2.0; GPIO pin 12 for the alarm",
        "the vault number of entries is 1200",
        "uuid 4f8a2c9d-1234-4321-8888-123456789012",
        "phone +49 170 1234567 89",
        "alarm code path in line 1204",
    ],
)
def test_other_numbers_stay(text: str) -> None:
    """Times, ids, versions, counts and what is said about codes are no secrets."""
    assert redact(text) == (text, ())


@pytest.mark.requirement("E-03")
def test_an_order_number_stays() -> None:
    """A number without the check digit is no card; nor is one that is called something else."""
    for _ in range(20):
        wrong = checked("4", 16, off_by=1 + secrets.randbelow(9))
        assert redact(f"see {wrong} there") == (f"see {wrong} there", ())
        order = checked("4", 16)
        assert redact(f"order {order} has shipped") == (f"order {order} has shipped", ())


@pytest.mark.requirement("E-03")
@pytest.mark.parametrize(
    "flood",
    ["1 2 3 4 ", "4", "4111 1111 1111 1112 ", "backup codes ", "safe code ", "code for for the door ",
     "totp seed ", "PIN for ", "backup codes a1-ab1-"],
)  # fmt: skip
def test_a_flood_takes_linear_time(flood: str) -> None:
    """Text made to be slow is looked through in less than a second for 60,000 characters."""
    text = (flood * 60_000)[:60_000]
    begun = time.process_time()
    list(find_numbers(text, text.lower()))
    assert time.process_time() - begun < 1.0
    assert isinstance(find_secrets(text[:2_000]), tuple)


@pytest.mark.requirement("E-03")
@pytest.mark.parametrize("filler", ["A" * 16, "2345" * 6])
def test_a_filler_in_a_seed_s_place_is_no_seed(filler: str) -> None:
    """Few different characters, or digits alone, stand for a seed and are none."""
    text = f"TOTP seed {filler}"
    assert redact(text) == (text, ())


@pytest.mark.requirement("E-03")
def test_a_long_list_of_recovery_codes_goes_whole() -> None:
    """However many codes follow the words, each beside the one before."""
    codes = [f"{digits(4)}-{digits(4)}" for _ in range(100)]
    assert gone(f"recovery codes: {' '.join(codes)}", *codes)
