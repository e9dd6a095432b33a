/*
 * aggregate.js - sums over a range of time: by label, by track, by path of calls.
 */
import { firstFrom, rowTime } from './rows.js';
import { emptyFlame } from './decode.js';

/**
 * Visits the slices of a track that are in a range, the outer ones first.
 * @param {import('./decode.js').Slices} slices
 * @param {number} track
 * @param {import('./app.js').Span} range
 * @param {(slice: number, depth: number) => void} visit depth: how many slices are around it
 */
export function walkTrack(slices, track, range, visit) {
	const { start, end, order, depth } = slices;
	const past = slices.rowFirst[slices.trackRow[track + 1]];
	const rows = slices.trackRow[track + 1] - slices.trackRow[track];
	const openRow = new Int32Array(rows + 1);
	const openEnd = new Float64Array(rows + 1);
	let open = 0;

	for (let place = slices.rowFirst[slices.trackRow[track]]; place < past; place++) {
		const slice = order[place];

		if (start[slice] >= range.to)
			break;
		if (end[slice] <= range.from && !(start[slice] === end[slice] && end[slice] === range.from))
			continue;
		while (open && (openRow[open - 1] >= depth[place] || (openEnd[open - 1] <= start[slice] && openEnd[open - 1] < end[slice])))
			open--;
		visit(slice, open);
		openRow[open] = depth[place];
		openEnd[open++] = end[slice];
	}
}

/** @param {string} kind of a track @returns {boolean} whether its rows are depths of calls */
export function isNested(kind) {
	return kind !== 'stream';
}

/**
 * @typedef {object} LabelTimes by label
 * @property {Float64Array} count
 * @property {Float64Array} total ns within the range; a slice inside another of its label counts once
 * @property {Float64Array} self ns
 * @property {Float64Array} longest ns
 */

/** @param {import('./model.js').Trace} trace @param {import('./app.js').Span} range @returns {LabelTimes} */
export function labelTimes(trace, range) {
	const { slices, model } = trace;
	const size = trace.colors.length;
	const times = {
		count: new Float64Array(size), total: new Float64Array(size), self: new Float64Array(size), longest: new Float64Array(size),
	};

	model.tracks.forEach((track, i) => {
		if (isNested(track.kind))
			addNested(slices, i, range, times);
		else
			addFlat(slices, i, range, times);
	});
	return times;
}

/** @param {import('./decode.js').Slices} slices @param {number} slice @param {import('./app.js').Span} range @returns {number} */
function lengthWithin(slices, slice, range) {
	return Math.max(0, Math.min(slices.end[slice], range.to) - Math.max(slices.start[slice], range.from));
}

/**
 * @param {import('./decode.js').Slices} slices
 * @param {number} track
 * @param {import('./app.js').Span} range
 * @param {LabelTimes} times
 */
function addNested(slices, track, range, times) {
	const { label } = slices;
	const inside = new Int32Array(times.count.length); /* how many of a label are open */
	/** @type {number[]} */
	const open = [];

	walkTrack(slices, track, range, (slice, depth) => {
		const length = lengthWithin(slices, slice, range);
		const own = label[slice];

		while (open.length > depth)
			inside[label[/** @type {number} */ (open.pop())]]--;
		if (depth)
			times.self[label[open[depth - 1]]] -= length;
		times.count[own]++;
		times.self[own] += length;
		times.total[own] += inside[own] ? 0 : length;
		times.longest[own] = Math.max(times.longest[own], length);
		inside[own]++;
		open.push(slice);
	});
}

/**
 * @param {import('./decode.js').Slices} slices
 * @param {number} track
 * @param {import('./app.js').Span} range
 * @param {LabelTimes} times
 */
function addFlat(slices, track, range, times) {
	for (let row = slices.trackRow[track]; row < slices.trackRow[track + 1]; row++) {
		for (let i = firstFrom(slices, row, range.from); i < slices.rowFirst[row + 1] && slices.start[i] < range.to; i++) {
			const length = lengthWithin(slices, i, range);
			const own = slices.label[i];

			times.count[own]++;
			times.total[own] += length;
			times.self[own] += length;
			times.longest[own] = Math.max(times.longest[own], length);
		}
	}
}

/**
 * The time that a track was busy within a range.
 * @param {import('./model.js').Trace} trace
 * @param {number} track
 * @param {import('./app.js').Span} range
 * @returns {number}
 */
export function trackBusy(trace, track, range) {
	return rowTime(trace.slices, trace.slices.trackRow[track], range.from, range.to);
}

/** Grows a call tree by path. */
class TreeBuilder {
	/** @param {number} labels */
	constructor(labels) {
		this.labels = labels + 2;
		/** @type {number[]} */
		this.parent = [];
		/** @type {number[]} */
		this.label = [];
		/** @type {number[]} */
		this.track = [];
		/** @type {number[][]} */
		this.self = [[], [], []];
		/** @type {Map<number, number>} */
		this.found = new Map();
	}

	/** @param {number} parent @param {number} label @param {number} track @returns {number} */
	node(parent, label, track) {
		const key = (parent + 1) * this.labels + label + 1;
		const found = this.found.get(key);

		if (found !== undefined && track < 0)
			return found;
		const node = this.parent.length;

		if (track < 0)
			this.found.set(key, node);
		this.parent.push(parent);
		this.label.push(Math.max(0, label));
		this.track.push(track);
		this.self.forEach((column) => column.push(0));
		return node;
	}

	/** @returns {import('./decode.js').FlameNodes} */
	nodes() {
		const flame = emptyFlame(this.parent.length);

		flame.parent.set(this.parent);
		flame.label.set(this.label);
		flame.track.set(this.track);
		this.self.forEach((column, i) => flame.self[i].set(column));
		return flame;
	}
}

/**
 * The call tree of a range: wall time, and the time of the work on devices that it launched.
 * @param {import('./model.js').Trace} trace
 * @param {import('./app.js').Span} range
 * @returns {import('./decode.js').FlameNodes}
 */
export function flameOfRange(trace, range) {
	const { slices, model } = trace;
	const builder = new TreeBuilder(model.labels.length);
	const nodeOf = new Int32Array(slices.link ? slices.count : 0).fill(-1);
	const [wall, , device] = builder.self;

	model.tracks.forEach((track, i) => {
		if (!isNested(track.kind))
			return;
		/** @type {number[]} */
		const open = [];
		let root = -1;

		walkTrack(slices, i, range, (slice, depth) => {
			const length = lengthWithin(slices, slice, range);

			if (root < 0)
				root = builder.node(-1, -1, i);
			const above = depth ? open[depth - 1] : root;
			const node = builder.node(above, slices.label[slice], -1);

			open[depth] = node;
			wall[node] += length;
			if (depth)
				wall[above] -= length;
			if (nodeOf.length)
				nodeOf[slice] = node;
		});
	});
	addDeviceTime(slices, range, nodeOf, device);
	const flame = builder.nodes();

	flame.self[1].set(flame.self[0]);
	return flame;
}

/**
 * @param {import('./decode.js').Slices} slices
 * @param {import('./app.js').Span} range
 * @param {Int32Array} nodeOf
 * @param {number[]} device
 */
function addDeviceTime(slices, range, nodeOf, device) {
	const { link } = slices;

	if (!link)
		return;
	for (let i = 0; i < link.length; i++) {
		const node = link[i] >= 0 ? nodeOf[link[i]] : -1;

		if (node >= 0)
			device[node] += lengthWithin(slices, i, range);
	}
}

const CALLERS_MOST = 64;
const INVERTED_LEAST = 1 / 20000; /* of all time; less is not worth its callers */

/**
 * The tree from the other end: what took the time first, who called it below.
 * @param {import('./decode.js').FlameNodes} flame
 * @param {number} column of self times
 * @param {number} labels
 * @returns {import('./decode.js').FlameNodes}
 */
export function invertFlame(flame, column, labels) {
	const builder = new TreeBuilder(labels);
	const self = flame.self[column];
	const least = self.reduce((sum, value) => sum + value, 0) * INVERTED_LEAST;

	for (let i = 0; i < flame.count; i++) {
		if (self[i] <= 0 || flame.track[i] >= 0)
			continue;
		if (self[i] < least) {
			builder.self[column][builder.node(-1, labels, -1)] += self[i];
			continue;
		}
		let inverted = -1;

		for (let node = i, steps = 0; node >= 0 && flame.track[node] < 0 && steps < CALLERS_MOST; node = flame.parent[node], steps++)
			inverted = builder.node(inverted, flame.label[node], -1);
		builder.self[column][inverted] += self[i];
	}
	return builder.nodes();
}

/**
 * Labels that differ by a number at their end only ("ProfilerStep#8"), each as the first of its kind.
 * @param {[string, string][]} labels
 * @returns {Uint32Array | null} null when there are none; one more than there are labels
 */
export function numberedLabels(labels) {
	/** @type {Map<string, number>} */
	const firsts = new Map();
	const kinds = Uint32Array.from({ length: labels.length + 1 }, (_, label) => label);
	let joined = false;

	labels.forEach(([category, text], label) => {
		const stem = /^([^]*#)\d+$/.exec(text)?.[1];

		if (stem === undefined)
			return;
		const first = firsts.get(`${category}\n${stem}`);

		if (first === undefined) {
			firsts.set(`${category}\n${stem}`, label);
		} else {
			kinds[label] = first;
			joined = true;
		}
	});
	return joined ? kinds : null;
}

/**
 * The tree with the frames of one kind joined where they are side by side.
 * @param {import('./decode.js').FlameNodes} flame
 * @param {Uint32Array} kinds
 * @returns {import('./decode.js').FlameNodes}
 */
export function joinFrames(flame, kinds) {
	const builder = new TreeBuilder(kinds.length - 1);
	const joined = new Int32Array(flame.count);

	for (let i = 0; i < flame.count; i++) {
		const above = flame.parent[i] < 0 ? -1 : joined[flame.parent[i]];
		const node = flame.track[i] >= 0 ? builder.node(above, -1, flame.track[i]) : builder.node(above, kinds[flame.label[i]], -1);

		joined[i] = node;
		flame.self.forEach((column, k) => {
			builder.self[k][node] += column[i];
		});
	}
	return builder.nodes();
}
