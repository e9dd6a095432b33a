/*
 * main.js - reads the data, then fills the sections of the page.
 */
import { App } from './app.js';
import { makeApi } from './api.js';
import { make, pause } from './dom.js';
import { bindFindings, firstView, openFinding } from './findings.js';
import { Flame } from './flame.js';
import { parseHash, hashText } from './hash.js';
import { helpToggle } from './help.js';
import { longestOf } from './hits.js';
import { bindKeys } from './keys.js';
import { readTrace } from './model.js';
import { bindPrint } from './print.js';
import { Search } from './search.js';
import { Steps } from './steps.js';
import { Tables } from './tables.js';
import { chosenTheme, setTheme, storedTheme, toggleTheme, watchSystem } from './theme.js';
import { TimelineSection, makeBanner } from './timeline_section.js';
import { Tip } from './tip.js';

/** @param {string} id @returns {HTMLElement} one that is not in the document when there is none */
function byId(id) {
	return document.getElementById(id) ?? make('section');
}

/** @param {string} id @returns {HTMLElement} the section, which can be seen from now on */
function openSection(id) {
	const section = byId(id);

	section.hidden = false;
	document.querySelectorAll(`header a[href="#${id}"]`).forEach((link) => link.removeAttribute('hidden'));
	return section;
}

/** @param {string} text */
function say(text) {
	openSection('timeline').append(make('p', { class: 'message', role: 'status' }, text));
}

/**
 * Keeps the address as what is being looked at.
 * @param {App} app
 * @param {Search} search
 */
function bindHash(app, search) {
	let written = '';

	const write = () => {
		written = hashText({
			view: app.view, range: app.range, selection: app.selection, finding: app.finding, query: app.query, theme: chosenTheme(),
		});
		try {
			history.replaceState(null, '', written);
		} catch {
			written = location.hash; /* some browsers allow only so many in a minute */
		}
	};

	for (const topic of /** @type {import('./app.js').Topic[]} */ (['settled', 'selection', 'range', 'highlight', 'palette']))
		app.on(topic, write);
	window.addEventListener('hashchange', () => {
		if (location.hash !== written)
			restore(app, search, parseHash(location.hash));
	});
}

/**
 * @param {App} app
 * @param {Search} search
 * @param {import('./hash.js').Place | null} place
 */
function restore(app, search, place) {
	if (!place)
		return;
	if (place.theme !== chosenTheme())
		setTheme(app, place.theme);
	if (place.query !== app.query) {
		search.input.value = place.query;
		search.find(place.query);
	}
	if (place.finding >= 0)
		openFinding(app, place.finding);
	if (place.selection >= 0)
		app.select(place.selection);
	if (place.range)
		app.setRange(place.range);
	if (place.view)
		app.setView(place.view, 'jump');
}

/** @param {App} app @param {Search} search */
function clearNext(app, search) {
	if (app.query || app.highlight)
		search.clear();
	else if (app.selection >= 0)
		app.select(-1);
	else if (app.range)
		app.setRange(null);
	app.mark = null;
	app.emit('view');
}

/** @param {App} app @param {number} label */
function showLongest(app, label) {
	const slice = longestOf(app.trace.slices, label, app.range);

	if (slice >= 0) {
		app.visit(slice);
		document.getElementById('timeline')?.scrollIntoView({ block: 'start' });
	}
}

/** @param {App} app @returns {Search} */
function openHeader(app) {
	const input = document.getElementById('search');
	const toggle = helpToggle();

	for (const id of ['search', 'search-status', 'theme', 'help'])
		byId(id).hidden = false;
	document.querySelectorAll('header[hidden]').forEach((header) => header.removeAttribute('hidden'));
	byId('theme').addEventListener('click', () => toggleTheme(app));
	byId('help').addEventListener('click', toggle);
	return new Search(app, input instanceof HTMLInputElement ? input : make('input'), byId('search-status'),
		(place) => openFinding(app, place));
}

/**
 * @param {App} app
 * @param {Tip} tip
 * @returns {Promise<{print: () => void, unprint: () => void}[]>} what is to be printed in its own way
 */
async function openViews(app, tip) {
	/** @param {number} label */
	const show = (label) => showLongest(app, label);
	const { trace } = app;

	if (trace.flame.count) {
		const section = openSection('flame');

		section.append(makeBanner(app, 'Calls of the range'));
		new Flame(app, section, tip, show);
		await pause();
	}
	if (trace.model.steps_ns.length > 1)
		new Steps(app, openSection('steps'), tip);
	const section = openSection('tables');

	section.append(makeBanner(app, 'Sums of the range'));
	const tables = new Tables(app, section, show);

	if (tables.present().length) {
		byId('tops').hidden = true;
		document.querySelectorAll('header a[href="#tops"]').forEach((link) => link.setAttribute('hidden', ''));
	} else {
		section.hidden = true;
	}
	return [tables];
}

async function start() {
	/** @type {Record<string, number>} */
	const times = { started_ms: performance.now() };

	if (typeof DecompressionStream === 'undefined') {
		say('This browser cannot unpack the data of this page: the timeline needs one of 2023 or later.');
		return;
	}
	const trace = await readTrace();
	const app = new App(trace);
	const tip = new Tip();

	times.decoded_ms = performance.now();
	setTheme(app, parseHash(location.hash)?.theme || storedTheme());
	const view = new TimelineSection(app, openSection('timeline'), tip);
	const search = openHeader(app);

	app.setView(firstView(app), 'jump');
	app.history.length = 0;
	times.timeline_ms = performance.now();
	await pause();
	const parts = await openViews(app, tip);

	bindFindings(app);
	bindPrint(app, [...parts, view]);
	watchSystem(app);
	bindKeys({
		timeline: view.timeline, search: () => search.input.focus(), theme: () => toggleTheme(app), help: () => byId('help').click(),
		clear: () => clearNext(app, search), follow: () => view.details.follow(), finding: (place) => openFinding(app, place),
	});
	restore(app, search, parseHash(location.hash));
	bindHash(app, search);
	times.ready_ms = performance.now();
	Object.defineProperty(window, 'inferscope', { value: makeApi(app, view.timeline, search, times) });
	performance.mark('ready');
	document.body.dataset.ready = '';
}

/** Begins once the page has been painted, or soon where nothing is painted. */
function startAfterPaint() {
	let begun = false;

	const begin = () => {
		if (begun)
			return;
		begun = true;
		start().catch((error) => {
			say(`The timeline could not be made: ${error instanceof Error ? error.message : String(error)}.`);
		});
	};

	requestAnimationFrame(() => setTimeout(begin, 0));
	setTimeout(begin, 500);
}

startAfterPaint();
