"""The English signs that a clause is, or is not, a plain statement about oneself."""

import re

from mex_pipeline.rules_extractor.kinds_en import is_wish
from mex_pipeline.rules_extractor.rule import Signs
from mex_pipeline.rules_extractor.value import either, english

_ASKING = r"(?:(?:please|also|and|do|always|can you|could you)\s+)*"
_KEEP = r"(?:remember|memori[sz]e|take note|make a note|note down)"
_TEXTS = """
    story, email, e-mail, letter, essay, poem, song, lyrics, article, blog, post, bio, introduction, speech, dialogue,
    monologue, scene, chapter, resume, cv, cover letter, review, tweet, caption, description, paragraphs?, novel,
    pager, report, proposal, message, ad, copy
"""

SIGNS = Signs(
    lead=re.compile(
        r"(?:"
        + either(
            """
            hi, hello, hey, hiya, greetings, well, also, plus, btw, by the way, fyi, so, and, but, because, since,
            actually, additionally, ok, okay, yes, yeah, yep, sure, thanks, thank you, please note(?: that)?, note that,
            just so you know, for context, for reference, for the record, first of all, firstly?, secondly?, anyway,
            right, oh, there, everyone, all, nice to meet you, as you know, you should know(?: that)?
            """
        )
        + r"\b[\s,!.]*|\d{1,2}[.)]\s+)+",
        re.IGNORECASE,
    ),
    aside=re.compile(r"(?:I[’']?m\s+|I\s+am\s+)?\d{1,2}(?:\s+years\s+old)?|single|married", re.IGNORECASE),
    label=re.compile(
        r"(?:"
        + either(
            """
            hi, hello, hey, fyi, ps, note, also, context, background, some context, some background, about me,
            a bit about me, some facts about me, for context, btw, by the way,
            (?:please )?(?:remember|note)(?: that| this| the following| these(?: things| facts)?)?
            """
        )
        + r"\s*)+",
        re.IGNORECASE,
    ),
    silent=re.compile(
        rf"\b(?:write|draft|compose|generate|create)\b[^.\n]{{0,60}}\b{either(_TEXTS)}\b|"
        + english(
            r"""
            translat\w+, proofread\w*, rewrit\w+, rephras\w+, paraphras\w+, polish, summari[sz]e,
            correct (?:this|the|my), act as, acting as, act like, pretend, role-?play\w*,
            you are (?:now )?(?:an?|the|my|going to|chatgpt|no longer|not an?|more than),
            you will (?:be|act|play|answer|respond), imagine (?:that )?you, from the perspective of,
            in the (?:voice|style) of, just kidding, jk, lyrics, fictional, sample (?:text|data|input), test data,
            dummy data, for example, e\.g, prompt, ignore (?:all|previous|the above)
            """
        ).pattern,
        re.IGNORECASE,
    ),
    unreal=english(
        r"""
        if, suppose, supposing, imagine, assum\w+, let[’']?s say, what if, would, could, might, wish, hypothetically,
        unless, when, whenever, until, once, maybe, probably, perhaps, possibly, i think, i guess, i feel like, said,
        says?, saying, told, tells?, asked, asks, wrote, writes, reads, quot\w+, claim\w*, according to, print\w*,
        echo\w*, outputs?, returns?, typ(?:e|ed|ing), titled, named, called, example, such as, something like,
        like this, lyrics, used to, formerly, previously, back then, at the time, years? ago,
        as a (?:kid|child|teenager), in college,
        in (?:the|this|an?|my) (?:novel|story|book|movie|film|game|dream|scenario), ^(?:back )?in (?:19|20)\d\d$,
        last (?:year|month|week)
        """
    ),
    asks=re.compile(
        "^"
        + either(
            """
            do, does, did, can, could, should, would, will, is, are, am, was, were, have, has, may, shall, what, why,
            how, who, whose, which, where, when, whether, guess, tell me, know
            """
        )
        + r"\b",
        re.IGNORECASE,
    ),
    undone=english(
        "just kidding, not really, not any ?more, no longer, not true, (?:he|she|they) (?:said|says|wrote|writes|replied)"
    ),
    tag=re.compile(
        either(
            r"""
            right, correct, yes, no, ok, okay, true, (?:is|are|do|does|am|wo|ca)n[’']t (?:it|i|you|they|he|she), am i,
            do i, remember, you know, or
            """
        ),
        re.IGNORECASE,
    ),
    future=re.compile(
        english(
            """
            tomorrow, tonight, next (?:week|weekend|month|year|semester|summer|spring|fall|winter), going to, gonna,
            will, planning, plan to, about to, soon, hop(?:e|ing) to, considering, starting (?:in|on|next), for now,
            temporarily, for the time being
            """
        ).pattern
        + r"|[’']ll\b",
        re.IGNORECASE,
    ),
    passing=english(
        r"""
        for now, temporar\w+, for the time being, business trip, travel(?:l?ing)?, on vacation, visiting,
        for (?:an?|one|two|three|four|a few|a couple of|the|this|\d+) (?:day|week|weekend|month|summer|night)s?, until,
        this week, next week, on loan, filling in, just today
        """
    ),
    remember=re.compile(
        rf"(?P<firm>{_ASKING}{_KEEP}(?:\s+(?:this|that|the following))?\s*:\s*"
        rf"|please\s+(?:(?:also|always)\s+)?{_KEEP}\s+that\s+)?"
        rf"(?(firm)|{_ASKING}{_KEEP}(?:\s+that\b|\s*,|\s+(?=I\b|I[’']m|my\b))\s*)(?P<x>.+)",
        re.IGNORECASE,
    ),
    oneself=re.compile(r"(?:[Ii]|[Mm]y)\b"),
    task=english(
        r"""
        you, act as, pretend, role-?play, functions?, methods?, class(?:es)?, variables?, modules?, endpoints?,
        returns?, bugs?, line \d+, stack trace, null, compile[sd]?, column, parameters?, arguments?, repo(?:sitory)?,
        branch, commits?, deploy\w*, api, tests?, scripts?, files?, folders?, director(?:y|ies), database, codebase,
        code
        """
    ),
    serves=is_wish,
)
