/*
 * batch.js - rectangles and labels of one frame, drawn colour by colour: changing the colour is what costs.
 */
import { COLORS, LEVELS } from './colors.js';
import { middleCut } from './format.js';

const MOST = 60000;
const FILLS = COLORS * LEVELS.length;
const LABELS_MOST = 3000;
export const LABEL_LEAST = 26; /* pixels */
const PADDING = 3;

export class Batch {
	constructor() {
		this.count = 0;
		this.box = new Float32Array(4 * MOST);
		this.fill = new Uint16Array(MOST);
		this.order = new Uint32Array(MOST);
		this.first = new Uint32Array(FILLS + 1);
		/** @type {{x: number, y: number, text: string, color: number}[]} */
		this.labels = [];
		this.characterWidth = 0;
		this.font = '';
	}

	clear() {
		this.count = 0;
		this.labels.length = 0;
	}

	/**
	 * @param {number} x
	 * @param {number} y
	 * @param {number} width
	 * @param {number} height
	 * @param {number} fill level * COLORS + colour
	 */
	add(x, y, width, height, fill) {
		const last = this.count - 1;

		/* one after the other in the same colour: one rectangle */
		if (last >= 0 && this.fill[last] === fill && this.box[4 * last + 1] === y && width <= 2 &&
		    Math.abs(this.box[4 * last] + this.box[4 * last + 2] - x) < 0.01) {
			this.box[4 * last + 2] = x + width - this.box[4 * last];
			return;
		}
		if (this.count >= MOST)
			return;
		const at = 4 * this.count;

		this.box[at] = x;
		this.box[at + 1] = y;
		this.box[at + 2] = width;
		this.box[at + 3] = height;
		this.fill[this.count++] = fill;
	}

	/**
	 * A text that is cut to fit; all characters are equally wide.
	 * @param {number} x
	 * @param {number} y middle
	 * @param {number} width
	 * @param {number} color that it is on; -1 for one like the background
	 * @param {string} text
	 */
	label(x, y, width, color, text) {
		const most = Math.floor((width - 2 * PADDING) / this.characterWidth);

		if (most >= 2 && this.labels.length < LABELS_MOST)
			this.labels.push({ x: x + PADDING, y, text: middleCut(text, most), color });
	}

	/** @param {CanvasRenderingContext2D} context @param {import('./colors.js').Palette} palette */
	useFont(context, palette) {
		const font = `11px ${palette.font}`;

		context.font = font;
		if (this.font !== font) {
			this.characterWidth = Math.max(1, context.measureText('0123456789').width / 10);
			this.font = font;
		}
	}

	sort() {
		const { first, fill, order, count } = this;

		first.fill(0);
		for (let i = 0; i < count; i++)
			first[fill[i] + 1]++;
		for (let i = 0; i < FILLS; i++)
			first[i + 1] += first[i];
		const next = first.slice();

		for (let i = 0; i < count; i++)
			order[next[fill[i]]++] = i;
	}

	/** @param {CanvasRenderingContext2D} context @param {import('./colors.js').Palette} palette */
	draw(context, palette) {
		this.drawBoxes(context, palette);
		this.drawLabels(context, palette);
	}

	/** @param {CanvasRenderingContext2D} context @param {import('./colors.js').Palette} palette */
	drawBoxes(context, palette) {
		const { first, order, box } = this;

		this.sort();
		for (let fill = 0; fill < FILLS; fill++) {
			if (first[fill] === first[fill + 1])
				continue;
			context.fillStyle = palette.fills[fill];
			for (let i = first[fill]; i < first[fill + 1]; i++) {
				const at = 4 * order[i];

				context.fillRect(box[at], box[at + 1], box[at + 2], box[at + 3]);
			}
		}
	}

	/** Labels that have to be read over lines. @param {CanvasRenderingContext2D} context @param {import('./colors.js').Palette} palette */
	drawPlates(context, palette) {
		context.fillStyle = palette.background;
		for (const label of this.labels)
			context.fillRect(label.x - PADDING, label.y - 7, label.text.length * this.characterWidth + 2 * PADDING, 13);
		this.drawLabels(context, palette);
	}

	/** @param {CanvasRenderingContext2D} context @param {import('./colors.js').Palette} palette */
	drawLabels(context, palette) {
		for (const ink of ['#000000', '#ffffff', palette.text]) {
			context.fillStyle = ink;
			for (const label of this.labels) {
				if ((palette.inks[label.color] ?? palette.text) === ink)
					context.fillText(label.text, label.x, label.y);
			}
		}
	}
}
