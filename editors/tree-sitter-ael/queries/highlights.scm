; Made by `python -m editors.generate`; do not edit.

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

((identifier) @type.builtin
  (#any-of? @type.builtin "String" "Int" "Float" "Decimal" "Bool" "Bytes" "Timestamp" "Date" "Duration" "Json" "Unit" "List" "Map" "File" "Secret"))

; The words of the grammar.

[
  "use"
  "pub"
  "permission"
  "role"
  "enum"
  "record"
  "error"
  "type"
  "const"
  "fn"
  "tool"
  "node"
  "agent"
  "skill"
  "service"
  "provide"
  "mcp"
  "store"
  "test"
] @keyword

[
  "let"
  "var"
  "if"
  "else"
  "match"
  "for"
  "while"
  "break"
  "continue"
  "return"
  "fail"
  "assert"
  "try"
  "catch"
  "parallel"
  "with"
  "compensate"
] @keyword

[
  "and"
  "or"
  "not"
  "in"
  "div"
] @keyword.operator

[
  "model"
  "open"
  "table"
  "edge"
  "instructions"
  "input"
  "require"
  "follow_up"
  "examples"
  "script"
  "extern"
  "trusted"
  "each"
  "pack"
  "uses"
  "depends"
  "tenant"
  "default"
  "allow"
  "resource"
  "prompt"
] @keyword

[
  "needs"
  "repeat"
  "never"
  "idempotent"
  "reconcile"
  "key"
  "timeout"
  "none"
  "limit"
  "approval"
  "required"
  "by"
  "when"
  "taints"
  "retry"
  "policy"
  "grants"
  "deny"
  "tools"
  "skills"
  "budget"
  "attempts"
  "tool_choice"
  "history"
  "keep"
  "summarize"
  "version"
  "per"
  "fails"
  "as"
  "includes"
  "otherwise"
  "on"
  "up"
  "to"
  "from"
  "process"
] @keyword.modifier
