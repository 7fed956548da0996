#!/bin/bash
# Opens report pages in a headless Chromium (Debian's package), at the widths of a desktop and a phone,
# light and dark: no errors in the console, plots and views are drawn, the slider moves the bodies, no
# page is wider than its window. Exit code 77, for ctest a skipped test: there is no Chromium.
#
#     test_page.sh <build>
set -u
if ! command -v chromium >/dev/null; then
    echo "no chromium: the page is not tested (apt-get install chromium)"
    exit 77
fi
. "$(dirname "$0")/../../../support/start.sh"

# Checks that run in the page, and post what is wrong with it to the window around.
cat >first.js <<'END'
window.faults = [];
addEventListener("error", event => faults.push(event.message));
console.error = (...words) => faults.push(words.join(" "));
console.warn = console.error;
END
cat >last.js <<'END'
const wait = ms => new Promise(done => setTimeout(done, ms));
function coloursOf(canvas) {
    const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
    const context = copy.getContext("2d");
    context.drawImage(canvas, 0, 0);
    return context.getImageData(0, 0, copy.width, copy.height).data;
}
// The pixels, once they differ from others: a busy machine draws late.
async function coloursOtherThan(canvas, others) {
    let pixels = coloursOf(canvas);
    for (let tries = 0; tries < 25 && others && pixels.every((value, i) => value === others[i]); tries++) {
        await wait(200);
        pixels = coloursOf(canvas);
    }
    return pixels;
}
function kinds(pixels) {
    return new Set(new Uint32Array(pixels.buffer)).size;
}
async function check() {
    await wait(300);
    const plots = [...document.querySelectorAll(".plot canvas")];
    const views = [...document.querySelectorAll(".view canvas")];
    if (plots.length < PLOTS) faults.push(`${plots.length} plots`);
    if (plots.some(canvas => kinds(coloursOf(canvas)) < 5)) faults.push("a blank plot");
    const names = [...document.querySelectorAll(".view .name, .legend .key")].map(name => name.textContent);
    if (names.some(name => / [0-9]$/.test(name))) faults.push(`runs without names of their own: ${names}`);
    if (views.length !== VIEWS) faults.push(`${views.length} views`);
    if (document.documentElement.scrollWidth > innerWidth) faults.push(`wider than the window: ${document.documentElement.scrollWidth} > ${innerWidth}`);
    if (document.querySelectorAll("#tables td").length < 10) faults.push("no table");
    if (views.length) {
        const slider = document.querySelector("input[type=range]");
        const at = [];
        const drawn = [];
        for (const value of [slider.min, slider.max]) {
            slider.value = value;
            slider.dispatchEvent(new Event("input"));
            await wait(300);
            at.push(sprag.views[0].scene.bodies.map(body => body.position.toArray().join(" ")).join(" "));
            drawn.push(await coloursOtherThan(views[0], drawn[0]));
        }
        if (drawn.some(pixels => kinds(pixels) < 20)) faults.push("a blank view");
        if (sprag.views.some(view => view.controls.getDistance() > DISTANCE * Math.max(...view.scene.run.shapes.filter(shape => shape.body !== null).flatMap(shape => shape.size)))) faults.push("bodies too small to see");
        if (at[0] === at[1]) faults.push("the slider moves no body");
        if (drawn[0].every((value, i) => value === drawn[1][i])) faults.push("the slider changes no pixel");
        if (!sprag.views[0].scene.arrows.children.some(arrow => arrow.visible)) faults.push("no arrow");
        document.querySelector("#worst a").click();
        await wait(100);
        if (!/^#t=/.test(location.hash)) faults.push("a link to a worst step does nothing");
    }
    parent.postMessage(`${innerWidth}: ${faults.length ? faults.join("; ") : "fine"}`, "*");
}
check().catch(error => parent.postMessage(`${innerWidth}: ${error}`, "*"));
END

# prepare PAGE PLOTS VIEWS DISTANCE: the page with the checks in it, and a window around it.
prepare() {
    awk -v plots="$2" -v views="$3" -v distance="$4" '
        function include(file, line) {
            print "<script>"
            while ((getline line <file) > 0) { gsub(/PLOTS/, plots, line); gsub(/VIEWS/, views, line); gsub(/DISTANCE/, distance, line); print line }
            close(file)
            print "</script>"
        }
        { print }
        /^<head>$/ { include("first.js") }
        /^<\/script>$/ { ends++; if (ends == 2) include("last.js") }' "$1" >checked.html
    cat >window.html <<'END'
<!DOCTYPE html><html><body><pre id="results"></pre>
<script>addEventListener("message", event => results.append(`RESULT ${event.data}\n`));</script>
<iframe src="checked.html" width="1280" height="900"></iframe>
<iframe src="checked.html" width="390" height="844"></iframe>
</body></html>
END
}

# open PAGE PLOTS VIEWS DISTANCE SCHEME: the camera is no farther than DISTANCE sizes of a body.
open_page() {
    prepare "$1" "$2" "$3" "$4"
    timeout 500 chromium --headless=new --no-sandbox --disable-gpu --use-angle=swiftshader --enable-unsafe-swiftshader \
        --user-data-dir="$work/profile" --blink-settings=preferredColorScheme="$5" --virtual-time-budget=20000 \
        --window-size=1400,2000 --dump-dom "file://$work/window.html" >dom 2>log
    [ "$(grep -c 'RESULT [0-9]*: fine$' dom)" = 2 ] ||
        fail "$1, scheme $5: $(grep -o 'RESULT.*' dom || tail -3 log)"
}

for method in ode-quick stribeck; do
    "$build/sprag" run stack -m $method --seconds 0.8 --record $method.sprec >/dev/null
done
"$build/sprag" report runs.html ode-quick.sprec stribeck.sprec
"$build/sprag" run ragdolls:2 --seconds 0.5 --record ragdolls.sprec >/dev/null
"$build/sprag" report ragdolls.html ragdolls.sprec
"$build/sprag" compare stack gripper -m ode-step,stribeck --seconds 0.5 --report models.html >/dev/null
open_page runs.html 4 2 20 0 # dark
open_page runs.html 4 2 20 1
open_page ragdolls.html 4 1 20 1
open_page models.html 4 4 20 1

[ ! -e "$work/failed" ]
