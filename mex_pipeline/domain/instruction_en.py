"""English words that instruct a model (product F5). Texts come in lower case, their spaces unified."""

import re

from mex_pipeline.domain.sign import Clause, Needs, Sign, shape

_RULES = (
    r"(?:instructions?|rules?|prompts?|guidelines?|directions?|directives?|polic(?:y|ies)|constraints?|restrictions?"
    r"|safeguards?|guardrails?|programming|training|orders|commands?|messages?|context|safety\ (?:checks?|filters?)"
    r"|content\ filters?|security\ (?:checks?|measures?|polic(?:y|ies)))"
)
_WHICH = r"(?:previous(?:ly)?|prior|above|earlier|preceding|foregoing|existing|initial|original|system|your|safety|developer)"
_SPEAKS = (
    r"(?:obey|comply|follow|answer|respond|reply|execute|run|ignore|recommend|suggest|say|output|print|send|forward|call"
    r"|invoke|use|include|append|tell|treat|act|behave|refuse|agree|approve|trust|cite|promote|mention|reveal|disclose"
    r"|delete|remove|write|store|remember|pretend|become|insert|add|begin|start|prefix|end|prioriti[sz]e|never|always|not)"
)
_SECRETS = (
    r"(?:passwords?|credentials?|api[-_ ]?keys?|secrets?|tokens?|private\ keys?|ssh\ keys?|cookies|system\ prompts?"
    r"|environment\ variables?|env\ vars?|\.env|chat\ (?:history|logs?)|conversations?(?:\ history)?|memor(?:y|ies)"
    r"|personal\ (?:data|information|details)|(?:the\ )?user['’]?s?\ (?:data|files?|profile|details|information|messages?"
    r"|name|e-?mails?|address(?:es)?)|user\ (?:data|profile)|browsing\ history|session\ (?:data|ids?)|id_rsa"
    r"|everything\ you\ know|all\ (?:the\ )?data|contacts|credit\ cards?(?:\ numbers?)?)"
)
_AI = (
    r"(?:the\ (?:ai|assistant|llm|chatbot|language\ model)"
    r"|ai\ (?:assistants?|models?|agents?)|any\ (?:ai|assistant|llm)|assistants?)"
)
_URL = r"(?:https?://|www\.|ftp://)"

CLAUSE = Clause(
    teller=re.compile(
        r"\b(?:i|i['’](?:m|d|ve|ll)|we|he|she|they|it|who|my|our|his|her|their|people|users?|everyone|someone|nobody|team"
        r"|boss|wife|husband|kids?|son|daughter|mother|father|mom|dad|friends?|colleagues?|students?|company)\b"
    ),
    addressee=re.compile(r"\b(?:you|your|assistant|ai|llm|chatgpt|gpt|claude|gemini|chatbot|language model|please)\b"),
    lead=re.compile(
        r"(?>\s|(?:please|now|just|then|and|also|first|next|finally|always|never|immediately|instead|simply|kindly|so"
        r"|important|urgent|note|attention|must|should|shall|will|to|do|not|don['’]t|silently|secretly|quietly"
        r"|automatically|before|continuing|step|\d+)\b)*+"
    ),
)

SHAPES = (
    shape(
        Sign.OVERRIDE,
        "ignore,disregard,forget,override,bypass,overrul,discard,circumvent,abandon,suspend,violate,follow,obey,bound,drop",
        rf"""\b(?:ignore|disregard|forget|override|bypass|overrule|discard|circumvent|abandon|suspend|violate|drop
        |(?:do\ not|don['’]t|stop|never|no\ longer|cease\ to|quit)\ (?:follow(?:ing)?|obey(?:ing)?|bound\ by)
        |not\ bound\ by)
        \ (?:\w+\ ){{0,3}}?(?:(?:all|any|every|each)\ (?:of\ )?(?:(?:the|these|those)\ )?(?:other\ )?(?:{_WHICH}\ )*
        |(?:{_WHICH}\ )+)(?:\w+\ ){{0,2}}?{_RULES}\b""",
    ),
    shape(
        Sign.OVERRIDE,
        "ignore,disregard,forget",
        r"""\b(?:ignore|disregard|forget)\ (?:absolutely\ )?(?:everything|anything|all|what(?:ever)?)\ (?:that\ )?
        (?:is\ |was\ |came\ |written\ |said\ )*(?:above|before\ this|previously|you\ (?:were|have\ been|know
        |learned)|up\ to
        \ (?:this|here))""",
    ),
    shape(
        Sign.OVERRIDE,
        "instruction,directive,override,prompt,precedence,supersede,highest priority",
        r"""\b(?:(?:new|updated|revised|important|hidden|secret|special|admin(?:istrator)?|urgent
        |priority)\ (?:system\ )?
        (?:instructions?|directives?|prompts?)\s?(?:[:：\-–—]|for\ (?:the\ )?(?:ai|assistant|llm|model|agent)|from\ )
        |(?:system|admin(?:istrator)?|security|developer)\ override\b
        |(?:this|these|the\ following)\ (?:\w+\ ){0,2}(?:overrides?|supersedes?|replaces?|takes?\ precedence\ over|has
        \ priority\ over|have\ priority\ over|takes?\ priority\ over)\ (?:\w+\ ){0,3}(?:instructions?|rules?|prompts?
        |guidelines?|polic(?:y|ies)|settings|memor(?:y|ies)))""",
        Needs.NOTHING,
    ),
    shape(
        Sign.OVERRIDE,
        "disable,turn off,switch off,deactivate,remove,lift",
        r"""\b(?:disable|turn\ off|switch\ off|deactivate|remove|lift)\ (?:all\ |any\ |your\ |the\ )*(?:safety
        |security|content|ethic
        \w+|guardrails?|moderation|confirmation|permission|approval|audit)\ ?(?:filters?|checks?|prompts?|rules?
        |restrictions?
        |guidelines?|measures?|logging|logs?|steps?)?""",
        Needs.AN_ORDER,
    ),
    shape(
        Sign.OVERRIDE,
        "as confirmed,to confirmed,trusted,authoritative,verified,system-level,priority",
        r"""\b(?:mark|treat|set|store|save|record|regard|register)\ (?:\w+\ ){1,5}(?:as|to)\ (?:a\ |an\ |the\ )?
        (?:confirmed|trusted|verified|authoritative|system[-\ ]level|highest[-\ ]priority|absolute)\b""",
        Needs.AN_ORDER,
    ),
    shape(
        Sign.EXFILTRATION,
        "send,post,upload,forward,mail,exfiltrat,leak,transmit,copy,share,submit,deliver,encode,append,embed,include",
        rf"""\b(?:send|post|upload|forward|e-?mail|exfiltrate|leak|transmit|copy|share|submit|deliver|encode|append
        |embed
        |include)\ (?:\S+\ ){{0,5}}?{_SECRETS}\b(?:[^\n]{{0,60}}\b(?:to|at|via|in|into|with|using)\b[^\n]{{0,40}}
        (?:{_URL}|@|webhook|server|endpoint|attacker|external|third\ part|following\ (?:url|address)|\burl\b
        |query\ string
        |image\ (?:link|url)|reply|response))""",
        Needs.AN_ORDER,
    ),
    shape(
        Sign.EXFILTRATION,
        "prompt,instruction",
        r"""\b(?:reveal|print|repeat|show|output|display|leak|disclose|expose|dump|recite|tell|give|share|write|copy
        |return
        |summari[sz]e|translate|quote)\ (?:\w+\ ){0,4}(?:(?:your|the|its)\ (?:\w+\ )?(?:system|initial|hidden
        |original|secret
        |developer|full|internal)\ (?:\w+\ )?(?:prompts?|instructions?|messages?)|your\ (?:exact\ )?(?:prompt
        |instructions))
        \b""",
        Needs.AN_ORDER,
    ),
    shape(
        Sign.EXFILTRATION,
        "exfiltrat,![",
        rf"""\bexfiltrate\ (?:\S+\ ){{0,5}}?{_SECRETS}\b|!\[[^\]\n]{{0,80}}\]\({_URL}[^)\n]*(?:[?&]\w+=|\$|\{{)[^)\n]*""",
    ),
    shape(
        Sign.SECRECY,
        "the user,the human,the operator,the owner",
        r"""\b(?:(?:do\ not|don['’]t|never|without|avoid|must\ not|should\ not|cannot
        |can['’]t)\ (?:\w+\ ){0,2}?(?:tell(?:ing)?
        |inform(?:ing)?|notify(?:ing)?|alert(?:ing)?|warn(?:ing)?|ask(?:ing)?|mention(?:ing)?|disclos(?:e|ing)
        |reveal(?:ing)?|show(?:ing)?)\ (?:(?:this|it|that|any\ of\ this|these|the\ \w+)\ (?:\w+\ )?to\ )?
        |(?:hide|keep|conceal)\ (?:this|it|that|everything|all\ of\ this|these)\ (?:\w+\ ){0,2}from\ )
        the\ (?:user|human|operator|owner)\b(?!['’]s|\s+(?:raw|interface|experience|twice))""",
        Needs.NO_TELLER,
    ),
    shape(
        Sign.JAILBREAK,
        "anything now,dan,jailbr,unrestrict,unfilter,uncensor,no restriction,without,no longer,free,opposite,refus,mode,ethic",
        r"""\bdo\ anything\ now\b|\b(?:as|are|be|become|called)\ (?:now\ )?dan\b(?!\s+\w+(?:son|man)\b)|\bdan\ mode\b
        |\bjail(?:break(?:ed|ing)?|broken)\ (?:mode|prompt|ai|assistant|model|version)\b|\byou\ (?:are
        |have\ been)\ (?:now\ )?
        jailbroken\b
        |\b(?:an?\ |in\ |as\ )?(?:unrestricted|unfiltered|uncensored|amoral|evil)\ (?:ai|assistant|model|chatbot
        |mode|llm|version)\b
        |\b(?:you|ai|assistant|model|answers?|respond|reply)\b[^\n.]{0,60}\b(?:without\ (?:any\ )?|(?:have|has|had
        |with|under|are|is
        |by)\ no\ (?:\w+\ )?|free\ (?:of|from)\ (?:all\ |any\ )?)(?:ethical\ |moral\ |content\ |safety\ |legal\ )*
        (?:restrictions?|filters?|censorship|limitations?|limits|guidelines|ethics|morals?|moral\ code|rules
        |refusals?)\b
        |\byou\ (?:can|may|must|will|should)(?:\ ?not|\ never)\ (?:ever\ )?refuse\b|\bnever\ refuse\ (?:a|any|the|my
        |to)\b
        |\b(?:you\ are|you['’]re)\ no\ longer\ (?:an?\ |bound|restricted|limited|chatgpt|claude|required)
        |\byou\ have\ been\ (?:freed|liberated|unlocked)\b|\bno\ (?:ethical|moral)\ (?:restrictions?|guidelines
        |constraints)\b""",
    ),
    shape(
        Sign.JAILBREAK,
        " mode",
        r"""\b(?:enter|switch\ to|activate|enable|you\ are\ (?:now\ )?in|engage|simulate)\ (?:\w+\ )?(?:developer
        |debug|god|dan|root
        |sudo|admin|maintenance|unrestricted|opposite|test)\ mode\b(?!\ (?:on|of|for|in)\b)""",
        Needs.AN_ORDER,
    ),
    shape(
        Sign.ROLE,
        "you are now,you're now,you’re now,act as,pretend,roleplay,role-play,role play,your new",
        r"""\byou(?:\ are|['’]re)\ now\ (?!on\b|able\b|reading\b)\w+|\b(?:act|behave|respond|answer)\ as\ (?:if\ you
        |though\ you|an?\ (?:ai|linux|terminal|hacker|root|admin|system|different|malicious|deceased))
        |\bpretend\ (?:that\ )?(?:you|to\ be\ (?:an?\ )?(?:ai|my|the|dan|hacker|linux|terminal))\b
        |\byour\ new\ (?:role|identity|persona|name|task|goal|objective|mission|purpose|instructions?)\ (?:is|are
        |will)\b""",
    ),
    shape(
        Sign.ORDER,
        "from now on,going forward,from this point,henceforth,in all future,in future",
        rf"""\b(?:from\ now\ on|going\ forward|from\ this\ point(?:\ on(?:ward)?)?|henceforth
        |in\ (?:all\ )?future\ (?:conversations?
        |sessions?|replies|responses|chats?)),?\ (?:you\b(?:['’]ll|\ (?:must|will|should|shall|are|have|need|may|can
        |only|always
        |never))?|{_AI}\ |(?:always\ |never\ )?{_SPEAKS}\ )""",
    ),
    shape(
        Sign.ORDER,
        "you must,you should,you shall,you are required,you are instructed,you have to,you need to,you will,you are to"
        ",you are obliged,you are programmed,you can only,you may only",
        rf"""\byou\ (?:must|should|shall|will|are\ (?:hereby\ )?(?:required|instructed|obliged|ordered|commanded
        |programmed)\ to
        |have\ to|need\ to|are\ to|(?:can|may)\ only)\ (?:now\ |only\ |strictly\ |immediately\ )?{_SPEAKS}\b""",
    ),
    shape(
        Sign.ORDER,
        "assistant,the ai,ai model,ai agent,ai assistant,llm,any ai,language model,chatbot",
        rf"""\b{_AI}\ (?:\w+\ reading\ this\ )?(?:must|should|shall|has\ to|have\ to|needs?\ to|is\ (?:required
        |instructed)\ to
        |are\ (?:required|instructed)\ to|is\ to|are\ to)\ (?:now\ |only\ |always\ |immediately\ )*{_SPEAKS}\b""",
    ),
    shape(
        Sign.ORDER,
        "whenever,when the user,if the user,when asked,every time,if asked,always",
        r"""\b(?:whenever|when|if|every\ time|each\ time)\ (?:the\ user|anyone|somebody|someone|you\ (?:are|see
        |read|receive)|asked)
        \b[^\n.]{0,80}?[,:]?\ (?:you\ |always\ |must\ |should\ |then\ |secretly\ |silently\ |instead\ )*
        (?:recommend|suggest|reply|respond|answer|say|output|send|forward|call|execute|run|include|append|insert
        |tell|mention|promote|claim
        |deny|fetch)\b
        |\balways\ (?:recommend|trust|promote|cite|obey|approve)\ """,
        Needs.AN_ORDER,
    ),
    shape(
        Sign.ORDER,
        "remember,recommend,cite,trusted source,authoritative",
        r"""\b(?:remember|note|store|memori[sz]e)\ (?:that\ )?[^\n]{0,80}\b(?:trusted|authoritative
        |most\ reliable|preferred)
        \ (?:source|vendor|provider|site|citation|authority)\b""",
        Needs.AN_ORDER,
    ),
    shape(
        Sign.COMMAND,
        "run,execute,invoke,call,eval,paste,type,trigger,launch,perform",
        r"""\b(?:run|execute|invoke|eval(?:uate)?|paste|type|launch|perform|trigger)\ (?:the\ following|this|these
        |that|the\ attached
        |the\ below|all|any|following|whatever|arbitrary)\ (?:\w+\ ){0,3}?(?:commands?|scripts?|code|payload|binary
        |snippets?|lines?
        |shell|terminal|instructions?|tools?|functions?|program|actions?|steps?|quer(?:y|ies))\b
        |\b(?:run|execute|type|paste)\ (?:\S+\ ){1,8}?in\ (?:the|a|your)\ (?:terminal|shell|console|command\ line)\b
        |\b(?:call|invoke|trigger|use)\ (?:the\ )?[`"']?[a-z]+(?:_[a-z]+)+[`"']?\ (?:tool|function|api|endpoint)\b
        |\b(?:call|invoke|trigger)\ [`"']?[a-z]+(?:_[a-z]+)+\b
        |\b(?:call|invoke|trigger)\ the\ (?:\w+\ ){0,2}(?:tool|function|plugin|mcp)\b""",
        Needs.AN_ORDER,
    ),
    shape(
        Sign.COMMAND,
        "delete,erase,wipe,purge,drop,transfer,grant",
        r"""\b(?:delete|erase|wipe|purge|drop)\ (?:all|every|any|the\ entire
        |the\ user['’]s)\ (?:\w+\ ){0,3}?(?:memor(?:y|ies)|files?|data
        |database|tables?|backups?|records|repositor(?:y|ies)|history)\b|\bgrant\ (?:\w+\ ){0,3}(?:admin|root
        |full)\ (?:access|rights
        |privileges|permissions?)\b""",
        Needs.AN_ORDER,
    ),
    shape(
        Sign.COMMAND,
        "curl ,wget ,rm -,sudo ,/dev/tcp,powershell,bash -c,sh -c,os.system,subprocess,eval("
        ",exec(,chmod ,| sh,|sh,| bash,|bash,| sudo,nc -,mkfs"
        ",__import__,drop table",
        rf"""\b(?:curl|wget)\ (?:-{{1,2}}\S+\ )*["'`<]*(?:{_URL}|\S+\.\w{{2,6}}/)|\brm\ -(?:rf|fr|r)\ +["'`]?[/~.*$]
        |/dev/tcp/|\bpowershell(?:\.exe)?\ (?:-\w+\ )*-e(?:nc|ncodedcommand)?\b|\b(?:bash|sh|zsh)\ -c\b
        |\|\s?(?:sudo\ )?(?:ba|z)?sh\b
        |\b(?:os\.system|subprocess\.(?:run|call|popen|check_output)|eval|exec|__import__)\(["'\w]|\bchmod\ (?:\+x
        |777)\ \S
        |\bnc\ -\w*e\b|\bmkfs\.\w+\ |\bdrop\ table\ \w+\s?;|\bsudo\ (?:rm|chmod|dd|cat|su|bash|apt|curl)\b\ ?-?\S*""",
        Needs.NOTHING,
    ),
    shape(
        Sign.FETCH,
        "http,www.,ftp:,this link,this url,following url,following link,this website,this page",
        rf"""\b(?:fetch|visit|open|browse(?:\ to)?|navigate\ to|go\ to|download|load|access|retrieve|click(?:\ on)?
        |request|get|read
        |follow|post\ to|import)\ (?:\w+\ ){{0,6}}?(?:{_URL}|(?:this|the\ following)\ (?:link|url|website|page)\b)""",
        Needs.AN_ORDER,
    ),
    shape(
        Sign.MARKUP,
        "<|,[inst],<<sys,system>,system_prompt,system-prompt,<assistant,<human,tool,function,invoke,###,\"role\",'role'"
        ",begin system,end of,system message,system prompt:,[system],action input,\nhuman:,\nassistant:",
        r"""<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id|begin_of_text)\|>
        |\[/?inst\]|<</?sys>>
        |</?(?:system|system[-_]prompt|system[-_]message|developer|assistant|human|instructions?|admin)>
        |</?(?:antml:)?(?:tool_?call|tool_use|tool_result|tool_response|function_?calls?|function_results|invoke
        |parameter)\b[^>\n]*>
        |^\s*\#{2,4}\ ?(?:system|new\ instructions?|instructions?|assistant|human|response)\ ?:
        |["']role["']\s?:\s?["'](?:system|assistant|developer|tool)["']
        |["'](?:tool_calls|function_call|tool_use)["']\s?:|\bto=functions\.\w+
        |["']name["']\s?:\s?["'][\w.-]+["']\s?,\s?["'](?:arguments|parameters|input)["']\s?:\s?\{
        |\[(?:system|system\ message|system\ prompt|admin|developer)\](?!\()|\bsystem\ prompt\ ?[:：]
        |[-=*\[]{2,}\s?(?:begin|start|end)\ (?:of\ )?(?:the\ )?(?:system|prompt|user\ input|context|instructions?
        |hidden)\b
        |^action\ ?:\s?\S+\s+action\ input\ ?:|^human:[^\n]*\n+assistant:|^assistant:[^\n]*\n+(?:human|user):""",
        Needs.NOTHING,
    ),
    shape(
        Sign.MARKUP,
        "system,developer,assistant",
        r"""(?:^|["“'.]\s?)(?:system|developer|assistant|system\ message|system\ notice
        |system\ alert)\ ?[:：]\s?(?:you\b|your\b
        |ignore|the\ user|all\b|new\b|from\ now|always|never|do\ |don['’]t|please|override|must|important|disregard
        |sure\b)""",
        Needs.NOTHING,
    ),
)
