"""What the tree-sitter grammar takes from the list of words: the words themselves, and the queries that colour them."""

from __future__ import annotations

from ael.editor.words import words

_CAPTURES = {
    "declaration": "keyword",
    "statement": "keyword",
    "operator": "keyword.operator",
    "soft": "keyword",
    "clause": "keyword.modifier",
}

_REST = """\
; Comments and literals.

(line_comment) @comment

[
  (doc_comment)
  (module_comment)
] @comment.documentation

(string) @string

(raw_string) @string.special

(escape_sequence) @string.escape

(interpolation
  "${" @punctuation.special
  "}" @punctuation.special) @embedded

[
  (integer)
  (duration)
  (size)
] @number

[
  (float)
  (money)
] @number.float

(boolean) @boolean

(null) @constant.builtin

; Names, the more particular ones later.

(identifier) @variable

(field
  name: (identifier) @property)

(field_value
  name: (identifier) @property)

(member_expression
  member: (identifier) @property)

(parameter
  name: (identifier) @variable.parameter)

(lambda_parameter
  name: (identifier) @variable.parameter)

(named_argument
  name: (identifier) @variable.parameter)

(bound
  name: (identifier) @variable.parameter)

(setting
  name: (identifier) @property)

(amount
  name: (identifier) @property)

(option
  name: (identifier) @property)

((identifier) @type
  (#match? @type "^[A-Z]"))

((identifier) @constant
  (#match? @constant "^[A-Z][A-Z0-9_]+$"))

(function_declaration
  name: (identifier) @function)

(table_declaration
  name: (identifier) @function)

(tool_declaration
  name: (identifier) @function)

(node_declaration
  name: (identifier) @function)

(agent_declaration
  name: (identifier) @function)

(skill_declaration
  name: (identifier) @function)

(operation
  name: (identifier) @function.method)

(call_expression
  function: (identifier) @function.call)

(call_expression
  function: (member_expression
    member: (identifier) @function.method.call))

(edge_target
  node: (identifier) @function.call)

(call_expression
  function: (identifier) @constructor
  (#match? @constructor "^[A-Z]"))

(named_type
  name: (path
    (identifier) @type))

(variant
  name: (identifier) @constructor)

(use_declaration
  module: (module_path
    (identifier) @module))

; Operators and brackets.

[
  "->"
  "=>"
  "??"
  ".."
  "=="
  "!="
  "<="
  ">="
  "="
  "+"
  "-"
  "*"
  "/"
  "%"
  "<"
  ">"
  "|"
  "&"
  "?"
] @operator

[
  "."
  ","
  ":"
] @punctuation.delimiter

[
  "("
  ")"
  "["
  "]"
  "{"
  "}"
] @punctuation.bracket
"""


def listed() -> dict[str, tuple[str, ...]]:
    """`words.json`: what `grammar.js` reads."""
    return words()


def highlights() -> str:
    """`queries/highlights.scm`."""
    found = "".join(_group(words()[name], capture) for name, capture in _CAPTURES.items())
    types = " ".join(f'"{word}"' for word in words()["type"])
    return (
        "; Made by `python -m editors.generate`; do not edit.\n\n"
        + _REST
        + f"\n((identifier) @type.builtin\n  (#any-of? @type.builtin {types}))\n"
        + "\n; The words of the grammar.\n"
        + found
    )


def _group(names: tuple[str, ...], capture: str) -> str:
    quoted = "".join(f'  "{name}"\n' for name in names)
    return f"\n[\n{quoted}] @{capture}\n"
