// The language of AEL 0.1.0 as data, made by `ael language --format typescript`: change nothing here.

export type ReservedWord =
  | "use" | "pub" | "permission" | "role" | "enum" | "record" | "error" | "type" | "const" | "fn" | "tool" | "node" | "agent"
  | "skill" | "service" | "provide" | "mcp" | "store" | "test" | "let" | "var" | "if" | "else" | "match" | "for" | "while"
  | "break" | "continue" | "return" | "fail" | "assert" | "try" | "catch" | "parallel" | "with" | "compensate" | "and" | "or"
  | "not" | "in" | "div" | "true" | "false" | "null";

export type SoftWord =
  | "model" | "open" | "table" | "edge" | "instructions" | "input" | "require" | "follow_up" | "examples" | "script" | "extern"
  | "trusted" | "each" | "pack" | "uses" | "depends" | "tenant" | "default" | "allow" | "resource" | "prompt" | "needs" | "repeat"
  | "never" | "idempotent" | "reconcile" | "key" | "timeout" | "none" | "limit" | "approval" | "required" | "by" | "when"
  | "taints" | "retry" | "policy" | "grants" | "deny" | "tools" | "skills" | "budget" | "attempts" | "tool_choice" | "history"
  | "keep" | "summarize" | "version" | "per" | "fails" | "as" | "includes" | "otherwise" | "on" | "up" | "to" | "from" | "process";

export type TypeName =
  | "String" | "Int" | "Float" | "Decimal" | "Bool" | "Bytes" | "Timestamp" | "Date" | "Duration" | "Json" | "Unit" | "List"
  | "Map" | "File" | "Secret";

export type Fault =
  | "Denied" | "BadArguments" | "Timeout" | "Disconnected" | "Malformed" | "TooLarge" | "Unavailable" | "BudgetExhausted"
  | "DeadlineExceeded" | "Cancelled" | "ModelUnavailable" | "ModelRefused" | "ContentFiltered" | "ContextOverflow" | "ModelCut"
  | "InvalidOutput" | "ToolFailed" | "DefinitionChanged" | "ApprovalDenied" | "NoEdge" | "Diverged" | "LoopLimit" | "TooDeep"
  | "Arithmetic" | "OutOfRange" | "AssertionFailed" | "Crashed";

export type DiagnosticCode =
  | "AEL0001" | "AEL0002" | "AEL0003" | "AEL0004" | "AEL0005" | "AEL0006" | "AEL0007" | "AEL0008" | "AEL0009" | "AEL0010"
  | "AEL0101" | "AEL0102" | "AEL0103" | "AEL0104" | "AEL0105" | "AEL0201" | "AEL0202" | "AEL0203" | "AEL0204" | "AEL0205"
  | "AEL0206" | "AEL0208" | "AEL0210" | "AEL0211" | "AEL0213" | "AEL0214" | "AEL0215" | "AEL0216" | "AEL0301" | "AEL0302"
  | "AEL0303" | "AEL0304" | "AEL0305" | "AEL0306" | "AEL0307" | "AEL0308" | "AEL0309" | "AEL0310" | "AEL0311" | "AEL0312"
  | "AEL0313" | "AEL0314" | "AEL0315" | "AEL0316" | "AEL0317" | "AEL0318" | "AEL0319" | "AEL0320" | "AEL0321" | "AEL0323"
  | "AEL0324" | "AEL0325" | "AEL0326" | "AEL0401" | "AEL0402" | "AEL0403" | "AEL0404" | "AEL0405" | "AEL0406" | "AEL0407"
  | "AEL0408" | "AEL0409" | "AEL0410" | "AEL0411" | "AEL0412" | "AEL0413" | "AEL0414" | "AEL0501" | "AEL0503" | "AEL0504"
  | "AEL0506" | "AEL0507" | "AEL0508" | "AEL0509" | "AEL0510" | "AEL0511" | "AEL0512" | "AEL0513" | "AEL0514" | "AEL0515"
  | "AEL0516" | "AEL0517" | "AEL0518" | "AEL0519" | "AEL0521" | "AEL0601" | "AEL0602" | "AEL0603" | "AEL0604" | "AEL0605"
  | "AEL0606" | "AEL0607" | "AEL0608" | "AEL0609" | "AEL0610" | "AEL0611" | "AEL0612" | "AEL0613" | "AEL0614" | "AEL0615"
  | "AEL0616" | "AEL0617" | "AEL0619" | "AEL0624" | "AEL0625" | "AEL0626" | "AEL0627" | "AEL0628" | "AEL0629" | "AEL0630"
  | "AEL0631" | "AEL0632" | "AEL0633" | "AEL0634" | "AEL0640" | "AEL0641" | "AEL0642" | "AEL0643" | "AEL0644" | "AEL0645"
  | "AEL0646" | "AEL0647" | "AEL1301" | "AEL1302" | "AEL1303" | "AEL1304" | "AEL1305" | "AEL1306" | "AEL1307" | "AEL1308"
  | "AEL1309" | "AEL1310" | "AEL1311" | "AEL1312" | "AEL1313" | "AEL1314" | "AEL0701" | "AEL0702" | "AEL0703" | "AEL0704"
  | "AEL0801" | "AEL0802" | "AEL0803" | "AEL0804" | "AEL0805" | "AEL0810" | "AEL0811" | "AEL0812" | "AEL0813" | "AEL0814"
  | "AEL0815" | "AEL0816" | "AEL0817" | "AEL0818" | "AEL0819" | "AEL0830" | "AEL0831" | "AEL0832" | "AEL0833" | "AEL0834"
  | "AEL0840" | "AEL0841" | "AEL0842" | "AEL0843" | "AEL0844" | "AEL0845" | "AEL0846" | "AEL0848" | "AEL0850" | "AEL0851"
  | "AEL0852" | "AEL0855" | "AEL0856" | "AEL0806" | "AEL0807" | "AEL0808" | "AEL0809" | "AEL0820" | "AEL0821" | "AEL0822"
  | "AEL0823" | "AEL0824" | "AEL0825" | "AEL0826" | "AEL0827" | "AEL0828" | "AEL0829" | "AEL0890" | "AEL0891" | "AEL0892"
  | "AEL0893" | "AEL0894" | "AEL0895" | "AEL0860" | "AEL0861" | "AEL0862" | "AEL0863" | "AEL0864" | "AEL0865" | "AEL0866"
  | "AEL1201" | "AEL1202" | "AEL1203" | "AEL1204" | "AEL1205" | "AEL1206" | "AEL1207" | "AEL1208" | "AEL1209" | "AEL1210"
  | "AEL1211" | "AEL1212" | "AEL1220" | "AEL1221" | "AEL1222" | "AEL1223" | "AEL0870" | "AEL0871" | "AEL0872" | "AEL0873"
  | "AEL0874" | "AEL0875" | "AEL0876" | "AEL0877" | "AEL0878" | "AEL0901" | "AEL0902" | "AEL0903" | "AEL0904" | "AEL0905"
  | "AEL0906" | "AEL0907" | "AEL0908" | "AEL0909" | "AEL0950" | "AEL0951" | "AEL0952" | "AEL0953" | "AEL0954" | "AEL0955"
  | "AEL1101" | "AEL1102" | "AEL1103" | "AEL1104" | "AEL1105" | "AEL1106" | "AEL1121" | "AEL1122" | "AEL1123" | "AEL1124"
  | "AEL1125" | "AEL1126" | "AEL1127" | "AEL1128" | "AEL1129" | "AEL1141" | "AEL1142" | "AEL1143" | "AEL1144" | "AEL0911"
  | "AEL0912";

export type NodeName =
  | "AgentDecl" | "Amount" | "Approval" | "Argument" | "Arm" | "Assert" | "Assign" | "Attempts" | "Binary" | "BinderPattern"
  | "Binding" | "BindingOption" | "Block" | "BoolLit" | "Bound" | "Break" | "Budget" | "Call" | "Catch" | "Comment" | "Compensate"
  | "ConstDecl" | "Continue" | "Depends" | "Doc" | "DurationLit" | "Edge" | "EdgeTarget" | "EnumDecl" | "ErrorDecl" | "Example"
  | "Examples" | "ExprStatement" | "Extern" | "Fail" | "Field" | "FieldAccess" | "FieldPattern" | "FieldValue" | "FloatLit"
  | "FollowUp" | "For" | "FunctionDecl" | "FunctionType" | "Grants" | "History" | "If" | "Index" | "Input" | "Instructions"
  | "IntLit" | "Lambda" | "LambdaParameter" | "Let" | "Limit" | "ListLit" | "ListPattern" | "LiteralPattern" | "LiteralType"
  | "MapEntry" | "MapLit" | "Match" | "McpDecl" | "McpPrompt" | "McpResource" | "McpTool" | "ModelBody" | "ModelClause"
  | "ModelDecl" | "Module" | "MoneyLit" | "Name" | "NamedType" | "Needs" | "NodeDecl" | "NullLit" | "Operation" | "OptionalType"
  | "OrPattern" | "PackDecl" | "ParallelClause" | "ParallelFor" | "ParallelRecord" | "Parameter" | "Path" | "PermissionDecl"
  | "Policy" | "ProvideDecl" | "Range" | "RecordDecl" | "Reference" | "RepeatClause" | "Require" | "Retry" | "Return" | "RoleDecl"
  | "Rows" | "Script" | "ServiceDecl" | "Setting" | "SizeLit" | "SkillDecl" | "Skills" | "StoreDecl" | "StringLit" | "Taints"
  | "TenantDecl" | "TestDecl" | "TextPart" | "Timeout" | "ToolChoice" | "ToolDecl" | "Tools" | "Try" | "TypeDecl" | "TypeParameter"
  | "TypePattern" | "Unary" | "UnionType" | "Use" | "UseName" | "Variant" | "VariantPattern" | "Version" | "While"
  | "WildcardPattern" | "With";

export interface Declaration { readonly word: string; readonly help: string; readonly clauses: readonly string[] }
export interface BuiltIn {
  readonly kind: "function" | "effect" | "test" | "method"; readonly name: string; readonly signature: string; readonly required: number;
}
export interface Diagnostic { readonly code: DiagnosticCode; readonly title: string; readonly area: string }
export interface Module { readonly name: string; readonly optional: boolean }
export interface NodeField { readonly name: string; readonly type: string }

/** What `ael language` prints, and the language server answers `ael/language` with. */
export interface Language {
  readonly form: number;
  readonly ael: string;
  readonly words: { readonly [kind: string]: readonly string[] };
  readonly help: { readonly [word: string]: string };
  readonly declarations: readonly Declaration[];
  readonly clauses: { readonly [place: string]: readonly string[] };
  readonly functions: readonly BuiltIn[];
  readonly methods: { readonly [receiver: string]: readonly BuiltIn[] };
  readonly faults: readonly Fault[];
  readonly diagnostics: readonly Diagnostic[];
  readonly modules: readonly Module[];
  readonly tree: { readonly [node in NodeName]: readonly NodeField[] };
}
