/*
 * theme.js - light or dark: as the system has it, until the reader says otherwise.
 */
import { readPalette } from './colors.js';

/** What has colours: a page. @typedef {{palette: import('./colors.js').Palette, emit: (topic: 'palette') => void}} Painted */

const STORED = 'inferscope-theme';

/** @returns {string} light, dark, or nothing */
export function chosenTheme() {
	return document.documentElement.dataset.theme ?? '';
}

/** @returns {boolean} */
function isDark() {
	return chosenTheme() ? chosenTheme() === 'dark' : window.matchMedia('(prefers-color-scheme: dark)').matches;
}

/** @param {Painted} app */
export function refreshPalette(app) {
	app.palette = readPalette();
	app.emit('palette');
}

/**
 * @param {Painted} app
 * @param {string} theme light, dark, or nothing for what the system has
 */
export function setTheme(app, theme) {
	if (theme === 'light' || theme === 'dark')
		document.documentElement.dataset.theme = theme;
	else
		delete document.documentElement.dataset.theme;
	refreshPalette(app);
}

/** @param {Painted} app */
export function toggleTheme(app) {
	const theme = isDark() ? 'light' : 'dark';

	setTheme(app, theme);
	try {
		localStorage.setItem(STORED, theme);
	} catch {
		/* nothing is kept where nothing may be */
	}
}

/** @returns {string} what was chosen at another time */
export function storedTheme() {
	try {
		return localStorage.getItem(STORED) ?? '';
	} catch {
		return '';
	}
}

/** @param {Painted} app */
export function watchSystem(app) {
	for (const query of ['(prefers-color-scheme: dark)', '(forced-colors: active)'])
		window.matchMedia(query).addEventListener('change', () => refreshPalette(app));
}
