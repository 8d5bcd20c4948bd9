"""The types and modifiers of semantic tokens, as the server declares them."""

from __future__ import annotations

from lsprotocol import types as lsp

TYPES = (
    "namespace", "type", "class", "enum", "interface", "struct", "typeParameter", "parameter", "variable", "property", "enumMember",
    "function", "method", "keyword", "comment", "string", "number", "decorator",
)  # fmt: skip
MODIFIERS = ("declaration", "readonly", "modification", "async", "defaultLibrary", "documentation")
LEGEND = lsp.SemanticTokensLegend(list(TYPES), list(MODIFIERS))
