// A report of a million slices, opened from disk by a browser that was never here: how large, how soon, and in silence.

import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { after, test } from "node:test";
import { chromiumOnly, done, memory, open, pageFile } from "./browser.js";
import { analysis } from "./traces.js";

const SLACK = 3; // this machine may be busy
let shown;

after(async () => {
	await shown?.close();
	await done();
});

test("a million slices are a file of less than 5 MB", (t) => {
	const size = statSync(pageFile("million")).size;
	t.diagnostic(`size = ${(size / 1e6).toFixed(2)} MB`);
	assert.ok(size <= 5_000_000, `${size} bytes`);
});

test("it shows something at once, and can be used soon after", async (t) => {
	shown = await open("million");
	const times = await shown.page.evaluate(
		() =>
			new Promise((resolve) => {
				const tell = () => {
					const paint = performance.getEntriesByName("first-contentful-paint")[0];
					if (paint)
						resolve({
							paint: paint.startTime,
							now: performance.now(),
							ready: performance.getEntriesByName("ready")[0]?.startTime,
						});
					else requestAnimationFrame(tell);
				};
				tell();
			}),
	);
	t.diagnostic(`first_paint = ${times.paint.toFixed(0)} ms, ready = ${(times.ready ?? times.now).toFixed(0)} ms`);
	assert.ok(times.paint < 500 * SLACK, `first paint after ${times.paint} ms`);
	assert.ok((times.ready ?? times.now) < 1500 * SLACK, `ready after ${times.ready ?? times.now} ms`);
});

test("nothing is asked of the network, said on the console, or against the policy", async () => {
	assert.deepEqual(await shown.quiet(), []);
});

test("it takes less than 120 MB", chromiumOnly("memory cannot be asked for"), async (t) => {
	const heap = await memory(shown.page);
	t.diagnostic(`heap = ${(heap / 1e6).toFixed(0)} MB`);
	assert.ok(heap < 120e6, `${heap} bytes`);
});

test("the data is taken out of the document once it has been read", async () => {
	assert.equal(
		await shown.page.$$eval("script[id^=data-]", (all) => all.reduce((sum, one) => sum + one.textContent.length, 0)),
		0,
	);
});

test("the numbers at the top are those of the analysis", async () => {
	const known = analysis("million");
	const text = await shown.page.$eval("body", (body) => body.innerText);
	const idle = (known.devices[0].idle_us / known.devices[0].total_us) * 100;
	assert.ok(
		text.includes(`${idle.toFixed(1)} %`) || text.includes(`${idle.toFixed(1)}%`),
		`idle ${idle.toFixed(1)} % is not on the page`,
	);
	assert.equal(await shown.page.evaluate(() => window.inferscope.slices()), 1_001_092);
});
