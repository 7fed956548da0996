#!/bin/bash
# Records a plain ODE program in every way that it can be loaded, killed and starved of space.
#
#     test_recording.sh <build>
set -u
. "$(dirname "$0")/../../../support/start.sh"

plain() { # OPTIONS ARGUMENTS...
    local options=$1
    shift
    SPRAG_OPTIONS=$options LD_PRELOAD=$build/libsprag.so "$host" "$@"
}

recorded() { # FILE OPTIONS ARGUMENTS...
    local file=$1
    shift
    SPRAG_RECORD=$file plain "$@" 2>errors
}

frames() {
    "$build/sprag" export "$1" --count
}

# ---- the bits of the run

same() { # OPTIONS ARGUMENTS...
    local expected got
    expected=$(plain "$@" 2>/dev/null)
    got=$(recorded run.sprec "$@")
    [ "$expected" = "$got" ] || fail "$*: recording changes the bits"
    grep 'cannot record' errors && fail "$*: $(cat errors)"
}

for method in ode ode-step ode-quick stribeck advance ess; do
    same method=$method step 60
    same method=$method quick 60
    [ $method = ode-quick ] || same method=$method step 30 threads # its threads share random numbers
    same method=$method step 20 again
    same method=$method step 20 dlsym
done
same method=stribeck step 60 pool # stock's own bits vary with a pool
same method=advance step 60 pool

# ---- runs that end badly

expected=$(plain method=stribeck step 60)

recorded /dev/full method=stribeck step 60 >out
[ "$(cat out)" = "$expected" ] || fail "a full disk changes the run"
[ "$(grep -c 'cannot record to /dev/full: No space left on device' errors)" = 1 ] || fail "a full disk: $(cat errors)"

(
    ulimit -f 40 # KiB
    recorded short.sprec method=stribeck step 60 >out
)
[ "$(cat out)" = "$expected" ] || fail "a limit of file size changes the run"
[ "$(grep -c 'cannot record to short.sprec: File too large' errors)" = 1 ] || fail "a limit: $(cat errors)"
count=$(frames short.sprec) || fail "a file with a limit cannot be read"
[ "$count" -gt 0 ] && [ "$count" -lt 60 ] || fail "a limit: $count frames"

mkfifo pipe
head -c 9000 pipe >/dev/null &
recorded pipe method=stribeck step 60 >out
code=$?
wait
[ $code = 0 ] && [ "$(cat out)" = "$expected" ] || fail "a reader that goes changes the run: $code"
[ "$(grep -c 'cannot record to pipe: its reader is gone' errors)" = 1 ] || fail "a pipe: $(cat errors)"

cat pipe >whole.sprec &
recorded pipe method=stribeck step 60 >out
wait
[ "$(frames whole.sprec)" = 60 ] || fail "a pipe does not take all frames"

recorded missing/run.sprec method=stribeck step 5 >out
grep -q 'cannot record to missing/run.sprec: No such file or directory' errors || fail "a missing folder: $(cat errors)"

SPRAG_RECORD=killed.sprec SPRAG_OPTIONS=method=stribeck LD_PRELOAD=$build/libsprag.so "$host" step 100000 >/dev/null &
host_process=$!
while [ "$(stat -c %s killed.sprec 2>/dev/null || echo 0)" -lt 200000 ]; do
    sleep 0.02
done
kill -9 $host_process
wait $host_process 2>/dev/null
count=$(frames killed.sprec) || fail "what a killed run leaves cannot be read"
[ "$count" -gt 10 ] || fail "a killed run leaves $count frames"

for mode in late kept; do
    recorded $mode.sprec method=stribeck step 20 $mode >out
    [ "$(frames $mode.sprec)" = 20 ] || fail "$mode: $(frames $mode.sprec) frames"
done

# Of a slow program few steps wait to be written.
SPRAG_RECORD=slow.sprec SPRAG_OPTIONS=method=stribeck LD_PRELOAD=$build/libsprag.so "$host" step 100000 slow >/dev/null &
host_process=$!
while [ "$(frames slow.sprec 2>/dev/null || echo 0)" -lt 3 ]; do
    sleep 0.02
done
size=$(stat -c %s slow.sprec)
kill -9 $host_process
wait $host_process 2>/dev/null
[ "$size" -lt 200000 ] || fail "a slow program's steps are written after $size bytes"

# ---- processes

recorded run_%p.sprec method=stribeck step 20 fork >out
[ "$(find . -name 'run_[0-9]*.sprec' | wc -l)" = 1 ] || fail "%p: $(ls)"

flock killed.sprec "$build/sprag" run slope --seconds 0.1 --record killed.sprec >out 2>errors
grep -q 'another process writes to it' errors || fail "two processes share a file: $(cat errors)"
[ "$(frames killed.sprec)" = "$count" ] || fail "a locked file is overwritten"

[ ! -e "$work/failed" ]
