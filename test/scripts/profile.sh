#!/bin/bash
# Instructions of a step: in pull, solve and push, and what dominates, of a pile at rest, counted by
# valgrind's callgrind (apt-get install valgrind).
#
#     test/scripts/profile.sh [<build>] [<bodies>]
set -eu
. "$(dirname "$0")/help.sh"
build=${1:-$(dirname "$0")/../../build}
bodies=${2:-100}
export LC_ALL=C
if ! command -v callgrind_annotate >/dev/null; then
    echo "profile: valgrind is not installed" >&2
    exit 1
fi
counts=$(mktemp)
trap 'rm -f "$counts"' EXIT

# The compiler may have made a clone of it, hence the star.
told=$(valgrind --tool=callgrind --callgrind-out-file="$counts" --collect-atstart=no \
    --toggle-collect='bench_profiled_steps*' "$build/bench" profile "$bodies" 2>/dev/null)
steps=$(awk '$1 == "steps" { print $2 }' <<<"$told")
grep '^#' <<<"$told"

# <name> <instructions>, clones added to what they were made from.
rows() {
    callgrind_annotate --threshold=100 "$@" "$counts" |
        sed -n 's/^ *\([0-9,]*\) ([^)]*)  [^:]*:\([^ ]*\).*/\1 \2/p' |
        awk '{ gsub(",", "", $1); sub(/\.(constprop|part|isra|cold).*/, "", $2); n[$2] += $1 }
             END { for (name in n) print name, n[name] }'
}

rows --inclusive=yes | awk -v steps="$steps" '
    { n[$1] = $2 }
    function row(name, label) {
        printf "%-24s %10.0f %6.1f %%\n", label, n[name] / steps / 1e3, 100 * n[name] / all
    }
    END {
        all = n["dWorldStep"]
        printf "\n%-24s %10s %8s\n", "part", "1000/step", "share"
        row("dWorldStep", "step")
        row("sprag_ode_pull", "  pull")
        row("sprag_stribeck_solve", "  solve")
        n["push"] = n["sprag_ode_push_velocities"] + n["sprag_ode_push_feedback"] + n["sprag_ode_move"]
        row("push", "  push")
        n["rest"] = all - n["sprag_ode_pull"] - n["sprag_stribeck_solve"] - n["push"]
        row("rest", "  rest")
        row("sprag_system_factor", "of solve: assemble, factor")
        row("sprag_system_residual", "of solve: residual")
    }'
all=$(rows --inclusive=yes | awk '$1 == "dWorldStep" { print $2 }')
printf '\n%-24s %10s %8s\n' "what dominates, itself" "1000/step" "share"
rows --inclusive=no | sort -k2,2nr | head -15 |
    awk -v steps="$steps" -v all="$all" \
        '{ printf "%-24.24s %10.0f %6.1f %%\n", $1, $2 / steps / 1e3, 100 * $2 / all }'
