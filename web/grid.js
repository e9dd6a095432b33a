/*
 * grid.js - a table of any length: only the rows in sight are elements.
 */
import { make, makeButton, makeName } from './dom.js';
import { countText } from './format.js';

const ROW_PIXELS = 26;
const SPARE = 8; /* rows above and below those in sight */
const PRINTED_MOST = 50;
const PRINTED_COLUMNS = 9; /* that fit the width of a page */

/**
 * @template R
 * @typedef {object} Column
 * @property {string} title
 * @property {'name' | 'text' | 'number'} kind
 * @property {(row: R) => number | string | null | undefined} value to sort by
 * @property {(row: R) => string} [text] shown; the value as it is when left out
 */

/**
 * @template R
 * @typedef {object} GridOptions
 * @property {string} label
 * @property {(row: R) => void} choose
 * @property {(row: R) => void} open
 */

/** @template R */
export class Grid {
	/** @param {GridOptions<R>} options */
	constructor(options) {
		this.options = options;
		/** @type {Column<R>[]} */
		this.columns = [];
		/** @type {R[]} */
		this.rows = [];
		/** @type {R[]} */
		this.shown = [];
		this.filter = '';
		this.sorted = { column: 0, down: true };
		this.selected = -1;
		this.firstRow = -1;
		this.lastRow = -1;
		this.head = make('thead');
		this.body = make('tbody');
		this.table = make('table', { class: 'grid', 'aria-label': options.label }, this.head, this.body);
		this.scroller = make('div', { class: 'table-scroll', tabindex: '0', role: 'region', 'aria-label': options.label }, this.table);
		this.printed = make('div', { class: 'print-only' });
		this.count = make('span', { class: 'reading', role: 'status' });
		this.element = make('div', {}, this.scroller, this.printed);
		this.scroller.addEventListener('scroll', () => this.fill(false), { passive: true });
		this.scroller.addEventListener('keydown', (event) => this.key(event));
		this.body.addEventListener('click', (event) => this.click(event, this.options.choose));
		this.body.addEventListener('dblclick', (event) => this.click(event, this.options.open));
		new ResizeObserver(() => this.fill(false)).observe(this.scroller);
	}

	/**
	 * @param {Column<R>[]} columns
	 * @param {R[]} rows
	 * @param {number} column to sort by
	 * @param {boolean} down the largest first
	 */
	setRows(columns, rows, column, down) {
		this.columns = columns;
		this.rows = rows;
		this.sorted = { column, down };
		this.table.setAttribute('aria-colcount', String(columns.length));
		this.refresh();
	}

	/** @param {string} filter */
	setFilter(filter) {
		this.filter = filter.toLowerCase();
		this.refresh();
	}

	refresh() {
		const words = this.filter;
		const texts = this.columns.filter((column) => column.kind !== 'number');
		/** @param {R} row */
		const matches = (row) => texts.some((column) => String(column.value(row) ?? '').toLowerCase().includes(words));

		this.shown = words ? this.rows.filter(matches) : this.rows.slice();
		this.sort();
		this.selected = -1;
		this.scroller.scrollTop = 0;
		this.table.setAttribute('aria-rowcount', String(this.shown.length + 1));
		this.count.textContent = words
			? `${countText(this.shown.length)} of ${countText(this.rows.length)} rows`
			: `${countText(this.rows.length)} ${this.rows.length === 1 ? 'row' : 'rows'}`;
		this.makeHead();
		this.fill(true);
	}

	sort() {
		const { column, down } = this.sorted;
		const value = this.columns[column]?.value;

		if (!value)
			return;
		const none = this.columns[column].kind === 'number' ? -Infinity : '';
		const keyed = this.shown.map((row, i) => ({ row, i, key: value(row) ?? none }));
		const sign = down ? -1 : 1;

		keyed.sort((a, b) => (a.key < b.key ? -sign : a.key > b.key ? sign : a.i - b.i));
		this.shown = keyed.map(({ row }) => row);
	}

	/** @param {number} column */
	sortBy(column) {
		const same = this.sorted.column === column;

		this.sorted = { column, down: same ? !this.sorted.down : this.columns[column].kind === 'number' };
		this.refresh();
		this.head.querySelectorAll('button')[column]?.focus();
	}

	makeHead() {
		const cells = this.columns.map((column, i) => {
			const sorted = i === this.sorted.column ? (this.sorted.down ? 'descending' : 'ascending') : 'none';

			return make('th', { scope: 'col', class: column.kind, 'aria-sort': sorted }, makeButton(column.title, () => this.sortBy(i)));
		});

		this.head.replaceChildren(make('tr', { 'aria-rowindex': '1' }, ...cells));
	}

	/** @param {number} place @returns {HTMLTableRowElement} */
	makeRow(place) {
		const row = make('tr', { 'aria-rowindex': String(place + 2), 'data-row': String(place) });

		row.style.height = `${ROW_PIXELS}px`;
		row.setAttribute('aria-selected', String(place === this.selected));
		row.append(...this.makeCells(this.shown[place]));
		return row;
	}

	/** @param {R} row @returns {HTMLTableCellElement[]} */
	makeCells(row) {
		return this.columns.map((column) => {
			const text = column.text ? column.text(row) : String(column.value(row) ?? '');
			const cell = make('td', { class: column.kind });

			cell.append(column.kind === 'name' ? makeName(text) : text);
			if (column.kind === 'name')
				cell.title = cell.textContent ?? '';
			return cell;
		});
	}

	/** @param {number} rows @returns {HTMLTableRowElement} */
	makeSpace(rows) {
		const cell = make('td', { colspan: String(Math.max(1, this.columns.length)) });
		const row = make('tr', { class: 'spacer', 'aria-hidden': 'true' }, cell);

		cell.style.height = `${rows * ROW_PIXELS}px`;
		row.style.height = `${rows * ROW_PIXELS}px`;
		return row;
	}

	/** @param {boolean} anew even if the same rows are in sight */
	fill(anew) {
		const height = this.scroller.clientHeight || 440;
		const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW_PIXELS) - SPARE);
		const last = Math.min(this.shown.length, first + Math.ceil(height / ROW_PIXELS) + 2 * SPARE);

		if (!anew && first === this.firstRow && last === this.lastRow)
			return;
		this.firstRow = first;
		this.lastRow = last;
		const rows = [];

		if (first > 0)
			rows.push(this.makeSpace(first));
		for (let i = first; i < last; i++)
			rows.push(this.makeRow(i));
		if (last < this.shown.length)
			rows.push(this.makeSpace(this.shown.length - last));
		this.body.replaceChildren(...rows);
	}

	/** @param {number} place */
	selectRow(place) {
		this.selected = Math.max(-1, Math.min(this.shown.length - 1, place));
		for (const row of this.body.rows)
			row.setAttribute('aria-selected', String(row.dataset.row === String(this.selected)));
	}

	/** @returns {R | null} */
	selectedRow() {
		return this.shown[this.selected] ?? null;
	}

	/** @param {MouseEvent} event @param {(row: R) => void} act */
	click(event, act) {
		const row = event.target instanceof Element ? event.target.closest('tr[data-row]') : null;

		if (!(row instanceof HTMLElement))
			return;
		this.selectRow(Number(row.dataset.row));
		act(this.shown[this.selected]);
	}

	/** @param {KeyboardEvent} event */
	key(event) {
		const moves = new Map([['ArrowDown', 1], ['ArrowUp', -1], ['PageDown', 15], ['PageUp', -15], ['Home', -1e9], ['End', 1e9]]);
		const move = moves.get(event.key);
		const row = this.selectedRow();

		if (event.target !== this.scroller)
			return;
		if (move !== undefined && this.shown.length) {
			this.selectRow(Math.max(0, this.selected + move));
			this.scrollToSelected();
			this.options.choose(this.shown[this.selected]);
		} else if (event.key === 'Enter' && row) {
			this.options.open(row);
		} else {
			return;
		}
		event.preventDefault();
		event.stopPropagation();
	}

	scrollToSelected() {
		const top = this.selected * ROW_PIXELS;
		const { scroller } = this;
		const head = this.head.offsetHeight;

		if (top < scroller.scrollTop)
			scroller.scrollTop = top;
		else if (top + ROW_PIXELS + head > scroller.scrollTop + scroller.clientHeight)
			scroller.scrollTop = top + ROW_PIXELS + head - scroller.clientHeight;
		this.fill(true);
	}

	/** The first rows as a plain table, for paper. */
	print() {
		const columns = this.columns.slice(0, PRINTED_COLUMNS);
		const head = make('tr', {}, ...columns.map((column) => make('th', { class: column.kind }, column.title)));
		const rows = this.shown.slice(0, PRINTED_MOST).map((row) => make('tr', {}, ...this.makeCells(row).slice(0, columns.length)));

		this.printed.replaceChildren(make('table', { class: 'grid' }, make('caption', {}, this.options.label), make('thead', {}, head),
			make('tbody', {}, ...rows)));
	}

	unprint() {
		this.printed.replaceChildren();
	}
}
