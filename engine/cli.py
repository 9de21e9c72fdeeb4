"""The command `kneck`: which sub-commands there are, and how every failure leaves it.

Sub-commands are imported only when they are called, so that each pays for its own packages.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module

import click

from ..parsers.errors import KneckError

FEW_COLLECTIONS = 1_000_000  # allocations; a command makes few cycles and ends soon
INTERNAL = 70  # exit status for a fault of kneck itself (EX_SOFTWARE of sysexits.h)
SHOW_TRACEBACK = "KNECK_TRACEBACK"

COMMANDS = {
    "infer": "diagnose one kernel",
    "explain": "why a strategy or pitfall was chosen, or why it was not",
    "facts": "the extracted facts and where each one comes from",
    "occupancy": "blocks and warps per SM of a launch",
    "bench": "run a kernel on the GPU and time it with CUDA events",
    "probe": "measure this GPU's ceilings and write a device file",
    "sweep": "the same diagnosis over several problem sizes",
    "compare": "two builds of a kernel: what changed",
    "scan": "every kernel in libraries, objects and folders",
    "kb": "list, show and check the knowledge base",
}


class Commands(click.Group):
    """A group whose members live in `engine/commands/NAME.py` as `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f".commands.{cmd_name}", __package__)
        found = module.command
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            from ..parsers.suggest import suggestion

            raise KneckError(f'no command "{name}"', help=suggestion(name, list(COMMANDS)))
        return super().resolve_command(ctx, args)


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from kneck import __version__

        click.echo(f"kneck {__version__}")
        ctx.exit()


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: kneck infer example:hgemm-30k",
)
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_version,
    help="Print the version and stop.",
)  # fmt: skip
def kneck() -> None:
    """Why is this CUDA kernel slow, and what to do about it first."""


def main(args: list[str] | None = None) -> int:
    """Run a command line and give the exit status of the contract; never a traceback."""
    if args is None:
        gc.set_threshold(FEW_COLLECTIONS)
    try:
        result = kneck.main(args, prog_name="kneck", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except KneckError as error:
        _say(str(error))
        return error.exit_status
    except click.ClickException as error:
        _say(str(_as_kneck_error(error)))
        return 2
    except click.Abort:
        _say("error: interrupted")
        return 130
    except BrokenPipeError:  # the reader, `head` for one, has seen enough
        sys.stderr.close()
        return 0
    except Exception as error:  # the last line of defence: a fault of kneck, said as one
        if os.environ.get(SHOW_TRACEBACK):
            raise
        _say(str(_internal(error)))
        return INTERNAL


def _internal(error: Exception) -> KneckError:
    told = (str(error).splitlines() or ["no message"])[0]
    what = f"internal error, {type(error).__name__}: {told}"
    help = f"this is a fault of kneck; run it again with {SHOW_TRACEBACK}=1 and report the output"
    return KneckError(what, help=help)


def _say(text: str) -> None:
    click.echo(text, err=True)


def _as_kneck_error(error: click.ClickException) -> KneckError:
    """Give wrong use the same form as every other error."""
    ctx = getattr(error, "ctx", None)
    path = ctx.command_path if ctx is not None else "kneck"
    help = f"{path} --help"
    if isinstance(error, click.NoSuchOption):
        near = " or ".join(sorted(error.possibilities or ()))
        help = f"did you mean {near}? see {help}" if near else help
        return KneckError(f"there is no option {error.option_name}", help=help)
    bare = getattr(click.exceptions, "NoArgsIsHelpError", ())  # from click 8.2 on
    if isinstance(error, bare) and ctx is not None and isinstance(ctx.command, click.Group):
        names = ", ".join(ctx.command.list_commands(ctx))
        return KneckError("no command is named", help=f"name one of {names}; see {help}")
    what = error.format_message().strip().rstrip(".")
    return KneckError(what[:1].lower() + what[1:], help=help)
