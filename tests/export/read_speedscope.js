// node tests/export/read_speedscope.js FILE: checks a file against speedscope's schema, and opens it in speedscope itself, from disk.
// Prints JSON: {errors, title, rows: [[total, self, name]]} of the first profile, as its table (the sandwich view) shows them.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { MODULES, load } from "./modules.js";
import { launch } from "../web/browser.js";

const RELEASE = path.join(MODULES, "speedscope", "dist", "release");
const PATIENCE = 60_000;

function check(file) {
	const Ajv = load("ajv");
	const ajv = new Ajv({ schemaId: "auto" });
	const valid = ajv.compile(JSON.parse(readFileSync(path.join(RELEASE, "file-format-schema.json"), "utf8")));
	return valid(JSON.parse(readFileSync(file, "utf8"))) ? [] : valid.errors;
}

// The way its own command takes: a script beside it hands over the file.
function handOver(folder, file) {
	const script = path.join(folder, "profile.js");
	const name = JSON.stringify(path.basename(file));
	writeFileSync(script, `speedscope.loadFileFromBase64(${name}, "${readFileSync(file).toString("base64")}")`);
	return `${pathToFileURL(path.join(RELEASE, "index.html"))}#view=sandwich&localProfilePath=${script.slice(1)}`;
}

const ROWS = () =>
	[...document.querySelectorAll("tr")]
		.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent.trim()))
		.filter((cells) => cells.length >= 3);

async function open(file) {
	const folder = mkdtempSync(path.join(os.tmpdir(), "speedscope-"));
	const browser = await launch();
	const errors = [];
	try {
		const page = await browser.newPage();
		page.on("pageerror", (error) => errors.push(String(error)));
		page.on("dialog", (dialog) => (errors.push(dialog.message()), dialog.dismiss()));
		await page.goto(handOver(folder, file));
		await page.waitForFunction(() => document.querySelectorAll("td").length > 0, { timeout: PATIENCE });
		return { errors, title: await page.title(), rows: await page.evaluate(ROWS) };
	} finally {
		await browser.close();
		rmSync(folder, { recursive: true });
	}
}

const invalid = check(process.argv[2]);
console.log(JSON.stringify(invalid.length ? { errors: invalid, rows: [] } : await open(process.argv[2])));
