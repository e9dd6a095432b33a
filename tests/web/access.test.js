// With the keyboard, with a screen reader, and on paper.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { chromiumOnly, done, open, pause, settle } from "./browser.js";
import { FOLDER, analysis } from "./traces.js";

let shown, page;
before(async () => {
	shown = await open("small", { media: { "prefers-reduced-motion": "reduce" } });
	page = shown.page;
});
after(async () => {
	await shown?.close();
	await done();
});

test("landmarks, one h1, headings without a gap, a way to skip the header", async () => {
	const found = await page.evaluate(() => ({
		lang: document.documentElement.lang,
		title: document.title,
		h1: document.querySelectorAll("h1").length,
		main: document.querySelectorAll("main").length,
		header: document.querySelectorAll("header").length,
		levels: [...document.querySelectorAll("h1, h2, h3, h4")]
			.filter((one) => one.checkVisibility())
			.map((one) => Number(one.tagName[1])),
		skip: document.querySelector("a[href^='#']")?.getAttribute("href"),
		ids: [...document.querySelectorAll("[id]")].map((one) => one.id),
		charset: document.characterSet,
		viewport: document.querySelector("meta[name=viewport]")?.content,
	}));
	assert.equal(found.lang, "en");
	assert.ok(found.title.length > 5);
	assert.deepEqual([found.h1, found.main, found.header, found.charset], [1, 1, 1, "UTF-8"]);
	found.levels.reduce((last, level) => {
		assert.ok(level <= last + 1, `h${level} after h${last}`);
		return level;
	}, 0);
	assert.ok(found.skip && found.ids.includes(found.skip.slice(1)));
	assert.equal(new Set(found.ids).size, found.ids.length, "ids are unique");
	assert.match(found.viewport, /width=device-width/);
	assert.doesNotMatch(found.viewport, /user-scalable|maximum-scale/);
});

test("every control has a role and a name", chromiumOnly("the tree for screen readers cannot be read"), async () => {
	const client = await page.createCDPSession();
	const { nodes } = await client.send("Accessibility.getFullAXTree");
	const controls = nodes.filter(
		(node) =>
			!node.ignored &&
			node.properties?.some((one) => one.name === "focusable" && one.value.value) &&
			!["RootWebArea", "WebArea"].includes(node.role?.value),
	);
	assert.ok(controls.length > 15, `${controls.length} controls`);
	const nameless = controls
		.filter((node) => !node.name?.value?.trim())
		.map((node) => `${node.role?.value} ${node.backendDOMNodeId}`);
	assert.deepEqual(nameless, []);
	const generic = controls.filter(
		(node) => ["generic", "none", "Canvas"].includes(node.role?.value) && !node.name?.value,
	).length;
	assert.equal(generic, 0);
	const images = nodes.filter(
		(node) => !node.ignored && ["img", "image", "Canvas", "graphics-document"].includes(node.role?.value),
	);
	assert.deepEqual(
		images.filter((node) => !node.name?.value?.trim()).map((node) => node.role.value),
		[],
	);
});

test("states of controls are said: pressed, selected, expanded, sorted, and references lead somewhere", async () => {
	const bad = await page.evaluate(() => {
		const problems = [];
		for (const one of document.querySelectorAll("[aria-controls], [aria-labelledby], [aria-describedby], label[for]"))
			for (const key of ["aria-controls", "aria-labelledby", "aria-describedby", "for"])
				for (const id of (one.getAttribute(key) ?? "").split(/\s+/).filter(Boolean))
					if (!document.getElementById(id)) problems.push(`${one.tagName} ${key}=${id}`);
		for (const one of document.querySelectorAll("[aria-pressed], [aria-selected], [aria-expanded], [aria-current]"))
			for (const key of ["aria-pressed", "aria-selected", "aria-expanded"])
				if (one.hasAttribute(key) && !["true", "false", "mixed"].includes(one.getAttribute(key)))
					problems.push(`${one.tagName} ${key}=${one.getAttribute(key)}`);
		for (const one of document.querySelectorAll("[aria-sort]"))
			if (one.tagName !== "TH" || !["ascending", "descending", "none"].includes(one.getAttribute("aria-sort")))
				problems.push(`${one.tagName} aria-sort=${one.getAttribute("aria-sort")}`);
		for (const one of document.querySelectorAll("table"))
			if (one.checkVisibility() && !one.querySelector("th")) problems.push("a table without heads");
		if (
			document.querySelectorAll("[role=tab][aria-selected=true]").length !==
			document.querySelectorAll("[role=tablist]").length
		)
			problems.push("one tab of a list is the selected one");
		return problems;
	});
	assert.deepEqual(bad, []);
	assert.ok((await page.$$("[role=status]")).length >= 2);
	assert.ok(await page.$("#tables table.grid[aria-rowcount]"));
});

test("the Tab key reaches every control, in reading order, and each shows that it is reached", async () => {
	await page.$$eval("details", (all) =>
		all.forEach((one) => {
			one.open = true;
		}),
	);
	await settle(page);
	const wanted = await page.evaluate(() => {
		const all = [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex]")].filter(
			(one) =>
				one.checkVisibility({ checkVisibilityCSS: true }) &&
				!one.disabled &&
				one.tabIndex >= 0 &&
				one.getBoundingClientRect().width > 0,
		);
		all.forEach((one, i) => {
			one.dataset.tabtest = String(i);
		});
		window.scrollTo(0, 0);
		document.activeElement.blur();
		return all.map((one) => `${one.tagName}.${one.className}#${one.id} ${one.textContent.slice(0, 20)}`);
	});
	const reached = new Map();
	const ringless = [];
	let backwards = 0,
		last = -1;
	for (let i = 0; i < wanted.length + 30; i += 1) {
		await page.keyboard.press("Tab");
		const now = await page.evaluate(() => {
			const one = document.activeElement;
			const style = getComputedStyle(one);
			return {
				at: one.dataset?.tabtest,
				body: one === document.body,
				ring: (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1) || style.boxShadow !== "none",
				words: `${one.tagName}.${one.className}#${one.id}`,
			};
		});
		if (now.body || (now.at !== undefined && reached.has(now.at))) break;
		if (now.at === undefined) continue;
		reached.set(now.at, true);
		if (!now.ring) ringless.push(now.words);
		backwards += Number(now.at) < last;
		last = Number(now.at);
	}
	const missed = wanted.filter((_, i) => !reached.has(String(i)));
	assert.deepEqual(missed, []);
	assert.equal(backwards, 0);
	assert.deepEqual(ringless, []);
});

test("the timeline without eyes: slices one by one as text, and the events in view as a table", async () => {
	await page.focus(".track-canvas");
	await page.evaluate(() => window.inferscope.setView(21e6, 31e6));
	await settle(page);
	await page.keyboard.press(".");
	await settle(page);
	const first = await page.$eval("#selection", (element) => element.textContent);
	await page.keyboard.press(".");
	await settle(page);
	const second = await page.$eval("#selection", (element) => element.textContent);
	assert.ok(first.length > 10 && second.length > 10 && first !== second, `${first} / ${second}`);
	await page.$eval("details.events", (details) => {
		details.open = true;
	});
	await pause(300);
	const rows = await page.$$eval("details.events table tbody tr:not(.spacer)", (all) => all.map((row) => row.innerText));
	assert.ok(rows.length > 10 && rows.some((row) => row.includes("aten::mm")), `${rows.length} rows`);
});

test("help opens by key, holds the focus, and closes by Escape", async () => {
	await page.evaluate(() => document.activeElement.blur());
	await page.keyboard.press("?");
	await settle(page);
	assert.equal(await page.$eval("dialog.help", (dialog) => dialog.open && dialog.contains(document.activeElement)), true);
	const text = await page.$eval("dialog.help", (dialog) => dialog.innerText);
	for (const key of ["W", "S", "A", "D", "F", "Esc", "Backspace", "/"]) assert.ok(text.includes(key), key);
	await page.keyboard.press("Escape");
	await settle(page);
	assert.equal(await page.$eval("dialog.help", (dialog) => dialog.open), false);
});

test("keys typed into an input are letters", async () => {
	const view = await page.evaluate(() => window.inferscope.view());
	await page.focus("#search");
	await page.keyboard.type("wasd0f?t1");
	assert.equal(await page.$eval("#search", (input) => input.value), "wasd0f?t1");
	assert.deepEqual(await page.evaluate(() => window.inferscope.view()), view);
	await page.keyboard.press("Escape");
	await page.evaluate(() => document.activeElement.blur());
});

test("on paper: all findings with their evidence, light, and tables of text", async (t) => {
	if (!existsSync("/usr/bin/pdftotext")) return t.skip("pdftotext is not here: apt-get install poppler-utils");
	await page.$$eval("details", (all) =>
		all.forEach((one) => {
			one.open = false;
		}),
	);
	const file = path.join(FOLDER, "small.pdf");
	writeFileSync(file, await page.pdf({ format: "A4", printBackground: true }));
	const text = execFileSync("/usr/bin/pdftotext", ["-raw", file, "-"], { encoding: "utf8" }).replace(/\s+/g, " ");
	// lines are broken anywhere
	const flat = (words) => words.replace(/[\s\u00ad-]+/g, "");
	const known = analysis("small");
	const missing = known.findings
		.flatMap((finding) => finding.evidence)
		.filter((sentence) => !flat(text).includes(flat(sentence)));
	assert.deepEqual(missing, []);
	assert.ok(text.includes("aten::mm") && text.includes("gemm_kernel"));
	const open1 = await page.$$eval("details.finding", (all) => all.filter((one) => one.open).length);
	assert.equal(open1, 0, "as it was before");
	assert.deepEqual(await shown.quiet(), []);
	return undefined;
});
