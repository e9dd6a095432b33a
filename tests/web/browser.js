// The browser of the tests, and pages in it that note everything that must not happen.
//
// INFERSCOPE_BROWSER=firefox takes Firefox instead of Chromium, where it is installed.  It is spoken to by WebDriver BiDi, which has
// less to offer than the protocol of Chromium: what the tests want of it that pages cannot ask for are preferences of a browser.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { FOLDER, ROOT } from "./traces.js";

export const MODULES = process.env.INFERSCOPE_NODE_MODULES ?? path.join(ROOT, ".venv", "web", "node_modules");
const require = createRequire(path.join(MODULES, "x.js"));
const puppeteer = require("puppeteer-core").default ?? require("puppeteer-core");

const CHROMIUM =
	process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
const FIREFOX = process.env.FIREFOX ?? ["/usr/bin/firefox", "/usr/bin/firefox-esr"].find(existsSync);
export const IN_FIREFOX = process.env.INFERSCOPE_BROWSER === "firefox";
export const VIEWPORT = { width: 1280, height: 800 };
export const PATIENCE = 30_000; // ms; a page that is not ready by then never will be

// Of a test: it asks for what only the protocol of Chromium has.
export const chromiumOnly = (why) => ({ skip: IN_FIREFOX ? `not in Firefox: ${why}` : false });

// A profile of its own, no network, no processor for graphics.
function launchChromium() {
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

function launchFirefox(preferences) {
	if (!FIREFOX) throw new Error("no Firefox here: apt-get install firefox-esr, or set FIREFOX");
	return puppeteer.launch({
		browser: "firefox",
		executablePath: FIREFOX,
		headless: true,
		defaultViewport: null,
		protocolTimeout: 30_000,
		extraPrefsFirefox: { "ui.useOverlayScrollbars": 1, ...preferences },
	});
}

// Started once for all files of tests; a Firefox talks to one of them only, so that each has its own.
export const launch = () => (IN_FIREFOX ? null : launchChromium());

// What pages of these options need of Firefox itself.
function preferencesOf({ media = {} }) {
	const preferences = {};
	if (media["prefers-reduced-motion"]) preferences["ui.prefersReducedMotion"] = 1;
	if (media["forced-colors"]) preferences["browser.display.document_color_use"] = 2;
	if (media["prefers-color-scheme"])
		preferences["layout.css.prefers-color-scheme.content-override"] = media["prefers-color-scheme"] === "dark" ? 0 : 1;
	return preferences;
}

const browsers = new Map();

// The browser that run.js started, or one of our own.
function browser(options) {
	const address = process.env.INFERSCOPE_BROWSER_ADDRESS;
	const preferences = IN_FIREFOX ? preferencesOf(options) : {};
	const key = JSON.stringify(preferences);
	if (!browsers.has(key)) {
		if (IN_FIREFOX) browsers.set(key, launchFirefox(preferences));
		else browsers.set(key, address ? puppeteer.connect({ browserWSEndpoint: address, defaultViewport: VIEWPORT }) : launch());
	}
	return browsers.get(key);
}

// With no storage and no connections of others.  options: media, as open() has it.
export const newContext = async (options = {}) => (await browser(options)).createBrowserContext();

// What Firefox does not know of what it is asked, it says after it has done the rest.
const known = (answer) =>
	answer.catch((error) => {
		if (!/unknown command/.test(error.message)) throw error;
	});

// In Firefox what is in a window of its own can be seen; of the tabs of a window, one.
export async function newPage(context, type = "window") {
	if (!IN_FIREFOX) return context.newPage();
	const page = await context.newPage({ type });
	const { setViewport } = page;
	page.setViewport = (viewport) => known(setViewport.call(page, viewport));
	await page.setViewport(VIEWPORT);
	return page;
}

// Call after the last test of a file.
export async function done() {
	for (const one of browsers.values()) {
		const b = await one;
		await (process.env.INFERSCOPE_BROWSER_ADDRESS ? b.disconnect() : b.close());
	}
}

// Firefox does not answer questions about a page while it runs no code at all: the page's own is taken out.
function withoutCode(file) {
	const plain = file.replace(/\.html$/, ".plain.html");
	writeFileSync(plain, readFileSync(file, "utf8").replace("\n<script>", '\n<script type="text/plain">'));
	return plain;
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

async function restrict(page, { media, script }) {
	if (media) await (await page.createCDPSession()).send("Emulation.setEmulatedMedia", { features: features(media) });
	if (script === false) await page.setJavaScriptEnabled(false);
	await page.setOfflineMode(true);
}

// Opens a page in a context of its own (no storage of others).  `trouble` has what was said on the console, thrown, asked of the
// network or shown as a dialog.  options: file, viewport, script (false: none), media ({feature: value}), hash.
export async function open(name, options = {}) {
	const context = await newContext(options);
	const page = await newPage(context);
	const trouble = [];
	const file = options.file ?? pageFile(name);
	const url = pathToFileURL(IN_FIREFOX && options.script === false ? withoutCode(file) : file).href;
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
	if (!IN_FIREFOX) await restrict(page, options);
	if (options.script !== false) await page.evaluateOnNewDocument(WATCH);
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

// Until a function of the page says yes.  (waitForFunction() would be an eval() in Firefox, against the page's policy.)
export async function until(page, test, ...values) {
	for (const end = Date.now() + PATIENCE; !(await page.evaluate(test, ...values)); await pause(50))
		if (Date.now() > end) throw new Error(`never: ${test} ${JSON.stringify(values)}`);
}

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
