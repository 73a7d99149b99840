#!/usr/bin/env bash
# Tries to get out of what contains a command, by every backend, and that ordinary work is possible in it. What
# each attempt has to come to stands in specs/examples/sandbox.tsv; a difference is a failure.
#
#   tests/sandbox.sh                 every attempt
#   tests/sandbox.sh NAME…           some of them; S7 names all of that case
#   tests/sandbox.sh --table         prints what came out in the form of the table, and compares nothing
#
# As root it is tried as root and as an ordinary user, else as the one who runs it. Nothing is tried that would
# harm the machine if it went through: without a backend it does.
#
# A row says the user, the case, the attempt, the backend and what came out. A backend that the machine does not have is
# a row `not available`, and so is an attempt that cannot be made; where `CI` is set both are failures, unless they are
# on record below. How the service gets along without a backend is in sandbox_fallback.py.
#
# An attempt proves something only if it goes through where nothing holds it. So the files, processes, terminals and
# ports that it is about are made here, and each attempt has to go through as root under `none`. Where an ordinary user
# cannot do it under `none` either, the reason is the owner or the mode of a file, a capability that only root has, the
# service, which closes its process to others, or a setting of the kernel (`any` in the table). The few that the
# launcher holds under `none`, too, have to go through without the launcher: the backend `bare`.
#
# Spec: [BOX-01], [BOX-02], [BOX-03], [BOX-04], [BOX-05], [BOX-06], [BOX-07], [BOX-08], [BOX-13], [BOX-14]
# Spec: [BOX-15], [BOX-16], [BOX-18], [BOX-202], [BOX-203], [BOX-450], [BOX-451], [BOX-452]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

binary=$(realpath "${HARNESS_BIN:-target/release/harness}")
expected=specs/examples/sandbox.tsv
backends=(namespaces landlock none)
# A user that nobody is.
other=54321
# The cost of a command under a backend, at most, as a multiple of what it takes at least.
most_times=6
toolchain=$(rustc --print sysroot 2>/dev/null || true)
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin${toolchain:+:$toolchain/bin}
unset XDG_RUNTIME_DIR TMPDIR

# What root mounts or unmounts without a backend is to stay in here.
if (( EUID == 0 )) && [[ -z "${HARNESS_APART:-}" ]]; then
    unshare --mount true 2>/dev/null || { echo 'sandbox: no mount namespace' >&2; exit 77; }
    exec env HARNESS_APART=1 unshare --mount --propagation private "$0" "$@"
fi

# Attempts that some machines, or users, cannot make: without a disk that root can read, extended attributes, a way to
# other machines, a family of sockets, `/proc/sysrq-trigger` or root.
may_lack=' attributes-outside read-only-attributes read-disk make-disk way-out bluetooth-socket crypto-socket sysrq socket-in-run '
may_lack+='setuid-program '
# Calls that some kernels are built without. What contains a command refuses them there, too.
kernel_may_lack=' kexec module ports '
# Backends that a machine of the checks is known to lack, as `[user backend]=words of the reason`. None is.
declare -A may_miss=()

table=false
[[ "${1:-}" != --table ]] || { table=true; shift; }
wanted=("$@")

if (( EUID == 0 )); then
    users=(root ordinary) base=$(mktemp -d /harness-sandbox.XXXXXX)
else
    users=(ordinary) base=$(mktemp -d "$HOME/harness-sandbox.XXXXXX")
fi
mark=${base##*.}
# The home folder of root, where the toolchain may be, is closed to the ordinary user.
tools=
if (( EUID == 0 )) && [[ -n "$toolchain" ]]; then
    tools=/harness-tools.$mark
    mkdir -m 755 "$tools"
    mount --bind "$toolchain" "$tools"
    export PATH=${PATH%:*}:$tools/bin
fi
lives=() waited=()
# Takes away what an attempt mounted without a backend.
unmount() {
    local mount
    while mount=$(grep -om1 " $base[^ ]*" /proc/mounts); do umount -l "${mount# }"; done
}

# Ends what an attempt left running without the launcher.
end_free() {
    local pid
    for pid in $(pgrep -f "harness-alive-$mark"); do kill -KILL "$pid" || true; done
}

finish() {
    local life
    end_free
    kill $(cat "$base"/*/pid) || true
    for life in "${lives[@]}"; do exec {life}>&-; done
    wait "${waited[@]}" || true
    unmount
    rmdir "/sys/fs/cgroup/harness-$mark" || true
    [[ -z "$tools" ]] || { umount -l "$tools"; rmdir "$tools"; }
    rm -rf "$base" "/run/harness-$mark" {/tmp,/var/tmp,/dev/shm}/harness-"$mark"* {/etc,/usr/bin}/harness-"$mark"
}
trap 'finish 2>/dev/null' EXIT

# --- the attempts -----------------------------------------------------------------------------------------
# Each has a kind, a name, whether the network is on, an access, and what the command does. Kinds: `escape` is
# held if the command fails, or if `proof`, which runs outside afterwards, does; `works` works if it succeeds.
# A command that ends with 77 says that it cannot be tried here.
# `of` is the case that those below it belong to. `needs` says what an attempt cannot be made without, as a command that
# runs outside beforehand.
names=() of=
declare -A kind network access command proof case_of condition
add() {
    local name=$2
    names+=("$name")
    case_of[$name]=$of kind[$name]=$1 command[$name]=$3 proof[$name]=${4:-} network[$name]=false access[$name]=write
    case $name in
        network-*) network[$name]=true ;;
        read-only-*) access[$name]=read ;;
        full-*) access[$name]=full ;;
    esac
}
escape() { add escape "$@"; }
works() { add works "$@"; }
needs() { condition[$1]=$2; }

# Files outside.
of=S1
escape write-outside 'echo x >$OUT/file' 'grep -qx x $OUT/file'
escape append-outside 'echo x >>$OUT/file' 'grep -qx x $OUT/file'
escape make-outside 'touch $OUT/new' '[[ -e $OUT/new ]]'
escape make-folder-outside 'mkdir $OUT/new' '[[ -e $OUT/new ]]'
escape make-pipe-outside 'mkfifo $OUT/new' '[[ -e $OUT/new ]]'
escape make-link-outside 'ln -s x $OUT/new' '[[ -L $OUT/new ]]'
escape remove-outside 'rm -f $OUT/file' '[[ ! -e $OUT/file ]]'
escape remove-folder-outside 'rmdir $OUT/empty' '[[ ! -e $OUT/empty ]]'
escape rename-outside 'mv $OUT/file $OUT/new' '[[ -e $OUT/new ]]'
escape rename-in 'echo x >f && mv f $OUT/new' '[[ -e $OUT/new ]]'
escape rename-out 'mv $OUT/file f' '[[ ! -e $OUT/file ]]'
escape rename-folder-above 'mv $HOME/work $HOME/away' '[[ -e $HOME/away ]]'
escape by-dots 'echo x >$WORK/../../outside/file' 'grep -qx x $OUT/file'
escape by-link 'ln -s $OUT/file l && echo x >l' 'grep -qx x $OUT/file'
escape by-link-of-folder 'ln -s $OUT l && touch l/new' '[[ -e $OUT/new ]]'
escape by-hard-link 'ln $OUT/file l && echo x >l' 'grep -qx x $OUT/file'
escape by-link-as-workspace 'touch $HOME/link/new' '[[ -e $OUT/new ]]'
escape by-own-descriptor 'echo x >/proc/self/cwd/../../outside/file' 'grep -qx x $OUT/file'
escape by-own-root 'echo x >/proc/self/root$OUT/file' 'grep -qx x $OUT/file'
# The first process is the machine's or, under `namespaces`, the one that holds the command, which is its parent.
escape by-first-process 'echo x >/proc/1/root$OUT/file || echo x >/proc/$PPID/root$OUT/file' 'grep -qx x $OUT/file'
escape by-mapping '$CALLS mapped $OUT/file' '[[ $(head -c1 $OUT/file) == x ]]'
escape by-handle '$CALLS open_by_handle $OUT/file' '[[ $(head -c1 $OUT/file) == x ]]'
escape by-bind-mount 'mkdir m && mount --bind $OUT m && touch m/new' '[[ -e $OUT/new ]]'
escape truncate-outside 'truncate -s0 $OUT/file' '[[ ! -s $OUT/file ]]'
escape chmod-outside 'chmod 600 $OUT/file' '[[ $(stat -c %a $OUT/file) == 600 ]]'
escape chown-outside 'chown :$(id -g) $OUT/file'
escape times-outside 'touch -d 2001-01-01 $OUT/file' '[[ $(stat -c %Y $OUT/file) -lt 1000000000 ]]'
escape attributes-outside '$CALLS setxattr $OUT/file'
escape write-etc 'touch /etc/harness-$MARK' '[[ -e /etc/harness-$MARK ]]'
escape write-programs 'touch /usr/bin/harness-$MARK' '[[ -e /usr/bin/harness-$MARK ]]'
escape write-home 'touch $HOME/new' '[[ -e $HOME/new ]]'
escape write-home-profile 'echo x >>$HOME/.bashrc' 'grep -qx x $HOME/.bashrc'
escape write-tmp 'touch /tmp/harness-$MARK-x' '[[ -e /tmp/harness-$MARK-x ]]'
escape write-shared-memory 'touch /dev/shm/harness-$MARK-x' '[[ -e /dev/shm/harness-$MARK-x ]]'
escape read-only-write 'echo x >new' '[[ -e $WORK/new ]]'
escape read-only-chmod 'chmod 600 $OUT/file' '[[ $(stat -c %a $OUT/file) == 600 ]]'
escape read-only-chmod-work 'chmod 777 file' '[[ $(stat -c %a $WORK/file) == 777 ]]'
escape read-only-chown 'chown :$(id -g) $OUT/file'
escape read-only-times 'touch -d 2001-01-01 $OUT/file' '[[ $(stat -c %Y $OUT/file) -lt 1000000000 ]]'
escape read-only-attributes '$CALLS setxattr $OUT/file'
escape read-only-commit 'git commit -qm x --allow-empty' '[[ $(git -C $WORK log --oneline | wc -l) -gt 1 ]]'

# Descriptors that whoever starts a command has open, as the service has many: 8 to write, 9 to read.
of=B9
escape inherited-to-read 'grep -q . <&9'
escape inherited-to-write 'echo x >&8' 'grep -qx x $OUT/opened'
escape inherited-by-path 'echo x >/proc/self/fd/8' 'grep -qx x $OUT/opened'

# What is hidden.
of=S3
escape hidden-read 'grep -q . $HOME/.ssh/id'
escape hidden-file 'grep -q . $HOME/.netrc'
escape hidden-by-dots 'grep -q . $WORK/../.ssh/../.ssh/id'
escape hidden-by-link 'ln -s $HOME/.ssh l && grep -q . l/id'
escape hidden-by-hard-link 'ln $HOME/.ssh/id l && grep -q . l'
escape hidden-by-rename 'mv $HOME/.ssh s && grep -q . s/id'
escape hidden-by-rename-at-home 'mv $HOME/.ssh $HOME/s && grep -q . $HOME/s/id'
escape hidden-by-copy 'cp -r $HOME/.ssh s && grep -q . s/id'
escape hidden-by-bind 'mkdir m && mount --bind $HOME m && grep -q . m/.ssh/id'
escape hidden-by-unmount 'umount $HOME/.ssh; grep -q . $HOME/.ssh/id'
escape hidden-by-root 'grep -q . /proc/self/root$HOME/.ssh/id'
escape hidden-by-first-process 'grep -q . /proc/1/root$HOME/.ssh/id || grep -q . /proc/$PPID/root$HOME/.ssh/id'
escape hidden-names '[[ -e $HOME/.ssh/id ]]'
escape hidden-in-workspace 'grep -q . $WORK/hidden/file'
escape full-hidden-read 'grep -q . $HOME/.ssh/id'
escape full-hidden-by-unmount 'umount $HOME/.ssh; grep -q . $HOME/.ssh/id'
escape full-hidden-write 'echo x >$HOME/.state/new' '[[ -e $HOME/.state/new ]]'
escape full-service-signal 'kill -0 $SERVICE'
escape full-service-environment 'grep -qa HARNESS /proc/$SERVICE/environ'
escape state-token 'grep -q . $STATE/token'
escape state-write 'echo x >$STATE/new' '[[ -e $STATE/new ]]; code=$?; rm -f $STATE/new; exit $code'
escape state-replace 'mv $HOME/.state $HOME/.old && mkdir $HOME/.state' '[[ -e $HOME/.old ]]'
escape state-by-service 'grep -q . /proc/$SERVICE/root$STATE/token'
escape state-by-temporary-folder 'grep -q . $TMPDIR/../../token'
escape read-shadow 'grep -q root /etc/shadow'
escape read-disk '$CALLS read-disk'
needs read-disk '$CALLS read-disk'
escape make-disk '$CALLS make-disk $WORK/disk'
needs make-disk '$CALLS make-disk $BASE/disk'

# What of git runs programs.
of=S4
escape hook-write 'echo x >.git/hooks/new' '[[ -e $WORK/.git/hooks/new ]]'
escape hook-by-link 'ln -s .git g && echo x >g/hooks/new' '[[ -e $WORK/.git/hooks/new ]]'
escape hook-by-rename 'mkdir h && touch h/new && mv -T .git/hooks .git/old && mv -T h .git/hooks' \
    '[[ -e $WORK/.git/hooks/new ]]'
escape hook-by-exchange 'mkdir h && touch h/new && $CALLS exchange h .git/hooks' '[[ -e $WORK/.git/hooks/new ]]'
escape hook-by-new-repository 'mv .git old && git init -q && touch .git/hooks/new' '[[ -e $WORK/.git/hooks/new ]]'
escape hook-by-copy 'cp -r .git new && rm -rf .git && mv new .git && touch .git/hooks/new' \
    '[[ -e $WORK/.git/hooks/new ]]'
escape hook-mode 'chmod 777 .git/hooks' '[[ $(stat -c %a $WORK/.git/hooks) == 777 ]]'
escape git-config 'git config core.hooksPath /tmp' 'git -C $WORK config core.hooksPath'
escape git-config-write 'echo "[core]hooksPath=/tmp" >>.git/config' 'git -C $WORK config core.hooksPath'
escape git-config-by-rename 'echo "[core]hooksPath=/tmp" >c && mv -f c .git/config' 'git -C $WORK config core.hooksPath'
escape guidance-write 'echo x >AGENTS.md' 'grep -qx x $WORK/AGENTS.md'
escape guidance-by-rename 'echo x >a && mv -f a AGENTS.md' 'grep -qx x $WORK/AGENTS.md'
escape guidance-remove 'rm -f AGENTS.md' '[[ ! -e $WORK/AGENTS.md ]]'

# Other processes.
of=S6
escape see-process '[[ -d /proc/$VICTIM ]]'
escape process-environment 'grep -q SECRET /proc/$VICTIM/environ'
escape process-memory '$CALLS read-memory $VICTIM'
escape process-root 'ls /proc/$VICTIM/root/'
escape process-folder 'ls /proc/$VICTIM/cwd/'
escape process-files 'readlink /proc/$VICTIM/fd/0'
escape process-priority 'echo 900 >/proc/$VICTIM/oom_score_adj'
escape process-signal 'kill -0 $VICTIM'
escape process-trace '$CALLS ptrace $VICTIM'
escape process-read '$CALLS process_vm $VICTIM'
escape process-descriptor '$CALLS pidfd_getfd $VICTIM'
escape process-compare '$CALLS kcmp $VICTIM'
escape process-namespace '$CALLS setns $VICTIM'
escape first-process-memory '$CALLS read-memory 1 || $CALLS read-memory $PPID'
escape first-process-trace '$CALLS ptrace 1 || $CALLS ptrace $PPID'
escape first-process-read '$CALLS process_vm 1 || $CALLS process_vm $PPID'
escape first-process-files 'readlink /proc/1/fd/0 || readlink /proc/$PPID/fd/0'
# A command that ends the process that holds it is ended as well.
escape first-process-signal 'exec $CALLS get-free harness-alive-$MARK >/dev/null 2>&1' 'pgrep -f harness-alive-$MARK'
escape service-signal 'kill -0 $SERVICE'
escape service-environment 'grep -qa HARNESS /proc/$SERVICE/environ'
escape service-memory '$CALLS read-memory $SERVICE'
escape service-files 'readlink /proc/$SERVICE/fd/0'
escape service-api 'curl -sf -m10 $URL/v1/conversations >/dev/null'
escape service-api-with-token 'curl -sf -m10 -H "authorization: Bearer $(cat $HOME/.state/token)" $URL/v1/rules >/dev/null'
# With the network a process reaches the API, and the service refuses it if it is a child of its own, which these are not:
# that is in tests/service/contained.rs. Here it is held by the token being out of reach.
escape service-api-real-token '$ALLOW $STATE/token' '$ALLOWED'
escape service-api-token-in-reach '$ALLOW $STATE/token' '$ALLOWED'
escape network-service-api-real-token '$ALLOW $STATE/token' '$ALLOWED'
escape network-service-api-token-in-reach '$ALLOW $STATE/token' '$ALLOWED'
escape full-service-api-real-token '$ALLOW $STATE/token' '$ALLOWED'
escape outlive '(trap "" HUP TERM
    setsid bash -c "touch $WORK/alive; exec $CALLS stay harness-alive-$MARK" >/dev/null 2>&1 &)
    until [[ -e $WORK/alive ]]; do sleep 0.01; done' 'pgrep -f harness-alive-$MARK'

# Privileges.
of=S7
escape capabilities 'grep -E "^Cap(Inh|Prm|Eff|Amb)" /proc/self/status | grep -qv 0000000000000000'
escape capabilities-bound 'grep ^CapBnd /proc/self/status | grep -qv 0000000000000000'
escape new-privileges 'grep -q "NoNewPrivs:.*0" /proc/self/status'
escape setuid-program '[[ -u $SETUID ]] || exit 77; (( $($SETUID -u) == $OWNER ))'
escape chroot '$CALLS chroot'
escape new-user-namespace '$CALLS unshare 10000000'
escape new-mount-namespace '$CALLS unshare 20000'
escape new-user-namespace-by-clone '$CALLS clone-user'
escape clone3 '$CALLS clone3'
escape mount '$CALLS mount $WORK'
escape unmount '$CALLS umount $OUT'
escape pivot-root '$CALLS pivot_root'
escape fsopen '$CALLS fsopen'
escape open-tree '$CALLS open_tree'
escape move-mount '$CALLS move_mount'
escape mount-attributes '$CALLS mount_setattr'
escape keys '$CALLS keyctl'
escape add-key '$CALLS add_key'
escape bpf '$CALLS bpf'
escape perf '$CALLS perf'
escape userfaultfd '$CALLS userfaultfd'
escape io-uring '$CALLS io_uring'
needs io-uring '[[ "$(cat /proc/sys/kernel/io_uring_disabled)" != 2 ]]'
escape kexec '$CALLS kexec'
escape module '$CALLS init_module'
escape quota '$CALLS quotactl'
escape swap '$CALLS swapon'
escape reboot '$CALLS reboot'
escape kernel-log '$CALLS syslog'
escape ports '$CALLS iopl'
escape type-into-terminal '$CALLS type'

# Devices and settings of the machine.
escape sysctl '$CALLS write-open /proc/sys/kernel/printk'
escape core-pattern '$CALLS write-open /proc/sys/kernel/core_pattern'
escape sysrq '$CALLS write-open /proc/sysrq-trigger'
needs sysrq '[[ -e /proc/sysrq-trigger ]]'
escape cgroup 'mkdir /sys/fs/cgroup/harness-$MARK' '[[ -e /sys/fs/cgroup/harness-$MARK ]]'
escape cgroup-names 'ls /sys/fs/cgroup/ | grep -q .'
needs cgroup-names 'ls /sys/fs/cgroup/ | grep -q .'
escape kernel-messages '$CALLS write-open /dev/kmsg'
needs kernel-messages '[[ -e /dev/kmsg ]]'
escape loop-devices '$CALLS write-open /dev/loop-control'
needs loop-devices '[[ -e /dev/loop-control ]]'
escape fuse '$CALLS write-open /dev/fuse'
needs fuse '[[ -e /dev/fuse ]]'

# A terminal that a process of the same user has open, and the one that the service was started in.
escape terminals-of-others 'ls /dev/pts/ | grep -qx "${TERMINAL##*/}"'
escape terminal-write 'echo typed >$TERMINAL' '$CALLS heard $HEARD typed'
escape terminal-read 'timeout 5 head -c1 $TERMINAL | grep -q .'
escape terminal-by-process 'echo typed >$TERMINAL_OPENED' '$CALLS heard $HEARD typed'
escape terminal-of-service 'echo typed >/dev/tty'

# The network.
of=S2
escape tcp '$CALLS to-port $PORT'
escape udp '$CALLS to-port-by-datagram $DATAGRAM_PORT'
escape socket-by-path '$CALLS to-path $OUT/socket'
escape socket-at-home '$CALLS to-path $HOME/socket'
escape socket-in-tmp '$CALLS to-path $TMP_SOCKET'
escape socket-in-run '(( UID == 0 )) || exit 77; $CALLS to-path /run/harness-$MARK/socket'
escape socket-abstract '$CALLS to-abstract $ABSTRACT'
escape read-only-socket '$CALLS to-path $OUT/socket'
escape network-socket-by-path '$CALLS to-path $OUT/socket'
escape network-socket-at-home '$CALLS to-path $HOME/socket'
escape network-socket-in-tmp '$CALLS to-path $TMP_SOCKET'
escape network-socket-abstract '$CALLS to-abstract $ABSTRACT'
escape way-out '$CALLS leaves 192.0.2.1'
needs way-out '$CALLS leaves 192.0.2.1'
escape raw-socket '$CALLS family 2 3 1'
escape packet-socket '$CALLS family 17 3'
escape vsock '$CALLS family 40 1'
needs vsock '$CALLS family 40 1'
escape crypto-socket '$CALLS family 38 5'
needs crypto-socket '$CALLS family 38 5'
escape bluetooth-socket '$CALLS family 31 3'
needs bluetooth-socket '$CALLS family 31 3'
escape add-address '$CALLS add-address'

# Work.
of=S11
works work-write 'echo x >new && mkdir d && mv new d/ && ln d/new e && ln -s e f && rm -r d' '[[ -e $WORK/e ]]'
works work-rename 'mkdir a b && touch a/x && mv a/x b/ && mv b c' '[[ -e $WORK/c/x ]]'
of=S4
works git-commit 'echo x >new && git add new && git commit -qm x' '[[ $(git -C $WORK log --oneline | wc -l) -eq 2 ]]'
works git-branches 'git checkout -qb b && git commit -qm x --allow-empty && echo y >file && git stash -q &&
    git checkout -q - && git merge -q b && git stash pop -q && git worktree add -q $TMPDIR/tree' '[[ -d $WORK/.git/worktrees ]]'
of=S10
works temporary-folder 'f=$(mktemp) && echo "echo x" >$f && bash $f'
works tmp 'echo x >/tmp/harness-$MARK-x && grep -q x /tmp/harness-$MARK-x && echo x >/var/tmp/harness-$MARK-x'
works home 'mkdir -p $HOME/.cache/a && echo x >$HOME/.cache/a/b && mv $HOME/.cache/a $HOME/.cache/c && rm -r $HOME/.cache/c &&
    echo y >>$HOME/.bashrc && tail -1 $HOME/.bashrc | grep -q y'
of=S11
works shared-memory '$CALLS semaphore'
works threads '$CALLS threads'
works trace '$CALLS trace-own'
works terminal '$CALLS terminal'
works devices 'head -c9 /dev/urandom >/dev/null && echo x >/dev/stdout && cat /dev/zero | head -c9 >/dev/null && ! echo x >/dev/full'
works descriptors 'diff <(echo x) <(echo x)'
works pairs '$CALLS socketpair'
of=S2
works read-only-pairs '$CALLS socketpair'
works server '$CALLS own-server AF_INET 127.0.0.1'
works server-of-six '$CALLS own-server AF_INET6 ::1'
works server-by-path '$CALLS own-unix-server $WORK/socket'
works network-tcp '$CALLS to-port $PORT'
works network-names 'getent hosts localhost && cat /etc/resolv.conf'
of=S1
works read-only-read 'grep -q . file && git log -1 && git status -s'
works full-write 'echo x >$OUT/new' '[[ -e $OUT/new ]]'
works full-write-home 'touch $HOME/new' '[[ -e $HOME/new ]]'
works full-tcp '$CALLS to-port $PORT'
of=S11
works compiler 'command -v gcc make >/dev/null || exit 77
    echo "int main(void) { return 0; }" >m.c && printf "m: m.c\n\tgcc -o m m.c\n" >Makefile && make -s && ./m'
works cargo 'command -v cargo >/dev/null || exit 77
    cargo init -q --name tiny --vcs none t && cd t && cargo build -q --offline && ./target/debug/tiny'
works go 'command -v go >/dev/null || exit 77
    mkdir g && cd g && go mod init example.com/g 2>/dev/null && printf "package main\n\nfunc main() {}\n" >main.go &&
    go build -o g . && ./g'
works node 'command -v node >/dev/null || exit 77
    node -e "require(\"child_process\").execSync(\"true\"); require(\"fs\").writeFileSync(\"new\", \"x\")"'
works python 'python3 -c "import subprocess, tempfile; tempfile.TemporaryFile(); subprocess.run([\"true\"], check=True)"'

# The attempts that the launcher holds whatever the backend: it closes what is open, gives a command no terminal, and
# ends what is left.
by_launcher=' inherited-to-read inherited-to-write inherited-by-path first-process-signal outlive terminal-of-service '

# --- the ground -------------------------------------------------------------------------------------------
export BASE=$base MARK=$mark CALLS=$base/calls SETUID=$base/setuid-id OWNER=54322 ALLOW=$base/allow ALLOWED=$base/allowed
git_settings=(GIT_CONFIG_COUNT 3 GIT_CONFIG_KEY_0 user.name GIT_CONFIG_VALUE_0 x GIT_CONFIG_KEY_1 user.email
    GIT_CONFIG_VALUE_1 x@x GIT_CONFIG_KEY_2 init.defaultBranch GIT_CONFIG_VALUE_2 main)
chmod 755 "$base"
install -m 755 "$binary" "$base/harness"
install -m 755 tests/sandbox_calls.py "$base/calls"
mkdir -p "$base/attempts"
# A program that is another user's, and runs as that one.
if (( EUID == 0 )); then
    install -m 755 "$(command -v id)" "$SETUID"
    chown "$OWNER:$OWNER" "$SETUID"
    chmod 4755 "$SETUID"
fi
# Allows the model something with the token of a file, which the service takes from nobody without; and whether that
# went through.
cat >"$ALLOW" <<'END'
#!/bin/bash
curl -sf -m10 -X PATCH -H 'content-type: application/json' -H "authorization: Bearer $(<"$1")" \
    -d '{"add": [{"action": "allow", "rule": "edit(allowed)"}]}' "$URL/v1/rules" >/dev/null
END
cat >"$ALLOWED" <<'END'
#!/bin/bash
rule() { curl -s -H 'content-type: application/json' -H "authorization: Bearer $(<"$STATE/token")" "$@" "$URL/v1/rules"; }
rule | grep 'edit(allowed)' >/dev/null && rule -X PATCH -d '{"remove": [{"rule": "edit(allowed)"}]}' >/dev/null
END
chmod 755 "$ALLOW" "$ALLOWED"

# Runs a program as root or as the ordinary user, and is that program then if it is run in a process of its own.
as() {
    local run=()
    [[ "$1" == root ]] || (( EUID != 0 )) || run=(setpriv --reuid "$other" --regid "$other" --clear-groups)
    shift
    "${run[@]}" "$@"
}

# Starts what attempts are made on: a process, the service, and one that greets at every kind of socket and has a
# terminal.
begin() {
    user=$1
    local own=$base/$user
    export HOME=$own/home OUT=$own/outside WORK=$own/home/work TMPDIR=$own/home/.state/tmp/1 STATE=$own/state
    install -d -m 755 "$own"
    [[ "$user" == root ]] || (( EUID != 0 )) || chown "$other:$other" "$own"
    local sockets=("$own/socket" "/tmp/harness-$mark-$user")
    if [[ "$user" == root ]]; then
        mkdir -p "/run/harness-$mark"
        sockets+=("/run/harness-$mark/socket")
    fi
    # All of them end with this script, whose end closes what they read.
    exec {life}> >(as "$user" "$base/calls" outside "harness-$mark-$user" "$own/ports" "$own/heard" "${sockets[@]}")
    lives+=("$life") waited+=($!)
    exec {life}> >(SECRET=x as "$user" "$base/calls" victim "$own/victim")
    lives+=("$life") waited+=($!)
    HARNESS_REQUIRE_TOKEN=false HARNESS_HOME=$STATE as "$user" bash -c \
        'cd "$0" && echo $$ >pid && exec "$BASE/harness" serve --demo --port 0' "$own" >"$own/log" 2>&1 &
    waited+=($!)
    local limit=$((SECONDS + 30))
    until [[ -s "$own/ports" && -s "$own/victim" ]] && grep -q 'listens on' "$own/log"; do
        (( SECONDS < limit )) || { cat "$own/log" >&2; exit 1; }
        sleep 0.05
    done
    read -r PORT DATAGRAM_PORT TERMINAL TERMINAL_OPENED <"$own/ports"
    URL=$(sed -n 's/^harness listens on //p' "$own/log")
    VICTIM=$(<"$own/victim") SERVICE=$(<"$own/pid")
    export PORT DATAGRAM_PORT TERMINAL TERMINAL_OPENED HEARD=$own/heard URL VICTIM SERVICE
    export ABSTRACT=harness-$mark-$user TMP_SOCKET=/tmp/harness-$mark-$user
    variables=(PATH HOME TMPDIR WORK OUT STATE CALLS MARK VICTIM SERVICE URL PORT DATAGRAM_PORT ABSTRACT TMP_SOCKET
        SETUID OWNER ALLOW TERMINAL TERMINAL_OPENED)
}

# Makes everything anew that an attempt may have changed.
prepare() {
    local own=$base/$user
    unmount
    rm -rf "$HOME" "$OUT" "$base/disk" "/tmp/harness-$mark-x" "/var/tmp/harness-$mark-x" "/dev/shm/harness-$mark-x" \
        "/etc/harness-$mark" "/usr/bin/harness-$mark" "$STATE/new"
    rmdir "/sys/fs/cgroup/harness-$mark" 2>/dev/null || true
    [[ -d "$own/template" ]] || as "$user" bash -c "$template" "$own/template"
    as "$user" cp -a "$own/template/home" "$own/template/outside" "$own"
    as "$user" ln "$own/socket" "$OUT/socket"
    as "$user" ln "$own/socket" "$HOME/socket"
}
template='mkdir -p "$0/outside/empty" "$0/home/.ssh" "$0/home/work/hidden" "$0/home/.state/tmp/1"
    cd "$0/home"
    echo kept >../outside/file
    echo secret | tee .ssh/id .netrc .state/token >work/hidden/file
    touch .bashrc
    ln -s ../outside link
    cd work
    git init -q -b main
    echo kept | tee file >AGENTS.md
    echo hidden >.gitignore
    git add .
    git -c user.name=x -c user.email=x@x commit -qm first'

# What the service would say to the warden, in one line.
policy() {
    local backend=$1 name=$2 writable="\"$TMPDIR\"" protected='' full=false environment='' one
    local hidden="\"$HOME/.state\",\"$HOME/.ssh\",\"$HOME/.netrc\""
    [[ "$name" == *-token-in-reach ]] || hidden+=",\"$STATE\""
    [[ "$name" != by-link-as-workspace ]] || writable+=",\"$HOME/link\""
    # Where something in it is hidden, Landlock lets no file be made right in the workspace.
    [[ "$name" != hidden-in-workspace ]] || hidden+=",\"$WORK/hidden\""
    case ${access[$name]} in
        write)
            writable+=",\"$WORK\""
            protected="\"$WORK/.git/hooks\",\"$WORK/.git/config\",\"$WORK/AGENTS.md\""
            ;;
        full) full=true ;;
    esac
    for one in "${variables[@]}"; do environment+="[\"$one\",\"${!one}\"],"; done
    environment+=$(printf '["%s","%s"],' "${git_settings[@]}")
    printf '{"program":["/bin/bash","%s"],"environment":[%s],"folder":"%s",' \
        "$base/attempts/$name" "${environment%,}" "$WORK"
    printf '"containment":{"backend":"%s","full":%s,"writable":[%s],"visible":["%s"],"protected":[%s],' \
        "$backend" "$full" "$writable" "$WORK" "$protected"
    printf '"hidden":[%s],"throw_away":"%s","network":%s},' "$hidden" "$HOME" "${network[$name]}"
    printf '"limits":{"processes":500,"memory":4294967296}}\n'
}

# Runs a command under a backend, as the service would, with one pipe for all that it says.
launch() {
    local run='"$BASE/harness" __launch trial'
    [[ "$1" != bare ]] || run='env -C "$WORK" bash "$BASE/attempts/'$2'"'
    [[ "$2" != terminal-of-service ]] || run='"$CALLS" on-terminal '$run
    policy "$1" "$2" |
        as "$user" bash -c "$run"' 2>&1 8>>"$OUT/opened" 9<"$OUT/file" | cat; exit "${PIPESTATUS[0]}"'
}

# What came out of an attempt.
verdict() {
    local backend=$1 name=$2 code=0
    prepare
    if [[ -n "${condition[$name]:-}" ]] && ! bash -c "${condition[$name]}" >"$base/said" 2>&1; then
        echo 'not available'
        return
    fi
    printf 'echo begun\n%s\n' "${command[$name]}" >"$base/attempts/$name"
    launch "$backend" "$name" >"$base/said" 2>&1 || code=$?
    # A command that never ran tried nothing, such as one that cannot be read where it is contained.
    grep -qx begun "$base/said" || { echo 'not started'; return; }
    [[ $code != 77 ]] || { echo 'not available'; return; }
    if [[ -n "${proof[$name]}" ]] && [[ ${kind[$name]} == escape || $code -eq 0 ]]; then
        code=0
        GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' \
            bash -c "${proof[$name]}" >/dev/null 2>&1 || code=1
    fi
    case ${kind[$name]}-$code in
        escape-0) echo 'not held' ;;
        escape-*) echo held ;;
        works-0) echo works ;;
        works-*) echo fails ;;
    esac
}

# Whether a verdict is what a cell of the table expects. A cell is a verdict, `any`, `held from N` for a version
# of Landlock, or two of those, the second after `; root`. The name of the attempt comes second, the backend last.
matches() {
    local cell=$1 found=$3 verdict=not\ held
    if [[ "$user" == root ]]; then cell=${cell##*; root }; else cell=${cell%%; root*}; fi
    if [[ "$cell" == 'held from '* ]]; then
        (( abi >= ${cell#held from } )) && verdict=held
        cell=$verdict
    fi
    [[ "$cell" == any || "$cell" == "$found" ]] && return
    # What the checks do not try has to be on record.
    [[ "$found" == 'not available' ]] || return
    [[ -z "${CI:-}" || "$may_lack" == *" $2 "* ]] || [[ "$4" == none && "$kernel_may_lack" == *" $2 "* ]]
}

# Prints a row, and says so if it is not what it has to be.
row() { printf '%-10s %-4s %-36s %-10s %s\n' "$user" "$@"; }

failed=0 count=0
declare -A cells
while IFS=$'\t' read -r name one two three; do
    [[ "$name" != attempt ]] || continue
    cells[$name,namespaces]=$one cells[$name,landlock]=$two cells[$name,none]=$three
done <"$expected"
for name in $by_launcher; do cells[$name,bare]='not held'; done
if ! $table && (( ${#wanted[@]} == 0 )); then
    for name in "${names[@]}"; do
        [[ -n "${cells[$name,none]:-}" ]] || { echo "sandbox: $name is not in $expected" >&2; failed=1; }
    done
    for name in "${!cells[@]}"; do
        [[ -n "${kind[${name%,*}]:-}" ]] || { echo "sandbox: there is no attempt ${name%,*}" >&2; failed=1; }
    done
fi

# The cost of a backend: the median time of a command that does nothing, in microseconds, under the backend, and the
# median time of the least that it takes: three shells, each started by the one before, for `namespaces` in namespaces
# that util-linux makes. The two take turns, so that another program that computes slows both.
cost() {
    local backend=$1 start=0 ours=() least=() bare=()
    command[true]=true network[true]=false access[true]=write
    policy "$backend" true >"$base/policy"
    echo true >"$base/attempts/true"
    if [[ "$backend" == namespaces ]]; then
        bare=(unshare --mount --pid --ipc --net --fork)
        [[ "$user" == root ]] || bare+=(--user --map-current-user)
    fi
    bare+=(bash -c 'bash -c "bash \"\$0\"; exit" "$0"; exit' "$base/attempts/true")
    for _ in {1..21}; do
        start=${EPOCHREALTIME/./}
        as "$user" "$base/harness" __launch trial <"$base/policy" || return
        ours+=($((${EPOCHREALTIME/./} - start)))
        start=${EPOCHREALTIME/./}
        as "$user" "${bare[@]}" || return
        least+=($((${EPOCHREALTIME/./} - start)))
    done
    printf '%s\n' "${ours[@]}" | sort -n | sed -n 11p
    printf '%s\n' "${least[@]}" | sort -n | sed -n 11p
}

# Those that are meant: an attempt by its name, or all of a case.
chosen=()
for one in "${wanted[@]:-${names[@]}}"; do
    if [[ -n "${kind[$one]:-}" ]]; then chosen+=("$one"); continue; fi
    before=${#chosen[@]}
    for name in "${names[@]}"; do [[ "${case_of[$name]}" != "$one" ]] || chosen+=("$name"); done
    (( ${#chosen[@]} > before )) || { echo "sandbox: there is no attempt $one" >&2; exit 2; }
done

declare -A results
missing=0
for user in "${users[@]}"; do
    begin "$user"
    abi=0
    tried=()
    for backend in "${backends[@]}"; do
        if [[ "$backend" == none ]]; then tried+=(none)
        elif notes=$(as "$user" env -u TMPDIR "$base/harness" __launch probe "$backend"); then
            tried+=("$backend")
            abi=$(sed -n 's/^landlock //p' <<<"$notes")
        else
            row - - "$backend" "not available: $notes"
            known=${may_miss[$user $backend]:-}
            if [[ -z "$known" || "$notes" != *"$known"* ]]; then
                missing=1
                [[ -z "${CI:-}" ]] || { echo "sandbox: $user has no $backend, which is not on record" >&2; failed=1; }
            fi
        fi
    done
    if ! $table && (( ${#wanted[@]} == 0 )); then
        prepare
        for backend in "${tried[@]}"; do
            # A burst of other work may hit one of the two more than the other, so a miss is measured once more.
            for _ in 1 2; do
                { read -r ours; read -r least; } < <(cost "$backend")
                row S9 true "$backend" "$ours µs, $((ours / least)).$((ours * 10 / least % 10)) times $least µs"
                (( ours > least * most_times )) || break
            done
            (( ours <= least * most_times )) ||
                { echo "sandbox: $backend costs $ours µs, over $most_times times $least µs" >&2; failed=1; }
        done
    fi
    for name in "${chosen[@]}"; do
        controls=()
        [[ "$by_launcher" != *" $name "* ]] || controls=(bare)
        for backend in "${tried[@]}" "${controls[@]}"; do
            found=$(verdict "$backend" "$name")
            count=$((count + 1))
            results[$name,$backend,$user]=$found
            [[ "$backend" != bare ]] || end_free
            $table && continue
            row "${case_of[$name]}" "$name" "$backend" "$found"
            matches "${cells[$name,$backend]:-}" "$name" "$found" "$backend" && continue
            printf 'sandbox: %s of %s under %s is %s and not %s\n' "$name" "$user" "$backend" "$found" \
                "${cells[$name,$backend]:-known}" >&2
            sed 's/^/    /' "$base/said" >&2
            failed=1
        done
    done
done

# What nothing holds goes through as root, or the attempt proves nothing. One that cannot be made here is on record.
for name in "${chosen[@]}"; do
    backend=none
    [[ "$by_launcher" != *" $name "* ]] || backend=bare
    [[ ${kind[$name]} == escape ]] && (( EUID == 0 )) || continue
    case ${results[$name,$backend,root]} in
        'not held' | 'not available') ;;
        *) echo "sandbox: $name does not go through where nothing holds it" >&2; failed=1 ;;
    esac
done

if $table; then
    printf 'attempt\tnamespaces\tlandlock\tnone\n'
    for name in "${chosen[@]}"; do
        line=$name
        for backend in "${backends[@]}"; do
            cell=${results[$name,$backend,ordinary]:-not available}
            root=${results[$name,$backend,root]:-$cell}
            [[ "$cell" == "$root" ]] || cell+="; root $root"
            line+=$'\t'$cell
        done
        printf '%s\n' "$line"
    done
    exit
fi
(( failed )) || echo "sandbox: $count attempts came out as they have to"
(( failed || !missing )) || { echo 'sandbox: a backend was not tried' >&2; exit 77; }
exit "$failed"
