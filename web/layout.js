/*
 * layout.js - where each track and counter of the timeline is, for what is in view.
 *
 * Tracks without anything in view are gathered under one line. Outer rows that one slice fills from edge to edge are squeezed:
 * they say the same at every place.
 */
import { firstFrom, rowHas, lowerBound } from './rows.js';
import { processText, trackText } from './model.js';

export const ROW_HEIGHT = 16;
export const SQUEEZED_HEIGHT = 4;
const HEAD_HEIGHT = 18;
const STRIP_HEIGHT = 7; /* what a thread was seen to do */
const COUNTER_HEIGHT = 40;
const TRACK_GAP = 5;
export const ROWS_SHOWN = 16;
const SQUEEZE_LEAST = 2; /* one outer row alone may stay as it is */
export const GUTTER = 184;

/** @typedef {'folded' | 'usual' | 'all'} Fold */

/**
 * @typedef {object} LayoutItem
 * @property {'process' | 'track' | 'counter' | 'quiet' | 'counters'} kind
 * @property {number} index of the process, track or counter
 * @property {number} top
 * @property {number} height
 * @property {number} bodyTop where rows begin
 * @property {boolean} strip of states
 * @property {number} rows shown
 * @property {number} rowsInView
 * @property {number} squeezed
 * @property {boolean} open
 * @property {string} text
 */

/** @typedef {{items: LayoutItem[], height: number, gutter: number, quiet: number}} Layout */

export class LayoutState {
	constructor() {
		/** @type {Map<number, Fold>} by track */
		this.folds = new Map();
		/** @type {Set<number>} processes that are folded */
		this.processes = new Set();
		/** @type {Set<number>} counters that are folded */
		this.counters = new Set();
		/** @type {Set<number>} processes of which all counters are shown */
		this.allCounters = new Set();
		this.showQuiet = false;
		/** @type {Map<number, {rows: number, squeezed: number}>} what tracks took when the view was last there by a jump */
		this.kept = new Map();
	}
}

/**
 * How many rows of a track have anything in view.
 * @param {import('./model.js').Trace} trace
 * @param {number} track
 * @param {import('./app.js').Span} view
 * @returns {number}
 */
function rowsInView(trace, track, view) {
	const first = trace.slices.trackRow[track];
	const past = trace.slices.trackRow[track + 1];
	let rows = 0;

	for (let row = first; row < past; row++) {
		if (rowHas(trace.slices, row, view.from, view.to) || bucketsIn(trace, row, view))
			rows = row - first + 1;
	}
	return rows;
}

/** @param {import('./model.js').Trace} trace @param {number} row @param {import('./app.js').Span} view @returns {boolean} */
function bucketsIn(trace, row, view) {
	const lane = trace.buckets[row];

	if (!lane)
		return false;
	const scale = trace.model.buckets / trace.duration;
	const at = lowerBound(lane.at, 0, lane.at.length, Math.floor(view.from * scale));

	return at < lane.at.length && lane.at[at] < view.to * scale;
}

/**
 * How many of the outermost rows are filled by one slice all over the view, or empty.
 * @param {import('./model.js').Trace} trace
 * @param {number} track
 * @param {import('./app.js').Span} view
 * @param {number} rows
 * @returns {number}
 */
function filledRows(trace, track, view, rows) {
	const { slices } = trace;
	const first = slices.trackRow[track];
	let filled = 0;

	while (filled < rows - 1) {
		const at = firstFrom(slices, first + filled, view.from);
		const empty = at >= slices.rowFirst[first + filled + 1] || slices.start[at] >= view.to;

		if (empty ? bucketsIn(trace, first + filled, view) : slices.start[at] > view.from || slices.end[at] < view.to)
			break;
		filled++;
	}
	return filled >= SQUEEZE_LEAST ? filled : 0;
}

/** @param {import('./decode.js').Lane | undefined} lane @param {import('./app.js').Span} view @returns {boolean} whether it changes */
function statesMove(lane, view) {
	if (!lane)
		return false;
	const first = lowerBound(lane.end, 0, lane.end.length, view.from);

	return lowerBound(lane.start, first, lane.start.length, view.to) - first > 1;
}

class LayoutBuilder {
	/**
	 * @param {import('./model.js').Trace} trace
	 * @param {LayoutState} state
	 * @param {import('./app.js').Span} view
	 * @param {boolean} wide whether names are beside the rows rather than above them
	 * @param {boolean} keep
	 */
	constructor(trace, state, view, wide, keep) {
		this.trace = trace;
		this.state = state;
		this.view = view;
		this.wide = wide;
		this.keep = keep;
		/** @type {LayoutItem[]} */
		this.items = [];
		this.top = 0;
		this.quiet = 0;
	}

	/** @param {Partial<LayoutItem> & {kind: LayoutItem['kind'], index: number, height: number, text: string}} item */
	put(item) {
		this.items.push({
			top: this.top, bodyTop: this.top, strip: false, rows: 0, rowsInView: 0, squeezed: 0, open: true, ...item,
		});
		this.top += item.height;
	}

	/** @param {number} track @returns {{rows: number, squeezed: number}} */
	extent(track) {
		const rows = rowsInView(this.trace, track, this.view);
		const now = { rows, squeezed: filledRows(this.trace, track, this.view, rows) };
		const before = this.state.kept.get(track);

		if (this.keep && before) {
			now.rows = Math.max(rows, before.rows);
			now.squeezed = Math.min(now.squeezed, before.squeezed);
		}
		this.state.kept.set(track, now);
		return now;
	}

	/** @param {number} track @param {{rows: number, squeezed: number}} extent */
	track(track, extent) {
		const fold = this.state.folds.get(track) ?? 'usual';
		const strip = this.trace.states.has(track);
		const usual = Math.min(extent.rows, extent.squeezed + ROWS_SHOWN);
		const rows = fold === 'folded' ? Math.min(1, extent.rows) : fold === 'all' ? extent.rows : usual;
		const squeezed = fold === 'folded' ? 0 : Math.min(rows, extent.squeezed);
		const head = (this.wide ? 0 : HEAD_HEIGHT) + (strip ? STRIP_HEIGHT : 0);
		const body = squeezed * SQUEEZED_HEIGHT + (rows - squeezed) * ROW_HEIGHT;

		this.put({
			kind: 'track', index: track, strip, rows, squeezed, rowsInView: extent.rows, open: fold !== 'folded',
			bodyTop: this.top + head, height: Math.max(HEAD_HEIGHT, head + body) + TRACK_GAP, text: trackText(this.trace, track),
		});
	}

	/** @param {number} counter */
	counter(counter) {
		const open = !this.state.counters.has(counter);
		const head = this.wide ? 0 : HEAD_HEIGHT;

		this.put({
			kind: 'counter', index: counter, open, bodyTop: this.top + head, rows: open ? 1 : 0,
			height: Math.max(HEAD_HEIGHT, head + (open ? COUNTER_HEIGHT : 0)) + TRACK_GAP, text: this.trace.counters[counter].name,
		});
	}

	/** @param {number} process @param {number[]} counters */
	counters(process, counters) {
		const more = counters.filter((counter) => !this.trace.counters[counter].telling);
		const open = this.state.allCounters.has(process);

		counters.filter((counter) => this.trace.counters[counter].telling).forEach((counter) => this.counter(counter));
		if (more.length) {
			this.put({
				kind: 'counters', index: process, height: HEAD_HEIGHT + 2, open,
				text: `${more.length} ${more.length === counters.length ? '' : 'more '}${more.length === 1 ? 'counter' : 'counters'}` +
					(process < 0 ? ' of the host' : ''),
			});
		}
		if (open)
			more.forEach((counter) => this.counter(counter));
	}

	/** @param {number} process @param {number[]} tracks @param {number[]} counters */
	process(process, tracks, counters) {
		const folded = this.state.processes.has(process);

		if (this.trace.model.processes.length > 1 && process >= 0)
			this.put({ kind: 'process', index: process, height: HEAD_HEIGHT + 2, open: !folded, text: processText(this.trace, process) });
		if (folded)
			return;
		/** @type {number[]} */
		const quiet = [];

		for (const track of tracks) {
			const extent = this.extent(track);

			if (extent.rows || statesMove(this.trace.states.get(track), this.view))
				this.track(track, extent);
			else
				quiet.push(track);
		}
		this.quietTracks(process, quiet);
		this.counters(process, counters);
	}

	/** @param {number} process @param {number[]} tracks */
	quietTracks(process, tracks) {
		if (!tracks.length)
			return;
		this.quiet += tracks.length;
		this.put({
			kind: 'quiet', index: process, height: HEAD_HEIGHT, open: this.state.showQuiet,
			text: `${tracks.length} quiet ${tracks.length === 1 ? 'track' : 'tracks'}`,
		});
		if (this.state.showQuiet)
			tracks.forEach((track) => this.track(track, { rows: 0, squeezed: 0 }));
	}
}

/**
 * @param {import('./model.js').Trace} trace
 * @param {LayoutState} state
 * @param {import('./app.js').Span} view
 * @param {number} width
 * @param {boolean} keep nothing gets smaller: the reader is moving along
 * @returns {Layout}
 */
export function layOut(trace, state, view, width, keep) {
	const wide = width >= 720;
	const builder = new LayoutBuilder(trace, state, view, wide, keep);
	/** @type {Map<number, {tracks: number[], counters: number[]}>} */
	const processes = new Map();
	/** @param {number | null} process */
	const of = (process) => {
		const key = process ?? -1;
		const found = processes.get(key) ?? { tracks: [], counters: [] };

		processes.set(key, found);
		return found;
	};

	trace.model.tracks.forEach((track, i) => of(track.process).tracks.push(i));
	trace.counters.forEach((counter, i) => of(counter.process).counters.push(i));
	for (const [process, { tracks, counters }] of processes)
		builder.process(process, tracks, counters);
	return { items: builder.items, height: builder.top, gutter: wide ? GUTTER : 0, quiet: builder.quiet };
}

/** @param {LayoutItem} item @param {number} row of the track @returns {number} */
export function rowTop(item, row) {
	return item.bodyTop + Math.min(row, item.squeezed) * SQUEEZED_HEIGHT + Math.max(0, row - item.squeezed) * ROW_HEIGHT;
}

/** @param {LayoutItem} item @param {number} row @returns {number} */
export function rowHeight(item, row) {
	return row < item.squeezed ? SQUEEZED_HEIGHT : ROW_HEIGHT;
}

/** @param {LayoutItem} item @param {number} y @returns {number} row of the track, -1 when it is none */
export function rowAt(item, y) {
	const down = y - item.bodyTop;
	const squeezed = item.squeezed * SQUEEZED_HEIGHT;

	if (down < 0)
		return -1;
	const row = down < squeezed ? Math.floor(down / SQUEEZED_HEIGHT) : item.squeezed + Math.floor((down - squeezed) / ROW_HEIGHT);

	return row < item.rows ? row : -1;
}

/** @param {Layout} layout @param {number} y @returns {LayoutItem | null} */
export function itemAt(layout, y) {
	let low = 0;
	let high = layout.items.length;

	while (low < high) {
		const middle = (low + high) >>> 1;

		if (layout.items[middle].top + layout.items[middle].height <= y)
			low = middle + 1;
		else
			high = middle;
	}
	return layout.items[low] ?? null;
}
