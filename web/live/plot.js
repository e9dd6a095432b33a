/*
 * plot.js - a line of what was, in a canvas.
 */
import { sizedContext } from '../dom.js';
import { mixColors, colorText, parseColor } from '../colors.js';

const HEIGHT = 44;
const SPAN_S = 300; /* at most, of what is shown */

/**
 * The least and the largest value of each column of pixels, from the newest point back.
 * @param {import('./ring.js').Ring} ring
 * @param {string} name
 * @param {number} columns
 * @param {number} span s
 * @returns {{low: Float64Array, high: Float64Array, most: number}} NaN: no point there
 */
export function columnsOf(ring, name, columns, span) {
	const low = new Float64Array(columns).fill(NaN);
	const high = new Float64Array(columns).fill(NaN);
	const end = ring.newest();
	let most = 0;

	for (let i = ring.count - 1; i >= 0; i--) {
		const before = end - ring.at('run_s', i);
		const value = ring.at(name, i);
		const column = columns - 1 - Math.floor((before / span) * columns);

		if (before > span)
			break;
		if (!Number.isFinite(value) || column < 0)
			continue;
		low[column] = Number.isNaN(low[column]) ? value : Math.min(low[column], value);
		high[column] = Number.isNaN(high[column]) ? value : Math.max(high[column], value);
		most = Math.max(most, value);
	}
	return { low, high, most };
}

/** @param {import('./ring.js').Ring} ring @returns {number} s that are shown */
export function spanOf(ring) {
	const age = ring.count ? ring.newest() - ring.at('run_s', 0) : 0;

	return Math.min(SPAN_S, Math.max(30, age));
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {{low: Float64Array, high: Float64Array}} columns
 * @param {(value: number) => number} y
 * @param {boolean} filled
 */
function strokeColumns(context, columns, y, filled) {
	let last = -1;

	context.beginPath();
	for (let x = 0; x < columns.high.length; x++) {
		if (Number.isNaN(columns.high[x]))
			continue;
		if (last < 0)
			context.moveTo(x, y(columns.high[x]));
		else
			context.lineTo(x, y(columns.high[x]));
		context.lineTo(x, y(columns.low[x]));
		last = x;
	}
	if (filled && last >= 0) {
		const first = columns.high.findIndex((value) => !Number.isNaN(value));

		context.lineTo(last, HEIGHT);
		context.lineTo(first, HEIGHT);
		context.fill();
	} else {
		context.stroke();
	}
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {import('./live_app.js').LiveApp} app
 * @param {{series: string[], top?: number}} what the second series is drawn as a line of its own; top: what the height is at least
 */
export function drawPlot(canvas, app, what) {
	const width = Math.floor(canvas.clientWidth);
	const context = width > 0 ? sizedContext(canvas, width, HEIGHT) : null;

	if (!context)
		return;
	const span = spanOf(app.ring);
	const all = what.series.map((name) => columnsOf(app.ring, name, width, span));
	const most = Math.max(what.top ?? 0, ...all.map((one) => one.most * 1.1)) || 1;
	/** @param {number} value @returns {number} */
	const y = (value) => HEIGHT - 1 - (value / most) * (HEIGHT - 3);
	const colors = [app.palette.accent, app.palette.states[9]];

	context.fillStyle = app.palette.surface;
	context.fillRect(0, 0, width, HEIGHT);
	context.lineWidth = 1.5;
	context.lineJoin = 'round';
	all.forEach((columns, i) => {
		if (i === 0) {
			context.fillStyle = colorText(mixColors(parseColor(app.palette.surface), parseColor(colors[0]), 0.16));
			strokeColumns(context, columns, y, true);
		}
		context.strokeStyle = colors[i] ?? colors[0];
		strokeColumns(context, columns, y, false);
	});
	context.fillStyle = app.palette.border;
	context.fillRect(0, HEIGHT - 1, width, 1);
}
