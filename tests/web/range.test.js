// A range of time: what is said of it is what a count over all slices gives.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { done, open, settle } from "./browser.js";
import { truth } from "./traces.js";
import { count, nanoseconds } from "./words.js";

const known = truth("million");
const [from, to] = [known.steps[100][0], known.steps[102][1]];
let shown, page;

before(async () => {
	shown = await open("million");
	page = shown.page;
});
after(async () => {
	await shown?.close();
	await done();
});

// name to {count, total_ns, whole_ns} of what lies in [a, b), cut at its ends; whole_ns is uncut.
function within(a, b) {
	const totals = new Map();
	for (const { begins, ends, labels } of known.tracks)
		for (let i = 0; i < begins.length; i += 1) {
			if (begins[i] >= b || ends[i] <= a) continue;
			const name = known.names[labels[i]];
			const entry = totals.get(name) ?? { count: 0, total_ns: 0 };
			entry.count += 1;
			entry.total_ns += Math.min(ends[i], b) - Math.max(begins[i], a);
			totals.set(name, entry);
		}
	return totals;
}

async function compare(a, b) {
	const q = await page.evaluate(() => window.inferscope.model().quantum_ns);
	const got = await page.evaluate((x, y) => window.inferscope.totals(x, y), a, b);
	const wanted = within(a, b);
	// a slice that ends within a quantum of the border may be seen as in or out of it
	let wrong = [];
	for (const [name, one] of wanted) {
		const mine = got.find((entry) => entry.name === name) ?? { count: 0, total_ns: 0 };
		if (
			Math.abs(mine.count - one.count) > (one.count > 100 ? 2 : 1) ||
			Math.abs(mine.total_ns - one.total_ns) > one.count * q + 2 * q
		)
			wrong.push([name, mine, one]);
	}
	wrong = wrong.concat(got.filter((entry) => !wanted.has(entry.name) && entry.total_ns > q));
	assert.deepEqual(wrong.slice(0, 5), [], `${wrong.length} of ${wanted.size} names differ`);
	return wanted;
}

test("totals by name: three steps, an odd part of one, everything", async () => {
	assert.ok((await compare(from, to)).size > 1600);
	await compare(from + 1_234_567, from + 2_345_678);
	await compare(0, known.steps.at(-1)[1] + 50_000_000);
	await compare(from + 10, from + 20);
});

test("tables follow the selected range, and go back", async () => {
	const table = async (tab) => {
		await page.evaluate(
			(words) =>
				[...document.querySelectorAll("#tables [role=tab]")].find((one) => one.textContent.includes(words)).click(),
			tab,
		);
		await settle(page);
		const heads = await page.$$eval("#tables table.grid thead th", (all) =>
			all.map((one) => one.innerText.trim().toLowerCase()),
		);
		const rows = await page.$$eval("#tables table.grid tbody tr:not(.spacer)", (all) =>
			all.map((one) => [...one.cells].map((cell) => cell.innerText.trim())),
		);
		return rows.map((cells) => Object.fromEntries(cells.map((cell, i) => [heads[i], cell])));
	};
	const find = (rows, key) => Object.keys(rows[0]).find((head) => head.startsWith(key));
	const whole = await table("Kernel");
	await page.evaluate((a, b) => window.inferscope.setRange(a, b), from, to);
	await settle(page);
	assert.deepEqual(await page.evaluate(() => window.inferscope.range()), { from_ns: from, to_ns: to });
	const part = await table("Kernel");
	const wanted = within(from, to);
	assert.ok(part.length > 5);
	for (const row of part) {
		const one = wanted.get(row[find(part, "kernel")] ?? row[find(part, "name")]);
		assert.ok(one, JSON.stringify(row));
		assert.equal(count(row[find(part, "count")] ?? row[find(part, "calls")]), one.count, JSON.stringify(row));
		const total = nanoseconds(row[find(part, "total")] ?? row[find(part, "time")]);
		assert.ok(Math.abs(total - one.total_ns) <= 0.006 * one.total_ns + 100, `${JSON.stringify(row)}: ${one.total_ns}`);
	}
	const banner = await page.$eval(".banner", (element) => (element.checkVisibility() ? element.innerText : ""));
	assert.ok(banner.length > 10);
	await page.evaluate(() => document.activeElement.blur());
	await page.keyboard.press("Escape");
	await page.keyboard.press("Escape");
	await settle(page);
	assert.equal(await page.evaluate(() => window.inferscope.range()), null);
	assert.deepEqual(await table("Kernel"), whole);
});

test("shift and drag select a range; Escape clears it", async () => {
	await page.evaluate((a, b) => window.inferscope.setView(a, b), from, to);
	await page.$eval(".track-scroll", (element) => element.scrollIntoView({ block: "center", behavior: "instant" }));
	await settle(page);
	const box = await page.$eval(".track-canvas", (element) => {
		const at = element.getBoundingClientRect();
		return { x: at.x, y: at.y, width: at.width, height: at.height };
	});
	const y = box.y + Math.min(box.height, 300) / 2;
	await page.keyboard.down("Shift");
	await page.mouse.move(box.x + box.width * 0.5, y);
	await page.mouse.down();
	await page.mouse.move(box.x + box.width * 0.75, y, { steps: 5 });
	await page.mouse.up();
	await page.keyboard.up("Shift");
	await settle(page);
	const range = await page.evaluate(() => window.inferscope.range());
	assert.ok(range && range.from_ns > from && range.to_ns <= to, JSON.stringify(range));
	const share = (range.to_ns - range.from_ns) / (to - from);
	assert.ok(share > 0.2 && share < 0.35, `${share}`);
	await page.keyboard.press("Escape");
	await page.keyboard.press("Escape");
	assert.equal(await page.evaluate(() => window.inferscope.range()), null);
	assert.deepEqual(await shown.quiet(), []);
});
