"""What the steps of `mex setup` share: the options, the home, and what has been done so far."""

from dataclasses import dataclass, field
from typing import Any

from mex_pipeline import messages
from mex_pipeline.app import App
from mex_pipeline.cli import output
from mex_pipeline.domain.memory import Actor
from mex_pipeline.errors import MexError


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What the options say of a model."""

    provider: str | None
    base_url: str | None
    api_key: str | None
    api_key_env: str | None
    model: str | None

    @property
    def is_given(self) -> bool:
        """True when any of them was given."""
        given = (self.provider, self.base_url, self.api_key, self.api_key_env, self.model)
        return any(one is not None for one in given)


@dataclass(slots=True)
class Run:
    """One run: what is given, whether a person is asked for the rest, what was done, and the first failure."""

    app: App
    is_asked: bool
    endpoint: Endpoint
    has_no_model: bool
    agents: list[str] | None
    answers: dict[str, str | None]
    actor: Actor
    done: dict[str, Any] = field(default_factory=dict)
    failure: MexError | None = None

    def __post_init__(self) -> None:
        self.done |= {"home": str(self.app.home.root), "language": messages.active()}

    def tell(self, *lines: str) -> None:
        """Say what was done, at once; with `--json` the object at the end says it."""
        if not output.wants_json():
            for one in lines:
                output.line(one)

    def complain(self, error: MexError) -> None:
        """Show an error and what to do, and go on."""
        output.note(output.error_line(output.joined(*messages.render(error))))

    def fail(self, error: MexError) -> None:
        """Go on after an error: a person sees it now, a script gets its exit code at the end."""
        if self.is_asked:
            self.complain(error)
        elif self.failure is None:
            self.failure = error
