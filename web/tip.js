/*
 * tip.js - a few words beside the pointer.
 */
import { make } from './dom.js';

export class Tip {
	constructor() {
		this.element = make('div', { class: 'tip', hidden: '' });
		document.body.append(this.element);
	}

	hide() {
		this.element.hidden = true;
	}

	/** @param {string} text @param {number} x @param {number} y of the window */
	show(text, x, y) {
		this.element.textContent = text;
		this.element.hidden = false;
		const { offsetWidth, offsetHeight } = this.element;

		this.element.style.left = `${Math.max(4, Math.min(x + 12, window.innerWidth - offsetWidth - 8))}px`;
		this.element.style.top = `${y + 18 + offsetHeight > window.innerHeight ? y - offsetHeight - 8 : y + 18}px`;
	}
}
