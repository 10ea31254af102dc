"""Forms in which a secret is sent, typed and stored: headers, URLs, commands, files (E-03).

Data only. Each form is matched where one of its lower-case literals stands; its last group that took part is
the secret.
"""

from __future__ import annotations

from typing import Literal

import msgspec


class Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A way to write a secret, matched where a lower-cased anchor stands.

    `check`: "any" unless a placeholder; "chosen" as a password; "random" as a token; "none" not even that.
    """

    kind: str
    anchors: tuple[str, ...]
    pattern: str
    check: Literal["none", "any", "chosen", "random"] = "any"
    needs: str = ""
    """A literal that every match holds within `NEEDED_REACH` characters; looked for first."""


NEEDED_REACH = 700
"""No match of a form that needs a literal is longer, in characters, up to that literal."""

_V = r"(?:\"([^\"\n]{1,300})\"|'([^'\n]{1,300})'|([^\s\"'`|;&<>]{1,300}))"
_GAP = r"[^\n|;&]{0,100}?\s"
_COMMAND = r"\w{2}[^\n|;&]{0,120}?\s"  # a command and what comes before its option; bounded, so that floods stay cheap

FORMS: tuple[Form, ...] = (
    Form(
        "authorization",
        ("authorization", "x-auth", "proxy-auth"),
        (
            r"[\w-]{6,40}[\"']?\s{0,3}[:=,]\s{0,3}[\"'`]?(?:bearer|basic|token|digest|apikey|api-key|key|negotiate|ntlm|bot"
            r"|sso-key|hmac|aws4-hmac-sha256|splunk|klaviyo-api-key|genie-?key|oauth|access_token)[ =:]{1,3}"
            r"[\"']?([^\s\"'`]{6,4000}(?:,? (?:[A-Za-z]\w+=)[^\s\"'`]{4,2000}){0,6})"
        ),
        "any",
    ),
    Form("authorization", ("bearer",), r"bearer[ :=]{1,3}[\"'`]?([A-Za-z0-9._~+/=|-]{12,4000})", "random"),
    Form("authorization", ("basic ",), r"basic ([A-Za-z0-9+/]{10,2000}={0,2})(?![A-Za-z0-9+/])", "random"),
    Form(
        "cookie",
        ("cookie:", 'cookie":', "cookie':", "cookie ="),
        (r"cookie[\"']?\s{0,3}[:=]\s{0,3}[\"'`]?([\w.%-]{1,80}=[^\r\n\"'`]{6,4000})"),
        "none",
    ),
    Form(
        "url-password",
        ("://",),
        r"://[^\s/:@'\"<>`]{0,200}:([^\s'\"<>`/]{1,300}|[^\s'\"<>`@]{1,300})@(?=[\w.\[\-])",
        "any",
        "@",
    ),
    Form(
        "url-password",
        ("://",),
        r"://[^\s/:@'\"<>`]{0,200}:([^\s'\"<>`]{1,300})@(?=[\w.-]{1,255}[:/?\s\"'])",
        "any",
        "@",
    ),
    Form(
        "url-token",
        ("://",),
        r"://([A-Za-z0-9_.~%-]{12,300})(?::(?:x-oauth-basic|x-token-auth)?)?@(?=\w)",
        "random",
        "@",
    ),
    Form("url-password", ("jdbc:oracle:thin:",), r"jdbc:oracle:thin:[^\s/@]{1,60}/([^\s@]{1,120})@", "any"),
    Form("netrc", ("machine ",), r"machine\s+\S{1,200}\s+login\s+\S{1,200}\s+password\s+(\S{1,300})", "any"),
    Form("netrc", ("login ",), r"login\s+(?!and\s|or\s|&\s)\S{1,200}\s+password\s+(\S{3,300})", "any"),
    Form(
        "pgpass",
        (":5432:", ":5433:", ":6432:", ":6543:", ":3306:", ":*:"),
        r":[\d*]{1,5}:[^:\s]{1,80}:[^:\s]{1,80}:(\S{3,200})",
    ),
    Form("shell-password", ("sshpass",), r"sshpass\s(?:[^\n|;&]{0,40}?\s)??-p\s{0,2}" + _V),
    Form(
        "shell-password",
        ("curl ", "curlie ", "http ", "https ", "xh "),
        (
            r"\w+\s(?:[^\n]{0,600}?\s)??(?:-u|--user|--proxy-user|-a|--auth)[ =]{0,2}[\"']?[^\s:\"'/]{1,100}:([^\s\"'/]{3,300})"
        ),
        "any",
    ),
    Form(
        "shell-password",
        ("mysql", "mariadb", "mysqladmin", "mysqldump"),
        r"\w{5,24}(?:\s[^\n|;&]{0,160}?)??\s-p" + _V,
    ),
    Form("shell-password", ("redis-cli",), "redis-cli" + _GAP + r"(?:-a|--pass)[ =]" + _V),
    Form(
        "shell-password",
        (
            "mongo",
            "mongosh",
            "mongodump",
            "docker login",
            "podman login",
            "oc login",
            "az login",
            "helm registry login",
            "evil-winrm",
            "crackmapexec",
            "nxc ",
            "buildah login",
            "skopeo login",
            "argocd login",
        ),
        r"[\w -]{3}[^\n|;&]{0,117}?\s-(?:p|-password)[ =]" + _V,
    ),
    Form(
        "shell-password",
        ("sqlcmd", "bcp ", "mosquitto_", "ipmitool", "zip ", "unzip ", "cqlsh", "snmp"),
        _COMMAND + r"-(?:P|p|A|X)\s{0,2}" + _V,
        "chosen",
    ),
    Form("shell-password", ("7z", "rar "), _COMMAND + r"-h?p" + _V, "any"),
    Form(
        "shell-password",
        ("ldapsearch", "ldapmodify", "ldapadd", "ldapwhoami", "security add-"),
        r"[\w -]{6}[^\n|;&]{0,134}?\s-w\s{0,2}" + _V,
    ),
    Form(
        "shell-password",
        ("smbclient", "mount.cifs", "rpcclient", "net rpc"),
        r"[\w. ]{5}[^\n|;&]{0,115}?\s-U\s{0,2}[\"']?[^\s%\"']{1,80}%([^\s\"']{3,200})",
    ),
    Form("shell-password", ("pass:",), r"pass:([^\s\"'`]{4,200})", "chosen"),
    Form("shell-password", ("-passin ", "-passout "), r"-pass(?:in|out)\s+[\"']?pass:([^\s\"']{2,200})"),
    Form(
        "shell-password",
        ("htpasswd",),
        r"htpasswd\s+-[a-zA-Z]{0,8}b[a-zA-Z]{0,8}(?:\s+-\w{1,20}){0,6}(?:\s+\S{1,200}){1,2}\s+" + _V,
    ),
    Form("shell-password", ("xfreerdp", "mstsc", "wlfreerdp"), _COMMAND + r"/p:" + _V),
    Form("shell-password", ("plink", "pscp", "psftp"), _COMMAND + r"-pw\s+" + _V),
    Form("shell-password", ("net use",), r"net use(?:\s+\S{1,200}){1,2}\s+/user:\S{1,100}\s+" + _V),
    Form("shell-password", ("net user",), r"net user\s+\S+\s+([^\s/\"']{4,200})(?=\s|$)", "chosen"),
    Form(
        "shell-password",
        ("echo", "printf"),
        (
            r"(?:echo|printf)\s+(?:-\w+\s+)?(?:[\"']%s(?:\\n)?[\"']\s+)?[\"']?(?:[\w.-]{1,40}:)?([^\s\"'|]{3,200})[\"']?\s*\|\s*"
            r"(?:sudo\s+(?:-S|chpasswd|passwd|cryptsetup|--stdin)|chpasswd|passwd\b|docker\s+login|[\w -]{0,60}--password-stdin"
            r"|gh\s+auth|gpg\b|podman\s+login|helm\s+registry|cryptsetup|kinit|su\b|[\w -]{0,60}--with-token)"
        ),
        "any",
    ),
    Form("shell-password", ("<<<",), r"<<<\s*" + _V, "chosen"),
    Form(
        "shell-password",
        ("-storepass", "-keypass", "-srcstorepass", "-deststorepass", "-keystorepass"),
        r"-\w{0,16}pass[ =]" + _V,
    ),
    Form(
        "shell-password", ("lftp ", "ncftp"), _COMMAND + r"-u\s{0,4}[\"']?[^\s,\"']{1,80},([^\s\"']{3,200})"
    ),
    Form(
        "shell-password",
        ("wpa_passphrase",),
        r"wpa_passphrase\s+(?:\"[^\"\n]{1,200}\"|'[^'\n]{1,200}'|\S{1,200})\s+" + _V,
    ),
    Form(
        "shell-password",
        ("aws configure set",),
        r"aws configure set\s+\S{0,80}(?:secret|token|key)\S{0,80}\s+" + _V,
    ),
    Form(
        "shell-password",
        ("mc alias set", "mc config host add"),
        r"mc (?:alias set|config host add)\s+\S{1,100}\s+\S{1,300}\s+\S{1,200}\s+" + _V,
    ),
    Form(
        "shell-password",
        ("composer config",),
        r"composer config\s[^\n]{0,80}http-basic\.\S{1,200}\s+\S{1,200}\s+" + _V,
    ),
    Form(
        "shell-password",
        ("vault login", "op signin", "ngrok authtoken", "ngrok config add-authtoken", "config add-authtoken"),
        r"[\w -]{5,30}?\s{1,8}(?:token=)?([A-Za-z0-9._-]{16,300})",
        "random",
    ),
    Form(
        "shell-password",
        ("--from-literal",),
        r"--from-literal[ =][\"']?[\w.-]{1,100}=([^\s\"']{3,300})",
        "chosen",
    ),
    Form(
        "shell-password",
        ("secret set", "secrets set", "secret put", "secrets:set", "config:set", "secret create"),
        (
            r"(?:secrets?|config)[ :](?:set|put|create)\s[^\n]{0,80}?(?:--body|-b|--value|--secret-string|=)\s{0,2}[\"']?([^\s\"']{6,300})"
        ),
        "chosen",
    ),
    Form("shell-password", ("expect", "send "), r"send\s+(?:--\s+)?\"([^\"\n]{4,100})\\r\"", "chosen"),
    Form(
        "shell-password",
        ("identified by", "with password", "password for"),
        (
            r"(?:identified (?:with \w+ )?by|with (?:encrypted )?password|password for \S{1,80})\s+(?:=\s*)?(?:password\s+)?"
            r"['\"]([^'\"\n]{2,200})['\"]"
        ),
        "any",
    ),
    Form(
        "shell-password",
        ("usermod", "useradd"),
        r"user(?:mod|add)(?:" + _GAP + r"|\s)(?:-p|--password)[ =]" + _V,
    ),
    Form(
        "shell-password",
        ("sqlplus", "expdp", "impdp", "rman "),
        r"\w{4,24}\s(?:[^\n]{0,60}?\s)??[\"']?\w{1,40}/([^\s\"'@]{3,100})(?=@|\s|$)",
        "chosen",
    ),
    Form("shell-password", ("openssl enc", "openssl aes"), r"openssl \w" + _GAP + r"-k\s{1,2}" + _V),
    Form(
        "shell-password",
        ("root / ", "root/", "admin / ", "admin/", "root:", "admin:"),
        r"(?:root|admin)(?:\s?/\s?|:)(?=[^\s/]{0,60}\d)(?![\w-]+\.[a-z]{1,4}\b)([^\s\"'`/:,;]{8,100})(?=[\s\"'.,;]|$)",
        "chosen",
    ),
    Form(
        "shell-password",
        ("auth=(", "auth = (", "basicauth(", ".login(", "basic_auth(", ".authenticate("),
        (r"[\w .=]{5,14}\(\s{0,4}[\"'][^\"'\n]{0,80}[\"'],\s{0,4}[\"']([^\"'\n]{3,200})[\"']"),
        "any",
    ),
    Form("password", ("echo ",), r"echo ([^\s\"'()]{4,200})\)", "chosen"),
    Form(
        "password",
        ("password\n", "passwort\n", "password:\n", "passphrase\n", "password\r\n"),
        r"\w+:?\r?\n[ \t]{0,8}([^\s\"'`]{6,100})(?=[ \t]{0,8}(?:\r?\n|$))",
        "chosen",
    ),
    Form(
        "api-key",
        (
            "x-api-key",
            "x-auth-token",
            "private-token",
            "x-vault-token",
            "subscription-key",
            "dd-api-key",
            "dd-application-key",
            "x-goog-api-key",
            "x-api-token",
            "api-token",
        ),
        r"[\w-]{9,20}[\"']?\s{0,3}[:=,]\s{0,3}[\"'`]?([^\s\"'`,;]{8,1000})",
        "chosen",
    ),
    Form("sas-signature", ("sig=",), r"sig=([A-Za-z0-9%+/=_-]{20,200})", "none"),
    Form(
        "url-token",
        ("x-amz-signature=", "x-goog-signature=", "x-amz-security-token="),
        r"[\w-]+=([A-Za-z0-9%+/=_-]{20,4000})",
        "none",
    ),
    Form(
        "chat-webhook",
        ("chat.googleapis.com/v1/",),
        r"chat\.googleapis\.com/v1/spaces/[^\s\"'<>]{1,80}\?(key=[^\s\"'<>]{10,400})",
        "none",
    ),
    Form(
        "chat-webhook",
        ("open.feishu.cn/", "open.larksuite.com/"),
        r"open\.[\w.]+/open-apis/bot/v2/hook/([0-9a-f-]{20,60})",
        "none",
    ),
    Form(
        "chat-webhook",
        ("logic.azure.com", "hooks.zapier.com/", "hook.eu", "hook.us", "maker.ifttt.com/"),
        r"(?:logic\.azure\.com[^\s\"'<>]{0,200}|hooks\.zapier\.com/hooks/catch/|hook\.\w+\.make\.com/|maker\.ifttt\.com/[^\s\"'<>]{0,80}/key/)"
        r"([A-Za-z0-9/_-]{16,200})",
        "none",
    ),
    Form("private-key", ('"d"', '"k"'), r'"[dk]"\s{0,4}:\s{0,4}"([A-Za-z0-9_-]{22,2000})"', "random"),
    Form("private-key", ("<d>",), r"<d>\s{0,40}([A-Za-z0-9+/=\s]{40,3000})</d>", "none"),
    Form(
        "docker-auth",
        ('"auth"', "'auth'", '"identitytoken"', "_auth", "_password"),
        (r"[\"']?\w{4,24}[\"']?\s{0,4}[:=]\s{0,4}[\"']?([A-Za-z0-9+/_-]{8,4000}={0,2})(?![\w(\[.])"),
        "chosen",
    ),
    Form(
        "seed-phrase",
        (
            "seed phrase",
            "recovery phrase",
            "mnemonic",
            "seed words",
            "secret phrase",
            "wallet seed",
            "backup phrase",
            "seedphrase",
            "recovery words",
            "seed:",
            "seed=",
            "wallet phrase",
            "seed is",
            "phrase de récupération",
            "frase semilla",
            "сид-фраза",
            "助记词",
            "wiederherstellungsphrase",
        ),
        (
            r"[^\n:=\"'`]{3,60}?[\s:=\"'`：は是为]{1,6}(?:\d{1,2}[.)]\s*)?([a-z]{3,8}(?:[\s,]{1,3}(?:\d{1,2}[.)]\s*)?[a-z]{3,8}){11,23})(?![a-z])"
        ),
        "none",
    ),
    Form(
        "password",
        (
            "log in with",
            "login with",
            "sign in with",
            "log in as",
            "login as",
            "login:",
            "user:",
            "credentials",
            "creds",
            "zugangsdaten",
            "identifiants",
            "credenciales",
            "credenciais",
            "credenziali",
            "логин",
            "user=",
            "username:",
        ),
        (
            r"[^\s:/]{3,16}(?: in| with| as| are| sind| sont| son| sono|は)?(?: with| as)?\s{0,2}[:=]?\s{0,3}[\"'`]?[\w.@+-]{2,60}[\"'`]?"
            r"\s{0,2}(?:/|:|\||,| and | with | und | et | y | e | и )\s{0,2}(?:password |pass |pw )?[\"'`]?(?![\w-]{1,30}[=:]|port/)([^\s\"'`,;]{5,100})"
        ),
        "chosen",
    ),
    Form(
        "password",
        (
            " is my password",
            " is the password",
            " is our password",
            " as the password",
            " as password",
            " as my password",
            " as the token",
            " is my token",
            " is the api key",
            " is my api key",
            " as api key",
            " is the token",
            " is my pin",
        ),
        r"",
        "chosen",
    ),
)
