/*
 * live_text.js - figures of a snapshot as text; what is not known is a dash.
 */
import { bytesText, countText, timeText } from '../format.js';

export const UNKNOWN = '–';

/** @param {number} value @param {(value: number) => string} text @returns {string} */
export function known(value, text) {
	return Number.isFinite(value) ? text(value) : UNKNOWN;
}

/** @param {number} seconds @returns {string} */
export function secondsText(seconds) {
	return known(seconds, (value) => (value >= 100 ? clockText(value) : timeText(value * 1e9)));
}

/** @param {number} seconds @returns {string} 1:02:03 */
export function clockText(seconds) {
	const whole = Math.max(0, Math.floor(seconds));
	const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];

	return (parts[0] ? parts : parts.slice(1)).map((part, i) => (i ? String(part).padStart(2, '0') : String(part))).join(':');
}

/** @param {number} share @returns {string} */
export function shareText(share) {
	return known(share, (value) => `${(100 * value).toFixed(value < 0.0995 ? 1 : 0)} %`);
}

/** @param {number} bytes @returns {string} */
export function sizeText(bytes) {
	return known(bytes, bytesText);
}

/** @param {number} bytes @returns {string} */
export function flowText(bytes) {
	return known(bytes, (value) => `${bytesText(value)}/s`);
}

/** @param {number} rate @returns {string} */
export function rateText(rate) {
	return known(rate, (value) => `${value >= 1000 ? countText(value) : value.toPrecision(3)}/s`);
}

/** @param {number} cores @returns {string} */
export function coresText(cores) {
	return known(cores, (value) => value.toFixed(2));
}

/** @param {number} value of whatever, with six digits @returns {string} */
export function numberText(value) {
	return known(value, (one) => String(Number(one.toPrecision(6))));
}

/** @param {string} name "page_fault_io" @returns {string} */
export function plainWords(name) {
	return name.replaceAll('_', ' ');
}
