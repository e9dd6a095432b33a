// Frames of the timeline over a million slices: the whole run, a tenth of it, a step.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { done, open, settle } from "./browser.js";

const SLACK = 3; // this machine may be busy
let shown;

before(async () => {
	shown = await open("million");
	await shown.page.$eval(".track-scroll", (element) => element.scrollIntoView({ block: "center", behavior: "instant" }));
	await settle(shown.page);
});
after(async () => {
	await shown?.close();
	await done();
});

// Sixty frames, each a little further on; ms of the code and of what the canvas still had to do.
const frames = (share) =>
	shown.page.evaluate((part) => {
		const api = window.inferscope,
			whole = api.model().duration_ns,
			span = whole * part;
		const context = document.querySelector(".track-canvas").getContext("2d");
		const times = [];
		for (let i = 0; i < 63; i += 1) {
			const from = (whole - span) / 2 + (span * (i - 30)) / 200;
			const start = performance.now();
			api.setView(from, from + span);
			api.frame();
			context.getImageData(0, 0, 1, 1);
			times.push(performance.now() - start);
		}
		times.splice(0, 3);
		return times.sort((a, b) => a - b);
	}, share);

for (const [words, share, limit] of [
	["the whole run", 1, 33],
	["a tenth of it", 0.1, 16],
	["a step", 1 / 330, 10],
])
	test(`${words}: a frame takes less than ${limit} ms`, async (t) => {
		const times = await frames(share);
		const median = times[30];
		t.diagnostic(`frame = ${median.toFixed(1)} ms median, ${times[57].toFixed(1)} ms at the 95th percentile`);
		assert.ok(median < limit * SLACK, `${median} ms`);
	});

test("a search over all slices and totals of a range are quick enough to follow the hand", async (t) => {
	const times = await shown.page.evaluate(() => {
		const api = window.inferscope,
			whole = api.model().duration_ns;
		const timed = (work) => {
			const start = performance.now();
			work();
			return performance.now() - start;
		};
		const totals = [1, 2, 3, 4, 5].map((n) => timed(() => api.totals(n * 1e6, whole - n * 1e6)));
		return { totals: totals.sort((a, b) => a - b)[2] };
	});
	t.diagnostic(`totals = ${times.totals.toFixed(0)} ms`);
	assert.ok(times.totals < 100 * SLACK, `${times.totals} ms`);
});
