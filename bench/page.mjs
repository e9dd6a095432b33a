// Opens a report page in a browser and measures: bench/page.mjs PAGE ROUNDS.  Prints one line of JSON with lists of figures.
//
// Each round has its floor beside it: the same bytes as a page that only shows text, the same streams inflated and nothing else,
// and ten thousand rectangles on a canvas of the same size.

import { readFileSync, writeFileSync } from "node:fs";
import { launch, memory } from "../tests/web/browser.js";
import { pathToFileURL } from "node:url";

const [file, rounds] = [process.argv[2], Number(process.argv[3])];
const bare = `${file}.bare.html`;
const text = readFileSync(file, "utf8");
writeFileSync(bare, text.replace(/<script>[\s\S]*?<\/script>/g, "").replace(/<meta http-equiv[^>]*>/, ""));

const paint = (page) =>
	page.evaluate(
		() =>
			new Promise((resolve) => {
				const look = () => {
					const entry = performance.getEntriesByName("first-contentful-paint")[0];
					if (entry) resolve(entry.startTime);
					else requestAnimationFrame(look);
				};
				look();
			}),
	);

const inflate = (page) =>
	page.evaluate(async () => {
		const start = performance.now();
		await Promise.all(
			[...document.querySelectorAll("script[id^=data-]")].map((element) => {
				const packed = atob(element.textContent),
					bytes = new Uint8Array(packed.length);
				for (let i = 0; i < packed.length; i += 1) bytes[i] = packed.charCodeAt(i);
				return new Response(
					new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")),
				).arrayBuffer();
			}),
		);
		return performance.now() - start;
	});

// Medians of 60 frames each, in ms.
const frames = (page) =>
	page.evaluate(() => {
		const api = window.inferscope,
			whole = api.model().duration_ns,
			canvas = document.querySelector(".track-canvas");
		const context = canvas.getContext("2d");
		canvas.scrollIntoView({ block: "center", behavior: "instant" });
		const timed = (draw) => {
			const times = [];
			for (let i = 0; i < 63; i += 1) {
				const start = performance.now();
				draw(i);
				context.getImageData(0, 0, 1, 1);
				times.push(performance.now() - start);
			}
			return times.slice(3).sort((a, b) => a - b)[30];
		};
		const pan = (share) =>
			timed((i) => {
				const span = whole * share,
					from = (whole - span) / 2 + (span * (i - 30)) / 200;
				api.setView(from, from + span);
				api.frame();
			});
		const other = document.createElement("canvas");
		[other.width, other.height] = [canvas.width, canvas.height];
		const plain = other.getContext("2d", { alpha: false });
		const rectangles = timed((n) => {
			for (let i = 0; i < 10000; i += 1) {
				plain.fillStyle = i % 2 ? "#4299de" : "#1d5659";
				plain.fillRect((i * 37 + n) % other.width, (i * 61) % other.height, 5, 15);
			}
			plain.getImageData(0, 0, 1, 1);
		});
		return { frame_whole: pan(1), frame_tenth: pan(0.1), frame_step: pan(1 / 330), rectangles };
	});

const figures = {};
const note = (all) => Object.entries(all).forEach(([name, value]) => (figures[name] ??= []).push(value));

// Opens a file in a browser, and so with a profile, of its own.
async function inBrowser(path, measure) {
	const browser = await launch();
	const [page] = await browser.pages();
	await page.goto(pathToFileURL(path).href, { waitUntil: "domcontentloaded" });
	note(await measure(page));
	await browser.close();
}

for (let round = 0; round < rounds; round += 1) {
	await inBrowser(file, async (page) => {
		await page.waitForSelector("body[data-ready]", { timeout: 60_000 });
		const ready = await page.evaluate(() => performance.getEntriesByName("ready")[0]?.startTime ?? performance.now());
		return { ready, paint: await paint(page), heap: await memory(page), ...(await frames(page)) };
	});
	await inBrowser(bare, async (page) => ({ bare_paint: await paint(page), inflate: await inflate(page) }));
}
console.log(JSON.stringify(figures));
