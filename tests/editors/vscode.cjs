// Loads the built extension with a stand-in for the editor's own module, and does what the lines on standard input say.
//
// What the extension and the language client only mention is given by a proxy; what they work with is here: documents, events, commands,
// diagnostics, settings. Every line of input is JSON: {"do": "open" | "edit" | "command" | "diagnostics" | …}. Each answer is a line too.

"use strict";

const Module = require("node:module");
const path = require("node:path");
const readline = require("node:readline");
const url = require("node:url");

const [, , bundle, folder, settingsText] = process.argv;
const settings = JSON.parse(settingsText ?? "{}");

class Disposable {
  constructor(f) { this.f = f; }
  dispose() { this.f?.(); }
  static from(...all) { return new Disposable(() => all.forEach((one) => one.dispose())); }
}
class EventEmitter {
  constructor() { this.all = new Set(); this.event = (f, self) => { const g = self ? f.bind(self) : f; this.all.add(g); return new Disposable(() => this.all.delete(g)); }; }
  fire(value) { return [...this.all].map((f) => f(value)); }
  dispose() { this.all.clear(); }
}
class Position {
  constructor(line, character) { this.line = line; this.character = character; }
  isBefore(o) { return this.line < o.line || (this.line === o.line && this.character < o.character); }
  isEqual(o) { return this.line === o.line && this.character === o.character; }
}
class Range {
  constructor(a, b, c, d) {
    [this.start, this.end] = typeof a === "number" ? [new Position(a, b), new Position(c, d)] : [a, b];
  }
  contains(p) { return !p.isBefore(this.start) && !this.end.isBefore(p); }
}
class Uri {
  constructor(scheme, authority, p) { this.scheme = scheme; this.authority = authority; this.path = p; this.query = this.fragment = ""; }
  static file(p) { return new Uri("file", "", p); }
  static parse(text) { const u = new URL(text); return new Uri(u.protocol.slice(0, -1), u.host, decodeURIComponent(u.pathname)); }
  get fsPath() { return this.path; }
  with(change) { return Object.assign(new Uri(this.scheme, this.authority, this.path), change); }
  toString() { return this.scheme === "file" ? url.pathToFileURL(this.path).href : `${this.scheme}:${this.path}`; }
}
class Diagnostic {
  constructor(range, message, severity) { this.range = range; this.message = message; this.severity = severity; }
}
class CodeLens { constructor(range, command) { this.range = range; this.command = command; } }
class Task {
  constructor(definition, scope, name, source, execution, matcher) { Object.assign(this, { definition, scope, name, source, execution, matcher }); }
}
class ProcessExecution { constructor(process, args) { this.process = process; this.args = args; } }
class CancellationTokenSource {
  constructor() { this.e = new EventEmitter(); this.token = { isCancellationRequested: false, onCancellationRequested: this.e.event }; }
  cancel() { this.token.isCancellationRequested = true; this.e.fire(); }
  dispose() {}
}
class CancellationError extends Error {}

// Anything else: callable, constructible, and any member of it is one too.
const anything = (name) => new Proxy(class { static [Symbol.hasInstance]() { return false; } }, {
  get: (target, key) => (key === "prototype" || typeof key === "symbol" ? target[key] : target[key] ?? anything(`${name}.${String(key)}`)),
  apply: () => anything(name),
});
const rest = (given, name) => new Proxy(given, {
  get: (target, key) => {
    if (key in target || typeof key === "symbol" || key === "then") return target[key];
    if (/^onDid|^onWill/.test(String(key))) return () => new Disposable();
    if (/^register|^create/.test(String(key))) return () => Object.assign(new Disposable(), { set() {}, clear() {}, show() {}, append() {}, appendLine() {} });
    return anything(`${name}.${String(key)}`);
  },
});
const numbers = (...names) => Object.fromEntries(names.flatMap((name, n) => [[name, n], [n, name]]));

const events = Object.fromEntries(
  ["open", "change", "close", "save", "configuration", "editor", "folders"].map((name) => [name, new EventEmitter()]),
);
const log = [];
const shown = [];
const executed = [];
const commands = {};
const lenses = [];
const taskProviders = {};
const diagnostics = new Map();
const documents = [];
const editor = { document: undefined, selection: { active: new Position(0, 0) } };
let answer;

function document(uri, text, languageId = "ael") {
  return {
    uri, languageId, version: 1, text, fileName: uri.fsPath, isClosed: false, isDirty: false,
    getText() { return this.text; },
    get lineCount() { return this.text.split("\n").length; },
  };
}
const status = {};
const channel = () => ({
  append: (t) => log.push(t), appendLine: (t) => log.push(t), replace() {}, clear() {}, show() { shown.push("output"); }, hide() {}, dispose() {},
  info: (t) => log.push(t), warn: (t) => log.push(t), error: (t) => log.push(t), debug() {}, trace() {}, onDidChangeLogLevel: () => new Disposable(), logLevel: 3, name: "AEL",
});
const configuration = (section) => ({
  get: (key, otherwise) => settings[section ? `${section}.${key}` : key] ?? otherwise,
  has: (key) => `${section}.${key}` in settings,
  inspect: () => undefined,
  update: async () => {},
});

const vscode = rest({
  Disposable, EventEmitter, Position, Range, Selection: Range, Uri, Diagnostic, CodeLens, Task, ProcessExecution, CancellationTokenSource, CancellationError,
  version: "1.82.0",
  DiagnosticSeverity: numbers("Error", "Warning", "Information", "Hint"),
  LanguageStatusSeverity: numbers("Information", "Warning", "Error"),
  TextDocumentSaveReason: { Manual: 1, AfterDelay: 2, FocusOut: 3 },
  FileType: { Unknown: 0, File: 1, Directory: 2 },
  TaskScope: { Global: 1, Workspace: 2 },
  TaskGroup: { Test: "test", Build: "build" },
  ViewColumn: { Beside: -2 },
  env: rest({ appName: "stand-in", language: "en" }, "env"),
  commands: rest({
    registerCommand: (name, f) => { commands[name] = f; return new Disposable(() => delete commands[name]); },
    executeCommand: async (name, ...args) => { executed.push([name, ...args.map(String)]); return commands[name]?.(...args); },
  }, "commands"),
  tasks: rest({
    executeTask: async (task) => executed.push(["task", task.execution.process, ...task.execution.args, task.matcher]),
    registerTaskProvider: (type, provider) => { taskProviders[type] = provider; return new Disposable(); },
  }, "tasks"),
  window: rest({
    get activeTextEditor() { return editor.document && editor; },
    get visibleTextEditors() { return editor.document ? [editor] : []; },
    createOutputChannel: channel,
    createWebviewPanel: (_kind, title) => { const panel = { title, webview: { set html(text) { shown.push(["panel", title, text]); } } }; return panel; },
    showErrorMessage: async (text, ...ways) => { shown.push(["error", text, ...ways.filter((one) => typeof one === "string")]); },
    showWarningMessage: async (text) => { shown.push(["warning", text]); },
    showInformationMessage: async (text) => { shown.push(["information", text]); },
    showInputBox: async () => answer,
    showQuickPick: async (items) => { shown.push(["pick", items.length]); return items.find((one) => one.label === answer); },
    showTextDocument: async (one) => { shown.push(["document", one.text]); },
    onDidChangeActiveTextEditor: events.editor.event,
    tabGroups: { all: [], onDidChangeTabs: () => new Disposable(), onDidChangeTabGroups: () => new Disposable() },
  }, "window"),
  workspace: rest({
    isTrusted: settings.trusted ?? true,
    get textDocuments() { return documents; },
    notebookDocuments: [],
    workspaceFolders: [{ uri: Uri.file(folder), name: path.basename(folder), index: 0 }],
    getConfiguration: configuration,
    getWorkspaceFolder: () => ({ uri: Uri.file(folder), name: path.basename(folder), index: 0 }),
    openTextDocument: async (one) => documents.find((d) => d.uri.toString() === String(one)) ?? document(new Uri("untitled", "", "new"), one.content ?? "", one.language),
    saveAll: async () => true,
    createFileSystemWatcher: () => ({ onDidCreate: () => new Disposable(), onDidChange: () => new Disposable(), onDidDelete: () => new Disposable(), dispose() {} }),
    onDidOpenTextDocument: events.open.event,
    onDidChangeTextDocument: events.change.event,
    onDidCloseTextDocument: events.close.event,
    onDidSaveTextDocument: events.save.event,
    onDidChangeConfiguration: events.configuration.event,
    onDidChangeWorkspaceFolders: events.folders.event,
  }, "workspace"),
  languages: rest({
    match: (selector, doc) => ([selector].flat().some((one) => one.language === doc.languageId && (!one.scheme || one.scheme === doc.uri.scheme)) ? 10 : 0),
    createLanguageStatusItem: () => Object.assign(status, { dispose() {} }),
    createDiagnosticCollection: (name) => ({
      name,
      set: (uri, found) => diagnostics.set(uri.toString(), found ?? []), delete: (uri) => diagnostics.delete(uri.toString()),
      get: (uri) => diagnostics.get(uri.toString()), has: (uri) => diagnostics.has(uri.toString()), clear: () => diagnostics.clear(), forEach() {}, dispose() {},
    }),
    getDiagnostics: (uri) => diagnostics.get(uri.toString()) ?? [],
    registerCodeLensProvider: (selector, provider) => { lenses.push(provider); return new Disposable(); },
  }, "languages"),
}, "vscode");

const load = Module._load;
Module._load = (name, ...others) => (name === "vscode" ? vscode : load(name, ...others));

// As the editor's own host does: what nobody awaited is logged.
process.on("unhandledRejection", (error) => log.push(String(error)));

const extension = require(bundle);
const context = { subscriptions: [], extensionUri: Uri.file(path.dirname(bundle)), asAbsolutePath: (p) => path.join(path.dirname(bundle), p) };
const plain = (one) => ({ message: one.message, line: one.range.start.line, from: one.range.start.character, to: one.range.end.character, code: String(one.code?.value ?? one.code) });
const until = async (holds) => { while (!holds()) await new Promise((f) => setTimeout(f, 20)); };

const doing = {
  activate: async () => { await extension.activate(context); return Object.keys(commands).sort(); },
  deactivate: async () => { await extension.deactivate(); context.subscriptions.forEach((one) => one.dispose()); return true; },
  open: async ({ file, text }) => {
    const made = document(Uri.file(file), text);
    documents.push(made);
    editor.document = made;
    events.open.fire(made);
    return true;
  },
  edit: async ({ text }) => {
    const one = editor.document;
    const lines = one.text.split("\n");
    const range = new Range(0, 0, lines.length - 1, lines.at(-1).length);
    const contentChanges = [{ range, rangeOffset: 0, rangeLength: one.text.length, text }];
    one.text = text;
    one.version += 1;
    events.change.fire({ document: one, contentChanges, reason: undefined });
    return true;
  },
  cursor: async ({ line, character }) => { editor.selection.active = new Position(line, character ?? 0); return true; },
  diagnostics: async ({ count }) => {
    const uri = () => diagnostics.get(editor.document.uri.toString());
    await until(() => uri() !== undefined && (uri().length > 0) === count > 0);
    return uri().map(plain);
  },
  command: async ({ name, args, typed }) => {
    answer = typed;
    executed.length = shown.length = 0;
    await commands[name](...(args ?? []));
    return { executed, shown };
  },
  lenses: async () => lenses.flatMap((one) => one.provideCodeLenses(editor.document)).map((one) => [one.range.start.line, one.command.title, one.command.command, one.command.arguments[1]]),
  tasks: async () => taskProviders.ael.provideTasks().map((one) => [one.execution.process, ...one.execution.args]),
  setting: async ({ name, value }) => { settings[name] = value; events.configuration.fire({ affectsConfiguration: (one) => name.startsWith(one) }); return true; },
  told: async () => ({ status: status.text, severity: status.severity, shown, log }),
  ready: async () => { await until(() => /ready|not|no /.test(status.text ?? "")); return status.text; },
};

readline.createInterface({ input: process.stdin }).on("line", async (line) => {
  const asked = JSON.parse(line);
  try {
    process.stdout.write(`${JSON.stringify({ ok: (await doing[asked.do](asked)) ?? null })}\n`);
  } catch (error) {
    process.stdout.write(`${JSON.stringify({ failed: String(error?.stack ?? error) })}\n`);
  }
}).on("close", () => process.exit(0));
