// Every slice of the trace is in the page, and the page's code reads every one of them.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { done, open } from "./browser.js";
import { decode } from "./decoder.js";
import { analysis, dump, html, truth } from "./traces.js";

let million;
const pages = [];
const page = decode(html("million"));
const known = truth("million");

after(async () => {
	await Promise.all(pages.map((one) => one.close()));
	await done();
});

// The model's tracks, each with what is known of it.
const pairs = page.model.tracks
	.map((track, place) => {
		const number = track.kind === "thread" ? track.tid : Number(/\d+/.exec(track.name)?.[0]);
		return {
			track,
			place,
			known: known.tracks.find(
				(one) =>
					one.kind === track.kind && one.number === (one.kind === "stream" ? track.tid || number : track.tid),
			),
		};
	})
	.filter((pair) => pair.track.slices > 0);

test("the model has the tracks of the trace, and as many slices", () => {
	assert.equal(page.model.format, 1);
	assert.equal(page.model.exact, true);
	assert.equal(page.model.slices, 1_001_092);
	assert.equal(page.model.slices_here, 1_001_092);
	assert.equal(pairs.length, known.tracks.length);
	for (const pair of pairs) {
		assert.ok(pair.known, `${pair.track.kind} ${pair.track.name} ${pair.track.tid}`);
		assert.equal(pair.track.slices, pair.known.count);
	}
	assert.deepEqual([...new Set(page.model.tracks.map((track) => track.kind))], ["thread", "stream"]);
});

test("a million slices: begin, end and name of each", () => {
	const q = page.model.quantum_ns,
		{ begin, end, label, first } = page.slices;
	let wrong = 0,
		furthest = 0;
	for (const { place, track, known: one } of pairs) {
		const order = [...one.begins.keys()].sort((a, b) => one.begins[a] - one.begins[b] || one.ends[b] - one.ends[a]);
		for (let i = 0; i < track.slices; i += 1) {
			const here = first[place] + i,
				there = order[i];
			const off = Math.max(Math.abs(begin[here] - one.begins[there]), Math.abs(end[here] - one.ends[there]));
			furthest = Math.max(furthest, off);
			wrong += off > q / 2 || page.model.labels[label[here]][1] !== known.names[one.labels[there]];
		}
	}
	assert.equal(wrong, 0, `${wrong} slices differ, by ${furthest} ns at most (quantum ${q} ns)`);
});

test("rows: no two slices of a row overlap, and each lies in the one above it", () => {
	const { begin, end, row, track } = page.slices;
	const ends = [];
	let overlaps = 0,
		outside = 0,
		before = -1;
	for (let place = 0; place < begin.length; place += 1) {
		if (track[place] !== before) ends.length = 0;
		before = track[place];
		const r = row[place];
		overlaps += ends[r] !== undefined && begin[place] < ends[r];
		outside += page.model.tracks[before].kind === "thread" && r > 0 && end[place] > ends[r - 1];
		ends[r] = end[place];
		assert.ok(r < page.model.tracks[before].rows);
	}
	assert.deepEqual({ overlaps, outside }, { overlaps: 0, outside: 0 });
});

test("each kernel is linked to the call that launched it", () => {
	assert.equal(page.model.links, true);
	const { link, label, first } = page.slices;
	let linked = 0,
		wrong = 0;
	for (const { track, place, known: one } of pairs.filter((pair) => pair.track.kind === "stream")) {
		const launcher = pairs.find(
			(pair) => pair.known.number === [7, 13].indexOf(one.number) + 1 && pair.track.kind === "thread",
		);
		// the n-th kernel of a stream was launched by the n-th launch of its thread
		const calls = [];
		for (let i = 0; i < launcher.track.slices; i += 1)
			if (page.model.labels[label[first[launcher.place] + i]][1] === "cudaLaunchKernel")
				calls.push(first[launcher.place] + i);
		for (let i = 0; i < track.slices; i += 1) {
			linked += 1;
			wrong += link[first[place] + i] !== calls[i];
		}
	}
	assert.deepEqual({ linked, wrong }, { linked: 400_000, wrong: 0 });
});

test("steps and counters", () => {
	assert.equal(page.model.steps_ns.length, 330);
	assert.deepEqual(
		page.model.steps_ns.map(([begin, end, number]) => [begin, end, number]),
		known.steps,
	);
	assert.equal(page.counters.length, known.counters);
	for (const [i, points] of page.counters.entries()) {
		assert.ok(points.length > 1000 && points.length <= known.points, `${points.length} points of counter ${i}`);
		assert.ok(points.every(([time], n) => n === 0 || time >= points[n - 1][0]));
		assert.ok(points.at(-1)[0] <= page.model.duration_ns);
	}
});

test("the flame graph has all the time of the threads", () => {
	const roots = page.flame.map((node, place) => ({ ...node, place })).filter((node) => node.label === -1);
	assert.equal(roots.length, 8);
	const { begin, end, row, first } = page.slices;
	for (const [i, root] of roots.entries()) {
		const until = roots[i + 1]?.place ?? page.flame.length;
		const wall = page.flame.slice(root.place, until).reduce((sum, node) => sum + node.wall, 0);
		const track = page.model.tracks[root.track];
		let outermost = 0;
		for (let p = first[root.track]; p < first[root.track] + track.slices; p += 1)
			outermost += row[p] === 0 ? end[p] - begin[p] : 0;
		assert.ok(
			Math.abs(wall - outermost) <= track.slices * page.model.quantum_ns,
			`${track.name}: ${wall} and ${outermost}`,
		);
	}
	const device = page.flame.reduce((sum, node) => sum + node.device, 0);
	const kernels = known.tracks.filter((track) => track.kind === "stream").reduce((sum, track) => sum + track.sum_ns, 0);
	assert.equal(device, kernels);
});

test("the analysis in the page is the one that JSON reports have", () => {
	const other = analysis("million");
	assert.deepEqual(page.analysis, other);
});

test("a small trace: all slices as `inferscope dump` prints them", async () => {
	const { model, slices } = decode(html("small"));
	const tracks = new Map(model.tracks.map((track, place) => [place, track]));
	const ours = [...slices.begin.keys()].map((place) => {
		const { kind } = tracks.get(slices.track[place]);
		return `${model.labels[slices.label[place]][1]} ${slices.begin[place]} ${slices.end[place]} ${kind}`;
	});
	const theirs = (await dump("small"))
		.filter((event) => event.event_type !== "counter")
		.map(({ name, start_us: start, end_us: end, event_type: type }) => {
			const kind = type === "gpu_kernel" ? "stream" : "thread";
			return `${name} ${Math.round(start * 1000)} ${Math.round(end * 1000)} ${kind}`;
		});
	assert.deepEqual(ours.sort(), theirs.sort());
});

test("the page's code decodes them all", async () => {
	million = await open("million");
	pages.push(million);
	const got = await million.page.evaluate(() => {
		const sums = [0, 0, 0, 0, 0, 0];
		for (let place = 0; place < window.inferscope.slices(); place += 1) {
			const one = window.inferscope.slice(place);
			[
				one.track * place,
				one.row * place,
				one.label * place,
				one.link * 3 + place,
				one.begin_ns * (place % 7),
				one.end_ns * (place % 11),
			].forEach((value, i) => {
				sums[i] = (sums[i] + value) % 4294967291;
			});
		}
		return {
			slices: window.inferscope.slices(),
			sums,
			tracks: window.inferscope.model().tracks.map((_, place) => window.inferscope.sumOfTrack(place)),
		};
	});
	assert.equal(got.slices, 1_001_092);
	for (const { place, track, known: one } of pairs)
		assert.ok(
			Math.abs(got.tracks[place] - one.sum_ns) <= track.slices * page.model.quantum_ns,
			`${track.name}: ${got.tracks[place]} and ${one.sum_ns}`,
		);
	const { slices } = page,
		sums = [0, 0, 0, 0, 0, 0];
	for (let place = 0; place < slices.begin.length; place += 1)
		[
			slices.track[place] * place,
			slices.row[place] * place,
			slices.label[place] * place,
			slices.link[place] * 3 + place,
			slices.begin[place] * (place % 7),
			slices.end[place] * (place % 11),
		].forEach((value, i) => {
			sums[i] = (sums[i] + value) % 4294967291;
		});
	assert.deepEqual(got.sums, sums, "sums over track, row, label, link, begin and end of all slices");
});

test("what is picked under the pointer is what is there: a thousand places", async () => {
	const { slices, model } = page;
	let seed = 12345;
	const random = () => {
		seed = (seed * 1103515245 + 12345) % 2147483648;
		return seed / 2147483648;
	};
	const places = Array.from({ length: 1000 }, () => Math.floor(random() * slices.begin.length)).filter(
		(place) => slices.end[place] > slices.begin[place],
	);
	assert.ok(places.length > 900);
	const picked = await million.page.evaluate(
		(all) =>
			all.map((place) => {
				const api = window.inferscope,
					slice = api.slice(place),
					length = slice.end_ns - slice.begin_ns;
				api.setView(slice.begin_ns - 2 * length, slice.end_ns + 2 * length);
				api.reveal(place);
				const box = api.where(place);
				return [
					slice.begin_ns,
					slice.end_ns,
					slice.name,
					box ? api.pick(box.x + box.width / 2, box.y + box.height / 2)?.place : "hidden",
				];
			}),
		places,
	);
	const wrong = places
		.map((place, i) => [place, ...picked[i]])
		.filter(([place, begin, end, name, got]) => {
			return (
				begin !== slices.begin[place] ||
				end !== slices.end[place] ||
				name !== model.labels[slices.label[place]][1] ||
				got !== place
			);
		});
	assert.deepEqual(wrong.slice(0, 5), [], `${wrong.length} of ${places.length}`);
	assert.deepEqual(await million.quiet(), []);
});
