import assert from "node:assert/strict";
import test from "node:test";
import { flameOfRange, invertFlame, joinFrames, labelTimes, numberedLabels, trackBusy, walkTrack } from "../../../web/aggregate.js";
import { emptyFlame } from "../../../web/decode.js";
import { nestedTrack, randomFrom, streamTrack } from "./columns.js";
import { worldOf } from "./world.js";

const LABELS = Array.from({ length: 6 }, (_, i) => ["operator", `op ${i}`]);
const TRACKS = [nestedTrack(randomFrom(21), 400, 6), nestedTrack(randomFrom(22), 200, 6), streamTrack(randomFrom(23), 300, 6)];
const WORLD = worldOf(TRACKS, ["thread", "thread", "stream"], LABELS);
const RANGES = [[0, WORLD.duration], [1000, 1900], [333, 334], [WORLD.duration, WORLD.duration + 5]]
	.map(([from, to]) => ({ from, to }));
const cut = (slice, range) => Math.max(0, Math.min(slice.end, range.to) - Math.max(slice.begin, range.from));
const within = (slice, range) => slice.begin < range.to &&
	(slice.end > range.from || (slice.begin === slice.end && slice.end === range.from));

// by looking at each moment: the labels that are open
function slowly(range) {
	const total = new Array(6).fill(0), self = new Array(6).fill(0), count = new Array(6).fill(0);
	TRACKS.forEach((track, t) => {
		track.filter((one) => within(one, range)).forEach((one) => { count[one.label]++; });
		if (t === 2) {
			track.forEach((one) => { total[one.label] += cut(one, range); self[one.label] += cut(one, range); });
			return;
		}
		for (let time = range.from; time < range.to; time++) {
			const open = track.filter((one) => one.begin <= time && one.end > time);
			new Set(open.map((one) => one.label)).forEach((label) => { total[label]++; });
			if (open.length)
				self[open.reduce((deep, one) => (one.row > deep.row ? one : deep)).label]++;
		}
	});
	return { total, self, count };
}

for (const range of RANGES) {
	test(`sums by label from ${range.from} to ${range.to}`, () => {
		const times = labelTimes(WORLD, range);
		const truth = slowly(range);
		assert.deepEqual([...times.total].slice(0, 6), truth.total);
		assert.deepEqual([...times.self].slice(0, 6), truth.self);
		assert.deepEqual([...times.count].slice(0, 6), truth.count);
	});

	test(`the call tree from ${range.from} to ${range.to} has all the time of the threads`, () => {
		const flame = flameOfRange(WORLD, range);
		const all = flame.self[0].reduce((sum, value) => sum + value, 0);
		assert.equal(all, trackBusy(WORLD, 0, range) + trackBusy(WORLD, 1, range));
		assert.ok(flame.self[0].every((value) => value >= 0));
		flame.parent.forEach((above, node) => assert.ok(above < node, "parents come first"));
		const bySelf = new Array(6).fill(0);
		flame.label.forEach((label, node) => { if (flame.track[node] < 0) bySelf[label] += flame.self[0][node]; });
		const streams = TRACKS[2].reduce((sums, one) => { sums[one.label] += cut(one, range); return sums; }, new Array(6).fill(0));
		assert.deepEqual(bySelf.map((value, label) => value + streams[label]), slowly(range).self);
	});
}

test("a walk goes from the outside in", () => {
	const seen = [];
	walkTrack(WORLD.slices, 0, RANGES[1], (slice, depth) => seen.push([WORLD.slices.start[slice], depth]));
	const expected = TRACKS[0].filter((one) => within(one, RANGES[1]));
	assert.deepEqual(seen.map(([start]) => start), expected.map((one) => one.begin));
	assert.deepEqual(seen.map(([, depth]) => depth), expected.map((one) => one.row));
});

test("rows that are left out do not stop a walk", () => {
	const track = [[0, 100, 0, 0], [10, 20, 3, 1], [30, 40, 2, 2]].map(([begin, end, row, label]) => ({ begin, end, row, label }));
	const gap = worldOf([track], ["thread"], LABELS);
	const seen = [];
	walkTrack(gap.slices, 0, { from: 0, to: 100 }, (slice, depth) => seen.push([gap.slices.label[slice], depth]));
	assert.deepEqual(seen, [[0, 0], [1, 1], [2, 1]]);
	assert.equal(labelTimes(gap, { from: 0, to: 100 }).self[0], 80);
});

test("time of devices goes to what launched it", () => {
	const world = worldOf([[{ begin: 0, end: 50, row: 0, label: 0 }, { begin: 5, end: 9, row: 1, label: 1 }],
		[{ begin: 20, end: 45, row: 0, label: 2, link: 1 }, { begin: 60, end: 70, row: 0, label: 2 }]], ["thread", "stream"], LABELS);
	const flame = flameOfRange(world, { from: 0, to: 40 });
	const node = [...flame.label.keys()].find((i) => flame.track[i] < 0 && flame.label[i] === 1);
	assert.equal(flame.self[2][node], 20);
	assert.equal(flame.self[2].reduce((sum, value) => sum + value, 0), 20);
});

test("inverted: what took the time first, callers below, the sum the same", () => {
	const flame = flameOfRange(WORLD, RANGES[0]);
	const inverted = invertFlame(flame, 0, 6);
	const sum = (tree) => tree.self[0].reduce((all, value) => all + value, 0);
	assert.equal(sum(inverted), sum(flame));
	const roots = [...inverted.parent.keys()].filter((node) => inverted.parent[node] < 0);
	assert.equal(new Set(roots.map((node) => inverted.label[node])).size, roots.length);
});

test("labels with a number at the end are one kind", () => {
	const labels = [["step", "Step#1"], ["step", "Step#22"], ["operator", "Step#3"], ["step", "other"],
		["step", "x\n#7"], ["step", "x\n#8"]];
	assert.deepEqual([...numberedLabels(labels)], [0, 0, 2, 3, 4, 4, 6]);
	assert.equal(numberedLabels([["step", "a#1"], ["step", "b#1"]]), null);
	const flame = emptyFlame(5);
	flame.parent.set([-1, 0, 1, 0, 3]);
	flame.track.set([0, -1, -1, -1, -1]);
	flame.label.set([0, 0, 3, 1, 3]);
	flame.self[0].set([1, 2, 3, 4, 5]);
	const joined = joinFrames(flame, numberedLabels(labels));
	assert.deepEqual([...joined.parent], [-1, 0, 1]);
	assert.deepEqual([...joined.label], [0, 0, 3]);
	assert.deepEqual([...joined.self[0]], [1, 6, 8]);
});
