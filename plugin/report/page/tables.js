// Worst steps as links, measures with verdicts, and what has been run.
import { data, runs, comparison, isInPlace, element, print } from "./data.js";
import { setTime } from "./cursor.js";

// ---- worst steps

const figures = [
    ["cpu", "slowest step", "µs"],
    ["depth", "deepest overlap", "m"],
    ["slip", "largest slip of a contact that sticks", "m/s"],
    ["residual", "largest residual", ""],
    ["joint_gap", "largest joint error", "m"],
];

function worstOf(values) {
    let worst = -1;
    values.forEach((v, i) => {
        if (v !== null && v > 0 && (worst < 0 || v > values[worst])) {
            worst = i;
        }
    });
    return worst;
}

function link(text, time) {
    const made = element("a", { href: `#t=${time}` }, text);
    made.addEventListener("click", event => {
        event.preventDefault();
        history.replaceState(null, "", `#t=${time}`);
        setTime(time);
        const replay = document.getElementById("replay");
        (replay.hidden ? document.getElementById("plots") : replay).scrollIntoView({ block: "start" });
    });
    return made;
}

export function showWorst(to) {
    const lists = isInPlace
        ? comparison.methods.map(m => [m.method, comparison.states.time, { cpu: m.values.us, depth: m.values.depth_largest, slip: m.values.slip_largest, residual: m.values.residual, joint_gap: m.values.joint_gap }])
        : runs.map(r => [r.name, r.steps.time, r.steps]);
    const head = element("tr", {}, element("th", {}, ""), ...lists.map(([name]) => element("th", {}, name)));
    const rows = [];
    for (const [key, title, unit] of figures) {
        const cells = lists.map(([, times, values]) => {
            const worst = values[key] ? worstOf(values[key]) : -1;
            return worst < 0 ? element("td", {}, "–") : element("td", {}, `${print(values[key][worst])} ${unit} `, link(`at ${print(times[worst])} s`, times[worst]));
        });
        if (cells.some(cell => cell.firstChild.textContent !== "–")) {
            rows.push(element("tr", {}, element("td", {}, title), ...cells));
        }
    }
    if (rows.length) {
        to.hidden = false;
        to.append(element("div", { class: "scroll" }, element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows))));
    }
}

// ---- measures

function tableOf(title, head, rows, legend) {
    return [
        element("h2", {}, title),
        element("div", { class: "scroll" }, element("table", {}, element("thead", {}, element("tr", {}, ...head.map(text => element("th", {}, text)))), element("tbody", {}, ...rows))),
        element("p", { class: "note" }, legend),
    ];
}

function judged(value, verdict) {
    return element("td", { class: verdict || "" }, verdict ? `${print(value)} ${verdict}` : print(value));
}

function showInPlace(to) {
    const { measures, methods } = comparison;
    const rows = measures
        .filter(m => methods.some(method => method.figures[m.name].value !== null))
        .map(m => {
            const right = m.right === null ? "" : m.name === "cone" ? "≤ 1" : print(m.right);
            return element("tr", {}, element("td", {}, m.label), element("td", {}, m.unit), element("td", {}, right), ...methods.map(method => judged(method.figures[m.name].value, method.figures[m.name].verdict)));
        });
    const legend = comparison.kind === "whole" ? `Whole runs, which differ in their states. Verdicts: against ${methods[0].method}, where a right value is known.` : `One step of each method from each of ${comparison.states.time.length} states of the run, under ${comparison.under}. Verdicts: against ${methods[0].method}, where a right value is known.`;
    to.append(...tableOf("Measures", ["", "unit", "right", ...methods.map(m => m.method)], rows, legend));
}

function showModel(to, model) {
    const [reference] = model.methods;
    const rows = reference.measures.map((m, k) => {
        const exact = m.exact === null ? (m.good_up_to === null ? "" : `up to ${print(m.good_up_to)}`) : print(m.exact);
        return element("tr", {}, element("td", {}, m.name), element("td", {}, m.unit), element("td", {}, exact), ...model.methods.map(method => judged(method.measures[k].value, method.measures[k].verdict)));
    });
    rows.push(element("tr", {}, element("td", {}, "time per step"), element("td", {}, "µs"), element("td", {}, ""), ...model.methods.map(m => element("td", {}, print(m.us_per_step)))));
    rows.push(element("tr", {}, element("td", {}, "fallbacks to ODE"), element("td", {}, ""), element("td", {}, ""), ...model.methods.map(m => element("td", {}, print(m.fallbacks)))));
    const verdicts = model.methods.length > 1 ? ` Verdicts: nearer to the exact answer than ${reference.method}, or farther from it.` : "";
    const legend = `${model.steps} steps of ${model.step} s.${verdicts}`;
    to.append(...tableOf(`${model.model}: ${model.summary}`, ["", "unit", "exact", ...model.methods.map(m => m.method)], rows, legend));
}

// Of recordings alone: no right values are known, but for depth, slip and joint errors, which are 0.
function showRuns(to) {
    const middle = values => {
        const known = (values || []).filter(v => v !== null).sort((a, b) => a - b);
        return known.length ? known[Math.floor(known.length / 2)] : null;
    };
    const most = values => (values || []).reduce((a, v) => (v !== null && (a === null || v > a) ? v : a), null);
    const lines = [
        ["time of a step, median", "µs", "", r => middle(r.steps.cpu), false],
        ["largest depth", "m", "0", r => most(r.steps.depth), true],
        ["mean depth, median", "m", "0", r => middle(r.steps.mean_depth), true],
        ["largest slip of a contact that sticks", "m/s", "0", r => most(r.steps.slip), true],
        ["largest joint error", "m", "0", r => most(r.steps.joint_gap), true],
        ["largest residual", "", "", r => most(r.steps.residual), false],
        ["fallbacks to ODE", "", "0", r => most(r.steps.fallbacks), true],
    ];
    const rows = lines
        .map(([title, unit, right, of, isJudged]) => {
            const values = runs.map(of);
            if (!values.some(v => v !== null)) {
                return null;
            }
            return element("tr", {}, element("td", {}, title), element("td", {}, unit), element("td", {}, right), ...values.map((v, i) => {
                const first = values[0];
                const verdict = i === 0 || !isJudged || v === null || first === null ? "" : Math.abs(v - first) <= 0.1 * first ? "same" : v < first ? "better" : "worse";
                return judged(v, verdict);
            }));
        })
        .filter(row => row);
    const legend = "Whole runs, which differ in their states." + (runs.length > 1 ? ` Verdicts: against ${runs[0].name}, where the right value is known.` : "");
    to.append(...tableOf("Measures", ["", "unit", "right", ...runs.map(r => r.name)], rows, legend));
}

export function showTables(to) {
    if (isInPlace) {
        showInPlace(to);
    } else if (comparison) {
        comparison.models.forEach(model => showModel(to, model));
    } else {
        showRuns(to);
    }
}

// ---- the run

function quote(word) {
    return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

export function commandOf(words) {
    return words.map(quote).join(" ");
}

function listOf(entries) {
    const list = element("dl");
    for (const [name, value] of entries) {
        if (value !== "" && value !== null && value !== undefined) {
            list.append(element("dt", {}, name), element("dd", {}, element("code", {}, String(value))));
        }
    }
    return list;
}

export function showRun(to) {
    to.append(listOf([["report", commandOf(data.command)], ["sprag", data.sprag], ["made", data.made], ["libsprag, FNV-1a", data.library]]));
    if (comparison) {
        to.append(listOf([["compared", comparison.command ? commandOf(comparison.command) : comparison.models.map(m => m.model).join(" ")], ["options", comparison.options], ["under", comparison.under], ["every", comparison.every]]));
    }
    for (const run of runs) {
        const h = run.header;
        to.append(element("h3", {}, run.name), listOf([
            ["command", commandOf(h.command)], ["directory", h.directory], ["options", h.options], ["recorded", h.started], ["steps", run.total + (run.truncated ? ", ends within one" : "")],
            ["state, FNV-1a", run.hash], ["recording", run.file], ["sprag", h.sprag], ["ODE", h.ode], ["system", `${h.system}, ${h.processor}`],
        ]));
    }
}
