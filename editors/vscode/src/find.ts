// Where `ael` is. Nothing here knows the editor, so that it can be tried by itself.

import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";

export interface Places {
  /** The setting `ael.path`; empty where there is none. */
  readonly setting: string;
  /** The folders of the workspace, the first one first. */
  readonly folders: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly platform: NodeJS.Platform;
}

export type Found = { readonly path: string } | { readonly missing: string; readonly looked: readonly string[] };

/** The program, or what was looked for in vain. A path that the user has set is taken or refused, never passed over. */
export function find(places: Places): Found {
  const setting = places.setting.trim();
  if (setting !== "") {
    const wanted = expand(setting, places);
    if (!path.isAbsolute(wanted) && !wanted.includes("/") && !wanted.includes("\\")) {
      const found = onPath(wanted, places);
      return found ?? { missing: `the setting ael.path says “${setting}”, which is not on the PATH`, looked: [wanted] };
    }
    return runs(wanted, places.platform)
      ? { path: wanted }
      : { missing: `the setting ael.path says “${setting}”, where there is no program`, looked: [wanted] };
  }
  const candidates = [
    ...places.folders.flatMap((folder) => [inEnvironment(path.join(folder, ".venv"), places), inEnvironment(path.join(folder, "venv"), places)]),
    ...(places.environment["VIRTUAL_ENV"] ? [inEnvironment(places.environment["VIRTUAL_ENV"], places)] : []),
  ];
  for (const candidate of candidates) {
    if (runs(candidate, places.platform)) {
      return { path: candidate };
    }
  }
  return onPath("ael", places) ?? { missing: "there is no `ael` in the workspace's .venv and none on the PATH", looked: candidates };
}

function expand(setting: string, places: Places): string {
  const folder = places.folders[0] ?? "";
  const replaced = setting.replaceAll("${workspaceFolder}", folder);
  if (replaced === "~" || replaced.startsWith("~/") || replaced.startsWith("~\\")) {
    return path.join(places.environment["HOME"] ?? os.homedir(), replaced.slice(1));
  }
  return path.isAbsolute(replaced) || !/[\\/]/.test(replaced) ? replaced : path.join(folder, replaced);
}

function inEnvironment(folder: string, places: Places): string {
  return places.platform === "win32" ? path.join(folder, "Scripts", "ael.exe") : path.join(folder, "bin", "ael");
}

function onPath(name: string, places: Places): Found | undefined {
  const names = places.platform === "win32" ? [`${name}.exe`, `${name}.cmd`, `${name}.bat`] : [name];
  const folders = (places.environment["PATH"] ?? places.environment["Path"] ?? "").split(places.platform === "win32" ? ";" : ":");
  for (const folder of folders) {
    for (const one of names) {
      if (path.isAbsolute(folder) && runs(path.join(folder, one), places.platform)) {
        return { path: path.join(folder, one) };
      }
    }
  }
  return undefined;
}

function runs(file: string, platform: NodeJS.Platform): boolean {
  try {
    if (!fs.statSync(file).isFile()) {
      return false;
    }
    if (platform !== "win32") {
      fs.accessSync(file, fs.constants.X_OK);
    }
    return true;
  } catch {
    return false;
  }
}
