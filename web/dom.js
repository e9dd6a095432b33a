/*
 * dom.js - elements of the page. Text is always text.
 */
import { middleCut, safeText } from './format.js';

const NAME_MOST = 1000; /* characters; what is longer is cut in the middle */

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string>} [attributes]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(tag, attributes = {}, ...children) {
	const element = document.createElement(tag);

	for (const [key, value] of Object.entries(attributes))
		element.setAttribute(key, value);
	element.append(...children);
	return element;
}

/**
 * @param {string} text
 * @param {() => void} act
 * @param {Record<string, string>} [attributes]
 * @returns {HTMLButtonElement}
 */
export function makeButton(text, act, attributes = {}) {
	const button = make('button', { type: 'button', ...attributes }, text);

	button.addEventListener('click', act);
	return button;
}

/** @param {string} name of the trace @returns {HTMLElement} */
export function makeName(name) {
	return make('bdi', { class: 'name' }, safeText(middleCut(name, NAME_MOST)) || '(no name)');
}

/** @param {HTMLElement} button @param {boolean} on */
export function setPressed(button, on) {
	button.setAttribute('aria-pressed', String(on));
}

/**
 * A canvas as large as its place, in pixels of the device. Drawing is in CSS pixels.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 * @returns {CanvasRenderingContext2D | null}
 */
export function sizedContext(canvas, width, height) {
	const ratio = window.devicePixelRatio || 1;
	const pixels = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];

	if (canvas.width !== pixels[0])
		canvas.width = pixels[0];
	if (canvas.height !== pixels[1])
		canvas.height = pixels[1];
	if (canvas.style.height !== `${height}px`)
		canvas.style.height = `${height}px`;
	const context = canvas.getContext('2d', { alpha: false });

	if (context) {
		context.setTransform(pixels[0] / width, 0, 0, pixels[1] / height, 0, 0);
		context.direction = 'ltr';
		context.textBaseline = 'middle';
	}
	return context;
}

/** @param {string} label @param {string} className @returns {HTMLCanvasElement} that can be focused */
export function makeCanvas(label, className) {
	return make('canvas', { class: className, tabindex: '0', role: 'application', 'aria-label': label });
}

/** @returns {boolean} whether the reader asked for little movement */
export function stillWanted() {
	return window.matchMedia('(prefers-reduced-motion: reduce)').matches;
}

/** @returns {Promise<void>} lets the browser paint and answer */
export function pause() {
	return new Promise((resolve) => {
		setTimeout(resolve, 0);
	});
}
