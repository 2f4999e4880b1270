"""What English words name: a person, a town, an employer, a job, an allergen, a hobby or a wish how to be answered."""

import re

from mex_pipeline.rules_extractor.places import PLACES_EN
from mex_pipeline.rules_extractor.value import either, english
from mex_pipeline.rules_extractor.words import PROGRAMS

_CAPITAL = r"[A-Z][\w'’&.-]*"
_PROPER = re.compile(rf"(?:the )?{_CAPITAL}(?: (?:(?:of|de|la|del|da|the|and|&) ){{0,2}}{_CAPITAL}){{0,3}}")
_NO_PROPER = re.compile(
    r"(?:the )?"
    + either(
        """
        Night, Day, Home, Work, School, Hope, Fear, Peace, Future, Past, Present, Internet, Cloud, Office, Company,
        Terminal, Browser, Matrix, Moment, City, AI, IT, HR, PM, AM, CLI, IDE, PST, EST, UTC, GMT, CET, CST
        """
    )
)
_NAME = re.compile(r"[A-Z][a-zA-Z'’-]+(?: (?:van|von|de|da|bin|al|[A-Z][a-zA-Z'’-]*\.?)){0,3}")
_NO_NAME = english(
    """
    not, no, unknown, none, null, test, undefined, important, irrelevant, anonymous, secret, required, mud, missing,
    wrong, error, foo, bar, user, name, admin, john doe
    """
)
_TITLE = re.compile(
    r"(?:[\w/+#.&-]+ ){0,3}"
    + either(
        """
        engineer, developer, programmer, designer, architect, analyst, scientist, researcher, manager, director,
        consultant, teacher, professor, lecturer, tutor, doctor, physician, surgeon, nurse, dentist, pharmacist, lawyer,
        attorney, paralegal, accountant, auditor, journalist, reporter, writer, editor, translator, interpreter,
        photographer, musician, chef, driver, pilot, mechanic, electrician, plumber, carpenter, librarian, technician,
        administrator, coordinator, recruiter, salesperson, entrepreneur, freelancer, barista, cashier, therapist,
        psychologist, psychiatrist, veterinarian, economist, statistician, mathematician, physicist, chemist, biologist,
        sysadmin, firefighter, paramedic, officer, farmer, realtor, bartender, associate, critic, trader, specialist,
        strategist, planner, instructor, trainer, advis[eo]r, supervisor, banker, broker, curator, composer, historian,
        archivist, baker, tailor, hairdresser, florist, illustrator, animator, producer, filmmaker, social worker,
        team lead, tech lead, founder, co-founder, CEO, CTO, CFO, COO, SRE, DBA, postdoc
        """
    ),
    re.IGNORECASE,
)
_NO_TITLE = english(
    """
    bad, good, great, terrible, awful, decent, slow, fast, careful, new, better, best, worst, total, complete, big,
    natural, real, true, happy, nervous, proud, former, ex, future, aspiring, wannabe, would-be, retired, fellow,
    visual, born, huge, lousy, poor, lazy, designated, and, or, of, the, not, like, for, to, with, in
    """
)
_STUDENT = re.compile(
    r"(?:[A-Za-z.'’-]+ ){0,3}" + either("student, undergraduate, undergrad, freshman, sophomore"),
    re.IGNORECASE,
)
_NO_ALLERGEN = english(
    """
    bad, code, coding, meetings?, bugs?, mondays?, drama, nonsense, people, bs, bullshit, laziness, emails?, deadlines?,
    commitment, change, exercise, work, working, fun, failure, stupidity, stupid, boilerplate, complexity, politics,
    jargon, abstractions?, ambiguity, mornings?, love, lies, lying, liars?, math, homework, school, being, doing,
    having, making, buzzwords?, corporate, small talk, crowds, success, money, semicolons?, tests?, testing,
    documentation, hype, much, lots?, many, most, any, all, some, few, certain, various, sorts?, kinds?, spaghetti,
    food, skin, seasonal, severe, mild, serious, frameworks?, ideas?
    """
)
_NO_FOOD = english(
    """
    much, anything, breakfast, lunch, dinner, out, enough, well, at, after, before, until, when, if, a lot, often, too,
    so, because, unless, properly, healthy, healthily, very, late, early, alone, crow, words, right, for, during, all,
    more, less, regularly, any, while, yet
    """
)
_NO_HOBBY = english(
    """
    to, code, tests?, answers?, bugs?, not, just, only, really, like, because, when, now, mostly, limited, important,
    too, very, getting, going, expensive, taking, becoming, still, also, been, helping, keeping, varied, people, many,
    few, none
    """
)
_SERVES = english(
    """
    answers?, answering, reply, replies, replying, respond, responses?, explain, explanations?, concise, concisely,
    brief, briefly, short, verbose, bullet points?, bullets, emojis?, tone, step[- ]by[- ]step, paragraphs?,
    conclusion first, tl;?dr, call me, address me, jargon,
    in (?:plain |simple |British |American )?(?:English|Chinese|French|German|Spanish|Japanese|Korean|Italian|Portuguese|Russian)
    """
)
_NO_WISH = english(
    """
    act, pretend, role-?play, persona, character, like an?, as an?, as if, as though, you are, you[’']re, server, api,
    endpoint, function, request, customers?, clients?, users?, emails?, the questions?, questions below, article, essay,
    story, call me (?:when|if|back|later|at|on|crazy)
    """
)


def is_name(text: str) -> bool:
    """True for a person's name in capitals: "my name is important" holds none."""
    return _NAME.fullmatch(text) is not None and not _NO_NAME.search(text)


def is_company(text: str) -> bool:
    """True for a name in capitals: "I work at night" names no employer."""
    return len(text) > 1 and _PROPER.fullmatch(text) is not None and not _NO_PROPER.fullmatch(text)


def is_town(text: str) -> bool:
    """True for a known place or a name in capitals that is no program: "I live in Vim" names no town."""
    return text.lower() in PLACES_EN or (is_company(text) and text.lower() not in PROGRAMS)


def is_known_place(text: str) -> bool:
    """True for a country, state or city of the list: one can be from an office, too."""
    return text.lower() in PLACES_EN


def is_title(text: str) -> bool:
    """True for a job, without a judgement ("a terrible driver")."""
    return _TITLE.fullmatch(text) is not None and not _NO_TITLE.search(text)


def is_student(text: str) -> bool:
    """True for a stage of school or study."""
    return _STUDENT.fullmatch(text) is not None and not _NO_TITLE.search(text)


def is_allergen(text: str) -> bool:
    """True unless the allergy is a figure of speech ("bad code")."""
    return not _NO_ALLERGEN.search(text) and text.lower() not in PROGRAMS - {"latex"} and len(text.split()) <= 3


def is_food(text: str) -> bool:
    """True unless the words tell when or how much somebody eats."""
    return not _NO_FOOD.search(text) and len(text.split()) <= 7


def is_hobby(text: str) -> bool:
    """True for a short name of something one does for pleasure."""
    return not _NO_HOBBY.search(text) and len(text.split()) <= 4 and text.lower() not in PROGRAMS


def is_wish(text: str) -> bool:
    """True for words about how to be answered that give no role to play."""
    return _SERVES.search(text) is not None and not _NO_WISH.search(text)
