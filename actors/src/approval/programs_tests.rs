//! The names of programs and of options that rules which allow are refused for.

use harness_protocol::RuleAction;

use super::*;
use crate::approval::Rule;

/// Spec: [APPR-24]
#[test]
fn a_program_that_runs_its_arguments_is_known_whatever_it_is_for() {
    let names = "osh newgrp linux64 qemu-x86_64 aws-vault op sops doppler gtimeout gsed \
                 s6-setuidgid zx ocaml scala-cli octave-cli sage dc lftp ncat rpm latexmk helm \
                 flatpak snap swift zig nx nvm django-admin corepack";
    for program in names.split_ascii_whitespace() {
        let rule = format!("bash({program} *)");
        assert!(Rule::made(&rule, RuleAction::Allow).is_err(), "{rule}");
    }
}

/// Spec: [APPR-481]
#[test]
fn a_program_that_runs_its_arguments_is_known_by_the_names_of_all_its_builds() {
    for program in [
        "capsh",
        "sg",
        "/lib64/ld-linux-x86-64.so.2",
        "/lib/ld-musl-x86_64.so.1",
        "ld.so",
        "python3-dbg",
        "python3.12-dbg",
        "python3.13t",
        "perl5.36-x86_64-linux-gnu",
        "vim.basic",
        "vim.gtk3",
        "bash-static",
        "busybox.static",
        "emacs-nox",
        "gdb-multiarch",
        "php8.2",
        "luajit-2.1.0-beta3",
        "proxychains4",
        "cmake",
        "ctest",
        "mvn",
        "gradle",
        "rake",
        "concurrently",
        "cross-env",
        "dotenv",
        "env-cmd",
        "nodemon",
        "tox",
        "nox",
        "sem",
        "logsave",
        "runcon",
        "gosu",
        "ansible",
        "erl",
        "elixir",
        "mix",
        "swipl",
        "sbcl",
        "just",
        "gnuplot",
        "pandoc",
        "emacsclient",
        "mysql",
        "nix-shell",
        "task",
    ] {
        let rule = format!("bash({program} *)");
        assert!(Rule::made(&rule, RuleAction::Allow).is_err(), "{rule}");
    }
    for text in [
        "bash(hatch run *)",
        "bash(pdm run *)",
        "bash(coverage run *)",
        "bash(stack exec *)",
        "bash(cabal *)",
        "bash(opam exec *)",
        "bash(dune exec *)",
        "bash(bazel run *)",
        "bash(ip netns *)",
        "bash(ip -n x *)",
    ] {
        assert!(Rule::made(text, RuleAction::Allow).is_err(), "{text}");
    }
    for text in [
        "bash(hatch build *)",
        "bash(ip addr *)",
        "bash(ip6tables -L *)",
        "bash(md5sum *)",
        "bash(./script.sh *)",
        "bash(./make.py *)",
        "bash(gcc *)",
        "bash(curl *)",
        "bash(openssl *)",
        "bash(pytest *)",
    ] {
        assert!(Rule::made(text, RuleAction::Allow).is_ok(), "{text}");
    }
}

/// Spec: [APPR-24]
#[test]
fn an_option_that_writes_a_file_or_names_a_program_is_known_as_its_program_takes_it() {
    for (program, named, others) in [
        (
            "npm",
            &[
                "-script-shel",
                "--script-shell=x",
                "--prefix",
                "-pref",
                "-C",
                "-gC",
                "--userconfig=x",
                "--node-options",
            ][..],
            &["--ignore-scripts", "-s", "--prefer-offline", "test"][..],
        ),
        (
            "git",
            &["-odir", "-no", "--export-marks=x", "--export-m", "--outp"],
            &["--oneline", "-s", "-20", "--", "o"],
        ),
        (
            "curl",
            &["-o", "-sSLo", "--output", "--outp", "-K", "-D"],
            &["-s", "-sSL", "--compressed", "--fail", "output"],
        ),
        (
            "openssl",
            &["-out", "-engine", "--out", "-provider-path"],
            &["-in", "-noout", "-text"],
        ),
        (
            "gcc",
            &["-wrapper", "-fplugin=x.so", "-B.", "--specs=x", "@args"],
            &["-Wall", "-c", "-O2", "-DBUILD", "-fpic", "-o"],
        ),
        ("aarch64-linux-gnu-g++-12", &["-wrapper"], &["-c"]),
        ("clang-15", &["-fpass-plugin=x"], &["-c"]),
        (
            "pytest",
            &["-p", "-pno", "-vp", "-c", "--rootdir=x"],
            &["-v", "-k", "--lf"],
        ),
        ("install", &["--strip-program=x", "--strip-p"], &["-s"]),
        ("jj", &["--config-toml=x", "--config", "--tool"], &["-r"]),
        ("go", &["-exec", "--toolexec=x"], &["-v", "-e"]),
        ("ls", &[], &["-o", "--output", "@x"]),
    ] {
        for word in named {
            assert!(is_named_only(program, word), "{program} {word}");
        }
        for word in others {
            assert!(!is_named_only(program, word), "{program} {word}");
        }
    }
}
