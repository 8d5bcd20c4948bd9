[
  (function_declaration
    name: (_) @name) @item
  (table_declaration
    name: (_) @name) @item
  (tool_declaration
    name: (_) @name) @item
  (node_declaration
    name: (_) @name) @item
  (agent_declaration
    name: (_) @name) @item
  (record_declaration
    name: (_) @name) @item
  (enum_declaration
    name: (_) @name) @item
  (error_declaration
    name: (_) @name) @item
  (service_declaration
    name: (_) @name) @item
  (skill_declaration
    name: (_) @name) @item
  (test_declaration
    name: (_) @name) @item
]
