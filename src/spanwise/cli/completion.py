"""The command `completion`: scripts, made from the parsers, that complete commands, options and values."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from spanwise.cli.arguments import Arguments, Command, Parser, positional

COMPLETION_EXAMPLES = """examples:
  spanwise completion bash > ~/.local/share/bash-completion/completions/spanwise
  spanwise completion zsh > "${fpath[1]}/_spanwise"
  spanwise completion fish > ~/.config/fish/completions/spanwise.fish"""


def run_completion(args: argparse.Namespace) -> int:
    """Print the script with which a shell completes commands, options and their values.

    Write it to the folder from which the shell loads such scripts, and open a new shell.
    """
    sys.stdout.write("\n".join(SCRIPTS[args.shell]()) + "\n")
    return 0


def _parsers() -> Iterator[tuple[str, str, Parser]]:
    """The name, summary and parser of every command."""
    from spanwise.cli.main import COMMANDS, parser_of

    for name, (_, summary) in COMMANDS.items():
        yield name, summary, parser_of(name)


def _flags(action: argparse.Action) -> list[str]:
    return [
        flag for flag in action.option_strings if flag.startswith("--") or len(action.option_strings) == 1
    ]


def _words(action: argparse.Action) -> list[str]:
    """The values to choose from; none if the value is a file or free text."""
    return [str(choice) for choice in action.choices or ()]


def _bash() -> Iterator[str]:
    yield "# bash completion of spanwise, printed by: spanwise completion bash"
    yield "_spanwise() {"
    yield '    local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"'
    yield '    local command="${COMP_WORDS[1]}" options="" values=""'
    yield "    COMPREPLY=()"
    yield '    if [ "$COMP_CWORD" -eq 1 ] || [ "$COMP_CWORD:$command" = 2:help ]; then'
    names = " ".join(name for name, _, _ in _parsers())
    yield f'        COMPREPLY=($(compgen -W "{names} --help --version" -- "$current"))'
    yield "        return"
    yield "    fi"
    yield '    case "$command" in'
    for name, _, parser in _parsers():
        flags = " ".join(flag for action in parser._actions for flag in _flags(action))
        yield f'        {name}) options="{flags}"'
        places = " ".join(word for action in parser.positionals for word in _words(action))
        if places:
            yield f'            values="{places}"'
        chosen = [action for action in parser.options if action.choices]
        if chosen:
            yield '            case "$previous" in'
            for action in chosen:
                flags = "|".join(action.option_strings)
                yield f'                {flags}) values="{" ".join(_words(action))}";;'
            yield "            esac"
        yield "            ;;"
    yield "    esac"
    yield '    if [[ "$current" == -* ]]; then'
    yield '        COMPREPLY=($(compgen -W "$options" -- "$current"))'
    yield '    elif [ -n "$values" ]; then'
    yield '        COMPREPLY=($(compgen -W "$values" -- "$current"))'
    yield "    else"
    yield '        COMPREPLY=($(compgen -f -- "$current"))'
    yield "        compopt -o filenames 2>/dev/null"
    yield "    fi"
    yield "}"
    yield "complete -F _spanwise spanwise"


def _zsh() -> Iterator[str]:
    yield "#compdef spanwise"
    yield "# zsh completion of spanwise, printed by: spanwise completion zsh"
    yield "_spanwise() {"
    yield "    local -a commands"
    yield "    commands=("
    for name, summary, _ in _parsers():
        yield f"        {_quoted(f'{name}:{summary}')}"
    yield "    )"
    yield "    if (( CURRENT == 2 )); then"
    yield "        _describe command commands"
    yield "        return"
    yield "    fi"
    yield "    local command=$words[2]"
    yield "    shift words; (( CURRENT-- ))"
    yield '    case "$command" in'
    for name, _, parser in _parsers():
        yield f"        {name})"
        yield "            _arguments \\"
        for action in parser._actions:
            if action.option_strings:
                yield from (f"                {_zsh_option(action, flag)} \\" for flag in _flags(action))
        values = " ".join(word for action in parser.positionals for word in _words(action))
        yield "                " + _quoted(f"*:value:({values})" if values else "*:file:_files")
        yield "            ;;"
    yield "    esac"
    yield "}"
    yield '_spanwise "$@"'


def _zsh_option(action: argparse.Action, flag: str) -> str:
    text = (
        _plain(action.help).replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
    )
    value = ""
    if action.nargs != 0:
        words = _words(action)
        value = f":value:({' '.join(words)})" if words else ":value:_files"
    return _quoted(f"*{flag}[{text}]{value}")


def _fish() -> Iterator[str]:
    yield "# fish completion of spanwise, printed by: spanwise completion fish"
    parsers = list(_parsers())
    for name, summary, _ in parsers:
        yield f"complete -c spanwise -n __fish_use_subcommand -f -a {name} -d {_fish_quoted(summary)}"
    for name, _, parser in parsers:
        condition = f"-n '__fish_seen_subcommand_from {name}'"
        for action in parser._actions:
            values = " ".join(_words(action))
            if not action.option_strings:
                if values:
                    yield f"complete -c spanwise {condition} -f -a {_fish_quoted(values)}"
                continue
            flags = " ".join(
                f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"
                for flag in action.option_strings
            )
            takes = "" if action.nargs == 0 else f" -x -a {_fish_quoted(values)}" if values else " -r"
            yield f"complete -c spanwise {condition} {flags}{takes} -d {_fish_quoted(_plain(action.help))}"


def _plain(help_text: str | None) -> str:
    """The help of an option in one line."""
    return " ".join((help_text or "").split()).replace("%%", "%")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
COMPLETION = Arguments(positional("shell", None, "the shell: bash, zsh or fish", choices=tuple(SCRIPTS)))
COMMANDS = {"completion": Command(COMPLETION, run_completion, COMPLETION_EXAMPLES)}
