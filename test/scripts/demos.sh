#!/bin/bash
# demos.sh DEMOS [METHODS] [PATTERN] - runs ODE's own demos (DEMOS: the folder that
# test/demos/build.sh has filled) under stock and under methods of sprag's
# (stribeck,ess,advance,ode), and prints one table and the messages of sprag. A row per scenario and
# method:
#
#   ends      exit code; 124: stopped after LIMIT (900) seconds
#   bad       states that were not finite
#   fallback  islands that stock had to step; those that sprag gave no reason for are failures
#   tests     that a self-checking demo passed, of those it made; `same`: the same bits as stock
#             (five of demo_joints, `of_euler`, ask that a step moves things by h times the rate at
#             its end, which is Euler's error and not a joint's: ess moves them by h a / 2 less)
#   overlaps  pairs at the start of a step (advance); left: groups and steps that were the implicit
#             step's, from their start and on the way (ess)
#
# The bridge of `feedback` has a row for dWorldStep too, and says at which step it first breaks: the
# 20 iterations of its dWorldQuickStep are too few to see the load (5000 agree with dWorldStep).
# KEEP=folder keeps the results there and runs nothing whose result is there already. LIBRARY: another
# build of sprag.
# Exit code 1 if a state was not finite, a demo died that lives under stock, was stopped, failed more
# tests, ode was not stock, a bridge broke at another load (10 %), or a fallback has no reason.
set -euo pipefail
. "$(dirname "$0")/help.sh"
tools=$(cd "$(dirname "$0")/../demos" && pwd)
demos=$(cd "$1" && pwd) methods=${2:-stribeck,ess,advance,ode} pattern=${3:-.}
library=${LIBRARY:-$(cd "$(dirname "$0")/../.." && pwd)/build/libsprag.so}
of_euler='221 321 421 731 742'
export PROBE_TERM=1 LIMIT=${LIMIT:-900}
if [ -n "${KEEP:-}" ]; then
    mkdir -p "$KEEP" && work=$(cd "$KEEP" && pwd)
else
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
fi

run() { # run <scenario> <method>
    local ours=$work/$2 libraries=$library statistics=$work/$2/$1.csv
    [ -f "$ours/$1.rc" ] && return
    rm -f "$statistics"
    [ "$2" = stock ] && libraries='' statistics=''
    SPRAG_OPTIONS=method=$2 SPRAG_STATS=$statistics PRELOAD=$libraries \
        sh "$tools/run_demos.sh" "$demos" "$ours" "^$1\$" >/dev/null 2>&1 || true
}

# field <file> <name>
field() {
    local value
    value=$(grep -o "\"$2\":[^,}]*" "$1" 2>/dev/null | head -1 || true)
    value=${value#*:}
    echo "${value:--}"
}

# Of the columns named, what the last row of each world says, added up.
totals() { # totals <csv> <column>...
    local file=$1
    shift
    awk -F, -v wanted="$*" 'BEGIN { n = split(wanted, name, " ") }
        $1 == "process" { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { for (i = 1; i <= n; i++) last[$1 "," $2, i] = $at[name[i]]; world[$1 "," $2] }
        END { for (i = 1; i <= n; i++) { sum = 0; for (w in world) sum += last[w, i]
              printf "%g ", sum } }' "$file" 2>/dev/null || true
}

messages() { # messages <scenario> <method>
    grep -a -o 'sprag: .*' "$work/$2/$1.err" 2>/dev/null || true
}

# The step at which the bridge first breaks: rows of statistics before its first message.
breaks() { # breaks <method>
    local file=$work/$1/feedback.break
    [ -f "$file" ] || FRAMES=150 SPRAG_OPTIONS=method=$1 SPRAG_STATS=/dev/stderr LD_PRELOAD=$library \
        "$demos/bin/demo_feedback" -notex 2>&1 >/dev/null </dev/null |
        awk '/^[0-9]+,[0-9]+,/ { step++ } /SNAP/ && !at { at = step } END { print at }' >"$file"
    cat "$file"
}

fail() {
    echo "$*" >>"$work/failures"
}

judge() { # judge <scenario> <method> <rc> <bad> <fallbacks> <tests>
    local stock
    stock=$(cat "$work/stock/$1.rc")
    [ "$4" = 0 ] || [ "$4" = - ] || fail "$1 $2: $4 states are not finite"
    if [ "$3" = 124 ]; then
        fail "$1 $2: stopped after $LIMIT s"
    elif [ "$3" != 0 ] && [ "$3" != "$stock" ]; then
        fail "$1 $2: ends with $3, under stock with $stock"
    fi
    [ "$5" = 0 ] || messages "$1" "$2" | grep -q 'stock' || fail "$1 $2: $5 fallbacks without a reason"
    [ "$6" = "$(tests "$1" stock)" ] || { [ "$1 $2" = 'joints ess' ] && [ -z "$(odd_joints)" ] && [ "${6#*/}" = 27 ]; } || fail "$1 $2: $6 passed, under stock $(tests "$1" stock)"
    if [ "$2" = ode ] && [ "$(field "$work/ode/$1.json" state_hash)" != \
        "$(field "$work/stock/$1.json" state_hash)" ]; then
        fail "$1 ode: other states than stock's"
    fi
    if [ "$1" = feedback ] && [ "$2" != ode ]; then
        awk -v a="$(breaks "$2")" -v b="$(breaks ode-step)" 'BEGIN { exit !(a > 0.9 * b && a < 1.1 * b) }' ||
            fail "feedback $2: breaks at step $(breaks "$2"), under dWorldStep at $(breaks ode-step)"
    fi
}

odd_joints() { # tests of demo_joints that fail under ess and should not
    sed -n 's/^test \([0-9]*\): .*FAILED/\1/p' "$work/ess/joints.out" |
        grep -v -x -F "${of_euler// /$'\n'}" || true
}

tests() { # tests <scenario> <method>: passed/made
    local passed failed
    passed=$(grep -c -E 'passed|: ok' "$work/$2/$1.out" || true)
    failed=$(grep -c FAILED "$work/$2/$1.out" || true)
    [ $((passed + failed)) = 0 ] || echo "$passed/$((passed + failed))"
}

row() { # row <scenario> <method>
    local json=$work/$2/$1.json rc bad checks fallbacks overlaps substeps stalled left switched
    rc=$(cat "$work/$2/$1.rc") bad=$(field "$json" nonfinite_states) checks=$(tests "$1" "$2")
    read -r fallbacks overlaps substeps stalled left switched <<<"$(totals "$work/$2/$1.csv" \
        fallbacks overlaps substeps stalled ess_declined ess_switched) "
    [ "$2" = stock ] || judge "$1" "$2" "$rc" "$bad" "${fallbacks:-0}" "$checks"
    if [ "$2" = ode ] && [ "$(field "$json" state_hash)" = "$(field "$work/stock/$1.json" state_hash)" ]; then
        checks="$checks${checks:+ }same"
    fi
    [ "$1" = feedback ] && [ "$2" != stock ] && checks="$checks${checks:+ }breaks at step $(breaks "$2")"
    printf '%-14s %-9s %4s %4s %8s %9s %9s %9s %9s %10s %8s %9s %8s %9s %9s  %s\n' "$1" "$2" "$rc" \
        "$bad" "${fallbacks:--}" "$(field "$json" depth_mean_last_quarter)" "$(field "$json" depth_max)" \
        "$(field "$json" vmax)" "$(field "$json" wmax)" "$(field "$json" energy_end)" "${overlaps:--}" \
        "${substeps:--}" "${stalled:--}" "${left:--}+${switched:--}" "$(field "$json" us_mean)" "$checks"
}

rm -f "$work/failures"
printf '%-14s %-9s %4s %4s %8s %9s %9s %9s %9s %10s %8s %9s %8s %9s %9s  %s\n' scenario method ends bad \
    fallback depth/m deepest/m fastest/m/s 1/s energy/J overlaps sub-steps stalled/s left us/step tests
scenarios=$(grep -v '^#' "$tools/demos.txt" | cut -d'|' -f1 | tr -d ' ' | grep -E "$pattern")
for name in $scenarios; do
    more=
    [ "$name" = feedback ] && more=ode-step
    for method in stock $more ${methods//,/ }; do
        run "$name" "$method"
        row "$name" "$method"
    done
done
echo
for name in $scenarios; do
    for method in ${methods//,/ }; do
        messages "$name" "$method" |
            sed -E 's/0x[0-9a-f]+/(address)/g; s/^sprag: (world [0-9]+(, at [^ ]+ s)?: )?//' | sort | uniq -c |
            sed -E "s/^ *1 /$name $method: /; s/^ *([0-9]+) /$name $method, in \1 worlds: /"
    done
done
echo
if [ -s "$work/failures" ]; then
    cat "$work/failures"
    exit 1
fi
echo "$(wc -w <<<"$scenarios") scenarios under ${methods//,/, }: no failures"
