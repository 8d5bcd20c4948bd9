[
  (function_declaration)
  (table_declaration)
  (tool_declaration)
  (node_declaration)
  (agent_declaration)
  (test_declaration)
  (lambda)
  (block)
  (for_statement)
  (parallel_for)
  (arm)
] @local.scope

(parameter
  name: (identifier) @local.definition.parameter)

(lambda_parameter
  name: (identifier) @local.definition.parameter)

(let_statement
  name: (identifier) @local.definition.var)

(var_statement
  name: (identifier) @local.definition.var)

(for_statement
  name: (identifier) @local.definition.var)

(parallel_for
  name: (identifier) @local.definition.var)

(binding_pattern
  name: (identifier) @local.definition.var)

(rest
  name: (identifier) @local.definition.var)

(identifier) @local.reference
