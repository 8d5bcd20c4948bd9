#!/bin/sh
# Programs of the system that tests work with: a browser for the pages, editors for the language server, shells for completion. Nothing is
# done for those that are there, and nothing where packages cannot be installed: tests/browser.py then looks for a browser that comes as a
# package of its own, and tests of editors say that they were not run, which in CI is a failure.
set -u
missing=""
command -v chromium >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1 || missing="$missing chromium"
command -v nvim >/dev/null 2>&1 || missing="$missing neovim"
command -v zsh >/dev/null 2>&1 || missing="$missing zsh"
command -v fish >/dev/null 2>&1 || missing="$missing fish"
command -v emacs >/dev/null 2>&1 || missing="$missing emacs-nox"
# Emacs comes with a client of the protocol from 29 on. Before, it is a package of its own.
if [ "$(cut -d. -f1 /etc/debian_version 2>/dev/null)" = 12 ] && ! ls -d /usr/share/emacs/site-lisp/elpa/eglot-* >/dev/null 2>&1; then
  missing="$missing elpa-eglot"
fi
[ -n "$missing" ] || exit 0
command -v apt-get >/dev/null 2>&1 || exit 0
if [ "$(id -u)" = 0 ]; then
  as=""
elif sudo -n true 2>/dev/null; then
  as="sudo -n"
else
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
log="$(mktemp)"
# shellcheck disable=SC2086
if ! { $as apt-get -o DPkg::Lock::Timeout=300 update && $as apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $missing; } >"$log" 2>&1 </dev/null; then
  echo "tests/system.sh: not installed:$missing" >&2
  tail -n 5 "$log" >&2
fi
rm -f "$log"
