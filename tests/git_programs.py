#!/usr/bin/env python3
"""Ways to make the operator's git run a program, left behind by contained commands, in repositories of many shapes.
HARNESS_BIN is the program.

    tests/git_programs.py               each way in the shape that it is made for
    tests/git_programs.py --full        each way in each shape
    tests/git_programs.py --bare        the same without the service, which shows how many ways run a program there
    tests/git_programs.py SHAPE ...     only the ways and the honest work of these shapes

After each command the operator's git looks, commits, continues a rebase and updates submodules; none of it may run the
marker program. Before, honest work of the same kinds is done by commands, and `git status` is clean after it.

Spec: [BASH-07] [BASH-206] [BASH-207] [BASH-208] [BASH-570] [BASH-571] [BASH-572] [BASH-573] [BASH-574] [BASH-575]
Spec: [BASH-580] [BASH-581] [BASH-586] [BASH-620]
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))
from harness import Failure, wait_until  # noqa: E402
from shell import ShellService  # noqa: E402

FULL, BARE = "--full" in sys.argv, "--bare" in sys.argv
ONLY = {word for word in sys.argv[1:] if not word.startswith("--")}
# The operator's git. A program that runs leaves its mark here.
MARK = "GIT_MARK"
RUN = f"touch ${MARK}; #"
COMMON = {
    "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
    "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"],
}
LOOKS = [
    ["status"], ["diff"], ["diff", "--cached"], ["log", "-1", "-p"], ["submodule", "status"],
    ["add", "f"], ["commit", "-qm", "x", "--allow-empty"], ["submodule", "update", "--init"], ["fetch", "--all"],
    ["stash", "list"], ["rebase", "--continue"], ["cherry-pick", "--continue"], ["checkout", "-q", "-b", "later"], ["gc", "--auto"],
]
# The shapes, each made in an empty folder of the name `work`.
START = ("git init -q -b main . && echo 1 >f && git add f && git commit -qm one && echo 2 >f && git commit -qam two "
         "&& git config user.name a && git config user.email a@b")
SUBMODULE = ("git init -q -b main ../lib && git -C ../lib commit -q --allow-empty -m one && "
             "git -c protocol.file.allow=always submodule --quiet add ../lib sub && git commit -qm sub")
MAIN = f"mkdir ../main && cd ../main && {START}"
SHAPES = {
    "plain": START,
    "submodule": f"{START} && {SUBMODULE}",
    "worktree": f"{MAIN} && rmdir ../work && git worktree add -q ../work",
    "relative": f"{MAIN} && rmdir ../work && git worktree add -q ../work && cd ../work && "
                "echo 'gitdir: ../main/.git/worktrees/work' >.git && "
                "echo ../../../../work/.git >../main/.git/worktrees/work/gitdir",
    "cloned": f"{MAIN} && rmdir ../work && git clone -q . ../work && cd ../work && git config user.name a && "
              "git config user.email a@b && echo old >.git/hooks/commit-msg && git config core.hooksPath .githooks && "
              "mkdir .githooks && echo '[pull]' >inc && git add inc && git commit -qm inc --no-verify && "
              "git config include.path ../inc",
    "nested": f"{START} && git init -q -b main nested && git -C nested commit -q --allow-empty -m one && "
              "echo nested >.git/info/exclude",
}
SHAPES |= {
    # Hooks of a submodule that are the operator's: a link, one that is not executable, and a folder that may have some.
    "hooked": f"{SHAPES['submodule']} && mkdir tools && echo : >tools/hook && chmod +x tools/hook && git add tools && "
              "git commit -qm tools && ln -s ../../../../tools/hook .git/modules/sub/hooks/reference-transaction && "
              f"printf '#!/bin/sh\\n{RUN}\\n' >.git/modules/sub/hooks/post-checkout",
    # A submodule whose git folder is in the work tree, with a submodule.
    "old": f"{START} && git init -q -b main ../lib && git -C ../lib commit -q --allow-empty -m one && "
           "git init -q -b main ../outer && cd ../outer && git -c protocol.file.allow=always submodule --quiet add "
           "$PWD/../lib deep && git commit -qm deep && cd ../work && git clone -q ../outer nested && git add nested && "
           "git commit -qm nested",
    "named": f"{SHAPES['submodule']} && git -C sub config core.hooksPath h",
}
HOOKS = ["pre-commit", "commit-msg", "post-commit", "prepare-commit-msg", "post-checkout", "post-index-change",
         "reference-transaction", "pre-auto-gc", "post-rewrite"]
HOOK = f"printf '#!/bin/sh\\n{RUN}\\n' >{{0}} && chmod +x {{0}}"


def hook(at):
    """Makes a hook that leaves the mark."""
    return HOOK.format(at)


def repository(at, more=""):
    """Makes a repository of the command's own that names a program."""
    return (f"rm -rf {at}; mkdir -p {at} && git init -q --template= {at}/r && git -C {at}/r commit -q --allow-empty -m e; "
            f"git -C {at}/r config core.fsmonitor '{RUN}'; {more}")


# The ways: the shape that each is made for, and the command.
GIT = "$(git rev-parse --git-dir)"
TOP = "$(git rev-parse --git-common-dir)"
KEYS = [
    ("core.fsmonitor", RUN), ("core.pager", RUN), ("core.editor", RUN), ("core.hooksPath", "h"), ("core.sshCommand", RUN),
    ("diff.external", RUN), ("alias.status", f"!{RUN}"), ("include.path", "../evil.inc"), ("gpg.program", RUN),
    ("sequence.editor", RUN), ("pager.log", RUN), ("filter.x.clean", RUN), ("diff.x.textconv", RUN),
    ("includeIf.gitdir:/.path", "/evil"), ("core.attributesFile", "a"), ("merge.x.driver", RUN),
]
PREPARE = f"mkdir -p h; {hook('h/pre-commit')}; printf '[core]\\nfsmonitor = {RUN}\\n' >evil.inc; echo '* diff=x filter=x' >a; "
WAYS = [
    *[("plain", f"{PREPARE}git config {key} '{value}'") for key, value in KEYS],
    *[("plain", hook(f"{GIT}/hooks/{name}")) for name in HOOKS],
    ("plain", f"printf '[core]\\nfsmonitor = {RUN}\\n' >>{TOP}/config"),
    ("plain", f"cp {TOP}/config c && printf '[core]\\nfsmonitor = {RUN}\\n' >>c && mv -f c {TOP}/config"),
    ("plain", f"printf '[core]\\nfsmonitor = {RUN}\\n' >{GIT}/config.worktree"),
    ("plain", repository("e", f"mv .git g2; cp -r e/r/.git .git")),
    ("plain", repository("e", f"printf \"$PWD/e/r/.git\" >{GIT}/commondir")),
    ("plain", f"rm -rf {GIT}/hooks; mkdir h; {hook('h/pre-commit')}; ln -s $PWD/h {GIT}/hooks"),
    ("plain", f"mv {GIT}/hooks {GIT}/h2; mkdir {GIT}/hooks; {hook(f'{GIT}/hooks/pre-commit')}"),
    ("plain", repository("e", "git add e/r")),
    ("plain", repository("e", "mv e/r deep; git add deep")),
    ("plain", f"git init -q n; git -C n commit -q --allow-empty -m e; git add n; {hook('n/.git/hooks/post-index-change')}"),
    ("plain", repository("e", "git init -q n; git -C n commit -q --allow-empty -m e; git add n; "
                              "printf \"$PWD/e/r/.git\" >n/.git/commondir")),
    ("plain", repository("e", "mkdir n; echo \"gitdir: $PWD/e/r/.git\" >n/.git; git update-index --add --cacheinfo "
                              "160000,$(git -C e/r rev-parse HEAD),n")),
    ("plain", repository("e", "mkdir n; ln -s ../e/r/.git n/.git; git update-index --add --cacheinfo "
                              "160000,$(git -C e/r rev-parse HEAD),n")),
    ("plain", repository("e", "git update-index --split-index; git add e/r")),
    ("plain", repository("e", "git update-index --index-version 4; git add e/r")),
    ("plain", f"GIT_SEQUENCE_EDITOR='sed -i \"1i break\"' git rebase -q -i HEAD~1; echo 'exec {RUN}' >>{GIT}/rebase-merge/git-rebase-todo"),
    ("plain", f"git rebase -q -x false HEAD~1; sed -i 's/^.*$/x {RUN}/' {GIT}/rebase-merge/git-rebase-todo; "
              f"echo 'x {RUN}' >>{GIT}/rebase-merge/git-rebase-todo"),
    ("plain", repository("e", "mv .git g2; mv e/r/.git/* .")),
    ("plain", repository("e", "mv .git g2; ln -s e/r/.git .git")),
    ("plain", repository("e", "mv .git g2; echo \"gitdir: $PWD/e/r/.git\" >.git")),
    ("plain", repository("e", f"mkdir -p {GIT}/modules; cp -r e/r/.git {GIT}/modules/sub; git add e/r; mv e/r sub; "
                              f"rm -rf sub/.git; echo 'gitdir: ../.git/modules/sub' >sub/.git; git add sub")),
    ("submodule", repository("e", "echo \"gitdir: $PWD/e/r/.git\" >sub/.git")),
    ("submodule", repository("e", "rm sub/.git; mv e/r/.git sub/.git")),
    ("submodule", repository("e", "rm sub/.git; ln -s ../e/r/.git sub/.git")),
    ("submodule", repository("e", f"printf \"$PWD/e/r/.git\" >{GIT}/modules/sub/commondir")),
    ("submodule", repository("e", f"mv {GIT}/modules m; mkdir -p {GIT}/modules; cp -r e/r/.git {GIT}/modules/sub")),
    ("submodule", repository("e", f"rm -rf {GIT}/modules; cp -r e/r/.git m; mkdir -p {GIT}/modules; ln -s $PWD/m {GIT}/modules/sub")),
    ("submodule", f"git -C sub config core.fsmonitor '{RUN}'"),
    ("submodule", f"git -C sub config core.hooksPath $PWD/h; mkdir h; {hook('h/post-checkout')}"),
    ("submodule", hook(f"{GIT}/modules/sub/hooks/post-checkout")),
    ("submodule", hook(f"{GIT}/modules/sub/hooks/post-index-change")),
    ("submodule", f"printf '[core]\\nfsmonitor = {RUN}\\n' >{GIT}/modules/sub/config.worktree; "
                  "git -C sub config extensions.worktreeConfig true"),
    ("submodule", repository("e", f"cd sub && git init -q d && git -C d commit -q --allow-empty -m e && git add d && "
                                  f"git -C d config core.fsmonitor '{RUN}'")),
    ("submodule", repository("e", f"mkdir -p {GIT}/modules/sub/modules; cp -r e/r/.git {GIT}/modules/sub/modules/d; cd sub; "
                                  "mkdir d; echo 'gitdir: ../../.git/modules/sub/modules/d' >d/.git; git add d")),
    ("submodule", f"git config submodule.sub.update '!{RUN}'"),
    ("submodule", f"printf '[submodule \"sub\"]\\n path = sub\\n url = ../lib\\n update = !{RUN}\\n' >.gitmodules"),
    ("worktree", repository("e", f"printf \"$PWD/e/r/.git\" >{GIT}/commondir")),
    ("worktree", repository("e", f"printf \"$PWD/e/r/.git\" >{TOP}/commondir")),
    ("worktree", repository("e", "echo \"gitdir: $PWD/e/r/.git\" >.git")),
    ("worktree", repository("e", "rm .git; mv e/r/.git .git")),
    ("worktree", hook(f"{TOP}/hooks/pre-commit")),
    ("worktree", f"printf '[core]\\nfsmonitor = {RUN}\\n' >{GIT}/config.worktree; git config extensions.worktreeConfig true"),
    ("worktree", f"mkdir {GIT}/rebase-merge; echo 'exec {RUN}' >{GIT}/rebase-merge/git-rebase-todo"),
    ("worktree", repository("e", "git add e/r")),
    ("relative", repository("e", f"printf \"$PWD/e/r/.git\" >{GIT}/commondir")),
    ("relative", hook(f"{TOP}/hooks/post-commit")),
    ("relative", repository("e", "git add e/r")),
    ("cloned", hook(".githooks/pre-commit")),
    ("cloned", f"rm -rf .githooks; mkdir .githooks; {hook('.githooks/pre-commit')}"),
    ("cloned", f"mv .githooks x; mkdir y; {hook('y/pre-commit')}; ln -s y .githooks"),
    ("cloned", f"printf '[core]\\nfsmonitor = {RUN}\\n' >inc"),
    ("cloned", f"rm inc; printf '[core]\\nfsmonitor = {RUN}\\n' >inc"),
    ("cloned", f"printf '[core]\\nfsmonitor = {RUN}\\n' >z; ln -sf z inc"),
    ("nested", "git add -f nested; " + hook("nested/.git/hooks/post-index-change")),
    ("nested", f"git -C nested config core.fsmonitor '{RUN}'; git add -f nested"),
    ("nested", repository("e", "git add -f nested; printf \"$PWD/e/r/.git\" >nested/.git/commondir")),
]
# More ways: attributes with filters, remotes, signatures, included files, submodules and worktrees.
INFO = f"mkdir -p {GIT}/info; echo '* diff=x filter=x merge=x' >{GIT}/info/attributes; "
STOPPED = ("git checkout -q -b t HEAD~1; echo 5 >z; git add z; git commit -qm z; "
           "GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -q -i main; ")
PROGRAM = hook("p") + "; "
SIGNED = ("git cat-file commit HEAD | sed '/^committer/a gpgsig -----BEGIN PGP SIGNATURE-----\\n \\n x\\n "
          "-----END PGP SIGNATURE-----' >c; git update-ref HEAD $(git hash-object -t commit -w c); "
          "git update-ref ORIG HEAD")


def configured(text, before="", after=""):
    """Adds lines to the configuration without git."""
    return f"{before}printf '{text}' >>{TOP}/config; {after}"


MORE = [
    ("plain", configured(f"[filter \"x\"]\\nclean = {RUN}\\n", INFO, "echo 9 >f")),
    ("plain", configured(f"[filter \"x\"]\\nprocess = {RUN}\\n", INFO, "echo 9 >f")),
    ("plain", configured(f"[filter \"x\"]\\nclean = {RUN}\\n", "echo '* filter=x' >.gitattributes; ", "echo 9 >f")),
    ("plain", configured(f"[diff \"x\"]\\ntextconv = {RUN}\\n", INFO)),
    ("plain", configured(f"[diff \"x\"]\\ncommand = {RUN}\\n", INFO, "echo 9 >f")),
    ("plain", configured(f"[diff]\\nexternal = {RUN}\\n", "", "echo 9 >f")),
    ("plain", configured(f"[merge \"x\"]\\ndriver = {RUN}\\n",
                         INFO + STOPPED.replace("echo 5 >z; git add z", "echo 5 >f; git add f"))),
    ("plain", configured(f"[remote \"o\"]\\nurl = .\\nuploadpack = {RUN}\\n")),
    ("plain", configured(f"[protocol \"ext\"]\\nallow = always\\n[remote \"o\"]\\nurl = ext::sh -c touch%% ${MARK}\\n")),
    ("plain", configured(f"[protocol \"ext\"]\\nallow = always\\n[url \"ext::sh -c touch%% ${MARK} \"]\\ninsteadOf = x:\\n"
                         "[remote \"o\"]\\nurl = x:y\\n")),
    ("plain", configured(f"[core]\\nsshCommand = {RUN}\\n[remote \"o\"]\\nurl = ssh://localhost/x\\n")),
    ("plain", configured("[core]\\ngitProxy = ./p\\n[remote \"o\"]\\nurl = git://localhost/x\\n", PROGRAM)),
    ("plain", configured("[commit]\\ngpgSign = true\\n[gpg]\\nprogram = ./p\\n", PROGRAM)),
    ("plain", configured("[commit]\\ngpgSign = true\\n[gpg]\\nformat = ssh\\n[gpg \"ssh\"]\\ndefaultKeyCommand = sh ./p\\n",
                         PROGRAM)),
    ("plain", configured("[user]\\nsigningKey = k\\n[commit]\\ngpgSign = true\\n[gpg]\\nformat = ssh\\n[gpg \"ssh\"]\\n"
                         "program = ./p\\n", PROGRAM)),
    ("plain", configured("[user]\\nsigningKey = k\\n[commit]\\ngpgSign = true\\n[gpg]\\nformat = x509\\n[gpg \"x509\"]\\n"
                         "program = ./p\\n", PROGRAM)),
    ("plain", configured("[log]\\nshowSignature = true\\n[gpg]\\nprogram = ./p\\n", PROGRAM, SIGNED)),
    ("plain", configured("[includeIf \"gitdir:**\"]\\npath = ../evil.inc\\n", PREPARE)),
    ("plain", configured("[includeIf \"onbranch:**\"]\\npath = ../evil.inc\\n", PREPARE)),
    ("plain", configured("[remote \"o\"]\\nurl = x\\n[includeIf \"hasconfig:remote.*.url:**\"]\\npath = ../evil.inc\\n",
                         PREPARE)),
    ("plain", configured("[core]\\nalternateRefsCommand = ./p\\n[remote \"o\"]\\nurl = ./e/r\\n",
                         PROGRAM + repository("e"), "git -C e/r config --unset core.fsmonitor; "
                         f"echo $PWD/e/r/.git/objects >{GIT}/objects/info/alternates")),
    ("plain", configured("[core]\\nhooksPath = h\\n", "mkdir h; " + hook("h/reference-transaction") + "; ")),
    ("plain", configured("[extensions]\\nworktreeConfig = true\\n", "", f"printf '[core]\\nhooksPath = h\\n' "
                         f">{GIT}/config.worktree; mkdir h; {hook('h/pre-commit')}")),
    ("plain", f"{hook(f'{GIT}/hooks/post-rewrite')}; {STOPPED}"),
    ("plain", f"{STOPPED}printf '\\texec\\t{RUN}\\n' >>{GIT}/rebase-merge/git-rebase-todo"),
    ("plain", f"{STOPPED}mv {GIT}/rebase-merge {GIT}/m; echo 'x {RUN}' >>{GIT}/m/git-rebase-todo; "
              f"ln -s m {GIT}/rebase-merge"),
    ("submodule", f"echo 1 >sub/x; git -C sub add x; git -C sub commit -qm x; touch sub/x; echo 2 >sub/x; "
                  f"mkdir -p {GIT}/modules/sub/info; echo '* filter=x' >{GIT}/modules/sub/info/attributes; "
                  f"git -C sub config filter.x.clean '{RUN}'"),
    ("submodule", "rm sub/.git; cp -r .git/modules/sub sub/.git; git config -f sub/.git/config --unset core.worktree; "
                  "git -C sub commit -q --allow-empty -m y; mkdir -p sub/.git/hooks; "
                  f"{hook('sub/.git/hooks/post-checkout')}"),
    ("submodule", f"git -C sub commit -q --allow-empty -m y; {hook(f'{GIT}/modules/sub/hooks/reference-transaction')}"),
    ("submodule", f"git -C sub commit -q --allow-empty -m y; {hook(f'{GIT}/modules/sub/hooks/post-checkout')}"),
    ("submodule", f"git -C sub config include.path evil.inc; printf '[core]\\nfsmonitor = {RUN}\\n' "
                  f">{GIT}/modules/sub/evil.inc"),
    ("worktree", f"git config filter.x.clean '{RUN}'; echo '* filter=x' >.gitattributes; echo 9 >f"),
    ("worktree", f"git config core.hooksPath $PWD/h; mkdir h; {hook('h/pre-commit')}"),
    ("worktree", f"{STOPPED.replace('main', 'main~0')}echo 'x {RUN}' >>{GIT}/rebase-merge/git-rebase-todo"),
    ("worktree", repository("e", "git update-index --split-index; git add e/r")),
    ("relative", hook(f"{TOP}/hooks/reference-transaction")),
    ("relative", repository("e", f"printf \"$PWD/e/r/.git\" >{GIT}/commondir; rm -f {GIT}/gitdir")),
]
# Ways through the copies of configurations that a command may change.
SEEN = f"$(readlink {GIT}/config || echo {GIT}/config)"
WAYS += [
    ("plain", f"cp {GIT}/config c; printf '[core]\nfsmonitor = {RUN}\n' >>c; git status; mv -f c {SEEN}"),
    ("plain", f"cp {GIT}/config c; printf '[core]\nfsmonitor = {RUN}\n' >>c; git status; ln -sf $PWD/c {SEEN}"),
    ("plain", f"{hook('h')}; git config user.name b; git config core.fsmonitor $PWD/h"),
    ("plain", f"git config extensions.worktreeConfig true; git config --worktree core.fsmonitor '{RUN}'"),
    ("plain", f"git config --worktree core.sparseCheckout false; printf '[core]\nfsmonitor = {RUN}\n' >{GIT}/config.worktree"),
    ("plain", f"git config --file {SEEN} core.fsmonitor '{RUN}'"),
    ("plain", repository("e", "git config core.worktree $PWD/e/r")),
    ("plain", repository("e", f"git -C e/r config uploadpack.packObjectsHook '{RUN}'; git config remote.o.url $PWD/e/r; "
                              "git config remote.o.fetch '+refs/heads/*:refs/remotes/o/*'")),
    ("plain", repository("e", "git config extensions.partialClone o; git config remote.o.promisor true; "
                              f"git config remote.o.url $PWD/e/r; git -C e/r config uploadpack.packObjectsHook '{RUN}'")),
    ("plain", f"git config remote.o.url 'ssh://-oProxyCommand={RUN}/x'"),
    ("plain", f"git config url.ext::x.insteadOf y; git config remote.o.url 'ext::sh -c \'{RUN}\''"),
    ("plain", f"printf '[co\\\nre]\nfsmonitor = {RUN}\n' >>{SEEN}; git status"),
    ("plain", f"printf '[core] fsmonitor = {RUN}\n' >>{SEEN}; git status"),
    ("plain", f"printf '\357\273\277[core]\r\nfsmonitor = {RUN}\r\n' >{SEEN}; git status"),
    ("submodule", f"git -C sub config core.worktree $PWD; git -C sub config core.fsmonitor '{RUN}'"),
    ("submodule", f"git submodule deinit -f sub; git config submodule.sub.url 'ext::sh -c \'{RUN}\''"),
    ("submodule", f"git submodule init; git config submodule.sub.update '!{RUN}'"),
    ("worktree", f"git config core.sshCommand '{RUN}'; git config remote.o.url ssh://x/y"),
    ("worktree", f"git config extensions.worktreeConfig true; git config --worktree core.fsmonitor '{RUN}'"),
]
# Ways that only a reader of git's sources finds: crafted indexes, pointers, states of a rebase, names that are taken.
HEAD = "H=$(git -C e/r rev-parse HEAD); "
ADD = "git update-index --add --cacheinfo 160000,$H,"
TWICE = "git -C sub commit -q --allow-empty -m y; "


def edited(before, after):
    """Edits the index, as no git does."""
    return f"LC_ALL=C sed -i 's#{before}#{after}#' {GIT}/index"


def pointed(copy, target, more=""):
    """Makes a submodule whose repository is elsewhere below `modules`."""
    return repository("e", f"{HEAD}mkdir -p {GIT}/modules; {more}cp -r e/r/.git{copy} {GIT}/modules{target}; mkdir d; "
                           f"echo 'gitdir: ../.git/modules{target}' >d/.git; {ADD}d")


def decoys(at):
    """Takes the names under which entries are put aside."""
    return f"for i in $(seq 1100); do echo >{at}/put-aside-$i-git; echo >{at}/put-aside-$i; done; "


STRATEGY = "mkdir git-merge-x; " + hook("git-merge-x/evil") + "; "
REBASING = (f"mkdir {TOP}/rebase-merge; touch {TOP}/rebase-merge/interactive; echo refs/heads/main >{TOP}/rebase-merge/head-name; "
            f"for i in onto orig-head; do git rev-parse HEAD >{TOP}/rebase-merge/$i; done; ")
PICKED = ("git checkout -q -b t HEAD~1; echo 5 >f; git commit -qam z; echo 6 >g; git add g; git commit -qm g; "
          "git checkout -q main; git cherry-pick t~1 t; ")
READ = [
    ("plain", pointed("/.", "", "")),
    ("plain", pointed("", "/a/b", f"mkdir {GIT}/modules/a; cp {GIT}/HEAD {GIT}/modules/a; ")),
    ("submodule", pointed("", "/sub/n")),
    ("submodule", pointed("", "/sub/n/.git", f"mkdir {GIT}/modules/sub/n; ")),
    ("submodule", repository("e", "mkdir -p e/d e/.git/modules; cp -r e/r/.git e/.git/modules/sub; ln -s e/d l; "
                                  "echo 'gitdir: ../l/../.git/modules/sub' >sub/.git")),
    ("plain", repository("e", "git add e/r; " + edited(r"\x00\x00\xe0\x00", r"\x00\x00\xe1\xa4"))),
    ("plain", repository("e", f"{HEAD}{ADD}x/ab/e/r; mkdir x; " + edited("x/ab/e/r", "x/../e/r"))),
    ("plain", repository("e", f"{HEAD}{ADD}x${{PWD#/}}/e/r; " + edited("x'\"${PWD#/}\"'/e/r", "/'\"${PWD#/}\"'/e/r"))),
    ("plain", repository("e", f"{HEAD}git update-index --split-index; rm f; mv e/r f; {ADD}f")),
    ("plain", repository("e", decoys(".") + decoys(GIT) + "git add e/r")),
    ("plain", repository("e", "at=.; for i in 1 2 3 4 5 6 7 8 9 10; do at=$at/n; git init -q $at; done; mv e/r $at/n; "
                              "while git -C $at add n && [ $at != . ]; do git -C $at commit -q --allow-empty -m n; "
                              "at=${at%/n}; done")),
    ("plain", f"{STRATEGY}{STOPPED}echo x/evil >{GIT}/rebase-merge/strategy"),
    ("plain", f"{STRATEGY}{PICKED}printf '[options]\\nstrategy = x/evil\\n' >{GIT}/sequencer/opts"),
    ("plain", repository("e", f"git -C e/r config remote.o.url .; git -C e/r config remote.o.uploadpack '{RUN}'; "
                              "mv .git g2; cp e/r/.git/HEAD .; echo e/r/.git >commondir")),
    ("hooked", f"{TWICE}chmod +x {GIT}/modules/sub/hooks/post-checkout"),
    ("hooked", f"{TWICE}mkdir t; {hook('t/hook')}; ln -sf $PWD/t/hook {GIT}/modules/sub/hooks/reference-transaction"),
    ("hooked", f"{TWICE}{hook('tools/hook')}"),
    ("named", f"{TWICE}mkdir sub/h; {hook('sub/h/post-checkout')}"),
    ("worktree", f"{REBASING}echo 'exec {RUN}' >{TOP}/rebase-merge/git-rebase-todo"),
    ("relative", f"{REBASING}mv {TOP}/rebase-merge {TOP}/m; echo 'exec {RUN}' >{TOP}/m/git-rebase-todo; ln -s m {TOP}/rebase-merge"),
]
# Git folders at other places in the folder, and places that the operator's own configuration names. Each shape has
# lines that are added to the operator's `.gitconfig`.
COMMITS = START.partition(" && ")[2]
DRIVER = f"echo '* diff=x' >{GIT}/info/attributes; git config diff.x.textconv '{RUN}'"
MONITOR = f"mkdir -p tools; {hook('tools/monitor')}"
SHAPES |= {
    "separate": f"git init -q -b main --separate-git-dir=gd . && echo /gd >gd/info/exclude && {COMMITS}",
    "deep": f"mkdir a && git init -q -b main --separate-git-dir=a/gd . && echo /a >a/gd/info/exclude && {COMMITS}",
    "linked": f"{START} && mv .git store && ln -s store .git && echo /store >.git/info/exclude",
    "layout": f"git init -q -b main ../seed && cd ../seed && {COMMITS} && cd ../work && git clone -q --bare ../seed .bare && "
              "echo 'gitdir: ./.bare' >.git && git worktree add -q tree main && git -C tree config user.name a && "
              "git -C tree config user.email a@b",
    "hookspath": f"{START} && mkdir .githooks && echo old >.githooks/commit-msg && git add . && git commit -qm h --no-verify",
    "unborn": "true",
    "tilde": START,
    "missing": f"{START} && git config core.fsmonitor ./tools/monitor && git config filter.x.clean 'sh clean.sh %f' && "
               "echo 'f filter=x' >.git/info/attributes",
    "toplevel": f"{START} && mkdir tools && touch tools/monitor && chmod +x tools/monitor && git add . && "
                "git commit -qm tools && git config core.fsmonitor '\"$(git rev-parse --show-toplevel)/tools/monitor\"'",
    "below": f"cd .. && {START} && git init -q -b main ../lib && git -C ../lib commit -q --allow-empty -m one && "
             "git -c protocol.file.allow=always submodule --quiet add ../lib work/sub && git commit -qm sub && "
             "git config core.hooksPath work/.githooks",
    "modulehooks": f"{START} && {SUBMODULE}",
    "job": f"{START} && {SUBMODULE}",
    "elsewhere": f"{START} && {SUBMODULE} && mv .git/modules/sub store && echo 'gitdir: ../store' >sub/.git && "
                 "git config -f store/config core.worktree ../sub && echo /store >.git/info/exclude",
}
SETTINGS = "[user]\n\tname = a\n\temail = a@b\n[protocol \"file\"]\n\tallow = always\n"
GLOBAL = {
    "hookspath": "[core]\n\thooksPath = .githooks\n",
    "modulehooks": "[core]\n\thooksPath = .githooks\n",
    "unborn": "[core]\n\thooksPath = .githooks\n",
    "tilde": "[include]\n\tpath = ~/../ground/work/inc\n",
    "missing": "[core]\n\thooksPath = .githooks\n",
}
# Ways that a job leaves begin with this sign; a job that ends so is stopped.
JOB, WAITS = "&", "sleep 60"
OTHER_FOLDERS = [
    *[(shape, way) for shape in ["separate", "deep", "linked"] for way in [
        f"git config core.fsmonitor '{RUN}'",
        hook(f"{GIT}/hooks/pre-commit"),
        f"g=$(readlink -f {GIT}); mv $g $g-2; cp -r $g-2 $g; printf '[core]\nfsmonitor = {RUN}\n' >>$g/config",
        repository("e", "git add e/r"),
        f"{STOPPED}echo 'x {RUN}' >>{GIT}/rebase-merge/git-rebase-todo",
        repository("e", "rm .git; echo \"gitdir: $PWD/e/r/.git\" >.git"),
    ]],
    ("deep", f"mv a b; cp -r b a; printf '[core]\nfsmonitor = {RUN}\n' >>a/gd/config"),
    ("layout", DRIVER),
    ("layout", f"mv .bare b; cp -r b .bare; {DRIVER}"),
    ("layout", f"git config remote.o.uploadpack '{RUN}'; git config remote.o.url ."),
    ("layout", hook(f"{GIT}/hooks/reference-transaction") + "; git config remote.o.url ../seed; git config remote.o.fetch "
               "+refs/heads/*:refs/remotes/o/*"),
    ("hookspath", hook(".githooks/pre-commit")),
    ("hookspath", f"chmod +x .githooks/commit-msg; {hook('.githooks/commit-msg')}"),
    ("hookspath", f"mv .githooks x; mkdir .githooks; {hook('.githooks/post-commit')}"),
    ("modulehooks", f"git -C sub commit -q --allow-empty -m y; mkdir sub/.githooks; {hook('sub/.githooks/post-checkout')}"),
    ("elsewhere", f"git -C sub config core.fsmonitor '{RUN}'"),
    ("elsewhere", f"mv store s; cp -r s store; git -C sub config core.fsmonitor '{RUN}'"),
    ("unborn", f"{START}; mkdir .githooks; {hook('.githooks/pre-commit')}"),
    ("tilde", f"printf '[core]\nfsmonitor = {RUN}\n' >inc"),
    ("tilde", f"printf '[core]\nfsmonitor = {RUN}\n' >z; ln -s z inc"),
    ("missing", MONITOR),
    ("missing", f"echo '{RUN}' >clean.sh; echo 9 >f"),
    ("missing", f"mkdir .githooks; {hook('.githooks/pre-commit')}"),
    ("missing", f"mkdir x; {hook('x/pre-commit')}; ln -s x .githooks"),
    ("toplevel", MONITOR),
    ("toplevel", f"mv tools t; {MONITOR}"),
    ("below", f"mkdir .githooks; {hook('.githooks/pre-commit')}"),
    ("below", repository("e", "echo \"gitdir: $PWD/e/r/.git\" >sub/.git")),
    ("below", repository("e", "rm sub/.git; cp -r e/r/.git sub/.git")),
    ("below", repository("e", "mv e/r/.git .git")),
    ("job", JOB + repository("e", "git add e/r")),
    ("job", JOB + f"sleep 1; {STOPPED}echo 'x {RUN}' >>{GIT}/rebase-merge/git-rebase-todo"),
    ("job", JOB + f"git -C sub commit -q --allow-empty -m y; {hook(f'{GIT}/modules/sub/hooks/post-checkout')}"),
    ("job", JOB + repository("e", "echo \"gitdir: $PWD/e/r/.git\" >sub/.git") + "; " + WAITS),
    ("separate", JOB + f"sleep 1; {hook(f'{GIT}/hooks/pre-commit')}; git config core.fsmonitor '{RUN}'"),
]
# Honest work, by shape; afterwards `git status` is clean.
WORK = ("echo 3 >f && git commit -qam three && git switch -q -c side HEAD~1 && echo 4 >g && git add g && "
        "git commit -qm four && git switch -q - && git merge -q side && git cherry-pick HEAD~1 || git cherry-pick --skip; "
        "git rebase -q --root 2>&1; git reset -q --hard && git stash list && git branch -d side; git gc -q && git tag v1")
# A branch without a protected file would need to remove it.
AHEAD = WORK.replace(" HEAD~1 && echo 4", " && echo 4").replace("git cherry-pick HEAD~1 || git cherry-pick --skip", "true")
AHEAD = AHEAD.replace("git rebase -q --root 2>&1", "git rebase -q HEAD~1 2>&1")
# Work that changes git's configuration.
CONFIGURED = ("git branch b && git branch -m b c && git config branch.c.description x && git branch -q -D c && "
              "git remote add two . && git fetch -q two && git remote rename two three && git remote remove three && "
              "git config pull.rebase true && git sparse-checkout set f && git sparse-checkout disable")
HONEST = {
    "plain": [WORK, CONFIGURED, "git worktree add -q wt -b wt && git worktree remove wt", "git init -q n && rm -rf n"],
    "submodule": [AHEAD, CONFIGURED, "git submodule --quiet deinit -f sub && git submodule --quiet update --init",
                  "git -C sub commit -q --allow-empty -m x && git add sub && git commit -qm sub"],
    "worktree": [WORK, CONFIGURED],
    "relative": [WORK, CONFIGURED],
    "cloned": [AHEAD, "git fetch -q"],
    "old": ["git -C nested submodule --quiet update --init --recursive"],
    "nested": [WORK, "git -C nested commit -q --allow-empty -m x"],
    "separate": [WORK, CONFIGURED],
    "deep": [WORK],
    "linked": [WORK, CONFIGURED],
    "layout": ["cd tree && echo 3 >f && git commit -qam three && git switch -q -c side", "git worktree add -q more -b more"],
    "hookspath": [AHEAD],
    "modulehooks": [AHEAD],
    "tilde": [WORK],
    "missing": [WORK],
    "toplevel": [AHEAD],
    "elsewhere": [AHEAD, "git -C sub commit -q --allow-empty -m x && git add sub && git commit -qm sub"],
    "below": ["echo 1 >g; rm g"],
}


class Model(ShellService):
    """The service in whose conversations contained commands run unasked."""

    def __init__(self, folder):
        user = folder / "user"
        super().__init__(folder, user, TMPDIR="/tmp")
        self.start()

    def bash(self, folder, lines):
        """Runs commands one after another in a conversation of that folder; their results."""
        made = self.expect(201, "POST", "/v1/conversations", {"workspace": str(folder)})["id"]
        path = f"/v1/conversations/{urllib.parse.quote(made)}"
        self.order("PATCH", f"{path}/settings", {"settings": {"mode": "sandbox"}})
        results = []
        for line in lines:
            if not line.startswith(JOB):
                results.append(self.shell(made, command=line)[0])
                continue
            results.append(self.shell(made, command=line.removeprefix(JOB), background=True)[0])
            if line.endswith(WAITS):
                time.sleep(1)
                for job in self.expect(200, "GET", f"{path}/jobs")["jobs"]:
                    self.order("POST", f"{path}/jobs/{job['job']}/stop", {})
            wait_until("the job has ended", lambda: not self.expect(200, "GET", f"{path}/jobs")["jobs"])
        return results


def shell(script, folder, environment):
    """Runs a script as the operator."""
    return subprocess.run(["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False, timeout=60)


class Ground:
    """Copies of each shape."""

    def __init__(self, folder):
        self.folder, self.user = folder, folder / "user"
        self.environment = {**COMMON, "HOME": str(self.user), MARK: str(folder / "mark"), "GIT_EDITOR": "true",
                            "GIT_TERMINAL_PROMPT": "0"}
        self.count = 0

    def make(self, shape):
        """A new repository of that shape, always at the same path, so that its pointers hold."""
        (self.user / ".gitconfig").write_text(SETTINGS + GLOBAL.get(shape, ""))
        place = self.folder / "ground"
        shutil.rmtree(place, ignore_errors=True)
        kept = self.folder / "shapes" / shape
        if not kept.exists():
            (place / "work").mkdir(parents=True)
            done = shell(SHAPES[shape], place / "work", self.environment)
            if done.returncode != 0:
                raise Failure(f"{shape}: {done.stdout}{done.stderr}")
            shutil.copytree(place, kept, symlinks=True)
        else:
            shutil.copytree(kept, place, symlinks=True)
        return place / "work"

    def look(self, work):
        """The operator's git at work; True if a program left its mark."""
        mark = self.folder / "mark"
        mark.unlink(missing_ok=True)
        # The repository of a linked worktree has a folder of its own.
        for folder in [work, work.parent / "main"]:
            for words in LOOKS if folder.exists() else []:
                subprocess.run(["git", *words], cwd=folder, env=self.environment, capture_output=True, check=False,
                               stdin=subprocess.DEVNULL, timeout=60)
        return mark.exists()


def main():
    """Tries everything, and prints a line for each shape."""
    with tempfile.TemporaryDirectory(prefix="harness-ways-", dir="/var/tmp" if not os.access("/srv", os.W_OK) else "/srv") as folder:
        folder = Path(folder)
        ground = Ground(folder)
        model = Model(folder)
        try:
            failures = [] if BARE else honest(model, ground)
            failures += ways(model, ground)
        finally:
            model.kill()
    for failure in failures:
        print(f"FAILED {failure}", flush=True)
    sys.exit(1 if failures else 0)


def honest(model, ground):
    """Honest work in each shape."""
    failures = []
    for shape, lines in HONEST.items():
        if ONLY and shape not in ONLY:
            continue
        work = ground.make(shape)
        results = model.bash(work, lines)
        status = shell("git status --porcelain", work, ground.environment).stdout
        told = [result for result in results
                if any(words in result for words in ["put aside", "put back", "config file", "was not changed"])]
        if status or told:
            failures.append(f"honest work in {shape}: status {status!r}, {told}")
        print(f"honest work in {shape}: {len(lines)} commands, status {'clean' if not status else status!r}", flush=True)
    return failures


def ways(model, ground):
    """Each way, in its shape or in all."""
    failures, tried, ran = [], 0, 0
    for made_for, line in WAYS + MORE + READ + OTHER_FOLDERS:
        for shape in SHAPES if FULL else [made_for]:
            if ONLY and shape not in ONLY:
                continue
            work = ground.make(shape)
            tried += 1
            if BARE:
                line = line.removeprefix(JOB).removesuffix(WAITS)
                result = shell(line, work, ground.environment).stderr
            else:
                result = model.bash(work, [line])[-1]
            if ground.look(work):
                ran += 1
                if BARE:
                    continue
                failures.append(f"{shape}: {line}\n    {result}")
            elif BARE:
                print(f"  ran nothing: {shape}: {line}\n    {result}", flush=True)
    print(f"ways tried: {tried}, ran a program: {ran}", flush=True)
    return failures


if __name__ == "__main__":
    main()
