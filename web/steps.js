/*
 * steps.js - how long each step took; a click goes to it.
 */
import { make, makeButton, makeCanvas, sizedContext } from './dom.js';
import { countText, timeText } from './format.js';
import { COLORS, LEVEL_FULL, CATEGORIES, SHADES } from './colors.js';

const CHART_HEIGHT = 120;
const CHART_LEFT = 64;
const CHART_BOTTOM = 18;

export class Steps {
	/**
	 * @param {import('./app.js').App} app
	 * @param {HTMLElement} section
	 * @param {import('./tip.js').Tip} tip
	 */
	constructor(app, section, tip) {
		this.app = app;
		this.tip = tip;
		this.steps = app.trace.model.steps_ns.map(([from, to, number]) => ({ from, to, number, length: to - from }));
		const lengths = this.steps.map((step) => step.length).sort((a, b) => a - b);

		this.most = lengths[lengths.length - 1] ?? 1;
		this.median = lengths[(lengths.length - 1) >> 1] ?? 0;
		this.focus = -1;
		this.width = 800;
		this.wanted = 0;
		this.canvas = makeCanvas('Length of each step. Left and right choose one, Enter shows it in the timeline.', 'steps-canvas');
		this.reading = make('span', { class: 'reading', role: 'status' });
		section.append(this.makeToolbar(), this.canvas);
		this.listen();
		this.read();
	}

	/** @returns {HTMLElement} */
	makeToolbar() {
		return make('div', { class: 'toolbar', role: 'toolbar', 'aria-label': 'Steps' },
			makeButton('Slowest', () => this.go(this.extreme((a, b) => a > b))),
			makeButton('Median', () => this.go(this.middle())),
			makeButton('Fastest', () => this.go(this.extreme((a, b) => a < b))), this.reading);
	}

	/** @param {(a: number, b: number) => boolean} better @returns {number} */
	extreme(better) {
		return this.steps.reduce((best, step, i) => (best < 0 || better(step.length, this.steps[best].length) ? i : best), -1);
	}

	/** @returns {number} */
	middle() {
		return this.steps.findIndex((step) => step.length === this.median);
	}

	listen() {
		this.app.on('palette', () => this.invalidate());
		this.app.on('view', () => this.invalidate());
		this.canvas.addEventListener('click', (event) => this.go(this.stepAt(event)));
		this.canvas.addEventListener('pointermove', (event) => this.hover(event));
		this.canvas.addEventListener('pointerleave', () => this.tip.hide());
		this.canvas.addEventListener('keydown', (event) => this.key(event));
		new ResizeObserver(() => {
			this.width = this.canvas.clientWidth || this.width;
			this.invalidate();
		}).observe(this.canvas);
	}

	invalidate() {
		if (!this.wanted)
			this.wanted = requestAnimationFrame(() => this.draw());
	}

	/** @param {number} place @returns {string} */
	describe(place) {
		const step = this.steps[place];

		return `step ${step.number}: ${timeText(step.length)}, ${(step.length / Math.max(1, this.median)).toFixed(2)} of the median`;
	}

	read() {
		this.reading.textContent = this.focus >= 0 ? this.describe(this.focus)
			: `${countText(this.steps.length)} steps, median ${timeText(this.median)}, longest ${timeText(this.most)}`;
	}

	/** @param {number} place */
	go(place) {
		if (place < 0)
			return;
		this.focus = place;
		this.read();
		this.invalidate();
		this.app.show(this.steps[place], 0.8);
	}

	/** @param {MouseEvent} event @returns {number} */
	stepAt(event) {
		const x = event.clientX - this.canvas.getBoundingClientRect().left - CHART_LEFT;
		const place = Math.floor(x / Math.max(1, this.width - CHART_LEFT) * this.steps.length);

		return place >= 0 && place < this.steps.length ? place : -1;
	}

	/** @param {PointerEvent} event */
	hover(event) {
		const place = event.pointerType === 'mouse' ? this.stepAt(event) : -1;

		if (place >= 0)
			this.tip.show(this.describe(place), event.clientX, event.clientY);
		else
			this.tip.hide();
	}

	/** @param {KeyboardEvent} event */
	key(event) {
		const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;

		if (step && !event.ctrlKey && !event.metaKey && !event.altKey) {
			this.focus = Math.max(0, Math.min(this.steps.length - 1, this.focus + step));
			this.read();
			this.invalidate();
		} else if (event.key === 'Enter') {
			this.go(this.focus);
		} else {
			return;
		}
		event.preventDefault();
		event.stopPropagation();
	}

	draw() {
		this.wanted = 0;
		const context = sizedContext(this.canvas, this.width, CHART_HEIGHT);
		const { palette } = this.app;

		if (!context)
			return;
		context.fillStyle = palette.background;
		context.fillRect(0, 0, this.width, CHART_HEIGHT);
		context.font = `11px ${palette.font}`;
		this.drawBars(context);
		this.drawAxis(context);
	}

	/** @param {number} length @returns {number} */
	y(length) {
		return CHART_HEIGHT - CHART_BOTTOM - length / this.most * (CHART_HEIGHT - CHART_BOTTOM - 10);
	}

	/** One bar for a step, or for as many as share a pixel: the longest of them. @param {CanvasRenderingContext2D} context */
	drawBars(context) {
		const { palette, view } = this.app;
		const columns = Math.min(this.steps.length, Math.floor(this.width - CHART_LEFT));
		const wide = (this.width - CHART_LEFT) / Math.max(1, columns);

		for (let i = 0; i < columns; i++) {
			const first = Math.floor(i * this.steps.length / columns);
			const group = this.steps.slice(first, Math.max(first + 1, Math.floor((i + 1) * this.steps.length / columns)));
			const longest = group.reduce((most, step) => Math.max(most, step.length), 0);
			const seen = group.some((step) => step.from < view.to && step.to > view.from) && view.to - view.from < this.app.trace.duration;
			const focused = this.focus >= first && this.focus < first + group.length;

			context.fillStyle = focused ? palette.text : seen ? palette.accent
				: palette.fills[LEVEL_FULL * COLORS + CATEGORIES.indexOf('step') * SHADES + 3];
			const y = this.y(longest);

			context.fillRect(CHART_LEFT + i * wide, y, Math.max(1, wide > 3 ? wide - 1 : wide), CHART_HEIGHT - CHART_BOTTOM - y);
		}
	}

	/** @param {CanvasRenderingContext2D} context */
	drawAxis(context) {
		const { palette } = this.app;
		const y = Math.round(this.y(this.median)) + 0.5;

		context.strokeStyle = palette.high;
		context.lineWidth = 1;
		context.setLineDash([4, 3]);
		context.beginPath();
		context.moveTo(CHART_LEFT, y);
		context.lineTo(this.width, y);
		context.stroke();
		context.setLineDash([]);
		context.fillStyle = palette.muted;
		context.textAlign = 'right';
		context.fillText(timeText(this.most), CHART_LEFT - 4, Math.max(8, this.y(this.most)));
		if (y - this.y(this.most) > 12)
			context.fillText(timeText(this.median), CHART_LEFT - 4, Math.min(CHART_HEIGHT - CHART_BOTTOM - 6, y));
		context.fillText('0', CHART_LEFT - 4, CHART_HEIGHT - CHART_BOTTOM);
		context.fillText(`step ${this.steps[this.steps.length - 1]?.number ?? ''}`, this.width - 4, CHART_HEIGHT - 8);
		context.textAlign = 'left';
		context.fillText(`step ${this.steps[0]?.number ?? ''}`, CHART_LEFT, CHART_HEIGHT - 8);
	}
}
