/*
 * flame.js - the call tree as an icicle: as wide as the time it took.
 */
import { Batch, LABEL_LEAST } from './batch.js';
import { COLORS, LEVEL_FULL, LEVEL_FAINT } from './colors.js';
import { flameOfRange, invertFlame, joinFrames, numberedLabels } from './aggregate.js';
import { layOutFlame, flameAt } from './flame_layout.js';
import { make, makeButton, makeCanvas, setPressed, sizedContext } from './dom.js';
import { percentText, timeText } from './format.js';
import { labelCategory, labelText, trackText } from './model.js';

const ROW = 18;
const NARROW = 0.7; /* pixels; what is smaller is not drawn, nor what is inside it */
const MEASURES = ['Wall time', 'Processor time', 'Device time'];

export class Flame {
	/**
	 * @param {import('./app.js').App} app
	 * @param {HTMLElement} section
	 * @param {import('./tip.js').Tip} tip
	 * @param {(label: number) => void} showLabel in the timeline
	 */
	constructor(app, section, tip, showLabel) {
		this.app = app;
		this.tip = tip;
		this.showLabel = showLabel;
		this.measure = 0;
		this.inverted = false;
		/** @type {Set<number>} */
		this.hidden = new Set();
		this.kinds = numberedLabels(app.trace.model.labels);
		this.tree = this.joined(app.trace.flame);
		this.shown = this.tree;
		/** @type {Uint8Array | null} what is searched for, by kind */
		this.highlight = null;
		this.zoom = 0;
		this.focus = 0;
		this.width = 800;
		this.height = 200;
		this.wanted = 0;
		this.batch = new Batch();
		this.canvas = makeCanvas('Flame graph. Arrow keys walk, Enter zooms, Escape shows all of it.', 'flame-canvas');
		this.space = make('div', { class: 'flame-space' }, this.canvas);
		this.scroller = make('div', { class: 'flame-scroll' }, this.space);
		this.reading = make('p', { class: 'reading', role: 'status' });
		this.layout = layOutFlame(this.shown, this.measure, this.hidden);
		section.append(this.makeToolbar(), this.scroller, this.reading);
		this.listen();
		this.rebuild();
	}

	/** @returns {HTMLElement} */
	makeToolbar() {
		this.measures = MEASURES.map((text, i) => makeButton(text, () => this.setMeasure(i), { 'aria-pressed': 'false' }));
		this.invert = makeButton('Inverted', () => {
			this.inverted = !this.inverted;
			this.rebuild();
		}, { 'aria-pressed': 'false', title: 'What took the time on top, its callers below' });
		this.unhide = makeButton('Show hidden', () => {
			this.hidden.clear();
			this.rebuild();
		}, { hidden: '' });
		return make('div', { class: 'toolbar', role: 'toolbar', 'aria-label': 'Flame graph' }, ...this.measures, this.invert,
			makeButton('Show all', () => this.zoomTo(0)),
			makeButton('Hide frame', () => this.hideFrame(), { title: 'Leaves out all frames of the name chosen last' }), this.unhide,
			makeButton('Show in timeline', () => this.showFrame()));
	}

	listen() {
		const { canvas, app } = this;

		app.on('range', () => this.setTree(app.range ? flameOfRange(app.trace, app.range) : app.trace.flame));
		app.on('palette', () => this.invalidate());
		app.on('highlight', () => this.takeHighlight());
		this.scroller.addEventListener('scroll', () => this.invalidate(), { passive: true });
		canvas.addEventListener('click', (event) => this.click(event));
		canvas.addEventListener('pointermove', (event) => this.hover(event));
		canvas.addEventListener('pointerleave', () => this.tip.hide());
		canvas.addEventListener('keydown', (event) => this.key(event));
		canvas.addEventListener('focus', () => this.invalidate());
		canvas.addEventListener('blur', () => this.invalidate());
		new ResizeObserver(() => {
			this.width = this.scroller.clientWidth || this.width;
			this.invalidate();
		}).observe(this.scroller);
	}

	/** @param {import('./decode.js').FlameNodes} tree @returns {import('./decode.js').FlameNodes} */
	joined(tree) {
		return this.kinds ? joinFrames(tree, this.kinds) : tree;
	}

	/** @param {import('./decode.js').FlameNodes} tree */
	setTree(tree) {
		this.tree = this.joined(tree);
		this.rebuild();
	}

	takeHighlight() {
		const { highlight } = this.app;

		this.highlight = highlight && highlight.slice();
		if (highlight && this.highlight && this.kinds) {
			for (let label = 0; label < highlight.length; label++)
				this.highlight[this.kinds[label]] |= highlight[label];
		}
		this.invalidate();
	}

	/** @param {number} measure */
	setMeasure(measure) {
		this.measure = measure;
		this.rebuild();
	}

	rebuild() {
		const { trace, range } = this.app;

		if (range && this.measure === 1)
			this.measure = 0;
		this.measures?.forEach((button, i) => {
			setPressed(button, i === this.measure);
			button.disabled = i === 1 ? range !== null : !this.tree.self[i].some((value) => value > 0);
		});
		if (this.invert)
			setPressed(this.invert, this.inverted);
		if (this.unhide)
			this.unhide.hidden = !this.hidden.size;
		this.shown = this.inverted ? invertFlame(this.tree, this.measure, trace.model.labels.length) : this.tree;
		this.layout = layOutFlame(this.shown, this.measure, this.hidden);
		this.zoomTo(0);
	}

	/** @param {number} place */
	zoomTo(place) {
		this.zoom = place;
		this.focus = place;
		const most = Math.max(160, Math.round(window.innerHeight * 0.6));
		const height = this.layout.depths * ROW;

		this.height = Math.min(most, height);
		this.space.style.height = `${height}px`;
		this.scroller.style.height = `${this.height}px`;
		this.read();
		this.invalidate();
	}

	invalidate() {
		if (!this.wanted)
			this.wanted = requestAnimationFrame(() => this.draw());
	}

	/** @param {number} place @returns {number} label, -1 when it has none */
	labelOf(place) {
		const node = this.layout.node[place];

		return node < 0 || this.shown.track[node] >= 0 ? -1 : this.shown.label[node];
	}

	/** @param {number} place @returns {string} */
	textOf(place) {
		const node = this.layout.node[place];

		if (node < 0)
			return this.app.range ? 'the range' : 'the whole run';
		const track = this.shown.track[node];

		return track >= 0 ? trackText(this.app.trace, track) : this.kindText(this.shown.label[node]);
	}

	/** @param {number} label @returns {string} */
	kindText(label) {
		const text = labelText(this.app.trace, label);

		return this.kinds ? text.replace(/#\d+$/, '#…') : text;
	}

	/** @param {number} place @returns {string} */
	describe(place) {
		const { layout } = this;
		const node = layout.node[place];
		const self = node < 0 ? 0 : Math.max(0, this.shown.self[this.measure][node]);
		const label = this.labelOf(place);
		const own = node < 0 ? '' : `, itself ${timeText(self)}`;

		return `${this.textOf(place)}\n${timeText(layout.total[place])}${own}, ${percentText(layout.total[place] / layout.total[0])}` +
			(label >= 0 ? `\n${labelCategory(this.app.trace, label)}` : '');
	}

	read() {
		this.reading.textContent = this.layout.total[0] > 0
			? this.describe(this.focus).replaceAll('\n', ' · ')
			: `No ${MEASURES[this.measure].toLowerCase()} is known here.`;
	}

	draw() {
		this.wanted = 0;
		const context = sizedContext(this.canvas, this.width, this.height);
		const { palette } = this.app;

		if (!context)
			return;
		context.fillStyle = palette.background;
		context.fillRect(0, 0, this.width, this.height);
		this.batch.clear();
		this.batch.useFont(context, palette);
		this.drawPlaces();
		this.batch.draw(context, palette);
		this.drawFocus(context);
	}

	drawPlaces() {
		const { layout, zoom, scroller } = this;
		const scale = this.width / Math.max(1e-9, layout.total[zoom]);
		const top = scroller.scrollTop;

		for (let place = layout.above[zoom]; place >= 0; place = layout.above[place])
			this.drawPlace(place, 0, this.width, layout.depth[place] * ROW - top, LEVEL_FAINT);
		for (let place = zoom; place < layout.past[zoom];) {
			const x = (layout.start[place] - layout.start[zoom]) * scale;
			const width = layout.total[place] * scale;
			const y = layout.depth[place] * ROW - top;

			if (width >= NARROW && y > -ROW && y < this.height)
				this.drawPlace(place, x, width, y, LEVEL_FULL);
			place = width < NARROW || y >= this.height ? layout.past[place] : place + 1;
		}
	}

	/** @param {number} place @param {number} x @param {number} width @param {number} y @param {number} level */
	drawPlace(place, x, width, y, level) {
		const { trace } = this.app;
		const { highlight } = this;
		const label = this.labelOf(place);
		const color = trace.colors[label < 0 ? trace.colors.length - 1 : label];
		const faint = level === LEVEL_FAINT || (highlight && (label < 0 || !highlight[label]));

		this.batch.add(x, y, Math.max(0.5, width > 3 ? width - 1 : width), ROW - 1, (faint ? LEVEL_FAINT : LEVEL_FULL) * COLORS + color);
		if (width >= LABEL_LEAST && !faint)
			this.batch.label(x, y + ROW / 2, width, color, this.textOf(place));
		else if (width >= LABEL_LEAST)
			this.batch.label(x, y + ROW / 2, width, -1, this.textOf(place));
	}

	/** @param {CanvasRenderingContext2D} context */
	drawFocus(context) {
		const { layout, zoom, focus } = this;
		const scale = this.width / Math.max(1e-9, layout.total[zoom]);

		if (document.activeElement !== this.canvas)
			return;
		context.strokeStyle = this.app.palette.text;
		context.lineWidth = 2;
		const x = Math.max(1, (layout.start[focus] - layout.start[zoom]) * scale + 1);
		const y = layout.depth[focus] * ROW - this.scroller.scrollTop + 1;

		context.strokeRect(x, y, Math.max(2, Math.min(this.width, layout.total[focus] * scale) - 3), ROW - 3);
	}

	/** @param {MouseEvent} event @returns {number} place or -1 */
	placeAt(event) {
		const { layout, zoom } = this;
		const box = this.canvas.getBoundingClientRect();
		const depth = Math.floor((event.clientY - box.top + this.scroller.scrollTop) / ROW);

		if (depth <= layout.depth[zoom]) {
			let place = zoom;

			while (layout.depth[place] > depth)
				place = layout.above[place];
			return place;
		}
		return flameAt(layout, zoom, depth, layout.start[zoom] + (event.clientX - box.left) / this.width * layout.total[zoom]);
	}

	/** @param {MouseEvent} event */
	click(event) {
		const place = this.placeAt(event);

		if (place >= 0)
			this.zoomTo(place);
	}

	/** @param {PointerEvent} event */
	hover(event) {
		const place = event.pointerType === 'mouse' ? this.placeAt(event) : -1;

		if (place >= 0)
			this.tip.show(this.describe(place), event.clientX, event.clientY);
		else
			this.tip.hide();
	}

	hideFrame() {
		const label = this.labelOf(this.focus);

		if (label >= 0) {
			this.hidden.add(label);
			this.rebuild();
		}
	}

	showFrame() {
		const label = this.labelOf(this.focus);

		if (label >= 0 && label < this.app.trace.model.labels.length)
			this.showLabel(label);
	}

	/** @param {number} place @param {number} step @returns {number} the sibling, or the place itself */
	sibling(place, step) {
		const { layout } = this;
		const above = layout.above[place];

		if (above < 0)
			return place;
		if (step > 0)
			return layout.past[place] < layout.past[above] ? layout.past[place] : place;
		let before = above + 1;

		while (before < place && layout.past[before] < place)
			before = layout.past[before];
		return before;
	}

	/** @param {KeyboardEvent} event */
	key(event) {
		const { layout, focus } = this;
		const child = layout.past[focus] > focus + 1 ? focus + 1 : focus;
		const moves = new Map([
			['ArrowDown', child], ['ArrowUp', Math.max(0, layout.above[focus])],
			['ArrowRight', this.sibling(focus, 1)], [']', this.sibling(focus, 1)],
			['ArrowLeft', this.sibling(focus, -1)], ['[', this.sibling(focus, -1)],
		]);
		const next = moves.get(event.key);

		if (event.ctrlKey || event.metaKey || event.altKey)
			return;
		if (next !== undefined)
			this.walkTo(next);
		else if (event.key === 'Enter')
			this.zoomTo(focus);
		else if (event.key === 'Escape' || event.key === '0' || event.key === 'Home')
			this.zoomTo(0);
		else if (event.key === 'h')
			this.hideFrame();
		else
			return;
		event.preventDefault();
		event.stopPropagation();
	}

	/** @param {number} place */
	walkTo(place) {
		const { layout } = this;
		const y = layout.depth[place] * ROW;

		this.focus = place;
		if (place < this.zoom || place >= layout.past[this.zoom])
			this.zoom = place;
		if (y < this.scroller.scrollTop || y + ROW > this.scroller.scrollTop + this.height)
			this.scroller.scrollTop = y - this.height / 2;
		this.read();
		this.invalidate();
	}
}
