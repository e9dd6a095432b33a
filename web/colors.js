/*
 * colors.js - the hue of a category, the shade of a name: the same name has the same colour wherever it is drawn.
 */

export const CATEGORIES = ['scope', 'python', 'native', 'operator', 'runtime', 'sync', 'kernel', 'copy', 'communication', 'step',
	'compile', 'gc', 'other'];
export const STATES = ['running', 'gil', 'lock', 'barrier', 'sleep', 'poll', 'pipe', 'socket_local', 'socket_network', 'file',
	'fsync', 'child', 'page_fault_io', 'device', 'unknown'];
export const SHADES = 5;
export const COLORS = CATEGORIES.length * SHADES;

/* How much of the colour is left over the background: a quarter, a half, three quarters, all of it, and what a search leaves out. */
export const LEVELS = [0.35, 0.55, 0.78, 1, 0.16];
export const LEVEL_FULL = 3;
export const LEVEL_FAINT = 4;

const STATE_FAMILY = new Map([['running', 'running'], ['gil', 'wait'], ['lock', 'wait'], ['barrier', 'wait'], ['sleep', 'sleep'],
	['poll', 'sleep'], ['child', 'sleep'], ['device', 'device'], ['unknown', 'unknown']]);

/* Where the style says nothing. */
const DEFAULTS = new Map(Object.entries({
	'--background': '#ffffff', '--surface': '#f6f7f9', '--border': '#d5dae1', '--text': '#1b1f24', '--muted': '#57606a',
	'--accent': '#0b5cad', '--high': '#b42318', '--ok': '#1a7f4b', '--idle': '#dfe3e8', '--idle-line': '#8b95a3',
	'--category-scope': '#6b7686', '--category-python': '#3f7f5f', '--category-native': '#5f7f3f', '--category-operator': '#1d5659',
	'--category-runtime': '#8a5a00', '--category-sync': '#c0342d', '--category-kernel': '#4299de', '--category-copy': '#d57f0b',
	'--category-communication': '#592ea6', '--category-step': '#8b95a3', '--category-compile': '#a04090', '--category-gc': '#9a3b2f',
	'--category-other': '#7b8794', '--state-running': '#1a7f4b', '--state-wait': '#c0342d', '--state-io': '#d57f0b',
	'--state-sleep': '#c5ccd6', '--state-device': '#4299de', '--state-unknown': '#8b95a3',
}));

/** @typedef {[number, number, number]} Rgb */

/** @param {string} text #rrggbb @returns {Rgb} */
export function parseColor(text) {
	const value = parseInt(text.slice(1, 7), 16);

	return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

/** @param {Rgb} color @returns {string} */
export function colorText(color) {
	return `#${color.map((part) => Math.round(Math.min(255, Math.max(0, part))).toString(16).padStart(2, '0')).join('')}`;
}

/** @param {Rgb} from @param {Rgb} to @param {number} share @returns {Rgb} */
export function mixColors(from, to, share) {
	return [from[0] + (to[0] - from[0]) * share, from[1] + (to[1] - from[1]) * share, from[2] + (to[2] - from[2]) * share];
}

/** @param {Rgb} color @returns {number} relative luminance of WCAG */
export function luminance(color) {
	const [red, green, blue] = color.map((part) => {
		const value = part / 255;

		return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
	});

	return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** @param {Rgb} color @returns {string} black or white, whichever reads better on it */
export function inkOn(color) {
	return luminance(color) > 0.18 ? '#000000' : '#ffffff';
}

/** @param {string} text @returns {number} */
export function nameHash(text) {
	let hash = 0x811c9dc5;

	for (let i = 0; i < text.length; i++)
		hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
	return (hash ^ (hash >>> 15)) >>> 0;
}

/**
 * The colour of each label: category * SHADES + shade. One more for "(other)".
 * @param {[string, string][]} labels
 * @returns {Uint8Array}
 */
export function labelColors(labels) {
	const places = new Map(CATEGORIES.map((category, i) => [category, i]));
	const last = CATEGORIES.length - 1;
	const colors = new Uint8Array(labels.length + 1).fill(last * SHADES);

	labels.forEach(([category, text], i) => {
		colors[i] = (places.get(category) ?? last) * SHADES + (nameHash(text) % SHADES);
	});
	return colors;
}

/**
 * @typedef {object} Palette
 * @property {string} background
 * @property {string} surface
 * @property {string} border
 * @property {string} text
 * @property {string} muted
 * @property {string} accent
 * @property {string} high
 * @property {string} ok
 * @property {string} idle
 * @property {string} idleLine
 * @property {string[]} fills level * COLORS + colour
 * @property {string[]} inks colour: of text on the full level
 * @property {string[]} states
 * @property {string} font
 */

/**
 * Shades of a colour around it: the middle one is the colour itself.
 * @param {Rgb} color
 * @returns {Rgb[]}
 */
export function shadesOf(color) {
	return [-0.16, -0.08, 0, 0.1, 0.2].map((share) =>
		mixColors(color, share < 0 ? [0, 0, 0] : [255, 255, 255], Math.abs(share)));
}

/** @param {Rgb} background @param {(name: string) => string} read @returns {{fills: string[], inks: string[]}} */
function categoryFills(background, read) {
	const colors = CATEGORIES.flatMap((category) => shadesOf(parseColor(read(`--category-${category}`))));

	return {
		fills: LEVELS.flatMap((level) => colors.map((color) => colorText(mixColors(background, color, level)))),
		inks: colors.map(inkOn),
	};
}

/** @returns {Palette} as the style has it now */
export function readPalette() {
	const style = getComputedStyle(document.documentElement);
	/** @param {string} name @returns {string} */
	const read = (name) => {
		const value = style.getPropertyValue(name).trim();

		return /^#[0-9a-f]{6}$/i.test(value) ? value : DEFAULTS.get(name) ?? '#808080';
	};

	return {
		background: read('--background'), surface: read('--surface'), border: read('--border'), text: read('--text'),
		muted: read('--muted'), accent: read('--accent'), high: read('--high'), ok: read('--ok'), idle: read('--idle'),
		idleLine: read('--idle-line'),
		...categoryFills(parseColor(read('--background')), read),
		states: STATES.map((state) => read(`--state-${STATE_FAMILY.get(state) ?? 'io'}`)),
		font: style.getPropertyValue('--font-mono').trim() || 'ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace',
	};
}
