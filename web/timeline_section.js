/*
 * timeline_section.js - the section of the timeline: controls, canvases, and words below them.
 */
import { make, makeButton, setPressed } from './dom.js';
import { countText, safeText, timeText } from './format.js';
import { Details, EventsInView } from './details.js';
import { Minimap } from './minimap.js';
import { Timeline } from './timeline.js';
import { TimelineInput, fitSelection, panBy, zoomBy } from './timeline_input.js';
import { wholeRun } from './keys.js';

/**
 * A line that says that a range is chosen.
 * @param {import('./app.js').App} app
 * @param {string} what shows it
 * @returns {HTMLElement}
 */
export function makeBanner(app, what) {
	const text = make('span');
	const banner = make('div', { class: 'banner', hidden: '' }, text, makeButton('Zoom to it', () => app.range && app.show(app.range, 0.9)),
		makeButton('Clear', () => app.setRange(null)));

	app.on('range', () => {
		banner.hidden = !app.range;
		if (!app.range)
			return;
		const { from, to } = app.range;

		text.textContent = `${what} ${timeText(from)} to ${timeText(to)}, ${timeText(to - from)}.`;
	});
	return banner;
}

/** @param {import('./model.js').Trace} trace @returns {HTMLElement[]} what is to be known of the data before it is read */
function makeNotes(trace) {
	const { model, missing } = trace;
	const notes = [];

	if (missing.length)
		notes.push(`Some of this page's data could not be read (${[...new Set(missing)].join(', ')}); what is left is shown.`);
	else if (!model.tracks.length)
		notes.push('The trace has no slices.');
	if (!model.exact) {
		notes.push(`${countText(model.slices_here)} of ${countText(model.slices)} slices are in this page; the rest is shown hatched, ` +
			'as sums. Double-click there to see how to get all of a part.');
	}
	return notes.map((note) => make('p', { class: 'message', role: 'status' }, note));
}

/* Colours of the strips of threads, by what the thread does. */
const STATE_WORDS = [['running', 'runs'], ['wait', 'waits for a lock'], ['io', 'waits for a file, a pipe or a socket'],
	['sleep', 'sleeps, polls or waits for a process'], ['device', 'waits for a device'], ['unknown', 'not known']];

/** @param {import('./model.js').Trace} trace @returns {HTMLElement[]} what the colours of threads mean, if there are any */
export function makeStateLegend(trace) {
	if (!trace.states.size)
		return [];
	const items = STATE_WORDS.map(([family, words]) => make('li', {}, make('span', { class: `swatch state-${family}` }), ` ${words}`));

	return [make('div', { class: 'states-legend' }, make('span', {}, 'The strip of a thread: it '), make('ul', {}, ...items))];
}

export class TimelineSection {
	/**
	 * @param {import('./app.js').App} app
	 * @param {HTMLElement} section
	 * @param {import('./tip.js').Tip} tip
	 */
	constructor(app, section, tip) {
		this.app = app;
		this.reading = make('span', { class: 'reading' });
		this.advice = make('p', { class: 'message', role: 'status', hidden: '' });
		this.choose = makeButton('Choose range', () => this.toggleChoose(), {
			'aria-pressed': 'false', title: 'Dragging chooses a range (shift+drag)',
		});
		section.append(...makeNotes(app.trace), this.makeToolbar(), makeBanner(app, 'Flame graph and tables show the range'), this.advice,
			...makeStateLegend(app.trace));
		this.minimap = new Minimap(app, section);
		this.timeline = new Timeline(app, section);
		this.input = new TimelineInput(this.timeline, tip, (from, to) => this.explain(from, to));
		this.details = new Details(app, section, this.timeline);
		this.events = new EventsInView(app, section);
		app.on('view', () => this.read());
		this.read();
	}

	/** @returns {HTMLElement} */
	makeToolbar() {
		const { app } = this;

		return make('div', { class: 'toolbar', role: 'toolbar', 'aria-label': 'Timeline' },
			makeButton('+', () => zoomBy(app, 0.5), { 'aria-label': 'Zoom in', title: 'Zoom in (W)' }),
			makeButton('−', () => zoomBy(app, 2), { 'aria-label': 'Zoom out', title: 'Zoom out (S)' }),
			makeButton('◂', () => panBy(app, -0.4), { 'aria-label': 'Earlier', title: 'Earlier (A)' }),
			makeButton('▸', () => panBy(app, 0.4), { 'aria-label': 'Later', title: 'Later (D)' }),
			makeButton('Whole run', () => wholeRun(app), { title: 'Whole run (0)' }),
			makeButton('Fit', () => fitSelection(app), { title: 'Fit what is selected (F)' }),
			makeButton('Back', () => app.back(), { title: 'The view before (Backspace)' }), this.choose,
			make('span', { class: 'spacer' }), this.reading);
	}

	toggleChoose() {
		this.input.choose = !this.input.choose;
		setPressed(this.choose, this.input.choose);
	}

	read() {
		const { view } = this.app;

		this.reading.textContent = `${timeText(view.from)} to ${timeText(view.to)}`;
	}

	/** @param {number} from @param {number} to what all slices are wanted of */
	explain(from, to) {
		const { command } = this.app.trace.model;

		this.advice.hidden = false;
		this.advice.replaceChildren('Here the page has sums only. All slices of what is in view: ',
			make('code', {}, `${safeText(command)} --range ${(from / 1e6).toFixed(3)}:${(to / 1e6).toFixed(3)} -o part.html`));
	}

	print() {
		this.timeline.relayout(false);
		this.timeline.draw();
		this.minimap.draw();
	}

	unprint() {
		this.timeline.relayout(false);
	}
}
