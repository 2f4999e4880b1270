"""Chinese statements about oneself, one row each: how it is said, the slot it fills, and what the words must name."""

from mex_pipeline.rules_extractor.kinds_zh import (
    is_allergen,
    is_called,
    is_employer,
    is_food,
    is_hobby,
    is_name,
    is_organisation,
    is_origin,
    is_place,
    is_post,
    is_student,
    is_title,
    is_wish,
    is_work,
)
from mex_pipeline.rules_extractor.rule import PREFERENCES, Words, each, fill, goal, one, phrase, rule
from mex_pipeline.rules_extractor.value import either, said
from mex_pipeline.rules_extractor.words import is_language, is_technology


def _has_job(words: Words) -> bool:
    """True when "我在…做…" names somewhere to work and something to be: "在终端做了个测试" does not."""
    place, job = words["c"].strip(), said(words["p"])
    return len(place) <= 30 and is_work(job) and (is_employer(place) or (is_place(place) and len(job) > 2))


_ME = r"(?P<me>我)?(?:(?:本人|现在|目前|如今|一直|就|也|已经|其实|平时|人)\s?)*"
_SINCE = r"(?:了?\s?[\d一二三四五六七八九十两几]+\s?年(?:多|半)?)?"
_DAY = r"(?:\s*\d\d?\s*月)?(?:\s*\d\d?\s*[日号])?"
_RECENTLY = r"(?:上个?月|上周|去年|今年|最近|前阵子|前不久|已经|刚刚?)"
_LEISURE = r"(?:平时|平常|业余(?:时间)?|空闲(?:时间?)?|闲暇(?:时间?|之余)?|周末|工作之余|下班后?|没事)(?:里|的时候)?"
_FROM_NOW_ON = either("以后, 今后, 往后, 从此以后, 从现在起, 从现在开始, 从今往后, 从今天起, 从今天开始")

RULES = (
    rule(
        r"(?:我(?:名)?叫|我的?(?:全名|本名)(?:叫|是)?|(?:你们?|您|大家)?可以(?:叫|称呼)我)[做作]?\s*(?P<x>.+)",
        fill("basic_info.name", one(is_name, 20)),
    ),
    rule(r"(?:我的?|本人)(?:名字|姓名|大名)就?(?:是|叫做?)\s*(?P<x>.+)", fill("basic_info.name", one(is_called, 20))),
    rule(
        r"我是(?:一?[个名位])?(?P<x>男生|女生|男性|女性|男的|女的|男人|女人)[啊呀呢哦]*",
        fill("basic_info.gender", one(bool, 4)),
    ),
    rule(
        rf"(?P<me>我)?是?(?:出生[于在]|生于)\s*(?P<x>(?:19|20)\d\d)\s*年?{_DAY}的?",
        fill("basic_info.birth_year", one(bool, 4)),
    ),
    rule(
        rf"(?P<me>我)?是?\s*(?P<x>(?:19|20)\d\d)\s*年{_DAY}(?:出生|生)[人的]?",
        fill("basic_info.birth_year", one(bool, 4)),
    ),
    rule(
        r"(?P<me>我)?的?(?:老家|家乡|籍贯|祖籍)就?(?:是在|在|是)\s*(?P<x>.+)",
        fill("basic_info.hometown", one(is_place, 20)),
    ),
    rule(
        r"(?P<me>我)?(?:就|本来)?是(?:土生土长的?|地道的?|地地道道的?)?\s*(?P<x>.+)人[啊呀哦]*",
        fill("basic_info.hometown", one(is_origin, 10)),
    ),
    rule(
        r"我是(?:一?[个名位])?来自\s*(?P<x>.+?)的\s*(?P<p>.+)",
        fill("basic_info.hometown", one(is_origin, 10)),
        fill("work.position", one(is_title, 20, "p")),
    ),
    rule(r"(?P<me>我)来自\s*(?P<x>.+)", fill("basic_info.hometown", one(is_origin, 10))),
    rule(
        _ME + r"(?:定居|居住|生活|常住|常驻|住)[在于]?\s*(?P<x>.+)",
        fill("basic_info.location", one(is_place, 20)),
        fleeting=True,
    ),
    rule(
        r"(?P<me>我)?的?(?:现在|目前)?(?:现居地?|现住|常驻地?|居住地|所在城市|坐标|[Bb]ase)\s*[是在]?\s*(?P<x>.+)",
        fill("basic_info.location", one(is_place, 20)),
        fleeting=True,
    ),
    rule(
        rf"{_RECENTLY}?我们?家?{_RECENTLY}*(?:从.{{2,8}})?搬(?:家)?[到来去]了?\s*(?P<x>.+?)(?:住|定居|生活)?了",
        fill("basic_info.location", one(is_place, 20)),
        fleeting=True,
    ),
    rule(
        _ME
        + rf"在\s*(?P<c>.+?)(?:的.{{1,10}}?)?(?:做|当|担任|任){_SINCE}的?\s*(?P<p>.+?)(?:的?(?:工作|岗位))?{_SINCE}[的了]?",
        fill("work.company", one(is_organisation, 30, "c")),
        fill("work.position", one(is_work, 20, "p")),
        guard=_has_job,
        fleeting=True,
    ),
    rule(
        _ME + rf"在\s*(?P<x>.+?)(?:的.{{1,10}}?)?(?:工作|上班|任职|就职|供职|任教|教书){_SINCE}[的了]?",
        fill("work.company", one(is_organisation, 30)),
        fleeting=True,
    ),
    rule(
        _ME + r"(?:就职|任职|供职|入职|跳槽)[于在到去了]+\s*(?P<x>.+)",
        fill("work.company", one(is_organisation, 30)),
        fleeting=True,
    ),
    rule(
        r"(?P<me>我)?(?:现在|目前|本身)?[就也]?是(?:一?[个名位])?\s*(?P<x>.+)",
        fill("work.position", one(is_title, 20)),
        fill("basic_info.life_stage or work.position", one(is_student, 20)),
        fleeting=True,
    ),
    rule(
        _ME + r"是?(?:做|干|搞|从事)\s*(?P<x>.+?)(?:这行|行业|工作)?的(?:工作)?",
        fill("work.position", one(is_work, 20)),
        fleeting=True,
    ),
    rule(
        r"我(?:现在|目前)?的?(?:岗位|职位|职务|职业|头衔|职称)就?[是为]\s*(?P<x>.+)",
        fill("work.position", one(is_post, 20)),
        fleeting=True,
    ),
    rule(
        r"我(?:已经|刚刚?)?转[岗行](?:做|当|成|到|去做)了?\s*(?P<x>.+)了",
        fill("work.position", one(is_work, 20)),
        fleeting=True,
    ),
    rule(
        r"(?P<me>我)?(?:从小|一直|天生|也)?对\s*(?P<x>.+?)[都也]?(?:有点儿?|有些|轻度|轻微|中度|重度|严重|特别|非常|很|比较|会)?过敏(?:体质)?[的了啊呀哦]*",
        fill("health.allergy", each(is_allergen, 20)),
    ),
    rule(
        r"(?P<me>我)?(?:平时|一直|从来|从|一般|都|也|真的)*(?P<x>不吃\s*.+)",
        fill("health.diet", one(is_food, 14)),
        fleeting=True,
    ),
    rule(
        r"(?P<me>我)?(?:一直|平时|常年|长期|现在)*(?:是一?[个名]?)?(?P<x>吃素|吃全素|素食主义者|素食者|纯素食者|纯素)"
        + _SINCE
        + r"[的了啊]*",
        fill("health.diet", one(bool, 10)),
        fleeting=True,
    ),
    rule(
        r"(?P<me>我)?(?:最近|现在|目前|正|这段时间|开始)*[在正](?:自学|学习|学)\s*(?P<x>.+?)\s*(?:语言|编程|开发|框架)?",
        fill("work.tech_stack", each(is_technology, 20)),
        fill("edu.language", each(is_language, 10)),
        fleeting=True,
    ),
    rule(
        _ME
        + r"(?:主要|日常|一般|最?常|主力)(?:用|写|使用)(?:的?(?:是|语言是))?\s*(?P<x>.+?)\s*(?:语言|来?开发|编程|写代码)?",
        fill("work.tech_stack", each(is_technology, 20)),
        fleeting=True,
    ),
    rule(
        r"我(?:的(?:技术栈|主力语言|常用语言|编程语言|主语言)|最(?:喜欢|常用|擅长)的(?:编程)?语言)(?:主要)?(?:是|有|包括)\s*(?P<x>.+)",
        fill("work.tech_stack", each(is_technology, 20)),
    ),
    rule(
        r"(?P<x>.+?)\s*是我的(?:主力|常用|主要)(?:编程)?语言",
        fill("work.tech_stack", each(is_technology, 20)),
    ),
    rule(r"我(?:的?母语是|会说|能说|会讲|能讲)\s*(?P<x>.+)", fill("edu.language", each(is_language, 10))),
    rule(
        r"我的?(?:业余)?(?:兴趣爱好|爱好|兴趣)(?:就?是|有|包括)?\s*(?P<x>.+)",
        fill("leisure.hobbies", each(is_hobby, 15)),
    ),
    rule(
        rf"我{_LEISURE}(?:都|就|很|最|比较|特别|挺)?(?:喜欢|爱好|爱)\s*(?P<x>.+)",
        fill("leisure.hobbies", each(is_hobby, 15)),
        fleeting=True,
    ),
    rule(
        rf"{_FROM_NOW_ON}(?:你|请|麻烦|都|就|每次|一律|统一|要|[，, ])*(?P<x>(?!我|再|有|会|可能|想|能|可以|万一).+)",
        fill(PREFERENCES, phrase(is_wish)),
        whole=True,
    ),
    rule(
        r"我(?:比较|更|一直|都)?(?P<x>(?:喜欢|偏好|偏爱)(?!你|这|那|刚才|第|上).{2,12}的(?:回答|回复|解释|答复|沟通)(?:方式|风格)?)",
        fill(PREFERENCES, phrase(is_wish, 24)),
    ),
    rule(
        r"我(?:今年|近期|短期|最近)?的(?:短期|近期|今年的)?目标是要?在?\s*(?P<y>20\d\d)\s*年(?:\s*(?P<m>\d\d?)\s*月[份底初]?)?"
        r"(?:之前|以前|前|内|里)?[，,]?\s*(?P<x>.+)",
        fill("goals.short_term_goal", goal),
        whole=True,
    ),
)
