// The data of the page, from the element that `sprag` fills in.

export const data = JSON.parse(document.getElementById("data").textContent);

export const comparison = data.comparison || null;
export const runs = data.runs || [];

// Numbers of 32 bits that are kept as base64.
function floats(text) {
    const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
    return new Float32Array(bytes.buffer);
}

for (const run of runs) {
    run.poses = floats(run.poses);
    run.contacts = floats(run.contacts);
    for (const shape of run.shapes) {
        shape.vertices = shape.vertices ? floats(shape.vertices) : null;
    }
}

// Of a program: in place, or whole runs. Other comparisons are of models.
export const isInPlace = comparison !== null && comparison.kind !== undefined;

// Whole runs that were compared come in the order of the comparison, and have its names.
function namesOfRuns() {
    if (!isInPlace) {
        const models = comparison ? comparison.models : [];
        return models.flatMap(m => m.methods.map(t => (models.length > 1 ? `${m.model} ${t.method}` : t.method)));
    }
    return comparison.kind === "whole" ? comparison.methods.map(m => m.method) : [];
}

const namesCompared = namesOfRuns();
if (namesCompared.length === runs.length) {
    runs.forEach((run, i) => (run.name = namesCompared[i]));
}

// The methods of the page, with a colour each; the same name has the same colour everywhere.
const palette = ["#d9601a", "#1a73c7", "#2a9150", "#b03a8c", "#8a6d00", "#5b54c4", "#0a8f8f", "#8c4b2f"];
const names = [];
for (const method of isInPlace ? comparison.methods : []) {
    names.push(method.method);
}
for (const run of runs) {
    names.push(run.name);
}
export const methods = [...new Set(names)];

export function colourOf(name) {
    return palette[methods.indexOf(name) % palette.length];
}

export function print(value) {
    if (value === null || value === undefined || Number.isNaN(value)) {
        return "–";
    }
    const size = Math.abs(value);
    return value === 0 ? "0" : size >= 1e5 || size < 1e-3 ? value.toExponential(2) : String(Number(value.toPrecision(4)));
}

export function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
        made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
}
