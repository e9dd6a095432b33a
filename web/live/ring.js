/*
 * ring.js - how some figures were, for as long as the page is open: 3600 points, whatever comes.
 */
import { figure, gpuMean } from './snapshot.js';

export const POINTS = 3600;

/** Series, by their names in /api/history. The time is the first. */
export const SERIES = ['run_s', 'cpu', 'machine', 'rss_bytes', 'memory_used', 'read_bytes', 'written_bytes', 'received_bytes',
	'sent_bytes', 'step_s', 'step_rate', 'events', 'gpu'];

/** @param {import('./snapshot.js').Snapshot} snapshot @returns {number[]} in the order of SERIES */
export function pointOf(snapshot) {
	const { cpu, memory, io, network, steps, events } = snapshot;

	return [snapshot.run_s, cpu.share, cpu.machine, memory.rss_bytes, memory.used, io.read_bytes, io.written_bytes,
		network.received_bytes, network.sent_bytes, steps.last_s, steps.rate, events.rate].map(figure).concat(gpuMean(snapshot));
}

export class Ring {
	/** @param {number} [points] */
	constructor(points = POINTS) {
		this.points = points;
		this.first = 0;
		this.count = 0;
		this.columns = new Map(SERIES.map((name) => [name, new Float64Array(points)]));
	}

	clear() {
		this.first = 0;
		this.count = 0;
	}

	/** @param {number[]} point in the order of SERIES */
	push(point) {
		const at = (this.first + this.count) % this.points;

		SERIES.forEach((name, i) => {
			const column = this.columns.get(name);

			if (column)
				column[at] = point[i];
		});
		if (this.count < this.points)
			this.count++;
		else
			this.first = (this.first + 1) % this.points;
	}

	/** @param {string} name @param {number} i 0 is the oldest @returns {number} */
	at(name, i) {
		return this.columns.get(name)?.[(this.first + i) % this.points] ?? NaN;
	}

	/** @returns {number} time of the newest point; less than any when there is none */
	newest() {
		return this.count ? this.at('run_s', this.count - 1) : -Infinity;
	}

	/**
	 * A point of now. A run that began anew leaves nothing of the one before.
	 * @param {import('./snapshot.js').Snapshot} snapshot
	 */
	add(snapshot) {
		const point = pointOf(snapshot);

		if (!Number.isFinite(point[0]) || point[0] === this.newest())
			return;
		if (point[0] < this.newest())
			this.clear();
		this.push(point);
	}

	/**
	 * What the server remembers, as far as it is newer than what is here.
	 * @param {Record<string, any>} history columns by name
	 */
	merge(history) {
		const times = Array.isArray(history.run_s) ? history.run_s : [];
		const last = figure(times.at(-1));

		if (last < this.newest() - 1)
			this.clear(); /* another run */
		const after = this.newest();

		times.forEach((time, i) => {
			if (figure(time) > after)
				this.push(SERIES.map((name) => figure(history[name]?.[i])));
		});
	}
}
