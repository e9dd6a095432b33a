// "Show" of a finding goes to the place that the analysis names, and the address remembers it.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { done, open, pause, ready, settle } from "./browser.js";
import { analysis, real } from "./traces.js";

const shown = [];
after(async () => {
	await Promise.all(shown.map((one) => one.close()));
	await done();
});

const state = (page) => page.evaluate(() => ({ view: window.inferscope.view(), selection: window.inferscope.selection() }));

// The colour under the middle of the selected slice, and that of the background.
const colours = (page) =>
	page.evaluate(() => {
		const api = window.inferscope;
		document.querySelector(".track-scroll").scrollIntoView({ block: "center", behavior: "instant" });
		api.frame();
		const box = api.where(api.selection().place);
		const canvas = document.querySelector(".track-canvas");
		const at = canvas.getBoundingClientRect(),
			scale = canvas.width / at.width;
		const left = Math.max(box.x, at.left),
			right = Math.min(box.x + box.width, at.right);
		const pixel = (x, y) =>
			[
				...canvas
					.getContext("2d")
					.getImageData(Math.round((x - at.left) * scale), Math.round((y - at.top) * scale), 1, 1).data,
			].slice(0, 3);
		const probe = document.createElement("div");
		probe.style.color = getComputedStyle(document.documentElement).getPropertyValue("--background");
		document.body.append(probe);
		const background = getComputedStyle(probe).color.match(/\d+/g).map(Number).slice(0, 3);
		probe.remove();
		return {
			slice: pixel((left + right) / 2, box.y + 2),
			background,
			box,
			inside: right >= left && box.y >= at.top - 1 && box.y < at.bottom,
		};
	});

for (const name of ["small", "million", "v100-resnet50-loader-0-workers"]) {
	const skip = name.startsWith("v100") && !real(name) ? "real traces are in ../shared/data, which is not here" : false;
	test(`each example of ${name} is shown where it is`, { skip }, async () => {
		const known = analysis(name);
		const one = await open(name, { media: { "prefers-reduced-motion": "reduce" } });
		shown.push(one);
		const { page } = one;
		const examples = known.findings.flatMap((finding, f) => finding.examples.map((example, e) => ({ f, e, example })));
		assert.ok(examples.length > 0);
		assert.equal((await page.$$("button.show")).length, examples.length);
		for (const { f, e, example } of examples) {
			await page.$eval(`details.finding[data-finding="${f}"]`, (details) => {
				details.open = true;
			});
			await page.click(`details.finding[data-finding="${f}"] button.show[data-example="${e}"]`);
			await settle(page);
			const { view, selection } = await state(page);
			const begin = example.start_us * 1000,
				end = begin + example.duration_us * 1000;
			assert.ok(
				view.from_ns <= begin && end <= view.to_ns,
				`[${begin}, ${end}] is not in [${view.from_ns}, ${view.to_ns}]`,
			);
			assert.ok((end - begin) / (view.to_ns - view.from_ns) > 0.001, "too small to be seen");
			assert.equal(selection.name, example.name);
			// an example is a slice, or a gap in one
			assert.ok(
				selection.begin_ns <= begin + 1000 && selection.end_ns >= end - 1000,
				JSON.stringify({ selection, example }),
			);
			const track = await page.evaluate((place) => window.inferscope.model().tracks[place].id, selection.track);
			assert.equal(track, example.track);
			const status = await page.$eval("#selection", (element) => element.textContent);
			assert.ok(status.includes(example.name.slice(0, 20)), status);
			const seen = await colours(page);
			assert.ok(seen.inside, `outside of the canvas: ${JSON.stringify(seen.box)}`);
			assert.notDeepEqual(seen.slice, seen.background);
		}
		assert.deepEqual(await one.quiet(), []);
	});
}

test("the address brings back what was shown", async () => {
	const one = shown[0];
	const first = await state(one.page);
	const hash = await one.page.evaluate(() => location.hash);
	assert.ok(hash.length > 1);
	await one.page.reload({ waitUntil: "domcontentloaded" });
	await ready(one.page, one.trouble);
	await settle(one.page);
	const second = await state(one.page);
	const span = first.view.to_ns - first.view.from_ns;
	assert.ok(
		Math.abs(first.view.from_ns - second.view.from_ns) < span / 1000 &&
			Math.abs(first.view.to_ns - second.view.to_ns) < span / 1000,
		JSON.stringify([first.view, second.view]),
	);
	assert.equal(second.selection?.place, first.selection.place);
});

test("an address is followed when it changes, and a broken one does no harm", async () => {
	const { page, quiet } = shown[0];
	const before = await page.evaluate(() => location.hash);
	for (const hash of [
		"#",
		"#range=x:y",
		"#a=1&b",
		"#%E0%A4%A",
		"#<img src=x onerror=alert(1)>",
		`#${"9".repeat(4000)}`,
		before,
	]) {
		await page.evaluate((text) => {
			location.hash = text;
		}, hash);
		await settle(page);
	}
	const { view } = await state(page);
	assert.ok(Number.isFinite(view.from_ns) && view.to_ns > view.from_ns);
	assert.deepEqual(await quiet(), []);
});

test("keys 1 to 9 open a finding and go to its example", async () => {
	const { page } = shown[0];
	const example = analysis("small").findings[0].examples[0];
	await page.evaluate(() => {
		document.activeElement.blur();
	});
	await page.keyboard.press("0");
	await page.keyboard.press("1");
	await pause(300);
	const { selection } = await state(page);
	assert.equal(selection.name, example.name);
});

test("it opens at the example of the first finding", async () => {
	const one = await open("small");
	shown.push(one);
	const example = analysis("small").findings[0].examples[0];
	const { view } = await state(one.page);
	assert.ok(view.from_ns <= example.start_us * 1000 && view.to_ns >= (example.start_us + example.duration_us) * 1000);
	assert.ok(view.to_ns - view.from_ns < (await one.page.evaluate(() => window.inferscope.model().duration_ns)));
});
