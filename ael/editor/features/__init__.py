"""What a language server answers: each file is one feature, a pure function of a program and a place in it.

`FEATURES` says which function answers which method of the protocol; the module of one is loaded when it is first asked for.
"""

from __future__ import annotations

from lsprotocol import types as lsp

from ael.editor.feature import Feature
from ael.editor.features.legend import LEGEND

FEATURES: dict[str, Feature] = {
    lsp.TEXT_DOCUMENT_HOVER: Feature("hover", "hover"),
    lsp.TEXT_DOCUMENT_DEFINITION: Feature("definition", "definition"),
    lsp.TEXT_DOCUMENT_DECLARATION: Feature("definition", "definition"),
    lsp.TEXT_DOCUMENT_TYPE_DEFINITION: Feature("definition", "type_definition"),
    lsp.TEXT_DOCUMENT_IMPLEMENTATION: Feature("definition", "implementation"),
    lsp.TEXT_DOCUMENT_REFERENCES: Feature("references", "find_references"),
    lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: Feature("references", "highlight"),
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: Feature("symbols", "document_symbols"),
    lsp.WORKSPACE_SYMBOL: Feature("symbols", "workspace_symbols"),
    lsp.TEXT_DOCUMENT_COMPLETION: Feature(
        "completion", "complete", lsp.CompletionOptions(trigger_characters=[".", "/", '"'], resolve_provider=True)
    ),
    lsp.COMPLETION_ITEM_RESOLVE: Feature("completion", "resolve"),
    lsp.TEXT_DOCUMENT_SIGNATURE_HELP: Feature(
        "signature_help",
        "signature_help",
        lsp.SignatureHelpOptions(trigger_characters=["(", ","], retrigger_characters=[":", ")"]),
    ),
    lsp.TEXT_DOCUMENT_RENAME: Feature("rename", "rename", lsp.RenameOptions(prepare_provider=True)),
    lsp.TEXT_DOCUMENT_PREPARE_RENAME: Feature("rename", "prepare"),
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: Feature(
        "semantic_tokens",
        "full",
        lsp.SemanticTokensOptions(LEGEND, full=lsp.SemanticTokensFullDelta(delta=True), range=True),
    ),
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL_DELTA: Feature("semantic_tokens", "delta"),
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: Feature("semantic_tokens", "within"),
    lsp.TEXT_DOCUMENT_INLAY_HINT: Feature("inlay_hints", "inlay_hints"),
    lsp.TEXT_DOCUMENT_FOLDING_RANGE: Feature("folding", "folding_ranges"),
    lsp.TEXT_DOCUMENT_SELECTION_RANGE: Feature("folding", "selection_ranges"),
    lsp.TEXT_DOCUMENT_DOCUMENT_LINK: Feature("links", "document_links"),
    lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY: Feature("calls", "prepare"),
    lsp.CALL_HIERARCHY_INCOMING_CALLS: Feature("calls", "incoming"),
    lsp.CALL_HIERARCHY_OUTGOING_CALLS: Feature("calls", "outgoing"),
}
"""Method of the protocol -> what answers it."""

ACTIONS: list[Feature] = []
"""What gives code actions beside the fixes of problems."""
