import assert from "node:assert/strict";
import test from "node:test";
import { VarintReader, decodeBuckets, decodeCounters, decodeFlame, decodeLinks, decodeRows, decodeSlices,
	decodeStates } from "../../../web/decode.js";
import { Writer, encode, nestedTrack, randomFrom, shapes, streamTrack } from "./columns.js";

function decoded(tracks, quantum = 1) {
	const columns = encode(tracks);
	const slices = decodeSlices(columns, shapes(tracks), decodeRows(columns.row, shapes(tracks)), quantum);
	slices.link = decodeLinks(columns.link, shapes(tracks), slices.order);
	return slices;
}

test("varints up to 2^53 - 1, and zeros after the end", () => {
	const values = [0, 1, 127, 128, 16383, 16384, 2 ** 31, 2 ** 32 + 5, 2 ** 53 - 1];
	const writer = new Writer();
	values.forEach((value) => writer.put(value));
	[0, -1, 1, -64, 64, -(2 ** 40), 2 ** 40].forEach((value) => writer.signed(value));
	const reader = new VarintReader(writer.done());
	assert.deepEqual(values.map(() => reader.next()), values);
	assert.deepEqual([1, 2, 3, 4, 5, 6, 7].map(() => reader.signed()), [0, -1, 1, -64, 64, -(2 ** 40), 2 ** 40]);
	assert.equal(reader.ended(), true);
	assert.equal(reader.next(), 0);
	assert.equal(reader.byte(), 0);
});

test("a varint that is cut off ends at the end", () => {
	const reader = new VarintReader(Uint8Array.of(255, 255));
	assert.equal(reader.next(), 127 + 127 * 128);
	assert.equal(reader.ended(), true);
});

for (const [what, make] of [["nested calls", nestedTrack], ["overlapping work", streamTrack]]) {
	test(`${what}: each slice comes back as it was`, () => {
		const random = randomFrom(7);
		const tracks = [make(random, 400, 9), make(random, 1, 9), [], make(random, 300, 9)];
		const count = tracks.reduce((sum, track) => sum + track.length, 0);
		tracks.flat().forEach((slice, place) => { if (place % 3 === 0) slice.link = Math.floor(random() * count); });
		const slices = decoded(tracks, 10);
		const places = tracks.flatMap((track, t) => track.map((slice) => ({ ...slice, t })));
		assert.equal(slices.count, count);
		places.forEach((slice, place) => {
			const at = slices.order[place];
			assert.equal(slices.start[at], 10 * slice.begin);
			assert.equal(slices.end[at], 10 * slice.end);
			assert.equal(slices.label[at], slice.label);
			assert.equal(slices.depth[place], slice.row);
			assert.equal(slices.link[at], slice.link === undefined ? -1 : slices.order[slice.link]);
			const row = slices.trackRow[slice.t] + slice.row;
			assert.ok(at >= slices.rowFirst[row] && at < slices.rowFirst[row + 1], "is in its row");
		});
	});
}

test("slices of a row are in order of time and sums go on from one to the next", () => {
	const slices = decoded([nestedTrack(randomFrom(3), 500, 5)]);
	for (let row = 0; row + 1 < slices.rowFirst.length; row++) {
		for (let i = slices.rowFirst[row] + 1; i < slices.rowFirst[row + 1]; i++)
			assert.ok(slices.start[i] >= slices.end[i - 1]);
	}
	for (let i = 0; i < slices.count; i++)
		assert.equal(slices.sum[i + 1] - slices.sum[i], slices.end[i] - slices.start[i]);
});

test("5,000 calls inside each other", () => {
	const track = Array.from({ length: 5000 }, (_, i) => ({ begin: i, end: 20000 - i, row: i, label: 0 }));
	const slices = decoded([track]);
	assert.equal(slices.rowFirst.length, 5001);
	assert.equal(slices.start[4999], 4999);
	assert.equal(slices.end[4999], 15001);
});

test("times beyond 32 bits", () => {
	const slices = decoded([[{ begin: 7.2e12, end: 7.2e12 + 3, row: 0, label: 1 }]]);
	assert.deepEqual([slices.start[0], slices.end[0]], [7.2e12, 7.2e12 + 3]);
});

test("no tracks, and columns that say more rows than the model", () => {
	assert.equal(decoded([]).count, 0);
	const columns = encode([[{ begin: 1, end: 2, row: 9, label: 0 }]]);
	const rows = decodeRows(columns.row, [{ rows: 2, slices: 1 }]);
	assert.deepEqual([...rows], [1]);
	assert.equal(decodeSlices(columns, [{ rows: 2, slices: 1 }], rows, 1).count, 1);
});

test("links to nowhere are none", () => {
	const columns = encode([[{ begin: 1, end: 2, row: 0, label: 0, link: 77 }]]);
	assert.deepEqual([...decodeLinks(columns.link, [{ rows: 1, slices: 1 }], Uint32Array.of(0))], [-1]);
});

test("states of two threads", () => {
	const bytes = new Writer().signed(5).put(10).put(0).signed(0).put(3).put(4).signed(100).put(1).put(14).done();
	const lanes = decodeStates(bytes, [{ track: 2, count: 2 }, { track: 0, count: 1 }], 100);
	assert.deepEqual([...lanes.get(2).start], [500, 1500]);
	assert.deepEqual([...lanes.get(2).end], [1500, 1800]);
	assert.deepEqual([...lanes.get(2).kind], [0, 4]);
	assert.deepEqual([lanes.get(0).start[0], lanes.get(0).end[0], lanes.get(0).kind[0]], [10000, 10100, 14]);
});

test("counters, scaled", () => {
	const bytes = new Writer().put(1).signed(50).put(2).signed(-80).done();
	const [curve] = decodeCounters(bytes, [{ count: 2, quantum_ns: 1000, scale: 10 }]);
	assert.deepEqual([...curve.time], [1000, 3000]);
	assert.deepEqual([...curve.value], [5, -3]);
	assert.deepEqual([curve.low, curve.high], [-3, 5]);
});

test("the call tree: parents by how far each goes back", () => {
	const nodes = [[0, 0, 4, 1, 1, 1], [0, 3, 10, 9, 8], [0, 4, 20, 0, 0], [1, 5, 30, 0, 0], [3, 0, 6, 2, 2, 2]];
	const writer = new Writer().put(nodes.length);
	nodes.flat().forEach((value) => writer.put(value));
	const flame = decodeFlame(writer.done());
	assert.deepEqual([...flame.parent], [-1, 0, 1, 1, -1]);
	assert.deepEqual([...flame.track], [4, -1, -1, -1, 6]);
	assert.deepEqual([...flame.label], [0, 2, 3, 4, 0]);
	assert.deepEqual(flame.self.map((column) => [...column]), [[1, 10, 20, 30, 2], [1, 9, 0, 0, 2], [1, 8, 0, 0, 2]]);
});

test("a call tree of nothing, and one that is cut off", () => {
	assert.equal(decodeFlame(new Uint8Array(0)).count, 0);
	assert.equal(decodeFlame(Uint8Array.of(255, 255, 255, 127)).count, 4);
});

test("buckets: those that are not empty, and tracks without rows", () => {
	const writer = new Writer();
	[0, 7, 0, 255].forEach((value) => writer.byte(value));
	writer.put(300).put(2);
	[0, 0, 0, 0].forEach((value) => writer.byte(value));
	[1, 0, 0, 0].forEach((value) => writer.byte(value));
	writer.put(5);
	const lanes = decodeBuckets(writer.done(), [{ rows: 2, slices: 0 }, { rows: 0, slices: 0 }, { rows: 1, slices: 0 }], 4);
	assert.deepEqual(lanes.map((lane) => [[...lane.at], [...lane.full], [...lane.label]]),
		[[[1, 3], [7, 255], [300, 2]], [[], [], []], [[], [], []], [[0], [1], [5]]]);
	assert.deepEqual(decodeBuckets(new Uint8Array(0), [{ rows: 1, slices: 0 }], 4), []);
});
