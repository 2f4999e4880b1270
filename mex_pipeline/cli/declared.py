"""The commands of cli/quick.py as Typer reads them: what their functions declare, with help."""

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Annotated, Any, get_type_hints

import typer

from mex_pipeline.cli import quick
from mex_pipeline.cli.options import JsonOption, LangOption, t


def command(name: str) -> Callable[..., None]:
    """Return the function of a command with the signature that Typer wants: every option named and explained."""
    found = quick.COMMANDS[name]
    function = quick.function_of(found)
    options = {option.name: flag for flag, option in quick.options(found, function).items()}
    hints = get_type_hints(function)

    def run(*, as_json: bool, lang: str | None, **given: Any) -> None:
        function(**given)

    declared = []
    for one in signature(function).parameters.values():
        text = t(f"help.{found.helps.get(one.name, one.name)}")
        if one.name == found.argument:
            metavar = found.helps.get(one.name, one.name).upper()
            info: Any = typer.Argument(metavar=metavar if one.default is one.empty else f"[{metavar}]", help=text)
        else:
            info = typer.Option(options[one.name], help=text)
        declared.append(one.replace(annotation=Annotated[hints[one.name], info]))
    common = {"as_json": (JsonOption, False), "lang": (LangOption, None)}
    for key, (annotation, default) in common.items():
        declared.append(Parameter(key, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation))
    # What `inspect.signature` reads, and so Typer; the type of a function does not name it.
    run.__signature__ = signature(function).replace(parameters=declared)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in declared}
    return run
