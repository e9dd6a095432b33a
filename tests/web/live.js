// A server of made-up snapshots (tests/programs/live_server.c), and live pages that note everything that must not happen.

import { spawn } from "node:child_process";
import path from "node:path";
import readline from "node:readline";
import { IN_FIREFOX, PATIENCE, VIEWPORT, WATCH, newContext, newPage, ready, until } from "./browser.js";
import { INFERSCOPE } from "./traces.js";

const SERVER = path.join(path.dirname(INFERSCOPE), "tests", "programs", "live_server");

const running = new Set();

// Whatever a test that failed has left.
export const stopAll = () => running.forEach((process) => process.kill("SIGKILL"));

// options: address, token, words ("hostile", "large", "open").
export async function serve(options = {}) {
	const process = spawn(SERVER, [options.address ?? "127.0.0.1:0", options.token ?? "", ...(options.words ?? [])]);
	const lines = readline.createInterface({ input: process.stdout })[Symbol.asyncIterator]();
	running.add(process);
	const gone = new Promise((resolve) => {
		process.on("exit", (status) => {
			running.delete(process);
			resolve(status);
		});
	});
	const url = (await lines.next()).value;
	if (!url) throw new Error("live_server did not start");
	return {
		url,
		address: new URL(url).host,
		token: new URL(url).searchParams.get("token"),
		// Says a line, waits for its answer: the number of the newest snapshot.
		say: async (line) => {
			process.stdin.write(`${line}\n`);
			return Number((await lines.next()).value.split(" ")[1]);
		},
		stop: async () => {
			process.stdin.end();
			return gone;
		},
		kill: async () => {
			process.kill("SIGKILL");
			return gone;
		},
	};
}

// A live page in a context of its own, or in that of others.
export async function look(url, options = {}) {
	const context = options.context ?? (await newContext(options.theme ? { media: { "prefers-color-scheme": options.theme } } : {}));
	const page = await newPage(context, options.visible === false ? "tab" : "window");
	const trouble = [];
	page.on("console", (message) => {
		if (["error", "warn", "assert"].includes(message.type())) trouble.push(`console: ${message.text()}`);
	});
	page.on("pageerror", (error) => trouble.push(`thrown: ${error.stack ?? error.message}`));
	page.on("request", (request) => {
		if (new URL(request.url()).host !== new URL(url).host && !request.url().startsWith("data:"))
			trouble.push(`request: ${request.url()}`);
	});
	page.on("dialog", (dialog) => {
		trouble.push(`dialog: ${dialog.message()}`);
		dialog.dismiss();
	});
	await page.setViewport({ ...VIEWPORT, ...options.viewport });
	if (!IN_FIREFOX && options.theme) await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: options.theme }]);
	if (!IN_FIREFOX && options.visible !== false)
		await (await page.createCDPSession()).send("Emulation.setFocusEmulationEnabled", { enabled: true });
	await page.evaluateOnNewDocument(WATCH);
	await page.goto(url, { waitUntil: "domcontentloaded", timeout: PATIENCE });
	await ready(page, trouble);
	return {
		page,
		trouble,
		context,
		facts: () => page.evaluate(() => window.inferscopeLive.facts()),
		status: () => page.$eval("#connection", (element) => element.textContent),
		until: (test, ...values) => until(page, test, ...values),
		quiet: async () => [...trouble, ...(await page.evaluate(() => window.seenByTest.violations))],
		close: () => context.close(),
	};
}
