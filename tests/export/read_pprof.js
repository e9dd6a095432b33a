// node tests/export/read_pprof.js FILE: what pprof-format, which encodes and decodes profiles for others, finds in one.
// Prints JSON: [{process, thread, stack (the outermost first), values}], and the names of the values.

import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { load } from "./modules.js";

const { Profile } = load("pprof-format");
const profile = Profile.decode(gunzipSync(readFileSync(process.argv[2])));
const text = (i) => profile.stringTable.strings[Number(i)];
const byId = (list) => new Map(list.map((item) => [Number(item.id), item]));
const [functions, locations] = [byId(profile.function), byId(profile.location)];

const nameOf = (id) => text(functions.get(Number(locations.get(Number(id)).line[0].functionId)).name);
const labelOf = (sample, key) => text(sample.label.find((label) => text(label.key) === key).str);

console.log(
	JSON.stringify({
		types: profile.sampleType.map((type) => [text(type.type), text(type.unit)]),
		samples: profile.sample.map((sample) => ({
			process: labelOf(sample, "process"),
			thread: labelOf(sample, "thread"),
			stack: sample.locationId.map(nameOf).reverse(),
			values: sample.value.map(Number),
		})),
	}),
);
