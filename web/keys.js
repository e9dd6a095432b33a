/*
 * keys.js - keys of the page. They act without modifiers and outside of fields.
 */
import { fitSelection, panBy, zoomBy } from './timeline_input.js';
import { childrenOf, parentOf } from './rows.js';

const ZOOM = 0.7;
const PAN = 0.15;

/**
 * @typedef {object} KeyTargets
 * @property {import('./timeline.js').Timeline} timeline
 * @property {() => void} search
 * @property {() => void} theme
 * @property {() => void} help
 * @property {() => void} clear
 * @property {() => void} follow
 * @property {(place: number) => void} finding
 */

/** @param {EventTarget | null} target @returns {boolean} whether it takes keys itself */
function takesKeys(target) {
	return target instanceof HTMLElement && (target.isContentEditable || ['INPUT', 'SELECT', 'TEXTAREA'].includes(target.tagName));
}

/** @param {import('./app.js').App} app */
export function wholeRun(app) {
	app.glide({ from: 0, to: app.trace.duration });
}

/** @param {KeyTargets} targets @param {1 | -1} step */
function stepSlice(targets, step) {
	const { timeline } = targets;
	const { app } = timeline;
	const slice = app.selection < 0 ? timeline.firstInSight() : timeline.neighbour(app.selection, step);

	if (slice >= 0)
		app.visit(slice);
}

/** @param {KeyTargets} targets @param {1 | -1} step down or up */
function stepRow(targets, step) {
	const { timeline } = targets;
	const { app } = timeline;

	if (app.selection < 0) {
		timeline.scroller.scrollTop += step * 48;
		return;
	}
	const [first, after] = childrenOf(app.trace.slices, app.selection);
	const inside = after > first ? first : -1;
	const slice = step > 0 ? inside : parentOf(app.trace.slices, app.selection);

	if (slice >= 0)
		app.visit(slice);
}

/** Keys that work while the timeline has the focus. @param {KeyTargets} targets @returns {Map<string, () => void>} */
function timelineKeys(targets) {
	const { app } = targets.timeline;

	return new Map([
		['ArrowLeft', () => panBy(app, -PAN)], ['ArrowRight', () => panBy(app, PAN)],
		['ArrowUp', () => stepRow(targets, -1)], ['ArrowDown', () => stepRow(targets, 1)],
		['Home', () => wholeRun(app)], ['Enter', () => stepSlice(targets, 1)],
	]);
}

/** Keys that work everywhere, by what is written on them. @param {KeyTargets} targets @returns {Map<string, () => void>} */
function pageKeys(targets) {
	const { app } = targets.timeline;

	return new Map([
		['+', () => zoomBy(app, ZOOM)], ['=', () => zoomBy(app, ZOOM)], ['-', () => zoomBy(app, 1 / ZOOM)],
		['0', () => wholeRun(app)], ['f', () => fitSelection(app)], ['l', targets.follow],
		['[', () => stepSlice(targets, -1)], [',', () => stepSlice(targets, -1)],
		[']', () => stepSlice(targets, 1)], ['.', () => stepSlice(targets, 1)],
		['Escape', targets.clear], ['Backspace', () => app.back()],
		['/', targets.search], ['t', targets.theme], ['?', targets.help], ['p', () => window.print()],
	]);
}

/** Keys by where they are: those of games, on any keyboard. @param {import('./app.js').App} app @returns {Map<string, () => void>} */
function placeKeys(app) {
	return new Map([
		['KeyW', () => zoomBy(app, ZOOM)], ['KeyS', () => zoomBy(app, 1 / ZOOM)],
		['KeyA', () => panBy(app, -PAN)], ['KeyD', () => panBy(app, PAN)],
	]);
}

/** @param {KeyTargets} targets */
export function bindKeys(targets) {
	const { app, canvas } = targets.timeline;
	const inTimeline = timelineKeys(targets);
	const anywhere = pageKeys(targets);
	const byPlace = placeKeys(app);

	document.addEventListener('keydown', (event) => {
		if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || takesKeys(event.target))
			return;
		if (document.querySelector('dialog[open]') && event.key !== '?')
			return;
		const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
		const act = (event.target === canvas ? inTimeline.get(key) : undefined) ?? byPlace.get(event.code) ?? anywhere.get(key) ??
			(/^[1-9]$/.test(key) ? () => targets.finding(Number(key) - 1) : undefined);

		if (!act)
			return;
		event.preventDefault();
		act();
	});
}
