// Tasks of the type `ael`: `Terminal > Run Task` offers the checks, and a `tasks.json` may name any command.

import * as vscode from "vscode";

import { located } from "./server";

interface Definition extends vscode.TaskDefinition {
  readonly command: string;
  readonly args?: readonly string[];
}

const OFFERED: readonly (readonly [command: string, args: readonly string[]])[] = [
  ["check", []],
  ["check", ["--watch"]],
  ["test", []],
  ["fmt", ["--check"]],
];

/** A task that runs `ael COMMAND ARGS`; undefined, and said, where there is no `ael`. */
export function task(command: string, args: readonly string[], folder?: vscode.WorkspaceFolder): vscode.Task | undefined {
  const found = located();
  if (!("path" in found)) {
    void vscode.window.showErrorMessage(`AEL: ${found.missing}.`);
    return undefined;
  }
  return made({ type: "ael", command, args }, found.path, folder);
}

export function provider(): vscode.Disposable {
  return vscode.tasks.registerTaskProvider("ael", {
    provideTasks: () => {
      const found = located();
      return "path" in found ? OFFERED.map(([command, args]) => made({ type: "ael", command, args }, found.path)) : [];
    },
    resolveTask: (given) => {
      const found = located();
      return "path" in found ? made(given.definition as Definition, found.path, undefined, given.definition) : undefined;
    },
  });
}

function made(definition: Definition, program: string, folder?: vscode.WorkspaceFolder, same?: vscode.TaskDefinition): vscode.Task {
  const args = [definition.command, ...(definition.args ?? [])];
  const scope = folder ?? vscode.workspace.workspaceFolders?.[0] ?? vscode.TaskScope.Workspace;
  const result = new vscode.Task(same ?? definition, scope, args.join(" "), "ael", new vscode.ProcessExecution(program, args), "$ael");
  if (definition.command === "test") {
    result.group = vscode.TaskGroup.Test;
  } else if (definition.command === "check") {
    result.group = vscode.TaskGroup.Build;
  }
  result.presentationOptions = { clear: true, focus: definition.command === "run" };
  return result;
}
