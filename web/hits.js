/*
 * hits.js - slices whose label was searched for.
 */
import { lowerBound } from './rows.js';
import { isNested } from './aggregate.js';

/**
 * @param {[string, string][]} labels
 * @param {string} query
 * @returns {Uint8Array} 1 for those that have it in their text
 */
export function matchLabels(labels, query) {
	const words = query.toLowerCase();
	const flags = new Uint8Array(labels.length + 1);

	labels.forEach(([, text], i) => {
		flags[i] = text.toLowerCase().includes(words) ? 1 : 0;
	});
	return flags;
}

/**
 * @typedef {object} HitSum
 * @property {number} count
 * @property {number} total ns; a hit inside another of its track counts once
 * @property {number} tracks that have any
 * @property {Float64Array} perLabel how many
 */

/** @param {import('./model.js').Trace} trace @param {Uint8Array} flags @returns {HitSum} */
export function sumHits(trace, flags) {
	const { slices } = trace;
	const sum = { count: 0, total: 0, tracks: 0, perLabel: new Float64Array(flags.length) };

	trace.model.tracks.forEach((track, i) => {
		const before = sum.count;
		/** @type {number[][]} spans of hits in the rows above, each begin and end in turn */
		const outer = [];

		for (let row = slices.trackRow[i]; row < slices.trackRow[i + 1]; row++) {
			const spans = addRow(slices, row, flags, outer, sum);

			if (spans.length && isNested(track.kind))
				outer.push(spans);
		}
		sum.tracks += sum.count > before ? 1 : 0;
	});
	return sum;
}

/**
 * @param {import('./decode.js').Slices} slices
 * @param {number} row
 * @param {Uint8Array} flags
 * @param {number[][]} outer
 * @param {HitSum} sum
 * @returns {number[]} spans of this row that are not within those of the rows above
 */
function addRow(slices, row, flags, outer, sum) {
	const { start, end, label } = slices;
	const next = new Uint32Array(outer.length);
	/** @type {number[]} */
	const spans = [];

	for (let i = slices.rowFirst[row]; i < slices.rowFirst[row + 1]; i++) {
		if (!flags[label[i]])
			continue;
		sum.count++;
		sum.perLabel[label[i]]++;
		if (!coveredBy(outer, next, start[i], end[i])) {
			sum.total += end[i] - start[i];
			spans.push(start[i], end[i]);
		}
	}
	return spans;
}

/** @param {number[][]} outer @param {Uint32Array} next @param {number} from @param {number} to @returns {boolean} */
function coveredBy(outer, next, from, to) {
	for (let k = 0; k < outer.length; k++) {
		const spans = outer[k];

		while (next[k] + 2 < spans.length && spans[next[k] + 2] <= from)
			next[k] += 2;
		if (spans[next[k]] <= from && spans[next[k] + 1] >= to)
			return true;
	}
	return false;
}

/**
 * The next hit in the order of time, then of place, or the one before; at the end it begins again.
 * @param {import('./decode.js').Slices} slices
 * @param {Uint8Array} flags
 * @param {number} slice where to go on from; -1 for a time
 * @param {number} time
 * @param {1 | -1} step
 * @returns {number} -1 when there is none
 */
export function nextHit(slices, flags, slice, time, step) {
	const from = slice >= 0 ? slices.start[slice] : time;
	const found = nearestHit(slices, flags, slice, from, step);

	return found >= 0 ? found : nearestHit(slices, flags, -1, step > 0 ? -Infinity : Infinity, step);
}

/**
 * @param {import('./decode.js').Slices} slices
 * @param {Uint8Array} flags
 * @param {number} slice
 * @param {number} from
 * @param {1 | -1} step
 * @returns {number}
 */
function nearestHit(slices, flags, slice, from, step) {
	let best = -1;

	for (let row = 0; row + 1 < slices.rowFirst.length; row++) {
		const hit = step > 0 ? hitAfter(slices, flags, row, slice, from, best) : hitBefore(slices, flags, row, slice, from, best);

		if (hit >= 0)
			best = hit;
	}
	return best;
}

/**
 * @param {import('./decode.js').Slices} slices
 * @param {Uint8Array} flags
 * @param {number} row
 * @param {number} slice
 * @param {number} from
 * @param {number} best that it has to be before
 * @returns {number}
 */
function hitAfter(slices, flags, row, slice, from, best) {
	const { start, label } = slices;
	const past = slices.rowFirst[row + 1];

	for (let i = lowerBound(start, slices.rowFirst[row], past, from); i < past; i++) {
		if (best >= 0 && start[i] >= start[best])
			return -1;
		if (flags[label[i]] && (start[i] > from || i > slice))
			return i;
	}
	return -1;
}

/**
 * @param {import('./decode.js').Slices} slices
 * @param {Uint8Array} flags
 * @param {number} row
 * @param {number} slice
 * @param {number} from
 * @param {number} best that it has to be after
 * @returns {number}
 */
function hitBefore(slices, flags, row, slice, from, best) {
	const { start, label } = slices;
	const first = slices.rowFirst[row];

	for (let i = lowerBound(start, first, slices.rowFirst[row + 1], from + (from < Infinity ? 1e-3 : 0)) - 1; i >= first; i--) {
		if (best >= 0 && start[i] < start[best])
			return -1;
		if (flags[label[i]] && (start[i] < from || (slice >= 0 && i < slice)))
			return i;
	}
	return -1;
}

/**
 * How many hits come before one in the order of nextHit().
 * @param {import('./decode.js').Slices} slices
 * @param {Uint8Array} flags
 * @param {number} slice
 * @returns {number}
 */
export function hitRank(slices, flags, slice) {
	const { start, label } = slices;
	let rank = 0;

	for (let i = 0; i < slices.count; i++) {
		if (flags[label[i]] && (start[i] < start[slice] || (start[i] === start[slice] && i < slice)))
			rank++;
	}
	return rank;
}

/**
 * The longest slice of a label, or -1.
 * @param {import('./decode.js').Slices} slices
 * @param {number} label
 * @param {import('./app.js').Span | null} range that it has to begin in
 * @returns {number}
 */
export function longestOf(slices, label, range) {
	let best = -1;

	for (let i = 0; i < slices.count; i++) {
		if (slices.label[i] !== label || (range && (slices.start[i] >= range.to || slices.end[i] < range.from)))
			continue;
		if (best < 0 || slices.end[i] - slices.start[i] > slices.end[best] - slices.start[best])
			best = i;
	}
	return best;
}
