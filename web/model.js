/*
 * model.js - the trace of the page as one object.
 */
import { readStream, parseJson } from './streams.js';
import { decodeRows, decodeSlices, decodeLinks, decodeStates, decodeCounters, decodeFlame, decodeBuckets } from './decode.js';
import { safeText } from './format.js';
import { labelColors } from './colors.js';
import { namedCounters } from './counters.js';
import { pause } from './dom.js';

/**
 * @typedef {object} TrackModel
 * @property {number} id
 * @property {string} kind
 * @property {number | null} process
 * @property {number | null} device
 * @property {string} name
 * @property {number} tid
 * @property {number} rows
 * @property {number} slices
 */

/** @typedef {{name: string, pid: number, rank: number | null, host: string}} ProcessModel */

/** @typedef {{name: string, unit: string, process: number | null, count: number, quantum_ns: number, scale: number, rate: boolean}}
 * CounterModel */

/**
 * @typedef {object} Model
 * @property {number} format
 * @property {string} program
 * @property {number} duration_ns
 * @property {number} start_unix_ns
 * @property {number} quantum_ns
 * @property {number} slices
 * @property {number} slices_here
 * @property {boolean} exact
 * @property {boolean} links
 * @property {[number, number][]} windows_ns
 * @property {number} least_ns
 * @property {[number, number] | null} view_ns what was asked for
 * @property {number} buckets of a row
 * @property {string} command
 * @property {[string, string][]} labels
 * @property {ProcessModel[]} processes
 * @property {TrackModel[]} tracks
 * @property {{track: number, count: number}[]} states
 * @property {CounterModel[]} counters
 * @property {[number, number, number][]} steps_ns
 */

/** @typedef {{track: number, name: string, start_us: number, duration_us: number}} Example */

/** @typedef {{[key: string]: any}} Json */

/**
 * @typedef {object} Trace
 * @property {Model} model
 * @property {Json} analysis
 * @property {number} duration at least 1
 * @property {import('./decode.js').Slices} slices
 * @property {Uint8Array} colors of labels
 * @property {Map<number, import('./decode.js').Lane>} states
 * @property {import('./counters.js').Counter[]} counters
 * @property {import('./decode.js').FlameNodes} flame
 * @property {import('./decode.js').BucketLane[]} buckets
 * @property {string[]} missing streams that could not be read
 */

/** @returns {Model} of a page without one */
export function emptyModel() {
	return {
		format: 1, program: '', duration_ns: 0, start_unix_ns: 0, quantum_ns: 1, slices: 0, slices_here: 0, exact: true, links: false,
		windows_ns: [], least_ns: 0, view_ns: null, buckets: 0, command: '', labels: [], processes: [], tracks: [], states: [],
		counters: [], steps_ns: [],
	};
}

/**
 * @template T
 * @param {string[]} missing
 * @param {string} what
 * @param {T} fallback
 * @param {() => T} read
 * @returns {T}
 */
function tried(missing, what, fallback, read) {
	try {
		return read();
	} catch {
		missing.push(what);
		return fallback;
	}
}

/** @param {string[]} missing @returns {Promise<Map<string, Uint8Array>>} */
async function readStreams(missing) {
	const names = ['model', 'analysis', 'row', 'gap', 'dur', 'label', 'link', 'flame', 'states', 'counters', 'buckets'];
	const streams = new Map();

	await Promise.all(names.map(async (name) => {
		try {
			streams.set(name, await readStream(`data-${name}`));
		} catch {
			missing.push(name);
			streams.set(name, new Uint8Array(0));
		}
	}));
	return streams;
}

/**
 * @param {Model} model
 * @param {(name: string) => Uint8Array} stream
 * @param {string[]} missing
 * @returns {Promise<import('./decode.js').Slices>}
 */
async function readSlices(model, stream, missing) {
	const none = model.tracks.map((track) => ({ rows: track.rows, slices: 0 }));
	const columns = { row: stream('row'), gap: stream('gap'), dur: stream('dur'), label: stream('label'), link: stream('link') };
	const whole = [columns.row, columns.gap, columns.dur, columns.label].every((column) => column.length >= model.slices_here);
	const tracks = whole ? model.tracks : none;

	if (!whole)
		missing.push('slices');
	const rows = tried(missing, 'slices', new Uint16Array(0), () => decodeRows(columns.row, tracks));

	await pause();
	const slices = decodeSlices(columns, rows.length ? tracks : none, rows, model.quantum_ns);

	await pause();
	if (columns.link.length && rows.length)
		slices.link = decodeLinks(columns.link, tracks, slices.order);
	return slices;
}

/** @returns {Promise<Trace>} of the document; what could not be read is empty, and named in `missing` */
export async function readTrace() {
	/** @type {string[]} */
	const missing = [];
	const streams = await readStreams(missing);
	/** @param {string} name */
	const stream = (name) => streams.get(name) ?? new Uint8Array(0);
	const given = tried(missing, 'model', null, () => /** @type {Model | null} */ (parseJson(stream('model'))));
	const model = { ...emptyModel(), ...given };
	const analysis = tried(missing, 'analysis', {}, () => /** @type {Json} */ (parseJson(stream('analysis')) ?? {}));

	if (!given && !missing.includes('model'))
		missing.push('model');
	await pause();
	const slices = await readSlices(model, stream, missing);

	await pause();
	return {
		model, analysis, slices, missing,
		duration: Math.max(1, model.duration_ns),
		colors: labelColors(model.labels),
		states: tried(missing, 'states', new Map(), () => decodeStates(stream('states'), model.states, model.quantum_ns)),
		counters: tried(missing, 'counters', [], () => namedCounters(model.counters, decodeCounters(stream('counters'), model.counters))),
		flame: decodeFlame(stream('flame')),
		buckets: tried(missing, 'buckets', [], () => decodeBuckets(stream('buckets'), model.tracks, model.buckets)),
	};
}

/** @param {Trace} trace @param {number} label @returns {string} as it may be shown */
export function labelText(trace, label) {
	return label < trace.model.labels.length ? safeText(trace.model.labels[label][1]) : '(other)';
}

/** @param {Trace} trace @param {number} label @returns {string} */
export function labelCategory(trace, label) {
	return label < trace.model.labels.length ? trace.model.labels[label][0] : 'other';
}

/** @param {Trace} trace @param {number} track @returns {string} as it may be shown */
export function trackText(trace, track) {
	const model = trace.model.tracks[track];

	return model ? safeText(model.name) || `${model.kind} ${model.tid || model.id}` : '';
}

/** @param {Trace} trace @param {number} process @returns {string} */
export function processText(trace, process) {
	const model = trace.model.processes[process];

	if (!model)
		return '';
	const rank = model.rank === null || model.rank === undefined ? '' : `rank ${model.rank}, `;
	const host = model.host ? ` on ${safeText(model.host)}` : '';

	return `${safeText(model.name) || 'process'} (${rank}pid ${model.pid})${host}`;
}

/** @param {string} text @param {string} other @returns {boolean} long ones are cut in the middle */
function sameStart(text, other) {
	return text.slice(0, 64) === other.slice(0, 64);
}

/**
 * The slice that an example of a finding means: that of its name with the most of it, or -1.
 * @param {Trace} trace
 * @param {Example} example
 * @returns {number}
 */
export function exampleSlice(trace, example) {
	const track = trace.model.tracks.findIndex((model) => model.id === example.track);
	const { start, end, label, rowFirst, trackRow } = trace.slices;
	const begin = example.start_us * 1e3;
	const finish = begin + example.duration_us * 1e3;
	let best = -1;
	let most = -trace.model.quantum_ns - 1;

	if (track < 0)
		return -1;
	for (let i = rowFirst[trackRow[track]]; i < rowFirst[trackRow[track + 1]]; i++) {
		/* what both have; of equals, that which has the least besides */
		const shared = Math.min(end[i], finish) - Math.max(start[i], begin);
		const value = shared - (end[i] - start[i] - shared) / 1e6;

		if (shared >= -trace.model.quantum_ns && value > most && sameStart(trace.model.labels[label[i]]?.[1] ?? '', example.name)) {
			best = i;
			most = value;
		}
	}
	return best;
}
