"""The parts of the VS Code extension that are made: its manifest, the language configuration and the snippets."""

from __future__ import annotations

from ael import __version__


def configuration() -> dict[str, object]:
    pairs = [["{", "}"], ["[", "]"], ["(", ")"]]
    closing = [{"open": a, "close": b} for a, b in pairs]
    return {
        "comments": {"lineComment": "//"},
        "brackets": pairs,
        "autoClosingPairs": [*closing, {"open": '"', "close": '"', "notIn": ["string", "comment"]}],
        "surroundingPairs": [*pairs, ['"', '"']],
        "wordPattern": r"[A-Za-z_]\w*",
        "indentationRules": {"increaseIndentPattern": r"[{\[(]\s*(//.*)?$", "decreaseIndentPattern": r"^\s*[}\])]"},
        "onEnterRules": [
            {"beforeText": "^\\s*///", "action": {"indent": "none", "appendText": "/// "}},
            {"beforeText": "^\\s*//!", "action": {"indent": "none", "appendText": "//! "}},
        ],
    }


def snippets() -> dict[str, object]:
    return {
        "tool": {
            "prefix": "tool",
            "description": "A tool: one permission, one repeat safety",
            "body": [
                "/// ${1:What it does, and when to call it.}",
                "tool ${2:name}(${3:id: String(max: 64)}) -> ${4:String}",
                "  needs ${5:permission}",
                "  repeat ${6|never,idempotent,reconcile|}",
                "{",
                "  $0",
                "}",
            ],
        },
        "model-driven node": {
            "prefix": "node",
            "description": "A node that a model drives within a budget",
            "body": [
                "node ${1:name}(${2:input: String}) -> ${3:String}",
                "  model ${4:fast}",
                "  policy ${5|one_call,loop(steps: 8\\, tool_calls: 12)|}",
                "  budget tokens ${6:4_000}, time ${7:30s}",
                "{",
                '  instructions """',
                "    $0",
                '  """',
                "}",
            ],
        },
        "test": {
            "prefix": "test",
            "description": "A test with a scripted model",
            "body": ['test "${1:what holds}" {', "  script ${2:fast} [${3:final($4)}]", "  $0", "}"],
        },
    }


_COMMANDS = {
    "ael.run": ("Run the Entry at the Cursor", "$(play)"),
    "ael.test": ("Run the Test at the Cursor", "$(beaker)"),
    "ael.graph": ("Show the Graph of the Agent at the Cursor", "$(type-hierarchy)"),
    "ael.explain": ("Explain a Diagnostic Code", "$(question)"),
    "ael.studio": ("Open Studio", "$(dashboard)"),
    "ael.restart": ("Restart the Language Server", "$(refresh)"),
    "ael.output": ("Show the Language Server's Output", "$(output)"),
}


def package() -> dict[str, object]:
    """The manifest of the extension."""
    in_ael = "editorLangId == ael"
    return {
        "name": "ael",
        "displayName": "AEL",
        "description": "The Agent Engineering Language: diagnostics, completion, navigation, highlighting, tests and runs.",
        "version": __version__,
        "publisher": "ael-lang",
        "license": "Apache-2.0",
        "private": True,
        "engines": {"vscode": "^1.82.0"},
        "categories": ["Programming Languages", "Linters", "Formatters", "Snippets"],
        "keywords": ["ael", "agents", "language server"],
        "main": "./dist/extension.js",
        "capabilities": {
            "untrustedWorkspaces": {
                "supported": "limited",
                "description": "Highlighting only: the language server is a program of the workspace, which has to be trusted.",
                "restrictedConfigurations": ["ael.path"],
            },
            "virtualWorkspaces": {"supported": "limited", "description": "Highlighting only: programs are read from the disk."},
        },
        "scripts": {
            "check": "tsc --noEmit",
            "build": (
                "esbuild src/extension.ts --bundle --platform=node --target=node18 --format=cjs --external:vscode --minify "
                "--legal-comments=none --outfile=dist/extension.js"
            ),
            "vscode:prepublish": "npm run check && npm run build",
            "package": "vsce package --no-dependencies --allow-missing-repository --out ael.vsix",
        },
        "devDependencies": {
            "@types/node": "^18.19.0",
            "@types/vscode": "~1.82.0",
            "@vscode/vsce": "^3.2.0",
            "esbuild": "^0.25.0",
            "typescript": "^5.6.0",
            "vscode-languageclient": "^9.0.1",
        },
        "activationEvents": ["workspaceContains:**/*.ael"],
        "contributes": {
            "languages": [
                {
                    "id": "ael",
                    "aliases": ["AEL"],
                    "extensions": [".ael"],
                    "configuration": "./language-configuration.json",
                }
            ],
            "grammars": [{"language": "ael", "scopeName": "source.ael", "path": "./syntaxes/ael.tmLanguage.json"}],
            "snippets": [{"language": "ael", "path": "./snippets/ael.json"}],
            "commands": [
                {"command": name, "title": title, "category": "AEL", "icon": icon} for name, (title, icon) in _COMMANDS.items()
            ],
            "menus": {
                "commandPalette": [{"command": name, "when": in_ael} for name in ("ael.run", "ael.test", "ael.graph")],
                "editor/context": [
                    {"command": name, "when": in_ael, "group": f"ael@{place}"}
                    for place, name in enumerate(("ael.run", "ael.test", "ael.graph"), 1)
                ],
            },
            "configuration": {"title": "AEL", "properties": _settings()},
            "configurationDefaults": {
                "[ael]": {"editor.tabSize": 2, "editor.insertSpaces": True, "editor.formatOnSave": True},
            },
            "taskDefinitions": [
                {
                    "type": "ael",
                    "required": ["command"],
                    "properties": {
                        "command": {"type": "string", "description": "A command of `ael`: check, test, fmt, run …"},
                        "args": {"type": "array", "items": {"type": "string"}, "description": "What follows it."},
                    },
                }
            ],
            "problemMatchers": [
                {
                    "name": "ael",
                    "owner": "ael-task",
                    "source": "ael",
                    "applyTo": "closedDocuments",
                    "fileLocation": ["autoDetect", "${workspaceFolder}"],
                    "pattern": [
                        {"regexp": r"^(error|warning)\[(\w+)\]: (.*)$", "severity": 1, "code": 2, "message": 3},
                        {"regexp": r"^\s+--> (.*):(\d+):(\d+)$", "file": 1, "line": 2, "column": 3},
                    ],
                }
            ],
        },
    }


def _settings() -> dict[str, object]:
    return {
        "ael.path": {
            "type": "string",
            "default": "",
            "scope": "machine-overridable",
            "markdownDescription": (
                "The path of `ael`. `${workspaceFolder}` and a `~` at its beginning are replaced. Empty: the `.venv` or `venv` of the "
                "workspace, then the active environment, then the `PATH`."
            ),
        },
        "ael.lenses": {
            "type": "boolean",
            "default": True,
            "description": "Show “run”, “graph” and “run test” above nodes, agents and tests.",
        },
        **{
            f"ael.inlayHints.{name}": {"type": "boolean", "default": True, "description": f"Show {what} in the text."}
            for name, what in (
                ("types", "the types of names"),
                ("effects", "what a declaration may do"),
                ("parameters", "the names of parameters"),
            )
        },
        "ael.trace.server": {
            "type": "string",
            "enum": ["off", "messages", "verbose"],
            "default": "off",
            "description": "Write what the editor and the language server say to each other into the output.",
        },
    }
