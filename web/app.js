/*
 * app.js - what is being looked at: every view of the page reads it here and is told when it changes.
 */
import { readPalette } from './colors.js';
import { stillWanted } from './dom.js';

/** @typedef {{from: number, to: number}} Span ns */
/** @typedef {'view' | 'settled' | 'selection' | 'range' | 'highlight' | 'palette'} Topic */
/** @typedef {'jump' | 'zoom' | 'pan'} Move */

const ANIMATION_MS = 120;
const SETTLE_MS = 250;
const HISTORY_MOST = 200;
const SEEN_LEAST = 400; /* a slice that takes so small a part of the width can still be seen */

export class App {
	/** @param {import('./model.js').Trace} trace */
	constructor(trace) {
		this.trace = trace;
		this.palette = readPalette();
		/** @type {Span} */
		this.view = { from: 0, to: trace.duration };
		this.selection = -1;
		/** @type {Span | null} chosen by the reader: flame graph and tables tell of it alone */
		this.range = null;
		/** @type {Span | null} the example of a finding */
		this.mark = null;
		/** @type {Uint8Array | null} by label: 1 for those to be seen */
		this.highlight = null;
		this.query = '';
		this.finding = -1;
		/** @type {Move} */
		this.move = 'jump';
		/** @type {Span[]} */
		this.history = [];
		this.settled = this.view;
		this.timer = 0;
		this.animation = 0;
		/** @type {Map<Topic, (() => void)[]>} */
		this.listeners = new Map();
	}

	/** @param {Topic} topic @param {() => void} listener */
	on(topic, listener) {
		this.listeners.set(topic, [...(this.listeners.get(topic) ?? []), listener]);
	}

	/** @param {Topic} topic */
	emit(topic) {
		for (const listener of this.listeners.get(topic) ?? [])
			listener();
	}

	/** @returns {number} ns; nothing smaller can be told apart */
	leastSpan() {
		return Math.min(this.trace.duration, Math.max(20, 10 * this.trace.model.quantum_ns));
	}

	/** @param {Span} view @returns {Span} within the run */
	clamped(view) {
		const whole = this.trace.duration;
		const span = Math.min(whole, Math.max(this.leastSpan(), view.to - view.from));
		const from = Math.min(whole - span, Math.max(0, (view.from + view.to - span) / 2));

		return { from, to: from + span };
	}

	/**
	 * @param {Span} view
	 * @param {Move} move
	 */
	setView(view, move) {
		cancelAnimationFrame(this.animation);
		this.animation = 0;
		if (!Number.isFinite(view.from) || !Number.isFinite(view.to))
			return;
		this.view = this.clamped(view);
		this.move = move === 'pan' && this.timer ? this.move : move;
		clearTimeout(this.timer);
		this.timer = 0;
		this.emit('view');
		if (move === 'jump')
			this.settle();
		else
			this.timer = window.setTimeout(() => this.settle(), SETTLE_MS);
	}

	settle() {
		this.timer = 0;
		if (this.view.from !== this.settled.from || this.view.to !== this.settled.to) {
			this.history.push(this.settled);
			this.history.splice(0, this.history.length - HISTORY_MOST);
		}
		this.settled = this.view;
		this.emit('settled');
	}

	/** @param {Span} view to go to in a short movement */
	glide(view) {
		const target = this.clamped(view);
		const begin = this.view;
		const started = performance.now();

		if (stillWanted()) {
			this.setView(target, 'jump');
			return;
		}
		cancelAnimationFrame(this.animation);
		/** @param {number} now */
		const frame = (now) => {
			const share = Math.max(0, (now - started) / ANIMATION_MS);

			if (share >= 1) {
				this.setView(target, 'jump');
				return;
			}
			const eased = share * (2 - share);

			this.view = { from: begin.from + (target.from - begin.from) * eased, to: begin.to + (target.to - begin.to) * eased };
			this.emit('view');
			this.animation = requestAnimationFrame(frame);
		};

		this.animation = requestAnimationFrame(frame);
	}

	back() {
		const view = this.history.pop();

		if (!view)
			return;
		this.view = view;
		this.settled = view;
		this.move = 'jump';
		this.emit('view');
		this.emit('settled');
	}

	/** @param {number} slice or -1 */
	select(slice) {
		this.selection = slice >= 0 && slice < this.trace.slices.count ? slice : -1;
		this.emit('selection');
	}

	/** @param {Span | null} range */
	setRange(range) {
		this.range = range && range.to > range.from ? range : null;
		this.emit('range');
	}

	/** @param {Uint8Array | null} highlight */
	setHighlight(highlight) {
		this.highlight = highlight;
		this.emit('highlight');
	}

	/**
	 * Shows a span so that it takes that share of the width.
	 * @param {Span} span
	 * @param {number} share
	 */
	show(span, share) {
		this.glide(this.around(span, share));
	}

	/** @param {Span} span @param {number} share @returns {Span} */
	around(span, share) {
		const middle = (span.from + span.to) / 2;
		const half = Math.max(this.leastSpan() / 10, span.to - span.from) / share / 2;

		return { from: middle - half, to: middle + half };
	}

	/** Selects a slice and goes to it; nearer or farther only when it would be too small or too large to see. @param {number} slice */
	visit(slice) {
		const span = { from: this.trace.slices.start[slice], to: this.trace.slices.end[slice] };
		const width = this.view.to - this.view.from;
		const length = Math.max(this.leastSpan() / 10, span.to - span.from);

		if (length < width / SEEN_LEAST || length > width)
			this.show(span, 0.15);
		else if (span.from < this.view.from || span.to > this.view.to)
			this.show(span, length / width);
		this.select(slice);
	}
}
