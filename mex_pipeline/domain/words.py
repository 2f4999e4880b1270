"""The words of a text as a search knows them: runs of CJK, words of other scripts, and which of them tell nothing."""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

# Han, kana, hangul and the CJK extensions: scripts written without spaces between words. Left out are the marks among
# them that FTS5 takes for separators (the katakana middle dot, the voicing marks).
CJK = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
"""The scripts that are cut into pairs, as the inside of a regular expression's character class."""
_RANGES = tuple((CJK[at], CJK[at + 2]) for at in range(0, len(CJK), 3))
_LANGUAGE_SIGNS = {"c++": "cplusplus", "c#": "csharp", "f#": "fsharp"}

_COMMON = frozenset(
    re.findall(
        r"\w+",
        "a about above after again against ain all also am an and any are aren around as at be because been before "
        "being below between both but by can could couldn d did didn do does doesn doing don down during each even "
        "every few for from further get go going got had hadn has hasn have haven having he her here hers herself "
        "him himself his how i if in into is isn it its itself just let like ll m many may me might mine more most "
        "much must my myself no nor not now of off ok on once only or other our ours ourselves out over own re "
        "really s same shall she should shouldn so some still such t than that the their theirs them themselves "
        "then there these they this those through to too under until up us ve very was wasn we well were weren "
        "what when where which while who whom whose why will with won would wouldn yes yet you your yours yourself ",
    )
)
"""English words that ask or join: every sentence has them."""
_ASKING = "什么|怎么|怎样|哪里|哪儿|哪个|哪些|哪位|多少|几个|请问|知道|记得|是不是|有没有|为什么"
_JOINING = frozenset(
    "的了吗呢啊呀吧嘛着过得地我你您他她它们这那谁哪几什怎自己是有在要会能可想说到去来看让给把被对跟从向和与或"
    "就都也还又很没不好真但而且因为所以如若时候个些么之其并"
)
"""Chinese characters that alone say nothing of what a sentence is about; beside others they may be part of a word."""


_OF_ASCII = r"(?P<cjk>(?!))|(?P<word>[^\W_]+[+#]*)"
"""The same as `_piece` for a text in which there can be no CJK."""


@cache
def _piece() -> re.Pattern[str]:
    """Made when a text is cut: it takes some milliseconds, which most commands do not need."""
    return re.compile(f"(?P<cjk>[{CJK}]+)|(?P<word>[^\\W_{CJK}]+[+#]*)")


def is_cjk(char: str) -> bool:
    """True for a character of a script that is cut into pairs."""
    return char >= _RANGES[0][0] and any(low <= char <= high for low, high in _RANGES)


def pieces(text: str) -> Iterator[tuple[bool, str]]:
    """Yield (is CJK, piece) of the folded text in order."""
    pattern = re.compile(_OF_ASCII) if text.isascii() else _piece()
    for match in pattern.finditer(unicodedata.normalize("NFKC", text).casefold()):
        if match["cjk"]:
            yield True, match["cjk"]
        else:
            word = match["word"]
            yield False, _LANGUAGE_SIGNS.get(word, word.rstrip("+#"))


def pairs(run: str) -> list[str]:
    """Return the overlapping pairs of a run's characters."""
    return [run[start : start + 2] for start in range(len(run) - 1)]


_TWO_WORDS = 4
"""Characters from which a Chinese query is more than one word: in a word alone, its characters mean something else."""


def terms(text: str) -> list[str]:
    """Return what a memory that is about `text` may hold, each once: words, and pairs and single characters of CJK.

    What only asks or joins is left out while something else remains; signs alone give nothing.
    """
    return _terms(re.sub(_ASKING, " ", text), is_told=True) or _terms(text, is_told=False)


def _terms(text: str, *, is_told: bool) -> list[str]:
    cut = list(pieces(text))
    is_one_word = sum(len(piece) for is_run, piece in cut if is_run) < _TWO_WORDS
    found: dict[str, None] = {}
    for is_run, piece in cut:
        if not is_run:
            single, joint = [piece], []
        else:
            single, joint = ([] if is_one_word and len(piece) > 1 else list(piece)), pairs(piece)
        left_out = (_JOINING if is_run else _COMMON) if is_told else frozenset[str]()
        found |= dict.fromkeys([*(one for one in single if one not in left_out), *joint])
    return list(found)
