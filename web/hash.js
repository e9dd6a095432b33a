/*
 * hash.js - what is being looked at, in the address: it survives a reload, and can be sent to somebody.
 */

/**
 * @typedef {object} Place
 * @property {import('./app.js').Span | null} view
 * @property {import('./app.js').Span | null} range
 * @property {number} selection
 * @property {number} finding
 * @property {string} query
 * @property {string} theme
 */

/** @param {string | null} text @returns {import('./app.js').Span | null} */
function parseSpan(text) {
	const parts = /^(\d+(?:\.\d+)?):(\d+(?:\.\d+)?)$/.exec(text ?? '');

	return parts && Number(parts[2]) > Number(parts[1]) ? { from: Number(parts[1]), to: Number(parts[2]) } : null;
}

/** @param {string | null} text @returns {number} -1 when it is none */
function parsePlace(text) {
	return /^\d{1,12}$/.test(text ?? '') ? Number(text) : -1;
}

/** @param {string} hash @returns {Place | null} null when it says nothing of the kind */
export function parseHash(hash) {
	if (!hash.includes('='))
		return null;
	const values = new URLSearchParams(hash.replace(/^#/, ''));
	const theme = values.get('theme') ?? '';

	return {
		view: parseSpan(values.get('t')), range: parseSpan(values.get('r')), selection: parsePlace(values.get('s')),
		finding: parsePlace(values.get('f')), query: (values.get('q') ?? '').slice(0, 500),
		theme: theme === 'light' || theme === 'dark' ? theme : '',
	};
}

/** @param {import('./app.js').Span} span @returns {string} */
function spanText(span) {
	return [span.from, span.to].map((time) => String(Math.round(time * 10) / 10)).join(':');
}

/** @param {Place} place @returns {string} */
export function hashText(place) {
	const values = new URLSearchParams();

	if (place.view)
		values.set('t', spanText(place.view));
	if (place.range)
		values.set('r', spanText(place.range));
	if (place.selection >= 0)
		values.set('s', String(place.selection));
	if (place.finding >= 0)
		values.set('f', String(place.finding));
	if (place.query)
		values.set('q', place.query);
	if (place.theme)
		values.set('theme', place.theme);
	return `#${values.toString().replaceAll('%3A', ':')}`;
}
