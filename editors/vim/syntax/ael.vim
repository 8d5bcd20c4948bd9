" Vim syntax of AEL. Made by `python -m editors.generate`; do not edit.
if exists('b:current_syntax')
  finish
endif

syntax match aelName /\v<[a-z_]\w*>/
syntax match aelFunction /\v<[a-z_]\w*\ze\(/
syntax match aelType /\v<[A-Z]\w*>/
syntax match aelConstant /\v<[A-Z][A-Z0-9_]+>/
syntax match aelSoft /\v<(model|open|table|edge|instructions|input|require|follow_up|examples|script|extern|trusted|each|pack|uses|depends|tenant|default|allow|resource|prompt)>\ze[ \t]+[A-Za-z_0-9"\[.]/
syntax match aelClause /\v<(needs|repeat|never|idempotent|reconcile|key|timeout|none|limit|approval|required|by|when|taints|retry|policy|grants|deny|tools|skills|budget|attempts|tool_choice|history|keep|summarize|version|per|fails|as|includes|otherwise|on|up|to|from|process)>\ze([ \t]*([A-Za-z_0-9"$]|$)|[ \t]+\()/
syntax match aelClause /\v<retry\ze\(/
syntax match aelClause /\v<otherwise\ze[ \t]*\=\>/
syntax match aelClause /\v<when\ze[ \t]+[-<>\[]/
syntax match aelClause /\v<(never|idempotent|reconcile|none|required|taints|summarize|otherwise|process)>\ze[ \t]*([{}]|\/\/)/
syntax match aelKnown /\v<(output|call|start|finish|one_call|loop)>/
syntax match aelField /\v<[a-z_]\w*\ze[ \t]*\??:/
syntax match aelMember /\v\.@<=[a-z_]\w*/
syntax keyword aelDeclaration use pub permission role enum record error type const fn tool node agent skill service provide mcp store test
syntax keyword aelStatement let var if else match for while break continue return fail assert try catch parallel with compensate
syntax keyword aelOperatorWord and or not in div
syntax keyword aelLiteral true false null
syntax keyword aelBuiltinType String Int Float Decimal Bool Bytes Timestamp Date Duration Json Unit List Map File Secret
syntax match aelNumber /\v<\d[0-9_]*(\.\d[0-9_]*)?([eE][+-]?\d+)?>/
syntax match aelQuantity /\v<\d[0-9_]*(ms|min|s|h|d|B|KB|MB|GB|KiB|MiB|GiB)>/
syntax match aelMoney /\v\$\d[0-9_]*(\.\d+)?/
syntax match aelOperator /\v-\>|\=\>|\?\?|\.\.|[-+*\/%<>=|&?!]/
syntax match aelDelimiter /[(){}\[\],:]/
syntax match aelEscape contained /\v\\(u\{[0-9A-Fa-f]{1,6}\}|.)/
syntax region aelInterpolation contained matchgroup=aelInterpolationMark start=/\${/ end=/}/ contains=TOP
syntax region aelString start=/"/ end=/"\|$/ contains=aelEscape,aelInterpolation
syntax region aelBlock start=/"""/ end=/"""/ contains=aelEscape,aelInterpolation
syntax match aelRaw /\vr"[^"]*("|$)/
syntax match aelComment /\/\/.*$/
syntax match aelDoc /\/\/[\/!].*$/

highlight default link aelDeclaration Structure
highlight default link aelStatement Statement
highlight default link aelOperatorWord Operator
highlight default link aelLiteral Boolean
highlight default link aelBuiltinType Type
highlight default link aelSoft Keyword
highlight default link aelClause Keyword
highlight default link aelKnown Special
highlight default link aelName Normal
highlight default link aelFunction Function
highlight default link aelType Type
highlight default link aelConstant Constant
highlight default link aelField Identifier
highlight default link aelMember Identifier
highlight default link aelNumber Number
highlight default link aelQuantity Number
highlight default link aelMoney Number
highlight default link aelOperator Operator
highlight default link aelDelimiter Delimiter
highlight default link aelEscape SpecialChar
highlight default link aelInterpolationMark PreProc
highlight default link aelString String
highlight default link aelBlock String
highlight default link aelRaw String
highlight default link aelComment Comment
highlight default link aelDoc SpecialComment

syntax sync fromstart
let b:current_syntax = 'ael'
