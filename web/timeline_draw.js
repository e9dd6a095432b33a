/*
 * timeline_draw.js - what is in view of a track or a counter, as rectangles.
 *
 * Slices narrower than a bucket are drawn as buckets, as strongly as they are full. The width of buckets is a power of two of
 * nanoseconds, counted from time 0, so that nothing flickers while the reader moves along.
 */
import { COLORS, LEVEL_FULL, LEVEL_FAINT } from './colors.js';
import { firstFrom, gallop, lowerBound } from './rows.js';
import { labelText } from './model.js';
import { LABEL_LEAST } from './batch.js';
import { rowTop, rowHeight } from './layout.js';
import { valueText } from './format.js';

/**
 * @typedef {object} Frame
 * @property {CanvasRenderingContext2D} context
 * @property {import('./app.js').App} app
 * @property {import('./batch.js').Batch} batch
 * @property {number} left where time begins
 * @property {number} right
 * @property {number} scale pixels for a ns
 * @property {number} bucket ns
 * @property {boolean} sums what is smaller than a bucket is told by data-buckets
 * @property {number} scroll pixels above the canvas
 * @property {number} height of the canvas
 * @property {string[]} texts by label, as shown; filled as needed
 */

/** @param {Frame} frame @param {number} time @returns {number} */
export function timeX(frame, time) {
	return frame.left + (time - frame.app.view.from) * frame.scale;
}

/** @param {Frame} frame @param {number} label @returns {string} */
function shownText(frame, label) {
	return (frame.texts[label] ??= labelText(frame.app.trace, label));
}

/** @param {Frame} frame @param {number} label @param {number} level @returns {number} */
function fillOf(frame, label, level) {
	const { highlight, trace } = frame.app;
	const shown = highlight && !highlight[label] ? LEVEL_FAINT : level;

	return shown * COLORS + trace.colors[Math.min(label, trace.colors.length - 1)];
}

/**
 * The label that stands for slices i to past: the longest of a few, and one that is searched for before all others.
 * @param {Frame} frame
 * @param {number} first
 * @param {number} past
 * @returns {number}
 */
function leadingLabel(frame, first, past) {
	const { start, end, label } = frame.app.trace.slices;
	const { highlight } = frame.app;
	const step = highlight ? 1 : Math.max(1, (past - first) >> 2);
	let best = first;
	let longest = -1;

	for (let i = first; i < past; i += step) {
		const length = end[i] - start[i] + (highlight?.[label[i]] ? 1e15 : 0);

		if (length > longest) {
			longest = length;
			best = i;
		}
		if (highlight && longest >= 1e15)
			break;
	}
	return label[best];
}

/** @param {number} share @returns {number} */
function levelOf(share) {
	return share > 0.75 ? 3 : share > 0.45 ? 2 : share > 0.15 ? 1 : 0;
}

/**
 * @param {Frame} frame
 * @param {number} row over all tracks
 * @param {number} y
 * @param {number} height
 */
function drawRow(frame, row, y, height) {
	const { slices } = frame.app.trace;
	const { start, end, sum, label } = slices;
	const { bucket, batch, left, right } = frame;
	const past = slices.rowFirst[row + 1];
	const to = frame.app.view.to;
	let i = firstFrom(slices, row, frame.app.view.from);

	while (i < past && start[i] < to) {
		if (end[i] - start[i] >= bucket) {
			const x = Math.max(left, timeX(frame, start[i]));
			const width = Math.min(right, timeX(frame, end[i])) - x;
			const fill = fillOf(frame, label[i], LEVEL_FULL);

			batch.add(x, y, Math.max(1, width > 4 ? width - 1 : width), height, fill);
			if (width >= LABEL_LEAST && height > 10 && fill < LEVEL_FAINT * COLORS)
				batch.label(x, y + height / 2 + 0.5, width, fill % COLORS, shownText(frame, label[i]));
			i++;
			continue;
		}
		const begin = Math.floor(start[i] / bucket) * bucket;
		let next = gallop(start, i, past, begin + bucket);

		/* the last that begins here may be long: it is drawn for itself */
		if (next - 1 > i && end[next - 1] - start[next - 1] >= bucket)
			next--;
		next = Math.max(next, i + 1);
		if (!frame.sums) {
			const x = Math.max(left, timeX(frame, begin));
			const width = Math.max(1, Math.min(right, timeX(frame, begin + bucket)) - x);

			batch.add(x, y, width, height, fillOf(frame, leadingLabel(frame, i, next), levelOf((sum[next] - sum[i]) / bucket)));
		}
		i = next;
	}
}

/**
 * What is known of slices that are not in the page: see "Buckets" in docs/report-page.md.
 * @param {Frame} frame
 * @param {number} row
 * @param {number} y
 * @param {number} height
 */
function drawBuckets(frame, row, y, height) {
	const lane = frame.app.trace.buckets[row];
	const width = frame.app.trace.duration / Math.max(1, frame.app.trace.model.buckets);

	if (!lane)
		return;
	let i = lowerBound(lane.at, 0, lane.at.length, Math.floor(frame.app.view.from / width));

	for (; i < lane.at.length && lane.at[i] * width < frame.app.view.to; i++) {
		const x = Math.max(frame.left, timeX(frame, lane.at[i] * width));
		const wide = Math.min(frame.right, timeX(frame, (lane.at[i] + 1) * width)) - x;
		const level = Math.min(2, levelOf(lane.full[i] / 255));

		frame.batch.add(x, y, Math.max(1, wide), height, fillOf(frame, lane.label[i], level));
		if (wide >= 90 && height > 10)
			frame.batch.label(x, y + height / 2 + 0.5, wide, -1, `aggregated: ${shownText(frame, lane.label[i])}`);
	}
}

/** @param {Frame} frame @param {import('./layout.js').LayoutItem} item @param {(row: number, y: number, height: number) => void} draw */
function eachRow(frame, item, draw) {
	const first = frame.app.trace.slices.trackRow[item.index];

	for (let row = 0; row < item.rows; row++) {
		const height = rowHeight(item, row);
		const y = rowTop(item, row) - frame.scroll;

		if (y + height >= 0 && y <= frame.height)
			draw(first + row, y, height - 1);
	}
}

/** @param {Frame} frame @param {import('./layout.js').LayoutItem} item */
export function drawTrackBuckets(frame, item) {
	eachRow(frame, item, (row, y, height) => drawBuckets(frame, row, y, height));
}

/** @param {Frame} frame @param {import('./layout.js').LayoutItem} item */
export function drawTrackSlices(frame, item) {
	eachRow(frame, item, (row, y, height) => drawRow(frame, row, y, height));
}

/**
 * A strip of what a thread was seen to do, above its slices.
 * @param {Frame} frame
 * @param {import('./layout.js').LayoutItem} item
 */
export function drawStates(frame, item) {
	const lane = frame.app.trace.states.get(item.index);
	const { context } = frame;
	const y = item.bodyTop - 6 - frame.scroll;

	if (!lane)
		return;
	let i = lowerBound(lane.end, 0, lane.end.length, frame.app.view.from);

	while (i < lane.start.length && lane.start[i] < frame.app.view.to) {
		const x = Math.max(frame.left, timeX(frame, lane.start[i]));
		const edge = Math.min(frame.right, timeX(frame, lane.end[i]));

		context.fillStyle = frame.app.palette.states[lane.kind[i]] ?? frame.app.palette.muted;
		context.fillRect(x, y, Math.max(1, edge - x), 4);
		/* no more than one for each pixel */
		i = edge - x >= 1 ? i + 1 : Math.max(i + 1, lowerBound(lane.end, i, lane.end.length, lane.start[i] + 1 / frame.scale));
	}
}

/**
 * The points in view, one before and one after.
 * @param {Frame} frame
 * @param {import('./decode.js').Curve} curve
 * @returns {[number, number]}
 */
function pointsInView(frame, curve) {
	const count = curve.time.length;
	const first = lowerBound(curve.time, 0, count, frame.app.view.from);

	return [Math.max(0, first - 1), Math.min(count, lowerBound(curve.time, first, count, frame.app.view.to) + 1)];
}

/**
 * @param {Frame} frame
 * @param {import('./decode.js').Curve} curve
 * @param {(value: number) => number} place
 */
function drawCurve(frame, curve, place) {
	const { context } = frame;
	const [first, past] = pointsInView(frame, curve);
	const columns = past - first > 2 * (frame.right - frame.left);

	context.beginPath();
	for (let i = first; i < past; i++) {
		const x = Math.min(frame.right, Math.max(frame.left, timeX(frame, curve.time[i])));
		const y = place(curve.value[i]);

		if (i === first)
			context.moveTo(x, y);
		else if (columns)
			context.lineTo(x, y);
		else
			lineStep(context, x, y, place(curve.value[i - 1]));
	}
	if (past > first)
		context.lineTo(Math.min(frame.right, timeX(frame, frame.app.trace.duration)), place(curve.value[past - 1]));
	context.stroke();
}

/** @param {CanvasRenderingContext2D} context @param {number} x @param {number} y @param {number} before */
function lineStep(context, x, y, before) {
	context.lineTo(x, before);
	context.lineTo(x, y);
}

/** @param {Frame} frame @param {import('./layout.js').LayoutItem} item */
export function drawCounter(frame, item) {
	const { curve, unit } = frame.app.trace.counters[item.index];
	const { context } = frame;

	if (!item.open)
		return;
	const top = item.bodyTop - frame.scroll + 3;
	const bottom = top + 32;
	const low = Math.min(0, curve.low);
	const span = Math.max(1.15 * (curve.high - low), 1e-12); /* room for the text above */

	context.strokeStyle = frame.app.palette.accent;
	context.lineWidth = 1;
	drawCurve(frame, curve, (value) => bottom - (value - low) / span * (bottom - top));
	const text = `up to ${valueText(curve.high, unit)}`;
	const width = text.length * frame.batch.characterWidth + 8;

	context.fillStyle = frame.app.palette.background;
	context.fillRect(frame.right - width, top - 2, width, 13);
	context.fillStyle = frame.app.palette.muted;
	context.fillText(text, frame.right - width + 4, top + 5);
}
