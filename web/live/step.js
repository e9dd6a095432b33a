/*
 * step.js - the newest step that is over: its slices, nested, from its beginning to its end.
 */
import { make, makeCanvas, sizedContext } from '../dom.js';
import { CATEGORIES, LEVEL_FULL, COLORS, SHADES, nameHash } from '../colors.js';
import { axisMarks, middleCut, safeText } from '../format.js';
import { secondsText, shareText } from './live_text.js';
import { LiveTable } from './live_table.js';
import { figure, words } from './snapshot.js';
import { setText } from './tiles.js';

const ROW = 18;
const AXIS = 20;
const ROWS_MOST = 14;
const CHARACTER = 6.7; /* px of the font's width */

/** Categories of the kinds of events; others are "other". */
const KINDS = new Map([['scope', 'scope'], ['cpu_call', 'python'], ['op', 'operator'], ['runtime_call', 'runtime'],
	['cpu_syscall', 'native'], ['gpu_kernel', 'kernel'], ['h2d_copy', 'copy'], ['d2h_copy', 'copy'], ['d2d_copy', 'copy'],
	['memset', 'copy'], ['sync', 'sync'], ['collective', 'communication']]);

/** @param {string} kind @param {string} name @returns {number} */
function colorOf(kind, name) {
	const category = CATEGORIES.indexOf(KINDS.get(kind) ?? 'other');

	return category * SHADES + (nameHash(name) % SHADES);
}

/**
 * @typedef {object} StepPicture
 * @property {Record<string, any>[]} slices
 * @property {number} length s
 * @property {number} rows
 */

/** @param {Record<string, any>[]} slices @returns {StepPicture} */
export function pictureOf(slices) {
	const sound = slices.filter((slice) => Number.isFinite(slice.begin_s) && slice.duration_s >= 0 && slice.depth >= 0);

	return {
		slices: sound,
		length: sound.reduce((most, slice) => Math.max(most, slice.begin_s + slice.duration_s), 0),
		rows: Math.min(ROWS_MOST, 1 + sound.reduce((most, slice) => Math.max(most, slice.depth), 0)),
	};
}

export class StepView {
	/** @param {import('./live_app.js').LiveApp} app @param {HTMLElement} section */
	constructor(app, section) {
		this.app = app;
		this.section = section;
		this.about = make('p', { class: 'more' });
		this.canvas = makeCanvas('Slices of the newest step; arrow keys choose one', 'step-canvas');
		this.reading = make('p', { class: 'reading', role: 'status' });
		this.chosen = -1;
		/** @type {StepPicture} */
		this.picture = { slices: [], length: 0, rows: 1 };
		/** @type {Record<string, any>[] | null} */
		this.drawn = null;
		const details = make('details', { class: 'fold' }, make('summary', {}, 'As a table'));

		this.table = new LiveTable(details, {
			caption: 'Slices of the newest step', most: 30, redraw: () => app.draw(), columns: [
				{ title: 'Name', name: true, text: (row) => `${'\u00a0\u00a0'.repeat(Math.min(20, row.depth))}${words(row.name)}` },
				{ title: 'Begins', text: (row) => secondsText(figure(row.begin_s)) },
				{
					title: 'Takes', text: (row) => secondsText(figure(row.duration_s)),
					share: (row) => row.duration_s / this.picture.length,
				},
			],
		});
		section.append(this.about, this.canvas, this.reading, details);
		this.details = details;
		details.addEventListener('toggle', () => app.draw());
		this.bind();
		app.add(() => this.draw());
	}

	bind() {
		this.canvas.addEventListener('pointermove', (event) => this.choose(this.sliceAt(event.offsetX, event.offsetY)));
		this.canvas.addEventListener('pointerleave', () => this.choose(-1));
		this.canvas.addEventListener('keydown', (event) => {
			const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];

			if (!step || !this.picture.slices.length)
				return;
			event.preventDefault();
			this.choose((this.chosen + step + this.picture.slices.length) % this.picture.slices.length);
		});
	}

	/** @param {number} slice or -1 */
	choose(slice) {
		if (slice === this.chosen)
			return;
		this.chosen = slice;
		this.drawn = null;
		this.app.draw();
	}

	/** @param {number} x @param {number} y @returns {number} */
	sliceAt(x, y) {
		const time = (x / Math.max(1, this.canvas.clientWidth)) * this.picture.length;
		const row = Math.floor((y - AXIS) / ROW);

		return this.picture.slices.findIndex((slice) =>
			slice.depth === row && slice.begin_s <= time && time <= slice.begin_s + slice.duration_s);
	}

	draw() {
		const { shown } = this.app;
		const slices = shown?.slices ?? [];

		this.section.hidden = !shown || slices.length === 0;
		if (!shown || this.section.hidden)
			return;
		if (this.drawn !== slices)
			this.picture = pictureOf(slices);
		if (this.chosen >= this.picture.slices.length)
			this.chosen = -1;
		this.drawn = slices;
		setText(this.about, [safeText(middleCut(words(shown.steps.name), 96)), secondsText(this.picture.length),
			shown.slices_left_out > 0 ? `the ${slices.length} longest slices, ${shown.slices_left_out} more left out` : '']
			.filter(Boolean).join(' · '));
		this.read();
		this.paint();
		if (this.details.open)
			this.table.update(this.picture.slices, shown.slices_left_out);
	}

	read() {
		const slice = this.picture.slices[this.chosen];

		setText(this.reading, slice ? [safeText(middleCut(words(slice.name), 96)), words(slice.kind), secondsText(slice.duration_s),
			shareText(slice.duration_s / this.picture.length)].filter(Boolean).join(' · ') : '\u00a0');
	}

	paint() {
		const width = Math.floor(this.canvas.clientWidth);
		const { rows, length, slices } = this.picture;
		const context = width > 0 && length > 0 ? sizedContext(this.canvas, width, AXIS + rows * ROW + 2) : null;

		if (!context)
			return;
		const { palette } = this.app;

		context.font = `11px ${palette.font}`;
		context.fillStyle = palette.background;
		context.fillRect(0, 0, width, AXIS + rows * ROW + 2);
		this.paintAxis(context, width);
		slices.forEach((slice, i) => {
			if (slice.depth < rows)
				this.paintSlice(context, slice, width / length, i === this.chosen);
		});
	}

	/** @param {CanvasRenderingContext2D} context @param {number} width */
	paintAxis(context, width) {
		const span = this.picture.length * 1e9;
		const marks = axisMarks(span, width / 90, span);

		context.fillStyle = this.app.palette.muted;
		for (let time = 0, i = 0; time < span && i < 100; time += marks.step, i++) {
			const x = (time / span) * width;

			context.fillRect(Math.round(x), AXIS - 5, 1, 4);
			if (width - x > 60)
				context.fillText(marks.text(time), x + 3, AXIS / 2 - 1);
		}
	}

	/** @param {CanvasRenderingContext2D} context @param {Record<string, any>} slice @param {number} scale @param {boolean} chosen */
	paintSlice(context, slice, scale, chosen) {
		const { palette } = this.app;
		const name = words(slice.name);
		const color = colorOf(words(slice.kind), name);
		const [x, size, y] = [slice.begin_s * scale, Math.max(1, slice.duration_s * scale), AXIS + slice.depth * ROW];
		const room = Math.floor((size - 8) / CHARACTER);

		context.fillStyle = palette.fills[LEVEL_FULL * COLORS + color];
		context.fillRect(x, y, Math.max(1, size - 1), ROW - 1);
		if (room >= 3) {
			context.fillStyle = palette.inks[color];
			context.fillText(middleCut(safeText(name.slice(0, 200)), room), x + 4, y + ROW / 2);
		}
		if (chosen) {
			context.strokeStyle = palette.text;
			context.lineWidth = 2;
			context.strokeRect(x + 1, y + 1, Math.max(1, size - 3), ROW - 3);
		}
	}
}
