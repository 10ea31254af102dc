"""Words and forms around a secret: what it is called, how it is assigned, sent, typed and told (E-03).

Data only. `NOUNS` are looked up in lower-cased text; `FORMS` are anchored at a literal, group 1 is the secret.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Trust = Literal["strong", "medium", "weak"]
"""How much a name says: after a strong one nearly any value is a secret, after a weak one only a random one."""


class Noun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What secrets are called. `whole`: must be a word, or a part of an identifier, of its own."""

    kind: str
    trust: Trust
    words: tuple[str, ...]
    whole: bool = False


class Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A way to write a secret, matched where a lower-cased anchor stands.

    `check`: "any" unless a placeholder; "chosen" as a password; "random" as a token; "none" not even that.
    """

    kind: str
    anchors: tuple[str, ...]
    pattern: str
    check: Literal["none", "any", "chosen", "random"] = "any"


def _noun(kind: str, trust: Trust, words: str, *, whole: bool = False) -> Noun:
    return Noun(kind=kind, trust=trust, words=tuple(words.split(",")), whole=whole)


NOUNS: tuple[Noun, ...] = (
    _noun("password", "strong", "password,passwort,kennwort,passwd,passphrase,passcode,pass phrase,passwrd,pasword"),
    _noun("password", "strong", "pass,pwd,pw,passw,psw,userpass,mdp,pin", whole=True),
    _noun("password", "strong", "contraseña,contrasena,contrasenya,senha,palavra-passe,palavra passe,parola d'ordine"),
    _noun("password", "strong", "mot de passe,motdepasse,mot_de_passe,phrase secrète,code secret,clave,parola", whole=True),
    _noun("password", "strong", "wachtwoord,hasło,haslo,heslo,lösenord,losenord,salasana,adgangskode,jelszó,şifre"),
    _noun("password", "strong", "пароль,пароля,паролем,кодовая фраза,парольная фраза,лозинка,κωδικός"),
    _noun("password", "strong", "密码,密碼,口令,暗号,パスワード,パスフレーズ,暗証番号,合言葉,비밀번호,암호,كلمة المرور,पासवर्ड"),
    _noun("password", "strong", "zugangscode,geheimwort,geheimzahl,codice segreto,palabra secreta"),
    _noun("secret", "strong", "secret,private_key,privatekey,private-key,private key,geheimnis,secreto,segreto,segredo"),
    _noun("secret", "strong", "секрет,密钥,密鑰,金鑰,秘钥,秘密鍵,シークレット,비밀키"),
    _noun("api-key", "medium", "api_key,apikey,api-key,api key,api-schlüssel,api schlüssel,apischlüssel,clé api,clé d'api"),
    _noun("api-key", "medium", "clave de api,clave api,chave de api,chave api,chiave api,ключ api,api-ключ,api ключ"),
    _noun("api-key", "medium", "apiキー,api 密钥,api密钥,api 키,clé secrète,clave secreta,chave secreta,chiave segreta"),
    _noun("access-key", "medium", "access_key,accesskey,access-key,access key,account_key,accountkey,account key"),
    _noun("access-key", "medium", "auth_key,authkey,auth-key,auth key,shared_key,sharedkey,encryption_key,encryptionkey"),
    _noun("access-key", "medium", "signing_key,signingkey,signing key,master_key,masterkey,master key,service_key"),
    _noun("access-key", "medium", "license_key,licensekey,licence_key,storage_key,storagekey,app_key,application_key"),
    _noun("access-key", "medium", "encryption key,hmac_key,hmac key,secret key,deploy_key,preshared,pre-shared,psk"),
    _noun("access-key", "medium", "instrumentationkey,clé d'accès,zugangsschlüssel,ключ доступа,アクセスキー,访问密钥"),
    _noun("token", "medium", "token,jeton,токен,令牌,トークン,토큰,credential,zugangsdaten,creds,credencial"),
    _noun("token", "medium", "auth,authorization,bearer,pat,access_code,cred", whole=True),
    _noun("session", "medium", "sessionid,session_id,session-id,session_key,sessionkey,session_token,jsessionid"),
    _noun("session", "medium", "phpsessid,connect.sid,sessid,asp.net_sessionid,session cookie,csrftoken,xsrf"),
    _noun("session", "medium", "sid", whole=True),
    _noun("signature", "medium", "sig,x-amz-signature,x-goog-signature,signature", whole=True),
    _noun("recovery-code", "medium", "recovery code,backup code,recovery_code,backup_code,wiederherstellungscode"),
    _noun("recovery-code", "medium", "totp,otp_seed,mfa_seed,2fa key,authenticator key,recovery key,recovery_key"),
    _noun("webhook", "medium", "webhook_key,webhook secret"),
    _noun("key", "weak", "key,schlüssel,clé,chave,chiave,llave,ключ", whole=True),
    _noun("key", "weak", "login,vendor,license,credentials", whole=True),
)

NOT_SECRET_PARTS = frozenset(
    """
    length len min max count counts url uri urls endpoint path paths file files filename dir name names type types field
    fields label labels policy policies reset hint expiry expires expiration expire exp ttl limit limits budget
    ref refs store storage manager validator validation validate regex rule rules env var variable prompt
    column col index provider service arn header headers prefix suffix rotation rotate format version
    strength required enabled disabled enable confirm confirmation forgot forgotten forget change changed
    hasher encoder algorithm algo alg title text message messages msg error errors placeholder form page
    input inputs flow link email mail screen view button page_size size usage used total cost costs price
    public pub max_tokens completion cached cache trace span commit git primary foreign sort partition next
    continuation pagination cursor cancellation lexer parser tokenizer tokenize stream eos bos pad unk
    stop special vocab grant scope scopes issuer audience mount class cls test tests is has use uses no
    show hide toggle visible helper handler callback function method model schema interface props state
    id ids keyid fingerprint thumbprint digest checksum hash sha integrity etag object s3 bucket translation i18n
    locale registry search map lookup cacheable idempotency dedup routing order ordering composite natural
    surrogate unique lang position number kind mode level
    """.split()
)
"""Parts of an identifier that say it is about secrets (or other keys) without being one."""

SECRET_ID_PARTS = frozenset({"secret_id", "session_id", "secretid", "sessionid", "session-id", "vault_secret_id"})

GAP_STOPS = (
    r"manager|polic|reset|hash|field|prompt|store|stored|vault|file|page|length|rotat|rule|form\b|flow|hint|strength"
    r"|count|budget|limit|header|type|name|url|endpoint|expir|bucket|format|primary|foreign|cache|public|sort\b|index"
    r"|tresor|verwalt|gestor|gestionn|gestore|менеджер|管理|マネージャ|保管|limite|richtlinie|requirements?"
)

COPULA = (
    r"(?:(?<=[\s\"'”»)])(?:is|was|are|be|being|equals|reads|set to|changed to|changed it to|to|now|ist|lautet|lauten|war|heißt"
    r"|heisst|sind|est|sera|était|sont|c'est|es|son|era|será|é|eh|e'|è|são|sono|это|есть|такой|теперь|является|jest|to jest"
    r"|är|er|on|je|as)(?=[\s:：,\"'“«`])|[:=：—–→]|->|\s-(?=\s)|(?:是|为|為|は|が|の値は|叫|설정|는|은|:))"
)

PREDICATES = frozenset(
    """
    hashed stored required wrong incorrect invalid expired encrypted salted optional empty missing set reset unknown weak
    strong too not never always in on at kept public private secure insecure correct valid short long simple secret
    available needed used shared visible hidden rotated changed compromised leaked safe the a an my your our his
    her their its same different case-sensitive redacted part only also still now here there found given
    provided generated defined configured loaded read written sent passed checked validated verified handled
    managed important mandatory random unique static dynamic default local remote fine okay good bad
    ready active inactive disabled enabled nothing something anything everything what where when how why
    """.split()
)

_V = r"(?:\"([^\"\n]{1,300})\"|'([^'\n]{1,300})'|([^\s\"'`|;&<>]{1,300}))"
_GAP = r"[^\n|;&]{0,160}?\s"

FORMS: tuple[Form, ...] = (
    Form("authorization", ("authorization", "x-auth", "proxy-auth"), (
        r"[\w-]{6,40}[\"']?\s{0,3}[:=,]\s{0,3}[\"'`]?(?:bearer|basic|token|digest|apikey|api-key|key|negotiate|ntlm|bot"
        r"|sso-key|hmac|aws4-hmac-sha256|splunk|klaviyo-api-key|genie-?key|oauth|access_token)[ =:]{1,3}"
        r"[\"']?([^\s\"'`]{6,4000}(?:,? (?:[A-Za-z]\w+=)[^\s\"'`]{4,2000}){0,6})"), "any"),
    Form("authorization", ("bearer",), r"bearer[ :=]{1,3}[\"'`]?([A-Za-z0-9._~+/=|-]{12,4000})", "random"),
    Form("authorization", ("basic ",), r"basic ([A-Za-z0-9+/]{10,2000}={0,2})(?![A-Za-z0-9+/])", "random"),
    Form("cookie", ("cookie:", "cookie\":", "cookie':", "cookie ="), (
        r"cookie[\"']?\s{0,3}[:=]\s{0,3}[\"'`]?([\w.%-]{1,80}=[^\r\n\"'`]{6,4000})"), "none"),
    Form("url-password", ("://",), r"://[^\s/:@'\"<>`]{0,200}:([^\s'\"<>`/]{1,300}|[^\s'\"<>`@]{1,300})@(?=[\w.\[\-])", "any"),
    Form("url-password", ("://",), r"://[^\s/:@'\"<>`]{0,200}:([^\s'\"<>`]{1,300})@(?=[\w.-]+[:/?\s\"'])", "any"),
    Form("url-token", ("://",), r"://([A-Za-z0-9_.~%-]{12,300})(?::(?:x-oauth-basic|x-token-auth)?)?@(?=\w)", "random"),
    Form("url-password", ("jdbc:oracle:thin:",), r"jdbc:oracle:thin:[^\s/@]{1,60}/([^\s@]{1,120})@", "any"),
    Form("netrc", ("machine ",), r"machine\s+\S{1,200}\s+login\s+\S{1,200}\s+password\s+(\S{1,300})", "any"),
    Form("netrc", ("login ",), r"login\s+\S{1,200}\s+password\s+(\S{3,300})", "any"),
    Form("pgpass", (":5432:", ":5433:", ":6432:", ":6543:", ":3306:", ":*:"), r":[\d*]{1,5}:[^:\s]{1,80}:[^:\s]{1,80}:(\S{3,200})"),
    Form("shell-password", ("sshpass",), r"sshpass\s(?:[^\n|;&]{0,40}?\s)??-p\s{0,2}" + _V),
    Form("shell-password", ("curl ", "curlie ", "http ", "https ", "xh "), (
        r"\w+\s(?:[^\n]{0,600}?\s)??(?:-u|--user|--proxy-user|-a|--auth)[ =]{0,2}[\"']?[^\s:\"'/]{1,100}:([^\s\"'/]{3,300})"), "any"),
    Form("shell-password", ("mysql", "mariadb", "mysqladmin", "mysqldump"), r"\w+(?:\s[^\n|;&]{0,160}?)??\s-p" + _V),
    Form("shell-password", ("redis-cli",), "redis-cli" + _GAP + r"(?:-a|--pass)[ =]" + _V),
    Form("shell-password", ("mongo", "mongosh", "mongodump", "docker login", "podman login", "oc login", "az login",
        "helm registry login", "evil-winrm", "crackmapexec", "nxc ", "buildah login", "skopeo login", "argocd login"),
        r"[\w -]{3,20}" + _GAP + r"(?:-p|--password)[ =]" + _V),
    Form("shell-password", ("sqlcmd", "bcp ", "mosquitto_", "ipmitool", "zip ", "unzip ", "cqlsh", "snmp"),
        r"\w+(?:" + _GAP + r"|\s)(?:-P|-p|-A|-X)\s{0,2}" + _V, "chosen"),
    Form("shell-password", ("7z", "rar "), r"\w+(?:" + _GAP + r"|\s)-h?p" + _V, "any"),
    Form("shell-password", ("ldapsearch", "ldapmodify", "ldapadd", "ldapwhoami", "security add-"),
        r"[\w -]{6,40}?(?:" + _GAP + r"|\s)-w\s{0,2}" + _V),
    Form("shell-password", ("smbclient", "mount.cifs", "rpcclient", "net rpc"),
        r"[\w. ]{5,20}" + _GAP + r"-U\s{0,2}[\"']?[^\s%\"']{1,80}%([^\s\"']{3,200})"),
    Form("shell-password", ("pass:",), r"pass:([^\s\"'`]{4,200})", "chosen"),
    Form("shell-password", ("-passin ", "-passout "), r"-pass(?:in|out)\s+[\"']?pass:([^\s\"']{2,200})"),
    Form("shell-password", ("htpasswd",), r"htpasswd\s+-[a-zA-Z]*b[a-zA-Z]*(?:\s+-\w+)*(?:\s+\S+){1,2}\s+" + _V),
    Form("shell-password", ("xfreerdp", "mstsc", "wlfreerdp"), r"\w+" + _GAP + r"/p:" + _V),
    Form("shell-password", ("plink", "pscp", "psftp"), r"\w+(?:" + _GAP + r"|\s)-pw\s+" + _V),
    Form("shell-password", ("net use",), r"net use(?:\s+\S+){1,2}\s+/user:\S+\s+" + _V),
    Form("shell-password", ("net user",), r"net user\s+\S+\s+([^\s/*\"']{4,200})(?=\s|$)", "chosen"),
    Form("shell-password", ("echo", "printf"), (
        r"(?:echo|printf)\s+(?:-\w+\s+)?(?:[\"']%s(?:\\n)?[\"']\s+)?[\"']?(?:[\w.-]{1,40}:)?([^\s\"'|]{3,200})[\"']?\s*\|\s*"
        r"(?:sudo\s+(?:-S|chpasswd|passwd|cryptsetup|--stdin)|chpasswd|passwd\b|docker\s+login|[\w -]{0,60}--password-stdin"
        r"|gh\s+auth|gpg\b|podman\s+login|helm\s+registry|cryptsetup|kinit|su\b|[\w -]{0,60}--with-token)"), "any"),
    Form("shell-password", ("<<<",), r"<<<\s*" + _V, "chosen"),
    Form("shell-password", ("-storepass", "-keypass", "-srcstorepass", "-deststorepass", "-keystorepass"), r"-\w+pass[ =]" + _V),
    Form("shell-password", ("lftp ", "ncftp"), r"\w+" + _GAP + r"-u\s*[\"']?[^\s,\"']{1,80},([^\s\"']{3,200})"),
    Form("shell-password", ("wpa_passphrase",), r"wpa_passphrase\s+(?:\"[^\"]+\"|'[^']+'|\S+)\s+" + _V),
    Form("shell-password", ("aws configure set",), r"aws configure set\s+\S*(?:secret|token|key)\S*\s+" + _V),
    Form("shell-password", ("mc alias set", "mc config host add"), r"mc (?:alias set|config host add)\s+\S+\s+\S+\s+\S+\s+" + _V),
    Form("shell-password", ("composer config",), r"composer config\s[^\n]{0,80}http-basic\.\S+\s+\S+\s+" + _V),
    Form("shell-password", ("vault login", "op signin", "ngrok authtoken", "ngrok config add-authtoken", "config add-authtoken"),
        r"[\w -]{5,30}?\s+(?:token=)?([A-Za-z0-9._-]{16,300})", "random"),
    Form("shell-password", ("--from-literal",), r"--from-literal[ =][\"']?[\w.-]+=([^\s\"']{3,300})", "chosen"),
    Form("shell-password", ("secret set", "secrets set", "secret put", "secrets:set", "config:set", "secret create"), (
        r"(?:secrets?|config)[ :](?:set|put|create)\s[^\n]{0,80}?(?:--body|-b|--value|--secret-string|=)\s{0,2}[\"']?([^\s\"']{6,300})"),
        "chosen"),
    Form("shell-password", ("expect", "send "), r"send\s+(?:--\s+)?\"([^\"\n]{4,100})\\r\"", "chosen"),
    Form("shell-password", ("identified by", "with password", "password for"), (
        r"(?:identified (?:with \w+ )?by|with (?:encrypted )?password|password for \S{1,80})\s+(?:=\s*)?(?:password\s+)?"
        r"['\"]([^'\"\n]{2,200})['\"]"), "any"),
    Form("shell-password", ("usermod", "useradd"), r"user(?:mod|add)(?:" + _GAP + r"|\s)(?:-p|--password)[ =]" + _V),
    Form("sas-signature", ("sig=",), r"sig=([A-Za-z0-9%+/=_-]{20,200})", "none"),
    Form("url-token", ("x-amz-signature=", "x-goog-signature=", "x-amz-security-token="), r"[\w-]+=([A-Za-z0-9%+/=_-]{20,4000})", "none"),
    Form("chat-webhook", ("chat.googleapis.com/v1/",), r"chat\.googleapis\.com/v1/spaces/[^\s\"'<>]{1,80}\?(key=[^\s\"'<>]{10,400})", "none"),
    Form("chat-webhook", ("open.feishu.cn/", "open.larksuite.com/"), r"open\.[\w.]+/open-apis/bot/v2/hook/([0-9a-f-]{20,60})", "none"),
    Form("chat-webhook", ("logic.azure.com", "hooks.zapier.com/", "hook.eu", "hook.us", "maker.ifttt.com/"),
        r"(?:logic\.azure\.com[^\s\"'<>]{0,200}|hooks\.zapier\.com/hooks/catch/|hook\.\w+\.make\.com/|maker\.ifttt\.com/[^\s\"'<>]{0,80}/key/)"
        r"([A-Za-z0-9/_-]{16,200})", "none"),
    Form("private-key", ('"d"', '"k"'), r'"[dk]"\s{0,4}:\s{0,4}"([A-Za-z0-9_-]{22,2000})"', "random"),
    Form("private-key", ("<rsakeyvalue>",), r"(<rsakeyvalue>[^\"']{0,4000}?<d>[^<]{20,2000}</d>)", "none"),
    Form("docker-auth", ('"auth"', "'auth'", '"identitytoken"', "_auth", "_password"), (
        r"[\"']?\w+[\"']?\s{0,4}[:=]\s{0,4}[\"']?([A-Za-z0-9+/_-]{8,4000}={0,2})(?![\w(\[.])"), "chosen"),
    Form("seed-phrase", ("seed phrase", "recovery phrase", "mnemonic", "seed words", "secret phrase", "wallet seed", "backup phrase",
        "seedphrase", "recovery words", "seed:", "seed=", "wallet phrase", "seed is", "phrase de récupération", "frase semilla",
        "сид-фраза", "助记词", "wiederherstellungsphrase"), (
        r"[^\n:=\"'`]{3,60}?[\s:=\"'`：は是为]{1,6}(?:\d{1,2}[.)]\s*)?([a-z]{3,8}(?:[\s,]{1,3}(?:\d{1,2}[.)]\s*)?[a-z]{3,8}){11,23})(?![a-z])"),
        "none"),
    Form("password", ("log in with", "login with", "sign in with", "log in as", "login as", "login:", "user:", "credentials", "creds",
        "zugangsdaten", "identifiants", "credenciales", "credenciais", "credenziali", "логин", "user=", "username:"), (
        r"[^\s:/]{3,16}(?: in| with| as| are| sind| sont| son| sono|は)?(?: with| as)?\s{0,2}[:=]?\s{0,3}[\"'`]?[\w.@+-]{2,60}[\"'`]?"
        r"\s{0,2}(?:/|:|\||,| and | with | und | et | y | e | и )\s{0,2}(?:password |pass |pw )?[\"'`]?([^\s\"'`,;]{5,100})"), "chosen"),
    Form("password", (" is my password", " is the password", " is our password", " as the password", " as password", " as my password",
        " as the token", " is my token", " is the api key", " is my api key", " as api key", " is the token", " is my pin"),
        r"", "chosen"),
)
