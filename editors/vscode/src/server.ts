// The language server: one for the window, started when it is found, and started again when the user says so or the setting changes.

import * as vscode from "vscode";
import { LanguageClient, RevealOutputChannelOn, State, type LanguageClientOptions, type ServerOptions } from "vscode-languageclient/node";

import { find, type Found } from "./find";
import type { Language } from "./language";

const INSTALL = "How to Install";
const SET = "Set the Path";
const AGAIN = "Try Again";

/** Where `ael` is for this window. A workspace that is not trusted has none: its `.venv` would be a program of whoever made it. */
export function located(): Found {
  if (!vscode.workspace.isTrusted) {
    return { missing: "this workspace is not trusted, so nothing of it is started", looked: [] };
  }
  return find({
    setting: vscode.workspace.getConfiguration("ael").get<string>("path", ""),
    folders: (vscode.workspace.workspaceFolders ?? []).filter((one) => one.uri.scheme === "file").map((one) => one.uri.fsPath),
    environment: process.env,
    platform: process.platform,
  });
}

export class Server implements vscode.Disposable {
  readonly output = vscode.window.createOutputChannel("AEL", { log: true });
  private readonly status: vscode.LanguageStatusItem;
  private client: LanguageClient | undefined;
  private turn: Promise<void> = Promise.resolve();

  constructor() {
    this.status = vscode.languages.createLanguageStatusItem("ael.server", { language: "ael" });
    this.status.name = "AEL";
    this.status.command = { command: "ael.output", title: "Show output" };
  }

  /** Starts it, after what goes on now has ended. Never rejects: what went wrong is shown. */
  start(): Promise<void> {
    return this.next(async () => {
      await this.end();
      await this.begin();
    });
  }

  stop(): Promise<void> {
    return this.next(() => this.end());
  }

  /** The language as data; undefined where no server runs, or one that is older. */
  async language(): Promise<Language | undefined> {
    try {
      return await this.client?.sendRequest<Language>("ael/language", {});
    } catch (error) {
      this.output.warn(String(error));
      return undefined;
    }
  }

  dispose(): void {
    this.status.dispose();
    this.output.dispose();
  }

  private next(step: () => Promise<void>): Promise<void> {
    this.turn = this.turn.then(step).catch((error: unknown) => this.failed(String(error)));
    return this.turn;
  }

  private async begin(): Promise<void> {
    const found = located();
    if (!("path" in found)) {
      this.say(`${found.missing}.`, vscode.LanguageStatusSeverity.Error, false);
      for (const place of found.looked) {
        this.output.info(`looked for ${place}`);
      }
      void this.offer(`AEL: ${found.missing}.`, INSTALL, SET, AGAIN);
      return;
    }
    this.output.info(`${found.path} lsp`);
    this.say("starting", vscode.LanguageStatusSeverity.Information, true);
    const options: ServerOptions = { command: found.path, args: ["lsp"], options: { env: { ...process.env, PYTHONUTF8: "1" } } };
    const client = new LanguageClient("ael", "AEL", options, this.clientOptions());
    client.onDidChangeState(({ newState }) => {
      if (newState === State.Running) {
        this.say(`ready (${found.path})`, vscode.LanguageStatusSeverity.Information, false);
      } else if (newState === State.Stopped && this.client === client) {
        this.say("stopped", vscode.LanguageStatusSeverity.Warning, false);
      }
    });
    this.client = client;
    try {
      await client.start();
    } catch (error) {
      this.client = undefined;
      this.failed(`the language server did not start: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  private async end(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    if (client !== undefined) {
      await client.stop().catch((error: unknown) => this.output.warn(String(error)));
      await client.dispose().catch((error: unknown) => this.output.warn(String(error)));
    }
  }

  private clientOptions(): LanguageClientOptions {
    return {
      documentSelector: [{ scheme: "file", language: "ael" }, { scheme: "untitled", language: "ael" }],
      synchronize: { configurationSection: "ael" },
      outputChannel: this.output,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
    };
  }

  private say(text: string, severity: vscode.LanguageStatusSeverity, busy: boolean): void {
    this.status.text = `AEL: ${text}`;
    this.status.severity = severity;
    this.status.busy = busy;
  }

  private failed(message: string): void {
    this.output.error(message);
    this.say(message, vscode.LanguageStatusSeverity.Error, false);
    void this.offer(`AEL: ${message}`, INSTALL, AGAIN);
  }

  private async offer(message: string, ...ways: string[]): Promise<void> {
    const chosen = await vscode.window.showErrorMessage(message, ...ways);
    if (chosen === INSTALL) {
      const text = [
        "# `ael` for this editor",
        "",
        "The extension starts `ael lsp`. In a terminal, in the folder of your program:",
        "",
        "```sh",
        "python3 -m venv .venv",
        ".venv/bin/pip install 'ael-lang[lsp]'      # or, in a clone of AEL: .venv/bin/pip install -e '.[lsp]'",
        "```",
        "",
        "An `ael` that is on the `PATH` is found too, and the setting `ael.path` names any other. Then run **AEL: Restart the Language Server**.",
        "",
      ].join("\n");
      await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ language: "markdown", content: text }));
    } else if (chosen === SET) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "ael.path");
    } else if (chosen === AGAIN) {
      await this.start();
    }
  }
}
