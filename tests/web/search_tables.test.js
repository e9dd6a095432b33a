// Search over everything; tables that sort, filter and scroll.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { done, open, pause, settle } from "./browser.js";
import { truth } from "./traces.js";
import { count, nanoseconds, value } from "./words.js";

const known = truth("million");
let shown, page;

before(async () => {
	shown = await open("million", { media: { "prefers-reduced-motion": "reduce" } });
	page = shown.page;
});
after(async () => {
	await shown?.close();
	await done();
});

function counted(matches) {
	const numbers = new Set([...known.names.keys()].filter((number) => matches(known.names[number])));
	let hits = 0,
		total = 0;
	for (const { begins, ends, labels } of known.tracks)
		for (let i = 0; i < labels.length; i += 1)
			if (numbers.has(labels[i])) {
				hits += 1;
				total += ends[i] - begins[i];
			}
	return { hits, total };
}

async function search(word) {
	await page.evaluate(() => document.activeElement.blur());
	await page.keyboard.press("/");
	assert.equal(await page.evaluate(() => document.activeElement.id), "search");
	await page.$eval("#search", (input) => input.select());
	await page.keyboard.type(word);
	await pause(400);
	await settle(page);
	return page.$eval("#search-status", (element) => element.textContent);
}

for (const [word, matches] of [
	["aten::op_75", (name) => name.toLowerCase().includes("aten::op_75")],
	["KERNEL_58", (name) => name.toLowerCase().includes("kernel_58")],
])
	test(`a search for ${word} counts all hits`, async () => {
		const status = await search(word);
		const wanted = counted(matches);
		assert.ok(wanted.hits > 300);
		assert.equal(count(status), wanted.hits, status);
		const hits = await page.evaluate(() => window.inferscope.hits());
		assert.equal(hits.count, wanted.hits);
		assert.ok(
			Math.abs(hits.total_ns - wanted.total) <= wanted.hits * 10 && hits.exact,
			`${hits.total_ns} ${wanted.total}`,
		);
		assert.ok(Math.abs(nanoseconds(status) - wanted.total) <= 0.006 * wanted.total, status);
	});

test("Enter goes from hit to hit, Shift and Enter back, Escape clears", async () => {
	await search("ProfilerStep#32");
	const chosen = () => page.evaluate(() => window.inferscope.selection());
	const seen = [];
	for (let i = 0; i < 3; i += 1) {
		await page.keyboard.press("Enter");
		await pause(150);
		seen.push(await chosen());
	}
	assert.ok(
		seen.every((one) => one.name.includes("ProfilerStep#32")),
		JSON.stringify(seen),
	);
	assert.equal(new Set(seen.map((one) => one.place)).size, 3);
	await page.keyboard.down("Shift");
	await page.keyboard.press("Enter");
	await page.keyboard.up("Shift");
	await pause(150);
	assert.equal((await chosen()).place, seen[1].place);
	const { from_ns, to_ns } = await page.evaluate(() => window.inferscope.view());
	assert.ok(from_ns <= seen[1].begin_ns && to_ns >= seen[1].end_ns, "the hit is in view");
	for (let i = 0; i < 9; i += 1) await page.keyboard.press("Enter");
	await pause(150);
	assert.ok((await chosen()).name.includes("ProfilerStep#32"), "it begins again after the last");
	await page.keyboard.press("Escape");
	await pause(100);
	assert.equal(await page.$eval("#search", (input) => input.value), "");
	assert.equal(await page.$eval("#search-status", (element) => element.textContent), "");
});

test("a search without hits says so", async () => {
	const status = await search("no such thing anywhere");
	assert.match(status, /\b(no|0|nothing)\b/i);
	await page.keyboard.press("Escape");
});

const TABLE = "#tables table.grid";
const tabs = () => page.$$eval("#tables [role=tab]", (all) => all.map((one) => one.textContent));
async function choose(tab) {
	await page.evaluate(
		(words) => [...document.querySelectorAll("#tables [role=tab]")].find((one) => one.textContent === words).click(),
		tab,
	);
	await settle(page);
}
const column = (at) =>
	page.$$eval(`${TABLE} tbody tr:not(.spacer)`, (rows, i) => rows.map((row) => row.cells[i].innerText.trim()), at);

function inOrder(cells, direction) {
	const values = cells.map(value);
	const sign = direction === "ascending" ? 1 : -1;
	return values.every((one, i) => {
		if (i === 0 || cells[i] === "" || cells[i - 1] === "" || cells[i] === "–" || cells[i - 1] === "–") return true;
		const above = values[i - 1];
		if (typeof one === "number" && typeof above === "number") return sign * (one - above) >= -1e-3 * Math.abs(one);
		// texts in any sensible order of letters
		return (
			sign * String(above).localeCompare(String(one), "en") <= 0 ||
			sign * (String(above) < String(one) ? -1 : String(above) > String(one) ? 1 : 0) <= 0
		);
	});
}

test("each column of each table sorts both ways, and says so", async () => {
	const names = await tabs();
	assert.ok(names.length >= 5, names.join(", "));
	for (const tab of names) {
		await choose(tab);
		// [column, aria-sort of all columns, cells of the column] after each click
		const clicks = await page.evaluate((selector) => {
			const table = document.querySelector(selector);
			return [...table.tHead.rows[0].cells].flatMap((_, at) =>
				[1, 2].map(() => {
					table.tHead.rows[0].cells[at].querySelector("button").click();
					const sorted = [...table.tHead.rows[0].cells].map((one) => one.getAttribute("aria-sort"));
					return [
						at,
						sorted,
						[...table.querySelectorAll("tbody tr:not(.spacer)")].map((row) => row.cells[at].innerText.trim()),
					];
				}),
			);
		}, TABLE);
		assert.ok(clicks.length >= 4, tab);
		const directions = new Map();
		for (const [at, sorted, cells] of clicks) {
			assert.ok(["ascending", "descending"].includes(sorted[at]), `${tab}, column ${at}: ${sorted}`);
			assert.equal(sorted.filter((one) => one === "ascending" || one === "descending").length, 1);
			assert.ok(inOrder(cells, sorted[at]), `${tab}, column ${at}, ${sorted[at]}: ${cells.slice(0, 12).join(" | ")}`);
			directions.set(at, (directions.get(at) ?? new Set()).add(sorted[at]));
		}
		assert.ok(
			[...directions.values()].every((both) => both.size === 2),
			tab,
		);
	}
});

test("a filter to nothing and back", async () => {
	const [tab] = (await tabs()).filter((one) => /kernel/i.test(one));
	await choose(tab);
	const all = (await column(0)).length;
	const type = async (text) => {
		await page.$eval(
			"#tables .filter input",
			(input, words) => {
				input.value = words;
				input.dispatchEvent(new Event("input", { bubbles: true }));
			},
			text,
		);
		await pause(300);
		await settle(page);
	};
	await type("zzzz no such");
	assert.equal((await page.$$(`${TABLE} tbody tr[aria-rowindex]`)).length, 0);
	await type("kernel_583<");
	const rows = await page.$$eval(`${TABLE} tbody tr:not(.spacer)`, (list) => list.map((row) => row.innerText));
	assert.ok(rows.length >= 1 && rows.every((row) => row.includes("kernel_583<")), rows.join("; "));
	await type("");
	assert.equal((await column(0)).length, all);
});

test("the last row is the last", async () => {
	const [tab] = (await tabs()).filter((one) => /kernel/i.test(one));
	await choose(tab);
	const rows = await page.$eval(TABLE, (table) => Number(table.getAttribute("aria-rowcount")));
	const kernels = new Set(known.names.filter((name) => name.includes("kernel_"))).size;
	assert.ok(rows === kernels || rows === kernels + 1, `${rows} rows for ${kernels} kernels`);
	await page.$eval("#tables .table-scroll", (element) => {
		element.scrollTop = 1e9;
	});
	await pause(100);
	await settle(page);
	const last = await page.$$eval(`${TABLE} tbody tr[aria-rowindex]`, (all) =>
		all.map((row) => Number(row.getAttribute("aria-rowindex"))),
	);
	assert.equal(Math.max(...last), rows);
	assert.ok(last.length < 200, "only what is seen is in the document");
	assert.deepEqual(await shown.quiet(), []);
});

test("a row leads into the timeline", async () => {
	const [tab] = (await tabs()).filter((one) => /step/i.test(one));
	await choose(tab);
	await page.$eval("#tables .table-scroll", (element) => {
		element.scrollTop = 0;
	});
	await settle(page);
	const first = await page.evaluate(() => window.inferscope.view());
	await page.$eval("#tables", (section) => section.scrollIntoView({ block: "center", behavior: "instant" }));
	await settle(page);
	const rows = await page.$$("#tables table.grid tbody tr[aria-rowindex]");
	await (await rows[7].$("td")).click({ count: 2 });
	await pause(300);
	assert.notDeepEqual(await page.evaluate(() => window.inferscope.view()), first);
});
