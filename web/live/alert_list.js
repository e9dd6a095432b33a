/*
 * alert_list.js - what is alarming, and what was: each once, the newest first, at most 200.
 */
import { make } from '../dom.js';
import { safeText } from '../format.js';
import { clockText } from './live_text.js';
import { figure, words } from './snapshot.js';
import { setText } from './tiles.js';

const ALERTS_MOST = 200;
const LEVELS_OF = new Map([['critical', 'high'], ['warning', 'medium'], ['info', 'low']]);

/**
 * Alerts that were ever seen, by number: the server tells of the newest alone.
 * @param {Map<number, Record<string, any>>} seen is changed
 * @param {Record<string, any>[]} alerts
 */
export function remember(seen, alerts) {
	for (const alert of alerts) {
		if (typeof alert.number === 'number')
			seen.set(alert.number, alert);
	}
	const ended = [...seen.values()].filter((alert) => !alert.active).map((alert) => alert.number).sort((a, b) => a - b);

	for (const number of ended) {
		if (seen.size <= ALERTS_MOST)
			break;
		seen.delete(number);
	}
	for (const number of [...seen.keys()].sort((a, b) => a - b)) {
		if (seen.size <= ALERTS_MOST)
			break;
		seen.delete(number);
	}
}

/** @param {Map<number, Record<string, any>>} seen @returns {Record<string, any>[]} active ones first, then the newest */
export function inOrder(seen) {
	return [...seen.values()].sort((a, b) => Number(b.active === true) - Number(a.active === true) || b.number - a.number);
}

/** @param {Record<string, any>} alert @returns {string} */
function whenText(alert) {
	const begin = clockText(figure(alert.begin_s));

	return alert.active ? `since ${begin}` : `${begin} to ${clockText(figure(alert.end_s))}`;
}

/** @returns {HTMLLIElement} */
function makeAlert() {
	return make('li', {}, make('span', { class: 'level' }), make('span', { class: 'when' }), make('bdi', { class: 'text' }),
		make('bdi', { class: 'advice' }));
}

/** @param {Element} item @param {Record<string, any>} alert */
function fillAlert(item, alert) {
	const severity = words(alert.severity);
	const [level, when, text, advice] = item.children;
	const times = figure(alert.times);

	setText(level, alert.active ? severity : 'ended');
	level.className = `level ${alert.active ? LEVELS_OF.get(severity) ?? 'low' : 'low'}`;
	item.className = alert.active ? 'active' : 'past';
	setText(when, whenText(alert) + (times > 1 ? `, ${times} times` : ''));
	setText(text, safeText(words(alert.text) || words(alert.kind)));
	setText(advice, alert.active ? safeText(words(alert.advice)) : '');
}

/** @param {import('./live_app.js').LiveApp} app @param {HTMLElement} section @param {HTMLElement} list */
export function makeAlerts(app, section, list) {
	/** @type {Map<number, Record<string, any>>} */
	const seen = new Map();
	let run = '';
	/** @type {Record<string, any>[] | null} */
	let drawn = null;

	app.add(() => {
		const { shown } = app;

		if (!shown || shown.alerts === drawn)
			return;
		if (run !== `${shown.pid} ${shown.command}`)
			seen.clear();
		run = `${shown.pid} ${shown.command}`;
		drawn = shown.alerts;
		remember(seen, shown.alerts);
		const all = inOrder(seen);

		while (list.children.length > all.length)
			list.lastElementChild?.remove();
		while (list.children.length < all.length)
			list.append(makeAlert());
		all.forEach((alert, i) => fillAlert(list.children[i], alert));
		section.hidden = all.length === 0;
	});
}
