// Figures by step, all methods in one plot, one cursor in all plots.
import uPlot from "uplot";
import { runs, comparison, isInPlace, methods, colourOf, print, element } from "./data.js";
import { onTime, setTime } from "./cursor.js";

const recorded = [
    ["cpu", "step time", "µs"],
    ["depth", "largest depth", "m"],
    ["slip", "slip of contacts that stick", "m/s"],
    ["energy", "energy", "J"],
    ["residual", "residual", ""],
    ["joint_gap", "joint error", "m"],
];
const inPlace = [
    ["us", "step time", "µs"],
    ["depth_largest", "largest depth after the step", "m"],
    ["slip", "slip where contacts stick", "m/s"],
    ["energy_made", "energy made by the step", "J"],
    ["residual", "residual", ""],
    ["cone", "friction / cone", ""],
    ["joint_gap", "joint error", "m"],
];

function known(values) {
    return values && values.some(v => v !== null && v !== 0);
}

// Recordings of whole runs have every step.
const ofStates = isInPlace && !(comparison.kind === "whole" && runs.length);

// Lines of a figure: { name, times, values }.
function linesOf(key) {
    if (ofStates) {
        return comparison.methods
            .map(m => ({ name: m.method, times: comparison.states.time, values: m.values[key] }))
            .filter(line => known(line.values));
    }
    return runs.map(r => ({ name: r.name, times: r.steps.time, values: r.steps[key] })).filter(line => known(line.values));
}

// A plot has one axis of times for all lines.
function table(lines) {
    const times = [...new Set(lines.flatMap(line => line.times))].sort((a, b) => a - b);
    const place = new Map(times.map((t, i) => [t, i]));
    const rows = lines.map(line => {
        const row = new Array(times.length).fill(null);
        line.times.forEach((t, i) => (row[place.get(t)] = line.values[i]));
        return row;
    });
    return [times, ...rows];
}

function style(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// Values over several decades are drawn by their logarithm; those that are 0, or tiny beside the
// largest, are left out.
const decades = 12;

function isWide(rows) {
    const known = rows.flat().filter(v => v !== null && v !== 0);
    const most = known.reduce((a, v) => Math.max(a, v), 0);
    const least = known.reduce((a, v) => Math.min(a, v), most);
    return least > 0 && most > 300 * least;
}

function logarithms(rows) {
    const most = rows.flat().reduce((a, v) => Math.max(a, v || 0), 0);
    return rows.map(row => row.map(v => (v > most * 10 ** -decades ? Math.log10(v) : null)));
}

const plots = [];

function add(to, title, unit, lines) {
    const rows = table(lines);
    const wide = isWide(rows.slice(1));
    const shown = wide ? [rows[0], ...logarithms(rows.slice(1))] : rows;
    const box = element("div", { class: "plot" }, element("h3", {}, unit ? `${title} (${unit})` : title));
    const values = element("div", { class: "values" });
    to.append(box);
    const axis = { stroke: () => style("--faint"), grid: { stroke: () => style("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
    const plot = new uPlot(
        {
            width: Math.max(200, box.clientWidth - 14),
            height: 170,
            legend: { show: false },
            cursor: { y: false, drag: { x: true, y: false } },
            scales: { x: { time: false }, y: {} },
            axes: [
                { ...axis, size: 24, values: (u, ticks) => ticks.map(t => `${print(t)} s`) },
                { ...axis, size: 58, incrs: wide ? [1, 2, 3, 5, 10] : undefined, values: (u, ticks) => ticks.map(t => (wide ? `1e${t}` : print(t))) },
            ],
            series: [{}, ...lines.map(line => ({ stroke: colourOf(line.name), width: 1.3, spanGaps: true, points: { show: rows[0].length < 3 } }))],
            hooks: {
                setCursor: [
                    u => {
                        const i = u.cursor.idx;
                        if (i !== null && i !== undefined) {
                            values.textContent = `${print(rows[0][i])} s  ` + lines.map((line, k) => `${line.name} ${print(rows[k + 1][i])}`).join("  ");
                            if (u.cursor.event) { // moved by the user, not by another plot
                                setTime(rows[0][i], u);
                            }
                        }
                    },
                ],
            },
        },
        shown,
        box
    );
    box.append(values);
    plots.push({ plot, box, times: rows[0] });
}

function follow(time, from) {
    for (const { plot, times } of plots) {
        if (plot !== from && times.length) {
            plot.setCursor({ left: plot.valToPos(Math.min(Math.max(time, times[0]), times[times.length - 1]), "x"), top: 10 });
        }
    }
}

export function showPlots(to) {
    const figures = (ofStates ? inPlace : recorded).map(([key, ...text]) => [...text, linesOf(key)]).filter(figure => figure[2].length);
    const drawn = new Set(figures.flatMap(figure => figure[2].map(line => line.name)));
    const keys = methods.filter(name => drawn.has(name)).map(name => element("span", { class: "key", style: `--colour: ${colourOf(name)}` }, name));
    to.append(element("div", { class: "legend" }, ...keys));
    for (const figure of figures) {
        add(to, ...figure);
    }
    onTime(follow);
    new ResizeObserver(() => {
        for (const { plot, box } of plots) {
            const width = Math.max(200, box.clientWidth - 14);
            if (plot.width !== width) {
                plot.setSize({ width, height: 170 });
            }
        }
    }).observe(to);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => plots.forEach(({ plot }) => plot.redraw()));
}
