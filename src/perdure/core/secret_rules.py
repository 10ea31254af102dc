"""Secrets that show by their shape: a fixed beginning and a tail, as data (E-03).

Each rule is anchored at a literal beginning, which is also its prefilter, and its tail is bounded, so that
no text can make it slow. Rules of one vendor stand together; an earlier rule gives the kind when two match.
"""

from __future__ import annotations

import msgspec


class ValueRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A secret is one of `prefixes` followed by `tail`, a regular expression.

    `bounded`: the character before the prefix must not be a letter or digit.
    `random`: the tail must also look random, since plain names have the same shape.
    """

    kind: str
    prefixes: tuple[str, ...]
    tail: str
    bounded: bool = True
    random: bool = False


class InnerRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A secret known by a literal inside it: `pattern` is the whole secret, at most `before` ahead of `anchor`."""

    kind: str
    anchor: str
    before: int
    pattern: str


_ALNUM = "[A-Za-z0-9]"
_WORD = "[A-Za-z0-9_]"
_URL = "[A-Za-z0-9_-]"
_DOT = "[A-Za-z0-9_.~-]"
_HEX = "[0-9a-fA-F]"
_B64 = "[A-Za-z0-9+/]"
_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"


def _rule(kind: str, prefixes: str, tail: str, *, bounded: bool = True, random: bool = False) -> ValueRule:
    return ValueRule(kind=kind, prefixes=tuple(prefixes.split()), tail=tail, bounded=bounded, random=random)


CODE_HOSTS = (
    _rule("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", _WORD + "{30,255}", bounded=False),
    _rule("github-token", "github_pat_", _WORD + "{22,255}", bounded=False),
    _rule(
        "gitlab-token",
        "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glsoat- glimt- glagent- gloas- glffct- glwt-",
        _DOT + "{20,300}",
        bounded=False,
    ),
    _rule("gitlab-token", "GR1348941", _URL + "{20,40}"),
    _rule("bitbucket-token", "ATBB", _ALNUM + "{24,64}"),
    _rule("atlassian-token", "ATATT3 ATCTT3", "[A-Za-z0-9_=.-]{40,400}"),
    _rule("trello-token", "ATTA", _HEX + "{60,80}"),
    _rule("sourcegraph-token", "sgp_ sgd_ slk_ sgs_", "[A-Za-z0-9_]{30,130}"),
    _rule("circleci-token", "CCIPAT_ CCIPRJ_", _WORD + "{20,120}"),
    _rule("buildkite-token", "bkua_ bkaj_ bkct_ bkpt_ bkpat_ bkat_", _ALNUM + "{20,200}", random=True),
    _rule("harness-token", "pat. sat.", r"[A-Za-z0-9_-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}"),
    _rule("sonar-token", "squ_ sqp_ sqa_", "[0-9a-f]{40}"),
    _rule("octopus-token", "API-", "[A-Z0-9]{26,32}(?![A-Za-z0-9-])", random=True),
)

CLOUDS = (
    _rule("aws-access-key", "AKIA ASIA ABIA ACCA", "[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _rule("aws-session-token", "IQoJb3JpZ2lu FwoGZXIvYXdz FQoGZXIvYXdz", "[A-Za-z0-9+/=]{40,4000}"),
    _rule("aws-bedrock-key", "ABSK bedrock-api-key-", "[A-Za-z0-9+/=]{60,2000}"),
    _rule("google-api-key", "AIza", _URL + "{30,50}"),
    _rule("google-oauth-token", "ya29.", "[A-Za-z0-9_.-]{20,2000}"),
    _rule("google-oauth-token", "1//0", _URL + "{30,300}"),
    _rule("google-client-secret", "GOCSPX-", _URL + "{20,60}"),
    _rule("google-hmac-key", "GOOG1E GOOG", "[A-Z0-9]{16,80}(?![A-Za-z0-9])", random=True),
    _rule("google-api-key", "AQ.Ab", _URL + "{30,300}"),
    _rule("alibaba-key", "LTAI", _ALNUM + "{12,40}", random=True),
    _rule("tencent-key", "AKID", _ALNUM + "{28,60}"),
    _rule("yandex-token", "y0_ y1_ y2_ y3_", _URL + "{40,250}", random=True),
    _rule("yandex-token", "AQVN YCAJ YCM YCN YCO YCP", _URL + "{33,60}", random=True),
    _rule("yandex-token", "t1.", r"[A-Za-z0-9_-]{20,600}={0,2}\.[A-Za-z0-9_-]{60,120}={0,2}"),
    _rule("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", _HEX + "{40,128}"),
    _rule("digitalocean-key", "DO00", "[A-Z0-9]{16}(?![A-Za-z0-9])", random=True),
    _rule("cloudflare-key", "v1.0-", "[0-9a-f]{24}-[0-9a-f]{100,200}"),
    _rule("cloudflare-token", "cfut_ cfat_ cfk_", _URL + "{30,100}"),
    _rule("heroku-token", "HRKU-", "[A-Za-z0-9_-]{30,100}"),
    _rule("fly-token", "fo1_ fm1_ fm2_ fm1r_ fm1a_", "[A-Za-z0-9+/=_,-]{30,2000}"),
    _rule("vercel-token", "vcp_ vci_ vca_ vcr_ vck_ vercel_blob_rw_", _WORD + "{20,120}"),
    _rule("netlify-token", "nfp_ nfc_ nfo_ nfu_ nfb_", _ALNUM + "{30,80}"),
    _rule("render-token", "rnd_", _ALNUM + "{24,80}", random=True),
    _rule("supabase-key", "sbp_ sb_secret_ sbp_v0_", _URL + "{20,100}"),
    _rule("neon-token", "napi_", _ALNUM + "{40,120}"),
    _rule("planetscale-token", "pscale_tkn_ pscale_pw_ pscale_oauth_", "[A-Za-z0-9_=.-]{30,100}"),
    _rule("databricks-token", "dapi dose dkea", r"[0-9a-f]{32}(?:-\d)?"),
    _rule("mongodb-secret", "mdb_sa_sk_", _URL + "{30,80}"),
    _rule("pulumi-token", "pul-", "[0-9a-f]{40}"),
    _rule("openshift-token", "sha256~", _URL + "{43}"),
    _rule("swarm-token", "SWMTKN-1-", "[a-z0-9]{40,60}-[a-z0-9]{20,30}"),
    _rule("dbt-token", "dbtc_ dbtu_ dbts_", "[A-Za-z0-9_=-]{30,120}"),
    _rule("scalingo-token", "tk-us-", _URL + "{40,60}"),
    _rule("prefect-token", "pnu_ pnb_", _ALNUM + "{36}"),
    _rule("aiven-token", "AVNS_", _URL + "{12,60}"),
    _rule("volcengine-key", "AKLT", "[A-Za-z0-9]{30,80}"),
)

VAULTS = (
    _rule("vault-token", "hvs. hvb. hvr.", _URL + "{20,400}"),
    _rule("vault-token", "s. b.", "[A-Za-z0-9]{24}(?![A-Za-z0-9_.(-])", random=True),
    _rule("vault-token", "b.AAAAAQ", _URL + "{60,400}"),
    _rule("doppler-token", "dp.", r"(?:st|pt|ct|sa|scim|audit)(?:\.[a-z0-9_-]{2,35})?\.[A-Za-z0-9]{30,60}"),
    _rule("1password-token", "ops_eyJ", "[A-Za-z0-9_=-]{60,4000}"),
    _rule("1password-key", "A3-", r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    _rule("age-key", "AGE-SECRET-KEY-1 AGE-PLUGIN-", "[A-Z0-9-]{40,100}"),
    _rule("infisical-token", "st.", r"[0-9a-f-]{24,36}\.[0-9a-f]{32,64}\.[0-9a-f]{32,64}"),
    _rule("tailscale-key", "tskey-", "[A-Za-z0-9-]{12,120}"),
    _rule("wallet-key", "xprv yprv zprv tprv", "[1-9A-HJ-NP-Za-km-z]{90,120}"),
    _rule("fernet-token", "gAAAAA", "[A-Za-z0-9_=-]{60,4000}"),
)

MODEL_VENDORS = (
    _rule("anthropic-key", "sk-ant-", _URL + "{20,300}"),
    _rule("openrouter-key", "sk-or-", _URL + "{20,100}"),
    _rule("openai-key", "sk-proj- sk-svcacct- sk-admin- sk-None- sess-", _URL + "{20,300}"),
    _rule("langfuse-key", "sk-lf-", _UUID),
    _rule("api-key", "sk-", r"[A-Za-z0-9_-]{16,300}(?:\.[A-Za-z0-9_-]{8,200})?", random=True),
    _rule("elevenlabs-key", "sk_ xi_", "[0-9a-f]{32,64}(?![0-9A-Za-z])"),
    _rule("groq-key", "gsk_", _ALNUM + "{30,100}", random=True),
    _rule("xai-key", "xai-", _ALNUM + "{30,120}"),
    _rule("perplexity-key", "pplx-", _ALNUM + "{30,100}"),
    _rule("replicate-token", "r8_", _ALNUM + "{30,60}"),
    _rule("huggingface-token", "hf_ api_org_", _ALNUM + "{30,60}"),
    _rule("fireworks-key", "fw_", _ALNUM + "{20,60}", random=True),
    _rule("together-key", "tgp_v1_", _URL + "{30,80}"),
    _rule("nvidia-key", "nvapi-", _URL + "{40,100}"),
    _rule("cerebras-key", "csk-", _ALNUM + "{30,80}"),
    _rule("voyage-key", "pa-", "[A-Za-z0-9_-]{36,60}", random=True),
    _rule("jina-key", "jina_", _URL + "{40,90}"),
    _rule("langsmith-key", "lsv2_pt_ lsv2_sk_ ls__", "[A-Za-z0-9_]{30,80}"),
    _rule("tavily-key", "tvly-", _URL + "{16,80}"),
    _rule("firecrawl-key", "fc-", "[0-9a-f]{32}"),
    _rule("pinecone-key", "pcsk_", _WORD + "{30,100}"),
    _rule("e2b-key", "e2b_", "[0-9a-f]{32,64}"),
    _rule("modal-token", "ak- as-", "[A-Za-z0-9]{22}(?![A-Za-z0-9])", random=True),
    _rule("runpod-key", "rpa_", "[A-Za-z0-9]{30,60}"),
    _rule("brave-key", "BSA", "[A-Za-z0-9_-]{27,32}(?![A-Za-z0-9_-])", random=True),
    _rule("apify-token", "apify_api_ apify_proxy_", _ALNUM + "{30,50}"),
    _rule("wandb-key", "wandb_v1_", _URL + "{40,100}"),
    _rule("anyscale-key", "esecret_", _ALNUM + "{20,60}"),
)

CHAT = (
    _rule(
        "slack-token",
        "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xoxe.",
        "[A-Za-z0-9%._-]{10,400}",
    ),
    _rule("slack-token", "xapp- xwfp-", "[A-Za-z0-9-]{20,250}"),
    _rule("slack-webhook", "hooks.slack.com/", "(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,200}"),
    _rule(
        "discord-webhook",
        "discord.com/api/ discordapp.com/api/",
        r"(?:v\d{1,2}/)?webhooks/\d{16,20}/[A-Za-z0-9_-]{30,100}",
    ),
    _rule(
        "teams-webhook",
        ".webhook.office.com/ outlook.office.com/webhook",
        "[A-Za-z0-9/@_-]{30,300}",
        bounded=False,
    ),
    _rule("matrix-token", "syt_ mct_ mat_", r"[A-Za-z0-9_-]{20,120}", random=True),
    _rule("facebook-token", "EAA", "[A-Za-z0-9]{50,400}", random=True),
    _rule("instagram-token", "IGQ IGAA", "[A-Za-z0-9_-]{50,300}"),
    _rule("twitter-token", "AAAAAAAAAAAAAAAAAAAA", "[A-Za-z0-9%]{50,200}"),
    _rule("discord-token", "mfa.", "[A-Za-z0-9_-]{80,100}"),
    _rule("twitch-token", "oauth:", "[a-z0-9]{30}(?![a-z0-9])"),
    _rule("intercom-token", "dG9rO", "[A-Za-z0-9+/=]{40,80}"),
    _rule("linkedin-secret", "WPL_AP1. WPL_AP0.", "[A-Za-z0-9=.+/]{12,60}"),
)

PAYMENT = (
    _rule("stripe-key", "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_", _WORD + "{10,250}"),
    _rule("webhook-secret", "whsec_", "[A-Za-z0-9+/=]{20,120}"),
    _rule("square-token", "sq0atp- sq0csp- sq0idp-", _URL + "{20,60}"),
    _rule("square-token", "EAAA", _URL + "{55,80}"),
    _rule("paypal-token", "access_token$", r"(?:production|sandbox)\$[a-z0-9]{12,24}\$[0-9a-f]{32}"),
    _rule("paypal-token", "A21AA", _URL + "{60,120}"),
    _rule("adyen-key", "AQE", r"[A-Za-z0-9+/=.-]{60,300}"),
    _rule("plaid-token", "access-", "(?:sandbox|development|production)-" + _UUID),
    _rule("razorpay-key", "rzp_live_ rzp_test_", _ALNUM + "{12,40}"),
    _rule("payment-key", "live_ test_", "[A-Za-z0-9]{30,60}(?![A-Za-z0-9_])", random=True),
    _rule("flutterwave-key", "FLWSECK- FLWSECK_TEST- FLWSECK_LIVE-", "[A-Za-z0-9-]{12,60}"),
    _rule("shopify-token", "shpat_ shpca_ shppa_ shpss_ shpua_ shptka_ shpit_", "[0-9a-zA-Z]{32,64}"),
    _rule("paddle-key", "pdl_live_apikey_ pdl_sdbx_apikey_", "[A-Za-z0-9_]{30,80}"),
    _rule("mercadopago-token", "APP_USR-", "[A-Za-z0-9-]{40,120}"),
    _rule("xendit-key", "xnd_production_ xnd_development_", _ALNUM + "{30,100}"),
    _rule("midtrans-key", "Mid-server- SB-Mid-server-", _URL + "{16,60}"),
    _rule("duffel-token", "duffel_live_ duffel_test_", "[A-Za-z0-9_=-]{30,60}"),
    _rule("easypost-key", "EZAK EZTK", _ALNUM + "{54}"),
    _rule("shippo-token", "shippo_live_ shippo_test_", "[0-9a-f]{40}"),
)

MAIL = (
    _rule("sendgrid-key", "SG.", r"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{30,64}"),
    _rule("mailgun-key", "key-", "[0-9a-f]{32}(?![0-9a-f])"),
    _rule("brevo-key", "xkeysib- xsmtpsib-", "[0-9a-f]{64}-[A-Za-z0-9]{12,24}"),
    _rule("resend-key", "re_", r"[A-Za-z0-9]{6,12}_[A-Za-z0-9]{18,40}", random=True),
    _rule("mailersend-key", "mlsn.", _HEX + "{50,80}"),
    _rule("mandrill-key", "md-", "[A-Za-z0-9_-]{22}(?![A-Za-z0-9_-])", random=True),
    _rule("klaviyo-key", "pk_", "[0-9a-f]{34}(?![0-9a-f])"),
    _rule("hubspot-token", "pat-na1- pat-na2- pat-na3- pat-eu1- pat-ap1-", _UUID),
    _rule("twilio-key", "SK", "[0-9a-f]{32}(?![0-9A-Za-z])"),
    _rule("mapbox-token", "sk.eyJ tk.eyJ", r"[A-Za-z0-9_-]{20,300}\.[A-Za-z0-9_-]{16,60}"),
)

REGISTRIES = (
    _rule("npm-token", "npm_", _ALNUM + "{30,80}"),
    _rule("pypi-token", "pypi-", _URL + "{40,400}"),
    _rule("rubygems-key", "rubygems_", "[0-9a-f]{40,64}"),
    _rule("docker-token", "dckr_pat_ dckr_oat_", _URL + "{20,60}"),
    _rule("crates-token", "cio", "[A-Za-z0-9]{32}(?![A-Za-z0-9])", random=True),
    _rule("nuget-key", "oy2", "[a-z0-9]{43}(?![a-z0-9])", random=True),
    _rule("clojars-token", "CLOJARS_", "[0-9a-z]{50,70}"),
    _rule("packagist-token", "packagist_uut_ packagist_out_ packagist_ack_ packagist_", "[0-9a-f]{40,80}"),
    _rule("artifactory-key", "AKCp AP6 APB", "[A-Za-z0-9]{60,90}"),
    _rule("artifactory-token", "cmVmdGtu", "[A-Za-z0-9+/=]{40,100}"),
)

TOOLS = (
    _rule("newrelic-key", "NRAK- NRJS- NRII- NRIQ- NRRA- NRSP-", "[A-Za-z0-9_-]{18,60}"),
    _rule("sentry-token", "sntrys_ sntryu_ sntrya_ sntryi_", "[A-Za-z0-9+/=_]{30,400}"),
    _rule("grafana-token", "glc_ glsa_", "[A-Za-z0-9+/=_]{30,400}"),
    _rule("grafana-token", "eyJrIjoi", "[A-Za-z0-9+/=]{40,300}"),
    _rule("honeycomb-key", "hcaik_ hcaic_ hcxik_ hcamk_ hcalk_", "[A-Za-z0-9]{26,80}"),
    _rule("dynatrace-token", "dt0", r"[a-z]\d{2}\.[A-Z0-9]{8,24}\.[A-Z0-9]{32,80}"),
    _rule("posthog-key", "phx_ phs_ phr_", _ALNUM + "{32,60}"),
    _rule("launchdarkly-key", "sdk- api- mob-", _UUID),
    _rule("axiom-token", "xaat- xapt-", _UUID),
    _rule("elastic-key", "essu_", "[A-Za-z0-9+/=_-]{30,120}"),
    _rule("contentful-token", "CFPAT-", _URL + "{40,60}"),
    _rule("airtable-token", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    _rule("airtable-token", "key", "[A-Za-z0-9]{14}(?![A-Za-z0-9_-])", random=True),
    _rule("asana-token", "0/ 1/ 2/", r"\d{12,20}(?:/\d{12,20})?:[0-9a-f]{32}"),
    _rule("linear-key", "lin_api_ lin_oauth_ lin_wh_", _ALNUM + "{30,80}"),
    _rule("notion-token", "ntn_", _ALNUM + "{40,60}"),
    _rule("notion-token", "secret_", "[A-Za-z0-9]{40,50}(?![A-Za-z0-9_])", random=True),
    _rule("figma-token", "figd_ figu_ figo_ figur_", _URL + "{30,80}"),
    _rule("clickup-token", "pk_", r"\d{5,12}_[A-Z0-9]{32}"),
    _rule("typeform-token", "tfp_", r"[A-Za-z0-9_.=-]{40,80}"),
    _rule("dropbox-token", "sl.", _DOT + "{60,2000}"),
    _rule("postman-key", "PMAK- PMAT-", r"[A-Za-z0-9-]{24,80}"),
    _rule("readme-key", "rdme_", "[a-z0-9]{60,80}"),
    _rule("frameio-token", "fio-u-", "[A-Za-z0-9_=-]{50,80}"),
    _rule("stytch-secret", "secret-live- secret-test-", "[A-Za-z0-9_=-]{30,60}"),
    _rule("adafruit-key", "aio_", "[A-Za-z0-9]{28}(?![A-Za-z0-9])", random=True),
    _rule("adobe-secret", "p8e- p8-", "[A-Za-z0-9_-]{30,60}", random=True),
    _rule("defined-key", "dnkey-", "[a-z0-9=_-]{26,36}-[a-z0-9=_-]{50,60}"),
    _rule("zuplo-key", "zpka_", "[A-Za-z0-9]{30,60}_[0-9a-z]{6,10}"),
    _rule("settlemint-token", "sm_pat_ sm_aat_ sm_sat_", _ALNUM + "{16}"),
    _rule("intra42-secret", "s-s4t2ud- s-s4t2af-", "[0-9a-f]{60,70}"),
    _rule("amplitude-key", "amp_sk_ amp_mgmt_", _ALNUM + "{20,60}"),
)

FORMATS = (
    _rule("jwt", "eyJ", r"[A-Za-z0-9_-]{8,2000}(?:\.[A-Za-z0-9_-]{0,4000}){2,4}"),
    _rule("jwt", "eyJhbGci eyJ0eXAi eyJraWQi eyJlbmMi", r"[A-Za-z0-9_-]{10,2000}\.[A-Za-z0-9_-]{10,4000}"),
    _rule(
        "paseto",
        "v1.local. v2.local. v3.local. v4.local. v1.public. v2.public. v4.public.",
        _DOT + "{30,2000}",
    ),
    _rule("private-key", "b3BlbnNzaC1rZXktdjE", "[A-Za-z0-9+/=]{40,8000}", bounded=False),
    _rule("private-key", "MIIEvQIBADANBgkqhkiG9w0BAQ MIIEvAIBADANBgkqhkiG9w0BAQ", "[A-Za-z0-9+/=]{40,8000}"),
    _rule(
        "private-key",
        "MIIEpAIBAAKCAQ MIIEowIBAAKCAQ MIIEogIBAAKCAQ MIIJKQIBAAKCAg",
        "[A-Za-z0-9+/=]{40,8000}",
    ),
    _rule("private-key", "MHcCAQEEI MIGHAgEAMBMGByqGSM49 MC4CAQAwBQYDK2Vw", "[A-Za-z0-9+/=]{30,600}"),
    _rule("otp-secret", "otpauth:// otpauth-migration://", r"(?:totp|hotp|offline)[/?][^\s\"'<>`]{8,2000}"),
    _rule(
        "password-hash", "$1$ $5$ $6$ $7$ $y$ $apr1$ $sha1$", r"[./A-Za-z0-9$=,+_-]{20,250}", bounded=False
    ),
    _rule("password-hash", "$2a$ $2b$ $2y$ $2x$", r"\d\d\$[./A-Za-z0-9]{50,60}", bounded=False),
    _rule(
        "password-hash",
        "$argon2 $pbkdf2 $scrypt pbkdf2_sha $bcrypt",
        r"[./A-Za-z0-9$=,+_-]{40,300}",
        bounded=False,
    ),
    _rule("password-hash", "{SSHA} {SSHA512} {SMD5} {CRYPT}", r"[./A-Za-z0-9$=+]{20,200}", bounded=False),
)

VALUE_RULES: tuple[ValueRule, ...] = (
    *CODE_HOSTS,
    *CLOUDS,
    *VAULTS,
    *MODEL_VENDORS,
    *CHAT,
    *PAYMENT,
    *MAIL,
    *REGISTRIES,
    *TOOLS,
    *FORMATS,
)

DOTTED_RULES: tuple[tuple[str, str], ...] = (
    (
        "discord-token",
        r"(?<![A-Za-z0-9_-])[MNO][A-Za-z0-9_-]{22,29}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,48}(?![A-Za-z0-9_-])",
    ),
    ("zhipu-key", r"(?<![A-Za-z0-9_-])[0-9a-f]{32}\.[A-Za-z0-9]{16}(?![A-Za-z0-9_-])"),
)
"""Kind and pattern of values that have no literal of their own but dots at known places."""

INNER_RULES: tuple[InnerRule, ...] = (
    InnerRule("azure-secret", "Q~", 5, r"[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}"),
    InnerRule("azure-key", "+ASt", 90, r"[A-Za-z0-9+/]{76}\+ASt[A-Za-z0-9+/]{6}=="),
    InnerRule("azure-key", "+ABa", 60, r"[A-Za-z0-9+/]{33}\+ABa[A-Za-z0-9+/]{6}="),
    InnerRule("azure-key", "+AMC", 60, r"[A-Za-z0-9+/]{33}\+AMC[A-Za-z0-9+/]{6}="),
    InnerRule("azure-key", "+AEh", 60, r"[A-Za-z0-9+/]{33}\+AEh[A-Za-z0-9+/]{6}="),
    InnerRule("azure-key", "ACDb", 90, r"[A-Za-z0-9+/]{76}ACDb[A-Za-z0-9+/]{6}=="),
    InnerRule("azure-devops-token", "AZDO", 80, r"[A-Za-z0-9]{70,80}AZDO[A-Za-z0-9]{4}"),
    InnerRule("azure-key", "AzFu", 60, r"[A-Za-z0-9_-]{44}AzFu[A-Za-z0-9_-]{4}=="),
    InnerRule("terraform-token", ".atlasv1.", 20, r"[A-Za-z0-9]{10,20}\.atlasv1\.[A-Za-z0-9_=-]{50,100}"),
    InnerRule("telegram-token", ":AA", 12, r"\d{7,12}:AA[A-Za-z0-9_-]{32,36}(?![A-Za-z0-9_-])"),
    InnerRule("firebase-token", ":APA91b", 30, r"[A-Za-z0-9_-]{8,30}:APA91b[A-Za-z0-9_-]{60,250}"),
    InnerRule("mailchimp-key", "-us", 34, r"[0-9a-f]{32}-us\d{1,2}(?!\d)"),
    InnerRule("newrelic-key", "NRAL", 40, r"[0-9a-f]{36}NRAL|[0-9a-zA-Z_]{32,36}NRAL"),
    InnerRule("maxmind-key", "_mmk", 50, r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
    InnerRule("rancher-token", "token-", 0, r"token-[a-z0-9]{5}:[a-z0-9]{50,60}"),
    InnerRule("azure-key", "JQQJ99", 60, r"[A-Za-z0-9]{40,60}JQQJ99[A-Za-z0-9]{20,60}"),
)
