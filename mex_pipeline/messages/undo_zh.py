"""撤销的中文消息。"""

TEXTS: dict[str, str] = {
    "undo.done": "已撤销任务 {jobs}：还原 {put_back} 条，未动 {refused} 条",
    "undo.would": "将撤销任务 {jobs}：还原 {put_back} 条，不动 {refused} 条",
    "undo.refused": "未动：",
    "undo.withdrawn": "收回待你决定的问题：{count} 个（mex extract --again SESSION 可重新提出）",
    "undo.done_before": "此前已撤销：{count} 条",
    "undo.purged": "已彻底删除，跳过：{count} 条",
    "undo.back": "如需恢复：mex undo {id}",
    "undo.counts": "还原 {put_back} 条，未动 {refused} 条",
    "error.undo_nothing_yet": "还没有任务改动过记忆。",
    "error.undo_job_unfinished": "任务 {id} 还没有结束。",
    "error.undo_restore": "任务 {id} 恢复的是导出文件，不能整体撤销。",
    "error.undo_wrote_nothing": "任务 {id} 没有留下可撤销的内容。",
    "error.undo_done_already": "任务 {id} 已经撤销过了。",
    "hint.undo_done_already": "用 mex undo {by} 可以恢复。",
    "error.undo_done_by_hand": "任务 {id} 的改动已不在，但不是撤销所致。",
    "hint.undo_done_by_hand": "mex history {memory} 可查看经过。",
    "hint.undo_wrote_nothing": "用 mex log 查看哪个任务改了什么。",
    "hint.undo_restore": "用 mex log --job {id} 查看它改了什么，用 mex forget ID 逐条收回。",
    "hint.undo_job_unfinished": "用 mex jobs cancel {id} 停止，或用 mex jobs wait {id} 等它结束。",
    "hint.undo_nothing_yet": "mex jobs list 可查看任务；手动遗忘的用 mex restore ID 恢复。",
}
