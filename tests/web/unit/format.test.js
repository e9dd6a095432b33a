import assert from "node:assert/strict";
import test from "node:test";
import { axisMarks, bytesText, countText, middleCut, percentText, safeText, timeText, valueText } from "../../../web/format.js";
import { hashText, parseHash } from "../../../web/hash.js";
import { inkOn, labelColors, luminance, nameHash, parseColor, shadesOf } from "../../../web/colors.js";
import { namedCounters, sumOfCurves } from "../../../web/counters.js";

test("names cannot act on the text around them", () => {
	assert.equal(safeText("a\u202eb\u2066c\u200f"), "a⟨U+202E⟩b⟨U+2066⟩c⟨U+200F⟩");
	assert.equal(safeText("\x1b[31m\x00\n\t\x7f\x9b"), "␛[31m␀␊␉⟨U+007F⟩⟨U+009B⟩");
	assert.equal(safeText("🙂 ü 日本"), "🙂 ü 日本");
	assert.equal(safeText("\ud83d x \ude42"), "\ufffd x \ufffd");
	assert.equal(safeText("<b>&amp;"), "<b>&amp;");
});

test("cut in the middle", () => {
	assert.equal(middleCut("abcdefghij", 10), "abcdefghij");
	assert.equal(middleCut("abcdefghij", 7), "abc…hij");
	assert.equal(middleCut("abcdefghij", 6), "abc…ij");
	assert.deepEqual([2, 1, 0].map((most) => middleCut("abc", most)), ["a…", "…", ""]);
});

test("times, counts, bytes, shares", () => {
	assert.deepEqual([0, 999, 1000, 12345, 999990, 1234567, 2.5e9].map(timeText),
		["0 ns", "999 ns", "1.00 µs", "12.35 µs", "999.99 µs", "1.23 ms", "2.500 s"]);
	assert.deepEqual([0, 999, 1000, 1234567].map(countText), ["0", "999", "1,000", "1,234,567"]);
	assert.deepEqual([5, 1500, 262e6, 3e12].map(bytesText), ["5 B", "1.5 kB", "262 MB", "3.0 TB"]);
	assert.equal(percentText(0.1234), "12.3 %");
	assert.deepEqual([valueText(1.5, "cores"), valueText(2e6, "bytes/s"), valueText(40, "/s"), valueText(7, "")],
		["1.50 cores", "2.0 MB/s", "40/s", "7"]);
});

test("one unit on an axis, at round times", () => {
	const marks = axisMarks(9.5e6, 10, 2.8e9);
	assert.equal(marks.step, 1e6);
	assert.deepEqual([0, 23e6, 1.5e9].map(marks.text), ["0.000 s", "0.023 s", "1.500 s"]);
	const fine = axisMarks(900, 10, 2.8e9);
	assert.equal(fine.text(1000), "1.0 µs");
	assert.equal(axisMarks(7.2e12, 8, 7.2e12).text(3.6e12), "3600 s");
	assert.equal(axisMarks(20, 100, 20).step, 1);
});

test("what is looked at, in the address and back", () => {
	const place = {
		view: { from: 12.5, to: 7.2e12 }, range: { from: 1, to: 2 }, selection: 7, finding: 0, query: "a&b=c #<é", theme: "dark",
	};
	assert.deepEqual(parseHash(hashText(place)), place);
	assert.equal(parseHash("#timeline"), null);
	assert.equal(parseHash(""), null);
	assert.deepEqual(parseHash("#t=9:3&s=-1&f=x&theme=pink&r=1:"),
		{ view: null, range: null, selection: -1, finding: -1, query: "", theme: "" });
});

test("colours: a hue for a category, a shade for a name, ink that can be read", () => {
	const colors = labelColors([["kernel", "a"], ["kernel", "a"], ["nonsense", "b"], ["scope", "a"]]);
	assert.equal(colors[0], colors[1]);
	assert.equal(Math.floor(colors[0] / 5), 6);
	assert.equal(Math.floor(colors[2] / 5), 12);
	assert.equal(colors[0] % 5, colors[3] % 5);
	assert.equal(nameHash("a") % 5, colors[0] % 5);
	for (const hex of ["#4299de", "#d57f0b", "#592ea6", "#1d5659", "#c0342d", "#a3b9ee", "#52da93"]) {
		for (const shade of shadesOf(parseColor(hex))) {
			const light = luminance(shade);
			const contrast = inkOn(shade) === "#000000" ? (light + 0.05) / 0.05 : 1.05 / (light + 0.05);
			assert.ok(contrast >= 4.5, `${hex}: ${contrast}`);
		}
	}
});

test("counters by name, and cores in use as one", () => {
	const curve = (time, value) => ({
		time: Float64Array.from(time), value: Float64Array.from(value), low: Math.min(...value), high: Math.max(...value),
	});
	const sum = sumOfCurves(curve([0, 10], [1, 3]), curve([5, 10], [10, 0]));
	assert.deepEqual([[...sum.time], [...sum.value], sum.low, sum.high], [[0, 5, 10], [1, 11, 3], 1, 11]);
	const model = (name) => ({ name, unit: "ns", process: 0, count: 2, quantum_ns: 1, scale: 1, rate: true });
	const names = ["syscr", "user_ns", "system_ns", "rss_bytes", "mine\u202e"];
	const named = namedCounters(names.map(model), names.map(() => curve([0, 1], [0, 5e8])));
	assert.deepEqual(named.map((one) => one.name),
		["cores in use", "memory (RSS)", "read calls", "processor time, user", "processor time, system", "mine⟨U+202E⟩"]);
	assert.deepEqual(named.map((one) => one.telling), [true, true, false, false, false, false]);
	assert.equal(named[0].curve.high, 1);
});
