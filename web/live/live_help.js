/*
 * live_help.js - the keys of the live page.
 */
import { make, makeButton } from '../dom.js';

const LIVE_KEYS = [
	['P, space', 'pause, go on'],
	['R', 'look again after the end'],
	['T', 'light or dark'],
	['← →', 'in the picture of the step: the slice before, the next one'],
	['?', 'this help'],
];

/** @returns {() => void} opens or closes it */
export function liveHelp() {
	const rows = LIVE_KEYS.map(([keys, what]) => make('tr', {}, make('th', { scope: 'row' }, make('kbd', {}, keys)), make('td', {}, what)));
	const dialog = make('dialog', { class: 'help', 'aria-labelledby': 'help-title' }, make('h2', { id: 'help-title' }, 'Keys'),
		make('table', {}, make('tbody', {}, ...rows)));

	dialog.append(makeButton('Close', () => dialog.close()));
	document.body.append(dialog);
	return () => (dialog.open ? dialog.close() : dialog.showModal());
}
