// The extension: starts the language server, and offers what `ael` can do with what is at the cursor.

import * as vscode from "vscode";

import { register } from "./commands";
import { lenses } from "./lenses";
import { Server } from "./server";
import { provider } from "./tasks";

let server: Server | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const made = new Server();
  server = made;
  context.subscriptions.push(
    made,
    ...register(made),
    provider(),
    lenses(),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("ael.path")) {
        void made.start();
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void made.start()),
  );
  if (vscode.workspace.isTrusted) {
    await made.start();
  }
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
