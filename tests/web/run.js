#!/usr/bin/env node
// Tests of the report page in a browser.
//
//     node tests/web/run.js [GROUP...]     all groups, or those named (load, findings, ...)
//
// INFERSCOPE is the program, INFERSCOPE_BUILD the folder it was built in.  Traces and pages are made in $INFERSCOPE_WEB, or
// build/test/web, and made again when the program or the generator is newer.  The last line is "N passed, M failed".
// INFERSCOPE_BROWSER=firefox runs them in Firefox, file after file; what its protocol does not offer is skipped.
// Times are measured and printed, but fail a test only when they are three times what they should be: bench/ has the bars.

import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { run } from "node:test";
import { launch } from "./browser.js";
import { FOLDER, HERE, prepare } from "./traces.js";

// What is timed runs alone; the others share the machine.
const ALONE = ["load", "frames"];

function groupsIn(folder) {
	const files = existsSync(path.join(HERE, folder)) ? readdirSync(path.join(HERE, folder)) : [];
	return files
		.filter((file) => file.endsWith(".test.js"))
		.sort()
		.map((file) => path.join(folder, file.replace(".test.js", "")));
}

const known = [...groupsIn("unit"), ...groupsIn("")];
const wanted = process.argv.slice(2);
const unknown = wanted.filter((group) => !known.includes(group));
if (unknown.length) {
	console.error(`run.js: no group ${unknown[0]}; there are: ${known.join(" ")}`);
	process.exit(2);
}
const groups = wanted.length ? wanted : known;

const counts = { passed: 0, failed: 0, skipped: 0 };

// A file is a test to some versions of node: it counts only when it failed without any test of its own having done so.
const isFile = (data) => data.name.endsWith(".test.js");

function why(error) {
	const cause = error?.cause ?? error;
	return (cause?.stack ?? cause?.message ?? String(cause))
		.split("\n")
		.map((line) => `        ${line}`)
		.join("\n");
}

function tell(group, word, data) {
	const ms = Math.round(data.details?.duration_ms ?? 0);
	console.log(`${word}  ${group}: ${data.name}  (${ms} ms)${typeof data.skip === "string" ? `  ${data.skip}` : ""}`);
}

async function runGroup(group) {
	const seen = new Set();
	let failures = 0;
	const stream = run({ files: [path.join(HERE, `${group}.test.js`)], concurrency: 1 });
	const note = (word, key) => (data) => {
		if (isFile(data) || data.details?.type === "suite" || seen.has(data.name)) return;
		seen.add(data.name);
		const skipped = data.skip !== undefined && data.skip !== false;
		counts[skipped ? "skipped" : key] += 1;
		tell(group, skipped ? "skip" : word, data);
		if (key === "failed") {
			failures += 1;
			console.log(why(data.details?.error));
		}
	};
	stream.on("test:pass", note("ok  ", "passed"));
	stream.on("test:fail", (data) => {
		if (isFile(data) && failures === 0) {
			counts.failed += 1;
			console.log(`FAIL  ${group}: the file itself\n${why(data.details?.error)}`);
		}
		note("FAIL", "failed")(data);
	});
	stream.on("test:diagnostic", (data) => {
		if (data.nesting > 0 || /^[a-z_]+ =/.test(data.message)) console.log(`      ${data.message}`);
	});
	stream.on("test:stderr", (data) => process.stdout.write(data.message));
	await new Promise((resolve) => {
		stream.on("end", resolve);
		stream.on("close", resolve);
		stream.resume();
	});
}

async function inTurn(queue) {
	while (queue.length) await runGroup(queue.shift());
}

const start = Date.now();
await prepare();
console.log(`traces and pages in ${FOLDER}: ${((Date.now() - start) / 1000).toFixed(1)} s`);
const browser = await launch();
if (browser) process.env.INFERSCOPE_BROWSER_ADDRESS = browser.wsEndpoint();
try {
	await inTurn(groups.filter((group) => ALONE.includes(group)));
	const queue = groups.filter((group) => !ALONE.includes(group));
	await Promise.all(browser ? [inTurn(queue), inTurn(queue), inTurn(queue)] : [inTurn(queue)]);
} finally {
	await browser?.close();
}
console.log(`${((Date.now() - start) / 1000).toFixed(1)} s`);
console.log(`${counts.passed} passed, ${counts.failed} failed${counts.skipped ? `, ${counts.skipped} skipped` : ""}`);
process.exit(counts.failed ? 1 : 0);
