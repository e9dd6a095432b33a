/*
 * live_table.js - a table whose rows come and go with the snapshots. Rows are kept and filled anew.
 */
import { make, makeButton } from '../dom.js';
import { middleCut, safeText } from '../format.js';
import { setText } from './tiles.js';

const CELL_MOST = 96;

/**
 * @typedef {object} LiveColumn
 * @property {string} title
 * @property {(row: Record<string, any>) => string} text
 * @property {boolean} [name] from the program: not to be trusted, and wide
 * @property {boolean} [word] is a word, not a figure
 * @property {(row: Record<string, any>) => number} [share] 0 to 1, drawn as a bar behind the text
 * @property {boolean} [minor] left out where there is little room
 */

export class LiveTable {
	/**
	 * @param {HTMLElement} section that is hidden while there are no rows
	 * @param {{caption: string, columns: LiveColumn[], most: number, redraw: () => void}} options most: rows, until all are asked for
	 */
	constructor(section, options) {
		this.section = section;
		this.columns = options.columns;
		this.most = options.most;
		this.all = false;
		const heads = options.columns.map((column) => make('th', { scope: 'col', class: this.classOf(column) }, column.title));

		this.body = make('tbody');
		this.table = make('table', { class: 'live' }, make('caption', { class: 'visually-hidden' }, options.caption),
			make('thead', {}, make('tr', {}, ...heads)), this.body);
		this.button = makeButton('', () => {
			this.all = !this.all;
			options.redraw();
		}, { class: 'link' });
		this.note = make('span', { class: 'more' });
		this.root = make('div', { class: 'live-table' }, make('div', { class: 'scroll' }, this.table),
			make('p', { class: 'below' }, this.button, ' ', this.note));
		section.append(this.root);
	}

	/** @param {LiveColumn} column @returns {string} */
	classOf(column) {
		return [column.name ? 'wide' : column.word ? 'word' : 'figure', column.minor ? 'minor' : ''].join(' ').trim();
	}

	/** @param {LiveColumn} column @returns {HTMLTableCellElement} */
	makeCell(column) {
		const cell = make('td', { class: this.classOf(column) });

		cell.append(column.name ? make('bdi', { class: 'name' }) : make('span'));
		return cell;
	}

	/** @param {HTMLTableCellElement} cell @param {LiveColumn} column @param {Record<string, any>} row */
	fillCell(cell, column, row) {
		const text = column.text(row);
		const share = column.share?.(row);

		setText(/** @type {Element} */ (cell.firstElementChild), column.name ? safeText(middleCut(text, CELL_MOST)) : text);
		if (share !== undefined) {
			const size = `${(100 * Math.min(1, Math.max(0, share || 0))).toFixed(1)}% 100%`;

			if (cell.style.backgroundSize !== size)
				cell.style.backgroundSize = size;
			cell.classList.add('bar-cell');
		}
	}

	/** @param {Record<string, any>[]} rows @param {number} leftOut that there are besides */
	update(rows, leftOut) {
		const shown = this.all ? rows : rows.slice(0, this.most);

		while (this.body.rows.length > shown.length)
			this.body.deleteRow(-1);
		while (this.body.rows.length < shown.length)
			this.body.append(make('tr', {}, ...this.columns.map((column) => this.makeCell(column))));
		shown.forEach((row, i) => {
			this.columns.forEach((column, k) => this.fillCell(this.body.rows[i].cells[k], column, row));
		});
		this.button.hidden = rows.length <= this.most;
		setText(this.button, this.all ? `Show ${this.most}` : `Show all ${rows.length}`);
		setText(this.note, leftOut > 0 ? `${leftOut} more are not told of` : '');
		this.root.hidden = rows.length === 0;
	}
}
