/* What tables have besides the analysis: counters, of the run and of a range. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { TABLE_KINDS, counterRows, runRows } from "../../../web/table_kinds.js";

const COUNTERS = TABLE_KINDS.find((kind) => kind.id === "counters");

function curve(...points) {
	const value = Float64Array.from(points, ([, of]) => of);

	return { time: Float64Array.from(points, ([at]) => at), value, low: Math.min(...value), high: Math.max(...value) };
}

function trace() {
	return {
		duration: 1000,
		analysis: {},
		model: { processes: [{ name: "infer.py", pid: 7 }], labels: [], tracks: [] },
		counters: [
			{ name: "threads", unit: "", process: null, telling: false, curve: curve([0, 1], [500, 3]) },
			{ name: "memory (RSS)", unit: "bytes", process: 0, telling: true, curve: curve([0, 100], [400, 900], [800, 300]) },
		],
	};
}

test("counters of the whole run, memory first", () => {
	assert.deepEqual(runRows(trace())(COUNTERS), [
		{ name: "memory (RSS)", unit: "bytes", process: "infer.py (7)", first: 100, last: 300, least: 100, most: 900 },
		{ name: "threads", unit: "", process: "host", first: 1, last: 3, least: 1, most: 3 },
	]);
});

test("what a counter was when a range began counts", () => {
	const rows = counterRows(trace(), { from: 450, to: 700 });

	assert.deepEqual(rows[0], { name: "memory (RSS)", unit: "bytes", process: "infer.py (7)", first: 900, last: 900, least: 900, most: 900 });
	assert.deepEqual(rows[1], { name: "threads", unit: "", process: "host", first: 1, last: 3, least: 1, most: 3 });
});

test("values are shown in their units", () => {
	const [row] = runRows(trace())(COUNTERS);

	assert.deepEqual(COUNTERS.columns.slice(2).map((column) => column.text({ ...row, most: 9.5e8 })), ["100 B", "100 B", "950 MB", "300 B"]);
});
