"""Print a shell's completion script.

    eval "$(ael completion bash)"                                       in ~/.bashrc
    eval "$(ael completion zsh)"                                        in ~/.zshrc, after compinit
    ael completion fish > ~/.config/fish/completions/ael.fish

The script asks `ael` itself, so that it knows the commands of the version that is installed: their options, what those take, and the
names in the program at hand (nodes, agents, tests, deployments, runs).
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from typing import Any

SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael completion`."""
    parser.add_argument("shell", choices=SHELLS, help="for which shell")
    # What the scripts ask: `ael completion bash --at 2 -- ael run …`.
    parser.add_argument("--at", type=int, help=argparse.SUPPRESS)
    parser.set_defaults(rest=[])


def run(args: argparse.Namespace) -> int:
    """Print the script, or what it asks for."""
    if args.at is None and args.rest:
        print(f"ael completion: it takes nothing but the shell; what is `{args.rest[0]}`?", file=sys.stderr)
        return 2
    if args.at is None:
        print(_SCRIPTS[args.shell], end="")
        return 0
    answering: Any = import_module("ael.cli.completing")
    for line in answering.answer(args.rest, args.at, args.shell):
        print(line)
    return 0


_BASH = """\
_ael() {
  local current="${COMP_WORDS[COMP_CWORD]}" kind='' line
  COMPREPLY=()
  while IFS= read -r line; do
    if [ -z "$kind" ]; then
      kind="$line"
    else
      line="${line%%$'\\t'*}"
      case "$current" in
        [\\"\\']*) ;;
        *) printf -v line %q "$line" ;;
      esac
      COMPREPLY+=("$line")
    fi
  done < <("${COMP_WORDS[0]}" completion bash --at "$COMP_CWORD" -- "${COMP_WORDS[@]}" 2>/dev/null)
  [ "$current" != '=' ] || current=''
  case "$kind" in
    files | folders)
      compopt -o filenames 2>/dev/null
      local option=-f
      [ "$kind" = files ] || option=-d
      while IFS= read -r line; do
        COMPREPLY+=("$line")
      done < <(compgen "$option" -- "$current")
      ;;
    part) compopt -o nospace 2>/dev/null ;;
  esac
}
complete -F _ael ael
"""

_ZSH = """\
#compdef ael
_ael() {
  local -a lines
  local kind
  lines=("${(@f)$("${(Q)words[1]}" completion zsh --at $((CURRENT - 1)) -- "${(@Q)words}" 2>/dev/null)}")
  kind="$lines[1]"
  shift lines
  if (( $#lines )); then
    if [[ "$kind" = part ]]; then
      _describe -V ael lines -S ''
    else
      _describe -V ael lines
    fi
  fi
  case "$kind" in
    files) _files ;;
    folders) _files -/ ;;
  esac
}
compdef _ael ael
"""

_FISH = """\
function __ael_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l lines ($words[1] completion fish --at (count $words) -- $words "$current" 2>/dev/null)
    for line in $lines[2..-1]
        echo $line
    end
    switch "$lines[1]"
        case files
            __fish_complete_path "$current"
        case folders
            __fish_complete_directories "$current"
    end
end
complete -c ael -f -a '(__ael_complete)'
"""

_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
