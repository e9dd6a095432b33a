/*
 * api.js - what the page tells about itself: for tests, and for the curious.
 *
 * A slice is known by its place in the columns of the page, and rectangles are in coordinates of the window.
 */
import { labelTimes } from './aggregate.js';
import { rowOf, trackOfRow } from './rows.js';

/** @param {Uint32Array} order @returns {Uint32Array} the other way round */
function inverseOf(order) {
	const inverse = new Uint32Array(order.length);

	for (let i = 0; i < order.length; i++)
		inverse[order[i]] = i;
	return inverse;
}

class Describer {
	/** @param {import('./model.js').Trace} trace */
	constructor(trace) {
		this.trace = trace;
		/** @type {Uint32Array | null} */
		this.places = null;
	}

	/** @param {number} slice @returns {number} */
	placeOf(slice) {
		this.places ??= inverseOf(this.trace.slices.order);
		return slice < 0 ? -1 : this.places[slice];
	}

	/** @param {number} place @returns {number} -1 when there is none */
	sliceOf(place) {
		return this.trace.slices.order[place] ?? -1;
	}

	/** @param {number} slice */
	describe(slice) {
		const { slices, model } = this.trace;

		if (!(slice >= 0 && slice < slices.count))
			return null;
		const row = rowOf(slices, slice);
		const track = trackOfRow(slices, row);
		const label = slices.label[slice];

		return {
			place: this.placeOf(slice), track, row: row - slices.trackRow[track], label,
			category: model.labels[label]?.[0] ?? 'other', name: model.labels[label]?.[1] ?? '(other)',
			begin_ns: slices.start[slice], end_ns: slices.end[slice], link: slices.link ? this.placeOf(slices.link[slice]) : -1,
		};
	}
}

/** @param {import('./model.js').Trace} trace @param {number} track @returns {number} ns of all its slices */
function sumOfTrack(trace, track) {
	const { slices } = trace;
	let sum = 0;

	for (let i = slices.rowFirst[slices.trackRow[track]]; i < slices.rowFirst[slices.trackRow[track + 1]]; i++)
		sum += slices.end[i] - slices.start[i];
	return sum;
}

/** @param {import('./model.js').Trace} trace @param {number} from @param {number} to */
function totalsOf(trace, from, to) {
	const times = labelTimes(trace, { from, to });

	return trace.model.labels.map(([category, name], label) => ({
		label, category, name, count: times.count[label], total_ns: times.total[label], self_ns: times.self[label],
	})).filter((row) => row.count > 0);
}

/** @param {import('./timeline.js').Timeline} timeline @param {number} slice */
function windowBox(timeline, slice) {
	const box = slice >= 0 ? timeline.boxOf(slice) : null;
	const canvas = timeline.canvas.getBoundingClientRect();

	return box && { x: canvas.left + box.x, y: canvas.top + box.y, width: box.width, height: box.height };
}

/** @param {import('./app.js').Span | null} span */
function spanOf(span) {
	return span && { from_ns: span.from, to_ns: span.to };
}

/**
 * @param {import('./app.js').App} app
 * @param {import('./timeline.js').Timeline} timeline
 * @param {import('./search.js').Search} search
 * @param {Record<string, number>} times when the phases of loading ended
 */
export function makeApi(app, timeline, search, times) {
	const { trace } = app;
	const of = new Describer(trace);

	return Object.freeze({
		view: () => spanOf(app.view),
		setView: (/** @type {number} */ from, /** @type {number} */ to) => app.setView({ from, to }, 'jump'),
		selection: () => of.describe(app.selection),
		select: (/** @type {number} */ place) => app.select(of.sliceOf(place)),
		range: () => spanOf(app.range),
		setRange: (/** @type {number | null} */ from, /** @type {number} */ to) => app.setRange(from === null ? null : { from, to }),
		pick: (/** @type {number} */ x, /** @type {number} */ y) => {
			const canvas = timeline.canvas.getBoundingClientRect();

			return of.describe(timeline.pick(x - canvas.left, y - canvas.top).slice);
		},
		where: (/** @type {number} */ place) => windowBox(timeline, of.sliceOf(place)),
		reveal: (/** @type {number} */ place) => timeline.reveal(of.sliceOf(place)),
		slice: (/** @type {number} */ place) => of.describe(of.sliceOf(place)),
		slices: () => trace.slices.count,
		sumOfTrack: (/** @type {number} */ track) => sumOfTrack(trace, track),
		totals: (/** @type {number} */ from, /** @type {number} */ to) => totalsOf(trace, from, to),
		hits: () => ({ count: search.sum?.count ?? 0, total_ns: search.sum?.total ?? 0, exact: trace.model.exact }),
		model: () => structuredClone(trace.model),
		missing: () => trace.missing.slice(),
		stats: () => ({ ...times, draw_ms: timeline.drawn.ms, rectangles: timeline.drawn.rectangles, frames: timeline.drawn.frames }),
		frame: () => {
			timeline.draw();
			return timeline.drawn.ms;
		},
	});
}
