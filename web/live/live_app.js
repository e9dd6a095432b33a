/*
 * live_app.js - what the views read: the snapshot, what was before it, and when to draw.
 */
import { readPalette } from '../colors.js';
import { Ring } from './ring.js';
import { nextSnapshot, parseObject } from './snapshot.js';

/** @typedef {() => void} Draw */

export class LiveApp {
	constructor() {
		this.palette = readPalette();
		this.ring = new Ring();
		/** @type {import('./snapshot.js').Snapshot | null} the newest */
		this.newest = null;
		/** @type {import('./snapshot.js').Snapshot | null} what is shown: the newest, unless it is paused */
		this.shown = null;
		/** @type {import('./stream.js').LinkState} */
		this.link = 'connecting';
		this.paused = false;
		this.over = false;
		this.changed = performance.now();
		this.frame = 0;
		this.draws = 0;
		this.messages = 0;
		/** @type {Draw[]} */
		this.views = [];
	}

	/** @param {Draw} view drawn when there is something new */
	add(view) {
		this.views.push(view);
	}

	/** As theme.js wants it. */
	emit() {
		this.draw();
	}

	/** Soon, and once for all that happens until then. */
	draw() {
		if (this.frame)
			return;
		this.frame = requestAnimationFrame(() => {
			this.frame = 0;
			this.draws++;
			for (const view of this.views)
				view();
		});
	}

	/** @param {string} text @param {import('./snapshot.js').Snapshot | null} before */
	take(text, before) {
		const snapshot = nextSnapshot(text, before);

		if (!snapshot)
			return;
		this.messages++;
		this.newest = snapshot;
		this.over = false;
		this.changed = performance.now();
		this.ring.add(snapshot);
		if (!this.paused) {
			this.shown = snapshot;
			this.draw();
		}
	}

	/** @returns {import('./stream.js').Listener} */
	listener() {
		return {
			whole: (text) => this.take(text, null),
			change: (text) => {
				const sequence = parseObject(text)?.sequence;

				/* one that another tab has passed on may be older than what was asked for */
				if (this.newest && sequence > this.newest.sequence)
					this.take(text, this.newest);
			},
			history: (text) => {
				this.ring.merge(parseObject(text) ?? {});
				this.draw();
			},
			end: () => {
				this.over = true;
				this.draw();
			},
			link: (state) => {
				this.link = state;
				if (state === 'connecting')
					this.over = false;
				this.draw();
			},
		};
	}

	/** @param {boolean} paused */
	setPaused(paused) {
		this.paused = paused;
		if (!paused)
			this.shown = this.newest;
		this.draw();
	}
}
