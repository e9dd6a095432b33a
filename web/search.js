/*
 * search.js - one field for names of slices, tracks and findings.
 */
import { make, makeButton, makeName } from './dom.js';
import { countText, middleCut, percentText, timeText } from './format.js';
import { hitRank, longestOf, matchLabels, nextHit, sumHits } from './hits.js';
import { labelCategory, trackText } from './model.js';

const DELAY_MS = 120;
const RESULTS_MOST = 12;

export class Search {
	/**
	 * @param {import('./app.js').App} app
	 * @param {HTMLInputElement} input
	 * @param {HTMLElement} report
	 * @param {(place: number) => void} openFinding
	 */
	constructor(app, input, report, openFinding) {
		this.app = app;
		this.input = input;
		this.report = report;
		this.openFinding = openFinding;
		this.timer = 0;
		/** @type {import('./hits.js').HitSum | null} */
		this.sum = null;
		/** @type {Uint8Array | null} */
		this.flags = null;
		this.at = -1;
		this.results = make('div', { class: 'search-results', hidden: '', role: 'region', 'aria-label': 'Search results' });
		this.steps = make('span', { class: 'search-step' },
			makeButton('‹', () => this.step(-1), { 'aria-label': 'Previous hit', title: 'Previous hit (Shift+Enter)' }),
			makeButton('›', () => this.step(1), { 'aria-label': 'Next hit', title: 'Next hit (Enter)' }));
		this.steps.hidden = true;
		input.after(this.steps);
		(input.closest('header') ?? document.body).append(this.results);
		this.listen();
	}

	listen() {
		this.input.addEventListener('input', () => {
			clearTimeout(this.timer);
			this.timer = window.setTimeout(() => this.find(this.input.value), DELAY_MS);
		});
		this.input.addEventListener('keydown', (event) => this.key(event));
		this.input.addEventListener('focus', () => {
			this.results.hidden = !this.input.value;
		});
		document.addEventListener('pointerdown', (event) => {
			const target = event.target instanceof Node ? event.target : null;

			if (!this.results.contains(target) && !this.input.parentElement?.contains(target))
				this.results.hidden = true;
		});
	}

	/** @param {KeyboardEvent} event */
	key(event) {
		if (event.key === 'Enter') {
			event.preventDefault();
			if (this.input.value !== this.app.query)
				this.find(this.input.value);
			this.step(event.shiftKey ? -1 : 1);
			this.results.hidden = true;
		} else if (event.key === 'Escape') {
			event.preventDefault();
			this.clear();
			this.input.blur();
		}
	}

	clear() {
		this.input.value = '';
		this.find('');
	}

	/** @param {string} query */
	find(query) {
		const { app } = this;

		clearTimeout(this.timer);
		app.query = query;
		this.at = -1;
		if (!query) {
			this.flags = null;
			this.sum = null;
			this.results.hidden = true;
			this.steps.hidden = true;
			this.report.textContent = '';
			app.setHighlight(null);
			return;
		}
		this.flags = matchLabels(app.trace.model.labels, query);
		this.sum = sumHits(app.trace, this.flags);
		this.steps.hidden = !this.sum.count;
		app.setHighlight(this.flags);
		this.tell();
		this.list(query.toLowerCase());
	}

	/** @returns {string} */
	sentence() {
		const { sum } = this;
		const { trace } = this.app;

		if (!sum?.count)
			return 'no slice has it';
		const least = trace.model.exact ? '' : 'at least ';
		const share = sum.total / (trace.duration * sum.tracks);
		const tracks = sum.tracks === 1 ? 'its track' : `${countText(sum.tracks)} tracks`;

		const slices = `${countText(sum.count)} ${sum.count === 1 ? 'slice' : 'slices'}`;

		return `${least}${slices}, ${timeText(sum.total)}, ${percentText(share)} of ${tracks}`;
	}

	tell() {
		const place = this.at >= 0 && this.flags ? `${countText(hitRank(this.app.trace.slices, this.flags, this.at) + 1)} of ` : '';

		this.report.textContent = place + this.sentence();
		this.report.title = this.report.textContent;
	}

	/** @param {1 | -1} step */
	step(step) {
		const { app } = this;

		if (!this.flags || !this.sum?.count)
			return;
		const time = step > 0 ? app.view.from : app.view.to;

		this.at = nextHit(app.trace.slices, this.flags, this.at, time, step);
		if (this.at >= 0)
			app.visit(this.at);
		this.tell();
	}

	/** @param {string} query */
	list(query) {
		const { model, analysis } = this.app.trace;
		const labels = [...(this.sum?.perLabel ?? []).entries()].filter(([, count]) => count > 0).sort((a, b) => b[1] - a[1]);
		const tracks = model.tracks.map((_, i) => i).filter((i) => trackText(this.app.trace, i).toLowerCase().includes(query));
		const findings = /** @type {import('./model.js').Json[]} */ (Array.isArray(analysis.findings) ? analysis.findings : [])
			.map((finding, i) => /** @type {[import('./model.js').Json, number]} */ ([finding, i]))
			.filter(([finding]) => JSON.stringify([finding.id, finding.evidence, finding.where]).toLowerCase().includes(query));

		this.results.replaceChildren(
			...this.group('Names', labels.map(([label, count]) => () => this.labelButton(label, count))),
			...this.group('Tracks', tracks.map((track) => () => this.trackButton(track))),
			...this.group('Findings', findings.map(([finding, place]) => () =>
				makeButton(`${place + 1}. ${finding.kind}`.replaceAll('_', ' '), () => this.leave(() => this.openFinding(place))))));
		if (!this.results.childElementCount)
			this.results.append(make('p', { class: 'message' }, 'Nothing has this in its name.'));
		this.results.hidden = document.activeElement !== this.input;
	}

	/** @param {string} title @param {(() => Node)[]} entries @returns {Node[]} */
	group(title, entries) {
		if (!entries.length)
			return [];
		const more = entries.length > RESULTS_MOST ? ` (${RESULTS_MOST} of ${countText(entries.length)})` : '';

		return [make('h3', {}, title + more), ...entries.slice(0, RESULTS_MOST).map((entry) => entry())];
	}

	/** @param {() => void} act */
	leave(act) {
		this.results.hidden = true;
		act();
		document.getElementById('timeline')?.scrollIntoView({ block: 'nearest' });
	}

	/** @param {number} label @param {number} count @returns {HTMLElement} */
	labelButton(label, count) {
		const { trace } = this.app;
		const button = makeButton('', () => this.leave(() => {
			this.at = longestOf(trace.slices, label, null);
			this.app.visit(this.at);
			this.tell();
		}));

		button.append(makeName(middleCut(trace.model.labels[label][1], 90)),
			make('span', { class: 'reading' }, `${labelCategory(trace, label)} × ${countText(count)}`));
		return button;
	}

	/** @param {number} track @returns {HTMLElement} */
	trackButton(track) {
		const { slices } = this.app.trace;
		const first = slices.rowFirst[slices.trackRow[track]];
		const button = makeButton('', () => this.leave(() => {
			if (first < slices.rowFirst[slices.trackRow[track + 1]])
				this.app.visit(first);
		}));

		button.append(makeName(trackText(this.app.trace, track)));
		return button;
	}
}
