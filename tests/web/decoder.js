// A second reader of the page's streams, written from docs/report-page.md alone, to prove that document and check the pages.

import { inflateRawSync } from "node:zlib";

// The elements with data of a page: id to {bytes, raw}.
export function streams(html) {
	const found = new Map();
	for (const [, id, bytes, base64] of html.matchAll(
		/<script type="text\/plain" id="data-([a-z]+)" data-bytes="(\d+)">([A-Za-z0-9+/=\s]*)<\/script>/g,
	))
		found.set(id, { bytes: Number(bytes), size: base64.length, raw: inflateRawSync(Buffer.from(base64, "base64")) });
	return found;
}

class Varints {
	constructor(raw) {
		this.raw = raw ?? Buffer.alloc(0);
		this.at = 0;
	}

	next() {
		let value = 0;
		for (let scale = 1; ; scale *= 128) {
			const byte = this.raw[this.at++];
			if (byte === undefined) throw new Error("a stream ends too early");
			value += (byte & 127) * scale;
			if (byte < 128) return value;
		}
	}

	signed() {
		const value = this.next();
		return value % 2 ? -(value + 1) / 2 : value / 2;
	}

	get over() {
		return this.at === this.raw.length;
	}
}

// begin and end of all slices in ns, and row, label, link (place of the launcher, -1 without).
function slices(model, found) {
	const column = (id) => new Varints(found.get(id)?.raw);
	const [rows, gaps, durations, labels, links] = ["row", "gap", "dur", "label", "link"].map(column);
	const count = model.tracks.reduce((sum, track) => sum + track.slices, 0);
	const q = model.quantum_ns;
	const all = {
		begin: new Float64Array(count),
		end: new Float64Array(count),
		row: new Uint32Array(count),
		label: new Uint32Array(count),
		link: new Int32Array(count).fill(-1),
		track: new Uint16Array(count),
		first: [],
	};
	let place = 0;
	model.tracks.forEach((track, number) => {
		const ends = [],
			begins = [],
			fresh = [];
		let before = -1,
			launcher = 0;
		all.first.push(place);
		for (let i = 0; i < track.slices; i += 1, place += 1) {
			const row = before + 1 - rows.signed();
			const cursor = fresh[row] ? ends[row] : row === 0 ? 0 : (begins[row - 1] ?? 0);
			const begin = cursor + gaps.signed();
			const end = begin + durations.next();
			// a slice in a smaller row begins anew all rows below it
			fresh.length = row;
			fresh[row] = true;
			begins[row] = begin;
			ends[row] = end;
			before = row;
			all.begin[place] = begin * q;
			all.end[place] = end * q;
			all.row[place] = row;
			all.label[place] = labels.next();
			all.track[place] = number;
			if (model.links) {
				const link = links.next();
				if (link) {
					const delta = (link - 1) % 2 ? -link / 2 : (link - 1) / 2;
					launcher += delta;
					all.link[place] = launcher;
				}
			}
		}
	});
	const left = [rows, gaps, durations, labels, links].filter((one) => !one.over).length;
	if (left) throw new Error(`${left} columns have more than the model says`);
	return all;
}

function flame(model, raw) {
	const input = new Varints(raw),
		nodes = [];
	if (!raw) return nodes;
	let depth = -1;
	for (let n = input.next(); n > 0; n -= 1) {
		depth = depth + 1 - input.next();
		const label = input.next();
		const track = label === 0 ? input.next() : null;
		nodes.push({ depth, label: label - 1, track, wall: input.next(), processor: input.next(), device: input.next() });
	}
	if (!input.over) throw new Error("bytes after the flame graph");
	return nodes;
}

function counters(model, raw) {
	const input = new Varints(raw);
	return model.counters.map((counter) => {
		let time = 0,
			value = 0;
		return Array.from({ length: counter.count }, () => {
			time += input.next();
			value += input.signed();
			return [time * counter.quantum_ns, value / counter.scale];
		});
	});
}

function states(model, raw) {
	const input = new Varints(raw);
	return model.states.map((entry) => {
		let end = 0;
		return Array.from({ length: entry.count }, () => {
			const begin = end + input.signed();
			end = begin + input.next();
			return [begin * model.quantum_ns, end * model.quantum_ns, input.next()];
		});
	});
}

export function decode(html) {
	const found = streams(html);
	const model = JSON.parse(found.get("model").raw.toString());
	return {
		found,
		model,
		slices: slices(model, found),
		flame: flame(model, found.get("flame")?.raw),
		counters: counters(model, found.get("counters")?.raw),
		states: states(model, found.get("states")?.raw),
		analysis: JSON.parse(found.get("analysis").raw.toString()),
	};
}
