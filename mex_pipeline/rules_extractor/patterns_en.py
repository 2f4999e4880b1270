"""English statements about oneself, one row each: how it is said, the slot it fills, and what the words must name."""

from mex_pipeline.rules_extractor.kinds_en import (
    is_allergen,
    is_company,
    is_food,
    is_hobby,
    is_known_place,
    is_name,
    is_student,
    is_title,
    is_town,
    is_wish,
)
from mex_pipeline.rules_extractor.rule import PREFERENCES, Words, each, fill, goal, one, phrase, rule
from mex_pipeline.rules_extractor.value import either, said
from mex_pipeline.rules_extractor.words import is_language, is_technology


def _is_employed(words: Words) -> bool:
    """True when a job stands alone or with an employer: "a developer at heart" has none."""
    employer = words["c"]
    return is_title(said(words["p"])) and (
        employer is None or is_company(employer) or employer.startswith(("a ", "an ", "the "))
    )


_ADVERB = either(
    "currently, now, also, still, just, really, actually, originally, mainly, mostly, usually, generally, primarily, always"
)
_AM = rf"[Ii](?:[’']m|\s+am)\s+(?:{_ADVERB}\s+)*"
_OFTEN = rf"(?:{_ADVERB}\s+)*"
_LATELY = either(
    "now, currently, these days, right now, at the moment, nowadays, lately, as well, too, recently, myself"
)
_NOW = rf"(?:\s+{_LATELY})?"
_TOWN = r"(?:\s+in\s+[A-Z][\w.-]*(?:\s[A-Z][\w.-]*)?)?"
_DIET = either("[Vv]egan, [Vv]egetarian, [Pp]escatarian, lactose[ -]intolerant, gluten[ -]intolerant")
_IMPERATIVE = either(
    """
    always, never, only, do not, don[’']t, answer, reply, respond, explain, keep, use, give, write, call, address,
    start, put, stop, skip, be, avoid, make
    """
)

RULES = (
    rule(
        r"[Mm]y\s+(?:(?:full|first|real|given)\s+)?name(?:\s+is|[’']s)\s+(?P<x>.+)",
        fill("basic_info.name", one(is_name, 40)),
    ),
    rule(rf"{_AM}an?\s+(?P<x>man|woman|male|female)", fill("basic_info.gender", one(bool, 6))),
    rule(
        r"[Ii]\s+was\s+born\s+(?:in|on)\s+(?:[A-Z][a-z]+\s+)?(?:the\s+)?(?:\d{1,2}(?:st|nd|rd|th)?,?\s+)?(?:(?:of\s+)?[A-Z][a-z]+,?\s+)?"
        r"(?P<x>(?:19|20)\d\d)",
        fill("basic_info.birth_year", one(bool, 4)),
        whole=True,
    ),
    rule(
        rf"(?:{_AM}from|[Ii]\s+(?:originally\s+)?come\s+from)\s+(?P<x>.+?)(?:\s+originally)?",
        fill("basic_info.hometown", one(is_known_place, 30)),
    ),
    rule(
        r"(?:[Mm]y\s+home\s?town\s+is|[Ii]\s+grew\s+up\s+in|[Ii]\s+was\s+(?:born\s+and\s+)?raised\s+in)\s+(?P<x>.+)",
        fill("basic_info.hometown", one(is_town, 30)),
    ),
    rule(
        rf"(?:(?P<me>[Ii])\s+)?{_OFTEN}(?:live|reside)\s+in\s+(?P<x>.+?){_NOW}(?:\s+with\s+my\s+.+)?",
        fill("basic_info.location", one(is_town, 30)),
        fleeting=True,
    ),
    rule(
        rf"(?:(?P<me>[Ii])(?:[’']m|\s+am)\s+)?(?:(?:currently|now)\s+)?(?:based|living)\s+in\s+(?P<x>.+?){_NOW}",
        fill("basic_info.location", one(is_town, 30)),
        fleeting=True,
    ),
    rule(
        rf"[Ii](?:[’']ve|\s+have)?\s+(?:(?:just|recently|already|finally)\s+)?(?:moved|relocated)\s+(?:from\s+.+?\s+)?to\s+(?P<x>.+?){_NOW}",
        fill("basic_info.location", one(is_known_place, 30)),
        fleeting=True,
    ),
    rule(
        rf"(?:(?P<me>[Ii])\s+)?{_OFTEN}work\s+(?:at|for)\s+(?P<c>.+?){_TOWN}(?:\s+as\s+(?:an?|the|their)\s+(?P<p>.+?))?{_NOW}",
        fill("work.company", one(is_company, 40, "c")),
        fill("work.position", one(is_title, 40, "p")),
        fleeting=True,
    ),
    rule(
        rf"(?:(?P<me>[Ii])\s+)?{_OFTEN}work\s+as\s+an?\s+(?P<p>.+?)(?:\s+(?:at|for)\s+(?P<c>.+?)){_TOWN}{_NOW}",
        fill("work.position", one(is_title, 40, "p")),
        fill("work.company", one(is_company, 40, "c")),
        fleeting=True,
    ),
    rule(
        rf"(?:(?P<me>[Ii])\s+)?{_OFTEN}work\s+as\s+an?\s+(?P<x>.+?){_TOWN}{_NOW}",
        fill("work.position", one(is_title, 40)),
        fleeting=True,
    ),
    rule(
        rf"{_AM}an?\s+(?P<p>.+?)(?:\s+(?:at|for)\s+(?P<c>.+?))?{_TOWN}(?:\s+by\s+(?:trade|profession))?",
        fill("work.position", one(is_title, 40, "p")),
        fill("work.company", one(is_company, 40, "c")),
        guard=_is_employed,
        fleeting=True,
    ),
    rule(
        rf"{_AM}an?\s+(?P<x>.+?)(?:\s+at\s+.+)?",
        fill("basic_info.life_stage or work.position", one(is_student, 40)),
        fleeting=True,
    ),
    rule(
        r"[Mm]y\s+(?:job\s+title|title|position|current\s+role|role|occupation|profession|job)\s+is\s+(?:an?\s+)?(?P<x>.+)",
        fill("work.position", one(is_title, 40)),
        fleeting=True,
    ),
    rule(
        rf"(?:{_AM}(?:(?:severely|very|highly|deathly|mildly|slightly|a\s+bit)\s+)?allergic\s+to"
        r"|[Ii]\s+(?:also\s+)?have\s+an?\s+(?:(?:severe|mild|bad|serious)\s+)?allergy\s+to)\s+(?P<x>.+)",
        fill("health.allergy", each(is_allergen, 30)),
        whole=True,
    ),
    rule(
        r"[Ii]\s+(?:also\s+)?have\s+an?\s+(?:(?:severe|mild|bad|serious)\s+)?(?P<x>\w+|\w+ nut)\s+allergy",
        fill("health.allergy", one(is_allergen, 20)),
    ),
    rule(
        r"[Ii]\s+(?:really\s+)?(?P<x>(?:do\s+not|don[’']t|never)\s+eat\s+.+?)(?:\s+at\s+all)?",
        fill("health.diet", one(is_food, 40)),
        fleeting=True,
    ),
    rule(
        rf"{_AM}(?:an?\s+)?(?:strict\s+|lifelong\s+)?(?P<x>{_DIET}){_NOW}",
        fill("health.diet", one(bool, 30)),
    ),
    rule(
        rf"(?:{_AM}(?:learning|studying|teaching\s+myself)|[Ii](?:[’']ve|\s+have)\s+been\s+(?:learning|studying))\s+(?P<x>.+?){_NOW}",
        fill("work.tech_stack", each(is_technology, 20)),
        fill("edu.language", each(is_language, 20)),
        fleeting=True,
    ),
    rule(
        r"[Ii]\s+(?:mainly|mostly|usually|primarily|normally)\s+(?:write|use|code\s+in|program\s+in|work\s+with|work\s+in)\s+(?P<x>.+)",
        fill("work.tech_stack", each(is_technology, 20)),
        fleeting=True,
    ),
    rule(
        r"[Mm]y\s+(?:main|primary|favou?rite|go-to|preferred)\s+(?:programming\s+)?language\s+is\s+(?P<x>.+)",
        fill("work.tech_stack", one(is_technology, 20)),
    ),
    rule(
        r"[Mm]y\s+preferred\s+language\s+is\s+(?P<x>.+)",
        fill("interaction.language", one(is_language, 20)),
    ),
    rule(
        r"[Ii]\s+(?:also\s+|can\s+)?speak\s+(?:fluent\s+|native\s+)?(?P<x>.+?)(?:\s+fluently|\s+natively)?",
        fill("edu.language", each(is_language, 20)),
        whole=True,
    ),
    rule(
        r"[Mm]y\s+(?:native\s+language|mother\s+tongue|first\s+language)\s+is\s+(?P<x>.+)",
        fill("edu.language", one(is_language, 20)),
    ),
    rule(
        r"[Mm]y\s+(?:main\s+|favou?rite\s+)?hobb(?:y\s+is|ies\s+are|ies\s+include)\s+(?P<x>.+)",
        fill("leisure.hobbies", each(is_hobby, 40)),
        whole=True,
    ),
    rule(
        r"[Ii]n\s+my\s+(?:free|spare)\s+time,?\s+[Ii]\s+(?:like\s+to|like|enjoy|love\s+to|love)\s+(?P<x>.+)",
        fill("leisure.hobbies", each(is_hobby, 40)),
        whole=True,
    ),
    rule(
        rf"(?:[Ff]rom\s+now\s+on|[Gg]oing\s+forward|[Ii]n\s+(?:the\s+)?future),?\s+(?:please\s+)?(?P<x>{_IMPERATIVE}\b.+)",
        fill(PREFERENCES, phrase(is_wish)),
        whole=True,
    ),
    rule(
        r"(?:[Pp]lease\s+)?(?P<x>(?:[Aa]lways|[Nn]ever)\s+(?:answer|reply|respond|explain|write\s+to\s+me|talk\s+to\s+me|use\s+emojis?)\b.*)",
        fill(PREFERENCES, phrase(is_wish)),
        whole=True,
    ),
    rule(
        r"(?P<x>[Ii]\s+(?:generally\s+|usually\s+|always\s+)?prefer\s+(?!the\b|this|that|your|first|second)(?:[\w-]+\s+){0,4}"
        r"(?:answers|replies|responses|explanations)(?:\s+(?:in|with|without)\s+.+)?)",
        fill(PREFERENCES, phrase(is_wish)),
        whole=True,
    ),
    rule(
        r"[Mm]y\s+(?:short[- ]term\s+|current\s+)?goal\s+is\s+to\s+(?P<x>.+?)\s+(?:by|before)\s+(?:the\s+end\s+of\s+)?"
        r"(?:(?P<m>[A-Z][a-z]{2,8})\s+)?(?P<y>20\d\d)",
        fill("goals.short_term_goal", goal),
        whole=True,
    ),
)
