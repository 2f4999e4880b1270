"""What agents' machinery writes, restated as if it were about a person (peers §3 #1)."""

import re

_OWN = (
    r"^\s*# (?:用户画像|User profile)\s*$|</?mex-memory\b|mex search --topic|^\s*## (?:近期动态|Recent)\s*$"
    r"|Added \d+, updated \d+, retired \d+|新增 \d+ 条、更新 \d+ 条"
    r"|\[(?:explicit|inferred|speculated|uncertain|confirmed)\]\s*$|^\s*(?:Queued job|已排队任务) [0-9a-f-]{8,}"
)
_SYSTEM = (
    r"</?(?:system[-_](?:reminder|prompt|message|context)|hook[-_]context|persisted-output|command-name)\b"
    r"|\b(?:reads?|load(?:s|ed)|according to|per|stored in|defined in|follows?)\s+`?"
    r"(?:CLAUDE|AGENTS|SOUL|MEMORY|TOOLS|IDENTITY|HEARTBEAT|BOOTSTRAP|SKILL|USER)\.md\b"
    r"|\byou are (?:claude|chatgpt|gemini|codex|a helpful|an ai)\b"
    r"|\bthis session is being continued\b|\bcaveat: the messages below\b|\bconversation (?:was|has been) compacted\b"
    r"|\bsession (?:has )?(?:started|initiali[sz]ed|resumed)\b.{0,40}\b(?:id|agent|context|cwd)\b"
    r"|\b(?:the )?(?:assistant|agent|ai) (?:is|was|has been) (?:configured|instructed|initiali[sz]ed|running)\b"
    r"|\bsystem prompt (?:says|states|instructs|contains|tells)\b|系统提示词?(?:要求|规定|说明|写着|指出)"
    r"|(?:会话|对话)(?:已|已经)(?:启动|恢复|压缩|续接)|助手(?:被配置|被设定|被要求|正在运行)"
)
_TOOL = (
    r"\bexit(?:ed with)? (?:code|status) \d+\b|\btraceback \(most recent call last\)|^\s*npm err!|^diff --git |^@@ -\d+"
    r"|\btool_(?:use|result|call)(?:_id)?\b|\bcommand (?:executed|completed|failed|exited)\b|^\$ \w+"
    r"|\b\d+ passed(?:, \d+ \w+)* in \d|^\s*\w+(?:Error|Exception): "
    r"|工具(?:调用)?(?:返回|结果|输出)|(?:命令|脚本)(?:执行|运行)(?:成功|失败|完成)"
)
_CODE = (
    r"```|[├└]──|^\s*(?:def|class|function|import|export|const|public|private) \w+.*[{(:;]\s*$"
    r"|\b(?:implements?|defines?|exports?|calls?) `?\w+(?:\.\w+)*\(\)|(?:->|→) ?`?\w+[./]\w+`? ?(?:->|→)"
)
_REASONS = {
    reason: re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for reason, pattern in (
        ("own_output", _OWN),
        ("system_text", _SYSTEM),
        ("tool_output", _TOOL),
        ("code_dump", _CODE),
    )
}
_URL = re.compile(r"\w+://\S+")
_PATH = re.compile(
    r"(?<![\w/])(?:~|\.{1,2})?/(?:[\w.@+-]+/)+[\w.@+-]*"  # /usr/share/doc, ./src/
    r"|\b[A-Za-z]:\\[^\s\\]+(?:\\[^\s\\]+)*"  # C:\Users\lin
    r"|(?<![\w/])(?:[\w@-]+/)+[\w-]+\.\w{1,5}\b"  # src/app/main.py
)


def boilerplate(content: str) -> str | None:
    """Return why a content is no sentence about a person, None for one that may be.

    `own_output` (what meX prints), `system_text` (prompts and files that agents are started with), `tool_output`,
    `code_dump`, `file_paths`.
    """
    found = next((reason for reason, pattern in _REASONS.items() if pattern.search(content)), None)
    return found or ("file_paths" if _is_made_of_paths(content) else None)


def _is_made_of_paths(content: str) -> bool:
    """True for a list of files: four of them, or two that take up half of the text, or one that is nearly all of it."""
    if "/" not in content and "\\" not in content:
        return False
    paths = [found[0] for found in _PATH.finditer(_URL.sub(" ", content))]
    share = sum(map(len, paths)) / len(content)
    return len(paths) >= 4 or (len(paths) >= 2 and share > 0.5) or (len(paths) == 1 and share > 0.75)
