/**
 * The syntax of AEL for tree-sitter. `grammar/ael.lark` defines the language; this file follows it rule by rule, and tests hold it
 * to that: programs made from the one grammar have to parse with the other. The words are those of `grammar/words.toml`, in `words.json`.
 *
 * A newline ends something only where one can: `src/scanner.c` has the rules. Comments may stand anywhere.
 */

const words = require("./words.json");

const RESERVED = [...words.declaration, ...words.statement, ...words.operator, ...words.literal];

// Words that begin an item where a statement could stand too. They are names everywhere else.
const ITEM_WORDS = ["script", "instructions", "input", "require", "follow_up", "examples"];

// Words of declarations that a module's path may have: `use std/test`.
const PATH_WORDS = [
  "use", "permission", "role", "error", "type", "tool", "node", "agent", "skill", "service", "mcp", "store", "test",
];

const KINDS = ["model", "service", "node", "agent", "edge", "store", "tool", "mcp", "role", "skill", "permission"];

const PREC = {
  lambda: 1, catch: 2, or: 3, and: 4, not: 5, compare: 6, default: 7, add: 8, multiply: 9, with: 10, unary: 11, postfix: 12,
};

const list = (rule, separator) => seq(rule, repeat(seq(separator, rule)));
const commas = (rule) => list(rule, ",");
const commasEnd = (rule) => seq(commas(rule), optional(","));

module.exports = grammar({
  name: "ael",

  word: ($) => $.identifier,

  externals: ($) => [$._newline, $._edge_newline, $._operation_newline, $._end, $._operand, $._error_sentinel],

  extras: ($) => [/\s/, "\uFEFF", $.line_comment, $.doc_comment, $.module_comment],

  supertypes: ($) => [$.declaration, $.statement, $.expression, $.type, $.pattern],

  inline: ($) => [$._name, $._field_name, $._separator, $._kind],

  conflicts: ($) => [[$.skill_declaration, $.path]],

  rules: {
    source_file: ($) => repeat(choice($.declaration, $.pack_declaration, $.tenant_declaration, $.binding, $.rule)),

    line_comment: () => token(choice(/\/\/([^\/!\r\n][^\r\n]*)?/, /\/\/\/\/[^\r\n]*/)),
    doc_comment: () => token(/\/\/\/([^\/\r\n][^\r\n]*)?/),
    module_comment: () => token(/\/\/![^\r\n]*/),

    // --- modules -----------------------------------------------------------------------------------------------------

    declaration: ($) =>
      choice(
        $.use_declaration, $.permission_declaration, $.role_declaration, $.enum_declaration, $.record_declaration,
        $.error_declaration, $.type_declaration, $.const_declaration, $.function_declaration, $.table_declaration, $.tool_declaration,
        $.node_declaration, $.agent_declaration, $.skill_declaration, $.service_declaration, $.provide_declaration,
        $.mcp_declaration, $.model_declaration, $.store_declaration, $.test_declaration,
      ),

    use_declaration: ($) =>
      seq(
        "use",
        field("module", $.module_path),
        optional(
          choice(
            seq("as", field("alias", $.identifier)),
            seq(".", $.use_item),
            seq(".", "{", commasEnd($.use_item), "}"),
          ),
        ),
      ),
    use_item: ($) => seq(field("name", $.identifier), optional(seq("as", field("alias", $.identifier)))),
    module_path: ($) => seq(optional($._module_root), $._segments),
    _module_root: () => choice(seq(".", "/"), repeat1(seq("..", "/")), seq(".", "/", repeat1(seq("..", "/")))),
    _segments: ($) => list(choice($.identifier, alias(choice(...PATH_WORDS), $.identifier)), "/"),

    permission_declaration: ($) =>
      seq("permission", field("name", $.path), choice($._end, seq("includes", $._paths))),
    role_declaration: ($) => seq("role", field("name", $.path), $._end),

    enum_declaration: ($) =>
      seq(optional("pub"), "enum", field("name", $.identifier), "{", optional(seq(list($.variant, $._separator), optional(","))), "}"),
    variant: ($) => seq(field("name", $.identifier), optional(seq("(", commasEnd($.field), ")"))),

    record_declaration: ($) => seq(optional("pub"), optional("open"), "record", field("name", $.identifier), field("body", $.fields)),
    error_declaration: ($) => prec.right(seq(optional("pub"), "error", field("name", $.identifier), optional(field("body", $.fields)))),
    fields: ($) => seq("{", optional(seq(list($.field, $._separator), optional(","))), "}"),
    field: ($) => seq(field("name", $._field_name), $._typed),
    _typed: ($) =>
      seq(
        optional("?"), ":", field("type", $.type),
        optional(seq("as", field("wire", $.string))),
        optional(seq("=", field("default", $.expression))),
      ),

    type_declaration: ($) => seq(optional("pub"), "type", field("name", $.identifier), "=", field("type", $.type)),
    const_declaration: ($) =>
      seq(
        optional("pub"), "const", field("name", $.identifier), optional(seq(":", field("type", $.type))),
        "=", field("value", $.expression),
      ),

    function_declaration: ($) =>
      seq(
        optional("pub"), "fn", field("name", $.identifier), optional($.type_parameters), $._signature, field("body", $.block),
      ),
    type_parameters: ($) => seq("<", commas($.identifier), ">"),
    _signature: ($) =>
      seq(field("parameters", $.parameters), optional(seq("->", field("result", $.type))), optional($.fails_clause)),
    fails_clause: ($) => seq("fails", $._paths),
    parameters: ($) => seq("(", optional(commasEnd($.parameter)), ")"),
    parameter: ($) =>
      seq(optional("trusted"), field("name", choice($._field_name, alias("trusted", $.identifier))), $._typed),

    table_declaration: ($) =>
      seq(
        optional("pub"), "table", field("name", $.identifier), $._signature, repeat($.clause),
        field("body", $.rows),
      ),
    rows: ($) => seq("{", optional(list($.row, $._newline)), "}"),
    row: ($) =>
      seq(choice(seq("when", commas($._cell)), "otherwise"), "=>", field("value", $.expression)),
    _cell: ($) => choice($.pattern, $.comparison, $.between, $.literal_range),
    comparison: ($) => prec(PREC.default, seq(field("operator", choice("<", "<=", ">", ">=")), $.expression)),
    between: ($) => seq($.comparison, "and", $.comparison),
    literal_range: ($) => seq($.literal_pattern, "..", $.literal_pattern),

    tool_declaration: ($) =>
      seq(
        optional("pub"), "tool", field("name", $.identifier), $._signature, repeat($.clause),
        field("body", choice($.block, $.extern)),
      ),
    extern: ($) => seq("extern", $.string),

    node_declaration: ($) =>
      seq(
        optional("pub"), "node", field("name", $.identifier), $._signature, repeat($.clause),
        field("body", choice($.block, $.model_body)),
      ),
    model_body: ($) => seq("{", list($._model_item, $._newline), "}"),
    _model_item: ($) => choice($.instructions, $.input, $.require, $.follow_up, $.examples),
    instructions: ($) => seq("instructions", $._operand, optional("from"), $.string),
    input: ($) => seq("input", $._operand, $.expression),
    require: ($) => seq("require", $._operand, $.expression, optional(seq(",", $.expression))),
    follow_up: ($) => seq("follow_up", $._operand, $.string),
    examples: ($) => seq("examples", $._operand, "[", optional(commasEnd($.example)), "]"),
    example: ($) => seq($.expression, "=>", $.expression),

    agent_declaration: ($) =>
      seq(
        optional("pub"), "agent", field("name", $.identifier), $._signature, repeat($.clause), field("body", $.edges),
      ),
    edges: ($) => seq("{", optional(list($.edge, $._edge_newline)), "}"),
    edge: ($) =>
      seq(
        "edge",
        field("source", choice($.identifier, $.any_sources, $.all_sources)),
        "->",
        field("target", $.edge_target),
        optional(choice(seq("when", $.expression), "otherwise", seq("on", $._paths))),
        optional(seq("up", "to", $.expression)),
      ),
    any_sources: ($) => seq($.identifier, repeat1(seq(",", $.identifier))),
    all_sources: ($) => seq($.identifier, repeat1(seq("&", $.identifier))),
    edge_target: ($) => seq(optional("each"), field("node", $.identifier), optional($.arguments)),

    skill_declaration: ($) =>
      seq(
        optional("pub"), "skill", field("name", $.identifier), repeat($.clause),
        "{", optional(list(choice($.instructions, $.clause, $.function_declaration), $._newline)), "}",
      ),

    service_declaration: ($) =>
      seq(
        optional("pub"), "service", field("name", $.identifier),
        "{", optional(list($.operation, $._operation_newline)), "}",
      ),
    operation: ($) => seq(field("name", $.identifier), $._signature, repeat($.clause)),

    provide_declaration: ($) =>
      seq(
        "provide", field("service", choice($.path, $.far_path)), optional(seq("as", field("alias", $.identifier))),
        repeat($.clause), "{", optional(list($.function_declaration, $._newline)), "}",
      ),
    far_path: ($) =>
      seq($.identifier, repeat1(seq("/", choice($.identifier, alias(choice(...PATH_WORDS), $.identifier)))), ".", $.identifier),

    mcp_declaration: ($) =>
      seq(
        optional("pub"), "mcp", field("name", $.identifier), "{",
        optional(
          seq(
            repeat(choice(seq($.setting, $._newline), seq($._mcp_item, $._operation_newline))),
            choice($.setting, $._mcp_item),
          ),
        ),
        "}",
      ),
    _mcp_item: ($) => choice($.mcp_tool, $.mcp_resource, $.mcp_prompt),
    mcp_tool: ($) => seq("tool", field("name", $.identifier), optional(seq("as", $.string)), repeat($.clause)),
    mcp_resource: ($) =>
      seq("resource", field("name", $.identifier), $.string, optional(seq("->", field("type", $.type))), repeat($.clause)),
    mcp_prompt: ($) => seq("prompt", field("name", $.identifier), optional(seq("as", $.string)), repeat($.clause)),

    model_declaration: ($) =>
      seq(
        optional("pub"), "model", field("name", $.identifier),
        "{", optional(seq(list($.setting, $._separator), optional(","))), "}",
      ),
    setting: ($) => seq(field("name", $.identifier), field("value", $.expression)),

    // A `model` after a store begins the next declaration.
    store_declaration: ($) =>
      prec.right(
        seq(
          optional("pub"), "store", field("name", $.identifier), ":", field("type", $.type),
          repeat(alias($._plain_clause, $.clause)),
        ),
      ),

    test_declaration: ($) => seq("test", field("name", $.string), field("body", $.block)),

    // --- clauses -----------------------------------------------------------------------------------------------------

    clause: ($) => choice($._plain_clause, seq("model", $.path)),
    _plain_clause: ($) =>
      choice(
        seq(choice("needs", "grants", "deny", "tools", "skills"), $._paths),
        seq("repeat", choice("never", seq(choice("idempotent", "reconcile"), optional(seq("key", $.expression))))),
        seq("timeout", choice("none", $.expression)),
        seq(choice("limit", "budget"), $._amounts),
        seq("approval", "required", optional(seq("by", $.path)), optional(seq("when", $.expression))),
        "taints",
        "parallel",
        seq("retry", choice($.integer, $.arguments)),
        seq("policy", $.identifier, optional($.arguments)),
        seq("attempts", $.expression),
        seq("tool_choice", $.path),
        seq("history", choice(seq("keep", $.expression), "summarize")),
        seq("version", $.string),
      ),
    _amounts: ($) => commas($.amount),
    amount: ($) => seq(field("name", $.identifier), field("value", $.expression), optional(seq("per", $.identifier))),

    // --- pack.ael ----------------------------------------------------------------------------------------------------

    pack_declaration: ($) =>
      seq("pack", field("name", $.identifier), "{", optional(seq($._pack_item, repeat(seq(optional($._newline), $._pack_item)))), "}"),
    _pack_item: ($) => choice($.pack_version, $.uses, $.depends, $.externs),
    pack_version: ($) => seq("version", $.string),
    uses: ($) => seq("uses", commas($.module_path)),
    depends: ($) => seq("depends", $.identifier, $.string, optional(seq("from", $.string))),
    externs: ($) => seq("extern", commas($.string)),

    // --- deploy.ael --------------------------------------------------------------------------------------------------

    tenant_declaration: ($) => seq("tenant", field("name", $.identifier), "{", repeat($.clause), "}"),
    binding: ($) =>
      seq(
        field("kind", $._kind),
        choice(
          seq(
            optional(seq(field("name", $.path), optional(seq("->", $.path)))),
            "=", field("placement", choice($.expression, $.in_process)), repeat($._binding_option),
          ),
          seq(field("name", $.path), repeat1($._binding_option)),
          seq(field("name", $.string), repeat($._binding_option)),
        ),
        $._end,
      ),
    rule: ($) =>
      seq(choice(seq(choice("default", "limit", "budget"), $._amounts), seq(choice("deny", "allow"), $._paths)), $._end),
    _kind: ($) => choice($.identifier, ...KINDS),
    in_process: () => seq("in", "process"),
    _binding_option: ($) => choice($.clause, $.option),
    option: ($) =>
      prec.right(
        seq(field("name", $.identifier), choice($.arguments, repeat(choice($._number, $.string, $.boolean)))),
      ),

    // --- names -------------------------------------------------------------------------------------------------------

    identifier: () => /[A-Za-z_][A-Za-z0-9_]*/,
    _name: ($) => choice($.identifier, alias(choice(...ITEM_WORDS), $.identifier)),
    _field_name: ($) => choice($.identifier, alias(choice(...RESERVED), $.identifier)),
    path: ($) => seq($.identifier, repeat(seq(".", $._field_name))),
    _paths: ($) => commas($.path),
    _separator: ($) => choice(",", $._newline),

    // --- types -------------------------------------------------------------------------------------------------------

    type: ($) => choice($._type_member, $.union_type, $.function_type),
    union_type: ($) => prec.left(seq($._type_member, repeat1(seq("|", $._type_member)))),
    function_type: ($) => seq("fn", "(", optional(commas($.type)), ")", "->", $.type),
    _type_member: ($) => choice($._type_atom, $.optional_type),
    optional_type: ($) => seq($._type_atom, "?"),
    _type_atom: ($) => choice($.named_type, $.literal_type, $.parenthesized_type),
    parenthesized_type: ($) => seq("(", $.type, ")"),
    named_type: ($) =>
      prec.right(seq(field("name", $.path), optional($.type_arguments), optional($.bounds))),
    type_arguments: ($) => seq("<", commas($.type), ">"),
    literal_type: ($) => choice($.string, seq(optional("-"), choice($.integer, $.float)), $.boolean, $.null),
    bounds: ($) => seq("(", commasEnd($.bound), ")"),
    bound: ($) => choice(seq(field("name", $._field_name), ":", $.expression), $.range),
    range: ($) =>
      choice(seq($.expression, "..", $.expression), seq($.expression, ".."), seq("..", $.expression)),

    // --- statements --------------------------------------------------------------------------------------------------

    block: ($) => seq("{", optional(list($.statement, $._newline)), "}"),
    statement: ($) =>
      choice(
        $.expression, $.let_statement, $.var_statement, $.for_statement, $.while_statement, $.assert_statement,
        $.script_statement, $.compensate_statement, $._jump,
      ),
    let_statement: ($) => seq("let", $._bound_value),
    var_statement: ($) => seq("var", $._bound_value),
    _bound_value: ($) =>
      seq(field("name", $.identifier), optional(seq(":", field("type", $.type))), "=", field("value", $.expression)),
    for_statement: ($) =>
      seq(
        "for", field("name", $.identifier), optional(seq(",", field("name", $.identifier))),
        "in", field("iterable", choice($.expression, alias($.full_range, $.range))), field("body", $.block),
      ),
    full_range: ($) => seq($.expression, "..", $.expression),
    while_statement: ($) => seq("while", $.expression, optional(seq("up", "to", $.expression)), field("body", $.block)),
    assert_statement: ($) => seq("assert", $.expression, optional(seq(",", $.expression))),
    script_statement: ($) => seq("script", $._operand, field("model", $.path), $.list),
    compensate_statement: ($) => seq("compensate", field("body", $.block)),
    _jump: ($) => choice($.break_statement, $.continue_statement, $.return_statement, $.fail_statement, $.assignment),
    break_statement: () => "break",
    continue_statement: () => "continue",
    return_statement: ($) => prec.right(seq("return", optional($.expression))),
    fail_statement: ($) => seq("fail", $.expression),
    assignment: ($) => seq(field("name", $._name), "=", field("value", $.expression)),

    // --- expressions -------------------------------------------------------------------------------------------------

    expression: ($) =>
      choice(
        $.lambda, $.catch_expression, $.binary_expression, $.not_expression, $.with_expression, $.unary_expression,
        $.try_expression, $.member_expression, $.call_expression, $.index_expression, $._name, $._number, $.string,
        $.boolean, $.null, $.parenthesized_expression, $.list, $.map, $.block, $.if_expression, $.match_expression,
        $.parallel_for, $.parallel_record,
      ),

    lambda: ($) =>
      prec.right(
        PREC.lambda,
        seq("fn", field("parameters", $.lambda_parameters), choice(seq("=>", field("body", $.expression)), field("body", $.block))),
      ),
    lambda_parameters: ($) => seq("(", optional(commas($.lambda_parameter)), ")"),
    lambda_parameter: ($) => seq(field("name", $.identifier), optional(seq(":", field("type", $.type)))),

    catch_expression: ($) => prec.left(PREC.catch, seq($.expression, "catch", $.arms)),
    not_expression: ($) => prec(PREC.not, seq("not", $.expression)),
    binary_expression: ($) => {
      const left = (precedence, ...operators) =>
        prec.left(
          precedence,
          seq(field("left", $.expression), field("operator", choice(...operators)), field("right", $.expression)),
        );
      return choice(
        left(PREC.or, "or"),
        left(PREC.and, "and"),
        left(PREC.compare, "==", "!=", "<", "<=", ">", ">=", "in", seq("not", "in")),
        prec.right(
          PREC.default,
          seq(field("left", $.expression), field("operator", "??"), field("right", $.expression)),
        ),
        left(PREC.add, "+", "-"),
        left(PREC.multiply, "*", "/", "div", "%"),
      );
    },
    with_expression: ($) =>
      prec.left(PREC.with, seq($.expression, "with", "{", optional($._field_values), "}")),
    _field_values: ($) => seq(list($.field_value, $._separator), optional(",")),
    field_value: ($) => seq(field("name", $._field_name), ":", field("value", $.expression)),
    unary_expression: ($) => prec(PREC.unary, seq("-", $.expression)),
    try_expression: ($) => prec(PREC.unary, seq("try", $.expression)),

    member_expression: ($) => prec(PREC.postfix, seq(field("object", $.expression), ".", field("member", $._field_name))),
    call_expression: ($) => prec(PREC.postfix, seq(field("function", $.expression), field("arguments", $.arguments))),
    index_expression: ($) => prec(PREC.postfix, seq($.expression, "[", $.expression, optional(","), "]")),
    arguments: ($) => seq("(", optional(commasEnd($._argument)), ")"),
    _argument: ($) => choice($.expression, $.named_argument),
    named_argument: ($) =>
      seq(field("name", choice($._name, alias(choice(...RESERVED), $.identifier))), ":", field("value", $.expression)),

    parenthesized_expression: ($) => seq("(", $.expression, ")"),
    list: ($) => seq("[", optional(commasEnd($.expression)), "]"),
    map: ($) => choice(seq("[", ":", "]"), seq("[", commasEnd($.entry), "]")),
    entry: ($) => seq(field("key", $.expression), ":", field("value", $.expression)),
    if_expression: ($) =>
      prec.right(
        seq(
          "if", field("condition", $.expression), field("then", $.block),
          optional(seq("else", field("else", choice($.block, $.if_expression)))),
        ),
      ),
    match_expression: ($) => seq("match", $.expression, $.arms),
    arms: ($) => seq("{", optional(seq(list($.arm, $._separator), optional(","))), "}"),
    arm: ($) =>
      seq(
        field("pattern", $.pattern), optional(seq("if", field("guard", $.expression))), "=>",
        field("body", choice($.expression, $._jump)),
      ),
    parallel_for: ($) =>
      seq(
        "parallel", field("name", $.identifier), "in", $.expression, optional(seq("up", "to", $.expression)),
        field("body", $.block),
      ),
    parallel_record: ($) => seq("parallel", "{", $._field_values, "}"),

    _number: ($) => choice($.integer, $.float, $.money, $.duration, $.size),
    integer: () => token(/[0-9][0-9_]*/),
    float: () => token(choice(/[0-9][0-9_]*\.[0-9][0-9_]*([eE][+-]?[0-9]+)?/, /[0-9][0-9_]*[eE][+-]?[0-9]+/)),
    money: () => token(/\$[0-9][0-9_]*(\.[0-9][0-9_]*)?/),
    duration: () => token(/[0-9][0-9_]*(\.[0-9][0-9_]*)?(ms|s|min|h|d)/),
    size: () => token(/[0-9][0-9_]*(\.[0-9][0-9_]*)?(B|KB|MB|GB|KiB|MiB|GiB)/),
    boolean: () => choice("true", "false"),
    null: () => "null",

    string: ($) => choice($._plain_string, $._block_string, $.raw_string),
    _plain_string: ($) =>
      seq(
        '"',
        repeat(choice(alias($._plain_text, $.string_content), alias($._dollar, $.string_content), $.escape_sequence, $.interpolation)),
        token.immediate('"'),
      ),
    // Before comments: `"//"` is text.
    _plain_text: () => token.immediate(prec(1, /[^"\\$\r\n]+/)),
    _dollar: () => token.immediate("$"),
    _block_string: ($) =>
      seq(
        '"""',
        repeat(
          choice(
            alias($._block_text, $.string_content), alias($._dollar, $.string_content), alias($._quote, $.string_content),
            $.escape_sequence, $.interpolation,
          ),
        ),
        token.immediate('"""'),
      ),
    _block_text: () => token.immediate(prec(1, /[^"\\$]+/)),
    _quote: () => token.immediate('"'),
    raw_string: () => token(/r"[^"\r\n]*"/),
    escape_sequence: () => token.immediate(choice(/\\u\{[0-9A-Fa-f]{1,6}\}/, /\\(.|\r|\n)/)),
    interpolation: ($) => seq(token.immediate("${"), $.expression, "}"),

    // --- patterns ----------------------------------------------------------------------------------------------------

    pattern: ($) => choice($._pattern_atom, $.or_pattern),
    or_pattern: ($) => prec.left(seq($._pattern_atom, repeat1(seq("|", $._pattern_atom)))),
    _pattern_atom: ($) =>
      choice(
        alias($.path, $.name_pattern), $.binding_pattern, $.variant_pattern, $.literal_pattern, $.list_pattern,
        $.parenthesized_pattern,
      ),
    parenthesized_pattern: ($) => seq("(", $.pattern, ")"),
    binding_pattern: ($) => seq(field("type", $.path), field("name", $.identifier)),
    variant_pattern: ($) => seq(field("type", $.path), "(", optional(commasEnd($.field_pattern)), ")"),
    field_pattern: ($) => choice($.pattern, seq(field("name", $._field_name), ":", $.pattern)),
    literal_pattern: ($) =>
      choice($.string, $.boolean, $.null, $.money, $.duration, seq(optional("-"), choice($.integer, $.float))),
    list_pattern: ($) =>
      seq(
        "[",
        optional(
          choice(
            seq($.rest, optional(",")),
            seq(commas($.pattern), optional(seq(",", optional(seq($.rest, optional(",")))))),
          ),
        ),
        "]",
      ),
    rest: ($) => seq("..", optional(field("name", $.identifier))),
  },
});
