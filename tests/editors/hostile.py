"""Texts that freeze a lexer which looks at anything more than once (K52)."""

from __future__ import annotations

DELIMITERS = "\"'`{}()[]<>|/\\.,:;=-+*?&%!@#$ \t\n_"

HOSTILE = {
    **{f"many {char!r}": char * 100_000 for char in DELIMITERS},
    "many opened interpolations": '"${' * 33_000,
    "many block strings": '"""' * 33_333,
    "many raw strings": 'r"' * 50_000,
    "many dollars and braces": "${" * 50_000,
    "digits and underscores then a letter": "1_" * 50_000 + "x",
    "digits then a letter": "1" * 100_000 + "x",
    "digits and dots": "1." * 50_000,
    "exponents": "1e" * 50_000,
    "money": "$1" * 50_000,
    "a long name": "a" * 100_000 + ":",
    "a long constant": "A_" * 50_000 + "a",
    "a long raw string": 'r"' + "\\" * 100_000,
    "many escapes": '"' + "\\u{1F600}" * 11_000,
    "one word again and again": "tool " * 20_000,
    "soft words": "model " * 20_000,
    "clause words": "needs " * 20_000,
    "names and questions": "a ?" * 33_000,
    "many comments": "fn f() {\n  a\n" + "// c\n" * 20_000 + "}\n",
    "a line of 1 MiB in a string": 'const x = "' + "a" * (1 << 20) + '"\n',
    "a line of 1 MiB of names": "a " * (1 << 19),
    "a line of 1 MiB of blanks": "const x = " + " " * (1 << 20) + "1\n",
}
