"""Options that several commands share, and what they come to."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from lakelogic_assets.cli.adjusting import PackFolderOption, PackOption, SetOption
from lakelogic_assets.cli.printing import complain
from lakelogic_assets.cli.selecting import Chosen, chosen

if TYPE_CHECKING:
    from lakelogic_assets.plan.request import RunPolicy
    from lakelogic_assets.project import Project
    from lakelogic_assets.spark.workspace import Workspace

M = TypeVar("M")

Select = Annotated[
    list[str] | None,
    typer.Argument(metavar="[SELECT]...", help="Contracts: a name, a file, layer:silver, +name, name+, a glob."),
]
Everything = Annotated[bool, typer.Option("--all", help="All contracts of the project.")]
Layer = Annotated[str | None, typer.Option(help="Only the contracts of this layer.")]
First = Annotated[str, typer.Option("--from", metavar="DATE", help="The first day, such as 2026-02-01.")]
Last = Annotated[str | None, typer.Option("--to", metavar="DATE", help="The last day, included; else the first.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be run, in order.")]
Parallel = Annotated[int | None, typer.Option(min=1, help="How many windows run side by side.")]
IgnoreGates = Annotated[bool, typer.Option("--ignore-gates", help="Go on although a gate holds something back.")]
Retries = Annotated[
    int | None, typer.Option(min=0, help="How often a lock or a dead JVM is tried again, each time after longer.")
]
Timeout = Annotated[
    str | None, typer.Option(metavar="PERIOD", help="How long one window may take, such as 30m; else the contract's.")
]
MaxFailures = Annotated[
    int | None,
    typer.Option("--max-consecutive-failures", min=1, help="Start nothing more after so many failures in a row."),
]
ApprovalRequired = Annotated[
    bool, typer.Option("--approval-required", help="Drift and too many bad rows wait for a signature.")
]
ApprovalFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="A file that is such a signature as soon as it is there.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class HowToRun:
    """What every command that runs contracts may be told, besides what is its own."""

    dry_run: DryRun = False
    parallel: Parallel = None
    ignore_gates: IgnoreGates = False
    retries: Retries = None
    timeout: Timeout = None
    max_consecutive_failures: MaxFailures = None
    approval_required: ApprovalRequired = False
    approval_file: ApprovalFile = None
    overrides: SetOption = None
    packs: PackOption = None
    pack_folder: PackFolderOption = None

    @property
    def said(self) -> dict[str, Any]:
        """What was set and which packs were asked for, as the pipeline log keeps it."""
        return {"set": [*(self.overrides or ())], "packs": [*(self.packs or ())], "pack_folder": self.pack_folder}

    def chosen(self, project: Project, words: Sequence[str]) -> Chosen:
        return chosen(project, words, overrides=self.overrides, packs=self.packs, pack_folder=self.pack_folder)

    def policy(self, workspace: Workspace) -> RunPolicy:
        """The options as a policy, on top of what the project's resources say."""
        return policy_of(
            workspace,
            parallel=self.parallel,
            ignore_gates=self.ignore_gates,
            retries=self.retries,
            timeout=self.timeout,
            max_consecutive_failures=self.max_consecutive_failures,
            approval_required=self.approval_required,
            approval_file=self.approval_file,
        )


def from_fields(model: type[M]) -> Callable[[Callable[[typer.Context, M], None]], Callable[..., None]]:
    """Lets a command take its options as the fields of a dataclass, where they are too many for its parameters."""

    def made(command: Callable[[typer.Context, M], None]) -> Callable[..., None]:
        @functools.wraps(command)
        def called(ctx: typer.Context, **said: Any) -> None:
            command(ctx, model(**said))

        context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
        hints = get_type_hints(model, include_extras=True)
        own = vars(model).get("__annotations__", {})
        # What is shared comes after what is the command's own, as it does in its help.
        named = sorted(inspect.signature(model).parameters.items(), key=lambda each: each[0] not in own)
        fields = [each.replace(annotation=hints[name]) for name, each in named]
        called.__signature__ = inspect.Signature([context, *fields])  # type: ignore[attr-defined]
        called.__annotations__ = {"ctx": typer.Context, **hints}
        del called.__wrapped__  # Typer would look through it at the parameters of the command itself
        return called

    return made


def words_of(select: list[str] | None, layer: str | None, *, everything: bool = False) -> list[str]:
    """What was selected; nothing at all is a slip, not everything."""
    words = [*(select or ()), *([f"layer:{layer}"] if layer else [])]
    if not words and not everything:
        complain("Say what to run: a contract, --layer NAME or --all.")
        raise typer.Exit(2)
    return words


def policy_of(workspace: Workspace, **said: Any) -> RunPolicy:
    """The options as a policy, on top of what the project's resources say."""
    from lakelogic_assets.plan.request import policy_for

    return policy_for(workspace.usual_policy, **said)
