"""The signs that a value is not the user's own, not meant, or not for long (product C11; peers rows 1, 4)."""

import pytest

from mex_pipeline.domain.stance import stance

OWN = [
    ("我特别爱吃酸菜鱼。", "酸菜鱼"), ("我跟同事一样用Neovim。", "Neovim"), ("我和我老婆都住在青岛", "青岛"),
    ("我朋友推荐我用Helix，现在就用它", "Helix"), ("这周我入职了远光软件", "远光软件"), ("我经常出差", "出差"),
    ("今天起我在远光软件上班", "远光软件"), ("上个月我从成都搬到青岛了，以后就在这边长住。", "青岛"),
    ("他说得对，我确实对青霉素过敏", "青霉素"), ("记住：回答先给结论", "先给结论"), ("我喜欢一个人旅游", "旅游"),
    ("如果我问代码，就只给代码", "只给代码"), ("帮我翻译这段话。另外我住在青岛。", "青岛"),
    ("我养了一只叫「豆包」的柯基", "豆包"), ("对了，我女朋友不吃羊肉，我不吃香菜", "香菜"),
    ("I love travelling and business trips.", "business trips"), ("My wife and I live in Berlin.", "Berlin"),
    ("My friend told me about Zig and I use it daily: Zig.", "Zig"), ("This week I started at Acme.", "Acme"),
    ("They asked, so: I work at Acme.", "Acme"), ("I am on a temporary contract at Acme.", "temporary contract"),
    ("For two weeks now I have been vegan.", "vegan"), ("I have lived here for three weeks: Berlin.", "Berlin"),
    ("You can call me “Kit”.", "Kit"), ("我住在青岛，附近有什么好玩的吗？", "青岛"), ("我不吃香菜，帮我找个餐厅。", "香菜"),
    ('He asked, and I said: "I work at Initech"', "Initech"), ("他问我在哪上班，我说：「我在远光软件」", "远光软件"),
    ("我的柯基可以吃葡萄吗？", "柯基"), ("你知道我在青岛吗？", "青岛"), ("我在青岛可以游泳吗？", "青岛"),
    ("I use Helix, do I need a plugin?", "Helix"), ("Do I need a visa? I live in Leeds.", "Leeds"),
    ("I don't work at Globex but at Initech.", "Initech"), ("I'm not a fan of mornings.", "mornings"),
    ("I don't eat meat.", "meat"), ("我不吃香菜", "香菜"), ("我不在青岛的时候由邻居喂猫", "青岛"), ("我不喜欢出差", "出差"),
    ("我不在谷歌上班，我在远光软件", "远光软件"), ('My bio says: "I work at Initech"', "Initech"),
    ("I'm vegan, can you find me a place?", "vegan"), ("请记住我对青霉素过敏。", "青霉素"),
]  # fmt: skip
OTHERS = [
    ("我女朋友不吃羊肉。", "羊肉"), ("我爸每天七点就起来遛弯。", "七点"), ("同事都在用Neovim。", "Neovim"),
    ("他们团队全用Rust。", "Rust"), ("隔壁组的唐若溪今天离职了。", "唐若溪"), ("另外，我儿子对虾过敏", "虾"),
    ("我喜欢猫，我室友养了一只柯基", "柯基"), ("My wife is allergic to nuts.", "nuts"), ("She works at Acme.", "Acme"),
    ('He said: "I work at Initech"', "Initech"), ("My friend told me, “I work at Initech”.", "Initech"),
    ("Ann says 'I work at Initech' all the time", "Initech"), ("他说：“我在远光软件上班”，真好", "远光软件"),
    ("我同事说「我在远光软件上班」", "远光软件"), ("我听他说：“我养了一条柯基”", "柯基"),
    ("I like cats, but my roommate keeps a corgi.", "corgi"), ("Our neighbour plays the tuba.", "tuba"),
]  # fmt: skip
PASSING = [
    ("今天机器坏了，临时用Neovim改点东西。", "Neovim"), ("就这一次，只给代码不要解释。", "只给代码不要解释"),
    ("这周我在上海出差，周五就回去。", "上海"), ("朋友出差，鹦鹉小翠在我家寄养一周。", "鹦鹉小翠"),
    ("我来西安玩三天", "西安"), ("Just for this week I am off dairy.", "dairy"),
    ("I am staying in Lisbon for now.", "Lisbon"), ("Answer in French, just this once.", "French"),
]  # fmt: skip
WISHED = [
    ("要是能搬去昆明就好了。", "昆明"), ("好想养布偶汤圆。", "布偶汤圆"), ("Elixir值得学吗？", "Elixir"),
    ("What if I moved to Oslo?", "Oslo"), ("I wish I had a corgi.", "corgi"), ("Should I learn Elixir?", "Elixir"),
]  # fmt: skip
ASKED = [
    ("能帮我找一个评分是5分的酒店吗？", "5分"), ("给我推荐一个豪华型餐厅。", "豪华型"), ("附近有没有清真餐馆？", "清真"),
    ("Can you find me a vegan place near here?", "vegan"), ("Which hotel has a sauna?", "sauna"),
    ("Do I work at Initech?", "Initech"), ("So, am I allergic to nuts?", "nuts"), ("我是在远光软件上班吗？", "远光软件"),
    ("我住在青岛吗", "青岛"), ("我是不是叫阿杰？", "阿杰"), ("I am looking for a quiet hotel with a sauna.", "sauna"),
]  # fmt: skip
DENIED = [
    ("I don't work at Globex any more.", "Globex"), ("I no longer live in Leeds.", "Leeds"), ("I'm not a nurse.", "nurse"),
    ("My name is Kit, I am not called Kitty.", "Kitty"), ("我不在谷歌上班。", "谷歌"), ("我已经不住在青岛了", "青岛"),
    ("我不叫阿杰，我叫小杰", "阿杰"), ("我并不是护士", "护士"),
]  # fmt: skip
QUOTED = [
    ("帮我润色这段自我介绍（朋友写的）：「我在拓界物流上班。」", "拓界物流"), ("翻译：“我住在青岛”", "青岛"),
    ("Please proofread: 'I am a nurse in Leeds.'", "Leeds"), ('Please proofread: "I am a nurse in Leeds."', "Leeds"),
    ("小说里的台词：“我养了一条龙”", "龙"),
]  # fmt: skip


def found(text: str, value: str) -> str | None:
    assert value in text
    return stance(text, 0, len(text), value)


@pytest.mark.parametrize(("text", "value"), OWN)
def test_c11_a_plain_statement_about_oneself_passes(text: str, value: str) -> None:
    assert found(text, value) is None


@pytest.mark.parametrize(
    ("text", "value", "reason"),
    [
        *((*one, "about_other") for one in OTHERS),
        *((*one, "temporary") for one in PASSING),
        *((*one, "hypothetical") for one in WISHED),
        *((*one, "asked_for") for one in ASKED),
        *((*one, "denied") for one in DENIED),
        *((*one, "quoted") for one in QUOTED),
    ],
)
def test_c11_a_sign_in_the_sentence_keeps_a_value_out(text: str, value: str, reason: str) -> None:
    assert found(text, value) == reason


def test_c11_only_the_sentence_of_the_value_counts() -> None:
    text = "我女朋友不吃羊肉。我住在青岛。这周临时用Neovim。"
    assert stance(text, text.index("我住"), text.index("青岛") + 2, "青岛") is None
    assert stance(text, 0, len(text), "羊肉") == "about_other"


def test_c11_a_value_is_looked_for_however_it_is_written() -> None:
    text = "My sister lives in Oslo, I live in ＬＥＥＤＳ"
    assert stance(text, 0, len(text), "Leeds") is None
    assert stance(text, 0, len(text), "oslo") == "about_other"
