// A trace as the page has it once it has been read.
import { decodeRows, decodeSlices, decodeLinks, emptyFlame } from "../../../web/decode.js";
import { labelColors } from "../../../web/colors.js";
import { emptyModel } from "../../../web/model.js";
import { encode, shapes } from "./columns.js";

export function worldOf(tracks, kinds, labels, more = {}) {
	const columns = encode(tracks);
	const slices = decodeSlices(columns, shapes(tracks), decodeRows(columns.row, shapes(tracks)), 1);
	slices.link = decodeLinks(columns.link, shapes(tracks), slices.order);
	const duration = tracks.flat().reduce((most, one) => Math.max(most, one.end), 1);
	const models = shapes(tracks).map((shape, i) => ({
		...shape, id: i, kind: kinds[i], process: 0, device: null, name: `track ${i}`, tid: i,
	}));
	const model = { ...emptyModel(), duration_ns: duration, labels, tracks: models, slices: slices.count, slices_here: slices.count,
		processes: [{ name: "p", pid: 1, rank: null, host: "" }], ...more };
	return {
		model, analysis: {}, duration, slices, colors: labelColors(labels), states: new Map(), counters: [], flame: emptyFlame(0),
		buckets: [], missing: [],
	};
}
