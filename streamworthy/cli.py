"""The `streamworthy` command: what is asked about models and fleets outside a qualification."""

from __future__ import annotations

import argparse
import os
import sys

from streamworthy import __version__
from streamworthy.errors import StreamworthyError
from streamworthy.report.visible import visible


def _parser() -> argparse.ArgumentParser:
    from streamworthy import cache_command, inspect_command
    from streamworthy.capture import command as capture
    from streamworthy.fleet import command as fleet
    from streamworthy.gguf import verify_command as verify

    parser = argparse.ArgumentParser(
        prog="streamworthy",
        description="Will this machine run this model, at this speed? The qualification itself is `pytest -m qualify`.",
    )
    parser.add_argument("--version", action="version", version=f"streamworthy {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    inspect_command.add_parser(commands)
    verify.add_parser(commands)
    cache_command.add_parser(commands)
    fleet.add_parser(commands)
    capture.add_parser(commands)
    return parser


def _say(text: str) -> None:
    line = visible(text)
    try:
        print(line, flush=True)
    except UnicodeEncodeError:  # a file's name is bytes: it is written as it is, whatever the terminal's encoding
        sys.stdout.buffer.write(os.fsencode(f"{line}\n"))
        sys.stdout.buffer.flush()


def main(argv: list[str] | None = None) -> int:
    """Run one command; 2 with one line for a user's mistake, 130 on Ctrl-C."""
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.run(arguments, _say))
    except StreamworthyError as error:
        print(visible(f"streamworthy: {error}"), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("streamworthy: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 141


if __name__ == "__main__":
    raise SystemExit(main())
