((line_comment) @injection.content
  (#set! injection.language "comment"))

((doc_comment) @injection.content
  (#set! injection.language "comment"))

; A pattern is a regular expression.
((bound
  name: (identifier) @_name
  (string
    (string_content) @injection.content))
  (#eq? @_name "pattern")
  (#set! injection.language "regex"))
