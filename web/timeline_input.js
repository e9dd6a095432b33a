/*
 * timeline_input.js - mouse, wheel and fingers on the timeline.
 */
import { percentText, timeText, valueText } from './format.js';
import { labelText, labelCategory } from './model.js';
import { lowerBound } from './rows.js';
import { STATES } from './colors.js';

const CLICK_SLACK = 4; /* pixels that a click may move */
const WHEEL_ZOOM = 0.0025;

/**
 * @param {import('./app.js').App} app
 * @param {number} factor below 1 shows less
 * @param {number} [center] ns; the middle when it is left out
 */
export function zoomBy(app, factor, center = (app.view.from + app.view.to) / 2) {
	const { from, to } = app.view;
	const span = Math.min(app.trace.duration, Math.max(app.leastSpan(), (to - from) * factor));
	const share = (center - from) / (to - from);
	const begin = Math.min(app.trace.duration - span, Math.max(0, center - share * span));

	app.setView({ from: begin, to: begin + span }, 'zoom');
}

/** @param {import('./app.js').App} app @param {number} share of what is shown */
export function panBy(app, share) {
	const away = (app.view.to - app.view.from) * share;

	app.setView({ from: app.view.from + away, to: app.view.to + away }, 'pan');
}

/** @param {import('./app.js').App} app */
export function fitSelection(app) {
	const { slices } = app.trace;

	if (app.selection >= 0)
		app.show({ from: slices.start[app.selection], to: slices.end[app.selection] }, 0.8);
	else if (app.range)
		app.show(app.range, 0.8);
}

export class TimelineInput {
	/**
	 * @param {import('./timeline.js').Timeline} timeline
	 * @param {import('./tip.js').Tip} tip
	 * @param {(from: number, to: number) => void} explain what to do about a place without slices
	 */
	constructor(timeline, tip, explain) {
		this.timeline = timeline;
		this.app = timeline.app;
		this.tip = tip;
		this.explain = explain;
		this.choose = false; /* dragging chooses a range even without shift */
		/** @type {Map<number, {x: number, y: number}>} */
		this.pointers = new Map();
		/** @type {{x: number, y: number, view: import('./app.js').Span, scroll: number, range: boolean, moved: boolean} | null} */
		this.drag = null;
		const { canvas } = timeline;

		canvas.style.touchAction = 'pan-y';
		canvas.addEventListener('pointerdown', (event) => this.down(event));
		canvas.addEventListener('pointermove', (event) => this.moveTo(event));
		canvas.addEventListener('pointerup', (event) => this.up(event));
		canvas.addEventListener('pointercancel', (event) => this.cancel(event));
		canvas.addEventListener('pointerleave', () => tip.hide());
		canvas.addEventListener('dblclick', (event) => this.doubleClick(event));
		canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
	}

	/** @param {MouseEvent} event @returns {{x: number, y: number}} on the canvas */
	point(event) {
		const box = this.timeline.canvas.getBoundingClientRect();

		return { x: event.clientX - box.left, y: event.clientY - box.top };
	}

	/** @param {number} x @returns {number} */
	timeAt(x) {
		return this.timeline.pick(x, -1).time;
	}

	/** @returns {number} ns */
	perPixel() {
		const { timeline, app } = this;

		return (app.view.to - app.view.from) / Math.max(1, timeline.width - timeline.layout.gutter);
	}

	/** @param {PointerEvent} event */
	down(event) {
		if (event.button !== 0)
			return;
		const point = this.point(event);

		this.pointers.set(event.pointerId, point);
		this.tip.hide();
		this.timeline.canvas.setPointerCapture(event.pointerId);
		this.drag = {
			...point, view: this.app.view, scroll: this.timeline.scroller.scrollTop, moved: this.pointers.size > 1,
			range: event.shiftKey || this.choose,
		};
	}

	/** @param {PointerEvent} event */
	moveTo(event) {
		const point = this.point(event);
		const before = this.pointers.get(event.pointerId);

		if (!before || !this.drag) {
			this.hover(event, point);
			return;
		}
		if (this.pointers.size === 2) {
			this.pinch(event.pointerId, before, point);
		} else {
			this.drag.moved ||= Math.hypot(point.x - this.drag.x, point.y - this.drag.y) > CLICK_SLACK;
			if (this.drag.moved)
				this.dragTo(point, event.pointerType);
		}
		this.pointers.set(event.pointerId, point);
	}

	/** @param {{x: number, y: number}} point @param {string} pointer */
	dragTo(point, pointer) {
		const { drag, app, timeline } = this;

		if (!drag)
			return;
		if (drag.range) {
			const ends = [this.timeAt(drag.x), this.timeAt(point.x)].sort((a, b) => a - b);

			timeline.choosing = { from: Math.max(0, ends[0]), to: Math.min(app.trace.duration, ends[1]) };
			timeline.invalidate();
			return;
		}
		const away = (drag.x - point.x) * this.perPixel();

		timeline.canvas.style.cursor = 'grabbing';
		app.setView({ from: drag.view.from + away, to: drag.view.to + away }, 'pan');
		if (pointer === 'mouse')
			timeline.scroller.scrollTop = drag.scroll + drag.y - point.y;
	}

	/** @param {number} id @param {{x: number, y: number}} before @param {{x: number, y: number}} point */
	pinch(id, before, point) {
		const other = [...this.pointers].find(([key]) => key !== id)?.[1];

		if (!other)
			return;
		const apart = Math.max(10, Math.abs(before.x - other.x));
		const now = Math.max(10, Math.abs(point.x - other.x));

		zoomBy(this.app, apart / now, this.timeAt((before.x + other.x) / 2));
		panBy(this.app, (before.x - point.x) / 2 / Math.max(1, this.timeline.width - this.timeline.layout.gutter));
	}

	/** @param {PointerEvent} event */
	up(event) {
		const { drag, timeline, app } = this;

		this.cancel(event);
		if (!drag)
			return;
		if (timeline.choosing && drag.range) {
			app.setRange(timeline.choosing);
			timeline.choosing = null;
		} else if (!drag.moved) {
			const point = this.point(event);

			app.select(timeline.pick(point.x, point.y).slice);
		}
	}

	/** @param {PointerEvent} event */
	cancel(event) {
		this.pointers.delete(event.pointerId);
		this.timeline.canvas.style.cursor = '';
		this.drag = null;
	}

	/** @param {MouseEvent} event */
	doubleClick(event) {
		const point = this.point(event);
		const { slice, time, row } = this.timeline.pick(point.x, point.y);
		const { model } = this.app.trace;

		if (slice >= 0) {
			this.app.select(slice);
			fitSelection(this.app);
		} else if (row >= 0 && !model.exact && !model.windows_ns.some(([from, to]) => time >= from && time <= to)) {
			this.explain(this.app.view.from, this.app.view.to);
		}
	}

	/** @param {WheelEvent} event */
	wheel(event) {
		const { app } = this;
		const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;

		if (event.ctrlKey || event.metaKey) {
			event.preventDefault();
			zoomBy(app, Math.exp(Math.max(-300, Math.min(300, event.deltaY * unit)) * WHEEL_ZOOM), this.timeAt(this.point(event).x));
			return;
		}
		const along = event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX;

		if (!event.shiftKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY))
			return; /* the page scrolls */
		event.preventDefault();
		panBy(app, along * unit / Math.max(1, this.timeline.width - this.timeline.layout.gutter));
	}

	/** @param {PointerEvent} event @param {{x: number, y: number}} point */
	hover(event, point) {
		const text = event.pointerType === 'mouse' ? this.describe(point) : '';

		if (text)
			this.tip.show(text, event.clientX, event.clientY);
		else
			this.tip.hide();
	}

	/** @param {{x: number, y: number}} point @returns {string} */
	describe(point) {
		const { timeline } = this;
		const { trace } = this.app;
		const { item, row, slice, time } = timeline.pick(point.x, point.y);

		if (point.x < timeline.layout.gutter)
			return '';
		if (slice >= 0) {
			const label = trace.slices.label[slice];
			const length = trace.slices.end[slice] - trace.slices.start[slice];

			return `${labelText(trace, label)}\n${timeText(length)}, ${labelCategory(trace, label)}`;
		}
		if (item?.kind === 'counter')
			return this.describeCounter(item.index, time);
		if (item && row >= 0)
			return this.describeBucket(trace.slices.trackRow[item.index] + row, time);
		return item?.strip && point.y + timeline.scroller.scrollTop < item.bodyTop ? this.describeState(item.index, time) : '';
	}

	/** @param {number} counter @param {number} time @returns {string} */
	describeCounter(counter, time) {
		const { curve, name, unit } = this.app.trace.counters[counter];
		const at = lowerBound(curve.time, 0, curve.time.length, time + 1e-3) - 1;

		return at < 0 ? '' : `${name}\n${valueText(curve.value[at], unit)}`;
	}

	/** @param {number} row @param {number} time @returns {string} */
	describeBucket(row, time) {
		const { trace } = this.app;
		const lane = trace.buckets[row];
		const bucket = Math.floor(time / trace.duration * trace.model.buckets);
		const at = lane ? lowerBound(lane.at, 0, lane.at.length, bucket) : -1;

		if (!lane || lane.at[at] !== bucket)
			return '';
		return `aggregated: ${percentText(lane.full[at] / 255)} full\nmostly ${labelText(trace, lane.label[at])}`;
	}

	/** @param {number} track @param {number} time @returns {string} */
	describeState(track, time) {
		const lane = this.app.trace.states.get(track);
		const at = lane ? lowerBound(lane.end, 0, lane.end.length, time) : -1;

		if (!lane || at < 0 || at >= lane.start.length || lane.start[at] > time)
			return '';
		return `${(STATES[lane.kind[at]] ?? 'unknown').replaceAll('_', ' ')}\n${timeText(lane.end[at] - lane.start[at])}`;
	}
}
