;;; ael-words.el --- The words of AEL by class  -*- lexical-binding: t; -*-

;; Made by `python -m editors.generate'; do not edit.

;;; Commentary:

;; What `ael-mode' colours.

;;; Code:

(defconst ael-words-declaration
  '("use" "pub" "permission" "role" "enum" "record" "error" "type"
    "const" "fn" "tool" "node" "agent" "skill" "service" "provide" "mcp"
    "store" "test")
  "Words of the class `declaration'.")

(defconst ael-words-statement
  '("let" "var" "if" "else" "match" "for" "while" "break" "continue"
    "return" "fail" "assert" "try" "catch" "parallel" "with"
    "compensate")
  "Words of the class `statement'.")

(defconst ael-words-operator
  '("and" "or" "not" "in" "div")
  "Words of the class `operator'.")

(defconst ael-words-literal
  '("true" "false" "null")
  "Words of the class `literal'.")

(defconst ael-words-soft
  '("model" "open" "table" "edge" "instructions" "input" "require"
    "follow_up" "examples" "script" "extern" "trusted" "each" "pack"
    "uses" "depends" "tenant" "default" "allow" "resource" "prompt")
  "Words of the class `soft'.")

(defconst ael-words-clause
  '("needs" "repeat" "never" "idempotent" "reconcile" "key" "timeout"
    "none" "limit" "approval" "required" "by" "when" "taints" "retry"
    "policy" "grants" "deny" "tools" "skills" "budget" "attempts"
    "tool_choice" "history" "keep" "summarize" "version" "per" "fails"
    "as" "includes" "otherwise" "on" "up" "to" "from" "process")
  "Words of the class `clause'.")

(defconst ael-words-type
  '("String" "Int" "Float" "Decimal" "Bool" "Bytes" "Timestamp" "Date"
    "Duration" "Json" "Unit" "List" "Map" "File" "Secret")
  "Words of the class `type'.")

(defconst ael-words-known
  '("output" "call" "start" "finish" "one_call" "loop")
  "Words of the class `known'.")

(defconst ael-words-last
  '("never" "idempotent" "reconcile" "none" "required" "taints"
    "summarize" "otherwise" "process")
  "Words of the class `last'.")

(provide 'ael-words)
;;; ael-words.el ends here
