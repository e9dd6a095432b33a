// Traces of the tests, their pages, and what is to be found in them.

import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const exec = promisify(execFile);
export const HERE = path.dirname(fileURLToPath(import.meta.url));
export const ROOT = path.resolve(HERE, "..", "..");
export const FOLDER = path.resolve(process.env.INFERSCOPE_WEB ?? path.join(ROOT, "build", "test", "web"));
const BUILD = path.resolve(process.env.INFERSCOPE_BUILD ?? path.join(ROOT, "build"));
export const INFERSCOPE = path.resolve(process.env.INFERSCOPE ?? path.join(BUILD, "inferscope"));
const PYTHON = process.env.PYTHON ?? "python3";
const GENERATOR = path.join(HERE, "make_traces.py");
const REAL = path.resolve(ROOT, "..", "shared", "data", "kineto");

const SMALL_EDGES = [
	"nothing",
	"one",
	"zero_length",
	"one_track",
	"many_threads",
	"deep",
	"two_hours",
	"before_launch",
];
export const EDGES = [...SMALL_EDGES, "lost", "noisy"];
export const MADE = ["million", "noisy", "small", "hostile", "long_name", "many_names", ...SMALL_EDGES];
const SBT = ["million", "noisy"]; // read often enough to be worth it
const DOUBLES = path.join(BUILD, "tests", "doubles");

export const inferscope = (...options) =>
	exec(INFERSCOPE, options, { maxBuffer: 1 << 30, env: { ...process.env, INFERSCOPE_REPORT: "none" } });

const at = (name) => path.join(FOLDER, name);
const age = (file) => (existsSync(file) ? statSync(file).mtimeMs : 0);
const older = (file, ...than) => age(file) === 0 || than.some((other) => age(file) < age(other));

// Real traces are not part of the project: null when they are not here.
export function real(name) {
	const file = path.join(REAL, `${name}.json.gz`);
	return existsSync(file) ? file : null;
}

export function traceFile(name) {
	if (name in RECORDED || SBT.includes(name)) return at(`${name}.sbt`);
	return real(name) ?? at(`${name}.json`);
}

// More events than the memory for them holds.
const makeLost = () =>
	inferscope(
		"run",
		"--trace",
		at("lost.sbt"),
		"--report",
		"none",
		"--trace-size-mb",
		"1",
		"--overflow",
		"discard",
		"--",
		"/bin/sh", // asleep for long enough that what its thread does is seen from outside
		"-c",
		'sleep 0.3; exec "$0" scopes 30000',
		path.join(BUILD, "tests", "programs", "workload"),
	);

// What the driver says of GPUs, on the double of NVML: one that is slowed down, one with a name that would like to be more.
export const GPU_NAME = "\"><img src=x onerror=window.hit=1>&amp;</script>";
const USES_CUDA = "import ctypes, time; ctypes.CDLL('libcuda.so.1').cuInit(0); time.sleep(1)";
const makeGpus = () =>
	exec(
		INFERSCOPE,
		["run", "--trace", at("gpus.sbt"), "--report", "none", "--", PYTHON, "-c", USES_CUDA],
		{
			env: {
				...process.env,
				LD_LIBRARY_PATH: `${path.join(DOUBLES, "driver")}:${path.join(DOUBLES, "nvml")}`,
				INFERSCOPE_CALLS: "off",
				DOUBLE_DEVICES: "2",
				DOUBLE_FAULT: "nvml_energy=3", // which is not supported there
				DOUBLE_NVML: `0.reasons=0x44,0.clock=990/1215,0.temperature=88,1.util=80/7,1.power=90000,1.name=${GPU_NAME}`,
			},
		},
	);

const RECORDED = { lost: makeLost, gpus: makeGpus };

async function makeTrace(name) {
	const file = traceFile(name);
	if (real(name) || !older(file, GENERATOR)) return;
	if (name in RECORDED) {
		await RECORDED[name]();
		return;
	}
	await exec(PYTHON, [GENERATOR, FOLDER, name]);
	if (SBT.includes(name)) {
		await inferscope("import", at(`${name}.json`), "--output", file);
		rmSync(at(`${name}.json`));
	}
}

async function makePage(name) {
	const trace = traceFile(name);
	if (older(at(`${name}.html`), trace, INFERSCOPE))
		await inferscope("analyze", trace, "--format", "html", "--output", at(`${name}.html`));
	if (older(at(`${name}.analysis.json`), trace, INFERSCOPE))
		await inferscope("analyze", trace, "--format", "json", "--output", at(`${name}.analysis.json`));
}

// Two at a time.
export async function prepare(names = [...MADE, "lost", "gpus", ...["v100-resnet50-loader-0-workers", "h100-owlv2"].filter(real)]) {
	mkdirSync(FOLDER, { recursive: true });
	const queue = [...names];
	const worker = async () => {
		while (queue.length) {
			const name = queue.shift();
			await makeTrace(name);
			await makePage(name);
		}
	};
	await Promise.all([worker(), worker()]);
}

export const analysis = (name) => JSON.parse(readFileSync(at(`${name}.analysis.json`), "utf8"));
export const html = (name) => readFileSync(at(`${name}.html`), "utf8");

// Events of a small trace, as `inferscope dump` prints them.
export async function dump(name, ...options) {
	return JSON.parse((await inferscope("dump", "--format", "json", ...options, traceFile(name))).stdout);
}

// What make_traces.py knows of its own trace: tracks with begins, ends (ns) and names (places in `names`).
export function truth(name) {
	const known = JSON.parse(readFileSync(at(`${name}.truth.json`), "utf8"));
	const bytes = readFileSync(at(`${name}.truth.bin`));
	const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
	for (const track of known.tracks) {
		track.begins = new Float64Array(buffer, track.offset, track.count);
		track.ends = new Float64Array(buffer, track.offset + 8 * track.count, track.count);
		track.labels = new Uint16Array(buffer, track.offset + 16 * track.count, track.count);
	}
	return known;
}
