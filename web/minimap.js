/*
 * minimap.js - the whole run above the timeline: how busy it was, and what part of it is shown.
 */
import { make, sizedContext } from './dom.js';
import { rowTime } from './rows.js';
import { CATEGORIES, COLORS, LEVEL_FULL, SHADES } from './colors.js';

const MAP_HEIGHT = 44;
const GRIP = 6; /* pixels beside an edge of the window that take hold of it */
const ROWS_MOST = 400;
const DEVICE_FILL = LEVEL_FULL * COLORS + CATEGORIES.indexOf('kernel') * SHADES + 2;

export class Minimap {
	/** @param {import('./app.js').App} app @param {HTMLElement} section */
	constructor(app, section) {
		this.app = app;
		this.canvas = make('canvas', { class: 'minimap', 'aria-hidden': 'true' });
		section.append(this.canvas);
		this.width = 0;
		/** @type {HTMLCanvasElement | null} what does not move, drawn once */
		this.still = null;
		this.wanted = 0;
		app.on('view', () => this.invalidate());
		app.on('range', () => this.invalidate());
		app.on('palette', () => {
			this.still = null;
			this.invalidate();
		});
		this.canvas.addEventListener('pointerdown', (event) => this.press(event));
		this.canvas.style.touchAction = 'pan-y';
		new ResizeObserver(() => this.invalidate()).observe(this.canvas);
	}

	invalidate() {
		if (!this.wanted)
			this.wanted = requestAnimationFrame(() => this.draw());
	}

	/**
	 * How busy tracks of a kind were, column by column, 0 to 1.
	 * @param {(kind: string) => boolean} wanted
	 * @returns {Float64Array}
	 */
	busy(wanted) {
		const { trace } = this.app;
		const columns = new Float64Array(this.width);
		const each = trace.duration / this.width;
		/** @type {number[]} */
		const rows = [];

		trace.model.tracks.forEach((track, i) => {
			if (wanted(track.kind))
				rows.push(trace.slices.trackRow[i]);
		});
		for (const row of rows.slice(0, ROWS_MOST)) {
			for (let i = 0; i < columns.length; i++)
				columns[i] += rowTime(trace.slices, row, i * each, (i + 1) * each) / each;
		}
		const most = columns.reduce((high, value) => Math.max(high, value), 1);

		return columns.map((value) => value / most);
	}

	/** @returns {HTMLCanvasElement} */
	drawStill() {
		const canvas = document.createElement('canvas');
		const context = sizedContext(canvas, this.width, MAP_HEIGHT);
		const { palette } = this.app;

		if (!context)
			return canvas;
		context.fillStyle = palette.background;
		context.fillRect(0, 0, this.width, MAP_HEIGHT);
		this.drawLane(context, this.busy((kind) => kind !== 'stream'), 22, palette.states[0]);
		this.drawLane(context, this.busy((kind) => kind === 'stream'), 42, palette.fills[DEVICE_FILL]);
		return canvas;
	}

	/** @param {CanvasRenderingContext2D} context @param {Float64Array} columns @param {number} bottom @param {string} color */
	drawLane(context, columns, bottom, color) {
		context.fillStyle = color;
		columns.forEach((value, x) => {
			if (value > 0)
				context.fillRect(x, bottom - 19 * value, 1, Math.max(1, 19 * value));
		});
	}

	draw() {
		this.wanted = 0;
		const width = this.canvas.clientWidth;

		if (!width)
			return;
		if (width !== this.width || !this.still) {
			this.width = width;
			this.still = this.drawStill();
		}
		const context = sizedContext(this.canvas, width, MAP_HEIGHT);

		if (!context)
			return;
		context.drawImage(this.still, 0, 0, width, MAP_HEIGHT);
		this.drawWindow(context);
	}

	/** @param {CanvasRenderingContext2D} context */
	drawWindow(context) {
		const { view, palette, range, mark, trace } = this.app;
		const scale = this.width / trace.duration;
		const from = view.from * scale;
		const width = Math.max(2, (view.to - view.from) * scale);

		context.fillStyle = palette.background;
		context.globalAlpha = 0.55;
		context.fillRect(0, 0, from, MAP_HEIGHT);
		context.fillRect(from + width, 0, this.width, MAP_HEIGHT);
		context.globalAlpha = 1;
		this.drawMark(context, mark, palette.high);
		this.drawMark(context, range, palette.accent);
		context.strokeStyle = palette.accent;
		context.lineWidth = 2;
		context.strokeRect(from + 1, 1, Math.max(1, width - 2), MAP_HEIGHT - 2);
	}

	/** @param {CanvasRenderingContext2D} context @param {import('./app.js').Span | null} span @param {string} color */
	drawMark(context, span, color) {
		const scale = this.width / this.app.trace.duration;

		context.fillStyle = color;
		if (span)
			context.fillRect(span.from * scale, 0, Math.max(2, (span.to - span.from) * scale), 3);
	}

	/** A press within the window moves it, at its edge resizes it, elsewhere draws a new one. @param {PointerEvent} event */
	press(event) {
		const { app, canvas } = this;
		const scale = app.trace.duration / Math.max(1, this.width);
		/** @param {PointerEvent} at */
		const timeOf = (at) => (at.clientX - canvas.getBoundingClientRect().left) * scale;
		const begin = timeOf(event);
		const before = app.view;
		const edge = [before.from, before.to].find((time) => Math.abs(time - begin) < GRIP * scale);
		const inside = begin > before.from && begin < before.to && before.to - before.from < app.trace.duration;
		const fixed = edge === undefined ? begin : before.from + before.to - edge;
		let moved = false;

		/** @param {PointerEvent} next */
		const move = (next) => {
			const time = timeOf(next);

			moved ||= Math.abs(time - begin) > 3 * scale;
			if (!moved)
				return;
			if (edge === undefined && inside)
				app.setView({ from: before.from + time - begin, to: before.to + time - begin }, 'pan');
			else
				app.setView({ from: Math.min(fixed, time), to: Math.max(fixed, time) }, 'zoom');
		};
		const end = () => {
			canvas.removeEventListener('pointermove', move);
			if (!moved) {
				const half = (before.to - before.from) / 2;

				app.glide({ from: begin - half, to: begin + half });
			}
		};

		canvas.setPointerCapture(event.pointerId);
		canvas.addEventListener('pointermove', move);
		canvas.addEventListener('pointerup', end, { once: true });
		canvas.addEventListener('pointercancel', () => canvas.removeEventListener('pointermove', move), { once: true });
	}
}
