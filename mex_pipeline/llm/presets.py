"""Known providers, so that `mex config llm` asks for as little as possible (seed 004 §5.1)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Preset:
    """A provider: its OpenAI-compatible endpoint, whether it wants a key, and a few models to suggest."""

    name: str
    base_url: str
    needs_key: bool
    models: tuple[str, ...] = ()


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("openai", "https://api.openai.com/v1", needs_key=True, models=("gpt-4.1-mini", "gpt-4o-mini")),
        Preset("deepseek", "https://api.deepseek.com/v1", needs_key=True, models=("deepseek-chat",)),
        Preset("ollama", "http://localhost:11434/v1", needs_key=False, models=("qwen3:8b", "gemma3:4b")),
        Preset("moonshot", "https://api.moonshot.cn/v1", needs_key=True, models=("kimi-latest", "moonshot-v1-32k")),
        Preset(
            "qwen",
            "https://dashscope.aliyuncs.com/compatible-mode/v1",
            needs_key=True,
            models=("qwen-plus", "qwen-flash"),
        ),
        Preset("custom", "", needs_key=False),
    )
}
"""By name, in the order they are offered. `custom` has no endpoint of its own and leaves the key to the user."""
