#!/bin/bash
# games.sh [METHODS] [GAMES] - Debian's games that are built on ODE, played for TIME (60) seconds each
# under stock (method=ode) and under methods of sprag's (stribeck,ess,advance), on a display of their
# own, by key presses. A row per game and method:
#
#   lives    yes: still running at the end; else its exit code
#   moves    pictures that differ from the one before, of those taken, one every five seconds
#   rate     steps per second of the clock; less than stock's is a game that runs slowly
#   us       per step: mean, of 99 in 100, longest
#   fallback islands that stock had to step; held: bodies that were not finite; residual: worst
#
# and what sprag said. SHOTS=folder keeps a picture of each at the end. Exit code 1 if a game died,
# stood still, made no step, or a body was held or an island fell back.
#
# apt-get install stormbaancoureur xmoto mu-cade mokomaze xvfb xdotool imagemagick libgl1-mesa-dri

# shellcheck disable=SC2059 # the rows of the table share one format
set -euo pipefail
. "$(dirname "$0")/help.sh"
methods=${1:-ode,stribeck,ess,advance} games=${2:-stormbaancoureur,xmoto,mu-cade,mokomaze}
library=${LIBRARY:-$(cd "$(dirname "$0")/../.." && pwd)/build/libsprag.so}
seconds=${TIME:-60}
PATH=$PATH:/usr/games
work=$(mktemp -d)
shots=${SHOTS:-$work}
mkdir -p "$shots"
shots=$(cd "$shots" && pwd)
pids=()
trap '[ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null; rm -rf "$work"' EXIT
export SDL_AUDIODRIVER=dummy SDL_VIDEODRIVER=x11 LIBGL_ALWAYS_SOFTWARE=1 PLODE_NO_SOUND=1

start() { # start <game>: execs it
    case $1 in
    stormbaancoureur) exec stormbaancoureur ;;
    xmoto) exec xmoto -win -res 640x480 --nosound --nowww -p me -l tut1 ;;
    mu-cade) exec mu-cade -window -nosound ;;
    mokomaze) exec mokomaze -f none -x 480 -y 640 -s false -i keyboard ;;
    *) exec "$1" ;;
    esac
}

tap() {
    xdotool key "$@"
    sleep 0.3
}

hold() { # hold <seconds> <key>...
    local time=$1
    shift
    xdotool keydown "$@"
    sleep "$time"
    xdotool keyup "$@"
}

begin() { # begin <game>: from its menu into the game
    case $1 in
    stormbaancoureur) tap space ;;
    mu-cade) tap z ;;
    esac
}

turns=0
drive() { # drive <game>: about two seconds of play
    turns=$((turns + 1))
    case $1 in
    stormbaancoureur)
        [ $((turns % 5)) = 4 ] && hold 0.6 a period
        [ $((turns % 5)) = 2 ] && hold 0.6 a comma
        [ $((turns % 9)) = 8 ] && hold 1 z
        hold 1.5 a
        ;;
    xmoto)
        hold 0.9 Up
        hold 0.3 Right
        hold 0.3 Left
        [ $((turns % 6)) = 5 ] && tap space
        [ $((turns % 4)) = 3 ] && tap Return # again, after a fall
        ;;
    mu-cade)
        hold 0.5 z Right
        hold 0.5 z Up
        hold 0.5 z Left
        hold 0.5 z Down
        ;;
    mokomaze)
        hold 0.7 Down
        hold 0.5 Left
        hold 0.5 Up
        hold 0.5 Right
        ;;
    esac
    return 0
}

picture() { # picture <name>: of the whole display
    import -silent -window root "$work/$1.png" 2>/dev/null || true
}

play() { # play <game> <method>: leaves <game>.<method>.csv, .err, .lives, .moves
    local name=$1.$2 at=0 taken=0 moved=0 game server window
    export HOME=$work/home.$name XDG_RUNTIME_DIR=$work
    mkdir -p "$HOME"
    exec 3>"$work/display"
    Xvfb -displayfd 3 -screen 0 800x680x24 +extension GLX >/dev/null 2>&1 &
    server=$!
    while [ ! -s "$work/display" ]; do sleep 0.1; done
    DISPLAY=:$(cat "$work/display")
    export DISPLAY
    pids=("$server")
    (SPRAG_OPTIONS=method=$2 SPRAG_STATS=$work/$name.csv LD_PRELOAD=$library start "$1") \
        >"$work/$name.out" 2>"$work/$name.err" </dev/null &
    game=$!
    pids=("$game" "$server")
    window=$(timeout 60 xdotool search --sync --onlyvisible --name . 2>/dev/null | tail -1 || true)
    sleep 5
    xdotool mousemove 790 670 # out of every window: mokomaze pauses where it comes and goes
    [ -z "$window" ] || xdotool windowfocus "$window" 2>/dev/null || true
    begin "$1"
    date +%s.%N >"$work/$name.begun"
    steps_of "$name" >"$work/$name.before"
    SECONDS=0
    while [ $SECONDS -lt "$seconds" ] && kill -0 "$game" 2>/dev/null; do
        drive "$1"
        if [ $SECONDS -ge $((at + 5)) ]; then
            at=$SECONDS taken=$((taken + 1))
            picture now
            cmp -s "$work/now.png" "$work/last.png" || moved=$((moved + 1))
            mv "$work/now.png" "$work/last.png" 2>/dev/null || true
        fi
    done
    date +%s.%N >"$work/$name.ended"
    steps_of "$name" >"$work/$name.after"
    mv "$work/last.png" "$shots/$name.png" 2>/dev/null || true
    echo "$moved/$taken" >"$work/$name.moves"
    if kill -0 "$game" 2>/dev/null; then
        echo yes >"$work/$name.lives"
        kill "$game"
    fi
    local code=0
    wait "$game" 2>/dev/null || code=$?
    [ -f "$work/$name.lives" ] || echo "$code" >"$work/$name.lives"
    if kill "$server"; then
        wait "$server" 2>/dev/null || true
    fi
    pids=()
    exec 3>&-
}

steps_of() {
    [ -f "$work/$1.csv" ] && grep -c -v ^process "$work/$1.csv" || echo 0
}

# steps, contacts per step, us: mean, of 99 in 100, longest; fallbacks, held bodies, worst residual
numbers() { # numbers <name>
    awk -F, '$1 == "process" { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { us = $at["pull_us"] + $at["solve_us"] + $at["push_us"]; print us
          n++; sum += us; c += $at["contacts"]; r = $at["residual"]; worst = r > worst ? r : worst
          b = $at["bodies"]; most = b > most ? b : most
          last[$1 "," $2] = $at["fallbacks"] "," $at["frozen"] }
        END { for (w in last) { split(last[w], x, ","); f += x[1]; h += x[2] }
              printf "%d %d %.1f %.1f %d %d %g\n", n, most, n ? c / n : 0, n ? sum / n : 0, f, h, worst \
              > "/dev/stderr" }' "$work/$1.csv" 2>"$work/sums" | sort -g >"$work/times"
    read -r steps most contacts mean fallbacks held residual <"$work/sums"
    read -r p99 longest <<<"$(awk '{ t[NR] = $1 } END { printf "%.0f %.0f", t[int(NR * 0.99) + 1], t[NR] }' \
        "$work/times")"
}

fail() {
    echo "$*" >>"$work/failures"
}

format='%-16s %-9s %5s %6s %7s %6s %6s %8s %8s %8s %8s %8s %5s %9s\n'
row() { # row <game> <method>
    local name=$1.$2 rate lives moves
    lives=$(cat "$work/$name.lives") moves=$(cat "$work/$name.moves")
    if [ ! -s "$work/$name.csv" ]; then
        fail "$1 $2: no step is taken"
        printf "$format" "$1" "$2" "$lives" "$moves" 0 - - - - - - - - -
        return
    fi
    numbers "$name"
    rate=$(echo "($(cat "$work/$name.after") - $(cat "$work/$name.before")) / \
        ($(cat "$work/$name.ended") - $(cat "$work/$name.begun"))" | bc)
    printf "$format" "$1" "$2" "$lives" "$moves" "$steps" "$rate" "$most" "$contacts" "$mean" "$p99" \
        "$longest" "$fallbacks" "$held" "$residual"
    [ "$lives" = yes ] || fail "$1 $2: ended with $lives"
    [ "${moves%/*}" != 0 ] || fail "$1 $2: stood still"
    [ "$fallbacks" = 0 ] || fail "$1 $2: $fallbacks fallbacks"
    [ "$held" = 0 ] || fail "$1 $2: $held bodies not finite"
}

printf "$format" game method lives moves steps rate bodies contacts us/step '99 %' longest fallback held \
    residual
for game in ${games//,/ }; do
    for method in ${methods//,/ }; do
        play "$game" "$method"
        row "$game" "$method"
    done
done
echo
for game in ${games//,/ }; do
    for method in ${methods//,/ }; do
        grep -a -h -o 'sprag: .*' "$work/$game.$method.err" "$work/$game.$method.out" 2>/dev/null |
            sed -E "s/0x[0-9a-f]+/(address)/g; s/^sprag: /$game $method: /" || true
    done
done
if [ -s "$work/failures" ]; then
    echo
    cat "$work/failures"
    exit 1
fi
