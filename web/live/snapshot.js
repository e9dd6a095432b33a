/*
 * snapshot.js - what the server sends, put together: the program as it is now.
 */

/** @typedef {number | null} Figure null: not known */

/**
 * The names of /api, as far as the page shows them; docs/monitor.md has all of them.
 * @typedef {object} Snapshot
 * @property {number} sequence
 * @property {number} realtime_ns
 * @property {Figure} run_s
 * @property {Figure} interval_s
 * @property {string | null} command
 * @property {number} pid
 * @property {string} state
 * @property {number} exit_status
 * @property {string | null} gpu_source
 * @property {number} processes_left_out
 * @property {number} threads_left_out
 * @property {number} slices_left_out
 * @property {number} active_alerts
 * @property {number} alerts_begun
 * @property {Figure} own_cpu
 * @property {Figure} own_rss_bytes
 * @property {Record<string, Figure>} cpu
 * @property {Record<string, Figure>} memory
 * @property {Record<string, any>} io
 * @property {Record<string, any>} network
 * @property {Record<string, any>[]} gpus
 * @property {Record<string, any>[]} processes
 * @property {Record<string, any>[]} threads
 * @property {Record<string, any>} steps
 * @property {Record<string, any>[]} slices
 * @property {Record<string, any>} doing
 * @property {Record<string, any>[]} places
 * @property {Record<string, any>[]} kernels
 * @property {Record<string, any>[]} counters
 * @property {Record<string, any>} events
 * @property {Record<string, any>[]} alerts
 */

const LISTS = ['gpus', 'processes', 'threads', 'slices', 'places', 'kernels', 'counters', 'alerts'];
const GROUPS = ['cpu', 'memory', 'io', 'network', 'steps', 'doing', 'events'];

/** @param {unknown} value @returns {value is Record<string, any>} */
function isObject(value) {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @param {unknown} value @returns {Record<string, any>[]} */
function objectsOf(value) {
	return Array.isArray(value) ? value.filter(isObject) : [];
}

/**
 * The snapshot that a message leads to; null when it cannot be read.
 * @param {string} text JSON
 * @param {Snapshot | null} before that a change is one of; null: the message is whole
 * @returns {Snapshot | null}
 */
export function nextSnapshot(text, before) {
	const change = parseObject(text);

	if (!change)
		return null;
	/** @type {Record<string, any>} */
	const next = { ...before, ...change };

	for (const list of LISTS) {
		if (!before || list in change)
			next[list] = objectsOf(next[list]);
	}
	for (const group of GROUPS) {
		if (!isObject(next[group]))
			next[group] = {};
	}
	return /** @type {Snapshot} */ (next);
}

/** @param {string} text @returns {Record<string, any> | null} */
export function parseObject(text) {
	try {
		const value = JSON.parse(text);

		return isObject(value) ? value : null;
	} catch {
		return null;
	}
}

/** @param {unknown} value @returns {number} NaN when it is not known */
export function figure(value) {
	return typeof value === 'number' ? value : NaN;
}

/** @param {unknown} value @returns {string} */
export function words(value) {
	return typeof value === 'string' ? value : '';
}

/** @param {Snapshot} snapshot @returns {number} mean of all GPUs */
export function gpuMean(snapshot) {
	const known = snapshot.gpus.map((gpu) => figure(gpu.utilization)).filter(Number.isFinite);

	return known.length ? known.reduce((sum, one) => sum + one, 0) / known.length : NaN;
}
