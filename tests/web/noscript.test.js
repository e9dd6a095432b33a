// Without JavaScript the page says what is to be known: verdict, breakdown, findings, tables.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { done, open } from "./browser.js";
import { analysis, inferscope, traceFile } from "./traces.js";

let shown, text;
const known = analysis("small");
const flat = (words) => words.replace(/\s+/g, " ").trim();

before(async () => {
	shown = await open("small", { script: false });
	await shown.page.$$eval("details", (all) =>
		all.forEach((one) => {
			one.open = true;
		}),
	);
	text = flat(await shown.page.$eval("body", (body) => body.innerText));
});
after(async () => {
	await shown?.close();
	await done();
});

test("the verdict is that of the other reports", async () => {
	const markdown = (await inferscope("analyze", traceFile("small"), "--format", "md", "--output", "-")).stdout;
	const verdict = /^# (.*)$/m.exec(markdown)[1].replaceAll(/[`\\]/g, "");
	assert.equal(flat(await shown.page.$eval("h1", (h1) => h1.innerText)), verdict);
	assert.equal((await shown.page.$$("h1")).length, 1);
});

test("the bar has all parts, as a picture and as text", async () => {
	const label = await shown.page.$eval("#breakdown svg", (svg) => svg.getAttribute("aria-label"));
	const visible = flat(await shown.page.$eval("#breakdown", (figure) => figure.innerText));
	// of the device: busy and each cause of idleness
	const [device] = known.devices;
	const parts = [
		["busy", device.busy_us],
		["compute", device.compute_us],
		["idle", device.idle_us],
		...Object.entries(device.idle_causes),
	]
		.map(([name, us]) => [name, (us / device.total_us) * 100])
		.filter(([, percent]) => percent >= 1);
	assert.ok(parts.length >= 4);
	for (const [name, percent] of parts) {
		assert.ok(label.includes(percent.toFixed(1)), `${name} ${percent.toFixed(1)} is not in the label: ${label}`);
		assert.ok(visible.includes(percent.toFixed(1)), `${name} ${percent.toFixed(1)} is not in the legend: ${visible}`);
	}
	const box = await (await shown.page.$("#breakdown svg")).boundingBox();
	assert.ok(box.width > 600 && box.height >= 20);
});

test("every finding can be read, with its evidence and what to change", async () => {
	assert.ok(known.findings.length > 0);
	assert.equal((await shown.page.$$("details.finding")).length, known.findings.length);
	for (const finding of known.findings) {
		for (const sentence of finding.evidence) assert.ok(text.includes(flat(sentence)), `missing: ${sentence}`);
		assert.ok(text.includes(finding.gain_percent.toFixed(1)), `gain ${finding.gain_percent}`);
	}
	for (const suggestion of known.suggestions)
		assert.ok(
			text.includes(flat(suggestion.action ?? suggestion.change ?? suggestion.text)),
			JSON.stringify(suggestion),
		);
});

test("what only code can do is not offered", async () => {
	const offered = await shown.page.$$eval("button, input, select, canvas", (all) =>
		all.filter((one) => one.checkVisibility()).map((one) => one.outerHTML.slice(0, 80)),
	);
	assert.deepEqual(offered, []);
	for (const id of ["timeline", "flame", "steps", "tables"])
		assert.equal(await shown.page.$eval(`#${id}`, (section) => section.checkVisibility()), false, id);
});

test("tables of the largest and the state of the trace are there", async () => {
	const tops = flat(await shown.page.$eval("#tops", (section) => section.innerText));
	for (const name of ["aten::mm", "gemm_kernel"]) assert.ok(tops.includes(name), name);
	assert.ok((await shown.page.$$("#integrity, #run")).length === 2);
	assert.ok(text.includes(known.integrity.verdict));
});
