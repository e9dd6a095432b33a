import assert from "node:assert/strict";
import test from "node:test";
import { emptyFlame } from "../../../web/decode.js";
import { flameAt, layOutFlame } from "../../../web/flame_layout.js";

function tree(nodes) {
	const flame = emptyFlame(nodes.length);
	nodes.forEach(([parent, label, self], i) => {
		flame.parent[i] = parent;
		flame.label[i] = label;
		flame.self[0][i] = self;
	});
	return flame;
}

const SMALL = tree([[-1, 0, 5], [0, 1, 10], [0, 2, 30], [2, 3, 7], [-1, 4, 100]]);

test("children side by side, the largest first, inside of their parent", () => {
	const layout = layOutFlame(SMALL, 0, new Set());
	const places = Array.from({ length: layout.count }, (_, i) =>
		[layout.node[i], layout.depth[i], layout.start[i], layout.total[i], layout.past[i]]);
	assert.deepEqual(places, [[-1, 0, 0, 152, 6], [4, 1, 0, 100, 2], [0, 1, 100, 52, 6], [2, 2, 100, 37, 5], [3, 3, 100, 7, 5],
		[1, 2, 137, 10, 6]]);
	assert.equal(layout.depths, 4);
});

test("a place is found by depth and time", () => {
	const layout = layOutFlame(SMALL, 0, new Set());
	assert.equal(layout.node[flameAt(layout, 0, 1, 99)], 4);
	assert.equal(layout.node[flameAt(layout, 0, 2, 136)], 2);
	assert.equal(layout.node[flameAt(layout, 0, 2, 140)], 1);
	assert.equal(flameAt(layout, 0, 2, 150), -1);
	assert.equal(flameAt(layout, 0, 3, 120), -1);
});

test("hidden frames take what is inside them along", () => {
	const layout = layOutFlame(SMALL, 0, new Set([2]));
	assert.equal(layout.total[0], 115);
	assert.ok(!layout.node.subarray(0, layout.count).includes(3));
});

test("nothing, and 60,000 deep", () => {
	const none = layOutFlame(emptyFlame(0), 0, new Set());
	assert.deepEqual([none.count, none.total[0]], [1, 0]);
	const deep = layOutFlame(tree(Array.from({ length: 60000 }, (_, i) => [i - 1, 0, 1])), 0, new Set());
	assert.equal(deep.depths, 60001);
	assert.equal(deep.total[1], 60000);
	assert.equal(deep.past[1], 60001);
});
