/*
 * print.js - on paper everything is open, light, and tables are as long as is of use.
 */
import { chosenTheme, setTheme } from './theme.js';

/**
 * @param {import('./app.js').App} app
 * @param {{print: () => void, unprint: () => void}[]} parts
 */
export function bindPrint(app, parts) {
	/** @type {HTMLDetailsElement[]} */
	let opened = [];
	let theme = '';

	window.addEventListener('beforeprint', () => {
		opened = Array.from(document.querySelectorAll('details:not([open])')).filter((one) => one instanceof HTMLDetailsElement);
		opened = opened.filter((one) => !one.classList.contains('events'));
		for (const one of opened)
			one.open = true;
		theme = chosenTheme();
		setTheme(app, 'light');
		for (const part of parts)
			part.print();
	});
	window.addEventListener('afterprint', () => {
		for (const one of opened)
			one.open = false;
		setTheme(app, theme);
		for (const part of parts)
			part.unprint();
	});
}
