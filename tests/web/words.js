// Figures as people read them, back to numbers.

const UNITS = new Map([
	["ns", 1],
	["µs", 1e3],
	["us", 1e3],
	["ms", 1e6],
	["s", 1e9],
	["min", 60e9],
	["h", 3600e9],
]);

// "1,234.5 µs", "2 min 3 s" to ns; null when there is no time in the text.
export function nanoseconds(text) {
	const parts = [...text.matchAll(/(-?[\d,\u202f\u2009]*\d(?:\.\d+)?)\s*(ns|µs|us|ms|s|min|h)\b/g)];
	return parts.length
		? parts.reduce((sum, [, digits, unit]) => sum + Number(digits.replace(/[^\d.-]/g, "")) * UNITS.get(unit), 0)
		: null;
}

// The first whole number of a text: "1,001,092 hits" is 1001092.
export function count(text) {
	const found = /\d[\d,\u202f\u2009]*/.exec(text);
	return found ? Number(found[0].replace(/\D/g, "")) : null;
}

// What a cell sorts by: a time, a number (12.5 %), or the text itself.
export function value(text) {
	const time = nanoseconds(text);
	if (time !== null) return time;
	const plain = text.replace(/[,\u202f\u2009]/g, "").trim();
	return /^[-−+]?\d+(\.\d+)?\s*(%|×|x|[kMGT]?i?B)?$/.test(plain) ? number(plain) : text;
}

const SIZES = new Map([
	["B", 1],
	["kB", 1e3],
	["MB", 1e6],
	["GB", 1e9],
	["TB", 1e12],
	["KiB", 1024],
	["kiB", 1024],
	["MiB", 1 << 20],
	["GiB", 2 ** 30],
]);
const number = (text) => parseFloat(text.replace("−", "-")) * (SIZES.get(/[a-zA-Z]+$/.exec(text)?.[0]) ?? 1);
