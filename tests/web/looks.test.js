// Themes, widths, and colours that can be told from each other.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { done, open, pause, ready, settle } from "./browser.js";
import { FOLDER } from "./traces.js";

let narrow;
after(async () => {
	await narrow?.close();
	await done();
});

const SHOTS = process.env.INFERSCOPE_SHOTS ? path.join(FOLDER, "shots") : null;
if (SHOTS) mkdirSync(SHOTS, { recursive: true });

async function shot(page, name) {
	if (SHOTS) await page.screenshot({ path: path.join(SHOTS, `${name}.png`), fullPage: true });
}

// What reaches beyond the right edge; scrolling inside of a box of its own is fine.
const tooWide = (page) =>
	page.evaluate(() => {
		const width = document.documentElement.clientWidth;
		if (document.scrollingElement.scrollWidth <= width) return [];
		const clipped = (element) => {
			for (let up = element.parentElement; up; up = up.parentElement)
				if (getComputedStyle(up).overflowX !== "visible" && up.getBoundingClientRect().right <= width + 1)
					return true;
			return false;
		};
		const wide = [...document.querySelectorAll("body *")].filter(
			(one) => one.getBoundingClientRect().right > width + 1 && !clipped(one),
		);
		return [
			`scrollWidth ${document.scrollingElement.scrollWidth} > ${width}`,
			...wide.slice(0, 4).map((one) => `${one.tagName} #${one.id} .${one.getAttribute("class")}`),
		];
	});

for (const [width, scale] of [
	[1440, 1],
	[1280, 1],
	[768, 1.5],
	[400, 2],
	[320, 1],
])
	test(`${width} px, ${scale} dots a pixel: nothing to scroll sideways`, async () => {
		narrow ??= await open("small");
		const one = narrow;
		await one.page.setViewport({ width, height: 800, deviceScaleFactor: scale });
		await one.page.reload({ waitUntil: "domcontentloaded" });
		await ready(one.page, one.trouble);
		await one.page.$$eval("details", (all) =>
			all.forEach((details) => {
				details.open = true;
			}),
		);
		await settle(one.page);
		await shot(one.page, `small-${width}`);
		assert.deepEqual(await tooWide(one.page), []);
		const sharp = await one.page.$$eval(
			"canvas",
			(all, ratio) =>
				all
					.filter((c) => c.checkVisibility() && Math.abs(c.width - c.clientWidth * ratio) > 2)
					.map((c) => `${c.className} ${c.width}`),
			scale,
		);
		assert.deepEqual(sharp, [], "canvases have as many dots as the screen");
		const small = await one.page.$$eval("button, input, summary, [role=tab]", (all) =>
			all
				.filter((e) => e.checkVisibility())
				.map((e) => [e.getBoundingClientRect(), e])
				.filter(([box]) => box.height > 0 && box.height < 23.5 && box.width > 0)
				.map(([box, e]) => `${e.tagName} .${e.className} ${e.textContent.slice(0, 20)} ${box.height}`)
				.filter((text) => !/track-head|\blink\b/.test(text)),
		);
		assert.deepEqual(small, [], "targets are at least 24 px high");
		assert.deepEqual(await one.quiet(), []);
	});

test("twice the size (640 px of 1280): nothing to scroll sideways", async () => {
	const one = await open("million", { viewport: { width: 640, height: 400, deviceScaleFactor: 2 } });
	assert.deepEqual(await tooWide(one.page), []);
	await one.close();
});

test("a window that changes its width", async () => {
	const one = await open("small");
	await one.page.setViewport({ width: 500, height: 700 });
	await settle(one.page);
	await settle(one.page);
	assert.deepEqual(await tooWide(one.page), []);
	const widths = await one.page.$$eval("canvas", (all) =>
		all.filter((c) => c.checkVisibility()).map((c) => Math.abs(c.width - c.getBoundingClientRect().width)),
	);
	assert.ok(widths.length > 2 && widths.every((off) => off <= 2), widths.join(" "));
	assert.deepEqual(await one.quiet(), []);
	await one.close();
});

test("verdict, gain, bar and findings are above the fold", async () => {
	const one = await open("small");
	const top = (selector) => one.page.$eval(selector, (element) => element.getBoundingClientRect().top);
	assert.ok((await top("h1")) < 200 && (await top("#breakdown")) < 500 && (await top("details.finding")) < 700);
	await one.close();
});

test("what is beside each other under the verdict takes the room of its words", async () => {
	const one = await open("small");
	const loose = await one.page.$$eval(".lede > :not(.badge)", (all) =>
		all.map((part) => {
			const words = document.createRange();
			words.selectNodeContents(part);
			return part.getBoundingClientRect().width - words.getBoundingClientRect().width;
		}),
	);
	assert.ok(loose.length >= 2 && loose.every((room) => Math.abs(room) < 2), loose.join(" "));
	await one.close();
});

// ---- colours ----

const channel = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
function contrast(a, b) {
	const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
	return (high + 0.05) / (low + 0.05);
}
const rgb = (text) =>
	text
		.match(/[\d.]+/g)
		.slice(0, 3)
		.map(Number);

const TEXT = ["text", "muted", "accent", "high", "medium", "ok"];
const CATEGORIES = [
	"scope",
	"python",
	"native",
	"operator",
	"runtime",
	"sync",
	"kernel",
	"copy",
	"communication",
	"step",
	"compile",
	"gc",
	"other",
];

const tokens = (page, names) =>
	page.evaluate((all) => {
		const probe = document.createElement("div");
		document.body.append(probe);
		const found = all.map((name) => {
			probe.style.color = "";
			probe.style.color = `var(--${name})`;
			return [
				name,
				getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim() &&
					getComputedStyle(probe).color,
			];
		});
		probe.remove();
		return found;
	}, names);

for (const theme of ["light", "dark"])
	test(`${theme}: contrast of texts 4.5, of marks 3`, async () => {
		const one = await open("small", { media: { "prefers-color-scheme": theme } });
		await shot(one.page, `small-${theme}`);
		const got = new Map(
			await tokens(one.page, ["background", "surface", ...TEXT, ...CATEGORIES.map((name) => `category-${name}`)]),
		);
		const missing = [...got].filter(([, colour]) => !colour).map(([name]) => name);
		assert.deepEqual(missing, []);
		const [background, surface] = [rgb(got.get("background")), rgb(got.get("surface"))];
		assert.equal(luminance(background) > 0.5, theme === "light");
		const weak = TEXT.flatMap((name) =>
			[background, surface].map((under) => [name, contrast(rgb(got.get(name)), under)]),
		).filter(([, ratio]) => ratio < 4.5);
		assert.deepEqual(weak, []);
		// what waits is told by its hatching or its word as well, so it may be fainter
		const faint = CATEGORIES.map((name) => [name, contrast(rgb(got.get(`category-${name}`)), background)]).filter(
			([, ratio]) => ratio < 2.95,
		);
		assert.deepEqual(faint, []);
		const unlike = new Set(
			["python", "kernel", "copy", "communication", "sync"].map((name) => got.get(`category-${name}`)),
		);
		assert.equal(unlike.size, 5);
		await one.close();
	});

// Each piece of text against what is behind it, as it is computed.
for (const theme of ["light", "dark"])
	test(`${theme}: texts of the page can be read on what is behind them`, async () => {
		const one = await open("small", { media: { "prefers-color-scheme": theme } });
		await one.page.$$eval("details", (all) =>
			all.forEach((details) => {
				details.open = true;
			}),
		);
		const pairs = await one.page.evaluate(() => {
			const solid = (element) => {
				for (let up = element; up; up = up.parentElement) {
					const colour = getComputedStyle(up)
						.backgroundColor.match(/[\d.]+/g)
						.map(Number);
					if (colour.length < 4 || colour[3] > 0.99) return colour.slice(0, 3);
					if (colour[3] > 0) return null; // mixed: not judged here
				}
				return getComputedStyle(document.documentElement)
					.backgroundColor.match(/[\d.]+/g)
					.map(Number)
					.slice(0, 3);
			};
			const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
			const found = new Map();
			while (walker.nextNode()) {
				const parent = walker.currentNode.parentElement;
				if (
					!walker.currentNode.data.trim() ||
					!parent.checkVisibility() ||
					parent.closest("svg, script, style, [disabled], .visually-hidden")
				)
					continue;
				const colour = getComputedStyle(parent).color,
					behind = solid(parent);
				if (behind)
					found.set(`${colour} ${behind}`, [
						colour
							.match(/[\d.]+/g)
							.map(Number)
							.slice(0, 3),
						behind,
						`${parent.tagName}.${parent.className}: ${walker.currentNode.data.trim().slice(0, 30)}`,
					]);
			}
			return [...found.values()];
		});
		assert.ok(pairs.length > 2);
		assert.deepEqual(
			pairs.map(([a, b, words]) => [contrast(a, b), words]).filter(([ratio]) => ratio < 4.5),
			[],
		);
		await one.close();
	});

test("the switch of the theme wins over the system's, and is remembered by the address", async () => {
	const one = await open("small", { media: { "prefers-color-scheme": "light" } });
	const dark = () => one.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
	const first = await dark();
	let turns = 0;
	while ((await dark()) === first && turns++ < 3) await one.page.click("#theme");
	const second = await dark();
	assert.notEqual(second, first);
	const canvas = await one.page.evaluate(
		() =>
			new Promise((resolve) =>
				requestAnimationFrame(() =>
					requestAnimationFrame(() => {
						const c = document.querySelector(".track-canvas");
						resolve([...c.getContext("2d").getImageData(c.width - 2, c.height - 2, 1, 1).data].slice(0, 3));
					}),
				),
			),
	);
	assert.ok(luminance(canvas) < 0.3, `the canvas is ${canvas}`);
	await one.page.reload({ waitUntil: "domcontentloaded" });
	await one.page.waitForSelector("body[data-ready]");
	assert.equal(await dark(), second);
	await one.page.evaluate(() => document.activeElement.blur());
	await one.page.keyboard.press("t");
	assert.deepEqual(await one.quiet(), []);
	await one.close();
});

test("colours of the system's choice (forced-colors)", async () => {
	const one = await open("small", { media: { "forced-colors": "active", "prefers-color-scheme": "dark" } });
	await shot(one.page, "small-forced");
	const strokes = await one.page.$$eval("#breakdown svg rect", (all) => all.map((rect) => getComputedStyle(rect).stroke));
	assert.ok(
		strokes.length > 0 && strokes.some((stroke) => stroke !== "none"),
		"parts of the bar are told apart by their borders",
	);
	assert.deepEqual(await one.quiet(), []);
	await one.close();
});

test("no motion where none is wanted", async () => {
	const one = await open("small", { media: { "prefers-reduced-motion": "reduce" } });
	await one.page.evaluate(() => {
		document.activeElement.blur();
		window.inferscope.setView(1e6, 9e6);
	});
	await settle(one.page);
	await one.page.keyboard.press("w");
	await settle(one.page);
	const first = await one.page.evaluate(() => window.inferscope.view());
	await pause(200);
	assert.deepEqual(await one.page.evaluate(() => window.inferscope.view()), first);
	const moving = await one.page.evaluate(() => document.getAnimations().length);
	assert.equal(moving, 0);
	await one.close();
});
