"""Model providers over a real socket: one request an attempt, and the right end for every fault."""

from __future__ import annotations

import json
import logging
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.core.evidence import EvidenceLine
from perdure.ports.provider import Answered, Failed, Lost, Reply, ReviewRequest, Usage
from perdure.provider.anthropic import AnthropicProvider
from perdure.provider.gemini import GeminiProvider
from perdure.provider.http import BODY_BYTES_MAX, Broken, NotSent, Post, Received, post
from perdure.provider.model import ANSWER_BYTES_MAX, ModelProvider
from perdure.provider.openai_chat import OpenAIChatProvider
from perdure.provider.prices import Price
from tests.loopback import Answer, LoopbackServer, ok

KEY = secrets.token_urlsafe(24)
WORD = secrets.token_hex(8)
REQUEST = ReviewRequest("a" * 32, (EvidenceLine("e1", "user", f"Use tabs. {WORD}"),), (), 100, 8, None)
PRICE = Price(Decimal(1), Decimal(2))
NOTHING = Usage(0, 0, 0)
PATIENCE_SECONDS = 20.0
HASTE_SECONDS = 0.4

Make = Callable[[str], ModelProvider]
KINDS: dict[str, Make] = {
    "anthropic": lambda url: AnthropicProvider(model="m", credential=lambda: KEY, base_url=url, price=PRICE),
    "openai": lambda url: OpenAIChatProvider(
        model="m", credential=lambda: KEY, base_url=url + "/v1", price=PRICE
    ),
    "gemini": lambda url: GeminiProvider(model="m", credential=lambda: KEY, base_url=url, price=PRICE),
}


def document(kind: str, text: str = '{"operations":[]}', *, usage: bool = True, ending: str = "") -> object:
    """Make a whole answer of one kind; `ending` replaces the usual reason for stopping."""
    documents: dict[str, dict[str, object]] = {
        "anthropic": {
            "content": [{"type": "text", "text": text}],
            "stop_reason": ending or "end_turn",
            "usage": {"input_tokens": 100, "output_tokens": 10},
        },
        "openai": {
            "choices": [{"message": {"content": text}, "finish_reason": ending or "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10},
        },
        "gemini": {
            "candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": ending or "STOP"}],
            "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 10},
        },
    }
    found = documents[kind]
    if not usage:
        found.pop("usage", None)
        found.pop("usageMetadata", None)
    return found


@pytest.fixture(params=sorted(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    """Run the test for every kind of provider."""
    return str(request.param)


def call(kind: str, *script: Answer, seconds: float = PATIENCE_SECONDS) -> Reply:
    """Review once against a scripted server, and see that exactly one request went out (A-04)."""
    with LoopbackServer(script) as server:
        reply = KINDS[kind](server.url).review(REQUEST, timeout_seconds=seconds)
        assert len(server.requests) == 1
        assert server.connections == 1
    return reply


def whole(kind: str) -> Answer:
    """Answer as the provider does when all is well."""
    return ok(document(kind))


@pytest.mark.requirement("A-04")
def test_an_answer_comes_with_its_usage_and_cost(kind: str) -> None:
    """A complete response is an answer; cost is by the price, in nano-dollars."""
    reply = call(kind, whole(kind), whole(kind))
    assert reply == Answered('{"operations":[]}', Usage(100, 10, 100 * 1_000 + 10 * 2_000), None)


def test_the_request_carries_evidence_in_its_body_and_the_key_in_one_header(kind: str) -> None:
    """The server sees one POST with the prompt, a length, the key in a header, and nothing in the address."""
    with LoopbackServer([whole(kind)]) as server:
        KINDS[kind](server.url).review(REQUEST, timeout_seconds=PATIENCE_SECONDS)
        (sent,) = server.requests
    assert sent.method == "POST"
    assert WORD in json.dumps(sent.json())
    assert WORD not in sent.target + str(sent.headers)
    assert KEY not in sent.target
    assert [KEY in value for value in sent.headers.values()].count(True) == 1
    assert sent.headers["accept-encoding"] == "identity"
    assert "cookie" not in sent.headers


@pytest.mark.requirement("A-04")
@pytest.mark.requirement("Q-04")
@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, Failed("permanent", "http 400", NOTHING, None)),
        (401, Failed("configuration", "http 401", NOTHING, None)),
        (403, Failed("configuration", "http 403", NOTHING, None)),
        (429, Failed("availability", "http 429", NOTHING, 7)),
        (500, Failed("availability", "http 500", NOTHING, 7)),
        (502, Failed("availability", "http 502", None, 7)),
        (503, Failed("availability", "http 503", NOTHING, 7)),
        (529, Failed("availability", "http 529", NOTHING, 7)),
    ],
)
def test_an_error_response_is_one_request_and_one_class(kind: str, status: int, expected: Failed) -> None:
    """No error is retried by the client; its class comes from the status and its text is not kept."""
    error = Answer(
        status, b'{"error":{"message":"invalid key, overloaded, forbidden"}}', {"retry-after": "7"}
    )
    assert call(kind, error, whole(kind)) == expected


@pytest.mark.requirement("A-04")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(kind: str, status: int) -> None:
    """Evidence and key are not carried to where a response points."""
    with LoopbackServer([whole(kind)]) as elsewhere:
        redirect = Answer(status, headers={"location": f"{elsewhere.url}/v1/messages"})
        reply = call(kind, redirect, whole(kind))
        assert reply == Failed("configuration", f"http {status}", NOTHING, None)
        assert elsewhere.connections == 0


@pytest.mark.requirement("A-04")
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Answer(wait_seconds=60), id="silent"),
        pytest.param(Answer(body=b"{}" * 500, trickle_seconds=0.05), id="trickling"),
        pytest.param(
            Answer(raw=b"HTTP/1.1 100 Continue\r\n\r\n" * 300, trickle_seconds=0.01), id="provisional"
        ),
    ],
)
def test_the_deadline_is_for_the_whole_call(kind: str, answer: Answer) -> None:
    """A server that is silent, or that sends a byte now and then, costs the deadline and the call is lost."""
    started = time.monotonic()
    assert call(kind, answer, whole(kind), seconds=HASTE_SECONDS) == Lost("timeout")
    assert HASTE_SECONDS <= time.monotonic() - started < HASTE_SECONDS + 2


def wait_for_calls_to_end(seconds: float) -> bool:
    """Wait until no call's thread is left; say whether that came true in time."""
    end = time.monotonic() + seconds
    while any(thread.name == "provider-call" for thread in threading.enumerate()):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def test_a_call_that_was_given_up_leaves_nothing_running() -> None:
    """The connection of a lost call is closed at once, even if the server would go on for ever."""
    with LoopbackServer([Answer(body=b"{}" * 500, trickle_seconds=0.05)]) as server:
        reply = KINDS["openai"](server.url).review(REQUEST, timeout_seconds=HASTE_SECONDS)
        assert reply == Lost("timeout")
        assert wait_for_calls_to_end(5)


class Interrupted(Exception):
    """What the signal handler of the next test raises."""


def test_an_interrupted_caller_leaves_nothing_running() -> None:
    """A signal that ends the wait also ends the call: its connection is closed and nothing follows."""

    def interrupt(_number: int, _frame: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with LoopbackServer([Answer(wait_seconds=60)]) as server:
            signal.setitimer(signal.ITIMER_REAL, HASTE_SECONDS)
            with pytest.raises(Interrupted):
                KINDS["openai"](server.url).review(REQUEST, timeout_seconds=PATIENCE_SECONDS)
            assert wait_for_calls_to_end(5)
            assert len(server.requests) == 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.requirement("A-04")
@pytest.mark.requirement("A-07")
@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        pytest.param(Answer(body=b'{"content":[]}', cut_at=5), "cut stream", id="cut body"),
        pytest.param(Answer(body=b'{"content":[]}', cut_at=0), "cut stream", id="no body"),
        pytest.param(Answer(raw=b""), "cut stream", id="no response"),
        pytest.param(Answer(raw=b"HTTP/1.1 200"), "cut stream", id="cut head"),
        pytest.param(Answer(raw=b"\x15\x03\x01\x00\x02\x02\x46" * 9), "cut stream", id="not HTTP"),
        pytest.param(Answer(body=b'{"content":[', sized=False), "malformed body", id="cut without length"),
        pytest.param(Answer(body=b'{"content":[{"type"'), "malformed body", id="malformed JSON"),
        pytest.param(Answer(body=b""), "malformed body", id="empty"),
        pytest.param(Answer(204, sized=False), "malformed body", id="no content"),
        pytest.param(
            Answer(body=b"<html>Sign in to the hotel</html>", headers={"content-type": "text/html"}),
            "malformed body",
            id="captive portal",
        ),
        pytest.param(Answer(body=b" " * (BODY_BYTES_MAX + 1)), "oversized body", id="gigantic"),
        pytest.param(Answer(body=b"x", headers={"content-encoding": "gzip"}), "encoded body", id="encoded"),
    ],
)
def test_a_response_that_cannot_be_trusted_is_a_lost_call(kind: str, answer: Answer, detail: str) -> None:
    """The request went out and no whole answer is here: lost, whatever broke, and nothing is sent again."""
    assert call(kind, answer, whole(kind)) == Lost(detail)


def test_a_body_at_the_bound_is_read_and_a_long_answer_is_cut(kind: str) -> None:
    """The answer's text is bounded in bytes; its usage is kept, so the call is settled."""
    reply = call(kind, ok(document(kind, "ü" * (ANSWER_BYTES_MAX // 2 + 1))))
    assert isinstance(reply, Answered)
    assert len(reply.text.encode()) == ANSWER_BYTES_MAX
    assert reply.usage is not None


def test_the_content_type_does_not_matter_when_the_body_is_right(kind: str) -> None:
    """Some servers mislabel JSON; what was paid for is kept."""
    mislabelled = ok(document(kind), content_type="text/plain")
    assert isinstance(call(kind, mislabelled), Answered)


@pytest.mark.requirement("B-07")
def test_an_answer_without_usage_is_an_answer_with_unknown_cost(kind: str) -> None:
    """Usage that is not reported is None, not zero."""
    assert call(kind, ok(document(kind, usage=False))) == Answered('{"operations":[]}', None, None)


@pytest.mark.requirement("Q-04")
def test_a_refusal_is_permanent_and_charged(kind: str) -> None:
    """A refusal by policy will not change by asking again, and its tokens were used."""
    ending = {"anthropic": "refusal", "openai": "content_filter", "gemini": "SAFETY"}[kind]
    reply = call(kind, ok(document(kind, ending=ending)), whole(kind))
    assert reply == Failed("permanent", "refused", Usage(100, 10, 120_000), None)


@pytest.mark.requirement("Q-14")
def test_a_truncated_answer_is_handed_on_as_it_is(kind: str) -> None:
    """An answer that hit the output cap is an answer with usage; whether it is valid is judged later."""
    ending = {"anthropic": "max_tokens", "openai": "length", "gemini": "MAX_TOKENS"}[kind]
    reply = call(kind, ok(document(kind, '{"operations":[{"op"', ending=ending)), whole(kind))
    assert reply == Answered('{"operations":[{"op"', Usage(100, 10, 120_000), None)


@pytest.fixture
def closed_port() -> Iterator[int]:
    """Yield a port of this machine on which nobody listens, held so that nobody can begin to."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@pytest.mark.requirement("A-08")
def test_a_refused_connection_sent_nothing(kind: str, closed_port: int) -> None:
    """Nothing went out, so nothing was used: an availability failure with zero usage."""
    reply = KINDS[kind](f"http://127.0.0.1:{closed_port}").review(REQUEST, timeout_seconds=PATIENCE_SECONDS)
    assert reply == Failed("availability", "not connected", NOTHING, None)


def test_a_failed_handshake_sent_nothing(kind: str) -> None:
    """A server that does not speak TLS sees not one byte of the request."""
    with LoopbackServer([whole(kind)]) as server:
        secure = server.url.replace("http:", "https:")
        reply = KINDS[kind](secure).review(REQUEST, timeout_seconds=HASTE_SECONDS)
        assert reply == Failed("availability", "not connected", NOTHING, None)
        assert server.requests == ()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a certificate for 127.0.0.1 that nobody has signed, with its key in the same file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl command here: without a certificate there is no TLS server to be refused")
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    made = subprocess.run(
        f"{openssl} req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=loopback "
        "-addext subjectAltName=IP:127.0.0.1 -keyout - -out -".split(),
        capture_output=True,
        check=True,
    )
    path.write_bytes(made.stdout)
    return path


@pytest.fixture
def tls(certificate: Path) -> ssl.SSLContext:
    """Give the server's side of TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.mark.requirement("E-08")
def test_a_server_that_nobody_vouches_for_gets_nothing(kind: str, tls: ssl.SSLContext) -> None:
    """A certificate that is not trusted ends the handshake: neither key nor evidence went out."""
    with LoopbackServer([whole(kind)], tls=tls) as server:
        reply = KINDS[kind](server.url).review(REQUEST, timeout_seconds=PATIENCE_SECONDS)
        assert reply == Failed("availability", "not connected", NOTHING, None)
        assert server.requests == ()


@pytest.mark.requirement("A-04")
def test_a_trusted_server_is_held_to_the_deadline_over_tls(
    tls: ssl.SSLContext, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a certificate that is trusted an answer comes, and a trickling one costs the deadline only."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    trickle = Answer(body=b"{}" * 500, trickle_seconds=0.05)
    with LoopbackServer([whole("openai"), trickle], tls=tls) as server:
        provider = KINDS["openai"](server.url)
        assert isinstance(provider.review(REQUEST, timeout_seconds=PATIENCE_SECONDS), Answered)
        started = time.monotonic()
        assert provider.review(REQUEST, timeout_seconds=HASTE_SECONDS) == Lost("timeout")
        assert time.monotonic() - started < HASTE_SECONDS + 2
        assert len(server.requests) == server.connections == 2


def test_a_name_that_never_resolves_costs_the_deadline_and_sends_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Name resolution knows no timeout; the caller's deadline holds, and no request follows when it ends."""
    with LoopbackServer([whole("openai")]) as server:
        release = threading.Event()
        resolve = socket.getaddrinfo

        def slow(*args: object, **kwargs: object) -> object:
            release.wait(10)
            return resolve(*args, **kwargs)  # type: ignore[arg-type]  # handed through as they came

        monkeypatch.setattr(socket, "getaddrinfo", slow)
        started = time.monotonic()
        reply = KINDS["openai"](server.url).review(REQUEST, timeout_seconds=HASTE_SECONDS)
        assert time.monotonic() - started < HASTE_SECONDS + 2
        assert reply == Failed("availability", "not connected", NOTHING, None)
        release.set()
        assert wait_for_calls_to_end(10)
        assert server.requests == ()


@pytest.mark.requirement("A-04")
def test_a_proxy_of_the_environment_never_sees_a_loopback_call(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A server on this machine is asked directly, whatever proxy is configured."""
    with LoopbackServer([]) as proxy:
        for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(variable, proxy.url)
        assert isinstance(call(kind, whole(kind)), Answered)
        assert proxy.connections == 0


@pytest.mark.requirement("A-04")
@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (Answer(502), NotSent()),
        (Answer(raw=b""), NotSent()),
        (Answer(raw=b"HTTP/1.1 200 OK\r\n\r\nnot TLS at all"), NotSent()),
    ],
)
def test_a_proxy_that_opens_no_tunnel_was_sent_nothing(
    monkeypatch: pytest.MonkeyPatch, answer: Answer, outcome: object
) -> None:
    """CONNECT holds neither evidence nor key; until the tunnel stands the request has not gone out."""
    with LoopbackServer([answer]) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        request = Post("https://llm.invalid/v1", {"authorization": f"Bearer {KEY}"}, WORD.encode())
        assert post(request, total_seconds=PATIENCE_SECONDS) == outcome
        (connect,) = proxy.requests
    assert connect.method == "CONNECT"
    assert KEY not in str(connect)
    assert WORD not in str(connect)


@pytest.mark.requirement("E-06")
@pytest.mark.parametrize("status", [200, 401, 500])
def test_neither_logs_nor_reply_hold_key_or_evidence(
    kind: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Even with every logger at its most talkative, key and evidence stay out of logs and of failures."""
    caplog.set_level(logging.DEBUG)
    body = json.dumps({"error": f"{KEY} {WORD}"}).encode()
    reply = call(kind, Answer(status, body))
    for secret in (KEY, WORD):
        assert secret not in caplog.text
        assert secret not in repr(reply)


@given(
    raw=st.one_of(
        st.binary(max_size=300), st.binary(max_size=200).map(lambda tail: b"HTTP/1.1 200 OK\r\n" + tail)
    )
)
@settings(max_examples=60)
def test_no_bytes_of_a_server_raise(raw: bytes) -> None:
    """Whatever a server sends, the outcome is one of three values and one request went out."""
    with LoopbackServer([Answer(raw=raw)]) as server:
        outcome = post(Post(server.url, {}, b"{}"), total_seconds=PATIENCE_SECONDS)
        assert isinstance(outcome, Received | Broken)
        assert len(server.requests) == 1


def test_calls_at_the_same_time_do_not_share_anything(kind: str) -> None:
    """Several workers' threads may call one provider at once; each gets an answer of its own."""
    answers = [ok(document(kind, f"answer {number}")) for number in range(8)]
    replies: list[Reply] = []
    with LoopbackServer(answers) as server:
        provider = KINDS[kind](server.url)

        def work() -> None:
            replies.append(provider.review(REQUEST, timeout_seconds=PATIENCE_SECONDS))

        threads = [threading.Thread(target=work) for _ in answers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert server.connections == len(server.requests) == len(answers)
    texts = sorted(reply.text for reply in replies if isinstance(reply, Answered))
    assert texts == [f"answer {number}" for number in range(8)]
