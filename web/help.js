/*
 * help.js - the keys, in a dialog.
 */
import { make, makeButton } from './dom.js';

const KEYS = [
	['W S, + −, ctrl+wheel, pinch', 'zoom the timeline in and out'],
	['A D, ← →, drag, shift+wheel', 'move along the timeline'],
	['shift+drag', 'choose a range: flame graph and tables show it alone'],
	['click, Enter', 'select a slice'],
	['double click, F', 'fit the selected slice'],
	['[ ] or , .', 'previous and next slice of the row'],
	['↑ ↓', 'the slice around, the first slice inside; scrolls the tracks when none is selected'],
	['L', 'from a piece of work to its launch, and back'],
	['0, Home', 'the whole run'],
	['Backspace', 'the view before'],
	['Esc', 'clear search, selection, range'],
	['/', 'search; Enter and Shift+Enter go to the next and previous hit'],
	['1 to 9', 'open a finding and go to its example'],
	['T, P, ?', 'theme, print, this help'],
	['flame graph: arrows, Enter, Esc, H', 'walk, zoom, show all, hide the frame'],
	['tables: ↑ ↓, Enter', 'choose a row, show it in the timeline'],
];

/** @returns {HTMLDialogElement} */
function makeHelp() {
	const rows = KEYS.map(([keys, what]) => make('tr', {}, make('th', { scope: 'row' }, make('kbd', {}, keys)), make('td', {}, what)));
	const dialog = make('dialog', { class: 'help', 'aria-labelledby': 'help-title' }, make('h2', { id: 'help-title' }, 'Keys'),
		make('table', {}, make('tbody', {}, ...rows)));

	dialog.append(makeButton('Close', () => dialog.close()));
	document.body.append(dialog);
	return dialog;
}

/** @returns {() => void} opens or closes it */
export function helpToggle() {
	/** @type {HTMLDialogElement | null} */
	let dialog = null;

	return () => {
		dialog ??= makeHelp();
		if (dialog.open)
			dialog.close();
		else
			dialog.showModal();
	};
}
