#!/bin/bash
# fingerprint.sh [-c] [-l LIBRARY] [-d DEMOS] [PATTERN] - one hash of all poses and velocities after
# every step, for each model and, with -d, each scenario of ODE's demos, under every method. A
# refactoring that should not change results leaves every line as it was:
#
#   test/scripts/fingerprint.sh -d DEMOS >before      # then change the code, build, and
#   test/scripts/fingerprint.sh -d DEMOS | diff before -
#
#   -c          compares with test/scripts/fingerprint.txt instead of printing; exit code 1 if a
#               line differs. The hashes hold for one libm and one ODE, which the file names.
#   -l LIBRARY  libsprag.so to load (default: build/libsprag.so)
#   -d DEMOS    folder that test/demos/build.sh has filled
#   PATTERN     of the lines "KIND NAME METHOD" only those that match (grep -E)
#
# A line is "KIND NAME METHOD HASH". A run that a signal or the time limit ends has "rc N" as hash.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
library=$top/build/libsprag.so demos='' check=0
while getopts cl:d: option; do
    case $option in
    c) check=1 ;;
    l) library=$(realpath "$OPTARG") ;;
    d) demos=$(cd "$OPTARG" && pwd) ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
pattern=${1:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cc -O2 -shared -fPIC "$top/test/demos/probe.c" -o "$work/probe.so" -lode -ldl -lm
cc -O2 -D_GNU_SOURCE -I"$top/models" "$top/test/programs/scene.c" "$top"/models/*.c -o "$work/scene" -lode -lm

# Frames of the scenarios that take longest, where the first ones say as much.
cat >"$work/frames" <<'EOF'
cards-fall 60
convex 60
EOF

one() { # one "<kind> <name> <method>"
    read -r kind name method <<<"$1"
    local out=$work/$kind.$method code=0
    export SPRAG_OPTIONS=method=$method
    mkdir -p "$out"
    if [ "$kind" = model ]; then
        PROBE_OUT=$out/$name.json LD_PRELOAD=$work/probe.so:$library timeout 600 \
            "$work/scene" "$name" 1000 >/dev/null 2>&1 || code=$?
    else
        local frames
        frames=$(awk -v name="$name" '$1 == name { print $2 }' "$work/frames")
        [ -z "$frames" ] || export FRAMES=$frames
        PRELOAD=$library sh "$top/test/demos/run_demos.sh" "$demos" "$out" "^$name\$" >/dev/null
        code=$(cat "$out/$name.rc")
    fi
    local hash
    hash=$(sed -n 's/.*"state_hash":"\([0-9a-f]*\)".*/\1/p' "$out/$name.json" 2>/dev/null || true)
    if [ "$code" = 124 ] || [ -z "$hash" ]; then
        hash="rc $code"
    fi
    echo "$kind $name $method $hash"
}

models=$(grep -oP '^    \{"\K[a-z-]+(?=", ")' "$top/models/models.c")
scenarios=''
if [ -n "$demos" ]; then
    scenarios=$(sed -n '/no world is stepped/q; s/^\([a-zA-Z][^ |]*\).*/\1/p' "$top/test/demos/demos.txt")
fi
for method in stribeck advance ess ode; do
    for name in $models; do echo "model $name $method"; done
    for name in $scenarios; do echo "demo $name $method"; done
done | { grep -E "$pattern" || true; } >"$work/list"
export -f one
export work top demos library
xargs -P "$(nproc)" -d '\n' -I{} bash -c 'one "$1"' one {} <"$work/list" | sort >"$work/result"

if [ $check = 0 ]; then
    echo "# $(ldd --version | head -1); libode $(dpkg-query -W -f '${Version}' libode8 2>/dev/null || echo unknown)"
    cat "$work/result"
    exit
fi
awk 'NR == FNR { if (!/^#/) want[$1 " " $2 " " $3] = $0; next }
    !(($1 " " $2 " " $3) in want) { print "new: " $0; bad = 1; next }
    want[$1 " " $2 " " $3] != $0 { print "was: " want[$1 " " $2 " " $3]; print "is:  " $0; bad = 1 }
    END { print FNR " runs compared" ; exit bad }' "$here/fingerprint.txt" "$work/result"
