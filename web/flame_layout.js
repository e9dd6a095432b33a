/*
 * flame_layout.js - places of the nodes of a call tree: children side by side, the largest first.
 */

/**
 * @typedef {object} FlameLayout nodes in preorder; the first is all of them together
 * @property {number} count
 * @property {Int32Array} node of the tree, -1 for the first
 * @property {Int32Array} past first place that is no longer inside
 * @property {Int32Array} above place of the parent
 * @property {Uint16Array} depth
 * @property {Float64Array} start
 * @property {Float64Array} total
 * @property {number} depths
 */

const DEPTH_MOST = 65535;

/**
 * Totals of nodes with those inside; 0 for what is hidden.
 * @param {import('./decode.js').FlameNodes} flame parents before children
 * @param {Float64Array} self
 * @param {Set<number>} hidden labels
 * @returns {Float64Array}
 */
function nodeTotals(flame, self, hidden) {
	const total = new Float64Array(flame.count);
	const gone = new Uint8Array(flame.count);

	for (let i = 0; i < flame.count; i++) {
		const above = flame.parent[i];

		gone[i] = (above >= 0 && gone[above]) || (flame.track[i] < 0 && hidden.has(flame.label[i])) ? 1 : 0;
		total[i] = gone[i] ? 0 : Math.max(0, self[i]);
	}
	for (let i = flame.count - 1; i >= 0; i--) {
		if (flame.parent[i] >= 0)
			total[flame.parent[i]] += total[i];
	}
	return total;
}

/**
 * Children of each node, the largest first; those of the roots' parent are at place `count`.
 * @param {import('./decode.js').FlameNodes} flame
 * @param {Float64Array} total
 * @returns {{first: Int32Array, children: Int32Array}}
 */
function sortedChildren(flame, total) {
	const first = new Int32Array(flame.count + 2);
	const children = new Int32Array(flame.count);
	/** @param {number} node */
	const above = (node) => (flame.parent[node] < 0 ? flame.count : flame.parent[node]);

	for (let i = 0; i < flame.count; i++)
		first[above(i) + 1]++;
	for (let i = 0; i <= flame.count; i++)
		first[i + 1] += first[i];
	const next = first.slice();

	for (let i = 0; i < flame.count; i++)
		children[next[above(i)]++] = i;
	for (let i = 0; i <= flame.count; i++) {
		if (first[i + 1] - first[i] > 1)
			children.subarray(first[i], first[i + 1]).sort((a, b) => total[b] - total[a] || a - b);
	}
	return { first, children };
}

/** @param {number} count @returns {FlameLayout} */
function emptyLayout(count) {
	return {
		count: 0, node: new Int32Array(count), past: new Int32Array(count), above: new Int32Array(count), depth: new Uint16Array(count),
		start: new Float64Array(count), total: new Float64Array(count), depths: 1,
	};
}

/**
 * @param {import('./decode.js').FlameNodes} flame
 * @param {number} column of self times
 * @param {Set<number>} hidden
 * @returns {FlameLayout}
 */
export function layOutFlame(flame, column, hidden) {
	const total = nodeTotals(flame, flame.self[column], hidden);
	const { first, children } = sortedChildren(flame, total);
	const layout = emptyLayout(flame.count + 1);
	const cursor = new Float64Array(flame.count + 1); /* by place: where the next child begins */
	/** @type {number[]} node and place of its parent, in turn */
	const stack = [flame.count, -1];

	while (stack.length) {
		const above = /** @type {number} */ (stack.pop());
		const node = /** @type {number} */ (stack.pop());
		const place = layout.count++;

		layout.node[place] = node === flame.count ? -1 : node;
		layout.above[place] = above;
		layout.total[place] = node === flame.count ? 0 : total[node];
		if (above >= 0) {
			layout.depth[place] = Math.min(DEPTH_MOST, layout.depth[above] + 1);
			layout.start[place] = cursor[above];
			cursor[above] += total[node];
		}
		cursor[place] = layout.start[place];
		layout.depths = Math.max(layout.depths, layout.depth[place] + 1);
		for (let i = first[node + 1] - 1; i >= first[node]; i--) {
			if (total[children[i]] > 0)
				stack.push(children[i], place);
		}
	}
	layout.total[0] = cursor[0];
	closePlaces(layout);
	return layout;
}

/** @param {FlameLayout} layout */
function closePlaces(layout) {
	for (let i = 0; i < layout.count; i++)
		layout.past[i] = i + 1;
	for (let i = layout.count - 1; i > 0; i--)
		layout.past[layout.above[i]] = Math.max(layout.past[layout.above[i]], layout.past[i]);
}

/**
 * The place at a depth where `at` is, or -1.
 * @param {FlameLayout} layout
 * @param {number} root to begin from
 * @param {number} depth
 * @param {number} at in the unit of totals
 * @returns {number}
 */
export function flameAt(layout, root, depth, at) {
	let place = root;

	while (layout.depth[place] < depth) {
		const past = layout.past[place];
		let child = place + 1;

		while (child < past && layout.start[child] + layout.total[child] <= at)
			child = layout.past[child];
		if (child >= past || layout.start[child] > at)
			return -1;
		place = child;
	}
	return place;
}
