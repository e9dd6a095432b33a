/*
 * counters.js - counters as people know them: named, in units that say something, the most telling first.
 */
import { lowerBound } from './rows.js';
import { safeText } from './format.js';

/**
 * @typedef {object} Counter
 * @property {string} name as it may be shown
 * @property {string} unit
 * @property {number | null} process
 * @property {boolean} telling worth being seen unasked
 * @property {import('./decode.js').Curve} curve
 */

/* name of the recorder: what it is, the unit, and what a value is multiplied by */
const KNOWN = new Map(/** @type {[string, [string, string, number]][]} */ ([
	['user_ns', ['processor time, user', 'cores', 1e-9]],
	['system_ns', ['processor time, system', 'cores', 1e-9]],
	['children_ns', ['processor time of ended children', 'cores', 1e-9]],
	['rss_bytes', ['memory (RSS)', 'bytes', 1]],
	['pss_bytes', ['memory, its share of what is shared (PSS)', 'bytes', 1]],
	['minor_faults', ['page faults', '/s', 1]],
	['major_faults', ['page faults that read a disk', '/s', 1]],
	['threads', ['threads', '', 1]],
	['rchar', ['bytes read', 'bytes/s', 1]],
	['wchar', ['bytes written', 'bytes/s', 1]],
	['syscr', ['read calls', '/s', 1]],
	['syscw', ['write calls', '/s', 1]],
	['read_bytes', ['bytes read from disks', 'bytes/s', 1]],
	['write_bytes', ['bytes written to disks', 'bytes/s', 1]],
	['voluntary_switches', ['waits', '/s', 1]],
	['involuntary_switches', ['preemptions', '/s', 1]],
	['host_busy_ns', ['host: busy', 'cores', 1e-9]],
	['host_idle_ns', ['host: idle', 'cores', 1e-9]],
	['host_steal_ns', ['host: taken by other guests', 'cores', 1e-9]],
	['pressure_cpu_ns', ['waiting for processors', '%', 1e-7]],
	['pressure_memory_ns', ['waiting for memory', '%', 1e-7]],
	['pressure_io_ns', ['waiting for input and output', '%', 1e-7]],
	['throttled_ns', ['throttled', 'cores', 1e-9]],
	['throttled_periods', ['throttled periods', '/s', 1]],
	['quota_periods', ['periods of the quota', '/s', 1]],
	['cgroup_cpu_ns', ['processors of the container', 'cores', 1e-9]],
	['quota_millicores', ['quota', 'cores', 1e-3]],
	['frequency_mhz', ['processor frequency', 'MHz', 1]],
	['cgroup_memory_bytes', ['memory of the container', 'bytes', 1]],
	['cgroup_memory_limit_bytes', ['memory limit of the container', 'bytes', 1]],
]));
const TELLING = /^(cores in use|memory \(RSS\))$|utili[sz]ation|gpu|device/i;
const FEW = 4; /* so many counters need no choice */

/** @param {import('./decode.js').Curve} curve @param {number} factor @returns {import('./decode.js').Curve} */
function scaledCurve(curve, factor) {
	return { time: curve.time, value: curve.value.map((value) => value * factor), low: curve.low * factor, high: curve.high * factor };
}

/** @param {import('./decode.js').Curve} curve @param {number} time @returns {number} a value holds until the next one */
function valueAt(curve, time) {
	const at = lowerBound(curve.time, 0, curve.time.length, time + 1e-3) - 1;

	return at < 0 ? 0 : curve.value[at];
}

/** @param {import('./decode.js').Curve} one @param {import('./decode.js').Curve} other @returns {import('./decode.js').Curve} */
export function sumOfCurves(one, other) {
	const time = Float64Array.from(new Set([...one.time, ...other.time])).sort();
	const value = time.map((at) => valueAt(one, at) + valueAt(other, at));

	return {
		time, value, low: value.reduce((low, next) => Math.min(low, next), Infinity),
		high: value.reduce((high, next) => Math.max(high, next), -Infinity),
	};
}

/**
 * @param {import('./model.js').CounterModel} model
 * @param {import('./decode.js').Curve} curve
 * @returns {Counter}
 */
function namedCounter(model, curve) {
	const known = KNOWN.get(model.name);

	if (known)
		return { name: known[0], unit: known[1], process: model.process, telling: false, curve: scaledCurve(curve, known[2]) };
	return { name: safeText(model.name), unit: model.rate ? `${model.unit}/s` : model.unit, process: model.process, telling: false, curve };
}

/** User and system time of each process as one. @param {Counter[]} counters @returns {Counter[]} */
function coresInUse(counters) {
	return counters.filter((counter) => counter.name === 'processor time, user').map((user) => {
		const system = counters.find((other) => other.process === user.process && other.name === 'processor time, system');

		return { ...user, name: 'cores in use', curve: system ? sumOfCurves(user.curve, system.curve) : user.curve };
	});
}

/**
 * @param {import('./model.js').CounterModel[]} models
 * @param {import('./decode.js').Curve[]} curves
 * @returns {Counter[]} the telling ones first
 */
export function namedCounters(models, curves) {
	const named = models.map((model, i) => namedCounter(model, curves[i])).filter((counter) => counter.curve.time.length);
	const all = [...coresInUse(named), ...named];

	for (const counter of all)
		counter.telling = all.length <= FEW || TELLING.test(counter.name);
	return [...all.filter((counter) => counter.telling), ...all.filter((counter) => !counter.telling)];
}
