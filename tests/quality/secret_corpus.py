# ruff: noqa: E501 - data: a text is one piece
"""A corpus of invented secrets and harmless look-alikes, made at run time so that no file holds a token (E-03).

`make(seed)` gives the same corpus for the same seed. Every secret must be gone from what is stored, and
every harmless text must come through unchanged.
"""

from __future__ import annotations

import base64
import json
import random
import string
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

LETTERS = string.ascii_letters
ALNUM = LETTERS + string.digits
URL = ALNUM + "-_"
UPPER = string.ascii_uppercase + string.digits
LOWER = string.ascii_lowercase + string.digits
HEX = "0123456789abcdef"


@dataclass(frozen=True)
class Secret:
    """A text and the secret in it, which must not be readable in what is stored."""

    kind: str
    secret: str
    text: str


@dataclass(frozen=True)
class Harmless:
    """A text that only looks like one with a secret."""

    kind: str
    text: str


class Maker:
    """Draws random pieces from a seed."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)

    def run(self, size: int, alphabet: str = ALNUM) -> str:
        """Draw `size` characters."""
        return "".join(self.dice.choice(alphabet) for _ in range(size))

    def base64(self, size: int) -> str:
        """Draw `size` bytes and give them in base64."""
        return base64.b64encode(self.dice.randbytes(size)).decode()

    def uuid(self) -> str:
        """Draw a UUID."""
        return str(uuid.UUID(int=self.dice.getrandbits(128)))

    def password(self) -> str:
        """Draw a password as people choose them."""
        word = self.dice.choice("Sommer Winter Drache Falcon Zebra Marmot Pickle Orchid".split())
        return (
            word
            + self.dice.choice(["-", "_", "!", "."])
            + str(self.dice.randrange(10, 9999))
            + self.run(3, LOWER)
        )

    def pem(self, label: str) -> str:
        """Draw an armoured block."""
        body = "\n".join(self.base64(48) for _ in range(6))
        return f"-----BEGIN {label}-----\n{body}\n{self.base64(20)}\n-----END {label}-----"

    def jwt(self) -> str:
        """Draw a signed token."""
        parts = [b'{"alg":"HS256","typ":"JWT"}', json.dumps({"sub": self.run(9), "exp": 1999999999}).encode()]
        return ".".join(
            [base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts] + [self.run(43, URL)]
        )


def _values(m: Maker) -> dict[str, str]:
    """Draw one value of each vendor's shape."""
    r = m.run
    return {
        "github": m.dice.choice(["ghp_", "gho_", "ghu_", "ghs_", "ghr_"]) + r(36),
        "github-fine": "github_pat_" + r(22) + "_" + r(59),
        "gitlab": m.dice.choice(["glpat-", "gldt-", "glrt-", "glptt-"]) + r(20, URL[:-1]),
        "gitlab-trigger": "GR1348941" + r(20),
        "bitbucket": "ATBB" + r(32),
        "atlassian": "ATATT3xFfGF0" + r(170, URL) + "=" + r(8, HEX.upper()),
        "circleci": "CCIPAT_" + r(22) + "_" + r(40, HEX),
        "sonar": "squ_" + r(40, HEX),
        "aws": m.dice.choice(["AKIA", "ASIA"]) + r(16, UPPER),
        "aws-session": "IQoJb3JpZ2luX2Vj" + r(300),
        "google": "AIza" + r(35, URL),
        "google-oauth": "ya29." + r(60, URL),
        "google-client": "GOCSPX-" + r(28, URL),
        "azure": r(3) + "8Q~" + r(34, ALNUM + "-_."),
        "azure-devops": r(76) + "AZDO" + r(4),
        "alibaba": "LTAI5t" + r(18),
        "digitalocean": "dop_v1_" + r(64, HEX),
        "cloudflare-origin": "v1.0-" + r(24, HEX) + "-" + r(146, HEX),
        "fly": "fm2_" + r(120),
        "vercel": "vcp_" + r(56),
        "netlify": "nfp_" + r(36),
        "supabase": "sbp_" + r(40, HEX),
        "planetscale": "pscale_tkn_" + r(43, URL),
        "databricks": "dapi" + r(32, HEX),
        "pulumi": "pul-" + r(40, HEX),
        "terraform": r(14) + ".atlasv1." + r(67),
        "vault": "hvs." + r(90, URL),
        "doppler": "dp.pt." + r(43),
        "onepassword": "ops_eyJ" + r(200),
        "age": "AGE-SECRET-KEY-1" + r(58, UPPER),
        "tailscale": "tskey-auth-" + r(12) + "-" + r(32),
        "anthropic": "sk-ant-api03-" + r(93, URL) + "AA",
        "openai": "sk-proj-" + r(74, URL) + "T3BlbkFJ" + r(74, URL),
        "openai-old": "sk-" + r(20) + "T3BlbkFJ" + r(20),
        "openrouter": "sk-or-v1-" + r(64, HEX),
        "groq": "gsk_" + r(52),
        "xai": "xai-" + r(80),
        "perplexity": "pplx-" + r(48),
        "replicate": "r8_" + r(37),
        "huggingface": "hf_" + r(34, LETTERS),
        "nvidia": "nvapi-" + r(64, URL),
        "langsmith": "lsv2_pt_" + r(32, HEX) + "_" + r(10, HEX),
        "pinecone": "pcsk_" + r(6) + "_" + r(60),
        "slack": f"xoxb-{r(12, string.digits)}-{r(12, string.digits)}-{r(24)}",
        "slack-app": f"xapp-1-A{r(10, UPPER)}-{r(13, string.digits)}-{r(64, HEX)}",
        "slack-hook": f"https://hooks.slack.com/services/T{r(8, UPPER)}/B{r(10, UPPER)}/{r(24)}",
        "discord": f"M{r(25)}.{r(6)}.{r(38, URL)}",
        "discord-hook": f"https://discord.com/api/webhooks/{r(18, string.digits)}/{r(68, URL)}",
        "telegram": f"{r(10, string.digits)}:AA{r(33, URL)}",
        "stripe": m.dice.choice(["sk_live_", "sk_test_", "rk_live_"]) + r(24),
        "stripe-hook": "whsec_" + r(32),
        "square": "sq0atp-" + r(22, URL),
        "shopify": "shpat_" + r(32, HEX),
        "plaid": "access-production-" + m.uuid(),
        "razorpay": "rzp_live_" + r(14),
        "sendgrid": "SG." + r(22, URL) + "." + r(43, URL),
        "mailgun": "key-" + r(32, HEX),
        "mailchimp": r(32, HEX) + "-us" + r(2, "123"),
        "brevo": "xkeysib-" + r(64, HEX) + "-" + r(16),
        "twilio": "SK" + r(32, HEX),
        "npm": "npm_" + r(36),
        "pypi": "pypi-AgEIcHlwaS5vcmc" + r(120, URL),
        "rubygems": "rubygems_" + r(48, HEX),
        "docker": "dckr_pat_" + r(27, URL),
        "crates": "cio" + r(32),
        "nuget": "oy2" + r(43, LOWER),
        "newrelic": "NRAK-" + r(27, UPPER),
        "sentry": "sntrys_" + r(120),
        "grafana": "glsa_" + r(32) + "_" + r(8, HEX),
        "dynatrace": "dt0c01." + r(24, UPPER) + "." + r(64, UPPER),
        "airtable": "pat" + r(14) + "." + r(64, HEX),
        "linear": "lin_api_" + r(40),
        "notion": "ntn_" + r(46),
        "figma": "figd_" + r(40, URL),
        "postman": "PMAK-" + r(24, HEX) + "-" + r(34, HEX),
        "hubspot": "pat-na1-" + m.uuid(),
        "jwt": m.jwt(),
        "rancher": "token-" + r(5, LOWER) + ":" + r(54, LOWER),
        "bcrypt": "$2b$12$" + r(53, ALNUM + "./"),
        "shadow": "$6$" + r(16) + "$" + r(86, ALNUM + "./"),
        "otpauth": "otpauth://totp/Acme:me?secret="
        + r(32, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
        + "&issuer=Acme",
    }


FRAMES: tuple[str, ...] = (
    "use {} for this",
    "export VENDOR={}",
    '{"config": {"value": "{}"}}',
    "- value: {}",
    "`{}`",
    "it is\n    {}\nand nothing else",
    "Das ist {}, bitte merken.",
    "钥匙{}好",
    "<setting>{}</setting>",
    "curl https://api.test/v1?x={}&y=1",
)
"""Places in which a value with a shape of its own must be found without any help from its surroundings."""


def _wide(text: str) -> str:
    return "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text)


def _disguises(m: Maker) -> list[Callable[[str], str]]:
    """Give ways to write a value that a plain search does not see."""
    return [
        lambda v: v[:9] + "\u200b" + v[9:],
        lambda v: v[:7] + "\u2060" + v[7:11] + "\u00ad" + v[11:],
        lambda v: "\u202e" + v[:5] + "\u202c" + v[5:],
        _wide,
        lambda v: "".join(f"%{ord(c):02X}" if m.dice.random() < 0.3 else c for c in v),
        lambda v: quote(quote("value=" + v, safe=""), safe=""),
        lambda v: "".join(f"\\u{ord(c):04x}" for c in v),
        lambda v: json.dumps(json.dumps({"a": "x\n" + v})),
        lambda v: v[: len(v) // 2] + "\n" + v[len(v) // 2 :],
        lambda v: v[: len(v) // 2] + " \\\n    " + v[len(v) // 2 :],
        lambda v: '"' + v[: len(v) // 2] + '" + "' + v[len(v) // 2 :] + '"',
        lambda v: "&#" + str(ord(v[0])) + ";" + v[1:],
    ]


CONTEXTS: tuple[tuple[str, str], ...] = (
    ("env", "DB_PASSWORD={}"),
    ("export", "export ACME_SECRET={}"),
    ("set", "set -x API_TOKEN {}"),
    ("powershell", '$env:DB_PASSWORD = "{}"'),
    ("yaml", "db:\n  user: app\n  password: {}\n  port: 5432"),
    ("yaml-quoted", "password: '{}'"),
    ("json", '{"user": "a", "password": "{}", "x": 1}'),
    ("toml", '[db]\npassword = "{}"'),
    ("ini", "[client]\npassword = {}"),
    ("xml", "<db><password>{}</password></db>"),
    ("xml-attr", '<add key="DbPassword" value="{}" />'),
    ("plist", "<key>password</key>\n<string>{}</string>"),
    ("properties", "spring.datasource.password={}"),
    ("ruby", ":password => '{}'"),
    ("php", "define('DB_PASSWORD', '{}');"),
    ("python", 'PASSWORD: str = "{}"'),
    ("python-kw", 'connect(user="a", password="{}")'),
    ("js", "const clientSecret = '{}';"),
    ("go", 'password := "{}"'),
    ("terraform", 'variable "db_password" {\n  default = "{}"\n}'),
    ("k8s-env", "- name: DB_PASSWORD\n  value: {}"),
    ("json-name", '{"name": "DB_PASSWORD", "value": "{}"}'),
    ("dsn", "Server=db;Database=x;User Id=sa;Password={};Encrypt=true"),
    ("pwd", "Driver={ODBC};Uid=sa;Pwd={};"),
    ("libpq", "host=db user=app password={} dbname=x"),
    ("table", "| password | {} |"),
    ("bold", "**Password:** {}"),
    ("ticks", "password: `{}`"),
    ("mongo", "mongodb+srv://app:{}@cluster0.mongodb.net/x"),
    ("postgres", "postgresql://app:{}@db:5432/app"),
    ("amqp", "amqps://svc:{}@mq.internal/vhost"),
    ("redis", "redis://:{}@cache:6379/0"),
    ("mysql-url", "mysql+pymysql://root:{}@localhost/x"),
    ("git-url", "git clone https://me:{}@git.example.org/a/b.git"),
    ("smtp", "smtps://mailer:{}@smtp.example.org:465"),
    ("curl", "curl -u admin:{} https://api.example.com/x"),
    ("curl-header", "curl -H 'X-Api-Key: {}' https://api.example.com"),
    ("mysql", "mysql -u root -p{} app"),
    ("sshpass", "sshpass -p '{}' ssh root@10.0.0.5"),
    ("pgpassword", "PGPASSWORD={} psql -h db"),
    ("redis-cli", "redis-cli -h cache -a {} ping"),
    ("docker-login", "docker login -u me -p {} r.example.com"),
    ("option", "tool login --password {} --verbose"),
    ("option-eq", "tool --client-secret={}"),
    ("netrc", "machine api.example.com login me password {}"),
    ("pgpass", "db.internal:5432:app:me:{}"),
    ("sudo", "echo '{}' | sudo -S apt update"),
    ("sql", "CREATE USER app IDENTIFIED BY '{}';"),
    ("sql-alter", "ALTER ROLE app WITH PASSWORD '{}';"),
    ("openssl", "openssl rsa -in k.pem -passin pass:{}"),
    ("htpasswd", "htpasswd -bc .htpasswd me {}"),
    ("en", "my password is {} please remember it"),
    ("en-for", "The password for the staging box is {}."),
    ("en-changed", "I changed the password to {} yesterday"),
    ("en-after", "{} is my password"),
    ("en-as", "log in with admin / {}"),
    ("en-pass", "user: admin pass: {}"),
    ("en-secret", "the client secret is {}"),
    ("en-passphrase", "the wifi passphrase is {}"),
    ("de", "das Passwort lautet {}"),
    ("de-mein", "Mein Kennwort ist {}, bitte merken"),
    ("fr", "le mot de passe est {}"),
    ("fr-mon", "mon mot de passe : {}"),
    ("es", "mi contraseña es {}"),
    ("es-clave", "la clave del servidor es {}"),
    ("pt", "a senha do banco é {}"),
    ("pt-minha", "minha senha é {}"),
    ("it", "la password del server è {}"),
    ("it-parola", "la parola d'ordine è {}"),
    ("ru", "мой пароль {}"),
    ("ru-dash", "пароль от сервера — {}"),
    ("zh", "我的密码是{}，请记住"),
    ("zh-colon", "数据库密码：{}"),
    ("ja", "パスワードは{}です"),
    ("ja-colon", "パスワード：{}"),
    ("ko", "비밀번호는 {} 입니다"),
    ("nl", "het wachtwoord is {}"),
    ("pl", "moje hasło to {}"),
    ("escaped", '{\\"user\\":\\"a\\",\\"password\\":\\"{}\\"}'),
    ("query", "https://api.test/login?user=a&password={}&x=1"),
)
"""Surroundings in which any chosen password must go."""

TOKEN_CONTEXTS: tuple[tuple[str, str], ...] = (
    ("bearer", "Authorization: Bearer {}"),
    ("token-header", "Authorization: token {}"),
    ("api-key-header", "X-API-Key: {}"),
    ("private-token", "curl --header 'PRIVATE-TOKEN: {}' https://git"),
    ("cookie", "Cookie: sessionid={}; theme=dark"),
    ("set-cookie", "Set-Cookie: sid={}; HttpOnly"),
    ("api-key", "api_key: {}"),
    ("api-key-env", "ACME_API_KEY={}"),
    ("camel", '"apiKey": "{}"'),
    ("access", 'accessToken = "{}"'),
    ("prose", "the api key is {}"),
    ("prose-de", "der API-Schlüssel lautet {}"),
    ("prose-token", "token for CI: {}"),
    ("vendor", "vendor key {}"),
    ("kube", "users:\n- name: admin\n  user:\n    token: {}"),
    ("npmrc", "//registry.example.com/:_authToken={}"),
    ("aws-secret", "aws_secret_access_key = {}"),
    ("account-key", "AccountName=a;AccountKey={};EndpointSuffix=x"),
    ("url-user", "https://{}@git.example.org/a.git"),
    ("query", "GET /v1/items?access_token={}&page=2"),
    ("refresh", '{"refresh_token":"{}","expires_in":3600}'),
    ("webhook", "WEBHOOK_SECRET={}"),
)
"""Surroundings in which a random token without a shape of its own must go."""

HARMLESS: tuple[str, ...] = (
    "password: <your password>",
    "password: ********",
    "DB_PASSWORD=${DB_PASSWORD}",
    "DB_PASSWORD=$(cat /run/secrets/db)",
    "password = os.environ['DB_PASSWORD']",
    "password = getpass.getpass()",
    "const token = await getToken(user);",
    "token: str | None = None",
    "apiKey: string | undefined",
    "password: SecretStr",
    "passwords must have at least 12 characters",
    "never commit an api key; use the keyring",
    "The password is hashed with argon2id.",
    "The password is stored in the keyring.",
    "the token is expired, log in again",
    "the token is refreshed every 15 minutes",
    "src/auth/password_reset/token_store.py",
    "pytest tests/test_auth.py::test_password_is_hashed",
    "max_tokens: 4096, token budget 32000",
    "the primary key of orders is order_id",
    "cache_key = f'{user_id}:{page}'",
    "we keep passwords in 1Password, vault Engineering",
    "password reset flow sends an email with a one-time link",
    "the secret is in Vault under kv/app",
    "API_KEY=your-api-key-here",
    "OPENAI_API_KEY=sk-...",
    'token = "xxxxxxxxxxxx"',
    "aws_access_key_id = AKIAIOSFODNN7EXAMPLE",
    "secretKeyRef:\n  name: db\n  key: password",
    "password_min_length = 12",
    "PASSWORD_FILE=/run/secrets/db_password",
    "tokenizer = AutoTokenizer.from_pretrained(name)",
    "compass: north",
    "The bypass is active",
    "if password == confirm_password:",
    "user.password = hash_password(form.password)",
    "requires numpy==2.4.6 and python 3.11.7",
    "claude-sonnet-4-5-20250929 and gpt-5.4-mini-2026-03-17",
    "mac 00:1b:44:11:3a:b7",
    "2001:db8:85a3::8a2e:370:7334",
    "base64 of hello is aGVsbG8=",
    "Donaudampfschifffahrtsgesellschaftskapitaen",
    "Das Passwort wird mit bcrypt gehasht.",
    "Le mot de passe doit contenir 12 caractères",
    "La contraseña es obligatoria",
    "A senha é obrigatória",
    "La password è obbligatoria",
    "пароль хранится в менеджере паролей",
    "パスワードは別の場所に保管します",
    "密码至少需要12个字符",
    "Use pnpm check before pnpm test.",
    "git config --global user.email me@example.com",
    "docker run -u 1000:1000 -p 8080:80 nginx",
    "ssh -p 2222 root@10.0.0.5",
    "https://example.com/reset?token=<token>",
    "http://localhost:8080/auth/token",
    "postgres://${USER}:${PASSWORD}@db/app",
    "postgres://user:password@localhost/db",
    "Authorization: Bearer <token>",
    "Authorization: Bearer ${TOKEN}",
    "Bearer token authentication is required",
    "basic authentication is off",
    "The cookie is set by the proxy.",
    "key: value",
    "sort key is created_at",
    "press any key to continue",
    "the login page has a bug",
    "session_id is a uuid",
    "the session token lives for 8 hours",
    "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    'label_password: "Password"',
    '"password": "Please enter your password"',
    "The signature is verified with ed25519.",
    "secret_name: prod/db/main",
    "token_type: bearer",
    "csrf token middleware is on",
    "the pin header has 40 pins",
    "pass: 12, fail: 0",
    "tests: 120 pass 3 fail",
    "auth: false",
    "auth = AuthService(db)",
    "Set the password in .env.local",
    "the seed phrase is never stored",
    "const { password } = req.body;",
    'password := r.FormValue("password")',
)


def make(seed: int) -> tuple[tuple[Secret, ...], tuple[Harmless, ...]]:
    """Give the secrets and the harmless texts of one seed."""
    m = Maker(seed)
    secrets: list[Secret] = []
    for kind, value in _values(m).items():
        frame = m.dice.choice(FRAMES)
        secrets.append(Secret(kind, value, frame.replace("{}", value)))
        if kind not in {"otpauth", "shadow", "bcrypt"}:
            hide = m.dice.choice(_disguises(m))
            secrets.append(Secret(f"{kind}-disguised", value, "note " + hide(value) + " end"))
    for kind, frame in CONTEXTS:
        value = m.password()
        secrets.append(Secret(f"password-{kind}", value, frame.replace("{}", value)))
    for kind, frame in TOKEN_CONTEXTS:
        value = m.dice.choice([m.run(40), m.run(32, HEX), m.run(48, URL[:-2])])
        if not any(char.isdigit() for char in value):
            value = value[:-1] + "7"
        secrets.append(Secret(f"token-{kind}", value, frame.replace("{}", value)))
    secrets += _blocks(m)
    return tuple(secrets), _harmless(m)


def _blocks(m: Maker) -> list[Secret]:
    """Draw key blocks, whole, cut and escaped, and other secrets of several words."""
    found = []
    for label in (
        "RSA PRIVATE KEY",
        "EC PRIVATE KEY",
        "PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ):
        block = m.pem(label)
        line = block.split("\n")[3]
        found += [
            Secret("pem", line, f"deploy key:\n{block}\n"),
            Secret("pem-escaped", line, json.dumps({"private_key": block})),
            Secret("pem-twice-escaped", line, json.dumps(json.dumps({"private_key": block}))),
            Secret("pem-no-end", line, "key\n" + "\n".join(block.split("\n")[:5])),
            Secret("pem-no-begin", line, "\n".join(block.split("\n")[2:]) + "\nthen more"),
            Secret("pem-quoted", line, "\n".join("> " + part for part in block.split("\n"))),
        ]
    body = base64.b64encode(m.pem("RSA PRIVATE KEY").encode()).decode()
    found.append(Secret("kube-key", body[40:100], f"client-key-data: {body}"))
    auth = m.base64(30)
    found.append(Secret("docker-auth", auth, '{"auths":{"r.example.com":{"auth":"' + auth + '"}}}'))
    basic = base64.b64encode(f"me:{m.password()}".encode()).decode()
    found.append(Secret("basic", basic, f"Authorization: Basic {basic}"))
    words = " ".join(
        m.dice.sample(
            "abandon ability able absent absorb abuse access acid across actor adapt album alert alien amount anchor".split(),
            12,
        )
    )
    found.append(Secret("seed-phrase", words, f"my seed phrase is {words}"))
    return found


def _harmless(m: Maker) -> tuple[Harmless, ...]:
    """Give the fixed harmless texts and those that hold a random value that is no secret."""
    drawn = {
        "git-sha": f"fixed in {m.run(40, HEX)}",
        "short-sha": f"see commit {m.run(7, HEX)}",
        "uuid": f"session {m.uuid()}",
        "integrity": f'"integrity": "sha512-{m.base64(64)}"',
        "sri": f'integrity="sha384-{m.base64(48)}"',
        "etag": f'the etag was W/"{m.run(32, HEX)}"',
        "trace": f"trace_id={m.run(32, HEX)} span_id={m.run(16, HEX)}",
        "cert": m.pem("CERTIFICATE"),
        "public": m.pem("PUBLIC KEY"),
        "pgp-public": m.pem("PGP PUBLIC KEY BLOCK"),
        "digest": f"image@sha256:{m.run(64, HEX)}",
        "cache-key": f"cache key {m.run(64, HEX)}",
        "request": f"x-request-id: {m.uuid()}",
        "pip-hash": f"    --hash=sha256:{m.run(64, HEX)}",
        "go-sum": f"golang.org/x/text v0.3.7 h1:{m.base64(32)}",
        "checksum": f'checksum = "{m.run(64, HEX)}"',
        "ssh-public": f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA{m.run(43)} me@host",
        "fingerprint": f"SHA256:{m.base64(32).rstrip('=')}",
        "data-uri": f"data:image/png;base64,iVBORw0KGgo{m.base64(90)}",
        "publishable": f"NEXT_PUBLIC_BUILD={m.run(8, HEX)}",
        "token-count": f"prompt_tokens={m.dice.randrange(9999)}",
    }
    return tuple(
        [Harmless(text[:40], text) for text in HARMLESS]
        + [Harmless(kind, text) for kind, text in drawn.items()]
    )
