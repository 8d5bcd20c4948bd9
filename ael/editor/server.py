"""The language server: which methods it answers, and by what.

Features (`ael/editor/features/`) are loaded when they are first asked for; documents, diagnostics, fixes and formatting are the core's own.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcContentModified, JsonRpcException, JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from ael import __version__
from ael.editor.documents import path_of
from ael.editor.feature import Asked, Feature, Refused
from ael.editor.features import ACTIONS, FEATURES
from ael.editor.language import language
from ael.editor.protocol import Protocol
from ael.editor.reports import Reporter, told
from ael.editor.rewrite import FIX_ALL, IMPORTS, fixes, formatted, formatted_range
from ael.editor.session import Modified, Session, Unknown, text_document
from ael.source import Span

T = TypeVar("T")
logger = logging.getLogger(__name__)

VIEW_TEXT = "ael/viewFileText"
LANGUAGE = "ael/language"
"""Answered with the language as data, as `ael language` prints it."""
"""A request of this server's own: `{"textDocument": {"uri": …}}` gives the text that the server has, where the two sides may differ."""
WATCHED = ("**/*.ael", "**/ael.lock", "**/*.md", "**/*.txt")
_REQUEST_FAILED = -32803


class Server(LanguageServer):
    """One language server for one editor."""

    protocol: Protocol

    def __init__(self) -> None:
        super().__init__("ael", __version__, protocol_cls=Protocol)
        self.session = self.protocol.session = Session(self)
        self.parent: int | None = None
        """The editor's process."""
        self.watches = False
        """Whether the editor tells which files change on the disk."""
        _register(self)

    def publish(self, uri: str, version: int | None, diagnostics: list[lsp.Diagnostic]) -> None:
        """Show what is wrong in a file."""
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, diagnostics, version))

    def changed(self) -> None:
        """Have the editor ask for diagnostics again."""
        workspace = self.session.client.workspace
        if workspace is not None and workspace.diagnostics is not None and workspace.diagnostics.refresh_support:
            self.protocol.send_request(lsp.WORKSPACE_DIAGNOSTIC_REFRESH, None)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """The log has it; no window opens for it."""

    async def ask(self, params: Any, answer: Callable[[Asked], T]) -> T:
        """What `answer` gives for the document that a request is about, or an error of the protocol."""
        uri = text_document(params)
        try:
            if uri is None:
                raise Refused("the request names no document")
            return await self.session.ask(uri, answer)
        except Modified:
            raise JsonRpcContentModified("the document has changed") from None
        except (Refused, Unknown) as error:
            raise JsonRpcException(str(error), _REQUEST_FAILED) from None


# --- features ------------------------------------------------------------------------------------------------------------


def _register(server: Server) -> None:
    """Say which method is answered by what."""
    for method, feature in FEATURES.items():
        options = feature.options
        # The library makes these options itself, of what is answered.
        options = options.legend if isinstance(options, lsp.SemanticTokensOptions) else options
        server.feature(method, options)(_handler(server, method, feature))
    core: dict[str, tuple[Callable[..., Any], Any]] = {
        lsp.INITIALIZE: (_initialize, None),
        lsp.INITIALIZED: (_initialized, None),
        lsp.TEXT_DOCUMENT_DID_SAVE: (_saved, lsp.SaveOptions(include_text=False)),
        lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES: (_files_changed, None),
        lsp.WORKSPACE_DID_CHANGE_CONFIGURATION: (_configured, None),
        lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: (_folders_changed, None),
        lsp.TEXT_DOCUMENT_DIAGNOSTIC: (_diagnostic, lsp.DiagnosticOptions(True, True, "ael")),
        lsp.WORKSPACE_DIAGNOSTIC: (_workspace_diagnostic, None),
        lsp.TEXT_DOCUMENT_CODE_ACTION: (
            _code_action,
            lsp.CodeActionOptions(
                [lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.Refactor, FIX_ALL, IMPORTS], resolve_provider=False
            ),
        ),
        VIEW_TEXT: (_view_text, None),
        LANGUAGE: (_language, None),
        lsp.TEXT_DOCUMENT_FORMATTING: (_formatting, None),
        lsp.TEXT_DOCUMENT_RANGE_FORMATTING: (_range_formatting, None),
        lsp.TEXT_DOCUMENT_ON_TYPE_FORMATTING: (_type_formatting, lsp.DocumentOnTypeFormattingOptions("}")),
    }
    for method, (answer, options) in core.items():
        server.feature(method, options)(_bound(server, answer))


def _bound(server: Server, answer: Callable[..., Any]) -> Callable[[Any], Any]:
    if asyncio.iscoroutinefunction(answer):

        async def later(params: Any) -> Any:
            return await answer(server, params)

        return later

    def now(params: Any) -> Any:
        return answer(server, params)

    return now


def _handler(server: Server, method: str, feature: Feature) -> Callable[[Any], Any]:
    whole = method.startswith("workspace/")

    async def handle(params: Any) -> Any:
        def answer(asked: Asked) -> Any:
            return _function(feature)(asked, params)

        if not whole:
            return await server.ask(params, answer)
        return await _joined(server, answer)

    return handle


async def _joined(server: Server, answer: Callable[[Asked], Any]) -> list[Any]:
    """The answers for all programs in one list, each thing once: two programs may have a module in common."""
    found: dict[str, Any] = {}
    try:
        for part in await server.session.ask_all(answer):
            found |= {repr(one): one for one in part or ()}
    except Refused as error:
        raise JsonRpcException(str(error), _REQUEST_FAILED) from None
    return list(found.values())


def _function(feature: Feature) -> Callable[[Asked, Any], Any]:
    found: Callable[[Asked, Any], Any] = getattr(import_module(f"ael.editor.features.{feature.module}"), feature.function)
    return found


# --- the life of a connection ----------------------------------------------------------------------------------------------


def _initialize(server: Server, params: lsp.InitializeParams) -> None:
    session = server.session
    session.client = params.capabilities
    session.encoding = _encoding(params.capabilities)
    text = params.capabilities.text_document
    session.pushes = text is None or text.diagnostic is None
    server.parent = params.process_id
    folders = params.workspace_folders or ()
    roots = [folder.uri for folder in folders] or [uri for uri in (params.root_uri,) if uri]
    session.folders = [path_of(uri) for uri in roots] or [Path(one).resolve() for one in (params.root_path,) if one]
    if isinstance(params.initialization_options, dict):
        session.settings = params.initialization_options


def _encoding(client: lsp.ClientCapabilities) -> lsp.PositionEncodingKind | str:
    """What columns count: the first of the client's that is known, as the library says it in `initialize`."""
    offered = client.general.position_encodings if client.general is not None else None
    return next((one for one in offered or () if one in set(lsp.PositionEncodingKind)), lsp.PositionEncodingKind.Utf16)


async def _initialized(server: Server, params: lsp.InitializedParams) -> None:
    workspace = server.session.client.workspace
    watching = workspace.did_change_watched_files if workspace is not None else None
    if watching is not None and watching.dynamic_registration:
        watchers = lsp.DidChangeWatchedFilesRegistrationOptions([lsp.FileSystemWatcher(glob) for glob in WATCHED])
        asked = lsp.Registration("files", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, watchers)
        server.protocol.send_request(lsp.CLIENT_REGISTER_CAPABILITY, lsp.RegistrationParams([asked]))
        server.watches = True
    await _settings(server)


async def _settings(server: Server) -> None:
    """Ask for the settings, where the editor can say them."""
    workspace = server.session.client.workspace
    if workspace is None or not workspace.configuration:
        return
    try:
        asked = lsp.ConfigurationParams([lsp.ConfigurationItem(section="ael")])
        (found,) = await server.protocol.send_request_async(lsp.WORKSPACE_CONFIGURATION, asked)
    except (JsonRpcException, ValueError, TypeError) as error:
        logger.warning("no settings: %s", error)
        return
    if isinstance(found, dict):
        server.session.settings = found


def _saved(server: Server, params: lsp.DidSaveTextDocumentParams) -> None:
    server.session.saved(params.text_document.uri)


def _files_changed(server: Server, params: lsp.DidChangeWatchedFilesParams) -> None:
    server.session.files_changed([change.uri for change in params.changes])


async def _configured(server: Server, params: lsp.DidChangeConfigurationParams) -> None:
    if isinstance(params.settings, dict) and isinstance(params.settings.get("ael"), dict):
        server.session.settings = params.settings["ael"]
    else:
        await _settings(server)
    workspace = server.session.client.workspace
    if workspace is not None and workspace.inlay_hint is not None and workspace.inlay_hint.refresh_support:
        server.protocol.send_request(lsp.WORKSPACE_INLAY_HINT_REFRESH, None)


def _folders_changed(server: Server, params: lsp.DidChangeWorkspaceFoldersParams) -> None:
    gone = {path_of(folder.uri) for folder in params.event.removed}
    new = [path_of(folder.uri) for folder in params.event.added]
    session = server.session
    session.folders = [folder for folder in session.folders if folder not in gone] + new


# --- diagnostics ----------------------------------------------------------------------------------------------------------


async def _diagnostic(server: Server, params: lsp.DocumentDiagnosticParams) -> Any:
    items = await server.ask(params, lambda asked: _reports(server, asked)[asked.file.uri][1])
    name = _result_id(items)
    if params.previous_result_id == name:
        return lsp.RelatedUnchangedDocumentDiagnosticReport(name)
    return lsp.RelatedFullDocumentDiagnosticReport(items, result_id=name)


async def _workspace_diagnostic(server: Server, params: lsp.WorkspaceDiagnosticParams) -> lsp.WorkspaceDiagnosticReport:
    before = {one.uri: one.value for one in params.previous_result_ids}
    found: dict[str, Any] = {}
    for reports in await server.session.ask_all(lambda asked: _reports(server, asked)):
        for uri, (version, items) in reports.items():
            name = _result_id(items)
            if before.get(uri) == name:
                found[uri] = lsp.WorkspaceUnchangedDocumentDiagnosticReport(uri, name, version)
            else:
                found[uri] = lsp.WorkspaceFullDocumentDiagnosticReport(uri, items, version, result_id=name)
    return lsp.WorkspaceDiagnosticReport(list(found.values()))


def _reports(server: Server, asked: Asked) -> dict[str, tuple[int | None, list[lsp.Diagnostic]]]:
    """What is wrong in each of the program's own files, on the worker."""
    reporter = Reporter(server.session.documents, server.session.encoding)
    own = [file for file in asked.snapshot.files.values() if file.own or file is asked.file]
    return {file.uri: (file.version, reporter.all(told(asked.snapshot, file))) for file in own}


def _result_id(items: Sequence[lsp.Diagnostic]) -> str:
    return hashlib.sha256(repr(items).encode("utf-8", "surrogatepass")).hexdigest()[:24]


# --- changes of text ------------------------------------------------------------------------------------------------------


async def _code_action(server: Server, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    workspace = server.session.client.workspace
    edits = workspace.workspace_edit if workspace is not None else None
    versioned = bool(edits is not None and edits.document_changes)

    def answer(asked: Asked) -> list[lsp.CodeAction]:
        reporter = Reporter(server.session.documents, server.session.encoding)
        found = fixes(asked.snapshot, asked.file, params.range, params.context.only, reporter, versioned)
        for feature in ACTIONS:
            found += _function(feature)(asked, params)
        return found

    return await server.ask(params, answer)


def _view_text(server: Server, params: Any) -> str | None:
    """The text of an open document as the server has it."""
    uri = getattr(getattr(params, "textDocument", None), "uri", None)
    if not isinstance(uri, str):
        raise JsonRpcInvalidParams("the request names no document")
    document = server.session.documents.get(path_of(uri))
    return document.text if document is not None else None


def _language(server: Server, params: Any) -> dict[str, object]:
    return language()


async def _formatting(server: Server, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit] | None:
    return await server.ask(params, lambda asked: formatted(asked.file))


async def _range_formatting(server: Server, params: lsp.DocumentRangeFormattingParams) -> list[lsp.TextEdit] | None:
    return await server.ask(params, lambda asked: formatted_range(asked.file, asked.file.lines.span(params.range)))


async def _type_formatting(server: Server, params: lsp.DocumentOnTypeFormattingParams) -> list[lsp.TextEdit] | None:
    """A `}` that ends a declaration puts it into form."""

    def answer(asked: Asked) -> list[lsp.TextEdit] | None:
        at = asked.file.lines.offset(params.position)
        ended = any(declaration.span.end == at for declaration in asked.file.tree.declarations)
        return formatted_range(asked.file, Span(at, at)) if ended else None

    return await server.ask(params, answer)
