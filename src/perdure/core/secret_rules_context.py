"""Words around a secret: what it is called in many languages, and what is said about one (E-03).

Data only. `NOUNS` are looked up in lower-cased text.
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


def _noun(kind: str, trust: Trust, words: str, *, whole: bool = False) -> Noun:
    return Noun(kind=kind, trust=trust, words=tuple(words.split(",")), whole=whole)


NOUNS: tuple[Noun, ...] = (
    _noun(
        "password",
        "strong",
        "password,passwort,kennwort,passwd,passphrase,passcode,pass phrase,passwrd,pasword",
    ),
    _noun("password", "strong", "pass,pwd,pw,passw,psw,userpass,mdp,pin", whole=True),
    _noun(
        "password",
        "strong",
        "contraseña,contrasena,contrasenya,senha,palavra-passe,palavra passe,parola d'ordine",
    ),
    _noun(
        "password",
        "strong",
        "mot de passe,motdepasse,mot_de_passe,phrase secrète,code secret,clave,parola",
        whole=True,
    ),
    _noun(
        "password",
        "strong",
        "wachtwoord,hasło,haslo,heslo,lösenord,losenord,salasana,adgangskode,jelszó,şifre",
    ),
    _noun("password", "strong", "пароль,пароля,паролем,кодовая фраза,парольная фраза,лозинка,κωδικός"),
    _noun(
        "password",
        "strong",
        "密码,密碼,口令,暗号,パスワード,パスフレーズ,暗証番号,合言葉,비밀번호,암호,كلمة المرور,पासवर्ड",
    ),
    _noun("password", "strong", "zugangscode,geheimwort,geheimzahl,codice segreto,palabra secreta"),
    _noun(
        "secret",
        "strong",
        "secret,private_key,privatekey,private-key,private key,geheimnis,secreto,segreto,segredo",
    ),
    _noun("secret", "strong", "секрет,密钥,密鑰,金鑰,秘钥,秘密鍵,シークレット,비밀키"),
    _noun(
        "api-key",
        "medium",
        "api_key,apikey,api-key,api key,api-schlüssel,api schlüssel,apischlüssel,clé api,clé d'api",
    ),
    _noun(
        "api-key",
        "medium",
        "clave de api,clave api,chave de api,chave api,chave da api,chiave api,chiave dell'api,ключ api,api-ключ,api ключ",
    ),
    _noun(
        "api-key",
        "medium",
        "apiキー,api 密钥,api密钥,api 키,clé secrète,clave secreta,chave secreta,chiave segreta",
    ),
    _noun(
        "access-key",
        "medium",
        "access_key,accesskey,access-key,access key,account_key,accountkey,account key",
    ),
    _noun(
        "access-key",
        "medium",
        "auth_key,authkey,auth-key,auth key,shared_key,sharedkey,encryption_key,encryptionkey",
    ),
    _noun(
        "access-key",
        "medium",
        "signing_key,signingkey,signing key,master_key,masterkey,master key,service_key",
    ),
    _noun(
        "access-key",
        "medium",
        "license_key,licensekey,licence_key,storage_key,storagekey,app_key,application_key",
    ),
    _noun(
        "access-key",
        "medium",
        "vendor key,service key,app key,license key,licence key,subscription key,ingest key",
    ),
    _noun(
        "access-key",
        "medium",
        "encryption key,hmac_key,hmac key,secret key,deploy_key,preshared,pre-shared,psk",
    ),
    _noun(
        "access-key",
        "medium",
        "instrumentationkey,clé d'accès,zugangsschlüssel,ключ доступа,アクセスキー,访问密钥",
    ),
    _noun("token", "medium", "token,jeton,токен,令牌,トークン,토큰,credential,zugangsdaten,creds,credencial"),
    _noun("token", "medium", "auth,authorization,bearer,pat,access_code,cred", whole=True),
    _noun(
        "session", "medium", "sessionid,session_id,session-id,session_key,sessionkey,session_token,jsessionid"
    ),
    _noun(
        "session", "medium", "phpsessid,connect.sid,sessid,asp.net_sessionid,session cookie,csrftoken,xsrf"
    ),
    _noun("session", "medium", "sid", whole=True),
    _noun("signature", "medium", "sig,x-amz-signature,x-goog-signature", whole=True),
    _noun(
        "recovery-code",
        "medium",
        "recovery code,backup code,recovery_code,backup_code,wiederherstellungscode",
    ),
    _noun(
        "recovery-code",
        "medium",
        "totp,otp_seed,mfa_seed,2fa key,authenticator key,recovery key,recovery_key",
    ),
    _noun("webhook", "medium", "webhook_key,webhook secret"),
    _noun("key", "weak", "key,schlüssel,clé,chave,chiave,llave,ключ", whole=True),
    _noun("key", "weak", "login,vendor,license,credentials", whole=True),
)

NOT_SECRET_PARTS = frozenset(
    """
    range list lists length len min max count counts url uri urls endpoint path paths file files filename dir name names type types field
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

OWNER_PARTS = frozenset(
    "env test mail email store service git s3 model form storage registry user object".split()
)
"""Parts that before the noun say whose secret it is."""

SECRET_ID_PARTS = frozenset(
    {"secret_id", "session_id", "secretid", "sessionid", "session-id", "vault_secret_id"}
)

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

_QUALITIES = frozenset(
    """
    correct incorrect wrong weak strong secure insecure valid invalid short long simple secret safe public private local
    remote good bad fine okay ready active inactive random unique static dynamic default different same important
    """.split()
)

PHRASE_STOPS = (PREDICATES - _QUALITIES) | frozenset(
    """
    an is are am password passphrase pass phrase secret of to by and or be out off up if for with from that this these those than then so as into over under per via it
    they them he she we you us me who whom whose which whatever whichever both either neither each every any all some
    no none nor has have had do does did will would shall should can could may might must was were been being are
    only once twice again before after when while until unless because since during within without about
    kept asked chosen known written taken hidden shown typed entered derived used using made held saved recorded
    documented printed read prompted requested supplied required generated rotated stored string text value word words
    least characters chars user users people please
    """.split()
)
"""Words that are part of no pass phrase made of plain words: small ones, and what is said about one."""
