// The flame graph, the steps, and fingers.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { chromiumOnly, done, middle, open, pause, settle } from "./browser.js";
import { decode } from "./decoder.js";
import { html } from "./traces.js";
import * as words from "./words.js";

const { model, slices, flame } = decode(html("small"));
let shown, page;

before(async () => {
	shown = await open("small", { media: { "prefers-reduced-motion": "reduce" } });
	page = shown.page;
});
after(async () => {
	await shown?.close();
	await done();
});

const sum = (keep) =>
	[...slices.begin.keys()].filter(keep).reduce((total, place) => total + slices.end[place] - slices.begin[place], 0);
const kind = (place) => model.tracks[slices.track[place]].kind;
const reading = () => page.$eval("#flame .reading", (element) => element.textContent);
// the first time in it: a frame with all inside it; what it took itself comes later
const nanoseconds = (text) => words.nanoseconds(text.split(", itself")[0]);
const close = (a, b) => Math.abs(a - b) <= 0.006 * b;

async function push(button) {
	await page.evaluate(
		(text) => [...document.querySelectorAll("#flame button")].find((one) => one.textContent === text).click(),
		button,
	);
	await settle(page);
}

test("the flame graph is as wide as the time of the threads, or of the device", async () => {
	const wall = sum((place) => kind(place) === "thread" && slices.row[place] === 0);
	assert.equal(
		flame.reduce((total, node) => total + node.wall, 0),
		wall,
	);
	assert.ok(close(nanoseconds(await reading()), wall), await reading());
	await push("Device time");
	const device = sum((place) => kind(place) === "stream");
	assert.ok(close(nanoseconds(await reading()), device), await reading());
	await push("Wall time");
});

test("a click zooms to a frame and says what it took; keys walk the tree", async () => {
	const box = await middle(page, ".flame-canvas");
	const whole = await reading();
	// the second row is the threads, the third their outermost slices
	await page.mouse.click(box.left + 20, box.top + 18 + 9);
	await settle(page);
	const thread = await reading();
	assert.notEqual(thread, whole);
	const longest = Math.max(
		...model.tracks.map((_, track) =>
			sum((place) => slices.track[place] === track && slices.row[place] === 0 && kind(place) === "thread"),
		),
	);
	assert.ok(nanoseconds(thread) <= longest * 1.006, thread);
	await page.focus(".flame-canvas");
	await page.keyboard.press("ArrowDown");
	const inside = await reading();
	assert.notEqual(inside, thread);
	assert.ok(nanoseconds(inside) <= nanoseconds(thread));
	await page.keyboard.press("ArrowUp");
	assert.equal(await reading(), thread);
	await page.keyboard.press("Escape");
	assert.equal(await reading(), whole);
	const [tip] = [await page.$(".tip")];
	assert.ok(tip);
});

test("inverted: the same time, by what took it", async () => {
	const whole = nanoseconds(await reading());
	await push("Inverted");
	assert.equal(nanoseconds(await reading()), whole);
	// the largest self time of all names comes first
	const selfs = new Map();
	for (const node of flame) selfs.set(node.label, (selfs.get(node.label) ?? 0) + node.wall);
	const [label, largest] = [...selfs].sort((a, b) => b[1] - a[1])[0];
	await page.focus(".flame-canvas");
	await page.keyboard.press("ArrowDown");
	const seen = [];
	for (let i = 0; i < 12; i += 1) {
		seen.push(await reading());
		await page.keyboard.press("ArrowRight");
	}
	const name = model.labels[label][1].slice(0, 12);
	assert.ok(
		seen.some((text) => text.includes(name) && close(nanoseconds(text), largest)),
		`${name} ${largest}: ${seen.join(" / ")}`,
	);
	await push("Inverted");
});

test("a range narrows the flame graph as well", async () => {
	const [begin, end] = model.steps_ns[5];
	await page.evaluate((from, to) => window.inferscope.setRange(from, to), begin, end);
	await settle(page);
	const wall = [...slices.begin.keys()]
		.filter((place) => kind(place) === "thread" && slices.row[place] === 0)
		.reduce(
			(total, place) => total + Math.max(0, Math.min(end, slices.end[place]) - Math.max(begin, slices.begin[place])),
			0,
		);
	assert.ok(close(nanoseconds(await reading()), wall), `${await reading()}: ${wall}`);
	await page.evaluate(() => window.inferscope.setRange(null));
	await settle(page);
});

test("a hidden frame takes its time with it, and comes back", async () => {
	await page.focus(".flame-canvas");
	await page.keyboard.press("Home");
	const whole = await reading();
	for (let i = 0; i < 3; i += 1) await page.keyboard.press("ArrowDown");
	const chosen = await reading();
	await push("Hide frame");
	// all frames of its name
	const left = nanoseconds(whole) - sum((place) => model.labels[slices.label[place]][1] === chosen.split(" · ")[0]);
	assert.ok(
		left > 0 && left < nanoseconds(whole) && close(nanoseconds(await reading()), left),
		`${whole} without ${chosen}: ${await reading()}`,
	);
	await push("Show hidden");
	assert.equal(await reading(), whole);
});

test("a step is gone to by a click", async () => {
	const box = await middle(page, ".steps-canvas");
	await page.evaluate(() => window.inferscope.setView(0, 1e6));
	await page.mouse.click(box.left + box.width * 0.6, box.top + box.height * 0.85);
	await pause(200);
	const view = await page.evaluate(() => window.inferscope.view());
	const at = (view.from_ns + view.to_ns) / 2;
	const step = model.steps_ns.findIndex(([begin, end]) => begin <= at && at <= end);
	assert.ok(step >= 12 && step <= 35, `step ${step}, ${JSON.stringify(view)}`);
});

test("two fingers zoom the timeline and do not scroll the page", chromiumOnly("fingers are events of Chromium's protocol"), async () => {
	await page.evaluate(
		(from, to) => window.inferscope.setView(from, to),
		model.duration_ns * 0.2,
		model.duration_ns * 0.8,
	);
	const box = await middle(page, ".track-canvas");
	const touch = await page.createCDPSession();
	const fingers = (half) => [
		{ x: box.x - half, y: box.top + 40, id: 0 },
		{ x: box.x + half, y: box.top + 40, id: 1 },
	];
	const first = await page.evaluate(() => window.inferscope.view());
	await touch.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: fingers(50) });
	for (let half = 60; half <= 150; half += 10)
		await touch.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: fingers(half) });
	await touch.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
	await settle(page);
	const second = await page.evaluate(() => window.inferscope.view());
	const ratio = (first.to_ns - first.from_ns) / (second.to_ns - second.from_ns);
	assert.ok(ratio > 2 && ratio < 4, `${ratio} times closer`);
	assert.deepEqual(await shown.quiet(), []);
});
