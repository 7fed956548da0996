// One cursor for plots and replay: a time, in seconds.

const listeners = [];
let time = 0;

export function onTime(listener) {
    listeners.push(listener);
}

export function setTime(to, from = null) {
    time = to;
    for (const listener of listeners) {
        listener(to, from);
    }
}

export function currentTime() {
    return time;
}
