"""语义搜索的中文消息。"""

TEXTS: dict[str, str] = {
    "semantic.related": "意思相近",
    "semantic.unavailable": "这次没有按意思搜索，只按字词搜索。",
    "semantic.missing": "{count} 条记忆还没有向量，只能按字词找到。",
    "semantic.queued": "正在生成向量：mex jobs show {id}",
    "semantic.source": "记忆的向量",
    "semantic.made": "用 {model} 生成了 {count} 个向量",
    "semantic.progress": "已生成 {done}/{total} 个向量",
    "semantic.rest": "已生成的向量会保留。生成其余的：mex jobs retry {id}",
    "semantic.endpoint": "请检查 config.yaml 的 semantic 一段。",
    "error.semantic_off": "语义搜索没有开启。",
    "hint.semantic_off": "在 config.yaml 里设置 semantic.enabled: true，再运行 mex embed。",
    "error.semantic_not_installed": "没有安装语义搜索所需的包。",
    "hint.semantic_not_installed": "请先运行 pip install 'mex-pipeline[semantic]' 安装。",
    "error.semantic_and_past": "--semantic 只搜索现在的记忆，不搜索过去。",
    "hint.semantic_and_past": "去掉 --semantic，或者去掉 --history、--as-of 和 --known-at。",
}
