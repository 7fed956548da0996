#!/bin/bash
# How the files that are installed are built: read-only relocations, stack protector, checked calls of
# the C library, landing pads; and that programs with rights of their own ignore the variables.
#
#     test_hardening.sh <build> [sanitize]
set -u
build=$(cd "$1" && pwd)
sanitize=${2:-}
export LC_ALL=C
unset SPRAG_OPTIONS SPRAG_STATS SPRAG_RECORD SPRAG_DUMP
failed=0

fail() {
    echo "$*" >&2
    failed=1
}

# has WHAT FILE PATTERN COMMAND...
has() {
    local what=$1 file=$2 pattern=$3
    shift 3
    "$@" "$file" | grep -qE -e "$pattern" || fail "${file##*/}: $what"
}

for file in "$build"/{libsprag.so,libsprag_general.so,libsprag_ess.so,sprag}; do
    has "no read-only relocations" "$file" GNU_RELRO readelf -lW
    has "its stack is executable" "$file" 'GNU_STACK.* RW ' readelf -lW
    has "no stack protector" "$file" '__stack_chk_fail' nm -D
    readelf -dW "$file" | grep -qE 'TEXTREL' && fail "${file##*/}: its code is relocated"
    readelf -SW "$file" | awk '/ WAX /' | grep . && fail "${file##*/}: a section can be written and executed"
    if [ -z "$sanitize" ]; then
        has "no checked calls" "$file" '__[a-z]*_chk@' nm -D
    fi
done
for file in "$build"/{libsprag_general.so,libsprag_ess.so,sprag}; do # libsprag.so is given its ODE later
    has "relocations that stay writable" "$file" '(FLAGS).*BIND_NOW' readelf -dW
done
has "not at a random address" "$build/sprag" 'Type: *DYN' readelf -hW

# Our own objects; crtbegin.o of Debian 12 has no such mark, so the whole files have none.
case $(uname -m) in
x86_64)
    for file in "$build"/plugin/library/sprag{,_library}.o "$build"/solvers/{general/sprag_general,ess/sprag_ess}.o; do
        has "no landing pads or shadow stacks" "$file" 'IBT, SHSTK' readelf -nW
    done
    ;;
esac

# ---- rights of its own

host=$(find "$build" -name host_linked -type f -perm -u+x | head -1)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod 777 "$work"
    cd "$work" || exit 1
    cp "$host" plain
    cp "$host" rights
    chmod 755 plain
    chmod 4755 rights
    as_nobody() {
        setpriv --reuid=65534 --regid=65534 --clear-groups env SPRAG_STATS="$work/stats" SPRAG_RECORD="$work/run.sprec" \
            SPRAG_DUMP="$work/solve" SPRAG_DUMP_STEP=3 "$@" 2>&1
    }
    if as_nobody ./plain step 20 >/dev/null && [ -e stats ]; then # the build can be read by all
        [ -e run.sprec ] && [ -e solve ] || fail "the variables have no effect"
        expected=$(as_nobody ./plain step 20)
        rm -f stats run.sprec solve
        found=$(as_nobody SPRAG_OPTIONS=nonsense ./rights step 20)
        [ "$found" = "$expected" ] || fail "a setuid program takes its options from its caller: $found"
        for file in stats run.sprec solve; do
            [ ! -e $file ] || fail "a setuid program writes what its caller names: $file"
        done
        as_nobody SPRAG_OPTIONS=nonsense ./plain step 20 >/dev/null && fail "options that cannot be read are taken"
    fi
fi

exit $failed
