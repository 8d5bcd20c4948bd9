// What stands in a file as far as its first columns say it: enough to run what is at the cursor, also while the file does not check.

export interface Entry {
  readonly kind: "node" | "agent" | "test";
  /** The name, or the title of a test. */
  readonly name: string;
  /** Its line, counted from 0. */
  readonly line: number;
}

const DECLARATION = /^(?:pub[ \t]+)?(?:(node|agent)[ \t]+([A-Za-z_]\w*)|(test)[ \t]+"((?:[^"\\]|\\.)*)")/;
const OTHER = /^(?:pub[ \t]+|open[ \t]+)*(?:use|permission|role|enum|record|error|type|const|fn|table|tool|skill|service|provide|mcp|model|store)\b/;

/** The nodes, agents and tests of a file. */
export function entries(text: string): Entry[] {
  const found: Entry[] = [];
  text.split(/\r\n|\r|\n/).forEach((line, number) => {
    const match = DECLARATION.exec(line);
    if (match?.[1] !== undefined && match[2] !== undefined) {
      found.push({ kind: match[1] as "node" | "agent", name: match[2], line: number });
    } else if (match?.[3] !== undefined) {
      found.push({ kind: "test", name: unescaped(match[4] ?? ""), line: number });
    }
  });
  return found;
}

/** The declaration of one of the kinds that the line belongs to; none where another declaration begins in between. */
export function entryAt(text: string, line: number, kinds: readonly Entry["kind"][]): Entry | undefined {
  const lines = text.split(/\r\n|\r|\n/).slice(0, line + 1);
  const before = entries(lines.join("\n")).at(-1);
  if (before === undefined || !kinds.includes(before.kind)) {
    return undefined;
  }
  return lines.slice(before.line + 1).some((one) => OTHER.test(one)) ? undefined : before;
}

/** A title as a regular expression that only this title matches: what `ael test --filter` takes. */
export function exactly(title: string): string {
  return `^${title.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}$`;
}

function unescaped(text: string): string {
  const named: Record<string, string> = { n: "\n", t: "\t", r: "\r" };
  return text.replace(/\\(?:u\{([0-9A-Fa-f]{1,6})\}|(.))/g, (_all, code: string | undefined, one: string | undefined) =>
    code !== undefined ? String.fromCodePoint(Math.min(parseInt(code, 16), 0x10ffff)) : (named[one ?? ""] ?? one ?? ""),
  );
}
