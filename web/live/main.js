/*
 * main.js - the live page: a connection, and views of what comes through it.
 */
import { make } from '../dom.js';
import { setTheme, storedTheme, toggleTheme, watchSystem } from '../theme.js';
import { makeAlerts } from './alert_list.js';
import { makeHeading } from './heading.js';
import { makeLists } from './lists.js';
import { LiveApp } from './live_app.js';
import { liveHelp } from './live_help.js';
import { StepView } from './step.js';
import { Stream } from './stream.js';
import { makeTiles } from './tiles.js';

/** @param {string} id @returns {HTMLElement} one that is not in the document when there is none */
function named(id) {
	return document.getElementById(id) ?? make('section');
}

/** The token is a cookie by now: nobody has to see it in the address. */
function hideToken() {
	if (location.search)
		history.replaceState(null, '', location.pathname);
}

/** @param {EventTarget | null} target @returns {boolean} whether it does something of its own with keys */
function hasKeys(target) {
	return target instanceof HTMLElement && ['INPUT', 'SELECT', 'TEXTAREA', 'BUTTON', 'SUMMARY'].includes(target.tagName);
}

/** @param {Map<string, () => void>} keys */
function bindLiveKeys(keys) {
	document.addEventListener('keydown', (event) => {
		const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
		const act = keys.get(key);

		if (!act || event.ctrlKey || event.metaKey || event.altKey || (key === ' ' && hasKeys(event.target)))
			return;
		if (document.querySelector('dialog[open]') && key !== '?')
			return;
		event.preventDefault();
		act();
	});
}

function startLive() {
	const app = new LiveApp();
	const help = liveHelp();
	const pauseOrGo = () => app.setPaused(!app.paused);

	hideToken();
	setTheme(app, storedTheme());
	watchSystem(app);
	makeHeading(app, named);
	makeTiles(app, named('tiles'));
	makeAlerts(app, named('alerts'), named('alert-list'));
	new StepView(app, named('step'));
	makeLists(app, named);
	const stream = new Stream(app.listener());

	named('pause').addEventListener('click', pauseOrGo);
	named('theme').addEventListener('click', () => toggleTheme(app));
	named('help').addEventListener('click', help);
	bindLiveKeys(new Map([['p', pauseOrGo], [' ', pauseOrGo], ['t', () => toggleTheme(app)], ['?', help], ['r', () => stream.open()]]));
	app.draw();
	Object.defineProperty(window, 'inferscopeLive', { value: {
		/** For tests. @returns {{messages: number, draws: number, points: number, link: string, sequence: number, leads: boolean}} */
		facts: () => ({
			messages: app.messages, draws: app.draws, points: app.ring.count, link: app.link, sequence: app.newest?.sequence ?? 0,
			leads: stream.leads,
		}),
	} });
	document.body.dataset.ready = '';
}

startLive();
