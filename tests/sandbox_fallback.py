#!/usr/bin/env python3
"""The same service on machines that lack what contains commands best: without namespaces, where commands are
contained by Landlock, and without both. HARNESS_BIN is the program.

    tests/sandbox_fallback.py            every lack
    tests/sandbox_fallback.py LACK…      some of them: refused counted both

Lacks: `refused`, the calls that make namespaces are refused, as in most containers; `counted`, the setting
user.max_user_namespaces is 0; `both`, neither namespaces nor Landlock. As root it is tried as root and as an ordinary
user, else as the one who runs it. A lack that cannot be made here is a row `not available`, and exit code 77.

Spec: [BOX-11] [BOX-20] [BOX-200] [BOX-201] [BASH-07] [BASH-203]
"""

import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))
from harness import LIMIT, Failure  # noqa: E402
from shell import ShellService  # noqa: E402

# A user that nobody is.
OTHER = "54321"
CALLS = Path(__file__).resolve().parent / "sandbox_calls.py"
os.environ["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Becomes a program in a user namespace that may have none in it, and without capabilities.
COUNTED = ("unshare --user --map-current-user --keep-caps sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && "
           "exec setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all \"$@\"' -")
# How each is made, what contains commands then, and the words of the reason why namespaces do not.
LACKS = {
    "refused": ("{calls} without namespaces", "landlock", "Operation not permitted"),
    "counted": (COUNTED, "landlock", "user namespaces are switched off by user.max_user_namespaces"),
    "both": ("{calls} without both", "none", "Operation not permitted"),
}


def expect(what, is_so, told=""):
    """Holds to something."""
    if not is_so:
        raise Failure(f"{what}: {told}")


class Ground:
    """A folder of a user, with the program as it starts on a machine that lacks something."""

    def __init__(self, folder, user, lack):
        self.folder, self.user, self.lack = folder, user, lack
        by, self.backend, self.reason = LACKS[lack]
        shutil.copy(os.environ["HARNESS_PROGRAM"], folder / "program")
        shutil.copy(CALLS, folder / "calls")
        become = ""
        if user == "ordinary" and os.geteuid() == 0:
            become = f"setpriv --reuid {OTHER} --regid {OTHER} --clear-groups "
        self.starter = folder / "starter"
        self.starter.write_text(f"#!/bin/sh\nexec {become}{by.format(calls=folder / 'calls')} \"$@\"\n")
        program = folder / "harness"
        program.write_text(f"#!/bin/sh\nexec {self.starter} {folder / 'program'} \"$@\"\n")
        for file in (folder / "calls", self.starter, program):
            file.chmod(0o755)
        os.environ["HARNESS_BIN"] = str(program)

    def own(self, *paths):
        """Gives all of it to the user."""
        if self.user == "ordinary" and os.geteuid() == 0:
            subprocess.run(["chown", "-R", f"{OTHER}:{OTHER}", *paths], check=True)

    def lacks(self):
        """Whether a process can be started that lacks it; the reason if not."""
        done = subprocess.run([self.starter, "true"], capture_output=True, text=True, check=False)
        return None if done.returncode == 0 else done.stderr.strip() or f"exit {done.returncode}"

    def doctor(self, *flags):
        """What `harness doctor --sandbox` says."""
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder / "user")}
        command = [os.environ["HARNESS_BIN"], "doctor", "--sandbox", *flags]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=self.folder)
        expect("doctor --sandbox", done.returncode == int(self.backend == "none"), done.stdout + done.stderr)
        return done.stdout


class Contained(ShellService):
    """The service and a conversation in its folder."""

    def __init__(self, ground, name, *flags):
        folder, user = ground.folder / name, ground.folder / "user"
        super().__init__(folder, user, *flags)
        self.outside = folder / "outside"
        self.outside.mkdir()
        self.work = folder / "workspace"
        ground.own(folder, user)
        self.start()
        self.conversation = self.create()

    def call(self, method, path, body=None, limit=LIMIT, headers=None):
        """A request with the token: it may be another user's service."""
        token = self.home / "token"
        own = {"authorization": f"Bearer {token.read_text().strip()}"} if token.exists() else {}
        return super().call(method, path, body, limit, {**own, **(headers or {})})

    def bash(self, command, access="write", **more):
        """Runs a command, which is allowed if it asks; the result, and what was asked."""
        return self.shell(self.conversation, command=command, access=access, **more)

    def git(self, *words):
        """Git in the folder of the conversation, from outside."""
        command = ["git", "-c", "safe.directory=*", "-C", self.work, *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def s8_the_doctor_names_the_backend_and_the_reason(ground):
    """What contains commands, and why nothing better does, as text and as JSON."""
    told = json.loads(ground.doctor("--json"))
    expect("the backend", told["backend"] == ground.backend, told)
    tried = {one["backend"]: one for one in told["tried"]}
    expect("namespaces", not tried["namespaces"]["works"] and ground.reason in tried["namespaces"]["reason"], tried)
    expect("landlock", tried["landlock"]["works"] == (ground.backend == "landlock"), tried)
    text = ground.doctor()
    expect("the text", f"commands are contained by: {ground.backend}\n" in text, text)
    line = next(line for line in text.splitlines() if line.startswith("namespaces "))
    expect("the reason", "does not work: " in line and ground.reason in line, line)


def s8_what_asks(ground):
    """With Landlock what reads runs unasked and what writes asks; without anything all asks, and no rule helps."""
    service = Contained(ground, "asks")
    try:
        held = ground.backend == "landlock"
        told, asked = service.bash("echo ran", "read")
        expect("it runs", told.startswith("ran\n"), told)
        expect("what reads asks where nothing holds", (asked is None) == held, asked)
        told, asked = service.bash("echo ran >file; cat file")
        expect("it runs", told.startswith("ran\n"), told)
        expect("what writes asks", asked is not None and asked["command"]["backend"] == ground.backend, asked)
        expect("answers itself", asked["command"].get("answers_itself", False) != held, asked)
        expect("the gaps are named", asked["command"]["gaps"], asked)
        if not held:
            expect("no rule is offered", asked["scopes"] == ["once"], asked)
    finally:
        service.kill()


def s8_required_refuses_where_nothing_holds(ground):
    """`sandbox = required`."""
    service = Contained(ground, "required", "--sandbox", "required")
    try:
        told, asked = service.bash("echo ran", "read")
        if ground.backend == "landlock":
            expect("it runs", told.startswith("ran\n") and asked is None, told)
        else:
            expect("it is refused", "no command is run" in told and asked is None, told)
            told, asked = service.bash("echo ran >file", "full")
            expect("it is refused", "no command is run" in told and asked is None, told)
            expect("nothing was written", not (service.work / "file").exists())
    finally:
        service.kill()


def s13_a_hook_is_put_back_before_the_result(ground):
    """What a command did to the places of git is taken back when its result is told, and git works on."""
    service = Contained(ground, "hooks")
    try:
        for words in (["init", "-q", "-b", "main"], ["config", "user.name", "x"], ["config", "user.email", "x@x"]):
            service.git(*words)
        hooks, config = service.work / ".git/hooks", service.work / ".git/config"
        (hooks / "commit-msg").write_text("#!/bin/sh\n")
        (hooks / "commit-msg").chmod(0o755)
        ground.own(service.work)
        was = config.read_bytes()
        told, _ = service.bash("echo x >new && git add new && git commit -qm one && git log --format=%s")
        expect("git works", told.startswith("one\n"), told)
        for line, says in (
            ("echo evil >.git/hooks/pre-commit", "put aside"),
            ("mkdir h && echo evil >h/pre-commit && mv .git/hooks .git/old && mv h .git/hooks", "put"),
            ("echo evil >.git/hooks/commit-msg", "put back"),
            ("rm -r .git/hooks", "put back"),
            ("git config core.hooksPath /tmp", "put back"),
            ("git config core.fsmonitor evil", "put back"),
            ("echo evil >.envrc", "the command's version was taken back"),
            # The repository stays where it was moved to, but the new one runs nothing.
            ("mv .git g && git init -q && echo evil >.git/hooks/pre-commit", "put"),
        ):
            told, _ = service.bash(line)
            expect(f"{line} is told", says in told, told)
            expect(f"{line} is taken back", not (hooks / "pre-commit").exists(), told)
            expect(f"{line} is taken back", (hooks / "commit-msg").read_text() == "#!/bin/sh\n", told)
            expect(f"{line} is taken back", config.read_bytes() == was, told)
            expect(f"{line} is taken back", not (service.work / ".envrc").exists(), told)
            expect("git works", line.startswith("mv .git g") or service.git("log", "--format=%s") == "one\n")
    finally:
        service.kill()


def s1_what_is_denied_is_told_with_its_path_and_the_access(ground):
    """Files outside, with the access that they need, and what is hidden."""
    service = Contained(ground, "outside")
    try:
        kept = service.outside / "file"
        kept.write_text("kept\n")
        ground.own(service.outside)
        for line, place in ((f"echo x >{kept}", kept), (f"rm -f {kept}", kept), (f"touch {kept}.new", f"{kept}.new"),
                            ("cd / && ls >/dev/null; echo x >../" + str(kept).lstrip("/"), kept)):
            told, _ = service.bash(line)
            expect(line, f"{place} can be written only with access full" in told, told)
            expect(line, kept.read_text() == "kept\n" and len(list(service.outside.iterdir())) == 1, told)
        told, _ = service.bash("touch new", "read")
        expect("a command that reads", f"{service.work / 'new'} can be written only with access write" in told, told)
        token = service.home / "token"
        told, _ = service.bash(f"cat {token}")
        expect("the token", f"{token} is hidden from commands" in told, told)
        expect("the token", token.read_text().strip() not in told, told)
    finally:
        service.kill()


def tries(ground):
    """What is tried with a lack."""
    tried = [s8_the_doctor_names_the_backend_and_the_reason, s8_what_asks, s8_required_refuses_where_nothing_holds]
    if ground.backend == "landlock":
        tried += [s13_a_hook_is_put_back_before_the_result, s1_what_is_denied_is_told_with_its_path_and_the_access]
    return tried


def grounds(lacks, missing):
    """A ground for each lack, as root and as an ordinary user, or as the one who runs it. What cannot be made here is a row,
    and is added to `missing`."""
    os.environ["HARNESS_PROGRAM"] = os.environ["HARNESS_BIN"]
    users, above = (["root", "ordinary"], "/") if os.geteuid() == 0 else (["ordinary"], os.environ["HOME"])
    for user, lack in itertools.product(users, lacks):
        folder = Path(tempfile.mkdtemp(prefix="harness-fallback-", dir=above))
        folder.chmod(0o755)
        try:
            ground = Ground(folder, user, lack)
            ground.own(folder)
            if reason := ground.lacks():
                print(f"{user:<9} {lack:<8} not available: {reason}", flush=True)
                missing.append(ground)
            else:
                yield ground
        finally:
            shutil.rmtree(folder)


def main():
    """Tries all of them, and prints a row for each."""
    failed, missing = 0, []
    for ground in grounds(sys.argv[1:] or LACKS, missing):
        for one in tries(ground):
            try:
                one(ground)
                result = "ok"
            except (Failure, OSError, KeyError, StopIteration, subprocess.SubprocessError) as failure:
                result, failed = f"FAILED: {failure!r}", failed + 1
            print(f"{ground.user:<9} {ground.lack:<8} {one.__name__:<56} {result}", flush=True)
    if failed:
        sys.exit(f"sandbox_fallback: {failed} failed")
    sys.exit(77 if missing else 0)


if __name__ == "__main__":
    main()
