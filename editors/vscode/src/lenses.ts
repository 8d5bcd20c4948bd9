// “run”, “graph” and “run test” above what can be run.

import * as vscode from "vscode";

import { entries } from "./outline";

export function lenses(): vscode.Disposable {
  const changed = new vscode.EventEmitter<void>();
  return vscode.Disposable.from(
    changed,
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("ael.lenses")) {
        changed.fire();
      }
    }),
    vscode.languages.registerCodeLensProvider(
      { scheme: "file", language: "ael" },
      {
        onDidChangeCodeLenses: changed.event,
        provideCodeLenses: (document) => {
          if (!vscode.workspace.getConfiguration("ael", document).get<boolean>("lenses", true)) {
            return [];
          }
          return entries(document.getText()).flatMap(({ kind, name, line }) => {
            const at = new vscode.Range(line, 0, line, 0);
            const lens = (title: string, command: string) => new vscode.CodeLens(at, { title, command, arguments: [document.uri, name] });
            if (kind === "test") {
              return [lens("$(beaker) run test", "ael.test")];
            }
            const one = lens("$(play) run", "ael.run");
            return kind === "agent" ? [one, lens("$(type-hierarchy) graph", "ael.graph")] : [one];
          });
        },
      },
    ),
  );
}
