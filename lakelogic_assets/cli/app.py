"""The command line as a whole: finds a command by its name and tells its errors in one line."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from lakelogic_assets.cli import COMMANDS
from lakelogic_assets.cli.printing import complain, is_terminal, say_json
from lakelogic_assets.cli.settings import Settings, shared_options
from lakelogic_assets.contract.problems import nearest
from lakelogic_assets.errors import ContractError, LakeLogicError, NotFoundError

# Typer does not export the root of its usage errors under a name that all its versions share.
_UsageFault = cast("type[Exception]", typer.BadParameter.__mro__[2])

_HELP = "Data contracts in YAML: check them, look at them, draw them."


class Commands(TyperGroup):
    """Knows all commands by name and imports the one that is called."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        if cmd_name not in self.commands and cmd_name in COMMANDS:
            self.commands[cmd_name] = _command(cmd_name, self.rich_markup_mode)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            near = nearest(args[0], COMMANDS)
            raise NotFoundError(f"There is no command {args[0]!r}.", [near] if near else list(COMMANDS))
        return super().resolve_command(ctx, args)


def run(arguments: Sequence[str]) -> int:
    """Run one command; gives the exit code."""
    settings = Settings(words=tuple(arguments))
    try:
        command = root_command("rich" if is_terminal() else None)
        code = command.main(list(arguments) or ["--help"], "lakelogic", standalone_mode=False, obj=settings)
    except _UsageFault as fault:
        return _usage_fault(fault)
    except ContractError as error:
        _print_problems(error, settings)
        return 1
    except LakeLogicError as error:
        complain(str(error))
        return 1
    except BrokenPipeError:
        raise
    except (OSError, UnicodeError) as error:
        complain(str(error))
        return 1
    except typer.Abort:
        return 130
    return code if isinstance(code, int) else 0


def help_texts(width: int = 88) -> dict[str, str]:
    """What `--help` says in a pipe, for the program and each of its commands."""
    root = cast("Commands", root_command(None))
    context = root.make_context("lakelogic", [], resilient_parsing=True, terminal_width=width)
    texts = {"lakelogic": root.get_help(context)}
    for name in COMMANDS:
        command = root.get_command(context, name)
        texts[f"lakelogic {name}"] = command.get_help(command.make_context(name, [], context, resilient_parsing=True))
    return texts


def root_command(markup: Any) -> TyperGroup:
    app = typer.Typer(name="lakelogic", cls=Commands, help=_HELP, add_completion=False, rich_markup_mode=markup)
    app.callback()(lambda: None)
    group = cast("TyperGroup", get_command(app))
    group.params += _shared()
    return group


def _command(name: str, markup: Any) -> TyperCommand:
    module, _, function = COMMANDS[name].partition(":")
    command = _built(name, getattr(import_module(module), function), markup)
    command.params += _shared()
    return command


def _shared() -> list[Any]:
    return list(_built("shared", shared_options, None).params)


def _built(name: str, function: Any, markup: Any) -> TyperCommand:
    app = typer.Typer(add_completion=False, rich_markup_mode=markup)
    app.command(name)(function)
    return cast("TyperCommand", get_command(app))


def _print_problems(error: ContractError, settings: Settings) -> None:
    # Only where something is wrong, so that starting up does not pay for it.
    from lakelogic_assets.cli.problems import print_problems

    if settings.as_json:
        say_json({"problems": [problem.as_dict() for problem in error.problems]})
    else:
        print_problems(error.problems)


def _usage_fault(fault: Any) -> int:
    message = " ".join(fault.format_message().replace("Value error, ", "").split())
    where = getattr(fault, "ctx", None)
    command = where.command_path if where is not None else "lakelogic"
    complain(f"{message} Try `{command} --help`.")
    return int(getattr(fault, "exit_code", 2))
