"""What search by meaning says, in English."""

TEXTS: dict[str, str] = {
    "semantic.related": "similar in meaning",
    "semantic.unavailable": "Not searched by meaning, only by words.",
    "semantic.missing": "{count} memories have no vector yet and are found by their words only.",
    "semantic.queued": "Their vectors are being made: mex jobs show {id}",
    "semantic.source": "vectors of memories",
    "semantic.made": "{count} vectors made with {model}",
    "semantic.progress": "{done} of {total} vectors made",
    "semantic.rest": "The vectors made so far stay. The rest: mex jobs retry {id}",
    "semantic.endpoint": "Check the section semantic in config.yaml.",
    "error.semantic_off": "Search by meaning is off.",
    "hint.semantic_off": "Set semantic.enabled: true in config.yaml, then run mex embed.",
    "error.semantic_not_installed": "The packages for search by meaning are not installed.",
    "hint.semantic_not_installed": "Run pip install 'mex-pipeline[semantic]' to install them.",
    "error.semantic_and_past": "--semantic searches what is known now, not the past.",
    "hint.semantic_and_past": "Leave out --semantic, or --history, --as-of and --known-at.",
}
