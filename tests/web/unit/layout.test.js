import assert from "node:assert/strict";
import test from "node:test";
import { LayoutState, itemAt, layOut, rowAt, rowHeight, rowTop } from "../../../web/layout.js";
import { worldOf } from "./world.js";

const LABELS = [["operator", "op"]];
const deep = (rows, begin, end) => Array.from({ length: rows }, (_, row) => ({ begin: begin + row, end: end - row, row, label: 0 }));
const WORLD = worldOf([deep(30, 0, 10000), deep(2, 5000, 6000), deep(1, 0, 100)], ["thread", "thread", "thread"], LABELS);
const lay = (view, width = 1000, state = new LayoutState(), keep = false) => layOut(WORLD, state, view, width, keep);

test("tracks with nothing in view are gathered under one line", () => {
	const { items, quiet } = lay({ from: 200, to: 4000 });
	assert.deepEqual(items.map((item) => [item.kind, item.index]), [["track", 0], ["quiet", 0]]);
	assert.equal(quiet, 2);
	assert.equal(items[1].text, "2 quiet tracks");
});

test("outer rows that one slice fills are squeezed, and only so many are shown", () => {
	const [track] = lay({ from: 10, to: 9000 }).items;
	assert.equal(track.squeezed, 11);
	assert.equal(track.rowsInView, 30);
	assert.equal(track.rows, 27);
	assert.equal(rowHeight(track, 10), 4);
	assert.equal(rowHeight(track, 11), 16);
	const [whole] = lay({ from: 0, to: 10000 }).items;
	assert.equal(whole.squeezed, 0);
	assert.equal(whole.rows, 16);
});

test("all rows of a track on demand, one when it is folded", () => {
	const state = new LayoutState();
	state.folds.set(0, "all");
	assert.equal(lay({ from: 0, to: 10000 }, 1000, state).items[0].rows, 30);
	state.folds.set(0, "folded");
	assert.equal(lay({ from: 0, to: 10000 }, 1000, state).items[0].rows, 1);
});

test("nothing gets smaller while moving along", () => {
	const state = new LayoutState();
	lay({ from: 0, to: 10000 }, 1000, state);
	const kept = lay({ from: 5200, to: 5300 }, 1000, state, true);
	assert.deepEqual(kept.items.map((item) => [item.kind, item.rows]), [["track", 16], ["track", 2], ["track", 1]]);
});

test("what is where: each row by its place, and no two at one", () => {
	for (const width of [1000, 400]) {
		const layout = lay({ from: 10, to: 9000 }, width);
		assert.equal(layout.gutter > 0, width === 1000);
		let top = 0;
		for (const item of layout.items) {
			assert.equal(item.top, top);
			top += item.height;
			assert.equal(itemAt(layout, item.top), item);
			assert.equal(itemAt(layout, item.top + item.height - 1), item);
			for (let row = 0; row < item.rows; row++)
				assert.equal(rowAt(item, rowTop(item, row) + rowHeight(item, row) / 2), row);
			assert.equal(rowAt(item, rowTop(item, item.rows) + 1), -1);
		}
		assert.equal(layout.height, top);
		assert.equal(itemAt(layout, top), null);
	}
});
