; Declarations, with the doc comment before them.

((doc_comment)* @doc
  .
  (function_declaration
    name: (identifier) @name) @definition.function
  (#strip! @doc "^///\\s?"))

((doc_comment)* @doc
  .
  (table_declaration
    name: (identifier) @name) @definition.function
  (#strip! @doc "^///\\s?"))

((doc_comment)* @doc
  .
  (tool_declaration
    name: (identifier) @name) @definition.function
  (#strip! @doc "^///\\s?"))

((doc_comment)* @doc
  .
  (node_declaration
    name: (identifier) @name) @definition.function
  (#strip! @doc "^///\\s?"))

((doc_comment)* @doc
  .
  (agent_declaration
    name: (identifier) @name) @definition.function
  (#strip! @doc "^///\\s?"))

((doc_comment)* @doc
  .
  (record_declaration
    name: (identifier) @name) @definition.class
  (#strip! @doc "^///\\s?"))

((doc_comment)* @doc
  .
  (error_declaration
    name: (identifier) @name) @definition.class
  (#strip! @doc "^///\\s?"))

((doc_comment)* @doc
  .
  (enum_declaration
    name: (identifier) @name) @definition.class
  (#strip! @doc "^///\\s?"))

((doc_comment)* @doc
  .
  (type_declaration
    name: (identifier) @name) @definition.type
  (#strip! @doc "^///\\s?"))

((doc_comment)* @doc
  .
  (const_declaration
    name: (identifier) @name) @definition.constant
  (#strip! @doc "^///\\s?"))

((doc_comment)* @doc
  .
  (service_declaration
    name: (identifier) @name) @definition.interface
  (#strip! @doc "^///\\s?"))

((doc_comment)* @doc
  .
  (skill_declaration
    name: (identifier) @name) @definition.module
  (#strip! @doc "^///\\s?"))

(mcp_declaration
  name: (identifier) @name) @definition.module

(model_declaration
  name: (identifier) @name) @definition.constant

(store_declaration
  name: (identifier) @name) @definition.constant

(operation
  name: (identifier) @name) @definition.method

(permission_declaration
  name: (path) @name) @definition.constant

(role_declaration
  name: (path) @name) @definition.constant

(call_expression
  function: (identifier) @name) @reference.call

(call_expression
  function: (member_expression
    member: (identifier) @name)) @reference.call

(named_type
  name: (path) @name) @reference.type
