/*
 * tables.js - one table at a time, under tabs.
 */
import { Grid } from './grid.js';
import { make, makeButton } from './dom.js';
import { TABLE_KINDS, rangeRows, runRows } from './table_kinds.js';

/** @param {string} category @param {string} text @returns {string} */
function labelKey(category, text) {
	return `${category}\n${text}`;
}

export class Tables {
	/**
	 * @param {import('./app.js').App} app
	 * @param {HTMLElement} section
	 * @param {(label: number) => void} showLabel in the timeline
	 */
	constructor(app, section, showLabel) {
		this.app = app;
		this.showLabel = showLabel;
		/** @type {Map<string, number> | null} */
		this.labels = null;
		this.kind = TABLE_KINDS[0];
		/** @type {Map<string, import('./table_kinds.js').TableRow[]>} */
		this.rows = new Map();
		this.grid = new Grid({ label: 'Table', choose: (row) => this.choose(row), open: (row) => this.open(row) });
		this.tabs = make('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Tables' });
		this.filter = make('input', { type: 'search', 'aria-label': 'Filter rows', placeholder: 'Filter', autocomplete: 'off' });
		this.panel = make('div', { class: 'tab-panel', role: 'tabpanel', id: 'table-panel' }, this.grid.element);
		/** @type {Grid<import('./table_kinds.js').TableRow>[]} */
		this.papers = [];
		section.append(this.tabs, this.makeToolbar(), this.panel);
		this.tabs.addEventListener('keydown', (event) => this.tabKey(event));
		this.app.on('range', () => this.refresh());
		this.refresh();
	}

	/** @returns {HTMLElement} */
	makeToolbar() {
		this.filter.addEventListener('input', () => this.grid.setFilter(this.filter.value));
		this.filter.addEventListener('keydown', (event) => {
			if (event.key === 'Escape') {
				this.filter.value = '';
				this.grid.setFilter('');
			}
		});
		const show = makeButton('Show in timeline', () => {
			const row = this.grid.selectedRow() ?? this.grid.shown[0];

			if (row)
				this.open(row);
		}, { title: 'Goes to the longest of the row that is chosen' });

		return make('div', { class: 'toolbar', role: 'toolbar', 'aria-label': 'Table' },
			make('label', { class: 'filter' }, this.filter), show, make('span', { class: 'spacer' }), this.grid.count);
	}

	refresh() {
		const { range, trace } = this.app;
		const read = range ? rangeRows(trace, range) : runRows(trace);

		this.rows = new Map(TABLE_KINDS.map((kind) => [kind.id, read(kind)]));
		const there = this.present();

		if (!there.includes(this.kind) && there.length)
			this.kind = there[0];
		this.makeTabs();
		this.show();
	}

	/** @returns {import('./table_kinds.js').TableKind[]} */
	present() {
		return TABLE_KINDS.filter((kind) => this.rows.get(kind.id)?.length);
	}

	makeTabs() {
		this.tabs.replaceChildren(...this.present().map((kind) => makeButton(kind.title, () => this.pick(kind), {
			role: 'tab', id: `tab-${kind.id}`, 'aria-controls': 'table-panel', 'aria-selected': String(kind === this.kind),
			tabindex: kind === this.kind ? '0' : '-1',
		})));
	}

	/** @param {import('./table_kinds.js').TableKind} kind */
	pick(kind) {
		this.kind = kind;
		this.filter.value = '';
		this.grid.filter = '';
		this.makeTabs();
		this.show();
		document.getElementById(`tab-${kind.id}`)?.focus();
	}

	/** @param {import('./table_kinds.js').TableKind} kind @returns {import('./table_kinds.js').TableColumn[]} */
	columnsOf(kind) {
		return this.app.range && kind.rangeColumns.length ? kind.rangeColumns : kind.columns;
	}

	/** @param {import('./table_kinds.js').TableColumn[]} columns @returns {number} */
	sortColumn(columns) {
		return Math.max(0, columns.findIndex((column) => ['Total', 'Busy', 'Duration'].includes(column.title)));
	}

	show() {
		const columns = this.columnsOf(this.kind);
		const steps = this.kind.id === 'steps';

		this.panel.setAttribute('aria-labelledby', `tab-${this.kind.id}`);
		this.grid.options.label = this.kind.title;
		this.grid.scroller.setAttribute('aria-label', this.kind.title);
		this.grid.table.setAttribute('aria-label', this.kind.title);
		this.grid.setRows(columns, this.rows.get(this.kind.id) ?? [], steps ? 0 : this.sortColumn(columns), !steps);
	}

	/** @param {KeyboardEvent} event */
	tabKey(event) {
		const kinds = this.present();
		const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;

		if (!step)
			return;
		event.preventDefault();
		event.stopPropagation();
		this.pick(kinds[(kinds.indexOf(this.kind) + step + kinds.length) % kinds.length]);
	}

	/** @param {import('./table_kinds.js').TableRow} row @returns {number} -1 when it has none */
	labelOf(row) {
		if (row.label !== undefined)
			return row.label;
		this.labels ??= new Map(this.app.trace.model.labels.map(([category, text], i) => [labelKey(category, text), i]));
		for (const category of this.kind.categories) {
			const label = this.labels.get(labelKey(category, row.name));

			if (label !== undefined)
				return label;
		}
		return -1;
	}

	/** @param {import('./table_kinds.js').TableRow} row */
	choose(row) {
		const label = this.labelOf(row);
		const flags = new Uint8Array(this.app.trace.colors.length);

		if (label < 0) {
			this.app.setHighlight(null);
			return;
		}
		flags[label] = 1;
		this.app.setHighlight(flags);
	}

	/** @param {import('./table_kinds.js').TableRow} row */
	open(row) {
		const label = this.labelOf(row);

		if (this.kind.id === 'steps')
			this.app.show({ from: row.start, to: row.start + row.duration }, 0.8);
		else if (this.kind.id === 'threads')
			this.openTrack(row);
		else if (label >= 0)
			this.showLabel(label);
		document.getElementById('timeline')?.scrollIntoView({ block: 'start' });
	}

	/** @param {import('./table_kinds.js').TableRow} row */
	openTrack(row) {
		const { slices, model } = this.app.trace;
		const track = row.track ?? model.tracks.findIndex((one) => one.kind === 'thread' && one.tid === row.thread_id);

		if (track >= 0 && slices.rowFirst[slices.trackRow[track]] < slices.rowFirst[slices.trackRow[track] + 1])
			this.app.visit(slices.rowFirst[slices.trackRow[track]]);
	}

	/** All tables, one after the other, on paper. */
	print() {
		this.papers = this.present().map((kind) => {
			const grid = new Grid({ label: kind.title, choose: () => {}, open: () => {} });
			const columns = this.columnsOf(kind);

			grid.setRows(columns, this.rows.get(kind.id) ?? [], this.sortColumn(columns), kind.id !== 'steps');
			grid.print();
			this.panel.append(grid.printed);
			return grid;
		});
	}

	unprint() {
		this.papers.forEach((grid) => grid.printed.remove());
		this.papers = [];
	}
}
