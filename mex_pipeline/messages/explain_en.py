"""English: why a search or a profile shows what it shows."""

TEXTS: dict[str, str] = {
    "explain.shown": "Shown: {count}",
    "explain.cut": "Not shown: {count}",
    "explain.sum": "In all about {tokens} tokens, headings included; the budget is {most}, a fifth of it in reserve.",
    "explain.view": "View: {view}",
    "explain.withheld": "Withheld as sensitive: {count} (--include-sensitive shows them)",
    "explain.score": "Score {score} = relevance {relevance} × confidence {confidence} × recency {recency} × pinned {pinned}",
    "explain.words": "Found by: {words}",
    "explain.word": "{word} ({by})",
    "explain.by_exact": "as it is",
    "explain.by_stem": "another form",
    "explain.by_part": "part of a word",
    "explain.by_quote": "in its quote",
    "explain.partial": "No memory holds all of these words; these hold some:",
    "explain.many": "Showing {first}-{last} of more than {total}: --offset {last}",
    "error.explain_and_past": "--explain cannot be combined with --history, --as-of or --known-at.",
    "hint.explain_and_past": "The past is shown newest first, without scores.",
}
