/*
 * format.js - figures and names as text.
 */

const MIDDLE = '…';

/** @param {number} code @returns {string} */
function codeText(code) {
	return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
}

/** @param {string} character @returns {string} */
function safeCharacter(character) {
	const code = character.charCodeAt(0);

	if (code < 0x20)
		return String.fromCharCode(0x2400 + code);
	return code >= 0xd800 && code <= 0xdfff ? '\ufffd' : codeText(code);
}

/* Control characters, those that turn the direction of text, and halves of pairs. */
const UNSAFE = new RegExp([
	'[\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069]',
	'[\\ud800-\\udbff](?![\\udc00-\\udfff])',
	'(?<![\\ud800-\\udbff])[\\udc00-\\udfff]',
].join('|'), 'g');

/**
 * A name of the trace as it may be shown: nothing in it acts on the text around it.
 * @param {string} text
 * @returns {string}
 */
export function safeText(text) {
	return text.replace(UNSAFE, safeCharacter);
}

/**
 * The text in at most `most` characters: both ends of a name tell more than its first half.
 * @param {string} text
 * @param {number} most
 * @returns {string}
 */
export function middleCut(text, most) {
	if (text.length <= most)
		return text;
	if (most < 2)
		return most < 1 ? '' : MIDDLE;
	const head = Math.ceil((most - 1) / 2);

	return text.slice(0, head) + MIDDLE + text.slice(text.length - (most - 1 - head));
}

/** @param {number} value @returns {string} */
export function countText(value) {
	return Math.round(value).toString().replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}

/**
 * A length of time with the unit that suits its size.
 * @param {number} ns
 * @returns {string}
 */
export function timeText(ns) {
	const size = Math.abs(ns);

	if (size < 999.5)
		return `${Math.round(ns)} ns`;
	if (size < 999995)
		return `${(ns / 1e3).toFixed(2)} µs`;
	if (size < 999995e3)
		return `${(ns / 1e6).toFixed(2)} ms`;
	return `${(ns / 1e9).toFixed(3)} s`;
}

/** @param {number} share 0 to 1 @returns {string} */
export function percentText(share) {
	return Number.isFinite(share) ? `${(100 * share).toFixed(1)} %` : '';
}

/** @param {number} bytes @returns {string} */
export function bytesText(bytes) {
	const units = ['B', 'kB', 'MB', 'GB', 'TB'];
	let unit = 0;
	let value = bytes;

	while (Math.abs(value) >= 999.5 && unit < units.length - 1) {
		value /= 1000;
		unit++;
	}
	return `${unit && Math.abs(value) < 100 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/**
 * A value of a counter in its unit.
 * @param {number} value
 * @param {string} unit
 * @returns {string}
 */
export function valueText(value, unit) {
	if (unit.startsWith('bytes'))
		return bytesText(value) + unit.slice(5);
	if (unit === 'ns')
		return timeText(value);
	const size = Math.abs(value);
	const digits = size >= 100 || Number.isInteger(value) ? 0 : size >= 1 ? 2 : 3;
	const text = digits ? value.toFixed(digits) : countText(value);

	return unit.startsWith('/') || !unit ? text + unit : `${text} ${unit}`;
}

/**
 * One unit for all of an axis: the marks' distance, and how to write one.
 * @param {number} span ns that the axis shows
 * @param {number} most marks that fit
 * @param {number} largest absolute time on the axis
 * @returns {{step: number, text: (ns: number) => string}}
 */
export function axisMarks(span, most, largest) {
	const least = span / Math.max(1, most);
	const power = 10 ** Math.floor(Math.log10(Math.max(least, 1e-9)));
	const step = Math.max(1, [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= least) ?? 10 * power);
	const [unit, name] = axisUnit(step, largest);
	const decimals = Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-9));

	return { step, text: (ns) => `${(ns / unit).toFixed(decimals)} ${name}` };
}

/** @param {number} step @param {number} largest @returns {[number, string]} */
function axisUnit(step, largest) {
	const units = /** @type {[number, string][]} */ ([[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']]);

	/* the unit of the largest time unless that needs more than three decimals */
	for (const [size, name] of units) {
		if (largest >= size && step >= size / 1e3)
			return [size, name];
	}
	return [1, 'ns'];
}
