#!/bin/bash
# house.sh [TOP]: checks rules of the house in the sources below TOP (default: this clone). Prints each
# violation as file:line: rule, and exits non-zero when there is one. Takes a second.
#
#   product file     at most 600 lines    (adapters, models, plugin, solvers)
#   test file        at most 900 lines
#   folder           at most 30 sources
#   headers          no circle of #include "..." between the files of a room
#   comments         of the product do not open with What, Where, How, Who or That which as their
#                    subject; questions may

# shellcheck disable=SC2016,SC2086 # awk programs; lists of folders without spaces
set -u
case ${1:-} in
-h | --help)
    sed -n '2,${/^#/!q;s/^# \{0,1\}//p}' "$0"
    exit
    ;;
esac
top=$(cd "${1:-$(dirname "$0")/../..}" && pwd) && cd "$top" || exit 1
product='adapters models plugin solvers'

sources() { # FOLDER...: tracked or not, but not ignored
    { git ls-files -co --exclude-standard -- "$@" 2>/dev/null || find "$@" -type f; } |
        grep '\.[ch]$' | sort | while IFS= read -r file; do
            [ -f "$file" ] && echo "$file"
        done
}

long() { # LIMIT FOLDER...
    local limit=$1 lines
    shift
    sources "$@" | while IFS= read -r file; do
        lines=$(wc -l <"$file")
        [ "$lines" -gt "$limit" ] && echo "$file:$lines: more than $limit lines"
    done
}

crowded() {
    sources $product test | xargs -n1 dirname | sort | uniq -c |
        awk '$1 > 30 { print $2 ":1: " $1 " sources, more than 30" }'
}

# Edges "including included" of files in the same folder, for tsort, which reports circles.
circles() {
    sources $product | grep '\.h$' | xargs -n1 dirname | sort -u | while IFS= read -r room; do
        for file in "$room"/*.h; do
            sed -n 's/^#include "\(.*\)".*/\1/p' "$file" | while IFS= read -r name; do
                [ -f "$room/$name" ] && echo "$file $room/$name"
            done
        done | tsort 2>&1 >/dev/null | sed -n 's/^tsort: \(.*\.h\)$/\1:1: in a circle of includes/p'
    done
}

riddles() {
    sources $product | xargs awk '
        FNR == 1 { inside = 0 }
        { comment = $0 ~ /^[[:space:]]*\/\/ / }
        # only the first line of a comment opens it
        comment && !inside && /^[[:space:]]*\/\/ (What|Where|How|Who|That which) / && !/\?[[:space:]]*$/ {
            print FILENAME ":" FNR ": comment opens with " $2
        }
        { inside = comment }'
}

found=$(
    long 600 $product
    long 900 test
    crowded
    circles
    riddles
)
[ -z "$found" ] || { echo "$found"; exit 1; }
