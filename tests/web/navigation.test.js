// Wheel, keys and mouse in the timeline.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { done, middle, open, settle, until } from "./browser.js";
import { decode } from "./decoder.js";
import { html } from "./traces.js";

const { model, slices } = decode(html("small"));
const label = model.labels.findIndex(([category, text]) => category === "operator" && text === "aten::mm");
const known = [...slices.label.keys()].filter((place) => slices.label[place] === label)[80];
const begin = slices.begin[known],
	end = slices.end[known];
let shown, page;

before(async () => {
	shown = await open("small", { media: { "prefers-reduced-motion": "reduce" } });
	page = shown.page;
});
after(async () => {
	await shown?.close();
	await done();
});

// A view with the known slice in the middle, and the timeline on the screen.
beforeEach(async () => {
	await page.keyboard.press("Escape");
	await page.evaluate((from, to) => window.inferscope.setView(from, to), begin - 2e6, end + 2e6);
	await page.$eval(".track-scroll", (element) => element.scrollIntoView({ block: "center", behavior: "instant" }));
	await settle(page);
});

const view = () => page.evaluate(() => window.inferscope.view());
const selection = () => page.evaluate(() => window.inferscope.selection());
const where = (place = known) => page.evaluate((one) => window.inferscope.where(one), place);
const span = (one) => one.to_ns - one.from_ns;
const center = (box) => ({ x: box.x + box.width / 2, y: box.y + box.height / 2 });

async function press(key) {
	await page.keyboard.press(key);
	await settle(page);
	return view();
}

async function clickOn(place, options) {
	const at = center(await where(place));
	await page.mouse.click(at.x, at.y, options);
	await settle(page);
}

test("the wheel scrolls the page and leaves the view alone", async () => {
	const { x, y } = await middle(page, ".track-canvas");
	const first = await view(),
		scrolled = await page.evaluate(() => scrollY);
	await page.mouse.move(x, y);
	for (let i = 0; i < 10; i += 1) await page.mouse.wheel({ deltaY: 200 });
	await until(page, (from) => scrollY > from + 50, scrolled);
	assert.deepEqual(await view(), first);
});

test("ctrl and wheel zoom around the pointer", async () => {
	const first = await view(),
		box = await where();
	await page.mouse.move(box.x, box.y + box.height / 2);
	await page.keyboard.down("Control");
	await page.mouse.wheel({ deltaY: -120 });
	await page.keyboard.up("Control");
	await settle(page);
	const second = await view(),
		moved = await where();
	assert.ok(span(second) < 0.95 * span(first), `${span(first)} -> ${span(second)}`);
	assert.ok(Math.abs(moved.x - box.x) < 1, `${box.x} -> ${moved.x}`);
	assert.equal(await page.evaluate(() => visualViewport.scale), 1);
});

test("shift and wheel pan", async () => {
	const first = await view(),
		{ x, y } = center(await where());
	await page.mouse.move(x, y);
	await page.keyboard.down("Shift");
	await page.mouse.wheel({ deltaY: 120 });
	await page.keyboard.up("Shift");
	await settle(page);
	const second = await view();
	assert.notEqual(second.from_ns, first.from_ns);
	assert.ok(Math.abs(span(second) - span(first)) < 2);
});

test("W and S zoom, A and D pan, and back again", async () => {
	const first = await view();
	const closer = await press("w");
	assert.ok(span(closer) < 0.95 * span(first));
	const back = await press("s");
	assert.ok(Math.abs(span(back) - span(first)) < 0.02 * span(first));
	const right = await press("d");
	assert.ok(right.from_ns > back.from_ns && Math.abs(span(right) - span(back)) < 2);
	const left = await press("a");
	assert.ok(Math.abs(left.from_ns - back.from_ns) < 0.01 * span(back));
	const plus = await press("+");
	assert.ok(span(plus) < span(left));
	const minus = await press("-");
	assert.ok(Math.abs(span(minus) - span(left)) < 0.02 * span(left));
	await page.focus(".track-canvas");
	assert.ok((await press("ArrowRight")).from_ns > minus.from_ns);
});

test("keys with modifiers are the browser's", async () => {
	const first = await view();
	for (const modifier of ["Alt", "Control"]) {
		await page.keyboard.down(modifier);
		await page.keyboard.press("d");
		await page.keyboard.up(modifier);
	}
	await settle(page);
	assert.deepEqual(await view(), first);
});

test("0 shows the whole run, Backspace what was there before", async () => {
	const first = await view();
	const all = await press("0");
	assert.ok(all.from_ns <= 0 && all.to_ns >= model.duration_ns, JSON.stringify(all));
	assert.ok(span(all) <= model.duration_ns * 1.2);
	const back = await press("Backspace");
	assert.ok(
		Math.abs(back.from_ns - first.from_ns) < 2 && Math.abs(back.to_ns - first.to_ns) < 2,
		JSON.stringify([first, back]),
	);
	await page.focus(".track-canvas");
	const home = await press("Home");
	assert.ok(home.from_ns <= 0 && home.to_ns >= model.duration_ns);
});

test("a click selects: name, length and place are said as text", async () => {
	await clickOn(known);
	const chosen = await selection();
	assert.equal(chosen.place, known);
	assert.equal(chosen.name, "aten::mm");
	assert.equal(chosen.begin_ns, begin);
	assert.equal(chosen.end_ns, end);
	const text = await page.$eval(".details", (element) => element.innerText);
	assert.ok(text.includes("aten::mm") && /300(\.0+)?\s*µs/.test(text), text);
	assert.equal(await page.$eval("#selection", (element) => element.closest("[role=status]") !== null), true);
	await page.keyboard.press("Escape");
	assert.equal(await selection(), null);
});

test("F and a double click fit the slice to four fifths of the width", async () => {
	await clickOn(known);
	const fit = await press("f");
	assert.ok(Math.abs((end - begin) / span(fit) - 0.8) < 0.02, `${(end - begin) / span(fit)}`);
	assert.ok(Math.abs(begin + end - fit.from_ns - fit.to_ns) < 0.02 * span(fit), "in the middle");
	await page.evaluate((from, to) => window.inferscope.setView(from, to), begin - 2e6, end + 2e6);
	await settle(page);
	await clickOn(known, { count: 2 });
	assert.ok(Math.abs((end - begin) / span(await view()) - 0.8) < 0.02);
});

test("a drag pans by as much as the pointer moves", async () => {
	const first = await view(),
		box = center(await where());
	await page.mouse.move(box.x, box.y);
	await page.mouse.down();
	await page.mouse.move(box.x - 60, box.y, { steps: 4 });
	await page.mouse.move(box.x - 120, box.y, { steps: 4 });
	await page.mouse.up();
	await settle(page);
	const second = await view(),
		moved = center(await where());
	assert.ok(Math.abs(span(second) - span(first)) < 2);
	assert.ok(Math.abs(box.x - 120 - moved.x) < 2, `${box.x} -> ${moved.x}`);
});

test("the next and the previous slice of the track", async () => {
	await clickOn(known);
	await page.keyboard.press(".");
	const next = await selection();
	assert.equal(next.track, slices.track[known]);
	assert.ok(next.begin_ns >= begin && next.place !== known);
	await page.keyboard.press(",");
	assert.equal((await selection()).place, known);
});

test("a kernel and the call that launched it know each other", async () => {
	const kernel = slices.link.findIndex((launcher) => launcher >= 0);
	await page.evaluate((place) => window.inferscope.select(place), kernel);
	await settle(page);
	const buttons = await page.$$(".details .links button");
	assert.ok(buttons.length >= 1);
	await buttons[0].click();
	await settle(page);
	assert.equal((await selection()).place, slices.link[kernel]);
});

test("the overview goes to where it is clicked", async () => {
	const box = await middle(page, ".minimap");
	const first = await view();
	await page.mouse.click(box.left + box.width * 0.9, box.y);
	await settle(page);
	const second = await view();
	assert.ok(second.from_ns > first.from_ns, JSON.stringify([first, second]));
});

test("tracks fold and unfold", async () => {
	const head = "button.track-head[aria-expanded]";
	const height = () => page.$eval(".track-space", (element) => element.getBoundingClientRect().height);
	const tall = await height(),
		open1 = await page.$eval(head, (element) => element.getAttribute("aria-expanded"));
	await page.$eval(head, (element) => element.click());
	await settle(page);
	const other = await height();
	assert.notEqual(await page.$eval(head, (element) => element.getAttribute("aria-expanded")), open1);
	assert.notEqual(other, tall);
	await page.$eval(head, (element) => element.click());
	await settle(page);
	assert.equal(await height(), tall);
});

test("the view cannot be lost: far out, far in, beyond the ends", async () => {
	const go = (from, to) =>
		page.evaluate(
			(a, b) => {
				window.inferscope.setView(a, b);
				return window.inferscope.view();
			},
			from,
			to,
		);
	for (const [from, to] of [
		[-1e15, 1e15],
		[0, 0],
		[5, 4],
		[1e18, 2e18],
		[NaN, 1],
		[begin, begin + 0.001],
	]) {
		const got = await go(from, to);
		assert.ok(
			Number.isFinite(got.from_ns) && got.to_ns > got.from_ns && got.from_ns < model.duration_ns && got.to_ns > 0,
			JSON.stringify([from, to, got]),
		);
	}
	for (let i = 0; i < 30; i += 1) await page.keyboard.press("w");
	for (let i = 0; i < 50; i += 1) await page.keyboard.press("s");
	const wide = await view();
	assert.ok(span(wide) > 0.9 * model.duration_ns && span(wide) < 3 * model.duration_ns, JSON.stringify(wide));
	assert.deepEqual(await shown.quiet(), []);
});
