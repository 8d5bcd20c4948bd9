[
  (block)
  (model_body)
  (edges)
  (rows)
  (fields)
  (arms)
  (arguments)
  (parameters)
  (list)
  (map)
  (enum_declaration)
  (service_declaration)
  (skill_declaration)
  (provide_declaration)
  (mcp_declaration)
  (model_declaration)
  (pack_declaration)
  (tenant_declaration)
  (examples)
] @indent.begin @indent

(clause) @indent.begin @indent

[
  "}"
  "]"
  ")"
] @indent.branch @indent.end @outdent

(string) @indent.ignore
