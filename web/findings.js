/*
 * findings.js - from a finding to its examples in the timeline.
 */
import { exampleSlice } from './model.js';

const SHARE = 0.15; /* of the width that an example takes: enough of what is around it can be seen */

/** @param {import('./app.js').App} app @returns {import('./model.js').Json[]} */
export function findingsOf(app) {
	return Array.isArray(app.trace.analysis.findings) ? app.trace.analysis.findings : [];
}

/**
 * @param {import('./app.js').App} app
 * @param {number} finding
 * @param {number} place
 * @returns {import('./model.js').Example | null}
 */
export function exampleOf(app, finding, place) {
	const example = findingsOf(app)[finding]?.examples?.[place];

	return example && Number.isFinite(example.start_us) && Number.isFinite(example.duration_us) ? example : null;
}

/**
 * Marks an example and selects its slice.
 * @param {import('./app.js').App} app
 * @param {import('./model.js').Example} example
 * @returns {import('./app.js').Span} what to show
 */
export function takeExample(app, example) {
	const span = { from: example.start_us * 1e3, to: (example.start_us + example.duration_us) * 1e3 };

	app.mark = span;
	app.select(exampleSlice(app.trace, example));
	return app.around(span, SHARE);
}

/** @param {number} finding @returns {HTMLDetailsElement | null} */
function findingElement(finding) {
	return document.querySelector(`details.finding[data-finding="${finding}"]`);
}

/**
 * @param {import('./app.js').App} app
 * @param {number} finding
 * @param {number} place of the example
 */
export function goToExample(app, finding, place) {
	const example = exampleOf(app, finding, place);

	app.finding = finding;
	if (example) {
		app.setView(takeExample(app, example), 'jump');
		document.getElementById('timeline')?.scrollIntoView({ block: 'start' });
	}
}

/** @param {import('./app.js').App} app @param {number} finding */
export function openFinding(app, finding) {
	const element = findingElement(finding);

	if (!element)
		return;
	element.open = true;
	app.finding = finding;
	if (exampleOf(app, finding, 0))
		goToExample(app, finding, 0);
	else
		element.scrollIntoView({ block: 'nearest' });
	app.emit('settled');
}

/** Gives the buttons of the findings something to do. @param {import('./app.js').App} app */
export function bindFindings(app) {
	for (const button of document.querySelectorAll('button.show')) {
		const finding = button.closest('[data-finding]');

		if (!(button instanceof HTMLElement) || !(finding instanceof HTMLElement))
			continue;
		const place = Number(finding.dataset.finding);
		const example = Number(button.dataset.example ?? 0);

		if (!exampleOf(app, place, example))
			continue;
		button.hidden = false;
		button.addEventListener('click', () => goToExample(app, place, example));
	}
}

/**
 * What to show first: what the page was made for, the worst example of the first finding, a step as they usually are, or all of it.
 * @param {import('./app.js').App} app
 * @returns {import('./app.js').Span}
 */
export function firstView(app) {
	const [from, to] = app.trace.model.view_ns ?? [0, 0];
	const example = exampleOf(app, 0, 0);

	if (to > from)
		return { from, to };
	if (example)
		return takeExample(app, example);
	const steps = app.trace.model.steps_ns.slice().sort((a, b) => (a[1] - a[0]) - (b[1] - b[0]));
	const median = steps[(steps.length - 1) >> 1];

	return median ? app.around({ from: median[0], to: median[1] }, 0.8) : { from: 0, to: app.trace.duration };
}
