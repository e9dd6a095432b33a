import assert from "node:assert/strict";
import test from "node:test";
import { decodeRows, decodeSlices } from "../../../web/decode.js";
import { childTime, childrenOf, firstFrom, gallop, lowerBound, parentOf, rowHas, rowOf, rowTime, sliceAt,
	trackOfRow } from "../../../web/rows.js";
import { encode, nestedTrack, randomFrom, shapes } from "./columns.js";

const tracks = [nestedTrack(randomFrom(11), 300, 4), nestedTrack(randomFrom(12), 200, 4)];
const columns = encode(tracks);
const slices = decodeSlices(columns, shapes(tracks), decodeRows(columns.row, shapes(tracks)), 1);
const rowCount = slices.rowFirst.length - 1;
const last = Math.max(...slices.end);
const inRow = (row) => Array.from({ length: slices.rowFirst[row + 1] - slices.rowFirst[row] }, (_, i) => slices.rowFirst[row] + i);

test("bounds by halving and by steps that double agree with looking", () => {
	const values = [1, 3, 3, 3, 8, 9, 20];
	for (let low = 0; low <= values.length; low++) {
		for (let value = 0; value < 23; value++) {
			const found = values.findIndex((one, i) => i >= low && one >= value);
			assert.equal(lowerBound(values, low, values.length, value), found < 0 ? values.length : found);
		}
	}
	for (let value = 1; value < 23; value++)
		assert.equal(gallop(values, 0, values.length, value), lowerBound(values, 0, values.length, value));
});

test("what a row has between two times", () => {
	const random = randomFrom(5);
	for (let i = 0; i < 2000; i++) {
		const row = Math.floor(random() * rowCount);
		const from = Math.floor(random() * last);
		const to = from + 1 + Math.floor(random() * 50);
		const there = inRow(row).filter((one) => slices.start[one] < to &&
			(slices.end[one] > from || (slices.start[one] === slices.end[one] && slices.end[one] === from)));
		assert.equal(rowHas(slices, row, from, to), there.length > 0);
		if (there.length)
			assert.equal(firstFrom(slices, row, from), there[0]);
		const time = there.reduce((sum, one) => sum + Math.min(to, slices.end[one]) - Math.max(from, slices.start[one]), 0);
		assert.equal(rowTime(slices, row, from, to), time);
	}
});

test("what is at a time", () => {
	const random = randomFrom(6);
	for (let i = 0; i < 2000; i++) {
		const row = Math.floor(random() * rowCount);
		const time = Math.floor(random() * last) + 0.5;
		const found = inRow(row).find((one) => slices.start[one] <= time && slices.end[one] >= time) ?? -1;
		assert.equal(sliceAt(slices, row, time, 0), found);
	}
});

test("one of no length is found from beside it", () => {
	const empty = Array.from({ length: slices.count }, (_, i) => i).find((i) => slices.start[i] === slices.end[i]);
	const found = sliceAt(slices, rowOf(slices, empty), slices.start[empty], 0.25);
	assert.ok(slices.start[found] <= slices.start[empty] && slices.end[found] >= slices.end[empty]);
});

test("rows and tracks of slices", () => {
	let place = 0;
	tracks.forEach((track, t) => track.forEach((slice) => {
		const row = rowOf(slices, slices.order[place++]);
		assert.equal(trackOfRow(slices, row), t);
		assert.equal(row - slices.trackRow[t], slice.row);
	}));
});

test("around and inside", () => {
	const all = Array.from({ length: slices.count }, (_, i) => i);
	for (const slice of all) {
		const row = rowOf(slices, slice);
		const sameTrack = (one) => trackOfRow(slices, rowOf(slices, one)) === trackOfRow(slices, row);
		const around = all.filter((one) => rowOf(slices, one) === row - 1 && sameTrack(one) &&
			slices.start[one] <= slices.start[slice] && slices.end[one] >= slices.end[slice]);
		const above = parentOf(slices, slice);
		assert.equal(above >= 0, around.length > 0);
		if (above >= 0)
			assert.ok(around.includes(above));
		const [first, after] = childrenOf(slices, slice);
		for (let i = first; i < after; i++)
			assert.ok(slices.start[i] >= slices.start[slice] && slices.end[i] <= slices.end[slice]);
		assert.equal(childTime(slices, slice), all.slice(first, after).reduce((sum, i) => sum + slices.end[i] - slices.start[i], 0));
	}
});
