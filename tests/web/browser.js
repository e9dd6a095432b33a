// The browser of the tests, and pages in it that note everything that must not happen.

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { FOLDER, ROOT } from "./traces.js";

export const MODULES = process.env.INFERSCOPE_NODE_MODULES ?? path.join(ROOT, ".venv", "web", "node_modules");
const require = createRequire(path.join(MODULES, "x.js"));
const puppeteer = require("puppeteer-core").default ?? require("puppeteer-core");

const CHROMIUM =
	process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
export const VIEWPORT = { width: 1280, height: 800 };
export const PATIENCE = 30_000; // ms; a page that is not ready by then never will be

// A profile of its own, no network, no processor for graphics.
export function launch() {
	if (!CHROMIUM) throw new Error("no Chromium here: apt-get install chromium, or set CHROMIUM");
	return puppeteer.launch({
		executablePath: CHROMIUM,
		headless: true,
		defaultViewport: VIEWPORT,
		protocolTimeout: 120_000,
		args: [
			"--no-sandbox",
			"--disable-gpu",
			"--disable-dev-shm-usage",
			"--hide-scrollbars",
			"--proxy-server=127.0.0.1:9",
			"--disable-background-networking",
			"--disable-component-update",
		],
	});
}

let shared;

// The browser that run.js started, or one of our own when a test file is run alone.
async function browser() {
	const address = process.env.INFERSCOPE_BROWSER;
	shared ??= address ? puppeteer.connect({ browserWSEndpoint: address, defaultViewport: VIEWPORT }) : launch();
	return shared;
}

// With no storage and no connections of others.
export const newContext = async () => (await browser()).createBrowserContext();

// Call after the last test of a file.
export async function done() {
	if (!shared) return;
	const b = await shared;
	await (process.env.INFERSCOPE_BROWSER ? b.disconnect() : b.close());
}

export const pageFile = (name) => path.join(FOLDER, `${name}.html`);

export const WATCH = () => {
	const seen = { violations: [], frames: 0 };
	Object.defineProperty(window, "seenByTest", { value: seen });
	document.addEventListener("securitypolicyviolation", (event) =>
		seen.violations.push(`${event.violatedDirective} ${event.blockedURI}`),
	);
};

// {"forced-colors": "active"} as the browser wants it.
const features = (media) => Object.entries(media).map(([name, value]) => ({ name, value }));

// Opens a page in a context of its own (no storage of others).  `trouble` has what was said on the console, thrown, asked of the
// network or shown as a dialog.  options: file, viewport, script (false: none), media ({feature: value}), hash.
export async function open(name, options = {}) {
	const context = await newContext();
	const page = await context.newPage();
	const trouble = [];
	const url = pathToFileURL(options.file ?? pageFile(name)).href;
	page.on("console", (message) => {
		// the tests read pixels back, the page does not
		if (["error", "warn", "assert"].includes(message.type()) && !message.text().includes("willReadFrequently"))
			trouble.push(`console: ${message.text()}`);
	});
	page.on("pageerror", (error) => trouble.push(`thrown: ${error.stack ?? error.message}`));
	page.on("request", (request) => {
		if (request.url().split("#")[0] !== url && !request.url().startsWith("data:"))
			trouble.push(`request: ${request.url()}`);
	});
	page.on("dialog", (dialog) => {
		trouble.push(`dialog: ${dialog.message()}`);
		dialog.dismiss();
	});
	if (options.viewport) await page.setViewport({ ...VIEWPORT, ...options.viewport });
	if (options.media)
		await (await page.createCDPSession()).send("Emulation.setEmulatedMedia", { features: features(options.media) });
	if (options.script === false) await page.setJavaScriptEnabled(false);
	else await page.evaluateOnNewDocument(WATCH);
	await page.setOfflineMode(true);
	await page.goto(url + (options.hash ?? ""), { waitUntil: "domcontentloaded", timeout: PATIENCE });
	if (options.script !== false) await ready(page, trouble);
	return { page, trouble, url, context, close: () => context.close(), quiet: () => quiet(page, trouble) };
}

export async function ready(page, trouble = []) {
	try {
		await page.waitForSelector("body[data-ready]", { timeout: PATIENCE });
	} catch (error) {
		throw new Error(`body[data-ready] never came: ${trouble.join("; ") || error.message}`);
	}
}

// Everything that must not have happened by now, as a list: compare with [].
async function quiet(page, trouble) {
	const violations = await page.evaluate(() => window.seenByTest?.violations ?? []);
	return [...trouble, ...violations.map((violation) => `policy: ${violation}`)];
}

export const pause = (ms) =>
	new Promise((resolve) => {
		setTimeout(resolve, ms);
	});

// Two animation frames: what was asked for has been drawn.
export const settle = (page) =>
	page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve()))));

// Bytes that the page's code and data take after a collection: objects, and what arrays are kept in.
export async function memory(page) {
	const client = await page.createCDPSession();
	await client.send("HeapProfiler.collectGarbage");
	const { usedSize, backingStorageSize = 0 } = await client.send("Runtime.getHeapUsage");
	await client.detach();
	return usedSize + backingStorageSize;
}

// The middle of an element, scrolled to where it can be seen.
export async function middle(page, selector) {
	await page.$eval(selector, (element) => element.scrollIntoView({ block: "center", behavior: "instant" }));
	await settle(page);
	return page.$eval(selector, (element) => {
		const box = element.getBoundingClientRect();
		return {
			x: box.x + box.width / 2,
			y: box.y + box.height / 2,
			left: box.left,
			top: box.top,
			width: box.width,
			height: box.height,
		};
	});
}
