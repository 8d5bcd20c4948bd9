"""Print a shell's completion script.

bash:  eval "$(ael completion bash)"        in ~/.bashrc
zsh:   eval "$(ael completion zsh)"         in ~/.zshrc, after compinit
fish:  ael completion fish > ~/.config/fish/completions/ael.fish
"""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import cast

from ael.cli.main import COMMANDS, Command

SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael completion`."""
    parser.add_argument("shell", choices=SHELLS)


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    print({"bash": bash, "zsh": zsh, "fish": fish}[args.shell](), end="")
    return 0


def _options(name: str) -> dict[str, str]:
    """The long options of a command with their help, those of its actions too."""
    parser = _parser(name)
    inner = _actions(parser).values()
    return {
        option: (action.help or "").replace("%", "").replace("'", "")
        for one in (parser, *inner)
        for action in one._actions
        for option in action.option_strings
        if option.startswith("--")
    }


def _parser(name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=True)
    cast(Command, import_module(f"ael.cli.{name.replace('-', '_')}")).add_arguments(parser)
    return parser


def _actions(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The actions of a command that has some (`ael mcp pin`), each with its own arguments."""
    found = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return dict(found[0].choices) if found else {}


def _with_actions() -> dict[str, list[str]]:
    """The commands that have actions, with their names."""
    return {name: list(actions) for name in COMMANDS if (actions := _actions(_parser(name)))}


def bash() -> str:
    """For bash."""
    cases = "\n".join(f"    {name}) words='{' '.join(_options(name))}' ;;" for name in COMMANDS)
    actions = "\n".join(
        f"""  if [ "$COMP_CWORD" -eq 2 ] && [ "${{COMP_WORDS[1]}}" = {name} ]; then
    COMPREPLY=($(compgen -W '{" ".join(words)}' -- "$current"))
    return
  fi"""
        for name, words in _with_actions().items()
    )
    return f"""\
_ael() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" words=''
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{" ".join(COMMANDS)}' -- "$current"))
    return
  fi
{actions}
  case "${{COMP_WORDS[1]}}" in
{cases}
  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
    *) COMPREPLY=($(compgen -f -- "$current")) ;;
  esac
}}
complete -o filenames -F _ael ael
"""


def zsh() -> str:
    """For zsh."""
    commands = "\n".join(f"    '{name}:{text}'" for name, text in COMMANDS.items())
    inner = _with_actions()
    cases = "\n".join(
        f"    {name}) _arguments {_described(name)} {_place(inner.get(name))}'*:file:_files' ;;" for name in COMMANDS
    )
    return f"""\
#compdef ael
_ael() {{
  local -a commands
  commands=(
{commands}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case $words[2] in
{cases}
  esac
}}
compdef _ael ael
"""


def _place(actions: list[str] | None) -> str:
    return f"'2:action:({' '.join(actions)})' " if actions else ""


def _described(name: str) -> str:
    return " ".join(f"'{option}[{text}]'" for option, text in _options(name).items())


def fish() -> str:
    """For fish."""
    lines = [f"complete -c ael -n __fish_use_subcommand -f -a {name} -d '{text}'" for name, text in COMMANDS.items()]
    for name, actions in _with_actions().items():
        lines.append(f"complete -c ael -n '__fish_seen_subcommand_from {name}' -f -a '{' '.join(actions)}'")
    for name in COMMANDS:
        for option, text in _options(name).items():
            lines.append(f"complete -c ael -n '__fish_seen_subcommand_from {name}' -l {option[2:]} -d '{text}'")
    return "\n".join(lines) + "\n"
