"""Chinese: why a search or a profile shows what it shows."""

TEXTS: dict[str, str] = {
    "explain.shown": "显示：{count} 条",
    "explain.cut": "未显示：{count} 条",
    "explain.sum": "合计约 {tokens} token（含标题），上限 {most}，其中五分之一预留。",
    "explain.view": "视图：{view}",
    "explain.withheld": "因敏感未显示：{count} 条（加 --include-sensitive 可显示）",
    "explain.score": "得分 {score} = 相关 {relevance} × 置信度 {confidence} × 新近 {recency} × 置顶 {pinned}",
    "explain.words": "找到的依据：{words}",
    "explain.word": "{word}（{by}）",
    "explain.by_exact": "原词",
    "explain.by_stem": "词形变化",
    "explain.by_part": "词的一部分",
    "explain.by_quote": "出自原话",
    "explain.partial": "没有记忆包含全部词语，以下只包含其中一部分：",
    "explain.many": "显示第 {first}-{last} 条，共 {total} 条以上：--offset {last}",
    "error.explain_and_past": "--explain 不能与 --history、--as-of、--known-at 同时使用。",
    "hint.explain_and_past": "过去的内容按时间排列，不计分。",
}
