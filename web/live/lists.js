/*
 * lists.js - threads, processes, places, counters of the program's own, and devices.
 */
import { make } from '../dom.js';
import { safeText } from '../format.js';
import { coresText, flowText, known, numberText, plainWords, rateText, secondsText, shareText, sizeText } from './live_text.js';
import { LiveTable } from './live_table.js';
import { figure, words } from './snapshot.js';
import { setText } from './tiles.js';

/** @typedef {import('./live_app.js').LiveApp} LiveApp */
/** @typedef {import('./live_table.js').LiveColumn} LiveColumn */

/**
 * What it is in, and what it waits for; where nothing is open just now, where it mostly is.
 * @param {Record<string, any>} row
 * @param {Record<string, any>} doing
 * @returns {string}
 */
export function whereText(row, doing) {
	const open = [words(row.scope), words(row.op)].filter(Boolean);
	const mostly = !open.length && row.tid === doing.tid && row.pid === doing.pid && words(doing.most);

	return [...open, mostly ? `mostly ${mostly}` : '', words(row.what)].filter(Boolean).join(' › ');
}

/** @param {LiveApp} app @returns {LiveColumn[]} */
const threadColumns = (app) => [
	{ title: 'Thread', name: true, text: (row) => words(row.name) || '(no name)' },
	{ title: 'Number', minor: true, text: (row) => String(row.tid) },
	{ title: 'Running', text: (row) => shareText(figure(row.cpu)), share: (row) => figure(row.cpu) },
	{ title: 'Queueing', minor: true, text: (row) => shareText(figure(row.queue)) },
	{ title: 'State', word: true, text: (row) => plainWords(words(row.state)) },
	{ title: 'For', text: (row) => (words(row.state) === 'running' ? '' : secondsText(figure(row.waiting_s))) },
	{ title: 'Where', name: true, text: (row) => whereText(row, app.shown?.doing ?? {}) },
];

/** @type {LiveColumn[]} */
const PROCESSES = [
	{ title: 'Process', name: true, text: (row) => words(row.name) || '(no name)' },
	{ title: 'Number', minor: true, text: (row) => String(row.pid) },
	{ title: 'Parent', minor: true, text: (row) => String(row.parent) },
	{ title: 'State', minor: true, text: (row) => words(row.state) },
	{ title: 'Threads', text: (row) => known(figure(row.threads), String) },
	{ title: 'Processors', text: (row) => coresText(figure(row.cpu)), share: (row) => figure(row.cpu) },
	{ title: 'Memory', text: (row) => sizeText(figure(row.rss_bytes)) },
	{ title: 'Read', minor: true, text: (row) => flowText(figure(row.read_bytes)) },
	{ title: 'Written', minor: true, text: (row) => flowText(figure(row.written_bytes)) },
];

/** @type {LiveColumn[]} */
const PLACES = [
	{ title: 'Name', name: true, text: (row) => words(row.name) || '(no name)' },
	{ title: 'Kind', minor: true, word: true, text: (row) => plainWords(words(row.kind)) },
	{ title: 'Share', text: (row) => shareText(figure(row.share)), share: (row) => figure(row.share) },
	{ title: 'Calls', text: (row) => rateText(figure(row.calls)) },
];

/** @type {LiveColumn[]} */
const COUNTERS = [
	{ title: 'Name', name: true, text: (row) => words(row.name) || '(no name)' },
	{ title: 'Value', text: (row) => numberText(figure(row.value)) },
];

/** @type {LiveColumn[]} */
const GPUS = [
	{ title: 'GPU', name: true, text: (row) => `${figure(row.number)} ${words(row.name)}` },
	{ title: 'Busy', text: (row) => shareText(figure(row.utilization)), share: (row) => figure(row.utilization) },
	{
		title: 'Memory', text: (row) => `${sizeText(figure(row.memory_used_bytes))} of ${sizeText(figure(row.memory_total_bytes))}`,
		share: (row) => figure(row.memory_used_bytes) / figure(row.memory_total_bytes),
	},
	{ title: 'Clock', minor: true, text: (row) => known(figure(row.sm_clock_mhz), (value) => `${Math.round(value)} MHz`) },
	{ title: 'Power', minor: true, text: (row) => known(figure(row.power_watts), (value) => `${Math.round(value)} W`) },
	{ title: 'Heat', minor: true, text: (row) => known(figure(row.temperature_celsius), (value) => `${Math.round(value)} °C`) },
];

/** @type {LiveColumn[]} */
const DISKS = [
	{ title: 'Disk', name: true, text: (row) => words(row.name) },
	{ title: 'Busy', text: (row) => shareText(figure(row.busy)), share: (row) => figure(row.busy) },
	{ title: 'Read', text: (row) => flowText(figure(row.read_bytes)) },
	{ title: 'Written', text: (row) => flowText(figure(row.written_bytes)) },
];

/** @type {LiveColumn[]} */
const INTERFACES = [
	{ title: 'Interface', name: true, text: (row) => words(row.name) },
	{ title: 'Received', text: (row) => flowText(figure(row.received_bytes)) },
	{ title: 'Sent', text: (row) => flowText(figure(row.sent_bytes)) },
	{ title: 'Errors', minor: true, text: (row) => rateText(figure(row.errors)) },
];

/** The one whole of all shares. @param {Record<string, any>} doing @returns {string} */
export function wholeText(doing) {
	const thread = safeText(words(doing.thread));

	return thread ? `Of the time of ${thread}, last ${Math.round(figure(doing.window_s) || 0)} s; each moment is in one line.` : '';
}

/** @param {unknown} list @returns {Record<string, any>[]} */
function rowsOf(list) {
	return Array.isArray(list) ? list.filter((row) => typeof row === 'object' && row !== null) : [];
}

/**
 * @param {LiveApp} app
 * @param {HTMLElement} section
 * @param {string} caption
 * @param {LiveColumn[]} columns
 * @param {number} most
 * @param {(s: import('./snapshot.js').Snapshot) => [unknown, number]} rows and how many were left out
 * @returns {() => boolean} draws it; whether there is anything in it
 */
function listOf(app, section, caption, columns, most, rows) {
	const table = new LiveTable(section, { caption, columns, most, redraw: () => app.draw() });

	return () => {
		const [list, leftOut] = app.shown ? rows(app.shown) : [[], 0];

		table.update(rowsOf(list), leftOut);
		return rowsOf(list).length > 0;
	};
}

/** @param {LiveApp} app @param {(id: string) => HTMLElement} section */
export function makeLists(app, section) {
	const devices = section('devices');
	const none = make('p', { class: 'more' });
	const whole = make('p', { class: 'more' });

	section('places').append(whole);
	const alone = [
		{ id: 'threads', draw: listOf(app, section('threads'), 'Threads', threadColumns(app), 20, (s) => [s.threads, s.threads_left_out]) },
		{
			id: 'processes',
			draw: listOf(app, section('processes'), 'Processes', PROCESSES, 12, (s) => [s.processes, s.processes_left_out]),
		},
		{ id: 'places', draw: listOf(app, section('places'), 'Scopes, operators and functions', PLACES, 12, (s) => [s.places, 0]) },
		{ id: 'kernels', draw: listOf(app, section('kernels'), 'Work of devices', PLACES, 12, (s) => [s.kernels, 0]) },
		{ id: 'counters', draw: listOf(app, section('counters'), 'What the program counts itself', COUNTERS, 12, (s) => [s.counters, 0]) },
	];
	const together = [
		listOf(app, devices, 'GPUs', GPUS, 8, (s) => [s.gpus, 0]),
		listOf(app, devices, 'Disks', DISKS, 6, (s) => [s.io.disks, 0]),
		listOf(app, devices, 'Interfaces', INTERFACES, 6, (s) => [s.network.interfaces, 0]),
	];

	devices.append(none);
	app.add(() => {
		for (const { id, draw } of alone)
			section(id).hidden = !draw();
		setText(whole, wholeText(app.shown?.doing ?? {}));
		const there = together.map((draw) => draw());
		const source = app.shown && !there[0] ? words(app.shown.gpu_source) : '';

		setText(none, source ? `No GPU: ${safeText(source.replace(/^none: /, ''))}` : '');
		devices.hidden = !there.some(Boolean) && !source;
	});
}
