/*
 * decode.js - columns of varints to typed arrays (docs/report-page.md, "Slices" and what follows it).
 *
 * Slices are sorted by track and row, by begin within a row: what is at a time is found by halving.
 */

/** Reads unsigned varints; at the end of the bytes, zeros. */
export class VarintReader {
	/** @param {Uint8Array} bytes */
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 0;
	}

	/** @returns {boolean} */
	ended() {
		return this.at >= this.bytes.length;
	}

	/** @returns {number} */
	byte() {
		return this.at < this.bytes.length ? this.bytes[this.at++] : 0;
	}

	/** @returns {number} */
	next() {
		const bytes = this.bytes;
		let at = this.at;

		if (at >= bytes.length)
			return 0;
		let byte = bytes[at++];
		let value = byte & 127;
		let factor = 128;

		while (byte >= 128 && at < bytes.length) {
			byte = bytes[at++];
			value += (byte & 127) * factor;
			factor *= 128;
		}
		this.at = at;
		return value;
	}

	/** @returns {number} */
	signed() {
		const value = this.next();

		return value % 2 ? -(value + 1) / 2 : value / 2;
	}
}

/**
 * @typedef {object} Slices
 * @property {number} count
 * @property {Float64Array} start ns
 * @property {Float64Array} end ns
 * @property {Float64Array} sum of the lengths of all before it; one more than there are slices
 * @property {Uint32Array} label
 * @property {Int32Array | null} link the slice that launched it, or -1
 * @property {Uint32Array} order slices as they begin, track after track
 * @property {Uint16Array} depth row within the track, in that order
 * @property {Uint32Array} rowFirst first slice of a row; one more than there are rows
 * @property {Uint32Array} trackRow first row of a track; one more than there are tracks
 */

/**
 * @typedef {object} Columns
 * @property {Uint8Array} row
 * @property {Uint8Array} gap
 * @property {Uint8Array} dur
 * @property {Uint8Array} label
 * @property {Uint8Array} link
 */

/**
 * @typedef {object} TrackShape
 * @property {number} rows
 * @property {number} slices
 */

/**
 * The row of each slice in the order of the columns.
 * @param {Uint8Array} bytes
 * @param {TrackShape[]} tracks
 * @returns {Uint16Array}
 */
export function decodeRows(bytes, tracks) {
	const rows = new Uint16Array(tracks.reduce((sum, track) => sum + track.slices, 0));
	const reader = new VarintReader(bytes);
	let place = 0;

	for (const track of tracks) {
		const last = Math.max(0, track.rows - 1);
		let row = -1;

		for (let i = 0; i < track.slices; i++) {
			row = Math.min(last, Math.max(0, row + 1 - reader.signed()));
			rows[place++] = row;
		}
	}
	return rows;
}

/**
 * @param {Uint16Array} rows
 * @param {TrackShape[]} tracks
 * @returns {{rowFirst: Uint32Array, trackRow: Uint32Array}}
 */
function countRows(rows, tracks) {
	const trackRow = new Uint32Array(tracks.length + 1);

	tracks.forEach((track, i) => {
		trackRow[i + 1] = trackRow[i] + Math.max(1, track.rows);
	});
	const rowFirst = new Uint32Array(trackRow[tracks.length] + 1);
	let place = 0;

	tracks.forEach((track, i) => {
		for (let k = 0; k < track.slices; k++)
			rowFirst[trackRow[i] + rows[place++] + 1]++;
	});
	for (let i = 1; i < rowFirst.length; i++)
		rowFirst[i] += rowFirst[i - 1];
	return { rowFirst, trackRow };
}

/** Where the next slice of a row is counted from: see "gap" in docs/report-page.md. */
class RowCursors {
	/** @param {number} rows */
	constructor(rows) {
		this.begins = new Float64Array(rows);
		this.ends = new Float64Array(rows);
		this.open = new Uint32Array(rows + 1); /* rows of which no smaller one came since, ascending */
		this.depth = 0;
	}

	/** @param {number} rows of the track */
	reset(rows) {
		this.begins.fill(0, 0, rows);
		this.depth = 0;
	}

	/** @param {number} row @returns {number} */
	enter(row) {
		while (this.depth && this.open[this.depth - 1] > row)
			this.depth--;
		if (this.depth && this.open[this.depth - 1] === row)
			return this.ends[row];
		this.open[this.depth++] = row;
		return row ? this.begins[row - 1] : 0;
	}
}

/**
 * @param {Columns} columns
 * @param {TrackShape[]} tracks
 * @param {Uint16Array} rows of decodeRows()
 * @param {number} quantum
 * @returns {Slices}
 */
export function decodeSlices(columns, tracks, rows, quantum) {
	const count = rows.length;
	const { rowFirst, trackRow } = countRows(rows, tracks);
	const next = rowFirst.slice();
	const start = new Float64Array(count);
	const end = new Float64Array(count);
	const label = new Uint32Array(count);
	const order = new Uint32Array(count);
	const gaps = new VarintReader(columns.gap);
	const durations = new VarintReader(columns.dur);
	const labels = new VarintReader(columns.label);
	const cursors = new RowCursors(tracks.reduce((most, track) => Math.max(most, track.rows), 1));
	let place = 0;

	for (let t = 0; t < tracks.length; t++) {
		cursors.reset(tracks[t].rows);
		for (let i = 0; i < tracks[t].slices; i++, place++) {
			const row = rows[place];
			const at = next[trackRow[t] + row]++;
			const begin = cursors.enter(row) + gaps.signed();
			const stop = begin + durations.next();

			cursors.begins[row] = begin;
			cursors.ends[row] = stop;
			start[at] = begin * quantum;
			end[at] = stop * quantum;
			label[at] = labels.next();
			order[place] = at;
		}
	}
	return { count, start, end, sum: prefixSums(start, end), label, link: null, order, depth: rows, rowFirst, trackRow };
}

/** @param {Float64Array} start @param {Float64Array} end @returns {Float64Array} */
function prefixSums(start, end) {
	const sum = new Float64Array(start.length + 1);

	for (let i = 0; i < start.length; i++)
		sum[i + 1] = sum[i] + (end[i] - start[i]);
	return sum;
}

/**
 * @param {Uint8Array} bytes
 * @param {TrackShape[]} tracks
 * @param {Uint32Array} order
 * @returns {Int32Array}
 */
export function decodeLinks(bytes, tracks, order) {
	const link = new Int32Array(order.length).fill(-1);
	const reader = new VarintReader(bytes);
	let place = 0;

	for (const track of tracks) {
		let launcher = 0;

		for (let i = 0; i < track.slices; i++, place++) {
			const value = reader.next();

			if (!value)
				continue;
			launcher += (value - 1) % 2 ? -value / 2 : (value - 1) / 2;
			if (launcher >= 0 && launcher < order.length)
				link[order[place]] = order[launcher];
		}
	}
	return link;
}

/**
 * @typedef {object} Lane spans of one track in the order of time
 * @property {Float64Array} start
 * @property {Float64Array} end
 * @property {Uint8Array} kind
 */

/**
 * @param {Uint8Array} bytes
 * @param {{track: number, count: number}[]} entries
 * @param {number} quantum
 * @returns {Map<number, Lane>} by place of the track
 */
export function decodeStates(bytes, entries, quantum) {
	const reader = new VarintReader(bytes);
	const lanes = new Map();

	for (const entry of entries) {
		const lane = { start: new Float64Array(entry.count), end: new Float64Array(entry.count), kind: new Uint8Array(entry.count) };
		let cursor = 0;

		for (let i = 0; i < entry.count; i++) {
			cursor += reader.signed();
			lane.start[i] = cursor * quantum;
			cursor += reader.next();
			lane.end[i] = cursor * quantum;
			lane.kind[i] = reader.next();
		}
		lanes.set(entry.track, lane);
	}
	return lanes;
}

/**
 * @typedef {object} Curve values of a counter
 * @property {Float64Array} time
 * @property {Float64Array} value
 * @property {number} low
 * @property {number} high
 */

/**
 * @param {Uint8Array} bytes
 * @param {{count: number, quantum_ns: number, scale: number}[]} counters
 * @returns {Curve[]}
 */
export function decodeCounters(bytes, counters) {
	const reader = new VarintReader(bytes);

	return counters.map((counter) => {
		const time = new Float64Array(counter.count);
		const value = new Float64Array(counter.count);
		let ticks = 0;
		let units = 0;
		let low = Infinity;
		let high = -Infinity;

		for (let i = 0; i < counter.count; i++) {
			ticks += reader.next();
			units += reader.signed();
			time[i] = ticks * counter.quantum_ns;
			value[i] = units / counter.scale;
			low = Math.min(low, value[i]);
			high = Math.max(high, value[i]);
		}
		return { time, value, low, high };
	});
}

/**
 * @typedef {object} FlameNodes in preorder
 * @property {number} count
 * @property {Int32Array} parent -1 for a root
 * @property {Uint32Array} label the place after the last label is "(other)"
 * @property {Int32Array} track of a root, else -1
 * @property {Float64Array[]} self ns: wall, processor, device
 */

/** @param {number} count @returns {FlameNodes} */
export function emptyFlame(count) {
	return {
		count,
		parent: new Int32Array(count).fill(-1),
		label: new Uint32Array(count),
		track: new Int32Array(count).fill(-1),
		self: [new Float64Array(count), new Float64Array(count), new Float64Array(count)],
	};
}

/** @param {Uint8Array} bytes @returns {FlameNodes} */
export function decodeFlame(bytes) {
	const reader = new VarintReader(bytes);
	const flame = emptyFlame(Math.min(reader.next(), bytes.length));
	let node = -1; /* the one before */

	for (let i = 0; i < flame.count; i++) {
		let pop = reader.next();
		const label = reader.next();

		for (; pop > 0 && node >= 0; pop--)
			node = flame.parent[node];
		flame.parent[i] = node;
		if (label)
			flame.label[i] = label - 1;
		else
			flame.track[i] = reader.next();
		for (const column of flame.self)
			column[i] = reader.next();
		node = i;
	}
	return flame;
}

/**
 * @typedef {object} BucketLane those of a row that are not empty
 * @property {Uint16Array} at
 * @property {Uint8Array} full 1 to 255
 * @property {Uint32Array} label
 */

/**
 * @param {Uint8Array} bytes
 * @param {TrackShape[]} tracks
 * @param {number} count buckets of a row
 * @returns {BucketLane[]} by row of the slices; none when there are none
 */
export function decodeBuckets(bytes, tracks, count) {
	const reader = new VarintReader(bytes);
	/** @type {BucketLane[]} */
	const lanes = [];

	if (!count || !bytes.length)
		return lanes;
	for (const track of tracks) {
		for (let row = 0; row < track.rows; row++)
			lanes.push(decodeLane(reader, count));
		if (!track.rows)
			lanes.push({ at: new Uint16Array(0), full: new Uint8Array(0), label: new Uint32Array(0) });
	}
	return lanes;
}

/** @param {VarintReader} reader @param {number} count @returns {BucketLane} */
function decodeLane(reader, count) {
	const full = new Uint8Array(count);

	for (let i = 0; i < count; i++)
		full[i] = reader.byte();
	const at = Uint16Array.from(full.keys()).filter((i) => full[i] > 0);
	const label = new Uint32Array(at.length);

	for (let i = 0; i < at.length; i++)
		label[i] = reader.next();
	return { at, full: full.filter((value) => value > 0), label };
}
