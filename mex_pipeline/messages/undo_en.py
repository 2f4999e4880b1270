"""What an undo says, in English."""

TEXTS: dict[str, str] = {
    "undo.done": "Undone: job {jobs}. Put back {put_back}, left alone {refused}",
    "undo.would": "Would undo job {jobs}: put back {put_back}, leave alone {refused}",
    "undo.refused": "Left alone:",
    "undo.withdrawn": "Questions to you that are withdrawn: {count} (mex extract --again SESSION asks them again)",
    "undo.done_before": "Undone before: {count}",
    "undo.purged": "Forgotten for good, passed over: {count}",
    "undo.back": "To take this back: mex undo {id}",
    "undo.counts": "put back {put_back}, left alone {refused}",
    "error.undo_nothing_yet": "No job has changed any memory.",
    "error.undo_job_unfinished": "Job {id} has not ended.",
    "error.undo_restore": "Job {id} brought back an export; that cannot be undone as a whole.",
    "error.undo_wrote_nothing": "Job {id} left nothing that could be undone.",
    "error.undo_done_already": "Job {id} is undone already.",
    "hint.undo_done_already": "mex undo {by} brings it back.",
    "error.undo_done_by_hand": "What job {id} changed stands as it was before already, though no undo did that.",
    "hint.undo_done_by_hand": "mex history {memory} shows what did.",
    "hint.undo_wrote_nothing": "mex log shows what changed, and by which job.",
    "hint.undo_restore": "mex log --job {id} shows what it changed; mex forget ID takes back single memories.",
    "hint.undo_job_unfinished": "Stop it with mex jobs cancel {id}, or wait with mex jobs wait {id}.",
    "hint.undo_nothing_yet": "mex jobs list shows the jobs; mex restore ID brings back what was forgotten by hand.",
}
