import assert from "node:assert/strict";
import test from "node:test";
import { inOrder, remember } from "../../../web/live/alert_list.js";
import { clockText, coresText, flowText, rateText, secondsText, shareText } from "../../../web/live/live_text.js";
import { doingText, stepsText } from "../../../web/live/heading.js";
import { whereText, wholeText } from "../../../web/live/lists.js";
import { spansOf } from "../../../web/live/tiles.js";
import { columnsOf, spanOf } from "../../../web/live/plot.js";
import { POINTS, Ring, SERIES } from "../../../web/live/ring.js";
import { figure, nextSnapshot, words } from "../../../web/live/snapshot.js";
import { pictureOf } from "../../../web/live/step.js";

const at = (run_s, share = run_s) => nextSnapshot(JSON.stringify({ run_s, cpu: { share } }), null);

test("a change leaves alone what it does not name", () => {
	const whole = nextSnapshot('{"sequence": 1, "cpu": {"share": 1}, "threads": [{"tid": 7}, null, 3]}', null);
	assert.deepEqual(whole.threads, [{ tid: 7 }]);
	assert.deepEqual([whole.gpus, whole.memory], [[], {}]);
	const next = nextSnapshot('{"sequence": 2, "cpu": {"share": 2}}', whole);
	assert.equal(next.threads, whole.threads, "the same list, so that nothing is drawn again");
	assert.deepEqual([next.sequence, next.cpu.share, whole.cpu.share], [2, 2, 1]);
	for (const text of ["", "{", "[]", "null", "3", '"x"']) assert.equal(nextSnapshot(text, whole), null);
	const odd = nextSnapshot('{"threads": {"a": 1}, "cpu": [1], "__proto__": {"polluted": 1}}', whole);
	assert.deepEqual([odd.threads, odd.cpu, {}.polluted], [[], {}, undefined]);
	assert.deepEqual([figure(null), figure("1"), figure(2), words(null), words(3), words("x")], [NaN, NaN, 2, "", "", "x"]);
});

test("the ring has the newest points, and those of one run", () => {
	const ring = new Ring(4);
	for (const time of [1, 2, 3, 3, 4, 5]) ring.add(at(time));
	assert.deepEqual([ring.count, ring.newest()], [4, 5]);
	assert.deepEqual([0, 1, 2, 3].map((i) => ring.at("cpu", i)), [2, 3, 4, 5]);
	ring.add(at(NaN));
	assert.equal(ring.count, 4);
	ring.add(at(0.5));
	assert.deepEqual([ring.count, ring.newest()], [1, 0.5], "time does not go back");
	assert.equal(POINTS, 3600);
	assert.equal(SERIES[0], "run_s");
});

test("history fills what was missed", () => {
	const ring = new Ring(10);
	ring.merge({ run_s: [1, 2, 3], cpu: [10, null, 30] });
	assert.deepEqual([0, 1, 2].map((i) => ring.at("cpu", i)), [10, NaN, 30]);
	ring.add(at(4));
	ring.merge({ run_s: [1, 2, 3, 4, 5, 6], cpu: [1, 2, 3, 4, 50, 60] });
	assert.deepEqual([0, 3, 4, 5].map((i) => ring.at("cpu", i)), [10, 4, 50, 60]);
	ring.merge({ run_s: [0.5, 1], cpu: [7, 8] });
	assert.deepEqual([ring.count, ring.at("cpu", 0)], [2, 7], "another run");
	ring.merge({});
	assert.equal(ring.count, 2);
});

test("columns of a plot have the least and the largest of their time", () => {
	const ring = new Ring(1000);
	for (let time = 1; time <= 400; time++) ring.add(at(time, time % 10));
	assert.equal(spanOf(ring), 300);
	const { low, high, most } = columnsOf(ring, "cpu", 30, 300);
	assert.equal(most, 9);
	assert.deepEqual([low[10], high[10]], [0, 9]);
	const young = new Ring(10);
	young.add(at(1, 5));
	assert.equal(spanOf(young), 30);
	const one = columnsOf(young, "cpu", 10, 30);
	assert.deepEqual([one.high[9], one.high[0]], [5, NaN]);
});

test("alerts are there once, 200 at most, and those that last stay", () => {
	const seen = new Map();
	remember(seen, [{ number: 1, active: true, text: "a" }]);
	for (let i = 2; i <= 300; i++) remember(seen, [{ number: i, active: false }]);
	assert.equal(seen.size, 200);
	assert.ok(seen.has(1) && seen.has(300) && !seen.has(2));
	remember(seen, [{ number: 1, active: false, text: "a" }]);
	assert.deepEqual(inOrder(seen).slice(0, 2).map((alert) => alert.number), [300, 299]);
});

test("a step's picture is as long as its last slice", () => {
	const picture = pictureOf([
		{ begin_s: 0, duration_s: 2, depth: 0 }, { begin_s: 1, duration_s: 1.5, depth: 40 }, { begin_s: null, duration_s: 1, depth: 1 },
	]);
	assert.deepEqual([picture.slices.length, picture.length, picture.rows], [2, 2.5, 14]);
});

test("figures as text", () => {
	assert.deepEqual([0, 59.9, 61, 3661, 360000].map(clockText), ["0:00", "0:59", "1:01", "1:01:01", "100:00:00"]);
	assert.deepEqual([0.0123, 12, 100, NaN].map(secondsText), ["12.30 ms", "12.000 s", "1:40", "–"]);
	assert.deepEqual([0.004, 0.5, 1.93, NaN].map(shareText), ["0.4 %", "50 %", "193 %", "–"]);
	assert.deepEqual([rateText(6.6349), rateText(61000), flowText(2e6), coresText(1.926)], ["6.63/s", "61,000/s", "2.0 MB/s", "1.93"]);
});

test("rows of tiles are full and even", () => {
	const rowsOf = (count, width) => {
		const sizes = [];
		let sum = 0, size = 0;
		for (const span of spansOf(count, width)) {
			sum += span;
			size++;
			if (sum === 60) [sum, size] = [0, (sizes.push(size), 0)];
		}
		assert.equal(sum, 0, `a hole: ${count} in ${width}`);
		return sizes;
	};
	assert.deepEqual(rowsOf(5, 1200), [5]);
	assert.deepEqual(rowsOf(7, 1200), [4, 3]);
	assert.deepEqual(rowsOf(8, 1200), [4, 4]);
	assert.deepEqual(rowsOf(6, 700), [3, 3]);
	assert.deepEqual(rowsOf(7, 380), [2, 2, 2, 1]);
	assert.deepEqual(spansOf(0, 1200), []);
});

test("what the program does is a sentence, and says of what its shares are", () => {
	const snapshot = (text) => nextSnapshot(JSON.stringify({ state: "running", doing: { text } }), null);
	assert.equal(doingText(snapshot("waiting for input 63 % of the last 10 s")), "Waiting for input 63 % of the last 10 s.");
	assert.equal(doingText(nextSnapshot("{}", null)), "");
	assert.equal(doingText(snapshot("in \u001b[31m\u202e")).includes("\u001b"), false);
	assert.equal(stepsText({ known: true, name: "aten::rand", found: "the repetition of operators" }),
		"Steps begin with aten::rand: found by the repetition of operators.");
	assert.equal(stepsText({ known: false, trouble: "cannot tell the steps apart: x" }), "Cannot tell the steps apart: x.");
	assert.equal(stepsText({ known: false, trouble: null }), "");
	assert.equal(wholeText({ thread: "the main thread", window_s: 9.7 }),
		"Of the time of the main thread, last 10 s; each moment is in one line.");
	const doing = { pid: 1, tid: 2, most: "aten::mm" };
	assert.equal(whereText({ pid: 1, tid: 2, scope: null, op: null, what: "x" }, doing), "mostly aten::mm › x");
	assert.equal(whereText({ pid: 1, tid: 2, scope: "s", op: "aten::add" }, doing), "s › aten::add");
	assert.equal(whereText({ pid: 1, tid: 3 }, doing), "");
});
