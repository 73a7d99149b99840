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

/// The shells.
const SHELLS: &str = "ash bash busybox csh dash elvish fish ksh mksh nu nushell oksh osh posh \
                       powershell pwsh rbash rksh scsh sh tcsh toybox xonsh yash ysh zsh";

/// Files that are the input of the program that opens them.
const INPUTS: &[&str] = &["/dev/fd/0", "/dev/stdin", "/proc/self/fd/0"];

/// Programs that run their arguments, and how. A name covers all builds of the program: [`family`].
///
/// Source: their manuals. Of `apt`, `-o` sets hooks; of `make`, `--eval` takes rules with commands; of
/// `cmake`, `-E` and `-P` run commands; of `pandoc`, `--filter` names a program.
const RUNNERS: &[(&str, &str)] = &[
    ("is a shell", SHELLS),
    (
        "runs the command behind it",
        "abduco apptainer arch asciinema at autoexpect autossh aws-vault batch berglas box64 \
         box86 bwrap caffeinate capsh cargo-watch catchsegv cgexec chamber checkinstall chpst \
         chronic chroot chrt concurrently cpulimit crontab cross-env cross-env-shell crun \
         daemonize dbus-launch dbus-run-session direnv doas dotenv dotenvx dtach dtruss \
         dumb-init eatmydata entr env env-cmd envchain envconsul envdir fakeroot faketime \
         firejail flock foreman gdb genv gnice gnohup gosu gstdbuf gtimeout gxargs heaptrack \
         honcho hyperfine i386 ifne ionice ktrace ld.so lima linux32 linux64 lldb logsave \
         ltrace machinectl mpirun newgrp nice nodemon nohup npm-run-all nsenter numactl \
         onchange overmind parallel pee perf pkexec prlimit proot proton proxychains pssh \
         qemu-aarch64 qemu-x86_64 rlwrap rosetta rr run-p run-parts run-s runc runcon runuser \
         s6-envdir s6-setuidgid screen script sem setarch setlock setpriv setsid setuidgid sg \
         singularity softlimit ssh-agent sshpass start-server-and-test start-stop-daemon stdbuf \
         steam-run strace su su-exec sudo summon systemd-cat systemd-inhibit systemd-nspawn \
         systemd-run taskset teller timeout tini tmux torsocks tsocks uftrace unbuffer unshare \
         valgrind vipe watch watchexec wine wine64 with-contenv xargs xcrun xvfb-run",
    ),
    (
        "runs code that is among its arguments",
        "abcl amm awk babel-node bb blender bpftrace bpython bun ccl chez chezscheme \
         chicken-csi clisp clj clojure coconut coffee coqtop csi dc deno dotnet-script duckdb \
         ecl ed electron elixir emacs emacsclient erl es ex expect factor fennel forth freecad \
         frida fsharpi gawk gcl gforth ghci gimp gnuplot gosh gp graalpy groovy groovysh gs gst \
         guile gvim hush hy iex io ion ipdb ipython irb janet java jbang jruby jshell julia \
         jython kotlin kscript lftp litecli lr lua luajit m4 mariadb matlab mawk maxima \
         mit-scheme mix mojo mongosh mono murex mycli mysql nashorn nawk nbb newlisp node \
         nodejs nvim ocaml octave octave-cli osascript papermill pdb perl pforth pgcli php \
         picolisp pike pony psql ptpython pudb pypy python R r2 racket radare2 rake rc rebol \
         rhino rizin Rscript ruby runghc runhaskell rust-script rview rvim sage sash sbcl sbt \
         scala scala-cli scheme scheme48 scilab scriptreplay sed smalltalk soffice sqlite \
         sqlite3 sqlmap sqlplus stap swipl tcc tclsh truffleruby ts-node tsx uiua usql utop vi \
         view vim vimdiff vite-node wish wolframscript zx",
    ),
    (
        "has an option that names a program to run",
        "aclocal acme.sh alien ansible ansible-console ansible-playbook ant apt apt-get aria2c \
         asy autoreconf bmake bsdtar bzr certbot cmake cpack ctags ctest darcs debuild dpkg \
         dpkg-buildpackage duplicity fab fd fdfind find fossil fpm gfind gmake gradle gsed \
         gsort gsplit gtar helm just kustomize latexmk less lualatex luatex mail mailx make \
         makepkg man metapost mitmdump mitmproxy mitmweb more mpv mutt mvn nc ncat netcat ninja \
         nmap nox pacman pandoc pdflatex pdftex rclone restic rg rpm rpmbuild rsync samu scons \
         sendmail sl socat sort split svn tar task tcpdump tex tox tshark wget xelatex xetex \
         zip",
    ),
    (
        "runs commands on another machine, or as it connects",
        "mosh psexec rexec rsh scp sftp ssh telnet",
    ),
    (
        "fetches a program and runs it",
        "bunx nix-build nix-shell npx pipx pnpx uvx",
    ),
];

/// Programs of which some commands run their arguments, and these commands. Also an option in front of
/// the command can, such as `git -c core.pager=…`.
///
/// Source: their manuals. Of git: `--exec`, `--upload-pack`, `--receive-pack` and `--open-files-in-pager`
/// name a program, and `config` sets what other commands run. `ip` takes the beginning of a command.
const COMMANDS: &[(&str, &str)] = &[
    ("asdf", "exec"),
    ("bazel", "run"),
    ("brew", "irb ruby sh"),
    ("buildah", "run bud build"),
    ("bundle", "exec"),
    ("cabal", "exec repl run"),
    ("colima limactl multipass", "exec shell ssh"),
    ("composer", "exec run-script run"),
    ("conda", "run"),
    ("corepack", "npm npx pnpm pnpx yarn yarnpkg"),
    ("coverage", "run"),
    ("crystal dart flutter gleam odin v", "eval play run"),
    ("django-admin manage.py", "dbshell shell"),
    ("docker", "build buildx compose container exec run"),
    ("docker-compose", "exec run"),
    ("doppler infisical railway", "run shell"),
    ("dotnet", "exec run script tool"),
    ("dune", "exec utop"),
    ("flatpak snap", "run"),
    ("fly flyctl heroku", "console run ssh"),
    ("fnm", "exec"),
    ("gh", "alias codespace cs extension"),
    (
        "git",
        "archive bisect clone config difftool fetch fetch-pack filter-branch for-each-repo \
         grep hook instaweb ls-remote mergetool p4 pull push rebase remote send-email \
         send-pack submodule svn",
    ),
    ("go", "generate run tool vet"),
    ("guix", "environment repl shell time-machine"),
    ("hatch", "run shell"),
    ("hg", "bisect clone pull push"),
    ("incus lxc nomad", "alloc exec"),
    ("ip", "net netn netns v vr vrf"),
    ("jupyter", "console execute run"),
    ("kubectl", "debug exec run"),
    ("lake", "env exe"),
    ("lerna", "exec"),
    ("mamba", "run"),
    ("micromamba", "run"),
    ("mise", "exec x"),
    ("n nvm", "exec run"),
    ("nerdctl", "build compose exec run"),
    ("nim", "e r"),
    ("nix", "develop run shell"),
    ("npm", "exec explore init x"),
    ("nx", "exec"),
    ("op", "plugin run"),
    ("opam", "exec"),
    ("pdm", "run"),
    ("pipenv", "run"),
    ("pixi", "exec run"),
    ("pnpm", "create dlx exec x"),
    ("podman", "build container exec run"),
    ("poetry", "run"),
    ("puppet", "apply"),
    ("pyenv", "exec"),
    ("rails", "c console db dbconsole r runner"),
    ("rbenv", "exec"),
    ("rebar3", "shell"),
    ("rustup", "run"),
    ("rye", "run"),
    ("sops", "edit exec-env exec-file"),
    (
        "stack",
        "eval exec ghc ghci repl run runghc runhaskell script",
    ),
    ("swift", "repl run"),
    ("uv", "run tool x"),
    ("vagrant", "ssh winrm"),
    ("volta", "run"),
    ("xmake", "l lua"),
    ("yarn", "create dlx exec node run"),
    ("zellij", "action edit run"),
    ("zig", "run"),
];

/// Options that write a file anywhere, name a program to run or say where one is looked for, of programs
/// that are no such thing otherwise.
///
/// Here `-o` is a letter, also one among others or in front of its value; `@` begins the name of a file with
/// more arguments; any other is the name of an option behind one dash or two.
///
/// Source: their manuals. Programs take the beginning of a long option for the whole; npm does behind one
/// dash, too.
const OPTIONS: &[(&str, &str)] = &[
    ("bazel", "run_under script_path"),
    (COMPILERS, "@ B Xclang fpass-plugin fplugin specs wrapper"),
    ("cargo", "config"),
    (
        "curl",
        "-D -J -K -O -c -o alt-svc config cookie-jar dump-header engine etag-save hsts \
         libcurl output output-dir remote-header-name remote-name remote-name-all stderr \
         trace trace-ascii",
    ),
    (
        "git",
        "-o exec export-marks ext-diff open-files-in-pager output output-directory \
         receive-pack upload-pack",
    ),
    ("go", "exec toolexec vettool"),
    ("install", "strip-program"),
    ("jj", "config config-file config-toml tool"),
    (
        "npm",
        "-C browser editor git globalconfig init-module node-options onload-script prefix \
         script-shell userconfig viewer",
    ),
    (
        "openssl",
        "config engine keyout out provider provider-path writerand",
    ),
    ("pnpm", "-C dir prefix script-shell"),
    (
        "py.test pytest",
        "-c -o -p basetemp config-file confcutdir override-ini pdbcls rootdir",
    ),
    ("yarn", "cwd use-yarnrc"),
];

/// Commands that usually build, test or look, with the second words that name them. A rule for all their arguments is
/// offered. A name without second words counts alone.
const USUAL: &[(&str, &str)] = &[
    (
        "basename cat cmp cut date df diff dirname du echo egrep eslint false fgrep file flake8 grep head id jest ls \
         mypy nl printf pwd py.test pytest readlink realpath ruff seq stat tail test tr true tsc uname uniq vitest wc \
         which",
        "",
    ),
    (
        "cargo",
        "bench build check clippy doc fmt metadata test tree",
    ),
    (
        "git",
        "blame describe diff log ls-files ls-tree merge-base rev-list rev-parse shortlog show status",
    ),
    ("go", "build fmt list test version"),
    ("npm pnpm yarn", "test"),
];

/// Programs that run a script by its name, with the word before that.
const SCRIPTS: &[(&str, &str)] = &[("npm pnpm", "run")];

/// Compilers, which have the name of another machine in front if they compile for it.
const COMPILERS: &str = "c++ cc clang clang++ g++ gcc gfortran";
/// Ways in which a program was built, behind its name.
const FLAVOURS: &str = "athena basic dbg debug gtk lucid motif multiarch nox pgtk static tiny";

/// A name without the folders before it.
pub(super) fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The name of a program without what tells its builds apart: the version, as of `python3.12-dbg`, the
/// flavour, as of `vim.basic`, and the machine, as of `aarch64-linux-gnu-gcc-12`.
fn family(name: &str) -> &str {
    let is_joint = |c: char| matches!(c, '.' | '-');
    let is_of_version = |c: char| c.is_ascii_digit() || c == '.';
    // The loader of programs: ld-linux-x86-64.so.2.
    if name.starts_with("ld") && name.contains(".so") {
        return "ld.so";
    }
    let unversioned = name.trim_end_matches(|c: char| c.is_ascii_digit() || is_joint(c));
    if let Some((_, compiler)) = unversioned.rsplit_once('-')
        && has(COMPILERS, compiler)
    {
        return compiler;
    }
    let (stem, version) = match name.find(|c: char| c.is_ascii_digit()) {
        Some(at) => name.split_at(at),
        None => (name, ""),
    };
    // A letter behind a version tells builds apart, as of python3.13t; more are a name: ip6tables.
    let behind = version.trim_start_matches(is_of_version).split('-').next();
    if behind.is_some_and(|letters| letters.len() > 1) {
        return name;
    }
    let stem = stem.trim_end_matches(is_joint);
    match stem.rsplit_once(is_joint) {
        Some((stem, flavour)) if has(FLAVOURS, flavour) => stem,
        Some(_) | None => stem,
    }
}

/// True if a list of names has that one.
fn has(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == name)
}

/// The names by which a program is looked up.
#[derive(Debug, Clone, Copy)]
struct ProgramNames<'p> {
    own: &'p str,
    family: &'p str,
}

impl<'p> ProgramNames<'p> {
    fn new(program: &'p str) -> Self {
        let own = base(program);
        Self {
            own,
            family: family(own),
        }
    }

    /// True if a list of programs has one of the names.
    fn are_in(self, list: &str) -> bool {
        has(list, self.own) || has(list, self.family)
    }
}

/// True if a word is of the shell's grammar where a command begins.
pub(super) fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word)
}

/// True if a command of the shell runs text, or changes what later words mean.
pub(super) fn is_changing(word: &str) -> bool {
    CHANGING.contains(&word)
}

/// How a command runs its arguments, if it does, by its first two words.
pub(super) fn runs_arguments(program: &str, second: Option<&str>) -> Option<&'static str> {
    let names = ProgramNames::new(program);
    if let Some((how, _)) = RUNNERS.iter().find(|(_, list)| names.are_in(list)) {
        return Some(how);
    }
    let (_, commands) = COMMANDS.iter().find(|(known, _)| names.are_in(known))?;
    match second {
        Some(option) if option.starts_with(['-', '+']) => {
            Some("has options that name a program to run")
        }
        Some(command) if has(commands, command) => Some("runs what its arguments name"),
        Some(_) | None => None,
    }
}

/// True if a shell among words reads its commands from its input: it has neither commands nor a file among
/// them, or a redirection may have put the file there.
pub(super) fn reads_commands(words: &[String], is_fed: bool) -> bool {
    let is_shell = |word: &String| ProgramNames::new(word).are_in(SHELLS);
    let mut words = words.iter();
    while words.any(is_shell) {
        if reads_input(words.as_slice(), is_fed) {
            return true;
        }
    }
    false
}

/// True if a shell with these arguments reads its commands from its input.
fn reads_input(arguments: &[String], is_fed: bool) -> bool {
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let Some(letters) = word.strip_prefix(['-', '+']) else {
            return is_fed || INPUTS.contains(&word);
        };
        let takes_next = match letters.strip_prefix('-') {
            Some(long) => matches!(long, "init-file" | "rcfile"),
            None if letters.contains('c') => return false,
            None if letters.contains('s') => return true,
            None => letters.ends_with(['o', 'O']),
        };
        if takes_next {
            words.next();
        }
    }
    true
}

/// The words that name a usual command, if words begin with them.
pub(super) fn usual_name(words: &[String]) -> Option<&[String]> {
    let (program, arguments) = words.split_first()?;
    let is_plain = |word: &String| !word.starts_with('-');
    let second = arguments.first().filter(|word| is_plain(word));
    let of_program = |list: &[(&'static str, &'static str)]| {
        let known = list.iter().find(|(programs, _)| has(programs, program));
        known.map(|(_, commands)| *commands)
    };
    let count = match (of_program(USUAL), of_program(SCRIPTS), second) {
        (Some(""), _, _) => 1,
        (Some(commands), _, Some(second)) if has(commands, second) => 2,
        (_, Some(run), Some(second)) if run == second && arguments.get(1).is_some_and(is_plain) => {
            3
        }
        _ => return None,
    };
    words.get(..count)
}

/// True if some of a program's commands run their arguments, and others do not.
pub(super) fn has_commands(program: &str) -> bool {
    let names = ProgramNames::new(program);
    COMMANDS.iter().any(|(known, _)| names.are_in(known))
}

/// True if a word is an option that a wildcard does not match: a rule that allows has to name it.
pub(super) fn is_named_only(program: &str, word: &str) -> bool {
    let names = ProgramNames::new(program);
    let known = OPTIONS.iter().find(|(known, _)| names.are_in(known));
    let options = known.map_or("", |(_, options)| options);
    let mut options = options.split_ascii_whitespace();
    options.any(|option| may_be_option(word, option))
}

/// True if a word may be that option of [`OPTIONS`] to some program.
fn may_be_option(word: &str, option: &str) -> bool {
    if option == "@" {
        return word.starts_with('@');
    }
    let Some(behind_dash) = word.strip_prefix('-') else {
        return false;
    };
    let end_of_name = |text: &str| text.find('=').unwrap_or(text.len());
    match (behind_dash.strip_prefix('-'), option.strip_prefix('-')) {
        (Some(""), _) | (Some(_), Some(_)) => false,
        (Some(long), None) => option.starts_with(&long[..end_of_name(long)]),
        (None, Some(letter)) => behind_dash.contains(letter),
        (None, None) => {
            let name = &behind_dash[..end_of_name(behind_dash)];
            name.starts_with(option) || (name.len() > 1 && option.starts_with(name))
        }
    }
}

#[cfg(test)]
#[path = "programs_tests.rs"]
mod tests;
