// The recorded runs in 3-D, side by side under one slider; those of the same scene under one camera.
// Contacts are arrows along their force, on the body that they push.
import * as THREE from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { runs, element, print } from "./data.js";
import { onTime, setTime, currentTime } from "./cursor.js";

const colours = [0xd9772f, 0x3b82c4, 0x4a9d5b, 0xc0517d, 0x8472c4, 0xc9a53a];
const stateColours = [0x999999, 0x1fa34a, 0xe0342b, 0x8a8a8a]; // open, stick, slip, unknown
const POSE = 7, CONTACT = 11;

// ---- shapes

function geometryOf(shape, extent) {
    const [a, b, c] = shape.size;
    switch (shape.kind) {
        case "sphere":
            return new THREE.SphereGeometry(a, 24, 16);
        case "box":
            return new THREE.BoxGeometry(a, b, c);
        case "capsule":
            return new THREE.CapsuleGeometry(a, b, 8, 20).rotateX(Math.PI / 2);
        case "cylinder":
            return new THREE.CylinderGeometry(a, a, b, 28).rotateX(Math.PI / 2);
        case "plane":
            return new THREE.PlaneGeometry(2 * extent, 2 * extent);
        case "mesh": {
            if (!shape.vertices) {
                return null;
            }
            const made = new THREE.BufferGeometry();
            made.setAttribute("position", new THREE.BufferAttribute(shape.vertices, 3));
            made.computeVertexNormals();
            return made;
        }
        default:
            return null;
    }
}

// number: of the body in its world.
function meshOf(shape, number, extent) {
    const geometry = geometryOf(shape, extent);
    if (!geometry) {
        return null;
    }
    const isStatic = shape.body === null;
    const colour = isStatic ? 0x9aa0a6 : colours[number % colours.length];
    const material = new THREE.MeshLambertMaterial({ color: colour, side: THREE.DoubleSide, flatShading: shape.kind === "mesh" });
    if (isStatic) {
        material.transparent = shape.kind === "plane";
        material.opacity = shape.kind === "plane" ? 0.35 : 1;
    }
    const group = new THREE.Group();
    const mesh = new THREE.Mesh(geometry, material);
    group.add(mesh);
    if (shape.kind === "sphere" || shape.kind === "capsule" || shape.kind === "cylinder" || shape.kind === "box") {
        const lines = new THREE.LineSegments(new THREE.EdgesGeometry(geometry, 25), new THREE.LineBasicMaterial({ color: 0x000000, transparent: true, opacity: 0.35 }));
        group.add(lines);
    }
    if (shape.kind === "plane") {
        const grid = new THREE.GridHelper(2 * extent, 20, 0x808890, 0x808890).rotateX(Math.PI / 2);
        grid.material.transparent = true;
        grid.material.opacity = 0.35;
        group.add(grid);
    }
    group.position.fromArray(shape.position);
    group.quaternion.set(shape.quaternion[1], shape.quaternion[2], shape.quaternion[3], shape.quaternion[0]);
    return group;
}

// m: the box around the bodies at first, and around nearly all places that they get to: a body that is
// thrown far away must not make all others small.
function boundsOf(all) {
    const box = new THREE.Box3();
    let reach = 0.1;
    const places = [[], [], []];
    for (const run of all) {
        const stride = POSE * Math.max(1, Math.floor(run.poses.length / POSE / 20000));
        for (let i = 0; i < run.poses.length; i += i < run.bodies.length * POSE ? POSE : stride) {
            const at = [run.poses[i], run.poses[i + 1], run.poses[i + 2]];
            if (at.every(Number.isFinite)) {
                places.forEach((list, k) => list.push(at[k]));
                if (i < run.bodies.length * POSE) {
                    box.expandByPoint(new THREE.Vector3(...at));
                }
            }
        }
        for (const shape of run.shapes) {
            if (shape.body !== null && shape.kind !== "plane") {
                reach = Math.max(reach, ...shape.size);
            }
        }
    }
    if (places[0].length) {
        const ends = share => places.map(list => list[Math.round(share * (list.length - 1))]);
        places.forEach(list => list.sort((p, q) => p - q));
        box.expandByPoint(new THREE.Vector3(...ends(0.02)));
        box.expandByPoint(new THREE.Vector3(...ends(0.98)));
    } else {
        box.expandByPoint(new THREE.Vector3());
    }
    return box.expandByScalar(reach);
}

// Runs of the same scene start with the same shapes.
function sceneOf(run) {
    const from = Math.min(...run.shapes.map(shape => shape.from));
    const shapes = run.shapes.filter(shape => shape.from === from);
    return JSON.stringify(shapes.map(shape => [shape.kind, shape.size, shape.body]));
}

// ---- a run

class Scene {
    constructor(run, box) {
        const size = box.getSize(new THREE.Vector3()).length();
        this.run = run;
        this.scene = new THREE.Scene();
        this.scene.add(new THREE.HemisphereLight(0xffffff, 0x777777, 2.2));
        const sun = new THREE.DirectionalLight(0xffffff, 1.6);
        sun.position.set(1, -2, 3);
        this.scene.add(sun);
        this.bodies = run.bodies.map(() => {
            const group = new THREE.Group();
            this.scene.add(group);
            return group;
        });
        const slot = new Map(run.bodies.map((body, i) => [body, i]));
        this.shapes = run.shapes.map(shape => {
            const mesh = meshOf(shape, slot.get(shape.body), Math.max(2, size));
            if (mesh) {
                (shape.body === null ? this.scene : this.bodies[slot.get(shape.body)]).add(mesh);
            }
            return { shape, mesh };
        });
        this.arrows = new THREE.Group();
        this.scene.add(this.arrows);
        this.firstContact = [0];
        for (const count of run.frames.contacts) {
            this.firstContact.push(this.firstContact.at(-1) + count);
        }
        this.force = this.typicalForce();
        this.length = size / 9;
        this.shaft = new THREE.CylinderGeometry(0.02, 0.02, 1, 8).translate(0, 0.5, 0);
        this.head = new THREE.ConeGeometry(0.06, 0.2, 10).translate(0, 1, 0);
        this.materials = stateColours.map(color => new THREE.MeshBasicMaterial({ color, depthTest: false, transparent: true }));
        this.frame = -1;
    }

    // N: nine tenths of the forces are smaller.
    typicalForce() {
        const c = this.run.contacts, all = [];
        const stride = CONTACT * Math.max(1, Math.floor(c.length / CONTACT / 5000));
        for (let i = 0; i < c.length; i += stride) {
            const f = Math.hypot(c[i + 6], c[i + 7], c[i + 8]);
            if (f > 0) {
                all.push(f);
            }
        }
        all.sort((a, b) => a - b);
        return all[Math.floor(0.9 * all.length)] || 1;
    }

    frameAt(time) {
        const { time: times } = this.run.frames;
        let low = 0, high = times.length - 1;
        while (low < high) {
            const middle = (low + high + 1) >> 1;
            if (times[middle] <= time + 1e-9) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        return low;
    }

    arrow(i) {
        if (i === this.arrows.children.length) {
            const arrow = new THREE.Group();
            arrow.add(new THREE.Mesh(this.shaft), new THREE.Mesh(this.head));
            arrow.renderOrder = 1;
            this.arrows.add(arrow);
        }
        return this.arrows.children[i];
    }

    show(time) {
        const frame = this.frameAt(time);
        if (frame === this.frame) {
            return;
        }
        this.frame = frame;
        const { poses, contacts, frames } = this.run, step = frames.step[frame];
        this.bodies.forEach((body, i) => {
            const at = (frame * this.bodies.length + i) * POSE;
            body.visible = Number.isFinite(poses[at]);
            if (body.visible) {
                body.position.set(poses[at], poses[at + 1], poses[at + 2]);
                body.quaternion.set(poses[at + 4], poses[at + 5], poses[at + 6], poses[at + 3]);
            }
        });
        for (const { shape, mesh } of this.shapes) {
            if (mesh) {
                mesh.visible = shape.from <= step && step < shape.until;
            }
        }
        const first = this.firstContact[frame], count = frames.contacts[frame];
        for (let i = 0; i < count; i++) {
            this.place(this.arrow(i), contacts.subarray((first + i) * CONTACT, (first + i + 1) * CONTACT));
        }
        for (let i = count; i < this.arrows.children.length; i++) {
            this.arrows.children[i].visible = false;
        }
    }

    // An unknown force is drawn along the normal, short.
    place(arrow, c) {
        const known = Number.isFinite(c[6]);
        const force = known ? new THREE.Vector3(c[6], c[7], c[8]) : new THREE.Vector3(c[3], c[4], c[5]).multiplyScalar(this.force / 4);
        const size = force.length();
        arrow.visible = size > 0 && c[10] !== 0;
        if (arrow.visible) {
            const length = this.length * Math.min(2, Math.sqrt(size / this.force));
            arrow.position.set(c[0], c[1], c[2]);
            arrow.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), force.divideScalar(size));
            arrow.scale.set(this.length * 0.7, length, this.length * 0.7);
            arrow.children.forEach(part => (part.material = this.materials[c[10]]));
        }
    }
}

// ---- the views

function addView(to, run, name, box) {
    const canvas = element("canvas");
    to.append(element("div", { class: "view" }, canvas, element("div", { class: "name" }, name)));
    const renderer = new THREE.WebGLRenderer({ canvas, antialias: true, alpha: true, preserveDrawingBuffer: true });
    const camera = new THREE.PerspectiveCamera(40, 1, 0.01, 1e5);
    const centre = box.getCenter(new THREE.Vector3()), size = box.getSize(new THREE.Vector3()).length();
    camera.up.set(0, 0, 1);
    camera.position.copy(centre).addScaledVector(new THREE.Vector3(0.62, -1, 0.42).normalize(), 1.4 * size);
    camera.near = size / 200;
    camera.far = size * 50;
    const controls = new OrbitControls(camera, canvas);
    controls.target.copy(centre);
    controls.update();
    return { scene: new Scene(run, box), of: sceneOf(run), renderer, camera, controls, canvas };
}

function draw(view) {
    const { renderer, camera, canvas, scene } = view;
    const width = canvas.clientWidth, height = canvas.clientHeight, ratio = Math.min(devicePixelRatio, 2);
    if (canvas.width !== Math.floor(width * ratio) || canvas.height !== Math.floor(height * ratio)) {
        renderer.setPixelRatio(ratio);
        renderer.setSize(width, height, false);
        camera.aspect = width / Math.max(1, height);
        camera.updateProjectionMatrix();
    }
    renderer.render(scene.scene, camera);
}

export function showReplay(to) {
    if (!runs.some(run => run.frames.time.length)) {
        return;
    }
    to.hidden = false;
    const last = Math.max(...runs.map(run => run.frames.time.at(-1) || 0));
    const first = Math.min(...runs.map(run => run.frames.time[0] || 0));
    const slider = element("input", { type: "range", min: first, max: last, step: "any", value: first, "aria-label": "time" });
    const clock = element("output");
    const button = element("button", { type: "button" }, "Play");
    const views = element("div", { class: "views" });
    const key = element("p", { class: "note" }, "Arrows: contact forces, as long as the root of the force; green sticks, red slips, grey unknown. Drag to turn, two fingers or the wheel to zoom.");
    to.append(element("h2", {}, "Replay"), element("div", { class: "controls" }, button, slider, clock), views, key);

    const shown = [];
    try {
        for (const run of runs) {
            const like = runs.filter(other => sceneOf(other) === sceneOf(run));
            shown.push(addView(views, run, run.name, boundsOf(like)));
        }
    } catch (error) {
        views.replaceChildren(element("p", { class: "note" }, "This browser has no WebGL, which the replay needs."));
        return;
    }
    let dirty = true, playing = false, before = 0;
    const redraw = () => (dirty = true);
    shown.forEach(view => {
        view.controls.addEventListener("change", () => {
            for (const other of shown.filter(other => other.of === view.of)) {
                other.camera.position.copy(view.camera.position);
                other.camera.quaternion.copy(view.camera.quaternion);
                other.controls.target.copy(view.controls.target);
            }
            redraw();
        });
    });
    new ResizeObserver(redraw).observe(views);
    onTime(time => {
        shown.forEach(view => view.scene.show(time));
        slider.value = time;
        clock.textContent = `${print(time)} s`;
        redraw();
    });
    slider.addEventListener("input", () => setTime(Number(slider.value)));
    button.addEventListener("click", () => {
        playing = !playing;
        button.textContent = playing ? "Pause" : "Play";
        if (playing && currentTime() >= last) {
            setTime(first);
        }
    });
    const tick = now => {
        if (playing) {
            const time = Math.min(last, currentTime() + Math.min(0.1, (now - before) / 1000));
            setTime(time);
            if (time >= last) {
                button.click();
            }
        }
        before = now;
        if (dirty) {
            dirty = false;
            shown.forEach(draw);
        }
        requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
    window.sprag = { views: shown, setTime }; // for tests
}
