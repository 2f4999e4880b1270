"""What the option parser refuses, in the language in use (product A4, G8)."""

from collections.abc import Sequence
from typing import Any

import typer

from mex_pipeline.cli.options import t
from mex_pipeline.errors import UserError

# Typer keeps its parser's error classes private; this public one tells their base in every version.
UsageError: type[typer.BadParameter] = typer.BadParameter.__mro__[1]


def refused(error: Any, context: Any, words: Sequence[str] = ()) -> UserError:
    """Return the error `usage` for a UsageError that a command's parser raised over `words`.

    What it is called and its attributes say what is wrong; one that is not known here keeps the parser's own text.
    """
    detail = _detail(error, context, words) if context else None
    command = context.command_path if context else "mex"
    return UserError("usage", detail=detail or error.format_message().rstrip("."), command=command)


def _detail(error: Any, context: Any, words: Sequence[str]) -> str | None:
    match type(error).__name__:
        case "NoSuchOption":
            nearest = ", ".join(sorted(error.possibilities or ()))
            name = "usage.mistyped_option" if nearest else "usage.unknown_option"
            return t(name, option=error.option_name, nearest=nearest)
        case "BadOptionUsage":
            known = context.command.get_params(context)
            is_flag = any(error.option_name in one.opts and one.is_flag for one in known)
            return t("usage.needless_value" if is_flag else "usage.missing_value", option=error.option_name)
        case "MissingParameter" if error.param is not None:
            is_option = error.param.param_type_name == "option"
            return t(
                "usage.missing_option" if is_option else "usage.missing_argument",
                name=error.param.get_error_hint(context),
            )
        case "BadParameter" if error.param is not None:
            return _unfit(error.param, context, _parsed(context, words)[0].get(error.param.name))
        case "UsageError" if hasattr(context.command, "commands"):
            return t("usage.missing_command")
        case "UsageError" if extra := _parsed(context, words)[1]:
            return t("usage.extra_words", words=" ".join(extra))
    return None


def _parsed(context: Any, words: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """The values as they were given, by parameter, and the words that are left: the error holds neither."""
    values, left, _ = context.command.make_parser(context).parse_args(list(words))
    return values, left


def _unfit(param: Any, context: Any, value: object) -> str | None:
    """Why a value is not taken, as far as its type tells."""
    name, kind = param.get_error_hint(context), param.type
    if hasattr(kind, "choices"):
        choices = ", ".join(f"'{getattr(one, 'value', one)}'" for one in kind.choices)
        return t("usage.not_one_of", name=name, value=value, choices=choices)
    if hasattr(kind, "min"):
        return t("usage.not_in_range", name=name, value=value, least=kind.min, most=kind.max)
    return t("usage.not_integer", name=name, value=value) if kind.name.startswith("int") else None
