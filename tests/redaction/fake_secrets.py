"""Made-up secrets of every kind that is replaced, and sentences that look like them and must stay whole.

Each secret is put together when it is asked for: none stands in this file as another scanner would find it.
"""

import base64
import json
import random
import string
from dataclasses import dataclass

_ALNUM = string.ascii_letters + string.digits
_UPPER = string.ascii_uppercase + string.digits
_HEX = "0123456789abcdef"


@dataclass(frozen=True)
class Fake:
    """A secret inside what somebody might write; `kind` is how it is replaced."""

    name: str
    kind: str
    secret: str
    text: str


def fakes() -> list[Fake]:
    """The table: the same secrets at each call."""
    made = _Maker(random.Random(7))
    _tokens(made)
    _clouds(made)
    _keys(made)
    _settings(made)
    _words(made)
    return made.all


class _Maker:
    def __init__(self, dice: random.Random) -> None:
        self.all: list[Fake] = []
        self._dice = dice

    def some(self, count: int, letters: str = _ALNUM) -> str:
        return "".join(self._dice.choice(letters) for _ in range(count))

    def add(self, name: str, kind: str, secret: str, text: str = "{}") -> None:
        self.all.append(Fake(name, kind, secret, text.replace("{}", secret)))


def _tokens(made: _Maker) -> None:
    some, add = made.some, made.add
    add("openai project", "openai_key", f"sk-proj-{some(74)}T3BlbkFJ{some(74)}", "my key is {} and I live in 杭州")
    add("openai", "openai_key", f"sk-{some(20)}T3BlbkFJ{some(20)}", "我的key是{}，别告诉别人")
    add("openai service", "openai_key", f"sk-svcacct-{some(60)}", "{}")
    add("deepseek", "api_key", f"sk-{some(32, _HEX)}", "deepseek 的 key：{}，我住在杭州")
    add("openrouter", "openrouter_key", f"sk-or-v1-{some(64, _HEX)}")
    add("anthropic", "anthropic_key", f"sk-ant-api03-{some(93)}AA", "Use {} please")
    add("github", "github_token", f"ghp_{some(36)}")
    add("github fine-grained", "github_token", f"github_pat_{some(22)}_{some(59)}")
    add("github oauth", "github_token", f"gho_{some(36)}", "token {} works")
    add("gitlab", "gitlab_pat", f"glpat-{some(20)}")
    add("slack", "slack_bot_token", f"xoxb-{some(12, string.digits)}-{some(12, string.digits)}-{some(24)}")
    add("slack hook", "slack_webhook_url", f"T{some(8, _UPPER)}/B{some(8, _UPPER)}/{some(24)}",
        "https://hooks.slack.com/services/{}")  # fmt: skip
    add("stripe", "stripe_access_token", f"sk_live_{some(24)}")
    add("stripe restricted", "stripe_access_token", f"rk_live_{some(24)}")
    add("huggingface", "huggingface_access_token", f"hf_{some(34, string.ascii_letters)}")
    add("npm", "npmjsaccesstoken", f"npm_{some(36)}")
    add("pypi", "pypi_upload_token", f"pypi-AgEIcHlwaS5vcmc{some(150)}")
    add("telegram", "telegram_token", f"{some(9, '123456789')}:AA{some(33)}", "bot: {}")
    add("discord", "token", f"MTIzNDU2Nzg5MDEyMzQ1Njc4.G{some(5)}.{some(38)}", "discord token: {}")
    add("groq", "groq_api_key", f"gsk_{some(52)}")
    add("xai", "grokxaiapikey", f"xai-{some(80)}")
    add("replicate", "replicate_api_token", f"r8_{some(37)}")
    add("twilio", "twilio_api_key", f"SK{some(32, _HEX)}")
    add("notion", "notion_token", f"ntn_{some(46)}")
    add("sendgrid", "sendgrid", f"SG.{some(22)}.{some(43)}")
    add("zhipu", "api_key", f"{some(32, _HEX)}.{some(16)}", "智谱的：{}")


def _clouds(made: _Maker) -> None:
    some, add = made.some, made.add
    add("aws id", "aws_key", f"AKIA{some(16, string.ascii_uppercase + '234567')}", "id {}")
    add("aws secret", "secret", some(40, _ALNUM + "/+"), "aws_secret_access_key = {}")
    add("google", "gcp_api_key", f"AIza{some(35)}")
    add("google oauth", "google_key", f"GOCSPX-{some(28)}")
    add("azure storage", "azure_key", f"{some(86, _ALNUM + '+/')}==",
        "DefaultEndpointsProtocol=https;AccountName=abc;AccountKey={};EndpointSuffix=core.windows.net")  # fmt: skip
    add("azure client", "azure_key", f"{some(3)}8Q~{some(34)}", "the app has {}")
    add("alibaba id", "alibaba_key", f"LTAI5t{some(18)}")
    add("alibaba secret", "secret", some(30), "AccessKeySecret: {}")
    add("tencent id", "tencent_key", f"AKID{some(32)}")
    add("tencent secret", "secret", some(32), "secretKey={}")
    add("baidu", "api_key", some(24), "API Key：{}")
    add("digitalocean", "digitaloceanapikey", f"dop_v1_{some(64, _HEX)}")


def _keys(made: _Maker) -> None:
    some, add = made.some, made.add
    token = ".".join((_b64({"alg": "HS256", "typ": "JWT"}), _b64({"sub": "1234567890", "name": "John"}), some(43)))
    add("jwt", "jwt", token, "看这个 {} 对吗")
    add("rsa", "private_key", _pem(made, "RSA PRIVATE KEY"), "here:\n{}\nthanks")
    add("openssh", "private_key", _pem(made, "OPENSSH PRIVATE KEY"))
    add("encrypted", "private_key", _pem(made, "ENCRYPTED PRIVATE KEY"))
    add("pgp", "private_key", _pem(made, "PGP PRIVATE KEY BLOCK"))
    add("cut off", "private_key", _pem(made, "PRIVATE KEY").split("-----END")[0].rstrip(), "前面\n{}")
    add("in JSON", "private_key", _pem(made, "PRIVATE KEY").replace("\n", "\\n"), '"private_key": "{}"')
    add("age", "private_key", f"AGE-SECRET-KEY-1{some(58, 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L')}")


def _settings(made: _Maker) -> None:
    some, add = made.some, made.add
    add("postgres", "password", "hunter2pw", "postgres://user:{}@db.example.com:5432/app")
    add("mongodb", "password", "p4ssW0rd!", "mongodb+srv://admin:{}@cluster0.abc.mongodb.net/x")
    add("redis", "password", "s3cr3tpw", "redis://:{}@10.0.0.1:6379/0")
    add("basic auth url", "password", "tOpSecret9", "https://bob:{}@example.com/path")
    add("passwd=", "password", "letmein99", "passwd={}")
    add("export", "token", some(32, _HEX), "export FOO_TOKEN={}")
    add("dotenv", "api_key", some(40), 'MY_API_KEY="{}"')
    add("JSON", "password", "Pa$$w0rd1", '{"user": "a", "password": "{}"}')
    add("bearer", "token", some(40), "Authorization: Bearer {}")
    add("basic", "password", base64.b64encode(b"bob:secretpass").decode(), "Authorization: Basic {}")
    add("netrc", "password", "netrcpw77", "machine api.example.com login bob password {}")
    add("cookie", "cookie", some(40), "Cookie: sessionid={}; theme=dark")
    add("curl", "password", "curlpw88", "curl -u bob:{} https://x.example.com")
    add("mysql", "password", "dbPass1!", "mysql -u root -p{}")
    add("pgpassword", "password", "pgpw4321", "PGPASSWORD={} psql")


def _words(made: _Maker) -> None:
    add = made.add
    add("password:", "password", "hunter2", "password: {}")
    add("password is", "password", "hunter2", "my password is {} and I like tea")
    add("wifi password", "password", "hunter2", "the password for the wifi is {}, ok?")
    add("passphrase", "password", "correct horse battery", 'passphrase: "{}"')
    add("PIN", "password", "4821", "my PIN is {}")
    add("密码是", "password", "Abc12345", "我的密码是 {} ，记一下")
    add("密码是, no space", "password", "abc@2024", "wifi密码是{}，房间302")
    add("口令：", "password", "qwe!23456", "口令：{}")
    add("密码为", "password", "Zxc@9981", "登录密码为{}。")
    add("密码「」", "password", "天王盖地虎88", "密码是「{}」")
    add("验证码", "password", "884213", "验证码是{}")
    add("验证码, no verb", "password", "884213", "您的验证码 {}，五分钟内有效")
    add("verification code", "password", "884213", "Your verification code is {}.")
    add("OTP", "password", "884213", "OTP: {}")
    add("密码, no verb", "password", "abc12345", "账号 admin，密码{}，记一下")
    add("密码, a blank", "password", "Abc@1234", "wifi密码 {}")
    add("密码设置为", "password", "482193", "支付密码设置为{}")
    add("密码就用", "password", "abc12345", "登录密码就用{}吧")
    add("是我的密码", "password", "abc12345", "{} 是我的密码")
    add("做密码", "password", "abc12345", "我用 {} 做密码")
    add("as my password", "password", "Xk9mQ2pL", "I use {} as my new password")
    add("password is now", "password", "Xk9mQ2pL", "my password is now {}, ok?")
    add("password will be", "password", "Xk9mQ2pL", "The password will be {}")
    add("bold", "password", "Abc@1234x", "- **Password:** {}")
    add("bold, 密码", "password", "Abc@1234x", "- **密码**：{}")
    add("code", "password", "Abc@1234x", "`password`: `{}`")
    add("JSON in a string", "password", "Abc@1234x", '{\\"password\\":\\"{}\\"}')
    add("behind a Turkish letter", "password", "Abc@1234x", "İzmir PASSWORD is {}")


def _b64(value: dict[str, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode().rstrip("=")


def _pem(made: _Maker, label: str) -> str:
    lines = "\n".join(made.some(64) for _ in range(12))
    return f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----"


INNOCENT = """\
我叫王伟，住在杭州市西湖区文三路 123 号，手机 13800138000，邮箱 wangwei@example.com。
My e-mail is john.smith@example.com and my phone is +1 (415) 555-0100.
请把 commit 9fceb02d0ae598e95dc970b74767f19372d61af8 回滚掉。
The id is 550e8400-e29b-41d4-a716-446655440000.
sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==
我忘记密码了，怎么重置密码？
密码是个敏感话题，我不想聊。
密码是什么？
我的密码是不是太短了？
密码是由字母和数字组成的，至少 8 位。
密码为空时应提示错误。
口令：无
I forgot my password again. The password is too short.
The password is the same as before. Our password was never changed. The password is 12 characters long.
What is the password policy at your company?
My password is easy to remember because I use a manager.
The token limit is 4096 tokens. Max tokens: 8000.
token: number of tokens per request
The secret is to use fresh basil. The secret to a good life is friends.
秘诀是多喝水，秘密：我喜欢她。
我的爱好是弹钢琴，密钥管理用的是 1Password。
API key 是什么意思？我该怎么申请 API key？
The api_key parameter is required. api_key: str = None
password: str
password = os.environ["DB_PASSWORD"]
const token = await getToken(user)
self.password = password
token = request.headers.get("Authorization")
set the PASSWORD environment variable
DATABASE_URL=postgres://localhost:5432/app
postgres://user@localhost/db
http://localhost:8080/path?x=1
https://example.com/a?token_type=bearer&limit=10
Bearer of bad news: we lost the game.
I work on basic authentication for bank logins.
订单号 202311282345678901234，快递单号 SF1234567890123。
身份证号 11010519491231002X，车牌 浙A12345。
My flight is CA1234 at 10:30, seat 32A, confirmation code ABC123.
微信号 wx_12345678，QQ 123456789。
key: value
The key is under the mat. 钥匙在垫子下面。
Key: C major. I play piano.
Keyword: memory. 关键词：记忆。
/home/user/project/src/components/authentication/PasswordResetFormContainer.tsx
com.example.authentication.service.impl.TokenAuthenticationServiceImpl
docker run -p 8080:80 nginx
git clone git@github.com:user/repo.git
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7 user@host
-----BEGIN CERTIFICATE-----
公钥 -----BEGIN PUBLIC KEY-----
I have a cookie: chocolate chip. Cookie: yes
Session: tomorrow at 3pm. session=morning
身高 178，体重 70，PIN 码忘了。
验证码收不到怎么办？
my pin is missing from the map
password: ********
password: <your-password>
password: ${DB_PASSWORD}
API_KEY=YOUR_API_KEY
token: xxx
sk-learn is a library; I use sk-learn daily; task-oriented-dialogue-systems-with-llm
密码：见邮件
密码: 稍后发你
账号密码都在表格里
password manager: Bitwarden
My password: I changed it yesterday.
The password reset email never arrived.
我的生日是 1990-01-01，密码提示问题是我妈的名字。
暗号是天王盖地虎吗
His wife's name is Token Smith.
secretary: Ms. Li
Author: token ring networks
The pwd command prints the directory. pwd: /home/user
auth: none
credentials: include
"token_count": 1234, "password_strength": "weak"
max_tokens=4096 tokenizer=cl100k_base
密码是我生日，我生日是 1990-05-06
我家门牌密码锁坏了，密码是四位数
mysql -u root -p mydb
the ratio 3:2@home and user:name@host.example.com
验证码识别的准确率是 98.5%
这门课的考试密码学 95 分
密码 sha256 加密后入库，密码2019年改过，密码 8-16 位
model key: claude-3-5-sonnet-20241022, token 是 2024-roadmap-item-17-phase-b
key=primary_key_user_id_2024_01_table
The secret is 20-minute-daily-walks-for-30-days.
mysql-server -port 3306
I use 12 words as my password hint. That is my password policy.
security code: see the card. OTP: three apps, 4096 codes
""".splitlines()
"""What people write that is no secret, line by line: personal facts, hashes, ids, code, talk about secrets."""
