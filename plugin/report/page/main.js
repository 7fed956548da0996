import { data, runs, comparison, isInPlace, methods } from "./data.js";
import { showPlots } from "./plots.js";
import { showReplay } from "./view.js";
import { commandOf, showRun, showTables, showWorst } from "./tables.js";
import { setTime } from "./cursor.js";

function titleOf() {
    if (isInPlace) {
        return commandOf(comparison.command);
    }
    return runs.length ? commandOf(runs[0].header.command) : comparison.models.map(m => m.model).join(", ");
}

const title = titleOf();
document.title = `${title} – sprag`;
document.getElementById("title").textContent = title;
document.getElementById("summary").textContent = methods.length ? `${methods.join(", ")}; sprag ${data.sprag}` : `sprag ${data.sprag}`;
showPlots(document.getElementById("plots"));
showReplay(document.getElementById("replay"));
showWorst(document.getElementById("worst"));
showTables(document.getElementById("tables"));
showRun(document.getElementById("run"));

const asked = /^#t=([0-9.e+-]+)$/.exec(location.hash);
const first = runs.length && runs[0].frames.time.length ? runs[0].frames.time[0] : 0;
requestAnimationFrame(() => setTime(asked ? Number(asked[1]) : first)); // uPlot is ready by then
