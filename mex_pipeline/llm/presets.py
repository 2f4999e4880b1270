"""Known providers, so that `mex config llm` asks for as little as possible (seed 004 §5.1)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Preset:
    """A provider: its OpenAI-compatible endpoint, whether it wants a key, a few models to suggest, and the environment
    variable in which people keep its key.
    """

    name: str
    base_url: str
    needs_key: bool
    models: tuple[str, ...] = ()
    key_env: str = ""


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "openai",
            "https://api.openai.com/v1",
            needs_key=True,
            models=("gpt-4.1-mini", "gpt-4o-mini"),
            key_env="OPENAI_API_KEY",
        ),
        Preset(
            "deepseek",
            "https://api.deepseek.com/v1",
            needs_key=True,
            models=("deepseek-chat",),
            key_env="DEEPSEEK_API_KEY",
        ),
        Preset("ollama", "http://localhost:11434/v1", needs_key=False, models=("qwen3:8b", "gemma3:4b")),
        Preset(
            "moonshot",
            "https://api.moonshot.cn/v1",
            needs_key=True,
            models=("kimi-latest", "moonshot-v1-32k"),
            key_env="MOONSHOT_API_KEY",
        ),
        Preset(
            "qwen",
            "https://dashscope.aliyuncs.com/compatible-mode/v1",
            needs_key=True,
            models=("qwen-plus", "qwen-flash"),
            key_env="DASHSCOPE_API_KEY",
        ),
        Preset("custom", "", needs_key=False),
    )
}
"""By name, in the order they are offered. `custom` has no endpoint of its own and leaves the key to the user."""
