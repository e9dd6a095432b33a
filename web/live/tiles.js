/*
 * tiles.js - the figures at the top, each with how it was.
 */
import { make } from '../dom.js';
import { figure, gpuMean } from './snapshot.js';
import { coresText, flowText, known, rateText, secondsText, shareText, sizeText, UNKNOWN } from './live_text.js';
import { drawPlot } from './plot.js';

const SPAN = 60; /* columns of the grid: rows of one to six tiles fill it */

/** @typedef {import('./snapshot.js').Snapshot} Snapshot */

/**
 * @typedef {object} TileKind
 * @property {string} title
 * @property {string[]} series
 * @property {(s: Snapshot) => string} value
 * @property {(s: Snapshot) => string} more
 * @property {(s: Snapshot) => boolean} [there]
 * @property {(s: Snapshot) => number} [top] the height of the plot, at least
 */

/** @param {...string} parts @returns {string} those that say something */
function joined(...parts) {
	return parts.filter((part) => part && !part.startsWith(UNKNOWN)).join(' · ');
}

/** @param {Snapshot} s @returns {string} */
function gpuMore(s) {
	const used = s.gpus.reduce((sum, gpu) => sum + figure(gpu.memory_used_bytes), 0);
	const total = s.gpus.reduce((sum, gpu) => sum + figure(gpu.memory_total_bytes), 0);

	return joined(known(used, (value) => `${sizeText(value)} of ${sizeText(total)}`), s.gpus.length > 1 ? `${s.gpus.length} devices` : '');
}

/** @type {TileKind[]} */
const TILES = [
	{
		title: 'Step time', series: ['step_s'], there: (s) => s.steps.known === true, value: (s) => secondsText(figure(s.steps.last_s)),
		more: (s) => joined(known(figure(s.steps.median_s), (value) => `median ${secondsText(value)}`),
			known(figure(s.steps.p95_s), (value) => `p95 ${secondsText(value)}`)),
	},
	{
		title: 'Throughput', series: ['step_rate'], there: (s) => s.steps.known === true, value: (s) => rateText(figure(s.steps.rate)),
		more: (s) => joined(`step ${figure(s.steps.count)}`,
			known(figure(s.steps.input_wait), (value) => `input wait ${shareText(value)}`)),
	},
	{
		title: 'Processors', series: ['cpu'], value: (s) => coresText(figure(s.cpu.share)), top: (s) => figure(s.cpu.available) || 1,
		more: (s) => joined(known(figure(s.cpu.available), (value) => `of ${Number(value.toFixed(2))}`),
			known(figure(s.cpu.machine), (value) => `machine ${shareText(value)}`),
			figure(s.cpu.queue) > 0.05 ? `queueing ${coresText(figure(s.cpu.queue))}` : ''),
	},
	{
		title: 'Memory', series: ['rss_bytes'], value: (s) => sizeText(figure(s.memory.rss_bytes)),
		more: (s) => joined(known(figure(s.memory.used), (value) => `${shareText(value)} of ${sizeText(figure(s.memory.total_bytes))}`),
			s.memory.limited ? 'limit of the container' : '',
			figure(s.memory.swap_bytes) > 0 ? `swap ${sizeText(figure(s.memory.swap_bytes))}` : ''),
	},
	{
		title: 'GPU', series: ['gpu'], there: (s) => s.gpus.length > 0, value: (s) => shareText(gpuMean(s)), more: gpuMore, top: () => 1,
	},
	{
		title: 'Read from disk', series: ['read_bytes', 'written_bytes'], value: (s) => flowText(figure(s.io.read_bytes)),
		more: (s) => joined(known(figure(s.io.written_bytes), (value) => `written ${flowText(value)}`),
			figure(s.io.waiting) >= 0.05 ? `${figure(s.io.waiting).toFixed(1)} threads wait` : ''),
	},
	{
		title: 'Received', series: ['received_bytes', 'sent_bytes'],
		value: (s) => flowText(figure(s.network.received_bytes)),
		more: (s) => known(figure(s.network.sent_bytes), (value) => `sent ${flowText(value)}`),
	},
	{
		title: 'Events', series: ['events'], there: (s) => s.events.recorded === true, value: (s) => rateText(figure(s.events.rate)),
		more: (s) => joined(figure(s.events.lost) > 0 ? `${figure(s.events.lost)} lost` : 'none lost',
			sizeText(figure(s.events.trace_bytes))),
	},
];

class Tile {
	/** @param {import('./live_app.js').LiveApp} app @param {TileKind} kind */
	constructor(app, kind) {
		this.app = app;
		this.kind = kind;
		this.value = make('dd', { class: 'value' });
		this.more = make('dd', { class: 'more' });
		this.canvas = kind.series.length ? make('canvas', { class: 'spark', 'aria-hidden': 'true' }) : null;
		this.root = make('div', { class: 'tile' }, make('dt', {}, kind.title), this.value, this.more);
		if (this.canvas)
			this.root.append(make('dd', { class: 'plot' }, this.canvas));
	}

	/** @param {Snapshot} s */
	update(s) {
		const { kind } = this;

		if (this.root.hidden)
			return;
		setText(this.value, kind.value(s));
		setText(this.more, kind.more(s) || '\u00a0');
		if (this.canvas)
			drawPlot(this.canvas, this.app, { series: kind.series, top: kind.top?.(s) });
	}
}

/** Touches the document only where something is new. @param {Element} element @param {string} text */
export function setText(element, text) {
	if (element.textContent !== text)
		element.textContent = text;
}

/**
 * Rows are as even as they can be, and full: no row has a hole.
 * @param {number} count of tiles
 * @param {number} width of all of them
 * @returns {number[]} of how many of SPAN columns each is
 */
export function spansOf(count, width) {
	const most = width >= 1000 ? 5 : width >= 640 ? 4 : 2;
	const rows = Math.ceil(count / most);
	const spans = [];

	for (let row = 0; row < rows; row++) {
		const size = Math.floor(count / rows) + (row < count % rows ? 1 : 0);

		spans.push(...new Array(size).fill(SPAN / size));
	}
	return spans;
}

/** @param {Tile[]} tiles @param {HTMLElement} place */
function arrange(tiles, place) {
	const there = tiles.filter((tile) => !tile.root.hidden);
	const spans = spansOf(there.length, place.clientWidth);

	there.forEach((tile, i) => {
		const column = `span ${spans[i]}`;

		if (tile.root.style.gridColumn !== column)
			tile.root.style.gridColumn = column;
	});
}

/** @param {import('./live_app.js').LiveApp} app @param {HTMLElement} place */
export function makeTiles(app, place) {
	const tiles = TILES.map((kind) => new Tile(app, kind));

	place.append(...tiles.map((tile) => tile.root));
	app.add(() => {
		const { shown } = app;

		if (!shown)
			return;
		for (const tile of tiles)
			tile.root.hidden = tile.kind.there ? !tile.kind.there(shown) : false;
		arrange(tiles, place);
		tiles.forEach((tile) => tile.update(shown));
	});
	new ResizeObserver(() => app.draw()).observe(place);
}
