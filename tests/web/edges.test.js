// Traces at the edge of what there can be.  Each opens, says something, and can be used.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { after, test } from "node:test";
import { done, open, pageFile, pause, settle } from "./browser.js";
import { decode } from "./decoder.js";
import { EDGES, analysis, dump, html, inferscope, real, traceFile } from "./traces.js";

after(done);

const span = (view) => view.to_ns - view.from_ns;

// Opens a page, does a little of everything, and hands it to `check`; silence is wanted throughout.
async function visit(name, check) {
	const one = await open(name, { media: { "prefers-reduced-motion": "reduce" } });
	const { page } = one;
	const decoded = decode(html(name));
	assert.ok((await page.$eval("h1", (h1) => h1.innerText)).length > 3);
	assert.equal(await page.evaluate(() => window.inferscope.slices()), decoded.model.slices_here);
	await page.evaluate(() => document.activeElement.blur());
	for (const key of ["0", "w", "d", ".", "f", ",", "Backspace", "Escape", "/"]) await page.keyboard.press(key);
	await page.keyboard.type("w");
	await page.keyboard.press("Enter");
	await page.keyboard.press("Escape");
	await page.evaluate(() => document.activeElement.blur());
	await page.keyboard.press("0");
	await settle(page);
	await check?.({ page, ...decoded });
	assert.deepEqual(await one.quiet(), []);
	await one.close();
}

const CHECKS = {
	async nothing({ page, model }) {
		assert.equal(model.slices, 0);
		assert.match(
			await page.$eval("body", (body) => body.innerText),
			/nothing|no events|empty|no slices|without events|0 events/i,
		);
	},
	async one({ page, model }) {
		assert.equal(model.slices, 1);
		const slice = await page.evaluate(() => window.inferscope.slice(0));
		assert.deepEqual([slice.name, slice.end_ns - slice.begin_ns], ["alone", 7000]);
		const view = await page.evaluate(() => window.inferscope.view());
		assert.ok(view.from_ns <= slice.begin_ns && view.to_ns >= slice.end_ns && span(view) > 0);
	},
	async zero_length({ page, model, slices }) {
		assert.equal(model.slices, 41);
		assert.equal([...slices.begin.keys()].filter((place) => slices.begin[place] === slices.end[place]).length, 40);
		const got = await page.evaluate(() => {
			const api = window.inferscope;
			const point = Array.from({ length: api.slices() }, (_, place) => api.slice(place)).find(
				(one) => one.begin_ns === one.end_ns,
			);
			api.select(point.place);
			return { point, chosen: api.selection() };
		});
		assert.equal(got.chosen.place, got.point.place);
		await page.keyboard.press("f");
		await settle(page);
		assert.ok(span(await page.evaluate(() => window.inferscope.view())) > 0);
	},
	async one_track({ model }) {
		assert.equal(model.tracks.length, 1);
		assert.equal(model.slices, 200);
	},
	async many_threads({ page, model }) {
		assert.equal(model.tracks.length, 2000);
		const heads = await page.$$eval("button.track-head", (all) => all.length);
		assert.ok(heads < 300, `${heads} heads in the document`);
		const box = await page.$eval(".track-canvas", (canvas) => [canvas.width, canvas.height]);
		assert.ok(box[1] < 4000, `a canvas of ${box}`);
		await page.$eval(".track-scroll", (element) => {
			element.scrollTop = 1e9;
		});
		await settle(page);
	},
	async deep({ page, model }) {
		assert.equal(model.slices, 5000);
		assert.equal(model.tracks[0].rows, 5000);
		const canvas = await page.$$eval("canvas", (all) => Math.max(...all.map((one) => one.height)));
		assert.ok(canvas < 4000, `a canvas of ${canvas}`);
		await page.evaluate(() => {
			window.inferscope.reveal(4999);
		});
		await settle(page);
		const [box, canvasBox] = await page.evaluate(() => {
			const at = document.querySelector(".track-canvas").getBoundingClientRect();
			return [window.inferscope.where(4999), { top: at.top, bottom: at.bottom }];
		});
		assert.ok(
			box && box.y >= canvasBox.top && box.y + box.height <= canvasBox.bottom,
			`the innermost is brought into view: ${JSON.stringify([box, canvasBox])}`,
		);
	},
	async two_hours({ page, model, slices }) {
		assert.equal(model.duration_ns, 7200e9);
		const blink = [...slices.begin.keys()].find((place) => model.labels[slices.label[place]][1] === "blink");
		await page.evaluate((place) => window.inferscope.select(place), blink);
		await page.keyboard.press("f");
		await settle(page);
		const view = await page.evaluate(() => window.inferscope.view());
		assert.ok(span(view) < 1e6, `${span(view)} ns`);
		assert.ok(view.from_ns <= 3600e9 && view.to_ns >= 3600e9);
	},
	async before_launch({ page, model }) {
		assert.equal(model.slices, 220);
		const check = analysis("before_launch").integrity.checks.find((one) => one.name === "gpu_work_before_launch");
		assert.notEqual(check.status, "ok");
		const text = (await page.$eval("#integrity", (section) => section.textContent)).replace(/\s+/g, " ");
		assert.ok(text.includes(check.detail), text.slice(0, 400));
	},
	async lost({ page }) {
		const legend = await page.$$eval(".states-legend li", (all) => all.map((one) => [
			one.textContent.trim(), getComputedStyle(one.firstElementChild).backgroundColor]));
		assert.deepEqual(legend[0], ["runs", "rgb(26, 127, 75)"]);
		assert.deepEqual(legend[1], ["waits for a lock", "rgb(192, 52, 45)"]);
		const known = analysis("lost");
		assert.ok(known.trace.lost_events > 0);
		const check = known.integrity.checks.find((one) => one.name === "lost_records");
		const text = (await page.$eval("#integrity", (section) => section.textContent)).replace(/\s+/g, " ");
		assert.ok(text.includes(check.detail), text.slice(0, 400));
	},
	async noisy({ page, model, slices }) {
		assert.equal(model.exact, false);
		assert.equal(model.slices, 1_400_000);
		assert.ok(
			model.slices_here > 100_000 && model.slices_here < model.slices && slices.begin.length === model.slices_here,
		);
		assert.ok(html("noisy").length <= 5_000_000, `${html("noisy").length} bytes`);
		const text = await page.$eval("body", (body) => body.textContent);
		assert.match(text, /aggregated/i);
		assert.match(text, /1,400,000/);
		await page.keyboard.press("/");
		await page.keyboard.type("operation_1");
		await pause(500);
		assert.match(await page.$eval("#search-status", (element) => element.textContent), /≥|at least/i);
		await page.keyboard.press("Escape");
	},
};

test("where slices were left out, the page says how to get them, and that works", async () => {
	const one = await open("noisy");
	const { page } = one;
	const { model } = decode(html("noisy"));
	// a short stretch far from what is shown whole
	const from = model.duration_ns * 0.37;
	await page.evaluate((begin) => window.inferscope.setView(begin, begin + 2e6), from);
	await page.$eval(".track-scroll", (element) => element.scrollIntoView({ block: "center", behavior: "instant" }));
	await settle(page);
	const gap = await page.evaluate(() => {
		const box = document.querySelector(".track-canvas").getBoundingClientRect();
		const heads = [...document.querySelectorAll("button.track-head")].map((head) => head.getBoundingClientRect());
		for (const head of heads)
			for (let x = box.right - 3; x > box.left + 300; x -= 2)
				if (head.top > box.top && !window.inferscope.pick(x, head.top + 7)) return { x, y: head.top + 7 };
		return null;
	});
	assert.ok(gap, "no place without a slice");
	await page.mouse.click(gap.x, gap.y, { count: 2 });
	await settle(page);
	const command = await page.$$eval("#timeline code", (all) => all.map((code) => code.textContent).join("\n"));
	const [, range] = /^inferscope analyze .*noisy\.sbt --range ([\d.]+:[\d.]+) -o \S+\.html$/m.exec(command) ?? [];
	assert.ok(range, `the command: ${command}`);
	const part = pageFile("part");
	await inferscope("analyze", traceFile("noisy"), "--range", range, "--format", "html", "--output", part);
	const inside = decode(html("part"));
	const [begin, end] = range.split(":").map((ms) => Number(ms) * 1e6);
	assert.ok(inside.model.windows_ns.some(([first, last]) => first <= begin && end <= last));
	const here = [...inside.slices.begin.keys()].filter(
		(place) => inside.slices.begin[place] < end && inside.slices.end[place] > begin,
	);
	const there = (await dump("noisy", "--window", range)).filter((event) => event.end_us * 1000 > begin);
	assert.ok(there.length > 100);
	assert.equal(here.length, there.length);
	const second = await open("part");
	const view = await second.page.evaluate(() => window.inferscope.view());
	assert.ok(
		Math.abs(view.from_ns - begin) < (end - begin) / 4 && Math.abs(view.to_ns - end) < (end - begin) / 4,
		JSON.stringify(view),
	);
	assert.deepEqual(await second.quiet(), []);
	await second.close();
	const linked = await open("part", { hash: "#t=1000000:3000000" }); // a link says better what to look at
	assert.deepEqual(await linked.page.evaluate(() => window.inferscope.view()), { from_ns: 1e6, to_ns: 3e6 });
	await linked.close();
	assert.deepEqual(await one.quiet(), []);
	await one.close();
});

for (const name of EDGES) test(name.replaceAll("_", " "), () => visit(name, CHECKS[name]));

for (const name of ["h100-owlv2"])
	test(
		`a real trace: ${name}`,
		{ skip: real(name) ? false : "real traces are in ../shared/data, which is not here" },
		() => visit(name),
	);

test("streams that are missing or damaged: a sentence, not a blank page", async () => {
	const whole = html("small");
	const file = pageFile("damaged").replace(/html$/, "made.html");
	for (const [what, text] of [
		["no flame", whole.replace(/<script type="text\/plain" id="data-flame"[\s\S]*?<\/script>/, "")],
		["no counters", whole.replace(/<script type="text\/plain" id="data-counters"[\s\S]*?<\/script>/, "")],
		["half a column", whole.replace(/(id="data-dur"[^>]*>[A-Za-z0-9+/]{40})[A-Za-z0-9+/=]*/, "$1")],
		["no model", whole.replace(/<script type="text\/plain" id="data-model"[\s\S]*?<\/script>/, "")],
	]) {
		assert.notEqual(text, whole, what);
		writeFileSync(file, text);
		const one = await open("damaged", { file });
		assert.ok((await one.page.$eval("body", (body) => body.innerText)).length > 500, what);
		assert.ok(
			(await one.page.$$eval("[role=status], .message", (all) => all.map((e) => e.textContent).join(" "))).length >
				0 || what.startsWith("no "),
			what,
		);
		assert.deepEqual(
			(await one.quiet()).filter((line) => line.startsWith("thrown")),
			[],
			what,
		);
		await one.close();
	}
});
