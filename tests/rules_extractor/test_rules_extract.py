"""What the built-in rules take from a user's words and, more important, what they leave (product C9)."""

import pytest

from mex_pipeline.rules_extractor.extract import LONG, extract
from tests.rules_extractor.said import candidates, found, has_slot, turn

SAID = {
    "我叫林晓舟": ["basic_info.name = 林晓舟"],
    "我叫小明～": ["basic_info.name = 小明"],
    "你可以叫我林晓舟。": ["basic_info.name = 林晓舟"],
    "My name is Anna-Lena O'Brien and I'm learning Spanish.": [
        "basic_info.name = Anna-Lena O'Brien",
        "edu.language = Spanish",
    ],
    "my name's Ada": ["basic_info.name = Ada"],
    "我是女生，平时喜欢爬山": ["basic_info.gender = 女生"],
    "我是1990年5月出生的": ["basic_info.birth_year = 1990"],
    "I was born on May 4, 1990.": ["basic_info.birth_year = 1990"],
    "我是成都人": ["basic_info.hometown = 成都"],
    "我老家在四川绵阳": ["basic_info.hometown = 四川绵阳"],
    "I'm from Germany, but I live in Spain.": ["basic_info.hometown = Germany", "basic_info.location = Spain"],
    "我是一名来自北京的程序员，主要使用Python和JavaScript": [
        "basic_info.hometown = 北京",
        "work.position = 程序员",
        "work.tech_stack = Python",
        "work.tech_stack = JavaScript",
    ],
    "我住在成都": ["basic_info.location = 成都"],
    "我住在成都市武侯区，有什么好吃的推荐吗？": ["basic_info.location = 成都市武侯区"],
    "I live in the Netherlands with my family": ["basic_info.location = the Netherlands"],
    "I live in St. Louis. It's hot here.": ["basic_info.location = St. Louis"],
    "跟你说一声，我已经搬到深圳了": ["basic_info.location = 深圳"],
    "我在青禾科技做数据工程师": ["work.company = 青禾科技", "work.position = 数据工程师"],
    "我在一家互联网公司做产品经理": ["work.position = 产品经理"],
    "我在字节跳动做算法工程师三年了": ["work.company = 字节跳动", "work.position = 算法工程师"],
    "我目前就职于微澜金融。": ["work.company = 微澜金融"],
    "我在远光软件做后端开发，base 杭州。我对花生过敏": [
        "work.company = 远光软件",
        "work.position = 后端开发",
        "basic_info.location = 杭州",
        "health.allergy = 花生",
    ],
    "大家好，我叫张三，今年30岁，住在上海，是一名数据工程师": [
        "basic_info.name = 张三",
        "basic_info.location = 上海",
        "work.position = 数据工程师",
    ],
    "我叫高启强，我同事在青禾科技，住在上海": ["basic_info.name = 高启强"],
    "I work at Stripe as a product manager.": ["work.company = Stripe", "work.position = product manager"],
    "I'm a data engineer at Acme Labs, based in Berlin.": [
        "work.position = data engineer",
        "work.company = Acme Labs",
        "basic_info.location = Berlin",
    ],
    "I live in Boston and work at Acme Corp.": ["basic_info.location = Boston", "work.company = Acme Corp"],
    "我是大三学生": ["basic_info.life_stage = 大三学生"],
    "I'm a PhD student at MIT": ["basic_info.life_stage = PhD student"],
    "I am learning Go": ["work.tech_stack = Go"],
    "我最近在学 Go 和 Rust": ["work.tech_stack = Go", "work.tech_stack = Rust"],
    "i mostly use python": ["work.tech_stack = python"],
    "我在学日语": ["edu.language = 日语"],
    "I speak French and German fluently.": ["edu.language = French", "edu.language = German"],
    "我对芒果过敏，点外卖要注意": ["health.allergy = 芒果"],
    "我对虾、蟹都过敏，如果推荐菜谱请避开": ["health.allergy = 虾", "health.allergy = 蟹"],
    "I'm allergic to peanuts, eggs and latex.": [
        "health.allergy = peanuts",
        "health.allergy = eggs",
        "health.allergy = latex",
    ],
    "I have a severe tree nut allergy": ["health.allergy = tree nut"],
    "我不吃香菜": ["health.diet = 不吃香菜"],
    "I don't eat pork": ["health.diet = don't eat pork"],
    "我吃素三年了": ["health.diet = 吃素"],
    "I'm vegetarian": ["health.diet = vegetarian"],
    "我的爱好是羽毛球、摄影和徒步": [
        "leisure.hobbies = 羽毛球",
        "leisure.hobbies = 摄影",
        "leisure.hobbies = 徒步",
    ],
    "My hobbies include chess, hiking, and baking bread": [
        "leisure.hobbies = chess",
        "leisure.hobbies = hiking",
        "leisure.hobbies = baking bread",
    ],
    "以后请用中文回答我": ["interaction.preferences = 用中文回答我"],
    "以后回答我的时候只给代码不要解释。": ["interaction.preferences = 回答我的时候只给代码不要解释"],
    "always answer in English": ["interaction.preferences = always answer in English"],
    "From now on, keep replies short, please": ["interaction.preferences = keep replies short, please"],
    "I prefer answers with code examples": ["interaction.preferences = I prefer answers with code examples"],
    "My preferred language is English": ["interaction.language = English"],
    "My goal is to run a half marathon by April 2027": [
        'goals.short_term_goal = {"goal": "run a half marathon", "deadline": "2027-04"}'
    ],
    "我的目标是2027年4月前跑完半程马拉松": [
        'goals.short_term_goal = {"goal": "跑完半程马拉松", "deadline": "2027-04"}'
    ],
}

REMEMBERED = {
    # The day is read from when it was said, later (product B4).
    "记住：明天开会": ["record = 明天开会"],
    "帮我记一下，下周三开会": ["record = 下周三开会"],
    "remember: meeting tomorrow": ["record = meeting tomorrow"],
    "记住：回答先给结论，再讲理由": ["interaction.preferences = 回答先给结论，再讲理由"],
    "Please remember: I prefer replies in short paragraphs": [
        "interaction.preferences = I prefer replies in short paragraphs"
    ],
    "记住，我喜欢简洁的回答，不喜欢太长的解释。": ["interaction.preferences = 我喜欢简洁的回答，不喜欢太长的解释"],
    "Remember my city: Istanbul": ["record = my city: Istanbul"],
    "Remember: keep it short when you answer": ["interaction.preferences = keep it short when you answer"],
    "I am learning Rust these days; please remember it.": ["work.tech_stack = Rust"],
    "记得我对花生过敏": ["health.allergy = 花生"],
    "记住：我对芒果过敏，我女儿对牛奶过敏": ["health.allergy = 芒果", "record = 我女儿对牛奶过敏"],
    "帮我记一下：我的车牌号是川A12345": ["record = 我的车牌号是川A12345"],
    "帮我记一下：每周三晚上打羽毛球": ["record = 每周三晚上打羽毛球"],
    "记住我老婆的生日是5月4日": ["record = 我老婆的生日是5月4日"],
    "记住：我的狗叫“豆豆”": ["record = 我的狗叫“豆豆”"],
    "记住：翻译时保留英文术语": ["record = 翻译时保留英文术语"],
    "Please remember that my dentist is Dr. Miller.": ["record = my dentist is Dr. Miller"],
    "Remember my birthday is May 4": ["record = my birthday is May 4"],
    "请记住以下几点：\n1. 我对花生过敏\n2. 我不吃猪肉": ["health.allergy = 花生", "health.diet = 不吃猪肉"],
}

ABOUT_OTHERS = """
    我同事住在上海 | 我老公对花生过敏 | 我女儿叫林小雨 | 我对象在腾讯做后端开发 | My friend lives in Paris
    My son is allergic to cats | They live in Berlin | We live in Berlin
"""
NOT_NOW = """
    下周要去西安出差两天 | 下周去深圳出差三天 | 我这周住在上海 | 我住在北京，出差三天
    下个月开始，我在青禾科技做数据工程师 | 我临时住在上海 | 我以前住在北京 | 小时候，我对花生过敏
    我对花生过敏，但是现在好了 | 我今天不吃辣 | 我要搬到上海了 | I live in Paris for now
    I live in Paris until June | As of next month, I live in Paris | I used to live in Paris
    Back in college, I work at Acme | I'll live in Berlin | I want to learn Rust
"""
NOT_REAL = """
    如果我住在北京 | 假如，我对花生过敏 | 我可能住在北京 | 要是我叫林晓舟就好了 | if I live in Paris, what then
    Suppose I live in Paris. | I could live in Paris | I think I live in Paris | When asked, I live in Paris
    In the novel, I live in Paris | 我住在北京。开玩笑的 | I live in Paris... just kidding
"""
QUESTIONS = """
    我叫林晓舟吗？ | 我住在成都，对吧？ | 你知道我住在上海吗 | 我住在哪里 | I live in Paris?
    I live in Paris, don't I? | Do you remember my name? | 你记得我的名字吗
"""
DENIED = """
    my name is not important | My name isn't Tom | 我对花生不过敏 | 我不住在上海 | I'm not vegan
    I don't live in Berlin | I'm not allergic to cats
"""
SAID_BY_OTHERS = """
    他说我住在北京 | 她说：我住在北京 | 她说，我住在北京 | say my name is X | She said "I live in Paris"
    She said, I live in Paris. | I live in Paris, she wrote | "my name is Tom" is what nobody said, "I live in
    “我叫林晓舟” | 我叫“林晓舟” | 「我叫林晓舟」 | 帮我润色这段自我介绍（朋友写的）：「我叫林晓舟。」
    翻译成英文：我叫林晓舟，我住在成都 | Translate to French. My name is Tom. | Alice: I live in Paris
    用户：我住在成都 | User: my name is Tom | print hello, my name is Tom | 输出：我叫林晓舟
    你是一个医生。我叫林晓舟 | Act as a doctor. My name is Tom. | From now on you are not a chatbot
    扮演我的同事，我叫林晓舟
"""
PASTED = """
    > 我叫林晓舟 | `my name is Tom` | # 我叫林晓舟 | // I live in Paris | $ echo I live in Paris
    <b>I live in Paris</b> | My name is <name> | 2024-01-01 10:00:00 INFO my name is Tom | [10:32] I live in Paris
    ERROR my name is Tom | http://x.org/I live in Paris | name = '我叫林晓舟'
"""
FIGURES_AND_TASKS = """
    我在想这个问题做不做 | 我在终端做了个测试 | 我在测试环境做测试 | 我在上海做测试 | I work at night
    I live in a terminal | I live in Vim | I live in hope | I'm allergic to bad code | 我对加班过敏
    I'm allergic to JavaScript | 我叫你停下 | 我叫了外卖 | 我叫李总过来 | 我是说这个函数 | 我是第一次用
    I am from the future | I'm from the backend team | I moved to Kubernetes | 我喜欢这个方案 | 我平时喜欢先写测试
    我的爱好很广泛 | 我不吃这套 | 我不吃了 | 我不吃晚饭 | I don't eat out | I'm a bit tired | I'm a beginner
    I'm a terrible driver | I'm a developer at heart | I work as a team | 我是来找医生的 | 我是好人 | 我是中国人
    我是他的律师 | 我来自腾讯 | 我在公司上班 | 我在北京工作 | 我已经在当前公司工作了几年 | 我住在公司附近
    我住在海边 | 我住在小区 | I'm learning to go | I'm learning a lot | 我在学做饭 | I prefer the second answer
    以后再解释 | 以后叫我起床 | 以后解释型语言会更多 | From now on use tabs | From now on, respond as a pirate
    My goal is to learn Spanish | My goal is to finish this by 2027 | My goal is to run a marathon by Smarch 2027
"""
NOT_FOR_MEMORY = """
    remember to run the tests | 记得跑一下测试 | remember that this function returns None
    请记住：src/main.py 里的 parse_config 返回 None | Please remember: call the API twice | 记住：所有接口都要鉴权
    记住 | 记住了 | 好的，我记住了。 | 记住： | 记住我刚才说的 | 请记住这个 | 记住：它很重要 | 记住：我叫什么？
    记住密码功能坏了 | Please remember it
    Remember that time? | 记住：你是一个医生 | Remember, you are Alex Hormozi | 记住：他喜欢苹果
    Remember: if it fails, rerun it
"""
LEFT = [
    sentence.strip()
    for block in (
        ABOUT_OTHERS, NOT_NOW, NOT_REAL, QUESTIONS, DENIED, SAID_BY_OTHERS, PASTED, FIGURES_AND_TASKS, NOT_FOR_MEMORY,
    )
    for line in block.strip().splitlines()
    for sentence in line.split(" | ")
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), SAID.items(), ids=str)
def test_a_plain_statement_fills_its_slot_with_the_words_as_said(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(("text", "expected"), REMEMBERED.items(), ids=str)
def test_what_the_user_asks_to_remember_goes_to_its_slot_or_becomes_a_record(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize("text", LEFT)
def test_anything_less_than_a_plain_statement_is_left(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "看这段：\n```\n我叫林晓舟\n```",
        "```\n我叫林晓舟",
        "    我叫林晓舟",
        "翻译成英文：\n\n我叫林晓舟。\n我住在成都。",
        "<system-reminder>\n我叫林晓舟\n</system-reminder>",
        "日志：\nTraceback\nValueError: 我叫林晓舟",
    ],
)
def test_words_inside_pasted_blocks_are_not_the_users(text: str) -> None:
    assert found(text) == []


def test_words_beside_a_pasted_block_are_still_read() -> None:
    assert found("我叫林晓舟\n```\n我叫王小明\n```\n> 我住在北京\n我住在成都") == [
        "basic_info.name = 林晓舟",
        "basic_info.location = 成都",
    ]


def test_a_very_long_turn_yields_only_what_its_first_or_last_lines_ask_to_remember() -> None:
    log = "step done\n" * LONG
    assert found(f"我叫林晓舟\n{log}我住在成都") == []
    assert found(f"记住：我对花生过敏\n{log}") == ["health.allergy = 花生"]
    assert found(f"{log}Please remember: I use Neovim") == ["record = I use Neovim"]
    assert found(f"{log}记住：我对花生过敏\n{log}") == []


def test_a_long_document_without_speakers_is_read_whole() -> None:
    assert found("今天天气不错。\n" * LONG + "我叫林晓舟。\n", kind="document") == ["basic_info.name = 林晓舟"]


def test_only_the_users_own_words_are_read() -> None:
    assert candidates("我叫林晓舟", role="assistant") == []
    assert candidates("我叫林晓舟", kind="pasted_file") == []


def test_the_same_value_twice_in_a_turn_counts_once() -> None:
    assert found("我住在成都。真的，我住在成都！") == ["basic_info.location = 成都"]


def test_the_same_value_in_two_turns_keeps_both_as_evidence() -> None:
    said = extract([(3, turn("我住在成都")), (5, turn("我住在成都"))], has_slot)
    assert [candidate.turn for candidate in said] == [3, 5]


def test_a_statement_without_its_slot_in_the_schema_is_left_unless_it_was_to_be_remembered() -> None:
    def knows_nothing(topic: str, sub_topic: str) -> bool:
        return False

    def read(text: str) -> list[tuple[tuple[str, str] | None, str | None, str]]:
        said = extract([(1, turn(text))], knows_nothing)
        return [(candidate.slot, candidate.topic, candidate.content) for candidate in said]

    assert read("我对芒果过敏") == []
    assert read("记住：我对芒果过敏") == [(None, None, "我对芒果过敏")]
    assert read("记住：回答先给结论") == [(None, None, "回答先给结论")]


def test_the_next_best_slot_takes_the_value_when_the_user_removed_the_best() -> None:
    def without_preferences(topic: str, sub_topic: str) -> bool:
        return sub_topic != "preferences" and has_slot(topic, sub_topic)

    (wish,) = extract([(1, turn("以后请用中文回答我"))], without_preferences)
    assert wish.slot == ("interaction", "communication_style")
