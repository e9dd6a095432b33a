/*
 * rows.js - finding slices by time. Within a row slices come in the order of time and do not overlap.
 */

/**
 * The first place from `low` on, below `high`, of which the value is not less; `high` when there is none.
 * @param {ArrayLike<number>} values ascending
 * @param {number} low
 * @param {number} high
 * @param {number} value
 * @returns {number}
 */
export function lowerBound(values, low, high, value) {
	let from = low;
	let to = high;

	while (from < to) {
		const middle = (from + to) >>> 1;

		if (values[middle] < value)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/**
 * As lowerBound(), by steps that double: quick when the answer is near.
 * @param {ArrayLike<number>} values
 * @param {number} low
 * @param {number} high
 * @param {number} value
 * @returns {number}
 */
export function gallop(values, low, high, value) {
	let step = 1;
	let from = low;

	while (from + step < high && values[from + step] < value) {
		from += step;
		step *= 2;
	}
	return lowerBound(values, from, Math.min(high, from + step + 1), value);
}

/**
 * The first slice of a row that ends after `time`, or is empty and at it.
 * @param {import('./decode.js').Slices} slices
 * @param {number} row
 * @param {number} time
 * @returns {number}
 */
export function firstFrom(slices, row, time) {
	let at = lowerBound(slices.end, slices.rowFirst[row], slices.rowFirst[row + 1], time);

	while (at < slices.rowFirst[row + 1] && slices.end[at] === time && slices.start[at] < time)
		at++;
	return at;
}

/**
 * Whether a row has anything between two times.
 * @param {import('./decode.js').Slices} slices
 * @param {number} row
 * @param {number} from
 * @param {number} to
 * @returns {boolean}
 */
export function rowHas(slices, row, from, to) {
	const at = firstFrom(slices, row, from);

	return at < slices.rowFirst[row + 1] && slices.start[at] < to;
}

/**
 * The slice of a row at a time, or the nearest one within `slack` of it, or -1.
 * @param {import('./decode.js').Slices} slices
 * @param {number} row
 * @param {number} time
 * @param {number} slack
 * @returns {number}
 */
export function sliceAt(slices, row, time, slack) {
	const high = slices.rowFirst[row + 1];
	const after = firstFrom(slices, row, time - slack);
	let best = -1;
	let distance = Infinity;

	for (let i = after; i < high && slices.start[i] <= time + slack; i++) {
		const away = Math.max(0, slices.start[i] - time, time - slices.end[i]);

		if (away < distance) {
			best = i;
			distance = away;
		}
		if (slices.start[i] > time)
			break;
	}
	return best;
}

/**
 * The row of a slice, counted over all tracks.
 * @param {import('./decode.js').Slices} slices
 * @param {number} slice
 * @returns {number}
 */
export function rowOf(slices, slice) {
	return lowerBound(slices.rowFirst, 0, slices.rowFirst.length, slice + 1) - 1;
}

/**
 * The track of a row.
 * @param {import('./decode.js').Slices} slices
 * @param {number} row
 * @returns {number}
 */
export function trackOfRow(slices, row) {
	return lowerBound(slices.trackRow, 0, slices.trackRow.length, row + 1) - 1;
}

/**
 * The innermost slice around a slice, or -1.
 * @param {import('./decode.js').Slices} slices
 * @param {number} slice
 * @returns {number}
 */
export function parentOf(slices, slice) {
	const first = slices.trackRow[trackOfRow(slices, rowOf(slices, slice))];

	for (let row = rowOf(slices, slice) - 1; row >= first; row--) {
		const low = slices.rowFirst[row];
		const at = lowerBound(slices.start, low, slices.rowFirst[row + 1], slices.start[slice] + 1e-3) - 1;

		if (at >= low && slices.end[at] >= slices.end[slice])
			return at;
	}
	return -1;
}

/**
 * The slices of the next row inward that has any inside of a slice: the first, and the one after the last.
 * @param {import('./decode.js').Slices} slices
 * @param {number} slice
 * @returns {[number, number]} the same twice when there are none
 */
export function childrenOf(slices, slice) {
	const past = slices.trackRow[trackOfRow(slices, rowOf(slices, slice)) + 1];

	for (let row = rowOf(slices, slice) + 1; row < past; row++) {
		const high = slices.rowFirst[row + 1];
		const first = lowerBound(slices.start, slices.rowFirst[row], high, slices.start[slice]);
		const after = lowerBound(slices.start, first, high, slices.end[slice]);

		if (after > first)
			return [first, after];
	}
	return [0, 0];
}

/**
 * The time of the slices directly inside of a slice.
 * @param {import('./decode.js').Slices} slices
 * @param {number} slice
 * @returns {number}
 */
export function childTime(slices, slice) {
	const [first, after] = childrenOf(slices, slice);

	return slices.sum[after] - slices.sum[first];
}

/**
 * The time of a row's slices between two times.
 * @param {import('./decode.js').Slices} slices
 * @param {number} row
 * @param {number} from
 * @param {number} to
 * @returns {number}
 */
export function rowTime(slices, row, from, to) {
	const high = slices.rowFirst[row + 1];
	const first = firstFrom(slices, row, from);
	const past = lowerBound(slices.start, first, high, to);

	if (past <= first)
		return 0;
	return slices.sum[past] - slices.sum[first] - Math.max(0, from - slices.start[first]) - Math.max(0, slices.end[past - 1] - to);
}
