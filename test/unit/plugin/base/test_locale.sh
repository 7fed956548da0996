#!/bin/bash
# A program whose locale has a decimal comma: its steps, statistics, recordings, solves and messages are
# those of any locale.
#
#     test_locale.sh <build>
set -u
. "$(dirname "$0")/../../../support/start.sh"

mkdir locales
cat >source <<'END_OF_SOURCE'
LC_NUMERIC
decimal_point "<U002C>"
thousands_sep "<U002E>"
grouping 3;3
END LC_NUMERIC
LC_CTYPE
copy "POSIX"
END LC_CTYPE
END_OF_SOURCE
localedef -c -i source locales/xx_XX >/dev/null 2>&1
[ -f locales/xx_XX/LC_NUMERIC ] || { # an empty folder without the character maps of package `locales`
    echo "localedef makes no locale: skipped"
    exit 77
}

run() { # DIRECTORY, after variables
    mkdir "$1"
    SPRAG_OPTIONS=method=advance,stribeck.stiffness=1.5e5 LD_PRELOAD=$build/libsprag.so SPRAG_STATS=$1/stats \
        SPRAG_RECORD=$1/run.sprec "$host" step 20 >"$1/out" 2>"$1/messages"
    SPRAG_OPTIONS=method=stribeck,stribeck.softness=1.5e-4 LD_PRELOAD=$build/libsprag.so SPRAG_DUMP=$1/solve \
        SPRAG_DUMP_STEP=3 "$host" step 20 >>"$1/out" 2>>"$1/messages"
    "$build/sprag" export "$1/run.sprec" --csv "$1/csv" || fail "$1: the recording cannot be read"
    LC_ALL=C sed -i 's/0x[0-9a-f]*//g' "$1/messages" # addresses
    LC_ALL=C cut -d, -f2-10 "$1/stats" >"$1/columns"
}

run plain
LOCPATH=$work/locales LC_ALL=xx_XX env printf '%.1f\n' 0,5 | grep -q 0,5 || fail "the locale has no comma"
(
    export LOCPATH=$work/locales LC_ALL=xx_XX
    run comma
) 2>/dev/null
for file in out messages solve columns csv/poses.csv; do
    [ -s "plain/$file" ] && cmp "plain/$file" "comma/$file" || fail "$file differs: $(head -c 500 "comma/$file")"
done
for softness in 1,5e-4 1.5e-4; do
    env LOCPATH="$work/locales" LC_ALL=xx_XX SPRAG_OPTIONS=stribeck.softness=$softness \
        LD_PRELOAD="$build/libsprag.so" "$host" step 1 >"read_$softness" 2>&1
done
grep -q '^hash' read_1.5e-4 || fail "a decimal point is refused: $(cat read_1.5e-4)"
grep -q '^hash' read_1,5e-4 && fail "a decimal comma is read"

[ ! -e "$work/failed" ]
