// What the driver says of GPUs, in tables that need no JavaScript.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { chromiumOnly, done, open } from "./browser.js";
import { GPU_NAME, analysis } from "./traces.js";

after(done);

const tables = (page) =>
	page.$$eval("#devices table", (all) =>
		all.map((table) => ({
			title: table.caption.textContent,
			rows: [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent)),
		})),
	);

const number = (value, decimals) => (value === null ? "-" : value.toFixed(decimals));
const limited = (value, limit) => (limit === null ? number(value, 0) : `${number(value, 0)} of ${number(limit, 0)}`);
const bytes = (value) => (value === null ? "-" : `${(value / 1e9).toFixed(1)} GB`);

// As the page has to write it.
const use = (gpu, name) => [
	`${gpu.device_id} ${name}`,
	String(gpu.samples),
	number(gpu.utilization_percent, 1),
	number(gpu.utilization_max_percent, 1),
	number(gpu.memory_utilization_percent, 1),
	`${bytes(gpu.memory_used_max_bytes)} of ${bytes(gpu.memory_total_bytes)}`,
	bytes(gpu.program_memory_max_bytes),
];
const speed = (gpu, name) => [
	`${gpu.device_id} ${name}`,
	limited(gpu.sm_clock_mhz, gpu.sm_clock_limit_mhz),
	limited(gpu.memory_clock_mhz, gpu.memory_clock_limit_mhz),
	limited(gpu.power_w, gpu.power_limit_w),
	number(gpu.power_max_w, 0),
	number(gpu.energy_j, 1),
	number(gpu.temperature_max_c, 0),
	number(gpu.throttled_percent, 1),
	number(gpu.throttled_power_percent, 1),
	number(gpu.throttled_thermal_percent, 1),
];

test("figures are those of the analysis, and what is not told is no number", async () => {
	const { gpus } = analysis("gpus");
	const names = [gpus[0].name, GPU_NAME];
	const one = await open("gpus", { script: false });
	assert.equal(gpus.length, 2);
	assert.deepEqual(
		[gpus[0].sm_clock_mhz, gpus[0].throttled_percent, gpus[0].energy_j, gpus[1].power_w, gpus[1].utilization_percent],
		[990, 100, null, 90, 80],
	);
	assert.deepEqual(await tables(one.page), [
		{ title: "What the driver says of GPUs: their use", rows: gpus.map((gpu, i) => use(gpu, names[i])) },
		{ title: "What the driver says of GPUs: clocks, power and heat", rows: gpus.map((gpu, i) => speed(gpu, names[i])) },
	]);
	assert.deepEqual(one.trouble, []);
	await one.close();
});

for (const [width, theme] of [
	[1280, "light"],
	[1280, "dark"],
	[400, "light"],
	[400, "dark"],
])
	test(`${width} px, ${theme}: the page is as wide as the window, names are text`, async () => {
		const one = await open("gpus", { viewport: { width }, media: { "prefers-color-scheme": theme } });
		const found = await one.page.evaluate(() => ({
			width: document.scrollingElement.scrollWidth,
			background: getComputedStyle(document.body).backgroundColor,
			boxes: [...document.querySelectorAll("#devices .scroll")].map((box) => box.scrollWidth > box.clientWidth),
			visible: [...document.querySelectorAll("#devices table")].every((table) => table.checkVisibility()),
			images: document.querySelectorAll("img").length,
			hit: window.hit ?? null,
		}));
		assert.deepEqual(found, {
			width,
			background: theme === "light" ? "rgb(255, 255, 255)" : "rgb(15, 19, 24)",
			boxes: width === 400 ? [true, true] : [false, false], // scrolled by themselves where there is no room
			visible: true,
			images: 0,
			hit: null,
		});
		assert.deepEqual(await one.quiet(), []);
		await one.close();
	});

test("on paper, which does not scroll, they fit", chromiumOnly("it cannot be asked to look as printed"), async () => {
	const one = await open("gpus", { viewport: { width: 718 } }); // A4 without margins of 1 cm
	await one.page.emulateMediaType("print");
	const wide = await one.page.$$eval("table.plain", (all) =>
		all.filter((table) => table.offsetWidth > 718).map((table) => `${table.caption.textContent} ${table.offsetWidth}`),
	);
	assert.deepEqual(wide, []);
	await one.close();
});

test("no GPU was asked: nothing is said of it", async () => {
	const one = await open("small", { script: false });
	assert.deepEqual((await tables(one.page)).map((table) => table.title), ["Shares of their time"]);
	await one.close();
});
