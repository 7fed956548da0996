#!/bin/bash
# ompl.sh [SEEDS] - plans pushes with OMPL's RRT on its ODE extension (test/programs/push.cpp) and
# replays them, under stock and under sprag with effort=exact, for each of the random seeds (1,2,3,4).
# Prints how far a body is from its place in the plan at most (m). Exit code 1 if that is more than
# 1e-6 under sprag, if no plan was found, or if stock, too, returns to every plan: then the use is
# none.
# Needs g++ and Debian's libompl-dev.
set -euo pipefail
. "$(dirname "$0")/help.sh"
top=$(cd "$(dirname "$0")/../.." && pwd) seeds=${1:-1,2,3,4} failed=0 missed=0
library=${LIBRARY:-$top/build/libsprag.so}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset SPRAG_OPTIONS SPRAG_STATS LD_PRELOAD

g++ -O1 -std=c++17 -o "$work/push" "$top/test/programs/push.cpp" \
    -I/usr/include/ompl-1.5 -I/usr/include/eigen3 -lompl -lode

apart_of() { # of the line that push has printed; nothing: it found no plan
    sed -n 's/.* apart //p' <<<"$1"
}

for seed in ${seeds//,/ }; do
    for preload in '' "$library"; do
        said=$(SPRAG_OPTIONS=effort=exact LD_PRELOAD=$preload "$work/push" "$seed" 2>"$work/err" || true)
        apart=$(apart_of "$said")
        printf '%-6s seed %s  %s\n' "$([ -n "$preload" ] && echo sprag || echo stock)" "$seed" "$said"
        grep -a sprag: "$work/err" || true
        if [ -z "$apart" ]; then
            failed=1
        elif [ -n "$preload" ]; then
            awk -v x="$apart" 'BEGIN { exit !(x <= 1e-6) }' || failed=1
        elif awk -v x="$apart" 'BEGIN { exit !(x > 1e-6) }'; then
            missed=1
        fi
    done
done
[ $missed = 1 ] || failed=1
exit $failed
