// Names that would like to be more than names.

import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { after, test } from "node:test";
import { done, open, pageFile, pause, settle } from "./browser.js";
import { decode } from "./decoder.js";
import { html } from "./traces.js";

const pages = new Map();
async function opened(name) {
	if (!pages.has(name)) pages.set(name, await open(name, { media: { "prefers-reduced-motion": "reduce" } }));
	return pages.get(name);
}
after(async () => {
	for (const one of pages.values()) await one.close();
	await done();
});

// Everything that shows names: findings, tables, search, tooltips, details.
async function visitAll(page, words) {
	await page.$$eval("details", (all) =>
		all.forEach((one) => {
			one.open = true;
		}),
	);
	const tabs = (await page.$$("#tables [role=tab]")).length;
	for (let i = 0; i < tabs; i += 1) {
		await page.$$eval("#tables [role=tab]", (all, at) => all[at].click(), i);
		await settle(page);
	}
	await page.evaluate(() => document.activeElement.blur());
	await page.keyboard.press("/");
	await page.keyboard.type(words);
	await pause(150); // until the list of results is there
	await page.keyboard.press("Enter");
	await settle(page);
	await page.$eval(".track-canvas", (canvas) => canvas.scrollIntoView({ block: "center", behavior: "instant" }));
	await settle(page);
	const box = await (await page.$(".track-canvas")).boundingBox();
	for (let i = 1; i < 8; i += 1)
		await page.mouse.move(box.x + (box.width * i) / 8, Math.min(box.y + 20 * i, box.y + box.height - 2));
	await page.keyboard.press("Escape");
}

test("none of them runs, and the page stays silent", async () => {
	const { page, quiet } = await opened("hostile");
	await visitAll(page, "script");
	assert.equal(await page.evaluate(() => window.hit), undefined);
	assert.equal(await page.evaluate(() => ({}).polluted ?? Object.keys(Object.prototype).length), 0);
	assert.deepEqual(
		await page.$$eval("img, iframe, base, form, object, body script:not([type]) ~ script", (all) =>
			all.map((one) => one.outerHTML),
		),
		[],
	);
	assert.deepEqual(await quiet(), []);
});

test("without JavaScript they are text as well", async () => {
	const one = await open("hostile", { script: false });
	assert.deepEqual(await one.page.$$eval("img, iframe", (all) => all.length), 0);
	const text = await one.page.$eval("body", (body) => body.textContent);
	assert.ok(text.includes("<img src=x onerror=window.hit=1>") || text.includes("</script><script>window.hit=1</script>"));
	assert.deepEqual(one.trouble, []);
	await one.close();
});

test("each can be found, and is shown as it is called", async () => {
	const { page } = await opened("hostile");
	const { model, slices } = decode(html("hostile"));
	const names = [...new Set([...slices.label].map((label) => model.labels[label][1]))];
	for (const [name, shown] of [
		["</script><script>window.hit=1</script>", "</script><script>window.hit=1</script>"],
		["__proto__", "__proto__"],
		["constructor", "constructor"],
		["日本語 ü 🙂", "日本語 ü 🙂"],
		["a&amp;b &lt;", "a&amp;b &lt;"],
		["<lambda>", "<lambda>"],
		["\u202eright to left\u2066x\u200f", "⟨U+202E⟩right to left⟨U+2066⟩x⟨U+200F⟩"],
		["esc \x1b[31m bell \x07 nul \x01", "esc ␛[31m bell ␇ nul ␁"],
		["line\nbreak\r\ttab", "line␊break␍␉tab"],
	]) {
		assert.ok(names.includes(name), `${JSON.stringify(name)} is not in the page`);
		const place = [...slices.label.keys()].find((p) => model.labels[slices.label[p]][1] === name);
		await page.evaluate((p) => window.inferscope.select(p), place);
		await settle(page);
		const text = await page.$eval(".details", (element) => element.textContent);
		assert.ok(text.includes(shown), `${JSON.stringify(shown)} is not in ${JSON.stringify(text.slice(0, 200))}`);
	}
});

test("no control or direction character of a name is in the document", async () => {
	const { page } = await opened("hostile");
	const found = await page.evaluate(() =>
		document.body.innerText.match(
			/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/g,
		),
	);
	assert.equal(found, null);
});

test("a name never becomes an id, a class, a link or a style", async () => {
	const { page } = await opened("hostile");
	const bad = await page.$$eval("*", (all) =>
		all
			.flatMap((one) => ["id", "class", "href", "for", "name", "style"].map((key) => one.getAttribute(key) ?? ""))
			.filter((text) => /proto|constructor|hit=|lambda|script|hasOwn/.test(text)),
	);
	assert.deepEqual(bad, []);
});

test("a name of a megabyte: a small page, and quick", async (t) => {
	assert.ok(statSync(pageFile("long_name")).size < 1_000_000);
	const { page, quiet } = await opened("long_name");
	const start = Date.now();
	await visitAll(page, "begin_x");
	t.diagnostic(`visit = ${Date.now() - start} ms`);
	const text = await page.$eval("body", (body) => body.innerText);
	assert.ok(text.length < 100_000);
	assert.match(text, /begin_x+…x+/, "cut in its middle");
	const longest = await page.$$eval("body *", (all) =>
		Math.max(
			...all
				.filter((one) => !one.childElementCount && one.tagName !== "SCRIPT" && one.tagName !== "STYLE")
				.map((one) => one.textContent.length),
		),
	);
	assert.ok(longest <= 5000, `a text of ${longest} characters`);
	assert.deepEqual(await quiet(), []);
});

test("ten thousand names", async () => {
	assert.ok(statSync(pageFile("many_names")).size < 5_000_000);
	const { page, quiet } = await opened("many_names");
	await visitAll(page, "operator_04999");
	assert.equal(await page.evaluate(() => window.inferscope.slices()), 10_000);
	assert.deepEqual(await quiet(), []);
});
