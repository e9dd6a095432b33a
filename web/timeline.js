/*
 * timeline.js - tracks over time on a canvas that shows the part of them that is scrolled to.
 */
import { Batch } from './batch.js';
import { make, makeCanvas, makeButton, sizedContext } from './dom.js';
import { axisMarks, countText, timeText } from './format.js';
import { LayoutState, layOut, itemAt, rowAt, rowTop, rowHeight, ROW_HEIGHT, ROWS_SHOWN } from './layout.js';
import { drawTrackBuckets, drawTrackSlices, drawStates, drawCounter, timeX } from './timeline_draw.js';
import { lowerBound, rowOf, trackOfRow, sliceAt } from './rows.js';

const AXIS_HEIGHT = 30;
const RECTANGLES_MOST = 10000;
const ARROWS_MOST = 40;
const SUMS_MOST = 4; /* pixels of a bucket of data-buckets up to which it is shown rather than small slices */

/** @param {Set<number>} set @param {number} value */
function toggleIn(set, value) {
	if (!set.delete(value))
		set.add(value);
}

export class Timeline {
	/** @param {import('./app.js').App} app @param {HTMLElement} section */
	constructor(app, section) {
		this.app = app;
		this.axis = make('canvas', { class: 'axis', 'aria-hidden': 'true' });
		this.canvas = makeCanvas('Timeline. Arrow keys move, plus and minus zoom, comma and full stop go from slice to slice.',
			'track-canvas');
		this.space = make('div', { class: 'track-space' }, this.canvas);
		this.scroller = make('div', { class: 'track-scroll' }, this.space);
		section.append(this.axis, this.scroller);
		this.state = new LayoutState();
		this.batch = new Batch();
		/** @type {string[]} */
		this.texts = [];
		this.coarse = 1;
		this.width = 800;
		this.height = 300;
		/** @type {import('./app.js').Span | null} being chosen */
		this.choosing = null;
		/** @type {HTMLButtonElement[]} */
		this.heads = [];
		this.headsKey = '';
		this.wanted = 0;
		this.pending = -1; /* a slice to be in sight when the view has come to rest */
		this.drawn = { ms: 0, rectangles: 0, frames: 0 };
		/** @type {Int32Array | null} slices that the selected one launched */
		this.launched = null;
		this.layout = layOut(app.trace, this.state, app.view, this.width, false);
		this.listen();
	}

	listen() {
		this.app.on('view', () => this.invalidate());
		this.app.on('highlight', () => this.invalidate());
		this.app.on('range', () => this.invalidate());
		this.app.on('palette', () => this.invalidate());
		this.app.on('settled', () => {
			this.relayout(this.app.move === 'pan');
			this.reveal(this.pending);
			this.pending = -1;
		});
		this.app.on('selection', () => {
			this.findLaunched();
			this.reveal(this.app.selection);
			this.pending = this.app.animation ? this.app.selection : -1;
			this.invalidate();
		});
		this.scroller.addEventListener('scroll', () => this.invalidate(), { passive: true });
		new ResizeObserver(() => this.resize()).observe(this.scroller);
	}

	resize() {
		const width = this.scroller.clientWidth;

		if (width && width !== this.width) {
			this.width = width;
			this.relayout(false);
		}
		this.invalidate();
	}

	/** @param {boolean} keep */
	relayout(keep) {
		const top = this.scroller.scrollTop;
		const anchor = itemAt(this.layout, top);
		const away = anchor ? anchor.top - top : 0;

		this.width = this.scroller.clientWidth || this.width;
		this.layout = layOut(this.app.trace, this.state, this.app.view, this.width, keep);
		this.space.style.height = `${this.layout.height}px`;
		const most = Math.max(240, Math.round(window.innerHeight * 0.66));

		this.height = Math.max(60, Math.min(most, this.layout.height));
		this.scroller.style.height = `${this.height}px`;
		const same = anchor && this.layout.items.find((item) => item.kind === anchor.kind && item.index === anchor.index);

		if (same && top > 0)
			this.scroller.scrollTop = same.top - away;
		this.headsKey = '';
		this.invalidate();
	}

	invalidate() {
		if (!this.wanted)
			this.wanted = requestAnimationFrame(() => this.draw());
	}

	/** @returns {import('./timeline_draw.js').Frame | null} */
	frame() {
		const context = sizedContext(this.canvas, this.width, this.height);
		const { view } = this.app;

		if (!context)
			return null;
		const left = this.layout.gutter;
		const scale = Math.max(1, this.width - left) / (view.to - view.from);

		const bucket = this.coarse * 2 ** Math.ceil(Math.log2(1 / scale));
		const { trace, highlight } = this.app;

		return {
			context, app: this.app, batch: this.batch, left, right: this.width, scale, scroll: this.scroller.scrollTop, height: this.height,
			bucket, texts: this.texts,
			sums: trace.buckets.length > 0 && !highlight && trace.duration / trace.model.buckets <= SUMS_MOST * bucket,
		};
	}

	draw() {
		const started = performance.now();
		const frame = this.frame();

		this.wanted = 0;
		if (!frame)
			return;
		const { context } = frame;
		const { palette } = this.app;

		context.fillStyle = palette.background;
		context.fillRect(0, 0, this.width, this.height);
		this.batch.clear();
		this.batch.useFont(context, palette);
		this.drawSteps(frame);
		if (this.app.mark)
			this.drawBand(frame, this.app.mark, palette.high, 0.08);
		this.drawItems(frame);
		this.drawOver(frame);
		this.drawAxis();
		this.placeHeads();
		this.adapt(performance.now() - started);
	}

	/** @param {number} ms that the frame took */
	adapt(ms) {
		this.drawn = { ms, rectangles: this.batch.count, frames: this.drawn.frames + 1 };
		if (this.batch.count > RECTANGLES_MOST && this.coarse < 8)
			this.coarse *= 2;
		else if (this.batch.count < RECTANGLES_MOST / 4 && this.coarse > 1)
			this.coarse /= 2;
	}

	/** @returns {import('./layout.js').LayoutItem[]} */
	itemsInSight() {
		const top = this.scroller.scrollTop;
		const items = this.layout.items;
		const first = itemAt(this.layout, top);
		const from = first ? items.indexOf(first) : items.length;
		let past = from;

		while (past < items.length && items[past].top < top + this.height)
			past++;
		return items.slice(from, past);
	}

	/** @param {import('./timeline_draw.js').Frame} frame */
	drawItems(frame) {
		const items = this.itemsInSight();
		const { context } = frame;

		if (this.app.trace.buckets.length) {
			items.filter((item) => item.kind === 'track').forEach((item) => drawTrackBuckets(frame, item));
			this.batch.drawBoxes(context, this.app.palette);
			this.hatch(frame, items);
			this.batch.drawPlates(context, this.app.palette);
			this.clearWindows(frame);
			this.batch.clear();
		}
		for (const item of items) {
			if (item.kind === 'track') {
				drawTrackSlices(frame, item);
				drawStates(frame, item);
			} else if (item.kind === 'counter') {
				drawCounter(frame, item);
			}
			context.fillStyle = this.app.palette.border;
			context.fillRect(0, Math.round(item.top + item.height - frame.scroll) - 2, this.width, 0.5);
		}
		this.batch.draw(context, this.app.palette);
	}

	/**
	 * Lines over what is only there as sums; slices are drawn above them.
	 * @param {import('./timeline_draw.js').Frame} frame
	 * @param {import('./layout.js').LayoutItem[]} items
	 */
	hatch(frame, items) {
		const { context } = frame;

		context.save();
		context.beginPath();
		for (const item of items) {
			if (item.kind === 'track' && item.rows)
				context.rect(frame.left, item.bodyTop - frame.scroll, this.width, rowTop(item, item.rows) - item.bodyTop);
		}
		context.clip();
		context.beginPath();
		for (let x = frame.left - this.height; x < this.width; x += 6) {
			context.moveTo(x, this.height);
			context.lineTo(x + this.height, 0);
		}
		context.strokeStyle = this.app.palette.background;
		context.lineWidth = 1.5;
		context.stroke();
		context.restore();
	}

	/** Where all slices are here, sums are of no use. @param {import('./timeline_draw.js').Frame} frame */
	clearWindows(frame) {
		if (frame.sums)
			return;
		frame.context.fillStyle = this.app.palette.background;
		for (const [from, to] of this.app.trace.model.windows_ns) {
			const x = Math.max(frame.left, timeX(frame, from));
			const edge = Math.min(frame.right, timeX(frame, to));

			if (edge > x)
				frame.context.fillRect(x, 0, edge - x, this.height);
		}
	}

	/** @param {import('./timeline_draw.js').Frame} frame */
	drawSteps(frame) {
		const steps = this.app.trace.model.steps_ns;

		if (steps.length * 6 > (frame.right - frame.left) * this.app.trace.duration / (this.app.view.to - this.app.view.from))
			return;
		frame.context.fillStyle = this.app.palette.border;
		for (const [begin] of steps) {
			if (begin >= this.app.view.from && begin <= this.app.view.to)
				frame.context.fillRect(Math.round(timeX(frame, begin)), 0, 1, this.height);
		}
	}

	/**
	 * @param {import('./timeline_draw.js').Frame} frame
	 * @param {import('./app.js').Span} span
	 * @param {string} color
	 * @param {number} alpha
	 */
	drawBand(frame, span, color, alpha) {
		const { context } = frame;
		const x = Math.max(frame.left, timeX(frame, span.from));
		const edge = Math.min(frame.right, timeX(frame, span.to));

		if (edge < frame.left || x > frame.right)
			return;
		context.globalAlpha = alpha;
		context.fillStyle = color;
		context.fillRect(x, 0, Math.max(1, edge - x), this.height);
		context.globalAlpha = 1;
		context.fillRect(x, 0, 1, this.height);
		context.fillRect(Math.max(x, edge - 1), 0, 1, this.height);
	}

	/** @param {import('./timeline_draw.js').Frame} frame */
	drawOver(frame) {
		const { app } = this;
		const { context } = frame;

		if (app.mark)
			this.drawBand(frame, app.mark, app.palette.high, 0);
		const range = this.choosing ?? app.range;

		if (range)
			this.drawBand(frame, range, app.palette.accent, 0.12);
		this.drawSelected(frame);
		if (frame.left) {
			context.fillStyle = app.palette.surface;
			context.fillRect(0, 0, frame.left - 1, this.height);
			context.fillStyle = app.palette.border;
			context.fillRect(frame.left - 1, 0, 1, this.height);
		}
	}

	/** @param {number} slice @returns {{x: number, y: number, width: number, height: number} | null} on the canvas */
	boxOf(slice) {
		const { slices } = this.app.trace;
		const row = rowOf(slices, slice);
		const track = trackOfRow(slices, row);
		const item = this.layout.items.find((one) => one.kind === 'track' && one.index === track);
		const inTrack = row - slices.trackRow[track];
		const left = this.layout.gutter;
		const { view } = this.app;
		const scale = (this.width - left) / (view.to - view.from);

		if (!item || inTrack >= item.rows)
			return null;
		const x = left + (slices.start[slice] - view.from) * scale;

		return {
			x, y: rowTop(item, inTrack) - this.scroller.scrollTop, height: rowHeight(item, inTrack) - 1,
			width: Math.max(1, (slices.end[slice] - slices.start[slice]) * scale),
		};
	}

	/** @param {import('./timeline_draw.js').Frame} frame */
	drawSelected(frame) {
		const { context } = frame;
		const box = this.app.selection >= 0 ? this.boxOf(this.app.selection) : null;

		if (!box)
			return;
		const x = Math.max(frame.left + 1, box.x);
		const width = Math.max(2, Math.min(frame.right - 1, box.x + box.width) - x);

		this.drawArrows(frame);
		if (box.x > frame.right || box.x + box.width < frame.left)
			return;
		context.lineWidth = 3;
		context.strokeStyle = this.app.palette.background;
		context.strokeRect(x, box.y, width, box.height);
		context.lineWidth = 2;
		context.strokeStyle = this.app.palette.text;
		context.strokeRect(x, box.y, width, box.height);
	}

	findLaunched() {
		const { link } = this.app.trace.slices;
		const found = [];

		if (link && this.app.selection >= 0) {
			for (let i = 0; i < link.length; i++) {
				if (link[i] === this.app.selection)
					found.push(i);
			}
		}
		this.launched = Int32Array.from(found);
	}

	/** Lines between the selected slice, what launched it and what it launched. @param {import('./timeline_draw.js').Frame} frame */
	drawArrows(frame) {
		const { selection, trace } = this.app;
		const launcher = trace.slices.link?.[selection] ?? -1;

		frame.context.strokeStyle = this.app.palette.high;
		frame.context.fillStyle = this.app.palette.high;
		frame.context.lineWidth = 1.5;
		if (launcher >= 0)
			this.drawArrow(frame, launcher, selection);
		for (const slice of (this.launched ?? new Int32Array(0)).subarray(0, ARROWS_MOST))
			this.drawArrow(frame, selection, slice);
	}

	/** @param {import('./timeline_draw.js').Frame} frame @param {number} from @param {number} to slices */
	drawArrow(frame, from, to) {
		const begin = this.boxOf(from);
		const end = this.boxOf(to);
		const { context } = frame;

		if (!begin || !end)
			return;
		const [x0, y0, x1, y1] = [begin.x, begin.y + begin.height / 2, end.x, end.y + end.height / 2];
		const bend = Math.min(60, Math.abs(x1 - x0) / 2 + 8);

		context.beginPath();
		context.moveTo(x0, y0);
		context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
		context.stroke();
		context.beginPath();
		context.moveTo(x1, y1);
		context.lineTo(x1 - 6, y1 - 3.5);
		context.lineTo(x1 - 6, y1 + 3.5);
		context.fill();
	}

	drawAxis() {
		const context = sizedContext(this.axis, this.width, AXIS_HEIGHT);
		const { palette, view, trace } = this.app;
		const left = this.layout.gutter;

		if (!context)
			return;
		const scale = (this.width - left) / (view.to - view.from);
		const marks = axisMarks(view.to - view.from, (this.width - left) / 100, trace.duration);

		context.fillStyle = palette.surface;
		context.fillRect(0, 0, this.width, AXIS_HEIGHT);
		this.batch.useFont(context, palette);
		for (let time = Math.ceil(view.from / marks.step) * marks.step; time <= view.to; time += marks.step) {
			const x = left + (time - view.from) * scale;

			context.fillStyle = palette.border;
			context.fillRect(Math.round(x), 0, 1, 14);
			context.fillStyle = palette.muted;
			if (x + 3 + marks.text(time).length * this.batch.characterWidth < this.width)
				context.fillText(marks.text(time), x + 3, 7);
		}
		this.drawStepNumbers(context, left, scale);
		context.fillStyle = palette.surface;
		context.fillRect(0, 0, left - 1, AXIS_HEIGHT);
		context.fillStyle = palette.muted;
		if (left)
			context.fillText(`${timeText(view.to - view.from)} shown`, 6, 8);
	}

	/** @param {CanvasRenderingContext2D} context @param {number} left @param {number} scale */
	drawStepNumbers(context, left, scale) {
		const { palette, view, trace } = this.app;
		let free = -Infinity;

		for (const [begin, end, number] of trace.model.steps_ns) {
			if (end < view.from || begin > view.to)
				continue;
			const x = Math.max(left, left + (begin - view.from) * scale);
			const edge = Math.min(this.width, left + (end - view.from) * scale);

			if (x < free && edge - x < 3)
				continue;
			context.fillStyle = palette.idle;
			context.fillRect(x, 16, Math.max(1, edge - x - 1), 13);
			context.fillStyle = palette.text;
			if (x >= free && edge - x > 24) {
				const text = edge - x > 70 ? `step ${number}` : String(number);

				context.fillText(text, x + 3, 23);
				free = x + text.length * this.batch.characterWidth + 6;
			}
		}
	}

	placeHeads() {
		const items = this.itemsInSight();
		const key = items.map((item) => `${item.kind}${item.index}@${item.top}`).join();

		if (key !== this.headsKey)
			this.makeHeads(items);
		this.headsKey = key;
		/* the name of a track stays in sight as long as the track does */
		const first = items[0];

		if (first) {
			const top = Math.min(Math.max(first.top, this.scroller.scrollTop), Math.max(first.top, first.top + first.height - 22));

			this.heads[0].style.top = `${top}px`;
		}
	}

	/** @param {import('./layout.js').LayoutItem[]} items */
	makeHeads(items) {
		const focused = this.heads.findIndex((head) => head === document.activeElement);

		this.heads.forEach((head) => head.remove());
		this.heads = items.map((item) => this.makeHead(item));
		this.space.append(...this.heads);
		if (focused >= 0)
			this.heads[Math.min(focused, this.heads.length - 1)]?.focus({ preventScroll: true });
	}

	/** @param {import('./layout.js').LayoutItem} item @returns {HTMLButtonElement} */
	makeHead(item) {
		const hidden = item.rowsInView - item.rows;
		const more = item.kind === 'track' && item.open && hidden > 0 ? ` +${countText(hidden)} rows` : '';
		const head = makeButton('', () => this.toggle(item), {
			class: `track-head ${item.kind}`, 'aria-expanded': String(item.open), title: item.text,
		});
		const beside = this.layout.gutter && item.kind !== 'process';

		head.append(make('span', { class: 'fold', 'aria-hidden': 'true' }, item.open ? '▾ ' : '▸ '), make('bdi', {}, item.text));
		if (more)
			head.append(make('span', { class: 'sub' }, more));
		head.style.top = `${item.top}px`;
		head.style.width = `${beside ? this.layout.gutter - 2 : this.width}px`;
		head.style.height = '18px';
		return head;
	}

	/** @param {import('./layout.js').LayoutItem} item */
	toggle(item) {
		const { state } = this;

		if (item.kind === 'quiet')
			state.showQuiet = !state.showQuiet;
		else if (item.kind === 'counter')
			toggleIn(state.counters, item.index);
		else if (item.kind === 'counters')
			toggleIn(state.allCounters, item.index);
		else if (item.kind === 'process')
			toggleIn(state.processes, item.index);
		else
			state.folds.set(item.index, !item.open ? 'usual' : item.rows < item.rowsInView ? 'all' : 'folded');
		this.relayout(false);
	}

	/**
	 * What is at a point of the canvas.
	 * @param {number} x
	 * @param {number} y
	 * @returns {{time: number, item: import('./layout.js').LayoutItem | null, row: number, slice: number}}
	 */
	pick(x, y) {
		const { view, trace } = this.app;
		const left = this.layout.gutter;
		const perPixel = (view.to - view.from) / Math.max(1, this.width - left);
		const time = view.from + (x - left) * perPixel;
		const item = itemAt(this.layout, y + this.scroller.scrollTop);
		const row = item?.kind === 'track' && x >= left ? rowAt(item, y + this.scroller.scrollTop) : -1;
		const slice = item && row >= 0 ? sliceAt(trace.slices, trace.slices.trackRow[item.index] + row, time, 2 * perPixel) : -1;

		return { time, item, row, slice };
	}

	/** Scrolls to a slice, and unfolds its track when it cannot be seen. @param {number} slice */
	reveal(slice) {
		const { slices } = this.app.trace;

		if (slice < 0)
			return;
		const row = rowOf(slices, slice);
		const track = trackOfRow(slices, row);
		const inTrack = row - slices.trackRow[track];
		const process = this.app.trace.model.tracks[track].process ?? -1;
		const kept = this.state.kept.get(track);

		this.state.processes.delete(process);
		if (inTrack >= (kept?.squeezed ?? 0) + ROWS_SHOWN || this.state.folds.get(track) === 'folded')
			this.state.folds.set(track, 'all');
		if (!this.boxOf(slice))
			this.relayout(true);
		const box = this.boxOf(slice);

		if (box && (box.y < 0 || box.y + ROW_HEIGHT > this.height))
			this.scroller.scrollTop += box.y - this.height / 3;
	}

	/**
	 * The next slice of the same row, or the one before.
	 * @param {number} slice
	 * @param {number} step 1 or -1
	 * @returns {number}
	 */
	neighbour(slice, step) {
		const { slices } = this.app.trace;
		const row = rowOf(slices, slice);
		const next = slice + step;

		return next >= slices.rowFirst[row] && next < slices.rowFirst[row + 1] ? next : slice;
	}

	/** @returns {number} the slice to begin with: the first in view of the first track in sight */
	firstInSight() {
		const { slices } = this.app.trace;
		const item = this.itemsInSight().find((one) => one.kind === 'track' && one.rows > 0);

		if (!item)
			return -1;
		const row = slices.trackRow[item.index] + item.squeezed;
		const at = lowerBound(slices.start, slices.rowFirst[row], slices.rowFirst[row + 1], this.app.view.from);

		return at < slices.rowFirst[row + 1] ? at : at - 1;
	}
}
