#!/bin/bash
# demos.sh TOOLS DEMOS [METHOD] [PATTERN] - ODE's own demos (TOOLS: the folder of run_demos.sh; DEMOS:
# what its build.sh has built) by stock and by a method of sprag's, and a table of both: how deep
# contacts were, how fast bodies, what energy was left; pairs that overlapped at the start of a step;
# sub-steps; time that stood still; time per step. One row per scenario; `*`: it starts overlapped.
set -euo pipefail
tools=$(cd "$1" && pwd) demos=$(cd "$2" && pwd) method=${3:-advance} pattern=${4:-.}
library=$(cd "$(dirname "$0")/.." && pwd)/build/libsprag.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run() { # run <name> <scenario> <libraries> <statistics>
    SPRAG_OPTIONS=method=$method SPRAG_STATS=$4 PRELOAD=$3 LIMIT=${LIMIT:-900} \
        sh "$tools/run_demos.sh" "$demos" "$work/$1" "^$2\$" >/dev/null 2>&1 || true
}

# field <file> <name>
field() {
    value=$(grep -o "\"$2\":[^,}]*" "$1" 2>/dev/null | head -1 || true)
    echo "${value:+${value#*:}}"
}

printf '%-16s %8s %22s %22s %22s %8s %9s %8s %20s\n' scenario 'ends' 'depth/m' 'fastest/(m/s)' \
    'energy at the end/J' 'overlaps' 'sub-steps' 'stalled' 'us per step'
grep -v '^#' "$tools/demos.txt" | cut -d'|' -f1 | tr -d ' ' | grep -E "$pattern" | while read -r name; do
    [ -n "$name" ] || continue
    run stock "$name" '' ''
    run ours "$name" "$library" "$work/$name.csv"
    a=$work/stock/$name.json b=$work/ours/$name.json
    counts=$(tail -qn 1 "$work/$name.csv" 2>/dev/null | awk -F, '
        { overlaps += $34; substeps += $31; stalled += $40 } END { print overlaps, substeps, stalled }')
    first=$(awk -F, 'NR > 1 && $34 > 0 { print "*"; exit }' "$work/$name.csv" 2>/dev/null)
    read -r overlaps substeps stalled <<<"${counts:-0 0 0}"
    printf '%-16s %8s %22s %22s %22s %8s %9s %8s %20s\n' "$name$first" \
        "$(cat "$work/stock/$name.rc")/$(cat "$work/ours/$name.rc")" \
        "$(field "$a" depth_max)/$(field "$b" depth_max)" "$(field "$a" vmax)/$(field "$b" vmax)" \
        "$(field "$a" energy_end)/$(field "$b" energy_end)" "${overlaps:--}" "${substeps:--}" \
        "${stalled:--}" "$(field "$a" us_mean)/$(field "$b" us_mean)"
done
