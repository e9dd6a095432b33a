import assert from "node:assert/strict";
import test from "node:test";
import { hitRank, longestOf, matchLabels, nextHit, sumHits } from "../../../web/hits.js";
import { slicesInView } from "../../../web/details.js";
import { nestedTrack, randomFrom, streamTrack } from "./columns.js";
import { worldOf } from "./world.js";

const LABELS = [["operator", "aten::Mul"], ["operator", "aten::add"], ["kernel", "mul_kernel"],
	["python", "__proto__"], ["python", ""]];
const TRACKS = [nestedTrack(randomFrom(31), 300, 5), streamTrack(randomFrom(32), 200, 5)];
const WORLD = worldOf(TRACKS, ["thread", "stream"], LABELS);
const { slices } = WORLD;

test("labels by a part of their text, in any case", () => {
	assert.deepEqual([...matchLabels(LABELS, "MUL")], [1, 0, 1, 0, 0, 0]);
	assert.deepEqual([...matchLabels(LABELS, "__proto__")], [0, 0, 0, 1, 0, 0]);
});

test("count of hits, and their time with nothing counted twice", () => {
	const flags = matchLabels(LABELS, "mul");
	const sum = sumHits(WORLD, flags);
	const hits = TRACKS.map((track) => track.filter((one) => flags[one.label]));
	assert.equal(sum.count, hits.flat().length);
	assert.equal(sum.tracks, 2);
	let covered = 0;
	for (let time = 0; time < WORLD.duration; time++)
		covered += hits[0].some((one) => one.begin <= time && one.end > time) ? 1 : 0;
	assert.equal(sum.total, covered + hits[1].reduce((all, one) => all + one.end - one.begin, 0));
});

test("from hit to hit through all of them, and back", () => {
	const flags = matchLabels(LABELS, "add");
	const order = Array.from({ length: slices.count }, (_, i) => i).filter((i) => flags[slices.label[i]])
		.sort((a, b) => slices.start[a] - slices.start[b] || a - b);
	let at = nextHit(slices, flags, -1, 0, 1);
	for (const expected of order) {
		assert.equal(at, expected);
		assert.equal(hitRank(slices, flags, at), order.indexOf(expected));
		at = nextHit(slices, flags, at, 0, 1);
	}
	assert.equal(at, order[0], "begins again");
	at = nextHit(slices, flags, at, 0, -1);
	for (const expected of [...order].reverse()) {
		assert.equal(at, expected);
		at = nextHit(slices, flags, at, 0, -1);
	}
	assert.equal(nextHit(slices, new Uint8Array(6), -1, 0, 1), -1);
});

test("the longest of a label", () => {
	const lengths = Array.from({ length: slices.count }, (_, i) => (slices.label[i] === 2 ? slices.end[i] - slices.start[i] : -1));
	const best = longestOf(slices, 2, null);
	assert.equal(lengths[best], Math.max(...lengths));
	assert.equal(longestOf(slices, 99, null), -1);
});

test("what is in view, and the longest of it when that is too much", () => {
	const view = { from: 500, to: 900 };
	const { rows, all } = slicesInView(WORLD, view, 1e6);
	const there = Array.from({ length: slices.count }, (_, i) => i).filter((i) => slices.start[i] < view.to &&
		(slices.end[i] > view.from || (slices.start[i] === slices.end[i] && slices.end[i] === view.from)));
	assert.deepEqual(rows.map((row) => row.slice), there);
	assert.equal(all, there.length);
	const few = slicesInView(WORLD, view, 10);
	assert.ok(few.rows.length <= 10 && few.all === all);
	const least = Math.min(...few.rows.map(({ slice }) => slices.end[slice] - slices.start[slice]));
	const chosen = new Set(few.rows.map(({ slice }) => slice));
	assert.ok(there.filter((i) => !chosen.has(i)).every((i) => slices.end[i] - slices.start[i] <= least));
});
