/*
 * details.js - the selected slice in words, and what is in view as a table: what the timeline draws, for who cannot see it.
 */
import { make, makeButton, makeName } from './dom.js';
import { countText, timeText } from './format.js';
import { Grid } from './grid.js';
import { childTime, firstFrom, parentOf, rowOf, trackOfRow } from './rows.js';
import { labelCategory, labelText, trackText } from './model.js';

const LAUNCHED_MOST = 8;
const EVENTS_MOST = 20000;

export class Details {
	/**
	 * @param {import('./app.js').App} app
	 * @param {HTMLElement} section
	 * @param {import('./timeline.js').Timeline} timeline
	 */
	constructor(app, section, timeline) {
		this.app = app;
		this.timeline = timeline;
		this.sentence = make('p', { id: 'selection', role: 'status' });
		this.facts = make('dl', { class: 'facts' });
		this.links = make('div', { class: 'links' });
		section.append(make('div', { class: 'details' }, this.sentence, this.facts, this.links));
		app.on('selection', () => this.show());
		this.show();
	}

	show() {
		const { selection, trace } = this.app;

		this.facts.replaceChildren();
		this.links.replaceChildren();
		if (selection < 0) {
			this.sentence.textContent = trace.slices.count
				? 'Nothing is selected. Click a slice, or press . on the timeline.' : 'There are no slices.';
			return;
		}
		const { start, end, label } = trace.slices;
		const track = trackOfRow(trace.slices, rowOf(trace.slices, selection));

		this.sentence.replaceChildren(makeName(labelText(trace, label[selection])),
			`, ${labelCategory(trace, label[selection])}, ${timeText(end[selection] - start[selection])} on `,
			make('bdi', {}, trackText(trace, track)));
		this.showFacts(selection, trace.model.tracks[track].kind === 'stream');
		this.showLinks(selection);
	}

	/** @param {number} slice @param {boolean} stream */
	showFacts(slice, stream) {
		const { trace } = this.app;
		const { start, end } = trace.slices;
		const step = trace.model.steps_ns.find(([from, to]) => start[slice] >= from && start[slice] < to);

		this.fact('Begin', timeText(start[slice]));
		this.fact('Duration', timeText(end[slice] - start[slice]));
		if (!stream)
			this.fact('Itself', timeText(Math.max(0, end[slice] - start[slice] - childTime(trace.slices, slice))));
		if (step)
			this.fact('Step', `${step[2]}, ${timeText(start[slice] - step[0])} after its begin`);
		const above = stream ? -1 : parentOf(trace.slices, slice);

		if (above >= 0)
			this.fact('Inside', this.linkTo(above));
	}

	/** @param {string} title @param {Node | string} value */
	fact(title, value) {
		this.facts.append(make('dt', {}, title), make('dd', {}, value));
	}

	/** @param {number} slice @returns {HTMLElement} */
	linkTo(slice) {
		const { trace } = this.app;
		const button = makeButton('', () => this.app.visit(slice), { class: 'link' });

		button.append(makeName(labelText(trace, trace.slices.label[slice])));
		return button;
	}

	/** @param {number} slice */
	showLinks(slice) {
		const launcher = this.app.trace.slices.link?.[slice] ?? -1;
		const launched = this.timeline.launched ?? new Int32Array(0);

		if (launcher >= 0)
			this.links.append('Launched by ', this.linkTo(launcher));
		if (launched.length) {
			this.links.append(`Launched ${countText(launched.length)}: `);
			this.links.append(...Array.from(launched.subarray(0, LAUNCHED_MOST), (one) => this.linkTo(one)));
			if (launched.length > LAUNCHED_MOST)
				this.links.append(` and ${countText(launched.length - LAUNCHED_MOST)} more`);
		}
	}

	/** The other end of a launch: from work to what launched it, and back. */
	follow() {
		const { selection, trace } = this.app;
		const launcher = trace.slices.link?.[selection] ?? -1;
		const other = launcher >= 0 ? launcher : this.timeline.launched?.[0] ?? -1;

		if (other >= 0)
			this.app.visit(other);
	}
}

/** @typedef {{slice: number}} EventRow */

/**
 * The slices in view; when there are too many, the longest.
 * @param {import('./model.js').Trace} trace
 * @param {import('./app.js').Span} view
 * @param {number} most
 * @returns {{rows: EventRow[], all: number}}
 */
export function slicesInView(trace, view, most) {
	const { slices } = trace;
	const { start, end } = slices;
	const histogram = new Uint32Array(2048);
	/** @param {number} slice */
	const classOf = (slice) => Math.min(2047, Math.floor(32 * Math.log2(1 + end[slice] - start[slice])));
	let all = 0;

	/** @param {(slice: number) => void} visit */
	const each = (visit) => {
		for (let row = 0; row + 1 < slices.rowFirst.length; row++) {
			for (let i = firstFrom(slices, row, view.from); i < slices.rowFirst[row + 1] && start[i] < view.to; i++)
				visit(i);
		}
	};

	each((slice) => {
		histogram[classOf(slice)]++;
		all++;
	});
	let least = 2048;
	let room = most;

	while (least > 0 && room >= histogram[least - 1])
		room -= histogram[--least];
	/** @type {EventRow[]} */
	const rows = [];

	each((slice) => {
		if (classOf(slice) >= least)
			rows.push({ slice });
	});
	return { rows, all };
}

export class EventsInView {
	/** @param {import('./app.js').App} app @param {HTMLElement} section */
	constructor(app, section) {
		this.app = app;
		/** @type {Grid<EventRow>} */
		this.grid = new Grid({ label: 'Events in view', choose: (row) => app.select(row.slice), open: (row) => app.visit(row.slice) });
		this.summary = make('summary', {}, 'Events in view');
		this.element = make('details', { class: 'events' }, this.summary, make('div', { class: 'toolbar' }, this.grid.count),
			this.grid.element);
		section.append(this.element);
		this.element.addEventListener('toggle', () => this.refresh());
		app.on('settled', () => this.refresh());
	}

	/** @returns {import('./grid.js').Column<EventRow>[]} */
	columns() {
		const { trace } = this.app;
		const { start, end, label } = trace.slices;
		/** @param {number} slice */
		const trackName = (slice) => trackText(trace, trackOfRow(trace.slices, rowOf(trace.slices, slice)));

		return [
			{ title: 'Begin', kind: 'number', value: (row) => start[row.slice], text: (row) => timeText(start[row.slice]) },
			{ title: 'Duration', kind: 'number', value: (row) => end[row.slice] - start[row.slice],
				text: (row) => timeText(end[row.slice] - start[row.slice]) },
			{ title: 'Name', kind: 'name', value: (row) => labelText(trace, label[row.slice]) },
			{ title: 'Category', kind: 'text', value: (row) => labelCategory(trace, label[row.slice]) },
			{ title: 'Track', kind: 'text', value: (row) => trackName(row.slice) },
		];
	}

	refresh() {
		if (!this.element.open)
			return;
		const { rows, all } = slicesInView(this.app.trace, this.app.view, EVENTS_MOST);

		this.grid.setRows(this.columns(), rows, 0, false);
		if (all > rows.length)
			this.grid.count.textContent = `the ${countText(rows.length)} longest of ${countText(all)} events`;
	}
}
