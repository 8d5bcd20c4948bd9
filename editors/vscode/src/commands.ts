// The commands: what is at the cursor is run by `ael` in a terminal, as the user could type it.

import { execFile } from "node:child_process";
import * as path from "node:path";
import * as vscode from "vscode";

import { entryAt, exactly, type Entry } from "./outline";
import { located, type Server } from "./server";
import { task } from "./tasks";

const LONGEST_ANSWER = 8 * 1024 * 1024;
const SECONDS = 60;

export function register(server: Server): vscode.Disposable[] {
  const command = vscode.commands.registerCommand;
  return [
    command("ael.restart", () => server.start()),
    command("ael.output", () => server.output.show()),
    command("ael.run", (uri?: vscode.Uri, name?: string) => run(uri, name)),
    command("ael.test", (uri?: vscode.Uri, title?: string) => test(uri, title)),
    command("ael.graph", (uri?: vscode.Uri, name?: string) => graph(uri, name)),
    command("ael.explain", (code?: string) => explain(server, code)),
    command("ael.studio", () => studio()),
  ];
}

async function run(uri?: vscode.Uri, given?: string): Promise<void> {
  const place = await here(uri, given, ["node", "agent"], "Put the cursor into a node or an agent.");
  if (place === undefined) {
    return;
  }
  const typed = await vscode.window.showInputBox({
    title: `ael run ${path.basename(place.file)} ${place.name}`,
    prompt: "The entry's parameters, as flags; `--help-entry` lists them.",
    placeHolder: '--question "What is new?"',
  });
  if (typed !== undefined) {
    await start("run", [place.file, place.name, ...words(typed)]);
  }
}

async function test(uri?: vscode.Uri, given?: string): Promise<void> {
  const place = await here(uri, given, ["test"], "Put the cursor into a test.");
  if (place !== undefined) {
    await start("test", [place.file, "--filter", exactly(place.name)]);
  }
}

async function graph(uri?: vscode.Uri, given?: string): Promise<void> {
  const place = await here(uri, given, ["agent"], "Put the cursor into an agent.");
  const picture = place && (await ask(["graph", place.file, place.name, "--format", "svg"], path.dirname(place.file)));
  if (place === undefined || picture === undefined) {
    return;
  }
  const panel = vscode.window.createWebviewPanel("ael.graph", place.name, vscode.ViewColumn.Beside, { enableScripts: false });
  panel.webview.html = [
    '<!doctype html><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`,
    "<style>body { background: white; } svg { max-width: 100%; height: auto; }</style>",
    picture,
  ].join("\n");
}

async function explain(server: Server, given?: string): Promise<void> {
  const code = given ?? codeAtCursor() ?? (await chosenCode(server));
  const page = code && (await ask(["explain", code.trim()], undefined));
  if (page) {
    const document = await vscode.workspace.openTextDocument({ language: "markdown", content: page });
    await vscode.commands.executeCommand("markdown.showPreview", document.uri);
  }
}

/** A code that the user picks from those of this version; where the server does not tell them, one that is typed. */
async function chosenCode(server: Server): Promise<string | undefined> {
  const title = "Explain a diagnostic code";
  const known = await server.language();
  if (known === undefined) {
    return vscode.window.showInputBox({ title, placeHolder: "AEL0203" });
  }
  const items = known.diagnostics.map((one) => ({ label: one.code, description: one.title, detail: one.area }));
  return (await vscode.window.showQuickPick(items, { title, matchOnDescription: true }))?.label;
}

async function studio(): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  if (folder === undefined) {
    void vscode.window.showWarningMessage("AEL: open the folder of a program first.");
    return;
  }
  await start("studio", []);
}

/** The file and the name that a command is about: given by a lens, else what is at the cursor. Files are saved first. */
async function here(
  uri: vscode.Uri | undefined, given: string | undefined, kinds: readonly Entry["kind"][], otherwise: string,
): Promise<{ file: string; name: string } | undefined> {
  const editor = vscode.window.activeTextEditor;
  const document = uri === undefined ? editor?.document : await vscode.workspace.openTextDocument(uri);
  const line = editor?.selection.active.line ?? 0;
  const name = given ?? (document && entryAt(document.getText(), line, kinds)?.name);
  if (document === undefined || document.uri.scheme !== "file" || name === undefined) {
    void vscode.window.showInformationMessage(`AEL: ${otherwise}`);
    return undefined;
  }
  await vscode.workspace.saveAll(false);
  return { file: document.uri.fsPath, name };
}

function codeAtCursor(): string | undefined {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) {
    return undefined;
  }
  const at = editor.selection.active;
  const found = vscode.languages.getDiagnostics(editor.document.uri).find((one) => one.range.contains(at) && one.code !== undefined)?.code;
  return found === undefined ? undefined : String(typeof found === "object" ? found.value : found);
}

async function start(command: string, args: readonly string[]): Promise<void> {
  const made = task(command, args);
  if (made !== undefined) {
    await vscode.tasks.executeTask(made);
  }
}

/** What `ael` prints; undefined, and said, when it failed. */
function ask(args: readonly string[], cwd: string | undefined): Promise<string | undefined> {
  const found = located();
  if (!("path" in found)) {
    void vscode.window.showErrorMessage(`AEL: ${found.missing}.`);
    return Promise.resolve(undefined);
  }
  return new Promise((resolve) => {
    const options = { ...(cwd === undefined ? {} : { cwd }), maxBuffer: LONGEST_ANSWER, timeout: SECONDS * 1000 };
    execFile(found.path, [...args], options, (error, stdout, stderr) => {
      if (error !== null) {
        void vscode.window.showErrorMessage(`AEL: ${stderr.trim().split("\n", 1)[0] || error.message}`);
        resolve(undefined);
      } else {
        resolve(stdout);
      }
    });
  });
}

/** The words of a line as a shell reads them: blanks part them, quotes and backslashes hold them together. */
export function words(line: string): string[] {
  const found: string[] = [];
  for (const match of line.matchAll(/(?:"(?:[^"\\]|\\.)*"?|'[^']*'?|\\.|[^\s"'\\])+/gs)) {
    found.push(
      match[0].replace(/"((?:[^"\\]|\\.)*)"?|'([^']*)'?|\\(.)/gs, (_all, double?: string, single?: string, one?: string) =>
        double !== undefined ? double.replace(/\\(["\\$`])/g, "$1") : (single ?? one ?? ""),
      ),
    );
  }
  return found;
}
