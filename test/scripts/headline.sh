#!/bin/bash
# The table of results in README.md, as Markdown: stock's steppers, stribeck and advance in six
# scenes. Bold: sprag is not better than the better of stock's, or takes more than 4 times
# dWorldStep's time. Needs jq.
#
#     test/scripts/headline.sh [<build>]
set -eu
. "$(dirname "$0")/help.sh"
build=${1:-$(dirname "$0")/../../build}
export LC_ALL=C

# <model>|<description>|<measure of the model>|<label with the right answer>
rows='stack|ten equal boxes|stood for|stands for (10 s)
stack||creep from 1 s on|creep (0)
gripper|cube between two fingers|held for|held for (30 s)
gripper||slip from 1 s on|slip (0)
push|friction at 45 degrees|friction at 45 deg|coefficient (0.5)
slope|box at rest|drift from 1 s on|creep (0)
wall|four balls at a thin wall|passed through|pass through (0)
legs|quadruped that trots|walked for|walks for (6 s)'

"$build/sprag" compare stack gripper push slope wall legs -m ode-step,ode-quick,stribeck,advance --json |
    jq -r --arg rows "$rows" '
        .models as $models | $rows | split("\n") | map(split("|")) | .[] as $row |
        ($models[] | select(.model == $row[0]).methods) as $of |
        [$of[].measures[] | select(.name == $row[2])] as $found |
        (if $row[1] == "" then "" else "`\($row[0])`: \($row[1])" end) as $scene |
        [$row[0], $scene, $row[3], $found[0].unit, ($found[] | .value, .error)],
        [$row[0], "", "time", "", ($of[] | .us_per_step / $of[0].us_per_step, 0)] | @tsv' |
    awk -F'\t' '
    function number(x, digits,    text) {
        text = sprintf("%." digits "g", x)
        sub(/e-0/, "e-", text)
        return text
    }
    function print_time() {
        if (time != "") { print time }
        time = ""
    }
    BEGIN {
        print "| scene | measure (right answer) | `dWorldStep` | `dWorldQuickStep` | `stribeck` | `advance` |"
        print "|---|---|---|---|---|---|"
    }
    $1 != model { print_time(); model = $1 }
    {
        is_time = $3 == "time"
        best = $6 < $8 ? $6 : $8
        line = "|" ($2 ? " " $2 : "") " | " $3 " |"
        for (i = 0; i < 4; i++) {
            value = $(5 + 2 * i); error = $(6 + 2 * i)
            text = value == "" ? "-" : number(value, is_time || error + 0 < 1e-2 ? 2 : 3)
            text = text (text != "0" && $4 != "" && text != "-" ? " " $4 : "")
            if (is_time ? i > 1 && value > 4 : i > 1 && error > 0 && error >= best) { text = "**" text "**" }
            line = line " " text " |"
        }
        if (is_time) { time = line } else { print line }
    }
    END { print_time() }'
