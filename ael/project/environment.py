"""The environment of child processes: what they get of this one's, and what a deployment may not set (K41, K54, feature A9.12)."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping

from ael.types.value import Secret

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_PREFIXES = ("LD_", "DYLD_", "GCONV_", "MALLOC_", "NPM_CONFIG_", "PIP_", "UV_", "GIT_", "COR_", "CORECLR_", "BASH_FUNC_", "AEL_")
_NAMES = frozenset(
    {
        "PATH", "PATHEXT", "SHELL", "COMSPEC", "IFS", "ENV", "BASH_ENV", "BASHOPTS", "SHELLOPTS", "PROMPT_COMMAND", "PS4", "EDITOR",
        "VISUAL", "PAGER", "BROWSER", "NODE_OPTIONS", "NODE_PATH", "NODE_EXTRA_CA_CERTS", "NODE_TLS_REJECT_UNAUTHORIZED",
        "ELECTRON_RUN_AS_NODE", "DENO_DIR", "BUN_OPTIONS", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONINSPECT",
        "PYTHONBREAKPOINT", "PYTHONWARNINGS", "PYTHONEXECUTABLE", "PYTHONUSERBASE", "PERL5LIB", "PERL5OPT", "PERL5DB", "PERLLIB",
        "RUBYLIB", "RUBYOPT", "GEM_PATH", "GEM_HOME", "LUA_INIT", "LUA_PATH", "LUA_CPATH", "PHPRC", "PHP_INI_SCAN_DIR", "CLASSPATH",
        "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "DOTNET_STARTUP_HOOKS", "DOTNET_ADDITIONAL_DEPS", "SSL_CERT_FILE",
        "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "OPENSSL_CONF", "OPENSSL_MODULES", "SSLKEYLOGFILE", "HOSTALIASES",
        "LOCPATH", "NLSPATH", "TERMINFO", "TERMCAP",
    }
)  # fmt: skip


def dangerous(name: str) -> bool:
    """Whether a variable can make a program load or run something else, or trust somebody else. Case does not count."""
    upper = name.upper()
    return upper in _NAMES or upper.startswith(_PREFIXES)


KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TMP", "TEMP", "USER", "LOGNAME")
KEPT_ON_WINDOWS = (
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "COMSPEC",
    "PATHEXT",
    "WINDIR",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMFILES",
)
"""All that a child gets of this process's environment: what programs need to be found and to find their files, no more."""


def environment_of(given: Mapping[str, str | Secret]) -> dict[str, str]:
    """The whole environment of a child: a few harmless variables of this process's, and what the deployment gives."""
    kept = (*KEPT, *KEPT_ON_WINDOWS) if sys.platform == "win32" else KEPT
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment.update((name, value.reveal() if isinstance(value, Secret) else value) for name, value in given.items())
    return environment
