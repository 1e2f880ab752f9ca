"""The command line: `testbed run`, `testbed report`, `testbed replay`, `testbed list`, ….

Exit codes: 0 fine; 1 an accept rule or an estimator failed (the run itself finished); 2 bad
input; 130 interrupted. With --json stdout holds exactly one JSON document; everything else goes
to stderr.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from testbed.cli import (
    bench_command,
    break_command,
    check_command,
    compare_command,
    excite_command,
    identify_command,
    list_command,
    replay_command,
    report_command,
    reproduce_command,
    results_command,
    run_command,
    scenario_command,
    stress_command,
    sweep_command,
    tune_command,
)
from testbed.cli.console import complain
from testbed.cli.watchers import with_optional_file
from testbed.core.errors import TestbedError

app = typer.Typer(
    name="testbed",
    help="Will my inertial-parameter estimator survive a grasp, a fuel burn, noise and rest?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run_command.run_scenario)
app.command("list")(list_command.list_plugins)
app.add_typer(scenario_command.app, name="scenario")
app.command("check")(check_command.check_plugin)
app.command("excite")(excite_command.excite)
app.command("report")(report_command.report)
app.command("replay")(replay_command.replay_logs)
app.command("identify")(identify_command.identify_robot)
app.command("sweep")(sweep_command.sweep_scenarios)
app.command("compare")(compare_command.compare_estimators)
app.command("tune")(tune_command.tune_estimator)
app.command("stress")(stress_command.stress_estimators)
app.command("break")(break_command.break_estimator_command)
app.command("results")(results_command.show_results)
app.command("bench")(bench_command.bench)
app.command("reproduce")(reproduce_command.reproduce_paper)


@app.callback()
def _main(
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    if version:
        from testbed import __version__

        typer.echo(__version__)
        raise typer.Exit


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point. Returns (and as a command exits with) the exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in arguments
    arguments = [a for a in arguments if a != "--debug"]
    if arguments == ["--version"]:
        arguments.append("list")  # a callback needs a command; the option ends it before
    code = _invoke(arguments, debug)
    sys.stdout.flush()
    return code


def _invoke(arguments: list[str], debug: bool) -> int:
    try:
        code = typer.main.get_command(app).main(
            args=with_optional_file(arguments),
            prog_name="testbed",
            standalone_mode=False,
            obj=arguments,  # what was typed, for results
        )
        if code == 130:  # newer Typers turn Ctrl-C into this code by themselves, without a word
            complain("interrupted")
        return code if isinstance(code, int) else 0
    except (KeyboardInterrupt, typer.Abort):
        complain("interrupted")
        return 130
    except BrokenPipeError:
        return 0
    except TestbedError as error:
        if debug:
            raise
        complain(str(error))
        return error.exit_code
    except Exception as error:
        # Typer brings its own copy of click, whose usage errors are known by this method only.
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            typer.echo(message())
            return 0
        complain(message())
        return 2


def command() -> None:
    """The console script."""
    sys.exit(main())
