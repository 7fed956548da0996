#!/bin/bash
# Files beside a program, of statistics (SPRAG_STATS), recordings (SPRAG_RECORD) and solves
# (SPRAG_DUMP), that cannot be written: the program runs on, its steps stay the same, and one message
# says why.
#
#     test_output.sh <build>
set -u
. "$(dirname "$0")/../../../support/start.sh"

plain() { # ARGUMENTS...
    SPRAG_OPTIONS=method=stribeck LD_PRELOAD=$build/libsprag.so "$host" "$@"
}

expected=$(plain step 60)

# A run with VARIABLE=FILE.
# shellcheck disable=SC2030,SC2031 # each in a shell of its own
check() { # VARIABLE FILE REASON [MODE]
    local got errors=errors_$BASHPID # others run beside this one
    got=$(export "$1=$2" SPRAG_DUMP_STEP=3 && plain step 60 ${4:+"$4"} 2>"$errors") ||
        fail "$1=$2: the program ends with $?"
    [ "$got" = "$expected" ] || fail "$1=$2 changes the run: $got"
    [ "$(grep -c sprag "$errors")" = 1 ] && grep -q "to $2: $3\." "$errors" ||
        fail "$1=$2: $(cat "$errors")"
}

cases_of() { # VARIABLE
    local foreign=foreign_$1 pipe=pipe_$1
    echo "the user's own" >"$foreign"
    check "$1" "$foreign" 'the file holds something else'
    [ "$(cat "$foreign")" = "the user's own" ] || fail "$1: a foreign file is overwritten"
    check "$1" /dev/full 'No space left on device'
    check "$1" missing/file 'No such file or directory'
    check "$1" . 'Is a directory'
    check "$1" - 'it is no file; /dev/stderr is the standard error'
    mkfifo "$pipe"
    check "$1" "$pipe" 'no process reads it'
    if [ "$1" != SPRAG_DUMP ]; then # is a single write
        : <"$pipe" &
        check "$1" "$pipe" 'its reader is gone' slow
        wait $!
    fi
    (ulimit -f 4 && check "$1" "short_$1" 'File too large')
}

# A reader that comes late gets everything.
late_reader() {
    mkfifo late
    (sleep 0.3 && cat late >late_rows) &
    [ "$(SPRAG_STATS=late plain step 60)" = "$expected" ] || fail "a late reader changes the run"
    wait $!
    [ "$(wc -l <late_rows)" = 61 ] || fail "a late reader gets $(wc -l <late_rows) lines"
}

# A reader that takes nothing holds a program for ten seconds, once.
idle_reader() {
    mkfifo idle
    sleep 60 <>idle &
    local reader=$!
    check SPRAG_RECORD idle 'its reader takes nothing'
    kill $reader
}

deleted() { # VARIABLE
    local file=deleted_$1
    env "$1=$file" SPRAG_OPTIONS=method=stribeck LD_PRELOAD="$build/libsprag.so" "$host" step 60 slow \
        >"out_$1" 2>"errors_of_deleted_$1" &
    local program=$!
    until [ -s "$file" ]; do
        sleep 0.01
    done
    rm "$file"
    wait $program || fail "$1, deleted: the program ends with $?"
    [ "$(cat "out_$1")" = "$expected" ] || fail "$1, deleted: the run has changed"
    [ "$(grep -c 'it has been deleted' "errors_of_deleted_$1")" = 1 ] ||
        fail "$1, deleted: $(cat "errors_of_deleted_$1")"
    [ ! -e "$file" ] || fail "$1, deleted: it is there again"
}

# Another process that keeps a lock on the file does not stop the program.
locked() {
    touch locked
    [ "$(SPRAG_STATS=locked flock locked -c "SPRAG_OPTIONS=method=stribeck \
        LD_PRELOAD=$build/libsprag.so $host step 60")" = "$expected" ] || fail "a lock changes the run"
    [ "$(wc -l <locked)" = 61 ] || fail "a lock: $(wc -l <locked) lines"
}

# The message itself goes to a pipe without a reader: its signal must not end the program.
no_one_listens() {
    (trap - PIPE && SPRAG_STATS=missing/file plain step 60 2>&1 >unheard &&
        touch unheard_ended) | true
    [ "$(cat unheard)" = "$expected" ] || fail "a message that nobody reads changes the run"
    [ -e unheard_ended ] || fail "a message that nobody reads ends the program"
}

# A name of two lines is told in one.
two_lines() { # VARIABLE
    mkdir -p $'two\nlines'
    (export "$1"=$'two\nlines' && plain step 60) >/dev/null 2>told
    [ "$(grep -c 'two?lines: Is a directory' told)" = 1 ] && ! grep -q '^lines' told ||
        fail "$1: a name of two lines: $(cat told)"
}

# Rows of another version of sprag and its columns do not mix with ours.
other_columns() {
    echo process,world,method,time >other
    check SPRAG_STATS other 'the file holds something else'
    SPRAG_STATS=twice plain step 60 >/dev/null
    SPRAG_STATS=twice plain step 60 >/dev/null
    [ "$(wc -l <twice)" = 121 ] || fail "two runs leave $(wc -l <twice) lines"
}

idle_reader &
for variable in SPRAG_STATS SPRAG_RECORD SPRAG_DUMP; do
    cases_of $variable
done
deleted SPRAG_STATS
deleted SPRAG_RECORD
two_lines SPRAG_STATS
two_lines SPRAG_RECORD
late_reader
locked
no_one_listens
other_columns
wait
[ ! -e "$work/failed" ]
