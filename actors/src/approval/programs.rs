//! The shell's own words, and programs that run their arguments.
//!
//! The lists make no boundary: a build runs what is in the tree, and a sandbox contains it. They keep a
//! rule from covering more than its text says.

/// Words of the shell's grammar where a command begins.
///
/// Source: Bash Reference Manual, "Reserved Words".
const RESERVED: &[&str] = &[
    "if", "then", "elif", "else", "fi", "time", "for", "in", "until", "while", "do", "done",
    "case", "esac", "coproc", "select", "function", "{", "}", "[[", "]]", "!",
];

/// Commands of the shell itself that run text as commands, or change what later words mean. `cd`,
/// `printf` and `test` are taken in their plain form only; `:`, `echo`, `exit`, `false`, `kill`, `pwd`,
/// `true`, `type` and the like do what a program would.
///
/// Source: Bash Reference Manual, "Shell Builtin Commands". Of those that look harmless: `jobs -x`,
/// `compgen -C` and `mapfile -C` run commands; `read`, `let`, `wait -p`, `getopts` and `unset` expand
/// the subscript of a name, which runs `$(…)` in it; `history -w` writes a file; `hash -p` changes which
/// program a name is.
const CHANGING: &[&str] = &[
    ".",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "declare",
    "dirs",
    "disown",
    "enable",
    "eval",
    "exec",
    "export",
    "fc",
    "fg",
    "getopts",
    "hash",
    "history",
    "jobs",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "pushd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "trap",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "wait",
];

/// Programs that run their arguments, and how.
///
/// Source: their manuals. Of `apt`, `-o` sets hooks; of `make`, `--eval` takes rules with commands.
const RUNNERS: &[(&str, &[&str])] = &[
    (
        "is a shell",
        &[
            "ash", "bash", "busybox", "csh", "dash", "elvish", "fish", "ksh", "mksh", "nu", "pwsh",
            "rbash", "sh", "tcsh", "toybox", "xonsh", "zsh",
        ],
    ),
    (
        "runs the command behind it",
        &[
            "at",
            "batch",
            "bwrap",
            "cgexec",
            "chroot",
            "chrt",
            "chronic",
            "crontab",
            "daemonize",
            "dbus-run-session",
            "direnv",
            "doas",
            "entr",
            "env",
            "eatmydata",
            "faketime",
            "fakeroot",
            "firejail",
            "flock",
            "gdb",
            "hyperfine",
            "ionice",
            "lldb",
            "ltrace",
            "mpirun",
            "nice",
            "nohup",
            "nsenter",
            "numactl",
            "parallel",
            "perf",
            "pkexec",
            "prlimit",
            "proot",
            "rlwrap",
            "rr",
            "run-parts",
            "runuser",
            "script",
            "setarch",
            "setpriv",
            "setsid",
            "softlimit",
            "start-stop-daemon",
            "stdbuf",
            "strace",
            "su",
            "sudo",
            "systemd-run",
            "taskset",
            "tini",
            "timeout",
            "tmux",
            "screen",
            "unbuffer",
            "unshare",
            "valgrind",
            "watch",
            "watchexec",
            "xargs",
            "xvfb-run",
        ],
    ),
    (
        "runs code that is among its arguments",
        &[
            "awk",
            "bun",
            "deno",
            "ed",
            "emacs",
            "ex",
            "expect",
            "gawk",
            "ghci",
            "groovy",
            "guile",
            "irb",
            "ipython",
            "java",
            "jshell",
            "julia",
            "lua",
            "luajit",
            "m4",
            "mawk",
            "nawk",
            "node",
            "nodejs",
            "nvim",
            "octave",
            "osascript",
            "perl",
            "php",
            "psql",
            "pypy",
            "python",
            "R",
            "Rscript",
            "racket",
            "ruby",
            "scala",
            "sed",
            "sqlite3",
            "tclsh",
            "ts-node",
            "tsx",
            "vi",
            "view",
            "vim",
            "vimdiff",
            "wish",
        ],
    ),
    (
        "has an option that names a program to run",
        &[
            "apt", "apt-get", "ctags", "fd", "fdfind", "find", "less", "make", "gmake", "bmake",
            "man", "more", "ninja", "rg", "rsync", "socat", "sort", "split", "tar", "bsdtar",
            "gtar", "tcpdump", "wget", "zip",
        ],
    ),
    (
        "runs commands on another machine, or as it connects",
        &["mosh", "rsh", "scp", "sftp", "ssh", "telnet"],
    ),
    (
        "fetches a program and runs it",
        &["bunx", "npx", "pipx", "pnpx", "uvx"],
    ),
];

/// Programs of which some commands run their arguments, and these commands. Also an option in front of
/// the command can, such as `git -c core.pager=…`.
///
/// Source: their manuals. Of git: `--exec`, `--upload-pack`, `--receive-pack` and `--open-files-in-pager`
/// name a program, and `config` sets what other commands run.
const COMMANDS: &[(&str, &[&str])] = &[
    (
        "git",
        &[
            "archive",
            "bisect",
            "clone",
            "config",
            "difftool",
            "fetch",
            "fetch-pack",
            "filter-branch",
            "for-each-repo",
            "grep",
            "hook",
            "instaweb",
            "ls-remote",
            "mergetool",
            "p4",
            "pull",
            "push",
            "rebase",
            "remote",
            "send-email",
            "send-pack",
            "submodule",
            "svn",
        ],
    ),
    ("buildah", &["run", "bud", "build"]),
    ("bundle", &["exec"]),
    ("conda", &["run"]),
    ("composer", &["exec", "run-script", "run"]),
    (
        "docker",
        &["build", "buildx", "compose", "container", "exec", "run"],
    ),
    ("docker-compose", &["exec", "run"]),
    ("dotnet", &["exec", "run", "script", "tool"]),
    ("gh", &["alias", "codespace", "cs", "extension"]),
    ("go", &["generate", "run", "tool", "vet"]),
    ("hg", &["bisect", "clone", "pull", "push"]),
    ("kubectl", &["debug", "exec", "run"]),
    ("mamba", &["run"]),
    ("mise", &["exec", "x"]),
    ("nix", &["develop", "run", "shell"]),
    ("npm", &["exec", "explore", "init", "x"]),
    ("pipenv", &["run"]),
    ("pnpm", &["create", "dlx", "exec", "x"]),
    ("podman", &["build", "container", "exec", "run"]),
    ("poetry", &["run"]),
    ("rustup", &["run"]),
    ("uv", &["run", "tool", "x"]),
    ("yarn", &["create", "dlx", "exec", "node", "run"]),
];

/// Options that write a file anywhere or name a program to run, of programs that are no such thing
/// otherwise.
///
/// Source: their manuals. Programs take the beginning of a long option for the whole.
const OPTIONS: &[(&str, &[&str])] = &[
    ("cargo", &["config"]),
    (
        "git",
        &[
            "exec",
            "ext-diff",
            "open-files-in-pager",
            "output",
            "output-directory",
            "receive-pack",
            "upload-pack",
        ],
    ),
    ("go", &["exec", "toolexec", "vettool"]),
    ("npm", &["script-shell"]),
    ("pnpm", &["script-shell"]),
];

/// A name without the folders before it.
pub(super) fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Whether a word is of the shell's grammar where a command begins.
pub(super) fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word)
}

/// Whether a command of the shell runs text, or changes what later words mean.
pub(super) fn is_changing(word: &str) -> bool {
    CHANGING.contains(&word)
}

/// How a command runs its arguments, if it does, by its first two words.
pub(super) fn runs_arguments(program: &str, second: Option<&str>) -> Option<&'static str> {
    let name = base(program);
    // The version of an interpreter belongs to its name: python3.12.
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    let is_it = |known: &&str| *known == name || *known == plain;
    if let Some((how, _)) = RUNNERS.iter().find(|(_, names)| names.iter().any(is_it)) {
        return Some(how);
    }
    let (_, commands) = COMMANDS.iter().find(|(known, _)| is_it(known))?;
    match second {
        Some(option) if option.starts_with(['-', '+']) => {
            Some("has options that name a program to run")
        }
        Some(command) if commands.contains(&command) => Some("runs what its arguments name"),
        Some(_) | None => None,
    }
}

/// Whether some of a program's commands run their arguments, and others do not.
pub(super) fn has_commands(program: &str) -> bool {
    COMMANDS.iter().any(|(known, _)| *known == base(program))
}

/// Whether a word is an option that a wildcard does not stand for: a rule that allows has to name it.
pub(super) fn is_named_only(program: &str, word: &str) -> bool {
    let Some(option) = word.strip_prefix('-') else {
        return false;
    };
    let known = OPTIONS.iter().find(|(name, _)| *name == base(program));
    let options = known.map_or(&[][..], |(_, options)| options);
    let name_of = |option: &'_ str| option.split('=').next().unwrap_or_default().to_owned();
    match option.strip_prefix('-') {
        Some("") => false,
        Some(long) => options.iter().any(|it| it.starts_with(&name_of(long))),
        None => options.contains(&name_of(option).as_str()),
    }
}
