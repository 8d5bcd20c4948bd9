//! Starts `ael lsp` in Zed: that of the program's `.venv`, else the one on the `PATH`.

use zed_extension_api::{self as zed, Command, LanguageServerId, Result, Worktree};

struct Ael;

impl zed::Extension for Ael {
    fn new() -> Self {
        Ael
    }

    fn language_server_command(&mut self, _server: &LanguageServerId, worktree: &Worktree) -> Result<Command> {
        // An extension sees no files but those of the worktree: a virtual environment has this one.
        let command = if worktree.read_text_file(".venv/pyvenv.cfg").is_ok() {
            format!("{}/.venv/bin/ael", worktree.root_path())
        } else {
            worktree
                .which("ael")
                .ok_or("there is no `ael` in the .venv of this folder and none on the PATH")?
        };
        Ok(Command {
            command,
            args: vec!["lsp".to_string()],
            env: worktree.shell_env(),
        })
    }
}

zed::register_extension!(Ael);
