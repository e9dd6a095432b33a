/*
 * heading.js - what is watched, for how long, and whether what is seen is still so.
 */
import { middleCut, safeText } from '../format.js';
import { clockText, shareText, sizeText, UNKNOWN } from './live_text.js';
import { figure, words } from './snapshot.js';
import { setText } from './tiles.js';

const STALE_S = 3; /* or three intervals */

/** @typedef {import('./live_app.js').LiveApp} LiveApp */

/** @param {number} ms ago @returns {string} time of day */
function sinceText(ms) {
	return new Date(Date.now() - ms).toLocaleTimeString();
}

/** @param {import('./snapshot.js').Snapshot} s @returns {string} */
function endText(s) {
	const how = s.exit_status >= 0 ? ` with status ${s.exit_status}` : '';

	return `The program has ended${how}. This is how it was last.`;
}

/**
 * @param {LiveApp} app
 * @returns {{text: string, level: string}} what there is to be said about the connection, and how bad it is
 */
export function connectionOf(app) {
	const { shown, link } = app;
	const age = (performance.now() - app.changed) / 1000;
	const since = sinceText(age * 1000);

	if (link === 'refused')
		return { text: 'Another monitor runs here: open the address that it has shown.', level: 'bad' };
	if (shown?.state === 'ended')
		return { text: endText(shown), level: 'over' };
	if (app.over)
		return { text: `The monitor has ended. This is how it was at ${since}. Press R to look again.`, level: 'over' };
	if (link === 'reconnecting')
		return { text: shown ? `Reconnecting. What you see is of ${since}.` : 'Reconnecting.', level: 'bad' };
	if (link === 'connecting' || !shown)
		return { text: 'Connecting.', level: 'wait' };
	if (app.paused)
		return { text: 'Paused. The history goes on.', level: 'wait' };
	if (age > Math.max(STALE_S, 3 * (figure(shown.interval_s) || 0)))
		return { text: `Stale since ${since}: the monitor says nothing new.`, level: 'bad' };
	if (shown.state === 'stopped')
		return { text: 'The program is stopped by a signal.', level: 'wait' };
	return { text: 'Live.', level: 'good' };
}

/** @param {import('./snapshot.js').Snapshot} s @returns {string} */
function factsText(s) {
	const facts = [`process ${s.pid}`, clockText(figure(s.run_s) || 0)];

	if (s.active_alerts > 0)
		facts.push(s.active_alerts === 1 ? '1 alert' : `${s.active_alerts} alerts`);
	return facts.join(' · ');
}

/** @param {import('./snapshot.js').Snapshot} s @returns {string} */
function costText(s) {
	const [cpu, rss] = [shareText(figure(s.own_cpu)), sizeText(figure(s.own_rss_bytes))];

	return cpu === UNKNOWN && rss === UNKNOWN ? '' : `Watching costs ${cpu} of a processor and ${rss}.`;
}

/** @param {import('./snapshot.js').Snapshot} s @returns {string} what the program does, as a sentence */
export function doingText(s) {
	const text = s.state === 'ended' ? '' : safeText(words(s.doing.text));

	return text ? `${text[0].toUpperCase()}${text.slice(1)}.` : '';
}

/** @param {Record<string, any>} steps @returns {string} how steps are found, or why they are not */
export function stepsText(steps) {
	if (steps.known)
		return `Steps begin with ${safeText(middleCut(words(steps.name), 96))}: found by ${words(steps.found) || 'its name'}.`;
	const trouble = safeText(words(steps.trouble));

	return trouble ? `${trouble[0].toUpperCase()}${trouble.slice(1)}.` : '';
}

/** @param {HTMLElement} element @param {string} text that may be empty */
function setLine(element, text) {
	setText(element, text);
	element.hidden = !text;
}

/** @param {LiveApp} app @param {(id: string) => HTMLElement} byName */
export function makeHeading(app, byName) {
	const connection = byName('connection');
	const pause = byName('pause');

	app.add(() => {
		const { text, level } = connectionOf(app);
		const { shown } = app;

		setText(connection, text);
		connection.className = `connection ${level}`;
		setText(pause, app.paused ? 'Go on' : 'Pause');
		pause.setAttribute('aria-pressed', String(app.paused));
		if (!shown)
			return;
		const command = safeText(middleCut(words(shown.command) || 'program', 200));

		setText(byName('program'), command);
		setLine(byName('doing'), doingText(shown));
		setLine(byName('steps-found'), stepsText(shown.steps));
		setText(byName('facts'), factsText(shown));
		setText(byName('foot'), costText(shown));
		document.title = `${shown.active_alerts > 0 ? '(!) ' : ''}${middleCut(command, 60)} – inferscope`;
	});
	setInterval(() => app.draw(), 1000);
}
