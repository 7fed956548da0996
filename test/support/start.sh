# Start of the shell tests, whose first argument is the build: they run in a directory of their own
# and with none of the settings of whoever runs them. fail marks the test as failed, also from a
# subshell, and the test goes on; its last line is [ ! -e "$work/failed" ].
build=$(cd "$1" && pwd)
host=$(find "$build" -name host -type f -perm -u+x | head -1) # a program that uses ODE
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset SPRAG_OPTIONS SPRAG_STATS SPRAG_RECORD SPRAG_DUMP SPRAG_DUMP_STEP COLUMNS

fail() {
    echo "$*" >&2
    touch "$work/failed"
}
