// Writes the page's columns, as docs/report-page.md has them: what the decoder's tests read back.

export class Writer {
	constructor() {
		this.bytes = [];
	}

	byte(value) {
		this.bytes.push(value);
		return this;
	}

	put(value) {
		let rest = value;
		while (rest >= 128) {
			this.bytes.push((rest % 128) + 128);
			rest = Math.floor(rest / 128);
		}
		this.bytes.push(rest);
		return this;
	}

	signed(value) {
		return this.put(value >= 0 ? 2 * value : -2 * value - 1);
	}

	done() {
		return Uint8Array.from(this.bytes);
	}
}

// A generator of numbers from 0 to 1 that gives the same ones each time.
export function randomFrom(seed) {
	let state = seed;
	return () => {
		state = (Math.imul(state, 1103515245) + 12345) >>> 0;
		return state / 4294967296;
	};
}

// Where a gap is counted from, straight from the words of the format: by looking at all slices before.
function cursorFor(before, row) {
	for (let i = before.length - 1; i >= 0; i--) {
		if (before[i].row < row)
			break;
		if (before[i].row === row)
			return before[i].end;
	}
	const above = before.findLast((one) => one.row === row - 1);
	return row && above ? above.begin : 0;
}

// tracks: lists of {begin, end, row, label, link}, link being the place of another slice or undefined
export function encode(tracks) {
	const columns = { row: new Writer(), gap: new Writer(), dur: new Writer(), label: new Writer(), link: new Writer() };
	for (const track of tracks) {
		let launcher = 0;
		track.forEach((slice, i) => {
			columns.row.signed((i ? track[i - 1].row : -1) + 1 - slice.row);
			columns.gap.signed(slice.begin - cursorFor(track.slice(0, i), slice.row));
			columns.dur.put(slice.end - slice.begin);
			columns.label.put(slice.label);
			if (slice.link === undefined) {
				columns.link.put(0);
			} else {
				const away = slice.link - launcher;
				columns.link.put((away >= 0 ? 2 * away : -2 * away - 1) + 1);
				launcher = slice.link;
			}
		});
	}
	return Object.fromEntries(Object.entries(columns).map(([name, writer]) => [name, writer.done()]));
}

export const shapes = (tracks) => tracks.map((track) => ({
	rows: track.reduce((most, one) => Math.max(most, one.row + 1), 0), slices: track.length,
}));

// Calls inside calls, some of no length.
export function nestedTrack(random, count, labels) {
	const track = [];
	const open = [];
	let time = 0;
	while (track.length < count) {
		time += Math.floor(random() * 20);
		while (open.length && open[open.length - 1].end <= time)
			open.pop();
		const most = open.length ? open[open.length - 1].end : time + 400;
		const end = Math.min(most, time + Math.floor(random() * 300));
		const slice = { begin: time, end, row: open.length, label: Math.floor(random() * labels) };
		track.push(slice);
		if (slice.end > slice.begin)
			open.push(slice);
		else
			time++;
	}
	return track;
}

// Work that overlaps: the lowest row that is free.
export function streamTrack(random, count, labels) {
	const ends = [];
	const track = [];
	let time = 0;
	for (let i = 0; i < count; i++) {
		time += Math.floor(random() * 30);
		let row = ends.findIndex((end) => end <= time);
		row = row < 0 ? ends.length : row;
		const end = time + 1 + Math.floor(random() * 60);
		ends[row] = end;
		track.push({ begin: time, end, row, label: Math.floor(random() * labels) });
	}
	return track;
}
