#!/bin/bash
# sprag replay, dump and report on models and programs.
#
#     test_commands.sh <build>
set -u
. "$(dirname "$0")/../../../support/start.sh"

# ends CODE PATTERN COMMAND...
ends() {
    local code=$1 pattern=$2
    shift 2
    "$@" >out 2>&1
    [ $? = "$code" ] || fail "another exit code than $code: $*: $(cat out)"
    grep -q -e "$pattern" out || fail "no $pattern: $*: $(cat out)"
}

# ---- replay

"$build/sprag" run slope --seconds 0.3 --record slope.sprec >/dev/null
ends 0 '^30 steps: the same bits$' "$build/sprag" replay slope.sprec
ends 0 '^30 steps: the same bits$' "$build/sprag" replay slope.sprec <&- # a file has the number 0
"$build/sprag" exec -q -o stribeck.softness=1e-4 --record host.sprec "$host" quick 40 >/dev/null
ends 0 '^40 steps: the same bits$' "$build/sprag" replay host.sprec --record again.sprec
[ "$("$build/sprag" export again.sprec --count)" = 40 ] || fail "replay keeps no recording"
sed 's/softness=1e-4/softness=1e-2/' host.sprec >other.sprec # the same length
ends 1 '^[0-9]* of 40 steps: the same bits; from .* m apart$' "$build/sprag" replay other.sprec
awk '{ far = $(NF - 2) } END { exit !(far > 1e-7 && far < 1e-2) }' out || fail "contacts as soft sink deeper, by: $(cat out)"
head -c "$(($(stat -c %s host.sprec) - 100))" host.sprec >cut.sprec # as a killed run leaves it
ends 0 '^39 steps: the same bits$' "$build/sprag" replay cut.sprec --record ended.sprec
[ "$("$build/sprag" export ended.sprec --count)" = 39 ] || fail "replay goes on behind the recorded steps"
(cat ended.sprec && head -c 80 /dev/zero) >damaged.sprec
for words in 'replay @' 'export @ --count' 'export @ --csv end --gltf end.glb --count' 'report end.html @'; do
    for end in 'cut.sprec ends within a step, which is left out' 'damaged.sprec is damaged: steps from there on are left out'; do
        # shellcheck disable=SC2086 # words
        "$build/sprag" ${words/@/${end%% *}} 2>err >out || fail "$words fails: $(cat err)"
        [ "$(cat err)" = "sprag: note: $end" ] || fail "$words, $end: $(cat err)"
    done
done
for file in slope.sprec host.sprec; do
    ends 1 '^[0-9]* of [34]0 steps: the same bits; from .* m apart$' "$build/sprag" replay -m ode-quick --record other.sprec $file
    [ "$("$build/sprag" export other.sprec --csv other && cut -d, -f3 other/steps.csv | sort -u | tr '\n' ' ')" = "method ode-quick " ] ||
        fail "replay -m: $file"
done
# shellcheck disable=SC2046 # 5000 words
"$build/sprag" exec -q --record many.sprec "$host" quick 5 $(seq 5000) >/dev/null
ends 0 '^5 steps: the same bits$' "$build/sprag" replay many.sprec --record again.sprec
cmp -s <(head -1 many.sprec | grep -o '"command":[^]]*') <(head -1 again.sprec | grep -o '"command":[^]]*') || fail "replay cuts a command"
head -1 host.sprec >empty.sprec # a program that has made no step
ends 0 '^0$' "$build/sprag" export empty.sprec --count
"$build/sprag" export empty.sprec --csv empty && [ "$(cat empty/*.csv | wc -l)" = "$(find empty -name '*.csv' | wc -l)" ] || fail "rows without a step"
for words in 'replay empty.sprec' 'report page.html empty.sprec' 'export empty.sprec --gltf empty.glb'; do
    # shellcheck disable=SC2086 # words
    ends 1 'empty.sprec has no step$' "$build/sprag" $words
done
cp "$host" program && "$build/sprag" exec -q --record program.sprec ./program quick 5 >/dev/null
printf '#!/bin/sh\nexit 3\n' >program # another one, of that name
ends 1 'the command has ended with code 3 and not stepped a world$' "$build/sprag" replay program.sprec
chmod -x program
ends 1 '^sprag: ".*program" cannot be executed: Permission denied$' "$build/sprag" replay program.sprec
[ "$(wc -l <out)" = 1 ] || fail "replay tells it twice: $(cat out)"
rm program
ends 1 '^sprag: ".*program" is not found$' "$build/sprag" replay program.sprec
[ "$(wc -l <out)" = 1 ] || fail "replay tells it twice: $(cat out)"
ends 1 'does not exist' "$build/sprag" replay missing.sprec
ends 1 'is no recording' "$build/sprag" replay "$build/sprag"

# ---- dump

ends 1 'no solve has failed' "$build/sprag" dump solve.json slope
ends 0 'build/bench solve' "$build/sprag" dump solve.json --step 12 stack
grep -q '"number":12' solve.json || fail "dump takes another step"
if [ -x "$build/bench" ]; then
    ends 0 'in the program: ok, residual .*: the same' "$build/bench" solve solve.json
    sed 's/"free_velocity":\[[^,]*/"free_velocity":[1/' solve.json >other.json
    ends 1 'another result' "$build/bench" solve other.json
    ends 1 'no solve that' "$build/bench" solve <(echo '{}')
fi
ends 0 'host.json' "$build/sprag" dump host.json --step 5 -- "$host" step 10
ends 0 'host.json' "$build/sprag" dump host.json --step 5 -- "$host" step 10 <&-
ends 1 'no contact was solved in step 99' "$build/sprag" dump host.json --step 99 -- "$host" step 10
ends 2 'not the number of a step' "$build/sprag" dump host.json --step 0 stack
[ ! -e host.json ] || fail "dump leaves a file without a solve"

# What is no earlier dump stays as it is.
echo mine >notes.txt && mkdir folder && mkfifo pipe && ln -s notes.txt link
for name in notes.txt link folder pipe /dev/null missing/solve.json; do
    ends 1 '^sprag: [^:]*: .' "$build/sprag" dump $name --step 12 stack
    [ "$(wc -l <out)" = 1 ] || fail "more than a line: dump $name: $(cat out)"
done
[ "$(cat notes.txt)" = mine ] && [ -d folder ] && [ -p pipe ] && [ -c /dev/null ] && [ -L link ] || fail "dump takes a file away"
ends 0 'build/bench solve' "$build/sprag" dump solve.json --step 13 stack # one of its own
grep -q '"number":13' solve.json || fail "dump keeps an earlier file"

# A program may be started without any input: the first file has the number 0.
"$build/sprag" compare -q --steps 20 -m ode-step -- "$host" step 30 <&- >out && grep -q ': 2 states' out || fail "compare: $(cat out)"
"$build/sprag" run slope --seconds 0.1 --report none.html <&- >/dev/null && [ -s none.html ] || fail "no page without input"
"$build/sprag" report host.html host.sprec <&- && [ -s host.html ] || fail "no report without input"
"$build/sprag" export host.sprec --csv none --gltf none.glb <&- && [ -s none/steps.csv ] && [ -s none.glb ] || fail "no export without input"
rm host.html

# ---- pipes

# A pipe is read once; what reads more than once does not wait for it.
for words in 'export pipe --gltf a.glb' 'export pipe --csv a --count' 'report a.html pipe' 'replay pipe'; do
    # shellcheck disable=SC2086 # words
    ends 1 '^sprag: pipe is a pipe' timeout 20 "$build/sprag" $words
done
cat slope.sprec >pipe &
ends 0 "^$("$build/sprag" export slope.sprec --count)\$" timeout 20 "$build/sprag" export pipe --count
wait
"$build/sprag" export slope.sprec --csv of_file
"$build/sprag" export /dev/stdin --csv of_pipe < <(cat slope.sprec) && diff -r of_file of_pipe || fail "export of a pipe"

# ---- files that end too early

"$build/sprag" run pile --seconds 0.1 --record pile.sprec >/dev/null
for words in 'export pile.sprec --csv short' 'export pile.sprec --gltf short.glb' 'report short.html pile.sprec' \
    'dump short.json --step 20 stack'; do
    # shellcheck disable=SC2086 # words
    (ulimit -f 4 && ends 1 '^sprag: .*short' "$build/sprag" $words) || fail "no limit of files"
done

mkdir full && ln -s /dev/full full/steps.csv # which is written as it is closed
ends 1 '^sprag: full: a file in it cannot be written$' "$build/sprag" export slope.sprec --csv full

# ---- report

ends 2 'report takes' "$build/sprag" report page.html
ends 1 'does not exist' "$build/sprag" report page.html missing.sprec
"$build/sprag" run slope --seconds 0.3 --json >slope.json
"$build/sprag" report page.html --json slope.json slope.sprec || fail "no page of a run"
grep -q '<canvas\|<script' page.html || fail "no page"
grep -qE '(src|href)="?(https?:)?//' page.html && fail "the page loads something"
SPRAG_RECORD=host.sprec LD_PRELOAD=$build/libsprag.so "$host" step 5 >/dev/null
"$build/sprag" run slope --seconds 0.1 --report run.html >run.txt || fail "no page of --report"
grep -q '"frames":' run.html || fail "no run in the page of --report"
! grep -q sprag_report_ run.html || fail "a page names a recording that is gone"
"$build/sprag" report host.html host.sprec
hash=$(head -1 host.sprec | sed -n "s|.*\"library\":\"$build/libsprag.so\",\"library_hash\":\"\([0-9a-f]*\)\".*|\1|p")
grep -q "\"library\":\"${hash:-none}\"" host.html || fail "a page names another library than the one that stepped"
! grep -q "\"library\":\"$hash\"" page.html || fail "the page of a run of the command names libsprag.so"
ends 1 'is not what' "$build/sprag" report page.html --json solve.json

[ ! -e "$work/failed" ]
