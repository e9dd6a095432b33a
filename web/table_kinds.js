/*
 * table_kinds.js - the tables there are: of the whole run from the analysis, of a range from the slices.
 */
import { labelTimes, trackBusy } from './aggregate.js';
import { bytesText, countText, percentText, timeText, valueText } from './format.js';
import { trackText } from './model.js';
import { lowerBound } from './rows.js';

/** @typedef {{name: string, label?: number, [key: string]: any}} TableRow times in ns */
/** @typedef {import('./grid.js').Column<TableRow>} TableColumn */

/**
 * @typedef {object} TableKind
 * @property {string} id
 * @property {string} title
 * @property {string[]} categories of the labels of its rows
 * @property {(analysis: import('./model.js').Json) => TableRow[]} rows of the whole run
 * @property {TableColumn[]} columns
 * @property {TableColumn[]} rangeColumns none when the table is not made of labels
 */

/**
 * @param {string} title
 * @param {string} key
 * @param {(value: number) => string} text
 * @returns {TableColumn}
 */
function numberColumn(title, key, text) {
	return { title, kind: 'number', value: (row) => row[key], text: (row) => (typeof row[key] === 'number' ? text(row[key]) : '') };
}

/** @param {string} title @param {string} key @returns {TableColumn} */
function timeColumn(title, key) {
	return numberColumn(title, key, timeText);
}

/** @param {string} title @param {string} key @returns {TableColumn} */
function countColumn(title, key) {
	return numberColumn(title, key, countText);
}

/** @param {string} title @param {string} key @returns {TableColumn} */
function percentColumn(title, key) {
	return numberColumn(title, key, (percent) => percentText(percent / 100));
}

/** @param {string} title @param {string} key @returns {TableColumn} */
function textColumn(title, key) {
	return { title, kind: 'text', value: (row) => row[key], text: (row) => String(row[key] ?? '').replaceAll('_', ' ') };
}

/** @param {string} title @returns {TableColumn} */
function nameColumn(title) {
	return { title, kind: 'name', value: (row) => row.name };
}

const TIMES = [countColumn('Count', 'count'), timeColumn('Total', 'total'), timeColumn('Self', 'self'), timeColumn('Mean', 'mean'),
	timeColumn('Min', 'min'), timeColumn('Median', 'p50'), timeColumn('p99', 'p99'), timeColumn('Max', 'max')];
const RANGE_TIMES = [countColumn('Count', 'count'), timeColumn('Total', 'total'), timeColumn('Self', 'self'), timeColumn('Mean', 'mean'),
	timeColumn('Max', 'max')];

/**
 * A row with every time in µs as ns, under its name without the unit.
 * @param {import('./model.js').Json} entry
 * @returns {TableRow}
 */
function inNanoseconds(entry) {
	/** @type {TableRow} */
	const row = { name: '' };

	for (const [key, value] of Object.entries(entry)) {
		if (key.endsWith('_us'))
			row[key.slice(0, -3)] = typeof value === 'number' ? value * 1e3 : null;
		else
			row[key] = value;
	}
	return row;
}

/** @param {unknown} list @returns {TableRow[]} */
function rowsOf(list) {
	return Array.isArray(list) ? list.map(inNanoseconds) : [];
}

/**
 * @param {import('./model.js').Json} analysis
 * @param {string} key of each device
 * @returns {TableRow[]}
 */
function deviceRows(analysis, key) {
	const devices = Array.isArray(analysis.devices) ? analysis.devices : [];

	return devices.flatMap((device) => rowsOf(device[key]).map((row) => ({ ...row, device: device.device_id })));
}

/**
 * @param {string} id
 * @param {string} title
 * @param {string} what heading of the names
 * @param {string[]} categories
 * @param {(analysis: import('./model.js').Json) => TableRow[]} rows
 * @param {TableColumn[]} [more]
 * @returns {TableKind}
 */
function labelTable(id, title, what, categories, rows, more = []) {
	const first = nameColumn(what);

	return { id, title, categories, rows, columns: [first, ...TIMES, ...more], rangeColumns: [first, ...RANGE_TIMES] };
}

/** @type {TableKind} */
const STEPS = {
	id: 'steps', title: 'Steps', categories: [], rangeColumns: [],
	rows: (analysis) => rowsOf(analysis.steps),
	columns: [countColumn('Step', 'number'), nameColumn('Name'), countColumn('Process', 'process_id'), timeColumn('Begin', 'start'),
		timeColumn('Duration', 'duration'), timeColumn('Input', 'input'), timeColumn('Device busy', 'busy'),
		timeColumn('Device idle', 'idle')],
};

/** @type {TableKind} */
const THREADS = {
	id: 'threads', title: 'Threads', categories: [],
	rows: (analysis) => rowsOf(analysis.threads),
	columns: [nameColumn('Thread'), countColumn('Process', 'process_id'), countColumn('Rank', 'rank'), countColumn('Slices', 'slices'),
		timeColumn('Busy', 'busy'), timeColumn('Functions', 'functions'), timeColumn('Operators', 'operators'),
		timeColumn('Runtime', 'runtime'), timeColumn('Blocked', 'blocked'), countColumn('Launches', 'launches')],
	rangeColumns: [nameColumn('Track'), textColumn('Kind', 'kind'), timeColumn('Busy', 'busy'), percentColumn('Of the range', 'share')],
};

/** @type {TableKind} */
const COPIES = {
	id: 'copies', title: 'Copies', categories: ['copy'],
	rows: (analysis) => deviceRows(analysis, 'copies').map((row) => ({ ...row, name: String(row.direction ?? '').replaceAll('_', ' ') })),
	columns: [textColumn('Direction', 'name'), textColumn('From', 'memory_from'), textColumn('To', 'memory_to'),
		countColumn('Device', 'device'), countColumn('Count', 'count'), numberColumn('Bytes', 'bytes', bytesText),
		timeColumn('Total', 'total'), timeColumn('Exposed', 'exposed'),
		numberColumn('GB/s', 'bandwidth_gbs', (speed) => speed.toFixed(2))],
	rangeColumns: [nameColumn('Copy'), ...RANGE_TIMES],
};

/** @type {TableKind} */
const COLLECTIVES = {
	id: 'collectives', title: 'Collectives', categories: ['communication'], rangeColumns: [nameColumn('Collective'), ...RANGE_TIMES],
	rows: (analysis) => rowsOf(analysis.collectives),
	columns: [nameColumn('Collective'), countColumn('Place', 'index'), countColumn('Ranks', 'ranks'), countColumn('Last rank', 'last_rank'),
		timeColumn('Begin skew', 'start_skew'), timeColumn('End skew', 'end_skew'), timeColumn('Transfer', 'transfer'),
		timeColumn('Waited', 'wait_total')],
};

/** @param {string} title @param {string} key @returns {TableColumn} a value of a counter, in its unit */
function valueColumn(title, key) {
	return { title, kind: 'number', value: (row) => row[key], text: (row) => valueText(row[key], row.unit) };
}

const VALUES = [nameColumn('Counter'), textColumn('Process', 'process'), valueColumn('First', 'first'), valueColumn('Least', 'least'),
	valueColumn('Most', 'most'), valueColumn('Last', 'last')];

/** @type {TableKind} */
const COUNTERS = {
	id: 'counters', title: 'Memory and counters', categories: [], rows: () => [], columns: VALUES, rangeColumns: VALUES,
};

export const TABLE_KINDS = [
	labelTable('operators', 'Operators', 'Operator', ['operator'], (analysis) => rowsOf(analysis.operators)),
	labelTable('kernels', 'Kernels', 'Kernel', ['kernel', 'communication', 'copy'], (analysis) => deviceRows(analysis, 'kernels'),
		[countColumn('Device', 'device'), textColumn('Class', 'class'), percentColumn('Occupancy', 'occupancy_percent')]),
	labelTable('functions', 'Python functions', 'Function', ['python', 'native'], (analysis) => rowsOf(analysis.functions)),
	labelTable('scopes', 'Scopes', 'Scope', ['scope', 'step', 'gc', 'compile', 'other'], (analysis) => rowsOf(analysis.scopes)),
	labelTable('runtime', 'Runtime calls', 'Call', ['runtime', 'sync'], (analysis) => rowsOf(analysis.runtime_calls)),
	STEPS, THREADS, COPIES, COLLECTIVES, COUNTERS,
];

/**
 * @param {import('./model.js').Trace} trace
 * @returns {(kind: TableKind) => TableRow[]}
 */
export function runRows(trace) {
	return (kind) => (kind.id === 'counters' ? counterRows(trace, { from: 0, to: trace.duration }) : kind.rows(trace.analysis));
}

/**
 * @param {import('./model.js').Trace} trace
 * @param {import('./app.js').Span} range
 * @returns {(kind: TableKind) => TableRow[]}
 */
export function rangeRows(trace, range) {
	const times = labelTimes(trace, range);

	return (kind) => {
		if (kind.id === 'threads')
			return threadRows(trace, range);
		if (kind.id === 'counters')
			return counterRows(trace, range);
		if (!kind.rangeColumns.length)
			return kind.rows(trace.analysis).filter((row) => row.start < range.to && row.start + row.duration > range.from);
		/** @type {TableRow[]} */
		const rows = [];

		trace.model.labels.forEach(([category, name], label) => {
			const count = times.count[label];

			if (count && kind.categories.includes(category)) {
				rows.push({
					name, label, count, total: times.total[label], self: Math.max(0, times.self[label]), mean: times.total[label] / count,
					max: times.longest[label],
				});
			}
		});
		return rows;
	};
}

/** @param {import('./model.js').Trace} trace @param {import('./app.js').Span} range @returns {TableRow[]} */
function threadRows(trace, range) {
	const all = range.to - range.from;

	return trace.model.tracks.map((track, i) => {
		const busy = trackBusy(trace, i, range);

		return { name: trackText(trace, i), kind: track.kind, track: i, busy, share: 100 * busy / all };
	}).filter((row) => row.busy > 0);
}

/**
 * What counters were from the last reading before the range on, memory first.
 * @param {import('./model.js').Trace} trace @param {import('./app.js').Span} range @returns {TableRow[]}
 */
export function counterRows(trace, range) {
	/** @type {TableRow[]} */
	const rows = [];

	for (const { name, unit, process, curve } of trace.counters) {
		const past = lowerBound(curve.time, 0, curve.time.length, range.to);
		const from = Math.max(0, lowerBound(curve.time, 0, curve.time.length, range.from + 1e-3) - 1);
		const values = curve.value.subarray(from, past);
		const of = process === null ? null : trace.model.processes[process];

		if (values.length) {
			rows.push({
				name, unit, process: of ? `${of.name} (${of.pid})` : 'host', first: values[0], last: values[values.length - 1],
				least: values.reduce((low, next) => Math.min(low, next)), most: values.reduce((high, next) => Math.max(high, next)),
			});
		}
	}
	return rows.sort((a, b) => Number(b.unit === 'bytes') - Number(a.unit === 'bytes'));
}
